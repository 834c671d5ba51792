// Weights that are drawn: under which names, from which distributions, and what is taken from another directory.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <vkformer/directory.h>

#include "io/checkpoint.h"
#include "support/model_files.h"
#include "support/pretrained.h"
#include "unit/recording_host.h"

typedef struct fixture {
    recording_host recording;
    vkf_test_directory directory;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    return f ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

// A directory with a model's config.json alone.
static void begin(fixture *f, const char *model)
{
    recording_host_init(&f->recording);
    vkf_test_directory_make(&f->directory);
    vkf_test_copy_file(&f->directory, vkf_test_pretrained(model), "config.json");
}

static void end(fixture *f)
{
    vkf_test_directory_remove(&f->directory);
    assert_int_equal(f->recording.live, 0);
}

static vkf_status draw(fixture *f, uint64_t seed, const char *from)
{
    const vkf_draw_weights_desc desc = {
        .directory = f->directory.path,
        .from_directory = from ? vkf_test_pretrained(from) : NULL,
        .seed = seed,
        .message = recording_message,
        .message_user = &f->recording,
        .allocator = f->recording.host.allocator,
    };
    return vkf_draw_weights(&desc);
}

static vkf__checkpoint *open_drawn(fixture *f)
{
    vkf__checkpoint *checkpoint = NULL;
    assert_int_equal(vkf__checkpoint_open(&f->recording.host, f->directory.path, &checkpoint), VKF_OK);
    return checkpoint;
}

static float *read_tensor(const vkf__checkpoint *checkpoint, const char *name, size_t *out_count)
{
    const vkf__stored_tensor *tensor = vkf__checkpoint_find(checkpoint, name);
    assert_non_null(tensor);
    assert_int_equal(tensor->type, VKF_STORED_F32);
    float *values = malloc(tensor->size_bytes);
    assert_non_null(values);
    assert_int_equal(vkf__stored_read(tensor, 0, tensor->size_bytes, values), VKF_OK);
    *out_count = (size_t)tensor->count;
    return values;
}

// The root mean square of a tensor's elements, which are drawn around 0.
static double deviation_of(const vkf__checkpoint *checkpoint, const char *name)
{
    size_t count = 0;
    double sum = 0;
    float *values = read_tensor(checkpoint, name, &count);
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * values[i];
    free(values);
    return sqrt(sum / (double)count);
}

static void expect_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 0.1 * expected))
        fail_msg("a deviation is %g, expected %g", value, expected);
}

// ---- all of a model

static void test_a_family_is_drawn_as_transformers_does(void **state)
{
    fixture *f = *state;
    begin(f, "gpt2");
    assert_int_equal(draw(f, 1, NULL), VKF_OK);
    assert_int_equal(f->recording.messages, 0);
    vkf__checkpoint *checkpoint = open_drawn(f);
    expect_near(deviation_of(checkpoint, "transformer.h.0.mlp.c_fc.weight"), 0.02);
    expect_near(deviation_of(checkpoint, "transformer.h.0.mlp.c_proj.weight"), 0.02 / sqrt(2.0 * 2));
    assert_true(deviation_of(checkpoint, "transformer.h.1.ln_1.weight") == 1);
    assert_true(deviation_of(checkpoint, "transformer.h.1.attn.c_attn.bias") == 0);
    assert_null(vkf__checkpoint_find(checkpoint, "lm_head.weight")); // it is the token embedding
    vkf__checkpoint_close(&checkpoint);
    end(f);
}

static void test_torch_is_drawn_as_its_initialisers_do(void **state)
{
    fixture *f = *state;
    recording_host_init(&f->recording);
    vkf_test_directory_make(&f->directory);
    vkf_test_copy_file(&f->directory, VKF_TEST_SOURCE_DIR "/tools/demo-model", "config.json");
    assert_int_equal(draw(f, 1, NULL), VKF_OK);
    vkf__checkpoint *checkpoint = open_drawn(f);
    const vkf__stored_tensor *words = vkf__checkpoint_find(checkpoint, "src_embed.weight");
    const vkf__stored_tensor *first = vkf__checkpoint_find(checkpoint, "transformer.encoder.layers.0.linear1.weight");
    assert_true(words && first);
    expect_near(deviation_of(checkpoint, words->name), 1 / sqrt((double)words->shape[1]));
    expect_near(deviation_of(checkpoint, first->name), sqrt(2.0 / (double)(first->shape[0] + first->shape[1])));
    vkf__checkpoint_close(&checkpoint);
    end(f);
}

static void test_a_seed_gives_the_same_bytes(void **state)
{
    fixture *f = *state;
    const uint64_t seeds[] = {7, 7, 8};
    char *files[3];
    size_t bytes[3];
    begin(f, "llama");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(draw(f, seeds[i], NULL), VKF_OK);
        files[i] = vkf_test_read_file(vkf_test_path(&f->directory, "model.safetensors"), &bytes[i]);
    }
    assert_int_equal(bytes[0], bytes[2]);
    assert_memory_equal(files[0], files[1], bytes[0]);
    assert_memory_not_equal(files[0], files[2], bytes[0]);
    for (int i = 0; i < 3; i++)
        free(files[i]);
    end(f);
}

// ---- a head alone

static void expect_same(const vkf__checkpoint *a, const vkf__checkpoint *b, const char *name)
{
    size_t counts[2];
    float *values[] = {read_tensor(a, name, &counts[0]), read_tensor(b, name, &counts[1])};
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(values[0], values[1], counts[0] * sizeof *values[0]);
    free(values[0]);
    free(values[1]);
}

