// Edge shapes of operators on rows where host memory runs out: whatever allocation fails, nothing stays behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "prove/self_test_bed.h"

static const vkf__kernel *kernel_of(vkf__op op)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        if (vkf__kernel_at(i)->op == op)
            return vkf__kernel_at(i);
    fail_msg("no kernel of %s", vkf__op_name(op));
    return NULL;
}

// Arrays come before anything is done on the device, of which this context has none.
static void test_edge_shapes_leave_nothing_without_memory(void **state)
{
    (void)state;
    static const struct {
        vkf__op op;
        vkf__bed_cases_fn run;
        size_t arrays;
    } rows[] = {
        {VKF_OP_SOFTMAX, vkf__bed_softmax, 2},
        {VKF_OP_LAYER_NORM, vkf__bed_layer_norm, 5},
        {VKF_OP_ARGMAX, vkf__bed_argmax, 1},
        {VKF_OP_POOL, vkf__bed_pool, 2},
        {VKF_OP_LAYER_NORM_GRAD, vkf__bed_layer_norm_grad, 6},
        {VKF_OP_NORM_GRADIENTS, vkf__bed_norm_gradients, 6},
        {VKF_OP_COLUMN_SUM, vkf__bed_column_sum, 6},
        {VKF_OP_SOFTMAX_GRAD, vkf__bed_softmax_grad, 6},
        {VKF_OP_CROSS_ENTROPY, vkf__bed_cross_entropy, 2},
        {VKF_OP_TOTAL, vkf__bed_total, 1},
        {VKF_OP_CLIP, vkf__bed_clip, 1},
        {VKF_OP_ADAM, vkf__bed_adam, 1},
        {VKF_OP_SGD, vkf__bed_sgd, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t call = 1; call <= rows[i].arrays; call++) {
            static vkf_context context;
            const vkf__kernel *kernel = kernel_of(rows[i].op);
            const vkf__variant variant = {kernel, &kernel->configs[0]};
            counting_allocator memory = {.fail_call = call};
            context.host = (vkf__host){.allocator = counting_callbacks(&memory)};
            vkf__bed bed = {.context = &context, .variant = &variant, .random = 1};
            assert_int_equal(rows[i].run(&bed), VKF_ERROR_OUT_OF_HOST_MEMORY);
            assert_true(memory.failed);
            if (memory.live > 0)
                fail_msg("%s: %zu arrays are left when allocation %zu fails", vkf__op_name(rows[i].op), memory.live,
                         call);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edge_shapes_leave_nothing_without_memory),
    };
    return cmocka_run_group_tests_name("self_test_rows", tests, NULL, NULL);
}
