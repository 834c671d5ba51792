// Every kernel of attention that this device may use, asked for in turn, against the reference; and attention in three
// steps, which is what remains where the weights are asked for.
//
// The kernels come from the registry: one that is added there is tested here. Widths and masks are constants of a
// kernel, and compiling takes most of the time: a few shapes share a few sets of them. VKF_TEST_ALL=1 takes more, and
// every config of every kernel.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/registry.h"
#include "layer/layer.h"
#include "support/layer_fixture.h"
#include "support/sdpa_case.h"

// batch, heads, key heads, queries, keys, widths of key and value; 0: default
#define SIZES(b, h, kv, l, s, d, dv) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .k_len = s, .dim = d, .v_dim = dv

// Rows that begin at multiples of 16 elements: every kernel takes them. Short queries and long ones, which are given
// other configs; the second with all that masks can be.
static const vkf_test_sdpa_case ALIGNED[] = {
    {SIZES(2, 2, 0, 7, 33, 16, 16)},
    {SIZES(2, 4, 2, 67, 65, 16, 16), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = VKF_TEST_MASK_ROWS,
     .key_mask_kind = VKF_MASK_LENGTHS, .causal = VKF_CAUSAL_BOTTOM_RIGHT, .mask_all = true,
     .fully_masked = VKF_FULLY_MASKED_UNIFORM},
};

// What some kernels do not take: others serve.
static const vkf_test_sdpa_case UNALIGNED[] = {
    {SIZES(2, 3, 0, 5, 19, 7, 5)},
    {SIZES(1, 3, 1, 33, 40, 7, 5)},
};

// Few queries and many keys: parts, put together by another kernel, or by the one that takes nothing else.
static const vkf_test_sdpa_case SPLIT[] = {
    {SIZES(2, 4, 2, 3, 530, 16, 16), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true},
};

static const vkf_test_sdpa_case MORE[] = {
    {SIZES(1, 4, 2, 65, 70, 32, 16)},
    {SIZES(3, 2, 0, 67, 65, 32, 16), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = VKF_TEST_MASK_BATCH,
     .key_mask_kind = VKF_MASK_LENGTHS, .causal = VKF_CAUSAL_TOP_LEFT, .fully_masked = VKF_FULLY_MASKED_UNIFORM},
    {SIZES(1, 2, 0, 9, 20, 20, 12), .mask_kind = VKF_MASK_BOOL_EXCLUDE, .mask_dims = VKF_TEST_MASK_ROWS,
     .causal = VKF_CAUSAL_TOP_LEFT},
    {SIZES(1, 2, 0, 1, 700, 32, 16)},
    {SIZES(1, 2, 0, 70, 65, 64, 0), .causal = VKF_CAUSAL_BOTTOM_RIGHT},
    {SIZES(1, 2, 0, 9, 65, 128, 64)},
    {SIZES(1, 1, 0, 9, 65, 256, 0)},
    {SIZES(1, 1, 0, 9, 65, 80, 0), .key_mask_kind = VKF_MASK_ADDITIVE, .mask_all = true},
    {SIZES(2, 2, 0, 9, 65, 32, 48), .mask_kind = VKF_MASK_BOOL_ATTEND, .window = 7, .causal = VKF_CAUSAL_BOTTOM_RIGHT,
     .fully_masked = VKF_FULLY_MASKED_NAN},
    {SIZES(2, 2, 0, 33, 9, 1, 1), .key_mask_kind = VKF_MASK_BOOL_ATTEND},
    {SIZES(1, 1, 0, 2, 1000, 256, 256)},
};

// A family of kernels: the part of a row's name before its types.
typedef struct family {
    char name[64]; // with the dot at its end, so that it begins no other's
    vkf_dtype dtype;
    bool usable;
} family;

static bool is_of(const vkf__kernel *kernel, vkf_dtype dtype)
{
    for (uint32_t i = 0; i < kernel->type_count; i++) {
        if (kernel->types[i] != dtype)
            return false;
    }
    return true;
}

