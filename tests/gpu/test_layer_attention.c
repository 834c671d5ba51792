// The attention layer against the reference: everything that nn.MultiheadAttention has, and what goes beyond it.
//
// Bounds. f32: 5e-5 + 1e-4 relative. f16: query, key, value and context are rounded to 2^-11 relative; that moves
// scores, which are below 4, by up to 4 * 2^-10, and so the weights by as much relatively, and what is summed from
// them by about 1e-2.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/layer_fixture.h"
#include "support/mask_operand.h"

typedef struct attention_case {
    const char *name;
    uint32_t embed_dim, num_heads, head_dim, v_head_dim, kdim, vdim; // 0: default
    bool biases, bias_kv, zero_attn, self, weights, per_head;
    bool panels; // the caller gives weights in panels
    vkf_attention_mask mask;
    bool mask_all; // row 0 of the mask, keys of batch entry 0 of the key mask
    vkf_test_score_form form;
    uint32_t rotary_dim; // 0: nothing is rotated
    bool interleaved;
    vkf_test_operand *rotary;
    vkf_fully_masked fully_masked;
    vkf_dtype dtype, weight_dtype;
    vkf_layer_sizes max;
} attention_case;

static vkf_test_attention_dims dims_of(const attention_case *c)
{
    uint32_t head_dim = c->head_dim > 0 ? c->head_dim : c->embed_dim / c->num_heads;
    return (vkf_test_attention_dims){.embed_dim = c->embed_dim,
                                     .heads = c->num_heads,
                                     .head_dim = head_dim,
                                     .v_head_dim = c->v_head_dim > 0 ? c->v_head_dim : head_dim,
                                     .kdim = c->kdim > 0 ? c->kdim : c->embed_dim,
                                     .vdim = c->vdim > 0 ? c->vdim : c->embed_dim};
}

static vkf_attention_desc desc_of(const attention_case *c, const vkf_test_attention_params *params)
{
    vkf_attention_desc desc = {
        .embed_dim = c->embed_dim,
        .num_heads = c->num_heads,
        .head_dim = c->head_dim,
        .v_head_dim = c->v_head_dim,
        .kdim = c->kdim,
        .vdim = c->vdim,
        .self_attention = c->self,
        .add_zero_attn = c->zero_attn,
        .weights = c->weights,
        .weights_per_head = c->per_head,
        .mask = c->mask,
        .fully_masked = c->fully_masked,
        .params = vkf_test_attention_tensors(params),
        .dtype = c->dtype,
        .max_sizes = c->max,
    };
    desc.params.slopes = vkf_test_tensor_of(c->form.slopes);
    desc.params.sinks = vkf_test_tensor_of(c->form.sinks);
    desc.params.rotary = vkf_test_tensor_of(c->rotary);
    desc.params.rotary_interleaved = c->interleaved;
    return desc;
}

// What one run takes and gives, in host memory.
typedef struct attention_run {
    vkf_layer_sizes sizes;
    float *query, *key, *value;
    void *mask, *key_mask;
    size_t mask_count, key_mask_count;
    size_t out_count, plane_count; // of the output; of the weights of one head
    float *out, *weights, *per_head;
} attention_run;

static attention_run run_make(vkf_test_ops *ops, const attention_case *c, const vkf_layer_sizes *sizes)
{
    const vkf_test_attention_dims dims = dims_of(c);
    const size_t batch = sizes->batch, queries = batch * sizes->query_len;
    const size_t keys = c->self ? sizes->query_len : sizes->key_len;
    attention_run run = {.sizes = *sizes, .out_count = queries * dims.embed_dim};
    run.plane_count = queries * (keys + c->bias_kv + c->zero_attn);
    run.mask_count = (c->mask.per_head ? batch * dims.heads : 1) * sizes->query_len * keys;
    run.key_mask_count = c->mask.key_kind == VKF_MASK_LENGTHS ? batch : batch * keys;
    run.query = vkf_test_normal_floats(ops, c->dtype, run.out_count);
    run.key = c->self ? run.query : vkf_test_normal_floats(ops, c->dtype, batch * keys * dims.kdim);
    run.value = c->self ? run.query : vkf_test_normal_floats(ops, c->dtype, batch * keys * dims.vdim);
    run.mask = vkf_test_mask_make(ops, c->mask.kind, run.mask_count, c->mask_all ? (uint32_t)keys : 0);
    bool lengths = c->mask.key_kind == VKF_MASK_LENGTHS;
    run.key_mask =
        vkf_test_mask_make(ops, c->mask.key_kind, run.key_mask_count, c->mask_all || lengths ? (uint32_t)keys : 0);
    run.out = vkf_test_floats(run.out_count);
    run.weights = vkf_test_floats(run.plane_count);
    run.per_head = vkf_test_floats(run.plane_count * dims.heads);
    return run;
}

