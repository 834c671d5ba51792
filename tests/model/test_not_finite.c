// Results that are NaN or infinite: a status that names the probe, whatever reads them, and nothing is written. The
// weights are finite, but too large for what they are multiplied by.
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/model_files.h"
#include "support/pretrained.h"

#define BATCH 2u
#define SOURCE 5u
#define NEW 6u
#define UNTOUCHED (-7)

static void assert_not_finite(vkf_test_gpu *gpu, vkf_status status, const char *what)
{
    if (status != VKF_ERROR_NOT_FINITE || !strstr(gpu->last_error, what) ||
        !strstr(gpu->last_error, "vkf_context_set_probe") || !strstr(gpu->last_error, "--check-numbers"))
        fail_msg("%s: %s, \"%s\"", what, vkf_status_name(status), gpu->last_error);
    gpu->last_error[0] = '\0';
}

static void set_all(vkf_test_weights *weights, const char *name, float value)
{
    vkf_test_weight *weight = vkf_test_weight_of(weights, "%s", name);
    for (size_t i = 0; i < weight->count; i++)
        weight->values[i] = i % 2 == 0 ? value : -value;
}

static void assert_untouched(const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ids[i], UNTOUCHED);
}

// ---- generation

typedef struct generating {
    vkf_test_rig rig;
    int32_t sources[BATCH * SOURCE], ids[BATCH * NEW];
    uint32_t lengths[BATCH];
} generating;

static void generating_make(vkf_test_gpu *gpu, vkf_fully_masked fully_masked, const char *weight, generating *g)
{
    const vkf_session_desc desc = {
        .max_batch = BATCH,
        .max_source_len = SOURCE,
        .max_target_len = NEW + 1,
        .max_beams = 3,
        .fully_masked = fully_masked,
    };
    const vkf_model_config config = vkf_test_small_seq2seq();
    *g = (generating){0};
    vkf_test_rig_make(gpu, &config, VKF_DTYPE_F32, &desc, &g->rig);
    set_all(&g->rig.weights, weight, 3e38f);
    vkf_test_rig_reload(&g->rig);
    for (size_t i = 0; i < BATCH * SOURCE; i++)
        g->sources[i] = 4 + (int32_t)vkf_test_random_below(&gpu->random, config.source_vocab - 4);
    for (size_t i = 0; i < BATCH * NEW; i++)
        g->ids[i] = UNTOUCHED;
}

static vkf_status generate(generating *g, float temperature, uint32_t num_beams)
{
    const uint32_t lengths[BATCH] = {SOURCE, SOURCE};
    const vkf_generate_args args = {
        .batch = BATCH,
        .prompt_ids = g->sources,
        .prompt_lengths = lengths,
        .max_new_tokens = NEW,
        .sampling = {.temperature = temperature},
        .beams = {.num_beams = num_beams, .length_penalty = 1},
        .out_ids = g->ids,
        .out_lengths = g->lengths,
    };
    return vkf_session_generate(g->rig.session, &args);
}

static vkf_status greedy(generating *g)
{
    const vkf_greedy_args args = {
        .batch = BATCH,
        .source_len = SOURCE,
        .source_ids = g->sources,
        .max_len = NEW,
        .out_ids = g->ids,
        .out_lengths = g->lengths,
    };
    return vkf_session_greedy(g->rig.session, &args);
}

static void test_logits_that_are_not_finite(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    generating g;
    generating_make(gpu, VKF_FULLY_MASKED_ZERO, "generator.weight", &g);
    assert_not_finite(gpu, greedy(&g), "the logits");
    assert_not_finite(gpu, generate(&g, 0, 1), "the logits");
    assert_not_finite(gpu, generate(&g, 1, 1), "the logits");
    assert_not_finite(gpu, generate(&g, 0, 3), "the logits");
    assert_untouched(g.ids, BATCH * NEW);
    vkf_test_rig_free(&g.rig);
}

// A layer far ahead of the logits: what it spoils is NaN there.
static void test_layers_that_are_not_finite(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    generating g;
    generating_make(gpu, VKF_FULLY_MASKED_ZERO, "transformer.decoder.layers.0.linear2.weight", &g);
    assert_not_finite(gpu, greedy(&g), "the logits");
    assert_not_finite(gpu, generate(&g, 0, 3), "the logits");
    vkf_test_rig_free(&g.rig);
}

// Who asks for NaN gets what torch.argmax() makes of it.
static void test_nan_that_is_asked_for(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    generating g;
    generating_make(gpu, VKF_FULLY_MASKED_NAN, "transformer.decoder.layers.0.linear2.weight", &g);
    assert_int_equal(greedy(&g), VKF_OK);
    for (uint32_t row = 0; row < BATCH; row++)
        for (uint32_t i = 1; i < g.lengths[row]; i++)
            assert_int_equal(g.ids[row * NEW + i], 0);
    assert_int_equal(g.lengths[0], NEW);
    vkf_test_rig_free(&g.rig);
}

