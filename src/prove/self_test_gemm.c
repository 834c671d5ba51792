// Edge shapes of matrix products: one row and column, odd and prime sizes, one less and one more than a tile, a batch,
// a sum onto what d holds, and a product so deep that drivers end its loops early (Mesa 22.3 after 65,535 iterations).
//
// All of them have one set of flags, so that a single pipeline is compiled: those with which the variant is about to be
// used, or those of a Linear with a bias. Kernels that normalise and gate are run once more with these.
#include "prove/self_test_bed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "base/size.h"
#include "op/gemm.h"
#include "op/pack.h"
#include "op/quantize_rows.h"
#include "reference/reference.h"
#include "shared/blocks.h"

#define DEEP_K 100000u
// Deep enough for the fixed cost of a dispatch to count for little.
#define STEADY_K 128u
// A time that foretells has to be so many times as long as a submission's own, and the depth is raised until it is.
#define FORETELL_LATENCIES 10
#define DEEPER 8u
#define DEEP_PATIENCE 4.0
#define FORETELL_TRIES 5u
// Of products that normalise, or as many blocks. Their sums are not exact.
#define FUSED_K 36u
// So many that the products are not cut in depth, as a single one would be.
#define DEEP_BATCH 64u

typedef struct shape {
    uint32_t m, n, k, batch;
    float beta;
} shape;

// Arrays as the reference sees them. Rows are longer than they need to be: NaN fills the rest of a and b, -77 that of
// d.
typedef struct operands {
    float *a;    // (batch, m, lda)
    float *b;    // (batch, n, ldb), or (k, n) where the kernel reads nothing else; one matrix for panels
    float *bias; // (n)
    float *d;    // (batch, m, ldd)
    float *panels;
    uint8_t *blocks; // panels of blocks, whose values b holds
    int32_t *rows;   // blocks of a, for integer dot products
} operands;

static float *padded(vkf__bed *bed, size_t rows, uint32_t used, uint32_t stride, float filler)
{
    float *values = vkf__alloc(&bed->context->host, rows * stride, sizeof *values);
    for (size_t r = 0; values && r < rows; r++) {
        for (uint32_t c = 0; c < stride; c++)
            values[r * stride + c] = c < used ? vkf__bed_random(bed) : filler;
    }
    return values;
}

static float *make_panels(vkf__bed *bed, const vkf__gemm_args *args, const float *b)
{
    float *panels = vkf__alloc(&bed->context->host, vkf__packed_elements(args->n, args->k), sizeof *panels);
    for (uint32_t n = 0; panels && n < args->n; n++) {
        float *column = panels + (size_t)n / VKF_GEMM_PANEL * VKF_GEMM_PANEL * args->k + n % VKF_GEMM_PANEL;
        for (uint32_t k = 0; k < args->k; k++)
            column[(size_t)k * VKF_GEMM_PANEL] = b[(size_t)n * args->ldb + k];
    }
    return panels;
}

// The upper byte of a half that is a power of two.
#define SCALE_BITS(exponent) (uint8_t)(60 + 4 * (exponent))

// Makes a block with a scale of 2^-6 or 2^-7, and any bits as elements and zero. Sums of its values are exact in
// float32, as those of vkf__bed_random() are. For a kernel with sums in f16 elements and zero have the upper half of
// their bits alone, and a scale of 2^-6 or 2^-5, or with nibbles of 2^-4 or 2^-3: multiples of 1/4, too.
static void random_block(vkf__bed *bed, vkf_dtype dtype, uint8_t *block)
{
    const bool halves = bed->variant->kernel->half_sums, nibbles = dtype == VKF_DTYPE_Q4;
    const uint8_t mask = !halves ? 0xff : nibbles ? 0xcc : 0xf0;
    const int exponent = !halves ? -7 : nibbles ? -4 : -6;
    size_t bytes = vkf_dtype_block_bytes(dtype);
    for (size_t i = 0; i < bytes; i++)
        block[i] = (uint8_t)(vkf__bed_random(bed) * 64 + vkf__bed_random(bed) * 4) & mask;
    block[0] = nibbles ? block[0] & 15 : 0;
    block[1] = vkf__bed_random(bed) < 0 ? SCALE_BITS(exponent + 1) : SCALE_BITS(exponent);
}

