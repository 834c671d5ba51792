// Tensors side by side, and elements that an index gathers and scatters, against loops over their coordinates. All of
// it is exact.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/op_fixture.h"

#define RANK 4

static uint32_t count_of(const uint32_t *shape)
{
    return shape[0] * shape[1] * shape[2] * shape[3];
}

// The place of coordinates in rows of a shape; a size of 1 is repeated.
static uint32_t place_of(const uint32_t *shape, const uint32_t *at)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < RANK; i++)
        place = place * shape[i] + (shape[i] > 1 ? at[i] : 0);
    return place;
}

static void coordinates_of(const uint32_t *shape, uint32_t place, uint32_t *out_at)
{
    for (uint32_t i = RANK; i-- > 0; place /= shape[i])
        out_at[i] = place % shape[i];
}

// concat -------------------------------------------------------------------------------------------------------------

static void run_concat(vkf_test_ops *ops, vkf_dtype dtype, const uint32_t *shape, uint32_t dim, const uint32_t *sizes)
{
    enum { INPUTS = 3 };
    vkf_tensor inputs[INPUTS];
    const vkf_test_operand *x[INPUTS];
    uint32_t out_shape[RANK];
    memcpy(out_shape, shape, sizeof out_shape);
    out_shape[dim] = 0;
    for (uint32_t i = 0; i < INPUTS; i++) {
        uint32_t own[RANK];
        memcpy(own, shape, sizeof own);
        own[dim] = sizes[i];
        out_shape[dim] += sizes[i];
        x[i] = sizes[i] > 0 ? vkf_test_normal(ops, dtype, 0, 1, RANK, own) : NULL;
        inputs[i] = x[i] ? x[i]->tensor : (vkf_tensor){.dtype = dtype, .rank = RANK};
        memcpy(inputs[i].shape, own, sizeof own);
    }
    vkf_test_operand *out = vkf_test_output(ops, dtype, RANK, out_shape);
    const vkf_concat_desc desc = {inputs, INPUTS, (int32_t)dim - (dim % 2 ? RANK : 0), out->tensor};
    float *expected = vkf_test_floats(out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t at[RANK], which = 0;
        coordinates_of(out_shape, i, at);
        for (; at[dim] >= sizes[which]; which++)
            at[dim] -= sizes[which];
        expected[i] = x[which]->values[place_of(x[which]->tensor.shape, at)];
    }
    vkf_test_assert_ok(ops, vkf_concat(ops->gpu.context, &desc), "vkf_concat");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "concat along %u of (%u, %u, %u, %u), %s", dim, shape[0], shape[1], shape[2],
                                shape[3], vkf_dtype_name(dtype)));
    free(expected);
    vkf_test_ops_reset(ops);
}

// Sizes of one, odd, prime, about a workgroup's, and none.
static void test_concat_along_each_dimension(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shapes[][RANK] = {{2, 3, 5, 7}, {1, 1, 1, 1}, {3, 2, 1, 129}};
    static const uint32_t sizes[][3] = {{1, 1, 1}, {3, 0, 5}, {127, 128, 129}};
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
        for (uint32_t dim = 0; dim < RANK; dim++)
            for (size_t i = 0; i < COUNT_OF(sizes); i++)
                run_concat(ops, (s + dim + i) % 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32, shapes[s], dim, sizes[i]);
}

// gather and scatter -------------------------------------------------------------------------------------------------

typedef struct index_case {
    const char *what;
    uint32_t moved[RANK], index[RANK];
    uint32_t dim, len;
} index_case;

static const index_case INDEX_CASES[] = {
    {"one element", {1, 1, 1, 1}, {1, 1, 1, 1}, 3, 1},
    {"elements along the last", {2, 3, 5, 7}, {2, 3, 5, 7}, 3, 11},
    {"elements along the first", {3, 2, 5, 7}, {3, 2, 5, 7}, 0, 4},
    {"rows of a table", {1, 1, 129, 37}, {1, 1, 129, 1}, 2, 200},
    {"columns for all rows", {5, 4, 3, 2}, {1, 4, 1, 1}, 1, 9},
    {"keys to their cache", {3, 2, 4, 64}, {3, 1, 4, 1}, 2, 17},
    {"another place in each head", {2, 5, 1, 131}, {2, 5, 1, 1}, 2, 23},
    {"a large one", {2, 8, 64, 65}, {2, 1, 64, 65}, 2, 96},
};

