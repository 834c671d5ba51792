// Query, key and value of a self attention layer: one product where the caller says that their parameters are views
// into one in_proj_weight, three where they are not, and the same numbers either way, for weights in rows and in
// panels.
//
// Bounds as in test_layer_attention.c.
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"
#include "support/layer_fixture.h"

enum { BATCH = 2, LENGTH = 5 };

typedef struct projection_case {
    uint32_t dim, heads;
    bool biases;
    bool side_by_side; // views into one in_proj_weight and in_proj_bias, as PyTorch keeps them
} projection_case;

static const projection_case CASES[] = {
    {9, 3, false, false},  {9, 3, false, true},  {9, 3, true, true},                        // less than a panel
    {32, 2, false, false}, {32, 2, false, true}, {32, 2, true, false}, {32, 2, true, true}, // whole panels
    {48, 2, false, false}, {48, 2, true, true},                                             // a panel and a half
};

static bool has_node(const vkf_layer *layer, const char *label)
{
    for (uint32_t i = 0; i < layer->frames[0].work.plan.node_count; i++) {
        if (strcmp(layer->frames[0].work.built.nodes[i].label, label) == 0)
            return true;
    }
    return false;
}

// Packed copies lie side by side by themselves, but panels that are filled up are no one operand.
static bool is_one_product(const projection_case *c, const vkf_layer *layer)
{
    if (layer->weights)
        return c->dim % 32 == 0 && (!c->biases || c->side_by_side);
    return c->side_by_side;
}

static void assert_products(const projection_case *c, const vkf_layer *layer)
{
    bool single = is_one_product(c, layer);
    static const char *const three[] = {"q_proj", "k_proj", "v_proj"};
    assert_int_equal(has_node(layer, "qkv_proj"), single);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(has_node(layer, three[i]), !single);
}

static float *expect(const vkf_test_attention_params *params, const vkf_test_attention_dims *dims, const float *query)
{
    float *out = vkf_test_floats((size_t)BATCH * LENGTH * dims->embed_dim);
    vkf_ref_attention_desc reference = {
        .batch = BATCH,
        .q_len = LENGTH,
        .k_len = LENGTH,
        .query = query,
        .key = query,
        .value = query,
        .out = out,
    };
    vkf_test_attention_reference(params, dims, &reference);
    vkf_test_attention_expect(&reference);
    return out;
}

static void check(vkf_test_ops *ops, const projection_case *c)
{
    const vkf_test_attention_dims dims = {c->dim, c->heads, c->dim / c->heads, c->dim / c->heads, c->dim, c->dim};
    const vkf_layer_sizes sizes = {BATCH, LENGTH, 0};
    const size_t count = (size_t)BATCH * LENGTH * c->dim;
    const vkf_test_attention_params params = vkf_test_attention_make(ops, VKF_DTYPE_F32, &dims, c->biases, false);
    vkf_attention_desc desc = {.embed_dim = c->dim, .num_heads = c->heads, .self_attention = true, .max_sizes = sizes};
    vkf_layer *layer = NULL;
    desc.params = vkf_test_attention_tensors(&params);
    if (c->side_by_side)
        vkf_test_attention_join(ops, &params, &desc.params);
    vkf_test_assert_ok(ops, vkf_attention_create(ops->gpu.context, &desc, &layer), "vkf_attention_create");
    assert_products(c, layer);
    float *query = vkf_test_normal_floats(ops, VKF_DTYPE_F32, count);
    float *expected = expect(&params, &dims, query);
    vkf_test_port_write(ops, layer, VKF_PORT_QUERY, VKF_DTYPE_F32, query, count);
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &sizes), "vkf_layer_run");
    float *out = vkf_test_port_read(ops, layer, VKF_PORT_OUTPUT, VKF_DTYPE_F32, count);
    assert_close(out, expected, count, 5e-5, 1e-4,
                 vkf_test_label(&ops->gpu, "self attention of width %u%s%s", c->dim, c->biases ? ", biases" : "",
                                c->side_by_side ? ", side by side" : ""));
    free(out);
    free(expected);
    free(query);
    vkf_layer_destroy(&layer);
    vkf_test_ops_reset(ops);
}

static void check_all(vkf_test_ops *ops)
{
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        check(ops, &CASES[i]);
}

static void test_projection_of_self_attention(void **state)
{
    check_all(vkf_test_ops_of(state));
}

