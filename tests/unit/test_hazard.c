// Where barriers go between dispatches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/hazard.h"

#include "recording_host.h"

// Stand for buffers; only their addresses count.
static const char x, q, k, v, out;

#define READ(buffer)             \
    {                            \
        &(buffer), 0, 100, false \
    }
#define WRITE(buffer)           \
    {                           \
        &(buffer), 0, 100, true \
    }

static bool add(vkf__hazards *hazards, const vkf__access *accesses, size_t count)
{
    bool barrier = false;
    assert_int_equal(vkf__hazards_add(hazards, accesses, count, &barrier), VKF_OK);
    return barrier;
}

// Whether the second of two dispatches with one access each gets a barrier.
static bool between(vkf__access first, vkf__access second)
{
    recording_host recording;
    vkf__hazards hazards;
    recording_host_init(&recording);
    vkf__hazards_init(&hazards, &recording.host);
    assert_false(add(&hazards, &first, 1));
    bool barrier = add(&hazards, &second, 1);
    vkf__hazards_finish(&hazards);
    assert_int_equal(recording.live, 0);
    return barrier;
}

static void test_hazard_kinds(void **state)
{
    (void)state;
    const vkf__access read = READ(x), write = WRITE(x), other = WRITE(q);
    assert_true(between(write, read));
    assert_true(between(read, write));
    assert_true(between(write, write));
    assert_false(between(read, read));
    assert_false(between(write, other));
}

static void test_hazard_ranges(void **state)
{
    (void)state;
    static const struct {
        uint64_t begin, end;
        bool conflict;
    } rows[] = {
        {0, 100, false},  {0, 101, true},    {100, 200, true}, {150, 160, true},
        {199, 300, true}, {200, 300, false}, {0, 1000, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf__access written = {&x, 100, 200, true}, read = {&x, rows[i].begin, rows[i].end, false};
        assert_int_equal(between(written, read), rows[i].conflict);
        assert_int_equal(between(read, written), rows[i].conflict);
    }
}

static void test_hazard_within_one_dispatch_is_its_own_affair(void **state)
{
    (void)state;
    recording_host recording;
    vkf__hazards hazards;
    const vkf__access in_place[] = {READ(x), WRITE(x)};
    recording_host_init(&recording);
    vkf__hazards_init(&hazards, &recording.host);
    assert_false(add(&hazards, in_place, 2));
    assert_true(add(&hazards, in_place, 2));
    assert_true(add(&hazards, in_place, 2));
    vkf__hazards_finish(&hazards);
}

static void test_hazard_projections_run_side_by_side(void **state)
{
    (void)state;
    recording_host recording;
    vkf__hazards hazards;
    const vkf__access norm[] = {READ(out), WRITE(x)};
    const vkf__access q_proj[] = {READ(x), WRITE(q)}, k_proj[] = {READ(x), WRITE(k)}, v_proj[] = {READ(x), WRITE(v)};
    const vkf__access scores[] = {READ(q), READ(k), WRITE(out)};
    const vkf__access next_x[] = {WRITE(x)};
    recording_host_init(&recording);
    vkf__hazards_init(&hazards, &recording.host);
    assert_false(add(&hazards, norm, 2));
    assert_true(add(&hazards, q_proj, 2));
    assert_false(add(&hazards, k_proj, 2));
    assert_false(add(&hazards, v_proj, 2));
    assert_true(add(&hazards, scores, 3));
    // The barrier before `scores` was for everything: what was read before it may be overwritten now.
    assert_false(add(&hazards, next_x, 1));
    vkf__hazards_finish(&hazards);
}

static void test_hazard_barrier_forgets_what_was_before(void **state)
{
    (void)state;
    recording_host recording;
    vkf__hazards hazards;
    const vkf__access write_x[] = {WRITE(x)}, read_x[] = {READ(x)};
    recording_host_init(&recording);
    vkf__hazards_init(&hazards, &recording.host);
    assert_false(add(&hazards, write_x, 1));
    assert_true(add(&hazards, read_x, 1));
    assert_false(add(&hazards, read_x, 1));
    assert_true(add(&hazards, write_x, 1));
    assert_false(add(&hazards, NULL, 0));
    assert_true(add(&hazards, read_x, 1));
    vkf__hazards_finish(&hazards);
}

static void test_hazard_without_memory_is_a_status(void **state)
{
    (void)state;
    recording_host recording;
    vkf__hazards hazards;
    const vkf__access read_x[] = {READ(x)};
    bool barrier = true;
    recording_host_init(&recording);
    recording.fail_call = 1;
    vkf__hazards_init(&hazards, &recording.host);
    assert_int_equal(vkf__hazards_add(&hazards, read_x, 1, &barrier), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_true(barrier);
    assert_int_equal(vkf__hazards_add(&hazards, read_x, 1, &barrier), VKF_OK);
    assert_false(barrier);
    vkf__hazards_finish(&hazards);
    assert_int_equal(recording.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hazard_kinds),
        cmocka_unit_test(test_hazard_ranges),
        cmocka_unit_test(test_hazard_within_one_dispatch_is_its_own_affair),
        cmocka_unit_test(test_hazard_projections_run_side_by_side),
        cmocka_unit_test(test_hazard_barrier_forgets_what_was_before),
        cmocka_unit_test(test_hazard_without_memory_is_a_status),
    };
    return cmocka_run_group_tests_name("hazard", tests, NULL, NULL);
}
