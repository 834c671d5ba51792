// The cases of matrix products: one row and column, odd and prime sizes, one less and one more than a tile, a batch, a
// sum onto what d holds, and a product so deep that drivers end its loops early (Mesa 22.3 after 65,535 iterations).
//
// All edge shapes have one set of flags, so that a single pipeline is compiled: those with which the variant is about
// to be used, or those of a Linear with a bias. Kernels that normalise and gate are run once more with these.
#include "op/gemm_cases.h"

#include <math.h>
#include <stdio.h>

#include "base/elements.h"
#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/gemm.h"
#include "op/operators.h"
#include "op/pack.h"
#include "op/quantize_rows.h"
#include "shared/blocks.h"
#include "shared/gemm_rows.h"

#define DEEP_K 100000u
// Deep enough for the fixed cost of a dispatch to count for little; what foretells the deep product is so many times as
// deep from case to case.
#define STEADY_K 128u
#define DEEPER 8u
// So deep that sums of halves would lose bits, while no driver ends a loop early.
#define LONG_K 40000u
// The depth of products that normalise, or as many blocks. Their sums are not exact.
#define FUSED_K 36u
// So many that the products are not cut in depth, as a single one would be.
#define DEEP_BATCH 64u

// Products of fewer rows are never cut in depth; this depth is, and all parts of it are as deep.
#define SPLIT_M 9u
#define SPLIT_K 8192u

typedef struct shape {
    uint32_t m, n, k, batch;
    float beta;
} shape;

// What a product does besides.
typedef struct fusion {
    bool gate, norm;
    bool layer; // the norm is a LayerNorm
} fusion;

static bool in_blocks(const vkf__cases *c)
{
    return vkf__is_blocks(c->variant->kernel->types[1]);
}

// Whether a is in blocks.
static bool takes_quantized_rows(const vkf__cases *c)
{
    return c->variant->kernel->types[0] == VKF_DTYPE_I32;
}

static uint32_t layout_of(vkf__cases *c)
{
    static const uint32_t in_order[] = {VKF_GEMM_B_PANELS, VKF_GEMM_B_NK, VKF_GEMM_B_KN};
    const uint32_t layouts = c->variant->kernel->b_layouts, drawn = vkf__case_pick(c, 0, 3);
    if (c->spec && !in_blocks(c))
        return c->spec[VKF_GEMM_SPEC_B_LAYOUT];
    for (uint32_t i = drawn; i < drawn + 3; i++)
        if (layouts >> in_order[i % 3] & 1)
            return in_order[i % 3];
    return VKF_GEMM_B_KN;
}

// Rows of random numbers that are longer than they need to be, with `filler` in the rest.
static vkf__span padded(vkf__cases *c, vkf_dtype dtype, uint64_t rows, uint32_t used, uint32_t stride, double filler)
{
    const vkf__span span = vkf__case_floats(c, dtype, rows * stride);
    uint8_t *bytes = vkf__case_bytes(c, &span);
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t col = used; col < stride; col++)
            vkf__element_set(dtype, bytes + (row * stride + col) * vkf_dtype_size(dtype), filler);
    return span;
}

// Random elements in panels; the columns beyond n are zeros.
static vkf__span panels_of(vkf__cases *c, vkf_dtype dtype, uint32_t n, uint32_t k)
{
    vkf__span span = vkf__case_quads(c, dtype, vkf__packed_elements(n, k));
    uint8_t *last = (uint8_t *)vkf__case_bytes(c, &span) +
                    (uint64_t)n / VKF_GEMM_PANEL * VKF_GEMM_PANEL * k * vkf_dtype_size(dtype);
    for (uint64_t i = 0; n % VKF_GEMM_PANEL > 0 && i < (uint64_t)VKF_GEMM_PANEL * k; i++)
        if (i % VKF_GEMM_PANEL >= n % VKF_GEMM_PANEL)
            vkf__element_set(dtype, last + i * vkf_dtype_size(dtype), 0);
    span.panels = true;
    return span;
}

// The bits of a half that is a power of two.
static uint32_t half_power(int exponent)
{
    return (uint32_t)(15 + exponent) << 10;
}

