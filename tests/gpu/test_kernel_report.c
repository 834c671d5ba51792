// The list of kernels: what is visited, what a failure to compile gives, and where statistics come from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embedded_words.h"
#include "fixture.h"
#include "kernel/context.h"
#include "kernel/shader_table.h"

typedef struct visits {
    uint32_t count;
    uint32_t usable;
    uint32_t compiled;
    uint32_t with_statistics;
    uint32_t first_rows; // defaults for a Linear of one row, all f32
    uint32_t stop_at;    // 0: never
    vkf_status last_status;
    vkf_kernel_statistics last;
    uint32_t last_spirv_bytes;
    uint32_t representations;
    char last_text[64]; // of the last of them
} visits;

static bool visit(void *user, const vkf_kernel_report *report)
{
    visits *v = user;
    v->count++;
    v->usable += report->usable;
    v->compiled += report->compiled;
    v->with_statistics += report->has_statistics;
    v->first_rows += strstr(report->kernel, ".f32_f32_f32") && strstr(report->default_for, "linear of 1 row");
    v->last_status = report->status;
    v->last = report->statistics;
    v->last_spirv_bytes = report->spirv_bytes;
    v->representations = report->representation_count;
    for (uint32_t i = 0; i < report->representation_count; i++)
        (void)snprintf(v->last_text, sizeof v->last_text, "%s", report->representations[i].data);
    assert_true(report->usable || !report->compiled);
    assert_non_null(report->why);
    return v->count != v->stop_at;
}

static visits report(vkf_test_gpu *gpu, const char *name, vkf_kernel_compile compile, vkf_status expected,
                     uint32_t stop_at)
{
    visits v = {.stop_at = stop_at};
    assert_int_equal(vkf_context_report_kernels(gpu->context, name, compile, visit, &v), expected);
    return v;
}

static void test_report_kernels_visits_the_registry(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    uint32_t least = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        least += vkf__kernel_at(i)->op == VKF_OP_ATTENTION ? 0 : vkf__kernel_at(i)->config_count;
    const visits all = report(gpu, NULL, VKF_COMPILE_NONE, VKF_OK, 0);
    assert_true(all.count > least);
    assert_int_equal(all.compiled, 0);
    assert_int_equal(all.first_rows, 1);
    assert_int_equal(report(gpu, "copy.f32_f32/", VKF_COMPILE_NONE, VKF_OK, 0).count, 2);
    assert_int_equal(report(gpu, "copy.f32_f32/flat64", VKF_COMPILE_NONE, VKF_OK, 0).count, 1);
    assert_int_equal(report(gpu, "no such kernel", VKF_COMPILE_NONE, VKF_OK, 0).count, 0);
}

static void test_report_kernels_compiles(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const visits v = report(gpu, "copy.f32_f32/", VKF_COMPILE_ALL, VKF_OK, 0);
    assert_int_equal(v.compiled, v.usable);
    assert_int_equal(v.last_status, VKF_OK);
    assert_int_equal(v.with_statistics, 0); // not asked for when the context was made
    assert_int_equal(v.last.registers, VKF_STATISTIC_UNKNOWN);
    assert_int_equal(v.last.shared_bytes, 0); // of the kernel itself
}

static void test_report_kernels_compiles_the_defaults(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const visits v = report(gpu, "copy.f32_f32/", VKF_COMPILE_DEFAULTS, VKF_OK, 0);
    assert_int_equal(v.count, 2);
    assert_int_equal(v.usable, 2);
    assert_int_equal(v.compiled, 1);
    assert_int_equal(report(gpu, "copy.f32_f32/flat64", VKF_COMPILE_DEFAULTS, VKF_OK, 0).compiled, 0);
}

static void test_report_kernels_tells_the_size_of_modules(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const uint32_t expected = 4 * vkf__shader_find("copy.f32_f32")->word_count;
    assert_int_equal(report(gpu, "copy.f32_f32/", VKF_COMPILE_NONE, VKF_OK, 0).last_spirv_bytes, expected);
    assert_int_equal(report(gpu, "copy.f32_f32/", VKF_COMPILE_ALL, VKF_OK, 0).last_spirv_bytes, expected);
}

