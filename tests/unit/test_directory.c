// Model directories without a device: what an inspection says, and a directory made of another.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <vkformer/vkformer.h>

#include "recording_host.h"
#include "scratch_directory.h"

#define PRETRAINED VKF_TEST_SOURCE_DIR "/tests/pretrained/"
#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"

static vkf_inspection_desc desc_of(recording_host *recording, const char *directory)
{
    return (vkf_inspection_desc){
        .directory = directory,
        .message = recording_message,
        .message_user = recording,
        .allocator = recording->host.allocator,
    };
}

static vkf_inspection *inspect(recording_host *recording, const char *directory, vkf_inspection_info *out_info)
{
    const vkf_inspection_desc desc = desc_of(recording, directory);
    vkf_inspection *inspection = NULL;
    if (vkf_inspection_load(&desc, &inspection) != VKF_OK)
        fail_msg("%s: %s", directory, recording->text);
    vkf_inspection_get_info(inspection, out_info);
    return inspection;
}

// ---- what is there

static void test_what_an_encoder_has(void **state)
{
    recording_host recording;
    vkf_inspection_info info;
    vkf_model_config config;
    vkf_stored_type type;
    uint32_t count = 0;
    (void)state;
    recording_host_init(&recording);
    vkf_inspection *inspection = inspect(&recording, PRETRAINED "bert-sequence-classification", &info);
    vkf_inspection_get_config(inspection, &config);
    assert_int_equal(info.supported, VKF_OK);
    assert_true(info.has_weights && !info.embeds);
    assert_string_equal(info.model_type, "bert");
    assert_string_equal(info.transformer_directory, PRETRAINED "bert-sequence-classification");
    assert_null(info.adapter_directory);
    assert_int_equal(info.asked_head, VKF_HEAD_SEQUENCE_CLASSIFICATION);
    assert_int_equal(config.kind, VKF_MODEL_ENCODER);
    assert_int_equal(config.head_outputs, 3);
    assert_true(vkf_inspection_get_stored(inspection, 0, &type));
    assert_string_equal(type.name, "F32");
    assert_int_equal(type.size_bytes, 4 * info.parameter_count);
    assert_false(vkf_inspection_get_stored(inspection, 1, &type));
    assert_string_equal(vkf_inspection_get_tensor(inspection, 0), "bert.embeddings.word_embeddings.weight");
    assert_null(vkf_inspection_get_tensor(inspection, 1000));
    assert_null(vkf_inspection_get_label(inspection, 0));
    assert_int_equal(vkf_inspection_load_labels(inspection, &count), VKF_OK);
    assert_int_equal(count, 3);
    assert_string_equal(vkf_inspection_get_label(inspection, 2), "good");
    assert_null(vkf_inspection_get_label(inspection, 3));
    assert_int_equal(vkf_inspection_try_texts(inspection), VKF_OK);
    vkf_inspection_destroy(&inspection);
    assert_int_equal(recording.live, 0);
}

static void test_what_modules_say_of_embeddings(void **state)
{
    recording_host recording;
    vkf_inspection_info info;
    (void)state;
    recording_host_init(&recording);
    vkf_inspection *inspection = inspect(&recording, PRETRAINED "sentence-prompt", &info);
    assert_true(info.embeds);
    assert_in_range(info.default_prompt, 0, 8);
    assert_non_null(vkf_inspection_get_prompt(inspection, (uint32_t)info.default_prompt));
    assert_null(vkf_inspection_get_prompt(inspection, 1000));
    vkf_inspection_destroy(&inspection);
    inspection = inspect(&recording, DEMO, &info);
    assert_null(info.model_type);
    assert_int_equal(info.default_prompt, -1);
    assert_null(vkf_inspection_get_prompt(inspection, 0));
    assert_int_equal(vkf_inspection_try_texts(inspection), VKF_OK);
    vkf_inspection_destroy(&inspection);
    assert_int_equal(recording.live, 0);
}

