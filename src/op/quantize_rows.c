// The emitter that rounds activations to blocks, its operator's row, and how the host makes such a block.
#include "op/quantize_rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "op/activation_flag.h"
#include "op/activation_value.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/blocks.h"
#include "shared/gemm.h"
#include "shared/quantize_rows.h"

_Static_assert(VKF_QUANTIZE_ROWS_DEPTH == VKF_BLOCKS_DEPTH && VKF_QUANTIZE_ROWS_WORDS % 4 == 0,
               "blocks of activations and of weights are of one depth");

uint64_t vkf__quantized_words(uint64_t count)
{
    uint64_t blocks = count / VKF_QUANTIZE_ROWS_DEPTH;
    return blocks > UINT64_MAX / VKF_QUANTIZE_ROWS_WORDS ? UINT64_MAX : blocks * VKF_QUANTIZE_ROWS_WORDS;
}

void vkf__quantized_block(vkf_dtype weight, float scale, const int8_t q[32], uint32_t out_words[12])
{
    int32_t sum = 0;
    memset(out_words, 0, VKF_QUANTIZE_ROWS_WORDS * sizeof *out_words);
    for (uint32_t i = 0; i < VKF_QUANTIZE_ROWS_DEPTH; i++) {
        // For 4-bit weights the even elements of every eight come first, as they do when nibbles are masked.
        uint32_t at = weight == VKF_DTYPE_Q4 ? i / 8 * 8 + i % 2 * 4 + i % 8 / 2 : i;
        out_words[at / 4] |= (uint32_t)(uint8_t)q[i] << at % 4 * 8;
        sum += q[i];
    }
    const float head[] = {scale, scale * (float)sum};
    memcpy(out_words + VKF_QUANTIZE_ROWS_SCALE, head, sizeof head);
}

// But for the places of the norm's vectors, and the number of invocations.
static struct vkf_quantize_rows_params params_of(const vkf__quantize_rows_args *args)
{
    return (struct vkf_quantize_rows_params){
        .m = args->m,
        .k = args->k,
        .batch_inner = args->batch_inner > 0 ? args->batch_inner : 1,
        .x_first = (uint32_t)args->first,
        .x_row = args->ld,
        .x_outer = args->outer,
        .x_inner = args->inner,
        .norm_eps = args->norm.eps,
    };
}

static void flags_of(const vkf__quantize_rows_args *args, uint32_t out_flags[VKF_KERNEL_MAX_SPEC])
{
    out_flags[VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD] = args->weight == VKF_DTYPE_Q4;
    out_flags[VKF_QUANTIZE_ROWS_SPEC_NORM] = vkf__input_norm_flag(&args->norm);
    out_flags[VKF_QUANTIZE_ROWS_SPEC_GATE] = args->gate.wanted;
    out_flags[VKF_QUANTIZE_ROWS_SPEC_ACTIVATION] = vkf__activation_flag(args->gate.activation);
}

vkf_status vkf__emit_quantize_rows(vkf__work *work, const vkf__quantize_rows_args *args)
{
    struct vkf_quantize_rows_params params = params_of(args);
    uint32_t flags[VKF_KERNEL_MAX_SPEC] = {0};
    vkf__gemm_vectors norm = {.all = {0}};
    bool joined = vkf__gemm_join_vectors(work, &args->norm, &(vkf__span){0}, &norm);
    assert(joined && !(args->gate.wanted && vkf__present(&args->norm.weight)));
    (void)joined;
    params.norm_weight_first = norm.norm_weight_first;
    params.norm_bias_first = norm.norm_bias_first;
    flags_of(args, flags);
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_QUANTIZE_ROWS,
        .types = {args->x.dtype},
        .flags = flags,
        .bindings = {{args->x, false}, {args->out, true}, {norm.all, false}},
        .params = &params,
        .count = {args->batch, args->m, args->k / VKF_QUANTIZE_ROWS_RUN},
        .factors = 3,
        .normed = vkf__present(&args->norm.weight),
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_quantize_rows_params *p = dispatched->params;
    const double blocks = (double)p->count * VKF_QUANTIZE_ROWS_RUN / VKF_QUANTIZE_ROWS_DEPTH;
    const double elements = blocks * VKF_QUANTIZE_ROWS_DEPTH;
    const bool gated = dispatched->spec[VKF_QUANTIZE_ROWS_SPEC_GATE] != 0;
    return (vkf__account){
        .flops = (gated ? 8 : 4) * elements,
        .bytes_read = vkf__stored_bytes((gated ? 2 : 1) * elements, dispatched->kernel->types[0]),
        .bytes_written = 4 * blocks * VKF_QUANTIZE_ROWS_WORDS,
    };
}