static void note_usable(void *user, const char *kernel, bool usable, const char *why)
{
    family *f = user;
    (void)why;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *row = vkf__kernel_at(i);
        if (strncmp(kernel, f->name, strlen(f->name)) == 0 && strcmp(row->name, kernel) == 0 && is_of(row, f->dtype))
            f->usable = f->usable || usable;
    }
}

static family family_of(vkf_test_ops *ops, const vkf__kernel *kernel, vkf_dtype dtype)
{
    family f = {.dtype = dtype};
    (void)snprintf(f.name, sizeof f.name, "%.*s.", (int)strcspn(kernel->name, "."), kernel->name);
    vkf_context_visit_kernels(ops->gpu.context, note_usable, &f);
    return f;
}

static void check(vkf_test_ops *ops, const family *f, const vkf_test_sdpa_case *sdpa, bool aligned)
{
    vkf_test_sdpa_case c = *sdpa;
    const bool half = f->dtype == VKF_DTYPE_F16;
    c.dtype = f->dtype;
    ops->aligned = aligned;
    vkf_test_sdpa_run(ops, &c, half ? 1e-4 : 3e-5, half ? 0x1p-10 : 2e-5);
}

static void check_list(vkf_test_ops *ops, const family *f, const vkf_test_sdpa_case *cases, size_t count, bool aligned,
                       bool taken)
{
    for (size_t i = 0; i < count; i++) {
        check(ops, f, &cases[i], aligned);
        const char *kernel = vkf_context_get_last_op_kernel(ops->gpu.context);
        if (taken && strncmp(kernel, f->name, strlen(f->name)) != 0)
            fail_msg("%s was asked for, %s taken", f->name, kernel);
    }
}

static bool is_first_of_family(uint32_t index)
{
    size_t length = strcspn(vkf__kernel_at(index)->name, ".") + 1;
    for (uint32_t i = 0; i < index; i++) {
        if (strncmp(vkf__kernel_at(i)->name, vkf__kernel_at(index)->name, length) == 0)
            return false;
    }
    return vkf__kernel_at(index)->op == VKF_OP_ATTENTION;
}

static void check_family(const vkf__kernel *kernel, vkf_dtype dtype, uint32_t *inout_unusable)
{
    vkf_test_ops ops;
    const bool joins = kernel->offers & VKF_FORM_JOINED;
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s.", (int)strcspn(kernel->name, "."), kernel->name);
    if (vkf_test_ops_open_variant(&ops, name)) {
        const family f = family_of(&ops, kernel, dtype);
        if (f.usable) {
            check_list(&ops, &f, ALIGNED, COUNT_OF(ALIGNED), true, !joins);
            if (dtype == VKF_DTYPE_F32 || vkf_test_all())
                check_list(&ops, &f, UNALIGNED, COUNT_OF(UNALIGNED), false, false);
            check_list(&ops, &f, SPLIT, COUNT_OF(SPLIT), joins, joins);
            if (vkf_test_all())
                check_list(&ops, &f, MORE, COUNT_OF(MORE), false, false);
        } else {
            printf("not usable here: %s with %s\n", f.name, vkf_dtype_name(dtype));
            (*inout_unusable)++;
        }
    }
    vkf_test_ops_close(&ops);
}

// At least one family serves every device.
static void check_families(vkf_dtype dtype)
{
    uint32_t families = 0, unusable = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        if (!is_first_of_family(i))
            continue;
        families++;
        check_family(vkf__kernel_at(i), dtype, &unusable);
    }
    printf("%u of %u families of attention kernels run here with %s\n", families - unusable, families,
           vkf_dtype_name(dtype));
    assert_true(families > unusable);
}

static void test_attention_by_every_family(void **state)
{
    (void)vkf_test_ops_of(state);
    check_families(VKF_DTYPE_F32);
}

static void test_attention_by_every_family_in_half(void **state)
{
    (void)vkf_test_ops_of(state);
    check_families(VKF_DTYPE_F16);
}