static void run_free(attention_run *run)
{
    if (run->key != run->query) {
        free(run->key);
        free(run->value);
    }
    free(run->query);
    free(run->mask);
    free(run->key_mask);
    free(run->out);
    free(run->weights);
    free(run->per_head);
}

static void run_expect(const attention_case *c, const vkf_test_attention_params *params, attention_run *run)
{
    const vkf_test_attention_dims dims = dims_of(c);
    vkf_ref_attention_desc reference = {
        .batch = run->sizes.batch,
        .q_len = run->sizes.query_len,
        .k_len = c->self ? run->sizes.query_len : run->sizes.key_len,
        .query = run->query,
        .key = run->key,
        .value = run->value,
        .add_zero_attn = c->zero_attn,
        .mask = c->mask,
        .mask_values = run->mask,
        .key_mask_values = run->key_mask,
        .fully_masked = c->fully_masked,
        .slopes = c->form.sloped ? c->form.slopes->values : NULL,
        .sinks = c->form.sunk ? c->form.sinks->values : NULL,
        .rotary = c->rotary ? c->rotary->values : NULL,
        .rotary_dim = c->rotary_dim,
        .interleaved = c->interleaved,
        .out = run->out,
        .weights = run->weights,
        .weights_per_head = run->per_head,
    };
    vkf_test_attention_reference(params, &dims, &reference);
    vkf_test_attention_expect(&reference);
}

static void write_ports(vkf_test_ops *ops, vkf_layer *layer, const attention_case *c, const attention_run *run)
{
    const vkf_test_attention_dims dims = dims_of(c);
    const size_t keys = (size_t)run->sizes.batch * run->sizes.key_len;
    vkf_test_port_write(ops, layer, VKF_PORT_QUERY, c->dtype, run->query, run->out_count);
    if (!c->self) {
        vkf_test_port_write(ops, layer, VKF_PORT_KEY, c->dtype, run->key, keys * dims.kdim);
        vkf_test_port_write(ops, layer, VKF_PORT_VALUE, c->dtype, run->value, keys * dims.vdim);
    }
    if (run->mask)
        vkf_test_assert_ok(
            ops, vkf_layer_write(layer, VKF_PORT_MASK, run->mask, vkf_test_mask_bytes(c->mask.kind, run->mask_count)),
            "mask");
    if (run->key_mask)
        vkf_test_assert_ok(ops,
                           vkf_layer_write(layer, VKF_PORT_KEY_MASK, run->key_mask,
                                           vkf_test_mask_bytes(c->mask.key_kind, run->key_mask_count)),
                           "key mask");
}

static void compare_port(vkf_test_ops *ops, vkf_layer *layer, const attention_case *c, const attention_run *run,
                         vkf_port port, const float *expected, size_t count)
{
    bool half = c->dtype == VKF_DTYPE_F16;
    float *actual = vkf_test_port_read(ops, layer, port, port == VKF_PORT_OUTPUT ? c->dtype : VKF_DTYPE_F32, count);
    assert_close(actual, expected, count, half ? 1e-2 : 5e-5, half ? 1e-2 : 1e-4,
                 vkf_test_label(&ops->gpu, "%s: port %d with sizes %u, %u, %u", c->name, (int)port, run->sizes.batch,
                                run->sizes.query_len, run->sizes.key_len));
    free(actual);
}

