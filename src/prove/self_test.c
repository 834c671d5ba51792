// Runs a variant on the edge shapes of its operator, and keeps the verdict.
#include "prove/self_test.h"

#include <math.h>

#include "op/operators.h"
#include "prove/self_test_fixture.h"

// Room for the operands of the largest case: a product of depth 100,000 with b in panels. No power of two, as the
// buffers of models are none: lavapipe compiles a kernel that reads texels once for these and once for others.

// Why an operator has no cases.
static const char *why_not(vkf__op op)
{
    const vkf__op_info *info = vkf__operator(op);
    return !info->reference   ? "it measures the device for a benchmark: nothing is made of its results"
           : info->sums_parts ? "it runs behind another operator alone, in whose cases it takes part"
                              : "it has no cases yet";
}

bool vkf__self_test_covers(vkf__op op, const char **out_why)
{
    const bool covered = vkf__operator(op)->cases != NULL;
    *out_why = covered ? "it has edge shapes" : why_not(op);
    return covered;
}

// Runs the cases with the wanted constants. None of them may give these; then a variant that has not passed with any
// others is tested with the cases' own.
static vkf_status run_cases(vkf__fixture *fixture)
{
    const vkf__op_cases_fn run = vkf__operator(fixture->cases.variant->kernel->op)->cases;
    fixture->cases.taken = 0;
    VKF_RETURN_IF_ERROR(run(&fixture->cases));
    if (!fixture->cases.spec || fixture->cases.passed || fixture->cases.taken > 0 ||
        fixture->verdict != VKF_VERDICT_PASSED || fixture->stopped)
        return VKF_OK;
    const uint32_t *spec = fixture->cases.spec;
    fixture->cases.spec = NULL;
    const vkf_status status = run(&fixture->cases);
    fixture->cases.spec = spec;
    return status;
}

// Gathers the pipelines of all cases. Drivers for processors compile when a kernel first runs.
static vkf_status gather(vkf__fixture *fixture)
{
    if (fixture->context->device.plan.caps.traits.processor)
        return VKF_OK;
    fixture->gathering = true;
    const vkf_status status = run_cases(fixture);
    fixture->gathering = false;
    return status;
}

// Has the driver compile the pipelines of all cases, several at a time: one that is made for matrix units takes some
// drivers seconds. What cannot be compiled is found again by the case that needs it.
static vkf_status make_pipelines(vkf__fixture *fixture)
{
    VKF_RETURN_IF_ERROR(gather(fixture));
    const vkf_status status =
        vkf__pipelines_make(&fixture->context->pipelines, fixture->wants.list, fixture->wants.count, NULL);
    return status == VKF_ERROR_SHADER || status == VKF_ERROR_UNSUPPORTED ? VKF_OK : status;
}

// The caller holds test_lock.
static vkf_status test(vkf__fixture *fixture)
{
    vkf_status status = VKF_OK;
    VKF_TRY(vkf__fixture_init(fixture, VKF_FIXTURE_BYTES));
    if (!fixture->compiled)
        VKF_TRY(make_pipelines(fixture));
    VKF_TRY(run_cases(fixture));
fail:
    vkf__fixture_finish(fixture);
    return status;
}

static void keep(vkf_context *context, const vkf__variant *variant, const vkf__finding *finding)
{
    vkf__learned_found(&context->learned, variant->kernel, variant->config, finding);
    // A bad verdict is saved at once, because the process may crash next.
    if (vkf__verdict_bad(finding->verdict) && vkf__learned_save(&context->learned) != VKF_OK)
        vkf__log(&context->host, VKF_SEVERITY_WARNING, "self-test: the verdict could not be saved");
}

static vkf_status test_and_keep(vkf__fixture *fixture, vkf__verdict good, vkf__verdict *out_verdict)
{
    vkf_context *context = fixture->context;
    const vkf__variant *variant = fixture->cases.variant;
    vkf__verdict before = vkf__verdict_get(&context->learned.verdicts, variant->kernel, variant->config);
    double begin = vkf__now_ns();
    vkf_status status = test(fixture);
    if (status == VKF_ERROR_DEVICE_LOST) {
        vkf__log(&context->host, VKF_SEVERITY_WARNING,
                 "self-test: the device was lost while %s/%s ran, which will not be used in this run",
                 variant->kernel->name, variant->config->name);
        keep(context, variant,
             &(vkf__finding){.verdict = VKF_VERDICT_SLOW, .times = HUGE_VAL, .reason = "the device was lost"});
    }
    if (status != VKF_OK)
        return status;
    if (fixture->stopped && !vkf__verdict_bad(fixture->verdict)) {
        *out_verdict = before;
        return VKF_OK;
    }
    if (fixture->cases.taken == 0)
        vkf__log(&context->host, VKF_SEVERITY_DEBUG, "self-test: %s/%s takes none of the edge shapes",
                 variant->kernel->name, variant->config->name);
    vkf__log(&context->host, VKF_SEVERITY_DEBUG, "self-test: %s/%s: %u shapes, %u times, %.1f ms",
             variant->kernel->name, variant->config->name, fixture->cases.taken, fixture->repetitions,
             (vkf__now_ns() - begin) * 1e-6);
    *out_verdict = vkf__verdict_bad(fixture->verdict) ? fixture->verdict : before == VKF_VERDICT_PROVEN ? before : good;
    keep(context, variant,
         &(vkf__finding){*out_verdict, fixture->times, fixture->foretold,
                         fixture->reason[0] != '\0' ? fixture->reason : NULL});
    return fixture->cases.spec && !vkf__verdict_bad(*out_verdict)
               ? vkf__learned_passes(&context->learned, variant, fixture->cases.spec)
               : VKF_OK;
}

