// What a look at training data says they are for, and the classes that they name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording_host.h"
#include "scratch_directory.h"
#include "train/train_look.h"

static vkf_train_config config_of(char **paths)
{
    return (vkf_train_config){.train = {paths, 1}, .max_line_bytes = 1000, .max_bad_lines = 3};
}

static void test_train_look_at(void **state)
{
    static const struct {
        const char *name, *text;
        vkf_train_look look;
    } cases[] = {
        {"a.tsv", "a b\tgood\n", {.columns = true}},
        {"a.tsv", "\n\na text\nb c\tgood\nd\tbad\n", {.columns = true}}, // most lines
        {"a.txt", "a text\nanother\twith a tab\n", {0}},
        {"a.tsv", "a b\tA B\nc\tA\n", {.columns = true, .words = true}},
        {"a.tsv", "a b\tA B\nc d\tA\n", {.columns = true}},
        {"a.tsv", "a\tA\nb\tB\n", {.columns = true}}, // a word alone is a text, too
        {"a.tsv", "a\tb\tc\n", {0}},
        {"a.tsv", "\n", {0}},
        {"a.jsonl", "{\"text\": \"a\", \"label\": 1}\n", {.json = true, .text = true, .label = true}},
        {"a.json", "[\n{\"other\": 1}\n{\"tokens\": [], \"labels\": []}\n", {.json = true, .tags = true}},
        {"a.ndjson", "{\"source\": \"a\", \"target\": \"b\"}\n{\"text\": \"a\"}", {.json = true, .pair = true}},
        {"a.jsonl", "{\"completion\": \"a\"}\n", {.json = true, .prompt = true}},
        {"a.jsonl", "{\"messages\": []}\n", {.json = true, .messages = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host host;
        vkf_train_look look;
        char path[512], *paths[] = {path};
        recording_host_init(&host);
        snprintf(path, sizeof path, "%s", scratch_write(*state, cases[i].name, cases[i].text, strlen(cases[i].text)));
        const vkf_train_config config = config_of(paths);
        assert_int_equal(vkf_train_look_at(&host.host, &config, &look), VKF_OK);
        assert_memory_equal(&look, &cases[i].look, sizeof look);
        assert_int_equal(host.live, 0);
    }
}

// Names come by their bytes and numbers by their values. Where nearly all differ, they are texts.
static void test_train_classes(void **state)
{
    char many[4000] = "";
    for (int i = 0; i < 40; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "a\tno %d\nb\tno %d\n", i, i % 20 ? 100 + i : 7);
    const struct {
        vkf_example_kind kind;
        const char *text, *names; // or how the message ends
        vkf_status status;
    } cases[] = {
        {VKF_EXAMPLE_CLASS, "a\tz\nb\t\xc3\xa9\nbroken\nc\tB\nd\tz\n", "B z \xc3\xa9 ", VKF_OK},
        {VKF_EXAMPLE_CLASS, "a\t10\nb\t9\nc\t0\nd\t9\n", "0 9 10 ", VKF_OK},
        {VKF_EXAMPLE_CLASS, "a\t10\nb\t9\nc\tx\nd\t9\n", "10 9 x ", VKF_OK},
        {VKF_EXAMPLE_CLASS, "a\tgood\nb\tbad\nc\tnone\n", "bad good none ", VKF_OK}, // each of them once
        {VKF_EXAMPLE_TAGS, "a b\tO X\nc\tO\n", "O X ", VKF_OK},
        {VKF_EXAMPLE_CLASS, "a\tx\nbroken\n", "line 2: it has no tab", VKF_ERROR_FORMAT}, // the last message
        {VKF_EXAMPLE_CLASS, "a\tx\nb\tx\n", "all labels are 'x', and from one class nothing is learned",
         VKF_ERROR_FORMAT},
        {VKF_EXAMPLE_CLASS, "a\tthe cat\nb\ta hill\n", "learn from texts alone", VKF_ERROR_FORMAT},
        {VKF_EXAMPLE_CLASS, many, "learn from texts alone", VKF_ERROR_FORMAT},
        {VKF_EXAMPLE_CLASS, "a\nb\nc\nd\ne\tf\n", "(--max-bad-lines)", VKF_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host host;
        vkf_train_classes classes;
        char path[512], *paths[] = {path}, names[100] = "";
        recording_host_init(&host);
        snprintf(path, sizeof path, "%s", scratch_write(*state, "a.tsv", cases[i].text, strlen(cases[i].text)));
        const vkf_train_config config = config_of(paths);
        assert_int_equal(vkf_train_classes_read(&host.host, &config, cases[i].kind, &classes), cases[i].status);
        for (uint32_t c = 0; cases[i].status == VKF_OK && c < classes.count; c++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", classes.names[c]);
        if (cases[i].status == VKF_OK)
            assert_string_equal(names, cases[i].names);
        else
            assert_non_null(strstr(host.text, cases[i].names));
        // Broken lines are others' to name, unless there is nothing else to come.
        const bool broken = cases[i].status != VKF_OK && strstr(cases[i].text, "broken");
        assert_int_equal(host.messages, cases[i].status != VKF_OK ? 1 + broken : 0);
        vkf_train_classes_free(&host.host, &classes);
        assert_int_equal(host.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_look_at),
        cmocka_unit_test(test_train_classes),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
