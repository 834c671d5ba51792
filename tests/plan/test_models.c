// How models run on described chips: the kernel of each product and each attention, and the estimates.
#include <stdio.h>
#include <string.h>

#include "plan_lines.h"

typedef struct variation {
    vkf_model_precision precision;
    vkf_quantization quantization;
    bool all; // of all models, or of one alone
} variation;

static const variation variations[] = {
    {VKF_MODEL_PRECISION_F16, VKF_QUANTIZATION_NONE, true},
    {VKF_MODEL_PRECISION_F32, VKF_QUANTIZATION_NONE, false},
    {VKF_MODEL_PRECISION_F16_WEIGHTS, VKF_QUANTIZATION_NONE, false},
    {VKF_MODEL_PRECISION_F16, VKF_QUANTIZATION_Q8, false},
    {VKF_MODEL_PRECISION_F16, VKF_QUANTIZATION_Q4, false},
};

#define MODEL_OF_ALL_TYPES "llama-3.2-1b"

static bool is_shown(const vkf_plan_row *row)
{
    return strcmp(row->dispatch.op, "gemm") == 0 || strcmp(row->dispatch.op, "attention") == 0;
}

static void print_run(plan_text *text, const vkf_plan_report *report, const vkf_plan_run *run)
{
    plan_print(text, "%s, %s%s%s: a %s of %u: %u dispatches, %u barriers, about %.3g ms, %.0f %% of the roof\n",
               strrchr(report->model, '/') + 1, report->precision, report->quantization ? "/" : "",
               report->quantization ? report->quantization : "", run->what,
               strcmp(run->what, "token") == 0 ? report->context : report->prompt, run->dispatches, run->barriers,
               run->total_s * 1e3, 100 * run->roof_s / run->total_s);
    for (size_t i = 0; i < run->row_count; i++) {
        const vkf_plan_row *row = &run->rows[i];
        char problem[48];
        vkf_plan_format_problem(&row->dispatch, problem, sizeof problem);
        if (is_shown(row))
            plan_print(text, "  %-24s %2u  %-18s %s/%s, %.0f groups, %.2f a core, %.0f KiB, by %s\n", row->label,
                       row->count, problem, row->dispatch.kernel, row->dispatch.config, row->workgroups,
                       row->workgroups / report->chip->speed.cores, row->cost.bytes_in_flight / 1024,
                       vkf_plan_limit_name(row));
    }
}

static void print_model(plan_text *text, const vkf_plan_chip *chip, const char *model, const variation *how)
{
    char directory[256];
    vkf_common_options common;
    vkf_plan_report report;
    assert_true(vkf_common_init(&common));
    (void)snprintf(directory, sizeof directory, "%s/tests/plan/models/%s", VKF_TEST_SOURCE_DIR, model);
    const vkf_plan_request request = {
        .directory = directory,
        .chip = chip,
        .precision = how->precision,
        .quantization = how->quantization,
        .batch = 1,
        .prompt = 256,
        .context = 1024,
    };
    assert_true(vkf_plan_make(&common, &request, &report));
    for (size_t i = 0; i < report.run_count; i++)
        print_run(text, &report, &report.runs[i]);
    vkf_plan_report_free(&report);
    vkf_common_free(&common);
}

static void test_models_on_a_chip(void **state)
{
    const char *name = *state;
    char file[64];
    plan_text text = {0};
    vkf_plan_chip chip;
    assert_true(vkf_plan_chip_open(name, &chip));
    for (size_t v = 0; v < sizeof variations / sizeof variations[0]; v++)
        for (size_t m = 0; m < PLAN_MODEL_COUNT; m++)
            if (variations[v].all || strcmp(plan_models[m], MODEL_OF_ALL_TYPES) == 0)
                print_model(&text, &chip, plan_models[m], &variations[v]);
    vkf_plan_chip_free(&chip);
    (void)snprintf(file, sizeof file, "golden/%s.txt", name);
    plan_check(&text, file);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[PLAN_CHIP_COUNT];
    for (size_t i = 0; i < PLAN_CHIP_COUNT; i++)
        tests[i] =
            (struct CMUnitTest){plan_chips[i], test_models_on_a_chip, NULL, NULL, (void *)(uintptr_t)plan_chips[i]};
    return PLAN_RUN(tests, argc, argv);
}
