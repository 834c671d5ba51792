// What layers refuse, when they are made and when they are used: a status, a message, and out-parameters as they were.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/layer_fixture.h"

enum { EMBED = 12, HEADS = 3, HIDDEN = 7 };

static const vkf_test_attention_dims DIMS = {EMBED, HEADS, EMBED / HEADS, EMBED / HEADS, EMBED, EMBED};
static const vkf_layer_sizes MAX_SIZES = {2, 3, 5};

static vkf_attention_desc attention_desc(vkf_test_ops *ops)
{
    const vkf_test_attention_params made = vkf_test_attention_make(ops, VKF_DTYPE_F32, &DIMS, true, true);
    vkf_attention_weights params = vkf_test_attention_tensors(&made);
    params.slopes = vkf_test_bias(ops, VKF_DTYPE_F32, HEADS)->tensor;
    params.sinks = vkf_test_bias(ops, VKF_DTYPE_F32, HEADS)->tensor;
    return (vkf_attention_desc){
        .embed_dim = EMBED,
        .num_heads = HEADS,
        .weights = true,
        .mask = {.kind = VKF_MASK_ADDITIVE, .key_kind = VKF_MASK_LENGTHS},
        .params = params,
        .max_sizes = MAX_SIZES,
        .ports = {[VKF_PORT_QUERY] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, EMBED))->tensor,
                  [VKF_PORT_OUTPUT] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, EMBED))->tensor,
                  [VKF_PORT_WEIGHTS] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 6))->tensor,
                  [VKF_PORT_MASK] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 5))->tensor,
                  [VKF_PORT_KEY_MASK] = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(2))->tensor},
    };
}

static vkf_feed_forward_weights feed_forward_weights(vkf_test_ops *ops)
{
    return (vkf_feed_forward_weights){
        .weight1 = vkf_test_weight(ops, VKF_DTYPE_F32, HIDDEN, EMBED)->tensor,
        .bias1 = vkf_test_bias(ops, VKF_DTYPE_F32, HIDDEN)->tensor,
        .weight2 = vkf_test_weight(ops, VKF_DTYPE_F32, EMBED, HIDDEN)->tensor,
        .bias2 = vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor,
    };
}

static vkf_feed_forward_desc feed_forward_desc(vkf_test_ops *ops)
{
    return (vkf_feed_forward_desc){
        .d_model = EMBED, .dim_feedforward = HIDDEN, .params = feed_forward_weights(ops), .max_sizes = MAX_SIZES};
}

static vkf_transformer_layer_desc layer_desc(vkf_test_ops *ops)
{
    const vkf_test_attention_params self = vkf_test_attention_make(ops, VKF_DTYPE_F32, &DIMS, true, false);
    const vkf_test_attention_params cross = vkf_test_attention_make(ops, VKF_DTYPE_F32, &DIMS, true, false);
    return (vkf_transformer_layer_desc){
        .d_model = EMBED,
        .num_heads = HEADS,
        .dim_feedforward = HIDDEN,
        .layer_norm_eps = 1e-5f,
        .self = vkf_test_attention_tensors(&self),
        .cross = vkf_test_attention_tensors(&cross),
        .feed_forward = feed_forward_weights(ops),
        .norm1 = {vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor, vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor},
        .norm2 = {vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor, vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor},
        .norm3 = {vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor, vkf_test_bias(ops, VKF_DTYPE_F32, EMBED)->tensor},
        .max_sizes = MAX_SIZES,
    };
}

// A kind of layer with a correct descriptor.
typedef struct layer_under_test {
    vkf_test_ops *ops;
    const char *name;
    vkf_status (*create)(vkf_context *context, const void *desc, vkf_layer **out_layer);
    vkf_status (*plan)(vkf_context *context, const void *desc, vkf_memory_plan *out_plan);
    void *desc;
} layer_under_test;

#define ADAPT(kind, type)                                                                            \
    static vkf_status create_##kind(vkf_context *context, const void *desc, vkf_layer **out_layer)   \
    {                                                                                                \
        return vkf_##kind##_create(context, (const type *)desc, out_layer);                          \
    }                                                                                                \
    static vkf_status plan_##kind(vkf_context *context, const void *desc, vkf_memory_plan *out_plan) \
    {                                                                                                \
        return vkf_##kind##_plan(context, (const type *)desc, out_plan);                             \
    }

