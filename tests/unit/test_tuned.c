// The table of tuned choices: whole and good, or ignored as a whole with a warning that names the line; of another
// driver or kernel, ignored quietly.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/text_table.h"
#include "kernel/tuned.h"
#include "kernel/variant_hash.h"
#include "random.h"
#include "shared/gemm.h"

#include "recording_host.h"

#define HEADER "vkformer-tuned 2\n"

static const vkf__caps caps = {.vendor_id = 0x10005, .driver_id = 13, .driver_version = 7, .device_uuid = {1, 2}};

static const char *hash_of(const char *variant)
{
    static char text[32];
    const vkf__kernel *kernel = NULL;
    const vkf__config *config = NULL;
    if (!vkf__variant_named(variant, strlen(variant), &kernel, &config))
        fail_msg("no variant %s", variant);
    (void)snprintf(text, sizeof text, "%016" PRIx64, vkf__variant_hash(kernel, config));
    return text;
}

// A table of this device: in `lines`, '@' becomes the hash of the variant that follows it.
static const char *table(const char *lines)
{
    static char text[4096];
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__device_line(&caps, device);
    int used = snprintf(text, sizeof text, HEADER "%s\n", device);
    for (const char *c = lines; *c; c++) {
        if (*c != '@') {
            text[used++] = *c;
            continue;
        }
        char variant[128] = {0};
        memcpy(variant, c + 2, strcspn(c + 2, " \n"));
        used += snprintf(text + used, sizeof text - (size_t)used, "%s", hash_of(variant));
    }
    text[used] = '\0';
    return text;
}

#define GOOD "gemm f32,f32,f32 m<=8 n=768 k=512 b=rows @ gemm_tile.f32_f32_f32/thin 12.5\n"
#define PANELS "gemm f32,f32,f32 m<=8 n=768 k=512 b=panels @ gemm_tile.f32_f32_f32/small 9.75 # next one\n"

static vkf__tuned parse(recording_host *recording, const char *text, size_t size)
{
    vkf__tuned tuned;
    recording_host_init(recording);
    assert_int_equal(vkf__tuned_parse(&recording->host, &caps, text, size, &tuned), VKF_OK);
    return tuned;
}

static void test_tuned_good_table(void **state)
{
    (void)state;
    recording_host recording;
    const char *text =
        table("# a comment\n\n" GOOD PANELS "softmax f16,f16 m<=any n=40 k=0 b=rows @ softmax.f16p_f16p/row16 1\n"
              "copy f32,f16 m<=1 n=4294967295 k=7 b=rows @ copy.f32_f16/flat64 0.5"); // no newline
    vkf__tuned tuned = parse(&recording, text, strlen(text));
    if (recording.messages > 0)
        fail_msg("%s", recording.text);
    assert_int_equal(tuned.count, 4);
    assert_int_equal(tuned.entries[0].op, VKF_OP_GEMM);
    assert_int_equal(tuned.entries[0].m_class, 8);
    assert_int_equal(tuned.entries[0].n, 768);
    assert_int_equal(tuned.entries[0].k, 512);
    assert_false(tuned.entries[0].panels);
    assert_true(tuned.entries[0].median_us == 12.5);
    assert_string_equal(vkf__kernel_at(tuned.entries[0].kernel)->name, "gemm_tile.f32_f32_f32");
    assert_string_equal(vkf__kernel_at(tuned.entries[0].kernel)->configs[tuned.entries[0].config].name, "thin");
    assert_true(tuned.entries[1].panels);
    assert_string_equal(tuned.entries[1].note, "next one");
    assert_int_equal(tuned.entries[2].m_class, UINT32_MAX);
    assert_int_equal(tuned.entries[3].n, UINT32_MAX);
    vkf__tuned_free(&recording.host, &tuned);
    assert_int_equal(recording.live, 0);
    assert_int_equal(tuned.count, 0);
}

