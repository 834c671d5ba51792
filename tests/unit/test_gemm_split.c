// Which products of real models are cut in depth, on devices of which there is nothing but the capabilities.
#include "caps_fixture.h"

#include "kernel/context.h"
#include "kernel/variant_hash.h"
#include "op/gemm_split.h"
#include "shared/gemm.h"

#define H VKF_DTYPE_F16
#define Q4 VKF_DTYPE_Q4

typedef struct model_product {
    const char *name;
    uint32_t m, n, k;
    vkf_dtype weight;
} model_product;

static const model_product products[] = {
    {"Llama-3.2-1B q_proj, one token", 1, 2048, 2048, H},
    {"Llama-3.2-1B k_proj, one token", 1, 512, 2048, H},
    {"Llama-3.2-1B linear2, one token", 1, 2048, 8192, H},
    {"Llama-3.1-8B linear2, one token", 1, 4096, 14336, H},
    {"Llama-3.1-8B linear2, batch of 8", 8, 4096, 14336, H},
    {"Qwen2.5-0.5B linear2, one token", 1, 896, 4864, H},
    {"Qwen2.5-7B linear2, one token", 1, 3584, 18944, H},
    {"GPT-2 linear2, one token", 1, 768, 3072, H},
    {"Llama-3.2-1B linear2 in blocks, one token", 1, 2048, 8192, Q4},
    {"BERT-base linear2, 32 tokens", 32, 768, 3072, H},
    {"BERT-base linear2, 128 tokens", 128, 768, 3072, H},
    {"BERT-large linear2, 128 tokens", 128, 1024, 4096, H},
    {"Llama-3.2-1B linear2, 256 tokens", 256, 2048, 8192, H},
    {"Llama-3.1-8B k_proj, 256 tokens", 256, 1024, 4096, H},
};
enum { PRODUCTS = sizeof products / sizeof products[0] };

// The number of parts, of a device with these caps; in the trial of a variant, or where it is NULL in no trial.
static uint32_t splits_in(const vkf__caps *caps, const model_product *product, vkf_dtype activations, const char *trial)
{
    message_record record;
    vkf_context context = {.host = recording_host(&record)};
    context.device.host = &context.host;
    context.device.plan.caps = *caps;
    assert_int_equal(vkf__verdicts_init(&context.host, &context.learned.verdicts), VKF_OK);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {activations, product->weight, activations};
    const bool panels = product->weight == Q4;
    const vkf__gemm_args args = {
        .a = {.dtype = activations, .size_bytes = 2},
        .b = {.dtype = product->weight, .size_bytes = 2, .panels = panels},
        .d = {.dtype = activations, .size_bytes = 2},
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .batch = 1,
        .transpose_b = true,
        .alpha = 1,
    };
    const vkf__problem problem = {
        .m = product->m, .n = product->n, .k = product->k, .b_layout = panels ? VKF_GEMM_B_PANELS : VKF_GEMM_B_NK};
    const vkf__selector selector = vkf__context_selector(&context);
    vkf__variant whole;
    const vkf__work work = {.context = &context, .trial = trial ? &whole : NULL};
    if (trial)
        assert_true(vkf__variant_named(trial, strlen(trial), &whole.kernel, &whole.config));
    else
        assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &whole, NULL));
    uint32_t splits = vkf__gemm_splits(&work, &args, &problem, &whole);
    vkf__verdicts_free(&context.learned.verdicts);
    return splits;
}

static uint32_t splits_of(const vkf__caps *caps, const model_product *product, vkf_dtype activations)
{
    return splits_in(caps, product, activations, NULL);
}

static vkf__caps gpu_caps(uint32_t cores, bool matrices)
{
    vkf__caps caps = discrete_caps();
    caps.shader_cores = cores;
    if (matrices) {
        caps.core_subgroups = 48; // as NVIDIA tells
        add_matrices(&caps, 16);
        caps.matrix.tensor_addressing = false;
    }
    settle_traits(&caps);
    return caps;
}

