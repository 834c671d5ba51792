// Verdicts of the self-test as text: kept, merged, and ignored when driver or kernel changed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kernel/test_marks.h"
#include "kernel/text_table.h"
#include "kernel/variant_hash.h"
#include "kernel/verdict.h"
#include "random.h"

#include "recording_host.h"

static const vkf__caps caps = {.vendor_id = 0x10005, .driver_id = 13, .driver_uuid = {9}};

typedef struct fixture {
    recording_host recording;
    vkf__verdicts verdicts;
} fixture;

static void set_up(fixture *f)
{
    *f = (fixture){0};
    recording_host_init(&f->recording);
    assert_int_equal(vkf__verdicts_init(&f->recording.host, &f->verdicts), VKF_OK);
}

static void tear_down(fixture *f)
{
    vkf__verdicts_free(&f->verdicts);
    assert_int_equal(f->recording.live, 0);
}

// The first and the last variant of the registry.
static void put(fixture *f, bool last, vkf__verdict verdict)
{
    const vkf__kernel *kernel = vkf__kernel_at(last ? vkf__kernel_count() - 1 : 0);
    vkf__verdict_set(&f->verdicts, kernel, &kernel->configs[last ? kernel->config_count - 1 : 0], verdict);
}

static vkf__verdict get(const fixture *f, bool last)
{
    const vkf__kernel *kernel = vkf__kernel_at(last ? vkf__kernel_count() - 1 : 0);
    return vkf__verdict_get(&f->verdicts, kernel, &kernel->configs[last ? kernel->config_count - 1 : 0]);
}

static char *format(fixture *f)
{
    char *text = NULL;
    assert_int_equal(vkf__verdicts_format(&f->recording.host, &caps, &f->verdicts, &text), VKF_OK);
    return text;
}

// Reads a text that was edited into fresh verdicts.
static void read_edited(fixture *f, const char *text, const char *from, const char *to)
{
    char edited[2048];
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("\"%s\" is not in %s", from, text);
    (void)snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    set_up(f);
    vkf__verdicts_parse(&f->recording.host, &caps, edited, strlen(edited), &f->verdicts);
}

// Reads a text into fresh verdicts.
static void read_text(fixture *f, const char *text)
{
    set_up(f);
    vkf__verdicts_parse(&f->recording.host, &caps, text, strlen(text), &f->verdicts);
}

static const vkf__verdict_entry *first_entry(const fixture *f)
{
    return vkf__verdict_entry_of(&f->verdicts, vkf__kernel_at(0), &vkf__kernel_at(0)->configs[0]);
}

static void test_verdicts_format_and_back(void **state)
{
    (void)state;
    for (vkf__verdict verdict = VKF_VERDICT_PASSED; verdict < VKF_VERDICT_COUNT; verdict++) {
        const bool expires = verdict == VKF_VERDICT_SLOW || verdict == VKF_VERDICT_STARTED;
        fixture written, read;
        set_up(&written);
        put(&written, false, verdict);
        put(&written, true, VKF_VERDICT_PASSED);
        char *text = format(&written);
        read_text(&read, text);
        assert_int_equal(read.recording.messages, 0);
        assert_int_equal(get(&read, false), expires ? VKF_VERDICT_UNKNOWN : verdict);
        assert_int_equal(atomic_load(&first_entry(&read)->verdict), verdict);
        assert_int_equal(get(&read, true), VKF_VERDICT_PASSED);
        char *again = format(&read);
        assert_string_equal(again, text);
        vkf__free(&written.recording.host, text);
        vkf__free(&read.recording.host, again);
        tear_down(&written);
        tear_down(&read);
    }
}

static void find_slow(fixture *f, bool foretold)
{
    const vkf__kernel *kernel = vkf__kernel_at(0);
    vkf__verdict_note(&f->verdicts, kernel, &kernel->configs[0],
                      &(vkf__finding){VKF_VERDICT_SLOW, 1.255, foretold, "m 3: \033[2J#5 ms "});
}

