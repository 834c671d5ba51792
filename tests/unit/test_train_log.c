// The log of a training: what is written is read again, and a run that is resumed goes on as if it had not stopped.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "recording_host.h"
#include "scratch_directory.h"
#include "train/train_log.h"

static vkf_train_log_line step_line(uint64_t step)
{
    return (vkf_train_log_line){
        .type = VKF_TRAIN_LOG_STEP,
        .step = step,
        .epoch = step / 10,
        .loss = 5.0 / (double)step,
        .tokens = 4096,
        .grad_norm = 0.5,
        .lr = 1e-4,
        .tokens_per_second = 9000,
        .seconds = 0.25 * (double)step,
    };
}

static vkf_train_log_line eval_line(uint64_t step)
{
    return (vkf_train_log_line){
        .type = VKF_TRAIN_LOG_EVAL, .step = step, .loss = 4, .accuracy = 0.25, .tokens = 100, .seconds = 7};
}

static void expect_equal(const vkf_train_log_line *a, const vkf_train_log_line *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->step == b->step && a->epoch == b->epoch && a->tokens == b->tokens);
    const double pairs[][2] = {{a->loss, b->loss},
                               {a->seconds, b->seconds},
                               {a->grad_norm, b->grad_norm},
                               {a->lr, b->lr},
                               {a->tokens_per_second, b->tokens_per_second},
                               {a->accuracy, b->accuracy}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_true(fabs(pairs[i][0] - pairs[i][1]) <= 1e-8 * fabs(pairs[i][0]) ||
                    (isnan(pairs[i][0]) && isnan(pairs[i][1])));
}

// Steps of `first` .. `last`, and a look after every fifth.
static void write_steps(const vkf__host *host, const char *path, uint64_t resumed, uint64_t first, uint64_t last)
{
    vkf_train_log log;
    assert_int_equal(vkf_train_log_open(host, path, resumed, &log), VKF_OK);
    for (uint64_t step = first; step <= last; step++) {
        const vkf_train_log_line line = step_line(step), eval = eval_line(step);
        assert_int_equal(vkf_train_log_write(&log, &line), VKF_OK);
        if (step % 5 == 0)
            assert_int_equal(vkf_train_log_write(&log, &eval), VKF_OK);
    }
    vkf_train_log_close(&log);
}

// The log has the lines of steps 1 .. last, and nothing else.
static void expect_steps(const vkf__host *host, const char *path, uint64_t last)
{
    vkf_train_log_line *lines = NULL;
    size_t count = 0, at = 0;
    assert_int_equal(vkf_train_log_read(host, path, &lines, &count), VKF_OK);
    assert_int_equal(count, last + last / 5);
    for (uint64_t step = 1; step <= last; step++) {
        const vkf_train_log_line line = step_line(step), eval = eval_line(step);
        expect_equal(&lines[at++], &line);
        if (step % 5 == 0)
            expect_equal(&lines[at++], &eval);
    }
    vkf__free(host, lines);
}

