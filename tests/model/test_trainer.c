// Trainers of every kind of model: slopes of the loss along random directions, steps, and what is refused.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/random.h"
#include "support/trained.h"

#define PRETRAINED VKF_TEST_SOURCE_DIR "/tests/pretrained/"
#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"

typedef vkf_test_trained trained;

// The loss where a parameter has gone `step` along a direction.
static double loss_at(trained *t, const vkf_tensor *value, const float *from, const float *direction, size_t count,
                      float step)
{
    float *moved = malloc(count * sizeof *moved);
    assert_non_null(moved);
    for (size_t i = 0; i < count; i++)
        moved[i] = from[i] + step * direction[i];
    vkf_test_must(t->gpu, vkf_buffer_write(value->buffer, value->offset_bytes, moved, count * sizeof *moved));
    free(moved);
    return vkf_test_trained_loss(t);
}

// A direction of length 1, and the slope along it that the gradient says.
static double slope_along(vkf_test_gpu *gpu, const float *gradient, size_t count, float *out_direction)
{
    double norm = 0, slope = 0;
    vkf_test_fill_uniform(&gpu->random, out_direction, count, -1, 1);
    for (size_t i = 0; i < count; i++)
        norm += (double)out_direction[i] * out_direction[i];
    for (size_t i = 0; i < count; i++) {
        out_direction[i] /= (float)sqrt(norm);
        slope += (double)out_direction[i] * gradient[i];
    }
    return slope;
}

// What the square of the step has no part in, out of central differences with two steps (Richardson).
static double measured_slope(trained *t, const vkf_tensor *value, const float *from, const float *direction,
                             size_t count)
{
    const float steps[] = {3e-3f, 1.5e-3f};
    double slopes[2];
    for (int i = 0; i < 2; i++)
        slopes[i] = (loss_at(t, value, from, direction, count, steps[i]) -
                     loss_at(t, value, from, direction, count, -steps[i])) /
                    (2.0 * steps[i]);
    return (4 * slopes[1] - slopes[0]) / 3;
}

static void check_slope(trained *t, const char *directory, const vkf__parameter *item)
{
    const size_t count = item->gradient.size_bytes / sizeof(float);
    float *from = malloc(count * sizeof *from), *direction = malloc(count * sizeof *from),
          *gradient = malloc(count * sizeof *from);
    assert_true(from && direction && gradient);
    vkf_test_must(t->gpu, vkf__trainer_gradient(t->trainer, &t->batch, item, gradient));
    vkf_test_must(t->gpu, vkf_buffer_read(item->value.buffer, item->value.offset_bytes, from, count * sizeof *from));
    const double slope = slope_along(t->gpu, gradient, count, direction);
    const double measured = measured_slope(t, &item->value, from, direction, count);
    vkf_test_must(t->gpu, vkf_buffer_write(item->value.buffer, item->value.offset_bytes, from, count * sizeof *from));
    free(from);
    free(direction);
    free(gradient);
    if (!(fabs(slope - measured) <= 2e-3 + 0.03 * fabs(slope)))
        fail_msg("%s: %s has the slope %g, and the loss changes by %g", directory, item->name, slope, measured);
}

static void check_slopes(vkf_test_gpu *gpu, const char *directory, const vkf_trainer_desc *desc)
{
    trained t;
    vkf_test_trained_open(&t, gpu, directory, desc);
    // Every third, from a random one on. VKF_TEST_ALL=1: all.
    const size_t stride = vkf_test_all() ? 1 : 3, first = vkf_test_random_below(&gpu->random, (uint32_t)stride);
    for (size_t i = first; i < t.trainer->parameters.count; i += stride)
        check_slope(&t, directory, &t.trainer->parameters.items[i]);
    vkf_test_trained_close(&t);
}

static void test_gradients_are_the_loss_slopes(void **state)
{
    // What the first four do not have comes behind them, where all tests run: it takes a minute.
    static const char *const directories[] = {DEMO,
                                              PRETRAINED "llama",
                                              PRETRAINED "gpt2",
                                              PRETRAINED "bert-sequence-classification",
                                              PRETRAINED "qwen3",
                                              PRETRAINED "gpt_neox",
                                              PRETRAINED "mistral",
                                              PRETRAINED "bart",
                                              PRETRAINED "marian",
                                              PRETRAINED "roberta-token-classification",
                                              PRETRAINED "modernbert-sequence-classification",
                                              PRETRAINED "distilbert-masked-lm",
                                              PRETRAINED "t5"};
    // Without a name final_logits_bias of BART and Marian is none that trains.
    static const char *const every[] = {"*"};
    const vkf_trainer_desc desc = {.trained = every, .trained_count = 1};
    const vkf_trainer_desc contrastive = {.loss = VKF_TRAIN_LOSS_CONTRASTIVE};
    const size_t count = vkf_test_all() ? sizeof directories / sizeof directories[0] : 4;
    for (size_t i = 0; i < count; i++)
        check_slopes(*state, directories[i], &desc);
    check_slopes(*state, PRETRAINED "sentence-mean", &contrastive);
}

// The mean of -log(probability) of the labels but -100, from a session's logits.
static double loss_by_session(trained *t)
{
    const uint32_t classes = t->model->config.target_vocab;
    const vkf_session_desc desc = {.max_batch = VKF_TEST_BATCH,
                                   .max_source_len = VKF_TEST_SOURCE,
                                   .max_target_len = VKF_TEST_TARGET,
                                   .max_logit_rows = VKF_TEST_TARGET};
    float *logits = calloc((size_t)VKF_TEST_BATCH * VKF_TEST_TARGET * classes, sizeof *logits);
    vkf_session *session = NULL;
    double sum = 0;
    assert_non_null(logits);
    vkf_test_must(t->gpu, vkf_session_create(t->model, &desc, &session));
    const vkf_encode_args source = {
        .batch = VKF_TEST_BATCH, .source_len = VKF_TEST_SOURCE, .source_ids = t->source, .source_lengths = t->lengths};
    vkf_test_must(t->gpu, vkf_session_encode(session, &source));
    const vkf_decode_args target = {.target_len = VKF_TEST_TARGET, .target_ids = t->target, .out_logits = logits};
    vkf_test_must(t->gpu, vkf_session_decode(session, &target));
    for (int row = 0; row < VKF_TEST_BATCH * VKF_TEST_TARGET; row++) {
        double exponentials = 0;
        for (uint32_t i = 0; i < classes; i++)
            exponentials += exp((double)logits[(size_t)row * classes + i]);
        sum += row == 1 ? 0 : log(exponentials) - (double)logits[(size_t)row * classes + (uint32_t)t->labels[row]];
    }
    vkf_session_destroy(&session);
    free(logits);
    return sum / (VKF_TEST_BATCH * VKF_TEST_TARGET - 1);
}

static void test_the_loss_is_that_of_a_session(void **state)
{
    static const char *const directories[] = {PRETRAINED "t5", PRETRAINED "marian"};
    const vkf_trainer_desc desc = {0};
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        trained t;
        vkf_test_trained_open(&t, *state, directories[i], &desc);
        const double found = vkf_test_trained_loss(&t), expected = loss_by_session(&t);
        if (!(fabs(found - expected) <= 1e-4))
            fail_msg("%s: a loss of %g, and %g by a session", directories[i], found, expected);
        vkf_test_trained_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_the_loss_slopes),
        cmocka_unit_test(test_the_loss_is_that_of_a_session),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
