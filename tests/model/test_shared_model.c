// Generators, embedders and sessions over one loaded model: its weights are there once, whoever goes first, and the
// results are those of a model of one's own.
#include <string.h>

#include "support/fixture.h"
#include "support/pretrained.h"

#define USERS 3

static vkf_generator *make_generator(vkf_test_gpu *gpu, vkf_model *model, const char *directory)
{
    const vkf_generator_desc desc = {.directory = directory, .model = model, .max_context = 32};
    return vkf_test_make_generator(gpu, &desc);
}

static vkf_embedder *make_embedder(vkf_test_gpu *gpu, vkf_model *model, const char *directory)
{
    const vkf_embedder_desc desc = {.directory = directory, .model = model, .max_batch = 1};
    return vkf_test_make_embedder(gpu, &desc);
}

static void assert_generates_the_same(vkf_test_gpu *gpu, vkf_generator *a, vkf_generator *b)
{
    const vkf_text prompt = {"A cat sat there.", 16};
    vkf_continuation out[2];
    vkf_generator *generators[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        const vkf_generator_args args = {
            .prompts = &prompt, .count = 1, .max_new_tokens = 8, .out_continuations = &out[i]};
        vkf_test_must(gpu, vkf_generator_run(generators[i], &args));
    }
    assert_int_equal(out[0].id_count, out[1].id_count);
    assert_memory_equal(out[0].ids, out[1].ids, out[0].id_count * sizeof *out[0].ids);
    vkf_continuation_free(&out[0]);
    vkf_continuation_free(&out[1]);
}

static void test_generators_take_the_weights_once(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const char *directory = vkf_test_pretrained("llama");
    vkf_generator *shared[USERS], *own = NULL;
    const uint64_t before = vkf_test_bytes_in_use(gpu);
    vkf_model *model = vkf_test_load_family(gpu, "llama");
    const uint64_t weights = vkf_test_bytes_in_use(gpu) - before;
    shared[0] = make_generator(gpu, model, NULL);
    const uint64_t session = vkf_test_bytes_in_use(gpu) - before - weights;
    for (size_t i = 1; i < USERS; i++)
        shared[i] = make_generator(gpu, model, NULL);
    assert_true(weights > 0);
    assert_int_equal(vkf_test_bytes_in_use(gpu) - before, weights + USERS * session);
    vkf_model_destroy(&model);
    own = make_generator(gpu, NULL, directory);
    for (size_t i = 0; i < USERS; i++) {
        assert_generates_the_same(gpu, shared[i], own);
        vkf_generator_destroy(&shared[i]);
    }
    vkf_generator_destroy(&own);
    assert_int_equal(vkf_test_bytes_in_use(gpu), before);
}

static void test_embedders_take_the_weights_once(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const uint64_t before = vkf_test_bytes_in_use(gpu);
    vkf_embedder *first = make_embedder(gpu, NULL, vkf_test_pretrained("sentence-mean"));
    const uint64_t whole = vkf_test_bytes_in_use(gpu) - before;
    vkf_embedder *second = make_embedder(gpu, vkf_embedder_get_model(first), NULL);
    vkf_model_config config;
    float embeddings[2][64];
    assert_true(vkf_test_bytes_in_use(gpu) - before < 2 * whole);
    assert_ptr_equal(vkf_embedder_get_model(first), vkf_embedder_get_model(second));
    vkf_embedder_get_config(first, &config);
    assert_in_range(config.embedding_dim, 1, 64);
    vkf_embedder *const embedders[] = {first, second};
    for (size_t i = 0; i < 2; i++) {
        const vkf_text text = {"A cat sat there.", 16};
        const vkf_embed_args args = {.texts = &text, .count = 1, .out_embeddings = embeddings[i]};
        assert_int_equal(vkf_embedder_run(embedders[i], &args), VKF_OK);
    }
    assert_memory_equal(embeddings[0], embeddings[1], config.embedding_dim * sizeof embeddings[0][0]);
    vkf_embedder_destroy(&first);
    vkf_embedder_destroy(&second);
    assert_int_equal(vkf_test_bytes_in_use(gpu), before);
}

static void test_tokenizers_are_shown(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, NULL, vkf_test_pretrained("llama"));
    vkf_embedder *embedder = make_embedder(gpu, NULL, vkf_test_pretrained("sentence-mean"));
    const vkf_tokenizer *shown[] = {vkf_generator_get_tokenizer(generator), vkf_embedder_get_tokenizer(embedder)};
    const char *const families[] = {"llama", "sentence-mean"};
    for (size_t i = 0; i < 2; i++) {
        vkf_tokenizer *own = NULL;
        vkf_encoding a = {0}, b = {0};
        assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = vkf_test_pretrained(families[i])}, &own),
                         VKF_OK);
        assert_int_equal(vkf_tokenizer_encode(shown[i], &(vkf_text){"A cat sat.", 10}, NULL, NULL, &a), VKF_OK);
        assert_int_equal(vkf_tokenizer_encode(own, &(vkf_text){"A cat sat.", 10}, NULL, NULL, &b), VKF_OK);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.ids, b.ids, a.count * sizeof *a.ids);
        vkf_encoding_free(&a);
        vkf_encoding_free(&b);
        vkf_tokenizer_destroy(&own);
    }
    vkf_generator_destroy(&generator);
    vkf_embedder_destroy(&embedder);
    assert_null(vkf_generator_get_tokenizer(NULL));
    assert_null(vkf_embedder_get_tokenizer(NULL));
}

static void test_models_that_do_not_fit_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state), other;
    vkf_model *encoder = vkf_test_load_family(gpu, "sentence-mean");
    vkf_generator *generator = NULL;
    vkf_embedder *embedder = NULL;
    const vkf_generator_desc wants = {.model = encoder};
    const vkf_embedder_desc embeds = {.model = encoder, .max_batch = 1};
    assert_int_equal(vkf_generator_load(gpu->context, &wants, &generator), VKF_ERROR_UNSUPPORTED);
    assert_int_equal(vkf_test_gpu_open(&other, &(vkf_context_desc){0}), 0);
    vkf_test_expect(&other, vkf_embedder_load(other.context, &embeds, &embedder), VKF_ERROR_INVALID_ARGUMENT,
                    "the model belongs to another context");
    vkf_context_destroy(&other.context);
    vkf_model_destroy(&encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generators_take_the_weights_once),
        cmocka_unit_test(test_embedders_take_the_weights_once),
        cmocka_unit_test(test_tokenizers_are_shown),
        cmocka_unit_test(test_models_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("shared_model", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
