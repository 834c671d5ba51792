// Heads of encoders against what transformers computes: the classes For... of every family.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

static const char *const families[] = {"bert", "roberta", "distilbert", "modernbert"};

static const struct {
    const char *name;
    vkf_head head;
} heads[] = {
    {"sequence-classification", VKF_HEAD_SEQUENCE_CLASSIFICATION},
    {"token-classification", VKF_HEAD_TOKEN_CLASSIFICATION},
    {"question-answering", VKF_HEAD_QUESTION_ANSWERING},
    {"masked-lm", VKF_HEAD_MASKED_LM},
};

typedef struct run {
    uint32_t batch, len, outputs, rows; // rows: 1, or len
    const int32_t *ids, *types;
    const uint32_t *lengths;
    float *logits; // (batch, rows, outputs), what is expected
} run;

static const float *floats(const vkf__tensor_file *file, const char *name)
{
    return (const float *)vkf_test_case_tensor(file, 0, name)->data;
}

// Where an answer begins and ends are two tensors in the file, and the columns of one here.
static void fill_logits(const vkf__tensor_file *file, vkf_head head, run *r)
{
    size_t count = (size_t)r->batch * r->rows;
    bool answers = head == VKF_HEAD_QUESTION_ANSWERING;
    for (size_t i = 0; i < count && answers; i++) {
        r->logits[2 * i] = floats(file, "start_logits")[i];
        r->logits[2 * i + 1] = floats(file, "end_logits")[i];
    }
    if (!answers)
        memcpy(r->logits, floats(file, "logits"), count * r->outputs * sizeof *r->logits);
}

static run load_run(const vkf__tensor_file *file, vkf_head head, uint32_t outputs)
{
    const vkf__stored_tensor *ids = vkf_test_case_tensor(file, 0, "ids");
    run r = {
        .batch = (uint32_t)ids->shape[0],
        .len = (uint32_t)ids->shape[1],
        .outputs = outputs,
        .ids = (const int32_t *)ids->data,
        .types = (const int32_t *)vkf_test_case_tensor(file, 0, "types")->data,
        .lengths = (const uint32_t *)vkf_test_case_tensor(file, 0, "lengths")->data,
    };
    r.rows = head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? 1 : r.len;
    r.logits = calloc((size_t)r.batch * r.rows * outputs, sizeof *r.logits);
    assert_non_null(r.logits);
    fill_logits(file, head, &r);
    return r;
}

// Logits of padding, which mean nothing, as zeros.
static void clear_padding(const run *r, float *logits)
{
    for (uint32_t b = 0; r->rows > 1 && b < r->batch; b++)
        for (uint32_t t = r->lengths[b]; t < r->len; t++)
            memset(logits + ((size_t)b * r->len + t) * r->outputs, 0, r->outputs * sizeof *logits);
}

static void check_head(vkf_test_gpu *gpu, const char *family, size_t head, const vkf_test_bound *bound)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s-%s", family, heads[head].name);
    vkf_test_saved saved = vkf_test_saved_open(gpu, name, bound->precision);
    vkf_model_config config;
    vkf_model_get_config(saved.model, &config);
    assert_int_equal(config.head, heads[head].head);
    run r = load_run(saved.cases, config.head, config.head_outputs);
    const vkf_session_desc desc = {.max_batch = r.batch + 1, .max_source_len = r.len + 2, .max_logit_rows = 1};
    saved.session = vkf_test_make_session(gpu, saved.model, &desc);
    size_t count = (size_t)r.batch * r.rows * r.outputs;
    float *logits = calloc(count, sizeof *logits);
    assert_non_null(logits);
    const vkf_encode_args args = {
        .batch = r.batch,
        .source_len = r.len,
        .source_ids = r.ids,
        .source_lengths = r.lengths,
        .source_types = config.token_types > 0 ? r.types : NULL,
        .out_logits = logits,
    };
    if (vkf_session_encode(saved.session, &args) != VKF_OK)
        fail_msg("%s: %s", name, gpu->last_error);
    clear_padding(&r, logits);
    assert_close(logits, r.logits, count, bound->atol * vkf_test_scale(r.logits, count), bound->rtol,
                 vkf_test_label(gpu, "%s, precision %d", name, (int)bound->precision));
    free(logits);
    free(r.logits);
    vkf_test_saved_close(&saved);
}

// Decoders are run as encoders that see no later token. The first two heads.
static void check_decoders(vkf_test_gpu *gpu, const vkf_test_bound *bound)
{
    static const char *const decoders[] = {"qwen2", "gpt2"};
    for (size_t f = 0; f < sizeof decoders / sizeof decoders[0]; f++)
        for (size_t h = 0; h < 2; h++)
            check_head(gpu, decoders[f], h, bound);
}

static void check_heads(void **state, vkf_model_precision precision)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
            check_head(gpu, families[f], h, &vkf_test_bounds[precision]);
    check_decoders(gpu, &vkf_test_bounds[precision]);
}

static void test_heads_in_f32(void **state)
{
    check_heads(state, VKF_MODEL_PRECISION_F32);
}

static void test_heads_in_f16(void **state)
{
    check_heads(state, VKF_MODEL_PRECISION_F16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads_in_f32),
        cmocka_unit_test(test_heads_in_f16),
    };
    return cmocka_run_group_tests_name("encoder heads", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
