// The on-device self-test passes what is right.
#include <string.h>

#include "fixture.h"
#include "heard.h"
#include "kernel/context.h"
#include "prove/self_test.h"
#include "prove/self_test_fixture.h"
#include "support/tried_config.h"

// A product's smaller tile is the better one: some drivers compile the largest on matrices for thirteen seconds. Of
// other kernels the first config is what most problems get.
static bool is_better(const vkf__kernel *kernel, const vkf__config *config, const vkf__config *than)
{
    return !than || (kernel->op == VKF_OP_GEMM && config->tile.side.rows * config->tile.side.columns <
                                                      than->tile.side.rows * than->tile.side.columns);
}

// A config of a kernel that the device takes, of those for any number of rows if so wanted; NULL when there is none.
static const vkf__config *pick_config(const vkf__caps *caps, const vkf__kernel *kernel, bool any_rows)
{
    const vkf__config *picked = NULL;
    for (uint32_t c = 0; c < kernel->config_count; c++) {
        const vkf__config *config = &kernel->configs[c];
        if ((!any_rows || config->max_m == 0) && is_better(kernel, config, picked) &&
            vkf__kernel_supported(caps, kernel, config, NULL))
            picked = config;
    }
    return picked;
}

static void assert_passes(vkf_context *context, vkf_test_heard *h, const vkf__variant *variant)
{
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    h->untouched[0] = '\0';
    assert_int_equal(vkf__self_test(context, variant, &verdict), VKF_OK);
    if (verdict != VKF_VERDICT_PASSED || h->warnings > 0)
        fail_msg("%s/%s: verdict %d: %s", variant->kernel->name, variant->config->name, (int)verdict, h->last);
    // Attention's configs that share rows leave parts in f32, and so serve no other type of output.
    if (h->untouched[0] && variant->kernel->op != VKF_OP_ATTENTION)
        fail_msg("%s", h->untouched);
}

// A build with sanitizers, which find nothing in kernels, takes every tenth; VKF_TEST_ALL=1: all.
static uint32_t kernel_stride(void)
{
#ifdef __SANITIZE_ADDRESS__
    return vkf_test_all() ? 1 : 10;
#else
    return 1;
#endif
}

// A second opinion is about kernels of f32: other types change how elements are read and written alone, which the
// first driver has seen. VKF_TEST_ALL=1: all.
static bool is_second_opinion(const vkf__caps *caps)
{
    return caps->driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER && !vkf_test_all();
}

// Both kinds of blocks have the same modules, with another way to unpack a word. VKF_TEST_ALL=1: both.
static bool is_second_kind_of_blocks(const vkf__kernel *kernel)
{
    return kernel->type_count > 2 && kernel->types[1] == VKF_DTYPE_Q8 && !vkf_test_all();
}

// Products and attention in halves are their kernels of f32 with another way to read and write, and have tests of their
// own (op_cases, op_gemm_half, golden.precision). VKF_TEST_ALL=1: both.
static bool is_in_halves(const vkf__kernel *kernel)
{
    return kernel->type_count > 2 && kernel->types[0] == VKF_DTYPE_F16 && !vkf_test_all();
}

static bool is_for_this_driver(const vkf__caps *caps, const vkf__kernel *kernel)
{
    return (!is_second_opinion(caps) || kernel->types[0] == VKF_DTYPE_F32) && !vkf_test_is_between_others(kernel) &&
           !is_second_kind_of_blocks(kernel) && !is_in_halves(kernel);
}

// Every kernel that this device may use matches the reference, and is given something to match. There are too many
// configs to compile them all.
static void test_self_test_passes_every_kernel(void **state)
{
    vkf_test_heard h;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf__caps *caps = &context->device.plan.caps;
    const uint32_t stride = kernel_stride();
    int kernels = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i += stride) {
        const char *why = NULL;
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const vkf__variant first = {kernel, pick_config(caps, kernel, false)};
        if (!first.config || !vkf__self_test_covers(kernel->op, &why) || !is_for_this_driver(caps, kernel))
            continue;
        kernels++;
        assert_passes(context, &h, &first);
        // Attention's configs for few rows work otherwise than those for any number.
        const vkf__variant next = {kernel, pick_config(caps, kernel, kernel->op == VKF_OP_ATTENTION)};
        if (next.config && next.config != first.config)
            assert_passes(context, &h, &next);
    }
    assert_true(kernels > (stride == 1 ? 10 : 8));
    assert_true(h.tests >= kernels);
    vkf_context_destroy(&context);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static void test_self_test_proof_and_its_end(void **state)
{
    vkf_test_heard h;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf__variant variant = vkf_test_variant_named("softmax.f32_f32/row16");
    vkf__verdict verdict = VKF_VERDICT_WRONG;
    assert_int_equal(vkf__self_test_prove(context, &variant, never, NULL, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_UNKNOWN);
    assert_int_equal(vkf__self_test_prove(context, &variant, NULL, NULL, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_PROVEN);
    // What is proven needs no test.
    assert_int_equal(h.tests, 1);
    assert_int_equal(vkf__self_test(context, &variant, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_PROVEN);
    assert_int_equal(h.tests, 1);
    vkf_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_test_passes_every_kernel),
        cmocka_unit_test(test_self_test_proof_and_its_end),
    };
    return cmocka_run_group_tests_name("self-test", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