static void test_report_kernels_can_be_cancelled(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    assert_int_equal(report(gpu, NULL, VKF_COMPILE_NONE, VKF_ERROR_CANCELLED, 3).count, 3);
    assert_int_equal(vkf_context_report_kernels(gpu->context, NULL, VKF_COMPILE_NONE, NULL, NULL),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_context_report_kernels(NULL, NULL, VKF_COMPILE_NONE, visit, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static VkResult pipeline_result;

static VKAPI_ATTR VkResult VKAPI_CALL no_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                   const VkComputePipelineCreateInfo *infos,
                                                   const VkAllocationCallbacks *callbacks, VkPipeline *pipelines)
{
    (void)device, (void)cache, (void)count, (void)infos, (void)callbacks, (void)pipelines;
    return pipeline_result;
}

// A context of its own, without the pipelines that other tests made.
static void with_failing_compiler(vkf_test_gpu *gpu, VkResult result, vkf_status expected, uint32_t expected_count)
{
    vkf_test_gpu other = {.profile = gpu->profile};
    vkf_context_desc desc = {.skip_self_test = true};
    assert_int_equal(vkf_test_gpu_open(&other, &desc), 0);
    pipeline_result = result;
    other.context->device.vk.vkCreateComputePipelines = no_pipelines;
    const visits v = report(&other, "copy.f32_f32/", VKF_COMPILE_ALL, expected, 0);
    assert_int_equal(v.count, expected_count);
    assert_int_equal(v.compiled, 0);
    if (v.count > 0)
        assert_int_equal(v.last_status, VKF_ERROR_SHADER);
    vkf_context_destroy(&other.context);
}

static void test_report_kernels_names_those_that_do_not_compile(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    with_failing_compiler(gpu, VK_ERROR_UNKNOWN, VKF_OK, 2);
    with_failing_compiler(gpu, VK_ERROR_DEVICE_LOST, VKF_ERROR_DEVICE_LOST, 0);
}

static VKAPI_ATTR VkResult VKAPI_CALL one_executable(VkDevice device, const VkPipelineInfoKHR *info, uint32_t *count,
                                                     VkPipelineExecutablePropertiesKHR *out)
{
    (void)device;
    assert_true(info->pipeline != VK_NULL_HANDLE);
    *count = 1;
    if (out)
        out->stages = VK_SHADER_STAGE_COMPUTE_BIT;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL one_statistic(VkDevice device, const VkPipelineExecutableInfoKHR *info,
                                                    uint32_t *count, VkPipelineExecutableStatisticKHR *out)
{
    (void)device, (void)info;
    *count = 1;
    if (out) {
        *out = (VkPipelineExecutableStatisticKHR){.name = "VGPRs",
                                                  .format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR};
        out->value.u64 = 42;
    }
    return VK_SUCCESS;
}

static void test_report_kernels_reads_statistics(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__device *device = &gpu->context->device;
    const vkf__device before = *device;
    device->plan.enabled.pipeline_executable_info = true;
    device->plan.caps.driver_id = VK_DRIVER_ID_MESA_RADV;
    device->vk.vkGetPipelineExecutablePropertiesKHR = one_executable;
    device->vk.vkGetPipelineExecutableStatisticsKHR = one_statistic;
    const visits v = report(gpu, "copy.f32_f32/", VKF_COMPILE_ALL, VKF_OK, 0);
    device->plan = before.plan;
    device->vk = before.vk;
    assert_int_equal(v.with_statistics, v.compiled);
    assert_int_equal(v.last.registers, 42);
}

static VKAPI_ATTR VkResult VKAPI_CALL two_representations(VkDevice device, const VkPipelineExecutableInfoKHR *info,
                                                          uint32_t *count,
                                                          VkPipelineExecutableInternalRepresentationKHR *out)
{
    static const char *const texts[] = {"nir", "v_mov_b32 v0, 1"};
    (void)device;
    assert_int_equal(info->executableIndex, 0);
    *count = 2;
    for (uint32_t i = 0; out && i < 2; i++) {
        (void)snprintf(out[i].name, sizeof out[i].name, "form %u", i);
        out[i].isText = VK_TRUE;
        // Not terminated: the library does that.
        if (out[i].pData)
            memcpy(out[i].pData, texts[i], strlen(texts[i]));
        out[i].dataSize = strlen(texts[i]);
    }
    return VK_SUCCESS;
}

static void test_report_kernels_reads_representations_where_asked_for(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__device *device = &gpu->context->device;
    const vkf__device before = *device;
    device->plan.enabled.pipeline_executable_info = true;
    device->vk.vkGetPipelineExecutablePropertiesKHR = one_executable;
    device->vk.vkGetPipelineExecutableStatisticsKHR = one_statistic;
    device->vk.vkGetPipelineExecutableInternalRepresentationsKHR = two_representations;
    const visits without = report(gpu, "copy.f32_f32/", VKF_COMPILE_ALL, VKF_OK, 0);
    gpu->context->pipelines.capture_representations = true;
    const visits with = report(gpu, "copy.f32_f32/", VKF_COMPILE_ALL, VKF_OK, 0);
    gpu->context->pipelines.capture_representations = false;
    device->plan = before.plan;
    device->vk = before.vk;
    assert_int_equal(without.representations, 0);
    assert_int_equal(with.representations, 2);
    assert_string_equal(with.last_text, "v_mov_b32 v0, 1");
}

// The library's own copy kernel, as if it were a caller's.
typedef struct own_shader {
    vkf_shader_binding bindings[4];
    vkf_shader_constant spec[2];
    uint32_t *words;
    vkf_shader_desc desc;
} own_shader;

static void own_shader_make(own_shader *own)
{
    enum { UNIFORM_BUFFER = 6, STORAGE_BUFFER = 7 };
    const vkf__shader *shader = vkf__shader_find("copy.f32_f32");
    *own = (own_shader){
        .bindings = {{0, 0, UNIFORM_BUFFER, 1}, {0, 1, STORAGE_BUFFER, 1}, {0, 2, STORAGE_BUFFER, 1}},
        .spec = {{0, 4, 64}},
        .words = embedded_words(shader),
    };
    assert_non_null(own->words);
    own->desc = (vkf_shader_desc){
        .name = "mine",
        .words = own->words,
        .word_count = shader->word_count,
        .bindings = own->bindings,
        .binding_count = 3,
        .push_bytes = 128,
        .spec = own->spec,
        .spec_count = 1,
    };
}

static void test_report_shader_compiles(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    own_shader own;
    visits v = {0};
    own_shader_make(&own);
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_OK);
    assert_int_equal(v.count, 1);
    assert_int_equal(v.compiled, 1);
    assert_int_equal(v.last_spirv_bytes, 4 * own.desc.word_count);
    v.stop_at = 2;
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_ERROR_CANCELLED);
    free(own.words);
}

static void test_report_shader_refuses_what_the_device_lacks(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    own_shader own;
    visits v = {0};
    own_shader_make(&own);
    assert_true(vkf_context_takes_capability(gpu->context, 1));     // Shader
    assert_false(vkf_context_takes_capability(gpu->context, 6));    // Kernel
    assert_false(vkf_context_takes_capability(gpu->context, 9999)); // none
    assert_false(vkf_context_takes_capability(NULL, 1));
    own.bindings[1].set = 32;
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_ERROR_UNSUPPORTED);
    own.bindings[1].set = 0;
    own.desc.push_bytes = 1 << 20;
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_ERROR_UNSUPPORTED);
    own.desc.push_bytes = 128;
    own.words[6] = 6; // the first capability becomes Kernel
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_ERROR_UNSUPPORTED);
    own.desc.word_count = 4;
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_ERROR_INVALID_ARGUMENT);
    own.desc.words = NULL;
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(v.count, 0);
    free(own.words);
}

