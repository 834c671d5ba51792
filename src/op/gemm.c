// Emits a matrix product: decides whether its factors are packed or rounded first, chooses a kernel, and cuts what the
// device cannot do in one dispatch.
#include "op/gemm.h"

#include <assert.h>
#include <inttypes.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "base/size.h"
#include "op/activation_flag.h"
#include "op/gemm_cases.h"
#include "op/gemm_dot.h"
#include "op/gemm_split.h"
#include "op/operators.h"
#include "op/pack.h"
#include "shared/blocks.h"
#include "shared/gemm.h"
#include "shared/gemm_rounds.h"
#include "shared/gemm_rows.h"
#include "shared/quantize_rows.h"

// Deeper products are cut, because Mesa 22.3 ends a kernel's loops after 65,535 iterations: see gemm_tile.comp.
#define MAX_DEPTH 131072u

_Static_assert(VKF_BLOCK == VKF_BLOCKS_DEPTH && VKF_BLOCK_PANEL == VKF_GEMM_PANEL &&
                   VKF_Q8_BLOCK_BYTES * VKF_BLOCK_PANEL == 4 * VKF_BLOCKS_Q8_WORDS &&
                   VKF_Q4_BLOCK_BYTES * VKF_BLOCK_PANEL == 4 * VKF_BLOCKS_Q4_WORDS,
               "blocks are not the same on the host and in shaders");

static uint64_t elements(const vkf__span *span)
{
    return vkf__elements_in(span->dtype, span->size_bytes);
}

// Offsets and strides reach the shader as 32-bit element counts.
static vkf_status check_addresses(const vkf__work *work, const vkf__gemm_args *args)
{
    const vkf__span *spans[] = {&args->a, &args->b, &args->d};
    for (size_t i = 0; i < 3; i++) {
        if (elements(spans[i]) > UINT32_MAX)
            return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE,
                             "%s.%s: an operand of %" PRIu64 " bytes has more than 2^32 elements", work->name,
                             args->label, spans[i]->size_bytes);
    }
    return VKF_OK;
}

// A weight in blocks must lie in panels, consist of whole blocks, be one matrix for the whole batch, and begin where 16
// bytes can be read at once. The other factor must not be transposed.
static vkf_status check_blocks(const vkf__work *work, const vkf__gemm_args *args)
{
    const vkf__span *b = &args->b;
    bool whole = b->panels && args->k % VKF_BLOCKS_DEPTH == 0 && args->b_outer == 0 && args->b_inner == 0;
    if (!vkf__is_blocks(b->dtype) || (whole && b->offset_bytes % VKF_BLOCKS_ALIGNMENT == 0 && !args->transpose_a))
        return VKF_OK;
    return vkf__fail(
        work->context->device.host, VKF_ERROR_UNSUPPORTED,
        "%s.%s: a factor of type %s must be a weight in panels, of a depth that 32 divides, from a multiple "
        "of 16 bytes on, and the other one not transposed",
        work->name, args->label, vkf_dtype_name(b->dtype));
}

// A part of the product: columns of d, and the depth that is summed over.
typedef struct slice {
    uint32_t n_first, n_count;
    uint32_t k_first, k_count;
    bool first, last; // in depth: the first applies beta, the last adds the bias and applies the activation
} slice;

// Columns [n_first, n_first + n_count) of b in panels; n_first is a multiple of a panel's width. A cut in depth only
// moves the beginning, because panels stay as far apart as in the whole b.
static vkf__span b_panels(const vkf__gemm_args *args, const slice *s)
{
    uint64_t first = (uint64_t)s->n_first * args->k + (uint64_t)s->k_first * VKF_GEMM_PANEL;
    uint64_t end = vkf__packed_elements(s->n_first + s->n_count, args->k);
    return vkf__span_part(&args->b, first, end - first);
}

