// Edge shapes of the operators of training with one invocation per element: sizes that no workgroup divides, in more
// than one workgroup.
#include "prove/self_test_bed.h"

#include <stdio.h>
#include <string.h>

#include "op/activation.h"
#include "op/activation_grad.h"
#include "op/additive_grad.h"
#include "op/dropout.h"
#include "op/embed_grad.h"
#include "op/gate_grad.h"
#include "op/pool_grad.h"
#include "reference/reference.h"
#include "shared/activation.h"
#include "shared/activation_grad.h"
#include "shared/gate_grad.h"

static vkf_status emit_activation(vkf__work *work, const void *args)
{
    return vkf__emit_activation(work, args);
}

vkf_status vkf__bed_activation(vkf__bed *bed)
{
    enum { ROWS = 3, DIM = 351, COUNT = ROWS * DIM };
    vkf_dtype type = bed->variant->kernel->types[0];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__activation_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, values->x, COUNT),
        .out = vkf__bed_floats(bed, type, values->out, COUNT),
        .rows = ROWS,
        .dim = DIM,
        .activation = (vkf_activation)vkf__bed_constant(bed, VKF_ACTIVATION_SPEC_ACTIVATION, VKF_ACTIVATION_GELU_ERF),
    };
    for (uint32_t i = 0; i < COUNT; i++)
        values->out[i] = (float)vkf__ref_activation(args.activation, values->x[i]);
    vkf__bed_case c = {.emit = emit_activation, .args = &args, .out = args.out, .tolerance = vkf__bed_close(type)};
    return vkf__bed_run_values(bed, &c, values, "(3, 351)");
}

static vkf_status emit_activation_grad(vkf__work *work, const void *args)
{
    return vkf__emit_activation_grad(work, args);
}

vkf_status vkf__bed_activation_grad(vkf__bed *bed)
{
    enum { ROWS = 3, DIM = 351, COUNT = ROWS * DIM };
    vkf_dtype type = bed->variant->kernel->types[0];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__activation_grad_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, values->x, COUNT),
        .dout = vkf__bed_floats(bed, type, values->y, COUNT),
        .dx = vkf__bed_floats(bed, type, values->out, COUNT),
        .rows = ROWS,
        .dim = DIM,
        .activation =
            (vkf_activation)vkf__bed_constant(bed, VKF_ACTIVATION_GRAD_SPEC_ACTIVATION, VKF_ACTIVATION_GELU_ERF),
        .accumulate = true,
    };
    for (uint32_t i = 0; i < COUNT; i++)
        values->out[i] += (float)(values->y[i] * vkf__ref_activation_slope(args.activation, values->x[i]));
    vkf__bed_case c = {.emit = emit_activation_grad, .args = &args, .out = args.dx, .tolerance = vkf__bed_close(type)};
    return vkf__bed_run_values(bed, &c, values, "(3, 351), added");
}

static vkf_status emit_gate_grad(vkf__work *work, const void *args)
{
    return vkf__emit_gate_grad(work, args);
}

vkf_status vkf__bed_gate_grad(vkf__bed *bed)
{
    enum { ROWS = 3, DIM = 331, COUNT = ROWS * DIM };
    vkf_dtype type = bed->variant->kernel->types[0];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__gate_grad_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, values->x, (size_t)2 * COUNT),
        .dout = vkf__bed_floats(bed, type, values->y, COUNT),
        .dx = vkf__bed_floats(bed, type, values->out, (size_t)2 * COUNT),
        .rows = ROWS,
        .dim = DIM,
        .activation = (vkf_activation)vkf__bed_constant(bed, VKF_GATE_GRAD_SPEC_ACTIVATION, VKF_ACTIVATION_SILU),
    };
    vkf__ref_gate_grad(ROWS, DIM, args.activation, values->x, values->y, values->out);
    vkf__bed_case c = {.emit = emit_gate_grad, .args = &args, .out = args.dx, .tolerance = vkf__bed_close(type)};
    return vkf__bed_run_values(bed, &c, values, "(3, 662)");
}

static vkf_status emit_dropout(vkf__work *work, const void *args)
{
    return vkf__emit_dropout(work, args);
}

vkf_status vkf__bed_dropout(vkf__bed *bed)
{
    enum { ROWS = 3, DIM = 351, COUNT = ROWS * DIM };
    vkf_dtype type = bed->variant->kernel->types[0];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__dropout_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, values->x, COUNT),
        .residual = vkf__bed_floats(bed, type, values->y, COUNT),
        .out = vkf__bed_floats(bed, type, values->out, COUNT),
        .rows = ROWS,
        .dim = DIM,
        .p = 0.25f,
        .seed = UINT64_C(0x123456789abcdef),
        .stream = 7,
        .step = 1000,
    };
    vkf__ref_dropout(
        &(vkf__ref_dropout_desc){COUNT, args.p, args.seed, args.stream, args.step, values->x, values->y, values->out});
    vkf__bed_case c = {.emit = emit_dropout, .args = &args, .out = args.out, .tolerance = vkf__bed_exact(type)};
    return vkf__bed_run_values(bed, &c, values, "(3, 351), a quarter dropped");
}

static vkf_status emit_embed_grad(vkf__work *work, const void *args)
{
    return vkf__emit_embed_grad(work, args);
}

