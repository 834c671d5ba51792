// Configurations of Hugging Face's model families.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family/config_file.h"
#include "model/family/family.h"

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
           "\"mamba\"; supported: vkformer-seq2seq, bart, bert, distilbert, gpt2, gpt_neox, llama, marian, mistral, "
           "modernbert, "
           "qwen2, qwen3, "
           "roberta, "
           "xlm-roberta, camembert, t5");
    refuse(*state, changed(bert, "\"absolute\"", "\"relative_key\""), VKF_ERROR_UNSUPPORTED, "relative_key");
    refuse(*state, changed(bert, "\"gelu\"", "\"quick_gelu\""), VKF_ERROR_UNSUPPORTED, "hidden_act is \"quick_gelu\"");
    refuse(*state, changed(bert, "384", "null"), VKF_ERROR_FORMAT, "hidden_size");
    refuse(*state, changed(bert, "384", "4294967296"), VKF_ERROR_FORMAT, "hidden_size");
    refuse(*state, changed(bert, "384", "385"), VKF_ERROR_FORMAT, "multiple of the number of heads");
    refuse(*state, changed(bert, "\"num_hidden_layers\": 6", "\"num_hidden_layers\": 0"), VKF_ERROR_FORMAT,
           "num_hidden_layers");
    refuse(*state, changed(bert, "\"pad_token_id\": 0", "\"pad_token_id\": 0.5"), VKF_ERROR_FORMAT, "pad_token_id");
    refuse(*state, changed(bert, "1e-12", "\"small\""), VKF_ERROR_FORMAT, "layer_norm_eps");
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_bert),
        SCRATCH_TEST(test_positions_behind_the_padding_token),
        SCRATCH_TEST(test_what_is_refused),
    };
    return cmocka_run_group_tests_name("family", tests, NULL, NULL);
}
