// Feed-forward, encoder and decoder layers against the reference, composed as torch.nn.TransformerEncoderLayer and
// TransformerDecoderLayer compose them in eval mode.
//
// Bounds. f32: 5e-5 + 1e-4 relative. f16: the residual stream, of size up to about 4, is rounded to half after each of
// up to six additions and normalisations, beside what attention loses (see test_layer_attention.c): 3e-2.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"
#include "support/layer_fixture.h"

typedef struct layer_case {
    const char *name;
    bool decoder, norm_first;
    uint32_t d_model, heads, dim_feedforward;
    vkf_activation activation;
    bool biases, norms; // whether there are biases, and norm weights
    bool panels;        // the caller gives weights in panels
    bool in_proj;       // and those of self attention as one operand
    vkf_attention_mask self_mask, cross_mask;
    vkf_fully_masked fully_masked;
    vkf_dtype dtype, weight_dtype;
    vkf_layer_sizes max;
} layer_case;

typedef struct layer_params {
    vkf_test_attention_params self, cross;
    vkf_test_operand *weight1, *bias1, *weight2, *bias2;
    vkf_test_operand *norm_weight[3], *norm_bias[3];
} layer_params;

static vkf_test_attention_dims dims_of(const layer_case *c)
{
    const uint32_t head_dim = c->d_model / c->heads;
    return (vkf_test_attention_dims){c->d_model, c->heads, head_dim, head_dim, c->d_model, c->d_model};
}

static layer_params params_make(vkf_test_ops *ops, const layer_case *c)
{
    const vkf_test_attention_dims dims = dims_of(c);
    layer_params p = {
        .self = vkf_test_attention_make(ops, c->weight_dtype, &dims, c->biases, false),
        .cross = vkf_test_attention_make(ops, c->weight_dtype, &dims, c->biases, false),
        .weight1 = vkf_test_weight(ops, c->weight_dtype, c->dim_feedforward, c->d_model),
        .weight2 = vkf_test_weight(ops, c->weight_dtype, c->d_model, c->dim_feedforward),
    };
    if (c->biases) {
        p.bias1 = vkf_test_bias(ops, c->weight_dtype, c->dim_feedforward);
        p.bias2 = vkf_test_bias(ops, c->weight_dtype, c->d_model);
    }
    for (int i = 0; i < 3 && c->norms; i++) {
        p.norm_weight[i] = vkf_test_uniform(ops, c->weight_dtype, 0.5f, 1.5f, SHAPE(c->d_model));
        p.norm_bias[i] = vkf_test_bias(ops, c->weight_dtype, c->d_model);
    }
    if (c->panels) {
        vkf_test_attention_pack(ops, &p.self);
        vkf_test_attention_pack(ops, &p.cross);
        vkf_test_pack(ops, p.weight1);
        vkf_test_pack(ops, p.weight2);
    }
    return p;
}

static vkf_norm_weights norm_of(const layer_params *p, int index)
{
    return (vkf_norm_weights){vkf_test_tensor_of(p->norm_weight[index]), vkf_test_tensor_of(p->norm_bias[index])};
}

static vkf_feed_forward_weights feed_forward_of(const layer_params *p)
{
    return (vkf_feed_forward_weights){.weight1 = p->weight1->tensor,
                                      .bias1 = vkf_test_tensor_of(p->bias1),
                                      .weight2 = p->weight2->tensor,
                                      .bias2 = vkf_test_tensor_of(p->bias2)};
}

static vkf_transformer_layer_desc desc_of(const layer_case *c, const layer_params *p)
{
    return (vkf_transformer_layer_desc){
        .d_model = c->d_model,
        .num_heads = c->heads,
        .dim_feedforward = c->dim_feedforward,
        .activation = c->activation,
        .norm_first = c->norm_first,
        .layer_norm_eps = 1e-5f,
        .self = vkf_test_attention_tensors(&p->self),
        .cross = vkf_test_attention_tensors(&p->cross), // an encoder layer does not look at them
        .feed_forward = feed_forward_of(p),
        .norm1 = norm_of(p, 0),
        .norm2 = norm_of(p, 1),
        .norm3 = norm_of(p, 2),
        .self_mask = c->self_mask,
        .cross_mask = c->cross_mask,
        .fully_masked = c->fully_masked,
        .dtype = c->dtype,
        .max_sizes = c->max,
    };
}

