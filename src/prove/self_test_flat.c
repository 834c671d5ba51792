// Edge shapes of the operators with one invocation per element: sizes that no workgroup divides.
#include "prove/self_test_bed.h"

#include <stdio.h>

#include "op/additive.h"
#include "op/copy.h"
#include "op/embed.h"
#include "op/gate.h"
#include "op/pack.h"
#include "op/permute.h"
#include "reference/reference.h"
#include "shared/embed.h"
#include "shared/gate.h"
#include "shared/gemm.h"

typedef struct pack_args {
    vkf__pack_args pack;
    vkf__span panels;
} pack_args;

static vkf_status emit_pack(vkf__work *work, const void *args)
{
    const pack_args *job = args;
    return vkf__emit_pack_into(work, &job->pack, &job->panels);
}

vkf_status vkf__bed_pack(vkf__bed *bed)
{
    enum { N = 37, K = 13, COUNT = 2 * VKF_GEMM_PANEL * K };
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    pack_args args = {
        .pack = {.label = "self-test", .n = N, .k = K, .ld = K + 1, .transposed = true},
    };
    args.pack.x = vkf__bed_floats(bed, types[0], values->x, (size_t)N * (K + 1));
    args.panels = vkf__bed_floats(bed, types[0], values->out, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t col = i / (VKF_GEMM_PANEL * K) * VKF_GEMM_PANEL + i % VKF_GEMM_PANEL;
        values->out[i] = col < N ? values->x[col * (K + 1) + i / VKF_GEMM_PANEL % K] : 0;
    }
    vkf__bed_case c = {.emit = emit_pack, .args = &args, .out = args.panels};
    return vkf__bed_run_values(bed, &c, values, "(37, 13) with rows of 14");
}

static vkf_status emit_permute(vkf__work *work, const void *args)
{
    return vkf__emit_permute(work, args);
}

vkf_status vkf__bed_permute(vkf__bed *bed)
{
    enum { OUTER = 2, ROWS = 7, COLS = 3, DEPTH = 11, COUNT = OUTER * ROWS * COLS * DEPTH };
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__permute_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, types[0], values->x, COUNT),
        .out = vkf__bed_floats(bed, types[0], values->out, COUNT),
        .batch = OUTER,
        .rows = ROWS,
        .cols = COLS,
        .depth = DEPTH,
    };
    vkf__ref_permute(OUTER, ROWS, COLS, DEPTH, values->x, values->out);
    vkf__bed_case c = {.emit = emit_permute, .args = &args, .out = args.out};
    return vkf__bed_run_values(bed, &c, values, "(2, 7, 3, 11)");
}

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_copy(work, args);
}

vkf_status vkf__bed_copy(vkf__bed *bed)
{
    enum { OUTER = 3, ROWS = 5, COLS = 13, COUNT = OUTER * ROWS * (COLS + 2) };
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__copy_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, types[0], values->x, (size_t)OUTER * ROWS * COLS),
        .out = vkf__bed_floats(bed, types[1], values->out, COUNT),
        .outer = OUTER,
        .rows = ROWS,
        .cols = COLS,
        .x_outer = ROWS * COLS,
        .x_row = COLS,
        .out_first = 1,
        .out_outer = ROWS * (COLS + 2),
        .out_row = COLS + 2,
        .alpha = 0.5f,
        .beta = -1.0f,
    };
    for (uint32_t row = 0; row < OUTER * ROWS; row++) {
        for (uint32_t col = 0; col < COLS; col++) {
            float *out = &values->out[1 + row * (COLS + 2) + col];
            *out = 0.5f * values->x[row * COLS + col] - *out;
        }
    }
    vkf__bed_case c = {.emit = emit_copy, .args = &args, .out = args.out, .tolerance = vkf__bed_exact(types[1])};
    return vkf__bed_run_values(bed, &c, values, "(3, 5, 13) into rows of 15");
}

static vkf_status emit_embed(vkf__work *work, const void *args)
{
    return vkf__emit_embed(work, args);
}

