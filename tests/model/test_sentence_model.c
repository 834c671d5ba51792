// Models of sentence-transformers through the public interface: embeddings, prompts, memory plans.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vkformer/embed.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

static const char *const families[] = {"sentence-mean", "sentence-modules", "sentence-prompt", "sentence-older"};

// The rows of expected.jsonl: texts and embeddings.
static json_t *load_expected(const char *directory)
{
    char path[512];
    json_error_t error;
    (void)snprintf(path, sizeof path, "%s/expected.jsonl", directory);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    json_t *rows = json_array();
    for (json_t *row; (row = json_loadf(stream, JSON_DISABLE_EOF_CHECK, &error));)
        json_array_append_new(rows, row);
    (void)fclose(stream);
    assert_true(json_array_size(rows) > 5);
    return rows;
}

static void check_family(vkf_test_gpu *gpu, const char *family, const vkf_test_bound *bound)
{
    const char *directory = vkf_test_pretrained(family);
    const vkf_embedder_desc desc = {.directory = directory, .precision = bound->precision, .max_batch = 3};
    json_t *rows = load_expected(directory);
    vkf_embedder *embedder = vkf_test_make_embedder(gpu, &desc);
    uint32_t count = (uint32_t)json_array_size(rows);
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    size_t size = (size_t)count * config.embedding_dim;
    vkf_text *texts = calloc(count, sizeof *texts);
    float *got = calloc(2 * size, sizeof *got), *expected = got + size;
    assert_true(texts && got);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i), *values = json_object_get(row, "embedding");
        texts[i].bytes = json_string_value(json_object_get(row, "text"));
        texts[i].size_bytes = strlen(texts[i].bytes);
        assert_int_equal(json_array_size(values), config.embedding_dim);
        for (uint32_t d = 0; d < config.embedding_dim; d++)
            expected[(size_t)i * config.embedding_dim + d] = (float)json_real_value(json_array_get(values, d));
    }
    const vkf_embed_args args = {.texts = texts, .count = count, .out_embeddings = got};
    if (vkf_embedder_run(embedder, &args) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    assert_close(got, expected, size, bound->atol, bound->rtol,
                 vkf_test_label(gpu, "%s, precision %d", family, (int)bound->precision));
    free(texts);
    free(got);
    vkf_embedder_destroy(&embedder);
    json_decref(rows);
}

static void test_models_in_every_precision(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (size_t p = 0; p < VKF_MODEL_PRECISION_COUNT; p++)
            if (vkf_test_has_turn(gpu, vkf_test_bounds[p].precision))
                check_family(gpu, families[f], &vkf_test_bounds[p]);
}

static void test_plans_are_what_is_allocated(void **state)
{
    vkf_test_plans_are_allocated(vkf_test_gpu_of(state), "sentence-modules",
                                 &(vkf_session_desc){.max_batch = 3, .max_source_len = 20});
}

static void refuse(vkf_test_gpu *gpu, vkf_embedder *embedder, const vkf_embed_args *args, const char *text)
{
    vkf_test_expect(gpu, vkf_embedder_run(embedder, args), VKF_ERROR_INVALID_ARGUMENT, text);
}

static void test_prompts(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_embedder_desc desc = {.directory = vkf_test_pretrained("sentence-prompt"), .truncate_dim = 7};
    vkf_embedder *embedder = vkf_test_make_embedder(gpu, &desc);
    const vkf_text text = {"rain", 4};
    float rows[3][7];
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    assert_int_equal(config.embedding_dim, 7);
    assert_int_equal(vkf_embedder_get_similarity(embedder), VKF_SIMILARITY_DOT);
    assert_string_equal(vkf_embedder_get_default_prompt(embedder)->name, "query");
    assert_string_equal(vkf_embedder_get_prompt(embedder, 0)->name, "document");
    assert_null(vkf_embedder_get_prompt(embedder, 4));
    vkf_embed_args args = {.texts = &text, .count = 1, .out_embeddings = rows[0]};
    assert_int_equal(vkf_embedder_run(embedder, &args), VKF_OK);
    args.prompt = vkf_embedder_get_default_prompt(embedder)->text;
    args.out_embeddings = rows[1];
    assert_int_equal(vkf_embedder_run(embedder, &args), VKF_OK);
    args.prompt = "";
    args.out_embeddings = rows[2];
    assert_int_equal(vkf_embedder_run(embedder, &args), VKF_OK);
    assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
    assert_memory_not_equal(rows[0], rows[2], sizeof rows[0]);
    args.prompt_name = "query";
    refuse(gpu, embedder, &args, "both given");
    args.prompt = NULL;
    args.prompt_name = "nothing";
    refuse(gpu, embedder, &args, "no prompt \"nothing\"; it has document, empty, passage, query");
    vkf_embedder_destroy(&embedder);
}

static void test_null_embedders_have_nothing(void **state)
{
    (void)state;
    assert_null(vkf_embedder_get_prompt(NULL, 0));
    assert_null(vkf_embedder_get_default_prompt(NULL));
    assert_int_equal(vkf_embedder_get_similarity(NULL), VKF_SIMILARITY_COSINE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_in_every_precision),
        cmocka_unit_test(test_plans_are_what_is_allocated),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_null_embedders_have_nothing),
    };
    return cmocka_run_group_tests_name("sentence models", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
