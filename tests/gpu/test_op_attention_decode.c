// Attention of few queries over keys in parts, by whoever joins these; and a layer that runs with fewer keys than it
// was made for.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/registry.h"
#include "kernel/work_bind.h"
#include "layer/layer.h"
#include "shared/attention.h"
#include "support/layer_fixture.h"
#include "support/sdpa_case.h"

#define DECODE "attention_decode."

// batch, heads, key heads, queries, keys, widths of key and value; 0: default
#define SIZES(b, h, kv, l, s, d, dv) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .k_len = s, .dim = d, .v_dim = dv

// Rows of so many parts that the invocations of a workgroup divide them: widths that are a power of two and one that is
// not, and rows that see no key.
static const vkf_test_sdpa_case MANY_PARTS[] = {
    {SIZES(1, 1, 1, 1, 4200, 64, 0), .fully_masked = VKF_FULLY_MASKED_NAN},
    {SIZES(1, 1, 1, 2, 2100, 16, 80), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true,
     .fully_masked = VKF_FULLY_MASKED_UNIFORM},
    {SIZES(1, 2, 2, 1, 2100, 16, 80), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true,
     .fully_masked = VKF_FULLY_MASKED_ZERO},
};

static void test_invocations_divide_parts(void **state)
{
    vkf_test_ops ops;
    if (vkf_test_ops_of(state)->gpu.context->device.plan.caps.max_storage_buffers < VKF_ATTENTION_BINDING_KEY_MASK)
        skip(); // there are no kernels whose parts could be put together
    if (vkf_test_ops_open_variant(&ops, "attention_reduce_wide")) {
        for (size_t i = 0; i < 2 * COUNT_OF(MANY_PARTS); i++) {
            vkf_test_sdpa_case c = MANY_PARTS[i / 2];
            c.dtype = i % 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
            vkf_test_sdpa_check(&ops, &c);
            assert_int_equal(strncmp(vkf_context_get_last_op_kernel(ops.gpu.context), "attention_reduce_wide", 21), 0);
            vkf_test_ops_reset(&ops);
        }
    }
    vkf_test_ops_close(&ops);
}

#define JOINED "attention_decode_joined"

// Rows of several workgroups, and rows whose parts do not all see a key.
static const vkf_test_sdpa_case JOINED_PARTS[] = {
    {SIZES(2, 4, 2, 3, 515, 64, 0), .causal = VKF_CAUSAL_BOTTOM_RIGHT},
    {SIZES(2, 3, 1, 5, 1030, 16, 80), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true,
     .fully_masked = VKF_FULLY_MASKED_UNIFORM},
    {SIZES(1, 1, 1, 1, 4200, 64, 0), .fully_masked = VKF_FULLY_MASKED_NAN},
};

static void check_joined(vkf_test_ops *ops, vkf_dtype dtype, vkf_dtype kv_dtype)
{
    const bool half = dtype == VKF_DTYPE_F16;
    for (size_t i = 0; i < COUNT_OF(JOINED_PARTS); i++) {
        vkf_test_sdpa_case c = JOINED_PARTS[i];
        c.dtype = dtype;
        c.kv_dtype = kv_dtype;
        ops->aligned = true;
        vkf_test_sdpa_run(ops, &c, half ? 1e-4 : 3e-5, half ? 0x1p-10 : 2e-5);
        const char *ran = vkf_context_get_last_op_kernel(ops->gpu.context);
        if (strncmp(ran, JOINED, strlen(JOINED)) != 0)
            fail_msg("case %zu: " JOINED " was asked for, %s taken", i, ran);
        vkf_test_ops_reset(ops);
    }
}

static void skip_unless_parts_are_joined(const vkf__caps *caps)
{
    if (caps->max_storage_buffers < VKF_ATTENTION_BINDING_COUNTERS)
        skip();
}

