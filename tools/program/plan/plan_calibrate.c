// The published speeds. All are of llama-bench, with all layers on the GPU.
#include "plan/plan_calibrate.h"

#include <stdio.h>

#include "output/json_output.h"
#include "output/rows.h"
#include "plan/plan_chip.h"

static const vkf_peer_model llama_7b = {"llama 7B", 32, 4096, 32, 32, 128, 11008, 32000, 0};
static const vkf_peer_model llama_8b = {"llama 8B", 32, 4096, 32, 8, 128, 14336, 128256, 0};
static const vkf_peer_model llama_3b = {"llama 3B", 28, 3072, 24, 8, 128, 8192, 128256, 0};
static const vkf_peer_model tinyllama = {"llama 1.1B", 22, 2048, 32, 4, 64, 5632, 32000, 0};
static const vkf_peer_model gemma_2b = {"gemma2 2B", 26, 2304, 8, 4, 256, 9216, 256000, 2};

// Bytes of an element. Files of q4_0 have their last weight in q6_K; of Q4_K_M it is what their sizes come to.
#define Q4_0 (18.0 / 32), (210.0 / 256)
#define Q4_K 0.60, (210.0 / 256)

// Rows that are quantised for a token: on NVIDIA longer ones than 4096, on AMD all that are long enough.
#define LONG_ROWS 4097
#define AMD_ROWS 2048

#define PROMPT(chip, model, type, lanes, kernel, published, source, unseen)                         \
    {                                                                                               \
        chip, {&(model), type, lanes, VKF_PEER_##kernel, false, 0}, true, published, source, unseen \
    }
#define TOKEN(chip, model, type, lanes, fused, quantized, published, source, unseen)                     \
    {                                                                                                    \
        chip, {&(model), type, lanes, VKF_PEER_HALF, fused, quantized}, false, published, source, unseen \
    }
#define UNFUSED false
#define FUSED true

const vkf_calibration vkf_calibrations[] = {
    PROMPT("rtx3090", llama_8b, Q4_0, 32, MATRIX2, 4569.20, "llama.cpp PR 13506, 2025-05-14", NULL),
    PROMPT("rtx3090", llama_8b, Q4_0, 32, MATRIX, 3156.83, "llama.cpp PR 13506, 2025-05-14", NULL),
    PROMPT("rtx3090", llama_8b, Q4_0, 32, DOT, 1930.39, "llama.cpp PR 14903, 2025-08-17", NULL),
    PROMPT("rtx3090", llama_8b, Q4_0, 32, HALF, 1020.37, "llama.cpp PR 12135, 2025-03-30", NULL),
    TOKEN("rtx3090", llama_8b, Q4_0, 32, FUSED, LONG_ROWS, 146.73, "llama.cpp PR 21024, 2026-05-15", NULL),
    TOKEN("rtx3090", llama_7b, Q4_0, 32, UNFUSED, 0, 139.60, "llama.cpp PR 14903, 2025-08-17", NULL),
    TOKEN("rtx4070", llama_7b, Q4_0, 32, UNFUSED, 0, 100.81, "llama.cpp PR 13554, 2025-05-15", NULL),
    TOKEN("rtx4070", llama_8b, Q4_K, 32, UNFUSED, 0, 87.03, "llama.cpp PR 15355, August 2025", NULL),
    PROMPT("rtx4090", llama_3b, Q4_K, 32, MATRIX2, 20323.29, "geerlingguy/ai-benchmarks issue 43, 2025-12-09", NULL),
    TOKEN("rtx4090", tinyllama, Q4_K, 32, FUSED, LONG_ROWS, 762.37, "geerlingguy/ai-benchmarks issue 43, 2025-12-09",
          NULL),
    TOKEN("rtx5090", llama_7b, Q4_0, 32, UNFUSED, 0, 221.08, "llama.cpp PR 14903, 2025-08-21", NULL),
    PROMPT("rx6800xt", llama_8b, Q4_0, 32, DOT, 1845.63, "llama.cpp PR 12135, 2025-03-30", NULL),
    PROMPT("rx6800xt", llama_8b, Q4_0, 32, HALF, 921.40, "llama.cpp PR 12135, 2025-03-30", NULL),
    PROMPT("rx7800xt", llama_7b, Q4_0, 64, MATRIX, 1241.50, "llama.cpp PR 13324, 2025-05-06", NULL),
    TOKEN("rx7800xt", llama_7b, Q4_0, 64, UNFUSED, 0, 111.19, "llama.cpp PR 13324, 2025-05-06", NULL),
    TOKEN("rx7900xtx", llama_7b, Q4_0, 64, FUSED, AMD_ROWS, 172, "llama.cpp issue 20934, 2026-03-24: 167 to 177", NULL),
    PROMPT("a770", gemma_2b, Q4_K, 32, HALF, 977.81, "llama.cpp PR 14001, 2025-06-04",
           "what Intel's compiler makes of a tile"),
    TOKEN("a770", gemma_2b, Q4_K, 32, UNFUSED, 0, 96.83, "llama.cpp PR 14001, 2025-06-04", NULL),
    TOKEN("a770", llama_8b, Q4_K, 32, FUSED, 0, 53, "llama.cpp issue 17628, 2025-11-30",
          "how slowly an Xe core takes blocks apart"),
};
const size_t vkf_calibration_count = sizeof vkf_calibrations / sizeof vkf_calibrations[0];

#define PROMPT_ROWS 512.0
#define MIDDLE_OF_TOKENS 64.0 // of the 128 that are made, from nothing

double vkf_calibration_estimate(const vkf_calibration *c)
{
    vkf_plan_chip chip;
    const bool opened = vkf_plan_chip_open(c->chip, &chip);
    const vkf_chip_speed speed = chip.speed;
    vkf_plan_chip_free(&chip);
    if (!opened)
        return 0;
    return c->prompt ? PROMPT_ROWS / vkf_peer_prompt_s(&speed, &c->run, PROMPT_ROWS)
                     : 1 / vkf_peer_token_s(&speed, &c->run, MIDDLE_OF_TOKENS);
}

static const char *kind_of(const vkf_calibration *c)
{
    static const char *const products[] = {[VKF_PEER_HALF] = "prompt, f16",
                                           [VKF_PEER_DOT] = "prompt, integer dot",
                                           [VKF_PEER_MATRIX] = "prompt, KHR_cooperative_matrix",
                                           [VKF_PEER_MATRIX2] = "prompt, NV_cooperative_matrix2"};
    if (c->prompt)
        return products[c->run.product];
    return c->run.fused ? "token" : "token, not fused";
}

static json_t *row_json(const vkf_calibration *c, double estimated)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "chip", c->chip);
    vkf_json_put_string(object, "model", c->run.model->name);
    vkf_json_put_string(object, "run", kind_of(c));
    vkf_json_put_real(object, "published", c->published);
    vkf_json_put_real(object, "estimated", estimated);
    vkf_json_put_real(object, "ratio", estimated / c->published);
    vkf_json_put_string(object, "source", c->source);
    if (c->unseen)
        vkf_json_put_string(object, "unseen", c->unseen);
    return object;
}

