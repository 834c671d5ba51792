// What sentence-transformers writes beside a model: modules, lengths, prompts; against text, without a device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/sentence/sentence_settings.h"
#include "model/sentence/sentence_text.h"

#include "recording_host.h"
#include "scratch_directory.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// The modules' own directories are the model's here, so that one config.json serves all of a kind.
#define TRANSFORMER "{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}"
#define POOLING "{\"path\": \"\", \"type\": \"sentence_transformers.models.Pooling\"}"
#define NORMALIZE "{\"path\": \"2\", \"type\": \"sentence_transformers.base.modules.normalize.Normalize\"}"

static const char usual[] = "[" TRANSFORMER ", " POOLING ", " NORMALIZE "]";

static void write_text(scratch_directory *scratch, const char *name, const char *text)
{
    scratch_write(scratch, name, text, strlen(text));
}

static vkf_status load_modules(scratch_directory *scratch, recording_host *recording, const char *modules,
                               const char *config, vkf__model_source *out_source)
{
    vkf__sentence_list list;
    write_text(scratch, "modules.json", modules);
    write_text(scratch, "config.json", config);
    *out_source = (vkf__model_source){.config = {.d_model = 32}};
    vkf_status status = vkf__sentence_list_load(&recording->host, scratch->path, &list);
    if (status == VKF_OK)
        status = vkf__sentence_modules_load(&recording->host, scratch->path, &list, out_source);
    assert_int_equal(recording->live, 0);
    return status;
}

static void test_poolings_old_and_new(void **state)
{
    static const struct {
        const char *text;
        vkf_pooling poolings[3];
        uint32_t count;
    } cases[] = {
        {"{\"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": true}", {VKF_POOLING_MEAN}, 1},
        {"{\"pooling_mode_cls_token\": true}", {VKF_POOLING_FIRST}, 1},
        {"{\"pooling_mode_max_tokens\": true}", {VKF_POOLING_MAX}, 1},
        {"{\"pooling_mode_mean_sqrt_len_tokens\": true}", {VKF_POOLING_MEAN_SQRT}, 1},
        {"{\"pooling_mode_weightedmean_tokens\": true}", {VKF_POOLING_WEIGHTED_MEAN}, 1},
        {"{\"pooling_mode_lasttoken\": true, \"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": true}",
         {VKF_POOLING_FIRST, VKF_POOLING_MEAN, VKF_POOLING_LAST},
         3},
        {"{\"pooling_mode_mean_tokens\": false}", {VKF_POOLING_MEAN}, 1},
        {"{\"pooling_mode\": \"cls\", \"pooling_mode_mean_tokens\": true}", {VKF_POOLING_FIRST}, 1},
        {"{\"pooling_mode\": [\"lasttoken\", \"cls\"]}", {VKF_POOLING_LAST, VKF_POOLING_FIRST}, 2},
    };
    recording_host recording;
    vkf__model_source source;
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording_host_init(&recording);
        assert_int_equal(load_modules(*state, &recording, usual, cases[i].text, &source), VKF_OK);
        const vkf_embedding_module *module = &source.config.embedding_modules[0];
        assert_int_equal(source.config.embedding_module_count, 2);
        assert_int_equal(module[1].kind, VKF_EMBEDDING_NORMALISE);
        assert_int_equal(module->pooling_count, cases[i].count);
        assert_memory_equal(module->poolings, cases[i].poolings, cases[i].count * sizeof(vkf_pooling));
        assert_int_equal(source.config.embedding_dim, 32 * cases[i].count);
    }
}

