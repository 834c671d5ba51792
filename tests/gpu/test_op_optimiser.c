// Steps of Adam and SGD in slices, several after each other, against the reference, which takes no slices.
//
// Bounds. A weight, below 8, rounds thrice in a step, by 2^-22 each time. The step, below 8 rates, has the device's
// root and its divisions, within 3 units in the last place each: 2^-18 rates. First moments and momentum, below 16,
// round twice by 2^-21.
#include <stdlib.h>
#include <string.h>

#include "op/operators.h"
#include "op/run_once.h"
#include "op/train/optimiser.h"
#include "support/by_hand.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define STEPS 4
#define RATE 0.01

// What a step reads and writes: parameters, gradients, what the optimiser keeps, and the gradients' factor.
enum { PARAMETER, GRADIENT, KEPT, FACTOR, OPERANDS };

typedef struct trained {
    vkf_test_operand *operands[OPERANDS];
    float *expected[OPERANDS];
} trained;

static trained make(vkf_test_ops *ops, uint32_t count, uint32_t kept_each)
{
    trained t = {.operands = {vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(count)), NULL,
                              vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(count, kept_each)),
                              vkf_test_constant(ops, VKF_DTYPE_F32, 0.125f, SHAPE(1))}};
    t.operands[GRADIENT] = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 8, SHAPE(count));
    for (int i = 0; i < OPERANDS; i++)
        t.expected[i] =
            memcpy(vkf_test_floats(t.operands[i]->count), t.operands[i]->values, t.operands[i]->count * sizeof(float));
    return t;
}

static void run(vkf_test_ops *ops, const trained *t, uint32_t step, bool adam, const vkf__span *spans, bool by_hand)
{
    const uint32_t count = (uint32_t)t->operands[PARAMETER]->count;
    const vkf__adam_args adam_args = {
        "adam", spans[PARAMETER], spans[GRADIENT], spans[KEPT], spans[FACTOR], count, step, RATE, 0.9, 0.999, 1e-8, 0.1,
        true};
    const vkf__sgd_args sgd_args = {"sgd", spans[PARAMETER], spans[GRADIENT], spans[KEPT], spans[FACTOR],
                                    count, (float)RATE,      0.875f,          0.125f,      false};
    const void *args = adam ? (const void *)&adam_args : (const void *)&sgd_args;
    const vkf__op op = adam ? VKF_OP_ADAM : VKF_OP_SGD;
    if (by_hand)
        vkf_hand_run(op, args);
    else
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "step", vkf__operator(op)->emit, args), "step");
}

// With new gradients, which are 0 afterwards: the next step's terms are added to them.
static void take_step(vkf_test_ops *ops, trained *t, uint32_t step, bool adam)
{
    vkf__span spans[OPERANDS], expected[OPERANDS];
    vkf_test_operand *gradient = t->operands[GRADIENT];
    for (size_t i = 0; i < gradient->count; i++)
        gradient->values[i] = t->expected[GRADIENT][i] = (float)((i * 37 + step * 11) % 129) * 0.125f - 8;
    vkf_test_upload(ops, gradient);
    for (int i = 0; i < OPERANDS; i++) {
        spans[i] = SPAN(t->operands[i]);
        expected[i] = vkf_hand_operand(VKF_DTYPE_F32, t->expected[i], t->operands[i]->count);
    }
    run(ops, t, step, adam, spans, false);
    run(ops, t, step, adam, expected, true);
    for (int i = 0; i < OPERANDS; i++) {
        vkf_test_download(ops, t->operands[i]);
        vkf_hand_read(&expected[i], t->expected[i]);
    }
    assert_close(gradient->values, t->expected[GRADIENT], gradient->count, 0, 0, "gradients");
}

static void check(vkf_test_ops *ops, uint32_t count, bool adam)
{
    trained t = make(ops, count, adam ? 2 : 1);
    for (uint32_t step = 1; step <= STEPS; step++)
        take_step(ops, &t, step, adam);
    const char *name = adam ? "AdamW" : "SGD";
    assert_close(t.operands[PARAMETER]->values, t.expected[PARAMETER], count, STEPS * (0x1p-20 + 0x1p-18 * RATE), 0,
                 vkf_test_label(&ops->gpu, "%s of %u", name, count));
    assert_close(t.operands[KEPT]->values, t.expected[KEPT], t.operands[KEPT]->count, STEPS * 0x1p-20, 0,
                 vkf_test_label(&ops->gpu, "what %s of %u keeps", name, count));
    for (int i = 0; i < OPERANDS; i++)
        free(t.expected[i]);
    vkf_test_ops_reset(ops);
}

// Slices of 16 thousand elements of Adam's, and of twice as many of SGD's.
static void test_steps_in_slices(void **state)
{
    static const char *const small_range[] = {"maxStorageBufferRange=131072"};
    vkf_test_ops small;
    (void)vkf_test_ops_of(state);
    (void)vkf_hand_setup(state);
    assert_true(vkf_test_ops_open(&small, small_range, 1));
    check(&small, 40001, true);
    check(&small, 70001, false);
    vkf_test_ops_close(&small);
    (void)vkf_hand_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_steps_in_slices),
    };
    return cmocka_run_group_tests_name("op_optimiser", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