static void test_train_log_is_lines_of_json(void **state)
{
    static const char expected[] =
        "{\"type\":\"step\",\"step\":12,\"epoch\":1,\"loss\":0.416666667,\"tokens\":4096,\"grad_norm\":null,"
        "\"lr\":0.0001,\"tokens_per_second\":9000.0,\"seconds\":3.0}\n"
        "{\"type\":\"eval\",\"step\":12,\"loss\":null,\"accuracy\":0.25,\"tokens\":100,\"seconds\":7.0}\n"
        "{\"type\":\"skipped\",\"step\":13,\"epoch\":1,\"loss\":0.384615385,\"tokens\":4096,\"grad_norm\":0.5,"
        "\"lr\":0.0001,\"tokens_per_second\":9000.0,\"seconds\":3.25}\n";
    recording_host host;
    char text[1000];
    vkf_train_log log;
    vkf_train_log_line lines[] = {step_line(12), eval_line(12), step_line(13)}, *read = NULL;
    size_t count = 0;
    recording_host_init(&host);
    lines[0].grad_norm = INFINITY;
    lines[1].loss = NAN;
    lines[2].type = VKF_TRAIN_LOG_SKIPPED;
    const char *path = scratch_path(*state, "log.jsonl");
    assert_int_equal(vkf_train_log_open(&host.host, path, 0, &log), VKF_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(vkf_train_log_write(&log, &lines[i]), VKF_OK);
    // It is all there before the log is closed: the run may be killed.
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    assert_string_equal(text, expected);
    vkf_train_log_close(&log);
    assert_int_equal(vkf_train_log_read(&host.host, path, &read, &count), VKF_OK);
    assert_int_equal(count, 3);
    lines[0].grad_norm = NAN; // how it was not finite is lost
    expect_equal(&read[0], &lines[0]);
    expect_equal(&read[1], &lines[1]);
    expect_equal(&read[2], &lines[2]);
    vkf__free(&host.host, read);
    assert_true(host.live == 0 && host.messages == 0);
}

static void test_train_log_goes_on_after_a_resumed_step(void **state)
{
    recording_host host;
    char path[512];
    recording_host_init(&host);
    snprintf(path, sizeof path, "%s", scratch_path(*state, "log.jsonl"));
    write_steps(&host.host, path, 0, 1, 17);
    expect_steps(&host.host, path, 17);
    write_steps(&host.host, path, 10, 11, 23); // steps 11 .. 17 come again
    expect_steps(&host.host, path, 23);
    write_steps(&host.host, path, 23, 24, 25); // nothing has to go
    expect_steps(&host.host, path, 25);
    write_steps(&host.host, path, 0, 1, 3); // from the beginning
    expect_steps(&host.host, path, 3);
    write_steps(&host.host, scratch_path(*state, "new.jsonl"), 3, 1, 3); // the old log is gone
    expect_steps(&host.host, scratch_path(*state, "new.jsonl"), 3);
    assert_true(host.live == 0 && host.messages == 0);
}

static void cut(const char *path, size_t bytes)
{
    char text[10000];
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    size_t size = fread(text, 1, sizeof text, stream);
    fclose(stream);
    stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(text, 1, size - bytes, stream), size - bytes);
    fclose(stream);
}

// A killed run may leave a part of its last line, or that line without its end.
static void test_train_log_drops_a_cut_line(void **state)
{
    recording_host host;
    char path[512];
    recording_host_init(&host);
    snprintf(path, sizeof path, "%s", scratch_path(*state, "log.jsonl"));
    for (size_t bytes = 1; bytes < 100; bytes += 7) {
        write_steps(&host.host, path, 0, 1, 4);
        cut(path, bytes);
        expect_steps(&host.host, path, 3);
        write_steps(&host.host, path, 3, 4, 8);
        expect_steps(&host.host, path, 8);
    }
    assert_true(host.live == 0 && host.messages == 0);
}

