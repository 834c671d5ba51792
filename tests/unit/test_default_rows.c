// Every row of the registry is the default of some device: a described chip or a processor, whole or without one of the
// features that not all have. A row that no device takes costs every reader and serves nobody.
#include <vkformer/plan.h>

#include "kernel/context.h"
#include "kernel/ladder.h"
#include "kernel/select.h"
#include "shared/gemm.h"
#include "support/random.h"

#include "caps_fixture.h"

#define DRAWS 300
#define MAX_DEVICES 160

// Rows that are taken where they are asked for or measured alone, and why they are there.
static const struct {
    const char *beginning, *why;
} not_by_default[] = {
    {"gemm_coopmat2_element",
     "shares its source with the kernels of tensor matrices, which no driver of the tests runs"},
};

static const char *const chips[] = {"a770",    "adreno750", "adreno840", "h200",     "m2",       "mali-g715", "rtx3090",
                                    "rtx4070", "rtx4090",   "rtx5090",   "rx6800xt", "rx7800xt", "rx7900xtx"};

typedef struct device_list {
    vkf__caps caps[MAX_DEVICES];
    uint32_t count;
} device_list;

static void add(device_list *list, vkf__caps caps)
{
    assert_true(list->count < MAX_DEVICES);
    settle_traits(&caps);
    list->caps[list->count++] = caps;
}

// The device, and the same without what older ones of its kind lack: halves in storage and in arithmetic, what
// subgroups do together, matrices.
static void add_with_lesser(device_list *list, const vkf__caps *caps)
{
    add(list, *caps);
    for (int lesser = 1; lesser < 8; lesser++) {
        vkf__caps less = *caps;
        less.storage_16bit = less.storage_16bit && !(lesser & 1);
        less.shader_float16 = less.shader_float16 && !(lesser & 1);
        less.subgroup_arithmetic = less.subgroup_arithmetic && !(lesser & 2);
        less.subgroup_shuffle = less.subgroup_shuffle && !(lesser & 2);
        less.matrix.cooperative_matrix = less.matrix.cooperative_matrix && !(lesser & 4);
        add(list, less);
    }
}

static uint32_t one_of(vkf_test_random *random, const uint32_t *values, uint32_t count)
{
    return values[vkf_test_random_below(random, count)];
}
#define ONE_OF(random, ...) \
    one_of(random, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static vkf__problem draw(vkf_test_random *random, vkf__op op)
{
    static const uint32_t forms[VKF_OP_COUNT] = {
        [VKF_OP_GEMM] = VKF_FORM_TRANSPOSED_A | VKF_FORM_SPLIT | VKF_FORM_GATED | VKF_FORM_NORMED,
        [VKF_OP_ATTENTION] = VKF_FORM_SPLIT | VKF_FORM_FRESH,
        [VKF_OP_ATTENTION_GRAD] = VKF_FORM_BIASED,
        [VKF_OP_QUANTIZE_ROWS] = VKF_FORM_NORMED,
    };
    vkf__problem problem = {
        .m = ONE_OF(random, 1, 2, 7, 8, 9, 64, 512, 4096),
        .n = ONE_OF(random, 8, 64, 768, 1024, 4096, 32000, 128256),
        .k = ONE_OF(random, 4, 7, 16, 64, 80, 128, 256, 768, 4096),
        .b_layout = op == VKF_OP_GEMM ? vkf_test_random_below(random, 3) : 0,
        .precision = (vkf_precision)vkf_test_random_below(random, VKF_PRECISION_COUNT),
        .wants = (uint32_t)vkf_test_random_u64(random) & (uint32_t)vkf_test_random_u64(random) & forms[op],
        .offers = (uint32_t)vkf_test_random_u64(random) & (VKF_FORM_QUADS | VKF_FORM_VECTORS),
        .largest = (uint64_t)1 << ONE_OF(random, 10, 20, 28),
    };
    if (op == VKF_OP_ATTENTION && (problem.wants & VKF_FORM_SPLIT) && vkf_test_random_below(random, 2))
        problem.wants |= VKF_FORM_JOINED;
    return problem;
}

static bool is_default_on(const vkf__caps *caps, const vkf__kernel *kernel, vkf_test_random *random)
{
    const vkf__selector selector = {.caps = caps};
    if (!vkf__kernel_supported_config(caps, kernel, NULL))
        return false;
    for (int i = 0; i < DRAWS; i++) {
        const vkf__problem problem = draw(random, kernel->op);
        vkf__variant variant;
        if (vkf__select(&selector, kernel->op, kernel->types, &problem, &variant, NULL) && variant.kernel == kernel)
            return true;
    }
    return false;
}

static bool is_default(const device_list *list, const vkf__kernel *kernel, vkf_test_random *random)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_default_on(&list->caps[i], kernel, random))
            return true;
    }
    return false;
}