// Makes random blocks for a b of (n, ldb) in rows, which gets their values, and returns the blocks in panels.
static uint8_t *make_blocks(vkf__bed *bed, vkf_dtype dtype, const vkf__gemm_args *args, float *b)
{
    const vkf__host *host = &bed->context->host;
    const size_t row_blocks = args->k / VKF_BLOCKS_DEPTH, block_bytes = vkf_dtype_block_bytes(dtype);
    const size_t panel_bytes = VKF_GEMM_PANEL * row_blocks * block_bytes,
                 panels = vkf__div_up_u32(args->n, VKF_GEMM_PANEL);
    uint8_t *rows = vkf__alloc(host, (size_t)args->n * row_blocks, block_bytes);
    uint8_t *made = rows ? vkf__alloc(host, panels, panel_bytes) : NULL;
    for (uint32_t n = 0; made && n < args->n; n++) {
        for (size_t i = 0; i < row_blocks; i++) {
            uint8_t *block = rows + (n * row_blocks + i) * block_bytes;
            random_block(bed, dtype, block);
            vkf__blocks_to_f32(dtype, block, 1, b + (size_t)n * args->ldb + i * VKF_BLOCKS_DEPTH);
        }
    }
    for (uint32_t i = 0; made && i < panels; i++) {
        uint32_t first = i * VKF_GEMM_PANEL, left = args->n - first;
        vkf__blocks_to_panel(dtype, rows + first * row_blocks * block_bytes,
                             left < VKF_GEMM_PANEL ? left : VKF_GEMM_PANEL, args->k, made + i * panel_bytes);
    }
    vkf__free(host, rows);
    return made;
}

static size_t matrices_of(const vkf__gemm_args *args, uint32_t outer)
{
    return outer == 0 ? 1 : args->batch;
}

// Whether a is in blocks.
static bool takes_quantized_rows(const vkf__kernel *kernel)
{
    return kernel->types[0] == VKF_DTYPE_I32;
}

// Puts elements that are multiples of 1/4 into a block of scale 1/4 or 1/16. A block of padding becomes NaN, as it is
// in a.
static void quantize(vkf_dtype weight, const float *a, float scale, int32_t *out_words)
{
    int8_t q[VKF_BLOCKS_DEPTH] = {0};
    const bool padding = isnan(a[0]);
    uint32_t words[12];
    for (size_t i = 0; i < VKF_BLOCKS_DEPTH && !padding; i++)
        q[i] = (int8_t)(a[i] / scale);
    vkf__quantized_block(weight, padding ? NAN : scale, q, words);
    memcpy(out_words, words, sizeof words);
}

// The scale of a block of a that is exact in bytes; see make_bytes().
static float byte_scale(size_t block)
{
    return block % 3 == 1 ? 0.0625f : 0.25f;
}

// Puts 127 or -127 steps of 1/4 or 1/16 into every block of a. Such rows are exact in bytes.
static void make_bytes(const vkf__gemm_args *args, float *a)
{
    const size_t rows = matrices_of(args, args->a_outer) * args->m, blocks = args->k / VKF_BLOCKS_DEPTH;
    for (size_t i = 0; i < rows * blocks; i++) {
        float *block = a + i / blocks * args->lda + i % blocks * VKF_BLOCKS_DEPTH;
        block[5 * i % VKF_BLOCKS_DEPTH] = (i % 2 == 0 ? 127.0f : -127.0f) * byte_scale(i);
    }
}

