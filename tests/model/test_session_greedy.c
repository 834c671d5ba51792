// Greedy decoding with the key/value cache against full decoding of the growing prefix; rows and their neighbours.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/model_files.h"

#define BATCH 6u
#define SOURCE 8u
#define MAX_LEN 10u
#define MAX_VOCAB 24u

typedef struct output {
    int32_t ids[BATCH * MAX_LEN];
    uint32_t lengths[BATCH];
} output;

static const vkf_session_desc whole = {
    .max_batch = BATCH,
    .max_source_len = SOURCE,
    .max_target_len = MAX_LEN,
    .max_logit_rows = MAX_LEN,
    .attention_weights = VKF_ATTENTION_CROSS,
};

// Padding at the end, in the middle, at the front, nowhere, and one row of padding alone.
static void make_sources(vkf_test_gpu *gpu, const vkf_model_config *config, int32_t *out_ids)
{
    for (size_t i = 0; i < BATCH * SOURCE; i++)
        out_ids[i] = 4 + (int32_t)vkf_test_random_below(&gpu->random, config->source_vocab - 4);
    for (size_t s = 0; s < SOURCE; s++) {
        if (s >= 5)
            out_ids[s] = config->pad_id;
        if (s == 3 || s == 4)
            out_ids[SOURCE + s] = config->pad_id;
        if (s < 2)
            out_ids[2 * SOURCE + s] = config->pad_id;
        out_ids[4 * SOURCE + s] = config->pad_id;
        if (s >= 1)
            out_ids[5 * SOURCE + s] = config->pad_id;
    }
}

static void greedy(vkf_session *session, uint32_t batch, uint32_t source_len, const int32_t *sources, uint32_t max_len,
                   int32_t *out_ids, uint32_t *out_lengths)
{
    const vkf_greedy_args args = {
        .batch = batch,
        .source_len = source_len,
        .source_ids = sources,
        .max_len = max_len,
        .out_ids = out_ids,
        .out_lengths = out_lengths,
    };
    assert_int_equal(vkf_session_greedy(session, &args), VKF_OK);
}

static void encode(vkf_session *session, uint32_t batch, uint32_t source_len, const int32_t *sources)
{
    const vkf_encode_args args = {.batch = batch, .source_len = source_len, .source_ids = sources};
    assert_int_equal(vkf_session_encode(session, &args), VKF_OK);
}

// Logits (batch, target_len, vocab) of the first target_len tokens of rows that are `stride` tokens long.
static void decode(vkf_session *session, uint32_t batch, const int32_t *ids, uint32_t stride, uint32_t target_len,
                   float *out_logits)
{
    int32_t packed[BATCH * MAX_LEN];
    for (size_t b = 0; b < batch; b++)
        memcpy(packed + b * target_len, ids + b * stride, target_len * sizeof *ids);
    const vkf_decode_args args = {.target_len = target_len, .target_ids = packed, .out_logits = out_logits};
    assert_int_equal(vkf_session_decode(session, &args), VKF_OK);
}

static float *eos_bias(vkf_test_rig *rig)
{
    return &vkf_test_weight_of(&rig->weights, "generator.bias")->values[rig->weights.config.eos_id];
}

