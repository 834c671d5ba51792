// Runs a case on the device, and compares all that it leaves there with what its reference leaves.
#include "prove/self_test_fixture.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elements.h"
#include "base/size.h"
#include "op/operators.h"

#define SLOW_RETRIES 2u
// A slow case gets no more chances once a repetition takes more than this many times the budget.
#define HOPELESS 3
// How often a costly case is repeated at least, and the time after which it is not repeated any more.
#define COSTLY_REPETITIONS 3u
#define COSTLY_NS 1e9
// A time that foretells has to be so many times as long as a submission's own.
#define FORETELL_LATENCIES 10
#define FORETELL_TRIES 5u

static void condemn(vkf__fixture *fixture, vkf__verdict verdict, const char *shape, const char *what)
{
    const vkf__variant *variant = fixture->cases.variant;
    fixture->verdict = verdict;
    (void)snprintf(fixture->reason, sizeof fixture->reason, "%s: %s", shape, what);
    vkf__log(&fixture->context->host, VKF_SEVERITY_WARNING,
             "self-test: %s/%s is %s on this device and will not be used%s: %s", variant->kernel->name,
             variant->config->name,
             verdict == VKF_VERDICT_SLOW         ? "too slow"
             : verdict == VKF_VERDICT_UNCOMPILED ? "not compiled"
                                                 : "wrong",
             verdict == VKF_VERDICT_SLOW ? " in this run" : "", fixture->reason);
}

static double budget_of(const vkf__fixture *fixture, const vkf__case *c)
{
    return (double)fixture->context->self_test_budget_ns * (c->costly ? VKF_CASE_PATIENCE : 1);
}

static void too_slow(vkf__fixture *fixture, const vkf__case *c, double ns, double budget, const char *how)
{
    char what[128];
    (void)snprintf(what, sizeof what, "%.1f ms%s, beyond the budget of %.1f ms", ns * 1e-6, how, budget * 1e-6);
    fixture->times = ns / budget;
    condemn(fixture, VKF_VERDICT_SLOW, c->shape, what);
}

static bool is_close(const vkf__case *c, double least, double actual, double expected)
{
    const double scale = fmax(fabs(expected), least);
    return actual == expected || fabs(actual - expected) <= c->tolerance * scale || (isnan(actual) && isnan(expected));
}

// A case that has been given to the device, and what it has to leave there.
typedef struct trial {
    const vkf__case *c;
    vkf__trial *trial;
    vkf__host_run reference;
    uint8_t *got;
} trial;

static vkf_status expect(vkf__fixture *fixture, const vkf__case *c, vkf__host_run *out_run)
{
    vkf__cases *cases = &fixture->cases;
    *out_run = (vkf__host_run){
        .context = fixture->context,
        .trial = cases->variant,
        .buffer = cases->buffer,
        .image = fixture->expected,
        .image_bytes = cases->used_bytes,
    };
    memcpy(fixture->expected, cases->image, cases->used_bytes);
    return vkf__host_run_emit(out_run, vkf__case_emitter(&fixture->cases, c), c->args);
}

// What an expected value is taken to be at least, when the tolerance is found.
static double least_of(const vkf__fixture *fixture, const vkf__case *c, const vkf__written *written)
{
    const uint8_t *reference = fixture->expected + written->offset_bytes;
    const uint8_t *before = fixture->cases.image + written->offset_bytes;
    double largest = c->least;
    if (!c->by_largest)
        return c->least > 0 ? c->least : 1;
    const size_t size = vkf_dtype_size(written->dtype), count = written->size_bytes / size; // of none in blocks
    for (size_t i = 0; i < count; i++) {
        const double value = fabs(vkf__element_value(written->dtype, reference + i * size));
        if (isfinite(value) && value > largest && memcmp(reference + i * size, before + i * size, size) != 0)
            largest = value;
    }
    return largest;
}

