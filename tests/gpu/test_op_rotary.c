// Rotary position embedding against the reference: sizes of heads, parts of them, types, and rows that lie apart, with
// each head normalised before or not.
//
// Bounds. f32: one product and one sum of values below about 5, and the norm's root: 1e-5. f16: its rounding, 2^-11
// relative; what is turned may cancel, but only after both products were made in float32.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/rotary.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define NO_WEIGHT VKF_DTYPE_COUNT

typedef struct rotary_case {
    uint32_t batch, len, heads, head_dim;
    uint32_t rotary_dim;
    uint32_t first_position;
    vkf_dtype x, out, weight; // NO_WEIGHT: not normalised
    bool no_table, in_place;
    uint32_t x_first, x_gap; // elements before the first position's heads, and between those of positions
    uint32_t out_first, out_gap;
    uint32_t out_len; // positions that out holds of each entry; 0: len
    float eps;
    bool inverse;
} rotary_case;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_rotary(work, args);
}

// Angles as the models have them: position / 10000^(2 i / rotary_dim).
static vkf_test_operand *make_table(vkf_test_ops *ops, const rotary_case *c)
{
    uint32_t positions = c->first_position + c->len, half = c->rotary_dim / 2;
    vkf_test_operand *table = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(positions, c->rotary_dim));
    for (uint32_t position = 0; position < positions; position++)
        for (uint32_t i = 0; i < half; i++) {
            double angle = position / pow(10000, (double)i / half);
            table->values[position * c->rotary_dim + i] = (float)cos(angle);
            table->values[position * c->rotary_dim + half + i] = (float)sin(angle);
        }
    vkf_test_upload(ops, table);
    return table;
}

typedef struct rotary_operands {
    vkf_test_operand *x, *out, *table, *weight;
} rotary_operands;

static vkf__rotary_args args_of(const rotary_case *c, const rotary_operands *o)
{
    uint32_t width = c->heads * c->head_dim, out_len = c->out_len > 0 ? c->out_len : c->len;
    return (vkf__rotary_args){
        .label = "rotary",
        .x = SPAN(o->x),
        .out = c->in_place ? (vkf__span){0} : SPAN(o->out),
        .table = o->table ? SPAN(o->table) : (vkf__span){0},
        .weight = o->weight ? SPAN(o->weight) : (vkf__span){0},
        .batch = c->batch,
        .len = c->len,
        .q_heads = c->in_place ? c->heads : 0,
        .k_heads = c->in_place ? 0 : c->heads,
        .head_dim = c->head_dim,
        .rotary_dim = c->rotary_dim,
        .first_position = c->first_position,
        .x_first = c->x_first,
        .x_batch = c->len * (width + c->x_gap),
        .x_row = width + c->x_gap,
        .k_first = c->out_first,
        .out_batch = out_len * (width + c->out_gap),
        .out_row = width + c->out_gap,
        .eps = c->eps,
        .inverse = c->inverse,
    };
}

// What becomes of `heads` heads from element `from` of x on, in `out` from `to` on.
static void expect_heads(const vkf__rotary_args *args, const rotary_operands *o, uint32_t heads, uint32_t from,
                         const float *weight, uint32_t to, bool in_place, float *out)
{
    vkf__ref_rotary(&(vkf__ref_rotary_desc){
        .batch = args->batch,
        .len = args->len,
        .heads = heads,
        .head_dim = args->head_dim,
        .rotary_dim = args->rotary_dim,
        .first_position = args->first_position,
        .x = o->x->values,
        .table = vkf_test_values_of(o->table),
        .weight = weight,
        .x_first = from,
        .x_batch = args->x_batch,
        .x_row = args->x_row,
        .out_first = to,
        .out_batch = in_place ? args->x_batch : args->out_batch,
        .out_row = in_place ? args->x_row : args->out_row,
        .eps = args->eps,
        .out = out,
        .inverse = args->inverse,
    });
}

