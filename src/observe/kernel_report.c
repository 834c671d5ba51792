// Walks through the registry, or compiles one shader of the caller's, and tells what the device makes of it.
#include "observe/kernel_report.h"

#include <stdio.h>

#include "kernel/shader_pipeline.h"
#include "kernel/shader_table.h"
#include "kernel/statistics.h"
#include "kernel/variant_name.h"
#include "op/gemm_dot.h"
#include "op/operators.h"

typedef struct report_run {
    vkf_context *context;
    const char *name; // variants whose names begin with it are reported
    vkf_kernel_compile compile;
    vkf_kernel_report_fn visit;
    void *user;
} report_run;

// Selects as a device does that has measured and tested nothing.
static vkf__selector unmeasured(const vkf_context *context)
{
    return (vkf__selector){.caps = &context->device.plan.caps};
}

// Parts of sums are f32, so no other kernel is asked for them, unless it puts them together itself.
static bool takes_parts(const vkf__kernel *kernel)
{
    return (kernel->offers & VKF_FORM_JOINED) || kernel->types[kernel->type_count - 1] == VKF_DTYPE_F32;
}

static bool is_default(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                       const vkf__typical_problem *typical, vkf_precision precision)
{
    vkf__variant chosen = {0};
    vkf__typical_problem asked = *typical;
    asked.problem.precision = precision;
    if ((asked.problem.wants & VKF_FORM_SPLIT) && !takes_parts(kernel))
        return false;
    const vkf__problem problem = vkf__typical_problem_for(selector, &asked, kernel->types);
    return vkf__select(selector, kernel->op, kernel->types, &problem, &chosen, NULL) && chosen.kernel == kernel &&
           chosen.config == config;
}

// The least precision at which the device takes the variant for the problem; VKF_PRECISION_COUNT: at none.
static vkf_precision precision_of(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                                  const vkf__typical_problem *typical)
{
    vkf_precision precision = VKF_PRECISION_FULL;
    while (precision < VKF_PRECISION_COUNT && !is_default(selector, kernel, config, typical, precision))
        precision++;
    return precision;
}

// Lists the labels of the typical problems for which the device takes the variant, with ", " between them. "(f16)"
// stands behind those for which it does so only where float32 may be rounded (VKF_PRECISION_F16), and "(f16-sums)"
// where sums may be, too.
static void list_defaults(const vkf_context *context, const vkf__kernel *kernel, const vkf__config *config,
                          uint32_t head_dim, char *out_text, size_t size_bytes)
{
    static const char *const marks[VKF_PRECISION_COUNT] = {"", " (f16)", " (f16-sums)"};
    const vkf__selector selector = unmeasured(context);
    const vkf__op_info *info = vkf__operator(kernel->op);
    size_t length = 0;
    out_text[0] = '\0';
    for (uint32_t i = 0; i < info->problem_count; i++) {
        const vkf__typical_problem *typical = &info->problems[i];
        if (!typical->label || (info->per_head_dim && typical->problem.k != head_dim) ||
            !vkf__allows_for_integer_dot(context, kernel, &typical->problem))
            continue;
        const vkf_precision precision = precision_of(&selector, kernel, config, typical);
        if (length < size_bytes && precision < VKF_PRECISION_COUNT)
            length += (size_t)snprintf(out_text + length, size_bytes - length, "%s%s%s", length > 0 ? ", " : "",
                                       typical->label, marks[precision]);
    }
}

// A pipeline that cannot be made is a finding; what leaves the context unusable ends the visit.
static bool ends_the_visit(vkf_status status)
{
    return status == VKF_ERROR_OUT_OF_HOST_MEMORY || status == VKF_ERROR_DEVICE_LOST;
}

static vkf_status compile(vkf_context *context, const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim,
                          vkf_kernel_report *report)
{
    uint32_t flags[VKF_KERNEL_MAX_SPEC], spec[VKF_KERNEL_MAX_SPEC] = {0};
    const vkf__pipeline *pipeline = NULL;
    vkf__typical_flags(kernel, config, head_dim, flags);
    vkf__variant_spec(&context->device.plan.caps, &(vkf__variant){kernel, config}, flags, spec);
    report->status = vkf__pipelines_get(&context->pipelines, kernel, spec, NULL, &pipeline);
    report->compiled = report->status == VKF_OK;
    if (!report->compiled)
        return ends_the_visit(report->status) ? report->status : VKF_OK;
    report->spirv_bytes = pipeline->spirv_bytes;
    vkf_status status = vkf__findings_read(&context->pipelines, pipeline->handle, report);
    if (status != VKF_OK)
        return ends_the_visit(status) ? status : VKF_OK;
    if (report->statistics.shared_bytes == VKF_STATISTIC_UNKNOWN)
        report->statistics.shared_bytes =
            vkf__variant_shared_bytes(&context->device.plan.caps, &(vkf__variant){kernel, config}, NULL);
    return VKF_OK;
}

