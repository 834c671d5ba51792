// What a device counts while dispatches run, and when it ran on the host's clock.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fake_counters.h"
#include "kernel/context.h"
#include "sample_layers.h"

enum { MAX_COUNTERS = 8, MAX_DISPATCHES = 64 };

static const vkf_layer_sizes sizes = {2, 7, 9};

typedef struct told {
    uint32_t count; // of counters
    uint32_t dispatches;
    double workgroups[MAX_DISPATCHES];
    bool counted[MAX_DISPATCHES];
    double values[MAX_DISPATCHES][MAX_COUNTERS];
    vkf_submission_profile submission;
} told;

static void take_submission(void *user, const vkf_submission_profile *submission)
{
    told *t = user;
    t->submission = *submission;
    t->dispatches = 0;
}

static void take_dispatch(void *user, const vkf_dispatch_profile *dispatch)
{
    told *t = user;
    assert_true(t->dispatches < MAX_DISPATCHES);
    uint32_t at = t->dispatches++;
    t->workgroups[at] = (double)dispatch->workgroups[0] * dispatch->workgroups[1] * dispatch->workgroups[2];
    t->counted[at] = dispatch->counters != NULL;
    for (uint32_t i = 0; dispatch->counters && i < t->count; i++)
        t->values[at][i] = dispatch->counters[i];
}

static vkf_test_gpu *open_context(void **state, vkf_context_desc desc)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    assert_non_null(gpu);
    *state = gpu;
    assert_int_equal(vkf_test_gpu_open(gpu, &desc), 0);
    return vkf_test_gpu_of(state);
}