// The smallest lead of any token over eos in a row that may not end, the last place aside: eos there ends nothing
// early.
static double smallest_lead(const vkf_model_config *config, const float *logits)
{
    double smallest = INFINITY;
    for (size_t t = 0; t + 2 < MAX_LEN; t++) {
        double best = -INFINITY;
        const float *row = logits + t * config->target_vocab;
        for (size_t id = 0; id < config->target_vocab; id++)
            best = fmax(best, (int32_t)id == config->eos_id ? -INFINITY : (double)row[id]);
        smallest = fmin(smallest, best - (double)row[config->eos_id]);
    }
    return smallest;
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

// Gives eos a bias with which half of the rows end before max_len and the others do not.
static void balance_eos(vkf_test_rig *rig, const int32_t *sources)
{
    const vkf_model_config *config = &rig->weights.config;
    double leads[BATCH];
    output out;
    float logits[BATCH * (MAX_LEN - 1) * MAX_VOCAB];
    *eos_bias(rig) = -50;
    vkf_test_rig_reload(rig);
    greedy(rig->session, BATCH, SOURCE, sources, MAX_LEN, out.ids, out.lengths);
    decode(rig->session, BATCH, out.ids, MAX_LEN, MAX_LEN - 1, logits);
    for (size_t b = 0; b < BATCH; b++) {
        assert_int_equal(out.lengths[b], MAX_LEN);
        leads[b] = smallest_lead(config, logits + b * (MAX_LEN - 1) * config->target_vocab);
    }
    qsort(leads, BATCH, sizeof leads[0], ascending);
    *eos_bias(rig) += (float)((leads[BATCH / 2 - 1] + leads[BATCH / 2]) / 2);
    vkf_test_rig_reload(rig);
}

// Rows are [bos, ..., eos] and padding; returns how many end before max_len.
static uint32_t check_rows(const vkf_model_config *config, const output *out)
{
    uint32_t ended = 0;
    for (size_t b = 0; b < BATCH; b++) {
        const int32_t *row = out->ids + b * MAX_LEN;
        uint32_t length = out->lengths[b];
        assert_in_range(length, 2, MAX_LEN);
        assert_int_equal(row[0], config->bos_id);
        for (uint32_t t = 1; t + 1 < length; t++)
            assert_int_not_equal(row[t], config->eos_id);
        for (uint32_t t = length; t < MAX_LEN; t++)
            assert_int_equal(row[t], config->pad_id);
        if (length < MAX_LEN)
            assert_int_equal(row[length - 1], config->eos_id);
        ended += length < MAX_LEN;
    }
    return ended;
}

static float largest(const float *values, size_t count)
{
    float best = values[0];
    for (size_t i = 1; i < count; i++)
        best = values[i] > best ? values[i] : best;
    return best;
}

// Every token is the largest logit of the prefix before it, up to what rounding may decide.
static void check_prefixes(vkf_test_rig *rig, const int32_t *sources, const output *out)
{
    const vkf_model_config *config = &rig->weights.config;
    float logits[BATCH * MAX_LEN * MAX_VOCAB];
    float tied = rig->dtype == VKF_DTYPE_F32 ? 1e-4f : 3e-2f;
    encode(rig->session, BATCH, SOURCE, sources);
    for (uint32_t t = 1; t < MAX_LEN; t++) {
        decode(rig->session, BATCH, out->ids, MAX_LEN, t, logits);
        for (size_t b = 0; b < BATCH; b++) {
            const float *last = logits + (b * t + t - 1) * config->target_vocab;
            float best = largest(last, config->target_vocab);
            int32_t id = out->ids[b * MAX_LEN + t];
            if (t < out->lengths[b] && last[id] < best - tied)
                fail_msg("row %zu, token %u: %d has logit %g, the largest is %g, seed %llu", b, t, id, (double)last[id],
                         (double)best, (unsigned long long)rig->gpu->seed);
        }
    }
}

// A random model, its session and sources for it.
static vkf_test_rig make_rig(void **state, const vkf_model_config *config, vkf_dtype dtype, int32_t *out_sources)
{
    vkf_test_rig rig;
    vkf_test_rig_make(vkf_test_gpu_of(state), config, dtype, &whole, &rig);
    make_sources(rig.gpu, config, out_sources);
    return rig;
}

static void check_greedy(void **state, const vkf_model_config *config)
{
    int32_t sources[BATCH * SOURCE];
    output out;
    vkf_test_rig rig = make_rig(state, config, VKF_DTYPE_F32, sources);
    balance_eos(&rig, sources);
    greedy(rig.session, BATCH, SOURCE, sources, 0, out.ids, out.lengths);
    assert_int_equal(check_rows(config, &out), BATCH / 2);
    check_prefixes(&rig, sources, &out);
    vkf_test_rig_free(&rig);
}

static void test_greedy_equals_decode_pre_norm(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    check_greedy(state, &config);
}

static void test_greedy_equals_decode_post_norm_shared(void **state)
{
    vkf_model_config config = vkf_test_small_seq2seq();
    config.norm_first = false;
    config.activation = VKF_ACTIVATION_GELU_ERF;
    config.share_embedding = true;
    config.tie_projection = true;
    config.target_vocab = config.source_vocab;
    config.num_encoder_layers = 1;
    config.num_decoder_layers = 3;
    check_greedy(state, &config);
}

static void test_greedy_equals_decode_odd_sizes(void **state)
{
    vkf_model_config config = vkf_test_small_seq2seq();
    config.d_model = 21;
    config.num_heads = 3;
    config.dim_feedforward = 13;
    config.target_vocab = 7;
    check_greedy(state, &config);
}

static void test_greedy_equals_decode_f16(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    int32_t sources[BATCH * SOURCE];
    output out;
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F16, sources);
    greedy(rig.session, BATCH, SOURCE, sources, 0, out.ids, out.lengths);
    (void)check_rows(&config, &out);
    check_prefixes(&rig, sources, &out);
    vkf_test_rig_free(&rig);
}