// One run's inputs and masks, and the residual stream of the reference.
typedef struct layer_run {
    const layer_case *c;
    const layer_params *p;
    vkf_layer_sizes sizes;
    size_t count; // of x
    float *x, *memory, *stream, *input, *delta;
    void *masks[4]; // self, self keys, cross, cross keys
    size_t mask_bytes[4];
} layer_run;

static void make_masks(vkf_test_ops *ops, layer_run *run, int first, const vkf_attention_mask *mask, uint32_t keys)
{
    const uint32_t batch = run->sizes.batch;
    const size_t count = (size_t)(mask->per_head ? batch * run->c->heads : 1) * run->sizes.query_len * keys;
    const size_t key_count = mask->key_kind == VKF_MASK_LENGTHS ? batch : (size_t)batch * keys;
    run->masks[first] = vkf_test_mask_make(ops, mask->kind, count, 0);
    run->masks[first + 1] =
        vkf_test_mask_make(ops, mask->key_kind, key_count, mask->key_kind == VKF_MASK_LENGTHS ? keys : 0);
    run->mask_bytes[first] = vkf_test_mask_bytes(mask->kind, count);
    run->mask_bytes[first + 1] = vkf_test_mask_bytes(mask->key_kind, key_count);
}

static layer_run run_make(vkf_test_ops *ops, const layer_case *c, const layer_params *p, const vkf_layer_sizes *sizes)
{
    layer_run run = {.c = c, .p = p, .sizes = *sizes, .count = (size_t)sizes->batch * sizes->query_len * c->d_model};
    run.x = vkf_test_normal_floats(ops, c->dtype, run.count);
    run.memory = vkf_test_normal_floats(ops, c->dtype, (size_t)sizes->batch * sizes->key_len * c->d_model + 1);
    run.stream = vkf_test_floats(run.count);
    run.input = vkf_test_floats(run.count);
    run.delta = vkf_test_floats(run.count);
    make_masks(ops, &run, 0, &c->self_mask, sizes->query_len);
    if (c->decoder)
        make_masks(ops, &run, 2, &c->cross_mask, sizes->key_len);
    return run;
}

static void run_free(layer_run *run)
{
    free(run->x);
    free(run->memory);
    free(run->stream);
    free(run->input);
    free(run->delta);
    for (int i = 0; i < 4; i++)
        free(run->masks[i]);
}

static void normalise(const layer_run *run, int index, const float *x, float *out)
{
    vkf_ref_layer_norm(&(vkf_ref_layer_norm_desc){
        .rows = run->sizes.batch * run->sizes.query_len,
        .dim = run->c->d_model,
        .x = x,
        .weight = vkf_test_values_of(run->p->norm_weight[index]),
        .bias = vkf_test_values_of(run->p->norm_bias[index]),
        .out = out,
        .eps = 1e-5f,
    });
}

static void attend(const layer_run *run, bool cross, const float *query, float *out)
{
    const layer_case *c = run->c;
    const vkf_test_attention_dims dims = dims_of(c);
    vkf_ref_attention_desc desc = {
        .batch = run->sizes.batch,
        .q_len = run->sizes.query_len,
        .k_len = cross ? run->sizes.key_len : run->sizes.query_len,
        .query = query,
        .key = cross ? run->memory : query,
        .value = cross ? run->memory : query,
        .mask = cross ? c->cross_mask : c->self_mask,
        .mask_values = run->masks[cross ? 2 : 0],
        .key_mask_values = run->masks[cross ? 3 : 1],
        .fully_masked = c->fully_masked,
        .out = out,
    };
    vkf_test_attention_reference(cross ? &run->p->cross : &run->p->self, &dims, &desc);
    vkf_test_attention_expect(&desc);
}

