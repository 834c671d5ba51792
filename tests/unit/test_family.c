// Configurations of Hugging Face's model families, and the pooling that sentence-transformers put beside them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family.h"
#include "model/pooling.h"

#include "recording_host.h"
#include "scratch_directory.h"

static const char bert[] = "{\"model_type\": \"bert\", \"hidden_size\": 384, \"num_attention_heads\": 12, "
                           "\"intermediate_size\": 1536, \"num_hidden_layers\": 6, \"hidden_act\": \"gelu\", "
                           "\"layer_norm_eps\": 1e-12, \"vocab_size\": 30522, \"max_position_embeddings\": 512, "
                           "\"type_vocab_size\": 2, \"pad_token_id\": 0, \"position_embedding_type\": \"absolute\"}";

// `from` replaced by `to` in a good text.
static const char *changed(const char *good, const char *from, const char *to)
{
    static char text[2048];
    const char *at = strstr(good, from);
    if (!at)
        fail_msg("\"%s\" does not occur in the text", from);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return text;
}

static vkf_status load(scratch_directory *scratch, recording_host *recording, const char *text,
                       vkf_model_config *config)
{
    const vkf__family *family = NULL;
    recording_host_init(recording);
    vkf_status status =
        vkf__config_load(&recording->host, scratch_write(scratch, "config.json", text, strlen(text)), config, &family);
    assert_int_equal(recording->live, 0);
    assert_int_equal(status == VKF_OK, family != NULL);
    return status;
}

static void refuse(scratch_directory *scratch, const char *text, vkf_status expected, const char *message)
{
    recording_host recording;
    vkf_model_config config;
    vkf_status status = load(scratch, &recording, text, &config);
    if (status != expected || !strstr(recording.text, message) || !strstr(recording.text, "config.json"))
        fail_msg("status %d with \"%s\", expected %d with \"%s\"", status, recording.text, expected, message);
}

static void test_bert(void **state)
{
    recording_host recording;
    vkf_model_config config;
    assert_int_equal(load(*state, &recording, bert, &config), VKF_OK);
    assert_int_equal(config.kind, VKF_MODEL_ENCODER);
    assert_int_equal(config.d_model, 384);
    assert_int_equal(config.num_heads, 12);
    assert_int_equal(config.dim_feedforward, 1536);
    assert_int_equal(config.num_encoder_layers, 6);
    assert_int_equal(config.activation, VKF_ACTIVATION_GELU_ERF);
    assert_int_equal(config.source_vocab, 30522);
    assert_int_equal(config.max_source_len, 512);
    assert_int_equal(config.position_offset, 0);
    assert_int_equal(config.token_types, 2);
    assert_true(config.layer_norm_eps > 0 && config.layer_norm_eps < 2e-12f);
}

static void test_positions_behind_the_padding_token(void **state)
{
    recording_host recording;
    vkf_model_config config;
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", changed(bert, "\"bert\"", "\"xlm-roberta\""));
    assert_int_equal(load(*state, &recording, changed(text, "\"pad_token_id\": 0", "\"pad_token_id\": 1"), &config),
                     VKF_OK);
    assert_int_equal(config.position_offset, 2);
    assert_int_equal(config.max_source_len, 510);
    refuse(*state, changed(text, "\"pad_token_id\": 0", "\"pad_token_id\": 600"), VKF_ERROR_FORMAT,
           "leaves no position");
}

static void test_what_is_refused(void **state)
{
    refuse(*state, changed(bert, "\"bert\"", "\"mamba\""), VKF_ERROR_UNSUPPORTED,
           "\"mamba\"; supported: vkformer-seq2seq, bert, distilbert, gpt2, gpt_neox, llama, mistral, modernbert, "
           "qwen2, qwen3, "
           "roberta, "
           "xlm-roberta, camembert");
    refuse(*state, changed(bert, "\"absolute\"", "\"relative_key\""), VKF_ERROR_UNSUPPORTED, "relative_key");
    refuse(*state, changed(bert, "\"gelu\"", "\"mish\""), VKF_ERROR_UNSUPPORTED, "hidden_act is \"mish\"");
    refuse(*state, changed(bert, "\"hidden_size\": 384, ", ""), VKF_ERROR_FORMAT, "hidden_size");
    refuse(*state, changed(bert, "384", "4294967296"), VKF_ERROR_FORMAT, "hidden_size");
    refuse(*state, changed(bert, "384", "385"), VKF_ERROR_FORMAT, "multiple of the number of heads");
    refuse(*state, changed(bert, "\"num_hidden_layers\": 6", "\"num_hidden_layers\": 0"), VKF_ERROR_FORMAT,
           "num_hidden_layers");
    refuse(*state, changed(bert, "\"pad_token_id\": 0", "\"pad_token_id\": 30522"), VKF_ERROR_FORMAT, "pad_token_id");
    refuse(*state, changed(bert, "1e-12", "\"small\""), VKF_ERROR_FORMAT, "layer_norm_eps");
}