// Compares an output, and takes over what is expected of it.
static bool compare_written(vkf__fixture *fixture, const trial *t, const vkf__written *written)
{
    char what[128];
    const size_t count = vkf__elements_in(written->dtype, written->size_bytes);
    uint8_t *got = t->got + written->offset_bytes;
    const uint8_t *reference = fixture->expected + written->offset_bytes;
    const double least = least_of(fixture, t->c, written);
    for (size_t i = 0; i < count; i++) {
        const double actual = vkf__value_at(written->dtype, got, i);
        const double expected = vkf__value_at(written->dtype, reference, i);
        if (!is_close(t->c, least, actual, expected)) {
            (void)snprintf(what, sizeof what, "element %zu of %zu is %.9g, expected %.9g", i, count, actual, expected);
            condemn(fixture, VKF_VERDICT_WRONG, t->c->shape, what);
            return false;
        }
    }
    memcpy(got, reference, written->size_bytes);
    return true;
}

static void compare(vkf__fixture *fixture, const trial *t)
{
    for (uint32_t i = 0; i < t->reference.written_count; i++)
        if (!compare_written(fixture, t, &t->reference.written[i]))
            return;
    if (memcmp(t->got, fixture->expected, fixture->cases.used_bytes) != 0)
        condemn(fixture, VKF_VERDICT_WRONG, t->c->shape, "it writes beside its output");
}

// Runs a case once more, from the same state as the first time.
static vkf_status run_again(vkf__fixture *fixture, const trial *t, double *out_ns)
{
    for (uint32_t i = 0; i < t->reference.written_count; i++) {
        const vkf__written *w = &t->reference.written[i];
        VKF_RETURN_IF_ERROR(vkf_buffer_write(fixture->cases.buffer, w->offset_bytes,
                                             fixture->cases.image + w->offset_bytes, w->size_bytes));
    }
    return vkf__trial_run(t->trial, out_ns);
}

// Runs a case for the first time. A slow one gets more chances, because some drivers compile when a kernel first runs,
// and because the machine may have been busy.
static vkf_status run_first(vkf__fixture *fixture, const trial *t)
{
    const vkf__case *c = t->c;
    double budget = budget_of(fixture, c), best = 0, ns = 0;
    VKF_RETURN_IF_ERROR(vkf_buffer_write(fixture->cases.buffer, 0, fixture->cases.image, fixture->cases.used_bytes));
    if (c->foretells > 0)
        VKF_RETURN_IF_ERROR(vkf__trial_latency(t->trial, &fixture->latency_ns));
    VKF_RETURN_IF_ERROR(vkf__trial_run(t->trial, &best));
    for (uint32_t i = 0; i < (c->costly ? 1 : SLOW_RETRIES) && best > budget; i++) {
        VKF_RETURN_IF_ERROR(run_again(fixture, t, &ns));
        best = ns < best ? ns : best;
        if (ns > HOPELESS * budget)
            break;
    }
    fixture->best_ns = best;
    if (best > budget)
        too_slow(fixture, c, best, budget, "");
    return VKF_OK;
}

// Foretells what a costly case takes, so that a kernel that is far too slow for it does not hang the device. Of some
// runs the fastest counts. A time that foretells is many times as long as a submission's own; otherwise the next case,
// which does more of the work, has to tell.
static vkf_status foretell(vkf__fixture *fixture, const trial *t)
{
    const double share = t->c->foretells, budget = VKF_CASE_PATIENCE * (double)fixture->context->self_test_budget_ns;
    double best = fixture->best_ns, ns = 0;
    for (uint32_t i = 1; i < FORETELL_TRIES && best > budget * share && fixture->verdict == VKF_VERDICT_PASSED; i++) {
        VKF_RETURN_IF_ERROR(vkf__trial_latency(t->trial, &fixture->latency_ns));
        VKF_RETURN_IF_ERROR(run_again(fixture, t, &ns));
        best = ns < best ? ns : best;
    }
    fixture->told = best <= budget * share || best >= FORETELL_LATENCIES * fixture->latency_ns;
    if (fixture->verdict == VKF_VERDICT_PASSED && fixture->told && best > budget * share) {
        char how[64];
        fixture->foretold = true;
        (void)snprintf(how, sizeof how, " in a case of %.0f times the work", 1 / share);
        too_slow(fixture, t->c, best / share, budget, how);
    }
    return VKF_OK;
}