static float *copy_of(const vkf_test_operand *operand)
{
    float *copy = vkf_test_floats(operand->count);
    memcpy(copy, operand->values, operand->count * sizeof *copy);
    return copy;
}

static float *expect(const vkf__rotary_args *args, const rotary_operands *o)
{
    float *expected = copy_of(o->out);
    bool in_place = args->q_heads > 0;
    expect_heads(args, o, args->q_heads + args->k_heads, args->x_first, vkf_test_values_of(o->weight),
                 in_place ? args->x_first : args->k_first, in_place, expected);
    return expected;
}

static void check(vkf_test_ops *ops, const rotary_case *c, const rotary_operands *o)
{
    const vkf__rotary_args args = args_of(c, o);
    float *expected = expect(&args, o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "rotary", emit, &args), "rotary");
    vkf_test_download(ops, o->out);
    assert_close(o->out->values, expected, o->out->count, 1e-5, c->out == VKF_DTYPE_F16 ? 0x1p-11 + 1e-5 : 1e-5,
                 vkf_test_label(&ops->gpu, "rotary %s to %s, (%u, %u, %u, %u), %u turned%s%s, weight %s%s",
                                vkf_dtype_name(c->x), vkf_dtype_name(c->out), c->batch, c->len, c->heads, c->head_dim,
                                c->rotary_dim, c->no_table ? " by no table" : "", c->inverse ? " back" : "",
                                o->weight ? vkf_dtype_name(c->weight) : "none", c->in_place ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

static rotary_operands make_operands(vkf_test_ops *ops, const rotary_case *c)
{
    uint32_t width = c->heads * c->head_dim, out_len = c->out_len > 0 ? c->out_len : c->len;
    rotary_operands o = {.x = vkf_test_normal(ops, c->x, 0, 1, SHAPE(c->batch, c->len, width + c->x_gap))};
    o.out = c->in_place ? o.x : vkf_test_output(ops, c->out, SHAPE(c->batch, out_len, width + c->out_gap));
    if (!c->no_table)
        o.table = make_table(ops, c);
    if (c->weight != NO_WEIGHT)
        o.weight = vkf_test_uniform(ops, c->weight, 0.5f, 1.5f, SHAPE(c->head_dim));
    return o;
}

static void run(vkf_test_ops *ops, const rotary_case *c)
{
    const rotary_operands o = make_operands(ops, c);
    check(ops, c, &o);
}

static const vkf_dtype TYPES[][2] = {
    {VKF_DTYPE_F32, VKF_DTYPE_F32},
    {VKF_DTYPE_F32, VKF_DTYPE_F16},
    {VKF_DTYPE_F16, VKF_DTYPE_F16},
};
static const vkf_dtype WEIGHTS[] = {NO_WEIGHT, VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};

static void test_rotary_types_and_weights(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t t = 0; t < COUNT_OF(TYPES); t++)
        for (size_t w = 0; w < COUNT_OF(WEIGHTS); w++)
            for (int variant = 0; variant < 4; variant++)
                run(ops, &(rotary_case){.batch = 2,
                                        .len = 5,
                                        .heads = 3,
                                        .head_dim = 14,
                                        .rotary_dim = 14,
                                        .x = TYPES[t][0],
                                        .out = TYPES[t][1],
                                        .weight = WEIGHTS[w],
                                        .no_table = variant & 1,
                                        .in_place = (variant & 2) && TYPES[t][0] == TYPES[t][1],
                                        .eps = 1e-6f});
}

// Around the workgroups of 16, 64 and 256 invocations, whose steps are of 4 elements each; the whole head turned, a
// quarter of it, and two elements.
static void test_rotary_head_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {2, 3, 4, 15, 16, 17, 63, 64, 65, 80, 96, 127, 128, 129, 255, 256, 257, 1030};
    for (size_t i = 0; i < COUNT_OF(dims); i++) {
        const uint32_t turned[] = {dims[i] / 2 * 2, (dims[i] / 4 + 1) / 2 * 2, 2};
        for (size_t r = 0; r < COUNT_OF(turned); r++)
            run(ops, &(rotary_case){.batch = 1,
                                    .len = 3,
                                    .heads = 2,
                                    .head_dim = dims[i],
                                    .rotary_dim = turned[r] > 0 ? turned[r] : 2,
                                    .weight = r == 1 ? NO_WEIGHT : VKF_DTYPE_F32,
                                    .in_place = r == 2,
                                    .eps = 1e-5f});
    }
}

