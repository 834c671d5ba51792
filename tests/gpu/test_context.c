// Contexts: which device, which kernels, pipelines ahead of time, and what is refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kernel/registry.h"

typedef struct messages {
    char last[2048];
    int errors;
} messages;

static void listen(void *user, vkf_severity severity, const char *text)
{
    messages *m = user;
    if (severity != VKF_SEVERITY_ERROR)
        return;
    m->errors++;
    (void)snprintf(m->last, sizeof m->last, "%s", text);
}

// Creation fails as expected, with a message that says `part`, and leaves the out-parameter alone.
static void assert_refused(vkf_context_desc desc, vkf_status expected, const char *part)
{
    messages m = {0};
    vkf_context *const untouched = (vkf_context *)&m;
    vkf_context *context = untouched;
    desc.message = listen;
    desc.message_user = &m;
    vkf_status status = vkf_context_create(&desc, &context);
    if (status != expected || m.errors == 0 || !strstr(m.last, part))
        fail_msg("%s, %d messages: \"%s\", expected %s and \"%s\"", vkf_status_name(status), m.errors, m.last,
                 vkf_status_name(expected), part);
    assert_ptr_equal(context, untouched);
}

static vkf_device_info info_of(vkf_test_gpu *gpu)
{
    vkf_device_info info;
    vkf_context_get_device_info(gpu->context, &info);
    return info;
}

static void test_enumerate_devices(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_context_desc desc = {.profile = gpu->profile};
    const vkf_device_info chosen = info_of(gpu);
    vkf_device_info infos[16];
    uint32_t count = 0, capacity = 16;
    assert_int_equal(vkf_enumerate_devices(&desc, &count, NULL), VKF_OK);
    assert_true(count >= 1 && count <= 16);
    assert_int_equal(vkf_enumerate_devices(&desc, &capacity, infos), VKF_OK);
    assert_int_equal(capacity, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(infos[i].index, i);
        assert_int_not_equal(infos[i].name[0], '\0');
        assert_true(infos[i].heap_count >= 1 && infos[i].heap_size_bytes[0] > 0);
    }
    assert_string_equal(infos[chosen.index].name, chosen.name);
    assert_int_equal(infos[chosen.index].max_workgroup_invocations, chosen.max_workgroup_invocations);
    memset(&infos[0], 0x5a, sizeof infos[0]);
    capacity = 0; // room for none: only counted
    assert_int_equal(vkf_enumerate_devices(&desc, &capacity, infos), VKF_OK);
    assert_int_equal(capacity, count);
    assert_int_equal(infos[0].name[0], 0x5a);
    assert_int_equal(vkf_enumerate_devices(&desc, NULL, infos), VKF_ERROR_INVALID_ARGUMENT);
}

static void test_profile_limits_the_device(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_device_info info = info_of(gpu);
    if (gpu->profile == VKF_CAPS_PROFILE_ANDROID_BASELINE_2022) {
        assert_true(info.max_workgroup_invocations <= 128 && info.max_shared_memory_bytes <= 16384);
        assert_true(info.max_storage_buffers <= 4 && !info.storage_16bit && !info.shader_float16);
    }
    assert_true(info.max_workgroup_invocations >= 64);
}

static void test_device_can_be_chosen(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_device_info info = info_of(gpu);
    // What the list says of it: VKF_TEST_AS_GPU gives the fixture's own context another type.
    vkf_device_info infos[16];
    uint32_t capacity = 16;
    assert_int_equal(vkf_enumerate_devices(&(vkf_context_desc){.profile = gpu->profile}, &capacity, infos), VKF_OK);
    vkf_device_choice rows[] = {
        {.kind = VKF_CHOOSE_BEST},
        {.kind = VKF_CHOOSE_INDEX, .index = info.index},
        {.kind = VKF_CHOOSE_NAME, .name = info.name},
        {.kind = VKF_CHOOSE_UUID},
        {.kind = VKF_CHOOSE_TYPE, .type = infos[info.index].type},
    };
    memcpy(rows[3].uuid, info.uuid, sizeof info.uuid);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf_test_gpu other;
        vkf_context_desc desc = {.device = rows[i]};
        assert_int_equal(vkf_test_gpu_open(&other, &desc), 0);
        assert_string_equal(info_of(&other).name, info.name);
        vkf_context_destroy(&other.context);
    }
}

