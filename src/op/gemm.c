#include "op/gemm.h"

#include <inttypes.h>

#include "base/size.h"
#include "shared/gemm.h"

// Offsets and strides reach the shader as 32-bit element counts.
static vkf_status check_addresses(const vkf__work *work, const vkf__gemm_args *args)
{
    const vkf__span *spans[] = {&args->a, &args->b, &args->d};
    for (size_t i = 0; i < 3; i++) {
        if (spans[i]->size_bytes / vkf_dtype_size(spans[i]->dtype) > UINT32_MAX)
            return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE,
                             "%s.%s: an operand of %" PRIu64 " bytes has more than 2^32 elements", work->name,
                             args->label, spans[i]->size_bytes);
    }
    return VKF_OK;
}

// One dispatch over the columns [n_first, n_first + n_count) of d.
static vkf_status emit_slice(vkf__work *work, const vkf__gemm_args *args, const vkf__variant *variant,
                             uint32_t n_first, uint32_t n_count)
{
    uint32_t inner = args->batch_inner > 0 ? args->batch_inner : 1;
    bool whole = n_first == 0 && n_count == args->n;
    struct vkf_gemm_params params = {
        .m = args->m,
        .n = n_count,
        .k = args->k,
        .batch = args->batch,
        .batch_inner = inner,
        .lda = args->lda,
        .ldb = args->ldb,
        .ldd = args->ldd,
        .a_outer = args->a_outer,
        .a_inner = args->a_inner,
        .b_outer = args->b_outer,
        .b_inner = args->b_inner,
        .d_first = (uint32_t)(args->d_first + n_first),
        .d_outer = args->d_outer,
        .d_inner = args->d_inner,
        .a_first = (uint32_t)args->a_first,
        .alpha = args->alpha,
        .beta = args->beta,
    };
    const uint32_t flags[] = {args->transpose_a, args->transpose_b, (uint32_t)args->activation,
                              vkf__present(&args->bias), args->add_after};
    const uint32_t *tile = variant->config->tile;
    uint32_t z_limit = work->context->device.plan.caps.max_workgroup_count_z;
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->a, false}, {args->b, false}, {args->d, true}, {args->bias, false}},
        .params = &params,
        .grid = {vkf__div_up_u32(n_count, tile[1]), vkf__div_up_u32(args->m, tile[0]),
                 args->batch < z_limit ? args->batch : z_limit},
    };
    if (!whole) {
        dispatch.bindings[1].span = vkf__span_part(&args->b, (uint64_t)n_first * args->ldb,
                                                   (uint64_t)n_count * args->ldb);
        if (vkf__present(&args->bias))
            dispatch.bindings[3].span = vkf__span_part(&args->bias, n_first, n_count);
    }
    return vkf__work_dispatch(work, &dispatch);
}

// How many rows of a Linear's weight fit one binding; all of them where slicing does not apply. 16-bit slices begin at
// even elements, so that a slice begins at a whole word.
static uint32_t rows_per_slice(const vkf__work *work, const vkf__gemm_args *args)
{
    uint64_t limit = work->context->device.plan.caps.max_storage_buffer_range;
    uint64_t row_bytes = (uint64_t)args->ldb * vkf_dtype_size(args->b.dtype);
    bool shared = args->b_outer == 0 && args->b_inner == 0 && args->transpose_b;
    // An unaligned slice is bound from up to one alignment before it.
    uint64_t slack = work->context->device.plan.caps.storage_buffer_alignment;
    if (!shared || args->b.size_bytes + slack <= limit || row_bytes == 0 || row_bytes + slack > limit)
        return args->n;
    uint64_t rows = (limit - slack) / row_bytes;
    return (uint32_t)(rows > 64 ? rows / 64 * 64 : rows > 1 ? rows / 2 * 2 : rows);
}

vkf_status vkf__emit_gemm(vkf__work *work, const vkf__gemm_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    const vkf_dtype types[] = {args->a.dtype, args->b.dtype, args->d.dtype};
    const vkf__problem problem = {args->m, args->n, args->k};
    VKF_TRY(check_addresses(work, args));
    VKF_TRY(vkf__work_select(work, VKF_OP_GEMM, types, &problem, &variant));
    // Only a weight is sliced, and its rows are the same in every run; elsewhere n may change, and one dispatch takes it all.
    uint64_t slice_rows = rows_per_slice(work, args);
    VKF_TRY(vkf__work_decide(work, slice_rows < args->n ? slice_rows : UINT32_MAX, &slice_rows));
    uint32_t first = 0;
    do {
        uint32_t left = args->n - first;
        uint32_t count = left < slice_rows ? left : (uint32_t)slice_rows;
        VKF_TRY(emit_slice(work, args, &variant, first, count));
        first += count;
    } while (first < args->n);
fail:
    return status;
}

vkf_status vkf__emit_linear(vkf__work *work, const vkf__linear_args *args)
{
    const vkf__gemm_args gemm = {
        .label = args->label,
        .a = args->x,
        .b = args->weight,
        .d = args->d,
        .bias = args->bias,
        .m = args->rows,
        .n = args->out,
        .k = args->in,
        .batch = 1,
        .lda = args->in,
        .ldb = args->in,
        .ldd = args->out,
        .transpose_b = true,
        .alpha = 1.0f,
        .beta = args->beta,
        .activation = args->activation,
    };
    return vkf__emit_gemm(work, &gemm);
}