static int32_t *make_rows(vkf__bed *bed, const vkf__gemm_args *args, const float *a)
{
    const size_t count = matrices_of(args, args->a_outer) * args->m * args->lda / VKF_BLOCKS_DEPTH;
    int32_t *words =
        vkf__alloc(&bed->context->host, (size_t)vkf__quantized_words(count * VKF_BLOCKS_DEPTH), sizeof *words);
    for (size_t i = 0; words && i < count; i++)
        quantize(bed->variant->kernel->types[1], a + i * VKF_BLOCKS_DEPTH, byte_scale(i),
                 words + vkf__quantized_words(i * VKF_BLOCKS_DEPTH));
    return words;
}

static uint32_t layout_of(const vkf__bed *bed)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    if (bed->spec && !vkf__is_blocks(kernel->types[1]))
        return bed->spec[VKF_GEMM_SPEC_B_LAYOUT];
    if (kernel->b_layouts >> VKF_GEMM_B_PANELS & 1)
        return VKF_GEMM_B_PANELS;
    return kernel->b_layouts >> VKF_GEMM_B_NK & 1 ? VKF_GEMM_B_NK : VKF_GEMM_B_KN;
}

// The rows of a as it is stored.
static uint32_t a_rows(const vkf__gemm_args *args)
{
    return args->transpose_a ? args->k : args->m;
}

// The depth of a shape for a kernel. One that is not a whole number of blocks counts blocks instead of elements.
static uint32_t depth_of(const vkf__kernel *kernel, uint32_t k)
{
    return vkf__is_blocks(kernel->types[1]) && k % VKF_BLOCKS_DEPTH != 0 ? k * VKF_BLOCKS_DEPTH : k;
}

static vkf__gemm_args args_of(const vkf__bed *bed, const shape *s)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    uint32_t layout = layout_of(bed);
    bool panels = layout == VKF_GEMM_B_PANELS, transpose_b = layout != VKF_GEMM_B_KN;
    uint32_t k = depth_of(kernel, s->k);
    // Rows of the deep product begin at multiples of 16 bytes, whatever the type, and others at quads or anywhere.
    uint32_t pad = takes_quantized_rows(kernel) ? VKF_BLOCKS_DEPTH : s->k == DEEP_K ? 8 : k % 4 == 0 ? 4 : 1;
    vkf__gemm_args args = {
        .label = "self-test",
        .m = s->m,
        .n = s->n,
        .k = k,
        .batch = s->batch,
        .transpose_a = vkf__bed_constant(bed, VKF_GEMM_SPEC_TRANSPOSE_A, 0),
        .lda = k + pad,
        .ldb = transpose_b ? k + pad : s->n + pad,
        .ldd = s->n + 3,
        .transpose_b = transpose_b,
        .alpha = 0.5f,
        .beta = s->beta,
        .activation = (vkf_activation)vkf__bed_constant(bed, VKF_GEMM_SPEC_ACTIVATION, VKF_ACTIVATION_DEFAULT),
        .add_after = vkf__bed_constant(bed, VKF_GEMM_SPEC_ADD_AFTER, 0),
        .keep_layout = !panels,
    };
    if (args.transpose_a)
        args.lda = s->m + (k % 4 == 0 ? 4 - s->m % 4 : 1);
    // The reference adds a residual as it is.
    if (args.add_after && s->beta != 0)
        args.beta = 1;
    // A deep batch shares one a and one b. In other batches each product has a b of its own, unless b lies in panels.
    bool one = s->k == DEEP_K;
    args.a_outer = one ? 0 : a_rows(&args) * args.lda;
    args.b_outer = one || panels ? 0 : (transpose_b ? s->n : s->k) * args.ldb;
    args.d_outer = s->m * args.ldd;
    return args;
}