static void test_a_model_that_cannot_be_loaded_is_described(void **state)
{
    static const char config[] = "{\"model_type\": \"perceptron\"}";
    scratch_directory *scratch = *state;
    recording_host recording;
    vkf_inspection_info info;
    vkf_model_config untouched = {.d_model = 7};
    vkf_inspection *inspection = NULL;
    recording_host_init(&recording);
    const vkf_inspection_desc nowhere = desc_of(&recording, "/nowhere/at/all");
    assert_int_equal(vkf_inspection_load(&nowhere, &inspection), VKF_ERROR_FILE);
    assert_null(inspection);
    scratch_write(scratch, "config.json", config, sizeof config - 1);
    inspection = inspect(&recording, scratch->path, &info);
    vkf_inspection_get_config(inspection, &untouched);
    assert_int_equal(info.supported, VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(recording.text, "perceptron"));
    assert_false(info.has_weights);
    assert_int_equal(untouched.d_model, 7);
    assert_null(vkf_inspection_get_tensor(inspection, 0));
    assert_int_equal(vkf_inspection_try_texts(inspection), VKF_ERROR_UNSUPPORTED);
    vkf_inspection_destroy(&inspection);
    scratch_list(scratch, 1);
    assert_int_equal(recording.live, 0);
}

static void test_modules_have_results(void **state)
{
    recording_host recording;
    vkf_inspection_info info;
    vkf_module_result result;
    (void)state;
    recording_host_init(&recording);
    vkf_inspection *inspection = inspect(&recording, PRETRAINED "llama", &info);
    assert_true(vkf_inspection_get_module(inspection, "decoder.1", "self_attn.qkv_proj", &result));
    assert_int_equal(result.piece_count, 3);
    assert_string_equal(result.pieces[1].name, "model.layers.1.self_attn.k_proj");
    assert_true(vkf_inspection_get_module(inspection, "decoder.1", "self_attn.q_rotary", &result));
    assert_int_equal(result.piece_count, 0);
    assert_false(vkf_inspection_get_module(inspection, "decoder.1", "no_such_label", &result));
    vkf_inspection_destroy(&inspection);
}

// ---- adapters

static void test_the_base_of_an_adapter_is_named(void **state)
{
    static const char config[] = "{\"peft_type\": \"LORA\", \"base_model_name_or_path\": \"some/model\"}";
    scratch_directory *scratch = *state;
    recording_host recording;
    char name[16];
    size_t bytes = sizeof name;
    recording_host_init(&recording);
    vkf_inspection_desc desc = desc_of(&recording, PRETRAINED "llama");
    assert_int_equal(vkf_read_adapter_base(&desc, &bytes, name), VKF_OK);
    assert_string_equal(name, ""); // a model
    scratch_write(scratch, "adapter_config.json", config, sizeof config - 1);
    desc.directory = scratch->path;
    assert_int_equal(vkf_read_adapter_base(&desc, &bytes, NULL), VKF_OK);
    assert_int_equal(bytes, strlen("some/model"));
    assert_int_equal(vkf_read_adapter_base(&desc, &bytes, name), VKF_ERROR_TOO_LARGE); // no place for the zero
    bytes++;
    assert_int_equal(vkf_read_adapter_base(&desc, &bytes, name), VKF_OK);
    assert_string_equal(name, "some/model");
    scratch_list(scratch, 1);
    assert_int_equal(recording.live, 0);
}

// ---- a directory made of another

typedef struct cancelling {
    uint32_t calls, most;
} cancelling;

static bool cancel(void *user, uint32_t done, uint32_t total, const char *what)
{
    cancelling *c = user;
    assert_true(done < total && what);
    return c->calls++ < c->most;
}

