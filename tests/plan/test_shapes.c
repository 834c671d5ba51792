// The kernels that products of real models take on described chips.
#include <string.h>

#include "plan_lines.h"

// The first product among the dispatches: the operands may be rounded to blocks before, and parts be added up after.
static const vkf_planned_dispatch *product_of(const vkf_planned_dispatch *dispatches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(dispatches[i].op, "gemm") == 0)
            return &dispatches[i];
    fail_msg("no product was planned");
    return NULL;
}

static void print_product(plan_text *text, const char *chip_name, const plan_shape *shape, vkf_dtype weight)
{
    vkf_planned_dispatch dispatches[32];
    plan_device device = plan_open(chip_name);
    uint32_t count = plan_product(&device, shape, weight, dispatches, 32);
    const vkf_planned_dispatch *d = product_of(dispatches, count);
    double groups = (double)d->workgroups[0] * d->workgroups[1] * d->workgroups[2];
    double cores = device.chip.speed.cores, step = d->step_bytes;
    plan_print(text, "  %-10s %s/%s, %u dispatches, parts of k %u, %.0f groups of %u, %.2f a core, %.1f KiB each\n",
               chip_name, d->kernel, d->config, count, d->workgroups[2], groups, d->local_size, groups / cores,
               step / 1024);
    plan_close(&device);
}

static void check_shapes(vkf_dtype weight, const char *file)
{
    plan_text text = {0};
    for (size_t i = 0; i < PLAN_SHAPE_COUNT; i++) {
        const plan_shape *shape = &plan_shapes[i];
        plan_print(&text, "%s: %ux%ux%u, f16 by %s%s\n", shape->name, shape->m, shape->n, shape->k,
                   vkf_dtype_name(weight), shape->logits ? ", result in f32" : "");
        for (size_t c = 0; c < PLAN_CHIP_COUNT; c++)
            print_product(&text, plan_chips[c], shape, weight);
    }
    plan_check(&text, file);
}

static void test_products_by_f16(void **state)
{
    (void)state;
    check_shapes(VKF_DTYPE_F16, "golden/shapes-f16.txt");
}

static void test_products_by_q4(void **state)
{
    (void)state;
    check_shapes(VKF_DTYPE_Q4, "golden/shapes-q4.txt");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_by_f16),
        cmocka_unit_test(test_products_by_q4),
    };
    return PLAN_RUN(tests, argc, argv);
}
