#include "op/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/size.h"
#include "kernel/tune_candidates.h"
#include "op/gemm.h"
#include "op/pack.h"
#include "op/self_test.h"
#include "op/trial.h"
#include "shared/gemm.h"

#define MAX_ENTRANTS 96
#define MAX_ROUNDS 9
#define MIN_ROUNDS 3
// Times the fastest: what is slower is out after the first round. So a layout of b gets no entry of its own where the
// other is that much faster.
#define HOPELESS 2.0
// A problem gives no more than this to its rounds once every entrant has had the least number of them.
#define ROUNDS_NS 1e9
// Of the time that is left, candidates are compiled, tested and tried for this much, in panels and then in all: some
// compilers take seconds for one, and what was tried has to be measured and proven, too.
#define TRY_PANELS 0.35
#define TRY_ALL 0.5

// A variant that takes part, with b in one layout.
typedef struct entrant {
    vkf__variant variant;
    bool panels;
    bool is_default; // what is taken without measurements
    bool out;        // hopeless, or wrong
    vkf__gemm_args args;
    vkf__trial trial;
    double samples[MAX_ROUNDS];
    uint32_t rounds;
    double median_ns;
} entrant;

typedef struct search {
    vkf_context *context;
    vkf_tune_problem problem;
    vkf_dtype types[3];
    double begin_ns, deadline_ns;
    double try_end_ns; // of entering candidates
    bool (*keep_going)(void *user, const char *what);
    void *user;
    bool cancelled, late;
    const char *what;
    vkf_buffer *buffer; // a, b in rows, b in panels, bias and d
    vkf__span a, rows, panels, bias, d;
    entrant entrants[MAX_ENTRANTS];
    uint32_t count;
    uint32_t refused;
} search;

static void name_variant(const vkf__variant *variant, char out_name[VKF_VARIANT_NAME_SIZE])
{
    (void)snprintf(out_name, VKF_VARIANT_NAME_SIZE, "%s/%s", variant->kernel->name, variant->config->name);
}

static bool goes_on(search *s, const char *what)
{
    s->what = what;
    s->late = s->late || vkf__now_ns() >= s->deadline_ns;
    s->cancelled = s->cancelled || (s->keep_going && !s->keep_going(s->user, what));
    return !s->cancelled && !s->late;
}

static bool try_goes_on(void *user)
{
    search *s = user;
    return goes_on(s, s->what) && vkf__now_ns() < s->try_end_ns;
}

static bool proof_goes_on(void *user)
{
    search *s = user;
    return goes_on(s, s->what);
}

static vkf__span take(vkf_dtype dtype, uint64_t count, uint64_t alignment, uint64_t *total)
{
    vkf__span span = {.dtype = dtype, .offset_bytes = *total, .size_bytes = count * vkf_dtype_size(dtype)};
    *total = vkf__align_u64(*total + span.size_bytes, alignment);
    return span;
}

// Multiples of 1/8 up to one: numbers as weights have them, with no denormal or infinity on the way.
static void fill_chunk(vkf_dtype dtype, uint8_t *chunk, size_t bytes)
{
    uint32_t random = 1;
    for (size_t at = 0; at < bytes; at += vkf_dtype_size(dtype)) {
        random = random * 1664525u + 1013904223u;
        float value = (float)((int)(random >> 24) % 17 - 8) * 0.125f;
        uint16_t half = dtype == VKF_DTYPE_BF16 ? vkf__bfloat_from_float(value) : vkf__half_from_float(value);
        if (vkf_dtype_size(dtype) == sizeof half)
            memcpy(chunk + at, &half, sizeof half);
        else
            memcpy(chunk + at, &value, sizeof value);
    }
}

static vkf_status fill(search *s, const vkf__span *span)
{
    const size_t chunk_bytes = (size_t)1 << 20;
    vkf_status status = VKF_OK;
    uint8_t *chunk = NULL;
    VKF_ALLOC(&s->context->host, chunk, chunk_bytes);
    fill_chunk(span->dtype, chunk, chunk_bytes);
    for (uint64_t at = 0; at < span->size_bytes; at += chunk_bytes) {
        uint64_t left = span->size_bytes - at;
        VKF_TRY(vkf_buffer_write(s->buffer, span->offset_bytes + at, chunk, left < chunk_bytes ? left : chunk_bytes));
    }
fail:
    vkf__free(&s->context->host, chunk);
    return status;
}

