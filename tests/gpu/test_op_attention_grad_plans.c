// Gradients of attention: the memory that they take, and every config of their kernels.
#include "op/operators.h"
#include "op/train/attention_grad.h"
#include "prove/self_test.h"
#include "support/long_attention.h"
#include "support/op_fixture.h"

static uint64_t planned_bytes(vkf_test_ops *ops, const vkf__attention_grad_args *args)
{
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "grad");
    const vkf_status status = vkf__work_plan(&work, vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, args);
    const uint64_t bytes = work.plan.arena_bytes;
    vkf__work_finish(&work);
    vkf_test_assert_ok(ops, status, "plan");
    return bytes;
}

static vkf__attention_grad_args long_args(void)
{
    const vkf__attention_args forward = vkf_test_long_attention();
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward,
        .dout = forward.out,
        .dq = forward.q,
        .dk = forward.k,
        .dv = forward.v,
        .row_stats = {.size_bytes = VKF_TEST_LONG_HEADS * VKF_TEST_LONG_LENGTH * 8, .dtype = VKF_DTYPE_F32},
    };
}

static void test_memory_grows_with_the_lengths(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf__attention_grad_args args = long_args();
    args.forward.q_len = args.forward.k_len = args.forward.masks.cols = 1u << 14;
    const uint64_t bytes = planned_bytes(ops, &args);
    args.forward.q_len = args.forward.k_len = args.forward.masks.cols = 1u << 15;
    assert_true(planned_bytes(ops, &args) <= 2 * bytes);
    args.forward.batch = 1u << 17;
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "grad");
    vkf_test_assert_refused(ops, vkf__work_plan(&work, vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &args),
                            VKF_ERROR_TOO_LARGE, "more than 2^32 elements");
    vkf__work_finish(&work);
}

static vkf_status emit_both_ways(vkf__work *work, const void *args)
{
    const vkf__attention_grad_args *grad = args;
    const vkf__attention_train_args train = {.forward = grad->forward, .row_stats = grad->row_stats};
    VKF_RETURN_IF_ERROR(vkf__emit_attention_train(work, &train));
    return vkf__emit_attention_grad(work, grad);
}

// What there is while attention of training goes forward and back: eight operands and gradients, row stats, and what
// the work takes for itself.
static uint64_t long_bytes(vkf_test_ops *ops, const vkf__variant *trial)
{
    const vkf__attention_grad_args args = long_args();
    vkf__work work;
    bool takes = trial == NULL;
    vkf__work_init(&work, ops->gpu.context, "long");
    work.trial = trial;
    vkf_test_assert_ok(ops, vkf__work_plan(&work, emit_both_ways, &args), "plan");
    for (uint32_t i = 0; i < work.plan.node_count && trial; i++)
        takes = takes || work.plan.nodes[i].variant.kernel == trial->kernel;
    const uint64_t bytes = work.plan.arena_bytes + vkf__work_control_bytes(&work);
    vkf__work_finish(&work);
    assert_true(takes);
    return 8 * VKF_TEST_LONG_BYTES + args.row_stats.size_bytes + bytes;
}

enum { LONG_LEAST = 8 * VKF_TEST_LONG_BYTES, LONG_MOST = 150000000 };

// As the device chooses, and by each kernel that it has, those that read by address among them.
static void test_long_sequences_take_little_memory(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    assert_in_range(long_bytes(ops, NULL), LONG_LEAST, LONG_MOST);
    const vkf__problem problem = {.m = VKF_TEST_LONG_LENGTH, .n = VKF_TEST_LONG_LENGTH, .k = 64};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const vkf__variant variant = {kernel, &kernel->configs[0]};
        if (kernel->op != VKF_OP_ATTENTION_GRAD_PAIR && kernel->op != VKF_OP_ATTENTION_GRAD)
            continue;
        if (vkf__kernel_supported(&ops->gpu.context->device.plan.caps, kernel, variant.config, NULL) &&
            vkf__kernel_takes(&ops->gpu.context->device.plan.caps, kernel, variant.config, &problem))
            assert_in_range(long_bytes(ops, &variant), LONG_LEAST, LONG_MOST);
    }
}

static void assert_passes(vkf_test_ops *ops, const vkf__kernel *kernel)
{
    const uint32_t stride = vkf_test_all() ? 1 : kernel->op == VKF_OP_ATTENTION_GRAD_PAIR ? 3 : 8;
    for (uint32_t i = vkf_test_all() ? 0 : 1; i < kernel->config_count; i += stride) {
        const vkf__variant variant = {kernel, &kernel->configs[i]};
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        if (!vkf__kernel_supported(&ops->gpu.context->device.plan.caps, kernel, variant.config, NULL))
            continue;
        vkf_test_assert_ok(ops, vkf__self_test(ops->gpu.context, &variant, &verdict), kernel->name);
        if (verdict != VKF_VERDICT_PASSED)
            fail_msg("%s/%s: verdict %d", kernel->name, variant.config->name, (int)verdict);
    }
}

// Devices choose by their registers and by widths: op_attention_grad sees a few. VKF_TEST_ALL=1 takes all; else every
// third of the pair's, and of kernels whose passes are parts of it every eighth. The first is that of gpu.self_test.
static void test_every_config(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        if (kernel->op == VKF_OP_ATTENTION_TRAIN || kernel->op == VKF_OP_ATTENTION_GRAD ||
            kernel->op == VKF_OP_ATTENTION_GRAD_PAIR || kernel->op == VKF_OP_ATTENTION_GRAD_PACK)
            assert_passes(ops, kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_memory_grows_with_the_lengths),
        VKF_OPS_TEST(test_long_sequences_take_little_memory),
        VKF_OPS_TEST(test_every_config),
    };
    return cmocka_run_group_tests_name("op_attention_grad_plans", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