static vkf__span b_slice(const vkf__gemm_args *args, const slice *s)
{
    if (args->b.panels)
        return b_panels(args, s);
    bool whole = s->n_count == args->n && s->k_count == args->k;
    uint64_t first = args->transpose_b ? (uint64_t)s->n_first * args->ldb + s->k_first
                                       : (uint64_t)s->k_first * args->ldb + s->n_first;
    uint64_t all = elements(&args->b);
    if (whole || first >= all)
        return args->b;
    // Only a shared b is cut along n. Its rows then follow each other, and the slice ends with its last row.
    uint64_t count = s->n_count < args->n ? (uint64_t)s->n_count * args->ldb - s->k_first : all - first;
    return vkf__span_part(&args->b, first, count < all - first ? count : all - first);
}

uint32_t vkf__gemm_b_layout(const vkf__gemm_args *args)
{
    return args->b.panels ? VKF_GEMM_B_PANELS : args->transpose_b ? VKF_GEMM_B_NK : VKF_GEMM_B_KN;
}

uint32_t vkf__gemm_layout_flag(vkf_dtype b, uint32_t b_layout)
{
    return b == VKF_DTYPE_Q8 ? VKF_GEMM_B_Q8 : b == VKF_DTYPE_Q4 ? VKF_GEMM_B_Q4 : b_layout;
}

uint32_t vkf__gemm_bias_flag(vkf_dtype b, const vkf__span *bias)
{
    if (!vkf__present(bias) || !vkf__is_blocks(b))
        return vkf__present(bias);
    return bias->dtype == VKF_DTYPE_F16    ? VKF_BLOCKS_BIAS_F16
           : bias->dtype == VKF_DTYPE_BF16 ? VKF_BLOCKS_BIAS_BF16
                                           : VKF_BLOCKS_BIAS_F32;
}

struct vkf_gemm_params vkf__gemm_factors(const vkf__gemm_args *args)
{
    return (struct vkf_gemm_params){
        .m = args->m,
        .n = args->n,
        .k = args->k,
        .batch = args->batch,
        .batch_inner = args->batch_inner > 0 ? args->batch_inner : 1,
        .lda = args->lda,
        .ldb = args->b.panels ? args->k * VKF_GEMM_PANEL : args->ldb,
        .a_outer = args->a_outer,
        .a_inner = args->a_inner,
        .b_outer = args->b_outer,
        .b_inner = args->b_inner,
        .a_first = (uint32_t)args->a_first,
        .alpha = 1.0f,
        .splits = 1,
        .split_k = args->k,
        .d_n = args->gate ? args->n / 2 : args->n,
        .norm_eps = args->norm.eps,
    };
}

static struct vkf_gemm_params slice_params(const vkf__gemm_args *args, const slice *s)
{
    struct vkf_gemm_params params = vkf__gemm_factors(args);
    params.n = s->n_count;
    params.d_n = args->gate ? s->n_count / 2 : s->n_count;
    params.k = params.split_k = s->k_count;
    params.a_first = (uint32_t)(args->a_first + (uint64_t)s->k_first * (args->transpose_a ? args->lda : 1));
    params.ldd = args->ldd;
    params.d_first = (uint32_t)(args->d_first + s->n_first);
    params.d_outer = args->d_outer;
    params.d_inner = args->d_inner;
    params.alpha = args->alpha;
    params.beta = s->first ? args->beta : 1.0f;
    return params;
}

uint32_t vkf__input_norm_flag(const vkf__input_norm *norm)
{
    if (!vkf__present(&norm->weight))
        return VKF_GEMM_NORM_NONE;
    const bool half = norm->weight.dtype == VKF_DTYPE_F16;
    if (vkf__present(&norm->bias))
        return half ? VKF_GEMM_NORM_LAYER_F16 : VKF_GEMM_NORM_LAYER_F32;
    return half ? VKF_GEMM_NORM_RMS_F16 : VKF_GEMM_NORM_RMS_F32;
}