static void test_tuned_format_and_back(void **state)
{
    (void)state;
    recording_host recording;
    char *written = NULL, *again = NULL;
    // An entry keeps 111 characters of the last note, whose last would be a blank.
    const char *text = table(GOOD PANELS "copy f32,f16 m<=1 n=5 k=7 b=rows @ copy.f32_f16/flat64 0.5 # "
                                         "0123456789012345678901234567890123456789012345678901234567890123456789"
                                         "0123456789012345678901234567890123456789 end\n");
    vkf__tuned tuned = parse(&recording, text, strlen(text)), second;
    assert_int_equal(tuned.count, 3);
    assert_int_equal(vkf__tuned_format(&recording.host, &caps, &tuned, &written), VKF_OK);
    assert_int_equal(vkf__tuned_parse(&recording.host, &caps, written, strlen(written), &second), VKF_OK);
    assert_int_equal(second.count, 3);
    assert_memory_equal(second.entries, tuned.entries, 3 * sizeof *tuned.entries);
    assert_int_equal(vkf__tuned_format(&recording.host, &caps, &second, &again), VKF_OK);
    assert_string_equal(again, written);
    vkf__free(&recording.host, written);
    vkf__free(&recording.host, again);
    vkf__tuned_free(&recording.host, &tuned);
    vkf__tuned_free(&recording.host, &second);
    assert_int_equal(recording.live, 0);
}

static void test_tuned_bad_table_is_ignored(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        const char *line;
    } rows[] = {
        {GOOD "nonsense\n", "line 4"},
        {"multiply f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f64 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f16,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1e308\n", "line 3"},
        {"gemm f32,f32,f32 m<=9 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=x n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n= k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=heap @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows 12 gemm_tile.f32_f32_f32 1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin -1\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin nan\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1 more\n", "line 3"},
        {"gemm f32,f32,f32 m<=8 n=7 k=5 b=rows @ softmax.f32_f32/row64 1\n", "line 3"},
        {"softmax f32,f32 m<=8 n=7 k=5 b=rows @ gemm_tile.f32_f32_f32/thin 1\n", "line 3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        recording_host recording;
        const char *text = table(rows[i].lines);
        vkf__tuned tuned = parse(&recording, text, strlen(text));
        if (tuned.count != 0 || recording.messages != 1 || recording.severity != VKF_SEVERITY_WARNING ||
            !strstr(recording.text, rows[i].line))
            fail_msg("table %zu: %zu entries, %zu messages: %s", i, tuned.count, recording.messages, recording.text);
        assert_int_equal(recording.live, 0);
    }
}

static void test_tuned_foreign_head_is_ignored(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        vkf_severity severity;
    } rows[] = {
        {"vkformer-tuned 2", "vkformer-tuned 1", VKF_SEVERITY_WARNING},
        {"vkformer-tuned 2\n", "", VKF_SEVERITY_WARNING},
        {"device ", "gerät ", VKF_SEVERITY_WARNING},
        {"00010005", "00010006", VKF_SEVERITY_DEBUG},
        {" 13 ", " 14 ", VKF_SEVERITY_DEBUG},
        {"00000007", "00000008", VKF_SEVERITY_DEBUG},
        {" 0102", " 0103", VKF_SEVERITY_DEBUG},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        recording_host recording;
        char edited[4096];
        const char *text = table(GOOD), *at = strstr(text, rows[i].from);
        assert_non_null(at);
        (void)snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, rows[i].to,
                       at + strlen(rows[i].from));
        vkf__tuned tuned = parse(&recording, edited, strlen(edited));
        if (tuned.count != 0 || recording.messages != 1 || recording.severity != rows[i].severity)
            fail_msg("head %zu: %zu entries, %zu messages: %s", i, tuned.count, recording.messages, recording.text);
    }
}