ADAPT(attention, vkf_attention_desc)
ADAPT(feed_forward, vkf_feed_forward_desc)
ADAPT(encoder_layer, vkf_transformer_layer_desc)
ADAPT(decoder_layer, vkf_transformer_layer_desc)

static void refuse(const layer_under_test *l, vkf_status expected, const char *what)
{
    vkf_layer *const sentinel = (vkf_layer *)(void *)l->desc;
    vkf_layer *layer = sentinel;
    vkf_memory_plan plan, untouched;
    char label[128];
    (void)snprintf(label, sizeof label, "%s: %s", l->name, what);
    memset(&plan, 0x5a, sizeof plan);
    memset(&untouched, 0x5a, sizeof untouched);
    vkf_test_assert_refused(l->ops, l->create(l->ops->gpu.context, l->desc, &layer), expected, label);
    assert_ptr_equal(layer, sentinel);
    vkf_status status = l->plan(l->ops->gpu.context, l->desc, &plan);
    if (status != VKF_OK) // a plan does without buffers
        assert_memory_equal(&plan, &untouched, sizeof plan);
    l->ops->gpu.last_error[0] = '\0';
}

// The descriptor with one wrong field at a time; afterwards it is the correct one again.
static void refuse_plants(const layer_under_test *l, size_t size, const vkf_test_plant *plants, size_t count)
{
    void *correct = malloc(size);
    assert_non_null(correct);
    memcpy(correct, l->desc, size);
    for (size_t i = 0; i < count; i++) {
        vkf_test_plant_into(&plants[i], l->desc);
        refuse(l, VKF_ERROR_INVALID_ARGUMENT, plants[i].field);
        memcpy(l->desc, correct, size);
    }
    free(correct);
}

static void accept(const layer_under_test *l)
{
    vkf_layer *layer = NULL;
    vkf_test_assert_ok(l->ops, l->create(l->ops->gpu.context, l->desc, &layer), l->name);
    assert_int_equal(vkf_layer_get_record_count(layer), 1);
    vkf_layer_destroy(&layer);
    assert_null(layer);
}

