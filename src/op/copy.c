// The emitters of strided copies and of the mean over heads, and their operators' rows.
#include "op/copy.h"

#include <string.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/copy.h"
#include "shared/head_mean.h"

vkf_status vkf__emit_copy(vkf__work *work, const vkf__copy_args *args)
{
    struct vkf_copy_params params = {
        .rows = args->rows,
        .cols = args->cols,
        .x_first = args->x_first,
        .x_outer = args->x_outer,
        .x_row = args->x_row,
        .out_first = args->out_first,
        .out_outer = args->out_outer,
        .out_row = args->out_row,
        .alpha = args->alpha,
        .beta = args->beta,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_COPY,
        .types = {args->x.dtype, args->out.dtype},
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
        .count = {args->outer, args->rows, args->cols / vkf_dtype_block_elements(args->out.dtype)},
        .factors = 3,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_widened(vkf__work *work, const char *label, vkf__span *inout_span)
{
    const uint64_t count = vkf__elements_in(inout_span->dtype, inout_span->size_bytes);
    vkf__span widened;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, count, &widened));
    const vkf__copy_args copy = vkf__copy_all(label, *inout_span, widened, (uint32_t)count);
    *inout_span = widened;
    return vkf__emit_copy(work, &copy);
}

vkf_status vkf__emit_zeros(vkf__work *work, const char *label, const vkf__span *out, uint32_t outer, uint32_t rows,
                           uint32_t cols)
{
    const vkf__copy_args zeros = {
        .label = label,
        .x = *out, // which is not read
        .out = *out,
        .outer = outer,
        .rows = rows,
        .cols = cols,
        .out_outer = rows * cols,
        .out_row = cols,
    };
    return vkf__emit_copy(work, &zeros);
}

vkf_status vkf__emit_head_mean(vkf__work *work, const vkf__head_mean_args *args)
{
    struct vkf_head_mean_params params = {.heads = args->heads, .plane = args->plane};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_HEAD_MEAN,
        .types = {VKF_DTYPE_F32},
        .bindings = {{args->x, false}, {args->out, true}},
        .params = &params,
        .count = {args->batch, args->plane},
        .factors = 2,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account copy_account(const vkf__dispatched *dispatched)
{
    const struct vkf_copy_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    const double elements = (double)p->count * vkf_dtype_block_elements(types[1]);
    vkf__account moved = vkf__account_elementwise(elements, 1, types[0], types[1]);
    if (p->beta != 0.0f)
        moved.bytes_read += moved.bytes_written;
    return moved;
}

static bool copy_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_copy_params *p = dispatched->params;
    const uint32_t plane = p->rows * p->cols;
    *out_extent = (vkf__extent){
        .operand = VKF_COPY_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[1],
        .first = p->out_first,
        .counts = {1, plane > 0 ? p->count / plane : 0, p->rows, p->cols},
        .strides = {0, p->out_outer, p->out_row, 1},
    };
    return !vkf__is_blocks(out_extent->dtype);
}

static vkf__account head_mean_account(const vkf__dispatched *dispatched)
{
    const struct vkf_head_mean_params *p = dispatched->params;
    return (vkf__account){(double)p->count * p->heads, 4.0 * p->count * p->heads, 4.0 * p->count};
}

static bool head_mean_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_head_mean_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_HEAD_MEAN_BINDING_OUT, VKF_DTYPE_F32, p->count);
    return true;
}

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_copy(work, args);
}

static void put_block(const vkf__execution *e, uint64_t from, uint64_t block)
{
    const vkf__host_operand *out = &e->operands[VKF_COPY_BINDING_OUT - 1];
    float values[VKF_BLOCK];
    for (uint32_t i = 0; i < VKF_BLOCK; i++)
        values[i] = (float)vkf__load(e, VKF_COPY_BINDING_X, from + i);
    if (out->bytes && block < out->size_bytes / VKF_Q8_BLOCK_BYTES)
        vkf__blocks_from_f32(VKF_DTYPE_Q8, values, 1, out->bytes + block * VKF_Q8_BLOCK_BYTES);
}

static void copy_blocks(const vkf__execution *e)
{
    const struct vkf_copy_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t col = i * VKF_BLOCK % p->cols, row = i * VKF_BLOCK / p->cols % p->rows,
                       outer = i * VKF_BLOCK / p->cols / p->rows;
        put_block(e, p->x_first + outer * p->x_outer + row * p->x_row + col,
                  (p->out_first + outer * p->out_outer + row * p->out_row + col) / VKF_BLOCK);
    }
}