// One line of a log that two have written, or that a full disk has cut: the run goes on, and the line goes.
static void test_train_log_leaves_out_broken_lines(void **state)
{
    static const char good[] = "{\"type\":\"eval\",\"step\":1,\"loss\":null,\"accuracy\":0.25,\"tokens\":1,"
                               "\"seconds\":7,\"more\":[]}\n";
    static const char *const wrong[] = {
        "\n",
        "{}\n",
        "[]\n",
        "{\"type\":\"eval\"\n",
        "{\"type\":\"other\",\"step\":1}\n",
        "{\"type\":\"eval\",\"step\":1,\"loss\":\"\",\"accuracy\":0.25,\"tokens\":1,\"seconds\":7}\n",
        "{\"type\":\"eval\",\"step\":-1,\"loss\":1,\"accuracy\":0.25,\"tokens\":1,\"seconds\":7}\n",
        "{\"type\":\"eval\",\"step\":1.5,\"loss\":1,\"accuracy\":0.25,\"tokens\":1,\"seconds\":7}\n",
        "{\"type\":\"eval\",\"step\":null,\"loss\":1,\"accuracy\":0.25,\"tokens\":1,\"seconds\":7}\n",
        "{\"type\":\"step\",\"step\":1,\"loss\":1,\"accuracy\":0.25,\"tokens\":1,\"seconds\":7}\n",
    };
    for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
        recording_host host;
        char text[9000], expected[700];
        vkf_train_log log;
        vkf_train_log_line *lines = NULL;
        size_t count = 0, bytes = (size_t)snprintf(text, sizeof text, "%s", good);
        if (i < sizeof wrong / sizeof wrong[0])
            bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s", wrong[i]);
        else
            bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%*s\n", 5000, "");
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s", good);
        recording_host_init(&host);
        const char *path = scratch_write(*state, "log.jsonl", text, bytes);
        snprintf(expected, sizeof expected, "%s, line 2: is no line of a training's log; it is left out", path);
        assert_int_equal(vkf_train_log_open(&host.host, path, 5, &log), VKF_OK);
        vkf_train_log_close(&log);
        assert_string_equal(host.text, expected);
        assert_int_equal(vkf_train_log_read(&host.host, path, &lines, &count), VKF_OK);
        assert_int_equal(count, 2);
        assert_int_equal(host.messages, 1); // the file is whole again
        vkf__free(&host.host, lines);
        assert_int_equal(host.live, 0);
    }
}

static void test_train_log_says_that_it_cannot_be_written(void **state)
{
    recording_host host;
    vkf_train_log log = {0};
    recording_host_init(&host);
    assert_int_equal(vkf_train_log_open(&host.host, scratch_path(*state, "none/log.jsonl"), 0, &log), VKF_ERROR_FILE);
    assert_non_null(strstr(host.text, "none/log.jsonl: cannot be written: "));
    assert_int_equal(host.live, 0);
#if defined(__linux__)
    const vkf_train_log_line line = step_line(1);
    assert_int_equal(vkf_train_log_open(&host.host, "/dev/full", 0, &log), VKF_OK);
    assert_int_equal(vkf_train_log_write(&log, &line), VKF_ERROR_FILE);
    assert_string_equal(host.text, "/dev/full: cannot be written: No space left on device");
#endif
    vkf_train_log_close(&log);
    assert_int_equal(host.live, 0);
}

static void test_train_log_releases_all_when_memory_is_exhausted(void **state)
{
    recording_host host;
    char path[512];
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "log.jsonl"));
    recording_host_init(&host);
    write_steps(&host.host, path, 0, 1, 20);
    for (size_t call = 1; status != VKF_OK; call++) {
        vkf_train_log log = {0};
        vkf_train_log_line *lines = NULL;
        size_t count = 0;
        recording_host_init(&host);
        host.fail_call = call;
        status = vkf_train_log_open(&host.host, path, 20, &log);
        if (status == VKF_OK)
            status = vkf_train_log_read(&host.host, path, &lines, &count);
        assert_true(status == VKF_OK || (status == VKF_ERROR_OUT_OF_HOST_MEMORY && host.messages == 1));
        vkf__free(&host.host, lines);
        vkf_train_log_close(&log);
        assert_int_equal(host.live, 0);
    }
    recording_host_init(&host);
    expect_steps(&host.host, path, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_log_is_lines_of_json),
        cmocka_unit_test(test_train_log_goes_on_after_a_resumed_step),
        cmocka_unit_test(test_train_log_drops_a_cut_line),
        cmocka_unit_test(test_train_log_leaves_out_broken_lines),
        cmocka_unit_test(test_train_log_says_that_it_cannot_be_written),
        cmocka_unit_test(test_train_log_releases_all_when_memory_is_exhausted),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