// What is stored meanwhile tells if a driver brings down the process in a variant's `first` test.
static vkf_status test_marked(vkf__fixture *fixture, vkf__verdict good, bool first, vkf__verdict *out_verdict)
{
    vkf__learned *learned = &fixture->context->learned;
    if (first)
        VKF_RETURN_IF_ERROR(vkf__learned_begin_test(learned, fixture->cases.variant));
    vkf_status status = test_and_keep(fixture, good, out_verdict);
    vkf_status ended = first ? vkf__learned_end_test(learned, fixture->cases.variant) : VKF_OK;
    return status == VKF_OK ? ended : status;
}

// `good` is the verdict of a variant that passes. A variant that has it already, or a later verdict, is not tested;
// with constants it is, unless it has passed with these.
static vkf_status run(vkf__fixture *fixture, vkf__verdict good, vkf__verdict *out_verdict)
{
    vkf_context *context = fixture->context;
    const vkf__kernel *kernel = fixture->cases.variant->kernel;
    vkf_status status = VKF_OK;
    const char *why = NULL;
    pthread_mutex_lock(&context->test_lock);
    vkf__verdict verdict = vkf__verdict_get(&context->learned.verdicts, kernel, fixture->cases.variant->config);
    const bool first = vkf__verdict_is_due(&context->learned.verdicts, kernel, fixture->cases.variant->config);
    const bool due = fixture->cases.spec ? vkf__self_test_due(context, fixture->cases.variant, fixture->cases.spec)
                                         : first || verdict < good;
    fixture->cases.passed = fixture->cases.spec && !first;
    if (due && vkf__self_test_covers(kernel->op, &why)) {
        status = test_marked(fixture, good, first, &verdict);
    } else if (verdict < good) {
        verdict = good;
        keep(context, fixture->cases.variant, &(vkf__finding){.verdict = verdict});
    }
    pthread_mutex_unlock(&context->test_lock);
    if (status == VKF_OK)
        *out_verdict = verdict;
    return status;
}

vkf_status vkf__self_test_within(vkf_context *context, const vkf__variant *variant, vkf__keep_going_fn keep_going,
                                 void *user, vkf__verdict *out_verdict)
{
    vkf__fixture fixture = {
        .context = context,
        .cases = {.variant = variant},
        .verdict = VKF_VERDICT_PASSED,
        .repetitions = 1,
        .keep_going = keep_going,
        .user = user,
    };
    return run(&fixture, VKF_VERDICT_PASSED, out_verdict);
}

vkf_status vkf__self_test(vkf_context *context, const vkf__variant *variant, vkf__verdict *out_verdict)
{
    return vkf__self_test_within(context, variant, NULL, NULL, out_verdict);
}

vkf_status vkf__self_test_prove(vkf_context *context, const vkf__variant *variant, vkf__keep_going_fn keep_going,
                                void *user, vkf__verdict *out_verdict)
{
    vkf__fixture fixture = {
        .context = context,
        .cases = {.variant = variant},
        .verdict = VKF_VERDICT_PASSED,
        .repetitions = VKF_SELF_TEST_PROOFS,
        .keep_going = keep_going,
        .user = user,
    };
    return run(&fixture, VKF_VERDICT_PROVEN, out_verdict);
}

bool vkf__self_test_due(vkf_context *context, const vkf__variant *variant, const uint32_t *spec)
{
    const char *why = NULL;
    const vkf__verdicts *verdicts = &context->learned.verdicts;
    if (vkf__verdict_is_due(verdicts, variant->kernel, variant->config))
        return true;
    return !vkf__verdict_bad(vkf__verdict_get(verdicts, variant->kernel, variant->config)) &&
           vkf__self_test_covers(variant->kernel->op, &why) &&
           !vkf__learned_has_passed(&context->learned, variant, spec);
}

static vkf__fixture fixture_with(vkf_context *context, const vkf__variant *variant, const uint32_t *spec)
{
    return (vkf__fixture){.context = context,
                          .cases = {.variant = variant, .spec = spec},
                          .verdict = VKF_VERDICT_PASSED,
                          .repetitions = 1};
}

vkf_status vkf__self_test_with(vkf_context *context, const vkf__variant *variant, const uint32_t *spec, bool compiled,
                               vkf__verdict *out_verdict)
{
    vkf__fixture fixture = fixture_with(context, variant, spec);
    fixture.compiled = compiled;
    return run(&fixture, VKF_VERDICT_PASSED, out_verdict);
}

vkf_status vkf__self_test_pipelines(vkf_context *context, const vkf__variant *variant, const uint32_t *spec,
                                    vkf__pipeline_wants *wants)
{
    vkf_status status = VKF_OK;
    const char *why = NULL;
    vkf__fixture fixture = fixture_with(context, variant, spec);
    if (!vkf__self_test_covers(variant->kernel->op, &why) || context->device.plan.caps.traits.processor)
        return VKF_OK;
    fixture.cases.passed = !vkf__verdict_is_due(&context->learned.verdicts, variant->kernel, variant->config);
    VKF_TRY(vkf__fixture_init(&fixture, VKF_FIXTURE_BYTES));
    fixture.wants = *wants;
    *wants = (vkf__pipeline_wants){0};
    status = gather(&fixture);
    *wants = fixture.wants;
    fixture.wants = (vkf__pipeline_wants){0};
fail:
    vkf__fixture_finish(&fixture);
    return status;
}
