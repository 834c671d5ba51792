// Runs a variant on the edge shapes of its operator, and keeps the verdict.
#include "prove/self_test.h"

#include <math.h>

#include "prove/self_test_bed.h"

// Room for the operands of the largest case: a product of depth 100,000 with b in panels. No power of two, as the
// buffers of models are none: lavapipe compiles a kernel that reads texels once for these and once for others.
#define BED_BYTES (((uint64_t)16 << 20) + 4096)

typedef struct op_cases {
    vkf__bed_cases_fn run;
    const char *why_not; // of an operator without cases
} op_cases;

#define ROOF "it measures the device for a benchmark: nothing is made of its results"

// The one place where an operator gets its edge shapes.
static const op_cases cases[VKF_OP_COUNT] = {
    [VKF_OP_GEMM] = {vkf__bed_gemm, NULL},
    [VKF_OP_SOFTMAX] = {vkf__bed_softmax, NULL},
    [VKF_OP_LAYER_NORM] = {vkf__bed_layer_norm, NULL},
    [VKF_OP_LAYER_NORM_RESIDUAL] = {vkf__bed_layer_norm, NULL},
    [VKF_OP_LAYER_NORM_GRAD] = {vkf__bed_layer_norm_grad, NULL},
    [VKF_OP_NORM_GRADIENTS] = {vkf__bed_norm_gradients, NULL},
    [VKF_OP_NORM_STATS] = {vkf__bed_layer_norm_grad, NULL},
    [VKF_OP_COLUMN_SUM] = {vkf__bed_column_sum, NULL},
    [VKF_OP_SOFTMAX_GRAD] = {vkf__bed_softmax_grad, NULL},
    [VKF_OP_PERMUTE] = {vkf__bed_permute, NULL},
    [VKF_OP_EMBED] = {vkf__bed_embed, NULL},
    [VKF_OP_ADDITIVE_SCORES] = {vkf__bed_additive, NULL},
    [VKF_OP_ARGMAX] = {vkf__bed_argmax, NULL},
    [VKF_OP_SAMPLE] = {vkf__bed_sample, NULL},
    [VKF_OP_TOP] = {vkf__bed_top, NULL},
    [VKF_OP_REORDER] = {vkf__bed_reorder, NULL},
    [VKF_OP_POOL] = {vkf__bed_pool, NULL},
    [VKF_OP_ROTARY] = {vkf__bed_rotary, NULL},
    [VKF_OP_GATE] = {vkf__bed_gate, NULL},
    [VKF_OP_COPY] = {vkf__bed_copy, NULL},
    [VKF_OP_HEAD_MEAN] = {vkf__bed_head_mean, NULL},
    [VKF_OP_PACK] = {vkf__bed_pack, NULL},
    [VKF_OP_QUANTIZE_ROWS] = {vkf__bed_quantize_rows, NULL},
    [VKF_OP_ATTENTION] = {vkf__bed_attention, NULL},
    [VKF_OP_CROSS_ENTROPY] = {vkf__bed_cross_entropy, NULL},
    [VKF_OP_TOTAL] = {vkf__bed_total, NULL},
    [VKF_OP_CLIP] = {vkf__bed_clip, NULL},
    [VKF_OP_ADAM] = {vkf__bed_adam, NULL},
    [VKF_OP_SGD] = {vkf__bed_sgd, NULL},
    [VKF_OP_ATTENTION_TRAIN] = {vkf__bed_attention_grad, NULL},
    [VKF_OP_ATTENTION_GRAD] = {vkf__bed_attention_grad, NULL},
    [VKF_OP_ATTENTION_GRAD_PAIR] = {vkf__bed_attention_grad, NULL},
    [VKF_OP_ATTENTION_GRAD_PACK] = {vkf__bed_attention_grad, NULL},
    [VKF_OP_GEMM_REDUCE] = {NULL, "it runs behind products cut in depth alone, whose edge shapes it takes part in"},
    [VKF_OP_ACTIVATION] = {vkf__bed_activation, NULL},
    [VKF_OP_ACTIVATION_GRAD] = {vkf__bed_activation_grad, NULL},
    [VKF_OP_GATE_GRAD] = {vkf__bed_gate_grad, NULL},
    [VKF_OP_DROPOUT] = {vkf__bed_dropout, NULL},
    [VKF_OP_EMBED_GRAD] = {vkf__bed_embed_grad, NULL},
    [VKF_OP_POOL_GRAD] = {vkf__bed_pool_grad, NULL},
    [VKF_OP_ADDITIVE_GRAD] = {vkf__bed_additive_grad, NULL},
    [VKF_OP_ROOF_COPY] = {NULL, ROOF},
    [VKF_OP_ROOF_READ] = {NULL, ROOF},
    [VKF_OP_ROOF_FMA] = {NULL, ROOF},
    [VKF_OP_ATTENTION_REDUCE] = {NULL, "it runs behind attention alone, whose edge shapes it takes part in"},
};