// At the first start it is tested again, at the second it is left out; where it is slow at once, it is left out here.
static void test_slow_variants_have_two_strikes(void **state)
{
    (void)state;
    fixture first, second, third;
    set_up(&first);
    find_slow(&first, false);
    assert_int_equal(get(&first, false), VKF_VERDICT_SLOW);
    char *text = format(&first);
    assert_non_null(strstr(text, " 1 125 # m 3: ?[2J#5 ms\n"));
    read_text(&second, text);
    assert_int_equal(get(&second, false), VKF_VERDICT_UNKNOWN);
    find_slow(&second, false);
    assert_int_equal(get(&second, false), VKF_VERDICT_SLOW);
    char *twice = format(&second);
    read_text(&third, twice);
    assert_int_equal(get(&third, false), VKF_VERDICT_SLOW);
    // Nothing better may be left: then it is tested before it is used, once.
    assert_true(vkf__verdict_is_due(&third.verdicts, vkf__kernel_at(0), &vkf__kernel_at(0)->configs[0]));
    find_slow(&third, false);
    assert_false(vkf__verdict_is_due(&third.verdicts, vkf__kernel_at(0), &vkf__kernel_at(0)->configs[0]));
    put(&third, false, VKF_VERDICT_PASSED);
    assert_int_equal(atomic_load(&first_entry(&third)->strikes), 0);
    assert_null(first_entry(&third)->reason);
    vkf__free(&first.recording.host, text);
    vkf__free(&second.recording.host, twice);
    tear_down(&first);
    tear_down(&second);
    tear_down(&third);
}

// What was foretold is not kept, and what was kept before stays.
static void test_foretold_slowness_is_no_strike(void **state)
{
    (void)state;
    fixture first, second;
    set_up(&first);
    find_slow(&first, true);
    assert_int_equal(get(&first, false), VKF_VERDICT_SLOW);
    char *text = format(&first);
    assert_null(strstr(text, "slow"));
    find_slow(&first, false);
    char *struck = format(&first);
    read_text(&second, struck);
    find_slow(&second, true);
    assert_int_equal(atomic_load(&first_entry(&second)->strikes), 1);
    vkf__free(&first.recording.host, text);
    vkf__free(&first.recording.host, struck);
    tear_down(&first);
    tear_down(&second);
}

// Another version of the library may have mended what was slow. What was wrong is the kernel's.
static void test_strikes_end_with_the_library(void **state)
{
    (void)state;
    fixture written, read;
    set_up(&written);
    find_slow(&written, false);
    put(&written, true, VKF_VERDICT_WRONG);
    char *text = format(&written);
    read_edited(&read, text, "library ", "library 1");
    assert_int_equal(atomic_load(&first_entry(&read)->verdict), VKF_VERDICT_UNKNOWN);
    assert_int_equal(get(&read, true), VKF_VERDICT_WRONG);
    vkf__free(&written.recording.host, text);
    tear_down(&written);
    tear_down(&read);
}

static void test_verdicts_known_ones_stay(void **state)
{
    (void)state;
    fixture written, read;
    set_up(&written);
    set_up(&read);
    put(&written, false, VKF_VERDICT_PASSED);
    put(&written, true, VKF_VERDICT_PASSED);
    put(&read, false, VKF_VERDICT_WRONG);
    char *text = format(&written);
    vkf__verdicts_parse(&read.recording.host, &caps, text, strlen(text), &read.verdicts);
    assert_int_equal(get(&read, false), VKF_VERDICT_WRONG);
    assert_int_equal(get(&read, true), VKF_VERDICT_PASSED);
    vkf__free(&written.recording.host, text);
    tear_down(&written);
    tear_down(&read);
}

