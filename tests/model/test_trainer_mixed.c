// Trainers whose products read 16 bits: gradients beside those in f32, the scale of gradients, and what is saved.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "support/pretrained.h"
#include "support/trained.h"

#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"

// As a part of a gradient's length.
#define MOST_F16 0.01
#define MOST_BF16 0.08

// ---- gradients

// The gradients of one parameter; free() releases them.
static float *gradient_of(vkf_test_trained *t, const vkf__parameter *item)
{
    float *values = malloc(item->gradient.size_bytes);
    assert_non_null(values);
    vkf_test_must(t->gpu, vkf__trainer_gradient(t->trainer, &t->batch, item, values));
    return values;
}

static double length_of(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * values[i];
    return sqrt(sum);
}

// How far two gradients are apart, as a share of their length and of a thousandth of `all`, that of all gradients: what
// softmax does not see, as a bias of all keys, has a gradient of nothing but rounding.
static double distance(const float *from, float *to, size_t count, double all)
{
    const double length = length_of(from, count);
    for (size_t i = 0; i < count; i++)
        to[i] -= from[i];
    return length_of(to, count) / (length + 1e-3 * all);
}

// The gradients of some parameters.
typedef struct gradients {
    size_t first, stride, count;
    float **values;
} gradients;

// The gradients of every `stride`th parameter from `first` on, in `g`.
static void take_gradients(vkf_test_trained *t, gradients *g)
{
    g->count = (t->trainer->parameters.count - g->first + g->stride - 1) / g->stride;
    g->values = malloc(g->count * sizeof *g->values);
    assert_non_null(g->values);
    for (size_t i = 0; i < g->count; i++)
        g->values[i] = gradient_of(t, &t->trainer->parameters.items[g->first + i * g->stride]);
}

static void drop_gradients(gradients *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->values[i]);
    free(g->values);
}

static size_t elements_of(const vkf_test_trained *t, const gradients *g, size_t i)
{
    return t->trainer->parameters.items[g->first + i * g->stride].gradient.size_bytes / sizeof(float);
}

static double length_of_all(const vkf_test_trained *t, const gradients *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->count; i++)
        sum += pow(length_of(g->values[i], elements_of(t, g, i)), 2);
    return sqrt(sum);
}

// Each of `from`, in f32, beside that of `to`, which is overwritten.
static void compare_gradients(const vkf_test_trained *t, const char *directory, const gradients *from, gradients *to,
                              double most)
{
    const double all = length_of_all(t, from);
    double largest = 0;
    for (size_t i = 0; i < from->count; i++) {
        const double found = distance(from->values[i], to->values[i], elements_of(t, from, i), all);
        if (!(found <= most))
            fail_msg("%s: the gradient of %s is off by %g of its length, of which %g is allowed", directory,
                     t->trainer->parameters.items[from->first + i * from->stride].name, found, most);
        largest = fmax(largest, found);
    }
    assert_true(largest > 0);
    print_message("%s: off by %g at most\n", directory, largest);
}

static void check_gradients(vkf_test_gpu *gpu, const char *directory, const vkf_trainer_desc *desc, double most)
{
    vkf_trainer_desc plain = *desc;
    vkf_test_trained whole, mixed;
    plain.mixed_precision = VKF_DTYPE_F32;
    vkf_test_trained_open(&whole, gpu, directory, &plain);
    vkf_test_trained_open(&mixed, gpu, directory, desc);
    mixed.batch = whole.batch;
    // A gradient takes both ways. Every third, from a random one on; VKF_TEST_ALL=1: all.
    gradients from = {.stride = vkf_test_all() ? 1 : 3};
    from.first = vkf_test_random_below(&gpu->random, (uint32_t)from.stride);
    gradients to = from;
    take_gradients(&whole, &from);
    take_gradients(&mixed, &to);
    compare_gradients(&whole, directory, &from, &to, most);
    drop_gradients(&from);
    drop_gradients(&to);
    vkf_test_trained_close(&mixed);
    vkf_test_trained_close(&whole);
}

static void check_family(vkf_test_gpu *gpu, const char *directory, vkf_dtype type, bool recompute)
{
    const vkf_trainer_desc desc = {.mixed_precision = type, .recompute = recompute};
    check_gradients(gpu, directory, &desc, type == VKF_DTYPE_F16 ? MOST_F16 : MOST_BF16);
}

static void test_gradients_are_those_in_f32(void **state)
{
    static const char *const others[] = {"gpt2", "bert-sequence-classification", "qwen3", "t5"};
    check_family(*state, DEMO, VKF_DTYPE_F16, false);
    check_family(*state, vkf_test_pretrained("llama"), VKF_DTYPE_BF16, true);
    if (!vkf_test_all())
        return;
    check_family(*state, DEMO, VKF_DTYPE_BF16, true);
    check_family(*state, vkf_test_pretrained("llama"), VKF_DTYPE_F16, false);
    for (size_t i = 0; i < 2 * sizeof others / sizeof others[0]; i++)
        check_family(*state, vkf_test_pretrained(others[i / 2]), i % 2 ? VKF_DTYPE_F16 : VKF_DTYPE_BF16, false);
}

// ---- the scale

static const vkf_trainer_desc halves = {
    .rate = 1e-2, .dropout = 0.1f, .attention_dropout = 0.1f, .seed = 11, .mixed_precision = VKF_DTYPE_F16};