static void refuse_null(const layer_under_test *l)
{
    vkf_layer *layer = NULL;
    vkf_memory_plan plan;
    vkf_context *context = l->ops->gpu.context;
    assert_int_equal(l->create(NULL, l->desc, &layer), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(l->create(context, NULL, &layer), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(l->create(context, l->desc, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(l->plan(NULL, l->desc, &plan), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(l->plan(context, NULL, &plan), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(l->plan(context, l->desc, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(layer);
}

// Every tensor of an array in turn, wrong in every way; absent ones are left out.
static void refuse_tensors(const layer_under_test *l, vkf_tensor *tensors, size_t count, const char *group)
{
    for (size_t i = 0; i < count; i++) {
        const vkf_tensor correct = tensors[i];
        for (int flaw = 0; flaw < 9 && correct.rank > 0; flaw++) {
            vkf_tensor *t = &tensors[i];
            char what[64];
            (void)snprintf(what, sizeof what, "%s %zu, flaw %d", group, i, flaw);
            switch (flaw) {
            case 0:
                t->buffer = NULL;
                break;
            case 1:
                t->dtype = t->dtype == VKF_DTYPE_I32 ? VKF_DTYPE_F32 : VKF_DTYPE_I32;
                break;
            case 2:
                t->dtype = VKF_DTYPE_COUNT;
                break;
            case 3:
                t->shape[t->rank - 1]++;
                break;
            case 4:
                t->shape[0] = 0;
                break;
            case 5:
                t->shape[t->rank - 1] = UINT32_MAX;
                break;
            case 6:
                t->rank = UINT32_MAX;
                break;
            case 7:
                t->offset_bytes = vkf_buffer_get_size(t->buffer);
                break;
            default:
                t->offset_bytes += 1;
                break;
            }
            refuse(l, VKF_ERROR_INVALID_ARGUMENT, what);
            tensors[i] = correct;
        }
    }
}

static void refuse_sizes(const layer_under_test *l, vkf_layer_sizes *sizes, bool keys)
{
    static const vkf_layer_sizes zero[] = {{0, 3, 5}, {2, 0, 5}, {2, 3, 0}};
    static const vkf_layer_sizes huge[] = {
        {UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {UINT32_MAX, 1, 1},
        {1, UINT32_MAX, 1},
        {65536, 65536, 1},
        {1, 70000, 70000},
    };
    const vkf_layer_sizes correct = *sizes;
    for (size_t i = 0; i < (keys ? 3 : 2); i++) {
        *sizes = zero[i];
        refuse(l, VKF_ERROR_INVALID_ARGUMENT, "a size of 0");
    }
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        *sizes = huge[i];
        refuse(l, VKF_ERROR_TOO_LARGE, "huge sizes");
    }
    *sizes = correct;
}

static void test_attention_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_attention_desc desc = attention_desc(ops);
    const layer_under_test l = {ops, "attention", create_attention, plan_attention, &desc};
    accept(&l);
    refuse_null(&l);
    refuse_tensors(&l, (vkf_tensor *)(void *)&desc.params, sizeof desc.params / sizeof(vkf_tensor), "parameter");
    refuse_tensors(&l, desc.ports, VKF_PORT_COUNT, "port");
    memset(desc.ports, 0, sizeof desc.ports);
    refuse_sizes(&l, &desc.max_sizes, true);
}

static const vkf_test_plant ATTENTION_PLANTS[] = {
    VKF_PLANT(vkf_attention_desc, embed_dim, 0),
    VKF_PLANT(vkf_attention_desc, num_heads, 0),
    VKF_PLANT(vkf_attention_desc, num_heads, 5), // no divisor of 12
    VKF_PLANT(vkf_attention_desc, num_heads, UINT32_MAX),
    VKF_PLANT(vkf_attention_desc, head_dim, 5), // unlike the weights
    VKF_PLANT(vkf_attention_desc, v_head_dim, 5),
    VKF_PLANT(vkf_attention_desc, kdim, 5),
    VKF_PLANT(vkf_attention_desc, vdim, UINT32_MAX),
    VKF_PLANT(vkf_attention_desc, dtype, VKF_DTYPE_I32),
    VKF_PLANT(vkf_attention_desc, dtype, VKF_DTYPE_COUNT),
    VKF_PLANT(vkf_attention_desc, mask.kind, VKF_MASK_LENGTHS), // for keys alone
    VKF_PLANT(vkf_attention_desc, mask.key_kind, VKF_MASK_KIND_COUNT),
    VKF_PLANT(vkf_attention_desc, mask.causal, VKF_CAUSAL_COUNT),
    VKF_PLANT(vkf_attention_desc, mask.per_head, 1), // unlike the port
    VKF_PLANT(vkf_attention_desc, mask.soft_cap, VKF_TEST_MINUS_ONE_BITS),
    VKF_PLANT(vkf_attention_desc, mask.soft_cap, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_attention_desc, mask.soft_cap, VKF_TEST_INFINITY_BITS),
    VKF_PLANT(vkf_attention_desc, fully_masked, VKF_FULLY_MASKED_COUNT),
    VKF_PLANT(vkf_attention_desc, params.bias_v.rank, 0), // without bias_k
    VKF_PLANT(vkf_attention_desc, params.bias_k.rank, 0),
    VKF_PLANT(vkf_attention_desc, params.q_weight.rank, 0),
    VKF_PLANT(vkf_attention_desc, params.out_weight.rank, 0),
    VKF_PLANT(vkf_attention_desc, add_zero_attn, 1), // one more column than the port has
};

static void test_attention_refuses_wrong_descriptors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_attention_desc desc = attention_desc(ops);
    const layer_under_test l = {ops, "attention", create_attention, plan_attention, &desc};
    refuse_plants(&l, sizeof desc, ATTENTION_PLANTS, COUNT_OF(ATTENTION_PLANTS));
    desc.kdim = 5;
    desc.self_attention = true;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "self attention with a kdim");
}

static const vkf_test_plant ROTARY_PLANTS[] = {
    VKF_PLANT(vkf_attention_desc, params.rotary.rank, 1),
    VKF_PLANT(vkf_attention_desc, params.rotary.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_attention_desc, params.rotary.shape[0], 2), // for three queries
    VKF_PLANT(vkf_attention_desc, params.rotary.shape[1], 3),
    VKF_PLANT(vkf_attention_desc, params.rotary.shape[1], 6), // of heads of four elements
    VKF_PLANT(vkf_attention_desc, self_attention, 0),
    VKF_PLANT(vkf_attention_desc, add_zero_attn, 1),
};

static void test_attention_refuses_wrong_rotary_tables(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_attention_desc desc = attention_desc(ops);
    const vkf_attention_weights params = desc.params;
    const layer_under_test l = {ops, "attention", create_attention, plan_attention, &desc};
    memset(desc.ports, 0, sizeof desc.ports);
    desc.self_attention = true;
    desc.params.bias_k = desc.params.bias_v = (vkf_tensor){0};
    desc.params.rotary = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(8, 8))->tensor;
    desc.params.rotary.shape[0] = 3;
    desc.params.rotary.shape[1] = 4;
    accept(&l);
    refuse_plants(&l, sizeof desc, ROTARY_PLANTS, COUNT_OF(ROTARY_PLANTS));
    desc.params.bias_k = params.bias_k;
    desc.params.bias_v = params.bias_v;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "a rotary table and bias_k");
}

// The output, or the weights, inside what the layer reads.
static void test_attention_refuses_overlapping_ports(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_attention_desc desc = attention_desc(ops);
    const vkf_attention_desc correct = desc;
    const layer_under_test l = {ops, "attention", create_attention, plan_attention, &desc};
    desc.ports[VKF_PORT_OUTPUT] = desc.ports[VKF_PORT_QUERY];
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "the output is the query");
    desc = correct;
    desc.ports[VKF_PORT_WEIGHTS].buffer = desc.ports[VKF_PORT_QUERY].buffer;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "the weights lie in the query");
    desc = correct;
    desc.ports[VKF_PORT_MASK].buffer = desc.ports[VKF_PORT_OUTPUT].buffer;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "the mask lies in the output");
}