// A tile of 32 columns. Its blocks have a scale of 2^-6 or 2^-7, and any bits as elements and zero, so that sums of
// their values are exact in float32, as those of vkf__case_floats() are. For a kernel with sums in f16 elements and
// zero have the upper half of their bits alone, and a scale of 2^-6 or 2^-5, or with nibbles of 2^-4 or 2^-3: multiples
// of 1/4, too. Columns that are not there are zeros.
static void fill_tile(vkf__cases *c, uint32_t columns, uint32_t *tile)
{
    const bool halves = c->variant->kernel->half_sums, nibbles = c->variant->kernel->types[1] == VKF_DTYPE_Q4;
    const uint32_t words = nibbles ? VKF_BLOCKS_Q4_WORDS : VKF_BLOCKS_Q8_WORDS;
    const uint32_t mask = !halves ? 0xffffffff : nibbles ? 0xcccccccc : 0xf0f0f0f0;
    const int exponent = !halves ? -7 : nibbles ? -4 : -6;
    for (uint32_t i = 0; i < VKF_BLOCKS_HEAD; i++)
        tile[i] = 0;
    for (uint32_t col = 0; col < columns; col++) {
        const uint32_t bits = vkf__case_bits(c), zero = nibbles ? bits & mask & 15 : 0;
        tile[col / 2] |= (half_power(exponent + (int)(bits >> 8 & 1)) | zero) << col % 2 * 16;
    }
    for (uint32_t i = VKF_BLOCKS_HEAD; i < words; i++)
        tile[i] =
            (i - VKF_BLOCKS_HEAD) % VKF_GEMM_PANEL >= columns ? 0 : (vkf__case_bits(c) << 8 ^ vkf__case_bits(c)) & mask;
}

static vkf__span blocks_of(vkf__cases *c, uint32_t n, uint32_t k)
{
    const vkf_dtype dtype = c->variant->kernel->types[1];
    const vkf__span span = vkf__case_panels(c, dtype, vkf__packed_elements(n, k));
    const uint32_t words = dtype == VKF_DTYPE_Q4 ? VKF_BLOCKS_Q4_WORDS : VKF_BLOCKS_Q8_WORDS;
    uint32_t *tile = vkf__case_bytes(c, &span);
    for (uint32_t first = 0; first < n; first += VKF_GEMM_PANEL)
        for (uint32_t i = 0; i < k / VKF_BLOCKS_DEPTH; i++, tile += words)
            fill_tile(c, n - first < VKF_GEMM_PANEL ? n - first : VKF_GEMM_PANEL, tile);
    return span;
}

// The scale of a block of a that is exact in bytes.
static float byte_scale(uint64_t block)
{
    return block % 3 == 1 ? 0.0625f : 0.25f;
}

// Rows of blocks of a for integer dot products: multiples of 1/4 in steps of 1/4 or 1/16. Blocks of padding are NaN.
static vkf__span quantized_rows(vkf__cases *c, uint64_t rows, uint32_t k, uint32_t lda)
{
    const uint64_t blocks = rows * lda / VKF_BLOCKS_DEPTH, in_row = lda / VKF_BLOCKS_DEPTH;
    const vkf__span span = vkf__case_ints(c, 0, 1, vkf__quantized_words(blocks * VKF_BLOCKS_DEPTH));
    uint32_t *words = vkf__case_bytes(c, &span);
    for (uint64_t i = 0; i < blocks; i++) {
        int8_t q[VKF_BLOCKS_DEPTH] = {0};
        const bool padding = i % in_row >= k / VKF_BLOCKS_DEPTH;
        for (uint32_t at = 0; at < VKF_BLOCKS_DEPTH && !padding; at++)
            q[at] = (int8_t)(vkf__case_random(c) / byte_scale(i));
        vkf__quantized_block(c->variant->kernel->types[1], padding ? NAN : byte_scale(i), q,
                             words + vkf__quantized_words(i * VKF_BLOCKS_DEPTH));
    }
    return span;
}

static uint8_t *element_of(vkf__cases *c, const vkf__span *span, uint64_t index)
{
    return (uint8_t *)vkf__case_bytes(c, span) + index * vkf_dtype_size(span->dtype);
}

// Puts 127 or -127 steps of 1/4 or 1/16 into every block of a. Such rows are exact in bytes.
static void make_bytes(vkf__cases *c, const vkf__gemm_args *args, uint64_t rows)
{
    const uint64_t blocks = args->k / VKF_BLOCKS_DEPTH;
    for (uint64_t i = 0; i < rows * blocks; i++) {
        const uint64_t at = i / blocks * args->lda + i % blocks * VKF_BLOCKS_DEPTH + 5 * i % VKF_BLOCKS_DEPTH;
        vkf__element_set(args->a.dtype, element_of(c, &args->a, at), (i % 2 == 0 ? 127.0 : -127.0) * byte_scale(i));
    }
}

