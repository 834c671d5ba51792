// Verdicts of the self-test as text: kept, merged, and ignored when driver or kernel changed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/process.h"
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
    vkf__verdicts_free(&f->recording.host, &f->verdicts);
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

static void test_verdicts_format_and_back(void **state)
{
    (void)state;
    for (vkf__verdict verdict = VKF_VERDICT_PASSED; verdict < VKF_VERDICT_COUNT; verdict++) {
        fixture written, read;
        set_up(&written);
        set_up(&read);
        put(&written, false, verdict);
        put(&written, true, VKF_VERDICT_PASSED);
        char *text = format(&written);
        vkf__verdicts_parse(&read.recording.host, &caps, text, strlen(text), &read.verdicts);
        assert_int_equal(read.recording.messages, verdict == VKF_VERDICT_STARTED ? 1 : 0);
        assert_int_equal(get(&read, false), verdict);
        assert_int_equal(get(&read, true), VKF_VERDICT_PASSED);
        vkf__free(&written.recording.host, text);
        tear_down(&written);
        tear_down(&read);
    }
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

// What is stored while this process tests the first variant.
static char *format_started(fixture *f)
{
    const vkf__kernel *kernel = vkf__kernel_at(0);
    f->verdicts.tested_kernel = kernel;
    f->verdicts.tested_config = &kernel->configs[0];
    return format(f);
}

// The end of the line that says so.
static const char *started_by(const vkf__process_mark *tester, char out_words[64])
{
    (void)snprintf(out_words, 64, " started %" PRIu64 " %" PRIu64 "\n", tester->id, tester->started);
    return out_words;
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

// While a variant is tested, its line says so, and what is stored about it is passed over. Elsewhere any later verdict
// takes the place of a test that has only started.
static void test_started_tests(void **state)
{
    (void)state;
    char words[64];
    const vkf__process_mark own = vkf__process_mark_own();
    fixture here, elsewhere;
    set_up(&here);
    char *started = format_started(&here);
    assert_non_null(strstr(started, started_by(&own, words)));
    vkf__verdicts_parse(&here.recording.host, &caps, started, strlen(started), &here.verdicts);
    assert_int_equal(get(&here, false), VKF_VERDICT_UNKNOWN);
    read_edited(&elsewhere, started, words, " started\n");
    assert_int_equal(get(&elsewhere, false), VKF_VERDICT_STARTED);
    assert_int_equal(elsewhere.recording.severity, VKF_SEVERITY_WARNING);
    assert_true(vkf__verdict_bad(VKF_VERDICT_STARTED));
    here.verdicts.tested_kernel = NULL;
    put(&here, false, VKF_VERDICT_PASSED);
    char *ended = format(&here);
    vkf__verdicts_parse(&elsewhere.recording.host, &caps, ended, strlen(ended), &elsewhere.verdicts);
    assert_int_equal(get(&elsewhere, false), VKF_VERDICT_PASSED);
    vkf__free(&here.recording.host, started);
    vkf__free(&here.recording.host, ended);
    tear_down(&here);
    tear_down(&elsewhere);
}

// A process that tests a variant now has not been brought down by it, and its line is its own to write.
static void test_tests_of_living_processes(void **state)
{
    (void)state;
    char words[64], other_words[64];
    const vkf__process_mark own = vkf__process_mark_own();
    const vkf__process_mark gone = {own.id, own.started + 1};
    fixture here, beside, after;
    set_up(&here);
    set_up(&beside);
    char *started = format_started(&here);
    vkf__verdicts_parse(&beside.recording.host, &caps, started, strlen(started), &beside.verdicts);
    assert_int_equal(get(&beside, false), VKF_VERDICT_UNKNOWN);
    assert_int_equal(beside.recording.severity, VKF_SEVERITY_DEBUG);
    char *unchanged = format(&beside);
    assert_null(strstr(unchanged, "started"));
    read_edited(&after, started, started_by(&own, words), started_by(&gone, other_words));
    assert_int_equal(get(&after, false), VKF_VERDICT_STARTED);
    vkf__free(&here.recording.host, started);
    vkf__free(&beside.recording.host, unchanged);
    tear_down(&here);
    tear_down(&beside);
    tear_down(&after);
}

// A process is named by two numbers, behind "started" alone.
static void test_testers_that_are_malformed(void **state)
{
    (void)state;
    static const char *const endings[] = {" started 12\n", " started 12 x\n",   " started 12 34 56\n",
                                          " started -\n",  " started 12 34x\n", " passed 12 34\n"};
    char words[64];
    const vkf__process_mark own = vkf__process_mark_own();
    fixture here, read;
    set_up(&here);
    char *started = format_started(&here);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        read_edited(&read, started, started_by(&own, words), endings[i]);
        assert_int_equal(get(&read, false), VKF_VERDICT_UNKNOWN);
        assert_non_null(strstr(read.recording.text, "malformed"));
        tear_down(&read);
    }
    vkf__free(&here.recording.host, started);
    tear_down(&here);
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
        {"vkformer-verdicts 1", "vkformer-verdicts 2", VKF_SEVERITY_WARNING, false},
        {"device ", "", VKF_SEVERITY_WARNING, false},
        {" wrong", " odd", VKF_SEVERITY_WARNING, false},
        {" wrong", " unknown", VKF_SEVERITY_WARNING, false},
        {" wrong", " unraced", VKF_SEVERITY_WARNING, false},
        {" wrong", " wrong again", VKF_SEVERITY_WARNING, false},
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
        cmocka_unit_test(test_verdicts_known_ones_stay),
        cmocka_unit_test(test_races_format_and_back),
        cmocka_unit_test(test_unmeasured_races_are_not_kept),
        cmocka_unit_test(test_started_tests),
        cmocka_unit_test(test_tests_of_living_processes),
        cmocka_unit_test(test_testers_that_are_malformed),
        cmocka_unit_test(test_verdicts_stale_and_malformed),
        cmocka_unit_test(test_verdicts_of_a_changed_kernel),
        cmocka_unit_test(test_variant_hash_tells_variants_apart),
        cmocka_unit_test(test_verdicts_damaged_text),
    };
    return cmocka_run_group_tests_name("verdicts", tests, NULL, NULL);
}
