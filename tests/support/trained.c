#include "trained.h"

#include <stdlib.h>
#include <string.h>

vkf_model *vkf_test_load_trainable(vkf_test_gpu *gpu, const char *directory)
{
    const vkf_model_desc desc = {.directory = directory, .trainable = true};
    vkf_model *model = NULL;
    if (vkf_model_load(gpu->context, &desc, &model) != VKF_OK)
        fail_msg("%s: %s", directory, gpu->last_error);
    return model;
}

void vkf_test_fill_ranges(const vkf__parameters *p, bool moments, float value)
{
    for (size_t i = 0; i < p->range_count; i++) {
        const vkf__span *span = moments ? &p->ranges[i].moments : &p->ranges[i].gradient;
        const size_t count = (size_t)(span->size_bytes / sizeof value);
        float *values = malloc(span->size_bytes);
        assert_non_null(values);
        for (size_t j = 0; j < count; j++)
            values[j] = value + (float)j;
        assert_int_equal(vkf_buffer_write(span->buffer, span->offset_bytes, values, span->size_bytes), VKF_OK);
        free(values);
    }
}

bool vkf_test_all_zero(const vkf__span *span)
{
    float *values = malloc(span->size_bytes);
    bool zero = true;
    assert_non_null(values);
    assert_int_equal(vkf_buffer_read(span->buffer, span->offset_bytes, values, span->size_bytes), VKF_OK);
    for (size_t i = 0; i < span->size_bytes / sizeof *values; i++)
        zero = zero && values[i] == 0;
    free(values);
    return zero;
}

static void draw(vkf_test_trained *t, int32_t *ids, size_t count, uint32_t below)
{
    vkf_test_fill_ids(&t->gpu->random, ids, count, below > 0 ? below : 1);
}

static void make_batch(vkf_test_trained *t)
{
    const vkf_model_config *config = &t->model->config;
    const vkf__graph_sizes sizes = {VKF_TEST_BATCH, {VKF_TEST_SOURCE, VKF_TEST_TARGET}};
    const uint32_t classes = vkf__graph_classes(&t->trainer->graph, &sizes);
    draw(t, t->source, VKF_TEST_BATCH * VKF_TEST_SOURCE, config->source_vocab);
    draw(t, t->types, VKF_TEST_BATCH * VKF_TEST_SOURCE, config->token_types);
    draw(t, t->target, VKF_TEST_BATCH * VKF_TEST_TARGET, config->target_vocab);
    draw(t, t->labels, VKF_TEST_BATCH * VKF_TEST_SOURCE, classes);
    t->labels[1] = -100;
    for (int i = 0; i < VKF_TEST_BATCH; i++)
        t->lengths[i] = (uint32_t)(VKF_TEST_SOURCE - i);
    t->batch = (vkf_train_batch){VKF_TEST_BATCH, VKF_TEST_SOURCE, t->source, t->lengths,
                                 t->types,       VKF_TEST_TARGET, t->target, t->labels};
}

void vkf_test_trained_open(vkf_test_trained *t, vkf_test_gpu *gpu, const char *directory,
                           const vkf_trainer_desc *settings)
{
    vkf_trainer_desc desc = *settings;
    desc.max_batch = VKF_TEST_BATCH;
    desc.max_source_len = VKF_TEST_SOURCE + 2;
    desc.max_target_len = VKF_TEST_TARGET + 1;
    if (desc.rate == 0)
        desc.rate = 1e-3;
    *t = (vkf_test_trained){.gpu = gpu};
    t->model = vkf_test_load_trainable(gpu, directory);
    vkf_test_must(gpu, vkf_trainer_create(t->model, &desc, &t->trainer));
    make_batch(t);
}

void vkf_test_trained_close(vkf_test_trained *t)
{
    vkf_trainer_destroy(&t->trainer);
    vkf_model_destroy(&t->model);
}

double vkf_test_trained_loss(vkf_test_trained *t)
{
    vkf_train_result result;
    vkf_test_must(t->gpu, vkf_trainer_evaluate(t->trainer, &t->batch, &result));
    return result.loss;
}

vkf_train_result vkf_test_trained_step(vkf_test_trained *t, int steps)
{
    vkf_train_result result = {0};
    for (int i = 0; i < steps; i++)
        vkf_test_must(t->gpu, vkf_trainer_step(t->trainer, &t->batch, 1, &result));
    return result;
}

float *vkf_test_trained_read(vkf_test_trained *t, size_t *out_count)
{
    const vkf__parameters *p = &t->trainer->parameters;
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        count += vkf__span_of(&p->items[i].value).size_bytes / sizeof(float);
    float *all = malloc(count * sizeof *all), *to = all;
    assert_non_null(all);
    for (size_t i = 0; i < p->count; i++) {
        const vkf__span value = vkf__span_of(&p->items[i].value);
        vkf_test_must(t->gpu, vkf_buffer_read(value.buffer, value.offset_bytes, to, value.size_bytes));
        to += value.size_bytes / sizeof(float);
    }
    *out_count = count;
    return all;
}

void vkf_test_trained_assert_same(vkf_test_trained *a, vkf_test_trained *b)
{
    size_t count, other;
    float *left = vkf_test_trained_read(a, &count), *right = vkf_test_trained_read(b, &other);
    assert_int_equal(count, other);
    assert_memory_equal(left, right, count * sizeof *left);
    free(left);
    free(right);
}

vkf_test_everything vkf_test_trained_everything(vkf_test_trained *t)
{
    const vkf__parameters *p = &t->trainer->parameters;
    vkf_test_everything all = {.state = t->trainer->state};
    float *weights = vkf_test_trained_read(t, &all.count);
    size_t moments = 0;
    for (size_t i = 0; i < p->count; i++)
        moments += vkf__present(&p->items[i].moments) ? p->items[i].moments.size_bytes / sizeof(float) : 0;
    all.values = realloc(weights, (all.count + moments) * sizeof *weights);
    assert_non_null(all.values);
    for (size_t i = 0; i < p->count; i++) {
        const vkf__span *from = &p->items[i].moments;
        if (!vkf__present(from))
            continue;
        vkf_test_must(t->gpu,
                      vkf_buffer_read(from->buffer, from->offset_bytes, all.values + all.count, from->size_bytes));
        all.count += from->size_bytes / sizeof(float);
    }
    return all;
}

void vkf_test_expect_same(vkf_test_everything *a, vkf_test_everything *b, const char *what)
{
    assert_int_equal(a->count, b->count);
    if (memcmp(a->values, b->values, a->count * sizeof *a->values) != 0)
        fail_msg("%s: parameters or moments have changed", what);
    if (memcmp(&a->state, &b->state, sizeof a->state) != 0)
        fail_msg("%s: counters have changed", what);
    free(a->values);
    free(b->values);
}