static vkf_status make_operands(search *s)
{
    const vkf_tune_problem *p = &s->problem;
    const uint64_t alignment = s->context->device.plan.buffer_alignment;
    vkf__span *spans[] = {&s->a, &s->rows, &s->panels, &s->bias, &s->d};
    vkf_status status = VKF_OK;
    uint64_t total = 0;
    s->a = take(p->x, (uint64_t)p->m * p->k, alignment, &total);
    s->rows = take(p->weight, (uint64_t)p->n * p->k, alignment, &total);
    s->panels = take(p->weight, vkf__packed_elements(p->n, p->k), alignment, &total);
    s->bias = take(p->weight, p->n, alignment, &total);
    s->d = take(p->out, (uint64_t)p->m * p->n, alignment, &total);
    s->panels.panels = true;
    VKF_TRY(vkf__buffer_create(&s->context->transfer, VKF_MEMORY_DEVICE, total, "tune", &s->buffer));
    for (size_t i = 0; i < 5; i++) {
        spans[i]->buffer = s->buffer;
        VKF_TRY(fill(s, spans[i]));
    }
fail:
    return status;
}

static vkf__gemm_args args_of(const search *s, bool panels)
{
    const vkf_tune_problem *p = &s->problem;
    return (vkf__gemm_args){
        .label = "tune",
        .a = s->a,
        .b = panels ? s->panels : s->rows,
        .d = s->d,
        .bias = s->bias,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = 1,
        .lda = p->k,
        .ldb = p->k,
        .ldd = p->n,
        // One matrix, but not one that might be shared: that would be put into panels first.
        .b_outer = panels ? 0 : 4,
        .transpose_b = true,
        .alpha = 1.0f,
    };
}

static vkf__problem problem_of(const search *s, bool panels)
{
    const vkf_tune_problem *p = &s->problem;
    uint64_t a = (uint64_t)p->m * p->k, b = panels ? vkf__packed_elements(p->n, p->k) : (uint64_t)p->n * p->k;
    return (vkf__problem){
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .b_layout = panels ? VKF_GEMM_B_PANELS : VKF_GEMM_B_NK,
        .allow_f16_math = vkf__context_allows_f16_math(s->context),
        .quads = panels && p->k % 4 == 0,
        .largest = a > b ? a : b,
    };
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

// Tests a candidate, builds it and runs it once.
static vkf_status enter(search *s, const vkf__candidate *candidate, bool panels)
{
    vkf_status status = VKF_OK;
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    double ns = 0;
    char name[VKF_VARIANT_NAME_SIZE];
    name_variant(&candidate->variant, name);
    if (s->count == MAX_ENTRANTS || !goes_on(s, name))
        return VKF_OK;
    VKF_TRY(vkf__self_test_within(s->context, &candidate->variant, try_goes_on, s, &verdict));
    s->refused += vkf__verdict_bad(verdict);
    if (verdict != VKF_VERDICT_PASSED && verdict != VKF_VERDICT_PROVEN)
        return VKF_OK;
    entrant *e = &s->entrants[s->count++];
    *e = (entrant){.variant = candidate->variant, .panels = panels, .args = args_of(s, panels)};
    VKF_TRY(vkf__trial_init(&e->trial, s->context, &e->variant, emit, &e->args));
    e->out = !e->trial.taken;
    if (!e->out)
        VKF_TRY(vkf__trial_run(&e->trial, &ns));
fail:
    return status;
}

static vkf_status enter_layout(search *s, bool panels)
{
    vkf_status status = VKF_OK;
    vkf__candidate *candidates = NULL;
    size_t count = 0;
    const vkf__host *host = &s->context->host;
    const vkf__selector selector = vkf__context_selector(s->context);
    const vkf__problem problem = problem_of(s, panels);
    if (panels && s->problem.n < VKF_GEMM_PANEL)
        return VKF_OK;
    VKF_TRY(vkf__tune_candidates(host, &selector, VKF_OP_GEMM, s->types, &problem, &candidates, &count));
    s->try_end_ns = s->begin_ns + (s->deadline_ns - s->begin_ns) * (panels ? TRY_PANELS : TRY_ALL);
    for (size_t i = 0; i < count && vkf__now_ns() < s->try_end_ns; i++) {
        if (candidates[i].taken)
            VKF_TRY(enter(s, &candidates[i], panels));
    }
fail:
    vkf__free(host, candidates);
    return status;
}

// After the self-tests: a quarantined variant is nobody's default.
static void mark_default(search *s)
{
    vkf__selector selector = vkf__context_selector(s->context);
    const vkf__problem rows = problem_of(s, false), panels = problem_of(s, true);
    vkf__variant chosen;
    selector.tuned = NULL;
    selector.forced = NULL;
    bool in_panels = s->problem.n >= VKF_GEMM_PANEL && vkf__select_rank(&selector, VKF_OP_GEMM, s->types, &panels) <
                                                           vkf__select_rank(&selector, VKF_OP_GEMM, s->types, &rows);
    if (!vkf__select(&selector, VKF_OP_GEMM, s->types, in_panels ? &panels : &rows, &chosen, NULL))
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        entrant *e = &s->entrants[i];
        e->is_default =
            e->panels == in_panels && e->variant.kernel == chosen.kernel && e->variant.config == chosen.config;
    }
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(const entrant *e)
{
    double sorted[MAX_ROUNDS];
    memcpy(sorted, e->samples, e->rounds * sizeof sorted[0]);
    qsort(sorted, e->rounds, sizeof sorted[0], compare_doubles);
    uint32_t middle = e->rounds / 2;
    return e->rounds % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// One run of everyone who is still in.
static vkf_status run_round(search *s)
{
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < s->count; i++) {
        entrant *e = &s->entrants[i];
        char name[VKF_VARIANT_NAME_SIZE];
        name_variant(&e->variant, name);
        if (e->out)
            continue;
        if (!goes_on(s, name))
            break;
        VKF_TRY(vkf__trial_run(&e->trial, &e->samples[e->rounds]));
        e->rounds++;
    }
fail:
    return status;
}

// The fastest that is still in; NULL when there is none.
static entrant *fastest(search *s)
{
    entrant *best = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        entrant *e = &s->entrants[i];
        if (!e->out && e->rounds > 0 && (!best || e->median_ns < best->median_ns))
            best = e;
    }
    return best;
}