// Two rows that should be one: where they part, the two tokens have the same logit but for rounding.
static void check_same_row(vkf_test_rig *rig, const int32_t *source, const int32_t *a, const int32_t *b,
                           const char *what)
{
    uint32_t at = 0, vocab = rig->weights.config.target_vocab;
    float logits[MAX_LEN * MAX_VOCAB];
    while (at < MAX_LEN && a[at] == b[at])
        at++;
    if (at == MAX_LEN)
        return;
    encode(rig->session, 1, SOURCE, source);
    decode(rig->session, 1, a, MAX_LEN, at, logits);
    const float *last = logits + (at - 1) * vocab;
    if (fabsf(last[a[at]] - last[b[at]]) > 1e-4f)
        fail_msg("%s: token %u is %d, in the batch it was %d, seed %llu", what, at, b[at], a[at],
                 (unsigned long long)rig->gpu->seed);
}

static void test_greedy_rows_alone(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    static const uint32_t unpadded[BATCH] = {5, SOURCE, SOURCE, SOURCE, SOURCE, 1}; // up to the padding at the end
    int32_t sources[BATCH * SOURCE], ids[MAX_LEN];
    uint32_t length = 0;
    output out;
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F32, sources);
    balance_eos(&rig, sources);
    greedy(rig.session, BATCH, SOURCE, sources, MAX_LEN, out.ids, out.lengths);
    for (size_t b = 0; b < BATCH; b++) {
        greedy(rig.session, 1, SOURCE, sources + b * SOURCE, MAX_LEN, ids, &length);
        check_same_row(&rig, sources + b * SOURCE, out.ids + b * MAX_LEN, ids, "alone");
        greedy(rig.session, 1, unpadded[b], sources + b * SOURCE, MAX_LEN, ids, &length);
        check_same_row(&rig, sources + b * SOURCE, out.ids + b * MAX_LEN, ids, "alone and without padding");
    }
    vkf_test_rig_free(&rig);
}

static void test_decode_is_bitwise_the_same_beside_other_rows(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    int32_t sources[BATCH * SOURCE], targets[BATCH * MAX_LEN];
    float first[BATCH * MAX_LEN * MAX_VOCAB], second[BATCH * MAX_LEN * MAX_VOCAB];
    size_t row = (size_t)MAX_LEN * config.target_vocab;
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F32, sources);
    vkf_test_fill_ids(&rig.gpu->random, targets, BATCH * MAX_LEN, config.target_vocab);
    encode(rig.session, BATCH, SOURCE, sources);
    decode(rig.session, BATCH, targets, MAX_LEN, MAX_LEN, first);
    vkf_test_fill_ids(&rig.gpu->random, sources + SOURCE, (BATCH - 1) * SOURCE, config.source_vocab);
    vkf_test_fill_ids(&rig.gpu->random, targets + MAX_LEN, (BATCH - 1) * MAX_LEN, config.target_vocab);
    encode(rig.session, BATCH, SOURCE, sources);
    decode(rig.session, BATCH, targets, MAX_LEN, MAX_LEN, second);
    assert_memory_equal(first, second, row * sizeof *first);
    assert_memory_not_equal(first + row, second + row, row * sizeof *first);
    vkf_test_rig_free(&rig);
}

static void test_greedy_max_len(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    int32_t sources[BATCH * SOURCE];
    output longest, shorter;
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F32, sources);
    balance_eos(&rig, sources);
    greedy(rig.session, BATCH, SOURCE, sources, 0, longest.ids, longest.lengths);
    for (uint32_t max_len = 1; max_len < MAX_LEN; max_len++) {
        memset(&shorter, 0xee, sizeof shorter);
        greedy(rig.session, BATCH, SOURCE, sources, max_len, shorter.ids, shorter.lengths);
        for (size_t b = 0; b < BATCH; b++) {
            assert_memory_equal(shorter.ids + b * max_len, longest.ids + b * MAX_LEN, max_len * sizeof(int32_t));
            assert_int_equal(shorter.lengths[b], max_len < longest.lengths[b] ? max_len : longest.lengths[b]);
        }
        assert_int_equal(shorter.ids[BATCH * max_len], (int32_t)0xeeeeeeee);
    }
    vkf_test_rig_free(&rig);
}

static bool count_calls(void *user, uint32_t done, uint32_t total, const char *what)
{
    assert_int_equal(total, MAX_LEN);
    assert_non_null(what);
    assert_int_equal(done, ++*(uint32_t *)user);
    return true;
}

