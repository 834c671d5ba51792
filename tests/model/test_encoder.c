// Encoders as Hugging Face's transformers saves them, against what transformers computes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

#define CASES 3
// The longest case is shorter, so that a run's sizes are not the session's.
#define MAX_BATCH 4
#define MAX_LEN 40

// The first one's tokens have types.
static const char *const families[] = {"bert", "roberta", "camembert", "bert-decoder", "distilbert", "modernbert"};
#define FAMILIES (sizeof families / sizeof families[0])

typedef struct run {
    uint32_t batch, len, dim;
    const int32_t *ids, *types;
    const uint32_t *lengths;
    const float *hidden, *embeddings; // what is expected
} run;

static run load_run(const vkf__tensor_file *file, unsigned number)
{
    const vkf__stored_tensor *hidden = vkf_test_case_tensor(file, number, "hidden");
    return (run){
        .batch = (uint32_t)hidden->shape[0],
        .len = (uint32_t)hidden->shape[1],
        .dim = (uint32_t)hidden->shape[2],
        .ids = (const int32_t *)vkf_test_case_tensor(file, number, "ids")->data,
        .types = (const int32_t *)vkf_test_case_tensor(file, number, "types")->data,
        .lengths = (const uint32_t *)vkf_test_case_tensor(file, number, "lengths")->data,
        .hidden = (const float *)hidden->data,
        .embeddings = (const float *)vkf_test_case_tensor(file, number, "embeddings")->data,
    };
}

static vkf_session *make_session(vkf_test_gpu *gpu, vkf_model *model)
{
    const vkf_session_desc desc = {.max_batch = MAX_BATCH, .max_source_len = MAX_LEN};
    return vkf_test_make_session(gpu, model, &desc);
}

// What the device gives; hidden states of padding, which mean nothing, as zeros.
static void encode(vkf_test_gpu *gpu, vkf_session *session, const run *r, bool typed, float *hidden, float *embeddings)
{
    const vkf_encode_args args = {
        .batch = r->batch,
        .source_len = r->len,
        .source_ids = r->ids,
        .source_lengths = r->lengths,
        .source_types = typed ? r->types : NULL,
        .out_memory = hidden,
        .out_embeddings = embeddings,
    };
    if (vkf_session_encode(session, &args) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    for (uint32_t b = 0; b < r->batch; b++)
        for (uint32_t t = r->lengths[b]; t < r->len; t++)
            memset(hidden + ((size_t)b * r->len + t) * r->dim, 0, r->dim * sizeof *hidden);
}

static void check_family(vkf_test_gpu *gpu, size_t f, size_t precision)
{
    const char *family = families[f];
    vkf_test_saved saved = vkf_test_saved_open(gpu, family, vkf_test_bounds[precision].precision);
    saved.session = make_session(gpu, saved.model);
    for (unsigned i = 0; i < CASES; i++) {
        const run r = load_run(saved.cases, i);
        size_t count = (size_t)r.batch * r.len * r.dim, pooled = (size_t)r.batch * r.dim;
        float *hidden = calloc(count + pooled, sizeof *hidden);
        assert_non_null(hidden);
        encode(gpu, saved.session, &r, f == 0, hidden, hidden + count);
        assert_close(hidden, r.hidden, count, vkf_test_bounds[precision].atol, vkf_test_bounds[precision].rtol,
                     vkf_test_label(gpu, "%s, case %u, precision %zu, hidden", family, i, precision));
        assert_close(hidden + count, r.embeddings, pooled, vkf_test_bounds[precision].atol,
                     vkf_test_bounds[precision].rtol,
                     vkf_test_label(gpu, "%s, case %u, precision %zu, embeddings", family, i, precision));
        free(hidden);
    }
    vkf_test_saved_close(&saved);
}

static void test_families_in_every_precision(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t p = 0; p < VKF_MODEL_PRECISION_COUNT; p++)
            if (vkf_test_has_turn(gpu, vkf_test_bounds[p].precision))
                check_family(gpu, f, p);
}