bool vkf__gemm_join_vectors(const vkf__work *work, const vkf__input_norm *norm, const vkf__span *bias,
                            vkf__gemm_vectors *out_vectors)
{
    vkf__gemm_vectors v = {.all = {0}};
    const vkf__span *spans[] = {&norm->weight, &norm->bias, bias};
    uint32_t *firsts[] = {&v.norm_weight_first, &v.norm_bias_first, &v.bias_first};
    const vkf__span *first = NULL, *last = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (!vkf__present(spans[i]))
            continue;
        first = !first || spans[i]->offset_bytes < first->offset_bytes ? spans[i] : first;
        last = !last || spans[i]->offset_bytes > last->offset_bytes ? spans[i] : last;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!vkf__present(spans[i]) || spans[i] == first)
            continue;
        // Tensors of a plan may all have no buffer and the same offset.
        if (!vkf__is_one_operand(work, first, spans[i]) || spans[i]->offset_bytes == first->offset_bytes)
            return false;
        *firsts[i] = (uint32_t)vkf__elements_between(first, spans[i]);
    }
    if (first)
        v.all = vkf__span_joined(first, last);
    *out_vectors = v;
    return true;
}

static vkf_status emit_slice(vkf__work *work, const vkf__gemm_args *args, const vkf__variant *variant, const slice *s)
{
    struct vkf_gemm_params params = slice_params(args, s);
    const vkf__span none = {0};
    vkf__gemm_vectors vectors = {.all = none};
    vkf__span bias = s->last ? args->bias : none;
    if (vkf__present(&bias) && s->n_count < args->n)
        bias = vkf__span_part(&bias, s->n_first, s->n_count);
    bool joined = vkf__gemm_join_vectors(work, &args->norm, &bias, &vectors);
    assert(joined);
    (void)joined;
    params.norm_weight_first = vectors.norm_weight_first;
    params.norm_bias_first = vectors.norm_bias_first;
    params.bias_first = vectors.bias_first;
    uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_GEMM_SPEC_TRANSPOSE_A] = args->transpose_a,
        [VKF_GEMM_SPEC_B_LAYOUT] = vkf__gemm_layout_flag(args->b.dtype, vkf__gemm_b_layout(args)),
        [VKF_GEMM_SPEC_ACTIVATION] = s->last ? vkf__activation_flag(args->activation) : VKF_SHADER_ACTIVATION_NONE,
        [VKF_GEMM_SPEC_HAS_BIAS] = vkf__gemm_bias_flag(args->b.dtype, &bias),
        [VKF_GEMM_SPEC_ADD_AFTER] = args->add_after,
        [VKF_GEMM_SPEC_GATE] = args->gate,
        [VKF_GEMM_SPEC_NORM] = vkf__input_norm_flag(&args->norm),
        [VKF_GEMM_SPEC_KEPT_BLOCKS] = args->k > 0 ? args->k / VKF_BLOCKS_DEPTH : 1, // no array has length 0
    };
    if (variant->kernel->fixes_rows)
        flags[VKF_GEMM_SPEC_B_ROW] = args->b.panels ? VKF_GEMM_PANEL : args->ldb;
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint32_t x = vkf__div_up_u32(s->n_count, variant->config->tile.gemm.n), z_limit = caps->max_workgroup_count_z;
    if (variant->kernel->walks_columns && x > caps->max_workgroup_count_x)
        x = caps->max_workgroup_count_x;
    const vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->a, false}, {b_slice(args, s), false}, {args->d, true}, {vectors.all, false}},
        .params = &params,
        .grid = {x, vkf__div_up_u32(args->m, variant->config->tile.gemm.m),
                 args->batch < z_limit ? args->batch : z_limit},
    };
    return vkf__work_dispatch(work, &dispatch);
}

// Emits columns [n_first, n_first + n_count) of d, in as many steps of depth as the maximum sizes need.
static vkf_status emit_columns(vkf__work *work, const vkf__gemm_args *args, const vkf__variant *variant,
                               uint32_t n_first, uint32_t n_count)
{
    uint64_t steps = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, args->k > MAX_DEPTH ? vkf__div_up_u32(args->k, MAX_DEPTH) : 1, &steps));
    if (steps > 1 && args->add_after && vkf__activation_flag(args->activation) != VKF_SHADER_ACTIVATION_NONE)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE,
                         "%s.%s: k = %u is cut into parts of %u, which an activation before a residual does not allow",
                         work->name, args->label, args->k, MAX_DEPTH);
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t first = args->k < i * MAX_DEPTH ? args->k : i * MAX_DEPTH;
        uint32_t left = args->k - first;
        const slice s = {
            .n_first = n_first,
            .n_count = n_count,
            .k_first = first,
            .k_count = left < MAX_DEPTH ? left : MAX_DEPTH,
            .first = i == 0,
            .last = i + 1 == steps,
        };
        VKF_RETURN_IF_ERROR(emit_slice(work, args, variant, &s));
    }
    return VKF_OK;
}

