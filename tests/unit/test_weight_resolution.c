// Which tensors of a file serve a model: under today's names, older ones, and those that a file may keep of several.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/safetensors.h"
#include "model/directory/inspection.h"
#include "model/load/model_directory.h"
#include "model/load/weight_resolution.h"

#include "recording_host.h"
#include "scratch_directory.h"

#define PRETRAINED VKF_TEST_SOURCE_DIR "/tests/pretrained/"
#define MAX_CHANGES 3

// Tensors whose names have `from` in them have `to` there instead, or are left out where that is NULL.
typedef struct change {
    const char *from, *to;
} change;

// What a name becomes; NULL: the tensor is left out.
static const char *renamed(const char *name, const change *changes, char out_name[128])
{
    (void)snprintf(out_name, 128, "%s", name);
    for (size_t i = 0; i < MAX_CHANGES && changes[i].from; i++) {
        char before[128];
        const char *at = strstr(out_name, changes[i].from);
        if (at && !changes[i].to)
            return NULL;
        if (!at)
            continue;
        (void)snprintf(before, sizeof before, "%s", out_name);
        size_t first = (size_t)(at - out_name);
        (void)snprintf(out_name, 128, "%.*s%s%s", (int)first, before, changes[i].to,
                       before + first + strlen(changes[i].from));
    }
    return out_name;
}

static void copy_file(scratch_directory *scratch, const char *family, const char *name)
{
    char path[512], bytes[8192];
    (void)snprintf(path, sizeof path, PRETRAINED "%s/%s", family, name);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return;
    size_t size = fread(bytes, 1, sizeof bytes, stream);
    fclose(stream);
    assert_true(size < sizeof bytes);
    scratch_write(scratch, name, bytes, size);
}

// A family's model with other names.
static void write_changed(scratch_directory *scratch, const char *family, const change *changes)
{
    recording_host recording;
    vkf__tensor_file *file = NULL;
    vkf__stored_tensor tensors[512];
    static char names[512][128];
    size_t count = 0;
    recording_host_init(&recording);
    char path[512];
    (void)snprintf(path, sizeof path, PRETRAINED "%s/model.safetensors", family);
    assert_int_equal(vkf__safetensors_open(&recording.host, path, &file), VKF_OK);
    assert_true(vkf__tensor_file_count(file) <= 512);
    for (size_t i = 0; i < vkf__tensor_file_count(file); i++) {
        tensors[count] = *vkf__tensor_file_at(file, i);
        tensors[count].name = renamed(tensors[count].name, changes, names[count]);
        count += tensors[count].name != NULL;
    }
    assert_int_equal(
        vkf__safetensors_write(&recording.host, scratch_path(scratch, "model.safetensors"), tensors, count), VKF_OK);
    vkf__tensor_file_close(&file);
    copy_file(scratch, family, "config.json");
    copy_file(scratch, family, "generation_config.json");
}

// The changed model's inspection; vkf__inspection_free() releases it.
static vkf__inspection inspect(recording_host *recording, const char *directory)
{
    vkf__inspection inspection;
    recording_host_init(recording);
    assert_int_equal(vkf__inspect_model(&recording->host, directory, NULL, &inspection), VKF_OK);
    return inspection;
}

// Each slot gets the tensor that it gets in the model as it was, under the name that this has now.
static void check_same(const vkf__inspection *now, const vkf__inspection *before, const change *changes)
{
    assert_int_equal(now->found.count, before->found.count);
    for (size_t i = 0; i < before->found.count; i++) {
        char name[128];
        const char *expected = renamed(before->found.stored[i]->name, changes, name);
        assert_non_null(expected);
        assert_string_equal(now->found.stored[i]->name, expected);
        // So that dumps say the same. A bias that a masked LM's decoder has is its own, and not another name's.
        if (strcmp(now->found.slots[i].name, expected) != 0)
            assert_string_equal(now->found.slots[i].name, before->found.slots[i].name);
    }
    assert_int_equal(now->unused_count, before->unused_count);
}

