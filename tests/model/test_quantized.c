// Models whose weights are in blocks: against the same model with the values of those blocks in its file, which must be
// the same to the rounding of the products, and against what transformers computes without them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "model/directory/inspection.h"
#include "model/load/weight_blocks.h"
#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

#define CASES 3
#define MAX_BATCH 4
#define MAX_LEN 40

static const char *const families[] = {"llama-blocks", "gpt2-blocks", "bert-blocks"};
#define FAMILIES (sizeof families / sizeof families[0])

// What a type of blocks is held to against the weights as they were: the root of the mean square of the errors, in that
// of what is expected. vkformer/model.h states it; about half as much again as 12 seeds of tools/pretrained/make-models
// gave at most.
static const struct quantized {
    vkf_quantization quantization;
    vkf_dtype dtype;
    double bound;
    double dot_bound; // the same by integer dot products, which round the activations to 8 bits, too
} types[] = {{VKF_QUANTIZATION_Q8, VKF_DTYPE_Q8, 0.05, 0.08}, {VKF_QUANTIZATION_Q4, VKF_DTYPE_Q4, 0.65, 0.65}};
// How far they are off the results without, whatever the type.
#define DOT_ERROR 0.05
#define TYPES (sizeof types / sizeof types[0])

// A case of cases.safetensors: logits of a decoder, hidden states of an encoder.
typedef struct run {
    bool decoder;
    uint32_t batch, len, width;
    const int32_t *ids, *types;
    const uint32_t *ends; // (batch): tokens of padding in front, or tokens before padding
    const float *expected;
    size_t count;
} run;

static run load_run(const vkf__tensor_file *file, unsigned number, bool decoder)
{
    const vkf__stored_tensor *expected = vkf_test_case_tensor(file, number, decoder ? "logits" : "hidden");
    return (run){
        .decoder = decoder,
        .batch = (uint32_t)expected->shape[0],
        .len = (uint32_t)expected->shape[1],
        .width = (uint32_t)expected->shape[2],
        .ids = (const int32_t *)vkf_test_case_tensor(file, number, "ids")->data,
        .types = decoder ? NULL : (const int32_t *)vkf_test_case_tensor(file, number, "types")->data,
        .ends = (const uint32_t *)vkf_test_case_tensor(file, number, decoder ? "starts" : "lengths")->data,
        .expected = (const float *)expected->data,
        .count = (size_t)expected->count,
    };
}

static vkf_model *load(vkf_test_gpu *gpu, const char *directory, vkf_model_precision precision,
                       vkf_quantization quantization)
{
    const vkf_model_desc desc = {.directory = directory, .precision = precision, .quantization = quantization};
    return vkf_test_load(gpu, &desc);
}

static vkf_status compute(vkf_session *session, const run *r, float *out)
{
    const vkf_decode_args decode = {
        .batch = r->batch,
        .target_len = r->len,
        .target_ids = r->ids,
        .target_starts = r->ends,
        .out_logits = out,
    };
    const vkf_encode_args encode = {
        .batch = r->batch,
        .source_len = r->len,
        .source_ids = r->ids,
        .source_types = r->types,
        .source_lengths = r->ends,
        .out_memory = out,
    };
    return r->decoder ? vkf_session_decode(session, &decode) : vkf_session_encode(session, &encode);
}

// What the model gives, with zeros where there is padding, as in the files.
static float *run_model(vkf_test_gpu *gpu, vkf_model *model, const run *r)
{
    const vkf_session_desc decoder = {
        .max_batch = MAX_BATCH, .max_target_len = MAX_LEN, .max_logit_rows = 5, .max_prompt_len = 7};
    const vkf_session_desc encoder = {.max_batch = MAX_BATCH, .max_source_len = MAX_LEN};
    vkf_session *session = vkf_test_make_session(gpu, model, r->decoder ? &decoder : &encoder);
    float *out = calloc(r->count, sizeof *out);
    assert_non_null(out);
    vkf_test_must(gpu, compute(session, r, out));
    vkf_session_destroy(&session);
    size_t row = (size_t)r->len * r->width;
    for (uint32_t b = 0; b < r->batch; b++) {
        size_t end = (size_t)r->ends[b] * r->width;
        memset(out + b * row + (r->decoder ? 0 : end), 0, (r->decoder ? end : row - end) * sizeof *out);
    }
    return out;
}