// ---- encoders

// A family's model, all of one tensor being `value` but for signs.
static void copy_model(vkf_test_directory *to, const char *family, const char *changed, float value)
{
    char from[256];
    (void)snprintf(from, sizeof from, "%s", vkf_test_pretrained(family));
    vkf__tensor_file *file = vkf_test_open_safetensors(from, "model.safetensors");
    size_t count = vkf__tensor_file_count(file), found = 0;
    vkf__stored_tensor *tensors = vkf_test_copy_tensors(file, 0);
    float *values = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!strstr(tensors[i].name, changed))
            continue;
        assert_int_equal(found++, 0);
        values = calloc(tensors[i].count, sizeof *values);
        assert_non_null(values);
        for (uint64_t j = 0; j < tensors[i].count; j++)
            values[j] = j % 2 == 0 ? value : -value;
        assert_int_equal(tensors[i].type, VKF_STORED_F32);
        tensors[i].data = (const uint8_t *)values;
    }
    assert_int_equal(found, 1);
    vkf_test_write_model(to, from, tensors, count);
    vkf_test_copy_file(to, from, "tokenizer.json");
    free(values);
    free(tensors);
    vkf__tensor_file_close(&file);
}

// A vector of the embedder's and one of a session.
static void check_encoder(vkf_test_gpu *gpu, const char *family, const char *changed, bool head, const char *what)
{
    vkf_test_directory directory;
    vkf_model_config config;
    const vkf_text texts[] = {{"A cat sat there.", 16}, {"rain", 4}};
    vkf_prediction predictions[2] = {{.rows = 77}, {.rows = 77}};
    uint32_t counts[2] = {77, 77};
    vkf_test_directory_make(&directory);
    copy_model(&directory, family, changed, 3e38f);
    const vkf_embedder_desc desc = {.directory = directory.path, .head = head};
    vkf_embedder *embedder = vkf_test_make_embedder(gpu, &desc);
    vkf_embedder_get_config(embedder, &config);
    float *embeddings = calloc(2 * (size_t)config.d_model, sizeof *embeddings);
    assert_non_null(embeddings);
    const vkf_embed_args args = {
        .texts = texts,
        .count = 2,
        .out_embeddings = head ? NULL : embeddings,
        .out_predictions = head ? predictions : NULL,
        .out_token_counts = counts,
    };
    assert_not_finite(gpu, vkf_embedder_run(embedder, &args), what);
    for (size_t i = 0; i < 2 * (size_t)config.d_model; i++)
        assert_true(embeddings[i] == 0);
    assert_int_equal(counts[0], 77);
    assert_int_equal(predictions[1].rows, 77);
    free(embeddings);
    vkf_embedder_destroy(&embedder);
    vkf_test_directory_remove(&directory);
}

static void test_embeddings_and_heads_that_are_not_finite(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_encoder(gpu, "bert", "layer.1.output.LayerNorm.weight", false, "the embedding");
    check_encoder(gpu, "bert-sequence-classification", "classifier.weight", true, "the logits of the head");
    check_encoder(gpu, "bert-token-classification", "classifier.weight", true, "the logits of the head");
}

// Hidden states are given as they are.
static void test_session_of_an_encoder(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 4, .max_logit_rows = 1};
    vkf_test_directory directory;
    const int32_t ids[] = {2, 5, 6, 3};
    const uint32_t length = 4;
    float memory[4 * 256] = {0}, logits[64] = {-7}, embedding[256] = {-7};
    vkf_model_config config;
    vkf_test_directory_make(&directory);
    copy_model(&directory, "bert-sequence-classification", "classifier.weight", 3e38f);
    vkf_model *model = vkf_test_load_pretrained(gpu, directory.path, VKF_MODEL_PRECISION_F32);
    vkf_model_get_config(model, &config);
    assert_in_range(config.d_model, 1, 256);
    assert_in_range(config.head_outputs, 1, 64);
    vkf_session *session = vkf_test_make_session(gpu, model, &desc);
    vkf_encode_args args = {.batch = 1, .source_len = 4, .source_ids = ids, .source_lengths = &length};
    args.out_memory = memory;
    args.out_embeddings = embedding;
    args.out_logits = logits;
    assert_not_finite(gpu, vkf_session_encode(session, &args), "the logits of the head");
    assert_true(memory[0] == 0 && embedding[0] == -7 && logits[0] == -7);
    args.out_logits = NULL;
    assert_int_equal(vkf_session_encode(session, &args), VKF_OK);
    assert_true(memory[0] != 0 && embedding[0] != -7);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    vkf_test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_that_are_not_finite),
        cmocka_unit_test(test_layers_that_are_not_finite),
        cmocka_unit_test(test_nan_that_is_asked_for),
        cmocka_unit_test(test_embeddings_and_heads_that_are_not_finite),
        cmocka_unit_test(test_session_of_an_encoder),
    };
    return cmocka_run_group_tests_name("not finite", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