static vkf_status run_all(vkf__fixture *fixture, trial *t)
{
    vkf_status status = VKF_OK;
    const vkf__case *c = t->c;
    double ns = 0, begin = vkf__now_ns();
    VKF_ALLOC(&fixture->context->host, t->got, fixture->cases.used_bytes);
    VKF_TRY(run_first(fixture, t));
    for (uint32_t i = 0; i < fixture->repetitions && fixture->verdict == VKF_VERDICT_PASSED; i++) {
        fixture->stopped = fixture->keep_going && !fixture->keep_going(fixture->user);
        if (fixture->stopped || (c->costly && i >= COSTLY_REPETITIONS && vkf__now_ns() - begin > COSTLY_NS))
            break;
        if (i > 0)
            VKF_TRY(run_again(fixture, t, &ns));
        VKF_TRY(vkf_buffer_read(fixture->cases.buffer, 0, t->got, fixture->cases.used_bytes));
        compare(fixture, t);
    }
    if (c->foretells > 0 && fixture->verdict == VKF_VERDICT_PASSED && !fixture->stopped)
        VKF_TRY(foretell(fixture, t));
fail:
    vkf__free(&fixture->context->host, t->got);
    return status;
}

// The dispatch in which the variant has the constants that are to be tested, or any; NULL where there is none.
static const vkf__planned_node *node_of(const vkf__fixture *fixture, const vkf__dispatch_plan *plan)
{
    const vkf__variant *variant = fixture->cases.variant;
    const uint32_t *spec = fixture->cases.spec;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const vkf__planned_node *node = &plan->nodes[i];
        if (node->variant.kernel == variant->kernel && node->variant.config == variant->config &&
            (!spec || memcmp(node->spec, spec, sizeof *spec * variant->kernel->spec_count) == 0))
            return node;
    }
    return NULL;
}

static bool is_compiled(const vkf__fixture *fixture, const vkf__dispatch_plan *plan)
{
    bool compiled = true;
    for (uint32_t i = 0; i < plan->node_count && compiled; i++)
        compiled =
            vkf__pipelines_have(&fixture->context->pipelines, plan->nodes[i].variant.kernel, plan->nodes[i].spec);
    return compiled;
}

// *out_wanted: whether the variant takes the case, with the constants that are to be tested.
static vkf_status look_at(vkf__fixture *fixture, const vkf__case *c, bool *out_wanted)
{
    vkf__work work;
    vkf__work_init(&work, fixture->context, "trial");
    work.trial = fixture->cases.variant;
    vkf_status status = vkf__work_plan(&work, vkf__case_emitter(&fixture->cases, c), c->args);
    *out_wanted = status == VKF_OK && (!fixture->cases.spec || node_of(fixture, &work.plan)) &&
                  (!fixture->compiles_none || is_compiled(fixture, &work.plan));
    if (*out_wanted && fixture->gathering) {
        fixture->cases.taken++;
        status = vkf__plan_pipelines(&fixture->context->host, &work.plan, &fixture->wants);
    }
    vkf__work_finish(&work);
    return status == VKF_ERROR_UNSUPPORTED ? VKF_OK : status;
}

static void note_constants(vkf__fixture *fixture, const vkf__dispatch_plan *plan)
{
    const vkf__planned_node *node = node_of(fixture, plan);
    fixture->ran = node != NULL;
    if (node && !fixture->cases.spec)
        memcpy(fixture->constants, node->spec, sizeof fixture->constants);
}

