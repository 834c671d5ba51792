// The cases of the operators without a device: each word of every parameter struct and each flag, changed in turn, must
// change what the reference gives in one of them; and whatever allocation fails, nothing stays behind.
//
// What no case notices, no kernel can get wrong unnoticed either: so a word is noticed, or declared inert here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <vkformer/sized/plan.h>

#include "counting_allocator.h"
#include "kernel/context.h"
#include "op/cases.h"
#include "op/host_run.h"
#include "op/operators.h"
#include "shared/additive_grad.h"
#include "shared/attention.h"
#include "shared/attention_grad.h"
#include "shared/embed.h"
#include "shared/gemm_rounds.h"
#include "shared/layer_norm.h"
#include "shared/layer_norm_grad.h"
#include "shared/norm_gradients.h"
#include "shared/sample.h"
#include "tried_config.h"

#define CASE_BYTES ((uint64_t)16 << 20)
#define FRUITLESS 24
#define WORDS VKF_OP_MAX_PARAMS

// A build with sanitizers looks at how the references read and write: it takes every tenth kernel and its edge shapes,
// which do not show that every word is noticed.
#ifdef __SANITIZE_ADDRESS__
static const uint32_t stride = 10, draws = 0;
#else
static const uint32_t stride = 1, draws = 48;
#endif

// A place that a change may be made at: a word of the parameters or, behind them, a constant.
typedef struct place {
    vkf__op op;
    uint32_t index;
    const char *why;
} place;

#define PARAMETER(type, field) (offsetof(struct type, field) / 4)
#define CONSTANT(id) (WORDS + (id))
#define GRAD(field) PARAMETER(vkf_attention_grad_params, field)

static const place inert[] = {
    {VKF_OP_ATTENTION, CONSTANT(VKF_ATTENTION_DECODE_SPEC_ROWS), "the rows of a workgroup, or the width of a texel"},
    {VKF_OP_GEMM, CONSTANT(VKF_GEMM_SPEC_KEPT_BLOCKS), "the length of an array in shared memory"},
    {VKF_OP_LAYER_NORM, CONSTANT(VKF_LAYER_NORM_SPEC_EACH), "the columns that an invocation keeps"},
    {VKF_OP_LAYER_NORM_RESIDUAL, CONSTANT(VKF_LAYER_NORM_SPEC_EACH), "the columns that an invocation keeps"},
    {VKF_OP_NORM_STATS, PARAMETER(vkf_layer_norm_grad_params, accumulate), "it adds to nothing"},
    {VKF_OP_SAMPLE, PARAMETER(vkf_sample_params, previous), "which phase left what a phase reads"},
    {VKF_OP_SAMPLE, PARAMETER(vkf_sample_params, parts), "how workgroups share a row"},
    {VKF_OP_SAMPLE, PARAMETER(vkf_sample_params, part_cols), "how workgroups share a row"},
    {VKF_OP_NORM_GRADIENTS, CONSTANT(VKF_NORM_GRADIENTS_SPEC_EACH), "the columns that an invocation keeps"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(batch), "a bias alone is summed over the batch"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(deltas_first), "gradients alone have deltas"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(adds), "outputs are not added to others"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(value_adds), "outputs are not added to others"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(value_out_batch), "it has one output"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(value_out_row), "it has one output"},
    {VKF_OP_ATTENTION_TRAIN, GRAD(value_out_head), "it has one output"},
    {VKF_OP_ATTENTION_GRAD, GRAD(value_adds), "it gives one gradient"},
    {VKF_OP_ATTENTION_GRAD, GRAD(value_out_batch), "it gives one gradient"},
    {VKF_OP_ATTENTION_GRAD, GRAD(value_out_row), "it gives one gradient"},
    {VKF_OP_ATTENTION_GRAD, GRAD(value_out_head), "it gives one gradient"},
    {VKF_OP_ATTENTION_GRAD, GRAD(fully_masked), "rows that see no key have no gradient"},
    {VKF_OP_ATTENTION_GRAD_PAIR, GRAD(batch), "a bias alone is summed over the batch"},
    {VKF_OP_ATTENTION_GRAD_PAIR, GRAD(fully_masked), "rows that see no key have no gradient"},
};