// As a decoder has it: heads that stand within rows of queries, keys and values, turned into a cache's rows behind
// those of earlier positions. What lies between them stays as it was.
static void test_rotary_into_a_cache(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t t = 0; t < 2 * COUNT_OF(TYPES); t++)
        run(ops, &(rotary_case){.batch = 3,
                                .len = 4,
                                .heads = 2,
                                .head_dim = 10,
                                .rotary_dim = 6,
                                .first_position = 7,
                                .x = TYPES[t / 2][0],
                                .out = TYPES[t / 2][1],
                                .weight = t % 2 ? VKF_DTYPE_BF16 : NO_WEIGHT,
                                .x_first = 20,
                                .x_gap = 33,
                                .out_first = 7 * 23 + 3,
                                .out_gap = 3,
                                .out_len = 12,
                                .eps = 1e-5f});
}

// The backward pass: gradients of queries in place, and of keys out of place.
static void test_rotary_backward(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {2, 3, 15, 16, 17, 64, 65, 257};
    for (size_t i = 0; i < 2 * COUNT_OF(dims); i++)
        run(ops, &(rotary_case){.batch = 2,
                                .len = 3,
                                .heads = 2,
                                .head_dim = dims[i / 2],
                                .rotary_dim = i % 4 == 3 ? 2 : dims[i / 2] / 2 * 2,
                                .first_position = 5,
                                .weight = NO_WEIGHT,
                                .in_place = i % 2,
                                .inverse = true});
}

// What a change of x[j] by 1 changes in out, weighed by dout: a rotation is linear, so this difference is its slope.
static double slope_of(vkf__ref_rotary_desc desc, size_t count, size_t j, const float *dout)
{
    float x[2][26], out[2][26];
    double slope = 0;
    for (int side = 0; side < 2; side++) {
        memcpy(x[side], desc.x, count * sizeof(float));
        x[side][j] += side ? 0.5f : -0.5f;
    }
    for (int side = 0; side < 2; side++) {
        vkf__ref_rotary_desc moved = desc;
        moved.x = x[side];
        moved.out = out[side];
        vkf__ref_rotary(&moved);
    }
    for (size_t i = 0; i < count; i++)
        slope += (double)dout[i] * ((double)out[1][i] - out[0][i]);
    return slope;
}

// The bound is the rounding of 26 outputs below 4 to float32.
static void test_inverse_reference_has_the_slope_of_differences(void **state)
{
    (void)state;
    enum { HEADS = 2, DIM = 13, TURNED = 10, COUNT = HEADS * DIM };
    float x[COUNT], dout[COUNT], dx[COUNT], slopes[COUNT], table[TURNED];
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = 0.11f * (float)i - 1.3f;
        dout[i] = 1 - 0.07f * (float)i;
    }
    for (size_t i = 0; i < TURNED / 2; i++) {
        table[i] = (float)cos(0.9 * (double)i + 0.3);
        table[TURNED / 2 + i] = (float)sin(0.9 * (double)i + 0.3);
    }
    const vkf__ref_rotary_desc forward = {
        .batch = 1, .len = 1, .heads = HEADS, .head_dim = DIM, .rotary_dim = TURNED, .x = x, .table = table};
    vkf__ref_rotary_desc backward = forward;
    backward.x = dout;
    backward.out = dx;
    backward.inverse = true;
    vkf__ref_rotary(&backward);
    for (size_t j = 0; j < COUNT; j++)
        slopes[j] = (float)slope_of(forward, COUNT, j, dout);
    assert_close(dx, slopes, COUNT, 1e-5, 0, "the inverse rotation's reference");
}

