// The emitter of sampling, and its operator's row.
#include "op/sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/philox.h"
#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "shared/sample.h"

static struct vkf_sample_params params_of(const vkf__sample_args *args)
{
    return (struct vkf_sample_params){
        .rows = args->rows,
        .cols = args->cols,
        .out_stride = args->out_stride,
        .out_first = args->out_first,
        .top_k = args->top_k,
        .step = args->step,
        .seed_low = (uint32_t)args->seed,
        .seed_high = (uint32_t)(args->seed >> 32),
        .temperature = args->temperature,
        .top_p = args->top_p,
        .min_p = args->min_p,
        .repetition_penalty = args->repetition_penalty,
    };
}

// Two iterations of a workgroup, or more where there would be too many parts.
static uint32_t part_cols_of(const vkf__work *work, const vkf__variant *variant, uint32_t cols)
{
    uint32_t part = 2 * VKF_SAMPLE_UNROLL * vkf__variant_local_size(&work->context->device.plan.caps, variant);
    while (vkf__div_up_u32(cols, part) > VKF_SAMPLE_PARTS_BINS)
        part *= 2;
    return part;
}

static bool needs_phase(const vkf__sample_args *args, uint32_t phase)
{
    if (phase == VKF_SAMPLE_PHASE_PEAK || phase == VKF_SAMPLE_PHASE_CHOOSE)
        return true;
    if (args->greedy || args->temperature == 0.0f)
        return false;
    if (phase < VKF_SAMPLE_PHASE_SUM)
        return args->top_k > 0 && args->top_k < args->cols;
    return phase == VKF_SAMPLE_PHASE_SUM || phase == VKF_SAMPLE_PHASE_PLACE || args->top_p < 1.0f;
}

// The phases that a run does not need have no workgroups in it.
static vkf_status emit_parts(vkf__work *work, const vkf__sample_args *args, const vkf__variant *variant,
                             const uint32_t *flags)
{
    struct vkf_sample_params params = params_of(args);
    vkf__span state; // (rows, VKF_SAMPLE_STATE_WORDS)
    params.part_cols = part_cols_of(work, variant, args->cols);
    params.parts = vkf__div_up_u32(args->cols, params.part_cols);
    const uint64_t words = VKF_SAMPLE_STATE_WORDS(params.parts, params.part_cols);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_I32, args->rows * words, &state));
    for (uint32_t phase = 0; phase < VKF_SAMPLE_PHASES; phase++) {
        if (args->greedy && !needs_phase(args, phase))
            continue;
        const bool last = phase == VKF_SAMPLE_PHASE_CHOOSE;
        const uint64_t groups = last ? args->rows : (uint64_t)args->rows * params.parts;
        params.phase = phase;
        vkf__dispatch dispatch = {
            .label = last ? args->label : "sample_phase",
            .variant = *variant,
            .flags = flags,
            .bindings = {{args->x, false}, {args->seen, last}, {args->out, last}, {state, true}},
            .params = &params,
        };
        vkf__grid_flat(work, needs_phase(args, phase) ? groups : 0, dispatch.grid);
        VKF_RETURN_IF_ERROR(vkf__work_dispatch(work, &dispatch));
        if (needs_phase(args, phase))
            params.previous = phase;
    }
    return VKF_OK;
}

static vkf_status emit_whole(vkf__work *work, const vkf__sample_args *args, const vkf__variant *variant,
                             const uint32_t *flags)
{
    const struct vkf_sample_params params = params_of(args);
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->seen, true}, {args->out, true}},
        .params = &params,
    };
    vkf__grid_flat(work, args->rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

vkf_status vkf__emit_sample(vkf__work *work, const vkf__sample_args *args)
{
    vkf__variant variant;
    if (args->cols > VKF_SAMPLE_MAX_COLS)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: %u tokens to choose from, at most %u",
                         work->name, args->label, args->cols, VKF_SAMPLE_MAX_COLS);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype, VKF_DTYPE_I32};
    const vkf__problem problem = {.m = args->rows, .n = args->cols};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_SAMPLE, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_SAMPLE_SPEC_HAS_SEEN] = vkf__present(&args->seen)};
    return variant.kernel->by_parts ? emit_parts(work, args, &variant, flags) : emit_whole(work, args, &variant, flags);
}