static void source_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const char *unseen = vkf_rows_string(row, "unseen");
    snprintf(out_text, VKF_CELL_BYTES, "%s%s%s", vkf_rows_string(row, "source"), *unseen ? "; not seen: " : "", unseen);
}

static const vkf_column columns[] = {
    {.title = "chip", .key = "chip", .width = -10},
    {.title = "model", .key = "model", .width = -10},
    {.title = "run", .key = "run", .width = -31, .gap = 2},
    {.title = "published", .key = "published", .number = "%.1f", .width = 9},
    {.title = "estimated", .key = "estimated", .number = "%.1f", .width = 9},
    {.title = "ratio", .key = "ratio", .number = "%.2f", .width = 5},
    {.title = "source", .text = source_cell, .gap = 2},
    {0},
};

bool vkf_calibration_print(bool json)
{
    vkf_rows rows = {.format = json ? VKF_ROWS_JSON : VKF_ROWS_TABLE, .columns = columns};
    bool done = true;
    if (!json)
        puts("ggml's Vulkan backend, tokens per second: a prompt of 512, or a token of 128. Published by others, and\n"
             "estimated for the dispatches of that backend.\n");
    for (size_t i = 0; i < vkf_calibration_count; i++) {
        const double estimated = vkf_calibration_estimate(&vkf_calibrations[i]);
        done = vkf_rows_add(&rows, row_json(&vkf_calibrations[i], estimated)) && estimated > 0 && done;
    }
    return vkf_rows_end(&rows) && done;
}