// Different ones along the dimension, some of them counted from the end, and some outside.
static vkf_test_operand *make_index(vkf_test_ops *ops, const index_case *c, bool repeated)
{
    const uint32_t count = count_of(c->index);
    int32_t *index = calloc(count, sizeof *index);
    assert_non_null(index);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at[RANK];
        coordinates_of(c->index, i, at);
        const uint32_t step = at[c->dim];
        at[c->dim] = 0;
        const uint32_t shift = 3 * (at[0] + 5 * at[1] + 7 * at[2] + 11 * at[3]);
        const int32_t len = (int32_t)c->len, to = (int32_t)((step / (repeated ? 3 : 1) + shift) % c->len);
        index[i] = i % 5 == 1 ? to - len : i % 7 == 3 ? to - 2 * len : i % 11 == 4 ? to + len : to;
    }
    vkf_test_operand *operand = vkf_test_ids(ops, index, RANK, c->index);
    free(index);
    return operand;
}

// Where the element at these coordinates of what moves has its place in the other tensor; false where it is outside.
static bool find(const index_case *c, const int32_t *index, const uint32_t *wide_shape, const uint32_t *at,
                 uint32_t *out_place)
{
    uint32_t wide[RANK];
    memcpy(wide, at, sizeof wide);
    const int32_t given = index[place_of(c->index, at)], to = given < 0 ? given + (int32_t)c->len : given;
    wide[c->dim] = (uint32_t)to;
    *out_place = to >= 0 && to < (int32_t)c->len ? place_of(wide_shape, wide) : 0;
    return to >= 0 && to < (int32_t)c->len;
}

static void run_gather(vkf_test_ops *ops, const index_case *c, vkf_dtype dtype)
{
    uint32_t wide[RANK];
    memcpy(wide, c->moved, sizeof wide);
    wide[c->dim] = c->len;
    vkf_test_operand *x = vkf_test_normal(ops, dtype, 0, 1, RANK, wide), *index = make_index(ops, c, true);
    vkf_test_operand *out = vkf_test_output(ops, dtype, RANK, c->moved);
    const vkf_gather_desc desc = {x->tensor, index->tensor, out->tensor, (int32_t)c->dim};
    float *expected = vkf_test_floats(out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t at[RANK], place;
        coordinates_of(c->moved, i, at);
        expected[i] = find(c, index->ids, wide, at, &place) ? x->values[place] : 0;
    }
    vkf_test_assert_ok(ops, vkf_gather(ops->gpu.context, &desc), "vkf_gather");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "gather, %s, %s", c->what, vkf_dtype_name(dtype)));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_gather(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(INDEX_CASES); i++)
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
            run_gather(ops, &INDEX_CASES[i], (vkf_dtype)dtype);
}

static double reduced(vkf_reduction reduction, double before, double value)
{
    switch (reduction) {
    case VKF_REDUCTION_ADD:
        return before + value;
    case VKF_REDUCTION_MULTIPLY:
        return before * value;
    case VKF_REDUCTION_MAX:
        return isnan(before) || isnan(value) ? NAN : fmax(before, value);
    case VKF_REDUCTION_MIN:
        return isnan(before) || isnan(value) ? NAN : fmin(before, value);
    default:
        return value;
    }
}