static vkf_status copy_reference(const vkf__execution *e)
{
    const struct vkf_copy_params *p = e->params;
    if (vkf__is_blocks(e->kernel->types[1])) {
        copy_blocks(e);
        return VKF_OK;
    }
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t col = i % p->cols, row = i / p->cols % p->rows, outer = i / p->cols / p->rows;
        const uint64_t from = p->x_first + outer * p->x_outer + row * p->x_row + col;
        const uint64_t to = p->out_first + outer * p->out_outer + row * p->out_row + col;
        double value = p->alpha == 0.0f ? 0 : p->alpha * vkf__load(e, VKF_COPY_BINDING_X, from);
        if (p->beta != 0.0f)
            value += p->beta * vkf__load(e, VKF_COPY_BINDING_OUT, to);
        vkf__store(e, VKF_COPY_BINDING_OUT, to, value);
    }
    return VKF_OK;
}

static vkf_status copy_cases(vkf__cases *c)
{
    const vkf_dtype *types = c->variant->kernel->types;
    const uint32_t unit = vkf_dtype_block_elements(types[1]); // of whatever concerns out
    const uint32_t cols = vkf__case_size(c, unit > 1 ? 3 : 13, 300 / unit) * unit, rows = vkf__case_size(c, 5, 20);
    vkf__copy_args args = {
        .label = "copy",
        .outer = vkf__case_size(c, 3, 3),
        .rows = rows,
        .cols = cols,
        .x_first = vkf__case_pick(c, 0, 3),
        .x_row = cols + vkf__case_pick(c, 0, 3),
        .out_first = vkf__case_pick(c, 1, 3) * unit,
        .out_row = cols + vkf__case_pick(c, 2, 3) * unit,
        .alpha = unit > 1 ? 1 : vkf__case_factor(c, 0.5f),
        .beta = unit > 1 ? 0 : vkf__case_factor(c, -1.0f),
    };
    args.x_outer = vkf__case_flip(c, true) ? rows * args.x_row + vkf__case_pick(c, 0, 2) : 0;
    args.out_outer = rows * args.out_row + vkf__case_pick(c, 0, 2) * unit;
    const uint64_t read = args.x_first + (uint64_t)args.outer * (rows * args.x_row + 1);
    args.x = vkf__case_floats(c, types[0], vkf__align_u64(read, vkf_dtype_block_elements(types[0])));
    args.out = vkf__case_floats(c, types[1], args.out_first + (uint64_t)args.outer * args.out_outer);
    if (unit == 1 && !vkf__is_blocks(types[0])) // which are of finite numbers
        vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, vkf__case_exact(types[1]), "%g (%u, %u, %u) + %g in rows of %u", (double)args.alpha,
                         args.outer, rows, cols, (double)args.beta, args.out_row);
}

static vkf_status emit_head_mean(vkf__work *work, const void *args)
{
    return vkf__emit_head_mean(work, args);
}

static vkf_status head_mean_reference(const vkf__execution *e)
{
    const struct vkf_head_mean_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++) {
        double sum = 0;
        for (uint64_t h = 0; h < p->heads; h++)
            sum += vkf__load(e, VKF_HEAD_MEAN_BINDING_X, (i / p->plane * p->heads + h) * p->plane + i % p->plane);
        vkf__store(e, VKF_HEAD_MEAN_BINDING_OUT, i, sum / p->heads);
    }
    return VKF_OK;
}

static vkf_status head_mean_cases(vkf__cases *c)
{
    vkf__head_mean_args args = {
        .label = "head_mean",
        .batch = vkf__case_size(c, 3, 3),
        .heads = vkf__case_size(c, 3, 17),
        .plane = vkf__case_size(c, 53, 600),
    };
    args.x = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)args.batch * args.heads * args.plane);
    args.out = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)args.batch * args.plane);
    vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, 1e-6, "(%u, %u, %u)", args.batch, args.heads, args.plane);
}

const vkf__op_info vkf__op_copy = {
    .params_bytes = sizeof(struct vkf_copy_params),
    .account = copy_account,
    .output = copy_output,
    .emit = emit_copy,
    .reference = copy_reference,
    .cases = copy_cases,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
};

const vkf__op_info vkf__op_head_mean = {
    .params_bytes = sizeof(struct vkf_head_mean_params),
    .account = head_mean_account,
    .output = head_mean_output,
    .emit = emit_head_mean,
    .reference = head_mean_reference,
    .cases = head_mean_cases,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
};