// Halves, where the device stores them: others leave the parts to attention_reduce.
static void test_last_workgroup_joins_parts(void **state)
{
    vkf_test_ops ops;
    const vkf__caps *caps = &vkf_test_ops_of(state)->gpu.context->device.plan.caps;
    skip_unless_parts_are_joined(caps);
    if (vkf_test_ops_open_variant(&ops, JOINED)) {
        check_joined(&ops, VKF_DTYPE_F32, VKF_DTYPE_F32);
        check_joined(&ops, VKF_DTYPE_F32, VKF_DTYPE_BF16);
        if (caps->storage_16bit)
            check_joined(&ops, VKF_DTYPE_F16, VKF_DTYPE_F16);
    }
    vkf_test_ops_close(&ops);
}

enum { DIM = 64, HEADS = 2, MOST_KEYS = 1040 };

// Workgroups of the layer's attention in its last run.
static uint64_t attention_groups(const vkf_layer *layer)
{
    for (uint32_t i = 0; i < layer->frames[0].work.plan.node_count; i++) {
        const uint32_t *grid = vkf__work_grid(&layer->frames[0].work, i);
        if (strcmp(layer->frames[0].work.built.nodes[i].label, "attention") == 0)
            return (uint64_t)grid[0] * grid[1] * grid[2];
    }
    fail_msg("the layer has no attention");
    return 0;
}

// Cross attention of one query, made for max_keys keys.
static vkf_layer *open_layer(vkf_test_ops *ops, const vkf_test_attention_params *params, const float *query,
                             const float *keys, uint32_t max_keys, uint32_t key_count)
{
    const vkf_attention_desc desc = {
        .embed_dim = DIM,
        .num_heads = HEADS,
        .params = vkf_test_attention_tensors(params),
        .max_sizes = {1, 1, max_keys},
    };
    vkf_layer *layer = NULL;
    vkf_test_assert_ok(ops, vkf_attention_create(ops->gpu.context, &desc, &layer), "vkf_attention_create");
    vkf_test_port_write(ops, layer, VKF_PORT_QUERY, VKF_DTYPE_F32, query, DIM);
    vkf_test_port_write(ops, layer, VKF_PORT_KEY, VKF_DTYPE_F32, keys, (size_t)key_count * DIM);
    vkf_test_port_write(ops, layer, VKF_PORT_VALUE, VKF_DTYPE_F32, keys, (size_t)key_count * DIM);
    return layer;
}

static float *run_layer(vkf_test_ops *ops, const vkf_test_attention_params *params, const float *query,
                        const float *keys, uint32_t max_keys, uint32_t key_count, uint64_t *out_groups)
{
    const vkf_layer_sizes sizes = {1, 1, key_count};
    vkf_layer *layer = open_layer(ops, params, query, keys, max_keys, key_count);
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &sizes), "vkf_layer_run");
    float *out = vkf_test_port_read(ops, layer, VKF_PORT_OUTPUT, VKF_DTYPE_F32, DIM);
    *out_groups = attention_groups(layer);
    vkf_layer_destroy(&layer);
    return out;
}

// As if the control buffer had held something else before.
static void spoil_counters(const vkf_layer *layer)
{
    uint8_t *control = layer->frames[0].work.built.control->allocation.mapped;
    assert_true(layer->frames[0].work.plan.counters > 0);
    memset(control + vkf__work_counter_offset(&layer->frames[0].work, 0), 0x55,
           sizeof(uint32_t) * layer->frames[0].work.plan.counters);
}