static void run_once(vkf_test_ops *ops, vkf_layer *layer, const attention_case *c,
                     const vkf_test_attention_params *params, const vkf_layer_sizes *sizes)
{
    attention_run run = run_make(ops, c, sizes);
    run_expect(c, params, &run);
    write_ports(ops, layer, c, &run);
    vkf_test_assert_ok(ops, vkf_layer_run(layer, sizes), "vkf_layer_run");
    compare_port(ops, layer, c, &run, VKF_PORT_OUTPUT, run.out, run.out_count);
    if (c->weights)
        compare_port(ops, layer, c, &run, VKF_PORT_WEIGHTS, run.weights, run.plane_count);
    if (c->per_head)
        compare_port(ops, layer, c, &run, VKF_PORT_WEIGHTS_PER_HEAD, run.per_head, run.plane_count * c->num_heads);
    run_free(&run);
}

// With what becomes of scores, and a table of one position more than there are queries.
static attention_case complete(vkf_test_ops *ops, const attention_case *given)
{
    attention_case c = *given;
    const uint32_t positions = c.max.query_len + 1;
    vkf_test_make_form(ops, &c.form, c.num_heads);
    c.mask.window_right = c.form.window_right;
    c.mask.soft_cap = c.form.soft_cap;
    if (c.rotary_dim > 0) {
        float *table = vkf_test_floats((size_t)positions * c.rotary_dim);
        vkf_rotary_table(positions, c.rotary_dim, 100, NULL, 0, table);
        c.rotary = vkf_test_values(ops, VKF_DTYPE_F32, table, SHAPE(positions, c.rotary_dim));
        free(table);
    }
    return c;
}

// One layer, run at its maximum sizes, at smaller ones, at the smallest, and at the maximum again: recorded once.
static void check(vkf_test_ops *ops, const attention_case *given)
{
    const attention_case full = complete(ops, given), *c = &full;
    const vkf_test_attention_dims dims = dims_of(c);
    const vkf_test_attention_params params =
        vkf_test_attention_make(ops, c->weight_dtype, &dims, c->biases, c->bias_kv);
    if (c->panels)
        vkf_test_attention_pack(ops, &params);
    const vkf_attention_desc desc = desc_of(c, &params);
    const vkf_layer_sizes *max = &c->max;
    const vkf_layer_sizes sizes[] = {
        *max, {max->batch, (max->query_len + 1) / 2, (max->key_len + 1) / 2}, {1, 1, 1}, *max};
    vkf_layer *layer = NULL;
    vkf_test_assert_ok(ops, vkf_attention_create(ops->gpu.context, &desc, &layer), c->name);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        run_once(ops, layer, c, &params, &sizes[i]);
    assert_int_equal(vkf_layer_get_record_count(layer), 1);
    vkf_layer_destroy(&layer);
    vkf_test_ops_reset(ops);
}

static void check_all(void **state, const attention_case *cases, size_t count)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < count; i++)
        check(ops, &cases[i]);
}

static const attention_case SHAPES[] = {
    {"one of everything", 1, 1, .max = {1, 1, 1}},
    {"two heads", 8, 2, .biases = true, .max = {2, 3, 5}, .weights = true, .per_head = true},
    {"odd", 15, 3, .max = {3, 7, 11}, .weights = true},
    {"long keys", 32, 4, .biases = true, .max = {1, 9, 130}, .per_head = true},
    {"long queries", 24, 2, .biases = true, .max = {2, 70, 3}},
    {"head_dim", 12, 3, .head_dim = 7, .biases = true, .max = {2, 5, 6}, .weights = true},
    {"v_head_dim", 12, 3, .head_dim = 4, .v_head_dim = 9, .biases = true, .max = {2, 5, 6}},
    {"kdim and vdim", 16, 4, .kdim = 5, .vdim = 21, .biases = true, .max = {2, 5, 6}, .weights = true},
    {"kdim, vdim and head dims, no biases", 10, 2, .head_dim = 8, .v_head_dim = 3, .kdim = 7, .vdim = 9,
     .max = {2, 4, 9}},
    {"self", 16, 4, .self = true, .biases = true, .max = {2, 9, 0}, .weights = true},
};

static void test_attention_shapes(void **state)
{
    check_all(state, SHAPES, COUNT_OF(SHAPES));
}