static void test_modules_that_are_refused(void **state)
{
    static const struct {
        const char *modules, *config, *message;
        vkf_status status;
    } cases[] = {
        {"[" TRANSFORMER "]", "{}", "no Pooling", VKF_ERROR_UNSUPPORTED},
        {"[" POOLING "]", "{}", "Transformer, first", VKF_ERROR_UNSUPPORTED},
        {"[" TRANSFORMER ", " NORMALIZE ", " POOLING "]", "{}", "Pooling stands once", VKF_ERROR_UNSUPPORTED},
        {"[" TRANSFORMER ", " POOLING ", " POOLING "]", "{}", "Pooling stands once", VKF_ERROR_UNSUPPORTED},
        {"[" TRANSFORMER ", {\"path\": \"../1\", \"type\": \"a.Pooling\"}]", "{}", "leaves the directory",
         VKF_ERROR_FORMAT},
        {"[" TRANSFORMER ", {\"path\": \"\", \"type\": \"sentence_transformers\"}]", "{}", "module \"sentence_transf",
         VKF_ERROR_UNSUPPORTED},
        {"[" TRANSFORMER ", {\"path\": \"none\", \"type\": \"sentence_transformers.models.Pooling\"}]", "{}",
         "none/config.json", VKF_ERROR_FILE},
        {"[3]", "{}", "no object", VKF_ERROR_FORMAT},
        {"[{\"path\": \"\"}]", "{}", "'type' is missing", VKF_ERROR_FORMAT},
        {"{}", "{}", "must be an array", VKF_ERROR_FORMAT},
        {usual, "{\"pooling_mode_mean_tokens\": 1}", "pooling_mode_mean_tokens", VKF_ERROR_FORMAT},
        {usual, "{\"pooling_mode\": []}", "0 modes", VKF_ERROR_UNSUPPORTED},
        {usual, "{\"embedding_dimension\": 31}", "embedding_dimension is 31", VKF_ERROR_FORMAT},
        {usual, "{\"hidden_size\": 32}", "the key hidden_size is not known", VKF_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording_host recording;
        vkf__model_source source;
        recording_host_init(&recording);
        vkf_status status = load_modules(*state, &recording, cases[i].modules, cases[i].config, &source);
        if (status != cases[i].status || !strstr(recording.text, cases[i].message))
            fail_msg("case %zu: status %d with \"%s\"", i, status, recording.text);
    }
}

static void test_a_directory_without_modules(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    vkf__sentence_list list;
    vkf__sentence_text text;
    vkf__model_source source = {.config = {.d_model = 32}};
    recording_host_init(&recording);
    write_text(scratch, "sentence_bert_config.json", "{\"max_seq_length\": 7}"); // which only modules.json makes valid
    write_text(scratch, "tokenizer_config.json", "{\"model_max_length\": 256}");
    assert_int_equal(vkf__sentence_list_load(&recording.host, scratch->path, &list), VKF_OK);
    assert_int_equal(vkf__sentence_modules_load(&recording.host, scratch->path, &list, &source), VKF_OK);
    assert_int_equal(vkf__sentence_text_load(&recording.host, scratch->path, &list, &text), VKF_OK);
    assert_int_equal(source.config.embedding_module_count, 1);
    assert_int_equal(source.config.embedding_modules[0].poolings[0], VKF_POOLING_MEAN);
    assert_int_equal(text.max_length, 256);
    assert_int_equal(recording.live, 0);
}

static void test_lengths(void **state)
{
    static const struct {
        const char *sentence, *tokenizer;
        uint32_t length;
    } cases[] = {
        {"{\"max_seq_length\": 256}", "{\"model_max_length\": 512}", 256},
        {"{\"max_seq_length\": 512}", "{\"model_max_length\": 128}", 512}, // no smaller of the two
        {"{\"max_seq_length\": null}", "{\"model_max_length\": 128}", 128},
        {"{}", "{\"model_max_length\": 1000000000000000019884624838656}", UINT32_MAX},
        {"{}", "{\"model_max_length\": 1e30}", UINT32_MAX},
        {"{}", "{\"max_len\": 64}", 64},
        {"{}", "{}", UINT32_MAX},
    };
    const vkf__sentence_list list = {.embeds = true};
    for (size_t i = 0; i < COUNT(cases); i++) {
        scratch_directory *scratch = *state;
        recording_host recording;
        vkf__sentence_text text;
        recording_host_init(&recording);
        write_text(scratch, "sentence_bert_config.json", cases[i].sentence);
        write_text(scratch, "tokenizer_config.json", cases[i].tokenizer);
        assert_int_equal(vkf__sentence_text_load(&recording.host, scratch->path, &list, &text), VKF_OK);
        assert_int_equal(text.max_length, cases[i].length);
    }
}

static void test_arguments_of_from_pretrained(void **state)
{
    static const struct {
        const char *text, *named; // named: NULL where it is read
    } cases[] = {
        {"{\"model_args\": {\"attn_implementation\": \"sdpa\"}}", NULL},
        {"{\"model_args\": {\"torch_dtype\": \"float32\"}, \"config_args\": {\"trust_remote_code\": true}}", NULL},
        {"{\"model_kwargs\": {\"dtype\": \"bfloat16\"}, \"processor_kwargs\": {\"padding_side\": \"left\"}}", NULL},
        {"{\"model_args\": {\"rope_scaling\": null}, \"tokenizer_args\": {}, \"config_kwargs\": null}", NULL},
        {"{\"model_args\": {\"attn_implementation\": \"sdpa\", \"rope_scaling\": {}}}", "model_args has rope_scaling"},
        {"{\"tokenizer_args\": {\"model_max_length\": 7}}", "tokenizer_args has model_max_length"},
        {"{\"tokenizer_name_or_path\": \"other\"}", "tokenizer_name_or_path is given"},
        {"{\"query_length\": 3}", "query_length is given"},
    };
    const vkf__sentence_list list = {.embeds = true};
    for (size_t i = 0; i < COUNT(cases); i++) {
        scratch_directory *scratch = *state;
        recording_host recording;
        vkf__sentence_text text;
        recording_host_init(&recording);
        write_text(scratch, "sentence_bert_config.json", cases[i].text);
        vkf_status status = vkf__sentence_text_load(&recording.host, scratch->path, &list, &text);
        if (status != (cases[i].named ? VKF_ERROR_UNSUPPORTED : VKF_OK) ||
            (cases[i].named && !strstr(recording.text, cases[i].named)))
            fail_msg("case %zu: status %d with \"%s\"", i, status, recording.text);
    }
}

static void test_prompts(void **state)
{
    static const char text[] =
        "{\"prompts\": {\"z\": \"Z \", \"query\": \"Q \", \"none\": null}, \"default_prompt_name\": \"query\", "
        "\"truncate_dim\": 5, \"similarity_fn_name\": \"manhattan\"}";
    scratch_directory *scratch = *state;
    recording_host recording;
    vkf__sentence_settings settings;
    recording_host_init(&recording);
    write_text(scratch, "modules.json", usual);
    write_text(scratch, "config_sentence_transformers.json", text);
    assert_int_equal(vkf__sentence_settings_load(&recording.host, scratch->path, &settings), VKF_OK);
    assert_int_equal(settings.prompt_count, 4);
    assert_string_equal(vkf__sentence_prompt(&settings, "document")->text, "");
    assert_string_equal(vkf__sentence_prompt(&settings, "none")->text, "");
    assert_string_equal(settings.prompts[settings.default_prompt].text, "Q ");
    assert_int_equal(settings.truncate_dim, 5);
    assert_int_equal(settings.similarity, VKF_SIMILARITY_MANHATTAN);
    assert_null(vkf__sentence_prompt(&settings, "Z"));
    vkf__sentence_settings_free(&recording.host, &settings);
    assert_int_equal(recording.live, 0);
}

static void test_no_host_memory(void **state)
{
    scratch_directory *scratch = *state;
    write_text(scratch, "modules.json", usual);
    write_text(scratch, "config_sentence_transformers.json", "{\"prompts\": {\"a\": \"A\"}}");
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t fail = 1; status != VKF_OK; fail++) {
        recording_host recording;
        vkf__sentence_settings settings = {.truncate_dim = 77};
        recording_host_init(&recording);
        recording.fail_call = fail;
        status = vkf__sentence_settings_load(&recording.host, scratch->path, &settings);
        assert_true(status == VKF_OK || (status == VKF_ERROR_OUT_OF_HOST_MEMORY && settings.truncate_dim == 77));
        if (status == VKF_OK)
            vkf__sentence_settings_free(&recording.host, &settings);
        assert_int_equal(recording.live, 0);
    }
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_poolings_old_and_new),
        SCRATCH_TEST(test_modules_that_are_refused),
        SCRATCH_TEST(test_a_directory_without_modules),
        SCRATCH_TEST(test_lengths),
        SCRATCH_TEST(test_arguments_of_from_pretrained),
        SCRATCH_TEST(test_prompts),
        SCRATCH_TEST(test_no_host_memory),
    };
    return cmocka_run_group_tests_name("sentence", tests, NULL, NULL);
}
