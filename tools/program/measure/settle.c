// Repeats work and looks at its times.
#include "measure/settle.h"

#include "base/clock.h"
#include "base/settling.h"

// Multiply-adds that keep the device busy.
#define BALLAST_INVOCATIONS (1u << 18)
#define BALLAST_FIRST_ROUNDS 16u
#define BALLAST_NS 2e6
// For work that keeps the device busy for less than this share of the time.
#define BUSY_SHARE 0.5

typedef struct ballast {
    vkf_context *context;
    vkf_measure_fma_desc desc; // without a tensor until it is first used
} ballast;

static vkf_status ballast_begin(ballast *b)
{
    const uint32_t count = BALLAST_INVOCATIONS;
    b->desc.rounds = BALLAST_FIRST_ROUNDS;
    b->desc.chains = VKF_MEASURE_FMA_MIN_CHAINS;
    return vkf_tensor_create(b->context, VKF_DTYPE_F32, 1, &count, "ballast", &b->desc.out);
}

// As many rounds as take BALLAST_NS, by what the last ones took.
static uint32_t fitting_rounds(uint32_t rounds, double ns)
{
    const double fitting = ns > 0 ? rounds * BALLAST_NS / ns : VKF_MEASURE_FMA_MAX_ROUNDS;
    return fitting >= VKF_MEASURE_FMA_MAX_ROUNDS ? VKF_MEASURE_FMA_MAX_ROUNDS : fitting > 1 ? (uint32_t)fitting : 1;
}

// *out_ns is the GPU's time where it has timestamps, else the host's.
static vkf_status ballast_run(ballast *b, double *out_ns)
{
    if (b->desc.rounds == 0) {
        vkf_status status = ballast_begin(b);
        if (status != VKF_OK)
            return status;
    }
    const double begin_ns = vkf__now_ns();
    vkf_status status = vkf_measure_fma(b->context, &b->desc);
    const double wall_ns = vkf__now_ns() - begin_ns, gpu_ns = vkf_context_get_last_op_ns(b->context);
    *out_ns = gpu_ns >= 0 ? gpu_ns : wall_ns;
    b->desc.rounds = fitting_rounds(b->desc.rounds, *out_ns);
    return status;
}

static double seconds_for(const vkf_settle_work *work)
{
    vkf_device_info info;
    if (work->seconds >= 0)
        return (double)work->seconds;
    vkf_context_get_device_info(work->context, &info);
    return info.type == VKF_DEVICE_TYPE_CPU ? 0 : (double)VKF_SETTLE_GPU_S;
}

static vkf_status run_once(const vkf_settle_work *work, ballast *b, vkf__settling *settling)
{
    double gpu_ns = -1.0, ballast_ns = 0;
    const double begin_ns = vkf__now_ns();
    vkf_status status = work->run(work->user, &gpu_ns);
    const double wall_ns = vkf__now_ns() - begin_ns;
    if (status == VKF_OK && !work->alone && gpu_ns < BUSY_SHARE * wall_ns)
        status = ballast_run(b, &ballast_ns);
    vkf__settling_add(settling, vkf__now_ns(), gpu_ns >= 0 ? gpu_ns : wall_ns);
    return status;
}

vkf_status vkf_settle(const vkf_settle_work *work, vkf_settled *out_settled)
{
    const double seconds = seconds_for(work);
    ballast b = {.context = work->context};
    vkf__settling settling = vkf__settling_begin(vkf__now_ns(), seconds * 1e9);
    vkf_status status = VKF_OK;
    while (status == VKF_OK && vkf__settling_goes_on(&settling))
        status = run_once(work, &b, &settling);
    vkf_tensor_destroy(&b.desc.out);
    *out_settled = seconds <= 0 ? VKF_SETTLED_UNKNOWN : settling.settled ? VKF_SETTLED_YES : VKF_SETTLED_NO;
    return status;
}

// The rate does not depend on how many rounds there are, the time does.
static vkf_status run_ballast(void *user, double *out_gpu_ns)
{
    ballast *b = user;
    const double rounds = b->desc.rounds > 0 ? b->desc.rounds : BALLAST_FIRST_ROUNDS;
    vkf_status status = ballast_run(b, out_gpu_ns);
    *out_gpu_ns /= rounds;
    return status;
}

vkf_status vkf_settle_idle(vkf_context *context, float seconds, vkf_settled *out_settled)
{
    ballast b = {.context = context};
    const vkf_settle_work work = {
        .context = context, .seconds = seconds, .run = run_ballast, .user = &b, .alone = true};
    vkf_status status = vkf_settle(&work, out_settled);
    vkf_tensor_destroy(&b.desc.out);
    return status;
}

const char *vkf_settled_mark(vkf_settled settled)
{
    return settled == VKF_SETTLED_NO ? " (not settled)" : "";
}

json_t *vkf_settled_json(vkf_settled settled)
{
    return settled == VKF_SETTLED_UNKNOWN ? json_null() : json_boolean(settled == VKF_SETTLED_YES);
}
