// The number of cores, where the driver does not tell: it is measured once, kept, and decides about tiles.
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "prove/cores.h"
#include "support/blob_store.h"
#include "support/fixture.h"

static void open_gpu(void **state, vkf_blob_store *store, vkf_test_gpu *gpu)
{
    vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(store)};
    *gpu = (vkf_test_gpu){.profile = vkf_test_gpu_of(state)->profile};
    assert_int_equal(vkf_test_gpu_open(gpu, &desc), 0);
}

static void test_cores_are_measured(void **state)
{
    uint32_t cores = 0;
    assert_int_equal(vkf__measure_cores(vkf_test_gpu_of(state)->context, &cores), VKF_OK);
    assert_in_range(cores, 1, VKF_MAX_MEASURED_CORES);
}

// Not of processors, nor where the driver tells.
static void test_cores_are_learned_where_nobody_tells(void **state)
{
    vkf_blob_store store = {0};
    vkf_test_gpu gpu;
    open_gpu(state, &store, &gpu);
    vkf__traits *traits = &gpu.context->device.plan.caps.traits;
    traits->processor = true;
    assert_int_equal(vkf__learn_cores(gpu.context), VKF_OK);
    traits->processor = false;
    traits->cores_are_known = true;
    assert_int_equal(vkf__learn_cores(gpu.context), VKF_OK);
    assert_int_equal(gpu.context->learned.cores, 0);
    assert_null(vkf_blob_find(&store, "cores-"));
    traits->cores_are_known = false;
    assert_int_equal(vkf__learn_cores(gpu.context), VKF_OK);
    assert_in_range(gpu.context->learned.cores, 1, VKF_MAX_MEASURED_CORES);
    const vkf__selector selector = vkf__context_selector(gpu.context);
    assert_int_equal(vkf__selector_cores(&selector), gpu.context->learned.cores);
    vkf_test_assert_silent(&gpu);
    vkf_context_destroy(&gpu.context);
    vkf_blob_store_clear(&store);
}

// What was kept is not measured again; what is malformed, or of another device, is not believed.
static void test_cores_are_kept(void **state)
{
    static const struct {
        const char *from, *to;
    } damages[] = {{"cores 37", "cores 37 or so"}, {"cores 37", "kernels 37"}, {"cores 37", ""},
                   {"cores 37", "cores 0"},        {"vkformer-cores 1", "no"}, {"device ", "device 1"}};
    vkf_blob_store store = {0};
    vkf_test_gpu gpu;
    open_gpu(state, &store, &gpu);
    assert_int_equal(vkf__learned_cores(&gpu.context->learned, 37), VKF_OK);
    vkf_context_destroy(&gpu.context);
    open_gpu(state, &store, &gpu);
    assert_int_equal(gpu.context->learned.cores, 37);
    gpu.context->device.plan.caps.traits.processor = gpu.context->device.plan.caps.traits.cores_are_known = false;
    assert_int_equal(vkf__learn_cores(gpu.context), VKF_OK);
    assert_int_equal(gpu.context->learned.cores, 37);
    vkf_context_destroy(&gpu.context);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        vkf_blob_edit(&store, "cores-", damages[i].from, damages[i].to);
        open_gpu(state, &store, &gpu);
        assert_int_equal(gpu.context->learned.cores, 0);
        assert_int_equal(vkf__learned_cores(&gpu.context->learned, 37), VKF_OK);
        vkf_context_destroy(&gpu.context);
    }
    vkf_blob_store_clear(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cores_are_measured),
        cmocka_unit_test(test_cores_are_learned_where_nobody_tells),
        cmocka_unit_test(test_cores_are_kept),
    };
    return cmocka_run_group_tests_name("cores", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