// Whether b is a Linear's weight, which may be cut between its rows.
static bool is_weight(const vkf__gemm_args *args)
{
    return args->b_outer == 0 && args->b_inner == 0 && (args->transpose_b || args->b.panels);
}

// A slice of panels begins with a whole panel. One of rows begins with an even row, so that 16-bit elements begin at a
// whole word.
static uint32_t slice_unit(const vkf__gemm_args *args)
{
    return args->b.panels ? VKF_GEMM_PANEL : 2;
}

// How many rows of a weight fit one binding, or all of them where slicing does not apply.
static uint32_t rows_per_binding(const vkf__work *work, const vkf__gemm_args *args)
{
    uint64_t limit = work->context->device.plan.caps.max_storage_buffer_range;
    uint64_t row_bytes = 0;
    (void)vkf__bytes_of(args->b.dtype, args->b.panels ? args->k : args->ldb, &row_bytes);
    // The binding of an unaligned slice begins up to one alignment before it, and ends at a whole unit of 16 bytes.
    uint64_t slack = (uint64_t)work->context->device.plan.caps.storage_buffer_alignment + 2 * 16;
    uint32_t unit = slice_unit(args);
    if (!is_weight(args) || args->b.size_bytes + slack <= limit || row_bytes == 0 || row_bytes + slack > limit)
        return args->n;
    uint64_t rows = (limit - slack) / row_bytes;
    if (args->b.panels && rows < unit)
        return args->n; // the device will refuse to bind them
    return (uint32_t)(rows > 64 ? rows / 64 * 64 : rows >= unit ? rows / unit * unit : rows);
}

// The same for a dispatch with this variant, whose grid has a limit, too.
static uint32_t rows_per_slice(const vkf__work *work, const vkf__gemm_args *args, const vkf__variant *variant)
{
    uint32_t rows = rows_per_binding(work, args);
    uint64_t columns = (uint64_t)work->context->device.plan.caps.max_workgroup_count_x * variant->config->tile.gemm.n;
    columns -= columns % slice_unit(args);
    bool fits = variant->kernel->walks_columns || columns == 0 || rows <= columns || !is_weight(args);
    return fits ? rows : (uint32_t)columns;
}

bool vkf__gemm_is_one_dispatch(const vkf__work *work, const vkf__gemm_args *args)
{
    return args->k <= MAX_DEPTH && rows_per_binding(work, args) >= args->n;
}

// Slices of about the same number of rows, so that the last one has work for the device, too. `most` rows fit a slice.
static uint32_t even_rows(const vkf__gemm_args *args, uint32_t most)
{
    const uint32_t slices = vkf__div_up_u32(args->n, most), even = vkf__div_up_u32(args->n, slices);
    const uint32_t unit = most % 64 == 0 ? 64 : slice_unit(args);
    return most % unit == 0 ? (uint32_t)vkf__align_u64(even, unit) : most;
}

// Whether the rows of a span begin at multiples of four elements. Temporaries begin at 0 in PLAN and at multiples of
// far more later, so the answer does not change.
static bool has_quads(const vkf__span *span, uint64_t first, uint32_t stride)
{
    bool aligned = span->offset_bytes % (4 * vkf_dtype_size(span->dtype)) == 0;
    return aligned && first % 4 == 0 && stride % 4 == 0;
}

// Whether kernels may be compiled for the rows of b: whole panels, at multiples of four elements, in every run.
static bool has_fixed_rows(const vkf__gemm_args *args)
{
    return args->fixed_rows && !args->b.panels && !args->transpose_b && args->n % VKF_GEMM_PANEL == 0 &&
           (args->b_outer | args->b_inner) == 0 && has_quads(&args->b, 0, args->ldb);
}