static void test_device_that_is_not_there(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_device_info info = info_of(gpu);
    vkf_device_choice none = {.kind = VKF_CHOOSE_UUID};
    memset(none.uuid, 0xee, sizeof none.uuid);
    assert_refused((vkf_context_desc){.device = {.kind = VKF_CHOOSE_INDEX, .index = 99}}, VKF_ERROR_NO_DEVICE,
                   info.name);
    assert_refused((vkf_context_desc){.device = {.kind = VKF_CHOOSE_NAME, .name = "no such card"}}, VKF_ERROR_NO_DEVICE,
                   info.name);
    assert_refused((vkf_context_desc){.device = none}, VKF_ERROR_NO_DEVICE, info.name);
    assert_refused((vkf_context_desc){.device = {.kind = VKF_CHOOSE_NAME}}, VKF_ERROR_INVALID_ARGUMENT, "name");
    assert_refused((vkf_context_desc){.device = {.kind = (vkf_device_choice_kind)77}}, VKF_ERROR_INVALID_ARGUMENT, "");
}

static void test_bad_masks_and_profiles(void **state)
{
    static const char *const masks[] = {"shaderFloat17",
                                        "maxComputeWorkGroupInvocations",
                                        "shaderFloat16=1",
                                        "maxComputeWorkGroupInvocations=many",
                                        "",
                                        "=4",
                                        NULL};
    (void)vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        assert_refused((vkf_context_desc){.masks = &masks[i], .mask_count = 1}, VKF_ERROR_INVALID_ARGUMENT, "mask");
    assert_refused((vkf_context_desc){.mask_count = 1}, VKF_ERROR_INVALID_ARGUMENT, "mask");
    assert_refused((vkf_context_desc){.profile = VKF_CAPS_PROFILE_COUNT}, VKF_ERROR_INVALID_ARGUMENT, "profile");
}

static void test_device_below_the_floor(void **state)
{
    static const char *const masks[] = {"maxComputeWorkGroupInvocations=63", "maxPerStageDescriptorStorageBuffers=3",
                                        "maxComputeSharedMemorySize=16383", "maxPushConstantsSize=31"};
    (void)vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        assert_refused((vkf_context_desc){.masks = &masks[i], .mask_count = 1}, VKF_ERROR_UNSUPPORTED, "");
}

static void *some_memory(void *user, size_t size_bytes)
{
    (void)user;
    return malloc(size_bytes);
}

