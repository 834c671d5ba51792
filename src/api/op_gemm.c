// Public entry points of matrix products as a single operator, and of the packing of weights for them.
#include "api/op_check.h"
#include "base/elements.h"
#include "base/float_or.h"
#include "base/sized.h"
#include "op/activation_flag.h"
#include "op/copy.h"
#include "op/gemm.h"
#include "op/pack.h"
#include "op/run_once.h"

typedef struct gemm_shape {
    uint32_t batch, m, n, k;
    bool b_shared;
} gemm_shape;

// The type that the bias must have: that of b or, where b is in blocks, its own if parameters may have it.
static vkf_dtype bias_type(const vkf_gemm_desc *desc)
{
    vkf_dtype bias = desc->bias.dtype;
    bool parameter = bias == VKF_DTYPE_F32 || bias == VKF_DTYPE_F16 || bias == VKF_DTYPE_BF16;
    return !vkf__is_blocks(desc->b.dtype) ? desc->b.dtype : parameter ? bias : VKF_DTYPE_F32;
}

// The shape of one batch entry's matrix; a tensor of rank 2 is one batch entry.
static const uint32_t *matrix_of(const vkf_tensor *tensor)
{
    return tensor->shape + (tensor->rank - 2);
}

static vkf_status check_matrices(const vkf__checker *check, const vkf_gemm_desc *desc, gemm_shape *out_shape)
{
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->a, "a"));
    if (vkf__is_blocks(desc->b.dtype) && (!desc->transpose_b || desc->transpose_a))
        return vkf__fail(check->host, VKF_ERROR_UNSUPPORTED,
                         "%s: a factor of type %s is a weight (n, k): with transpose_b, "
                         "and without transpose_a",
                         check->function, vkf_dtype_name(desc->b.dtype));
    if ((desc->b.layout == VKF_LAYOUT_PANELS && desc->transpose_b && desc->b.rank == 2) ||
        vkf__is_blocks(desc->b.dtype))
        VKF_RETURN_IF_ERROR(vkf__check_weight(check, &desc->b, "b", desc->b.dtype, desc->b.shape[0], desc->b.shape[1]));
    else
        VKF_RETURN_IF_ERROR(vkf__check_factor(check, &desc->b, "b"));
    if (desc->a.rank < 2 || desc->a.rank > 3 || desc->b.rank < 2 || desc->b.rank > 3)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: a and b must be of rank 2 or 3",
                         check->function);
    const uint32_t *a = matrix_of(&desc->a), *b = matrix_of(&desc->b);
    gemm_shape shape = {
        .batch = desc->a.rank == 3 ? desc->a.shape[0] : 1,
        .m = a[desc->transpose_a ? 1 : 0],
        .k = a[desc->transpose_a ? 0 : 1],
        .n = b[desc->transpose_b ? 0 : 1],
        .b_shared = desc->b.rank == 2,
    };
    uint32_t b_k = b[desc->transpose_b ? 1 : 0];
    if (b_k != shape.k || (!shape.b_shared && desc->b.shape[0] != shape.batch))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: a and b do not agree: k is %u and %u, batch %u and %u", check->function, shape.k, b_k,
                         shape.batch, shape.b_shared ? shape.batch : desc->b.shape[0]);
    *out_shape = shape;
    return VKF_OK;
}

static vkf_status check_gemm(const vkf__checker *check, const vkf_gemm_desc *desc, gemm_shape *out_shape)
{
    VKF_RETURN_IF_ERROR(check_matrices(check, desc, out_shape));
    const uint32_t shape3[] = {out_shape->batch, out_shape->m, out_shape->n};
    const uint32_t *shape = desc->out.rank == 2 && out_shape->batch == 1 ? shape3 + 1 : shape3;
    uint32_t rank = shape == shape3 ? 3 : 2;
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", desc->out.dtype, rank, shape));
    if (desc->beta != 0.0f)
        VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->c, "c", desc->out.dtype, rank, shape));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &desc->bias, "bias", bias_type(desc), 1, &out_shape->n));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &desc->residual, "residual", desc->out.dtype, rank, shape));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->a, "a"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->b, "b"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->bias, "bias"));
    if (desc->beta != 0.0f && !vkf__same_tensor(&desc->c, &desc->out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->c, "c"));
    if (!vkf__same_tensor(&desc->residual, &desc->out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->residual, "residual"));
    if (desc->activation >= VKF_ACTIVATION_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown activation %d", check->function,
                         (int)desc->activation);
    if (vkf__activation_flag(desc->activation) != VKF_SHADER_ACTIVATION_NONE && desc->beta != 0.0f &&
        desc->residual.rank > 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: c, residual and an activation together are not offered; add the residual with vkf_copy",
                         check->function);
    return VKF_OK;
}

// Emits out = alpha * x + beta * out over the whole output; the product then adds to it.
static vkf_status emit_addend(vkf__work *work, const vkf_gemm_desc *desc, const vkf_tensor *x, float alpha, float beta)
{
    uint64_t count = 0;
    (void)vkf_tensor_count(&desc->out, &count);
    uint32_t cols = desc->out.shape[desc->out.rank - 1];
    const vkf__copy_args copy = {
        .label = "addend",
        .x = vkf__span_of(x),
        .out = vkf__span_of(&desc->out),
        .outer = 1,
        .rows = (uint32_t)(count / cols),
        .cols = cols,
        .x_row = cols,
        .out_row = cols,
        .alpha = alpha,
        .beta = beta,
    };
    return vkf__emit_copy(work, &copy);
}

typedef struct gemm_job {
    const vkf_gemm_desc *desc;
    gemm_shape shape;
} gemm_job;