// A phase reads the row once more, though once would do; the last one chooses.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_sample_params *p = dispatched->params;
    const bool chooses = !dispatched->kernel->by_parts || p->phase == VKF_SAMPLE_PHASE_CHOOSE;
    const bool reads = !dispatched->kernel->by_parts || p->phase == VKF_SAMPLE_PHASE_PEAK;
    return vkf__account_choice(dispatched->kernel, p->rows, reads ? p->cols : 0, chooses ? 4 : 0);
}

// No pipeline is made ahead, because only generation asks for one.
static const vkf__typical_problem problems[] = {
    {.label = "1000 columns", .problem = {.m = 512, .n = 1000}},
    {.label = "32768", .problem = {.m = 512, .n = 32768}},
    {.label = "128256, one row", .problem = {.m = 1, .n = 128256}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_sample(work, args);
}

// The penalised logit, in float32 as kernels have it.
static double penalised(const vkf__execution *e, uint64_t row, uint32_t col)
{
    const struct vkf_sample_params *p = e->params;
    const uint64_t words = (p->cols + 31) / 32;
    const float x = (float)vkf__load(e, VKF_SAMPLE_BINDING_X, row * p->cols + col);
    const bool seen = e->spec[VKF_SAMPLE_SPEC_HAS_SEEN] &&
                      (vkf__load_word(e, VKF_SAMPLE_BINDING_SEEN, row * words + col / 32) >> col % 32 & 1);
    return !seen ? (double)x : (double)(x < 0 ? x * p->repetition_penalty : x / p->repetition_penalty);
}

// The largest penalised logit, NaN above all others; the lowest token among equals.
static uint32_t largest(const vkf__execution *e, uint64_t row)
{
    const struct vkf_sample_params *p = e->params;
    uint32_t best = 0;
    for (uint32_t col = 1; col < p->cols && !isnan(penalised(e, row, best)); col++)
        if (isnan(penalised(e, row, col)) || penalised(e, row, col) > penalised(e, row, best))
            best = col;
    return best;
}

static int compare_descending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

static void sort_copy(const double *values, uint32_t count, double *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = values[i];
    qsort(out, count, sizeof *out, compare_descending);
}

// Drops what is below the threshold, and makes the rest sum up to 1 again.
static void keep(double *probabilities, uint32_t cols, double threshold)
{
    double sum = 0;
    for (uint32_t i = 0; i < cols; i++)
        sum += probabilities[i] >= threshold ? probabilities[i] : 0;
    for (uint32_t i = 0; i < cols; i++)
        probabilities[i] = probabilities[i] >= threshold ? probabilities[i] / sum : 0;
}

static void keep_top_p(const struct vkf_sample_params *p, double *probabilities, double *sorted, double *margin)
{
    uint32_t last = 0;
    sort_copy(probabilities, p->cols, sorted);
    double reached = sorted[0];
    for (; reached < (double)p->top_p && last + 1 < p->cols; last++) {
        if (sorted[last + 1] < sorted[last])
            *margin = fmin(*margin, (double)p->top_p - reached);
        reached += sorted[last + 1];
    }
    if (last + 1 < p->cols && sorted[last + 1] < sorted[last])
        *margin = fmin(*margin, reached - (double)p->top_p);
    keep(probabilities, p->cols, sorted[last]);
}

void vkf__sample_probabilities(const vkf__execution *e, uint64_t row, uint32_t top, double *out, double *sorted,
                               double *margin)
{
    const struct vkf_sample_params *p = e->params;
    const double peak = penalised(e, row, top);
    for (uint32_t i = 0; i < p->cols; i++)
        out[i] = exp((penalised(e, row, i) - peak) / (double)p->temperature);
    if (p->top_k > 0 && p->top_k < p->cols) {
        sort_copy(out, p->cols, sorted);
        keep(out, p->cols, sorted[p->top_k - 1]);
    }
    keep(out, p->cols, 0);
    if (p->top_p < 1)
        keep_top_p(p, out, sorted, margin);
    keep(out, p->cols, (double)p->min_p * out[top]);
}

// Draws a row's token; -1: it has none. *margin becomes no larger than the probability between the draw and the nearer
// border of the token: where that is little, another rounding might draw another. `scratch` is (2, cols).
static int32_t draw_token(const vkf__execution *e, uint64_t row, double *scratch, double *margin)
{
    const struct vkf_sample_params *p = e->params;
    const uint32_t counter[4] = {(uint32_t)row, p->step}, key[2] = {p->seed_low, p->seed_high}, top = largest(e, row);
    uint32_t words[4], chosen = top;
    if (!isfinite(penalised(e, row, top)))
        return -1;
    if (p->temperature == 0)
        return (int32_t)top;
    vkf__sample_probabilities(e, row, top, scratch, scratch + p->cols, margin);
    vkf__philox(counter, key, words);
    const double place = words[0] / 4294967296.0;
    double below = 0, nearest = 1;
    for (uint32_t i = 0; i < p->cols; i++) {
        const double above = below + scratch[i];
        if (scratch[i] > 0 && place >= below) {
            chosen = i;
            nearest = fmin(below == 0 ? 1 : place - below, above > 1 - 1e-12 ? 1 : above - place);
        }
        below = above;
    }
    *margin = fmin(*margin, nearest);
    return (int32_t)chosen;
}

static void give_token(const vkf__execution *e, uint64_t row, int32_t token)
{
    const struct vkf_sample_params *p = e->params;
    const uint64_t word = row * ((p->cols + 31) / 32) + (uint32_t)token / 32;
    vkf__store_word(e, VKF_SAMPLE_BINDING_OUT, row * p->out_stride + p->out_first, (uint32_t)token);
    if (token >= 0 && e->spec[VKF_SAMPLE_SPEC_HAS_SEEN])
        vkf__store_word(e, VKF_SAMPLE_BINDING_SEEN, word,
                        vkf__load_word(e, VKF_SAMPLE_BINDING_SEEN, word) | 1u << (uint32_t)token % 32);
}

// The last phase of a kernel in phases does everything.
static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_sample_params *p = e->params;
    double *scratch = NULL, margin = 1;
    if (e->kernel->by_parts && p->phase != VKF_SAMPLE_PHASE_CHOOSE)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(e->host, scratch, 2 * (size_t)p->cols);
    for (uint64_t row = 0; row < p->rows; row++)
        give_token(e, row, draw_token(e, row, scratch, &margin));
    vkf__free(e->host, scratch);
    return VKF_OK;
}