// A kernel that has changed or is no more takes its own entry with it, and no other.
static void test_tuned_stale_entry_alone_is_ignored(void **state)
{
    (void)state;
    static const char *const stale[] = {
        "gemm f32,f32,f32 m<=8 n=7 k=5 b=rows 0123456789abcdef gemm_tile.f32_f32_f32/thin 1\n",
        "gemm f32,f32,f32 m<=8 n=7 k=5 b=rows 0123456789abcdef gemm_tile.f32_f32_f32/wide 1\n",
        "gemm f32,f32,f32 m<=8 n=7 k=5 b=rows 0123456789abcdef gemm_tile.none/thin 1\n",
    };
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        recording_host recording;
        char lines[512];
        (void)snprintf(lines, sizeof lines, "%s%s", stale[i], GOOD);
        const char *text = table(lines);
        vkf__tuned tuned = parse(&recording, text, strlen(text));
        assert_int_equal(tuned.count, 1);
        assert_int_equal(tuned.entries[0].n, 768);
        assert_int_equal(recording.messages, 1);
        assert_int_equal(recording.severity, VKF_SEVERITY_DEBUG);
        vkf__tuned_free(&recording.host, &tuned);
    }
}

static void test_tuned_long_line_zero_byte_and_nothing(void **state)
{
    (void)state;
    recording_host recording;
    char text[1024];
    int head = snprintf(text, sizeof text, "%s", table(""));
    memset(text + head, '#', 500);
    vkf__tuned tuned = parse(&recording, text, (size_t)head + 500);
    assert_int_equal(tuned.count, 0);
    assert_int_equal(recording.messages, 1);
    text[head] = '\0';
    tuned = parse(&recording, text, (size_t)head + 2);
    assert_int_equal(tuned.count, 0);
    assert_int_equal(recording.messages, 1);
    tuned = parse(&recording, "", 0);
    assert_int_equal(tuned.count, 0);
    assert_int_equal(recording.messages, 0);
    assert_int_equal(recording.live, 0);
}

// Any byte may be flipped: the parser reads no further than the text, and keeps no memory.
static void test_tuned_damaged_table(void **state)
{
    (void)state;
    const char *text = table(GOOD PANELS);
    const size_t whole = strlen(text);
    vkf_test_random random;
    recording_host recording;
    recording_host_init(&recording);
    vkf_test_random_init(&random, 20261120);
    for (int round = 0; round < 1000; round++) {
        size_t size = vkf_test_random_below(&random, (uint32_t)whole + 1);
        char *copy = malloc(size + 1);
        vkf__tuned tuned;
        assert_non_null(copy);
        memcpy(copy, text, size);
        for (uint32_t flips = vkf_test_random_below(&random, 4); size > 0 && flips > 0; flips--)
            copy[vkf_test_random_below(&random, (uint32_t)size)] = (char)vkf_test_random_below(&random, 256);
        char *exact = realloc(copy, size > 0 ? size : 1);
        assert_non_null(exact);
        assert_int_equal(vkf__tuned_parse(&recording.host, &caps, exact, size, &tuned), VKF_OK);
        assert_true(tuned.count <= 2);
        vkf__tuned_free(&recording.host, &tuned);
        free(exact);
    }
    assert_int_equal(recording.live, 0);
}

static void test_tuned_find_by_class_and_layout(void **state)
{
    (void)state;
    static const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    static const vkf_dtype half[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32};
    recording_host recording;
    const char *text = table(GOOD);
    vkf__tuned tuned = parse(&recording, text, strlen(text));
    for (uint32_t m = 1; m <= 10; m++) {
        const vkf__problem problem = {.m = m, .n = 768, .k = 512};
        bool found = vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &problem) != NULL;
        assert_int_equal(found, m > 1 && m <= 8);
    }
    const vkf__problem good = {.m = 5, .n = 768, .k = 512, .b_layout = VKF_GEMM_B_NK}, n = {.m = 5, .n = 767, .k = 512},
                       k = {.m = 5, .n = 768, .k = 511},
                       panels = {.m = 5, .n = 768, .k = 512, .b_layout = VKF_GEMM_B_PANELS};
    assert_non_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &good));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &n));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &k));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &panels));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_SOFTMAX, types, &good));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, half, &good));
    assert_true(vkf__tuned_knows_weight(&tuned, VKF_OP_GEMM, types, 768, 512));
    assert_false(vkf__tuned_knows_weight(&tuned, VKF_OP_GEMM, types, 512, 768));
    assert_false(vkf__tuned_knows_weight(&tuned, VKF_OP_GEMM, half, 768, 512));
    vkf__tuned_free(&recording.host, &tuned);
}