// The depth of a shape for a kernel. One that is not a whole number of blocks counts blocks instead of elements.
static uint32_t depth_of(const vkf__cases *c, uint32_t k)
{
    return in_blocks(c) && k % VKF_BLOCKS_DEPTH != 0 ? k * VKF_BLOCKS_DEPTH : k;
}

// The type of a bias and, where it is the same, of a norm's weight.
static vkf_dtype bias_type(vkf__cases *c, bool normed)
{
    static const vkf_dtype beside_blocks[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};
    const vkf_dtype *types = c->variant->kernel->types;
    if (!in_blocks(c))
        return types[1];
    return beside_blocks[vkf__case_pick(c, types[0] == VKF_DTYPE_F16, normed ? 2 : 3)];
}

// Rows are as far apart as kernels want them: those of the deep product begin at multiples of 16 bytes, whatever the
// type, and others at quads or anywhere.
static uint32_t padding_of(vkf__cases *c, const shape *s, uint32_t k)
{
    if (takes_quantized_rows(c))
        return VKF_BLOCKS_DEPTH;
    return s->k == DEEP_K ? 8 : k % 4 == 0 ? 4 * (1 + vkf__case_pick(c, 0, 2)) : 1 + vkf__case_pick(c, 0, 3);
}

// Drawn cases alone, whose products are not deep: rows (k, n) of b for which a kernel is compiled, in whole panels.
static void fix_rows(vkf__cases *c, uint32_t pad, vkf__gemm_args *args)
{
    const uint32_t n = vkf__div_up_u32(args->n, VKF_GEMM_PANEL) * VKF_GEMM_PANEL;
    if (!c->draw || !c->variant->kernel->fixes_rows || args->transpose_b)
        return;
    args->fixed_rows = true;
    args->ldb = vkf__case_constant(c, VKF_GEMM_SPEC_B_ROW, n + 4 * (pad % 3));
    args->n = n < args->ldb ? n : args->ldb / VKF_GEMM_PANEL * VKF_GEMM_PANEL;
    args->ldd = args->n + 3;
}

static vkf__gemm_args args_of(vkf__cases *c, const shape *s)
{
    const vkf__kernel *kernel = c->variant->kernel;
    const uint32_t layout = layout_of(c), k = depth_of(c, s->k), pad = padding_of(c, s, k);
    const bool panels = layout == VKF_GEMM_B_PANELS, transpose_b = layout != VKF_GEMM_B_KN;
    const bool transposes = (kernel->offers & VKF_FORM_TRANSPOSED_A) && vkf__case_flip(c, false),
               after = vkf__case_flip(c, false);
    const uint32_t activation = vkf__case_pick(c, VKF_ACTIVATION_DEFAULT, 2)
                                    ? vkf__case_pick(c, 0, VKF_ACTIVATION_COUNT)
                                    : VKF_ACTIVATION_DEFAULT;
    vkf__gemm_args args = {
        .label = "gemm",
        .m = s->m,
        .n = s->n,
        .k = k,
        .batch = s->batch,
        .transpose_a = vkf__case_constant(c, VKF_GEMM_SPEC_TRANSPOSE_A, transposes),
        .lda = k + pad,
        .ldb = transpose_b ? k + pad : s->n + pad,
        .ldd = s->n + 3,
        .transpose_b = transpose_b,
        .alpha = vkf__case_factor(c, 0.5f),
        .beta = s->beta,
        .activation = (vkf_activation)vkf__case_constant(c, VKF_GEMM_SPEC_ACTIVATION, activation),
        .add_after = vkf__case_constant(c, VKF_GEMM_SPEC_ADD_AFTER, after),
        .keep_layout = !panels,
        .b = {.panels = panels},
    };
    if (args.transpose_a)
        args.lda = s->m + (k % 4 == 0 ? 4 - s->m % 4 : 1);
    fix_rows(c, pad, &args);
    return args;
}

