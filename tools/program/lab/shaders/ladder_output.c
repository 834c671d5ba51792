#include "lab/shaders/ladder_output.h"

#include <stdio.h>
#include <string.h>

#include "command/options.h"
#include "kernel/context.h"
#include "kernel/ladder.h"
#include "output/json_output.h"
#include "shared/gemm.h"

// ---- the shape

static bool op_of(const char *text, size_t length, vkf__op *out_op)
{
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++) {
        const char *name = vkf__op_name(op);
        if (strlen(name) == length && strncmp(name, text, length) == 0) {
            *out_op = op;
            return true;
        }
    }
    return false;
}

// Reads "f32_f16_f32" up to a slash. Returns what follows it, or NULL.
static const char *read_types(const char *text, vkf_dtype *out_types)
{
    for (uint32_t i = 0; i < VKF_KERNEL_MAX_TYPES; i++) {
        const size_t length = strcspn(text, "_/");
        int dtype = 0;
        while (dtype < VKF_DTYPE_COUNT && (strlen(vkf_dtype_name((vkf_dtype)dtype)) != length ||
                                           strncmp(vkf_dtype_name((vkf_dtype)dtype), text, length) != 0))
            dtype++;
        if (dtype == VKF_DTYPE_COUNT)
            return NULL;
        out_types[i] = (vkf_dtype)dtype;
        text += length;
        if (*text++ != '_')
            return text[-1] == '/' ? text : NULL;
    }
    return NULL;
}

// A word that follows the sizes: a layout of b, a precision or a form.
static bool take_word(const char *word, size_t length, vkf__problem *problem)
{
#define WORD_OF_FORM(NAME, name, not_offered, not_given) {name, VKF_FORM_##NAME, 0, VKF_PRECISION_FULL},
    static const struct {
        const char *name;
        uint32_t form, b_layout;
        vkf_precision precision;
    } words[] = {{"kn", 0, VKF_GEMM_B_KN, VKF_PRECISION_FULL},         {"nk", 0, VKF_GEMM_B_NK, VKF_PRECISION_FULL},
                 {"panels", 0, VKF_GEMM_B_PANELS, VKF_PRECISION_FULL}, {"f16", 0, 0, VKF_PRECISION_F16},
                 {"f16-sums", 0, 0, VKF_PRECISION_F16_SUMS},           VKF_FORMS(WORD_OF_FORM)};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].name) != length || strncmp(words[i].name, word, length) != 0)
            continue;
        if (words[i].form & (VKF_FORM_QUADS | VKF_FORM_VECTORS)) // which the sizes tell
            return false;
        problem->wants |= words[i].form;
        if (words[i].precision != VKF_PRECISION_FULL)
            problem->precision = words[i].precision;
        else if (words[i].form == 0)
            problem->b_layout = words[i].b_layout;
        return true;
    }
    return false;
}

// Forms that a problem offers where its sizes allow it.
static uint32_t offers_of(const vkf_ladder_shape *shape)
{
    const vkf__problem *p = &shape->problem;
    const bool by_rows = shape->op == VKF_OP_GEMM && p->b_layout != VKF_GEMM_B_PANELS;
    const bool quads = p->k % 4 == 0 && (!by_rows || p->n % 4 == 0);
    return (quads ? VKF_FORM_QUADS : 0u) | (p->k % 8 == 0 ? VKF_FORM_VECTORS : 0u);
}

static bool read_shape(const char *text, vkf_ladder_shape *shape)
{
    const size_t op_length = strcspn(text, ".");
    int used = 0;
    if (text[op_length] == '\0' || !op_of(text, op_length, &shape->op))
        return false;
    text = read_types(text + op_length + 1, shape->types);
    shape->problem.b_layout = shape->op == VKF_OP_GEMM ? VKF_GEMM_B_NK : 0;
    if (!text || sscanf(text, "%8ux%8ux%8u%n", &shape->problem.m, &shape->problem.n, &shape->problem.k, &used) != 3)
        return false;
    for (text += used; *text == ','; text += strcspn(text, ",")) {
        text++;
        if (!take_word(text, strcspn(text, ","), &shape->problem))
            return false;
    }
    const uint64_t m = shape->problem.m, n = shape->problem.n, k = shape->problem.k;
    shape->problem.largest = m * k > n * k ? m * k : n * k;
    shape->problem.offers = offers_of(shape);
    return *text == '\0' && m > 0 && n > 0 && k > 0;
}

bool vkf_parse_ladder_shape(const char *option, const char *text, vkf_ladder_shape *out_shape)
{
    *out_shape = (vkf_ladder_shape){0};
    if (read_shape(text, out_shape))
        return true;
    vkf_print_error("%s: '%.200s' is no problem: give OPERATOR.TYPES/MxNxK and, with commas, kn, nk, panels, f16, "
                    "f16-sums, or a form such as split or gated, as in gemm.f32_f16_f32/512x4096x4096,panels",
                    option, text);
    return false;
}

