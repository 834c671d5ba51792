// Programs that were compiled for an older or a newer version of the library: their structs are shorter or longer.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "model_files.h"
#include "sample_layers.h"

enum { MORE_BYTES = 24, BATCH = 1, LEN = 2, DIM = 8, TEXT_BYTES = 1024 };

// A struct as a newer version has it: `tail` is what this library does not know.
#define NEWER(type)                     \
    struct {                            \
        type known;                     \
        unsigned char tail[MORE_BYTES]; \
    }
// Bytes of a struct that ends before `member`, as an older version had it.
#define UP_TO(type, member) offsetof(type, member)

static const vkf_layer_sizes sizes = {BATCH, LEN, LEN};

static vkf_feed_forward_desc feed_forward_of(const sample_weights *weights)
{
    return (vkf_feed_forward_desc){
        .d_model = SAMPLE_DIM, .dim_feedforward = SAMPLE_HIDDEN, .params = weights->feed_forward, .max_sizes = sizes};
}

static void test_descriptor_of_an_older_program(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sample_weights weights;
    vkf_layer *layer = NULL;
    sample_weights_create(gpu, &weights);
    vkf_feed_forward_desc desc = feed_forward_of(&weights);
    desc.ports[0].rank = 99; // behind what the program says that there is
    assert_int_equal(vkf_feed_forward_create_sized(gpu->context, &desc, UP_TO(vkf_feed_forward_desc, ports), &layer),
                     VKF_OK);
    assert_int_equal(vkf_layer_run(layer, &sizes), VKF_OK);
    vkf_layer_destroy(&layer);
    sample_weights_destroy(&weights);
}

static void test_descriptor_of_a_newer_program(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sample_weights weights;
    vkf_layer *layer = NULL;
    sample_weights_create(gpu, &weights);
    NEWER(vkf_feed_forward_desc) desc = {.known = feed_forward_of(&weights)};
    assert_int_equal(vkf_feed_forward_create_sized(gpu->context, &desc.known, sizeof desc, &layer), VKF_OK);
    vkf_layer_destroy(&layer);
    desc.tail[MORE_BYTES - 1] = 1;
    vkf_test_expect(gpu, vkf_feed_forward_create_sized(gpu->context, &desc.known, sizeof desc, &layer),
                    VKF_ERROR_UNSUPPORTED, "vkf_feed_forward_create: the program is compiled for a newer version");
    assert_null(layer);
    sample_weights_destroy(&weights);
}

static void keep_message(void *user, vkf_severity severity, const char *text)
{
    (void)severity;
    (void)snprintf(user, TEXT_BYTES, "%s", text);
}

static void test_context_of_a_newer_program_is_refused_with_a_message(void **state)
{
    (void)state;
    vkf_context *context = NULL;
    char text[TEXT_BYTES] = "";
    NEWER(vkf_context_desc) desc = {.known = {.message = keep_message, .message_user = text}};
    desc.tail[0] = 1;
    assert_int_equal(vkf_context_create_sized(&desc.known, sizeof desc, &context), VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(text, "vkf_context_create: the program is compiled for a newer version"));
    assert_null(context);
}

static void make_rig(vkf_test_gpu *gpu, vkf_test_rig *out_rig)
{
    const vkf_model_config config = {.kind = VKF_MODEL_TRANSFORMER,
                                     .d_model = DIM,
                                     .num_heads = 2,
                                     .dim_feedforward = 8,
                                     .num_encoder_layers = 1,
                                     .num_decoder_layers = 1};
    const vkf_session_desc desc = {.max_batch = BATCH, .max_source_len = LEN, .max_target_len = LEN};
    vkf_test_rig_make(gpu, &config, VKF_DTYPE_F32, &desc, out_rig);
}

static void test_arguments_of_older_and_newer_programs(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const float source[BATCH * LEN * DIM] = {1, 2, 3};
    float memory[BATCH * LEN * DIM] = {0};
    vkf_test_rig rig;
    make_rig(gpu, &rig);
    NEWER(vkf_encode_args) args = {.known = {.batch = BATCH, .source_len = LEN, .source = source}};
    args.known.out_embeddings = memory; // INVALID_ARGUMENT for this model, and an older program has no such member
    assert_int_equal(vkf_session_encode_sized(rig.session, &args.known, UP_TO(vkf_encode_args, out_embeddings)),
                     VKF_OK);
    args.known.out_embeddings = NULL;
    args.known.out_memory = memory;
    assert_int_equal(vkf_session_encode_sized(rig.session, &args.known, sizeof args), VKF_OK);
    assert_true(memory[0] != 0);
    args.tail[0] = 1;
    assert_int_equal(vkf_session_encode_sized(rig.session, &args.known, sizeof args), VKF_ERROR_UNSUPPORTED);
    vkf_test_rig_free(&rig);
}