static void test_a_head_is_drawn_beside_the_weights_of_another_directory(void **state)
{
    static const char config[] = "\"initializer_range\": 0.5";
    fixture *f = *state;
    vkf__checkpoint *from = NULL;
    begin(f, "bert-token-classification");
    char *text = vkf_test_read_file(vkf_test_path(&f->directory, "config.json"), NULL);
    char *range = strstr(text, "\"initializer_range\": 0.02");
    assert_non_null(range);
    memcpy(range, config, sizeof config - 1);
    range[sizeof config - 1] = ' ';
    vkf_test_write_file(vkf_test_path(&f->directory, "config.json"), text, strlen(text));
    free(text);
    assert_int_equal(draw(f, 1, "bert-masked-lm"), VKF_OK);
    assert_int_equal(f->recording.messages, 1);
    assert_int_equal(f->recording.severity, VKF_SEVERITY_WARNING);
    assert_non_null(strstr(f->recording.text, "newly initialized: classifier.weight, classifier.bias"));
    vkf__checkpoint *drawn = open_drawn(f);
    assert_int_equal(vkf__checkpoint_open(&f->recording.host, vkf_test_pretrained("bert-masked-lm"), &from), VKF_OK);
    expect_same(drawn, from, "bert.embeddings.word_embeddings.weight");
    expect_same(drawn, from, "bert.encoder.layer.0.output.LayerNorm.bias");
    assert_null(vkf__checkpoint_find(drawn, "cls.predictions.bias"));
    assert_in_range((long)(1000 * deviation_of(drawn, "classifier.weight")), 350, 650);
    assert_true(deviation_of(drawn, "classifier.bias") == 0);
    vkf__checkpoint_close(&from);
    vkf__checkpoint_close(&drawn);
    end(f);
}

static void test_a_whole_model_needs_nothing_drawn(void **state)
{
    fixture *f = *state;
    begin(f, "bert-sequence-classification");
    assert_int_equal(draw(f, 1, "bert-sequence-classification"), VKF_OK);
    assert_int_equal(f->recording.messages, 0);
    end(f);
}

// ---- what is refused

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *config, *from;
        vkf_status status;
        const char *says;
    } refusals[] = {
        {"bert", "bert", VKF_ERROR_UNSUPPORTED, "config.json: asks for no head"},
        {"bert-token-classification", "gpt2", VKF_ERROR_FORMAT, "is missing"},
        {"bert-token-classification", "bert-sequence-classification", VKF_ERROR_FORMAT,
         "classifier.weight has shape (3, 20), the configuration asks for (5, 20)"},
        {"bert-token-classification", "nowhere", VKF_ERROR_FILE, "nowhere"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        begin(f, refusals[i].config);
        assert_int_equal(draw(f, 1, refusals[i].from), refusals[i].status);
        assert_non_null(strstr(f->recording.text, refusals[i].says));
        end(f);
    }
    recording_host_init(&f->recording);
    vkf_test_directory_make(&f->directory);
    assert_int_equal(draw(f, 1, NULL), VKF_ERROR_FILE);
    assert_non_null(strstr(f->recording.text, "config.json"));
    end(f);
    assert_int_equal(vkf_draw_weights(NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_draw_weights(&(vkf_draw_weights_desc){.seed = 1}), VKF_ERROR_INVALID_ARGUMENT);
}

static void test_memory_that_runs_out_leaves_nothing(void **state)
{
    fixture *f = *state;
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    begin(f, "bert-token-classification");
    for (size_t call = 1; status != VKF_OK; call++) {
        f->recording.calls = 0;
        f->recording.fail_call = call;
        status = draw(f, 1, "bert-masked-lm");
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(f->recording.live, 0);
    }
    end(f);
}

// ---- classes

static void test_head_class_is_the_one_of_the_model_type(void **state)
{
    static const struct {
        const char *model_type;
        vkf_head head;
        const char *expected;
    } cases[] = {
        {"bert", VKF_HEAD_SEQUENCE_CLASSIFICATION, "BertForSequenceClassification"},
        {"bert", VKF_HEAD_MASKED_LM, "BertForMaskedLM"},
        {"roberta", VKF_HEAD_TOKEN_CLASSIFICATION, "RobertaForTokenClassification"},
        {"xlm-roberta", VKF_HEAD_TOKEN_CLASSIFICATION, "XLMRobertaForTokenClassification"},
        {"camembert", VKF_HEAD_SEQUENCE_CLASSIFICATION, "CamembertForSequenceClassification"},
        {"bert", VKF_HEAD_NONE, NULL},
        {"bart", VKF_HEAD_SEQUENCE_CLASSIFICATION, NULL},
        {"vkformer-seq2seq", VKF_HEAD_MASKED_LM, NULL},
        {NULL, VKF_HEAD_MASKED_LM, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = vkf_head_class(cases[i].model_type, cases[i].head);
        if (!found != !cases[i].expected || (found && strcmp(found, cases[i].expected) != 0))
            fail_msg("case %zu gives %s", i, found ? found : "NULL");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_family_is_drawn_as_transformers_does),
        cmocka_unit_test(test_torch_is_drawn_as_its_initialisers_do),
        cmocka_unit_test(test_a_seed_gives_the_same_bytes),
        cmocka_unit_test(test_a_head_is_drawn_beside_the_weights_of_another_directory),
        cmocka_unit_test(test_a_whole_model_needs_nothing_drawn),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_memory_that_runs_out_leaves_nothing),
        cmocka_unit_test(test_head_class_is_the_one_of_the_model_type),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