// Every draw lies at least this far from a border, in probability, so that rounding does not decide.
static double least_margin(const vkf__cases *c)
{
    return c->draw ? 1e-5 : 1e-4;
}

static vkf__host_operand operand_of(const vkf__cases *c, const vkf__span *span)
{
    return (vkf__host_operand){vkf__case_bytes(c, span), span->size_bytes, span->dtype};
}

// Sets the first step of a hundred at which no row's draw is near a border; *out_found: there is one.
static vkf_status find_step(const vkf__cases *c, vkf__sample_args *args, bool *out_found)
{
    const uint32_t spec[VKF_KERNEL_MAX_SPEC] = {[VKF_SAMPLE_SPEC_HAS_SEEN] = vkf__present(&args->seen)};
    struct vkf_sample_params params = params_of(args);
    const vkf__execution e = {
        .kernel = c->variant->kernel,
        .spec = spec,
        .params = &params,
        .operands = {[VKF_SAMPLE_BINDING_X - 1] = operand_of(c, &args->x),
                     [VKF_SAMPLE_BINDING_SEEN - 1] = operand_of(c, &args->seen)},
    };
    double *scratch = NULL, margin = 0;
    VKF_ALLOC_OR_RETURN(c->host, scratch, 2 * (size_t)args->cols);
    for (params.step = 0; params.step < 100 && margin <= least_margin(c); params.step++) {
        args->step = params.step;
        margin = 1;
        for (uint32_t row = 0; row < args->rows; row++)
            (void)draw_token(&e, row, scratch, &margin);
    }
    vkf__free(c->host, scratch);
    *out_found = margin > least_margin(c);
    return VKF_OK;
}

