// Structs of callers that were compiled for an older or a newer version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/sized.h"
#include "recording_host.h"

// A struct in three versions of the library; the second is that of the library which runs.
typedef struct older {
    uint32_t a, b;
} older;
typedef struct current {
    uint32_t a, b, c;
} current;
typedef struct newer {
    uint32_t a, b, c, d, e;
} newer;

#define FILLED                                \
    {                                         \
        0xeeeeeeeeu, 0xeeeeeeeeu, 0xeeeeeeeeu \
    }

static void test_take_of_an_older_struct_leaves_the_rest_0(void **state)
{
    (void)state;
    recording_host r;
    recording_host_init(&r);
    const older given = {1, 2};
    current full = FILLED;
    assert_int_equal(vkf__take_sized(&r.host, "vkf_x", &full, sizeof full, &given, sizeof given), VKF_OK);
    assert_int_equal(full.a, 1);
    assert_int_equal(full.b, 2);
    assert_int_equal(full.c, 0);
}

static void test_take_of_a_newer_struct(void **state)
{
    (void)state;
    recording_host r;
    recording_host_init(&r);
    newer given = {1, 2, 3, 0, 0};
    current full = FILLED;
    assert_int_equal(vkf__take_sized(&r.host, "vkf_x", &full, sizeof full, &given, sizeof given), VKF_OK);
    assert_int_equal(full.c, 3);
    given.e = 1 << 24;
    assert_int_equal(vkf__take_sized(&r.host, "vkf_x", &full, sizeof full, &given, sizeof given),
                     VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(r.text, "vkf_x: the program is compiled for a newer version"));
    assert_non_null(strstr(r.text, "uses 20 bytes of a struct of which this library knows 12"));
}

static void test_take_refuses_what_is_no_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 65537, SIZE_MAX};
    recording_host r;
    recording_host_init(&r);
    const current given = {1, 2, 3};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        current full = FILLED;
        assert_int_equal(vkf__take_sized(&r.host, "vkf_x", &full, sizeof full, &given, sizes[i]),
                         VKF_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(r.text, "give the sizeof"));
        assert_int_equal(full.a | full.b | full.c, 0);
    }
}

static void test_give_to_an_older_struct_writes_no_more_than_it_has(void **state)
{
    (void)state;
    const current full = {1, 2, 3};
    uint32_t given[3] = FILLED;
    assert_true(vkf__give_sized(given, sizeof(older), &full, sizeof full));
    assert_int_equal(given[1], 2);
    assert_int_equal(given[2], 0xeeeeeeeeu);
    assert_false(vkf__give_sized(given, 0, &full, sizeof full));
}

static void test_give_to_a_newer_struct_zeroes_the_rest(void **state)
{
    (void)state;
    const current full = {1, 2, 3};
    newer given[2];
    memset(given, 0xee, sizeof given);
    assert_true(vkf__give_sized(vkf__sized_at(given, 1, sizeof given[0]), sizeof given[0], &full, sizeof full));
    assert_int_equal(given[0].a, 0xeeeeeeeeu);
    assert_int_equal(given[1].c, 3);
    assert_int_equal(given[1].d | given[1].e, 0);
}

static void test_check_reserved_wants_zeros(void **state)
{
    (void)state;
    recording_host r;
    recording_host_init(&r);
    uint32_t reserved[4] = {0};
    assert_int_equal(vkf__check_reserved(&r.host, "vkf_x", "vkf_y", reserved, sizeof reserved), VKF_OK);
    reserved[3] = 1;
    assert_int_equal(vkf__check_reserved(&r.host, "vkf_x", "vkf_y", reserved, sizeof reserved), VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(r.text, "vkf_x: vkf_y.reserved is not 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_of_an_older_struct_leaves_the_rest_0),
        cmocka_unit_test(test_take_of_a_newer_struct),
        cmocka_unit_test(test_take_refuses_what_is_no_size),
        cmocka_unit_test(test_give_to_an_older_struct_writes_no_more_than_it_has),
        cmocka_unit_test(test_give_to_a_newer_struct_zeroes_the_rest),
        cmocka_unit_test(test_check_reserved_wants_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