// A verdict and the outcome of a race stand apart, and known ones stay.
static void test_races_format_and_back(void **state)
{
    (void)state;
    const vkf__kernel *kernel = vkf__kernel_at(0);
    fixture written, read;
    set_up(&written);
    set_up(&read);
    put(&written, false, VKF_VERDICT_PROVEN);
    vkf__race_set(&written.verdicts, kernel, &kernel->configs[0], VKF_RACE_SLOWER);
    vkf__race_set(&written.verdicts, kernel, &kernel->configs[1], VKF_RACE_FASTER);
    vkf__race_set(&read.verdicts, kernel, &kernel->configs[1], VKF_RACE_SLOWER);
    char *text = format(&written);
    vkf__verdicts_parse(&read.recording.host, &caps, text, strlen(text), &read.verdicts);
    assert_int_equal(get(&read, false), VKF_VERDICT_PROVEN);
    assert_int_equal(vkf__race_get(&read.verdicts, kernel, &kernel->configs[0]), VKF_RACE_SLOWER);
    assert_int_equal(vkf__race_get(&read.verdicts, kernel, &kernel->configs[1]), VKF_RACE_SLOWER);
    vkf__free(&written.recording.host, text);
    tear_down(&written);
    tear_down(&read);
}

// What was not measured may be in another run.
static void test_unmeasured_races_are_not_kept(void **state)
{
    (void)state;
    const vkf__kernel *kernel = vkf__kernel_at(0);
    fixture written, read;
    set_up(&written);
    set_up(&read);
    put(&written, false, VKF_VERDICT_PASSED);
    vkf__race_set(&written.verdicts, kernel, &kernel->configs[0], VKF_RACE_UNMEASURED);
    char *text = format(&written);
    vkf__verdicts_parse(&read.recording.host, &caps, text, strlen(text), &read.verdicts);
    assert_int_equal(get(&read, false), VKF_VERDICT_PASSED);
    assert_int_equal(vkf__race_get(&read.verdicts, kernel, &kernel->configs[0]), VKF_RACE_UNKNOWN);
    vkf__free(&written.recording.host, text);
    tear_down(&written);
    tear_down(&read);
}

// Marks of tests under way ------------------------------------------------------------------------------------------

static char *own_mark(fixture *f, uint32_t strikes)
{
    const vkf__kernel *kernel = vkf__kernel_at(0);
    vkf__text_out out = {.host = &f->recording.host};
    vkf__test_marks_add(&out, &(vkf__variant){kernel, &kernel->configs[0]}, strikes);
    assert_int_equal(out.status, VKF_OK);
    return out.text;
}

static void count_lost(void *user, const vkf__test_mark *mark)
{
    *(uint32_t *)user += 10 + mark->strikes;
}

// How many marks of `text` do not hold, times ten, and their strikes; *out_kept: whether one does.
static uint32_t lost_of(fixture *f, const char *text, const vkf__variant *ended, bool *out_kept)
{
    uint32_t lost = 0;
    vkf__text_out out = {.host = &f->recording.host};
    vkf__test_marks_keep(text, strlen(text), ended, count_lost, &lost, &out);
    *out_kept = out.length > 0;
    vkf__free(&f->recording.host, out.text);
    return lost;
}

// A process that tests a variant now has not been brought down by it, and takes its mark out when it has ended.
static void test_marks_of_living_processes(void **state)
{
    (void)state;
    const vkf__kernel *kernel = vkf__kernel_at(0);
    const vkf__variant first = {kernel, &kernel->configs[0]}, other = {kernel, &kernel->configs[1]};
    fixture f;
    bool kept = false;
    set_up(&f);
    char *text = own_mark(&f, 1);
    assert_int_equal(lost_of(&f, text, NULL, &kept), 0);
    assert_true(kept);
    assert_int_equal(lost_of(&f, text, &other, &kept), 0);
    assert_true(kept);
    assert_int_equal(lost_of(&f, text, &first, &kept), 0);
    assert_false(kept);
    vkf__free(&f.recording.host, text);
    tear_down(&f);
}

