// Adapters of PEFT's: the sums that models read in the place of their weights, for each way in which files hold these;
// which keys of adapter_config.json are followed, idle or refused; and adapters that do not fit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <time.h>

#include "io/safetensors.h"
#include "model/directory/inspection.h"
#include "model/load/adapter_config.h"
#include "model/load/adapter_merge.h"
#include "model/load/adapter_write.h"
#include "model/load/weight_blocks.h"

#include "recording_host.h"
#include "scratch_directory.h"

#define PRETRAINED VKF_TEST_SOURCE_DIR "/tests/pretrained/"
#define RANK 3u
#define ALPHA 1.5
#define MAX_PAIRS 64

// ---- sums

// Random enough, and never twice the same.
static float value_at(uint64_t i)
{
    return (float)((i * 7919 + 31) % 1009) / 1009.0f - 0.5f;
}

// An adapter for all linear layers of a model. Names and numbers are the test's own.
typedef struct made {
    vkf__adapter_pair pairs[MAX_PAIRS];
    char names[MAX_PAIRS][VKF_WEIGHT_NAME_MAX];
    float *values[2 * MAX_PAIRS];
    size_t count;
} made;

static float *make_values(uint64_t count, uint64_t seed)
{
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (uint64_t i = 0; i < count; i++)
        values[i] = value_at(i + 1000 * seed);
    return values;
}

static bool has(const made *m, const char *module)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->names[i], module) == 0)
            return true;
    return false;
}

static void add_pair(made *m, const vkf__weight_slot *slot)
{
    char module[VKF_WEIGHT_NAME_MAX];
    (void)snprintf(module, sizeof module, "%s", slot->name);
    char *ending = strstr(module, ".in_proj_weight");
    ending = ending ? ending : strstr(module, ".weight");
    assert_non_null(ending);
    *ending = '\0';
    if (has(m, module))
        return;
    assert_true(m->count < MAX_PAIRS);
    size_t i = m->count++;
    memcpy(m->names[i], module, sizeof module);
    uint32_t out = slot->shape[0] * (slot->parts > 0 ? slot->parts : 1), in = slot->shape[1];
    m->values[2 * i] = make_values((uint64_t)RANK * in, 2 * i);
    m->values[2 * i + 1] = make_values((uint64_t)RANK * out, 2 * i + 1);
    m->pairs[i] = (vkf__adapter_pair){m->names[i], m->values[2 * i], m->values[2 * i + 1], in, out};
}

static vkf__inspection inspect(recording_host *recording, const char *model, const char *adapter)
{
    vkf__inspection inspection;
    recording_host_init(recording);
    assert_int_equal(vkf__inspect_model(&recording->host, model, adapter, &inspection), VKF_OK);
    if (inspection.supported != VKF_OK)
        fail_msg("%s: %s", model, recording->text);
    return inspection;
}

static void write_adapter(scratch_directory *scratch, made *m, const vkf__inspection *base)
{
    recording_host recording;
    const vkf__adapter_config config = {.rank = RANK, .alpha = ALPHA, .root_scale = true, .task = "CAUSAL_LM"};
    recording_host_init(&recording);
    *m = (made){0};
    for (size_t i = 0; i < base->found.count; i++)
        if (base->found.slots[i].linear && !base->found.slots[i].tied)
            add_pair(m, &base->found.slots[i]);
    assert_true(m->count > 0);
    assert_int_equal(vkf__adapter_write(&recording.host, scratch->path, &config, m->pairs, m->count, NULL, 0), VKF_OK);
    assert_int_equal(recording.live, 0);
}

static double product_at(const vkf__adapter_pair *pair, uint64_t out, uint64_t in)
{
    double sum = 0;
    for (uint64_t k = 0; k < RANK; k++)
        sum += (double)pair->b[out * RANK + k] * (double)pair->a[k * pair->in + in];
    return ALPHA / sqrt(RANK) * sum;
}