// Where the matrices of a batch lie. A deep batch shares one a and one b. In other batches each product has a b of its
// own, unless b lies in panels; in drawn ones they may lie in two dimensions.
static void place_batch(vkf__cases *c, const shape *s, vkf__gemm_args *args)
{
    const bool one = s->k == DEEP_K,
               shared = one || args->b.panels || in_blocks(c) || args->fixed_rows || vkf__case_pick(c, 0, 4) == 3;
    const uint32_t a = (args->transpose_a ? args->k : args->m) * args->lda;
    const uint32_t b = (args->transpose_b ? args->n : args->k) * args->ldb, d = args->m * args->ldd;
    args->batch_inner = args->batch % 2 == 0 && vkf__case_flip(c, false) ? 2 : 1;
    args->a_inner = one ? 0 : a;
    args->a_outer = args->a_inner * args->batch_inner;
    args->b_inner = shared ? 0 : b;
    args->b_outer = args->b_inner * args->batch_inner;
    args->d_inner = d;
    args->d_outer = d * args->batch_inner;
    args->a_first = takes_quantized_rows(c) ? 0 : 8 * (uint64_t)vkf__case_pick(c, 0, 2);
    args->d_first = 8 * (uint64_t)vkf__case_pick(c, 0, 2);
}

// NaN fills the rest of the rows of a and b, -77 that of d's.
static void make_operands(vkf__cases *c, bool normed, vkf__gemm_args *args)
{
    const vkf_dtype *types = c->variant->kernel->types;
    const uint64_t a_rows = (uint64_t)(args->a_inner > 0 ? args->batch : 1) * (args->transpose_a ? args->k : args->m);
    const uint64_t b_rows = (uint64_t)(args->b_inner > 0 ? args->batch : 1) * (args->transpose_b ? args->n : args->k);
    const bool panels = args->b.panels, biased = vkf__case_flip(c, true);
    // Elements ahead of the first are a row of their own, as are those ahead of d's.
    if (takes_quantized_rows(c))
        args->a = quantized_rows(c, a_rows, args->k, args->lda);
    else
        args->a =
            padded(c, types[0], a_rows + (args->a_first > 0), args->transpose_a ? args->m : args->k, args->lda, NAN);
    if (c->variant->kernel->rounds_rows)
        make_bytes(c, args, a_rows + (args->a_first > 0));
    if (args->a_first > 0)
        args->a_first = args->lda;
    args->b = in_blocks(c) ? blocks_of(c, args->n, args->k)
              : panels     ? panels_of(c, types[1], args->n, args->k)
                           : padded(c, types[1], b_rows, args->transpose_b ? args->k : args->n, args->ldb, NAN);
    if (vkf__case_constant(c, VKF_GEMM_SPEC_HAS_BIAS, biased))
        args->bias = vkf__case_floats(c, bias_type(c, normed), args->n);
    const uint32_t columns = args->gate ? args->n / 2 : args->n;
    args->d = padded(c, types[2], (uint64_t)args->batch * args->m + (args->d_first > 0), columns, args->ldd, -77);
    if (args->d_first > 0)
        args->d_first = args->ldd;
}

static vkf_status run_shape(vkf__cases *c, const shape *s, double foretells)
{
    static const char *const layouts[] = {
        [VKF_GEMM_B_KN] = "(k, n)", [VKF_GEMM_B_NK] = "(n, k)", [VKF_GEMM_B_PANELS] = "panels"};
    const vkf_dtype out = c->variant->kernel->types[2];
    vkf__gemm_args args = args_of(c, s);
    place_batch(c, s, &args);
    make_operands(c, false, &args);
    vkf__case the_case = {
        .args = &args,
        .tolerance = args.activation == VKF_ACTIVATION_DEFAULT ? vkf__case_exact(out) : vkf__case_close(out),
        .foretells = foretells,
        .costly = s->k == DEEP_K,
    };
    (void)snprintf(the_case.shape, sizeof the_case.shape, "m %u, n %u, k %u, batch %u, beta %g, b in %s", args.m,
                   args.n, args.k, args.batch, (double)args.beta,
                   in_blocks(c) ? "blocks" : layouts[vkf__gemm_b_layout(&args)]);
    return vkf__case_run_as(c, &the_case);
}

static fusion fusion_of(vkf__cases *c)
{
    const vkf__kernel *kernel = c->variant->kernel;
    if (!c->spec)
        return (fusion){.gate = (kernel->offers & VKF_FORM_GATED) && vkf__case_flip(c, true),
                        .norm = (kernel->offers & VKF_FORM_NORMED) && vkf__case_flip(c, true)};
    const uint32_t norm = kernel->offers & VKF_FORM_NORMED ? c->spec[VKF_GEMM_SPEC_NORM] : VKF_GEMM_NORM_NONE;
    return (fusion){
        .gate = (kernel->offers & VKF_FORM_GATED) && c->spec[VKF_GEMM_SPEC_GATE],
        .norm = norm != VKF_GEMM_NORM_NONE,
        .layer = norm == VKF_GEMM_NORM_LAYER_F32 || norm == VKF_GEMM_NORM_LAYER_F16,
    };
}