static void test_greedy_ends_when_every_row_has_ended(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    int32_t sources[BATCH * SOURCE];
    output out;
    uint32_t calls = 0;
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F32, sources);
    *eos_bias(&rig) = 50;
    vkf_test_rig_reload(&rig);
    const vkf_greedy_args args = {.batch = BATCH,
                                  .source_len = SOURCE,
                                  .source_ids = sources,
                                  .out_ids = out.ids,
                                  .out_lengths = out.lengths,
                                  .progress = count_calls,
                                  .progress_user = &calls};
    assert_int_equal(vkf_session_greedy(rig.session, &args), VKF_OK);
    assert_int_equal(check_rows(&config, &out), BATCH);
    for (size_t b = 0; b < BATCH; b++)
        assert_int_equal(out.lengths[b], 2);
    assert_int_equal(calls, 1);
    vkf_test_rig_free(&rig);
}

// Attention weights --------------------------------------------------------------------------------------------------

// Sums are 1 and nothing falls on padding; a row that has nothing but padding attends to nothing.
static void check_weights(const int32_t *source, int32_t pad_id, const float *weights, size_t queries)
{
    bool padding_alone = true;
    for (size_t s = 0; s < SOURCE; s++)
        padding_alone = padding_alone && source[s] == pad_id;
    for (size_t q = 0; q < queries; q++) {
        double sum = 0;
        for (size_t s = 0; s < SOURCE; s++) {
            float weight = weights[q * SOURCE + s];
            assert_true(weight >= 0 && (weight == 0 || source[s] != pad_id));
            sum += (double)weight;
        }
        assert_true(fabs(sum - (padding_alone ? 0 : 1)) < 1e-5);
    }
}

static void test_attention_of_greedy_equals_decode(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    enum { HEADS = 4, LAYERS = 2, QUERIES = MAX_LEN - 1, PLANE = HEADS * QUERIES * SOURCE };
    int32_t sources[BATCH * SOURCE];
    output out;
    float gathered[LAYERS * BATCH][PLANE], whole_run[PLANE], logits[BATCH * QUERIES * MAX_VOCAB];
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F32, sources);
    *eos_bias(&rig) = -50; // every row runs to the end
    vkf_test_rig_reload(&rig);
    greedy(rig.session, BATCH, SOURCE, sources, 0, out.ids, out.lengths);
    for (uint32_t i = 0; i < LAYERS * BATCH; i++) {
        assert_int_equal(
            vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, i / BATCH, i % BATCH, QUERIES, gathered[i]),
            VKF_OK);
        check_weights(sources + i % BATCH * SOURCE, config.pad_id, gathered[i], HEADS * QUERIES);
    }
    decode(rig.session, BATCH, out.ids, MAX_LEN, QUERIES, logits);
    for (uint32_t i = 0; i < LAYERS * BATCH; i++) {
        assert_int_equal(
            vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, i / BATCH, i % BATCH, QUERIES, whole_run),
            VKF_OK);
        assert_close(gathered[i], whole_run, PLANE, 1e-5, 1e-5,
                     vkf_test_label(rig.gpu, "layer %u row %u", i / BATCH, i % BATCH));
    }
    vkf_test_rig_free(&rig);
}

static void test_attention_of_the_first_positions(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    enum { HEADS = 4, QUERIES = 6, FEWER = 2 };
    int32_t sources[BATCH * SOURCE], targets[BATCH * QUERIES] = {0};
    float all[HEADS * QUERIES * SOURCE], some[HEADS * FEWER * SOURCE], logits[BATCH * QUERIES * MAX_VOCAB];
    vkf_test_rig rig = make_rig(state, &config, VKF_DTYPE_F32, sources);
    encode(rig.session, BATCH, SOURCE, sources);
    decode(rig.session, BATCH, targets, QUERIES, QUERIES, logits);
    assert_int_equal(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 2, QUERIES, all), VKF_OK);
    assert_int_equal(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 2, FEWER, some), VKF_OK);
    for (size_t h = 0; h < HEADS; h++)
        assert_memory_equal(some + h * FEWER * SOURCE, all + h * QUERIES * SOURCE, FEWER * SOURCE * sizeof *all);
    vkf_test_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_equals_decode_pre_norm),
        cmocka_unit_test(test_greedy_equals_decode_post_norm_shared),
        cmocka_unit_test(test_greedy_equals_decode_odd_sizes),
        cmocka_unit_test(test_greedy_equals_decode_f16),
        cmocka_unit_test(test_greedy_rows_alone),
        cmocka_unit_test(test_decode_is_bitwise_the_same_beside_other_rows),
        cmocka_unit_test(test_greedy_max_len),
        cmocka_unit_test(test_greedy_ends_when_every_row_has_ended),
        cmocka_unit_test(test_attention_of_greedy_equals_decode),
        cmocka_unit_test(test_attention_of_the_first_positions),
    };
    return cmocka_run_group_tests_name("greedy decoding", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