static bool make_operands(vkf__bed *bed, const vkf__gemm_args *args, bool panels, operands *out)
{
    const vkf_dtype b_type = bed->variant->kernel->types[1];
    bool blocks = vkf__is_blocks(b_type);
    size_t b_rows = args->transpose_b ? args->n : args->k;
    uint32_t b_cols = args->transpose_b ? args->k : args->n;
    out->a = padded(bed, matrices_of(args, args->a_outer) * a_rows(args), args->transpose_a ? args->m : args->k,
                    args->lda, NAN);
    out->b = padded(bed, matrices_of(args, args->b_outer) * b_rows, b_cols, args->ldb, NAN);
    const bool biased = vkf__bed_constant(bed, VKF_GEMM_SPEC_HAS_BIAS, 1) > 0;
    out->bias = biased ? vkf__bed_random_values(bed, args->n) : NULL;
    out->d = padded(bed, (size_t)args->batch * args->m, args->n, args->ldd, -77.0f);
    if (out->a && bed->variant->kernel->rounds_rows)
        make_bytes(args, out->a);
    if (blocks)
        out->blocks = out->b ? make_blocks(bed, b_type, args, out->b) : NULL;
    else
        out->panels = panels && out->b ? make_panels(bed, args, out->b) : NULL;
    bool quantized = takes_quantized_rows(bed->variant->kernel);
    if (quantized)
        out->rows = out->a ? make_rows(bed, args, out->a) : NULL;
    return out->a && out->b && (out->bias || !biased) && out->d && (out->panels || out->blocks || !panels) &&
           (out->rows || !quantized);
}

static void free_operands(const vkf__host *host, operands *o)
{
    vkf__free(host, o->a);
    vkf__free(host, o->b);
    vkf__free(host, o->bias);
    vkf__free(host, o->d);
    vkf__free(host, o->panels);
    vkf__free(host, o->blocks);
    vkf__free(host, o->rows);
}

static vkf_dtype bias_type(const vkf_dtype *types)
{
    return !vkf__is_blocks(types[1]) ? types[1] : types[0] == VKF_DTYPE_I32 ? VKF_DTYPE_F32 : types[0];
}

static void lay_out(vkf__bed *bed, const operands *o, vkf__gemm_args *args)
{
    const vkf_dtype *types = bed->variant->kernel->types;
    size_t b_rows = matrices_of(args, args->b_outer) * (args->transpose_b ? args->n : args->k);
    vkf__bed_clear(bed);
    size_t a_count = matrices_of(args, args->a_outer) * a_rows(args) * args->lda;
    args->a = o->rows ? vkf__bed_ints(bed, o->rows, (size_t)vkf__quantized_words(a_count))
                      : vkf__bed_floats(bed, types[0], o->a, a_count);
    if (o->blocks)
        args->b = vkf__bed_panels(bed, types[1], o->blocks, vkf__packed_elements(args->n, args->k));
    else
        args->b = o->panels ? vkf__bed_floats(bed, types[1], o->panels, vkf__packed_elements(args->n, args->k))
                            : vkf__bed_floats(bed, types[1], o->b, b_rows * args->ldb);
    args->b.panels = o->panels || o->blocks;
    args->bias = vkf__bed_floats(bed, bias_type(types), o->bias, args->n);
    args->d = vkf__bed_floats(bed, types[2], o->d, (size_t)args->batch * args->d_outer);
}

