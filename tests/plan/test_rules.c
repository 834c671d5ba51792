// Rules that hold for every product and attention on every described chip.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "plan_lines.h"

#define FEW_ROWS 8u

typedef struct rule_check {
    plan_text *text;
    const plan_device *device;
    char where[160];  // "rtx4090: llama-3.2-1b token"
    bool norms_first; // a token of a model whose layers normalise what one product each reads
} rule_check;

static const vkf__kernel *find_kernel(const char *name)
{
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel; (kernel = vkf__kernel_next(&walk));)
        if (strcmp(kernel->name, name) == 0)
            return kernel;
    fail_msg("no kernel is called %s", name);
    return NULL;
}

static const vkf__config *find_config(const vkf__kernel *kernel, const char *name)
{
    for (uint32_t i = 0; i < kernel->config_count; i++)
        if (strcmp(kernel->configs[i].name, name) == 0)
            return &kernel->configs[i];
    fail_msg("%s has no config %s", kernel->name, name);
    return NULL;
}

static void report(rule_check *check, const char *rule, const vkf_planned_dispatch *d)
{
    plan_print(check->text, "%s: %s: %s %ux%ux%u: %s/%s\n", rule, check->where, d->label, d->m, d->n, d->k, d->kernel,
               d->config);
}

// A kernel is made for few rows where the invocations of a workgroup share k, so that few columns keep a device busy.
static bool is_for_few(const char *kernel)
{
    return strncmp(kernel, "gemv", 4) == 0 || strncmp(kernel, "gemm_blocks.", 12) == 0 ||
           strncmp(kernel, "gemm_dot.", 9) == 0 || strncmp(kernel, "gemm_dot_rounds.", 16) == 0;
}

static void check_few_rows(rule_check *check, const vkf_planned_dispatch *d)
{
    if (strcmp(d->op, "gemm") == 0 && d->m <= FEW_ROWS && d->n > 0 && !is_for_few(d->kernel))
        report(check, "few rows", d);
}

static bool is_16_bits(vkf_dtype type)
{
    return type == VKF_DTYPE_F16 || type == VKF_DTYPE_BF16;
}

static void check_matrix_units(rule_check *check, const vkf_planned_dispatch *d)
{
    const vkf__caps *caps = &check->device->context->device.plan.caps;
    const VkComponentTypeKHR type =
        d->types[0] == VKF_DTYPE_BF16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR;
    bool multiplies = strcmp(d->op, "gemm") == 0 || strcmp(d->op, "attention") == 0;
    bool both = multiplies && d->type_count > 1 && is_16_bits(d->types[0]) && d->types[0] == d->types[1];
    if (both && d->m > FEW_ROWS && !d->tensor_math &&
        vkf__matrix_find(&caps->matrix, type, VK_COMPONENT_TYPE_FLOAT32_KHR, 0, 0, 0))
        report(check, "matrix units", d);
}

// Whether the same kernel has a tile that gives more workgroups here.
static bool has_smaller_tile(const plan_device *device, const vkf_planned_dispatch *d)
{
    const vkf__caps *caps = &device->context->device.plan.caps;
    const vkf__kernel *kernel = find_kernel(d->kernel);
    const vkf__config *taken = find_config(kernel, d->config);
    const uint32_t area = taken->tile.side.rows * taken->tile.side.columns;
    for (uint32_t i = 0; i < kernel->config_count; i++) {
        const vkf__config *other = &kernel->configs[i];
        bool fits = other->max_m == 0 || d->m <= other->max_m;
        if (fits && other->tile.side.rows * other->tile.side.columns < area &&
            vkf__kernel_supported(caps, kernel, other, NULL))
            return true;
    }
    return false;
}

static void check_workgroups(rule_check *check, const vkf_planned_dispatch *d)
{
    const double groups = (double)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    if (strcmp(d->op, "gemm") == 0 && groups < check->device->chip.speed.cores && has_smaller_tile(check->device, d))
        report(check, "workgroups", d);
}

// Products of few rows normalise their input themselves. The final norm, "norm", is none of a layer.
static void check_norms(rule_check *check, const vkf_planned_dispatch *d)
{
    if (check->norms_first && strcmp(d->op, "layer_norm") == 0 && strcmp(d->label, "norm") != 0)
        report(check, "norms", d);
}

static void check_dispatch(rule_check *check, const vkf_planned_dispatch *dispatch)
{
    check_norms(check, dispatch);
    check_few_rows(check, dispatch);
    check_matrix_units(check, dispatch);
    check_workgroups(check, dispatch);
}

