// Gradients of attention, and attention as training takes it, where cases do not go: sequences and batches so long that
// dispatches divide them, heads packed in parts, and runs smaller than planned.
//
// Widths and kinds of masks are constants of the kernels, and compiling one of those takes most of a run: all heads
// have widths of 8 and 12.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/operators.h"
#include "op/run_once.h"
#include "support/attention_grad_case.h"
#include "support/by_hand.h"
#include "support/run_resized.h"

static void test_grad_refuses_wider_heads(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_test_grad_case c = vkf_test_grad_resolve((vkf_test_grad_case){VKF_TEST_GRAD_SIZES(1, 1, 0, 2, 2, 8, 8)});
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
    args.forward.head_dim = 257;
    vkf_test_assert_refused(ops,
                            vkf__run_once(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &args),
                            VKF_ERROR_UNSUPPORTED, "257");
    vkf_test_grad_finish(ops, &o);
}

// So many other rows that they are divided among dispatches, which end in parts of steps.
static void test_grad_of_long_sequences(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_grad_check(ops, (vkf_test_grad_case){VKF_TEST_GRAD_SIZES(1, 1, 0, 2, 120001, 8, 12), .attends = true});
    vkf_test_grad_check(ops, (vkf_test_grad_case){VKF_TEST_GRAD_SIZES(1, 2, 1, 60001, 3, 8, 12), .accumulate = true});
}

// Summed over the batch, which may be so long that it is divided among dispatches. Some entries see none of a step of
// keys, and some rows no key at all.
static void test_grad_of_biases(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t each = VKF_TEST_MASK_HEADS | VKF_TEST_MASK_ROWS;
    const vkf_test_grad_case cases[] = {
        {VKF_TEST_GRAD_SIZES(3, 4, 2, 37, 70, 8, 12), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = each,
         .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true},
        {VKF_TEST_GRAD_SIZES(1, 2, 0, 1, 1, 8, 12), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = each,
         .key_mask_kind = VKF_MASK_LENGTHS},
        {VKF_TEST_GRAD_SIZES(2, 4, 4, 65, 67, 8, 12), .causal = true, .free_keys = 2},
        {VKF_TEST_GRAD_SIZES(2, 4, 4, 65, 67, 8, 12), .causal = true, .causal_offset = -3, .accumulate = true,
         .heads_inside = true},
        {VKF_TEST_GRAD_SIZES(2500, 2, 1, 2, 3, 8, 12), .causal = true},
        {VKF_TEST_GRAD_SIZES(2, 4, 2, 33, 65, 8, 12), .causal = true, .bfloats = true},
        {VKF_TEST_GRAD_SIZES(1, 3, 1, 5, 7, 9, 5), .heads_inside = true, .accumulate = true, .bfloats = true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        vkf_test_grad_case c = cases[i];
        c.biased = true;
        vkf_test_grad_check(ops, c);
    }
}

// So much that heads are packed a part at a time; parts end within batch entries, and a smaller run has fewer. A bias
// gets something of each.
static void test_grad_of_parts(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_test_grad_case c = vkf_test_grad_resolve((vkf_test_grad_case){
        VKF_TEST_GRAD_SIZES(1100, 10, 5, 16, 31, 8, 12), .causal = true, .biased = true, .attends = true});
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    const vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
    vkf__attention_grad_args largest = args;
    largest.forward.batch = 2100;
    vkf_test_grad_attend(ops, &c, &o);
    vkf_test_assert_ok(
        ops,
        vkf_test_run_resized(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &largest, &args),
        "parts");
    vkf_test_grad_compare(ops, &c, &o);
    vkf_test_grad_finish(ops, &o);
}

// What the forward pass may leave to the way back: in parts, too.
static void test_grad_takes_row_stats_itself(void **state)
{
    static const vkf_test_grad_case cases[] = {
        {VKF_TEST_GRAD_SIZES(2, 4, 2, 33, 65, 8, 12), .causal = true, .key_mask_kind = VKF_MASK_LENGTHS,
         .mask_all = true, .attends = true},
        {VKF_TEST_GRAD_SIZES(1100, 10, 5, 16, 31, 8, 12), .causal = true, .attends = true},
    };
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const vkf_test_grad_case c = vkf_test_grad_resolve(cases[i]);
        const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
        vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
        vkf_test_grad_attend(ops, &c, &o);
        args.row_stats = (vkf__span){0};
        vkf_test_assert_ok(ops,
                           vkf__run_once(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &args),
                           "row stats");
        vkf_test_grad_compare(ops, &c, &o);
        vkf_test_grad_finish(ops, &o);
    }
}

