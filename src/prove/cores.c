// Finds the knee in the time of dispatches of more and more workgroups.
#include "prove/cores.h"

#include "op/roof.h"
#include "prove/trial.h"
#include "shared/roof.h"

// A dispatch of one workgroup takes about this long, so that its start does not count.
#define TARGET_NS 200e3
#define MAX_ROUNDS (1u << 20)
// With more than this many times the duration of one workgroup, some core has two.
#define KNEE 1.5
#define REPEATS 3

typedef struct knee {
    vkf__trial trial;
    vkf__roof_fma_args args;
    uint32_t local_size;
} knee;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_roof_fma(work, args);
}

// The best of several runs of so many workgroups.
static vkf_status time_groups(knee *k, uint32_t groups, double *out_ns)
{
    double best = 0;
    k->args.count = groups * k->local_size;
    VKF_RETURN_IF_ERROR(vkf__work_update(&k->trial.work, emit, &k->args));
    for (uint32_t i = 0; i < REPEATS; i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__trial_run(&k->trial, &ns));
        best = i == 0 || ns < best ? ns : best;
    }
    *out_ns = best > 1 ? best : 1;
    return VKF_OK;
}

// Chooses the rounds, and times one workgroup with them.
static vkf_status time_one(knee *k, double *out_ns)
{
    double ns = 0;
    k->args.rounds = 16;
    VKF_RETURN_IF_ERROR(time_groups(k, 1, &ns));
    const double rounds = k->args.rounds * TARGET_NS / ns;
    k->args.rounds = rounds < 16 ? 16 : rounds > MAX_ROUNDS ? MAX_ROUNDS : (uint32_t)rounds;
    return time_groups(k, 1, out_ns);
}

// The most workgroups that take as long as one: doubles them until they do not, and halves the range.
static vkf_status find_knee(knee *k, uint32_t *out_cores)
{
    double one = 0, ns = 0;
    uint32_t fits = 1, beyond = VKF_MAX_MEASURED_CORES + 1;
    VKF_RETURN_IF_ERROR(time_one(k, &one));
    for (uint32_t groups = 2; groups <= VKF_MAX_MEASURED_CORES && fits < groups && groups < beyond; groups *= 2) {
        VKF_RETURN_IF_ERROR(time_groups(k, groups, &ns));
        *(ns <= KNEE * one ? &fits : &beyond) = groups;
    }
    while (beyond - fits > 1) {
        const uint32_t middle = fits + (beyond - fits) / 2;
        VKF_RETURN_IF_ERROR(time_groups(k, middle, &ns));
        *(ns <= KNEE * one ? &fits : &beyond) = middle;
    }
    *out_cores = fits;
    return VKF_OK;
}

vkf_status vkf__measure_cores(vkf_context *context, uint32_t *out_cores)
{
    vkf_status status = VKF_OK;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32};
    const vkf__problem problem = {.m = 1};
    const vkf__selector selector = vkf__context_selector(context);
    knee k = {.args = {.label = "cores", .chains = 4, .rounds = 1}};
    vkf__variant variant;
    vkf_buffer *out = NULL;
    if (!vkf__select(&selector, VKF_OP_ROOF_FMA, types, &problem, &variant, NULL))
        return vkf__fail(&context->host, VKF_ERROR_UNSUPPORTED, "no kernel measures the cores of this device");
    k.local_size = variant.config->local_size;
    k.args.count = VKF_MAX_MEASURED_CORES * k.local_size;
    const uint64_t bytes = (uint64_t)k.args.count * sizeof(float);
    VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, bytes, "cores", &out));
    k.args.out = (vkf__span){.buffer = out, .size_bytes = bytes, .dtype = VKF_DTYPE_F32};
    VKF_TRY(vkf__trial_init(&k.trial, context, &variant, emit, &k.args));
    if (k.trial.taken)
        VKF_TRY(find_knee(&k, out_cores));
fail:
    vkf__trial_finish(&k.trial);
    vkf__buffer_destroy(&out);
    return status;
}

vkf_status vkf__learn_cores(vkf_context *context)
{
    const vkf__traits *traits = &context->device.plan.caps.traits;
    uint32_t cores = 0;
    if (traits->processor || traits->cores_are_known || context->learned.cores > 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__measure_cores(context, &cores));
    vkf__log(&context->host, VKF_SEVERITY_DEBUG, "the device seems to have %u cores", cores);
    return vkf__learned_cores(&context->learned, cores);
}
