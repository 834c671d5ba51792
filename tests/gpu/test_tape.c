// A small network of the statements that models are made of, and back: every gradient against central differences of
// the same network in double precision on the host.
//
// Bounds. Sums are of at most 21 products of about 1, so that 1e-5 is far more than rounding makes. With a step of 1e-5
// the differences are off by their square, and by 1e-11 for what double precision leaves of a loss.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "base/train/id_order.h"
#include "model/family/relative_bias.h"
#include "op/copy.h"
#include "op/run_once.h"
#include "op/train/dropout.h"
#include "support/op_fixture.h"
#include "support/run_resized.h"
#include "training/records.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define SEED 0x123456789abcdefull

enum { BATCH = 3, LEN = 5, TOKENS = BATCH * LEN }; // at most
enum { VOCAB = 7, DIM = 8, TYPES = 3, ROWS = 9, FIRST_POSITION = 2, HEADS = 2, ROTARY_DIM = 2 };
enum { CLASSES = 6, FIRST_COLUMN = 2, COLUMNS = 5, FIRST_ROW = 1, PART = 2 };
enum { TABLE, POSITIONS, TYPE_TABLE, WEIGHT, LEAVES };
enum { OF_WORDS, OF_CLASSES, OF_ROWS, LOSSES };

static const uint32_t shapes[LEAVES][2] = {{VOCAB, DIM}, {ROWS, DIM}, {TYPES, DIM}, {CLASSES, COLUMNS}};
static const float factors[LOSSES] = {0.9f, 0.4f, -1.3f};

// What a run reads, and its sizes.
typedef struct network {
    uint32_t batch, len;
    bool position_ids;
    vkf_test_operand *leaves[LEAVES], *gradients[LEAVES], *losses[LOSSES], *labels[LOSSES];
    vkf_test_operand *ids, *types, *lists[3], *lengths, *fixed, *rotary;
    uint32_t unique[3]; // of words, positions, types
    vkf__tape *tape;
} network;

static const vkf__dropout_state dropouts[] = {{0.25f, SEED, 3, 7}, {0.25f, SEED, 4, 7}};

// On the device ------------------------------------------------------------------------------------------------------

static vkf_status record_words(const network *n, const vkf__value *leaves, vkf__value *out_value)
{
    const vkf__token_embedding words = {
        .label = "words",
        .table = leaves[TABLE],
        .positions = leaves[POSITIONS],
        .ids = SPAN(n->ids),
        .lists = SPAN(n->lists[0]),
        .position_lists = SPAN(n->lists[1]),
        .batch = n->batch,
        .len = n->len,
        .vocab = VOCAB,
        .position_rows = ROWS,
        .first_position = FIRST_POSITION,
        .position_ids = n->position_ids ? TOKENS : 0,
        .unique = n->unique[0],
        .unique_positions = n->unique[1],
        .scale = 1.5f,
    };
    const vkf__token_embedding types = {
        .label = "types",
        .table = leaves[TYPE_TABLE],
        .fixed_positions = SPAN(n->fixed),
        .ids = SPAN(n->types),
        .lists = SPAN(n->lists[2]),
        .batch = n->batch,
        .len = n->len,
        .vocab = TYPES,
        .first_position = 1000,
        .unique = n->unique[2],
        .scale = 1,
    };
    vkf__value word, type, dropped;
    VKF_RETURN_IF_ERROR(vkf__record_embedding(n->tape, &words, &word));
    VKF_RETURN_IF_ERROR(vkf__record_embedding(n->tape, &types, &type));
    VKF_RETURN_IF_ERROR(vkf__record_residual(n->tape, "residual", word, type, &dropouts[0], &word));
    VKF_RETURN_IF_ERROR(vkf__record_dropout(n->tape, "dropout", word, &dropouts[1], &dropped));
    return vkf__record_sum(n->tape, "sum", dropped, word, out_value);
}

static vkf_status record_loss(const network *n, int index, vkf__value logits)
{
    const vkf__loss_state loss = {SPAN(n->labels[index]), -100, index == OF_CLASSES ? 0.1f : 0, factors[index]};
    vkf__value losses;
    VKF_RETURN_IF_ERROR(vkf__record_cross_entropy(n->tape, "loss", logits, &loss, &losses));
    const vkf__tape_value *at = vkf__tape_at(n->tape, losses);
    const vkf__copy_args copy = {"losses",         .x = at->span, .out = SPAN(n->losses[index]), .outer = 1, .rows = 1,
                                 .cols = at->rows, .alpha = 1};
    return vkf__emit_copy(n->tape->work, &copy);
}

