// Measures and tests on the device what a plan wants.
#include "prove/prove.h"

#include "prove/race.h"
#include "prove/self_test.h"
#include "prove/tune.h"

// *out_learned: whether the tuner's table has a new entry.
static vkf_status measure(vkf_context *context, const vkf__want *wants, size_t count, bool *out_learned)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool learned = false;
        VKF_RETURN_IF_ERROR(vkf__tune_first_use(context, wants[i].op, wants[i].types, &wants[i].problem, &learned));
        any = any || learned;
    }
    *out_learned = any;
    return VKF_OK;
}

// *out_refused: whether one of the kernels may not be used.
static vkf_status test(vkf_context *context, const vkf__want *wants, size_t count, bool *out_refused)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const vkf__variant *variant = &wants[i].variant;
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        if (!vkf__verdict_is_due(&context->learned.verdicts, variant->kernel, variant->config))
            continue;
        VKF_RETURN_IF_ERROR(vkf__self_test(context, variant, &verdict));
        any = any || vkf__verdict_bad(verdict);
    }
    *out_refused = any;
    return VKF_OK;
}

// *out_lost: whether one of the kernels lost its race.
static vkf_status race(vkf_context *context, const vkf__want *wants, size_t count, bool *out_lost)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool lost = false;
        VKF_RETURN_IF_ERROR(vkf__race_once(context, &wants[i], &lost));
        any = any || lost;
    }
    *out_lost = any;
    return VKF_OK;
}

vkf_status vkf__prove(vkf_context *context, const vkf__want *wants, size_t count, bool *out_again)
{
    bool again = false;
    if (context->tunes_on_first_use)
        VKF_RETURN_IF_ERROR(measure(context, wants, count, &again));
    if (context->self_tests && !again)
        VKF_RETURN_IF_ERROR(test(context, wants, count, &again));
    if (context->self_tests && !again)
        VKF_RETURN_IF_ERROR(race(context, wants, count, &again));
    *out_again = again;
    return VKF_OK;
}
