// Errors between tensors against values worked out by hand, and the elements that they are taken from.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/program/lab/compare/stored_values.c"
#include "../../tools/program/lab/compare/tensor_error.c"

#define MOST 4096

static bool near(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * fabs(expected);
}

static vkf_tensor_range range_of(const double *values, size_t count)
{
    vkf_tensor_range range = {0};
    vkf_tensor_range_add(&range, values, count);
    return range;
}

// In pieces of `piece` elements.
static vkf_tensor_error compare_pieces(const double *tested, const double *reference, size_t count, size_t piece,
                                       double atol, double rtol)
{
    double a[MOST], b[MOST];
    assert_true(count <= MOST);
    vkf_tensor_range ranges[2] = {range_of(tested, count), range_of(reference, count)};
    vkf_tensor_error error = vkf_tensor_error_begin(&ranges[0], &ranges[1], atol, rtol);
    for (size_t i = 0; i < count; i += piece) {
        size_t here = count - i < piece ? count - i : piece;
        memcpy(a, tested + i, here * sizeof *a);
        memcpy(b, reference + i, here * sizeof *b);
        vkf_tensor_error_add(&error, a, b, here);
    }
    return error;
}

static vkf_tensor_error compare(const double *tested, const double *reference, size_t count)
{
    return compare_pieces(tested, reference, count, count, 1e-4, 1e-4);
}

static void test_known_errors(void **state)
{
    (void)state;
    const double a[] = {3, 4.5, 0}, b[] = {3, 4, 0};
    vkf_tensor_error e = compare(a, b, 3);
    assert_int_equal(e.count, 3);
    assert_true(near(e.scale, 4) && near(e.worst_error, 0.5));
    assert_int_equal(e.worst.index, 1);
    assert_true(near(e.worst.tested, 4.5) && near(e.worst.reference, 4));
    assert_true(near(vkf_tensor_error_rms(&e), 0.1)); // 0.5 / sqrt(9 + 16)
    assert_true(near(vkf_tensor_error_cosine(&e), 27 / (5 * sqrt(29.25))));
    assert_int_equal(e.beyond_count, 1);
}

static void test_cosine_of_directions(void **state)
{
    (void)state;
    const double x[] = {2, 0}, y[] = {0, 3}, back[] = {-5, 0}, zero[] = {0, 0};
    vkf_tensor_error across = compare(x, y, 2), opposite = compare(back, x, 2), same = compare(x, x, 2);
    vkf_tensor_error zeros = compare(zero, zero, 2), one_zero = compare(zero, x, 2);
    assert_true(fabs(vkf_tensor_error_cosine(&across)) < 1e-15);
    assert_true(near(vkf_tensor_error_cosine(&opposite), -1));
    assert_true(near(vkf_tensor_error_cosine(&same), 1));
    assert_true(near(vkf_tensor_error_cosine(&zeros), 1));
    assert_true(vkf_tensor_error_cosine(&one_zero) == 0);
}

static void test_tolerance_is_of_the_scale_and_of_the_element(void **state)
{
    (void)state;
    const double b[] = {100, 1, 0, 100}, a[] = {100.75, 1.5, 0.5, 101.25};
    vkf_tensor_error scaled = compare_pieces(a, b, 4, 4, 0.0075, 0);  // 0.75 anywhere
    vkf_tensor_error own = compare_pieces(a, b, 4, 4, 0, 0.01);       // 1, 0.01, 0, 1
    vkf_tensor_error both = compare_pieces(a, b, 4, 4, 0.0025, 0.01); // 1.25, 0.26, 0.25, 1.25
    vkf_tensor_error none = compare_pieces(a, b, 4, 4, 0, 0);
    assert_int_equal(scaled.beyond_count, 1);
    assert_int_equal(own.beyond_count, 3);
    assert_int_equal(both.beyond_count, 2);
    assert_int_equal(none.beyond_count, 4);
}