// Products of dimensions beyond 32 bits are no invitation to allocate what is left of them.
static void test_attention_refuses_huge_dimensions(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_attention_desc desc = attention_desc(ops);
    const layer_under_test l = {ops, "attention", create_attention, plan_attention, &desc};
    memset(desc.ports, 0, sizeof desc.ports);
    desc.num_heads = 65536;
    desc.head_dim = 65536;
    refuse(&l, VKF_ERROR_TOO_LARGE, "2^32 columns");
    desc = attention_desc(ops);
    memset(desc.ports, 0, sizeof desc.ports);
    desc.add_zero_attn = true;
    desc.max_sizes = (vkf_layer_sizes){1, 1, UINT32_MAX}; // the extra keys wrap
    refuse(&l, VKF_ERROR_TOO_LARGE, "2^32 - 1 keys and two more");
}

static const vkf_test_plant FEED_FORWARD_PLANTS[] = {
    VKF_PLANT(vkf_feed_forward_desc, d_model, 0),
    VKF_PLANT(vkf_feed_forward_desc, dim_feedforward, 0),
    VKF_PLANT(vkf_feed_forward_desc, dim_feedforward, UINT32_MAX),
    VKF_PLANT(vkf_feed_forward_desc, activation, VKF_ACTIVATION_COUNT),
    VKF_PLANT(vkf_feed_forward_desc, dtype, VKF_DTYPE_BOOL),
    VKF_PLANT(vkf_feed_forward_desc, params.weight1.rank, 0),
    VKF_PLANT(vkf_feed_forward_desc, params.weight2.rank, 0),
};