static uint32_t find_counter(vkf_test_gpu *gpu, const char *name)
{
    const vkf_counter *counters;
    uint32_t count = vkf_context_get_counters(gpu->context, &counters);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(counters[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}

// Runs an encoder layer thrice, the second time without a profiler.
static void run_layer(vkf_test_gpu *gpu, told *first, told *last)
{
    const vkf_counter *counters;
    sample_weights weights;
    sample_data data;
    vkf_layer *layer = NULL;
    const vkf_profiler profilers[] = {{take_submission, take_dispatch, first}, {take_submission, take_dispatch, last}};
    first->count = last->count = vkf_context_get_counters(gpu->context, &counters);
    assert_true(first->count <= MAX_COUNTERS);
    sample_weights_create(gpu, &weights);
    sample_data_create(&gpu->random, sizes, &data);
    assert_int_equal(sample_layer_create(gpu->context, SAMPLE_ENCODER, &weights, sizes, &layer), VKF_OK);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(vkf_context_set_profiler(gpu->context, run == 1 ? NULL : &profilers[run / 2]), VKF_OK);
        assert_int_equal(sample_layer_run(layer, SAMPLE_ENCODER, &data), VKF_OK);
    }
    assert_true(first->dispatches > 0 && first->dispatches == last->dispatches);
    vkf_layer_destroy(&layer);
    sample_data_destroy(&data);
    sample_weights_destroy(&weights);
}

// Where the device, or the profile, has no such counters.
static void assert_nothing_counted(const told *t)
{
    assert_int_equal(t->count, 0);
    for (uint32_t i = 0; i < t->dispatches; i++)
        assert_false(t->counted[i]);
}

// Exact where a processor counts: every workgroup has as many invocations as every other one of its dispatch, and each
// run the same. Vulkan lets other devices skip and add some, and neighbours may run at the same time.
static void assert_invocations(const told *first, const told *last, uint32_t counter, bool exact)
{
    double invocations = 0, workgroups = 0;
    for (uint32_t i = 0; i < first->dispatches; i++) {
        double counted = first->values[i][counter], per_group = counted / first->workgroups[i];
        assert_true(first->counted[i] && last->counted[i] && counted >= 0);
        invocations += counted;
        workgroups += first->workgroups[i];
        if (!exact)
            continue;
        assert_true(per_group >= 1 && per_group <= 1024 && per_group == (double)(uint32_t)per_group);
        assert_true(counted == last->values[i][counter]);
    }
    if (invocations < workgroups)
        fail_msg("%g invocations in %g workgroups", invocations, workgroups);
}

static void test_invocations(void **state)
{
    vkf_test_gpu *gpu = open_context(state, (vkf_context_desc){.counters = "all"});
    told first = {0}, last = {0};
    uint32_t invocations = find_counter(gpu, "compute shader invocations");
    run_layer(gpu, &first, &last);
    assert_int_equal(invocations != UINT32_MAX, gpu->context->device.plan.enabled.statistics_queries);
    if (invocations == UINT32_MAX)
        assert_nothing_counted(&first);
    else
        assert_invocations(&first, &last, invocations, gpu->context->device.plan.caps.traits.processor);
}

static void test_nothing_is_counted_unasked(void **state)
{
    vkf_test_gpu *gpu = open_context(state, (vkf_context_desc){.timestamps = true});
    const vkf_counter *counters;
    told first = {0}, last = {0};
    assert_int_equal(vkf_context_get_counters(gpu->context, &counters), 0);
    assert_int_equal(vkf_context_get_counters(NULL, &counters), 0);
    run_layer(gpu, &first, &last);
    assert_nothing_counted(&first);
}

// The second counter would take another pass, the first does not count single commands.
static void test_performance_queries(void **state)
{
    fake_counters_lockable(true);
    vkf_test_gpu *gpu =
        open_context(state, (vkf_context_desc){.counters = "all", .get_instance_proc_addr = fake_counters_get_proc});
    uint32_t cycles = find_counter(gpu, "Cycles"), busy = find_counter(gpu, "Busy");
    told first = {0}, last = {0};
    run_layer(gpu, &first, &last);
    assert_null(fake_counters_misuse());
    assert_int_equal(find_counter(gpu, "Frames"), UINT32_MAX);
    assert_int_equal(find_counter(gpu, "Second pass"), UINT32_MAX);
    assert_int_equal(cycles != UINT32_MAX, gpu->context->device.plan.enabled.performance_queries);
    if (cycles == UINT32_MAX) {
        assert_nothing_counted(&first);
        return;
    }
    assert_int_equal(fake_counters_locks(), 1);
    for (uint32_t i = 0; i < last.dispatches; i++) {
        assert_true(last.values[i][cycles] == FAKE_CYCLES(i));
        assert_true(last.values[i][busy] == FAKE_BUSY);
    }
    vkf_context_destroy(&gpu->context);
    assert_int_equal(fake_counters_locks(), 0);
}

static void test_performance_queries_by_name(void **state)
{
    const vkf_counter *counters;
    fake_counters_lockable(true);
    vkf_test_gpu *gpu = open_context(
        state, (vkf_context_desc){.counters = "none such,Bu", .get_instance_proc_addr = fake_counters_get_proc});
    uint32_t count = vkf_context_get_counters(gpu->context, &counters);
    // The profile may mask them, and the device may not reset queries from the host.
    assert_int_equal(count, gpu->context->device.plan.enabled.performance_queries);
    if (count == 0)
        return;
    assert_string_equal(counters[0].name, "Busy");
    assert_string_equal(counters[0].unit, "%");
    assert_string_equal(counters[0].category, "made up");
}

// Somebody else profiles the device.
static void test_performance_queries_without_lock(void **state)
{
    fake_counters_lockable(false);
    vkf_test_gpu *gpu =
        open_context(state, (vkf_context_desc){.counters = "all", .get_instance_proc_addr = fake_counters_get_proc});
    told first = {0}, last = {0};
    assert_int_equal(find_counter(gpu, "Cycles"), UINT32_MAX);
    run_layer(gpu, &first, &last);
    assert_null(fake_counters_misuse());
}

// The device runs after the host began to submit, and before the host knew of its end.
static void test_device_on_the_hosts_clock(void **state)
{
    vkf_test_gpu *gpu = open_context(state, (vkf_context_desc){.timestamps = true});
    told first = {0}, last = {0};
    run_layer(gpu, &first, &last);
    const vkf_submission_profile *s = &last.submission;
    assert_int_equal(s->gpu_begin_ns > 0, gpu->context->device.plan.enabled.calibrated_timestamps);
    if (s->gpu_begin_ns == 0)
        return;
    double submitted = s->begin_ns + s->update_ns, ended = submitted + s->submit_ns + s->wait_ns;
    // Whoever reads the clocks may be stopped between the two; another clock would be years away.
    double slack = s->gpu_deviation_ns + 1e9;
    assert_true(s->gpu_begin_ns > submitted - slack);
    assert_true(s->gpu_begin_ns + s->gpu_ns < ended + slack);
    assert_true(s->gpu_begin_ns < vkf__now_ns());
}

static void test_clocks_apart(void **state)
{
    static const char *const masks[] = {"VK_EXT_calibrated_timestamps"};
    vkf_test_gpu *gpu = open_context(state, (vkf_context_desc){.timestamps = true, .masks = masks, .mask_count = 1});
    told first = {0}, last = {0};
    run_layer(gpu, &first, &last);
    assert_true(last.submission.gpu_begin_ns == 0 && last.submission.gpu_deviation_ns == 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, vkf_test_gpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_invocations),
        TEST(test_nothing_is_counted_unasked),
        TEST(test_performance_queries),
        TEST(test_performance_queries_by_name),
        TEST(test_performance_queries_without_lock),
        TEST(test_device_on_the_hosts_clock),
        TEST(test_clocks_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