// One key more, or two, that no mask reaches.
static const attention_case EXTRAS[] = {
    {"bias_kv", 8, 2, .biases = true, .bias_kv = true, .max = {2, 3, 5}, .weights = true, .per_head = true},
    {"zero_attn", 8, 2, .biases = true, .zero_attn = true, .max = {2, 3, 5}, .weights = true},
    {"bias_kv and zero_attn", 8, 2, .bias_kv = true, .zero_attn = true, .max = {3, 4, 7}, .weights = true,
     .per_head = true},
    {"bias_kv, self", 12, 2, .self = true, .bias_kv = true, .biases = true, .max = {2, 6, 0}},
    {"bias_kv and zero_attn under masks", 8, 2, .bias_kv = true, .zero_attn = true, .max = {2, 5, 5}, .weights = true,
     .mask = {.kind = VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_BOOL_EXCLUDE, .causal = VKF_CAUSAL_TOP_LEFT},
     .mask_all = true},
    {"bias_kv with v_head_dim", 8, 2, .head_dim = 3, .v_head_dim = 5, .bias_kv = true, .zero_attn = true,
     .max = {2, 5, 6}, .mask = {.kind = VKF_MASK_ADDITIVE, .per_head = true, .key_kind = VKF_MASK_LENGTHS}},
};

static void test_attention_extra_keys(void **state)
{
    check_all(state, EXTRAS, COUNT_OF(EXTRAS));
}

static void test_attention_mask_kinds(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = VKF_MASK_NONE; kind <= VKF_MASK_ADDITIVE; kind++) {
        for (int key_kind = VKF_MASK_NONE; key_kind < VKF_MASK_KIND_COUNT; key_kind++)
            check(ops, &(attention_case){"mask kinds", 8, 2, .biases = true, .max = {2, 4, 7}, .weights = true,
                                         .mask = {.kind = (vkf_mask_kind)kind,
                                                  .per_head = key_kind % 2 == 0,
                                                  .key_kind = (vkf_mask_kind)key_kind}});
    }
}

static void test_attention_causal_and_window(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t lengths[][2] = {{7, 7}, {5, 11}, {9, 4}};
    static const uint32_t windows[] = {0, 1, 3};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (int causal = 0; causal < VKF_CAUSAL_COUNT; causal++)
            for (size_t w = 0; w < COUNT_OF(windows); w++)
                check(ops,
                      &(attention_case){"causal", 8, 2, .max = {2, lengths[i][0], lengths[i][1]}, .per_head = true,
                                        .mask = {.causal = (vkf_causal)causal,
                                                 .key_kind = vkf_test_key_kind_of((vkf_causal)causal, VKF_MASK_NONE),
                                                 .window = windows[w]}});
}

static void test_attention_fully_masked_rules(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++) {
        check(ops,
              &(attention_case){"masked row", 8, 2, .biases = true, .max = {2, 3, 5}, .weights = true, .mask_all = true,
                                .fully_masked = (vkf_fully_masked)rule, .mask = {.kind = VKF_MASK_BOOL_EXCLUDE}});
        check(ops, &(attention_case){"masked keys", 8, 2, .biases = true, .max = {2, 3, 5}, .per_head = true,
                                     .mask_all = true, .fully_masked = (vkf_fully_masked)rule,
                                     .mask = {.key_kind = VKF_MASK_ADDITIVE}});
    }
}

// Heads of a layer that are joined by one product, and such that are not; keys that no mask reaches.
static const attention_case FORMS[] = {
    {"forms, self", 16, 4, .self = true, .biases = true, .max = {2, 9, 0}, .mask = {.causal = VKF_CAUSAL_TOP_LEFT}},
    {"forms, cross", 12, 3, .head_dim = 8, .max = {2, 5, 11}, .weights = true,
     .mask = {.key_kind = VKF_MASK_LENGTHS, .causal = VKF_CAUSAL_BOTTOM_RIGHT, .window = 3}},
    {"forms, extra keys", 8, 2, .bias_kv = true, .zero_attn = true, .max = {2, 6, 7},
     .mask = {.kind = VKF_MASK_ADDITIVE}},
};

static void test_attention_forms_of_scores(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (uint32_t i = 1; i < VKF_TEST_SCORE_FORMS; i++) {
        attention_case c = FORMS[(i + 1) % COUNT_OF(FORMS)];
        c.form = vkf_test_score_forms[i];
        check(ops, &c);
    }
}