static void check_shapes(rule_check *check, const char *chip)
{
    static const vkf_dtype weights[] = {VKF_DTYPE_F16, VKF_DTYPE_Q4};
    for (size_t i = 0; i < PLAN_SHAPE_COUNT; i++)
        for (size_t w = 0; w < 2; w++) {
            vkf_planned_dispatch dispatches[32];
            uint32_t count = plan_product(check->device, &plan_shapes[i], weights[w], dispatches, 32);
            (void)snprintf(check->where, sizeof check->where, "%s: %s by %s", chip, plan_shapes[i].name,
                           vkf_dtype_name(weights[w]));
            for (uint32_t d = 0; d < count; d++)
                check_dispatch(check, &dispatches[d]);
        }
}

// Without a gate that is left to itself, as it is where the device cannot bind its two matrices as one operand.
static bool has_norms_first(const char *model, const vkf_plan_run *run)
{
    for (size_t i = 0; i < run->row_count; i++)
        if (strcmp(run->rows[i].dispatch.op, "gate") == 0)
            return false;
    return strcmp(run->what, "token") == 0 && strcmp(model, "opus-mt") != 0;
}

static void check_model(rule_check *check, const char *chip, const char *model)
{
    char directory[256];
    vkf_common_options common;
    vkf_plan_report report;
    assert_true(vkf_common_init(&common));
    (void)snprintf(directory, sizeof directory, "%s/tests/plan/models/%s", VKF_TEST_SOURCE_DIR, model);
    const vkf_plan_request request = {.directory = directory,
                                      .chip = &check->device->chip,
                                      .precision = VKF_MODEL_PRECISION_F16,
                                      .batch = 1,
                                      .prompt = 256,
                                      .context = 1024};
    assert_true(vkf_plan_make(&common, &request, &report));
    for (size_t r = 0; r < report.run_count; r++) {
        check->norms_first = has_norms_first(model, &report.runs[r]);
        for (size_t i = 0; i < report.runs[r].row_count; i++) {
            vkf_plan_row *row = &report.runs[r].rows[i];
            row->dispatch.label = row->label;
            (void)snprintf(check->where, sizeof check->where, "%s: %s, %s", chip, model, report.runs[r].what);
            check_dispatch(check, &row->dispatch);
        }
    }
    check->norms_first = false;
    vkf_plan_report_free(&report);
    vkf_common_free(&common);
}

static void test_rules_hold(void **state)
{
    plan_text text = {0};
    (void)state;
    for (size_t c = 0; c < PLAN_CHIP_COUNT; c++) {
        plan_device device = plan_open(plan_chips[c]);
        rule_check check = {.text = &text, .device = &device};
        check_shapes(&check, plan_chips[c]);
        for (size_t m = 0; m < PLAN_MODEL_COUNT; m++)
            check_model(&check, plan_chips[c], plan_models[m]);
        plan_close(&device);
    }
    if (text.text)
        fail_msg("\n%s", text.text);
}

// A rule that nothing can break is a defect: each is broken by a made-up dispatch.
static void test_rules_notice(void **state)
{
    plan_text text = {0};
    plan_device device = plan_open("rtx4090");
    rule_check check = {.text = &text, .device = &device, .where = "planted"};
    vkf_planned_dispatch d = {.op = "gemm",
                              .label = "x",
                              .kernel = "gemm_tile.f16_f16_f16",
                              .config = "large",
                              .workgroups = {127, 1, 1},
                              .m = 8,
                              .n = 64,
                              .k = 64,
                              .type_count = 3,
                              .types = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16}};
    (void)state;
    check_dispatch(&check, &d);
    d.m = 9;
    check_dispatch(&check, &d);
    d.workgroups[0] = 128;
    d.tensor_math = true;
    check_dispatch(&check, &d);
    d.op = "layer_norm";
    check_dispatch(&check, &d);
    check.norms_first = true;
    check_dispatch(&check, &d);
    assert_string_equal(text.text, "few rows: planted: x 8x64x64: gemm_tile.f16_f16_f16/large\n"
                                   "workgroups: planted: x 8x64x64: gemm_tile.f16_f16_f16/large\n"
                                   "matrix units: planted: x 9x64x64: gemm_tile.f16_f16_f16/large\n"
                                   "workgroups: planted: x 9x64x64: gemm_tile.f16_f16_f16/large\n"
                                   "norms: planted: x 9x64x64: gemm_tile.f16_f16_f16/large\n");
    free(text.text);
    plan_close(&device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_hold),
        cmocka_unit_test(test_rules_notice),
    };
    return PLAN_RUN(tests, argc, argv);
}