static void test_other_names(void **state)
{
    static const struct {
        const char *family;
        change changes[MAX_CHANGES];
    } cases[] = {
        {"bert", {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}},
        {"bert-masked-lm", {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}},
        {"roberta-masked-lm", {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}},
        {"distilbert", {{"LayerNorm.weight", "LayerNorm.gamma"}, {"layer_norm.bias", "layer_norm.beta"}}},
        {"bert-masked-lm", {{"cls.predictions.bias", "cls.predictions.decoder.bias"}}},
        {"roberta-masked-lm", {{"lm_head.bias", "lm_head.decoder.bias"}}},
        {"roberta-masked-lm", {{"roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"}}},
        {"bert-masked-lm", {{"bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"}}},
        {"gpt2", {{"transformer.wte.weight", "lm_head.weight"}}},
        {"t5", {{"shared.weight", "encoder.embed_tokens.weight"}}},
        {"t5", {{"shared.weight", "decoder.embed_tokens.weight"}}},
        {"bart", {{"shared.weight", "encoder.embed_tokens.weight"}}},
        {"marian", {{"shared.weight", "decoder.embed_tokens.weight"}}},
    };
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording, original;
        char path[512];
        (void)snprintf(path, sizeof path, PRETRAINED "%s", cases[i].family);
        write_changed(scratch, cases[i].family, cases[i].changes);
        vkf__inspection before = inspect(&original, path), now = inspect(&recording, scratch->path);
        if (now.supported != VKF_OK)
            fail_msg("case %zu: %s", i, recording.text);
        check_same(&now, &before, cases[i].changes);
        vkf__inspection_free(&original.host, &before);
        vkf__inspection_free(&recording.host, &now);
        assert_int_equal(recording.live, 0);
    }
}

// Whether a part of a model loads a tensor.
static bool loads(const vkf__model_source *source, const char *name)
{
    recording_host recording;
    vkf__weight_resolution found = {0};
    bool listed = false;
    recording_host_init(&recording);
    assert_int_equal(vkf__weights_list(&recording.host, source, &found), VKF_OK);
    for (size_t i = 0; i < found.count; i++)
        listed = listed || strcmp(found.slots[i].name, name) == 0;
    vkf__weight_resolution_free(&recording.host, &found);
    return listed;
}

// A BART of one and two layers, whose sides have tables of words of their own, or share one with the projection.
static void test_tables_of_parts(void **state)
{
    static const struct {
        uint32_t encoder, decoder; // layers of the part, which is first, second or third
        const char *own, *shared;  // what it has around them
    } parts[] = {
        {1, 0, "encoder.embed_tokens.weight", "shared.weight"},
        {0, 1, "decoder.embed_tokens.weight", "shared.weight"},
        {0, 1, "lm_head.weight", "shared.weight"},
    };
    static const char *const all[] = {
        "encoder.embed_tokens.weight",    "decoder.embed_tokens.weight",    "lm_head.weight", "shared.weight",
        "encoder.embed_positions.weight", "decoder.embed_positions.weight",
    };
    recording_host recording;
    vkf__model_source source;
    (void)state;
    recording_host_init(&recording);
    assert_int_equal(vkf__model_directory_load(&recording.host, PRETRAINED "bart", &source), VKF_OK);
    for (uint32_t i = 0; i < 3; i++) {
        source.part = (vkf__layer_part){.first = i, .count = 1, .encoder = 1, .total = 3};
        source.config.num_encoder_layers = parts[i].encoder;
        source.config.num_decoder_layers = parts[i].decoder;
        for (int shared = 0; shared < 2; shared++) {
            source.config.share_embedding = source.config.tie_projection = shared > 0;
            for (size_t k = 0; k < 4; k++)
                assert_int_equal(loads(&source, all[k]), strcmp(all[k], shared ? parts[i].shared : parts[i].own) == 0);
            assert_int_equal(loads(&source, all[4]), i == 0);
            assert_int_equal(loads(&source, all[5]), i == 1);
        }
    }
}

