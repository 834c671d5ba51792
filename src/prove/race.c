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

typedef struct race {
    const vkf__variant *runners[2];
    bool panels;
    double best_ns[2];
} race;

// The first run of each warms up.
static vkf_status run_rounds(vkf__trial trials[2], double best_ns[2])
{
    for (uint32_t round = 0; round <= ROUNDS; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            double ns = 0;
            VKF_RETURN_IF_ERROR(vkf__trial_run(&trials[i], &ns));
            if (round == 1 || (round > 1 && ns < best_ns[i]))
                best_ns[i] = ns;
        }
    }
    return VKF_OK;
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
        VKF_TRY(run_rounds(trials, r->best_ns));
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
        vkf__log(&context->host, *out_lost ? VKF_SEVERITY_INFO : VKF_SEVERITY_DEBUG,
                 "race: %s/%s takes %.1f us, %s/%s %.1f us%s", variant->kernel->name, variant->config->name,
                 ns[0] * 1e-3, opponent.kernel->name, opponent.config->name, ns[1] * 1e-3,
                 *out_lost ? ", and is taken from now on" : "");
    vkf__learned_race(&context->learned, variant->kernel, variant->config,
                      *out_lost ? VKF_RACE_SLOWER : VKF_RACE_FASTER);
    return VKF_OK;
}
