// Cuts products in depth: one dispatch leaves the parts in memory, a second one adds them up.
#include "op/gemm_split.h"

#include <math.h>

#include "base/elements.h"
#include "base/size.h"
#include "op/activation_flag.h"
#include "op/activation_value.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/gemm.h"
#include "shared/gemm_reduce.h"

// Less depth is not worth the second dispatch.
#define MIN_DEPTH 1024u
#define MIN_DEPTH_PER_SPLIT 512u
#define MAX_SPLITS 8u
// Products of which tiles of this side keep more than half of the cores busy are not cut.
#define AMPLE_TILE 64u
// The multiply-adds that a core has time for, by itself and by matrices, in the microseconds of one more dispatch and
// its barrier; and, if all cores share it, while a number goes to the cache of the device and back.
#define SUM_TIME 0x1p20
#define MATRIX_SUM_TIME 0x1p21
#define NUMBER_TIME 128.0
// The times are estimates. Parts that take more than this share of the whole's may be no gain at all.
#define MAX_SHARE 0.7
// Products of up to this many rows have kernels of their own, which cut k among the invocations of a workgroup.
#define FEW_ROWS 8u

// The type in which the kernel that adds up the parts reads the bias. The kernel is chosen by it.
static vkf_dtype bias_type(const vkf__gemm_args *args)
{
    if (!vkf__is_blocks(args->b.dtype))
        return args->b.dtype;
    return vkf__present(&args->bias) ? args->bias.dtype : args->d.dtype;
}

// Whether a product with a weight in blocks can be cut: there has to be a kernel that adds up parts with this bias.
static bool splits_blocks(const vkf__gemm_args *args)
{
    return args->d.dtype == VKF_DTYPE_F32 || bias_type(args) == args->d.dtype;
}

static bool may_be_cut(const vkf__selector *selector, const vkf__gemm_args *args, const vkf__problem *problem,
                       const vkf__variant *whole)
{
    const vkf__config ample = {.tile.gemm = {.m = AMPLE_TILE, .n = AMPLE_TILE}};
    const uint64_t groups = vkf__config_workgroups(&ample, problem);
    // A processor has few cores to fill, so the parts would go through memory for nothing.
    return !selector->caps->traits.processor && problem->m > FEW_ROWS && args->k >= MIN_DEPTH && groups > 0 &&
           2 * groups <= vkf__selector_cores(selector) && whole->config->tile.gemm.m > 0 &&
           (!vkf__is_blocks(args->b.dtype) || splits_blocks(args));
}

// The variant that leaves so many parts. One by matrices takes the place of nothing else, nor the other way around.
static bool select_parts(const vkf__selector *selector, const vkf__gemm_args *args, const vkf__problem *parts,
                         const vkf__variant *whole, vkf__variant *out_variant)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->a.dtype, args->b.dtype, VKF_DTYPE_F32};
    return vkf__select(selector, VKF_OP_GEMM, types, parts, out_variant, NULL) &&
           ((out_variant->kernel->needs ^ whole->kernel->needs) & VKF_NEEDS_MATRIX) == 0;
}

// A trial runs its own kernel, which may not be one that leaves parts: then it runs the whole product.
static bool trial_leaves_parts(const vkf__work *work, const vkf__problem *parts)
{
    const vkf__variant *trial = work->trial;
    return !trial || trial->kernel->op != VKF_OP_GEMM ||
           (trial->kernel->types[2] == VKF_DTYPE_F32 &&
            vkf__kernel_takes(&work->context->device.plan.caps, trial->kernel, trial->config, parts));
}

// In multiply-adds of a core, as vkf__config_time() has it; infinite where no kernel leaves the parts.
static double time_in_parts(const vkf__work *work, const vkf__gemm_args *args, const vkf__problem *problem,
                            const vkf__variant *whole, uint32_t splits)
{
    const vkf__selector selector = vkf__work_selector(work);
    const double sum_time = whole->kernel->needs & VKF_NEEDS_MATRIX ? MATRIX_SUM_TIME : SUM_TIME;
    const double numbers = (double)problem->m * problem->n * (problem->batch > 0 ? problem->batch : 1) * splits;
    vkf__problem parts = *problem;
    vkf__variant variant;
    parts.wants |= VKF_FORM_SPLIT;
    parts.parts = splits;
    if (!trial_leaves_parts(work, &parts) || !select_parts(&selector, args, &parts, whole, &variant))
        return INFINITY;
    return vkf__config_time(&selector, &variant, &parts) * args->k / splits + sum_time +
           NUMBER_TIME * numbers / vkf__selector_cores(&selector);
}

uint32_t vkf__gemm_splits(const vkf__work *work, const vkf__gemm_args *args, const vkf__problem *problem,
                          const vkf__variant *whole)
{
    const vkf__selector selector = vkf__work_selector(work);
    if (!may_be_cut(&selector, args, problem, whole))
        return 1;
    double best = MAX_SHARE * vkf__config_time(&selector, whole, problem) * args->k;
    uint32_t splits = 1;
    for (uint32_t s = 2; s <= MAX_SPLITS && args->k / s >= MIN_DEPTH_PER_SPLIT; s++) {
        const double time = time_in_parts(work, args, problem, whole, s);
        if (time < best) {
            best = time;
            splits = s;
        }
    }
    return splits;
}

