// Weights of attention that sessions keep, against what transformers computes: every kind, layer and head, of whole
// runs and of what is gathered over parts and steps.
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

// Larger than every case.
#define MAX_BATCH 4
#define MAX_SOURCE 33
#define MAX_TARGET 24
#define PROMPT_LEN 4 // divides no prompt
#define NEW_TOKENS 5
#define WITHIN 2e-5

// One case of a family: the weights of a kind, and the positions of each row that are no padding.
typedef struct expected {
    uint32_t layers, batch, heads, queries, keys;
    const float *weights;                      // (layers, B, H, queries, keys)
    uint32_t begin[MAX_BATCH], end[MAX_BATCH]; // of the queries
} expected;

typedef struct family {
    const char *name;
    vkf_test_saved saved;
    vkf__tensor_file *attention;
    unsigned number; // of its case
} family;

static family open_family(vkf_test_gpu *gpu, const char *name, unsigned number, const vkf_session_desc *desc)
{
    family f = {
        .name = name,
        .saved = vkf_test_saved_open(gpu, name, VKF_MODEL_PRECISION_F32),
        .attention = vkf_test_open_safetensors(vkf_test_pretrained(name), "attention.safetensors"),
        .number = number,
    };
    f.saved.session = vkf_test_make_session(gpu, f.saved.model, desc);
    return f;
}

static void close_family(family *f)
{
    vkf_test_saved_close(&f->saved);
    vkf__tensor_file_close(&f->attention);
}

static const int32_t *ids_of(const family *f, const char *name, uint32_t *out_batch, uint32_t *out_len)
{
    const vkf__stored_tensor *tensor = vkf_test_case_tensor(f->saved.cases, f->number, name);
    *out_batch = (uint32_t)tensor->shape[0];
    *out_len = (uint32_t)tensor->shape[1];
    return (const int32_t *)tensor->data;
}

static const int32_t *counts_of(const family *f, const char *name)
{
    return (const int32_t *)vkf_test_case_tensor(f->saved.cases, f->number, name)->data;
}

static expected load_expected(const family *f, const char *kind)
{
    const vkf__stored_tensor *tensor = vkf_test_case_tensor(f->attention, f->number, kind);
    expected e = {
        .layers = (uint32_t)tensor->shape[0],
        .batch = (uint32_t)tensor->shape[1],
        .heads = (uint32_t)tensor->shape[2],
        .queries = (uint32_t)tensor->shape[3],
        .keys = (uint32_t)tensor->shape[4],
        .weights = (const float *)tensor->data,
    };
    for (uint32_t b = 0; b < e.batch; b++)
        e.end[b] = e.queries;
    return e;
}

// What is excluded has a weight of exactly 0, and a row sums to 1.
static void check_row(const family *f, const float *row, const float *wanted, uint32_t keys)
{
    double sum = 0;
    for (uint32_t key = 0; key < keys; key++) {
        sum += (double)row[key];
        if (wanted[key] == 0 && row[key] != 0)
            fail_msg("%s: key %u is excluded, its weight is %g", f->name, key, (double)row[key]);
    }
    if (!(sum > 1 - 1e-5 && sum < 1 + 1e-5))
        fail_msg("%s: a row sums to %.8f", f->name, sum);
}

// The weights of the last run; of queries that are padding, which mean nothing, zeros.
static void check_weights(vkf_test_gpu *gpu, const family *f, vkf_attention_kind kind, const expected *e)
{
    size_t plane = (size_t)e->queries * e->keys, layer = e->heads * plane;
    float *weights = calloc(e->layers * e->batch * layer, sizeof *weights);
    assert_non_null(weights);
    for (uint32_t i = 0; i < e->layers * e->batch; i++) {
        uint32_t b = i % e->batch;
        float *given = weights + i * layer;
        if (vkf_session_get_attention(f->saved.session, kind, i / e->batch, b, e->queries, given) != VKF_OK)
            fail_msg("%s: %s", f->name, gpu->last_error);
        for (size_t row = 0; row < (size_t)e->heads * e->queries; row++) {
            size_t query = row % e->queries;
            if (query < e->begin[b] || query >= e->end[b])
                memset(given + row * e->keys, 0, e->keys * sizeof *given);
            else
                check_row(f, given + row * e->keys, e->weights + i * layer + row * e->keys, e->keys);
        }
    }
    assert_close(weights, e->weights, e->layers * e->batch * layer, WITHIN, 0,
                 vkf_test_label(gpu, "%s, kind %d", f->name, (int)kind));
    free(weights);
}

// Encoders: types of tokens, padding, and modernbert's windows to both sides ------------------------------------------