// The sum of the means over all positions and over those within the lengths.
static vkf_status state_pooled(const network *n, vkf__value x, vkf__value *out_value)
{
    const vkf__span lengths = SPAN(n->lengths), none = {0};
    vkf__value within, all;
    VKF_RETURN_IF_ERROR(vkf__record_pool(n->tape, "within", x, &lengths, VKF_POOLING_MEAN, n->batch, n->len, &within));
    VKF_RETURN_IF_ERROR(vkf__record_pool(n->tape, "all", x, &none, VKF_POOLING_MEAN, n->batch, n->len, &all));
    return vkf__record_residual(n->tape, "pooled", within, all, &(vkf__dropout_state){0}, out_value);
}

static vkf_status emit(vkf__work *work, const void *args)
{
    const network *n = args;
    const vkf__span rotary = SPAN(n->rotary);
    vkf__value leaves[LEAVES], x, same, turned, part, pooled, logits;
    vkf__tape_begin(n->tape, work);
    for (size_t i = 0; i < LEAVES; i++) {
        const vkf__span span = SPAN(n->leaves[i]), gradient = SPAN(n->gradients[i]);
        VKF_RETURN_IF_ERROR(vkf__tape_leaf(n->tape, &span, &gradient, shapes[i][0], shapes[i][1], &leaves[i]));
    }
    VKF_RETURN_IF_ERROR(record_words(n, leaves, &x));
    VKF_RETURN_IF_ERROR(vkf__record_dropout(n->tape, "none", x, &(vkf__dropout_state){0}, &same));
    assert_int_equal(same, x);
    VKF_RETURN_IF_ERROR(
        vkf__record_rotary(n->tape, "rotary", x, &rotary, ROTARY_DIM, n->batch, n->len, HEADS, DIM / HEADS, &turned));
    VKF_RETURN_IF_ERROR(vkf__record_columns(n->tape, "columns", x, FIRST_COLUMN, COLUMNS, &part));
    VKF_RETURN_IF_ERROR(vkf__record_product(n->tape, "classes", part, leaves[WEIGHT], 0.5f, &logits));
    VKF_RETURN_IF_ERROR(record_loss(n, OF_CLASSES, logits));
    VKF_RETURN_IF_ERROR(state_pooled(n, turned, &pooled));
    VKF_RETURN_IF_ERROR(vkf__record_product(n->tape, "vocabulary", pooled, leaves[TABLE], 0.7f, &logits));
    VKF_RETURN_IF_ERROR(record_loss(n, OF_WORDS, logits));
    VKF_RETURN_IF_ERROR(vkf__record_rows(n->tape, "rows", turned, FIRST_ROW, PART, &part));
    VKF_RETURN_IF_ERROR(vkf__record_product(n->tape, "pairs", part, pooled, 0.3f, &logits));
    VKF_RETURN_IF_ERROR(record_loss(n, OF_ROWS, logits));
    return vkf__tape_back(n->tape);
}

// On the host --------------------------------------------------------------------------------------------------------

static void drop(const vkf__dropout_state *dropout, size_t count, double *x)
{
    const uint32_t seed[2] = {(uint32_t)dropout->seed, (uint32_t)(dropout->seed >> 32)};
    for (size_t i = 0; i < count; i++) {
        const uint32_t counter[4] = {(uint32_t)i / 4, 0, dropout->stream, dropout->step};
        uint32_t words[4];
        vkf__philox(counter, seed, words);
        x[i] *= words[i % 4] >= vkf__dropout_threshold(dropout->p) ? 1 / (1 - (double)dropout->p) : 0;
    }
}

static uint32_t position_of(const network *n, uint32_t token)
{
    return n->position_ids ? (uint32_t)n->ids->ids[TOKENS + token] : FIRST_POSITION + token % n->len;
}

static void embed(const network *n, double *const leaves[], double *x)
{
    const uint32_t tokens = n->batch * n->len;
    double types[TOKENS * DIM];
    for (uint32_t i = 0; i < tokens * DIM; i++) {
        const uint32_t token = i / DIM, col = i % DIM;
        x[i] = 1.5 * leaves[TABLE][(uint32_t)n->ids->ids[token] * DIM + col] +
               leaves[POSITIONS][position_of(n, token) * DIM + col];
        types[i] = leaves[TYPE_TABLE][(uint32_t)n->types->ids[token] * DIM + col] +
                   (double)n->fixed->values[token % n->len * DIM + col];
    }
    drop(&dropouts[0], (size_t)tokens * DIM, types);
    for (uint32_t i = 0; i < tokens * DIM; i++)
        x[i] += types[i];
    memcpy(types, x, tokens * DIM * sizeof *x);
    drop(&dropouts[1], (size_t)tokens * DIM, types);
    for (uint32_t i = 0; i < tokens * DIM; i++)
        x[i] += types[i];
}

