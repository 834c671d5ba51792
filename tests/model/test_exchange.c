// Trainers that share their steps: threads of this process, each with a model of its own, which meet to add up.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/random.h"
#include "training/trainer.h"

#define DIRECTORY VKF_TEST_SOURCE_DIR "/tests/pretrained/gpt2"
#define TRAINERS 3
#define BATCH 4
#define LENGTH 5
#define STEPS 4
#define MOST_SENT 64

// Where trainers wait for each other, and what each has brought.
typedef struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t all_there;
    uint32_t count, here, round;
    struct {
        float *values[MOST_SENT];
        uint64_t counts[MOST_SENT];
        uint32_t sent;
        double *numbers;
    } of[TRAINERS];
} meeting;

// One of the trainers, which runs in a thread.
typedef struct member {
    meeting *meeting;
    uint32_t index;
    vkf_model *model;
    vkf_trainer *trainer;
    vkf_train_batch batches[2]; // of each step
    vkf_train_result result;
    vkf_status status;
    uint32_t sent;
    bool progressed;
} member;

static void must(vkf_test_gpu *gpu, vkf_status status)
{
    if (status != VKF_OK)
        fail_msg("%s", gpu->last_error);
}

static void meet(meeting *m)
{
    pthread_mutex_lock(&m->mutex);
    const uint32_t round = m->round;
    if (++m->here == m->count) {
        m->here = 0;
        m->round++;
        pthread_cond_broadcast(&m->all_there);
    }
    while (m->round == round)
        pthread_cond_wait(&m->all_there, &m->mutex);
    pthread_mutex_unlock(&m->mutex);
}

static bool begin(void *user, float *values, uint64_t count)
{
    member *own = user;
    const uint32_t at = own->meeting->of[own->index].sent++;
    if (at >= MOST_SENT)
        return false;
    own->meeting->of[own->index].values[at] = values;
    own->meeting->of[own->index].counts[at] = count;
    own->sent++;
    return true;
}

static void progress(void *user)
{
    ((member *)user)->progressed = true;
}

static void add_all(meeting *m)
{
    for (uint32_t at = 0; at < m->of[0].sent; at++)
        for (uint64_t i = 0; i < m->of[0].counts[at]; i++) {
            float sum = 0;
            for (uint32_t k = 0; k < m->count; k++)
                sum += m->of[k].values[at][i];
            for (uint32_t k = 0; k < m->count; k++)
                m->of[k].values[at][i] = sum;
        }
}

// Only here are the sums taken: what begin() was given has to stay.
static bool finish(void *user)
{
    member *own = user;
    meet(own->meeting);
    if (own->index == 0)
        add_all(own->meeting);
    meet(own->meeting);
    own->meeting->of[own->index].sent = 0;
    return true;
}

static bool sum(void *user, double *values, uint32_t count)
{
    member *own = user;
    meeting *m = own->meeting;
    double sums[8] = {0};
    m->of[own->index].numbers = values;
    meet(m);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < m->count; k++)
            sums[i] += m->of[k].numbers[i];
    meet(m);
    memcpy(values, sums, count * sizeof *values);
    return true;
}

// ---- trainers

typedef struct settings {
    float dropout;
    uint32_t lora_rank;
} settings;

static void open_member(vkf_test_gpu *gpu, meeting *m, uint32_t index, settings of, member *own)
{
    const vkf_model_desc model = {.directory = DIRECTORY, .trainable = true};
    const vkf_train_exchange exchange = {
        .index = index,
        .count = m ? m->count : 0,
        .begin = begin,
        .progress = progress,
        .finish = finish,
        .sum = sum,
        .user = own,
        .bucket_bytes = 1024,
    };
    const vkf_trainer_desc desc = {
        .max_batch = BATCH,
        .max_target_len = LENGTH,
        .optimizer = VKF_OPTIMIZER_SGD,
        .rate = 0.1,
        .momentum = 0.9,
        .max_norm = 1,
        .dropout = of.dropout,
        .lora_rank = of.lora_rank,
        .exchange = m ? &exchange : NULL,
    };
    *own = (member){.meeting = m, .index = index};
    must(gpu, vkf_model_load(gpu->context, &model, &own->model));
    must(gpu, vkf_trainer_create(own->model, &desc, &own->trainer));
}