static const attention_case ROTARY[] = {
    {"rotary", 16, 2, .self = true, .biases = true, .max = {2, 9, 0}, .rotary_dim = 8, .weights = true},
    {"rotary, partial", 12, 2, .self = true, .max = {2, 7, 0}, .rotary_dim = 4, .dtype = VKF_DTYPE_F16,
     .weight_dtype = VKF_DTYPE_F16},
    {"rotary, interleaved", 16, 2, .self = true, .biases = true, .max = {2, 9, 0}, .rotary_dim = 6, .interleaved = true,
     .mask = {.causal = VKF_CAUSAL_TOP_LEFT}},
};

static void test_attention_rotary(void **state)
{
    check_all(state, ROTARY, COUNT_OF(ROTARY));
}

#define F16 .dtype = VKF_DTYPE_F16, .weight_dtype = VKF_DTYPE_F16

static const attention_case HALVES[] = {
    {"f16", 8, 2, F16, .biases = true, .max = {2, 3, 5}, .weights = true, .per_head = true},
    {"f16, odd", 15, 3, F16, .biases = true, .max = {3, 7, 11}, .mask = {.key_kind = VKF_MASK_LENGTHS}},
    {"f16, extra keys", 9, 3, F16, .bias_kv = true, .zero_attn = true, .max = {2, 5, 7}, .weights = true,
     .mask = {.kind = VKF_MASK_ADDITIVE}},
    {"f16, dims", 7, 1, F16, .head_dim = 5, .v_head_dim = 3, .kdim = 11, .vdim = 13, .max = {2, 3, 9}},
    {"f16 weights alone", 15, 3, .weight_dtype = VKF_DTYPE_F16, .biases = true, .bias_kv = true, .zero_attn = true,
     .max = {2, 5, 7}, .weights = true, .mask = {.causal = VKF_CAUSAL_BOTTOM_RIGHT}},
    {"bf16 weights", 15, 3, .weight_dtype = VKF_DTYPE_BF16, .biases = true, .bias_kv = true, .zero_attn = true,
     .max = {2, 5, 7}, .weights = true, .mask = {.causal = VKF_CAUSAL_BOTTOM_RIGHT}},
    {"bf16 weights of panels", 64, 2, .weight_dtype = VKF_DTYPE_BF16, .biases = true, .max = {2, 19, 23}},
};

static void test_attention_half_storage(void **state)
{
    check_all(state, HALVES, COUNT_OF(HALVES));
}

// q, k and v as views into one in_proj_weight, as PyTorch keeps them; and ports that are the caller's own.
static void test_attention_packed_weights_and_ports_of_the_caller(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const attention_case c = {"ports of the caller", 9, 3, .self = true, .max = {2, 5, 0}};
    const vkf_test_attention_dims dims = dims_of(&c);
    vkf_test_attention_params params = vkf_test_attention_make(ops, VKF_DTYPE_F32, &dims, false, false);
    float packed[3 * 9 * 9];
    memcpy(packed, params.q_weight->values, 81 * sizeof(float));
    memcpy(packed + 81, params.k_weight->values, 81 * sizeof(float));
    memcpy(packed + 162, params.v_weight->values, 81 * sizeof(float));
    const vkf_tensor in_proj = vkf_test_values(ops, VKF_DTYPE_F32, packed, SHAPE(27, 9))->tensor;
    vkf_attention_desc desc = desc_of(&c, &params);
    vkf_tensor *views[] = {&desc.params.q_weight, &desc.params.k_weight, &desc.params.v_weight};
    for (size_t i = 0; i < 3; i++)
        *views[i] =
            (vkf_tensor){in_proj.buffer, in_proj.offset_bytes + i * 81 * sizeof(float), VKF_DTYPE_F32, 2, {9, 9}, 0};
    desc.params.in_proj = true;
    vkf_test_operand *query = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 5, 9));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 5, 9));
    desc.ports[VKF_PORT_QUERY] = query->tensor;
    desc.ports[VKF_PORT_OUTPUT] = out->tensor;
    attention_run run = run_make(ops, &c, &c.max);
    memcpy(run.query, query->values, query->count * sizeof(float));
    run_expect(&c, &params, &run);
    vkf_layer *layer = NULL;
    vkf_tensor port;
    vkf_test_assert_ok(ops, vkf_attention_create(ops->gpu.context, &desc, &layer), "create");
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &c.max), "run");
    assert_true(vkf_layer_get_port(layer, VKF_PORT_OUTPUT, &port) && port.buffer == out->tensor.buffer);
    vkf_test_download(ops, out);
    assert_close(out->values, run.out, out->count, 5e-5, 1e-4, vkf_test_label(&ops->gpu, "%s", c.name));
    vkf_layer_destroy(&layer);
    run_free(&run);
}