// The mark of the first variant with another process, or begun at another time.
static char *edited_mark(fixture *f, int64_t age, uint64_t later, const char *host)
{
    const vkf__process_mark own = vkf__process_mark_own();
    char text[512];
    const vkf__kernel *kernel = vkf__kernel_at(0);
    (void)snprintf(text, sizeof text,
                   "vkformer-testing 1\n%s/%s %016" PRIx64 " 1 %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n",
                   kernel->name, kernel->configs[0].name, vkf__variant_hash(kernel, &kernel->configs[0]),
                   (int64_t)time(NULL) - age, own.id, own.started + later, own.place.numbers, own.place.boot,
                   host ? host : own.place.host);
    return vkf__strdup(&f->recording.host, text);
}

static void test_marks_of_other_processes(void **state)
{
    (void)state;
    static const struct {
        int64_t age;
        uint64_t later;   // than this process its tester was started
        const char *host; // NULL: this one
        bool lost;
    } rows[] = {
        {0, 1, NULL, true},           // it has ended
        {0, 1, "elsewhere", false},   // nobody knows
        {600, 1, "elsewhere", true},  // it would have ended by now
        {-600, 1, "elsewhere", true}, // by a clock that is wrong
        {600, 0, NULL, false},        // it lives, and takes long
    };
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool kept = false;
        char *text = edited_mark(&f, rows[i].age, rows[i].later, rows[i].host);
        const uint32_t lost = lost_of(&f, text, NULL, &kept);
        if (lost != (rows[i].lost ? 11 : 0) || kept == rows[i].lost)
            fail_msg("row %zu: lost %u, kept %d: %s", i, lost, kept, text);
        vkf__free(&f.recording.host, text);
    }
    tear_down(&f);
}

static void test_marks_that_are_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "vkformer-testing 2\n", "vkformer-testing 1\nx/y 1 0 1 2 3 4 b h\n",
                                        "vkformer-testing 1\n\1\n", "vkformer-testing 1\na b\n"};
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bool kept = true;
        assert_int_equal(lost_of(&f, texts[i], NULL, &kept), 0);
        assert_false(kept);
    }
    tear_down(&f);
}

// A strike counts as what it says, however often it is read, and only where nothing better is known.
static void test_strikes_are_counted_once(void **state)
{
    (void)state;
    const vkf__kernel *kernel = vkf__kernel_at(0);
    const vkf__config *config = &kernel->configs[0];
    bool left_out = false;
    fixture f;
    set_up(&f);
    for (int i = 0; i < 3; i++) {
        vkf__verdict_strike(&f.verdicts, kernel, config, 1, "gone", &left_out);
        assert_false(left_out);
        assert_int_equal(get(&f, false), VKF_VERDICT_UNKNOWN);
    }
    vkf__verdict_strike(&f.verdicts, kernel, config, 2, "gone", &left_out);
    assert_true(left_out);
    assert_int_equal(get(&f, false), VKF_VERDICT_STARTED);
    assert_true(vkf__verdict_bad(VKF_VERDICT_STARTED));
    vkf__verdict_strike(&f.verdicts, kernel, config, 2, "gone", &left_out);
    assert_false(left_out);
    put(&f, false, VKF_VERDICT_PASSED);
    vkf__verdict_strike(&f.verdicts, kernel, config, 2, "gone", &left_out);
    assert_int_equal(get(&f, false), VKF_VERDICT_PASSED);
    tear_down(&f);
}

// The table on the disk has fewer strikes until those that were counted here are saved.
static void test_strikes_outlast_what_was_saved_before(void **state)
{
    (void)state;
    bool left_out = false;
    fixture saved, here;
    set_up(&saved);
    find_slow(&saved, false);
    char *text = format(&saved);
    read_text(&here, text);
    vkf__verdict_strike(&here.verdicts, vkf__kernel_at(0), &vkf__kernel_at(0)->configs[0], 2, "gone", &left_out);
    assert_true(left_out);
    vkf__verdicts_parse(&here.recording.host, &caps, text, strlen(text), &here.verdicts);
    assert_int_equal(get(&here, false), VKF_VERDICT_STARTED);
    vkf__free(&saved.recording.host, text);
    tear_down(&saved);
    tear_down(&here);
}