static void test_zero_reference_has_the_scale_one(void **state)
{
    (void)state;
    const double b[] = {0, -0.0}, a[] = {5e-5, 0};
    vkf_tensor_error e = compare(a, b, 2);
    assert_true(near(e.scale, 1));
    assert_int_equal(e.beyond_count, 0);
    assert_true(isinf(vkf_tensor_error_rms(&e)));
    e = compare(b, b, 2);
    assert_true(vkf_tensor_error_rms(&e) == 0);
}

static void test_others_agree_only_with_their_like(void **state)
{
    (void)state;
    const double a[] = {NAN, INFINITY, -INFINITY, NAN, INFINITY, 1, 2, INFINITY, 3};
    const double b[] = {NAN, INFINITY, -INFINITY, 7, -INFINITY, NAN, INFINITY, NAN, 3};
    vkf_tensor_error e = compare(a, b, 9);
    assert_int_equal(e.tested.nan_count, 2);
    assert_int_equal(e.tested.inf_count, 4);
    assert_int_equal(e.reference.nan_count, 3);
    assert_int_equal(e.reference.inf_count, 4);
    assert_int_equal(e.mismatch_count, 5);
    assert_int_equal(e.beyond_count, 5);
    assert_int_equal(e.mismatch.index, 3);
    assert_true(isnan(e.mismatch.tested) && near(e.mismatch.reference, 7));
    // From the one pair that is finite; the 7, whose partner is none, is of the range alone.
    assert_true(e.worst_error == 0 && near(vkf_tensor_error_cosine(&e), 1) && near(e.scale, 7));
}

static void fill(double *a, double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        b[i] = (double)(i * 7919 % 1009) / 1009 - 0.5;
        a[i] = b[i] + (double)(i * 31 % 101) * 1e-6;
    }
}

// Every length up to twice the lanes and more, cut anywhere: a wrong tail or offset shows.
static void test_pieces_and_tails(void **state)
{
    (void)state;
    double a[67], b[67];
    for (size_t count = 1; count <= 67; count++) {
        fill(a, b, count);
        a[count - 1] = b[count - 1] + 0.5; // the last one is the worst
        double squares = 0, reference_squares = 0;
        for (size_t i = 0; i < count; i++) {
            squares += (a[i] - b[i]) * (a[i] - b[i]);
            reference_squares += b[i] * b[i];
        }
        for (size_t piece = 1; piece <= count; piece++) {
            vkf_tensor_error e = compare_pieces(a, b, count, piece, 0.25, 0);
            assert_int_equal(e.count, count);
            assert_int_equal(e.worst.index, count - 1);
            assert_int_equal(e.beyond_count, 1);
            assert_true(near(vkf_tensor_error_rms(&e), sqrt(squares / reference_squares)));
        }
    }
}

static void test_mismatch_in_a_later_piece(void **state)
{
    (void)state;
    double a[40], b[40];
    fill(a, b, 40);
    a[33] = NAN;
    vkf_tensor_error e = compare_pieces(a, b, 40, 16, 1, 0);
    assert_int_equal(e.mismatch_count, 1);
    assert_int_equal(e.mismatch.index, 33);
    assert_int_equal(e.beyond_count, 1);
}

// Squares of these are beyond a double's range on either side.
static void test_squares_neither_overflow_nor_vanish(void **state)
{
    (void)state;
    static const double sizes[] = {1e200, 1e-200, DBL_MAX / 8, DBL_MIN};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double a[] = {3 * sizes[i], 4.5 * sizes[i]}, b[] = {3 * sizes[i], 4 * sizes[i]};
        vkf_tensor_error e = compare(a, b, 2);
        assert_true(near(vkf_tensor_error_rms(&e), 0.1));
        assert_true(near(vkf_tensor_error_cosine(&e), 27 / (5 * sqrt(29.25))));
    }
    const double huge[] = {1e200}, one[] = {1};
    vkf_tensor_error e = compare(huge, one, 1);
    assert_true(near(vkf_tensor_error_rms(&e), 1e200) && near(vkf_tensor_error_cosine(&e), 1));
}

// ---- elements as stored