// Kernels of few rows cut the depth among their own invocations, whatever the device.
static void test_few_rows_are_never_cut(void **state)
{
    static const uint32_t cores[] = {4, 11, 32, 96, 128, 132, 1000};
    (void)state;
    for (size_t c = 0; c < sizeof cores / sizeof cores[0]; c++) {
        for (size_t i = 0; i < PRODUCTS; i++) {
            const vkf__caps plain = gpu_caps(cores[c], false), matrices = gpu_caps(cores[c], true);
            if (products[i].m > 8)
                continue;
            if (splits_of(&plain, &products[i], H) != 1 || splits_of(&matrices, &products[i], H) != 1)
                fail_msg("%s is cut on %u cores", products[i].name, cores[c]);
        }
    }
}

static const struct cut {
    uint32_t cores, m, n, k, splits;
} matrix_cuts[] =
    {
        {128, 128, 768, 3072, 6},  // 24 tiles of 64 x 64 in 6 parts, rather than 96 of 32 x 32
        {24, 128, 768, 3072, 1},   // which keep these cores busy
        {47, 128, 768, 3072, 1},   //
        {128, 128, 768, 1024, 1},  // of too little depth
        {132, 256, 2048, 8192, 1}, // of 128 tiles of 64 x 64
},
  scalar_cuts[] = {
      {64, 32, 768, 3072, 5},   // 24 small tiles, and two rounds of their parts
      {23, 32, 768, 3072, 1},   // 12 large ones would keep these busy
      {240, 32, 768, 3072, 6},  // parts of 512, and no shallower
      {240, 32, 768, 1024, 1},  // no gain
      {240, 32, 768, 1023, 1},  //
      {9999, 32, 32, 65536, 8}, // at most
      {64, 256, 1024, 4096, 1}, // 64 large tiles
      {128, 8, 768, 3072, 1},   // of few rows
      {128, 9, 768, 3072, 5},   //
};

static void assert_cuts(const struct cut *rows, size_t count, bool matrices)
{
    for (size_t i = 0; i < count; i++) {
        const vkf__caps caps = gpu_caps(rows[i].cores, matrices);
        const model_product product = {"", rows[i].m, rows[i].n, rows[i].k, H};
        const uint32_t splits = splits_of(&caps, &product, H);
        if (splits != rows[i].splits)
            fail_msg("%u x %u x %u on %u cores: %u parts, expected %u", product.m, product.n, product.k, rows[i].cores,
                     splits, rows[i].splits);
    }
}

static void test_cuts_by_cores_and_depth(void **state)
{
    (void)state;
    assert_cuts(scalar_cuts, sizeof scalar_cuts / sizeof scalar_cuts[0], false);
}

// Matrices leave the parts, too.
static void test_cuts_by_matrices(void **state)
{
    (void)state;
    assert_cuts(matrix_cuts, sizeof matrix_cuts / sizeof matrix_cuts[0], true);
}

// What is measured has to run. A kernel that writes halves leaves no parts, and on a large device a race or the tuner
// has products that would be cut.
static void test_trials_run_their_own_kernel(void **state)
{
    (void)state;
    static const model_product halves = {"", 256, 1024, 1024, H}, floats = {"", 256, 1024, 1024, VKF_DTYPE_F32};
    const vkf__caps caps = gpu_caps(132, true), scalars = gpu_caps(132, false);
    assert_int_equal(splits_in(&caps, &halves, H, "gemm_coopmat.f16_f16_f16/128x128"), 1);
    assert_int_equal(splits_in(&scalars, &halves, H, "gemm_tile.f16_f16_f16/128x128"), 1);
    assert_true(splits_in(&scalars, &floats, VKF_DTYPE_F32, "gemm_tile.f32_f32_f32/128x128") > 1);
}

static void test_processors_cut_nothing(void **state)
{
    vkf__caps caps = cpu_caps();
    (void)state;
    caps.shader_cores = 1000;
    settle_traits(&caps);
    for (size_t i = 0; i < PRODUCTS; i++)
        assert_int_equal(splits_of(&caps, &products[i], VKF_DTYPE_F32), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_rows_are_never_cut), cmocka_unit_test(test_cuts_by_cores_and_depth),
        cmocka_unit_test(test_cuts_by_matrices),       cmocka_unit_test(test_trials_run_their_own_kernel),
        cmocka_unit_test(test_processors_cut_nothing),
    };
    return cmocka_run_group_tests_name("gemm_split", tests, NULL, NULL);
}
