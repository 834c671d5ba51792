// Decides whether a product is done by integer dot products, and rounds its activations.
#include "op/gemm_dot.h"

#include "base/elements.h"
#include "base/size.h"
#include "kernel/ladder.h"
#include "op/gemm_split.h"
#include "op/quantize_rows.h"
#include "shared/blocks.h"

bool vkf__allows_for_integer_dot(const vkf_context *context, const vkf__kernel *kernel, const vkf__problem *problem)
{
    const vkf__traits *traits = &context->device.plan.caps.traits;
    if (kernel->op == VKF_OP_QUANTIZE_ROWS || (kernel->op == VKF_OP_GEMM_INT8 && kernel->needs & VKF_NEEDS_INTEGER_DOT))
        return traits->integer_dot_units;
    return !(kernel->needs & VKF_NEEDS_INTEGER_DOT) ||
           vkf__integer_dot_pays(traits, kernel->types[1], problem->m, problem->k);
}

vkf__gemm_args vkf__gemm_dot_product(const vkf__gemm_args *args)
{
    vkf__gemm_args rows = *args;
    uint32_t inner = args->batch_inner > 0 ? args->batch_inner : 1;
    rows.a = (vkf__span){.dtype = VKF_DTYPE_I32};
    rows.lda = args->k;
    rows.a_first = 0;
    rows.a_inner = args->m * args->k;
    rows.a_outer = inner * rows.a_inner;
    rows.norm = (vkf__input_norm){0};
    rows.input_gate = (vkf__input_gate){0};
    return rows;
}

// Whether the kernels can take such operands: a weight in blocks, activations in rows, and no more elements than 32
// bits count.
static bool fits(const vkf__work *work, const vkf__gemm_args *args)
{
    const uint64_t factors[] = {args->batch, args->m, args->k};
    uint64_t count = 0;
    bool counted = vkf__product_u64(factors, 3, &count) && count > 0 && count <= UINT32_MAX;
    return vkf__is_blocks(args->b.dtype) && args->b.panels && !args->transpose_a &&
           (args->a.dtype == VKF_DTYPE_F32 || args->a.dtype == VKF_DTYPE_F16) && args->k % VKF_BLOCKS_DEPTH == 0 &&
           counted && 4 * vkf__quantized_words(count) <= work->context->device.plan.caps.max_storage_buffer_range;
}

// Whether the kernel that takes the operands as they are is none to leave for one that takes rounded rows: it rounds
// them itself, or it multiplies matrices of halves, which are faster than dot products on most devices that have both.
static bool is_for_direct(const vkf__selector *selector, const vkf_dtype *types, const vkf__problem *direct)
{
    vkf__variant variant;
    if (!vkf__select(selector, VKF_OP_GEMM, types, direct, &variant, NULL))
        return false;
    const bool matrices = variant.kernel->needs & VKF_NEEDS_MATRIX;
    return (variant.kernel->needs & VKF_NEEDS_INTEGER_DOT) ||
           (matrices && !selector->caps->traits.dots_outrun_matrices);
}

// Whether rows are to be rounded ahead of the product, for integer dot products. The variant that the caller asks for
// decides or, if it does not, the device.
static bool wanted(const vkf__work *work, const vkf__gemm_args *args, const vkf__gemm_args *rows)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf_dtype types[] = {args->a.dtype, args->b.dtype, args->d.dtype};
    const vkf_dtype rows_types[] = {rows->a.dtype, args->b.dtype, args->d.dtype};
    const vkf__problem direct = vkf__gemm_problem(work, args);
    const vkf__problem dot = vkf__gemm_problem(work, rows);
    bool asked = selector.forced && vkf__select_rank(&selector, VKF_OP_GEMM, rows_types, &dot) == 0;
    bool asked_otherwise = selector.forced && vkf__select_rank(&selector, VKF_OP_GEMM, types, &direct) == 0;
    if (asked != asked_otherwise)
        return asked;
    return vkf__integer_dot_pays(&work->context->device.plan.caps.traits, args->b.dtype, args->m, args->k) &&
           !is_for_direct(&selector, types, &direct);
}

static bool kernels_serve(const vkf__work *work, const vkf__gemm_args *args, const vkf__gemm_args *rows)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {rows->a.dtype, args->b.dtype, args->d.dtype};
    const vkf_dtype part_types[VKF_KERNEL_MAX_TYPES] = {rows->a.dtype, args->b.dtype, VKF_DTYPE_F32};
    const vkf_dtype x_types[VKF_KERNEL_MAX_TYPES] = {args->a.dtype};
    const vkf__problem elements = {.m = args->m};
    vkf__problem problem = vkf__gemm_problem(work, rows);
    vkf__variant whole;
    if (!vkf__work_has_kernel(work, VKF_OP_QUANTIZE_ROWS, x_types, &elements) ||
        !vkf__select(&selector, VKF_OP_GEMM, types, &problem, &whole, NULL))
        return false;
    problem.parts = vkf__gemm_splits(work, rows, &problem, &whole);
    problem.wants |= problem.parts > 1 ? VKF_FORM_SPLIT : 0;
    return problem.parts <= 1 || vkf__work_has_kernel(work, VKF_OP_GEMM, part_types, &problem);
}

bool vkf__gemm_dot_pays(const vkf__work *work, const vkf__gemm_args *args)
{
    // The trial of a product's kernel has to run that kernel, on the operands as they are.
    if (!fits(work, args) || (work->trial && work->trial->kernel->op == VKF_OP_GEMM))
        return false;
    const vkf__gemm_args rows = vkf__gemm_dot_product(args);
    return wanted(work, args, &rows) && kernels_serve(work, args, &rows);
}

bool vkf__gemm_dot_gates(const vkf__work *work, const vkf__gemm_args *args)
{
    return !vkf__present(&args->norm.weight) && vkf__gemm_dot_pays(work, args);
}

vkf_status vkf__emit_gemm_dot_rows(vkf__work *work, const vkf__gemm_args *args, vkf__gemm_args *out_args)
{
    const uint64_t factors[] = {args->batch, args->m, args->k};
    uint64_t count = UINT64_MAX;
    vkf__quantize_rows_args quantize = {
        .label = "quantize",
        .x = args->a,
        .weight = args->b.dtype,
        .m = args->m,
        .k = args->k,
        .batch = args->batch,
        .batch_inner = args->batch_inner,
        .ld = args->lda,
        .outer = args->a_outer,
        .inner = args->a_inner,
        .first = args->a_first,
        .norm = args->norm,
        .gate = args->input_gate,
    };
    (void)vkf__product_u64(factors, 3, &count);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_I32, vkf__quantized_words(count), &quantize.out));
    VKF_RETURN_IF_ERROR(vkf__emit_quantize_rows(work, &quantize));
    *out_args = vkf__gemm_dot_product(args);
    out_args->a = quantize.out;
    return VKF_OK;
}