static vkf_void_function no_functions(void *instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

static void test_without_vulkan(void **state)
{
    (void)state; // needs no device
    uint32_t count = 7;
    const vkf_context_desc desc = {.get_instance_proc_addr = no_functions};
    assert_refused(desc, VKF_ERROR_NO_VULKAN, "Vulkan");
    assert_int_equal(vkf_enumerate_devices(&desc, &count, NULL), VKF_ERROR_NO_VULKAN);
    assert_int_equal(count, 7);
}

static void test_half_an_allocator_is_refused(void **state)
{
    (void)state;
    vkf_context *context = NULL;
    const vkf_context_desc desc = {.allocator = {.allocate = some_memory}};
    assert_int_equal(vkf_context_create(&desc, &context), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(context);
}

// Kernels -------------------------------------------------------------------------------------------------------------

typedef struct listing {
    uint32_t kernels, usable, without_reason;
    bool gemm;
} listing;

static void visit(void *user, const char *kernel, bool usable, const char *why)
{
    listing *l = user;
    l->kernels++;
    l->usable += usable;
    l->without_reason += !why || why[0] == '\0';
    l->gemm = l->gemm || (usable && strcmp(kernel, "gemm_tile.f32_f32_f32") == 0);
}

static void test_kernels_are_listed(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    listing l = {0};
    vkf_context_visit_kernels(gpu->context, visit, &l);
    assert_int_equal(l.kernels, vkf__kernel_count());
    assert_int_equal(l.without_reason, 0);
    assert_true(l.gemm && l.usable > 0);
    if (!info_of(gpu).storage_16bit)
        assert_true(l.usable < l.kernels);
    vkf_context_visit_kernels(NULL, visit, &l);
    vkf_context_visit_kernels(gpu->context, NULL, &l);
    assert_int_equal(l.kernels, vkf__kernel_count());
}

typedef struct progress {
    uint32_t calls, stop_after; // 0: never
    uint32_t total;
    bool disordered;
} progress;

static bool count_progress(void *user, uint32_t done, uint32_t total, const char *what)
{
    progress *p = user;
    p->disordered = p->disordered || done != p->calls || total == 0 || done >= total || !what || !what[0] ||
                    (p->total != 0 && p->total != total);
    p->total = total;
    p->calls++;
    return p->stop_after == 0 || p->calls < p->stop_after;
}

static void assert_context_works(vkf_context *context)
{
    const uint32_t shape[] = {3};
    const float values[] = {1, 2, 3};
    float read[3] = {0};
    vkf_tensor a, b;
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 1, shape, "a", &a), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 1, shape, "b", &b), VKF_OK);
    assert_int_equal(vkf_tensor_write(&a, values, sizeof values), VKF_OK);
    assert_int_equal(vkf_copy(context, &a, &b), VKF_OK);
    assert_int_equal(vkf_tensor_read(&b, read, sizeof read), VKF_OK);
    assert_memory_equal(read, values, sizeof values);
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&b);
}

static void test_create_pipelines_cancelled(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    progress p = {.stop_after = 3};
    assert_int_equal(vkf_context_create_pipelines(gpu->context, count_progress, &p), VKF_ERROR_CANCELLED);
    assert_int_equal(p.calls, 3);
    assert_false(p.disordered);
    assert_context_works(gpu->context);
}

// All of them takes long on a processor: once, and the second time none is made.
static void test_create_pipelines_all(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    progress p = {0}, again = {0};
    assert_int_equal(vkf_context_create_pipelines(gpu->context, count_progress, &p), VKF_OK);
    assert_true(p.total >= vkf__kernel_count() / 2);
    assert_int_equal(p.calls, p.total);
    assert_false(p.disordered);
    assert_int_equal(vkf_context_create_pipelines(gpu->context, count_progress, &again), VKF_OK);
    assert_int_equal(again.calls, p.total);
    assert_int_equal(vkf_context_create_pipelines(gpu->context, NULL, NULL), VKF_OK);
    assert_context_works(gpu->context);
}

// Arguments -----------------------------------------------------------------------------------------------------------

#define REFUSED(call) assert_int_equal((call), VKF_ERROR_INVALID_ARGUMENT)

static void test_null_arguments_of_memory(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_context *context = gpu->context;
    const uint32_t shape[] = {4};
    vkf_buffer *buffer = NULL;
    vkf_tensor tensor = {0};
    uint8_t byte = 0;
    REFUSED(vkf_context_create(NULL, NULL));
    REFUSED(vkf_context_save_cache(NULL));
    REFUSED(vkf_context_create_pipelines(NULL, NULL, NULL));
    REFUSED(vkf_buffer_create(NULL, 4, "x", &buffer));
    REFUSED(vkf_buffer_create(context, 4, "x", NULL));
    REFUSED(vkf_buffer_write(NULL, 0, &byte, 1));
    REFUSED(vkf_buffer_read(NULL, 0, &byte, 1));
    REFUSED(vkf_tensor_create(NULL, VKF_DTYPE_F32, 1, shape, "x", &tensor));
    REFUSED(vkf_tensor_create(context, VKF_DTYPE_F32, 1, NULL, "x", &tensor));
    REFUSED(vkf_tensor_create(context, VKF_DTYPE_F32, 1, shape, "x", NULL));
    REFUSED(vkf_tensor_create(context, VKF_DTYPE_F32, 0, shape, "x", &tensor));
    REFUSED(vkf_tensor_create(context, VKF_DTYPE_F32, VKF_MAX_RANK + 1, shape, "x", &tensor));
    REFUSED(vkf_tensor_create(context, VKF_DTYPE_COUNT, 1, shape, "x", &tensor));
    REFUSED(vkf_tensor_write(NULL, &byte, 1));
    REFUSED(vkf_tensor_read(&tensor, &byte, 1));
    assert_int_equal(vkf_buffer_get_size(NULL), 0);
    vkf_context_destroy(NULL);
    vkf_buffer_destroy(NULL);
    vkf_buffer_destroy(&buffer);
    vkf_tensor_destroy(NULL);
    vkf_tensor_destroy(&tensor);
    assert_int_equal(vkf_buffer_create(context, 4, NULL, &buffer), VKF_OK); // a name is optional
    vkf_buffer_destroy(&buffer);
}