static void feed_forward(const layer_run *run, const float *x, float *out)
{
    const layer_case *c = run->c;
    const uint32_t rows = run->sizes.batch * run->sizes.query_len;
    float *hidden = vkf_test_floats((size_t)rows * c->dim_feedforward);
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = rows,
                                      .n = c->dim_feedforward,
                                      .k = c->d_model,
                                      .batch = 1,
                                      .a = x,
                                      .b = run->p->weight1->values,
                                      .bias = vkf_test_values_of(run->p->bias1),
                                      .out = hidden,
                                      .transpose_b = true,
                                      .alpha = 1,
                                      .activation = c->activation ? c->activation : VKF_ACTIVATION_RELU});
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = rows,
                                      .n = c->d_model,
                                      .k = c->dim_feedforward,
                                      .batch = 1,
                                      .a = hidden,
                                      .b = run->p->weight2->values,
                                      .bias = vkf_test_values_of(run->p->bias2),
                                      .out = out,
                                      .transpose_b = true,
                                      .alpha = 1});
    free(hidden);
}

typedef enum layer_part {
    PART_SELF,
    PART_CROSS,
    PART_FEED_FORWARD,
} layer_part;

// Pre-norm x + f(LN(x)), post-norm LN(x + f(x)).
static void residual_block(const layer_run *run, int norm, layer_part part)
{
    bool first = run->c->norm_first;
    if (first)
        normalise(run, norm, run->stream, run->input);
    const float *input = first ? run->input : run->stream;
    if (part == PART_FEED_FORWARD)
        feed_forward(run, input, run->delta);
    else
        attend(run, part == PART_CROSS, input, run->delta);
    for (size_t i = 0; i < run->count; i++)
        run->stream[i] += run->delta[i];
    if (!first)
        normalise(run, norm, run->stream, run->stream);
}

static void run_expect(const layer_run *run)
{
    memcpy(run->stream, run->x, run->count * sizeof *run->x);
    residual_block(run, 0, PART_SELF);
    if (run->c->decoder)
        residual_block(run, 1, PART_CROSS);
    residual_block(run, run->c->decoder ? 2 : 1, PART_FEED_FORWARD);
}

static void write_ports(vkf_test_ops *ops, vkf_layer *layer, const layer_run *run)
{
    static const vkf_port mask_ports[] = {VKF_PORT_MASK, VKF_PORT_KEY_MASK, VKF_PORT_MEMORY_MASK,
                                          VKF_PORT_MEMORY_KEY_MASK};
    vkf_test_port_write(ops, layer, VKF_PORT_QUERY, run->c->dtype, run->x, run->count);
    if (run->c->decoder)
        vkf_test_port_write(ops, layer, VKF_PORT_MEMORY, run->c->dtype, run->memory,
                            (size_t)run->sizes.batch * run->sizes.key_len * run->c->d_model);
    for (int i = 0; i < 4; i++) {
        if (run->masks[i])
            vkf_test_assert_ok(ops, vkf_layer_write(layer, mask_ports[i], run->masks[i], run->mask_bytes[i]), "mask");
    }
}

static void compare(vkf_test_ops *ops, vkf_layer *layer, const layer_case *c, vkf_port port,
                    const vkf_layer_sizes *sizes, const float *expected, size_t count)
{
    bool half = c->dtype == VKF_DTYPE_F16;
    float *actual = vkf_test_port_read(ops, layer, port, c->dtype, count);
    assert_close(actual, expected, count, half ? 3e-2 : 5e-5, half ? 1e-2 : 1e-4,
                 vkf_test_label(&ops->gpu, "%s: port %d with sizes %u, %u, %u", c->name, (int)port, sizes->batch,
                                sizes->query_len, sizes->key_len));
    free(actual);
}