// A tensor's values after they have been blocks, as the file has them.
static void round_trip(const vkf__host *host, const vkf__inspection *model, const vkf__stored_tensor *tensor,
                       const vkf__weight_slot *slot, vkf_dtype dtype, float *out)
{
    uint32_t rows = slot->shape[0], cols = slot->shape[1];
    const vkf__block_source source = {host, model->checkpoint, tensor, slot, dtype};
    float *values = calloc((size_t)rows * cols, sizeof *values);
    uint8_t *blocks = malloc((size_t)rows * cols * 2);
    assert_true(values && blocks);
    assert_int_equal(vkf__rows_to_blocks(&source, 0, rows, values, blocks), VKF_OK);
    vkf__blocks_to_f32(dtype, blocks, (size_t)rows * cols / VKF_BLOCK, values);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t col = 0; col < cols; col++)
            out[slot->transposed ? (size_t)col * rows + row : (size_t)row * cols + col] =
                values[(size_t)row * cols + col];
    free(values);
    free(blocks);
}

// The model in `from`, with the values of blocks in place of all weights that can be in blocks.
static void write_rounded(vkf_test_directory *to, const char *from, vkf_dtype dtype)
{
    vkf__host host;
    vkf__inspection model;
    size_t changed = 0;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_WARNING), VKF_OK);
    assert_int_equal(vkf__inspect_model(&host, from, NULL, &model), VKF_OK);
    size_t count = vkf__checkpoint_count(model.checkpoint);
    vkf__stored_tensor *tensors = calloc(count, sizeof *tensors);
    float **values = calloc(count, sizeof *values);
    assert_true(tensors && values);
    for (size_t i = 0; i < count; i++) {
        vkf__weight_slot slot;
        tensors[i] = *vkf__checkpoint_at(model.checkpoint, i);
        if (!vkf__whole_in_blocks(model.found.slots, model.found.count, &tensors[i], &slot))
            continue;
        values[i] = calloc((size_t)tensors[i].count, sizeof **values);
        assert_non_null(values[i]);
        round_trip(&host, &model, &tensors[i], &slot, dtype, values[i]);
        assert_int_equal(tensors[i].type, VKF_STORED_F32);
        tensors[i].data = (const uint8_t *)values[i];
        changed++;
    }
    assert_true(changed >= 5);
    vkf_test_write_model(to, from, tensors, count);
    for (size_t i = 0; i < count; i++)
        free(values[i]);
    free(values);
    free(tensors);
    vkf__inspection_free(&host, &model);
}

static bool is_decoder(vkf_model *model)
{
    vkf_model_config config;
    vkf_model_get_config(model, &config);
    return config.kind == VKF_MODEL_DECODER;
}

// In a precision of its own, the model in blocks is as near to the one with the blocks' values in f32 as that precision
// is.
static void check_blocks(vkf_test_gpu *gpu, const char *family, const struct quantized *type, size_t precision)
{
    const vkf_test_bound *bound = &vkf_test_bounds[precision];
    const char *directory = vkf_test_pretrained(family);
    vkf_test_directory rounded;
    vkf__tensor_file *file = vkf_test_open_safetensors(directory, "cases.safetensors");
    vkf_test_directory_make(&rounded);
    write_rounded(&rounded, directory, type->dtype);
    vkf_model *blocks = load(gpu, directory, bound->precision, type->quantization);
    vkf_model *values = load(gpu, rounded.path, VKF_MODEL_PRECISION_F32, VKF_QUANTIZATION_NONE);
    for (unsigned i = 0; i < CASES; i++) {
        const run r = load_run(file, i, is_decoder(blocks));
        float *actual = run_model(gpu, blocks, &r), *expected = run_model(gpu, values, &r);
        const char *label =
            vkf_test_label(gpu, "%s, %s, case %u, precision %zu", family, vkf_dtype_name(type->dtype), i, precision);
        assert_close(actual, expected, r.count, bound->atol * vkf_test_scale(expected, r.count), bound->rtol, label);
        free(actual);
        free(expected);
    }
    vkf_model_destroy(&blocks);
    vkf_model_destroy(&values);
    vkf_test_directory_remove(&rounded);
    vkf__tensor_file_close(&file);
}

// The device without products that round activations, but where a test asks for them.
static int setup_exact(void **state)
{
    static const char *const masks[] = {VKF_TEST_NO_INTEGER_DOT_UNITS};
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &(vkf_context_desc){.masks = masks, .mask_count = 1}) : -1;
}

static void test_blocks_are_their_values(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t t = 0; t < TYPES; t++)
            for (size_t p = 0; p < VKF_MODEL_PRECISION_COUNT; p++)
                if (vkf_test_has_turn(gpu, vkf_test_bounds[p].precision))
                    check_blocks(gpu, families[f], &types[t], p);
}

static double error_of(const float *actual, const float *expected, size_t count)
{
    double errors = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double error = (double)actual[i] - (double)expected[i];
        errors += error * error;
        squares += (double)expected[i] * (double)expected[i];
    }
    return sqrt(errors / squares);
}