static void turn(const network *n, const double *x, double *out)
{
    const uint32_t width = DIM / HEADS, half = ROTARY_DIM / 2;
    for (uint32_t i = 0; i < n->batch * n->len * DIM; i++) {
        const float *angles = n->rotary->values + i / DIM % n->len * ROTARY_DIM;
        const uint32_t col = i % width;
        const double cosine = (double)angles[col % half], sine = (double)angles[half + col % half];
        out[i] = col >= ROTARY_DIM ? x[i]
                 : col < half      ? x[i] * cosine - x[i + half] * sine
                                   : x[i] * cosine + x[i - half] * sine;
    }
}

// factor * the loss of each of `rows`: that of the row of a b^T, all cols of which are `scale` times the products.
static double loss_of(const network *n, int index, uint32_t rows, const double *a, uint32_t row, uint32_t depth,
                      uint32_t cols, const double *b, double scale)
{
    const double smoothing = index == OF_CLASSES ? 0.1 : 0;
    double sum = 0;
    for (uint32_t r = 0; r < rows; r++) {
        double logits[CLASSES + VOCAB], total = 0, mean = 0;
        for (uint32_t c = 0; c < cols; c++) {
            logits[c] = 0;
            for (uint32_t i = 0; i < depth; i++)
                logits[c] += scale * a[r * row + i] * b[c * depth + i];
            total += exp(logits[c]);
            mean += logits[c] / cols;
        }
        const int32_t label = n->labels[index]->ids[r];
        if (label >= 0)
            sum += log(total) - (1 - smoothing) * logits[label] - smoothing * mean;
    }
    return (double)factors[index] * sum;
}

static double network_loss(const network *n, double *const leaves[])
{
    double x[TOKENS * DIM], turned[TOKENS * DIM], pooled[BATCH * DIM] = {0};
    embed(n, leaves, x);
    turn(n, x, turned);
    for (uint32_t i = 0; i < n->batch * n->len * DIM; i++) {
        const uint32_t token = i / DIM, b = token / n->len, length = (uint32_t)n->lengths->ids[b];
        pooled[b * DIM + i % DIM] += turned[i] / n->len;
        pooled[b * DIM + i % DIM] += token % n->len < length ? turned[i] / length : 0;
    }
    return loss_of(n, OF_CLASSES, n->batch * n->len, x + FIRST_COLUMN, DIM, COLUMNS, CLASSES, leaves[WEIGHT], 0.5) +
           loss_of(n, OF_WORDS, n->batch, pooled, DIM, DIM, VOCAB, leaves[TABLE], 0.7) +
           loss_of(n, OF_ROWS, PART, turned + FIRST_ROW * DIM, DIM, DIM, n->batch, pooled, 0.3);
}

// --------------------------------------------------------------------------------------------------------------------

static vkf_test_operand *lists_of(vkf_test_ops *ops, const int32_t *ids, uint32_t tokens, uint32_t vocab,
                                  uint32_t *out_unique)
{
    int32_t lists[3 * TOKENS + 1] = {0};
    uint32_t scratch[ROWS];
    *out_unique = vkf__id_order(ids, tokens, vocab, scratch, lists);
    return vkf_test_ids(ops, lists, SHAPE(COUNT_OF(lists)));
}

static vkf_test_operand *random_ids(vkf_test_ops *ops, uint32_t count, int32_t low, int32_t high)
{
    const vkf_test_operand *numbers = vkf_test_integers(ops, VKF_DTYPE_F32, low, high, SHAPE(count));
    int32_t ids[2 * TOKENS];
    for (uint32_t i = 0; i < count; i++)
        ids[i] = (int32_t)numbers->values[i];
    return vkf_test_ids(ops, ids, SHAPE(count));
}

// A tensor of angles' cosines and sines.
static vkf_test_operand *random_turns(vkf_test_ops *ops)
{
    vkf_test_operand *turns = vkf_test_uniform(ops, VKF_DTYPE_F32, -3, 3, SHAPE(LEN, ROTARY_DIM));
    for (uint32_t t = 0; t < LEN; t++) {
        float *angles = turns->values + t * ROTARY_DIM;
        angles[1] = sinf(angles[0]);
        angles[0] = cosf(angles[0]);
    }
    vkf_test_upload(ops, turns);
    return turns;
}

