// config.json of a model: what is read, and what is refused with the file, the key and the reason.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family/config_file.h"

#include "recording_host.h"
#include "scratch_directory.h"

static const char good[] = "{\n"
                           " \"model_type\": \"vkformer-seq2seq\",\n"
                           " \"d_model\": 128,\n"
                           " \"nhead\": 4,\n"
                           " \"dim_feedforward\": 256,\n"
                           " \"activation\": \"gelu\",\n"
                           " \"norm_first\": true,\n"
                           " \"layer_norm_eps\": 1e-05,\n"
                           " \"num_encoder_layers\": 2,\n"
                           " \"num_decoder_layers\": 3,\n"
                           " \"src_vocab\": 80,\n"
                           " \"tgt_vocab\": 40,\n"
                           " \"share_embed\": false,\n"
                           " \"tie_proj\": true,\n"
                           " \"proj_bias\": true,\n"
                           " \"pad_id\": 0,\n"
                           " \"bos_id\": 1,\n"
                           " \"eos_id\": 2,\n"
                           " \"unk_id\": 3,\n"
                           " \"max_len\": 24,\n"
                           " \"max_source_len\": 32\n"
                           "}\n";

// The good text with its first `from` replaced by `to`.
static void replace(const char *from, const char *to, char *out_text, size_t capacity)
{
    const char *at = strstr(good, from);
    if (!at)
        fail_msg("\"%s\" does not occur in the text", from);
    (void)snprintf(out_text, capacity, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

static vkf_status load(scratch_directory *scratch, recording_host *recording, const char *text,
                       vkf_model_config *out_config)
{
    recording_host_init(recording);
    const char *path = scratch_write(scratch, "config.json", text, strlen(text));
    const vkf__family *family = NULL;
    vkf_status status = vkf__config_load(&recording->host, path, out_config, &family);
    assert_int_equal(recording->live, 0);
    return status;
}

static void test_config_load_reads_every_key(void **state)
{
    recording_host recording;
    vkf_model_config config;
    assert_int_equal(load(*state, &recording, good, &config), VKF_OK);
    assert_int_equal(recording.messages, 0);
    assert_int_equal(config.kind, VKF_MODEL_SEQ2SEQ);
    assert_int_equal(config.d_model, 128);
    assert_int_equal(config.num_heads, 4);
    assert_int_equal(config.dim_feedforward, 256);
    assert_int_equal(config.activation, VKF_ACTIVATION_GELU_ERF);
    assert_true(config.norm_first && config.tie_projection && config.projection_bias && !config.share_embedding);
    assert_true(config.layer_norm_eps == 1e-05f);
    assert_int_equal(config.num_encoder_layers, 2);
    assert_int_equal(config.num_decoder_layers, 3);
    assert_int_equal(config.source_vocab, 80);
    assert_int_equal(config.target_vocab, 40);
    assert_int_equal(config.pad_id, 0);
    assert_int_equal(config.bos_id, 1);
    assert_int_equal(config.eos_id, 2);
    assert_int_equal(config.unk_id, 3);
    assert_int_equal(config.max_target_len, 24);
    assert_int_equal(config.max_source_len, 32);
}

static void test_config_load_variants(void **state)
{
    static const char *const rows[][2] = {
        {"\"gelu\"", "\"relu\""},
        {"\"num_encoder_layers\": 2", "\"num_encoder_layers\": 0"},
        {"1e-05", "0"},
        {"\"unk_id\": 3", "\"unk_id\": 3, \"comment\": [1, {\"more\": null}]"},
        {"\"d_model\": 128", "\"d_model\": 1048576"},
        {"\"pad_id\": 0", "\"pad_id\": 39"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[2048];
        recording_host recording;
        vkf_model_config config;
        replace(rows[i][0], rows[i][1], text, sizeof text);
        if (load(*state, &recording, text, &config) != VKF_OK)
            fail_msg("%s: %s", rows[i][1], recording.text);
    }
}

static void test_config_load_bad_values(void **state)
{
    static const struct {
        const char *from, *to;
        const char *said; // part of the message
    } rows[] = {
        {"\"d_model\": 128,", "", "'d_model' is missing"},
        {"\"nhead\": 4,", "", "'nhead'"},
        {"\"activation\": \"gelu\",", "", "'activation'"},
        {"\"model_type\": \"vkformer-seq2seq\",", "", "'model_type'"},
        {"\"layer_norm_eps\": 1e-05,", "", "'layer_norm_eps'"},
        {"\"norm_first\": true,", "", "'norm_first'"},
        {"\"max_source_len\": 32", "\"x\": 1", "'max_source_len'"},
        {"128", "\"128\"", "'d_model'"},
        {"128", "128.5", "'d_model'"},
        {"128", "-128", "'d_model'"},
        {"128", "0", "'d_model'"},
        {"128", "1048577", "'d_model'"},
        {"128", "99999999999999999999", ""},
        {"128", "null", "'d_model'"},
        {"128", "130", "multiple"},
        {"\"nhead\": 4", "\"nhead\": 0", "'nhead'"},
        {"true", "1", "'norm_first'"},
        {"\"gelu\"", "\"swish\"", "swish"},
        {"\"gelu\"", "7", "'activation'"},
        {"1e-05", "-1e-05", "layer_norm_eps"},
        {"1e-05", "1.5", "layer_norm_eps"},
        {"1e-05", "1e300", "'layer_norm_eps'"},
        {"1e-05", "\"small\"", "'layer_norm_eps'"},
        {"\"num_encoder_layers\": 2", "\"num_encoder_layers\": 1025", "'num_encoder_layers'"},
        {"\"num_encoder_layers\": 2,\n \"num_decoder_layers\": 3",
         "\"num_encoder_layers\": 0, \"num_decoder_layers\": 0", "layers"},
        {"\"src_vocab\": 80", "\"src_vocab\": 0", "'src_vocab'"},
        {"\"tgt_vocab\": 40", "\"tgt_vocab\": 16777217", "'tgt_vocab'"},
        {"\"share_embed\": false", "\"share_embed\": true", "vocabularies"},
        {"\"pad_id\": 0", "\"pad_id\": 40", "pad_id"},
        {"\"bos_id\": 1", "\"bos_id\": -1", "'bos_id'"},
        {"\"eos_id\": 2", "\"eos_id\": 4000000000", "'eos_id'"},
        {"\"max_len\": 24", "\"max_len\": 1", "'max_len'"},
        {"\"max_source_len\": 32", "\"max_source_len\": 0", "'max_source_len'"},
        {"\"max_source_len\": 32", "\"max_source_len\": 32,", ""},
        {"\"nhead\": 4", "\"d_model\": 4", ""},
        {"}\n", "", ""},
        {"{\n", "[\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[2048];
        recording_host recording;
        vkf_model_config config;
        memset(&config, 0x5a, sizeof config);
        const vkf_model_config untouched = config;
        replace(rows[i].from, rows[i].to, text, sizeof text);
        vkf_status status = load(*state, &recording, text, &config);
        if (status != VKF_ERROR_FORMAT || !strstr(recording.text, rows[i].said) ||
            !strstr(recording.text, "config.json"))
            fail_msg("%s for %s gives %s: %s", rows[i].to, rows[i].from, vkf_status_name(status), recording.text);
        assert_memory_equal(&config, &untouched, sizeof config);
    }
}

static void test_config_load_other_model_type(void **state)
{
    char text[2048];
    recording_host recording;
    vkf_model_config config;
    replace("vkformer-seq2seq", "mamba", text, sizeof text);
    assert_int_equal(load(*state, &recording, text, &config), VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(recording.text, "\"mamba\""));
}

static void test_config_load_missing_file(void **state)
{
    recording_host recording;
    vkf_model_config config;
    const vkf__family *family = NULL;
    recording_host_init(&recording);
    assert_int_equal(vkf__config_load(&recording.host, scratch_path(*state, "none.json"), &config, &family),
                     VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "none.json"));
}

static void test_config_load_with_any_allocation_failing(void **state)
{
    const char *path = scratch_write(*state, "config.json", good, strlen(good));
    vkf_model_config config;
    const vkf__family *family = NULL;
    bool failed = true;
    for (size_t call = 1; failed; call++) {
        recording_host recording;
        recording_host_init(&recording);
        recording.fail_call = call;
        vkf_status status = vkf__config_load(&recording.host, path, &config, &family);
        failed = recording.calls >= call;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        assert_int_equal(recording.live, 0);
    }
}

static void test_config_check_of_structs(void **state)
{
    (void)state;
    recording_host recording;
    const vkf_model_config base = {
        .kind = VKF_MODEL_TRANSFORMER, .d_model = 8, .num_heads = 2, .dim_feedforward = 4, .num_encoder_layers = 1};
    recording_host_init(&recording);
    assert_int_equal(vkf__config_check(&recording.host, &base, "here"), VKF_OK);
#define REFUSED(field, value)                                                                              \
    do {                                                                                                   \
        vkf_model_config config = base;                                                                    \
        config.field = (value);                                                                            \
        assert_int_equal(vkf__config_check(&recording.host, &config, "here"), VKF_ERROR_INVALID_ARGUMENT); \
        assert_non_null(strstr(recording.text, "here: "));                                                 \
    } while (0)
    REFUSED(kind, VKF_MODEL_KIND_COUNT);
    REFUSED(d_model, 0);
    REFUSED(d_model, 9);
    REFUSED(d_model, (1u << 20) + 2);
    REFUSED(num_heads, 0);
    REFUSED(num_heads, 3);
    REFUSED(dim_feedforward, 0);
    REFUSED(num_encoder_layers, 0);
    REFUSED(num_encoder_layers, UINT32_MAX);
    REFUSED(num_decoder_layers, UINT32_MAX);
    REFUSED(layer_norm_eps, -1.0f);
    REFUSED(layer_norm_eps, 1.0f);
    REFUSED(activation, VKF_ACTIVATION_COUNT);
    REFUSED(kind, VKF_MODEL_SEQ2SEQ); // without vocabularies
#undef REFUSED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_load_reads_every_key),
        cmocka_unit_test(test_config_load_variants),
        cmocka_unit_test(test_config_load_bad_values),
        cmocka_unit_test(test_config_load_other_model_type),
        cmocka_unit_test(test_config_load_missing_file),
        cmocka_unit_test(test_config_load_with_any_allocation_failing),
        cmocka_unit_test(test_config_check_of_structs),
    };
    return cmocka_run_group_tests_name("config", tests, scratch_setup, scratch_teardown);
}