// The elements of a stored weight in f32, whatever holds them.
static float *values_of(const vkf__inspection *inspection, size_t slot)
{
    const vkf__stored_tensor *stored = inspection->found.stored[slot];
    const vkf__host *host = &inspection->source.adapter->host;
    vkf_dtype blocks;
    float *values = malloc((size_t)stored->size_bytes * 8);
    assert_non_null(values);
    if (!vkf__stored_in_blocks(&inspection->found.slots[slot], stored, &blocks)) {
        assert_int_equal(vkf__stored_convert(host, stored, 0, stored->count, VKF_DTYPE_F32, values), VKF_OK);
        return values;
    }
    uint8_t *bytes = malloc((size_t)stored->size_bytes);
    assert_true(bytes && vkf__stored_read(stored, 0, stored->size_bytes, bytes) == VKF_OK);
    vkf__blocks_to_f32(blocks, bytes, (size_t)stored->size_bytes / vkf_dtype_block_bytes(blocks), values);
    free(bytes);
    return values;
}

// The sum of one slot, and a part of it that begins and ends within rows.
static void check_sum(const vkf__inspection *with, size_t slot, const vkf__adapter_pair *pair)
{
    const vkf__host *host = &with->source.adapter->host;
    const vkf__stored_tensor *sum = with->found.stored[slot];
    vkf__inspection without = *with;
    const vkf__stored_tensor *base = vkf__merged_base(sum);
    float *got = values_of(with, slot), part[VKF_BLOCK];
    without.found.stored = &base;
    without.found.slots = &with->found.slots[slot];
    float *before = values_of(&without, 0);
    bool turned = with->found.slots[slot].transposed;
    uint64_t cols = sum->shape[1];
    assert_ptr_not_equal(base, sum);
    assert_int_equal(sum->type, VKF_STORED_F32);
    for (uint64_t i = 0; i < sum->count; i++) {
        uint64_t out = turned ? i % cols : i / cols, in = turned ? i / cols : i % cols;
        double expected = (double)before[i] + product_at(pair, out, in);
        if (!(fabs((double)got[i] - expected) < 1e-6 * (1 + fabs(expected))))
            fail_msg("%s: element %u is %g, expected %g", sum->name, (unsigned)i, (double)got[i], expected);
    }
    bool whole = base->type == VKF_STORED_U8; // blocks come in rows
    uint64_t first = whole ? cols : cols - 3, count = whole ? VKF_BLOCK : 7;
    assert_int_equal(vkf__stored_convert(host, sum, first, count, VKF_DTYPE_F32, part), VKF_OK);
    assert_memory_equal(part, got + first, count * sizeof *part);
    free(got);
    free(before);
}

static void check_model(scratch_directory *scratch, const char *model)
{
    recording_host recording, other;
    made m;
    size_t sums = 0;
    vkf__inspection base = inspect(&recording, model, NULL);
    write_adapter(scratch, &m, &base);
    vkf__inspection with = inspect(&other, model, scratch->path);
    assert_int_equal(with.found.count, base.found.count);
    for (size_t i = 0; i < with.found.count; i++)
        for (size_t p = 0; p < m.count; p++) {
            size_t bytes = strlen(m.names[p]);
            const char *name = with.found.slots[i].name;
            if (!with.found.slots[i].linear || strncmp(name, m.names[p], bytes) != 0 ||
                (strcmp(name + bytes, ".weight") != 0 && strcmp(name + bytes, ".in_proj_weight") != 0))
                continue;
            check_sum(&with, i, &m.pairs[p]);
            sums++;
        }
    assert_true(sums >= m.count);
    for (size_t i = 0; i < 2 * m.count; i++)
        free(m.values[i]);
    vkf__inspection_free(&other.host, &with);
    vkf__inspection_free(&recording.host, &base);
    assert_int_equal(recording.live + other.live, 0);
}

static void test_sums_in_every_family(void **state)
{
    static const char *const families[] = {"bart",    "bert", "distilbert", "gpt2",    "gpt_neox", "llama",
                                           "mistral", "t5",   "marian",     "roberta", "qwen3",    "modernbert"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, PRETRAINED "%s", families[i]);
        check_model(*state, path);
    }
    check_model(*state, VKF_TEST_SOURCE_DIR "/tools/demo-model"); // PyTorch's names
}