bool vkf__self_test_covers(vkf__op op, const char **out_why)
{
    bool covered = cases[op].run != NULL;
    *out_why = covered ? "it has edge shapes" : cases[op].why_not ? cases[op].why_not : "it has no edge shapes yet";
    return covered;
}

// Runs the cases with the wanted constants. None of them may give these; then a variant that has not passed with any
// others is tested with the cases' own.
static vkf_status run_cases(vkf__bed *bed)
{
    const vkf__bed_cases_fn run = cases[bed->variant->kernel->op].run;
    bed->case_count = 0;
    VKF_RETURN_IF_ERROR(run(bed));
    if (!bed->spec || bed->passed || bed->case_count > 0 || bed->verdict != VKF_VERDICT_PASSED || bed->stopped)
        return VKF_OK;
    const uint32_t *spec = bed->spec;
    bed->spec = NULL;
    const vkf_status status = run(bed);
    bed->spec = spec;
    return status;
}

// Gathers the pipelines of all cases. Drivers for processors compile when a kernel first runs.
static vkf_status gather(vkf__bed *bed)
{
    if (bed->context->device.plan.caps.traits.processor)
        return VKF_OK;
    bed->gathering = true;
    const vkf_status status = run_cases(bed);
    bed->gathering = false;
    return status;
}

// Has the driver compile the pipelines of all cases, several at a time: one that is made for matrix units takes some
// drivers seconds. What cannot be compiled is found again by the case that needs it.
static vkf_status make_pipelines(vkf__bed *bed)
{
    VKF_RETURN_IF_ERROR(gather(bed));
    const vkf_status status = vkf__pipelines_make(&bed->context->pipelines, bed->wants.list, bed->wants.count, NULL);
    return status == VKF_ERROR_SHADER || status == VKF_ERROR_UNSUPPORTED ? VKF_OK : status;
}

// The caller holds test_lock.
static vkf_status test(vkf__bed *bed)
{
    vkf_status status = VKF_OK;
    VKF_TRY(vkf__bed_init(bed, BED_BYTES));
    if (!bed->compiled)
        VKF_TRY(make_pipelines(bed));
    VKF_TRY(run_cases(bed));
fail:
    vkf__bed_finish(bed);
    return status;
}

static void keep(vkf_context *context, const vkf__variant *variant, const vkf__finding *finding)
{
    vkf__learned_found(&context->learned, variant->kernel, variant->config, finding);
    // A bad verdict is saved at once, because the process may crash next.
    if (vkf__verdict_bad(finding->verdict) && vkf__learned_save(&context->learned) != VKF_OK)
        vkf__log(&context->host, VKF_SEVERITY_WARNING, "self-test: the verdict could not be saved");
}

static vkf_status test_and_keep(vkf__bed *bed, vkf__verdict good, vkf__verdict *out_verdict)
{
    vkf_context *context = bed->context;
    const vkf__variant *variant = bed->variant;
    vkf__verdict before = vkf__verdict_get(&context->learned.verdicts, variant->kernel, variant->config);
    double begin = vkf__now_ns();
    vkf_status status = test(bed);
    if (status == VKF_ERROR_DEVICE_LOST) {
        vkf__log(&context->host, VKF_SEVERITY_WARNING,
                 "self-test: the device was lost while %s/%s ran, which will not be used in this run",
                 variant->kernel->name, variant->config->name);
        keep(context, variant,
             &(vkf__finding){.verdict = VKF_VERDICT_SLOW, .times = HUGE_VAL, .reason = "the device was lost"});
    }
    if (status != VKF_OK)
        return status;
    if (bed->stopped && !vkf__verdict_bad(bed->verdict)) {
        *out_verdict = before;
        return VKF_OK;
    }
    if (bed->case_count == 0)
        vkf__log(&context->host, VKF_SEVERITY_DEBUG, "self-test: %s/%s takes none of the edge shapes",
                 variant->kernel->name, variant->config->name);
    vkf__log(&context->host, VKF_SEVERITY_DEBUG, "self-test: %s/%s: %u shapes, %u times, %.1f ms",
             variant->kernel->name, variant->config->name, bed->case_count, bed->repetitions,
             (vkf__now_ns() - begin) * 1e-6);
    *out_verdict = vkf__verdict_bad(bed->verdict) ? bed->verdict : before == VKF_VERDICT_PROVEN ? before : good;
    keep(context, variant,
         &(vkf__finding){*out_verdict, bed->times, bed->foretold, bed->reason[0] != '\0' ? bed->reason : NULL});
    return bed->spec && !vkf__verdict_bad(*out_verdict) ? vkf__learned_passes(&context->learned, variant, bed->spec)
                                                        : VKF_OK;
}

