// The kernels behind the roofs do what they say, and what is measured with them is plausible.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

// Several workgroups and a part of one.
enum { VECTORS = 3 * 256 * 16 + 1000, VALUES = 4 * VECTORS };

static vkf_tensor zeros(vkf_test_gpu *gpu, uint32_t count)
{
    return vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, &count, NULL);
}

static void write_value(const vkf_tensor *tensor, uint64_t index, float value)
{
    assert_int_equal(
        vkf_buffer_write(tensor->buffer, tensor->offset_bytes + index * sizeof value, &value, sizeof value), VKF_OK);
}

static void test_measure_copy_copies(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    float *values = malloc(VALUES * sizeof *values);
    assert_non_null(values);
    for (uint32_t i = 0; i < VALUES; i++)
        values[i] = (float)i;
    vkf_tensor x = vkf_test_tensor(gpu, VKF_DTYPE_F32, 1, &(uint32_t){VALUES}, values);
    vkf_tensor out = zeros(gpu, VALUES + 4);
    out.shape[0] = VALUES;
    assert_int_equal(vkf_measure_copy(gpu->context, &x, &out), VKF_OK);
    out.shape[0] = VALUES + 4;
    float *copied = vkf_test_read(&out);
    assert_memory_equal(copied, values, VALUES * sizeof *values);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(copied[VALUES + i] == 0.0f); // nothing beyond the end
    free(copied);
    free(values);
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
}

// A value anywhere is noticed: so every element was read.
static void test_measure_read_sees_every_element(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static const uint32_t places[] = {0, 5, 4 * 256 * 16 - 1, 4 * 256 * 16, VALUES - 1};
    vkf_tensor x = zeros(gpu, VALUES);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        vkf_tensor out = zeros(gpu, 4);
        assert_int_equal(vkf_measure_read(gpu->context, &x, &out), VKF_OK);
        float *before = vkf_test_read(&out);
        write_value(&x, places[i], 0.5f);
        assert_int_equal(vkf_measure_read(gpu->context, &x, &out), VKF_OK);
        float *after = vkf_test_read(&out);
        write_value(&x, places[i], 0.0f);
        if (before[0] != 0.0f || after[0] != 1.0f)
            fail_msg("element %u: %g without it, %g with it", places[i], (double)before[0], (double)after[0]);
        free(before);
        free(after);
        vkf_tensor_destroy(&out);
    }
    vkf_tensor_destroy(&x);
}

static void test_measure_fma_does_every_step(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    enum { COUNT = 1000 };
    for (uint32_t chains = VKF_MEASURE_FMA_MIN_CHAINS; chains <= VKF_MEASURE_FMA_MAX_CHAINS; chains++) {
        const vkf_measure_fma_desc desc = {.out = zeros(gpu, COUNT), .rounds = 5 * chains, .chains = chains};
        assert_int_equal(vkf_measure_fma(gpu->context, &desc), VKF_OK);
        assert_true(vkf_measure_fma_flops(&desc) == 2.0 * COUNT * (8 * 5 * chains) * (4 * chains));
        float *sums = vkf_test_read(&desc.out);
        for (uint32_t i = 0; i < COUNT; i++) {
            double expected = chains * (4.0 * (i % 8 + 8 * desc.rounds) + 1.5) + 2.0 * chains * (chains - 1);
            if ((double)sums[i] != expected)
                fail_msg("%u chains: element %u is %g, not %g", chains, i, (double)sums[i], expected);
        }
        free(sums);
        vkf_tensor out = desc.out;
        vkf_tensor_destroy(&out);
    }
}

static void test_measure_longest_fma_is_complete(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_measure_fma_desc desc = {.out = zeros(gpu, 8), .rounds = VKF_MEASURE_FMA_MAX_ROUNDS, .chains = 4};
    assert_int_equal(vkf_measure_fma(gpu->context, &desc), VKF_OK);
    float *sums = vkf_test_read(&desc.out);
    assert_true((double)sums[3] == 4 * (4.0 * (3 + 8 * VKF_MEASURE_FMA_MAX_ROUNDS) + 1.5) + 24.0);
    free(sums);
    vkf_tensor out = desc.out;
    vkf_tensor_destroy(&out);
}

static void test_measure_refuses_what_it_cannot_take(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_context *context = gpu->context;
    vkf_tensor x = zeros(gpu, 64), out = zeros(gpu, 64);
    vkf_tensor odd = x, shifted = x, half = x, shorter = out;
    odd.shape[0] = 63;
    shifted.shape[0] = 32;
    shifted.offset_bytes = 4;
    half.dtype = VKF_DTYPE_F16;
    shorter.shape[0] = 60;
    assert_int_equal(vkf_measure_copy(context, &odd, &out), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_measure_copy(context, &shifted, &out), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_measure_copy(context, &half, &out), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_measure_copy(context, &x, &shorter), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_measure_copy(context, &x, &x), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_measure_copy(NULL, &x, &out), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_measure_read(context, &odd, &out), VKF_ERROR_INVALID_ARGUMENT);
    const vkf_measure_fma_desc descs[] = {
        {.out = out, .rounds = 0, .chains = 2},  {.out = out, .rounds = VKF_MEASURE_FMA_MAX_ROUNDS + 1, .chains = 2},
        {.out = out, .rounds = 1, .chains = 1},  {.out = out, .rounds = 1, .chains = 5},
        {.out = half, .rounds = 1, .chains = 2}, {.rounds = 1, .chains = 2},
    };
    for (size_t i = 0; i < sizeof descs / sizeof descs[0]; i++)
        assert_int_equal(vkf_measure_fma(context, &descs[i]), VKF_ERROR_INVALID_ARGUMENT);
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
}

static bool cancel_at_once(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user;
    (void)total;
    return done == 0 && strcmp(what, "copy") == 0 ? false : true;
}

static void test_measure_roofs_can_be_cancelled(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_roofs roofs = {.copy_bytes_per_s = -1};
    assert_int_equal(vkf_measure_roofs(gpu->context, cancel_at_once, NULL, &roofs), VKF_ERROR_CANCELLED);
    assert_true(roofs.copy_bytes_per_s == -1);
    assert_int_equal(vkf_measure_roofs(gpu->context, NULL, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

// Between a slow interpreter and anything built so far; reading is no slower than copying, within the noise.
static void test_measure_roofs_are_plausible(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_roofs roofs;
    assert_int_equal(vkf_measure_roofs(gpu->context, NULL, NULL, &roofs), VKF_OK);
    const double rates[] = {roofs.copy_bytes_per_s, roofs.read_bytes_per_s, roofs.fma_flops_per_s};
    for (size_t i = 0; i < 3; i++) {
        if (!(isfinite(rates[i]) && rates[i] > 1e6 && rates[i] < 1e15))
            fail_msg("rate %zu is %g", i, rates[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measure_copy_copies),
        cmocka_unit_test(test_measure_read_sees_every_element),
        cmocka_unit_test(test_measure_fma_does_every_step),
        cmocka_unit_test(test_measure_longest_fma_is_complete),
        cmocka_unit_test(test_measure_refuses_what_it_cannot_take),
        cmocka_unit_test(test_measure_roofs_can_be_cancelled),
        cmocka_unit_test(test_measure_roofs_are_plausible),
    };
    return cmocka_run_group_tests_name("measure", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