// In the first row all logits are equal, and no threshold may tell them apart. In the second one the last column is the
// most probable: it is read again where a row ends within a step of the workgroup.
static void shape_rows(const vkf__cases *c, const vkf__sample_args *args)
{
    const uint64_t size = vkf_dtype_size(args->x.dtype);
    uint8_t *x = vkf__case_bytes(c, &args->x);
    for (uint32_t col = 0; col < args->cols; col++)
        vkf__element_set(args->x.dtype, x + col * size, 0.5);
    if (args->rows > 1)
        vkf__element_set(args->x.dtype, x + (2 * (uint64_t)args->cols - 1) * size, 4);
}

static void draw_settings(vkf__cases *c, vkf__sample_args *args)
{
    static const float temperatures[] = {0, 0.3f, 0.7f, 1, 2.5f, 8}, top_ps[] = {1, 1, 0.8125f, 0.4f, 1e-6f},
                       min_ps[] = {0, 0, 0.05f, 0.5f, 1};
    static const uint32_t top_ks[] = {0, 0, 1, 2, 5, 64, 129, 300};
#define ONE_OF(list) (list)[vkf__case_pick(c, 0, sizeof(list) / sizeof(list)[0])]
    args->temperature = ONE_OF(temperatures);
    args->top_k = ONE_OF(top_ks);
    args->top_p = ONE_OF(top_ps);
    args->min_p = ONE_OF(min_ps);
#undef ONE_OF
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge, vkf__sample_args args)
{
    bool found = false;
    if (c->draw)
        draw_settings(c, &args);
    const bool seen = vkf__case_constant(c, VKF_SAMPLE_SPEC_HAS_SEEN, vkf__case_flip(c, true));
    args.label = "sample";
    args.rows = vkf__case_size(c, 3, 4);
    args.cols = vkf__case_size(c, edge, 5000);
    args.out_stride = 1 + vkf__case_pick(c, 0, 3);
    args.out_first = vkf__case_pick(c, 0, args.out_stride);
    args.greedy = args.temperature == 0 && vkf__case_flip(c, false);
    args.repetition_penalty = vkf__case_flip(c, true) ? 1.25f : 1;
    args.seed = (uint64_t)vkf__case_pick(c, 0x01234567, 1u << 31) << 32 | vkf__case_pick(c, 0x09abcdef, 1u << 31);
    args.x = vkf__case_floats(c, c->variant->kernel->types[0], (uint64_t)args.rows * args.cols);
    args.out = vkf__case_ints(c, 0, 100, (uint64_t)args.rows * args.out_stride);
    if (seen)
        args.seen = vkf__case_ints(c, INT32_MIN, INT32_MAX, (uint64_t)args.rows * ((args.cols + 31) / 32));
    shape_rows(c, &args);
    vkf__case_extremes(c, &args.x);
    VKF_RETURN_IF_ERROR(find_step(c, &args, &found));
    if (!found) {
        vkf__cases_clear(c);
        return VKF_OK;
    }
    return vkf__case_run(c, &args, 0, "(%u, %u), temperature %g, top-k %u, top-p %g, min-p %g, step %u", args.rows,
                         args.cols, (double)args.temperature, args.top_k, (double)args.top_p, (double)args.min_p,
                         args.step);
}

// Lengths around the words of the seen bits, the workgroup's steps and the histogram's bins.
static vkf_status cases(vkf__cases *c)
{
    const uint32_t lengths[] = {1, 31, 33, 257, 8 * c->variant->config->local_size + 5};
    const vkf__sample_args settings[] = {
        {.temperature = 0, .top_p = 1},
        {.temperature = 0.7f, .top_p = 1},
        {.temperature = 1, .top_k = 5, .top_p = 0.8125f, .min_p = 0.05f},
        {.temperature = 8, .top_k = 5, .top_p = 1},
        {.temperature = 2, .top_k = 300, .top_p = 0.4f, .min_p = 0.5f},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
            VKF_RETURN_IF_ERROR(cases_of(c, lengths[i], settings[k]));
    return VKF_OK;
}

// It writes tokens, and so has no `output`.
const vkf__op_info vkf__op_sample = {
    .params_bytes = sizeof(struct vkf_sample_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_SAMPLE_SPEC_HAS_SEEN, 1}},
};