static vkf_status plan(vkf_test_ops *ops, const layer_case *c, const vkf_transformer_layer_desc *desc,
                       vkf_memory_plan *out_plan)
{
    return c->decoder ? vkf_decoder_layer_plan(ops->gpu.context, desc, out_plan)
                      : vkf_encoder_layer_plan(ops->gpu.context, desc, out_plan);
}

// Whether norms are left to products does not depend on where the caller's vectors lie.
static void assert_plan_needs_no_buffers(vkf_test_ops *ops, const layer_case *c, const vkf_transformer_layer_desc *desc)
{
    vkf_transformer_layer_desc shapes = *desc;
    vkf_tensor *const vectors[] = {&shapes.norm1.weight, &shapes.norm1.bias,        &shapes.norm2.weight,
                                   &shapes.norm2.bias,   &shapes.norm3.bias,        &shapes.norm3.weight,
                                   &shapes.cross.q_bias, &shapes.feed_forward.bias1};
    vkf_memory_plan with, without;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        vectors[i]->buffer = NULL;
        vectors[i]->offset_bytes = 0;
    }
    vkf_test_assert_ok(ops, plan(ops, c, desc, &with), c->name);
    vkf_test_assert_ok(ops, plan(ops, c, &shapes, &without), c->name);
    assert_memory_equal(&with, &without, sizeof with);
}

// One layer, run at its maximum sizes, at smaller ones, at the smallest, and at the maximum again: recorded once. The
// input stays as it is.
static void check_as(vkf_test_ops *ops, const layer_case *c, void (*look)(const layer_case *c, const vkf_layer *layer))
{
    const layer_params params = params_make(ops, c);
    vkf_transformer_layer_desc desc = desc_of(c, &params);
    const vkf_layer_sizes *max = &c->max;
    const vkf_layer_sizes sizes[] = {
        *max, {max->batch, (max->query_len + 1) / 2, (max->key_len + 1) / 2}, {1, 1, 1}, *max};
    vkf_layer *layer = NULL;
    if (c->in_proj)
        vkf_test_attention_join(ops, &params.self, &desc.self);
    vkf_status status = c->decoder ? vkf_decoder_layer_create(ops->gpu.context, &desc, &layer)
                                   : vkf_encoder_layer_create(ops->gpu.context, &desc, &layer);
    vkf_test_assert_ok(ops, status, c->name);
    if (look) {
        look(c, layer);
        assert_plan_needs_no_buffers(ops, c, &desc);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        layer_run run = run_make(ops, c, &params, &sizes[i]);
        run_expect(&run);
        write_ports(ops, layer, &run);
        vkf_test_assert_ok(ops, vkf_layer_run(layer, &sizes[i]), "vkf_layer_run");
        compare(ops, layer, c, VKF_PORT_OUTPUT, &sizes[i], run.stream, run.count);
        compare(ops, layer, c, VKF_PORT_QUERY, &sizes[i], run.x, run.count);
        run_free(&run);
    }
    assert_int_equal(vkf_layer_get_record_count(layer), 1);
    vkf_layer_destroy(&layer);
    vkf_test_ops_reset(ops);
}

static void check(vkf_test_ops *ops, const layer_case *c)
{
    check_as(ops, c, NULL);
}

// Pre-norm and post-norm; ReLU, the GELU of PyTorch, and one more activation.
static void check_variants(void **state, const layer_case *base)
{
    static const vkf_activation activations[] = {VKF_ACTIVATION_RELU, VKF_ACTIVATION_GELU_ERF, VKF_ACTIVATION_SILU};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int norm_first = 0; norm_first < 2; norm_first++) {
        for (size_t i = 0; i < COUNT_OF(activations); i++) {
            layer_case c = *base;
            c.norm_first = norm_first;
            c.activation = activations[i];
            check(ops, &c);
        }
    }
}