static vkf_quantize_desc quantizing(recording_host *recording, scratch_directory *scratch, cancelling *progress)
{
    return (vkf_quantize_desc){
        .directory = DEMO,
        .out_directory = scratch_path(scratch, "out"),
        .quantization = VKF_QUANTIZATION_Q8,
        .progress = cancel,
        .progress_user = progress,
        .message = recording_message,
        .message_user = recording,
        .allocator = recording->host.allocator,
    };
}

static void test_what_ends_a_quantization_leaves_nothing(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    cancelling progress = {.most = 3};
    vkf_quantize_result result = {7, 7};
    recording_host_init(&recording);
    vkf_quantize_desc desc = quantizing(&recording, scratch, &progress);
    assert_int_equal(vkf_quantize(&desc, &result), VKF_ERROR_CANCELLED);
    assert_int_equal(progress.calls, 4);
    desc.quantization = VKF_QUANTIZATION_COUNT;
    assert_int_equal(vkf_quantize(&desc, &result), VKF_ERROR_INVALID_ARGUMENT);
    desc.quantization = VKF_QUANTIZATION_Q4;
    desc.directory = scratch->path; // which has no model
    assert_int_equal(vkf_quantize(&desc, &result), VKF_ERROR_FILE);
    desc.directory = desc.out_directory = PRETRAINED "llama";
    assert_int_equal(vkf_quantize(&desc, &result), VKF_ERROR_FILE);
    assert_int_equal(result.tensor_count, 7);
    assert_int_equal(scratch_list(scratch, 0), 0);
    assert_int_equal(recording.live, 0);
}

// Every allocation fails once, of an inspection and of a quantization.
static void test_exhausted_memory(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    cancelling progress = {.most = UINT32_MAX};
    vkf_quantize_result result;
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t call = 1; status != VKF_OK; call++) {
        vkf_inspection *inspection = NULL;
        recording_host_init(&recording);
        recording.fail_call = call;
        const vkf_inspection_desc desc = desc_of(&recording, PRETRAINED "bert");
        status = vkf_inspection_load(&desc, &inspection);
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_true((status == VKF_OK) == (inspection != NULL));
        vkf_inspection_destroy(&inspection);
        assert_int_equal(recording.live, 0);
    }
    status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t call = 1; status == VKF_ERROR_OUT_OF_HOST_MEMORY; call++) {
        recording_host_init(&recording);
        recording.fail_call = call;
        vkf_quantize_desc desc = quantizing(&recording, scratch, &progress);
        desc.directory = PRETRAINED "bert";
        status = vkf_quantize(&desc, &result);
        assert_int_equal(recording.live, 0);
        assert_int_equal(scratch_list(scratch, 0), 0);
    }
    assert_int_equal(status, VKF_ERROR_UNSUPPORTED); // its depths are no multiples of 32
}

static void test_arguments(void **state)
{
    const vkf_inspection_desc nothing = {0};
    const vkf_quantize_desc without_out = {.directory = PRETRAINED "llama"};
    vkf_inspection *inspection = NULL;
    vkf_inspection_info info = {.parameter_count = 7};
    vkf_quantize_result result;
    size_t bytes = 0;
    (void)state;
    assert_int_equal(vkf_inspection_load(NULL, &inspection), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_inspection_load(&nothing, &inspection), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_read_adapter_base(&nothing, &bytes, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_quantize(&without_out, &result), VKF_ERROR_INVALID_ARGUMENT);
    vkf_inspection_get_info(NULL, &info);
    assert_int_equal(info.parameter_count, 7);
    vkf_inspection_destroy(&inspection);
    vkf_inspection_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_an_encoder_has),
        cmocka_unit_test(test_what_modules_say_of_embeddings),
        cmocka_unit_test_setup_teardown(test_a_model_that_cannot_be_loaded_is_described, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(test_modules_have_results),
        cmocka_unit_test_setup_teardown(test_the_base_of_an_adapter_is_named, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_what_ends_a_quantization_leaves_nothing, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_exhausted_memory, scratch_setup, scratch_teardown),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests_name("directory", tests, NULL, NULL);
}