static double stored(vkf__stored_type type, uint64_t bits)
{
    uint8_t bytes[9] = {0xff}; // one byte in, so that the element is not aligned
    double value;
    for (int i = 0; i < 8; i++)
        bytes[i + 1] = (uint8_t)(bits >> (8 * i));
    const vkf__stored_tensor tensor = {
        .type = type, .count = 1, .data = bytes + 1, .size_bytes = vkf__stored_type_size(type)};
    assert_int_equal(vkf_stored_values(&tensor, 0, 1, &value), VKF_OK);
    return value;
}

static void test_stored_elements_of_every_type(void **state)
{
    (void)state;
    static const struct {
        vkf__stored_type type;
        uint64_t bits;
        double value;
    } cases[] = {
        {VKF_STORED_F64, 0xc004000000000000, -2.5},
        {VKF_STORED_F32, 0xc0200000, -2.5},
        {VKF_STORED_F32, 1, 0x1p-149},
        {VKF_STORED_BF16, 0xc020, -2.5},
        {VKF_STORED_I64, UINT64_MAX, -1},
        {VKF_STORED_I64, (uint64_t)1 << 63, -0x1p63},
        {VKF_STORED_I32, 0x80000000, -0x1p31},
        {VKF_STORED_I32, 0x7fffffff, 0x1p31 - 1},
        {VKF_STORED_I16, 0x8000, -32768},
        {VKF_STORED_I8, 0xff, -1},
        {VKF_STORED_U64, UINT64_MAX, 0x1p64},
        {VKF_STORED_U32, 0x80000000, 0x1p31},
        {VKF_STORED_U16, 0xffff, 65535},
        {VKF_STORED_U8, 0x80, 128},
        {VKF_STORED_BOOL, 1, 1},
    };
    bool seen[VKF_STORED_COUNT] = {[VKF_STORED_F16] = true}; // which the next test has
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(stored(cases[i].type, cases[i].bits) == cases[i].value);
        seen[cases[i].type] = true;
    }
    for (int type = 0; type < VKF_STORED_COUNT; type++)
        assert_true(seen[type] ==
                    (vkf__stored_is_float((vkf__stored_type)type) || vkf__stored_is_whole((vkf__stored_type)type)));
}

static void test_every_half(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        double value = stored(VKF_STORED_F16, bits);
        double magnitude =
            ldexp((bits & 0x3ff) + (bits & 0x7c00 ? 1024 : 0), (bits & 0x7c00 ? (int)(bits >> 10 & 0x1f) : 1) - 25);
        if ((bits & 0x7fff) > 0x7c00)
            assert_true(isnan(value));
        else if ((bits & 0x7fff) == 0x7c00)
            assert_true(isinf(value) && signbit(value) == (bits & 0x8000 ? signbit(-1.0) : 0));
        else
            assert_true(value == (bits & 0x8000 ? -magnitude : magnitude));
    }
}

static void test_stored_elements_from_the_middle(void **state)
{
    (void)state;
    uint8_t bytes[2 * 100];
    double values[40];
    for (size_t i = 0; i < 100; i++) {
        bytes[2 * i] = (uint8_t)(i * 3);
        bytes[2 * i + 1] = (uint8_t)(i * 3 >> 8);
    }
    const vkf__stored_tensor tensor = {.type = VKF_STORED_I16, .count = 100, .data = bytes, .size_bytes = sizeof bytes};
    assert_int_equal(vkf_stored_values(&tensor, 60, 40, values), VKF_OK);
    for (size_t i = 0; i < 40; i++)
        assert_true(values[i] == (double)(3 * (60 + i)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_errors),
        cmocka_unit_test(test_cosine_of_directions),
        cmocka_unit_test(test_tolerance_is_of_the_scale_and_of_the_element),
        cmocka_unit_test(test_zero_reference_has_the_scale_one),
        cmocka_unit_test(test_others_agree_only_with_their_like),
        cmocka_unit_test(test_pieces_and_tails),
        cmocka_unit_test(test_mismatch_in_a_later_piece),
        cmocka_unit_test(test_squares_neither_overflow_nor_vanish),
        cmocka_unit_test(test_stored_elements_of_every_type),
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_stored_elements_from_the_middle),
    };
    return cmocka_run_group_tests_name("tensor_error", tests, NULL, NULL);
}
