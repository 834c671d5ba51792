#include "heard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void listen(void *user, vkf_severity severity, const char *text)
{
    vkf_test_heard *h = user;
    if (severity == VKF_SEVERITY_DEBUG && strstr(text, "self-test: ") && strstr(text, " shapes, "))
        atomic_fetch_add(&h->tests, 1);
    if (severity == VKF_SEVERITY_WARNING && strstr(text, "self-test: ")) {
        atomic_fetch_add(&h->warnings, 1);
        (void)snprintf(h->warning, sizeof h->warning, "%s", text);
        if (strstr(text, " is wrong")) {
            atomic_fetch_add(&h->wrongs, 1);
            (void)snprintf(h->wrong, sizeof h->wrong, "%s", text);
        }
    }
    if (severity == VKF_SEVERITY_WARNING && strstr(text, VKF_TEST_LARGE_TILE " is too slow"))
        (void)snprintf(h->slow, sizeof h->slow, "%s", text);
    if (severity == VKF_SEVERITY_DEBUG && strstr(text, "takes none of the edge shapes"))
        (void)snprintf(h->untouched, sizeof h->untouched, "%s", text);
    if (severity >= VKF_SEVERITY_WARNING)
        (void)snprintf(h->last, sizeof h->last, "%s", text);
}

vkf_context *vkf_test_open_heard(vkf_test_gpu *gpu, vkf_test_heard *out, vkf_context_desc desc)
{
    vkf_context *context = NULL;
    memset(out, 0, sizeof *out);
    desc.profile = gpu->profile;
    desc.message = listen;
    desc.message_user = out;
    if (vkf_context_create(&desc, &context) != VKF_OK)
        fail_msg("no context: %s", out->last);
    return context;
}

vkf_status vkf_test_multiply_ones(vkf_context *context, uint32_t n, float *out_value)
{
    const uint32_t shape[] = {n, n};
    const size_t bytes = (size_t)n * n * sizeof(float);
    float *values = malloc(bytes);
    vkf_tensor a = {0}, out = {0};
    assert_non_null(values);
    for (size_t i = 0; i < (size_t)n * n; i++)
        values[i] = 1;
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "a", &a), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "out", &out), VKF_OK);
    assert_int_equal(vkf_tensor_write(&a, values, bytes), VKF_OK);
    const vkf_gemm_desc desc = {.a = a, .b = a, .out = out, .alpha = 1};
    vkf_status status = vkf_gemm(context, &desc);
    if (status == VKF_OK)
        assert_int_equal(vkf_tensor_read(&out, values, bytes), VKF_OK);
    *out_value = values[bytes / sizeof(float) - 1];
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&out);
    free(values);
    return status;
}

void vkf_test_skip_unless_lavapipe(const vkf_test_gpu *gpu)
{
    if (gpu->context->device.plan.caps.driver_id != VK_DRIVER_ID_MESA_LLVMPIPE)
        skip();
}

vkf__variant vkf_test_variant_named(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            char full[128];
            (void)snprintf(full, sizeof full, "%s/%s", kernel->name, kernel->configs[c].name);
            if (strcmp(full, name) == 0)
                return (vkf__variant){kernel, &kernel->configs[c]};
        }
    }
    fail_msg("no variant %s", name);
    return (vkf__variant){0};
}

vkf__verdict vkf_test_verdict_of(const vkf_context *context, const char *name)
{
    const vkf__variant variant = vkf_test_variant_named(name);
    return vkf__verdict_get(&context->learned.verdicts, variant.kernel, variant.config);
}