static vkf_status emit_parts(vkf__work *work, const vkf__gemm_args *args, const vkf__variant *variant,
                             const vkf__span *sums, uint32_t splits)
{
    struct vkf_gemm_params params = vkf__gemm_factors(args);
    params.splits = splits;
    params.split_k = (uint32_t)vkf__align_u64(vkf__div_up_u32(args->k, splits), VKF_GEMM_SPLIT_STEP);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_GEMM_SPEC_TRANSPOSE_A] = args->transpose_a,
        [VKF_GEMM_SPEC_B_LAYOUT] = vkf__gemm_layout_flag(args->b.dtype, vkf__gemm_b_layout(args)),
        [VKF_GEMM_SPEC_SPLIT] = 1,
    };
    uint64_t z = (uint64_t)args->batch * splits, z_limit = work->context->device.plan.caps.max_workgroup_count_z;
    const vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->a, false}, {args->b, false}, {*sums, true}},
        .params = &params,
        .grid = {vkf__div_up_u32(args->n, variant->config->tile.gemm.n),
                 vkf__div_up_u32(args->m, variant->config->tile.gemm.m), (uint32_t)(z < z_limit ? z : z_limit)},
    };
    return vkf__work_dispatch(work, &dispatch);
}

static vkf_status emit_sum(vkf__work *work, const vkf__gemm_args *args, const vkf__span *sums, uint32_t splits)
{
    // With alpha 0 the product is 0 whatever a and b hold, so the parts, which may be NaN, are not read.
    struct vkf_gemm_reduce_params params = {
        .splits = args->alpha != 0.0f ? splits : 0,
        .m = args->m,
        .n = args->n,
        .batch_inner = args->batch_inner > 0 ? args->batch_inner : 1,
        .ldd = args->ldd,
        .d_first = (uint32_t)args->d_first,
        .d_outer = args->d_outer,
        .d_inner = args->d_inner,
        .alpha = args->alpha,
        .beta = args->beta,
    };
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_GEMM_REDUCE_SPEC_ACTIVATION] = vkf__activation_flag(args->activation),
        [VKF_GEMM_REDUCE_SPEC_HAS_BIAS] = vkf__present(&args->bias),
        [VKF_GEMM_REDUCE_SPEC_ADD_AFTER] = args->add_after,
    };
    const vkf__flat_args flat = {
        .label = "split_sum",
        .op = VKF_OP_GEMM_REDUCE,
        .types = {bias_type(args), args->d.dtype},
        .flags = flags,
        .bindings = {{*sums, false}, {args->d, true}, {args->bias, false}},
        .params = &params,
        .count = {args->batch, args->m, args->n},
        .factors = 3,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_split_gemm(vkf__work *work, const vkf__gemm_args *args, const vkf__problem *problem,
                                uint32_t splits)
{
    vkf__variant variant;
    vkf__span sums; // (splits, batch, m, n)
    vkf__problem split = *problem;
    split.wants |= VKF_FORM_SPLIT;
    split.parts = splits;
    const vkf_dtype types[] = {args->a.dtype, args->b.dtype, VKF_DTYPE_F32};
    const uint64_t factors[] = {splits, args->batch, args->m, args->n};
    uint64_t count = UINT64_MAX;
    (void)vkf__product_u64(factors, 4, &count);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, count, &sums));
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_GEMM, types, &split, &variant));
    VKF_RETURN_IF_ERROR(emit_parts(work, args, &variant, &sums, splits));
    return emit_sum(work, args, &sums, splits);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_gemm_reduce_params *p = dispatched->params;
    const double d = vkf__stored_bytes(p->count, dispatched->kernel->types[1]), parts = (double)p->count * p->splits;
    return (vkf__account){parts, vkf__stored_bytes(parts, VKF_DTYPE_F32) + (p->beta != 0.0f ? d : 0), d};
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_gemm_reduce_params *p = dispatched->params;
    const uint32_t plane = p->m * p->n;
    *out_extent = (vkf__extent){
        .operand = VKF_GEMM_REDUCE_BINDING_D - 1,
        .dtype = dispatched->kernel->types[1],
        .first = p->d_first,
        .counts = {plane > 0 ? p->count / plane / p->batch_inner : 0, p->batch_inner, p->m, p->n},
        .strides = {p->d_outer, p->d_inner, p->ldd, 1},
    };
    return true;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_gemm_reduce_params *p = e->params;
    const vkf_activation activation = (vkf_activation)e->spec[VKF_GEMM_REDUCE_SPEC_ACTIVATION];
    const bool after = e->spec[VKF_GEMM_REDUCE_SPEC_ADD_AFTER];
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t col = i % p->n, row = i / p->n % p->m, entry = i / p->n / p->m;
        const uint64_t at =
            p->d_first + entry / p->batch_inner * p->d_outer + entry % p->batch_inner * p->d_inner + row * p->ldd + col;
        const double added = p->beta == 0.0f ? 0 : p->beta * vkf__load(e, VKF_GEMM_REDUCE_BINDING_D, at);
        double sum = 0;
        for (uint64_t s = 0; s < p->splits; s++)
            sum += vkf__load(e, VKF_GEMM_REDUCE_BINDING_X, s * p->count + i);
        double value = p->alpha * sum + (after ? 0 : added);
        if (e->spec[VKF_GEMM_REDUCE_SPEC_HAS_BIAS])
            value += vkf__load(e, VKF_GEMM_REDUCE_BINDING_BIAS, col);
        vkf__store(e, VKF_GEMM_REDUCE_BINDING_D, at, vkf__activation_value(activation, value) + (after ? added : 0));
    }
    return VKF_OK;
}

const vkf__op_info vkf__op_gemm_reduce = {
    .params_bytes = sizeof(struct vkf_gemm_reduce_params),
    .account = account,
    .output = output,
    .reference = reference,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
    .sums_parts = true,
};