// Verdicts that others have found take the place of strikes, and what was found here stays.
static void test_strikes_give_way_to_verdicts(void **state)
{
    (void)state;
    bool left_out = false;
    fixture here, passed;
    set_up(&here);
    set_up(&passed);
    put(&passed, false, VKF_VERDICT_PASSED);
    char *text = format(&passed);
    vkf__verdict_strike(&here.verdicts, vkf__kernel_at(0), &vkf__kernel_at(0)->configs[0], 2, "gone", &left_out);
    vkf__verdicts_parse(&here.recording.host, &caps, text, strlen(text), &here.verdicts);
    assert_int_equal(get(&here, false), VKF_VERDICT_PASSED);
    find_slow(&here, false);
    vkf__verdicts_parse(&here.recording.host, &caps, text, strlen(text), &here.verdicts);
    assert_int_equal(get(&here, false), VKF_VERDICT_SLOW);
    vkf__verdicts_forget(&here.verdicts);
    assert_int_equal(get(&here, false), VKF_VERDICT_UNKNOWN);
    vkf__free(&passed.recording.host, text);
    tear_down(&here);
    tear_down(&passed);
}

static void test_verdicts_stale_and_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        vkf_severity severity;
        bool last_stays; // the line about another variant still counts
    } rows[] = {
        {"device 00010005", "device 00010006", VKF_SEVERITY_DEBUG, false},
        {" 13 ", " 12 ", VKF_SEVERITY_DEBUG, false},
        {"vkformer-verdicts 2", "vkformer-verdicts 1", VKF_SEVERITY_DEBUG, false},
        {"vkformer-verdicts 2", "verdicts 2", VKF_SEVERITY_WARNING, false},
        {"library ", "", VKF_SEVERITY_WARNING, false},
        {"device ", "", VKF_SEVERITY_WARNING, false},
        {" wrong", " odd", VKF_SEVERITY_WARNING, false},
        {" wrong", " unknown", VKF_SEVERITY_WARNING, false},
        {" wrong", " unraced", VKF_SEVERITY_WARNING, false},
        {" wrong", " wrong again", VKF_SEVERITY_WARNING, false},
        {" 0 0\n", " 0 0 0\n", VKF_SEVERITY_WARNING, false},
        {" 0 0\n", " 0\n", VKF_SEVERITY_WARNING, false},
        {" 0 0\n", " 300 0\n", VKF_SEVERITY_WARNING, false},
        {" wrong", "", VKF_SEVERITY_WARNING, false},
        {"/", "/no-such-", VKF_SEVERITY_DEBUG, true},
        {"/", "-", VKF_SEVERITY_WARNING, false},
    };
    fixture written;
    set_up(&written);
    put(&written, false, VKF_VERDICT_WRONG);
    put(&written, true, VKF_VERDICT_PASSED);
    char *text = format(&written);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture read;
        read_edited(&read, text, rows[i].from, rows[i].to);
        if (read.recording.messages != 1 || read.recording.severity != rows[i].severity ||
            get(&read, false) != VKF_VERDICT_UNKNOWN ||
            get(&read, true) != (rows[i].last_stays ? VKF_VERDICT_PASSED : VKF_VERDICT_UNKNOWN))
            fail_msg("row %zu: verdicts %d and %d, %zu messages: %s", i, (int)get(&read, false), (int)get(&read, true),
                     read.recording.messages, read.recording.text);
        tear_down(&read);
    }
    vkf__free(&written.recording.host, text);
    tear_down(&written);
}