// Words that are switches, which go from 1 to 0, too: a size of 0 would be divided by.
static const place switches[] = {
    {VKF_OP_EMBED, PARAMETER(vkf_embed_params, owns_invalid), NULL},
    {VKF_OP_ADDITIVE_GRAD, PARAMETER(vkf_additive_grad_params, totals), NULL},
};

typedef struct noticing {
    vkf_context *context;
    bool noticed[VKF_OP_COUNT][WORDS + VKF_KERNEL_MAX_SPEC];
    bool has[VKF_OP_COUNT][WORDS + VKF_KERNEL_MAX_SPEC];
    uint8_t steps[VKF_OP_COUNT][WORDS + VKF_KERNEL_MAX_SPEC]; // of the case, a bit for each that changes something
    uint8_t *first, *second;                                  // images
    uint32_t taken, count;                                    // cases; places that were noticed
    // The change that is made now:
    vkf__op op;
    uint32_t index, step;
} noticing;

static bool is_listed(const place *list, size_t count, vkf__op op, uint32_t index)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].op == op && list[i].index == index)
            return true;
    return false;
}

static bool is_inert(vkf__op op, uint32_t index)
{
    return is_listed(inert, sizeof inert / sizeof inert[0], op, index);
}

static bool is_switch(vkf__op op, uint32_t index)
{
    return index >= WORDS || is_listed(switches, sizeof switches / sizeof switches[0], op, index);
}

// Numbers that count something go up by one or down; what can only be a float is negated.
enum { STEPS = 3 };
static uint32_t changed(uint32_t word, uint32_t step, bool flag)
{
    const bool is_float = word > 0x00800000u && word != UINT32_MAX;
    return step == 0   ? (is_float ? word ^ 0x80000000u : word + 1)
           : step == 1 ? (word > 1 || (flag && word == 1) ? word - 1 : word)
                       : (is_float ? 0 : word);
}

static void change(void *user, const vkf__kernel *kernel, void *params, uint32_t *spec)
{
    noticing *n = user;
    uint32_t *words = params;
    if (kernel->op != n->op)
        return;
    uint32_t *word = n->index < WORDS ? &words[n->index] : &spec[n->index - WORDS];
    *word = changed(*word, n->step, is_switch(n->op, n->index));
}

// Local size, tile and matrix say how a kernel works, not what it computes.
static bool tells_what(const vkf__kernel *kernel, uint32_t id)
{
    const uint32_t end = kernel->spec_count - (kernel->matrix != VKF_MATRIX_NONE ? 3 : 0);
    return id > kernel->tile_count && id < end && kernel->constants[id];
}

static void note_place(noticing *n, vkf__op op, uint32_t index, uint32_t word)
{
    n->has[op][index] = true;
    for (uint32_t step = 0; step < STEPS; step++)
        if (changed(word, step, is_switch(op, index)) != word)
            n->steps[op][index] |= (uint8_t)(1u << step);
}

static void note_places(void *user, const vkf__kernel *kernel, void *params, uint32_t *spec)
{
    const uint32_t *words = params;
    for (uint32_t i = 0; i < kernel->params_bytes / 4; i++)
        note_place(user, kernel->op, i, words[i]);
    for (uint32_t id = 0; id < kernel->spec_count; id++)
        if (tells_what(kernel, id))
            note_place(user, kernel->op, WORDS + id, spec[id]);
}

// Whether some word or flag of an operator that only runs behind others was not noticed yet.
static bool has_unnoticed_behind(const noticing *n)
{
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++)
        for (uint32_t i = 0; i < WORDS + VKF_KERNEL_MAX_SPEC; i++)
            if (!vkf__operator(op)->cases && n->has[op][i] && !n->noticed[op][i] && !is_inert(op, i))
                return true;
    return false;
}