// What is done with a case: see vkf__cases.run, whose user is the fixture.
static vkf_status run_case(vkf__cases *cases, const vkf__case *c)
{
    vkf__fixture *fixture = cases->user;
    vkf_status status = VKF_OK;
    vkf__trial on_device;
    trial t = {.c = c, .trial = &on_device};
    fixture->best_ns = 0;
    fixture->ran = false;
    fixture->stopped = fixture->stopped || (fixture->keep_going && !fixture->keep_going(fixture->user));
    fixture->told = fixture->told && c->foretells > 0;
    if (fixture->verdict != VKF_VERDICT_PASSED || fixture->stopped || fixture->told)
        return VKF_OK;
    if (fixture->gathering || fixture->cases.spec) {
        bool wanted = false;
        VKF_RETURN_IF_ERROR(look_at(fixture, c, &wanted));
        if (!wanted || fixture->gathering)
            return VKF_OK;
    }
    status = vkf__trial_init(&on_device, fixture->context, fixture->cases.variant,
                             vkf__case_emitter(&fixture->cases, c), c->args);
    if (status == VKF_ERROR_UNSUPPORTED || vkf__pipelines_refused(&fixture->context->pipelines, status)) {
        // The driver has said why.
        condemn(fixture, VKF_VERDICT_UNCOMPILED, c->shape, vkf_status_text(status));
        status = VKF_OK;
    }
    VKF_TRY(status);
    if (on_device.taken) {
        fixture->cases.taken++;
        note_constants(fixture, &on_device.work.plan);
        VKF_TRY(expect(fixture, c, &t.reference));
        VKF_TRY(run_all(fixture, &t));
    }
fail:
    vkf__trial_finish(&on_device);
    return status;
}

vkf_status vkf__fixture_init(vkf__fixture *fixture, uint64_t capacity_bytes)
{
    const uint64_t bytes = vkf__align_u64(capacity_bytes, VKF_CASE_GUARD_BYTES);
    fixture->cases.host = &fixture->context->host;
    fixture->cases.caps = &fixture->context->device.plan.caps;
    fixture->cases.run = run_case;
    fixture->cases.user = fixture;
    VKF_RETURN_IF_ERROR(
        vkf__buffer_create(&fixture->context->transfer, VKF_MEMORY_DEVICE, bytes, "self-test", &fixture->cases.buffer));
    VKF_RETURN_IF_ERROR(
        vkf__buffer_create(&fixture->context->transfer, VKF_MEMORY_CONTROL, 1, "self-test", &fixture->block));
    VKF_ALLOC_OR_RETURN(&fixture->context->host, fixture->expected, bytes);
    return vkf__cases_init(&fixture->cases, bytes);
}

void vkf__fixture_finish(vkf__fixture *fixture)
{
    vkf__buffer_destroy(&fixture->cases.buffer);
    vkf__buffer_destroy(&fixture->block);
    vkf__cases_finish(&fixture->cases);
    vkf__free(&fixture->context->host, fixture->expected);
    vkf__free(&fixture->context->host, fixture->wants.list);
    fixture->expected = NULL;
    fixture->wants = (vkf__pipeline_wants){0};
}

static vkf_status run_cases(vkf__fixture *fixture, const uint32_t *constants, bool draw)
{
    fixture->cases.spec = constants;
    fixture->cases.draw = draw;
    fixture->compiles_none = constants && draw;
    const vkf_status status = vkf__operator(fixture->cases.variant->kernel->op)->cases(&fixture->cases);
    fixture->cases.spec = NULL;
    return status == VKF_ERROR_TOO_LARGE ? VKF_OK : status;
}

vkf_status vkf__fixture_draw(vkf__fixture *fixture, uint32_t draws)
{
    const uint32_t taken = fixture->cases.taken;
    fixture->cases.passed = true;
    for (uint32_t i = 0; i < draws || (i < VKF_FIXTURE_TRIES * draws && fixture->cases.taken == taken); i++) {
        VKF_RETURN_IF_ERROR(run_cases(fixture, NULL, true));
        if (!fixture->ran)
            continue;
        VKF_RETURN_IF_ERROR(run_cases(fixture, fixture->constants, false));
        for (uint32_t size = 0; size < VKF_FIXTURE_SIZES; size++)
            VKF_RETURN_IF_ERROR(run_cases(fixture, fixture->constants, true));
    }
    return VKF_OK;
}