static const vkf__typical_problem problems[] = {
    {.label = "any", .problem = {.m = 1u << 16}, .ahead = true},
    {.label = "normalised rows", .problem = {.m = 1u << 16, .wants = VKF_FORM_NORMED}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_quantize_rows(work, args);
}

// The moments of a row that is normalised; {0, 1} for others.
typedef struct row_moments {
    double mean, inverse_deviation;
} row_moments;

static bool is_layer_norm(const vkf__execution *e)
{
    return e->spec[VKF_QUANTIZE_ROWS_SPEC_NORM] >= VKF_GEMM_NORM_LAYER_F32;
}

static row_moments moments_of(const vkf__execution *e, uint64_t first)
{
    const struct vkf_quantize_rows_params *p = e->params;
    double mean = 0, variance = 0;
    if (e->spec[VKF_QUANTIZE_ROWS_SPEC_NORM] == VKF_GEMM_NORM_NONE)
        return (row_moments){0, 1};
    for (uint64_t i = 0; i < p->k && is_layer_norm(e); i++)
        mean += vkf__load(e, VKF_QUANTIZE_ROWS_BINDING_X, first + i) / p->k;
    for (uint64_t i = 0; i < p->k; i++)
        variance += pow(vkf__load(e, VKF_QUANTIZE_ROWS_BINDING_X, first + i) - mean, 2) / p->k;
    return (row_moments){mean, 1 / sqrt(variance + (double)p->norm_eps)};
}

// Element i of the row that begins at `first`, as it is rounded.
static double element_of(const vkf__execution *e, uint64_t first, uint64_t i, const row_moments *moments)
{
    const struct vkf_quantize_rows_params *p = e->params;
    const double x = vkf__load(e, VKF_QUANTIZE_ROWS_BINDING_X, first + i);
    const vkf_activation activation = (vkf_activation)e->spec[VKF_QUANTIZE_ROWS_SPEC_ACTIVATION];
    if (e->spec[VKF_QUANTIZE_ROWS_SPEC_GATE])
        return vkf__activation_value(activation, x) * vkf__load(e, VKF_QUANTIZE_ROWS_BINDING_X, first + p->k + i);
    double value = (x - moments->mean) * moments->inverse_deviation;
    if (e->spec[VKF_QUANTIZE_ROWS_SPEC_NORM] != VKF_GEMM_NORM_NONE)
        value *= vkf__load(e, VKF_QUANTIZE_ROWS_BINDING_NORM, p->norm_weight_first + i);
    return is_layer_norm(e) ? value + vkf__load(e, VKF_QUANTIZE_ROWS_BINDING_NORM, p->norm_bias_first + i) : value;
}

// Rounds a block. *margin becomes no larger than the distance of a rounded number from the border of two.
static void round_block(const vkf__execution *e, const double x[VKF_QUANTIZE_ROWS_DEPTH], uint32_t *out_words,
                        double *margin)
{
    int8_t q[VKF_QUANTIZE_ROWS_DEPTH] = {0};
    double largest = 0;
    bool finite = true;
    for (uint32_t i = 0; i < VKF_QUANTIZE_ROWS_DEPTH; i++) {
        finite = finite && isfinite(x[i]);
        largest = fmax(largest, fabs(x[i]));
    }
    const bool some = finite && largest >= (double)VKF_QUANTIZE_ROWS_LEAST;
    for (uint32_t i = 0; i < VKF_QUANTIZE_ROWS_DEPTH && some; i++) {
        const double step = x[i] * 127 / largest;
        q[i] = (int8_t)rint(step);
        const double distance = fabs(step - floor(step) - 0.5);
        *margin = distance < *margin ? distance : *margin;
    }
    // By a constant, as kernels have it: a division need not be exact there.
    const float scale = !finite ? NAN : some ? (float)largest * (1.0f / 127.0f) : 0;
    vkf__quantized_block(e->spec[VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD] ? VKF_DTYPE_Q4 : VKF_DTYPE_Q8, scale, q, out_words);
}

// Rounds all rows; stores nothing where the output is not given. Returns the least of the blocks' margins.
static double round_rows(const vkf__execution *e)
{
    const struct vkf_quantize_rows_params *p = e->params;
    const uint64_t blocks = p->count * VKF_QUANTIZE_ROWS_RUN / VKF_QUANTIZE_ROWS_DEPTH;
    double margin = 0.5, x[VKF_QUANTIZE_ROWS_DEPTH];
    uint32_t words[VKF_QUANTIZE_ROWS_WORDS];
    row_moments moments = {0};
    uint64_t row = 0, first = 0, k = 0;
    for (uint64_t block = 0; block < blocks; block++) {
        if (k == 0) {
            const uint64_t entry = row / p->m;
            first = p->x_first + entry / p->batch_inner * p->x_outer + entry % p->batch_inner * p->x_inner +
                    row % p->m * p->x_row;
            moments = moments_of(e, first);
        }
        for (uint32_t i = 0; i < VKF_QUANTIZE_ROWS_DEPTH; i++)
            x[i] = element_of(e, first, k + i, &moments);
        round_block(e, x, words, &margin);
        // The words behind the sum are not written.
        for (uint32_t i = 0; i <= VKF_QUANTIZE_ROWS_SUM; i++)
            vkf__store_word(e, VKF_QUANTIZE_ROWS_BINDING_OUT, block * VKF_QUANTIZE_ROWS_WORDS + i, words[i]);
        k += VKF_QUANTIZE_ROWS_DEPTH;
        row += k + VKF_QUANTIZE_ROWS_DEPTH > p->k;
        k = k + VKF_QUANTIZE_ROWS_DEPTH > p->k ? 0 : k;
    }
    return margin;
}

static vkf_status reference(const vkf__execution *e)
{
    (void)round_rows(e);
    return VKF_OK;
}

// No number of a case lies nearer to a border, so that rounding on the way does not decide.
#define LEAST_MARGIN 2e-3

// Whether the case's numbers lie so.
static bool is_clear(const vkf__cases *c, const vkf__quantize_rows_args *args)
{
    const vkf__span vectors =
        vkf__span_joined(&args->norm.weight, vkf__present(&args->norm.bias) ? &args->norm.bias : &args->norm.weight);
    struct vkf_quantize_rows_params params = params_of(args);
    uint32_t flags[VKF_KERNEL_MAX_SPEC] = {0};
    flags_of(args, flags);
    params.count = args->batch * args->m * args->k / VKF_QUANTIZE_ROWS_RUN;
    if (vkf__present(&args->norm.bias))
        params.norm_bias_first = (uint32_t)vkf__elements_between(&args->norm.weight, &args->norm.bias);
    const vkf__execution e = {
        .kernel = c->variant->kernel,
        .spec = flags,
        .params = &params,
        .operands = {[VKF_QUANTIZE_ROWS_BINDING_X - 1] = {vkf__case_bytes(c, &args->x), args->x.size_bytes,
                                                          args->x.dtype},
                     [VKF_QUANTIZE_ROWS_BINDING_NORM - 1] = {vkf__case_bytes(c, &vectors), vectors.size_bytes,
                                                             vectors.dtype}},
    };
    return round_rows(&e) >= LEAST_MARGIN;
}

// Makes a block whose largest magnitude is 127 times a power of two, so that it is exact in every type. Some blocks are
// zeros instead, and some hold a NaN or an infinity where `broken` says that they may.
static void make_block(vkf__cases *c, vkf_dtype type, uint64_t number, bool broken, uint8_t *at)
{
    const double scale = number % 2 == 0 ? 0.125 : 0.5;
    const uint64_t peak = number % VKF_QUANTIZE_ROWS_DEPTH;
    for (uint64_t i = 0; i < VKF_QUANTIZE_ROWS_DEPTH; i++) {
        double value = scale * (double)(vkf__case_random(c) * 64);
        if (i == peak)
            value = scale * (number % 3 == 0 ? -127 : 127);
        if (number % 7 == 3)
            value = 0;
        if (broken && number % 7 == 5 && i == peak)
            value = number % 2 == 0 ? (double)NAN : -(double)INFINITY;
        vkf__element_set(type, at + i * vkf_dtype_size(type), value);
    }
}

static void make_rows(vkf__cases *c, const vkf__quantize_rows_args *args)
{
    const bool plain = !vkf__present(&args->norm.weight) && !args->gate.wanted;
    const uint64_t blocks = (args->gate.wanted ? 2 : 1) * (args->k / VKF_QUANTIZE_ROWS_DEPTH);
    const uint64_t size = vkf_dtype_size(args->x.dtype);
    uint8_t *x = vkf__case_bytes(c, &args->x);
    for (uint64_t i = 0; i < (uint64_t)args->batch * args->m * blocks; i++) {
        const uint64_t at = args->first + i / blocks * args->ld + i % blocks * VKF_QUANTIZE_ROWS_DEPTH;
        make_block(c, args->x.dtype, i, plain, x + at * size);
    }
}

// A norm for a case. An RMSNorm whose weights are 1 changes nothing of a block but its scale.
static void make_norm(vkf__cases *c, bool wanted, vkf__quantize_rows_args *args)
{
    const uint32_t own = wanted ? 1 + vkf__case_pick(c, 0, VKF_GEMM_NORM_LAYER_F16) : VKF_GEMM_NORM_NONE;
    const uint32_t kind = vkf__case_constant(c, VKF_QUANTIZE_ROWS_SPEC_NORM, own);
    const bool half = kind == VKF_GEMM_NORM_RMS_F16 || kind == VKF_GEMM_NORM_LAYER_F16;
    const vkf_dtype type = half ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
    args->norm = (vkf__input_norm){
        .weight = vkf__case_quads(c, type, kind == VKF_GEMM_NORM_NONE ? 0 : args->k),
        .bias = vkf__case_quads(c, type, kind >= VKF_GEMM_NORM_LAYER_F32 ? args->k : 0),
        .eps = 0.5f,
    };
    for (uint32_t i = 0; i < args->k && vkf__present(&args->norm.weight) && !c->draw; i++)
        vkf__element_set(type, (uint8_t *)vkf__case_bytes(c, &args->norm.weight) + i * vkf_dtype_size(type), 1);
}

typedef struct rows_shape {
    uint32_t batch, m, blocks, gap;
} rows_shape;

enum { PLAIN, NORMED, GATED };

static vkf_status cases_of(vkf__cases *c, const rows_shape *edge, bool q4, bool norm)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t kind = vkf__case_pick(c, norm ? NORMED : PLAIN, 3);
    const bool even_odd = vkf__case_constant(c, VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD, vkf__case_flip(c, q4));
    const uint32_t activation = vkf__case_pick(c, 0, VKF_ACTIVATION_COUNT);
    vkf__quantize_rows_args args = {
        .label = "quantize_rows",
        .weight = even_odd ? VKF_DTYPE_Q4 : VKF_DTYPE_Q8,
        .batch = vkf__case_size(c, edge->batch, kind == PLAIN ? 4 : 2),
        .m = vkf__case_size(c, edge->m, kind == PLAIN ? 9 : 2), // of few numbers all may lie off the borders
        .k = vkf__case_size(c, edge->blocks, kind == PLAIN ? 5 : 3) * VKF_QUANTIZE_ROWS_DEPTH,
        .batch_inner = vkf__case_pick(c, 0, 3),
        .first = vkf__case_pick(c, 0, 5),
        .gate = {.wanted = vkf__case_constant(c, VKF_QUANTIZE_ROWS_SPEC_GATE, kind == GATED)},
    };
    if (args.gate.wanted)
        args.gate.activation = (vkf_activation)vkf__case_constant(c, VKF_QUANTIZE_ROWS_SPEC_ACTIVATION, activation);
    args.ld = (args.gate.wanted ? 2 : 1) * args.k + vkf__case_pick(c, edge->gap, 5);
    args.inner = args.m * args.ld;
    args.outer = (args.batch_inner > 0 ? args.batch_inner : 1) * args.inner;
    args.x = vkf__case_floats(c, type, args.first + (uint64_t)args.batch * args.inner);
    args.out = vkf__case_ints(c, INT32_MIN, INT32_MAX, vkf__quantized_words((uint64_t)args.batch * args.m * args.k));
    make_norm(c, kind == NORMED, &args);
    uint32_t tries = 0;
    do
        make_rows(c, &args);
    while (!is_clear(c, &args) && ++tries < 20);
    // Scales may be off by a few units in the last place where they are computed, by more behind exp().
    const double tolerance = args.gate.wanted ? 1e-7 : vkf__present(&args.norm.weight) ? 1e-8 : 0;
    if (tries < 20)
        return vkf__case_run(c, &args, tolerance, "(%u, %u, %u) with rows of %u for %s, norm %u, gate %d of %d",
                             args.batch, args.m, args.k, args.ld, vkf_dtype_name(args.weight),
                             vkf__input_norm_flag(&args.norm), args.gate.wanted, (int)args.gate.activation);
    vkf__cases_clear(c);
    return VKF_OK;
}

// One block and many, rows that begin anywhere, blocks of zeros, and blocks with a NaN or an infinity.
static vkf_status cases(vkf__cases *c)
{
    static const rows_shape shapes[] = {{1, 1, 1, 0}, {1, 3, 3, 1}, {2, 7, 4, 4}};
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, &shapes[i / 4], i % 2 == 1, i / 2 % 2 == 1));
    return VKF_OK;
}

// It writes blocks of bytes, and so has no `output`.
const vkf__op_info vkf__op_quantize_rows = {
    .params_bytes = sizeof(struct vkf_quantize_rows_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