// The same of this kernel, or of what runs behind it.
static bool has_unnoticed(const noticing *n, const vkf__kernel *kernel)
{
    const bool *noticed = n->noticed[kernel->op];
    for (uint32_t i = 0; i < kernel->params_bytes / 4; i++)
        if (!noticed[i] && !is_inert(kernel->op, i))
            return true;
    for (uint32_t id = 0; id < kernel->spec_count; id++)
        if (tells_what(kernel, id) && !noticed[WORDS + id] && !is_inert(kernel->op, WORDS + id))
            return true;
    return has_unnoticed_behind(n);
}

static vkf_status execute(vkf__cases *cases, const vkf__case *c, uint8_t *image,
                          void (*hook)(void *, const vkf__kernel *, void *, uint32_t *))
{
    noticing *n = cases->user;
    vkf__host_run run = {.context = n->context,
                         .trial = cases->variant,
                         .image = image,
                         .image_bytes = cases->used_bytes,
                         .change = hook,
                         .user = n};
    memcpy(image, cases->image, cases->used_bytes);
    return vkf__host_run_emit(&run, vkf__case_emitter(cases, c), c->args);
}

static bool is_only_deeper(const vkf__case *c)
{
    return c->costly || c->foretells > 0;
}

static void try_change(vkf__cases *cases, const vkf__case *c)
{
    noticing *n = cases->user;
    bool *noticed = &n->noticed[n->op][n->index];
    if (*noticed || !(n->steps[n->op][n->index] >> n->step & 1))
        return;
    assert_int_equal(execute(cases, c, n->second, change), VKF_OK);
    *noticed = memcmp(n->first, n->second, cases->used_bytes) != 0;
    n->count += *noticed;
}

static vkf_status run_changed(vkf__cases *cases, const vkf__case *c)
{
    noticing *n = cases->user;
    if (is_only_deeper(c))
        return VKF_OK;
    memset(n->steps, 0, sizeof n->steps);
    const vkf_status status = execute(cases, c, n->first, note_places);
    if (status == VKF_ERROR_UNSUPPORTED)
        return VKF_OK;
    assert_int_equal(status, VKF_OK);
    n->taken++;
    cases->taken++;
    for (n->op = 0; n->op < VKF_OP_COUNT; n->op++)
        for (n->index = 0; n->index < WORDS + VKF_KERNEL_MAX_SPEC; n->index++)
            for (n->step = 0; n->step < STEPS; n->step++)
                try_change(cases, c);
    return VKF_OK;
}

static void run_variant(noticing *n, const vkf__variant *variant)
{
    const vkf__op_info *info = vkf__operator(variant->kernel->op);
    vkf__cases cases = {.host = &n->context->host,
                        .caps = &n->context->device.plan.caps,
                        .variant = variant,
                        .run = run_changed,
                        .user = n};
    assert_int_equal(vkf__cases_init(&cases, CASE_BYTES), VKF_OK);
    assert_int_equal(info->cases(&cases), VKF_OK);
    cases.draw = true;
    // What this kernel does not notice in a few, another may.
    uint32_t noticed = n->count, fruitless = 0;
    for (uint32_t i = 0; i < draws && fruitless < FRUITLESS && has_unnoticed(n, variant->kernel); i++) {
        assert_int_equal(info->cases(&cases), VKF_OK);
        fruitless = n->count == noticed ? fruitless + 1 : 0;
        noticed = n->count;
    }
    vkf__cases_finish(&cases);
}

static uint32_t list_unnoticed(const noticing *n)
{
    uint32_t count = 0;
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++) {
        for (uint32_t i = 0; i < WORDS + VKF_KERNEL_MAX_SPEC; i++) {
            if (!n->has[op][i] || n->noticed[op][i] != is_inert(op, i))
                continue;
            print_error("%s: %s %u %s\n", vkf__op_name(op), i < WORDS ? "word" : "constant", i < WORDS ? i : i - WORDS,
                        n->noticed[op][i] ? "is noticed, but declared inert" : "changes nothing in any case");
            count++;
        }
    }
    return count;
}