static void make_inputs(vkf_test_ops *ops, network *n)
{
    const uint32_t tokens = n->batch * n->len;
    int32_t positions[TOKENS];
    for (size_t i = 0; i < LEAVES; i++) {
        n->leaves[i] = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(shapes[i][0], shapes[i][1]));
        n->gradients[i] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(shapes[i][0], shapes[i][1]));
    }
    for (size_t i = 0; i < LOSSES; i++)
        n->losses[i] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(TOKENS));
    n->ids = random_ids(ops, 2 * TOKENS, 0, VOCAB - 1);
    n->types = random_ids(ops, TOKENS, 0, TYPES - 1);
    n->lengths = random_ids(ops, BATCH, 1, (int32_t)n->len);
    n->labels[OF_WORDS] = random_ids(ops, BATCH, 0, VOCAB - 1);
    n->labels[OF_CLASSES] = random_ids(ops, TOKENS, 0, CLASSES - 1);
    n->labels[OF_CLASSES]->ids[1] = -100;
    vkf_test_upload(ops, n->labels[OF_CLASSES]);
    n->labels[OF_ROWS] = random_ids(ops, PART, 0, (int32_t)n->batch - 1);
    n->fixed = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(LEN, DIM));
    n->rotary = random_turns(ops);
    for (uint32_t i = 0; i < tokens; i++)
        positions[i] = (int32_t)position_of(n, i);
    n->lists[0] = lists_of(ops, n->ids->ids, tokens, VOCAB, &n->unique[0]);
    n->lists[1] = lists_of(ops, positions, tokens, ROWS, &n->unique[1]);
    n->lists[2] = lists_of(ops, n->types->ids, tokens, TYPES, &n->unique[2]);
}

static void check_gradients(vkf_test_ops *ops, const network *n)
{
    double values[LEAVES][ROWS * DIM], *leaves[LEAVES];
    float slopes[ROWS * DIM];
    for (size_t i = 0; i < LEAVES; i++) {
        leaves[i] = values[i];
        for (size_t j = 0; j < n->leaves[i]->count; j++)
            values[i][j] = (double)n->leaves[i]->values[j];
    }
    for (size_t i = 0; i < LEAVES; i++) {
        for (size_t j = 0; j < n->leaves[i]->count; j++) {
            const double value = values[i][j];
            values[i][j] = value + 1e-5;
            const double above = network_loss(n, leaves);
            values[i][j] = value - 1e-5;
            slopes[j] = (float)((above - network_loss(n, leaves)) / 2e-5);
            values[i][j] = value;
        }
        vkf_test_download(ops, n->gradients[i]);
        assert_close(n->gradients[i]->values, slopes, n->leaves[i]->count, 1e-5, 1e-5,
                     vkf_test_label(&ops->gpu, "gradient %zu of a network, %u x %u%s", i, n->batch, n->len,
                                    n->position_ids ? ", with position ids" : ""));
    }
    const uint32_t rows[LOSSES] = {n->batch, n->batch * n->len, PART};
    float expected = (float)network_loss(n, leaves), found = 0;
    for (size_t i = 0; i < LOSSES; i++) {
        vkf_test_download(ops, n->losses[i]);
        for (uint32_t r = 0; r < rows[i]; r++)
            found += factors[i] * n->losses[i]->values[r];
    }
    assert_close(&found, &expected, 1, 1e-5, 1e-5, vkf_test_label(&ops->gpu, "loss of a network"));
}

static void check(vkf_test_ops *ops, uint32_t batch, uint32_t len, bool position_ids)
{
    vkf__tape tape;
    network n = {.batch = batch, .len = len, .position_ids = position_ids, .tape = &tape};
    vkf__tape_init(&tape, ops->gpu.context->device.host);
    make_inputs(ops, &n);
    network largest = n;
    largest.batch = BATCH;
    largest.len = LEN;
    largest.unique[0] = VOCAB;
    largest.unique[1] = ROWS;
    largest.unique[2] = TYPES;
    vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "network", emit, &largest, &n), "a network");
    vkf__tape_finish(&tape);
    check_gradients(ops, &n);
    vkf_test_ops_reset(ops);
}

static void test_gradients_are_slopes(void **state)
{
    check(vkf_test_ops_of(state), BATCH, LEN, false);
}

static void test_a_run_may_be_smaller_than_its_plan(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check(ops, 2, 3, true);
    check(ops, 1, 4, false);
}

// Biases by distance ------------------------------------------------------------------------------------------------