// Every config, also those that no problem gets by default. One that does not take a problem gives way to another.
static void test_attention_by_every_config(void **state)
{
    (void)vkf_test_ops_of(state);
    for (uint32_t i = 0; i < vkf__kernel_count() && vkf_test_all(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count && kernel->op == VKF_OP_ATTENTION; c++) {
            char name[128];
            vkf_test_ops ops;
            (void)snprintf(name, sizeof name, "%s/%s", kernel->name, kernel->configs[c].name);
            if (vkf_test_ops_open_variant(&ops, name)) {
                const family f = family_of(&ops, kernel, kernel->types[0]);
                check_list(&ops, &f, ALIGNED, COUNT_OF(ALIGNED), false, false);
                check_list(&ops, &f, UNALIGNED, COUNT_OF(UNALIGNED), false, false);
                check_list(&ops, &f, SPLIT, COUNT_OF(SPLIT), false, false);
            }
            vkf_test_ops_close(&ops);
        }
    }
}

enum { BATCH = 2, LENGTH = 33, DIM = 32, HEADS = 2 };

typedef struct layer_result {
    float *out; // (BATCH, LENGTH, DIM)
    bool fused; // an attention kernel ran
    bool three; // scores, softmax and context ran
} layer_result;

static bool has_node(const vkf_layer *layer, const char *label)
{
    for (uint32_t i = 0; i < layer->frames[0].work.plan.node_count; i++) {
        if (strcmp(layer->frames[0].work.built.nodes[i].label, label) == 0)
            return true;
    }
    return false;
}

static layer_result run_layer(vkf_test_ops *ops, const vkf_test_attention_params *params, const float *query,
                              bool weights)
{
    const vkf_layer_sizes sizes = {BATCH, LENGTH, 0};
    const vkf_attention_desc desc = {
        .embed_dim = DIM,
        .num_heads = HEADS,
        .self_attention = true,
        .weights = weights,
        .mask = {.causal = VKF_CAUSAL_TOP_LEFT},
        .params = vkf_test_attention_tensors(params),
        .max_sizes = sizes,
    };
    vkf_layer *layer = NULL;
    vkf_test_assert_ok(ops, vkf_attention_create(ops->gpu.context, &desc, &layer), "vkf_attention_create");
    vkf_test_port_write(ops, layer, VKF_PORT_QUERY, VKF_DTYPE_F32, query, BATCH * LENGTH * DIM);
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &sizes), "vkf_layer_run");
    const layer_result result = {
        .out = vkf_test_port_read(ops, layer, VKF_PORT_OUTPUT, VKF_DTYPE_F32, BATCH * LENGTH * DIM),
        .fused = has_node(layer, "attention"),
        .three = has_node(layer, "scores") && has_node(layer, "softmax") && has_node(layer, "context"),
    };
    vkf_layer_destroy(&layer);
    return result;
}

// Whoever asks for the weights gets them from the three steps, whatever kernel was asked for; the output is the same.
static void test_attention_in_three_steps_gives_the_same(void **state)
{
    (void)vkf_test_ops_of(state);
    const vkf_test_attention_dims dims = {DIM, HEADS, DIM / HEADS, DIM / HEADS, DIM, DIM};
    vkf_test_ops ops;
    if (vkf_test_ops_open_variant(&ops, "attention_")) {
        const vkf_test_attention_params params = vkf_test_attention_make(&ops, VKF_DTYPE_F32, &dims, true, false);
        float *query = vkf_test_normal_floats(&ops, VKF_DTYPE_F32, BATCH * LENGTH * DIM);
        const layer_result fused = run_layer(&ops, &params, query, false);
        const layer_result three = run_layer(&ops, &params, query, true);
        assert_true(fused.fused && !fused.three);
        assert_true(three.three && !three.fused);
        assert_close(fused.out, three.out, BATCH * LENGTH * DIM, 3e-5, 3e-5,
                     vkf_test_label(&ops.gpu, "fused and in three steps"));
        free(fused.out);
        free(three.out);
        free(query);
    }
    vkf_test_ops_close(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_attention_by_every_family),
        VKF_OPS_TEST(test_attention_by_every_family_in_half),
        VKF_OPS_TEST(test_attention_by_every_config),
        VKF_OPS_TEST(test_attention_in_three_steps_gives_the_same),
    };
    return cmocka_run_group_tests_name("variants_attention", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