// Turns d into the expected result.
static void expect(const vkf__gemm_args *args, operands *o)
{
    bool one = args->a_outer == 0;
    const vkf__ref_gemm_desc ref = {
        .m = args->m,
        .n = args->n,
        .k = args->k,
        .batch = one ? 1 : args->batch,
        .a = o->a,
        .b = o->b,
        .c = args->add_after ? NULL : o->d,
        .residual = args->add_after && args->beta != 0 ? o->d : NULL,
        .bias = o->bias,
        .out = o->d,
        .a_layout = {.row = args->lda, .outer = args->a_outer},
        .b_layout = {.row = args->ldb, .outer = args->b_outer},
        .out_layout = {.row = args->ldd, .outer = args->d_outer},
        .transpose_a = args->transpose_a,
        .transpose_b = args->transpose_b,
        .alpha = args->alpha,
        .beta = args->add_after ? 0 : args->beta,
        .activation = args->activation,
    };
    vkf__ref_gemm(&ref);
    for (uint32_t i = 1; one && i < args->batch; i++)
        memcpy(o->d + (size_t)i * args->d_outer, o->d, args->d_outer * sizeof *o->d);
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

static vkf_status check(vkf__bed *bed, const shape *s)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    vkf_status status = VKF_OK;
    operands o = {0};
    vkf__gemm_args args = args_of(bed, s);
    static const char *const layouts[] = {
        [VKF_GEMM_B_KN] = "(k, n)", [VKF_GEMM_B_NK] = "(n, k)", [VKF_GEMM_B_PANELS] = "panels"};
    if (make_operands(bed, &args, layout_of(bed) == VKF_GEMM_B_PANELS, &o)) {
        lay_out(bed, &o, &args);
        if (!bed->gathering)
            expect(&args, &o);
        vkf__bed_case c = {
            .emit = emit,
            .args = &args,
            .out = args.d,
            .expected = o.d,
            .tolerance = args.activation == VKF_ACTIVATION_DEFAULT ? vkf__bed_exact(kernel->types[2])
                                                                   : vkf__bed_close(kernel->types[2]),
            .patience = s->k == DEEP_K ? DEEP_PATIENCE : 1,
            .foretells = s->k % STEADY_K == 0,
            .costly = s->k == DEEP_K,
        };
        (void)snprintf(c.shape, sizeof c.shape, "m %u, n %u, k %u, batch %u, beta %g, b in %s", s->m, s->n, args.k,
                       s->batch, (double)args.beta, layouts[layout_of(bed)]);
        status = vkf__bed_run(bed, &c);
    } else {
        status = vkf__fail(&bed->context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    }
    free_operands(&bed->context->host, &o);
    return status;
}

// Turns a into its normalised rows; without a bias by RMSNorm.
static void normalise(const vkf__gemm_args *args, const float *weight, const float *bias, operands *o)
{
    for (uint32_t m = 0; m < args->m; m++) {
        float *row = o->a + (size_t)m * args->lda;
        vkf__ref_layer_norm(&(vkf__ref_layer_norm_desc){
            .rows = 1,
            .dim = args->k,
            .x = row,
            .weight = weight,
            .bias = bias,
            .out = row,
            .eps = args->norm.eps,
            .rms = !bias,
        });
    }
}

// Turns d into the expected result, in the first half of its columns. `plain` is the product without the gate.
static vkf_status expect_gated(vkf__bed *bed, const vkf__gemm_args *plain, vkf_activation activation, operands *o)
{
    vkf_status status = VKF_OK;
    const uint32_t dim = plain->n / 2;
    float *made = NULL;
    VKF_ALLOC(&bed->context->host, made, (size_t)plain->m * plain->ldd);
    operands product = *o;
    product.d = made;
    expect(plain, &product);
    for (uint32_t m = 0; m < plain->m; m++)
        vkf__ref_gate(1, dim, activation, made + (size_t)m * plain->ldd, o->d + (size_t)m * plain->ldd);
fail:
    vkf__free(&bed->context->host, made);
    return status;
}

// What a product does besides.
typedef struct fusion {
    bool gate, norm;
    bool layer; // the norm is a LayerNorm
} fusion;

static fusion fusion_of(const vkf__bed *bed)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    if (!bed->spec)
        return (fusion){.gate = kernel->gates, .norm = kernel->norms};
    const uint32_t norm = kernel->norms ? bed->spec[VKF_GEMM_SPEC_NORM] : VKF_GEMM_NORM_NONE;
    return (fusion){
        .gate = kernel->gates && bed->spec[VKF_GEMM_SPEC_GATE],
        .norm = norm != VKF_GEMM_NORM_NONE,
        .layer = norm == VKF_GEMM_NORM_LAYER_F32 || norm == VKF_GEMM_NORM_LAYER_F16,
    };
}