static void check_error(vkf_test_gpu *gpu, const char *family, const struct quantized *type)
{
    const char *directory = vkf_test_pretrained(family);
    vkf__tensor_file *file = vkf_test_open_safetensors(directory, "cases.safetensors");
    vkf_model *model = load(gpu, directory, VKF_MODEL_PRECISION_F32, type->quantization);
    double worst = 0;
    for (unsigned i = 0; i < CASES; i++) {
        const run r = load_run(file, i, is_decoder(model));
        float *actual = run_model(gpu, model, &r);
        // It is something else, and not the weights as they were.
        assert_true(vkf_test_mismatches(actual, r.expected, r.count, 1e-4, 1e-4) > r.count / 4);
        worst = fmax(worst, error_of(actual, r.expected, r.count));
        free(actual);
    }
    printf("%s in %s: error %.3g\n", family, vkf_dtype_name(type->dtype), worst);
    assert_true(worst <= type->bound);
    vkf_model_destroy(&model);
    vkf__tensor_file_close(&file);
}

static void test_blocks_are_near_what_they_were_made_of(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t t = 0; t < TYPES; t++)
            check_error(gpu, families[f], &types[t]);
}

// The same models with products by integer dot products, which are asked for: how much they are off the results
// without, and off what was expected of the weights as they were.
static void check_integer_dot(vkf_test_gpu *gpu, vkf_test_gpu *dot, const char *family, const struct quantized *type)
{
    const char *directory = vkf_test_pretrained(family);
    vkf__tensor_file *file = vkf_test_open_safetensors(directory, "cases.safetensors");
    vkf_model *plain = load(gpu, directory, VKF_MODEL_PRECISION_F32, type->quantization);
    vkf_model *rounded = load(dot, directory, VKF_MODEL_PRECISION_F32, type->quantization);
    double added = 0, whole = 0;
    for (unsigned i = 0; i < CASES; i++) {
        const run r = load_run(file, i, is_decoder(plain));
        float *expected = run_model(gpu, plain, &r), *actual = run_model(dot, rounded, &r);
        added = fmax(added, error_of(actual, expected, r.count));
        whole = fmax(whole, error_of(actual, r.expected, r.count));
        free(expected);
        free(actual);
    }
    printf("%s in %s by integer dot products: error %.3g, of it by them %.3g\n", family, vkf_dtype_name(type->dtype),
           whole, added);
    assert_true(whole <= type->dot_bound && added <= DOT_ERROR);
    assert_true(added > 1e-4); // it is another way
    vkf_model_destroy(&plain);
    vkf_model_destroy(&rounded);
    vkf__tensor_file_close(&file);
}

static void test_integer_dot_products_add_little(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_context_desc desc = {.variant = "gemm_dot"};
    vkf_test_gpu dot;
    if (!gpu->context->device.plan.caps.integer_dot)
        skip();
    assert_int_equal(vkf_test_gpu_open(&dot, &desc), 0);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t t = 0; t < TYPES; t++)
            check_integer_dot(gpu, &dot, families[f], &types[t]);
    vkf_context_destroy(&dot.context);
    vkf_test_assert_silent(&dot);
}

static void test_memory_is_what_the_plan_says(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static const vkf_quantization quantizations[] = {VKF_QUANTIZATION_NONE, VKF_QUANTIZATION_Q8, VKF_QUANTIZATION_Q4};
    uint64_t planned[3];
    for (size_t i = 0; i < 3; i++) {
        const vkf_model_desc desc = {
            .directory = vkf_test_pretrained("llama-blocks"),
            .precision = VKF_MODEL_PRECISION_F16_WEIGHTS,
            .quantization = quantizations[i],
        };
        const vkf_memory_usage before = vkf_test_usage(gpu);
        vkf_memory_plan plan;
        assert_int_equal(vkf_model_plan(gpu->context, &desc, &plan), VKF_OK);
        vkf_model *model = vkf_test_load(gpu, &desc);
        vkf_test_assert_took(gpu, &before, &plan);
        planned[i] = plan.weights_bytes;
        vkf_model_destroy(&model);
    }
    // The embedding is no Linear's weight, and stays.
    assert_true(planned[1] < planned[0] * 3 / 4);
    assert_true(planned[2] < planned[0] * 1 / 2);
}

static void test_unknown_quantization_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc desc = {.directory = vkf_test_pretrained("llama-blocks"),
                                 .quantization = VKF_QUANTIZATION_COUNT};
    vkf_model *model = NULL;
    vkf_test_expect(gpu, vkf_model_load(gpu->context, &desc, &model), VKF_ERROR_INVALID_ARGUMENT, "quantization");
    assert_null(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_their_values),
        cmocka_unit_test(test_blocks_are_near_what_they_were_made_of),
        cmocka_unit_test(test_integer_dot_products_add_little),
        cmocka_unit_test(test_memory_is_what_the_plan_says),
        cmocka_unit_test(test_unknown_quantization_is_refused),
    };
    return cmocka_run_group_tests_name("quantized", tests, setup_exact, vkf_test_gpu_teardown);
}
