// The search itself: candidates are entered for each layout of b, timed in rounds, and the fastest of a layout that
// proves itself is kept.
#include "prove/tune_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tune_candidates.h"
#include "prove/self_test.h"
#include "prove/trial.h"

#define MAX_ENTRANTS 96
#define MAX_ROUNDS 9
#define MIN_ROUNDS 3
// A variant that takes this many times as long as the fastest is dropped after the round. So a layout of b gets no
// entry where the other layout is that much faster.
#define HOPELESS 2.0
// The rounds of a problem end after this time, once there have been MIN_ROUNDS.
#define ROUNDS_NS 1e9
// The shares of a search's time after which no more candidates are compiled, tested and tried: first those in panels,
// then all of them. Some compilers take seconds for one, and what was tried has to be measured and proven, too.
#define TRY_PANELS 0.35
#define TRY_ALL 0.5
// How long the clock is given to settle before the rounds, and the most of a search's time that is left then.
#define SETTLE_NS 5e9
#define SETTLE_SHARE 0.1

// A variant that takes part, with b in one layout.
typedef struct entrant {
    vkf__variant variant;
    bool panels;
    bool is_default; // taken without measurements
    bool out;        // hopeless, or wrong
    vkf__trial trial;
    double samples[MAX_ROUNDS];
    uint32_t rounds;
    double median_ns;
} entrant;

typedef struct search {
    vkf_context *context;
    const vkf__tune_subject *subject;
    vkf__tune_limits limits;
    double begin_ns;
    double try_end_ns; // when no more candidates are entered
    bool cancelled, late;
    const char *what; // the variant that the caller was told of last
    entrant entrants[MAX_ENTRANTS];
    uint32_t count;
    uint32_t refused;
} search;

static void name_variant(const vkf__variant *variant, char out_name[VKF_VARIANT_NAME_SIZE])
{
    (void)snprintf(out_name, VKF_VARIANT_NAME_SIZE, "%s/%s", variant->kernel->name, variant->config->name);
}

static bool keep_going(search *s, const char *what)
{
    s->what = what;
    s->late = s->late || vkf__now_ns() >= s->limits.deadline_ns;
    s->cancelled = s->cancelled || (s->limits.keep_going && !s->limits.keep_going(s->limits.user, what));
    return !s->cancelled && !s->late;
}

static bool keep_trying(void *user)
{
    search *s = user;
    return keep_going(s, s->what) && vkf__now_ns() < s->try_end_ns;
}

static bool keep_on(void *user)
{
    search *s = user;
    return keep_going(s, s->what);
}

static const vkf__tune_way *way_of(const search *s, bool panels)
{
    return &s->subject->ways[panels ? VKF_TUNE_PANELS : VKF_TUNE_ROWS];
}

// Tests a candidate, builds its trial and runs that once.
static vkf_status enter(search *s, const vkf__candidate *candidate, bool panels)
{
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    double ns = 0;
    char name[VKF_VARIANT_NAME_SIZE];
    name_variant(&candidate->variant, name);
    if (s->count == MAX_ENTRANTS || !keep_going(s, name))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__self_test_within(s->context, &candidate->variant, keep_trying, s, &verdict));
    s->refused += vkf__verdict_bad(verdict);
    if (verdict != VKF_VERDICT_PASSED && verdict != VKF_VERDICT_PROVEN)
        return VKF_OK;
    entrant *e = &s->entrants[s->count++];
    *e = (entrant){.variant = candidate->variant, .panels = panels};
    vkf_status status = vkf__trial_init(&e->trial, s->context, &e->variant, s->subject->emit, way_of(s, panels)->args);
    e->out = !e->trial.taken;
    // The self-test went well with other constants, so this is no verdict about the variant.
    if (vkf__pipelines_refused(&s->context->pipelines, status))
        e->out = true;
    else
        VKF_RETURN_IF_ERROR(status);
    if (!e->out)
        VKF_RETURN_IF_ERROR(vkf__trial_run(&e->trial, &ns));
    return VKF_OK;
}

static vkf_status enter_layout(search *s, bool panels)
{
    vkf_status status = VKF_OK;
    vkf__candidate *candidates = NULL;
    size_t count = 0;
    const vkf__host *host = &s->context->host;
    const vkf__selector selector = vkf__context_selector(s->context);
    const vkf__tune_subject *subject = s->subject;
    const vkf__tune_way *way = way_of(s, panels);
    if (!way->args)
        return VKF_OK;
    VKF_TRY(vkf__tune_candidates(host, &selector, subject->op, subject->types, &way->problem, &candidates, &count));
    s->try_end_ns = s->begin_ns + (s->limits.deadline_ns - s->begin_ns) * (panels ? TRY_PANELS : TRY_ALL);
    for (size_t i = 0; i < count && vkf__now_ns() < s->try_end_ns; i++) {
        if (candidates[i].taken)
            VKF_TRY(enter(s, &candidates[i], panels));
    }
fail:
    vkf__free(host, candidates);
    return status;
}

