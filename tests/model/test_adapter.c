// Models with an adapter of PEFT's, against what PEFT and transformers compute; and a saved cache is good only for the
// adapter that it was made with.
#include <stdio.h>
#include <stdlib.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

#define BATCH 2
#define LENGTH 9
#define NEW_TOKENS 6

// The family's model with the adapter NAME-adapter; with none where `adapted` is false.
static vkf_model *load(vkf_test_gpu *gpu, const char *family, bool adapted)
{
    char directory[512], adapter[520];
    (void)snprintf(directory, sizeof directory, "%s", vkf_test_pretrained(family));
    (void)snprintf(adapter, sizeof adapter, "%s-adapter", directory);
    const vkf_model_desc desc = {.directory = directory, .adapter_directory = adapted ? adapter : NULL};
    return vkf_test_load(gpu, &desc);
}

static vkf_session *make_session(vkf_test_gpu *gpu, vkf_model *model)
{
    vkf_model_config config;
    vkf_model_get_config(model, &config);
    const vkf_session_desc desc = {
        .max_batch = BATCH,
        .max_source_len = config.max_source_len > 0 ? LENGTH : 0,
        .max_target_len = config.max_target_len > 0 ? LENGTH + NEW_TOKENS : 0,
        .max_logit_rows = LENGTH,
    };
    return vkf_test_make_session(gpu, model, &desc);
}

// The model with its adapter, what PEFT computed with it, and a session.
static vkf_test_saved open_adapted(vkf_test_gpu *gpu, const char *family)
{
    char directory[512];
    (void)snprintf(directory, sizeof directory, "%s-adapter", vkf_test_pretrained(family));
    vkf_test_saved saved = {.cases = vkf_test_open_safetensors(directory, "cases.safetensors"),
                            .model = load(gpu, family, true)};
    saved.session = make_session(gpu, saved.model);
    return saved;
}

static void check(vkf_test_gpu *gpu, const char *family, const float *logits, const vkf__stored_tensor *expected)
{
    const vkf_test_bound *bound = &vkf_test_bounds[VKF_MODEL_PRECISION_F32];
    const float *values = (const float *)expected->data;
    assert_close(logits, values, expected->count, bound->atol * vkf_test_scale(values, expected->count), bound->rtol,
                 vkf_test_label(gpu, "%s with its adapter", family));
}

static void check_decoder(vkf_test_gpu *gpu, const char *family)
{
    vkf_test_saved saved = open_adapted(gpu, family);
    const vkf__stored_tensor *logits = vkf_test_case_tensor(saved.cases, 0, "logits");
    const int32_t *ids = (const int32_t *)vkf_test_case_tensor(saved.cases, 0, "ids")->data;
    const uint32_t lengths[BATCH] = {LENGTH, LENGTH};
    int32_t tokens[BATCH * NEW_TOKENS];
    uint32_t counts[BATCH];
    float *out = calloc(logits->count, sizeof *out);
    assert_non_null(out);
    const vkf_decode_args decode = {.batch = BATCH, .target_len = LENGTH, .target_ids = ids, .out_logits = out};
    const vkf_generate_args generate = {
        .batch = BATCH,
        .prompt_ids = ids,
        .prompt_lengths = lengths,
        .max_new_tokens = NEW_TOKENS,
        .out_ids = tokens,
        .out_lengths = counts,
    };
    vkf_test_must(gpu, vkf_session_decode(saved.session, &decode));
    vkf_test_must(gpu, vkf_session_generate(saved.session, &generate));
    check(gpu, family, out, logits);
    const int32_t *greedy = (const int32_t *)vkf_test_case_tensor(saved.cases, 0, "greedy")->data;
    for (uint32_t row = 0; row < BATCH; row++) // it goes on behind an end
        assert_memory_equal(tokens + row * NEW_TOKENS, greedy + row * NEW_TOKENS, counts[row] * sizeof *tokens);
    free(out);
    vkf_test_saved_close(&saved);
}

static void test_decoders(void **state)
{
    check_decoder(vkf_test_gpu_of(state), "llama");
    check_decoder(vkf_test_gpu_of(state), "gpt2");
}

static void test_a_classifier(void **state)
{
    static const char family[] = "bert-sequence-classification";
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_saved saved = open_adapted(gpu, family);
    const vkf__stored_tensor *logits = vkf_test_case_tensor(saved.cases, 0, "logits");
    const uint32_t lengths[BATCH] = {LENGTH, LENGTH};
    float out[BATCH * 8];
    assert_true(logits->count <= sizeof out / sizeof out[0]);
    const vkf_encode_args encode = {
        .batch = BATCH,
        .source_len = LENGTH,
        .source_ids = (const int32_t *)vkf_test_case_tensor(saved.cases, 0, "ids")->data,
        .source_lengths = lengths,
        .source_types = (const int32_t *)vkf_test_case_tensor(saved.cases, 0, "types")->data,
        .out_logits = out,
    };
    vkf_test_must(gpu, vkf_session_encode(saved.session, &encode));
    check(gpu, family, out, logits);
    vkf_test_saved_close(&saved);
}

static void test_a_cache_of_the_model_without(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_model *models[] = {load(gpu, "llama", false), load(gpu, "llama", true), load(gpu, "llama", true)};
    vkf_session *sessions[3];
    static const vkf_status expected[3] = {VKF_ERROR_FORMAT, VKF_OK, VKF_OK};
    vkf_test_directory_make(&directory);
    for (size_t i = 0; i < 3; i++)
        sessions[i] = make_session(gpu, models[i]);
    assert_int_equal(vkf_session_save(sessions[1], vkf_test_path(&directory, "cache")), VKF_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(vkf_session_restore(sessions[i], vkf_test_path(&directory, "cache")), expected[i]);
        vkf_session_destroy(&sessions[i]);
        vkf_model_destroy(&models[i]);
    }
    vkf_test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_a_classifier),
        cmocka_unit_test(test_a_cache_of_the_model_without),
    };
    return cmocka_run_group_tests_name("adapter", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