static void test_null_arguments_of_layers(void **state)
{
    vkf_context *context = vkf_test_gpu_of(state)->context;
    const vkf_attention_desc attention = {0};
    const vkf_feed_forward_desc feed_forward = {0};
    const vkf_transformer_layer_desc transformer = {0};
    const vkf_layer_sizes sizes = {1, 1, 1};
    vkf_layer *layer = NULL;
    vkf_memory_plan plan;
    vkf_tensor tensor;
    uint32_t count = 0;
    uint8_t byte = 0;
#define REFUSED_MAKERS(name, desc)                              \
    do {                                                        \
        REFUSED(vkf_##name##_create(NULL, &(desc), &layer));    \
        REFUSED(vkf_##name##_create(context, NULL, &layer));    \
        REFUSED(vkf_##name##_create(context, &(desc), NULL));   \
        REFUSED(vkf_##name##_create(context, &(desc), &layer)); \
        REFUSED(vkf_##name##_plan(NULL, &(desc), &plan));       \
        REFUSED(vkf_##name##_plan(context, NULL, &plan));       \
        REFUSED(vkf_##name##_plan(context, &(desc), NULL));     \
        REFUSED(vkf_##name##_plan(context, &(desc), &plan));    \
    } while (0)
    REFUSED_MAKERS(attention, attention);
    REFUSED_MAKERS(feed_forward, feed_forward);
    REFUSED_MAKERS(encoder_layer, transformer);
    REFUSED_MAKERS(decoder_layer, transformer);
#undef REFUSED_MAKERS
    REFUSED(vkf_layer_write(NULL, VKF_PORT_QUERY, &byte, 1));
    REFUSED(vkf_layer_read(NULL, VKF_PORT_QUERY, &byte, 1));
    REFUSED(vkf_layer_set_sizes(NULL, 0, &sizes));
    REFUSED(vkf_layer_run(NULL, &sizes));
    REFUSED(vkf_layer_get_timings(NULL, &count, NULL));
    assert_false(vkf_layer_get_port(NULL, VKF_PORT_QUERY, &tensor));
    assert_int_equal(vkf_layer_get_record_count(NULL), 0);
    vkf_layer_destroy(NULL);
    vkf_layer_destroy(&layer);
    assert_null(layer);
}

static void test_null_arguments_of_operators_and_models(void **state)
{
    vkf_context *context = vkf_test_gpu_of(state)->context;
    const vkf_model_desc model_desc = {0};
    const vkf_tensor absent = {0};
    vkf_memory_plan plan;
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    vkf_vocabulary *vocabulary = NULL;
    uint32_t count = 0;
#define REFUSED_OPERATOR(name, type)         \
    do {                                     \
        const type desc = {0};               \
        REFUSED(vkf_##name(NULL, &desc));    \
        REFUSED(vkf_##name(context, NULL));  \
        REFUSED(vkf_##name(context, &desc)); \
    } while (0)
    REFUSED_OPERATOR(gemm, vkf_gemm_desc);
    REFUSED_OPERATOR(softmax, vkf_softmax_desc);
    REFUSED_OPERATOR(layer_norm, vkf_layer_norm_desc);
    REFUSED_OPERATOR(embed, vkf_embed_desc);
    REFUSED_OPERATOR(additive_scores, vkf_additive_scores_desc);
    REFUSED_OPERATOR(activate, vkf_activate_desc);
    REFUSED_OPERATOR(argmax, vkf_argmax_desc);
    REFUSED_OPERATOR(concat, vkf_concat_desc);
    REFUSED_OPERATOR(gather, vkf_gather_desc);
    REFUSED_OPERATOR(scatter, vkf_scatter_desc);
#undef REFUSED_OPERATOR
    vkf_status (*const pairs[])(vkf_context *, const vkf_tensor *, const vkf_tensor *) = {vkf_split_heads,
                                                                                          vkf_merge_heads, vkf_copy};
    for (size_t i = 0; i < 3; i++) {
        REFUSED(pairs[i](NULL, &absent, &absent));
        REFUSED(pairs[i](context, NULL, &absent));
        REFUSED(pairs[i](context, &absent, NULL));
        REFUSED(pairs[i](context, &absent, &absent));
    }
    REFUSED(vkf_model_load(NULL, &model_desc, &model));
    REFUSED(vkf_model_load(context, NULL, &model));
    REFUSED(vkf_model_load(context, &model_desc, NULL));
    REFUSED(vkf_model_load(context, &model_desc, &model));
    REFUSED(vkf_model_plan(context, &model_desc, &plan));
    REFUSED(vkf_session_create(NULL, NULL, &session));
    REFUSED(vkf_session_plan(NULL, NULL, &plan));
    REFUSED(vkf_session_encode(NULL, NULL));
    REFUSED(vkf_session_decode(NULL, NULL));
    REFUSED(vkf_session_greedy(NULL, NULL));
    REFUSED(vkf_session_get_timings(NULL, &count, NULL));
    REFUSED(vkf_vocabulary_load(NULL, "x", &vocabulary));
    vkf_model_destroy(NULL);
    vkf_model_destroy(&model);
    vkf_session_destroy(NULL);
    vkf_session_destroy(&session);
    vkf_vocabulary_destroy(NULL);
    vkf_vocabulary_destroy(&vocabulary);
}

static void test_variant_of_no_kernel_is_refused(void **state)
{
    (void)vkf_test_gpu_of(state);
    assert_refused((vkf_context_desc){.variant = "gem_tile"}, VKF_ERROR_INVALID_ARGUMENT, "near it are gemm_tile");
    assert_refused((vkf_context_desc){.variant = "gemm_tile.f32_f32_f32/smell"}, VKF_ERROR_INVALID_ARGUMENT,
                   "gemm_tile.f32_f32_f32/small");
}

static void test_shader_dir_without_a_name_is_refused(void **state)
{
    (void)vkf_test_gpu_of(state);
    assert_refused((vkf_context_desc){.shader_dir = ""}, VKF_ERROR_INVALID_ARGUMENT, "shader_dir is \"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enumerate_devices),
        cmocka_unit_test(test_profile_limits_the_device),
        cmocka_unit_test(test_device_can_be_chosen),
        cmocka_unit_test(test_device_that_is_not_there),
        cmocka_unit_test(test_bad_masks_and_profiles),
        cmocka_unit_test(test_device_below_the_floor),
        cmocka_unit_test(test_without_vulkan),
        cmocka_unit_test(test_half_an_allocator_is_refused),
        cmocka_unit_test(test_kernels_are_listed),
        cmocka_unit_test(test_create_pipelines_cancelled),
        cmocka_unit_test(test_create_pipelines_all),
        cmocka_unit_test(test_null_arguments_of_memory),
        cmocka_unit_test(test_null_arguments_of_layers),
        cmocka_unit_test(test_null_arguments_of_operators_and_models),
        cmocka_unit_test(test_variant_of_no_kernel_is_refused),
        cmocka_unit_test(test_shader_dir_without_a_name_is_refused),
    };
    return cmocka_run_group_tests_name("context", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