static void test_tuned_put_replaces_and_the_faster_layout_is_known(void **state)
{
    (void)state;
    recording_host recording;
    const char *text = table(GOOD);
    vkf__tuned tuned = parse(&recording, text, strlen(text));
    assert_true(vkf__tuned_best_layout(&tuned, &tuned.entries[0]));
    vkf__tuned_entry entry = tuned.entries[0];
    entry.panels = true;
    entry.median_us = 4;
    assert_int_equal(vkf__tuned_put(&recording.host, &tuned, &entry), VKF_OK);
    assert_int_equal(tuned.count, 2);
    assert_false(vkf__tuned_best_layout(&tuned, &tuned.entries[0]));
    assert_true(vkf__tuned_best_layout(&tuned, &tuned.entries[1]));
    entry.median_us = 400;
    assert_int_equal(vkf__tuned_put(&recording.host, &tuned, &entry), VKF_OK);
    assert_int_equal(tuned.count, 2);
    assert_true(vkf__tuned_best_layout(&tuned, &tuned.entries[0]));
    assert_false(vkf__tuned_best_layout(&tuned, &tuned.entries[1]));
    vkf__tuned_free(&recording.host, &tuned);
}

static void test_tuned_m_class_bounds(void **state)
{
    (void)state;
    static const uint32_t rows[][2] = {{0, 1},
                                       {1, 1},
                                       {2, 8},
                                       {8, 8},
                                       {9, 32},
                                       {32, 32},
                                       {33, 128},
                                       {128, 128},
                                       {129, UINT32_MAX},
                                       {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(vkf__tuned_m_class(rows[i][0]), rows[i][1]);
}

static void test_tuned_n_of_attention_is_a_power_of_two(void **state)
{
    (void)state;
    static const uint32_t rows[][2] = {{1, 1}, {2, 2}, {3, 4}, {512, 512}, {513, 1024}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(vkf__tuned_n(VKF_OP_ATTENTION, rows[i][0]), rows[i][1]);
        assert_int_equal(vkf__tuned_n(VKF_OP_GEMM, rows[i][0]), rows[i][0]);
    }
}

static void test_tuned_without_memory(void **state)
{
    (void)state;
    recording_host recording;
    const char *text = table(GOOD);
    vkf__tuned tuned = {.count = 7};
    recording_host_init(&recording);
    recording.fail_call = 1;
    assert_int_equal(vkf__tuned_parse(&recording.host, &caps, text, strlen(text), &tuned),
                     VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(tuned.count, 7);
    assert_int_equal(recording.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuned_good_table),
        cmocka_unit_test(test_tuned_format_and_back),
        cmocka_unit_test(test_tuned_bad_table_is_ignored),
        cmocka_unit_test(test_tuned_foreign_head_is_ignored),
        cmocka_unit_test(test_tuned_stale_entry_alone_is_ignored),
        cmocka_unit_test(test_tuned_long_line_zero_byte_and_nothing),
        cmocka_unit_test(test_tuned_damaged_table),
        cmocka_unit_test(test_tuned_find_by_class_and_layout),
        cmocka_unit_test(test_tuned_put_replaces_and_the_faster_layout_is_known),
        cmocka_unit_test(test_tuned_m_class_bounds),
        cmocka_unit_test(test_tuned_n_of_attention_is_a_power_of_two),
        cmocka_unit_test(test_tuned_without_memory),
    };
    return cmocka_run_group_tests_name("tuned", tests, NULL, NULL);
}