static void test_encoder_layer_variants(void **state)
{
    check_variants(state, &(layer_case){"encoder", .d_model = 12, .heads = 3, .dim_feedforward = 35, .biases = true,
                                        .norms = true, .max = {2, 7, 0}});
}

static void test_decoder_layer_variants(void **state)
{
    check_variants(state, &(layer_case){"decoder", .decoder = true, .d_model = 12, .heads = 3, .dim_feedforward = 35,
                                        .biases = true, .norms = true, .max = {2, 7, 5},
                                        .self_mask = {.causal = VKF_CAUSAL_TOP_LEFT}});
}

static const layer_case SHAPES[] = {
    {"one of everything", .d_model = 1, .heads = 1, .dim_feedforward = 1, .biases = true, .norms = true,
     .max = {1, 1, 0}},
    {"no biases, no norm weights", .d_model = 8, .heads = 2, .dim_feedforward = 16, .max = {3, 5, 0}},
    {"prime", .d_model = 34, .heads = 2, .dim_feedforward = 67, .biases = true, .norms = true, .max = {1, 71, 0}},
    {"wide", .d_model = 64, .heads = 4, .dim_feedforward = 130, .biases = true, .norms = true, .max = {2, 33, 0},
     .norm_first = true},
    {"rows apart", .d_model = 512, .heads = 8, .dim_feedforward = 1024, .biases = true, .norms = true, .max = {2, 3, 0},
     .norm_first = true},
    {"one of everything", true, .d_model = 1, .heads = 1, .dim_feedforward = 1, .biases = true, .norms = true,
     .max = {1, 1, 1}},
    {"no biases, no norm weights", true, true, .d_model = 8, .heads = 2, .dim_feedforward = 16, .max = {3, 5, 9}},
    {"prime", true, .d_model = 34, .heads = 2, .dim_feedforward = 67, .biases = true, .norms = true,
     .max = {1, 11, 71}},
    {"panels", .d_model = 64, .heads = 4, .dim_feedforward = 130, .biases = true, .norms = true, .panels = true,
     .max = {2, 9, 0}},
    {"panels", true, true, .d_model = 34, .heads = 2, .dim_feedforward = 67, .norms = true, .panels = true,
     .weight_dtype = VKF_DTYPE_F16, .max = {2, 5, 7}},
    {"rows apart", true, true, .d_model = 512, .heads = 2, .dim_feedforward = 512, .biases = true, .norms = true,
     .max = {2, 3, 5}},
};

static void test_layer_shapes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++)
        check(ops, &SHAPES[i]);
}

// Random masks leave rows of short runs without any key: each rule is used once.
#define MASKED .d_model = 8, .heads = 2, .dim_feedforward = 9, .biases = true, .norms = true

static const layer_case MASKS[] = {
    {"padding", MASKED, .max = {3, 6, 0}, .self_mask = {.key_kind = VKF_MASK_LENGTHS}},
    {"boolean", MASKED, .max = {2, 6, 0}, .self_mask = {VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_BOOL_EXCLUDE}},
    {"additive per head", MASKED, .max = {2, 6, 0}, .norm_first = true,
     .self_mask = {VKF_MASK_ADDITIVE, .per_head = true}, .fully_masked = VKF_FULLY_MASKED_UNIFORM},
    {"window", MASKED, .max = {2, 9, 0}, .self_mask = {.causal = VKF_CAUSAL_BOTTOM_RIGHT, .window = 3}},
    {"causal and padding", true, MASKED, .max = {2, 6, 5},
     .self_mask = {.key_kind = VKF_MASK_BOOL_ATTEND, .causal = VKF_CAUSAL_TOP_LEFT},
     .cross_mask = {.key_kind = VKF_MASK_LENGTHS}},
    {"all masks", true, true, MASKED, .max = {2, 5, 7},
     .self_mask = {.kind = VKF_MASK_BOOL_ATTEND, .per_head = true, .key_kind = VKF_MASK_ADDITIVE},
     .cross_mask = {.kind = VKF_MASK_ADDITIVE, .per_head = true, .key_kind = VKF_MASK_BOOL_EXCLUDE},
     .fully_masked = VKF_FULLY_MASKED_NAN},
    {"cross causal", true, MASKED, .max = {2, 4, 7}, .cross_mask = {.causal = VKF_CAUSAL_BOTTOM_RIGHT}},
};