static void test_verdicts_of_a_changed_kernel(void **state)
{
    (void)state;
    fixture written, read;
    char hash[32];
    set_up(&written);
    put(&written, false, VKF_VERDICT_WRONG);
    char *text = format(&written);
    (void)snprintf(hash, sizeof hash, "%016" PRIx64,
                   vkf__variant_hash(vkf__kernel_at(0), &vkf__kernel_at(0)->configs[0]));
    read_edited(&read, text, hash, "0123456789abcdef");
    assert_int_equal(get(&read, false), VKF_VERDICT_UNKNOWN);
    assert_int_equal(read.recording.severity, VKF_SEVERITY_DEBUG);
    vkf__free(&written.recording.host, text);
    tear_down(&written);
    tear_down(&read);
}

// What a config gives the constants counts as much as the module.
static void test_variant_hash_tells_variants_apart(void **state)
{
    (void)state;
    const vkf__kernel *kernel = vkf__kernel_at(0);
    vkf__config config = kernel->configs[0];
    assert_true(kernel->config_count >= 2);
    assert_true(vkf__variant_hash(kernel, &config) == vkf__variant_hash(kernel, &kernel->configs[0]));
    assert_true(vkf__variant_hash(kernel, &config) != vkf__variant_hash(kernel, &kernel->configs[1]));
    config.tile.gemm.k += 4;
    assert_true(vkf__variant_hash(kernel, &config) != vkf__variant_hash(kernel, &kernel->configs[0]));
    const vkf__kernel none = {.name = "no such module"};
    assert_true(vkf__variant_hash(&none, &config) == 0);
}

static void test_verdicts_damaged_text(void **state)
{
    (void)state;
    fixture written;
    vkf_test_random random;
    set_up(&written);
    put(&written, false, VKF_VERDICT_WRONG);
    put(&written, true, VKF_VERDICT_SLOW);
    char *text = format(&written);
    vkf_test_random_init(&random, 20261120);
    for (int round = 0; round < 500; round++) {
        fixture read;
        size_t size = vkf_test_random_below(&random, (uint32_t)strlen(text) + 1);
        char *copy = malloc(size > 0 ? size : 1);
        assert_non_null(copy);
        memcpy(copy, text, size);
        for (uint32_t flips = vkf_test_random_below(&random, 4); size > 0 && flips > 0; flips--)
            copy[vkf_test_random_below(&random, (uint32_t)size)] = (char)vkf_test_random_below(&random, 256);
        set_up(&read);
        vkf__verdicts_parse(&read.recording.host, &caps, copy, size, &read.verdicts);
        tear_down(&read);
        free(copy);
    }
    vkf__free(&written.recording.host, text);
    tear_down(&written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts_format_and_back),
        cmocka_unit_test(test_slow_variants_have_two_strikes),
        cmocka_unit_test(test_foretold_slowness_is_no_strike),
        cmocka_unit_test(test_strikes_end_with_the_library),
        cmocka_unit_test(test_verdicts_known_ones_stay),
        cmocka_unit_test(test_races_format_and_back),
        cmocka_unit_test(test_unmeasured_races_are_not_kept),
        cmocka_unit_test(test_marks_of_living_processes),
        cmocka_unit_test(test_marks_of_other_processes),
        cmocka_unit_test(test_marks_that_are_malformed),
        cmocka_unit_test(test_strikes_are_counted_once),
        cmocka_unit_test(test_strikes_outlast_what_was_saved_before),
        cmocka_unit_test(test_strikes_give_way_to_verdicts),
        cmocka_unit_test(test_verdicts_stale_and_malformed),
        cmocka_unit_test(test_verdicts_of_a_changed_kernel),
        cmocka_unit_test(test_variant_hash_tells_variants_apart),
        cmocka_unit_test(test_verdicts_damaged_text),
    };
    return cmocka_run_group_tests_name("verdicts", tests, NULL, NULL);
}