vkf__problem vkf__gemm_problem(const vkf__work *work, const vkf__gemm_args *args)
{
    uint64_t a = elements(&args->a), b = elements(&args->b);
    // Only a weight has the same depth and leading dimensions in every run.
    const bool quads = args->b.panels ? args->k % 4 == 0 && has_quads(&args->a, args->a_first, args->lda) &&
                                            (args->a_outer | args->a_inner) % 4 == 0
                                      : has_fixed_rows(args);
    return (vkf__problem){
        .m = work->most_rows > 0 && args->m > work->most_rows ? work->most_rows : args->m,
        .n = args->n,
        .k = args->k,
        .batch = args->batch,
        .b_layout = vkf__gemm_b_layout(args),
        .precision = work->context->precision,
        .wants = (args->transpose_a ? VKF_FORM_TRANSPOSED_A : 0u) | (args->gate ? VKF_FORM_GATED : 0u) |
                 (vkf__present(&args->norm.weight) ? VKF_FORM_NORMED : 0u),
        .offers = quads ? VKF_FORM_QUADS : 0,
        .largest = a > b ? a : b,
    };
}

static vkf_status emit_product(vkf__work *work, const vkf__gemm_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[] = {args->a.dtype, args->b.dtype, args->d.dtype};
    const vkf__problem problem = vkf__gemm_problem(work, args);
    uint64_t splits = 1;
    VKF_RETURN_IF_ERROR(check_blocks(work, args));
    VKF_RETURN_IF_ERROR(check_addresses(work, args));
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_GEMM, types, &problem, &variant));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, vkf__gemm_splits(work, args, &problem, &variant), &splits));
    if (splits > 1)
        return vkf__emit_split_gemm(work, args, &problem, (uint32_t)splits);
    // Only a weight is sliced, because its rows are the same in every run. The n of any other b may change between
    // runs, and one dispatch takes all of it.
    const uint32_t most = rows_per_slice(work, args, &variant);
    uint64_t slice_rows = most < args->n ? even_rows(args, most) : UINT32_MAX;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, slice_rows, &slice_rows));
    uint32_t first = 0;
    do {
        uint32_t left = args->n - first;
        uint32_t count = left < slice_rows ? left : (uint32_t)slice_rows;
        VKF_RETURN_IF_ERROR(emit_columns(work, args, &variant, first, count));
        first += count;
    } while (first < args->n);
    return VKF_OK;
}

// With fewer rows of d than this, packing b first does not pay.
#define MIN_ROWS_TO_PACK 16u

// Whether a product whose b lies in rows is faster on this device if b is packed into panels first, packing included.
static bool packing_pays(const vkf__work *work, const vkf__gemm_args *args)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf_dtype types[] = {args->a.dtype, args->b.dtype, args->d.dtype};
    bool shared = args->b_outer == 0 && args->b_inner == 0;
    if (args->keep_layout || args->b.panels || !shared || args->m < MIN_ROWS_TO_PACK || args->n < VKF_GEMM_PANEL ||
        vkf__packed_elements(args->n, args->k) * vkf_dtype_size(args->b.dtype) >
            selector.caps->max_storage_buffer_range)
        return false;
    vkf__gemm_args packed = *args;
    packed.b.panels = true;
    const vkf__problem rows = vkf__gemm_problem(work, args);
    const vkf__problem panels = vkf__gemm_problem(work, &packed);
    return vkf__select_rank(&selector, VKF_OP_GEMM, types, &panels) <
           vkf__select_rank(&selector, VKF_OP_GEMM, types, &rows);
}

// Rounds a to blocks, too, where the product with a weight in blocks is done by integer dot products.
static vkf_status round_rows(vkf__work *work, vkf__gemm_args *args)
{
    uint64_t dot = work->mode == VKF_WORK_PLAN && vkf__gemm_dot_pays(work, args);
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, dot, &dot));
    const vkf__gemm_args plain = *args;
    assert(dot || !args->input_gate.wanted);
    if (dot)
        VKF_RETURN_IF_ERROR(vkf__emit_gemm_dot_rows(work, &plain, args));
    return VKF_OK;
}