// A copy of the model whose weights are in blocks.
static void write_blocks(scratch_directory *scratch, const char *model)
{
    recording_host recording;
    static uint8_t blocks[64][1 << 16];
    float values[1 << 15];
    vkf__stored_tensor tensors[64];
    vkf__inspection base = inspect(&recording, model, NULL);
    size_t count = vkf__checkpoint_count(base.checkpoint), bytes = vkf_dtype_block_bytes(VKF_DTYPE_Q8);
    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++) {
        vkf__weight_slot slot;
        tensors[i] = *vkf__checkpoint_at(base.checkpoint, i);
        if (!vkf__whole_in_blocks(base.found.slots, base.found.count, &tensors[i], &slot))
            continue;
        const vkf__block_source source = {&recording.host, base.checkpoint, vkf__checkpoint_at(base.checkpoint, i),
                                          &slot, VKF_DTYPE_Q8};
        assert_true(tensors[i].count <= 1 << 15);
        assert_int_equal(vkf__rows_to_blocks(&source, 0, slot.shape[0], values, blocks[i]), VKF_OK);
        uint64_t row = slot.shape[1] / VKF_BLOCK * bytes;
        tensors[i] = (vkf__stored_tensor){.name = tensors[i].name,
                                          .type = VKF_STORED_U8,
                                          .rank = 2,
                                          .shape = {slot.shape[0], row},
                                          .data = blocks[i],
                                          .size_bytes = slot.shape[0] * row};
    }
    assert_int_equal(
        vkf__safetensors_write(&recording.host, scratch_path(scratch, "model.safetensors"), tensors, count), VKF_OK);
    vkf__inspection_free(&recording.host, &base);
}

static void copy_config(scratch_directory *scratch, const char *model)
{
    recording_host recording;
    vkf__file_bytes bytes;
    char path[512];
    recording_host_init(&recording);
    (void)snprintf(path, sizeof path, "%s/config.json", model);
    assert_int_equal(vkf__file_read(&recording.host, path, 1 << 20, &bytes), VKF_OK);
    scratch_write(scratch, "config.json", bytes.data, bytes.size_bytes);
    vkf__file_bytes_free(&recording.host, &bytes);
}

// The adapter lies beside the model in blocks.
static void test_sums_over_blocks(void **state)
{
    static const char *const models[] = {PRETRAINED "llama-blocks", PRETRAINED "gpt2-blocks"};
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < 2; i++) {
        (void)remove(scratch_path(scratch, VKF_ADAPTER_CONFIG)); // of the model before
        copy_config(scratch, models[i]);
        write_blocks(scratch, models[i]);
        check_model(scratch, scratch->path);
    }
}

// ---- keys

#define CONFIG "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 8"

typedef struct matrix {
    const char *name; // without the prefix; NULL: no more
    uint64_t rows, cols;
    float value;
} matrix;

static void write_files(scratch_directory *scratch, const char *config, const matrix *matrices)
{
    recording_host recording;
    static float values[8][8192];
    char names[8][128];
    vkf__stored_tensor tensors[8];
    size_t count = 0;
    recording_host_init(&recording);
    for (; count < 8 && matrices[count].name; count++) {
        const matrix *m = &matrices[count];
        uint64_t elements = m->rows * (m->cols > 0 ? m->cols : 1);
        assert_true(elements <= 8192);
        for (uint64_t i = 0; i < elements; i++)
            values[count][i] = m->value;
        (void)snprintf(names[count], sizeof names[count], "%s%s", *m->name == '!' ? "" : VKF_ADAPTER_PREFIX,
                       m->name + (*m->name == '!'));
        tensors[count] = (vkf__stored_tensor){
            .name = names[count],
            .type = VKF_STORED_F32,
            .rank = m->cols > 0 ? 2 : 1,
            .shape = {m->rows, m->cols},
            .data = (const uint8_t *)values[count],
            .size_bytes = elements * sizeof(float),
        };
    }
    assert_int_equal(
        vkf__safetensors_write(&recording.host, scratch_path(scratch, VKF_ADAPTER_WEIGHTS), tensors, count), VKF_OK);
    scratch_write(scratch, VKF_ADAPTER_CONFIG, config, strlen(config));
}

