// The lists, and golden files.
#include "plan_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/models/plan_dispatches.h"
#include "op/gemm.h"
#include "op/pack.h"

const char *const plan_chips[PLAN_CHIP_COUNT] = {"rtx3090", "rtx4090", "h200",      "rx6800xt",  "rx7900xtx",
                                                 "a770",    "m2",      "adreno750", "adreno840", "mali-g715"};

const char *const plan_models[PLAN_MODEL_COUNT] = {"bert-base",    "gpt2",         "llama-3.2-1b",
                                                   "llama-3.2-3b", "llama-3.1-8b", "qwen2.5-0.5b",
                                                   "qwen2.5-7b",   "t5-base",      "opus-mt"};

const plan_shape plan_shapes[PLAN_SHAPE_COUNT] = {
    {"llama-1b qkv", 1, 3072, 2048, false},
    {"llama-1b out", 1, 2048, 2048, false},
    {"llama-1b gate and up", 1, 16384, 2048, false},
    {"llama-1b down", 1, 2048, 8192, false},
    {"llama-1b logits", 1, 128256, 2048, true},
    {"llama-3b down", 1, 3072, 8192, false},
    {"llama-8b qkv", 1, 6144, 4096, false},
    {"llama-8b down", 1, 4096, 14336, false},
    {"llama-8b down, batch 8", 8, 4096, 14336, false},
    {"llama-8b logits", 1, 128256, 4096, true},
    {"llama-8b qkv, prompt", 256, 6144, 4096, false},
    {"llama-8b gate and up, prompt", 256, 28672, 4096, false},
    {"llama-8b down, prompt", 512, 4096, 14336, false},
    {"qwen-0.5b down", 1, 896, 4864, false},
    {"qwen-0.5b gate and up, prompt", 256, 9728, 896, false},
    {"qwen-1.5b down", 1, 1536, 8960, false},
    {"qwen-7b down, prompt", 256, 3584, 18944, false},
    {"gpt2 qkv", 1, 2304, 768, false},
    {"gpt2 linear2", 1, 768, 3072, false},
    {"bert-base linear1", 128, 3072, 768, false},
    {"bert-base linear2", 128, 768, 3072, false},
    {"bert-base linear2, short", 32, 768, 3072, false},
    {"bert-large linear2", 128, 1024, 4096, false},
    {"t5-base linear2", 64, 768, 3072, false},
    {"whisper-base linear2", 1500, 512, 2048, false},
};

static bool writes;

void plan_arguments(int argc, char **argv)
{
    writes = argc > 1 && strcmp(argv[1], "--write") == 0;
}

plan_device plan_open(const char *chip)
{
    plan_device device = {0};
    assert_true(vkf_plan_chip_open(chip, &device.chip));
    const vkf_context_desc desc = {.described = device.chip.device};
    assert_int_equal(vkf_context_create(&desc, &device.context), VKF_OK);
    return device;
}

void plan_close(plan_device *device)
{
    vkf_context_destroy(&device->context);
    vkf_plan_chip_free(&device->chip);
}

typedef struct product {
    vkf__linear_args args;
    vkf_planned_dispatch *dispatches;
    uint32_t count, capacity;
} product;

static void take(void *user, const vkf__work *work, const vkf__dispatch *planned, const vkf__problem *problem,
                 bool barrier)
{
    product *p = user;
    if (p->count < p->capacity)
        p->dispatches[p->count] = vkf__describe_planned(work, planned, problem, barrier);
    p->count++;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_linear(work, args);
}

static vkf__span weight_span(const plan_device *device, const plan_shape *shape, vkf_dtype dtype, vkf_dtype result)
{
    const vkf_dtype types[] = {VKF_DTYPE_F16, dtype, result};
    const bool blocks = dtype == VKF_DTYPE_Q4 || dtype == VKF_DTYPE_Q8;
    const bool panels = blocks || vkf__wants_panels(device->context, types, shape->n, shape->k);
    const vkf_tensor tensor = {.dtype = dtype,
                               .rank = 2,
                               .shape = {shape->n, shape->k},
                               .layout = panels ? VKF_LAYOUT_PANELS : VKF_LAYOUT_ROWS};
    vkf__span span = {.dtype = dtype, .panels = panels};
    assert_true(vkf_tensor_bytes(&tensor, &span.size_bytes));
    return span;
}

uint32_t plan_product(const plan_device *device, const plan_shape *shape, vkf_dtype weight,
                      vkf_planned_dispatch *out_dispatches, uint32_t capacity)
{
    const vkf_dtype result = shape->logits ? VKF_DTYPE_F32 : VKF_DTYPE_F16;
    product p = {.dispatches = out_dispatches, .capacity = capacity};
    vkf__plan_watcher watcher = {.planned = take, .user = &p};
    vkf__work work;
    p.args = (vkf__linear_args){
        .label = "product",
        .x = {.size_bytes = UINT64_C(2) * shape->m * shape->k, .dtype = VKF_DTYPE_F16},
        .weight = weight_span(device, shape, weight, result),
        .d = {.size_bytes = vkf_dtype_size(result) * (uint64_t)shape->m * shape->n, .dtype = result},
        .rows = shape->m,
        .in = shape->k,
        .out = shape->n,
    };
    vkf__work_init(&work, device->context, "shape");
    work.watcher = &watcher;
    assert_int_equal(vkf__work_plan(&work, emit, &p.args), VKF_OK);
    vkf__work_finish(&work);
    assert_true(p.count <= capacity);
    return p.count;
}

void plan_print(plan_text *text, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_true(length >= 0 && (size_t)length < sizeof line);
    if (text->length + (size_t)length + 1 > text->capacity) {
        text->capacity = 2 * text->capacity + sizeof line;
        text->text = realloc(text->text, text->capacity);
        assert_non_null(text->text);
    }
    memcpy(text->text + text->length, line, (size_t)length + 1);
    text->length += (size_t)length;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    plan_text text = {0};
    if (!file)
        return NULL;
    plan_print(&text, "%s", "");
    for (char line[512]; fgets(line, sizeof line, file);)
        plan_print(&text, "%s", line);
    (void)fclose(file);
    return text.text;
}

static void write_file(const char *path, const plan_text *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text->text, 1, text->length, file), text->length);
    assert_int_equal(fclose(file), 0);
}

// Prints the first lines that differ.
static void show_difference(const char *path, const char *golden, const char *text)
{
    unsigned line = 1, shown = 0;
    while ((*golden || *text) && shown < 10) {
        size_t old_length = strcspn(golden, "\n"), new_length = strcspn(text, "\n");
        if (old_length != new_length || memcmp(golden, text, new_length) != 0) {
            print_error("%s:%u\n  was %.*s\n  is  %.*s\n", path, line, (int)old_length, golden, (int)new_length, text);
            shown++;
        }
        golden += old_length + (golden[old_length] == '\n');
        text += new_length + (text[new_length] == '\n');
        line++;
    }
}

void plan_check(plan_text *text, const char *file)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/plan/%s", VKF_TEST_SOURCE_DIR, file);
    if (text->length == 0)
        plan_print(text, "%s", "");
    if (writes)
        write_file(path, text);
    char *golden = read_file(path);
    assert_non_null(golden);
    bool same = strcmp(golden, text->text) == 0;
    if (!same)
        show_difference(path, golden, text->text);
    free(golden);
    free(text->text);
    *text = (plan_text){0};
    if (!same)
        fail_msg("%s differs; if that is meant, run this test with --write, and the commit shows what changed", file);
}