static void test_feed_forward_refuses_wrong_descriptors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_feed_forward_desc desc = feed_forward_desc(ops);
    const layer_under_test l = {ops, "feed-forward", create_feed_forward, plan_feed_forward, &desc};
    accept(&l);
    refuse_null(&l);
    refuse_tensors(&l, (vkf_tensor *)(void *)&desc.params, sizeof desc.params / sizeof(vkf_tensor), "parameter");
    refuse_sizes(&l, &desc.max_sizes, false);
    refuse_plants(&l, sizeof desc, FEED_FORWARD_PLANTS, COUNT_OF(FEED_FORWARD_PLANTS));
    desc.ports[VKF_PORT_QUERY] = desc.params.bias1;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "port of a wrong shape");
}

// What both kinds of transformer layer refuse alike.
static const vkf_test_plant LAYER_PLANTS[] = {
    VKF_PLANT(vkf_transformer_layer_desc, d_model, 0),
    VKF_PLANT(vkf_transformer_layer_desc, num_heads, 0),
    VKF_PLANT(vkf_transformer_layer_desc, num_heads, 5),
    VKF_PLANT(vkf_transformer_layer_desc, d_model, UINT32_MAX),
    VKF_PLANT(vkf_transformer_layer_desc, dim_feedforward, UINT32_MAX),
    VKF_PLANT(vkf_transformer_layer_desc, layer_norm_eps, VKF_TEST_MINUS_ONE_BITS),
    VKF_PLANT(vkf_transformer_layer_desc, layer_norm_eps, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_transformer_layer_desc, activation, VKF_ACTIVATION_COUNT),
    VKF_PLANT(vkf_transformer_layer_desc, dtype, VKF_DTYPE_I32),
    VKF_PLANT(vkf_transformer_layer_desc, fully_masked, VKF_FULLY_MASKED_COUNT),
    VKF_PLANT(vkf_transformer_layer_desc, self_mask.kind, VKF_MASK_LENGTHS),
    VKF_PLANT(vkf_transformer_layer_desc, self_mask.soft_cap, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_transformer_layer_desc, cross_mask.soft_cap, VKF_TEST_MINUS_ONE_BITS),
    VKF_PLANT(vkf_transformer_layer_desc, cross_mask.causal, VKF_CAUSAL_COUNT),
    VKF_PLANT(vkf_transformer_layer_desc, cross_mask.causal, VKF_CAUSAL_LENGTHS), // without lengths
    VKF_PLANT(vkf_transformer_layer_desc, self.bias_k.rank, 3),                   // for attention alone
    VKF_PLANT(vkf_transformer_layer_desc, feed_forward.weight1.rank, 0),
    VKF_PLANT(vkf_transformer_layer_desc, norm1.weight.dtype, VKF_DTYPE_F16), // unlike the others
};

static void refuse_layer_descriptors(vkf_test_ops *ops, bool decoder)
{
    vkf_transformer_layer_desc desc = layer_desc(ops);
    const layer_under_test l = {ops, decoder ? "decoder" : "encoder",
                                decoder ? create_decoder_layer : create_encoder_layer,
                                decoder ? plan_decoder_layer : plan_encoder_layer, &desc};
    refuse_plants(&l, sizeof desc, LAYER_PLANTS, COUNT_OF(LAYER_PLANTS));
    vkf_attention_weights *attention = decoder ? &desc.cross : &desc.self;
    attention->rotary = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(3, decoder ? 4 : 6))->tensor;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, decoder ? "a rotary table of memory" : "a rotary table wider than heads");
    attention->rotary = (vkf_tensor){0};
    desc.ports[VKF_PORT_OUTPUT] = desc.norm1.weight;
    refuse(&l, VKF_ERROR_INVALID_ARGUMENT, "port of a wrong shape");
}