static void test_results_for_older_and_newer_programs(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_memory_plan all, some;
    NEWER(vkf_memory_plan) more;
    vkf_test_rig rig;
    make_rig(gpu, &rig);
    memset(&some, 0xee, sizeof some);
    memset(&more, 0xee, sizeof more);
    assert_int_equal(vkf_session_plan(rig.model, &rig.desc, &all), VKF_OK);
    assert_int_equal(
        vkf_session_plan_sized(rig.model, &rig.desc, sizeof rig.desc, &some, UP_TO(vkf_memory_plan, cache_bytes)),
        VKF_OK);
    assert_true(some.activations_bytes == all.activations_bytes);
    assert_true(some.cache_bytes == UINT64_C(0xeeeeeeeeeeeeeeee));
    assert_int_equal(vkf_session_plan_sized(rig.model, &rig.desc, sizeof rig.desc, &more.known, sizeof more), VKF_OK);
    assert_memory_equal(&more.known, &all, sizeof all);
    for (int i = 0; i < MORE_BYTES; i++)
        assert_int_equal(more.tail[i], 0);
    vkf_test_rig_free(&rig);
}

// The size is the distance from one element to the next.
static void test_array_of_a_newer_program(void **state)
{
    (void)state;
    NEWER(vkf_device_info) infos[4];
    vkf_device_info known[4];
    uint32_t count = 4, known_count = 4;
    memset(infos, 0xee, sizeof infos);
    assert_int_equal(vkf_enumerate_devices_sized(NULL, 0, &count, &infos[0].known, sizeof infos[0]), VKF_OK);
    assert_int_equal(vkf_enumerate_devices(NULL, &known_count, known), VKF_OK);
    assert_int_equal(count, known_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(&infos[i].known, &known[i], sizeof known[i]);
        assert_int_equal(infos[i].tail[0], 0);
    }
}

static void test_reserved_room_has_to_be_0(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_layer *layer = NULL;
    sample_weights weights;
    sample_weights_create(gpu, &weights);
    vkf_feed_forward_desc desc = feed_forward_of(&weights);
    desc.params.reserved[0] = 1;
    vkf_test_expect(gpu, vkf_feed_forward_create(gpu->context, &desc, &layer), VKF_ERROR_UNSUPPORTED,
                    "vkf_feed_forward_weights.reserved is not 0");
    desc = feed_forward_of(&weights);
    desc.ports[VKF_MAX_PORTS - 1] = weights.tensors[0];
    assert_int_equal(vkf_feed_forward_create(gpu->context, &desc, &layer), VKF_ERROR_UNSUPPORTED);
    sample_weights_destroy(&weights);
}

static void test_reserved_room_of_contexts_and_models_has_to_be_0(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_context_desc desc = {.device = {.reserved = {1}}};
    vkf_model_config config = {.kind = VKF_MODEL_TRANSFORMER, .window_rotary = {.reserved = {1}}};
    const vkf_model_desc model = {.config = &config, .weights_path = "none.safetensors"};
    vkf_context *context = NULL;
    vkf_memory_plan plan;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_ERROR_UNSUPPORTED);
    vkf_test_expect(gpu, vkf_model_plan(gpu->context, &model, &plan), VKF_ERROR_UNSUPPORTED,
                    "vkf_model_plan: vkf_rotary_config.reserved is not 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor_of_an_older_program),
        cmocka_unit_test(test_descriptor_of_a_newer_program),
        cmocka_unit_test(test_context_of_a_newer_program_is_refused_with_a_message),
        cmocka_unit_test(test_arguments_of_older_and_newer_programs),
        cmocka_unit_test(test_results_for_older_and_newer_programs),
        cmocka_unit_test(test_array_of_a_newer_program),
        cmocka_unit_test(test_reserved_room_has_to_be_0),
        cmocka_unit_test(test_reserved_room_of_contexts_and_models_has_to_be_0),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