// `norm` has the weight of the norm, (k), and with `layer` its bias behind it.
static vkf_status run_fused(vkf__bed *bed, const vkf__gemm_args *plain, bool layer, operands *o, const float *norm)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    const fusion f = fusion_of(bed);
    vkf__gemm_args args = *plain, product = *plain;
    lay_out(bed, o, &args);
    args.gate = f.gate;
    args.activation = bed->spec ? plain->activation : VKF_ACTIVATION_RELU;
    if (f.norm) {
        const float *norm_bias = layer ? norm + args.k : NULL;
        args.norm.weight = vkf__bed_floats(bed, bias_type(kernel->types), norm, args.k);
        args.norm.bias = vkf__bed_floats(bed, bias_type(kernel->types), norm_bias, args.k);
        args.norm.eps = 0.5f;
        normalise(&args, norm, norm_bias, o);
    }
    if (f.gate) {
        product.activation = VKF_ACTIVATION_DEFAULT;
        VKF_RETURN_IF_ERROR(expect_gated(bed, &product, args.activation, o));
    } else {
        expect(&product, o);
    }
    vkf__bed_case c = {
        .emit = emit,
        .args = &args,
        .out = args.d,
        .expected = o->d,
        .tolerance = vkf__bed_close(kernel->types[2]) * sqrt(args.k / (double)FUSED_K),
    };
    (void)snprintf(c.shape, sizeof c.shape, "m %u, n %u, k %u%s%s", args.m, args.n, args.k, f.gate ? ", gated" : "",
                   !f.norm ? ""
                   : layer ? ", of rows after LayerNorm"
                           : ", of rows after RMSNorm");
    return vkf__bed_run(bed, &c);
}

// Moves rows away from 0, and their ends, by which kernels shift them, away from their mean. The ends of rows that have
// to stay exact in bytes are off it as they are.
static void move_rows(const vkf__gemm_args *args, bool rounds, operands *o)
{
    for (uint32_t m = 0; m < args->m; m++) {
        float *row = o->a + (size_t)m * args->lda;
        for (uint32_t k = 0; k < args->k; k++)
            row[k] += !rounds && (k == 0 || k + 1 == args->k) ? 10 : 8;
    }
}

// Makes a norm and rows that are still exact in bytes once they are normalised, but for a factor: blocks have a mean of
// 0 where a LayerNorm is to take it off, elements are multiplied by powers of two that are the same in a block, and
// nothing is added.
static void keep_bytes(const vkf__gemm_args *args, bool layer, operands *o, float *norm)
{
    const uint32_t half = VKF_BLOCKS_DEPTH / 2;
    for (uint32_t m = 0; layer && m < args->m; m++) {
        float *row = o->a + (size_t)m * args->lda;
        for (uint32_t k = 0; k < args->k; k++)
            row[k] = k / half % 2 == 1 ? -row[k - half] : fabsf(row[k]) < fabsf(row[k + half]) ? row[k + half] : row[k];
    }
    for (uint32_t k = 0; k < args->k; k++) {
        norm[k] = (norm[k] < 0 ? -1.0f : 1.0f) * (k / VKF_BLOCKS_DEPTH % 2 == 0 ? 1.0f : 0.5f);
        norm[args->k + k] = 0;
    }
}