static void test_layer_masks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(MASKS); i++)
        check(ops, &MASKS[i]);
}

#define HALF .weight_dtype = VKF_DTYPE_F16, .biases = true, .norms = true, .heads = 3, .dim_feedforward = 35
static const layer_case HALVES[] = {
    {"f16 encoder", HALF, .d_model = 15, .dtype = VKF_DTYPE_F16, .max = {2, 7, 0}},
    {"f16 encoder, pre-norm", HALF, .d_model = 15, .norm_first = true, .dtype = VKF_DTYPE_F16, .max = {1, 33, 0},
     .activation = VKF_ACTIVATION_GELU_ERF},
    {"f16 decoder", true, HALF, .d_model = 12, .dtype = VKF_DTYPE_F16, .max = {2, 7, 5},
     .self_mask = {.causal = VKF_CAUSAL_TOP_LEFT}, .cross_mask = {.key_kind = VKF_MASK_LENGTHS}},
    {"f16 weights alone", true, HALF, .d_model = 15, .max = {2, 5, 7}, .norm_first = true},
    {"bf16 weights", true, .weight_dtype = VKF_DTYPE_BF16, .biases = true, .norms = true, .heads = 3,
     .dim_feedforward = 35, .d_model = 15, .max = {2, 5, 7}, .norm_first = true},
};

static void test_layer_half_storage(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(HALVES); i++)
        check(ops, &HALVES[i]);
}

// By kernels that normalise what they multiply. Up to eight rows a layer has copies of its vectors for them.
#define FEW_ROWS .heads = 4, .biases = true, .norms = true, .norm_first = true
static const layer_case NORMS_LEFT_TO_PRODUCTS[] = {
    {"three products", FEW_ROWS, .d_model = 64, .dim_feedforward = 96, .max = {2, 4, 0}},
    {"one product", FEW_ROWS, .d_model = 32, .dim_feedforward = 64, .in_proj = true, .max = {1, 5, 0}},
    {"decoder", true, FEW_ROWS, .d_model = 96, .dim_feedforward = 32, .in_proj = true, .max = {2, 3, 7}},
    {"more rows", FEW_ROWS, .d_model = 64, .dim_feedforward = 96, .max = {2, 5, 0}},
    {"unequal vectors", FEW_ROWS, .d_model = 36, .dim_feedforward = 96, .max = {1, 1, 0}},
};

static void look_for_norms(const layer_case *c, const vkf_layer *layer)
{
    const bool left = c->max.batch * c->max.query_len <= 8 && c->d_model % 32 == 0;
    uint32_t norms = 0;
    for (uint32_t i = 0; i < layer->frames[0].work.plan.node_count; i++)
        norms += strncmp(layer->frames[0].work.built.nodes[i].label, "norm", 4) == 0;
    assert_int_equal(norms, left ? 0 : c->decoder ? 3 : 2);
}

static void test_norms_are_left_to_products(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (vkf_test_ops_open_variant(&ops, "gemv.")) {
        for (size_t i = 0; i < COUNT_OF(NORMS_LEFT_TO_PRODUCTS); i++)
            check_as(&ops, &NORMS_LEFT_TO_PRODUCTS[i], look_for_norms);
    }
    vkf_test_ops_close(&ops);
}