// ---- pooling

// The Pooling module's own directory is the model's here.
static const char modules[] =
    "[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"},"
    " {\"path\": \"\", \"type\": \"sentence_transformers.models.Pooling\"},"
    " {\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.sentence_transformer.modules.Normalize\"}]";

static vkf_status load_pooling(scratch_directory *scratch, recording_host *recording, const char *list,
                               const char *pooling, vkf_model_config *config)
{
    recording_host_init(recording);
    *config = (vkf_model_config){.max_source_len = 512};
    scratch_write(scratch, "modules.json", list, strlen(list));
    scratch_write(scratch, "config.json", pooling, strlen(pooling));
    vkf_status status = vkf__pooling_load(&recording->host, scratch->path, config);
    assert_int_equal(recording->live, 0);
    return status;
}

static void test_pooling_modes(void **state)
{
    static const struct {
        const char *text;
        vkf_pooling pooling;
    } cases[] = {
        {"{\"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": true}", VKF_POOLING_MEAN},
        {"{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": false}", VKF_POOLING_FIRST},
        {"{\"pooling_mode_max_tokens\": true}", VKF_POOLING_MAX},
        {"{\"pooling_mode_mean_sqrt_len_tokens\": true}", VKF_POOLING_MEAN_SQRT},
        {"{\"pooling_mode_lasttoken\": true}", VKF_POOLING_LAST},
    };
    recording_host recording;
    vkf_model_config config;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(load_pooling(*state, &recording, modules, cases[i].text, &config), VKF_OK);
        assert_int_equal(config.pooling, cases[i].pooling);
        assert_true(config.normalise);
        assert_int_equal(config.truncate_len, 512);
    }
}

static void test_a_model_without_pooling(void **state)
{
    recording_host recording;
    vkf_model_config config = {.max_source_len = 512, .pooling = VKF_POOLING_MAX};
    scratch_directory *scratch = *state;
    recording_host_init(&recording);
    assert_int_equal(vkf__pooling_load(&recording.host, scratch->path, &config), VKF_OK);
    assert_int_equal(config.pooling, VKF_POOLING_MEAN);
    assert_false(config.normalise);
    static const char shorter[] = "{\"max_seq_length\": 256}", longer[] = "{\"max_seq_length\": 100000}";
    scratch_write(scratch, "sentence_bert_config.json", shorter, strlen(shorter));
    assert_int_equal(vkf__pooling_load(&recording.host, scratch->path, &config), VKF_OK);
    assert_int_equal(config.truncate_len, 256);
    scratch_write(scratch, "sentence_bert_config.json", longer, strlen(longer));
    assert_int_equal(vkf__pooling_load(&recording.host, scratch->path, &config), VKF_OK);
    assert_int_equal(config.truncate_len, 512);
}

static void test_pooling_that_is_refused(void **state)
{
    static const struct {
        const char *modules, *pooling, *message;
        vkf_status status;
    } cases[] = {
        {modules, "{}", "no pooling_mode_", VKF_ERROR_FORMAT},
        {modules, "{\"pooling_mode_weightedmean_tokens\": true}", "weightedmean", VKF_ERROR_UNSUPPORTED},
        {modules, "{\"pooling_mode_mean_tokens\": true, \"pooling_mode_max_tokens\": true}", "together with",
         VKF_ERROR_UNSUPPORTED},
        {"[{\"path\": \"2_Dense\", \"type\": \"a.Dense\"}]", "{}", "\"Dense\"", VKF_ERROR_UNSUPPORTED},
        {"[{\"path\": \"../1\", \"type\": \"a.Pooling\"}]", "{}", "leaves the directory", VKF_ERROR_FORMAT},
        {"[3]", "{}", "no object", VKF_ERROR_FORMAT},
        {"[{\"path\": \"\"}]", "{}", "'type' is missing", VKF_ERROR_FORMAT},
        {"{}", "{}", "must be an array", VKF_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        vkf_model_config config;
        vkf_status status = load_pooling(*state, &recording, cases[i].modules, cases[i].pooling, &config);
        if (status != cases[i].status || !strstr(recording.text, cases[i].message))
            fail_msg("case %zu: status %d with \"%s\"", i, status, recording.text);
    }
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_bert),
        SCRATCH_TEST(test_positions_behind_the_padding_token),
        SCRATCH_TEST(test_what_is_refused),
        SCRATCH_TEST(test_pooling_modes),
        SCRATCH_TEST(test_a_model_without_pooling),
        SCRATCH_TEST(test_pooling_that_is_refused),
    };
    return cmocka_run_group_tests_name("family", tests, NULL, NULL);
}