// Masks hold for subgroups too, although they are no feature that is switched on.
static void test_report_shader_capabilities_follow_the_plan(void **state)
{
    enum { FLOAT16 = 9, GROUP_NON_UNIFORM_ARITHMETIC = 63 };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__device_plan *plan = &gpu->context->device.plan;
    const vkf__device_plan before = *plan;
    assert_int_equal(vkf_context_takes_capability(gpu->context, FLOAT16), plan->enabled.shader_float16);
    assert_int_equal(vkf_context_takes_capability(gpu->context, GROUP_NON_UNIFORM_ARITHMETIC),
                     plan->caps.subgroup_arithmetic);
    plan->enabled.shader_float16 = plan->caps.subgroup_arithmetic = false;
    assert_false(vkf_context_takes_capability(gpu->context, FLOAT16));
    assert_false(vkf_context_takes_capability(gpu->context, GROUP_NON_UNIFORM_ARITHMETIC));
    *plan = before;
}

static void test_report_shader_that_does_not_compile_is_reported(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__device *device = &gpu->context->device;
    const vkf__device before = *device;
    own_shader own;
    visits v = {0};
    own_shader_make(&own);
    pipeline_result = VK_ERROR_UNKNOWN;
    device->vk.vkCreateComputePipelines = no_pipelines;
    assert_int_equal(vkf_context_report_shader(gpu->context, &own.desc, visit, &v), VKF_OK);
    device->vk = before.vk;
    assert_int_equal(v.count, 1);
    assert_int_equal(v.compiled, 0);
    assert_int_equal(v.last_status, VKF_ERROR_VULKAN);
    free(own.words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report_kernels_tells_the_size_of_modules),
        cmocka_unit_test(test_report_kernels_reads_representations_where_asked_for),
        cmocka_unit_test(test_report_shader_compiles),
        cmocka_unit_test(test_report_shader_refuses_what_the_device_lacks),
        cmocka_unit_test(test_report_shader_capabilities_follow_the_plan),
        cmocka_unit_test(test_report_shader_that_does_not_compile_is_reported),
        cmocka_unit_test(test_report_kernels_visits_the_registry),
        cmocka_unit_test(test_report_kernels_compiles),
        cmocka_unit_test(test_report_kernels_compiles_the_defaults),
        cmocka_unit_test(test_report_kernels_can_be_cancelled),
        cmocka_unit_test(test_report_kernels_names_those_that_do_not_compile),
        cmocka_unit_test(test_report_kernels_reads_statistics),
    };
    return cmocka_run_group_tests_name("kernel_report", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