static const layer_case FEED_FORWARDS[] = {
    {"feed-forward", .d_model = 1, .dim_feedforward = 1, .biases = true, .max = {1, 1, 0}},
    {"feed-forward", .d_model = 17, .dim_feedforward = 33, .max = {2, 5, 0}, .activation = VKF_ACTIVATION_RELU},
    {"feed-forward", .d_model = 33, .dim_feedforward = 65, .biases = true, .max = {3, 23, 0},
     .activation = VKF_ACTIVATION_GELU_TANH},
    {"f16 feed-forward", .d_model = 15, .dim_feedforward = 31, .biases = true, .max = {1, 9, 0},
     .activation = VKF_ACTIVATION_GELU_ERF, .dtype = VKF_DTYPE_F16, .weight_dtype = VKF_DTYPE_F16},
    {"f16 weights alone", .d_model = 16, .dim_feedforward = 5, .max = {2, 4, 0}, .activation = VKF_ACTIVATION_TANH,
     .weight_dtype = VKF_DTYPE_F16},
    {"bf16 weights", .d_model = 16, .dim_feedforward = 37, .biases = true, .max = {2, 4, 0},
     .activation = VKF_ACTIVATION_GELU_ERF, .weight_dtype = VKF_DTYPE_BF16},
    {"panels", .d_model = 64, .dim_feedforward = 96, .biases = true, .panels = true, .max = {2, 9, 0},
     .activation = VKF_ACTIVATION_RELU},
};

static void check_feed_forward(vkf_test_ops *ops, const layer_case *c)
{
    const layer_params p = {.weight1 = vkf_test_weight(ops, c->weight_dtype, c->dim_feedforward, c->d_model),
                            .bias1 = c->biases ? vkf_test_bias(ops, c->weight_dtype, c->dim_feedforward) : NULL,
                            .weight2 = vkf_test_weight(ops, c->weight_dtype, c->d_model, c->dim_feedforward),
                            .bias2 = c->biases ? vkf_test_bias(ops, c->weight_dtype, c->d_model) : NULL};
    if (c->panels) {
        vkf_test_pack(ops, p.weight1);
        vkf_test_pack(ops, p.weight2);
    }
    const vkf_feed_forward_desc desc = {.d_model = c->d_model,
                                        .dim_feedforward = c->dim_feedforward,
                                        .activation = c->activation,
                                        .params = feed_forward_of(&p),
                                        .dtype = c->dtype,
                                        .max_sizes = c->max};
    const vkf_layer_sizes sizes[] = {c->max, {1, (c->max.query_len + 1) / 2, 0}, {1, 1, 0}, c->max};
    vkf_layer *layer = NULL;
    vkf_test_assert_ok(ops, vkf_feed_forward_create(ops->gpu.context, &desc, &layer), c->name);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        layer_run run = run_make(ops, c, &p, &sizes[i]);
        feed_forward(&run, run.x, run.stream);
        write_ports(ops, layer, &run);
        vkf_test_assert_ok(ops, vkf_layer_run(layer, &sizes[i]), "vkf_layer_run");
        compare(ops, layer, c, VKF_PORT_OUTPUT, &sizes[i], run.stream, run.count);
        run_free(&run);
    }
    assert_int_equal(vkf_layer_get_record_count(layer), 1);
    vkf_layer_destroy(&layer);
    vkf_test_ops_reset(ops);
}

static void test_feed_forward(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(FEED_FORWARDS); i++)
        check_feed_forward(ops, &FEED_FORWARDS[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_feed_forward),
        VKF_OPS_TEST(test_encoder_layer_variants),
        VKF_OPS_TEST(test_decoder_layer_variants),
        VKF_OPS_TEST(test_layer_shapes),
        VKF_OPS_TEST(test_layer_masks),
        VKF_OPS_TEST(test_layer_half_storage),
        VKF_OPS_TEST(test_norms_are_left_to_products),
    };
    const struct CMUnitTest packed[] = {VKF_OPS_TEST(test_layer_half_storage), VKF_OPS_TEST(test_feed_forward)};
    int failed = cmocka_run_group_tests_name("layer_transformer", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("layer_transformer packed", packed, vkf_test_ops_setup_packed,
                                          vkf_test_ops_teardown);
    return failed;
}