// Marks what the device takes without measurements. It follows the self-tests, because a quarantined variant is no
// default.
static void mark_default(search *s)
{
    vkf__selector selector = vkf__context_selector(s->context);
    const vkf__tune_subject *subject = s->subject;
    const vkf__tune_way *rows = way_of(s, false), *panels = way_of(s, true);
    vkf__variant chosen;
    selector.tuned = NULL;
    selector.forced = NULL;
    bool in_panels = panels->args && vkf__select_rank(&selector, subject->op, subject->types, &panels->problem) <
                                         vkf__select_rank(&selector, subject->op, subject->types, &rows->problem);
    if (!vkf__select(&selector, subject->op, subject->types, &way_of(s, in_panels)->problem, &chosen, NULL))
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

// Runs every entrant that is still in once. Every second round is in reverse, so that none always has the higher clock
// where that still rises.
static vkf_status run_round(search *s, bool reversed)
{
    for (uint32_t i = 0; i < s->count; i++) {
        entrant *e = &s->entrants[reversed ? s->count - 1 - i : i];
        char name[VKF_VARIANT_NAME_SIZE];
        name_variant(&e->variant, name);
        if (e->out)
            continue;
        if (!keep_going(s, name))
            break;
        VKF_RETURN_IF_ERROR(vkf__trial_run(&e->trial, &e->samples[e->rounds]));
        e->rounds++;
    }
    return VKF_OK;
}

// The fastest entrant that is still in; NULL when there is none.
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

// Drops what is too slow. The default stays in, because its time is reported.
static void drop_hopeless(search *s)
{
    take_medians(s);
    const entrant *best = fastest(s);
    for (uint32_t i = 0; best && i < s->count; i++) {
        entrant *e = &s->entrants[i];
        e->out = e->out || (!e->is_default && is_hopeless(e, best));
    }
}

// Compiling and testing entrants takes the host seconds, in which the device's clock falls.
static vkf_status settle(search *s)
{
    vkf__trial *trials[MAX_ENTRANTS];
    uint32_t count = 0;
    bool settled = false;
    const double share_ns = SETTLE_SHARE * (s->limits.deadline_ns - vkf__now_ns());
    for (uint32_t i = 0; i < s->count; i++)
        if (!s->entrants[i].out)
            trials[count++] = &s->entrants[i].trial;
    VKF_RETURN_IF_ERROR(vkf__trials_settle(s->context, trials, count, share_ns < SETTLE_NS ? share_ns : SETTLE_NS,
                                           keep_on, s, &settled));
    if (!settled)
        vkf__log(&s->context->host, VKF_SEVERITY_INFO,
                 "tune: the device's clock had not settled when the kernels were measured, in turn");
    return VKF_OK;
}

static vkf_status run_rounds(search *s)
{
    VKF_RETURN_IF_ERROR(settle(s));
    double begin = vkf__now_ns();
    for (uint32_t round = 0; round < MAX_ROUNDS; round++) {
        if (round >= MIN_ROUNDS && vkf__now_ns() - begin > ROUNDS_NS)
            break;
        VKF_RETURN_IF_ERROR(run_round(s, round % 2 == 1));
        if (s->cancelled || s->late)
            break;
        drop_hopeless(s);
    }
    take_medians(s);
    return VKF_OK;
}

// The fastest entrant of a layout that is still in and not hopeless; NULL when there is none.
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

// Finds the fastest entrant of a layout that matches the reference as often as it has to. *out_winner is NULL when
// there is none, or no time to find out.
static vkf_status prove_winner(search *s, bool panels, entrant **out_winner)
{
    *out_winner = NULL;
    for (entrant *e; (e = fastest_of(s, panels)) != NULL;) {
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        char name[VKF_VARIANT_NAME_SIZE];
        name_variant(&e->variant, name);
        if (!keep_going(s, name))
            break;
        VKF_RETURN_IF_ERROR(vkf__self_test_prove(s->context, &e->variant, keep_on, s, &verdict));
        if (verdict == VKF_VERDICT_PROVEN) {
            *out_winner = e;
            break;
        }
        if (!vkf__verdict_bad(verdict))
            break;
        e->out = true;
        s->refused++;
    }
    return VKF_OK;
}

// The next fastest variant, in either layout.
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
    const vkf_dtype *types = s->subject->types;
    const vkf__problem *problem = &way_of(s, winner->panels)->problem;
    vkf__tuned_entry entry = {
        .op = s->subject->op,
        .types = {types[0], types[1], types[2]},
        .type_count = 3,
        .m_class = vkf__tuned_m_class(problem->m),
        .n = vkf__tuned_n(s->subject->op, problem->n),
        .k = problem->k,
        .panels = winner->panels,
        .kernel = vkf__kernel_index(winner->variant.kernel),
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
    VKF_RETURN_IF_ERROR(enter_layout(s, true));
    VKF_RETURN_IF_ERROR(enter_layout(s, false));
    mark_default(s);
    VKF_RETURN_IF_ERROR(run_rounds(s));
    VKF_RETURN_IF_ERROR(prove_winner(s, true, &winners[1]));
    VKF_RETURN_IF_ERROR(prove_winner(s, false, &winners[0]));
    for (size_t i = 0; i < 2; i++) {
        if (winners[i])
            VKF_RETURN_IF_ERROR(keep(s, winners[i]));
    }
    const entrant *winner = winners[0];
    if (winners[1] && (!winner || winners[1]->median_ns < winner->median_ns))
        winner = winners[1];
    report(s, winner, result);
    if (s->cancelled)
        status = VKF_ERROR_CANCELLED;
    return status;
}

vkf_status vkf__tune_search(vkf_context *context, const vkf__tune_subject *subject, const vkf__tune_limits *limits,
                            vkf_tune_result *inout_result)
{
    vkf_status status = VKF_OK;
    search *s = NULL;
    VKF_ALLOC(&context->host, s, 1);
    s->context = context;
    s->subject = subject;
    s->limits = *limits;
    s->begin_ns = vkf__now_ns();
    VKF_TRY(run_search(s, inout_result));
fail:
    for (uint32_t i = 0; s && i < s->count; i++)
        vkf__trial_finish(&s->entrants[i].trial);
    vkf__free(&context->host, s);
    return status;
}
