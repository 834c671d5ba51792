// The emitter of masked softmax, and its operator's row.
#include "op/softmax.h"

#include <float.h>
#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/masked_score.h"
#include "op/operators.h"
#include "op/rows.h"
#include "shared/softmax.h"

_Static_assert(VKF_SHADER_MASK_LENGTHS == (int)VKF_MASK_LENGTHS, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_MASK_BOOL_EXCLUDE == (int)VKF_MASK_BOOL_EXCLUDE, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_MASK_BOOL_ATTEND == (int)VKF_MASK_BOOL_ATTEND, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_MASK_ADDITIVE == (int)VKF_MASK_ADDITIVE, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_FULLY_MASKED_NAN == (int)VKF_FULLY_MASKED_NAN, "rules differ between C and GLSL");
_Static_assert(VKF_SHADER_FULLY_MASKED_UNIFORM == (int)VKF_FULLY_MASKED_UNIFORM, "rules differ between C and GLSL");

vkf_dtype vkf__mask_dtype(vkf_mask_kind kind)
{
    return kind == VKF_MASK_ADDITIVE ? VKF_DTYPE_F32 : kind == VKF_MASK_LENGTHS ? VKF_DTYPE_I32 : VKF_DTYPE_BOOL;
}

vkf__own_positions vkf__own_positions_of(vkf_causal causal, uint32_t first, uint32_t q_len, uint32_t k_len)
{
    const bool behind = causal == VKF_CAUSAL_LENGTHS;
    const int64_t last = behind ? -(int64_t)q_len : (int64_t)k_len - q_len;
    return (vkf__own_positions){behind || causal == VKF_CAUSAL_BOTTOM_RIGHT ? last : first, q_len, k_len, behind};
}

void vkf__place_window(const vkf__own_positions *own, bool causal, uint32_t window, uint32_t right, vkf__masks *masks)
{
    // So many keys ahead of the first query are all of them, as for all queries behind it.
    const int64_t all = own->first < (int64_t)own->k_len ? (int64_t)own->k_len - own->first : 0;
    const uint64_t ahead = right < all ? right : (uint64_t)all, keys = window + ahead;
    masks->causal = !causal && window == 0 && right == 0 ? 0
                    : own->behind_lengths                ? VKF_SHADER_CAUSAL_LENGTHS
                                                         : VKF_SHADER_CAUSAL_FIRST;
    masks->causal_offset = (int32_t)(own->first + (int64_t)ahead);
    masks->distance_offset = (int32_t)own->first;
    masks->window = window == 0 ? 0 : keys < UINT32_MAX ? (uint32_t)keys : UINT32_MAX;
}

uint32_t vkf__score_form(const vkf__masks *masks)
{
    return (masks->soft_cap != 0 ? VKF_SHADER_SCORE_CAPPED : 0u) |
           (vkf__present(&masks->slopes) ? VKF_SHADER_SCORE_SLOPED : 0u) |
           (vkf__present(&masks->sinks) ? VKF_SHADER_SCORE_SUNK : 0u);
}

vkf_status vkf__emit_softmax(vkf__work *work, const vkf__softmax_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype, args->out.dtype};
    uint64_t rows = (uint64_t)args->batch * args->heads * args->q_len;
    if (rows > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 rows", work->name,
                         args->label);
    const vkf__problem problem = {.m = (uint32_t)rows, .n = args->k_len};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_SOFTMAX, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        VKF_MASK_FLAGS(SOFTMAX, &args->masks),
        [VKF_SOFTMAX_SPEC_FULLY_MASKED] = (uint32_t)args->masks.fully_masked,
        [VKF_SOFTMAX_SPEC_LOGARITHM] = args->logarithm,
    };
    struct vkf_softmax_params params = {
        .heads = args->heads,
        .q_len = args->q_len,
        .rows = (uint32_t)rows,
        .k_len = args->k_len,
        VKF_MASK_PARAMS(&args->masks, args->k_len),
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->out, true}, VKF_MASK_BINDINGS(&args->masks)},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_softmax_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    return vkf__account_elementwise((double)p->rows * p->k_len, 5, types[0], types[1]);
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_softmax_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_SOFTMAX_BINDING_OUT, dispatched->kernel->types[1], p->rows, p->k_len, p->k_len);
    return true;
}

static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}, .ahead = true},
    {.problem = {.m = 512, .n = 256}, .ahead = true},
    {.label = "512", .problem = {.m = 512, .n = 512}},
    {.label = "4096", .problem = {.m = 512, .n = 4096}, .ahead = true},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_softmax(work, args);
}

static double score_of(const vkf__execution *e, const vkf__score_masks *masks, uint64_t row, uint64_t col)
{
    const struct vkf_softmax_params *p = e->params;
    const uint64_t l = row % p->q_len, h = row / p->q_len % p->heads, b = row / p->q_len / p->heads;
    return vkf__masked_score(e, masks, b, h, l, col, vkf__load(e, VKF_SOFTMAX_BINDING_X, row * p->k_len + col));
}

// A masked score is minus infinity and has no weight; NaN and infinity make the row NaN.
static double weight_of(double score, double peak)
{
    return score == -INFINITY ? 0 : exp(score - peak);
}