// ---- the ladder

typedef struct ladder_printer {
    const vkf_ladder_shape *shape;
    vkf__selector selector;
    uint32_t facts;
    bool taken; // a kernel further up
    vkf_rows rows;
} ladder_printer;

static void name_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const char *config = vkf_rows_string(row, "config");
    snprintf(out_text, VKF_CELL_BYTES, "%s%s%s", vkf_rows_string(row, "kernel"), config[0] ? "/" : "", config);
}

static const vkf_column columns[] = {
    {.title = "step", .key = "step", .number = "%.0f", .width = 4},
    {.title = "rung", .key = "rung", .width = -1},
    {.title = "kernel", .text = name_cell, .width = -1},
    {.title = "why", .key = "why", .width = -1},
    {.title = "stands here", .key = "stands"},
    {0},
};

static void stands_text(uint32_t facts, char out_text[VKF_CELL_BYTES])
{
    size_t used = 0;
    snprintf(out_text, VKF_CELL_BYTES, "always");
    for (; facts != 0 && used < VKF_CELL_BYTES; facts &= facts - 1)
        used += (size_t)snprintf(out_text + used, VKF_CELL_BYTES - used, "%s%s", used > 0 ? ", " : "",
                                 vkf__fact_text(facts));
}

static bool add_row(ladder_printer *p, uint32_t step, const vkf__ladder_step *at, const vkf__variant *variant,
                    const char *why)
{
    char stands[VKF_CELL_BYTES];
    json_t *row = json_object();
    stands_text(at->facts, stands);
    vkf_json_put_integer(row, "step", step);
    vkf_json_put_string(row, "rung", vkf__rung_name(at->rung));
    vkf_json_put_string(row, "stands", stands);
    vkf_json_put_string(row, "kernel", variant->kernel ? variant->kernel->name : NULL);
    vkf_json_put_string(row, "config", variant->config ? variant->config->name : NULL);
    vkf_json_put_string(row, "why", why);
    return vkf_rows_add(&p->rows, row);
}

// The config that would be taken, else the first that the device can use, else the first.
static bool add_kernel(ladder_printer *p, uint32_t step, const vkf__ladder_step *at, const vkf__kernel *kernel)
{
    const vkf__problem *problem = &p->shape->problem;
    const vkf__config *best = vkf__kernel_default(&p->selector, kernel, problem);
    const vkf__config *supported = vkf__kernel_supported_config(p->selector.caps, kernel, NULL);
    vkf__variant variant = {kernel, best ? best : supported ? supported : &kernel->configs[0]};
    const char *why = NULL;
    if (vkf__variant_serves(&p->selector, kernel, variant.config, problem, &why))
        why = !best ? "is no default of this device" : p->taken ? "would be next" : "taken";
    p->taken |= best != NULL;
    return add_row(p, step, at, &variant, why);
}

static bool add_kernels(ladder_printer *p, uint32_t step, const vkf__ladder_step *at)
{
    bool good = true;
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel = vkf__kernel_next(&walk); kernel && good; kernel = vkf__kernel_next(&walk)) {
        if (vkf__kernel_is_for(kernel, p->shape->op, p->shape->types) && vkf__ladder_step_of(kernel, p->facts) == step)
            good = add_kernel(p, step + 1, at, kernel);
    }
    return good;
}

static bool has_kernels(const vkf_ladder_shape *shape, vkf__rung rung)
{
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel = vkf__kernel_next(&walk); kernel; kernel = vkf__kernel_next(&walk)) {
        if (kernel->rung == rung && vkf__kernel_is_for(kernel, shape->op, shape->types))
            return true;
    }
    return false;
}

bool vkf_print_ladder(const vkf_context *context, const vkf_ladder_shape *shape, vkf_rows_format format)
{
    ladder_printer p = {
        .shape = shape,
        .selector = vkf__context_selector(context),
        .rows = {.format = format, .columns = columns, .fitted = true, .gap = 2},
    };
    uint32_t count = 0;
    const vkf__ladder_step *steps = vkf__ladder_of(shape->op, &count);
    bool good = true;
    p.facts = vkf__ladder_facts(p.selector.caps, shape->op, shape->types, &shape->problem);
    for (uint32_t i = 0; i < count && good; i++) {
        const uint32_t missing = steps[i].facts & ~p.facts;
        char why[VKF_CELL_BYTES];
        (void)snprintf(why, sizeof why, "only %s", vkf__fact_text(missing));
        if (has_kernels(shape, steps[i].rung))
            good = missing ? add_row(&p, i + 1, &steps[i], &(vkf__variant){0}, why) : add_kernels(&p, i, &steps[i]);
    }
    if (!vkf_rows_end(&p.rows) || !good)
        return false;
    if (!p.taken)
        vkf_print_error("no kernel of this device takes the problem by default");
    return p.taken;
}