// Tensors of heads, constants, and the bias of keys, which adds the same to every score of a query.
static bool without_effect(const char *name)
{
    static const char *const parts[] = {"position_ids", "pooler.", "lm_head.", "key.bias", "k_lin.bias"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

static bool differs(vkf_test_gpu *gpu, vkf_model *model, const vkf__tensor_file *cases)
{
    const run r = load_run(cases, 1);
    size_t count = (size_t)r.batch * r.len * r.dim;
    vkf_model_config config;
    vkf_model_get_config(model, &config);
    vkf_session *session = make_session(gpu, model);
    float *hidden = calloc(count + (size_t)r.batch * r.dim, sizeof *hidden);
    assert_non_null(hidden);
    encode(gpu, session, &r, config.token_types > 1, hidden, hidden + count);
    bool other = vkf_test_mismatches(hidden, r.hidden, count, 5e-5, 1e-4) > 0;
    free(hidden);
    vkf_session_destroy(&session);
    return other;
}

// None of a model's tensors goes to the wrong place, or nowhere.
static void test_every_tensor_counts(void **state)
{
    vkf_test_every_tensor_counts(vkf_test_gpu_of(state), families, FAMILIES, without_effect, differs);
}

static void test_plans_are_what_is_allocated(void **state)
{
    vkf_test_plans_are_allocated(vkf_test_gpu_of(state), "bert",
                                 &(vkf_session_desc){.max_batch = MAX_BATCH, .max_source_len = MAX_LEN});
}

static void refuse(vkf_test_gpu *gpu, vkf_session *session, vkf_encode_args args, vkf_status expected, const char *text)
{
    vkf_test_expect(gpu, vkf_session_encode(session, &args), expected, text);
}

static void test_wrong_arguments_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_family(gpu, "bert");
    vkf_session *session = make_session(gpu, model), *none = NULL;
    static const int32_t ids[] = {5, 6, 7}, types[] = {0, 1, 1}, bad_ids[] = {5, 101, 7}, bad_types[] = {0, 2, 0};
    static const uint32_t lengths[] = {3}, bad_length[] = {4}, no_length[] = {0};
    const vkf_encode_args good = {
        .batch = 1, .source_len = 3, .source_ids = ids, .source_lengths = lengths, .source_types = types};
    float logits[3];
    vkf_encode_args args = good;
    assert_int_equal(vkf_session_encode(session, &good), VKF_OK);
    args.source_lengths = NULL;
    refuse(gpu, session, args, VKF_ERROR_INVALID_ARGUMENT, "source_lengths");
    args = good, args.source_ids = bad_ids;
    refuse(gpu, session, args, VKF_ERROR_INVALID_ARGUMENT, "token id 101");
    args = good, args.source_lengths = bad_length;
    refuse(gpu, session, args, VKF_ERROR_INVALID_ARGUMENT, "source_lengths[0] is 4");
    args.source_lengths = no_length;
    refuse(gpu, session, args, VKF_ERROR_INVALID_ARGUMENT, "source_lengths[0] is 0");
    args = good, args.source_types = bad_types;
    refuse(gpu, session, args, VKF_ERROR_INVALID_ARGUMENT, "token type");
    args = good, args.source_len = MAX_LEN + 1;
    refuse(gpu, session, args, VKF_ERROR_TOO_LARGE, "source_len 41");
    args = good, args.out_logits = logits;
    refuse(gpu, session, args, VKF_ERROR_INVALID_ARGUMENT, "the model has no head");
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 49};
    vkf_test_expect(gpu, vkf_session_create(model, &desc, &none), VKF_ERROR_TOO_LARGE, "48 positions");
    assert_int_equal(vkf_session_decode(session, &(vkf_decode_args){.target_len = 1}), VKF_ERROR_INVALID_ARGUMENT);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_in_every_precision),
        cmocka_unit_test(test_every_tensor_counts),
        cmocka_unit_test(test_plans_are_what_is_allocated),
        cmocka_unit_test(test_wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("encoder", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
