// Measures kernels by matrices against the next best without.
#include "prove/race.h"

#include "prove/self_test.h"
#include "prove/trial.h"
#include "prove/tune.h"
#include "shared/gemm.h"

// A race takes milliseconds and few megabytes. Larger problems fill the device no better.
#define MAX_ROWS 256u
#define MAX_EDGE 1024u
#define ROUNDS 5
// While the clock rises, only a difference that no clock turns around decides.
#define CLEAR 2.0
// Races are run when a kernel is about to be used for the first time, so that somebody waits.
#define SETTLE_NS 1e9

typedef struct race {
    const vkf__variant *runners[2];
    bool panels;
    double best_ns[2];
} race;

// The first run of each warms up. The one that begins alternates, so that none always has the higher clock.
static vkf_status run_rounds(vkf__trial trials[2], double best_ns[2])
{
    for (uint32_t round = 0; round <= ROUNDS; round++) {
        for (uint32_t turn = 0; turn < 2; turn++) {
            const uint32_t i = (round + turn) % 2;
            double ns = 0;
            VKF_RETURN_IF_ERROR(vkf__trial_run(&trials[i], &ns));
            if (round == 1 || (round > 1 && ns < best_ns[i]))
                best_ns[i] = ns;
        }
    }
    return VKF_OK;
}

static bool is_clear(const double ns[2])
{
    return ns[0] > CLEAR * ns[1] || ns[1] > CLEAR * ns[0];
}

static bool always(void *user)
{
    (void)user;
    return true;
}

// Runs the rounds again with the clock settled, or after SETTLE_NS, where the difference is too small to be believed.
static vkf_status run_trials(vkf_context *context, vkf__trial trials[2], double best_ns[2])
{
    vkf__trial *const both[] = {&trials[0], &trials[1]};
    bool settled = false;
    VKF_RETURN_IF_ERROR(run_rounds(trials, best_ns));
    if (!context->device.plan.caps.traits.clock_follows_load || is_clear(best_ns))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__trials_settle(context, both, 2, SETTLE_NS, always, NULL, &settled));
    return run_rounds(trials, best_ns);
}