// Integers, and powers of two where they are multiplied: exact in halves, too.
static void run_scatter(vkf_test_ops *ops, const index_case *c, vkf_dtype dtype, vkf_reduction reduction, bool in_place)
{
    const bool product = reduction == VKF_REDUCTION_MULTIPLY;
    uint32_t wide[RANK];
    memcpy(wide, c->moved, sizeof wide);
    wide[c->dim] = c->len;
    vkf_test_operand *x = vkf_test_integers(ops, dtype, 1, 8, RANK, wide);
    vkf_test_operand *source = product ? vkf_test_constant(ops, dtype, -2, RANK, c->moved)
                                       : vkf_test_integers(ops, dtype, -9, 9, RANK, c->moved);
    vkf_test_operand *index = make_index(ops, c, reduction != VKF_REDUCTION_NONE);
    vkf_test_operand *out = in_place ? x : vkf_test_output(ops, dtype, RANK, wide);
    const vkf_scatter_desc desc = {x->tensor,   index->tensor,          source->tensor,
                                   out->tensor, (int32_t)c->dim - RANK, reduction};
    float *expected = vkf_test_floats(x->count);
    memcpy(expected, x->values, x->count * sizeof *expected);
    for (uint32_t i = 0; i < source->count; i++) {
        uint32_t at[RANK], place;
        coordinates_of(c->moved, i, at);
        if (find(c, index->ids, wide, at, &place))
            expected[place] = (float)reduced(reduction, (double)expected[place], (double)source->values[i]);
    }
    vkf_test_assert_ok(ops, vkf_scatter(ops->gpu.context, &desc), "vkf_scatter");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 0, 0,
                 vkf_test_label(&ops->gpu, "scatter, %s, %s, reduction %d%s", c->what, vkf_dtype_name(dtype),
                                (int)reduction, in_place ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_scatter(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(INDEX_CASES); i++)
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
            for (int reduction = 0; reduction < VKF_REDUCTION_COUNT; reduction++)
                run_scatter(ops, &INDEX_CASES[i], (vkf_dtype)dtype, (vkf_reduction)reduction, (i + (size_t)dtype) % 2);
}

// More for one place than an invocation takes in one dispatch.
static void test_scatter_sums_any_number(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const index_case c = {"70,001 for 5 places", {1, 1, 1, 70001}, {1, 1, 1, 70001}, 3, 5};
    run_scatter(ops, &c, VKF_DTYPE_F32, VKF_REDUCTION_ADD, false);
    run_scatter(ops, &c, VKF_DTYPE_F32, VKF_REDUCTION_MAX, true);
}

static void test_scatter_of_what_is_no_number(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float values[] = {1, NAN, INFINITY, 2}, news[] = {NAN, 5, -INFINITY, NAN};
    const float expected[VKF_REDUCTION_COUNT][4] = {
        [VKF_REDUCTION_NONE] = {NAN, 5, -INFINITY, NAN},       [VKF_REDUCTION_ADD] = {NAN, NAN, NAN, NAN},
        [VKF_REDUCTION_MULTIPLY] = {NAN, NAN, -INFINITY, NAN}, [VKF_REDUCTION_MAX] = {NAN, NAN, INFINITY, NAN},
        [VKF_REDUCTION_MIN] = {NAN, NAN, -INFINITY, NAN},
    };
    const int32_t places[] = {0, 1, 2, 3};
    for (int reduction = 0; reduction < VKF_REDUCTION_COUNT; reduction++) {
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4));
        const vkf_scatter_desc desc = {.x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(4))->tensor,
                                       .index = vkf_test_ids(ops, places, SHAPE(4))->tensor,
                                       .source = vkf_test_values(ops, VKF_DTYPE_F32, news, SHAPE(4))->tensor,
                                       .out = out->tensor,
                                       .reduction = (vkf_reduction)reduction};
        vkf_test_assert_ok(ops, vkf_scatter(ops->gpu.context, &desc), "vkf_scatter");
        vkf_test_download(ops, out);
        assert_close(out->values, expected[reduction], 4, 0, 0, vkf_test_label(&ops->gpu, "reduction %d", reduction));
        vkf_test_ops_reset(ops);
    }
}

// One of them stays, and not the bits of both.
static void test_scatter_of_many_to_one_place(void **state)
{
    enum { COUNT = 3001 };
    vkf_test_ops *ops = vkf_test_ops_of(state);
    float *values = vkf_test_floats(COUNT);
    int32_t places[COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = i % 2 ? 1 : -2;
        places[i] = i % 3;
    }
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(3));
    const vkf_scatter_desc desc = {.x = vkf_test_constant(ops, VKF_DTYPE_F16, 0, SHAPE(3))->tensor,
                                   .index = vkf_test_ids(ops, places, SHAPE(COUNT))->tensor,
                                   .source = vkf_test_values(ops, VKF_DTYPE_F16, values, SHAPE(COUNT))->tensor,
                                   .out = out->tensor};
    for (int turn = 0; turn < 20; turn++) {
        vkf_test_assert_ok(ops, vkf_scatter(ops->gpu.context, &desc), "vkf_scatter");
        vkf_test_download(ops, out);
        for (int i = 0; i < 3; i++)
            assert_true(out->values[i] == 1 || out->values[i] == -2);
    }
    free(values);
}

#define TESTS                                                                                              \
    VKF_OPS_TEST(test_concat_along_each_dimension), VKF_OPS_TEST(test_gather), VKF_OPS_TEST(test_scatter), \
        VKF_OPS_TEST(test_scatter_of_many_to_one_place)

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS, VKF_OPS_TEST(test_scatter_sums_any_number),
                                       VKF_OPS_TEST(test_scatter_of_what_is_no_number)};
    const struct CMUnitTest packed[] = {TESTS};
    int failed = cmocka_run_group_tests_name("op_index", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_index packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