enum { BUCKETS = 6, DISTANCES = 2 * LEN - 1, BIAS_ROW = HEADS * DISTANCES };

typedef struct distances {
    vkf_test_operand *table, *gradient, *ids, *lists, *spread, *above; // above: the gradient of what is spread
    uint32_t len, unique;
    vkf__tape *tape;
    vkf__score_bias *places;
} distances;

static vkf_status emit_distances(vkf__work *work, const void *args)
{
    const distances *d = args;
    const vkf__span table = SPAN(d->table), gradient = SPAN(d->gradient), above = SPAN(d->above);
    vkf__distance_bias bias = {
        .ids = SPAN(d->ids), .lists = SPAN(d->lists), .len = d->len, .vocab = BUCKETS, .unique = d->unique};
    vkf__copy_args copy = {"spread",  .out = SPAN(d->spread),    .outer = 1,
                           .rows = 1, .cols = d->len * BIAS_ROW, .alpha = 1};
    vkf__tape_begin(d->tape, work);
    VKF_RETURN_IF_ERROR(vkf__tape_leaf(d->tape, &table, &gradient, BUCKETS, HEADS, &bias.table));
    VKF_RETURN_IF_ERROR(vkf__record_distance_bias(d->tape, "bias", &bias, d->places));
    copy.x = *vkf__tape_span(d->tape, d->places->value);
    VKF_RETURN_IF_ERROR(vkf__emit_copy(work, &copy));
    vkf__tape_seed(d->tape, d->places->value, &above);
    return vkf__tape_back(d->tape);
}

static void check_spread(vkf_test_ops *ops, const vkf_model_config *config, const distances *d, bool decoder)
{
    float expected[HEADS * LEN * LEN], found[HEADS * LEN * LEN];
    vkf__relative_bias(config, decoder, HEADS, d->len, d->table->values, expected);
    vkf_test_download(ops, d->spread);
    for (uint32_t i = 0; i < HEADS * d->len * d->len; i++) {
        const uint32_t h = i / (d->len * d->len), l = i / d->len % d->len, s = i % d->len;
        found[i] = d->spread->values[d->places->first + l * d->places->row + h * d->places->head + s];
    }
    assert_close(found, expected, HEADS * d->len * d->len, 0, 0,
                 vkf_test_label(&ops->gpu, "biases of %u positions, decoder %d", d->len, decoder));
}

static void check_distances(vkf_test_ops *ops, bool decoder, uint32_t len)
{
    const vkf_model_config config = {.relative_buckets = BUCKETS, .relative_distance = 4};
    int32_t ids[DISTANCES];
    float sums[BUCKETS * HEADS] = {0};
    vkf__tape tape;
    vkf__score_bias places;
    distances d = {.len = len, .tape = &tape, .places = &places};
    vkf__relative_buckets(&config, decoder, LEN, ids);
    d.table = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(BUCKETS, HEADS));
    d.gradient = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(BUCKETS, HEADS));
    d.above = vkf_test_integers(ops, VKF_DTYPE_F32, -9, 9, SHAPE(LEN, BIAS_ROW));
    d.spread = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(LEN, BIAS_ROW));
    d.ids = vkf_test_ids(ops, ids, SHAPE(DISTANCES));
    d.lists = lists_of(ops, ids, DISTANCES, BUCKETS, &d.unique);
    for (uint32_t i = 0; i < len * BIAS_ROW; i++)
        sums[(uint32_t)ids[i % DISTANCES] * HEADS + i % BIAS_ROW / DISTANCES] += d.above->values[i];
    vkf__tape_init(&tape, ops->gpu.context->device.host);
    distances largest = d;
    largest.len = LEN;
    vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "bias", emit_distances, &largest, &d), "biases");
    vkf__tape_finish(&tape);
    check_spread(ops, &config, &d, decoder);
    vkf_test_download(ops, d.gradient);
    assert_close(d.gradient->values, sums, BUCKETS * HEADS, 0, 0, vkf_test_label(&ops->gpu, "gradient of a table"));
    vkf_test_ops_reset(ops);
}

// All sums are of integers, and exact.
static void test_biases_by_distance(void **state)
{
    for (uint32_t len = 1; len <= LEN; len += 2)
        for (int decoder = 0; decoder < 2; decoder++)
            check_distances(vkf_test_ops_of(state), decoder, len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gradients_are_slopes),
        VKF_OPS_TEST(test_a_run_may_be_smaller_than_its_plan),
        VKF_OPS_TEST(test_biases_by_distance),
    };
    return cmocka_run_group_tests_name("tape", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