// A command buffer that is submitted again, with other values and nothing written by the host, gives what it should.
static void check_runs_again(vkf_test_ops *ops, const float *first, const float *query, const float *keys)
{
    const vkf_test_attention_dims dims = {DIM, HEADS, DIM / HEADS, DIM / HEADS, DIM, DIM};
    const vkf_test_attention_params params = vkf_test_attention_make(ops, VKF_DTYPE_F32, &dims, true, false);
    const vkf_layer_sizes sizes = {1, 1, MOST_KEYS};
    uint64_t groups = 0;
    vkf_layer *layer = open_layer(ops, &params, first, keys, MOST_KEYS, MOST_KEYS);
    spoil_counters(layer);
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &sizes), "vkf_layer_run");
    vkf_test_port_write(ops, layer, VKF_PORT_QUERY, VKF_DTYPE_F32, query, DIM);
    vkf_test_assert_ok(
        ops, vkf__submission_run(&layer->frames[0].submission, &layer->frames[0].work.built.command_buffer, 1),
        "vkf__submission_run");
    float *again = vkf_test_port_read(ops, layer, VKF_PORT_OUTPUT, VKF_DTYPE_F32, DIM);
    float *expected = run_layer(ops, &params, query, keys, MOST_KEYS, MOST_KEYS, &groups);
    assert_true(groups > 1);
    assert_close(again, expected, DIM, 0, 0, vkf_test_label(&ops->gpu, "submitted again"));
    free(again);
    free(expected);
    vkf_layer_destroy(&layer);
}

static void test_parts_are_joined_again(void **state)
{
    vkf_test_ops ops;
    skip_unless_parts_are_joined(&vkf_test_ops_of(state)->gpu.context->device.plan.caps);
    if (vkf_test_ops_open_variant(&ops, JOINED)) {
        float *values = vkf_test_normal_floats(&ops, VKF_DTYPE_F32, 2 * DIM);
        float *keys = vkf_test_normal_floats(&ops, VKF_DTYPE_F32, (size_t)MOST_KEYS * DIM);
        check_runs_again(&ops, values, values + DIM, keys);
        free(values);
        free(keys);
    }
    vkf_test_ops_close(&ops);
}

// The keys of a run are divided by their number, and not by that which the layer was made for.
static void check_fewer_keys(const char *variant)
{
    static const uint32_t counts[] = {1, 300, MOST_KEYS};
    const vkf_test_attention_dims dims = {DIM, HEADS, DIM / HEADS, DIM / HEADS, DIM, DIM};
    vkf_test_ops ops;
    if (vkf_test_ops_open_variant(&ops, variant)) {
        const vkf_test_attention_params params = vkf_test_attention_make(&ops, VKF_DTYPE_F32, &dims, true, false);
        float *query = vkf_test_normal_floats(&ops, VKF_DTYPE_F32, DIM);
        float *keys = vkf_test_normal_floats(&ops, VKF_DTYPE_F32, (size_t)MOST_KEYS * DIM);
        for (size_t i = 0; i < COUNT_OF(counts); i++) {
            uint64_t large_groups = 0, exact_groups = 0;
            float *large = run_layer(&ops, &params, query, keys, MOST_KEYS, counts[i], &large_groups);
            float *exact = run_layer(&ops, &params, query, keys, counts[i], counts[i], &exact_groups);
            if (large_groups != exact_groups)
                fail_msg("%u keys of %u: %" PRIu64 " workgroups, and %" PRIu64 " of a layer made for them", counts[i],
                         (uint32_t)MOST_KEYS, large_groups, exact_groups);
            assert_close(large, exact, DIM, 3e-5, 3e-5, vkf_test_label(&ops.gpu, "%u keys", counts[i]));
            free(large);
            free(exact);
        }
        free(query);
        free(keys);
    }
    vkf_test_ops_close(&ops);
}

static void test_fewer_keys_than_a_layer_was_made_for(void **state)
{
    (void)vkf_test_ops_of(state);
    check_fewer_keys(DECODE);
    check_fewer_keys(JOINED);
    check_fewer_keys("attention_tiled.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_invocations_divide_parts),
        VKF_OPS_TEST(test_last_workgroup_joins_parts),
        VKF_OPS_TEST(test_parts_are_joined_again),
        VKF_OPS_TEST(test_fewer_keys_than_a_layer_was_made_for),
    };
    return cmocka_run_group_tests_name("op_attention_decode", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