static void close_member(member *own)
{
    vkf_trainer_destroy(&own->trainer);
    vkf_model_destroy(&own->model);
}

static void *run_member(void *user)
{
    member *own = user;
    for (int i = 0; i < STEPS && own->status == VKF_OK; i++)
        own->status = vkf_trainer_step(own->trainer, own->batches, 2, &own->result);
    return NULL;
}

static void run_together(meeting *m, member *members)
{
    pthread_t threads[TRAINERS];
    for (uint32_t i = 0; i < m->count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
    for (uint32_t i = 0; i < m->count; i++)
        pthread_join(threads[i], NULL);
}

static meeting meeting_of(uint32_t count)
{
    return (meeting){.mutex = PTHREAD_MUTEX_INITIALIZER, .all_there = PTHREAD_COND_INITIALIZER, .count = count};
}

// Two batches of BATCH sequences, some of whose positions are not learned.
typedef struct texts {
    int32_t ids[2][BATCH * LENGTH], labels[2][BATCH * LENGTH];
} texts;

static void draw(vkf_test_gpu *gpu, const member *of, texts *out)
{
    const uint32_t words = of->model->config.target_vocab;
    for (int i = 0; i < 2; i++) {
        vkf_test_fill_ids(&gpu->random, out->ids[i], (size_t)BATCH * LENGTH, words);
        vkf_test_fill_ids(&gpu->random, out->labels[i], (size_t)BATCH * LENGTH, words);
    }
    for (int i = 0; i < 7; i++)
        out->labels[0][i] = -100;
}

typedef struct rows {
    uint32_t begin, end;
} rows;

// Gives a trainer its sequences of both batches.
static void share(member *own, texts *all, const rows of[2])
{
    for (int i = 0; i < 2; i++)
        own->batches[i] = (vkf_train_batch){
            .batch = of[i].end - of[i].begin,
            .target_len = LENGTH,
            .target_ids = all->ids[i] + of[i].begin * LENGTH,
            .labels = all->labels[i] + of[i].begin * LENGTH,
        };
}

static float *read_values(vkf_test_gpu *gpu, const member *own, size_t *out_count)
{
    size_t count = 0;
    const vkf__parameters *p = &own->trainer->parameters;
    for (size_t i = 0; i < p->range_count; i++)
        count += p->ranges[i].count;
    float *values = malloc(count * sizeof *values), *at = values;
    assert_non_null(values);
    for (size_t i = 0; i < p->range_count; at += p->ranges[i++].count)
        must(gpu, vkf_buffer_read(p->ranges[i].value.buffer, p->ranges[i].value.offset_bytes, at,
                                  p->ranges[i].count * sizeof *at));
    *out_count = count;
    return values;
}

static double distance(vkf_test_gpu *gpu, const member *a, const member *b)
{
    size_t count = 0;
    double most = 0;
    float *left = read_values(gpu, a, &count), *right = read_values(gpu, b, &count);
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)left[i] - right[i]));
    free(left);
    free(right);
    return most;
}

// ---- tests

static const rows whole[2] = {{0, BATCH}, {0, BATCH}}, none[2];
// The last trainer has no part in the second batch of a step.
static const rows shares[TRAINERS][2] = {{{0, 1}, {0, 1}}, {{1, 2}, {1, BATCH}}, {{2, BATCH}, {0, 0}}};