// A vkf__tune_use_fn.
static vkf_status run(vkf_context *context, const vkf__tune_subject *subject, void *user)
{
    race *r = user;
    vkf_status status = VKF_OK;
    vkf__trial trials[2] = {0};
    const void *args = subject->ways[r->panels ? VKF_TUNE_PANELS : VKF_TUNE_ROWS].args;
    if (!args)
        return VKF_OK;
    for (uint32_t i = 0; i < 2; i++)
        VKF_TRY(vkf__trial_init(&trials[i], context, r->runners[i], subject->emit, args));
    if (trials[0].taken && trials[1].taken)
        VKF_TRY(run_trials(context, trials, r->best_ns));
fail:
    vkf__trial_finish(&trials[0]);
    vkf__trial_finish(&trials[1]);
    // What the driver does not compile runs no race.
    return vkf__pipelines_refused(&context->pipelines, status) ? VKF_OK : status;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

vkf_status vkf__race_run(vkf_context *context, const vkf__want *want, const vkf__variant *opponent, double out_ns[2])
{
    const bool attention = want->op == VKF_OP_ATTENTION;
    const vkf_tune_problem problem = {
        .m = at_most(want->problem.m, MAX_ROWS),
        .n = at_most(want->problem.n, MAX_EDGE),
        .k = at_most(want->problem.k, MAX_EDGE),
        .x = want->types[0],
        .weight = want->types[1],
        .out = attention ? want->types[0] : want->types[2], // though the kernel may leave parts in f32
        .kind = attention ? VKF_TUNE_ATTENTION : VKF_TUNE_LINEAR,
    };
    race r = {
        .runners = {&want->variant, opponent},
        .panels = !attention && want->problem.b_layout == VKF_GEMM_B_PANELS,
    };
    VKF_RETURN_IF_ERROR(vkf__tune_with_operands(context, &problem, run, &r));
    out_ns[0] = r.best_ns[0];
    out_ns[1] = r.best_ns[1];
    return VKF_OK;
}

// Whether a race decides about the wanted variant: not where it was asked for or measured.
static bool is_raced(const vkf_context *context, const vkf__want *want)
{
    const vkf__variant *variant = &want->variant;
    const vkf__tuned *tuned = vkf__learned_tuned(&context->learned);
    return variant->kernel->needs & VKF_NEEDS_MATRIX && !context->forced_variant &&
           (want->op == VKF_OP_GEMM || want->op == VKF_OP_ATTENTION) &&
           vkf__race_get(&context->learned.verdicts, variant->kernel, variant->config) == VKF_RACE_UNKNOWN &&
           !(tuned && vkf__tuned_find(tuned, want->op, want->types, &want->problem));
}

// What the device takes for the problem without matrices, tested. *out_found is false where there is nothing.
static vkf_status find_opponent(vkf_context *context, const vkf__want *want, vkf__variant *out_opponent,
                                bool *out_found)
{
    vkf__caps without = context->device.plan.caps;
    without.matrix = (vkf__caps_matrix){0};
    const vkf__selector selector = {.caps = &without, .verdicts = &context->learned.verdicts};
    for (*out_found = false; !*out_found;) {
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        if (!vkf__select(&selector, want->op, want->types, &want->problem, out_opponent, NULL))
            return VKF_OK;
        VKF_RETURN_IF_ERROR(vkf__self_test(context, out_opponent, &verdict));
        *out_found = !vkf__verdict_bad(verdict);
        if (verdict == VKF_VERDICT_SLOW)
            return VKF_OK; // the last resort, which no kernel needs to beat
    }
    return VKF_OK;
}

// Whether both were run: a trial takes more than 0.
static bool is_measured(const double ns[2])
{
    return ns[0] > 0 && ns[1] > 0;
}

static void tell(const vkf_context *context, const vkf__want *want, const vkf__variant *opponent, const double ns[2])
{
    const vkf__variant *variant = &want->variant;
    const bool lost = ns[0] > ns[1];
    if (is_measured(ns))
        vkf__log(&context->host, lost ? VKF_SEVERITY_INFO : VKF_SEVERITY_DEBUG,
                 "race: %s/%s takes %.1f us, %s/%s %.1f us%s", variant->kernel->name, variant->config->name,
                 ns[0] * 1e-3, opponent->kernel->name, opponent->config->name, ns[1] * 1e-3,
                 lost ? ", and is taken from now on" : "");
    else
        vkf__log(&context->host, VKF_SEVERITY_INFO,
                 "race: %s/%s and %s/%s were not measured, because one of them does not run %u x %u x %u, or less, by "
                 "itself; %s/%s is taken by its rank",
                 variant->kernel->name, variant->config->name, opponent->kernel->name, opponent->config->name,
                 want->problem.m, want->problem.n, want->problem.k, variant->kernel->name, variant->config->name);
}

vkf_status vkf__race_once(vkf_context *context, const vkf__want *want, bool *out_lost)
{
    const vkf__variant *variant = &want->variant;
    vkf__variant opponent = {0};
    bool found = false;
    double ns[2] = {0};
    *out_lost = false;
    if (!is_raced(context, want))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(find_opponent(context, want, &opponent, &found));
    if (found)
        VKF_RETURN_IF_ERROR(vkf__race_run(context, want, &opponent, ns));
    *out_lost = ns[0] > ns[1];
    if (found)
        tell(context, want, &opponent, ns);
    vkf__learned_race(&context->learned, variant->kernel, variant->config,
                      *out_lost                   ? VKF_RACE_SLOWER
                      : found && !is_measured(ns) ? VKF_RACE_UNMEASURED
                                                  : VKF_RACE_FASTER);
    return VKF_OK;
}
