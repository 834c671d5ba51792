// vkf_model_get_metadata(): what config.json and safetensors files say of a model, by key.
#include <stdlib.h>
#include <string.h>

#include "model/load/model_metadata.h"
#include "support/fixture.h"
#include "support/pretrained.h"

static const char config[] =
    "{\"model_type\": \"llama\", \"a.b\": {\"c\": 1}, \"deep\": {\"er\": {\"est\": [1, true]}}}";

static void set(json_t **out_object, const char *text)
{
    *out_object = json_loads(text, 0, NULL);
    assert_non_null(*out_object);
}

static void test_metadata_find_takes_names_and_paths(void **state)
{
    static const struct {
        const char *key;
        const char *value; // as JSON; NULL: there is none
    } rows[] = {
        {"model_type", "\"llama\""},
        {"a.b.c", "1"},
        {"deep.er.est", "[1,true]"},
        {"deep.er", "{\"est\":[1,true]}"},
        {"format", "\"pt\""},
        {"deep.none", NULL},
        {"", NULL},
        {".", NULL},
        {"deep..er", NULL},
        {"a", NULL},
        {"model_type.x", NULL},
        {"deep.er.est.0", NULL},
    };
    (void)state;
    vkf__model_metadata metadata = {0};
    set(&metadata.config, config);
    set(&metadata.weights, "{\"format\": \"pt\", \"model_type\": \"of the weights\"}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const json_t *value = vkf__model_metadata_find(&metadata, rows[i].key);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        if (rows[i].value)
            assert_string_equal(text, rows[i].value);
        else
            assert_null(text);
        free(text);
    }
    vkf__model_metadata_free(&metadata);
}

static void assert_metadata(const vkf_model *model, const char *key, const char *expected)
{
    char text[64];
    size_t bytes = 0;
    assert_int_equal(vkf_model_get_metadata(model, key, &bytes, NULL), VKF_OK);
    assert_int_equal(bytes, strlen(expected));
    bytes = sizeof text;
    assert_int_equal(vkf_model_get_metadata(model, key, &bytes, text), VKF_OK);
    assert_int_equal(bytes, strlen(expected));
    assert_string_equal(text, expected);
}

static void test_metadata_of_a_model_on_the_device(void **state)
{
    vkf_test_gpu *gpu = *state;
    vkf_model *model = vkf_test_load_family(gpu, "llama");
    char text[8] = "before";
    size_t bytes = sizeof text;
    assert_metadata(model, "model_type", "llama");
    assert_metadata(model, "architectures", "[\"LlamaForCausalLM\"]");
    assert_metadata(model, "format", "pt");
    assert_int_equal(vkf_model_get_metadata(model, "no such key", &bytes, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(vkf_last_error(VKF_ERROR_INVALID_ARGUMENT), "no such key"));
    bytes = sizeof "llama" - 1;
    assert_int_equal(vkf_model_get_metadata(model, "model_type", &bytes, text), VKF_ERROR_TOO_LARGE);
    assert_string_equal(text, "before");
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata_find_takes_names_and_paths),
        cmocka_unit_test(test_metadata_of_a_model_on_the_device),
    };
    return cmocka_run_group_tests_name("model_metadata", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