static void check_together(vkf_test_gpu *gpu, settings of)
{
    meeting m = meeting_of(TRAINERS);
    member alone, members[TRAINERS];
    texts all;
    open_member(gpu, NULL, 0, of, &alone);
    draw(gpu, &alone, &all);
    share(&alone, &all, whole);
    for (uint32_t i = 0; i < TRAINERS; i++) {
        open_member(gpu, &m, i, of, &members[i]);
        share(&members[i], &all, shares[i]);
    }
    (void)run_member(&alone);
    run_together(&m, members);
    must(gpu, alone.status);
    for (uint32_t i = 0; i < TRAINERS; i++) {
        must(gpu, members[i].status);
        assert_int_equal(members[i].result.labels, alone.result.labels);
        assert_true(fabs(members[i].result.loss - alone.result.loss) < 1e-5);
        assert_true(distance(gpu, &alone, &members[i]) < 2e-6);
        assert_true(distance(gpu, &members[0], &members[i]) == 0);
        assert_true(members[i].progressed);
    }
    for (uint32_t i = 0; i < TRAINERS; i++)
        close_member(&members[i]);
    close_member(&alone);
}

static void test_trainers_step_together_as_one_does(void **state)
{
    check_together(*state, (settings){0});
}

static void test_adapters_step_together_as_one_does(void **state)
{
    check_together(*state, (settings){.lora_rank = 4});
}

static void test_gradients_leave_while_the_pass_goes_on(void **state)
{
    vkf_test_gpu *gpu = *state;
    meeting m = meeting_of(1);
    member own;
    open_member(gpu, &m, 0, (settings){0}, &own);
    const vkf__exchange *x = own.trainer->exchange;
    assert_true(x->bucket_count > 4);
    assert_true(x->pieces[0].done + 1 < own.trainer->pass.plan.node_count);
    for (size_t i = 1; i < x->bucket_count; i++)
        assert_true(x->buckets[i].begin == x->buckets[i - 1].end);
    for (size_t i = 1; i < x->piece_count; i++)
        assert_true(x->pieces[i].done >= x->pieces[i - 1].done);
    close_member(&own);
}

static void open_pair(vkf_test_gpu *gpu, meeting *m, texts *all, member members[2])
{
    for (uint32_t i = 0; i < 2; i++)
        open_member(gpu, m, i, (settings){.dropout = 0.5f}, &members[i]);
    draw(gpu, &members[0], all);
    share(&members[0], all, whole);
    share(&members[1], all, none);
}

static void spoil(vkf_test_gpu *gpu, const member *own, float value)
{
    const vkf__span *at = &own->trainer->parameters.ranges[0].value;
    must(gpu, vkf_buffer_write(at->buffer, at->offset_bytes, &value, sizeof value));
}

static void test_trainers_that_differ_are_refused(void **state)
{
    vkf_test_gpu *gpu = *state;
    meeting m = meeting_of(2);
    member members[2];
    texts all;
    open_pair(gpu, &m, &all, members);
    assert_true(members[0].trainer->graph.dropout.seed != members[1].trainer->graph.dropout.seed);
    spoil(gpu, &members[1], 7);
    run_together(&m, members);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(members[i].status, VKF_ERROR_INVALID_ARGUMENT);
        close_member(&members[i]);
    }
}

// The other one, which has no part in the step, hears of it.
static void test_a_loss_that_is_not_finite_ends_the_step_of_all(void **state)
{
    vkf_test_gpu *gpu = *state;
    meeting m = meeting_of(2);
    member members[2];
    texts all;
    open_pair(gpu, &m, &all, members);
    for (int i = 0; i < 2; i++)
        spoil(gpu, &members[i], NAN);
    for (int i = 0; i < 2; i++)
        all.ids[i][0] = 0;
    run_together(&m, members);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(members[i].status, VKF_ERROR_NOT_FINITE);
        close_member(&members[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trainers_step_together_as_one_does),
        cmocka_unit_test(test_adapters_step_together_as_one_does),
        cmocka_unit_test(test_gradients_leave_while_the_pass_goes_on),
        cmocka_unit_test(test_trainers_that_differ_are_refused),
        cmocka_unit_test(test_a_loss_that_is_not_finite_ends_the_step_of_all),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