vkf_status vkf__emit_gemm(vkf__work *work, const vkf__gemm_args *args)
{
    uint64_t pack = work->mode == VKF_WORK_PLAN && packing_pays(work, args);
    vkf__gemm_args packed = *args;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, pack, &pack));
    if (pack) {
        const vkf__pack_args pack_args = {
            .label = "pack",
            .x = args->b,
            .n = args->n,
            .k = args->k,
            .ld = args->ldb,
            .transposed = args->transpose_b,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_pack(work, &pack_args, &packed.b));
    }
    VKF_RETURN_IF_ERROR(round_rows(work, &packed));
    return emit_product(work, &packed);
}

uint32_t vkf__gemm_row(const vkf_context *context, uint32_t width, vkf_dtype dtype)
{
    const uint32_t line_bytes = 64, period_bytes = 2048; // addresses 4096 bytes apart share one of 64 cache sets
    uint32_t element = (uint32_t)vkf_dtype_size(dtype);
    bool conflicts = (uint64_t)width * element % period_bytes == 0 && width <= UINT32_MAX - line_bytes;
    return conflicts && context->device.plan.caps.traits.processor ? width + line_bytes / element : width;
}

vkf__gemm_args vkf__linear_product(const vkf__linear_args *args)
{
    return (vkf__gemm_args){
        .label = args->label,
        .a = args->x,
        .b = args->weight,
        .d = args->d,
        .bias = args->bias,
        .m = args->rows,
        .n = args->out,
        .k = args->in,
        .batch = 1,
        .lda = args->x_row > 0           ? args->x_row
               : args->input_gate.wanted ? 2 * args->in
                                         : args->in,
        .ldb = args->in,
        .ldd = args->d_row > 0 ? args->d_row
               : args->gate    ? args->out / 2
                               : args->out,
        .transpose_b = true,
        .alpha = 1.0f,
        .beta = args->beta,
        .activation = args->activation,
        .norm = args->norm,
        .gate = args->gate,
        .input_gate = args->input_gate,
    };
}

vkf_status vkf__emit_linear(vkf__work *work, const vkf__linear_args *args)
{
    const vkf__gemm_args gemm = vkf__linear_product(args);
    return vkf__emit_gemm(work, &gemm);
}

// The bytes of a factor. One that was rounded for integer dot products has type I32 and lies in blocks of words.
static double factor_bytes(double elements, vkf_dtype dtype)
{
    const double words = elements / VKF_QUANTIZE_ROWS_DEPTH * VKF_QUANTIZE_ROWS_WORDS;
    return dtype == VKF_DTYPE_I32 ? 4 * words : vkf__stored_bytes(elements, dtype);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_gemm_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    const double outputs = (double)p->batch * p->m * p->n;
    const double d = vkf__stored_bytes((double)p->batch * p->m * p->d_n, types[2]);
    const double matrices = p->b_outer == 0 && p->b_inner == 0 ? 1 : p->batch;
    const bool empty = outputs == 0;
    return (vkf__account){
        .flops = 2 * outputs * p->k,
        .bytes_read = empty ? 0
                            : factor_bytes((double)p->batch * p->m * p->k, types[0]) +
                                  vkf__stored_bytes(matrices * p->n * p->k, types[1]) + (p->beta != 0.0f ? d : 0),
        .bytes_written = p->splits > 1 ? vkf__stored_bytes(outputs * p->splits, VKF_DTYPE_F32) : d,
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_gemm_params *p = dispatched->params;
    *out_extent = (vkf__extent){
        .operand = VKF_GEMM_BINDING_D - 1,
        .dtype = dispatched->kernel->types[2],
        .first = p->d_first,
        .counts = {p->batch / p->batch_inner, p->batch_inner, p->m, p->d_n},
        .strides = {p->d_outer, p->d_inner, p->ldd, 1},
    };
    return p->splits <= 1;
}

// The layout in which a representative pipeline reads b: the first of `layouts` that the kernel can read.
static uint32_t linear_layout(const vkf__kernel *kernel)
{
    static const uint32_t layouts[] = {VKF_GEMM_B_NK, VKF_GEMM_B_PANELS, VKF_GEMM_B_KN};
    uint32_t i = 0;
    while (i < 2 && !(kernel->b_layouts >> layouts[i] & 1))
        i++;
    return layouts[i];
}

// Blocks that a workgroup rounds: one row of 4,096 elements as language models have them, or as much of several rows,
// so that they fit where the config does.
#define TYPICAL_BLOCKS 128u

static void typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    (void)head_dim;
    vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_B_LAYOUT,
                          vkf__gemm_layout_flag(kernel->types[1], linear_layout(kernel)), out_flags);
    vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_HAS_BIAS, 1, out_flags);
    if (kernel->rounds_rows)
        vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_KEPT_BLOCKS, TYPICAL_BLOCKS / config->tile.gemm.m, out_flags);
    if (kernel->fixes_rows)
        vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_B_ROW, VKF_GEMM_PANEL, out_flags);
}