// Moves rows away from 0, and their ends, by which kernels shift them, away from their mean. The ends of rows that have
// to stay exact in bytes are off it as they are.
static void move_rows(vkf__cases *c, const vkf__gemm_args *args)
{
    const bool rounds = c->variant->kernel->rounds_rows;
    for (uint64_t m = 0; m < args->m; m++) {
        for (uint64_t k = 0; k < args->k; k++) {
            uint8_t *at = element_of(c, &args->a, args->a_first + m * args->lda + k);
            const double by = !rounds && (k == 0 || k + 1 == args->k) ? 10 : 8;
            vkf__element_set(args->a.dtype, at, vkf__element_value(args->a.dtype, at) + by);
        }
    }
}

// Makes a norm and rows that are still exact in bytes once they are normalised, but for a factor: blocks have a mean of
// 0 where a LayerNorm is to take it off, and elements are multiplied by powers of two that are the same in a block. Of
// every third block nothing is left but what a LayerNorm adds.
static void keep_bytes(vkf__cases *c, const vkf__gemm_args *args, bool layer)
{
    const uint32_t half = VKF_BLOCKS_DEPTH / 2;
    const vkf_dtype type = args->a.dtype, norm = args->norm.weight.dtype;
    for (uint64_t i = 0; layer && i < (uint64_t)args->m * args->k; i++) {
        const uint64_t k = i % args->k, first = args->a_first + i / args->k * args->lda + k / VKF_BLOCKS_DEPTH * 32;
        uint8_t *low = element_of(c, &args->a, first + k % half),
                *high = element_of(c, &args->a, first + k % half + half);
        const double a = vkf__element_value(type, low), b = vkf__element_value(type, high);
        const double kept = fabs(a) < fabs(b) ? b : a;
        if (k % VKF_BLOCKS_DEPTH < half) {
            vkf__element_set(type, low, kept);
            vkf__element_set(type, high, -kept);
        }
    }
    for (uint64_t k = 0; k < args->k; k++) {
        uint8_t *weight = element_of(c, &args->norm.weight, k);
        const double sign = vkf__element_value(norm, weight) < 0 ? -1 : 1;
        const bool added = layer && k / VKF_BLOCKS_DEPTH % 3 == 2;
        vkf__element_set(norm, weight, added ? 0 : sign * (k / VKF_BLOCKS_DEPTH % 2 == 0 ? 1 : 0.5));
        if (layer && (!added || k % VKF_BLOCKS_DEPTH == 5))
            vkf__element_set(norm, element_of(c, &args->norm.bias, k), added ? 127.0 / 64 : 0);
    }
}

static vkf_status run_fused(vkf__cases *c, const shape *s, const fusion *f)
{
    vkf__gemm_args args = args_of(c, s);
    args.gate = f->gate;
    args.activation = c->spec || c->draw ? args.activation : VKF_ACTIVATION_RELU;
    args.beta = f->gate ? 0 : args.beta;
    args.add_after = args.add_after && !f->gate;
    place_batch(c, s, &args);
    make_operands(c, f->norm, &args);
    if (f->norm) {
        const vkf_dtype type = vkf__present(&args.bias) ? args.bias.dtype : bias_type(c, true);
        args.norm.weight = vkf__case_quads(c, type, args.k);
        args.norm.bias = vkf__case_quads(c, type, f->layer ? args.k : 0);
        if (vkf__present(&args.bias) && vkf__case_flip(c, true)) // all three are one operand of the kernel
            args.bias = vkf__case_floats(c, type, args.n);
        args.norm.eps = 0.5f;
        if (c->variant->kernel->rounds_rows)
            keep_bytes(c, &args, f->layer);
        if (f->layer)
            move_rows(c, &args);
    }
    return vkf__case_run(c, &args, vkf__case_close(c->variant->kernel->types[2]) * sqrt(args.k / (double)FUSED_K),
                         "m %u, n %u, k %u%s%s", args.m, args.n, args.k, f->gate ? ", gated" : "",
                         !f->norm   ? ""
                         : f->layer ? ", of rows after LayerNorm"
                                    : ", of rows after RMSNorm");
}

// The side of a tile, within bounds, because kernels without tiles keep other things in its place.
static uint32_t side(uint32_t tile)
{
    return tile < 2 ? 8 : tile > 256 ? 256 : tile;
}