// More rows than one dimension of a grid holds.
static void test_rotary_many_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int weight = 0; weight < 2; weight++)
        run(ops, &(rotary_case){.batch = 2,
                                .len = 1200,
                                .heads = 30,
                                .head_dim = 6,
                                .rotary_dim = 6,
                                .weight = weight ? VKF_DTYPE_F32 : NO_WEIGHT,
                                .in_place = true,
                                .eps = 1e-5f});
}

enum { Q_HEADS = 4, K_HEADS = 2, HEAD_DIM = 10, PAST = 5, CACHE_LEN = 9, LEN = 3, BATCH = 2 };

// Rows of queries, keys and values, and the caches of keys and of values behind each other.
#define STEP_ROW ((Q_HEADS + 2 * K_HEADS) * HEAD_DIM + 1)
#define STEP_OUT_ROW (K_HEADS * HEAD_DIM)
#define STEP_V_CACHE (BATCH * CACHE_LEN * STEP_OUT_ROW + 3) // three elements lie between the caches

static rotary_operands make_step_operands(vkf_test_ops *ops, vkf_dtype x, vkf_dtype out, bool normalised)
{
    const rotary_case c = {.first_position = PAST, .len = LEN, .rotary_dim = 6};
    return (rotary_operands){
        .x = vkf_test_normal(ops, x, 0, 1, SHAPE(BATCH, LEN, STEP_ROW)),
        .out = vkf_test_output(ops, out, SHAPE(2 * STEP_V_CACHE)),
        .table = make_table(ops, &c),
        .weight = normalised ? vkf_test_uniform(ops, x, 0.5f, 1.5f, SHAPE(2, HEAD_DIM)) : NULL,
    };
}

static vkf__rotary_args step_args(const rotary_operands *o)
{
    return (vkf__rotary_args){
        .label = "rotary",
        .x = SPAN(o->x),
        .out = SPAN(o->out),
        .table = SPAN(o->table),
        .weight = o->weight ? SPAN(o->weight) : (vkf__span){0},
        .k_weight = HEAD_DIM,
        .batch = BATCH,
        .len = LEN,
        .q_heads = Q_HEADS,
        .k_heads = K_HEADS,
        .v_heads = K_HEADS,
        .head_dim = HEAD_DIM,
        .rotary_dim = 6,
        .first_position = PAST,
        .x_first = 1,
        .x_batch = LEN * STEP_ROW,
        .x_row = STEP_ROW,
        .k_first = PAST * STEP_OUT_ROW,
        .v_first = STEP_V_CACHE + PAST * STEP_OUT_ROW,
        .out_batch = CACHE_LEN * STEP_OUT_ROW,
        .out_row = STEP_OUT_ROW,
        .eps = 1e-5f,
    };
}