static vkf_attention_desc joined_desc(vkf_test_ops *ops, uint32_t dim)
{
    const vkf_test_attention_dims dims = {dim, 2, dim / 2, dim / 2, dim, dim};
    const vkf_test_attention_params params = vkf_test_attention_make(ops, VKF_DTYPE_F32, &dims, true, false);
    vkf_attention_desc desc = {
        .embed_dim = dim, .num_heads = 2, .self_attention = true, .max_sizes = {BATCH, LENGTH, 0}};
    desc.params = vkf_test_attention_tensors(&params);
    vkf_test_attention_join(ops, &params, &desc.params);
    return desc;
}

static void refuse(vkf_test_ops *ops, const vkf_attention_desc *desc, const char *what)
{
    vkf_layer *layer = NULL;
    vkf_test_assert_refused(ops, vkf_attention_create(ops->gpu.context, desc, &layer), VKF_ERROR_INVALID_ARGUMENT,
                            what);
    assert_null(layer);
}

static void test_in_proj_of_parameters_that_lie_otherwise_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_attention_desc correct = joined_desc(ops, 32);
    vkf_attention_desc desc = correct;
    desc.params.k_weight = correct.params.v_weight;
    desc.params.v_weight = correct.params.k_weight;
    refuse(ops, &desc, "weights in another order");
    desc = correct;
    desc.params.v_bias = correct.params.k_bias;
    refuse(ops, &desc, "one bias twice");
    desc = correct;
    desc.params.k_bias = (vkf_tensor){0};
    refuse(ops, &desc, "no bias of k");
    desc = correct;
    desc.params.q_weight = desc.params.out_weight;
    refuse(ops, &desc, "a weight of its own");
    vkf_test_ops_reset(ops);
}

static void test_in_proj_of_panels_that_are_filled_up_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t dim = 24; // two panels, one of them half empty
    vkf_attention_desc desc = joined_desc(ops, dim);
    const vkf_tensor panels = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3 * 32, dim))->tensor;
    vkf_tensor *const views[] = {&desc.params.q_weight, &desc.params.k_weight, &desc.params.v_weight};
    for (uint32_t i = 0; i < 3; i++) {
        views[i]->buffer = panels.buffer;
        views[i]->layout = VKF_LAYOUT_PANELS;
        views[i]->offset_bytes = panels.offset_bytes + i * 32 * dim * sizeof(float);
    }
    refuse(ops, &desc, "padded panels");
    vkf_test_ops_reset(ops);
}

// A plan is asked for before there are buffers, so in_proj alone says that q, k and v are one operand.
static void test_plan_without_buffers_is_that_of_views(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_attention_desc desc = joined_desc(ops, 10);
    vkf_memory_plan with, without;
    vkf_test_assert_ok(ops, vkf_attention_plan(ops->gpu.context, &desc, &with), "vkf_attention_plan");
    vkf_tensor *const tensors = (vkf_tensor *)(void *)&desc.params;
    for (size_t i = 0; i < VKF_ATTENTION_TENSORS; i++) {
        tensors[i].buffer = NULL;
        tensors[i].offset_bytes = 0;
    }
    vkf_test_assert_ok(ops, vkf_attention_plan(ops->gpu.context, &desc, &without), "vkf_attention_plan");
    assert_memory_equal(&with, &without, sizeof with);
    vkf_test_ops_reset(ops);
}

static void run_with_variant(const char *variant)
{
    vkf_test_ops ops;
    if (vkf_test_ops_open_variant(&ops, variant))
        check_all(&ops);
    vkf_test_ops_close(&ops);
}

static void test_projection_with_weights_in_rows(void **state)
{
    (void)vkf_test_ops_of(state);
    run_with_variant("gemm_tile");
}

static void test_projection_with_weights_in_panels(void **state)
{
    (void)vkf_test_ops_of(state);
    run_with_variant("gemm_texel.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_projection_of_self_attention),
        VKF_OPS_TEST(test_projection_with_weights_in_rows),
        VKF_OPS_TEST(test_projection_with_weights_in_panels),
        VKF_OPS_TEST(test_in_proj_of_parameters_that_lie_otherwise_is_refused),
        VKF_OPS_TEST(test_in_proj_of_panels_that_are_filled_up_is_refused),
        VKF_OPS_TEST(test_plan_without_buffers_is_that_of_views),
    };
    return cmocka_run_group_tests_name("layer_projection", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
