// One context, several threads, each with a layer of its own and buffers and operators beside it.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "sample_layers.h"

enum { THREADS = 4, RUNS = 20 };

static const vkf_layer_sizes max_sizes = {2, 9, 11};

// What one thread does. Assertions are for the main thread alone.
typedef struct job {
    vkf_test_gpu *gpu;
    const sample_weights *weights;
    sample_kind kind;
    vkf_test_random random;
    sample_data data; // of maximum sizes
    float *expected;  // its output
    vkf_status status;
    int wrong; // runs with other numbers
} job;

static vkf_status run_operators(job *j)
{
    const uint32_t shape[] = {4, 8};
    float values[32], read[32];
    vkf_tensor a = {0}, b = {0};
    vkf_test_fill_uniform(&j->random, values, 32, -1, 1);
    vkf_status status = vkf_tensor_create(j->gpu->context, VKF_DTYPE_F32, 2, shape, "a", &a);
    if (status == VKF_OK)
        status = vkf_tensor_create(j->gpu->context, VKF_DTYPE_F32, 2, shape, "b", &b);
    if (status == VKF_OK)
        status = vkf_tensor_write(&a, values, sizeof values);
    if (status == VKF_OK)
        status = vkf_copy(j->gpu->context, &a, &b);
    if (status == VKF_OK)
        status = vkf_tensor_read(&b, read, sizeof read);
    if (status == VKF_OK && memcmp(values, read, sizeof values) != 0)
        j->wrong++;
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&b);
    return status;
}

static void *work(void *argument)
{
    job *j = argument;
    vkf_layer *layer = NULL;
    size_t bytes = sample_data_outputs(&j->data) * sizeof(float);
    vkf_memory_usage usage;
    j->status = sample_layer_create(j->gpu->context, j->kind, j->weights, max_sizes, &layer);
    for (int run = 0; run < RUNS && j->status == VKF_OK; run++) {
        memset(j->data.out, 0, bytes);
        j->status = sample_layer_run(layer, j->kind, &j->data);
        if (j->status == VKF_OK && memcmp(j->data.out, j->expected, bytes) != 0)
            j->wrong++;
        if (j->status == VKF_OK && run % 5 == 0)
            j->status = run_operators(j);
        vkf_context_get_memory_usage(j->gpu->context, &usage);
    }
    vkf_layer_destroy(&layer);
    return NULL;
}

// Operators called by themselves, and nothing else: what they leave in the context is shared.
static void *work_operators(void *argument)
{
    job *j = argument;
    for (int run = 0; run < RUNS && j->status == VKF_OK; run++) {
        j->status = run_operators(j);
        (void)vkf_context_get_last_op_ns(j->gpu->context);
        if (!vkf_context_get_last_op_kernel(j->gpu->context))
            j->wrong++;
    }
    return NULL;
}

// Data, and the numbers that the layer gives undisturbed.
static void prepare(job *j, vkf_test_gpu *gpu, const sample_weights *weights, size_t index)
{
    vkf_layer *layer = NULL;
    *j = (job){.gpu = gpu, .weights = weights, .kind = (sample_kind)(index % SAMPLE_KINDS)};
    vkf_test_random_init(&j->random, gpu->seed + index);
    sample_data_create(&j->random, max_sizes, &j->data);
    size_t bytes = sample_data_outputs(&j->data) * sizeof(float);
    j->expected = malloc(bytes);
    assert_non_null(j->expected);
    assert_int_equal(sample_layer_create(gpu->context, j->kind, weights, max_sizes, &layer), VKF_OK);
    assert_int_equal(sample_layer_run(layer, j->kind, &j->data), VKF_OK);
    memcpy(j->expected, j->data.out, bytes);
    vkf_layer_destroy(&layer);
}

static void run_threads(vkf_test_gpu *gpu, job *jobs, void *(*body)(void *argument))
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, &jobs[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        if (jobs[i].status != VKF_OK || jobs[i].wrong > 0)
            fail_msg("%s in thread %zu: %s, %d runs with other numbers, seed %llu", sample_name(jobs[i].kind), i,
                     vkf_status_name(jobs[i].status), jobs[i].wrong, (unsigned long long)gpu->seed);
    }
}

static void clear(job *jobs, sample_weights *weights)
{
    for (size_t i = 0; i < THREADS; i++) {
        sample_data_destroy(&jobs[i].data);
        free(jobs[i].expected);
    }
    sample_weights_destroy(weights);
}

static void test_threads_share_a_context(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sample_weights weights;
    job jobs[THREADS];
    vkf_memory_usage before, after;
    vkf_context_get_memory_usage(gpu->context, &before);
    sample_weights_create(gpu, &weights);
    for (size_t i = 0; i < THREADS; i++)
        prepare(&jobs[i], gpu, &weights, i);
    run_threads(gpu, jobs, work);
    clear(jobs, &weights);
    vkf_context_get_memory_usage(gpu->context, &after);
    assert_memory_equal(before.used_bytes, after.used_bytes, sizeof before.used_bytes);
    assert_memory_equal(before.reserved_bytes, after.reserved_bytes, sizeof before.reserved_bytes);
}

// In a second context nothing is compiled yet: the threads create the same pipelines at once.
static void test_threads_meet_at_cold_pipelines(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_gpu cold;
    vkf_context_desc desc = {0};
    sample_weights weights, cold_weights;
    job jobs[THREADS];
    assert_int_equal(vkf_test_gpu_open(&cold, &desc), 0);
    vkf_test_random_init(&gpu->random, gpu->seed);
    sample_weights_create(gpu, &weights);
    sample_weights_create(&cold, &cold_weights);
    for (size_t i = 0; i < THREADS; i++) {
        prepare(&jobs[i], gpu, &weights, i);
        jobs[i].gpu = &cold;
        jobs[i].weights = &cold_weights;
    }
    run_threads(&cold, jobs, work);
    sample_weights_destroy(&cold_weights);
    clear(jobs, &weights);
    vkf_context_destroy(&cold.context);
    assert_int_equal(cold.validation_messages, 0);
}

static void test_threads_call_operators(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    job jobs[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        jobs[i] = (job){.gpu = gpu};
        vkf_test_random_init(&jobs[i].random, gpu->seed + i);
    }
    run_threads(gpu, jobs, work_operators);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_share_a_context),
        cmocka_unit_test(test_threads_meet_at_cold_pipelines),
        cmocka_unit_test(test_threads_call_operators),
    };
    return cmocka_run_group_tests_name("threads", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