#define Q "model.layers.1.self_attn.q_proj"
static const matrix q_pair[] = {{Q ".lora_A.weight", 2, 40, 0.5f}, {Q ".lora_B.weight", 40, 2, 0.5f}, {0}};

// Keys beside the three that are always there; a scale of 0 is a refusal, with the message that names it.
static const struct {
    const char *keys;
    double scale;
    vkf_status status;
    const char *message;
} rows[] = {
    {"", 4, VKF_OK, NULL},
    {"\"use_rslora\": true", 8 / 1.4142135623730951, VKF_OK, NULL},
    {"\"use_rslora\": \"yes\"", 0, VKF_ERROR_FORMAT, "use_rslora"},
    {"\"alpha_pattern\": {\"k_proj\": 5, \"q_proj\": 3, \"" Q "\": 5}", 1.5, VKF_OK, NULL},
    {"\"alpha_pattern\": {\"^model\\\\.layers\\\\.1\\\\.self_attn\\\\.q_proj\": 3}", 1.5, VKF_OK, NULL},
    {"\"alpha_pattern\": {\"^self_attn.q_proj\": 3, \"_proj\": 3}", 4, VKF_OK, NULL},
    {"\"alpha_pattern\": {\"(k|q)_proj\": 3}", 0, VKF_ERROR_UNSUPPORTED, "(k|q)_proj"},
    {"\"rank_pattern\": {\"q_proj\": 3}", 0, VKF_ERROR_FORMAT, "3 rows"},
    {"\"rank_pattern\": {\"q_proj\": \"3\"}", 0, VKF_ERROR_FORMAT, "q_proj"},
    {"\"target_modules\": [\"q_proj\", \"v_proj\"]", 4, VKF_OK, NULL},
    {"\"target_modules\": [\"proj\", 7]", 0, VKF_ERROR_FORMAT, "target_modules"},
    {"\"target_modules\": \"all-linear\"", 4, VKF_OK, NULL},
    {"\"target_modules\": null, \"modules_to_save\": [\"score\"], \"bias\": \"all\"", 4, VKF_OK, NULL},
    {"\"init_lora_weights\": \"gaussian\"", 4, VKF_OK, NULL},
    {"\"init_lora_weights\": false, \"lora_dropout\": 0.5, \"fan_in_fan_out\": true", 4, VKF_OK, NULL},
    {"\"init_lora_weights\": \"pissa_niter_4\"", 0, VKF_ERROR_UNSUPPORTED, "pissa_niter_4"},
    {"\"use_dora\": true", 0, VKF_ERROR_UNSUPPORTED, "use_dora"},
    {"\"use_dora\": false, \"lora_bias\": false, \"layer_replication\": null", 4, VKF_OK, NULL},
    {"\"lora_bias\": true", 0, VKF_ERROR_UNSUPPORTED, "lora_bias"},
    {"\"layer_replication\": [[0, 1]]", 0, VKF_ERROR_UNSUPPORTED, "layer_replication"},
    {"\"megatron_config\": {\"a\": 1}", 0, VKF_ERROR_UNSUPPORTED, "megatron_config"},
    {"\"trainable_token_indices\": [1]", 0, VKF_ERROR_UNSUPPORTED, "trainable_token_indices"},
    {"\"target_parameters\": [\"a\"]", 0, VKF_ERROR_UNSUPPORTED, "target_parameters"},
    {"\"alora_invocation_tokens\": [1]", 0, VKF_ERROR_UNSUPPORTED, "alora_invocation_tokens"},
    {"\"use_qalora\": true", 0, VKF_ERROR_UNSUPPORTED, "use_qalora"},
    {"\"use_bdlora\": {\"a\": 1}", 0, VKF_ERROR_UNSUPPORTED, "use_bdlora"},
    {"\"velora_config\": {\"a\": 1}", 0, VKF_ERROR_UNSUPPORTED, "velora_config"},
    {"\"monteclora_config\": {\"a\": 1}", 0, VKF_ERROR_UNSUPPORTED, "monteclora_config"},
    {"\"arrow_config\": {\"a\": 1}", 0, VKF_ERROR_UNSUPPORTED, "arrow_config"},
    {"\"kasa_config\": {\"a\": 1}", 0, VKF_ERROR_UNSUPPORTED, "kasa_config"},
    {"\"of_tomorrow\": true", 0, VKF_ERROR_UNSUPPORTED, "of_tomorrow"},
    {"\"of_tomorrow\": null", 4, VKF_OK, NULL},
    {"\"task_type\": \"CAUSAL_LM\", \"revision\": \"main\", \"peft_version\": \"1\", \"megatron_core\": \"a\"", 4,
     VKF_OK, NULL},
    {"\"eva_config\": {\"a\": 1}, \"loftq_config\": {\"a\": 1}, \"runtime_config\": {\"a\": 1}", 4, VKF_OK, NULL},
};