// A decoder's step in one dispatch: queries stay, keys and values go behind those of earlier positions, values as they
// are.
static void check_step(vkf_test_ops *ops, vkf_dtype x, vkf_dtype out, bool normalised)
{
    const rotary_operands o = make_step_operands(ops, x, out, normalised);
    const vkf__rotary_args args = step_args(&o);
    vkf__rotary_args values = args;
    float *queries = copy_of(o.x), *cache = copy_of(o.out);
    const float *weight = vkf_test_values_of(o.weight);
    values.rotary_dim = 0;
    expect_heads(&args, &o, Q_HEADS, 1, weight, 1, true, queries);
    expect_heads(&args, &o, K_HEADS, 1 + Q_HEADS * HEAD_DIM, weight ? weight + HEAD_DIM : NULL, args.k_first, false,
                 cache);
    expect_heads(&values, &o, K_HEADS, 1 + (Q_HEADS + K_HEADS) * HEAD_DIM, NULL, args.v_first, false, cache);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "rotary", emit, &args), "rotary");
    vkf_test_download(ops, o.x);
    vkf_test_download(ops, o.out);
    const char *label = vkf_test_label(&ops->gpu, "rotary of a step, %s to %s%s", vkf_dtype_name(x),
                                       vkf_dtype_name(out), normalised ? ", normalised" : "");
    assert_close(o.x->values, queries, o.x->count, 1e-5, x == VKF_DTYPE_F16 ? 0x1p-11 + 1e-5 : 1e-5, label);
    assert_close(o.out->values, cache, o.out->count, 1e-5, out == VKF_DTYPE_F16 ? 0x1p-11 + 1e-5 : 1e-5, label);
    free(queries);
    free(cache);
    vkf_test_ops_reset(ops);
}

static void test_rotary_of_a_step(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t t = 0; t < 2 * COUNT_OF(TYPES); t++)
        check_step(ops, TYPES[t / 2][0], TYPES[t / 2][1], t % 2);
}

static void test_rotary_nan_stays_in_its_head(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const rotary_case c = {
        .batch = 1, .len = 2, .heads = 3, .head_dim = 16, .rotary_dim = 8, .weight = VKF_DTYPE_F32, .eps = 1e-5f};
    const rotary_operands o = make_operands(ops, &c);
    o.x->values[16 + 3] = NAN;
    o.x->values[4 * 16 + 15] = INFINITY;
    vkf_test_upload(ops, o.x);
    check(ops, &c, &o);
}

static void test_rotary_of_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const rotary_case c = {.batch = 2, .len = 2, .heads = 3, .head_dim = 16, .rotary_dim = 8, .weight = NO_WEIGHT};
    for (int batch = 0; batch < 2; batch++) {
        const rotary_operands o = make_operands(ops, &c);
        vkf__rotary_args args = args_of(&c, &o);
        if (batch)
            args.batch = 0;
        else
            args.len = 0;
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "rotary", emit, &args), "rotary of nothing");
        vkf_test_assert_untouched(ops, o.out);
        vkf_test_ops_reset(ops);
    }
}

static void test_rotary_too_many_rows_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const rotary_case c = {.batch = 1, .len = 1, .heads = 1, .head_dim = 2, .rotary_dim = 2, .weight = NO_WEIGHT};
    const rotary_operands o = make_operands(ops, &c);
    vkf__rotary_args args = args_of(&c, &o);
    args.batch = args.len = 1u << 16;
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "rotary", emit, &args), VKF_ERROR_TOO_LARGE, "2^32");
    vkf_test_assert_untouched(ops, o.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rotary_types_and_weights), VKF_OPS_TEST(test_rotary_head_sizes),
        VKF_OPS_TEST(test_rotary_into_a_cache),      VKF_OPS_TEST(test_rotary_of_a_step),
        VKF_OPS_TEST(test_rotary_many_rows),         VKF_OPS_TEST(test_rotary_nan_stays_in_its_head),
        VKF_OPS_TEST(test_rotary_backward),          VKF_OPS_TEST(test_inverse_reference_has_the_slope_of_differences),
        VKF_OPS_TEST(test_rotary_of_nothing),        VKF_OPS_TEST(test_rotary_too_many_rows_are_refused),
    };
    // Without 16-bit storage: what touches half storage.
    const struct CMUnitTest packed[] = {
        VKF_OPS_TEST(test_rotary_types_and_weights),
        VKF_OPS_TEST(test_rotary_into_a_cache),
        VKF_OPS_TEST(test_rotary_of_a_step),
    };
    int failed = cmocka_run_group_tests_name("op_rotary", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_rotary packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