// Weights that the caller packed are read where they are: the layer makes no copy of its own.
static const attention_case PANELS[] = {
    {"panels", 64, 4, .panels = true, .biases = true, .max = {2, 9, 11}, .weights = true},
    {"panels that are filled up", 15, 3, .panels = true, .self = true, .max = {3, 7, 0}},
    {"panels of f16", 64, 2, .panels = true, .weight_dtype = VKF_DTYPE_F16, .biases = true, .max = {2, 5, 7}},
    {"panels of bf16", 33, 3, .panels = true, .weight_dtype = VKF_DTYPE_BF16, .bias_kv = true, .max = {2, 5, 7}},
};

static void test_attention_weights_in_panels(void **state)
{
    check_all(state, PANELS, COUNT_OF(PANELS));
}

static void test_attention_weights_in_panels_are_not_copied(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_test_attention_dims dims = dims_of(&PANELS[0]);
    const vkf_test_attention_params params = vkf_test_attention_make(ops, VKF_DTYPE_F32, &dims, true, false);
    vkf_test_attention_pack(ops, &params);
    const vkf_attention_desc desc = desc_of(&PANELS[0], &params);
    vkf_memory_plan plan;
    vkf_test_assert_ok(ops, vkf_attention_plan(ops->gpu.context, &desc, &plan), "plan");
    assert_int_equal(plan.weights_bytes, 0);
}

// A batch entry's result does not depend on what its neighbours hold, NaN included.
static void test_attention_batch_entries_are_independent(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const attention_case c = {"independent entries", 8, 2, .max = {2, 3, 4}};
    const vkf_test_attention_dims dims = dims_of(&c);
    const vkf_test_attention_params params = vkf_test_attention_make(ops, VKF_DTYPE_F32, &dims, false, false);
    const vkf_attention_desc desc = desc_of(&c, &params);
    attention_run run = run_make(ops, &c, &c.max);
    for (size_t i = 0; i < 4 * 8; i++)
        run.key[i] = run.value[i] = NAN; // all of entry 0
    run_expect(&c, &params, &run);
    vkf_layer *layer = NULL;
    vkf_test_assert_ok(ops, vkf_attention_create(ops->gpu.context, &desc, &layer), "create");
    write_ports(ops, layer, &c, &run);
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &c.max), "run");
    for (size_t i = 0; i < run.out_count; i++)
        assert_true(isnan(run.out[i]) == (i < run.out_count / 2));
    compare_port(ops, layer, &c, &run, VKF_PORT_OUTPUT, run.out, run.out_count);
    vkf_layer_destroy(&layer);
    run_free(&run);
}

#define HALF_TESTS VKF_OPS_TEST(test_attention_half_storage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_attention_shapes),
        VKF_OPS_TEST(test_attention_extra_keys),
        VKF_OPS_TEST(test_attention_mask_kinds),
        VKF_OPS_TEST(test_attention_causal_and_window),
        VKF_OPS_TEST(test_attention_fully_masked_rules),
        VKF_OPS_TEST(test_attention_forms_of_scores),
        VKF_OPS_TEST(test_attention_rotary),
        VKF_OPS_TEST(test_attention_packed_weights_and_ports_of_the_caller),
        VKF_OPS_TEST(test_attention_weights_in_panels),
        VKF_OPS_TEST(test_attention_weights_in_panels_are_not_copied),
        VKF_OPS_TEST(test_attention_batch_entries_are_independent),
        HALF_TESTS,
    };
    const struct CMUnitTest packed[] = {HALF_TESTS};
    int failed = cmocka_run_group_tests_name("layer_attention", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("layer_attention packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