// Puts c and the residual into the output first, as the kernel has a single binding for the addend and the output.
static vkf_status emit_addends(vkf__work *work, const vkf_gemm_desc *desc, float *out_beta, bool *out_after)
{
    bool has_c = desc->beta != 0.0f, has_residual = desc->residual.rank > 0;
    *out_beta = has_c ? desc->beta : has_residual ? 1.0f : 0.0f;
    *out_after = has_residual && !has_c;
    if (has_c && has_residual) {
        bool in_place = vkf__same_tensor(&desc->residual, &desc->out);
        // A residual that is the output itself is there already.
        VKF_RETURN_IF_ERROR(emit_addend(work, desc, &desc->c, desc->beta, in_place ? 1.0f : 0.0f));
        if (!in_place)
            VKF_RETURN_IF_ERROR(emit_addend(work, desc, &desc->residual, 1.0f, 1.0f));
        *out_beta = 1.0f;
    } else if (has_c && !vkf__same_tensor(&desc->c, &desc->out)) {
        VKF_RETURN_IF_ERROR(emit_addend(work, desc, &desc->c, 1.0f, 0.0f));
    } else if (has_residual && !has_c && !vkf__same_tensor(&desc->residual, &desc->out)) {
        VKF_RETURN_IF_ERROR(emit_addend(work, desc, &desc->residual, 1.0f, 0.0f));
    }
    return VKF_OK;
}

// Where k is 0, the product of a column with a row, both of zeros, stands for the sum over nothing, so that the kernel
// does with it what it does with any.
static vkf_status make_empty_sum(vkf__work *work, const vkf_gemm_desc *desc, vkf__gemm_args *gemm)
{
    vkf__span zeros = {0};
    const uint32_t longest = gemm->m > gemm->n ? gemm->m : gemm->n;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, longest, &zeros));
    VKF_RETURN_IF_ERROR(vkf__emit_zeros(work, "empty_sum", &zeros, 1, 1, longest));
    gemm->a = gemm->b = zeros;
    gemm->a.dtype = desc->a.dtype;
    gemm->b.dtype = bias_type(desc);
    gemm->k = gemm->lda = gemm->ldb = 1;
    gemm->a_outer = gemm->b_outer = 0;
    gemm->transpose_a = false;
    gemm->transpose_b = true;
    gemm->alpha = 1.0f;
    return VKF_OK;
}

static vkf_status emit_gemm(vkf__work *work, const void *args)
{
    const gemm_job *job = args;
    const vkf_gemm_desc *desc = job->desc;
    const gemm_shape *s = &job->shape;
    vkf__gemm_args gemm = {
        .label = "gemm",
        .a = vkf__span_of(&desc->a),
        .b = vkf__span_of(&desc->b),
        .d = vkf__span_of(&desc->out),
        .bias = vkf__span_of(&desc->bias),
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .batch = s->batch,
        .lda = desc->transpose_a ? s->m : s->k,
        .ldb = desc->transpose_b ? s->k : s->n,
        .ldd = s->n,
        .a_outer = s->m * s->k,
        .b_outer = s->b_shared ? 0 : s->n * s->k,
        .d_outer = s->m * s->n,
        .transpose_a = desc->transpose_a,
        .transpose_b = desc->transpose_b,
        .alpha = vkf__float_or(desc->alpha, 1),
        .activation = desc->activation,
    };
    VKF_RETURN_IF_ERROR(emit_addends(work, desc, &gemm.beta, &gemm.add_after));
    if (s->k == 0)
        VKF_RETURN_IF_ERROR(make_empty_sum(work, desc, &gemm));
    return vkf__emit_gemm(work, &gemm);
}

vkf_status vkf_pack_weight(vkf_context *context, const vkf_tensor *weight, const char *name, vkf_tensor *out_packed)
{
    if (!context || !weight || !out_packed)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    uint64_t bytes = 0;
    vkf_tensor packed = {0};
    const vkf__checker check = {.host = &context->host, .function = "vkf_pack_weight", .context = context};
    VKF_TRY(vkf__check_factor(&check, weight, "weight"));
    packed = (vkf_tensor){
        .dtype = weight->dtype,
        .rank = weight->rank,
        .shape = {weight->shape[0], weight->shape[1]},
        .layout = VKF_LAYOUT_PANELS,
    };
    if (!vkf_tensor_bytes(&packed, &bytes)) {
        status = vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "vkf_pack_weight: weight must be of rank 2");
        goto fail;
    }
    VKF_TRY(vkf_buffer_create(context, bytes, name, &packed.buffer));
    VKF_TRY(vkf__pack(context, weight, &packed));
    *out_packed = packed;
    return VKF_OK;
fail:
    vkf_tensor_destroy(&packed);
    return status;
}

vkf_layout vkf_context_get_preferred_layout(const vkf_context *context, vkf_dtype activations, vkf_dtype weights,
                                            uint32_t n, uint32_t k)
{
    const vkf_dtype types[] = {activations, weights, activations};
    return context && vkf__wants_panels(context, types, n, k) ? VKF_LAYOUT_PANELS : VKF_LAYOUT_ROWS;
}

vkf_status vkf_gemm_sized(vkf_context *context, const vkf_gemm_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_gemm");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_gemm", vkf_gemm_desc, desc, desc_bytes);
    const vkf__checker check = vkf__operator_checker(context, "vkf_gemm");
    gemm_job job = {.desc = desc};
    VKF_RETURN_IF_ERROR(check_gemm(&check, desc, &job.shape));
    return vkf__run_operator(&check, &desc->out, "gemm", emit_gemm, &job);
}