static vkf_status draw(vkf__cases *c)
{
    const vkf__config *config = c->variant->config;
    const uint32_t most_m = config->max_m > 0 && config->max_m < 100 ? config->max_m : 100;
    const bool split = !c->caps->traits.processor && most_m > SPLIT_M && vkf__case_flip(c, false);
    // Many invocations share the depth of few rows.
    const uint32_t most_k = config->max_m > 0 ? 2500 : 250;
    shape s = {
        .m = vkf__case_size(c, 0, most_m),
        .n = vkf__case_size(c, 0, split ? 20 : 100),
        .k = vkf__case_size(c, 0, in_blocks(c) ? most_k / VKF_BLOCKS_DEPTH : most_k),
        .batch = 1 + vkf__case_pick(c, 0, 4),
        .beta = vkf__case_flip(c, false) ? vkf__case_factor(c, 0) : 0,
    };
    if (c->spec && c->variant->kernel->half_sums && vkf__case_pick(c, 0, 4) == 3)
        s = (shape){s.m < 3 ? s.m : 3, s.n < 5 ? s.n : 5, in_blocks(c) ? LONG_K / VKF_BLOCKS_DEPTH : LONG_K, 1, 0};
    else if (split) {
        s.m = s.m < SPLIT_M ? SPLIT_M : s.m > 20 ? 20 : s.m;
        s.beta = vkf__case_factor(c, 0);
        s.k = SPLIT_K - 32 * vkf__case_pick(c, 0, 64);
    }
    fusion f = fusion_of(c);
    f.layer = f.norm && vkf__case_flip(c, false);
    if (!f.gate && !f.norm)
        return run_shape(c, &s, 0);
    return run_fused(c, &(shape){s.m, (s.n + 7) / 8 * 8, (s.k + 3) / 4 * 4, 1, s.beta}, &f);
}

// A tile takes as long whatever m and n are, so a full tile of little depth tells how long the deep product takes, or,
// where that takes hardly longer than a submission of nothing, a narrow one of more depth.
static vkf_status foretell(vkf__cases *c, uint32_t rows, uint32_t tile_n, const shape *deep)
{
    shape s = {rows, tile_n, STEADY_K, 1, 0};
    for (uint32_t k = STEADY_K; k < DEEP_K / DEEPER; k *= DEEPER) {
        s.k = k;
        VKF_RETURN_IF_ERROR(run_shape(c, &s, (double)k / DEEP_K));
        s.m = deep->m;
        s.n = deep->n;
    }
    return VKF_OK;
}

vkf_status vkf__gemm_cases(vkf__cases *c)
{
    const vkf__config *config = c->variant->config;
    const uint32_t tm = side(config->tile.gemm.m), tn = side(config->tile.gemm.n);
    const shape shapes[] = {
        {1, 1, 1, 1, 0},      {1, 1, 4, 1, 0.5f},        {tm - 1, tn + 1, 20, 1, 0}, {tm + 1, tn - 1, 17, 1, 0.5f},
        {7, 13, 31, 3, 0.5f}, {5, 2 * tn + 3, 36, 2, 0},
    };
    const uint32_t rows = config->max_m > 0 && config->max_m < tm ? config->max_m : tm;
    const uint32_t deep_m = config->max_m > 0 && config->max_m < 3 ? config->max_m : 3;
    // A processor has few cores, and does not cut products in depth.
    const bool processor = c->caps->traits.processor;
    const shape deep = {deep_m, 5, DEEP_K, processor ? 1 : DEEP_BATCH, 0};
    const shape split = {SPLIT_M, 5, SPLIT_K, 2, 0.5f};
    if (c->draw)
        return draw(c);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(run_shape(c, &shapes[i], 0));
    // Rows and columns beyond a tile, in halves of which the second begins within one.
    const shape fused = {rows > 1 ? rows - 1 : rows, 8 * tn + 8, FUSED_K, 1, 0};
    fusion f = fusion_of(c);
    if (f.gate || f.norm)
        VKF_RETURN_IF_ERROR(run_fused(c, &fused, &f));
    f.layer = true;
    if (f.norm && !c->spec)
        VKF_RETURN_IF_ERROR(run_fused(c, &fused, &f));
    // A loop ends early whatever is done with its sums.
    if (c->passed)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(foretell(c, rows, tn, &deep));
    VKF_RETURN_IF_ERROR(run_shape(c, &deep, 0));
    return processor || rows < SPLIT_M ? VKF_OK : run_shape(c, &split, 0);
}