static void refuse_layer_tensors(vkf_test_ops *ops, bool decoder)
{
    vkf_transformer_layer_desc desc = layer_desc(ops);
    const layer_under_test l = {ops, decoder ? "decoder" : "encoder",
                                decoder ? create_decoder_layer : create_encoder_layer,
                                decoder ? plan_decoder_layer : plan_encoder_layer, &desc};
    accept(&l);
    refuse_null(&l);
    refuse_tensors(&l, (vkf_tensor *)(void *)&desc.self, sizeof desc.self / sizeof(vkf_tensor), "self");
    if (decoder)
        refuse_tensors(&l, (vkf_tensor *)(void *)&desc.cross, sizeof desc.cross / sizeof(vkf_tensor), "cross");
    refuse_tensors(&l, (vkf_tensor *)(void *)&desc.feed_forward, sizeof desc.feed_forward / sizeof(vkf_tensor),
                   "feed-forward");
    refuse_tensors(&l, (vkf_tensor *)(void *)&desc.norm1, decoder ? 6 : 4, "norm");
    refuse_sizes(&l, &desc.max_sizes, decoder);
}

static void test_encoder_layer_refuses(void **state)
{
    refuse_layer_tensors(vkf_test_ops_of(state), false);
    vkf_test_ops_clear(state);
    refuse_layer_descriptors(vkf_test_ops_of(state), false);
}

static void test_decoder_layer_refuses(void **state)
{
    refuse_layer_tensors(vkf_test_ops_of(state), true);
    vkf_test_ops_clear(state);
    refuse_layer_descriptors(vkf_test_ops_of(state), true);
}

// Sizes of a run, ports that do not exist, and more bytes than a port holds; after each the layer still works.
static void test_layer_use_is_checked(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_feed_forward_desc desc = feed_forward_desc(ops);
    static const vkf_layer_sizes wrong[] = {{0, 1, 1}, {1, 0, 1}, {3, 1, 1}, {1, 4, 1}, {UINT32_MAX, UINT32_MAX, 1}};
    vkf_layer *layer = NULL;
    vkf_tensor port = {.rank = 77};
    uint8_t bytes[2 * 3 * EMBED * 4 + 1] = {0};
    vkf_test_assert_ok(ops, vkf_feed_forward_create(ops->gpu.context, &desc, &layer), "create");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        vkf_status expected = i < 2 ? VKF_ERROR_INVALID_ARGUMENT : VKF_ERROR_TOO_LARGE;
        vkf_test_assert_refused(ops, vkf_layer_run(layer, &wrong[i]), expected, "run");
        vkf_test_assert_refused(ops, vkf_layer_set_sizes(layer, 0, &wrong[i]), expected, "set sizes");
    }
    assert_false(vkf_layer_get_port(layer, VKF_PORT_KEY, &port) || vkf_layer_get_port(layer, VKF_PORT_COUNT, &port));
    assert_int_equal(port.rank, 77);
    vkf_test_assert_refused(ops, vkf_layer_write(layer, VKF_PORT_MASK, bytes, 1), VKF_ERROR_INVALID_ARGUMENT, "write");
    vkf_test_assert_refused(ops, vkf_layer_read(layer, VKF_PORT_OUTPUT, bytes, sizeof bytes),
                            VKF_ERROR_INVALID_ARGUMENT, "too many bytes");
    vkf_test_assert_refused(ops, vkf_layer_write(layer, VKF_PORT_QUERY, bytes, UINT64_MAX), VKF_ERROR_INVALID_ARGUMENT,
                            "far too many bytes");
    vkf_test_assert_ok(ops, vkf_layer_write(layer, VKF_PORT_QUERY, bytes, sizeof bytes - 1), "write");
    vkf_test_assert_ok(ops, vkf_layer_run(layer, &MAX_SIZES), "run");
    vkf_layer_destroy(&layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_attention_refuses_wrong_tensors),
        VKF_OPS_TEST(test_attention_refuses_wrong_descriptors),
        VKF_OPS_TEST(test_attention_refuses_wrong_rotary_tables),
        VKF_OPS_TEST(test_attention_refuses_overlapping_ports),
        VKF_OPS_TEST(test_attention_refuses_huge_dimensions),
        VKF_OPS_TEST(test_feed_forward_refuses_wrong_descriptors),
        VKF_OPS_TEST(test_encoder_layer_refuses),
        VKF_OPS_TEST(test_decoder_layer_refuses),
        VKF_OPS_TEST(test_layer_use_is_checked),
    };
    return cmocka_run_group_tests_name("layer_arguments", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