static bool is_hopeless(const entrant *e, const entrant *best)
{
    return e->rounds > 0 && e->median_ns > HOPELESS * best->median_ns;
}

static void take_medians(search *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->entrants[i].rounds > 0)
            s->entrants[i].median_ns = median(&s->entrants[i]);
    }
}

// The default stays in, for what is told of it.
static void drop_hopeless(search *s)
{
    take_medians(s);
    const entrant *best = fastest(s);
    for (uint32_t i = 0; best && i < s->count; i++) {
        entrant *e = &s->entrants[i];
        e->out = e->out || (!e->is_default && is_hopeless(e, best));
    }
}

static vkf_status run_rounds(search *s)
{
    vkf_status status = VKF_OK;
    double begin = vkf__now_ns();
    for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
        if (round >= MIN_ROUNDS && vkf__now_ns() - begin > ROUNDS_NS)
            break;
        VKF_TRY(run_round(s));
        if (s->cancelled || s->late)
            break;
        drop_hopeless(s);
    }
    take_medians(s);
fail:
    return status;
}

static entrant *fastest_of(search *s, bool panels)
{
    const entrant *best_of_all = fastest(s);
    entrant *best = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        entrant *e = &s->entrants[i];
        if (!e->out && e->panels == panels && e->rounds >= MIN_ROUNDS && !is_hopeless(e, best_of_all) &&
            (!best || e->median_ns < best->median_ns))
            best = e;
    }
    return best;
}

// The fastest of a layout that matches as often as it has to. NULL when there is none, or no time to find out.
static vkf_status prove_winner(search *s, bool panels, entrant **out_winner)
{
    vkf_status status = VKF_OK;
    *out_winner = NULL;
    for (entrant *e; (e = fastest_of(s, panels)) != NULL;) {
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        char name[VKF_VARIANT_NAME_SIZE];
        name_variant(&e->variant, name);
        if (!goes_on(s, name))
            break;
        VKF_TRY(vkf__self_test_prove(s->context, &e->variant, proof_goes_on, s, &verdict));
        if (verdict == VKF_VERDICT_PROVEN) {
            *out_winner = e;
            break;
        }
        if (!vkf__verdict_bad(verdict))
            break;
        e->out = true;
        s->refused++;
    }
fail:
    return status;
}