static void test_encoders(void **state)
{
    static const char *const names[] = {"bert", "modernbert"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_session_desc desc = {
        .max_batch = MAX_BATCH, .max_source_len = MAX_SOURCE, .attention_weights = VKF_ATTENTION_ENCODER};
    for (size_t i = 0; i < 2; i++) {
        family f = open_family(gpu, names[i], 1, &desc);
        expected e = load_expected(&f, "encoder");
        vkf_encode_args args = {.source_lengths = (const uint32_t *)counts_of(&f, "lengths")};
        args.source_ids = ids_of(&f, "ids", &args.batch, &args.source_len);
        args.source_types = i == 0 ? counts_of(&f, "types") : NULL;
        for (uint32_t b = 0; b < e.batch; b++)
            e.end[b] = args.source_lengths[b];
        assert_int_equal(vkf_session_encode(f.saved.session, &args), VKF_OK);
        check_weights(gpu, &f, VKF_ATTENTION_ENCODER, &e);
        close_family(&f);
    }
}

// Decoders ------------------------------------------------------------------------------------------------------------

// Continues the case's rows without their padding, and compares what was gathered with a run over the whole of it.
static void check_generated(vkf_test_gpu *gpu, const family *f, const expected *e, const int32_t *ids)
{
    int32_t prompts[MAX_BATCH * MAX_TARGET], made[MAX_BATCH * NEW_TOKENS], *whole;
    uint32_t lengths[MAX_BATCH], counts[MAX_BATCH], at = 0, len = e->queries + NEW_TOKENS - 1;
    for (uint32_t b = 0; b < e->batch; b++, at += lengths[b - 1]) {
        lengths[b] = e->queries - e->begin[b];
        memcpy(prompts + at, ids + (size_t)b * e->queries + e->begin[b], lengths[b] * sizeof *prompts);
    }
    const vkf_generate_args args = {.batch = e->batch,
                                    .prompt_ids = prompts,
                                    .prompt_lengths = lengths,
                                    .max_new_tokens = NEW_TOKENS,
                                    .out_ids = made,
                                    .out_lengths = counts};
    assert_int_equal(vkf_session_generate(f->saved.session, &args), VKF_OK);
    check_weights(gpu, f, VKF_ATTENTION_DECODER, e);
    size_t plane = (size_t)e->heads * len * len, count = (size_t)e->layers * e->batch * plane;
    float *stepped = calloc(2 * count, sizeof *stepped), *at_once = stepped + count;
    whole = calloc((size_t)e->batch * len, sizeof *whole);
    assert_true(stepped && whole);
    for (uint32_t b = 0; b < e->batch; b++) {
        memcpy(whole + (size_t)b * len, ids + (size_t)b * e->queries, e->queries * sizeof *whole);
        memcpy(whole + (size_t)b * len + e->queries, made + (size_t)b * NEW_TOKENS, (NEW_TOKENS - 1) * sizeof *whole);
    }
    const vkf_decode_args decode = {
        .batch = e->batch, .target_len = len, .target_ids = whole, .target_starts = e->begin};
    for (int run = 0; run < 2; run++) {
        for (uint32_t i = 0; i < e->layers * e->batch; i++)
            assert_int_equal(vkf_session_get_attention(f->saved.session, VKF_ATTENTION_DECODER, i / e->batch,
                                                       i % e->batch, len, (run ? at_once : stepped) + i * plane),
                             VKF_OK);
        if (run == 0)
            assert_int_equal(vkf_session_decode(f->saved.session, &decode), VKF_OK);
    }
    assert_close(stepped, at_once, count, WITHIN, 0, vkf_test_label(gpu, "%s, steps", f->name));
    free(whole);
    free(stepped);
}

// Grouped queries and a window, rotary embeddings, and positions that are added.
static void test_decoders(void **state)
{
    static const char *const names[] = {"mistral", "gpt2", "qwen3"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_session_desc desc = {.max_batch = MAX_BATCH,
                                   .max_target_len = MAX_TARGET,
                                   .max_prompt_len = PROMPT_LEN,
                                   .attention_weights = VKF_ATTENTION_DECODER};
    for (size_t i = 0; i < 3; i++) {
        family f = open_family(gpu, names[i], 2, &desc);
        expected e = load_expected(&f, "decoder");
        vkf_decode_args args = {.target_starts = e.begin};
        args.target_ids = ids_of(&f, "ids", &args.batch, &args.target_len);
        for (uint32_t b = 0; b < e.batch; b++)
            e.begin[b] = (uint32_t)counts_of(&f, "starts")[b];
        assert_int_equal(vkf_session_decode(f.saved.session, &args), VKF_OK);
        check_weights(gpu, &f, VKF_ATTENTION_DECODER, &e);
        check_generated(gpu, &f, &e, args.target_ids);
        close_family(&f);
    }
}

// The last layer of a prompt works on all positions then, and logits are those of a session that keeps no weights.
static void test_logits_are_the_same(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_session_desc desc = {.max_batch = MAX_BATCH,
                                   .max_target_len = MAX_TARGET,
                                   .max_prompt_len = PROMPT_LEN,
                                   .max_logit_rows = 3,
                                   .attention_weights = VKF_ATTENTION_DECODER};
    family f = open_family(gpu, "mistral", 1, &desc);
    const vkf__stored_tensor *wanted = vkf_test_case_tensor(f.saved.cases, f.number, "logits");
    size_t count = (size_t)(wanted->shape[0] * wanted->shape[1] * wanted->shape[2]);
    float *logits = calloc(count, sizeof *logits);
    assert_non_null(logits);
    vkf_decode_args args = {.out_logits = logits};
    args.target_ids = ids_of(&f, "ids", &args.batch, &args.target_len);
    assert_int_equal(vkf_session_decode(f.saved.session, &args), VKF_OK);
    assert_close(logits, (const float *)wanted->data, count, 1e-4, 1e-4, "logits");
    free(logits);
    close_family(&f);
}

// Encoder-decoders: all kinds, and T5's biases by distance ------------------------------------------------------------

static void test_encoder_decoders(void **state)
{
    static const char *const names[] = {"t5", "marian"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_session_desc desc = {.max_batch = MAX_BATCH,
                                   .max_source_len = MAX_SOURCE,
                                   .max_target_len = MAX_TARGET,
                                   .max_logit_rows = 1,
                                   .attention_weights =
                                       VKF_ATTENTION_ENCODER | VKF_ATTENTION_DECODER | VKF_ATTENTION_CROSS};
    for (size_t i = 0; i < 2; i++) {
        family f = open_family(gpu, names[i], 2, &desc);
        expected encoder = load_expected(&f, "encoder"), decoder = load_expected(&f, "decoder");
        expected cross = load_expected(&f, "cross");
        vkf_encode_args args = {0};
        vkf_decode_args decode = {0};
        args.source_ids = ids_of(&f, "ids", &args.batch, &args.source_len);
        decode.target_ids = ids_of(&f, "decoder_ids", &decode.batch, &decode.target_len);
        for (uint32_t b = 0; b < encoder.batch; b++)
            encoder.end[b] = (uint32_t)counts_of(&f, "lengths")[b];
        assert_int_equal(vkf_session_encode(f.saved.session, &args), VKF_OK);
        assert_int_equal(vkf_session_decode(f.saved.session, &decode), VKF_OK);
        check_weights(gpu, &f, VKF_ATTENTION_ENCODER, &encoder);
        check_weights(gpu, &f, VKF_ATTENTION_DECODER, &decoder);
        check_weights(gpu, &f, VKF_ATTENTION_CROSS, &cross);
        close_family(&f);
    }
}

// What sessions do not keep ------------------------------------------------------------------------------------------

static void assert_refused(vkf_test_gpu *gpu, vkf_session *session, int kind)
{
    float weights[1];
    vkf_test_expect(gpu, vkf_session_get_attention(session, (vkf_attention_kind)kind, 0, 0, 1, weights),
                    VKF_ERROR_INVALID_ARGUMENT, "attention_weights");
}

static void test_kinds_that_are_not_kept(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_session_desc desc = {.max_batch = 1, .max_target_len = 4, .attention_weights = VKF_ATTENTION_DECODER};
    family f = open_family(gpu, "gpt2", 2, &desc);
    vkf_session *other = NULL;
    static const int kinds[] = {0, VKF_ATTENTION_CROSS, VKF_ATTENTION_ENCODER, 3, 5, 6, 7, 8, -1};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_refused(gpu, f.saved.session, kinds[i]);
        desc.attention_weights = (uint32_t)kinds[i];
        vkf_status status = vkf_session_create(f.saved.model, &desc, &other);
        assert_int_equal(status, kinds[i] == 0 ? VKF_OK : VKF_ERROR_INVALID_ARGUMENT);
        if (status == VKF_OK)
            assert_refused(gpu, other, VKF_ATTENTION_DECODER);
        vkf_session_destroy(&other);
    }
    close_family(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoders),
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_logits_are_the_same),
        cmocka_unit_test(test_encoder_decoders),
        cmocka_unit_test(test_kinds_that_are_not_kept),
    };
    return cmocka_run_group_tests_name("attention weights", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