static vkf_status check_fused(vkf__bed *bed, const shape *s, bool layer)
{
    vkf_status status = VKF_OK;
    operands o = {0};
    const vkf__gemm_args args = args_of(bed, s);
    float *norm = vkf__bed_random_values(bed, 2 * (size_t)args.k);
    if (norm && make_operands(bed, &args, layout_of(bed) == VKF_GEMM_B_PANELS, &o)) {
        if (bed->variant->kernel->rounds_rows)
            keep_bytes(&args, layer, &o, norm);
        if (layer)
            move_rows(&args, bed->variant->kernel->rounds_rows, &o);
        status = run_fused(bed, &args, layer, &o, norm);
    } else {
        status = vkf__fail(&bed->context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    }
    vkf__free(&bed->context->host, norm);
    free_operands(&bed->context->host, &o);
    return status;
}

// The side of a tile, within bounds, because kernels without tiles keep other things in its place.
static uint32_t side(uint32_t tile)
{
    return tile < 2 ? 8 : tile > 256 ? 256 : tile;
}

// The fastest of some runs of a shape, until it is fast enough for the deep product.
static vkf_status best_of_tries(vkf__bed *bed, const shape *s, double enough_ns, double *out_ns)
{
    double best = 0;
    for (uint32_t i = 0; i < FORETELL_TRIES; i++) {
        VKF_RETURN_IF_ERROR(check(bed, s));
        best = i == 0 || bed->best_ns < best ? bed->best_ns : best;
        if (best <= enough_ns)
            break;
    }
    *out_ns = best;
    return VKF_OK;
}

// Predicts whether the deep product takes too long, so that a kernel that is far too slow for it does not hang the
// device. A tile takes as long whatever m and n are, so a full tile of little depth tells, or, where that takes hardly
// longer than a submission of nothing, a narrow one of more depth.
static vkf_status foretell_deep(vkf__bed *bed, const shape *steady, const shape *deep)
{
    const double budget_ns = DEEP_PATIENCE * (double)bed->context->self_test_budget_ns;
    shape s = *steady;
    for (uint32_t k = STEADY_K; k < DEEP_K / DEEPER; k *= DEEPER) {
        double best = 0;
        s.k = k;
        VKF_RETURN_IF_ERROR(best_of_tries(bed, &s, budget_ns * k / DEEP_K, &best));
        if (bed->verdict != VKF_VERDICT_PASSED || bed->stopped || best * DEEP_K / k <= budget_ns)
            return VKF_OK;
        if (best >= FORETELL_LATENCIES * bed->latency_ns) {
            char what[64];
            (void)snprintf(what, sizeof what, "k %u, by what %u took", DEEP_K, k);
            vkf__bed_foretold_slow(bed, what, best * DEEP_K / k, DEEP_PATIENCE);
            return VKF_OK;
        }
        s.m = deep->m;
        s.n = deep->n;
    }
    return VKF_OK;
}

vkf_status vkf__bed_gemm(vkf__bed *bed)
{
    const vkf__config *config = bed->variant->config;
    const uint32_t tm = side(config->tile.gemm.m), tn = side(config->tile.gemm.n);
    const shape shapes[] = {
        {1, 1, 1, 1, 0},      {1, 1, 4, 1, 0.5f},        {tm - 1, tn + 1, 20, 1, 0}, {tm + 1, tn - 1, 17, 1, 0.5f},
        {7, 13, 31, 3, 0.5f}, {5, 2 * tn + 3, 36, 2, 0},
    };
    const uint32_t rows = config->max_m > 0 && config->max_m < tm ? config->max_m : tm;
    const shape steady = {rows, tn, STEADY_K, 1, 0};
    const uint32_t deep_m = config->max_m > 0 && config->max_m < 3 ? config->max_m : 3;
    // A processor has few cores, and does not cut products in depth.
    const bool processor = bed->context->device.plan.caps.traits.processor;
    const shape deep = {deep_m, 5, DEEP_K, processor ? 1 : DEEP_BATCH, 0};
    const shape split = {deep_m, 5, DEEP_K, 1, 0};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, &shapes[i]));
    // Rows and columns beyond a tile, in halves of which the second begins within one.
    const shape fused = {rows > 1 ? rows - 1 : rows, 8 * tn + 8, FUSED_K, 1, 0};
    const fusion f = fusion_of(bed);
    if (f.gate || f.norm)
        VKF_RETURN_IF_ERROR(check_fused(bed, &fused, f.layer));
    if (f.norm && !bed->spec)
        VKF_RETURN_IF_ERROR(check_fused(bed, &fused, true));
    // A loop ends early whatever is done with its sums.
    if (bed->passed && bed->case_count > 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(foretell_deep(bed, &steady, &deep));
    VKF_RETURN_IF_ERROR(check(bed, &deep));
    if (!processor)
        VKF_RETURN_IF_ERROR(check(bed, &split));
    return VKF_OK;
}