static vkf_context *context_of(const char *chip, const vkf_allocator *allocator)
{
    const vkf_device_description_desc chip_desc = {.path = chip};
    vkf_device_description *description = NULL;
    vkf_context *context = NULL;
    assert_int_equal(vkf_device_description_create(&chip_desc, &description), VKF_OK);
    const vkf_context_desc desc = {.described = description, .allocator = *allocator};
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    vkf_device_description_destroy(&description);
    return context;
}

static const char *const chips[] = {VKF_TEST_SOURCE_DIR "/tools/chips/described/h200.json",
                                    VKF_TEST_SOURCE_DIR "/tools/chips/described/mali-g715.json"};

static void test_every_word_and_flag_is_noticed(void **state)
{
    noticing *n = calloc(1, sizeof *n);
    const char *only = getenv("VKF_TEST_OPERATOR");
    (void)state;
    assert_non_null(n);
    n->first = malloc(CASE_BYTES);
    n->second = malloc(CASE_BYTES);
    assert_true(n->first && n->second);
    for (size_t chip = 0; chip < sizeof chips / sizeof chips[0]; chip++) {
        n->context = context_of(chips[chip], &(vkf_allocator){0});
        for (uint32_t i = 0; i < vkf__kernel_count(); i += stride) {
            const vkf__kernel *kernel = vkf__kernel_at(i);
            if (!vkf__operator(kernel->op)->cases || (only && strcmp(only, vkf__op_name(kernel->op)) != 0))
                continue;
            for (uint32_t k = 0; k < kernel->config_count; k++)
                if (vkf_test_tries_config(&n->context->device.plan.caps, kernel, k) && has_unnoticed(n, kernel))
                    run_variant(n, &(vkf__variant){kernel, &kernel->configs[k]});
        }
        vkf_context_destroy(&n->context);
    }
    assert_true(n->taken > 0);
    if (draws > 0)
        assert_int_equal(list_unnoticed(n), 0);
    free(n->first);
    free(n->second);
    free(n);
}

// A failing allocation of the case before last, which is enough: those of a case are alike.
static vkf_status run_starved(vkf__cases *cases, const vkf__case *c)
{
    noticing *n = cases->user;
    return is_only_deeper(c) ? VKF_OK : execute(cases, c, n->first, NULL);
}

static vkf_status run_with(noticing *n, const vkf__variant *variant)
{
    vkf__cases cases = {.host = &n->context->host,
                        .caps = &n->context->device.plan.caps,
                        .variant = variant,
                        .run = run_starved,
                        .user = n};
    vkf_status status = vkf__cases_init(&cases, CASE_BYTES);
    if (status == VKF_OK)
        status = vkf__operator(variant->kernel->op)->cases(&cases);
    vkf__cases_finish(&cases);
    return status;
}

static void test_cases_without_memory_leave_nothing(void **state)
{
    counting_allocator memory = {0};
    const vkf_allocator callbacks = counting_callbacks(&memory);
    noticing n = {.first = malloc(CASE_BYTES), .context = context_of(chips[0], &callbacks)};
    vkf__op before = VKF_OP_COUNT;
    (void)state;
    assert_non_null(n.first);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const vkf__config *config = vkf__kernel_supported_config(&n.context->device.plan.caps, kernel, NULL);
        if (!config || !vkf__operator(kernel->op)->cases || kernel->op == before)
            continue;
        before = kernel->op;
        const size_t live = memory.live;
        bool failed = true;
        for (size_t call = 1; failed && call < 40; call++) {
            counting_restart(&memory, call);
            const vkf_status status = run_with(&n, &(vkf__variant){kernel, config});
            failed = memory.failed;
            if ((failed ? status != VKF_ERROR_OUT_OF_HOST_MEMORY
                        : status != VKF_OK && status != VKF_ERROR_UNSUPPORTED) ||
                memory.live != live)
                fail_msg("%s: allocation %zu: %s, %zu left", kernel->name, call, vkf_status_text(status),
                         memory.live - live);
        }
        counting_restart(&memory, 0);
    }
    vkf_context_destroy(&n.context);
    free(n.first);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_word_and_flag_is_noticed),
        cmocka_unit_test(test_cases_without_memory_leave_nothing),
    };
    return cmocka_run_group_tests_name("op_cases", tests, NULL, NULL);
}
