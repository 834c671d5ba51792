// Decoders as Hugging Face's transformers saves them, against what transformers computes: logits, and greedy tokens.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

#define CASES 4
#define NEW_TOKENS 12
// Larger than every case, and prompts in parts that divide none of them.
#define MAX_BATCH 4
#define PROMPT_LEN 7

static const char *const families[] = {"gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3"};
#define FAMILIES (sizeof families / sizeof families[0])

typedef struct run {
    uint32_t batch, len, vocab;
    const int32_t *ids, *starts; // (batch, len), padded in front; (batch)
    const float *logits;         // what is expected
    const int32_t *greedy;       // (batch, NEW_TOKENS)
} run;

static run load_run(const vkf__safetensors *file, unsigned number)
{
    const vkf__stored_tensor *logits = vkf_test_case_tensor(file, number, "logits");
    return (run){
        .batch = (uint32_t)logits->shape[0],
        .len = (uint32_t)logits->shape[1],
        .vocab = (uint32_t)logits->shape[2],
        .ids = (const int32_t *)vkf_test_case_tensor(file, number, "ids")->data,
        .starts = (const int32_t *)vkf_test_case_tensor(file, number, "starts")->data,
        .logits = (const float *)logits->data,
        .greedy = (const int32_t *)vkf_test_case_tensor(file, number, "greedy")->data,
    };
}

static vkf_session *make_session(vkf_test_gpu *gpu, vkf_model *model)
{
    vkf_model_config config;
    vkf_model_get_config(model, &config);
    const vkf_session_desc desc = {
        .max_batch = MAX_BATCH,
        .max_target_len = config.max_target_len,
        .max_logit_rows = 5,
        .max_prompt_len = PROMPT_LEN,
    };
    vkf_session *session = NULL;
    if (vkf_session_create(model, &desc, &session) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    return session;
}

// Logits of padding, which mean nothing, as zeros.
static void decode(vkf_test_gpu *gpu, vkf_session *session, const run *r, float *logits)
{
    uint32_t starts[MAX_BATCH];
    for (uint32_t b = 0; b < r->batch; b++)
        starts[b] = (uint32_t)r->starts[b];
    const vkf_decode_args args = {
        .batch = r->batch,
        .target_len = r->len,
        .target_ids = r->ids,
        .target_starts = starts,
        .out_logits = logits,
    };
    if (vkf_session_decode(session, &args) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    for (uint32_t b = 0; b < r->batch; b++)
        memset(logits + (size_t)b * r->len * r->vocab, 0, (size_t)starts[b] * r->vocab * sizeof *logits);
}

static double largest(const float *values, size_t count)
{
    double most = 1;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)values[i]));
    return most;
}

static void check_logits(vkf_test_gpu *gpu, const char *family, size_t precision)
{
    const vkf_test_bound *bound = &vkf_test_bounds[precision];
    vkf__safetensors *file = vkf_test_open_safetensors(vkf_test_pretrained(family), "cases.safetensors");
    vkf_model *model = vkf_test_load_pretrained(gpu, vkf_test_pretrained(family), bound->precision);
    vkf_session *session = make_session(gpu, model);
    for (unsigned i = 0; i < CASES; i++) {
        const run r = load_run(file, i);
        size_t count = (size_t)r.batch * r.len * r.vocab;
        float *logits = calloc(count, sizeof *logits);
        assert_non_null(logits);
        decode(gpu, session, &r, logits);
        assert_close(logits, r.logits, count, bound->atol * largest(r.logits, count), bound->rtol,
                     vkf_test_label(gpu, "%s, case %u, precision %zu, logits", family, i, precision));
        free(logits);
    }
    assert_int_equal(vkf_session_record_count(session), vkf_session_command_buffer_count(session));
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    vkf__safetensors_close(&file);
}

static void test_logits_in_every_precision(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t p = 0; p < VKF_MODEL_PRECISION_COUNT; p++)
            check_logits(gpu, families[f], p);
}

// A case's rows without their padding, as prompts.
static uint32_t prompts_of(const run *r, int32_t *out_ids, uint32_t out_lengths[MAX_BATCH])
{
    uint32_t count = 0;
    for (uint32_t b = 0; b < r->batch; b++) {
        out_lengths[b] = r->len - (uint32_t)r->starts[b];
        memcpy(out_ids + count, r->ids + (size_t)b * r->len + r->starts[b], out_lengths[b] * sizeof *out_ids);
        count += out_lengths[b];
    }
    return count;
}

static void check_tokens(const char *label, const int32_t *tokens, const int32_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tokens[i] != expected[i])
            fail_msg("%s: token %zu of row %zu is %d, expected %d", label, i % NEW_TOKENS, i / NEW_TOKENS, tokens[i],
                     expected[i]);
}

static void generate(vkf_test_gpu *gpu, vkf_session *session, const run *r, int32_t *out_ids, uint32_t *out_lengths,
                     vkf_stop_reason *out_reasons)
{
    int32_t ids[MAX_BATCH * 64];
    uint32_t lengths[MAX_BATCH];
    (void)prompts_of(r, ids, lengths);
    const vkf_generate_args args = {
        .batch = r->batch,
        .prompt_ids = ids,
        .prompt_lengths = lengths,
        .max_new_tokens = NEW_TOKENS,
        .out_ids = out_ids,
        .out_lengths = out_lengths,
        .out_reasons = out_reasons,
    };
    if (vkf_session_generate(session, &args) != VKF_OK)
        fail_msg("%s", gpu->last_error);
}

static void test_greedy_tokens(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < FAMILIES; f++) {
        vkf__safetensors *file = vkf_test_open_safetensors(vkf_test_pretrained(families[f]), "cases.safetensors");
        vkf_model *model = vkf_test_load_pretrained(gpu, vkf_test_pretrained(families[f]), VKF_MODEL_PRECISION_F32);
        vkf_session *session = make_session(gpu, model);
        for (unsigned i = 0; i < CASES; i++) {
            const run r = load_run(file, i);
            int32_t ids[MAX_BATCH * NEW_TOKENS];
            uint32_t lengths[MAX_BATCH];
            vkf_stop_reason reasons[MAX_BATCH];
            generate(gpu, session, &r, ids, lengths, reasons);
            check_tokens(vkf_test_label(gpu, "%s, case %u", families[f], i), ids, r.greedy,
                         (size_t)r.batch * NEW_TOKENS);
            for (uint32_t b = 0; b < r.batch; b++)
                assert_true(lengths[b] == NEW_TOKENS || reasons[b] == VKF_STOP_EOS);
        }
        assert_int_equal(vkf_session_record_count(session), vkf_session_command_buffer_count(session));
        vkf_session_destroy(&session);
        vkf_model_destroy(&model);
        vkf__safetensors_close(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_in_every_precision),
        cmocka_unit_test(test_greedy_tokens),
    };
    return cmocka_run_group_tests_name("decoder", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