// One id has more tokens than an iteration takes, one a single token, and some have none. A row is more than one part.
vkf_status vkf__bed_embed_grad(vkf__bed *bed)
{
    enum { TOKENS = 14, DIM = 131, VOCAB = 5, COUNT = VOCAB * DIM };
    static const int32_t ids[TOKENS] = {4, 0, 4, 4, 99, 4, 4, -1, 4, 4, 2, 4, 4, 4};
    vkf_dtype type = bed->variant->kernel->types[0];
    int32_t lists[3 * TOKENS + 1] = {0};
    uint32_t scratch[VOCAB];
    double sums[COUNT];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const uint32_t unique = vkf__id_order(ids, TOKENS, VOCAB, scratch, lists);
    const vkf__embed_grad_args args = {
        .label = "self-test",
        .lists = vkf__bed_ints(bed, lists, 3 * TOKENS + 1),
        .dout = vkf__bed_floats(bed, type, values->y, (size_t)TOKENS * DIM),
        .dtable = vkf__bed_floats(bed, type, values->out, COUNT),
        .tokens = TOKENS,
        .dim = DIM,
        .unique = unique,
        .vocab = VOCAB,
        .scale = 2.0f,
    };
    memset(values->out, 0, COUNT * sizeof *values->out);
    vkf__ref_embed_grad(TOKENS, DIM, VOCAB, ids, values->y, args.scale, sums, values->out);
    vkf__bed_case c = {.emit = emit_embed_grad, .args = &args, .out = args.dtable, .tolerance = vkf__bed_exact(type)};
    return vkf__bed_run_values(bed, &c, values, "14 tokens of 5 ids, two of them outside, dim 131");
}

static vkf_status emit_pool_grad(vkf__work *work, const void *args)
{
    return vkf__emit_pool_grad(work, args);
}

// One sequence is whole, one ends early, and one ahead of the first position that counts.
static vkf_status run_pool_grad(vkf__bed *bed, vkf_pooling pooling, bool normalise)
{
    enum { SEQUENCES = 3, LEN = 9, DIM = 69, FIRST = 1, COUNT = SEQUENCES * LEN * DIM };
    static const int32_t lengths[SEQUENCES] = {LEN, 4, 1};
    vkf_dtype type = bed->variant->kernel->types[0];
    float pooled[SEQUENCES * DIM];
    double grads[DIM];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__pool_grad_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, values->x, COUNT),
        .lengths = vkf__bed_ints(bed, lengths, SEQUENCES),
        .dout = vkf__bed_floats(bed, VKF_DTYPE_F32, values->y, (size_t)SEQUENCES * DIM),
        .dx = vkf__bed_floats(bed, VKF_DTYPE_F32, values->out, COUNT),
        .batch = SEQUENCES,
        .len = LEN,
        .dim = DIM,
        .first = FIRST,
        .pooling = pooling,
        .normalise = normalise,
    };
    vkf__ref_pool_grad(
        &(vkf__ref_pool_desc){SEQUENCES, LEN, DIM, values->x, lengths, pooling, normalise, pooled, FIRST}, values->y,
        grads, values->out);
    vkf__bed_case c = {.emit = emit_pool_grad, .args = &args, .out = args.dx, .tolerance = vkf__bed_close(type)};
    return vkf__bed_run_values(bed, &c, values, normalise ? "(3, 9, 69), normalised" : "(3, 9, 69)");
}

vkf_status vkf__bed_pool_grad(vkf__bed *bed)
{
    VKF_RETURN_IF_ERROR(run_pool_grad(bed, VKF_POOLING_MEAN, true));
    VKF_RETURN_IF_ERROR(run_pool_grad(bed, VKF_POOLING_MAX, false));
    return run_pool_grad(bed, VKF_POOLING_WEIGHTED_MEAN, false);
}

static vkf_status emit_additive_grad(vkf__work *work, const void *args)
{
    return vkf__emit_additive_grad(work, args);
}

// Each of the three gradients in turn.
static vkf_status run_additive_grad(vkf__bed *bed, int output)
{
    enum { SEQUENCES = 2, QUERIES = 5, KEYS = 7, DIM = 67 };
    vkf_dtype type = bed->variant->kernel->types[0];
    float dquery[SEQUENCES * QUERIES * DIM], dkey[SEQUENCES * KEYS * DIM], dv[DIM];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const float *key = values->x + SEQUENCES * QUERIES * DIM, *v = values->out;
    const vkf__additive_grad_args args = {
        .label = "self-test",
        .query = vkf__bed_floats(bed, type, values->x, (size_t)SEQUENCES * QUERIES * DIM),
        .key = vkf__bed_floats(bed, type, key, (size_t)SEQUENCES * KEYS * DIM),
        .v = vkf__bed_floats(bed, type, v, DIM),
        .dscores = vkf__bed_floats(bed, type, values->y, (size_t)SEQUENCES * QUERIES * KEYS),
        .dquery = vkf__bed_floats(bed, type, values->y, (size_t)SEQUENCES * QUERIES * DIM),
        .dkey = vkf__bed_floats(bed, type, values->y, (size_t)SEQUENCES * KEYS * DIM),
        .dv = vkf__bed_floats(bed, type, values->y, DIM),
        .batch = SEQUENCES,
        .q_len = QUERIES,
        .k_len = KEYS,
        .dim = DIM,
    };
    vkf__ref_additive_grad(
        &(vkf__ref_additive_grad_desc){SEQUENCES, QUERIES, KEYS, DIM, values->x, key, v, values->y, dquery, dkey, dv});
    const vkf__span spans[] = {args.dquery, args.dkey, args.dv};
    const float *const expected[] = {dquery, dkey, dv};
    memcpy(values->out, expected[output], spans[output].size_bytes);
    vkf__bed_case c = {
        .emit = emit_additive_grad, .args = &args, .out = spans[output], .tolerance = vkf__bed_close(type)};
    return vkf__bed_run_values(bed, &c, values, "(2, 5, 7), dim 67");
}

vkf_status vkf__bed_additive_grad(vkf__bed *bed)
{
    for (int output = 0; output < 3; output++)
        VKF_RETURN_IF_ERROR(run_additive_grad(bed, output));
    return VKF_OK;
}