// What is stored meanwhile tells if a driver brings down the process in a variant's `first` test.
static vkf_status test_marked(vkf__bed *bed, vkf__verdict good, bool first, vkf__verdict *out_verdict)
{
    vkf__learned *learned = &bed->context->learned;
    if (first)
        VKF_RETURN_IF_ERROR(vkf__learned_begin_test(learned, bed->variant));
    vkf_status status = test_and_keep(bed, good, out_verdict);
    vkf_status ended = first ? vkf__learned_end_test(learned, bed->variant) : VKF_OK;
    return status == VKF_OK ? ended : status;
}

// `good` is the verdict of a variant that passes. A variant that has it already, or a later verdict, is not tested;
// with constants it is, unless it has passed with these.
static vkf_status run(vkf__bed *bed, vkf__verdict good, vkf__verdict *out_verdict)
{
    vkf_context *context = bed->context;
    const vkf__kernel *kernel = bed->variant->kernel;
    vkf_status status = VKF_OK;
    const char *why = NULL;
    pthread_mutex_lock(&context->test_lock);
    vkf__verdict verdict = vkf__verdict_get(&context->learned.verdicts, kernel, bed->variant->config);
    const bool first = vkf__verdict_is_due(&context->learned.verdicts, kernel, bed->variant->config);
    const bool due = bed->spec ? vkf__self_test_due(context, bed->variant, bed->spec) : first || verdict < good;
    bed->passed = bed->spec && !first;
    if (due && vkf__self_test_covers(kernel->op, &why)) {
        status = test_marked(bed, good, first, &verdict);
    } else if (verdict < good) {
        verdict = good;
        keep(context, bed->variant, &(vkf__finding){.verdict = verdict});
    }
    pthread_mutex_unlock(&context->test_lock);
    if (status == VKF_OK)
        *out_verdict = verdict;
    return status;
}

vkf_status vkf__self_test_within(vkf_context *context, const vkf__variant *variant, vkf__keep_going_fn keep_going,
                                 void *user, vkf__verdict *out_verdict)
{
    vkf__bed bed = {
        .context = context,
        .variant = variant,
        .verdict = VKF_VERDICT_PASSED,
        .repetitions = 1,
        .keep_going = keep_going,
        .user = user,
    };
    return run(&bed, VKF_VERDICT_PASSED, out_verdict);
}

vkf_status vkf__self_test(vkf_context *context, const vkf__variant *variant, vkf__verdict *out_verdict)
{
    return vkf__self_test_within(context, variant, NULL, NULL, out_verdict);
}

vkf_status vkf__self_test_prove(vkf_context *context, const vkf__variant *variant, vkf__keep_going_fn keep_going,
                                void *user, vkf__verdict *out_verdict)
{
    vkf__bed bed = {
        .context = context,
        .variant = variant,
        .verdict = VKF_VERDICT_PASSED,
        .repetitions = VKF_SELF_TEST_PROOFS,
        .keep_going = keep_going,
        .user = user,
    };
    return run(&bed, VKF_VERDICT_PROVEN, out_verdict);
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

static vkf__bed bed_with(vkf_context *context, const vkf__variant *variant, const uint32_t *spec)
{
    return (vkf__bed){
        .context = context, .variant = variant, .verdict = VKF_VERDICT_PASSED, .repetitions = 1, .spec = spec};
}

vkf_status vkf__self_test_with(vkf_context *context, const vkf__variant *variant, const uint32_t *spec, bool compiled,
                               vkf__verdict *out_verdict)
{
    vkf__bed bed = bed_with(context, variant, spec);
    bed.compiled = compiled;
    return run(&bed, VKF_VERDICT_PASSED, out_verdict);
}

vkf_status vkf__self_test_pipelines(vkf_context *context, const vkf__variant *variant, const uint32_t *spec,
                                    vkf__pipeline_wants *wants)
{
    vkf_status status = VKF_OK;
    const char *why = NULL;
    vkf__bed bed = bed_with(context, variant, spec);
    if (!vkf__self_test_covers(variant->kernel->op, &why) || context->device.plan.caps.traits.processor)
        return VKF_OK;
    bed.passed = !vkf__verdict_is_due(&context->learned.verdicts, variant->kernel, variant->config);
    VKF_TRY(vkf__bed_init(&bed, BED_BYTES));
    bed.wants = *wants;
    *wants = (vkf__pipeline_wants){0};
    status = gather(&bed);
    *wants = bed.wants;
    bed.wants = (vkf__pipeline_wants){0};
fail:
    vkf__bed_finish(&bed);
    return status;
}