static void execute_row(const vkf__execution *e, const vkf__score_masks *masks, uint64_t row)
{
    const struct vkf_softmax_params *p = e->params;
    const double sink = vkf__sink(e, masks, row / p->q_len % p->heads);
    double peak = fmax(sink, -INFINITY);
    for (uint64_t col = 0; col < p->k_len; col++)
        peak = fmax(peak, score_of(e, masks, row, col)); // fmax passes over NaN
    double sum = weight_of(sink, peak);
    for (uint64_t col = 0; col < p->k_len; col++)
        sum += weight_of(score_of(e, masks, row, col), peak);
    for (uint64_t col = 0; col < p->k_len; col++) {
        const double score = score_of(e, masks, row, col);
        const double none = vkf__fully_masked_weight(e->spec[VKF_SOFTMAX_SPEC_FULLY_MASKED], p->k_len);
        const double share = isnan(sum) ? NAN : sum > 0 ? weight_of(score, peak) / sum : none;
        // The logarithm of a small weight, which as such may be 0.
        const double of_score = sum > 0 ? score - peak - log(sum) : log(share);
        vkf__store(e, VKF_SOFTMAX_BINDING_OUT, row * p->k_len + col,
                   e->spec[VKF_SOFTMAX_SPEC_LOGARITHM] ? of_score : share);
    }
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_softmax_params *p = e->params;
    const vkf__score_masks masks = VKF_SCORE_MASKS(SOFTMAX, e, p);
    for (uint64_t row = 0; row < p->rows; row++)
        execute_row(e, &masks, row);
    return VKF_OK;
}

// Weights of long rows are small, and exact but for exp() and their rounding. Logarithms are sums of numbers about 1.
static vkf_status run(vkf__cases *c, const vkf__softmax_args *args)
{
    const bool half = args->out.dtype == VKF_DTYPE_F16;
    c->least = args->logarithm ? 1 : half ? 0x1p-14 : 1e-5;
    return vkf__case_run(c, args, half ? 1e-3 : 1e-5, "(%u, %u, %u, %u), masks %d and %d%s, window %u", args->batch,
                         args->heads, args->q_len, args->k_len, (int)args->masks.kind, (int)args->masks.key_kind,
                         args->masks.causal ? ", causal" : "", args->masks.window);
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge)
{
    static const vkf__mask_constants ids = {VKF_SOFTMAX_SPEC_MASK_KIND,  VKF_SOFTMAX_SPEC_KEY_MASK_KIND,
                                            VKF_SOFTMAX_SPEC_CAUSAL,     VKF_SOFTMAX_SPEC_WINDOW,
                                            VKF_SOFTMAX_SPEC_SCORE_FORM, VKF_SOFTMAX_SPEC_FULLY_MASKED};
    const vkf_dtype *types = c->variant->kernel->types;
    const uint32_t scores[] = {vkf__case_size(c, 2, 3), vkf__case_size(c, 2, 3), vkf__case_size(c, 3, 7),
                               vkf__case_size(c, edge, 2100)};
    const uint64_t count = (uint64_t)scores[0] * scores[1] * scores[2] * scores[3];
    const vkf__span x = vkf__case_floats(c, types[0], count);
    const bool in_place = types[0] == types[1] && vkf__case_flip(c, false);
    vkf__softmax_args args = {
        .label = "softmax",
        .x = x,
        .out = in_place ? x : vkf__case_floats(c, types[1], count),
        .batch = scores[0],
        .heads = scores[1],
        .q_len = scores[2],
        .k_len = scores[3],
        .logarithm = vkf__case_constant(c, VKF_SOFTMAX_SPEC_LOGARITHM, vkf__case_flip(c, false)),
    };
    vkf__case_draw_masks(c, &ids, scores, false, (int32_t)scores[3] - (int32_t)scores[2] + 1, &args.masks);
    args.masks.scale = vkf__case_factor(c, 0.5f);
    if (vkf__case_flip(c, false))
        args.masks.row = 0; // all queries share one
    vkf__case_extremes(c, &x);
    return run(c, &args);
}

// The lowest numbers of float32 and of f16 are scores like others; large ones may overflow beside each other.
static vkf_status run_lowest(vkf__cases *c)
{
    static const float rows[][5] = {
        {1e4f, -1e4f, 9999, 1e4f, 0},
        {-1e4f, -1e4f, -1e4f, -9999, -2e4f},
        {1, -INFINITY, 2, -INFINITY, 3},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX},
        {NAN, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {3e38f, -3e38f, 0, 3e38f, 1},
        {-FLT_MAX, 0, -1e38f, -INFINITY, 1},
        {-FLT_MAX, -3e38f, -FLT_MAX, -3e38f, -INFINITY},
        {-FLT_MAX, -INFINITY, -INFINITY, -FLT_MAX, -INFINITY},
        {-65504, -65504, -65504, -65504, -65504},
        {-65504, -INFINITY, -INFINITY, -65504, -INFINITY},
    };
    const vkf_dtype *types = c->variant->kernel->types;
    const vkf__softmax_args args = {
        .label = "softmax",
        .x = vkf__case_values(c, types[0], rows[0], sizeof rows / sizeof(float)),
        .out = vkf__case_floats(c, types[1], sizeof rows / sizeof(float)),
        .batch = 1,
        .heads = 1,
        .q_len = sizeof rows / sizeof rows[0],
        .k_len = 5,
        .masks = {.cols = 5,
                  .scale = 1,
                  .fully_masked = (vkf_fully_masked)vkf__case_pick(c, VKF_FULLY_MASKED_ZERO, VKF_FULLY_MASKED_COUNT)},
        .logarithm = vkf__case_constant(c, VKF_SOFTMAX_SPEC_LOGARITHM, vkf__case_flip(c, false)),
    };
    return run(c, &args);
}

static vkf_status cases(vkf__cases *c)
{
    // Almost every drawn case is another pipeline.
    for (uint32_t i = 0; i < (c->draw ? 1 : VKF_CASE_ROW_LENGTHS); i++)
        VKF_RETURN_IF_ERROR(cases_of(c, vkf__case_row_length(c, i)));
    return c->draw ? run_lowest(c) : VKF_OK;
}

const vkf__op_info vkf__op_softmax = {
    .params_bytes = sizeof(struct vkf_softmax_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
