// Lists of dispatches: what was planned is what is built and replayed, and whatever departs from it is refused.
#include <string.h>

#include "fixture.h"
#include "kernel/work.h"
#include "op/copy.h"
#include "op/run_once.h"

enum { COUNT = 24 };

// In what the list differs from the plan.
typedef enum difference {
    NONE = 0,
    ONE_DISPATCH_LESS,
    ONE_DISPATCH_MORE,
    OTHER_KERNEL,
    OTHER_OPERANDS,
    ONE_TEMPORARY_MORE,
    ONE_TEMPORARY_LESS,
    ONE_DECISION_MORE,
    ONE_DECISION_LESS,
    ONE_CHOICE_LESS,
    DIFFERENCES
} difference;

typedef struct list {
    vkf__span x, out; // (COUNT) f32
    vkf__work_mode mode;
    difference difference; // in that mode alone
} list;

static vkf_status copy(vkf__work *work, const char *label, const vkf__span *x, const vkf__span *out)
{
    const vkf__copy_args args = {
        .label = label,
        .x = *x,
        .out = *out,
        .outer = 1,
        .rows = 1,
        .cols = COUNT,
        .x_row = COUNT,
        .out_row = COUNT,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(work, &args);
}

// The second dispatch by hand, which can differ in more than an emitter's arguments.
static vkf_status second(vkf__work *work, const list *l, const vkf__span *temp, difference d)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32, VKF_DTYPE_F32};
    const vkf__problem problem = {.m = COUNT};
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {0};
    const uint8_t params[256] = {0};
    VKF_TRY(vkf__work_select(work, VKF_OP_COPY, types, &problem, &variant));
    if (d == OTHER_KERNEL)
        variant.config = &variant.kernel->configs[variant.config == variant.kernel->configs ? 1 : 0];
    vkf__dispatch dispatch = {
        .label = "second",
        .variant = variant,
        .flags = flags,
        .bindings = {{*temp, false}, {l->out, true}},
        .params = params,
    };
    if (d == OTHER_OPERANDS)
        dispatch.bindings[1].span.size_bytes = 0;
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}

// A kernel that no dispatch takes.
static vkf_status choose(vkf__work *work)
{
    vkf__variant unused;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32, VKF_DTYPE_F32};
    return vkf__work_select(work, VKF_OP_COPY, types, &(vkf__problem){.m = COUNT}, &unused);
}

static vkf_status emit(vkf__work *work, const void *args)
{
    const list *l = args;
    vkf_status status = VKF_OK;
    difference d = work->mode == l->mode ? l->difference : NONE;
    vkf__span temp = l->x, more;
    uint64_t decision = 0;
    VKF_TRY(copy(work, "first", &l->x, &l->out));
    if (d != ONE_TEMPORARY_LESS)
        VKF_TRY(vkf__work_temp(work, VKF_DTYPE_F32, COUNT, &temp));
    if (d == ONE_TEMPORARY_MORE)
        VKF_TRY(vkf__work_temp(work, VKF_DTYPE_F32, COUNT, &more));
    if (d != ONE_DECISION_LESS)
        VKF_TRY(vkf__work_decide(work, 1, &decision));
    if (d != ONE_CHOICE_LESS)
        VKF_TRY(choose(work));
    if (d == ONE_DECISION_MORE)
        VKF_TRY(vkf__work_decide(work, 1, &decision));
    if (d != ONE_DISPATCH_LESS)
        VKF_TRY(second(work, l, &temp, d));
    if (d == ONE_DISPATCH_MORE)
        VKF_TRY(copy(work, "third", &l->x, &l->out));
fail:
    return status;
}

// A plan of the list, built, and replayed once; the status of whichever comes to the difference.
static vkf_status run(vkf_test_gpu *gpu, const list *l)
{
    vkf_status status = VKF_OK;
    vkf__work work;
    vkf_buffer *arena = NULL;
    vkf__work_init(&work, gpu->context, "list");
    VKF_TRY(vkf__work_plan(&work, emit, l));
    VKF_TRY(vkf__buffer_create(&gpu->context->transfer, VKF_MEMORY_DEVICE, work.plan.arena_bytes, "arena", &arena));
    VKF_TRY(vkf__work_build(&work, arena, emit, l));
    VKF_TRY(vkf__work_update(&work, emit, l));
fail:
    vkf__work_finish(&work);
    vkf__buffer_destroy(&arena);
    return status;
}

static void test_list_that_departs_from_its_plan_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_tensor x = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, (uint32_t[]){COUNT}, NULL);
    vkf_tensor out = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, (uint32_t[]){COUNT}, NULL);
    const vkf__work_mode modes[] = {VKF_WORK_BUILD, VKF_WORK_UPDATE};
    for (size_t m = 0; m < 2; m++)
        for (difference d = NONE; d < DIFFERENCES; d++) {
            const list l = {vkf__span_of(&x), vkf__span_of(&out), modes[m], d};
            gpu->last_error[0] = '\0';
            vkf_status status = run(gpu, &l);
            if (status != (d == NONE ? VKF_OK : VKF_ERROR_INTERNAL))
                fail_msg("difference %d in mode %d: %s", d, modes[m], vkf_status_name(status));
            if (d != NONE && !strstr(gpu->last_error, "list: dispatch "))
                fail_msg("difference %d in mode %d says \"%s\"", d, modes[m], gpu->last_error);
        }
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
}

// The message names the dispatch, and what came instead.
static void test_message_names_the_dispatch(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_tensor x = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, (uint32_t[]){COUNT}, NULL);
    vkf_tensor out = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, (uint32_t[]){COUNT}, NULL);
    const list more = {vkf__span_of(&x), vkf__span_of(&out), VKF_WORK_UPDATE, ONE_DISPATCH_MORE};
    const list other = {vkf__span_of(&x), vkf__span_of(&out), VKF_WORK_BUILD, OTHER_OPERANDS};
    const list less = {vkf__span_of(&x), vkf__span_of(&out), VKF_WORK_UPDATE, ONE_DISPATCH_LESS};
    assert_int_equal(run(gpu, &more), VKF_ERROR_INTERNAL);
    assert_non_null(strstr(gpu->last_error, "dispatch 2 of 2 (the end) chooses a kernel more than was planned"));
    assert_int_equal(run(gpu, &other), VKF_ERROR_INTERNAL);
    assert_non_null(strstr(gpu->last_error, "dispatch 1 of 2 (second) is now second with copy."));
    assert_int_equal(run(gpu, &less), VKF_ERROR_INTERNAL);
    assert_non_null(strstr(gpu->last_error, "dispatch 1 of 2 (second) was planned and is missing"));
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_that_departs_from_its_plan_is_refused),
        cmocka_unit_test(test_message_names_the_dispatch),
    };
    return cmocka_run_group_tests_name("work", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