static void test_keys(void **state)
{
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char config[512];
        recording_host recording;
        vkf__adapter *adapter = NULL;
        (void)snprintf(config, sizeof config, CONFIG "%s%s}", *rows[i].keys ? ", " : "", rows[i].keys);
        write_files(scratch, config, q_pair);
        recording_host_init(&recording);
        vkf_status status = vkf__adapter_open(&recording.host, scratch->path, &adapter);
        if (status != rows[i].status || (status != VKF_OK && !strstr(recording.text, rows[i].message)))
            fail_msg("%s: status %d with \"%s\"", rows[i].keys, status, recording.text);
        if (adapter && fabs(adapter->products[0].scale - rows[i].scale) > 1e-12)
            fail_msg("%s: the scale is %g", rows[i].keys, adapter->products[0].scale);
        vkf__adapter_close(&adapter);
        assert_int_equal(recording.live, 0);
    }
}

// ---- adapters that do not fit

static const struct {
    const char *model, *config;
    matrix matrices[3];
    vkf_status status;
    const char *message;
} misfits[] = {
    {"llama", "[]", {{0}}, VKF_ERROR_FORMAT, "adapter_config.json"},
    {"llama", "{\"peft_type\": \"IA3\"}", {{0}}, VKF_ERROR_UNSUPPORTED, "IA3"},
    {"llama", "{\"peft_type\": \"LORA\"}", {{0}}, VKF_ERROR_FORMAT, "'r'"},
    {"llama",
     CONFIG "}",
     {{"!" Q ".lora_A.weight", 2, 40, 0}, {"!" Q ".lora_B.weight", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "does not begin with"},
    {"llama", CONFIG "}", {{Q ".lora_A.weight", 2, 40, 0}}, VKF_ERROR_FORMAT, "*.lora_B.weight"},
    {"llama", CONFIG "}", {{Q ".lora_B.weight", 40, 2, 0}}, VKF_ERROR_FORMAT, "*.lora_A.weight"},
    {"llama", CONFIG "}", {{Q ".lora_magnitude_vector", 40, 0, 0}}, VKF_ERROR_UNSUPPORTED, "lora_magnitude_vector"},
    {"llama",
     CONFIG "}",
     {{Q ".lora_A.weight", 2, 40, 0}, {Q ".lora_B.weight", 40, 3, 0}},
     VKF_ERROR_FORMAT,
     "2 columns"},
    {"llama",
     CONFIG "}",
     {{Q ".lora_A.weight", 2, 41, 0}, {Q ".lora_B.weight", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "40 by 41, the model's has 40 by 40"},
    {"llama",
     CONFIG "}",
     {{Q ".lora_A.weight", 2, 40, NAN}, {Q ".lora_B.weight", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "element 0 of tensor base_model.model." Q ".lora_A.weight"},
    {"llama",
     CONFIG "}",
     {{"model.layers.1.self_attn.q_prog.lora_A.weight", 2, 40, 0},
      {"model.layers.1.self_attn.q_prog.lora_B.weight", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "the nearest is " Q ".weight"},
    {"llama",
     CONFIG "}",
     {{"model.layers.2.self_attn.q_proj.lora_A.weight", 2, 40, 0},
      {"model.layers.2.self_attn.q_proj.lora_B.weight", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "model.layers.2.self_attn.q_proj"},
    {"llama", CONFIG "}", {{"score.weight", 3, 40, 0}}, VKF_ERROR_FORMAT, "score.weight"},
    {"llama", CONFIG "}", {{"model.norm.weight", 41, 0, 0}}, VKF_ERROR_FORMAT, "asks for (40)"},
    {"llama",
     CONFIG "}",
     {{Q ".lora_embedding_A", 2, 40, 0}, {Q ".lora_embedding_B", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "an embedding's"},
    {"llama",
     CONFIG "}",
     {{"model.embed_tokens.lora_A.weight", 2, 40, 0}, {"model.embed_tokens.lora_B.weight", 101, 2, 0}},
     VKF_ERROR_FORMAT,
     "a linear layer's"},
    {"llama",
     CONFIG "}",
     {{"model.norm.lora_A.weight", 2, 40, 0}, {"model.norm.lora_B.weight", 40, 2, 0}},
     VKF_ERROR_FORMAT,
     "model.norm"},
    {"gpt2",
     CONFIG "}",
     {{"transformer.wte.lora_embedding_A", 2, 101, 0}, {"transformer.wte.lora_embedding_B", 30, 2, 0}},
     VKF_ERROR_UNSUPPORTED,
     "ensure_weight_tying"},
    {"gpt2", CONFIG "}", {{"wte.weight", 101, 30, 0}}, VKF_ERROR_UNSUPPORTED, "ensure_weight_tying"},
    {"llama",
     CONFIG "}",
     {{"model.norm.weight", 40, 0, 0},
      {"model.norm.modules_to_save.weight", 40, 0, 0},
      {"model.norm.original_module.weight", 41, 0, NAN}},
     VKF_OK,
     NULL},
    {"gpt2", CONFIG ", \"ensure_weight_tying\": true}", {{"wte.weight", 101, 30, 0}}, VKF_OK, NULL},
    {"gpt2", CONFIG "}", {{"lm_head.lora_A.weight", 2, 30, 0}, {"lm_head.lora_B.weight", 101, 2, 0}}, VKF_OK, NULL},
    {"bart",
     CONFIG "}",
     {{"model.shared.lora_embedding_A", 2, 101, 0}, {"model.shared.lora_embedding_B", 30, 2, 0}},
     VKF_ERROR_UNSUPPORTED,
     "model.shared"},
};

static void test_misfits(void **state)
{
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof misfits / sizeof misfits[0]; i++) {
        recording_host recording;
        vkf__inspection inspection;
        char model[512];
        (void)snprintf(model, sizeof model, PRETRAINED "%s", misfits[i].model);
        write_files(scratch, misfits[i].config, misfits[i].matrices);
        recording_host_init(&recording);
        assert_int_equal(vkf__inspect_model(&recording.host, model, scratch->path, &inspection), VKF_OK);
        if (inspection.supported != misfits[i].status ||
            (inspection.supported != VKF_OK && !strstr(recording.text, misfits[i].message)))
            fail_msg("case %zu: status %d with \"%s\"", i, inspection.supported, recording.text);
        vkf__inspection_free(&recording.host, &inspection);
        assert_int_equal(recording.live, 0);
    }
}

// Finite matrices whose product is not: the adapter is named, not the model.
static void test_a_product_that_overflows(void **state)
{
    scratch_directory *scratch = *state;
    const matrix matrices[] = {{Q ".lora_A.weight", 2, 40, 1e20f}, {Q ".lora_B.weight", 40, 2, 1e20f}, {0}};
    recording_host recording;
    vkf__inspection inspection;
    float values[40 * 40];
    size_t slot = 0;
    write_files(scratch, CONFIG "}", matrices);
    recording_host_init(&recording);
    assert_int_equal(vkf__inspect_model(&recording.host, PRETRAINED "llama", scratch->path, &inspection), VKF_OK);
    assert_int_equal(inspection.supported, VKF_OK);
    while (strcmp(inspection.found.slots[slot].name, Q ".weight") != 0)
        slot++;
    const vkf__stored_tensor *sum = inspection.found.stored[slot];
    assert_int_equal(vkf__stored_read(sum, 80, sum->size_bytes - 80, values), VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording.text,
                           "adapter_model.safetensors: the product of tensors base_model.model." Q
                           ".lora_B.weight and base_model.model." Q ".lora_A.weight, times 4, makes element 20 of " Q
                           ".weight too large for a float32"));
    vkf__inspection_free(&recording.host, &inspection);
    assert_int_equal(recording.live, 0);
}

// The time for a module does not depend on how many names the file has: 4 * 10^9 comparisons would take minutes.
static void test_many_patterns(void **state)
{
    scratch_directory *scratch = *state;
    enum { MANY = 60000 };
    recording_host recording;
    vkf__adapter_settings settings = {0};
    json_t *root = json_loads(CONFIG "}", 0, NULL), *ranks = json_object(), *targets = json_array();
    char name[32];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "%sm%d", i % 2 ? "^a." : "", i);
        json_object_set_new(ranks, name, json_integer(i + 1));
        json_array_append_new(targets, json_string(name + (i % 2 ? 3 : 0)));
    }
    json_object_set_new(root, "rank_pattern", ranks);
    json_object_set_new(root, "target_modules", targets);
    assert_int_equal(json_dump_file(root, scratch_path(scratch, VKF_ADAPTER_CONFIG), 0), 0);
    json_decref(root);
    recording_host_init(&recording);
    clock_t begin = clock();
    assert_int_equal(vkf__adapter_settings_load(&recording.host, scratch->path, &settings), VKF_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t rank = 0;
        double scale = 0;
        (void)snprintf(name, sizeof name, "a.m%u", i);
        assert_int_equal(vkf__adapter_scale_of(&recording.host, &settings, name, &rank, &scale), VKF_OK);
        assert_int_equal(rank, i + 1);
    }
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
    vkf__adapter_settings_free(&recording.host, &settings);
    assert_int_equal(recording.live, 0);
}

static void test_no_files(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    vkf__adapter *adapter = NULL;
    recording_host_init(&recording);
    assert_int_equal(vkf__adapter_open(&recording.host, scratch->path, &adapter), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "adapter_config.json"));
    scratch_write(scratch, VKF_ADAPTER_CONFIG, CONFIG "}", sizeof CONFIG);
    assert_int_equal(vkf__adapter_open(&recording.host, scratch->path, &adapter), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "adapter_model.safetensors"));
    assert_int_equal(recording.live, 0);
}

static void test_any_allocation_failing(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t call = 1; failed; call++) {
        recording_host recording;
        vkf__inspection now;
        recording_host_init(&recording);
        recording.fail_call = call;
        vkf_status status = vkf__inspect_model(&recording.host, PRETRAINED "gpt2", PRETRAINED "gpt2-adapter", &now);
        failed = recording.calls >= call;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        if (status == VKF_OK)
            vkf__inspection_free(&recording.host, &now);
        assert_int_equal(recording.live, 0);
    }
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_sums_in_every_family),
        SCRATCH_TEST(test_sums_over_blocks),
        SCRATCH_TEST(test_keys),
        SCRATCH_TEST(test_misfits),
        SCRATCH_TEST(test_a_product_that_overflows),
        SCRATCH_TEST(test_many_patterns),
        SCRATCH_TEST(test_no_files),
        SCRATCH_TEST(test_any_allocation_failing),
    };
    return cmocka_run_group_tests_name("adapter", tests, NULL, NULL);
}