vkf_status vkf__bed_embed(vkf__bed *bed)
{
    enum { SEQUENCES = 2, LEN = 3, DIM = 13, VOCAB = 5, COUNT = SEQUENCES * LEN * DIM };
    static const int32_t ids[SEQUENCES * LEN] = {4, 0, 2, 99, -1, 4};
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const float *positions = vkf__bed_constant(bed, VKF_EMBED_SPEC_HAS_POSITIONS, 1) ? values->y : NULL;
    const vkf__embed_args args = {
        .label = "self-test",
        .ids = vkf__bed_ints(bed, ids, SEQUENCES * LEN),
        .table = vkf__bed_floats(bed, types[0], values->x, VOCAB * DIM),
        .positions = vkf__bed_floats(bed, VKF_DTYPE_F32, positions, (LEN + 1) * DIM),
        .out = vkf__bed_floats(bed, types[1], values->out, COUNT),
        .batch = SEQUENCES,
        .len = LEN,
        .dim = DIM,
        .vocab = VOCAB,
        .ids_stride = LEN,
        .first_position = 1,
        .scale = 2.0f,
    };
    const vkf__ref_embed_desc ref = {
        .batch = SEQUENCES,
        .len = LEN,
        .dim = DIM,
        .vocab = VOCAB,
        .ids = ids,
        .table = values->x,
        .positions = positions,
        .first_position = 1,
        .scale = 2.0f,
        .out = values->out,
    };
    vkf__ref_embed(&ref);
    vkf__bed_case c = {.emit = emit_embed, .args = &args, .out = args.out, .tolerance = vkf__bed_exact(types[1])};
    return vkf__bed_run_values(bed, &c, values, "(2, 3) ids, two of them outside, dim 13");
}

static vkf_status emit_additive(vkf__work *work, const void *args)
{
    return vkf__emit_additive(work, args);
}

vkf_status vkf__bed_additive(vkf__bed *bed)
{
    enum { SEQUENCES = 2, QUERIES = 5, KEYS = 7, DIM = 13, COUNT = SEQUENCES * QUERIES * KEYS };
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const float *v = values->y + 1024;
    const vkf__additive_args args = {
        .label = "self-test",
        .query = vkf__bed_floats(bed, types[0], values->x, (size_t)SEQUENCES * QUERIES * DIM),
        .key = vkf__bed_floats(bed, types[0], values->y, (size_t)SEQUENCES * KEYS * DIM),
        .v = vkf__bed_floats(bed, types[0], v, DIM),
        .out = vkf__bed_floats(bed, types[0], values->out, COUNT),
        .batch = SEQUENCES,
        .q_len = QUERIES,
        .k_len = KEYS,
        .dim = DIM,
    };
    vkf__ref_additive_scores(SEQUENCES, QUERIES, KEYS, DIM, values->x, values->y, v, values->out);
    // tanh() is only as accurate as the driver makes it, and Vulkan asks for little.
    vkf__bed_case c = {.emit = emit_additive, .args = &args, .out = args.out, .tolerance = 4e-3};
    return vkf__bed_run_values(bed, &c, values, "(2, 5, 7), dim 13");
}

static vkf_status emit_gate(vkf__work *work, const void *args)
{
    return vkf__emit_gate(work, args);
}

vkf_status vkf__bed_gate(vkf__bed *bed)
{
    enum { ROWS = 7, DIM = 37, COUNT = ROWS * DIM };
    vkf_dtype type = bed->variant->kernel->types[0];
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__gate_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, values->x, (size_t)2 * COUNT),
        .out = vkf__bed_floats(bed, type, values->out, COUNT),
        .rows = ROWS,
        .dim = DIM,
        .activation = (vkf_activation)vkf__bed_constant(bed, VKF_GATE_SPEC_ACTIVATION, VKF_ACTIVATION_SILU),
    };
    vkf__ref_gate(ROWS, DIM, args.activation, values->x, values->out);
    vkf__bed_case c = {.emit = emit_gate, .args = &args, .out = args.out, .tolerance = vkf__bed_close(type)};
    return vkf__bed_run_values(bed, &c, values, "(7, 74)");
}

static vkf_status emit_head_mean(vkf__work *work, const void *args)
{
    return vkf__emit_head_mean(work, args);
}

vkf_status vkf__bed_head_mean(vkf__bed *bed)
{
    enum { SEQUENCES = 3, HEADS = 3, PLANE = 53, COUNT = SEQUENCES * PLANE };
    vkf__bed_values *values = vkf__bed_make_values(bed);
    if (!values)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    const vkf__head_mean_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, VKF_DTYPE_F32, values->x, (size_t)SEQUENCES * HEADS * PLANE),
        .out = vkf__bed_floats(bed, VKF_DTYPE_F32, values->out, COUNT),
        .batch = SEQUENCES,
        .heads = HEADS,
        .plane = PLANE,
    };
    for (uint32_t i = 0; i < COUNT; i++) {
        const float *x = &values->x[i / PLANE * HEADS * PLANE + i % PLANE];
        values->out[i] = (x[0] + x[PLANE] + x[2 * PLANE]) / HEADS;
    }
    vkf__bed_case c = {.emit = emit_head_mean, .args = &args, .out = args.out, .tolerance = 1e-6};
    return vkf__bed_run_values(bed, &c, values, "(3, 3, 53)");
}