static void add_chip(device_list *list, const char *name)
{
    char path[512];
    vkf_device_description *description = NULL;
    vkf_context *context = NULL;
    (void)snprintf(path, sizeof path, VKF_TEST_SOURCE_DIR "/tools/chips/described/%s.json", name);
    const vkf_device_description_desc chip = {.path = path};
    assert_int_equal(vkf_device_description_create(&chip, &description), VKF_OK);
    const vkf_context_desc desc = {.described = description};
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    add_with_lesser(list, &context->device.plan.caps);
    vkf_context_destroy(&context);
    vkf_device_description_destroy(&description);
}

// Processors of eight lanes and of four, with drivers that fold loads from uniform addresses and such as do not.
static void add_processors(device_list *list)
{
    for (uint32_t lanes = 4; lanes <= 8; lanes += 4) {
        vkf__caps caps = cpu_caps();
        caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = caps.least_subgroup_size = lanes;
        add_with_lesser(list, &caps);
        add_matrices(&caps, lanes);
        add_with_lesser(list, &caps);
    }
}

static const char *why_not_by_default(const char *name)
{
    for (size_t i = 0; i < sizeof not_by_default / sizeof not_by_default[0]; i++) {
        if (strncmp(name, not_by_default[i].beginning, strlen(not_by_default[i].beginning)) == 0)
            return not_by_default[i].why;
    }
    return NULL;
}

static void test_every_row_is_a_default(void **state)
{
    (void)state;
    static device_list list;
    vkf_test_random random;
    uint32_t wrong = 0;
    vkf_test_random_init(&random, 1);
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
        add_chip(&list, chips[i]);
    add_processors(&list);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const char *why_not = why_not_by_default(kernel->name);
        if (is_default(&list, kernel, &random) == !why_not)
            continue;
        print_error("%s: %s%s\n", kernel->name, why_not ? "is a default now, and " : "no device takes it by default",
                    why_not ? why_not : "");
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static bool stands_on(const vkf__ladder_step *steps, uint32_t count, vkf__rung rung)
{
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i].rung == rung && steps[i].facts == 0)
            return true;
    }
    return false;
}

static bool has_row(vkf__op op, vkf__rung rung)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        if (vkf__kernel_at(i)->op == op && vkf__kernel_at(i)->rung == rung)
            return true;
    }
    return false;
}

// Every row has a step that it stands on whatever holds, and no step waits for rows that there are not.
static void test_ladders_are_those_of_the_rows(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        uint32_t count = 0;
        const vkf__ladder_step *steps = vkf__ladder_of(kernel->op, &count);
        if (!stands_on(steps, count, kernel->rung))
            fail_msg("%s: the ladder of %s has no '%s'", kernel->name, vkf__op_name(kernel->op),
                     vkf__rung_name(kernel->rung));
        for (uint32_t j = 0; j < count; j++) {
            if (!has_row(kernel->op, steps[j].rung))
                fail_msg("no row of %s is '%s'", vkf__op_name(kernel->op), vkf__rung_name(steps[j].rung));
        }
    }
}

// Each side of a form that somebody wants has its sentence.
static void test_forms_that_are_wanted_have_reasons(void **state)
{
#define NOT_GIVEN(NAME, name, not_offered, not_given) not_given,
    static const char *const not_given[] = {VKF_FORMS(NOT_GIVEN)};
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        for (uint32_t form = 0; form < VKF_FORM_COUNT; form++) {
            if ((vkf__kernel_at(i)->wants >> form & 1) && !not_given[form])
                fail_msg("%s wants a form without a reason", vkf__kernel_at(i)->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_a_default),
        cmocka_unit_test(test_ladders_are_those_of_the_rows),
        cmocka_unit_test(test_forms_that_are_wanted_have_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