// Linear layers with and without bias, and with the activations of a feed-forward block. A b of (k, n) gets the first
// of these epilogues only: attention multiplies by such a b, and Linear layers do not. Kernels that round rows get
// none, because only a weight tells for which depth they are compiled.
static bool ahead_flags(const vkf__kernel *kernel, const vkf__problem *problem, uint32_t index, uint32_t *out_flags)
{
    static const struct {
        uint32_t activation;
        bool has_bias;
    } epilogues[] = {
        {VKF_SHADER_ACTIVATION_NONE, false},
        {VKF_SHADER_ACTIVATION_NONE, true},
        {VKF_SHADER_ACTIVATION_RELU, true},
        {VKF_SHADER_ACTIVATION_GELU_ERF, true},
    };
    const vkf_dtype *types = kernel->types;
    // In a model with weights in blocks, biases usually have the type of the activations.
    const vkf__span bias = {.size_bytes = 1, .dtype = types[0] == VKF_DTYPE_I32 ? types[2] : types[0]};
    if (kernel->rounds_rows ||
        index >= (problem->b_layout == VKF_GEMM_B_KN ? 1 : sizeof epilogues / sizeof epilogues[0]))
        return false;
    vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_B_LAYOUT, vkf__gemm_layout_flag(types[1], problem->b_layout),
                          out_flags);
    if (kernel->fixes_rows)
        vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_B_ROW, VKF_GEMM_PANEL, out_flags);
    vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_ACTIVATION, epilogues[index].activation, out_flags);
    if (epilogues[index].has_bias)
        vkf__typical_flag_set(kernel, VKF_GEMM_SPEC_HAS_BIAS, vkf__gemm_bias_flag(types[1], &bias), out_flags);
    return true;
}

#define LINEAR(rows) .problem = {.m = (rows), .n = 512, .k = 512, .largest = 1u << 22}, .linear = true
#define PRODUCT(rows, columns, depth, layout) \
    .problem = {.m = (rows), .n = (columns), .k = (depth), .b_layout = (layout), .largest = 1u << 22}

static const vkf__typical_problem problems[] = {
    {.label = "linear of 1 row", LINEAR(1), .ahead = true},
    {.label = "2 rows", LINEAR(2), .ahead = true},
    {LINEAR(4), .ahead = true},
    {.label = "8 rows", LINEAR(8), .ahead = true},
    {LINEAR(16), .ahead = true},
    {.label = "32 rows", LINEAR(32)},
    {.label = "128 rows", LINEAR(128), .ahead = true},
    {.label = "1024 rows", LINEAR(1024)},
    {.label = "scores", PRODUCT(128, 128, 64, VKF_GEMM_B_NK)},
    {.label = "scores of 1 query", PRODUCT(1, 128, 64, VKF_GEMM_B_NK)},
    {.label = "values", PRODUCT(128, 64, 128, VKF_GEMM_B_KN)},
    {.label = "values of 1 query", PRODUCT(1, 64, 128, VKF_GEMM_B_KN)},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

const vkf__op_info vkf__op_gemm = {
    .params_bytes = sizeof(struct vkf_gemm_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = vkf__gemm_reference,
    .cases = vkf__gemm_cases,
    VKF_OP_PROBLEMS(problems),
    .typical_flags = typical_flags,
    .ahead_flags = ahead_flags,
};