static void test_grad_of_smaller_runs(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_test_grad_case c = vkf_test_grad_resolve(
        (vkf_test_grad_case){VKF_TEST_GRAD_SIZES(1, 4, 2, 9, 17, 8, 12), .causal = true, .biased = true});
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    const vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
    vkf__attention_grad_args largest = args;
    largest.forward.batch = 3;
    largest.forward.q_len = 40;
    largest.forward.k_len = largest.forward.masks.cols = 70;
    vkf_test_assert_ok(
        ops,
        vkf_test_run_resized(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &largest, &args),
        "a smaller run");
    vkf_test_grad_compare(ops, &c, &o);
    vkf_test_grad_finish(ops, &o);
}

static void test_grad_of_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_grad_case c = vkf_test_grad_resolve((vkf_test_grad_case){VKF_TEST_GRAD_SIZES(1, 2, 0, 3, 5, 8, 12)});
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    const vkf__attention_grad_args largest = vkf_test_grad_args(&c, &o);
    vkf__attention_grad_args args = largest;
    args.forward.batch = 0;
    vkf_test_assert_ok(
        ops,
        vkf_test_run_resized(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &largest, &args),
        "a run of no rows");
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++) {
        vkf_test_download(ops, o.grad[kind]);
        for (size_t i = 0; i < o.grad[kind]->count; i++)
            assert_true(isnan(o.grad[kind]->values[i]));
    }
    vkf_test_grad_finish(ops, &o);
}

static void test_grad_is_the_same_in_every_run(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_test_grad_case c = vkf_test_grad_resolve(
        (vkf_test_grad_case){VKF_TEST_GRAD_SIZES(2, 4, 2, 65, 131, 8, 12), .causal = true, .biased = true});
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    const vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
    float *first[VKF_TEST_KINDS];
    for (int run = 0; run < 3; run++) {
        vkf_test_assert_ok(ops,
                           vkf__run_once(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &args),
                           "gradients of attention");
        for (int kind = 0; kind < VKF_TEST_KINDS; kind++) {
            const size_t bytes = o.grad[kind]->count * sizeof(float);
            vkf_test_download(ops, o.grad[kind]);
            if (run == 0)
                memcpy(first[kind] = vkf_test_floats(o.grad[kind]->count), o.grad[kind]->values, bytes);
            assert_memory_equal(first[kind], o.grad[kind]->values, bytes);
        }
    }
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++)
        free(first[kind]);
    vkf_test_grad_finish(ops, &o);
}

static int setup(void **state)
{
    return vkf_hand_setup(state) == 0 ? vkf_test_ops_setup(state) : -1;
}

static int teardown(void **state)
{
    (void)vkf_hand_teardown(state);
    return vkf_test_ops_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_grad_refuses_wider_heads),
        VKF_OPS_TEST(test_grad_of_long_sequences),
        VKF_OPS_TEST(test_grad_of_biases),
        VKF_OPS_TEST(test_grad_of_parts),
        VKF_OPS_TEST(test_grad_takes_row_stats_itself),
        VKF_OPS_TEST(test_grad_of_smaller_runs),
        VKF_OPS_TEST(test_grad_of_nothing),
        VKF_OPS_TEST(test_grad_is_the_same_in_every_run),
    };
    return cmocka_run_group_tests_name("op_attention_grad", tests, setup, teardown);
}