// `report` says whether the device may use the variant, and what for.
static bool is_to_compile(const report_run *run, const vkf_kernel_report *report)
{
    return report->usable && run->compile != VKF_COMPILE_NONE &&
           (run->compile == VKF_COMPILE_ALL || report->default_for[0] != '\0');
}

static vkf_status report_constants(const report_run *run, const vkf__kernel *kernel, const vkf__config *config,
                                   uint32_t head_dim)
{
    vkf_status status = VKF_OK;
    char constants[32] = "", defaults[256] = "";
    vkf_kernel_report report = {
        .kernel = kernel->name, .config = config->name, .constants = constants, .default_for = defaults};
    vkf__statistics_normalise(&run->context->device.plan.caps, NULL, 0, &report.statistics);
    const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(kernel));
    report.spirv_bytes = shader ? 4 * shader->word_count : 0;
    if (head_dim > 0)
        (void)snprintf(constants, sizeof constants, "head_dim %u", head_dim);
    report.usable = vkf__kernel_supported(&run->context->device.plan.caps, kernel, config, &report.why);
    if (report.usable)
        list_defaults(run->context, kernel, config, head_dim, defaults, sizeof defaults);
    if (is_to_compile(run, &report))
        VKF_TRY(compile(run->context, kernel, config, head_dim, &report));
    if (!run->visit(run->user, &report))
        status = VKF_ERROR_CANCELLED;
fail:
    vkf__findings_free(&run->context->host, &report);
    return status;
}

// Whether the variant takes heads of this width, whole or in parts.
static bool takes_heads(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim)
{
    vkf__problem problem = {
        .m = 1, .n = 1, .k = head_dim, .offers = VKF_FORM_QUADS | VKF_FORM_VECTORS, .precision = VKF_PRECISION_F16};
    bool whole = vkf__kernel_takes(caps, kernel, config, &problem);
    problem.wants = VKF_FORM_SPLIT | (kernel->offers & VKF_FORM_JOINED);
    return whole || (takes_parts(kernel) && vkf__kernel_takes(caps, kernel, config, &problem));
}

static vkf_status report_config(const report_run *run, const vkf__kernel *kernel, const vkf__config *config)
{
    const vkf__caps *caps = &run->context->device.plan.caps;
    if (!vkf__variant_is_named(kernel, config, run->name))
        return VKF_OK;
    if (!vkf__operator(kernel->op)->per_head_dim)
        return report_constants(run, kernel, config, 0);
    for (uint32_t i = 0; i < VKF_TYPICAL_HEAD_DIMS; i++) {
        uint32_t head_dim = vkf__typical_head_dims[i];
        if (!vkf__kernel_supported(caps, kernel, config, NULL) || takes_heads(caps, kernel, config, head_dim))
            VKF_RETURN_IF_ERROR(report_constants(run, kernel, config, head_dim));
    }
    return VKF_OK;
}

vkf_status vkf__report_kernels(vkf_context *context, const char *name, vkf_kernel_compile which,
                               vkf_kernel_report_fn visit, void *user)
{
    const report_run run = {.context = context, .name = name, .compile = which, .visit = visit, .user = user};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++)
            VKF_RETURN_IF_ERROR(report_config(&run, kernel, &kernel->configs[c]));
    }
    return VKF_OK;
}

vkf_status vkf__report_shader(vkf_context *context, const vkf_shader_desc *desc, vkf_kernel_report_fn visit, void *user)
{
    vkf_status status = VKF_OK;
    vkf__shader_pipeline pipeline = {0};
    vkf_kernel_report report = {
        .kernel = desc->name,
        .config = "",
        .constants = desc->constants ? desc->constants : "",
        .default_for = "",
        .usable = true,
        .why = "",
        .spirv_bytes = (uint32_t)(4 * desc->word_count),
    };
    vkf__statistics_normalise(&context->device.plan.caps, NULL, 0, &report.statistics);
    report.status = vkf__shader_pipeline_make(&context->pipelines, desc, &pipeline);
    report.compiled = report.status == VKF_OK;
    if (ends_the_visit(report.status) || report.status == VKF_ERROR_UNSUPPORTED ||
        report.status == VKF_ERROR_INVALID_ARGUMENT)
        VKF_TRY(report.status);
    if (report.compiled)
        status = vkf__findings_read(&context->pipelines, pipeline.handle, &report);
    if (ends_the_visit(status))
        goto fail;
    status = VKF_OK; // a driver that tells nothing is a finding, too
    if (!visit(user, &report))
        status = VKF_ERROR_CANCELLED;
fail:
    vkf__findings_free(&context->host, &report);
    vkf__shader_pipeline_destroy(&context->device, &pipeline);
    return status;
}