// The next fastest of either layout.
static const entrant *runner_up(search *s, const entrant *winner)
{
    const entrant *best = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        const entrant *e = &s->entrants[i];
        if (e != winner && e->rounds > 0 && e->median_ns > 0 && (!best || e->median_ns < best->median_ns) &&
            (e->variant.kernel != winner->variant.kernel || e->variant.config != winner->variant.config))
            best = e;
    }
    return best;
}

static vkf_status keep(search *s, const entrant *winner)
{
    char name[VKF_VARIANT_NAME_SIZE];
    const entrant *next = runner_up(s, winner);
    vkf__tuned_entry entry = {
        .op = VKF_OP_GEMM,
        .types = {s->types[0], s->types[1], s->types[2]},
        .type_count = 3,
        .m_class = vkf__tuned_m_class(s->problem.m),
        .n = s->problem.n,
        .k = s->problem.k,
        .panels = winner->panels,
        .kernel = (uint32_t)(winner->variant.kernel - vkf__kernels),
        .config = (uint32_t)(winner->variant.config - winner->variant.kernel->configs),
        .median_us = winner->median_ns * 1e-3,
    };
    if (next) {
        name_variant(&next->variant, name);
        (void)snprintf(entry.note, sizeof entry.note, "next %s %.2f", name, next->median_ns * 1e-3);
    }
    return vkf__learned_measured(&s->context->learned, &entry);
}

static void report(search *s, const entrant *winner, vkf_tune_result *result)
{
    result->refused = s->refused;
    for (uint32_t i = 0; i < s->count; i++) {
        const entrant *e = &s->entrants[i];
        result->measured += e->rounds > 0;
        if (e->is_default && e->rounds > 0) {
            name_variant(&e->variant, result->default_variant);
            result->default_ns = e->median_ns;
        }
    }
    if (!winner)
        return;
    const entrant *next = runner_up(s, winner);
    result->tuned = true;
    result->layout = winner->panels ? VKF_LAYOUT_PANELS : VKF_LAYOUT_ROWS;
    result->ns = winner->median_ns;
    name_variant(&winner->variant, result->variant);
    if (next) {
        name_variant(&next->variant, result->next);
        result->next_ns = next->median_ns;
    }
}

static vkf_status run_search(search *s, vkf_tune_result *result)
{
    vkf_status status = VKF_OK;
    entrant *winners[2] = {NULL, NULL};
    VKF_TRY(make_operands(s));
    VKF_TRY(enter_layout(s, true));
    VKF_TRY(enter_layout(s, false));
    mark_default(s);
    VKF_TRY(run_rounds(s));
    VKF_TRY(prove_winner(s, true, &winners[1]));
    VKF_TRY(prove_winner(s, false, &winners[0]));
    for (size_t i = 0; i < 2; i++) {
        if (winners[i])
            VKF_TRY(keep(s, winners[i]));
    }
    const entrant *winner = winners[0];
    if (winners[1] && (!winner || winners[1]->median_ns < winner->median_ns))
        winner = winners[1];
    report(s, winner, result);
    if (s->cancelled)
        status = VKF_ERROR_CANCELLED;
fail:
    return status;
}

vkf_status vkf__tune_linear(vkf_context *context, const vkf_tune_problem *problem, double deadline_ns,
                            bool (*keep_going)(void *user, const char *what), void *user, vkf_tune_result *out_result)
{
    vkf_status status = VKF_OK;
    search *s = NULL;
    vkf_tune_result result = {.problem = *problem};
    VKF_ALLOC(&context->host, s, 1);
    s->context = context;
    s->problem = *problem;
    s->types[0] = problem->x;
    s->types[1] = problem->weight;
    s->types[2] = problem->out;
    s->begin_ns = vkf__now_ns();
    s->deadline_ns = deadline_ns;
    s->keep_going = keep_going;
    s->user = user;
    VKF_TRY(run_search(s, &result));
fail:
    for (uint32_t i = 0; s && i < s->count; i++)
        vkf__trial_finish(&s->entrants[i].trial);
    if (s)
        vkf_buffer_destroy(&s->buffer);
    vkf__free(&context->host, s);
    *out_result = result;
    return status;
}
