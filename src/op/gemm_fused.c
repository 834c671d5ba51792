// Decides whether norms and gates are left to the products beside them.
#include "op/gemm_fused.h"

#include "base/elements.h"
#include "op/gemm_dot.h"

// Columns of either matrix that a lane takes at once.
#define LANE_COLUMNS 4u

// Whether kernels can read the norm's weight and bias: in quads, of b's type unless b is in blocks, and by one operand
// with the product's bias, except where the norm is applied before the product (`dot`).
static bool takes_norm(const vkf__work *work, const vkf__gemm_args *args, bool dot)
{
    const vkf__span *weight = &args->norm.weight;
    const uint64_t quad_bytes = 4 * vkf_dtype_size(weight->dtype);
    const bool typed = vkf__is_blocks(args->b.dtype) ? weight->dtype == VKF_DTYPE_F32 || weight->dtype == VKF_DTYPE_F16
                                                     : weight->dtype == args->b.dtype;
    vkf__gemm_vectors vectors;
    return typed && args->k % 4 == 0 && weight->offset_bytes % quad_bytes == 0 &&
           args->norm.bias.offset_bytes % quad_bytes == 0 &&
           vkf__gemm_join_vectors(work, &args->norm, dot ? &(vkf__span){0} : &args->bias, &vectors);
}

static bool takes_gate(const vkf__gemm_args *args)
{
    return args->n % (2 * LANE_COLUMNS) == 0 && args->beta == 0.0f && !args->add_after;
}

// The variant that the product gets, whose a is in blocks where `dot`.
static bool select_product(const vkf__work *work, const vkf__gemm_args *args, bool dot, vkf__variant *out_variant)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf__gemm_args product = dot ? vkf__gemm_dot_product(args) : *args;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {product.a.dtype, product.b.dtype, product.d.dtype};
    const vkf__problem problem = vkf__gemm_problem(work, &product);
    return vkf__select(&selector, VKF_OP_GEMM, types, &problem, out_variant, NULL);
}

// On a processor it costs more to find mean and deviation in each workgroup than in a dispatch of its own. A kernel
// that was asked for does so all the same.
static bool pays(const vkf__work *work, const vkf__input_norm *norm)
{
    const vkf_context *context = work->context;
    return !vkf__present(&norm->bias) || !context->device.plan.caps.traits.processor || context->forced_variant;
}

bool vkf__gemm_fuses(const vkf__work *work, const vkf__gemm_args *args)
{
    const bool normed = vkf__present(&args->norm.weight);
    vkf__gemm_args plain = *args;
    vkf__variant fused, alone;
    plain.norm = (vkf__input_norm){0};
    plain.gate = false;
    const bool dot = vkf__gemm_dot_pays(work, &plain);
    if ((normed && !(takes_norm(work, args, dot) && pays(work, &args->norm))) || (args->gate && !takes_gate(args)) ||
        !vkf__gemm_is_one_dispatch(work, args) || dot != vkf__gemm_dot_pays(work, args))
        return false;
    return select_product(work, args, dot, &fused) && select_product(work, &plain, dot, &alone) &&
           fused.kernel == alone.kernel && fused.config == alone.config;
}

bool vkf__linear_fuses(const vkf__work *work, const vkf__linear_args *args)
{
    const vkf__gemm_args gemm = vkf__linear_product(args);
    return vkf__gemm_fuses(work, &gemm);
}