static void test_a_step_that_overflows_is_skipped(void **state)
{
    vkf_test_trained t;
    size_t count;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &halves);
    assert_true(t.trainer->state.loss_scale == 65536.0f);
    t.trainer->state.loss_scale = 0x1p126f;
    float *before = vkf_test_trained_read(&t, &count);
    const vkf_train_result result = vkf_test_trained_step(&t, 1);
    float *after = vkf_test_trained_read(&t, &count);
    assert_true(result.skipped && result.loss_scale == 0x1p126f && t.trainer->state.loss_scale == 0x1p125f);
    assert_true(isfinite(result.loss) && vkf_trainer_get_steps(t.trainer) == 0);
    assert_memory_equal(before, after, count * sizeof *before);
    free(before);
    free(after);
    int steps = 0;
    while (vkf_test_trained_step(&t, 1).skipped)
        assert_true(++steps < 126);
    assert_true(steps > 0 && vkf_trainer_get_steps(t.trainer) == 1);
    vkf_test_trained_close(&t);
}

static void test_the_scale_grows(void **state)
{
    vkf_test_trained t;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &halves);
    t.trainer->state.loss_scale_counted = 1998;
    const vkf_train_result result = vkf_test_trained_step(&t, 2);
    assert_true(!result.skipped && result.loss_scale == 65536.0f && t.trainer->state.loss_scale == 131072.0f);
    vkf_test_trained_close(&t);
}

static double norm_in(vkf_test_gpu *gpu, vkf_dtype type, const vkf_train_batch *batch)
{
    const vkf_trainer_desc desc = {.mixed_precision = type};
    vkf_test_trained t;
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained("llama"), &desc);
    t.batch = *batch;
    const double norm = vkf_test_trained_step(&t, 1).gradient_norm;
    vkf_test_trained_close(&t);
    return norm;
}

// Clipping and whoever looks see gradients as they are.
static void test_norms_are_without_the_scale(void **state)
{
    const int32_t ids[] = {1, 2, 3, 4}, labels[] = {2, 3, 4, 5};
    const vkf_train_batch batch = {.batch = 1, .target_len = 4, .target_ids = ids, .labels = labels};
    const double norm = norm_in(*state, VKF_DTYPE_F32, &batch), scaled = norm_in(*state, VKF_DTYPE_F16, &batch);
    assert_true(norm > 0 && fabs(scaled - norm) <= 0.02 * norm);
}

static void test_bfloat_and_f32_are_not_scaled(void **state)
{
    static const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_BF16};
    for (size_t i = 0; i < 2; i++) {
        vkf_trainer_desc desc = halves;
        vkf_test_trained t;
        desc.mixed_precision = types[i];
        vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &desc);
        assert_true(vkf_test_trained_step(&t, 1).loss_scale == 1.0f);
        vkf_test_trained_close(&t);
    }
}

// ---- checkpoints

// The scale grows in the third step, which a training that has lost its count would not know.
static void check_resumed(vkf_test_gpu *gpu, const char *path)
{
    vkf_test_trained whole, first, second;
    vkf_test_trained_open(&whole, gpu, DEMO, &halves);
    vkf_test_trained_open(&first, gpu, DEMO, &halves);
    first.batch = whole.batch;
    whole.trainer->state.loss_scale_counted = first.trainer->state.loss_scale_counted = 1997;
    whole.trainer->state.loss_scale = first.trainer->state.loss_scale = 1024.0f;
    (void)vkf_test_trained_step(&first, 2);
    vkf_test_must(gpu, vkf_trainer_save(first.trainer, path));
    vkf_test_trained_close(&first);
    vkf_test_trained_open(&second, gpu, DEMO, &halves);
    vkf_test_must(gpu, vkf_trainer_restore(second.trainer, path));
    second.batch = whole.batch;
    (void)vkf_test_trained_step(&second, 2);
    (void)vkf_test_trained_step(&whole, 4);
    vkf_test_trained_assert_same(&whole, &second);
    assert_true(second.trainer->state.loss_scale == 2048.0f);
    vkf_test_trained_close(&second);
    vkf_test_trained_close(&whole);
}

// With another type the moments are what they were, and the scale begins anew.
static void check_other_type(vkf_test_gpu *gpu, const char *path, vkf_dtype type, float scale)
{
    vkf_trainer_desc desc = halves;
    vkf_test_trained t;
    desc.mixed_precision = type;
    vkf_test_trained_open(&t, gpu, DEMO, &desc);
    vkf_test_must(gpu, vkf_trainer_restore(t.trainer, path));
    assert_true(vkf_trainer_get_steps(t.trainer) == 2 && t.trainer->state.loss_scale == scale);
    vkf_test_trained_close(&t);
}

static void test_trainings_go_on_with_their_scale(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_trainer_desc plain = halves;
    vkf_test_directory directory;
    vkf_test_trained t;
    char half[512], whole[512];
    vkf_test_directory_make(&directory);
    (void)snprintf(half, sizeof half, "%s/half", directory.path);
    (void)snprintf(whole, sizeof whole, "%s/whole", directory.path);
    check_resumed(gpu, half);
    check_other_type(gpu, half, VKF_DTYPE_BF16, 1.0f);
    plain.mixed_precision = VKF_DTYPE_F32;
    vkf_test_trained_open(&t, gpu, DEMO, &plain);
    (void)vkf_test_trained_step(&t, 2);
    vkf_test_must(gpu, vkf_trainer_save(t.trainer, whole));
    vkf_test_trained_close(&t);
    check_other_type(gpu, whole, VKF_DTYPE_F16, 65536.0f);
    vkf__directory_remove_unheld(directory.path, "half");
    vkf__directory_remove_unheld(directory.path, "whole");
    vkf_test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_those_in_f32),
        cmocka_unit_test(test_a_step_that_overflows_is_skipped),
        cmocka_unit_test(test_the_scale_grows),
        cmocka_unit_test(test_norms_are_without_the_scale),
        cmocka_unit_test(test_bfloat_and_f32_are_not_scaled),
        cmocka_unit_test(test_trainings_go_on_with_their_scale),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