// As hub files of gpt2, bart-base or BertModel have them.
static void test_names_without_the_base(void **state)
{
    static const struct {
        const char *family;
        change changes[MAX_CHANGES];
    } cases[] = {
        {"gpt2", {{"transformer.", ""}}},
        {"bart", {{"model.", ""}, {"final_logits_bias", NULL}}},
        {"roberta", {{"roberta.", ""}}},
    };
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        write_changed(scratch, cases[i].family, cases[i].changes);
        vkf__inspection now = inspect(&recording, scratch->path);
        if (now.supported != VKF_OK)
            fail_msg("case %zu: %s", i, recording.text);
        assert_true(now.source.config.kind != VKF_MODEL_SEQ2SEQ || !now.source.config.projection_bias);
        vkf__inspection_free(&recording.host, &now);
    }
}

static void test_a_head_that_is_not_there(void **state)
{
    static const struct {
        const char *family, *class;
        change changes[MAX_CHANGES];
    } cases[] = {
        {"bert-sequence-classification", "BertForSequenceClassification", {{"classifier", NULL}}},
        {"gpt2-sequence-classification", "GPT2ForSequenceClassification", {{"score", NULL}}},
        {"qwen2-token-classification", "Qwen2ForTokenClassification", {{"score", NULL}}},
    };
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        char expected[128];
        (void)snprintf(expected, sizeof expected, "no tensor of the head that %s has", cases[i].class);
        write_changed(scratch, cases[i].family, cases[i].changes);
        vkf__inspection now = inspect(&recording, scratch->path);
        if (now.supported != VKF_OK || !strstr(recording.text, expected))
            fail_msg("%s: status %d with \"%s\"", cases[i].family, now.supported, recording.text);
        assert_int_equal(now.source.config.head, VKF_HEAD_NONE);
        vkf__inspection_free(&recording.host, &now);
    }
}

// What loading would refuse is not called supported.
static void test_what_is_not_supported(void **state)
{
    static const struct {
        const char *family, *message;
        change changes[MAX_CHANGES];
    } cases[] = {
        {"bert", "layer.1.attention.self.query.weight is missing", {{"layer.1.attention.self.query.weight", NULL}}},
        {"bert",
         "output.dense.bias has shape (",
         {{"attention.output.dense.bias", "a"}, {"intermediate.dense.bias", "attention.output.dense.bias"}}},
        {"bert-sequence-classification", "classifier.bias is missing", {{"classifier.bias", NULL}}},
        {"llama", "model.embed_tokens.weight is missing", {{"embed_tokens.weight", NULL}}},
        {"t5", "shared.weight is missing", {{"shared.weight", NULL}}},
    };
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        write_changed(scratch, cases[i].family, cases[i].changes);
        vkf__inspection now = inspect(&recording, scratch->path);
        if (now.supported != VKF_ERROR_FORMAT || !strstr(recording.text, cases[i].message))
            fail_msg("case %zu: status %d with \"%s\"", i, now.supported, recording.text);
        vkf__inspection_free(&recording.host, &now);
        assert_int_equal(recording.live, 0);
    }
}

static void test_any_allocation_failing(void **state)
{
    static const change changes[MAX_CHANGES] = {{"LayerNorm.weight", "LayerNorm.gamma"}};
    scratch_directory *scratch = *state;
    bool failed = true;
    write_changed(scratch, "bert", changes);
    for (size_t call = 1; failed; call++) {
        recording_host recording;
        vkf__inspection now;
        recording_host_init(&recording);
        recording.fail_call = call;
        vkf_status status = vkf__inspect_model(&recording.host, scratch->path, NULL, &now);
        failed = recording.calls >= call;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        if (status == VKF_OK)
            vkf__inspection_free(&recording.host, &now);
        assert_int_equal(recording.live, 0);
    }
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_other_names),
        cmocka_unit_test(test_tables_of_parts),
        SCRATCH_TEST(test_names_without_the_base),
        SCRATCH_TEST(test_a_head_that_is_not_there),
        SCRATCH_TEST(test_what_is_not_supported),
        SCRATCH_TEST(test_any_allocation_failing),
    };
    return cmocka_run_group_tests_name("weight_resolution", tests, NULL, NULL);
}
