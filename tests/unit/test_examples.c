// Training data: which lines are examples, which are broken, and that any of them is found again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording_host.h"
#include "scratch_directory.h"
#include "train/examples.h"

// Warnings and errors, with a newline behind each.
typedef struct heard {
    recording_host recording;
    char all[16384];
} heard;

static void hear(void *user, vkf_severity severity, const char *text)
{
    heard *h = user;
    size_t length = strlen(h->all);
    snprintf(h->all + length, sizeof h->all - length, "%s%s\n", severity == VKF_SEVERITY_ERROR ? "error " : "", text);
}

static vkf__host *listen(heard *h)
{
    h->all[0] = '\0';
    recording_host_init(&h->recording);
    h->recording.host.message = hear;
    h->recording.host.message_user = h;
    return &h->recording.host;
}

static vkf_status open_text(const vkf__host *host, scratch_directory *scratch, const char *name, const char *text,
                            size_t size_bytes, vkf_examples_desc desc, vkf_examples **out_examples)
{
    const char *path = scratch_write(scratch, name, text, size_bytes);
    desc.paths = &path;
    desc.path_count = 1;
    return vkf_examples_open(host, &desc, out_examples);
}

static void expect_example(vkf_examples *examples, uint32_t index, uint64_t line, const char *source,
                           const char *target)
{
    const vkf_example *example = NULL;
    assert_int_equal(vkf_examples_get(examples, index, &example), VKF_OK);
    assert_int_equal(example->source_bytes, strlen(source));
    assert_memory_equal(example->source, source, strlen(source));
    assert_int_equal(example->target_bytes, target ? strlen(target) : 0);
    if (target)
        assert_memory_equal(example->target, target, strlen(target));
    else
        assert_null(example->target);
    assert_int_equal(vkf_examples_place(examples, index).line, line);
}

static void expect_end(vkf_examples **examples, heard *h, const char *messages)
{
    assert_string_equal(h->all, messages);
    vkf_examples_close(examples);
    assert_null(*examples);
    assert_int_equal(h->recording.live, 0);
}

static void test_examples_of_columns(void **state)
{
    // A byte order mark, both ends of lines, empty lines, an escape that is none here, and no end of the last line.
    static const char text[] = "\xef\xbb\xbf"
                               "one\tuno\r\n\n\r\ntwo words\tdue \\n\nthr\xc3\xa9"
                               "e\ttre";
    heard h;
    vkf_examples *examples = NULL;
    assert_int_equal(open_text(listen(&h), *state, "a.tsv", text, sizeof text - 1, (vkf_examples_desc){0}, &examples),
                     VKF_OK);
    assert_int_equal(vkf_examples_count(examples), 3);
    expect_example(examples, 2, 5,
                   "thr\xc3\xa9"
                   "e",
                   "tre");
    expect_example(examples, 0, 1, "one", "uno");
    expect_example(examples, 1, 4, "two words", "due \\n");
    expect_end(&examples, &h, "");
}

static void test_examples_of_objects(void **state)
{
    static const char pairs[] = "{\"source\": \"a\\tb\", \"target\": \"\\u00e9\", \"id\": [1, {}]}\r\n"
                                "{\"target\":\"d\",\"source\":\"c\"}\n";
    static const char texts[] = "{\"text\":\"one\"}\n\n{\"text\":\"two\"}";
    static const char classes[] = "{\"text\":\"good\",\"label\":\"positive\"}\n{\"text\":\"bad\",\"label\":10}\n";
    heard h;
    vkf_examples *examples = NULL;
    vkf_examples_desc desc = {0};
    assert_int_equal(open_text(listen(&h), *state, "a.jsonl", pairs, sizeof pairs - 1, desc, &examples), VKF_OK);
    expect_example(examples, 0, 1, "a\tb", "\xc3\xa9");
    expect_example(examples, 1, 2, "c", "d");
    expect_end(&examples, &h, "");
    desc.kind = VKF_EXAMPLE_TEXT;
    assert_int_equal(open_text(listen(&h), *state, "a.ndjson", texts, sizeof texts - 1, desc, &examples), VKF_OK);
    expect_example(examples, 1, 3, "two", NULL);
    expect_end(&examples, &h, "");
    desc.kind = VKF_EXAMPLE_CLASS;
    assert_int_equal(open_text(listen(&h), *state, "a.jsonl", classes, sizeof classes - 1, desc, &examples), VKF_OK);
    expect_example(examples, 1, 2, "bad", "10");
    expect_example(examples, 0, 1, "good", "positive");
    expect_end(&examples, &h, "");
}

static void test_examples_of_plain_lines_and_classes_in_columns(void **state)
{
    static const char text[] = "a\tb\tc\nd\n", classes[] = "d\t0\n";
    heard h;
    vkf_examples *examples = NULL;
    vkf_examples_desc desc = {.kind = VKF_EXAMPLE_TEXT};
    assert_int_equal(open_text(listen(&h), *state, "a.txt", text, sizeof text - 1, desc, &examples), VKF_OK);
    expect_example(examples, 0, 1, "a\tb\tc", NULL);
    expect_example(examples, 1, 2, "d", NULL);
    expect_end(&examples, &h, "");
    desc.kind = VKF_EXAMPLE_CLASS;
    assert_int_equal(open_text(listen(&h), *state, "a.tsv", classes, sizeof classes - 1, desc, &examples), VKF_OK);
    expect_example(examples, 0, 1, "d", "0");
    expect_end(&examples, &h, "");
}

// The items with a blank between each two, and words and labels apart.
static void expect_tags(vkf_examples *examples, uint32_t index, uint64_t line, const char *expected)
{
    const vkf_example *example = NULL;
    char text[200] = "";
    assert_int_equal(vkf_examples_get(examples, index, &example), VKF_OK);
    vkf_example_items both[] = {vkf_example_words(example), vkf_example_labels(example)};
    for (size_t i = 0; i < 2; i++) {
        const char *item;
        size_t bytes;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s", i > 0 ? " |" : "");
        while (vkf_example_next(&both[i], &item, &bytes))
            snprintf(text + strlen(text), sizeof text - strlen(text), " %.*s", (int)bytes, item);
    }
    assert_string_equal(text, expected);
    assert_int_equal(vkf_examples_place(examples, index).line, line);
}

static void test_examples_of_words_and_labels(void **state)
{
    static const char columns[] = "one two\tA B\n  some  more \xc3\xa9\tO O 2 \n";
    static const char objects[] = "{\"tokens\":[\"a b\",\"\",\"c\"],\"labels\":[\"A\",10,\"B\"]}\n\n"
                                  "{\"ner_tags\":[1,0],\"tokens\":[\"\\u00e9\",\"d\"],\"id\":\"7\"}\n"
                                  "{\"ner_tags\":[1],\"tokens\":[\"e\"],\"labels\":[\"O\"]}\n";
    heard h;
    vkf_examples *examples = NULL;
    const vkf_examples_desc desc = {.kind = VKF_EXAMPLE_TAGS};
    assert_int_equal(open_text(listen(&h), *state, "a.tsv", columns, sizeof columns - 1, desc, &examples), VKF_OK);
    expect_tags(examples, 1, 2, " some more \xc3\xa9 | O O 2");
    expect_tags(examples, 0, 1, " one two | A B");
    expect_end(&examples, &h, "");
    assert_int_equal(open_text(listen(&h), *state, "a.jsonl", objects, sizeof objects - 1, desc, &examples), VKF_OK);
    expect_tags(examples, 1, 3, " \xc3\xa9 d | 1 0");
    expect_tags(examples, 0, 1, " a b  c | A 10 B");
    expect_tags(examples, 2, 4, " e | O");
    expect_end(&examples, &h, "");
}

static void test_examples_leave_broken_words_out(void **state)
{
    static const char columns[] = "a\tO\nb\na b\tO\n \tO\na\tO O\n";
    static const char objects[] = "{\"tokens\":[\"a\"]}\n{\"tokens\":\"a\",\"labels\":[]}\n"
                                  "{\"tokens\":[\"a\",1],\"labels\":[0,0]}\n{\"tokens\":[\"a\"],\"labels\":[-1]}\n"
                                  "{\"tokens\":[],\"labels\":[]}\n{\"tokens\":[\"a\"],\"ner_tags\":[1,2]}\n"
                                  "{\"tokens\":[\"a\"],\"ner_tags\":[1]}\n{\"tokens\":[\"a\"],\"ner_tags\":[1.5]}\n";
    static const char *const problems[2][8] = {
        {NULL, "it has no tab between tokens and labels", "it has 2 words and 1 labels", "its tokens is empty",
         "it has 1 words and 2 labels"},
        {"its labels is missing", "its tokens is no array", "its tokens has what is no string",
         "its labels has what is no name and no number", "its tokens is empty", "it has 1 words and 2 labels", NULL,
         "its ner_tags has what is no name and no number"},
    };
    const vkf_examples_desc desc = {.kind = VKF_EXAMPLE_TAGS, .max_bad_lines = 7};
    for (size_t i = 0; i < 2; i++) {
        const char *name = i > 0 ? "a.jsonl" : "a.tsv", *text = i > 0 ? objects : columns;
        char expected[3000] = "";
        heard h;
        vkf_examples *examples = NULL;
        assert_int_equal(open_text(listen(&h), *state, name, text, strlen(text), desc, &examples), VKF_OK);
        assert_int_equal(vkf_examples_count(examples), 1);
        for (size_t line = 0; line < (i > 0 ? 8 : 5); line++)
            if (problems[i][line])
                snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                         "%s, line %zu: %s; the line is left out\n", vkf_examples_place(examples, 0).path, line + 1,
                         problems[i][line]);
        expect_end(&examples, &h, expected);
    }
}

// Numbers of classes as writers of JSON have them, in a file whose name ends in .json.
static void test_examples_of_classes_as_json_has_them(void **state)
{
    static const char text[] = "{\"text\":\"a\",\"label\":1.0}\n{\"text\":\"b\",\"label\":true}\n"
                               "{\"text\":\"c\",\"label\":false}\n{\"text\":\"d\",\"label\":12}\n";
    heard h;
    vkf_examples *examples = NULL;
    const vkf_examples_desc desc = {.kind = VKF_EXAMPLE_CLASS};
    assert_int_equal(open_text(listen(&h), *state, "a.json", text, sizeof text - 1, desc, &examples), VKF_OK);
    expect_example(examples, 0, 1, "a", "1");
    expect_example(examples, 1, 2, "b", "1");
    expect_example(examples, 2, 3, "c", "0");
    expect_example(examples, 3, 4, "d", "12");
    expect_end(&examples, &h, "");
}

typedef struct broken_line {
    const char *name, *line;
    size_t size_bytes; // 0: to the terminating zero
    vkf_example_kind kind;
    const char *problem;
} broken_line;

static const broken_line broken_lines[] = {
    {"a.tsv", "no tab", 0, VKF_EXAMPLE_PAIR, "it has no tab between source and target"},
    {"a.tsv", "no tab", 0, VKF_EXAMPLE_CLASS, "it has no tab between text and label"},
    {"a.tsv", "a\tb\tc", 0, VKF_EXAMPLE_PAIR, "it has more than one tab between source and target"},
    {"a.tsv", "\tb", 0, VKF_EXAMPLE_PAIR, "its source is empty"},
    {"a.tsv", "a\t", 0, VKF_EXAMPLE_PAIR, "its target is empty"},
    {"a.tsv", "a\tb\xff", 0, VKF_EXAMPLE_PAIR, "byte 4 is not UTF-8"},
    {"a.tsv", "\xc3", 0, VKF_EXAMPLE_TEXT, "byte 1 is not UTF-8"},
    {"a.tsv", "a\0b\tc", 5, VKF_EXAMPLE_PAIR, "byte 2 is zero"},
    {"a.tsv", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg", 0, VKF_EXAMPLE_TEXT,
     "it is longer than 60 bytes"},
    {"a.jsonl", "{\"source\":\"a\"}", 0, VKF_EXAMPLE_PAIR, "its target is missing"},
    {"a.jsonl", "{\"source\":1,\"target\":\"b\"}", 0, VKF_EXAMPLE_PAIR, "its source is no string"},
    {"a.jsonl", "{\"source\":\"a\",\"target\":5}", 0, VKF_EXAMPLE_PAIR, "its target is no string"},
    {"a.jsonl", "{\"source\":\"a\",\"target\":\"\"}", 0, VKF_EXAMPLE_PAIR, "its target is empty"},
    {"a.jsonl", "{\"text\":\"a\",\"label\":-1}", 0, VKF_EXAMPLE_CLASS,
     "its label is neither a name nor the number of a class, which is whole and not below 0"},
    {"a.jsonl", "{\"text\":\"a\",\"label\":1.5}", 0, VKF_EXAMPLE_CLASS,
     "its label is neither a name nor the number of a class, which is whole and not below 0"},
    {"a.jsonl", "{\"text\":\"a\",\"label\":[1]}", 0, VKF_EXAMPLE_CLASS,
     "its label is neither a name nor the number of a class, which is whole and not below 0"},
    {"a.jsonl", "{\"text\":\"a\"}", 0, VKF_EXAMPLE_CLASS, "its label is missing"},
    {"a.jsonl", "{\"prompt\":\"a\"}", 0, VKF_EXAMPLE_PROMPT, "its completion is missing"},
    {"a.jsonl", "{\"messages\":[]}", 0, VKF_EXAMPLE_PROMPT,
     "it has messages, which no chat template is rendered for here: write them as prompt and completion"},
    {"a.jsonl", "{\"messages\":[]}", 0, VKF_EXAMPLE_TEXT,
     "it has messages, which no chat template is rendered for here: write them as prompt and completion"},
    {"a.tsv", "no tab", 0, VKF_EXAMPLE_PROMPT, "it has no tab between prompt and completion"},
    {"a.jsonl", "[\"a\"]", 0, VKF_EXAMPLE_TEXT, "it is no JSON object: an array's elements stand in a line each"},
    {"a.jsonl", "[", 0, VKF_EXAMPLE_TEXT, "it is no JSON object: an array's elements stand in a line each"},
    {"a.jsonl", "{\"text\":\"a\"", 0, VKF_EXAMPLE_TEXT,
     "it is not valid JSON, at byte 11: '}' expected near end of file"},
    {"a.jsonl", "{\"text\":\"\xff\"}", 0, VKF_EXAMPLE_TEXT,
     "it is not valid UTF-8, at byte 9: unable to decode byte 0xff near '\"'"},
    {"a.jsonl", "{\"text\":\"a\",\"text\":\"b\"}", 0, VKF_EXAMPLE_TEXT,
     "it is not valid JSON, at byte 18: duplicate object key near '\"text\"'"},
};

// A broken line between two good ones, with each of the ends.
static void test_examples_leave_broken_lines_out(void **state)
{
    for (size_t i = 0; i < 2 * (sizeof broken_lines / sizeof broken_lines[0]); i++) {
        const broken_line *broken = &broken_lines[i / 2];
        const bool json = strcmp(broken->name, "a.jsonl") == 0;
        const bool prompts = broken->kind == VKF_EXAMPLE_PROMPT;
        const char *good = !json     ? "a\tb"
                           : prompts ? "{\"prompt\":\"a\",\"completion\":\"b\"}"
                                     : "{\"source\":\"a\",\"target\":\"b\",\"text\":\"a\",\"label\":\"b\"}";
        const char *end = i % 2 ? "\r\n" : "\n";
        char text[300], expected[700];
        size_t bytes = (size_t)snprintf(text, sizeof text, "%s%s", good, end);
        const size_t broken_bytes = broken->size_bytes > 0 ? broken->size_bytes : strlen(broken->line);
        memcpy(text + bytes, broken->line, broken_bytes);
        bytes += broken_bytes;
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s%s", end, good);
        heard h;
        vkf_examples *examples = NULL;
        const vkf_examples_desc desc = {.kind = broken->kind, .max_line_bytes = 60, .max_bad_lines = 1};
        assert_int_equal(open_text(listen(&h), *state, broken->name, text, bytes, desc, &examples), VKF_OK);
        assert_int_equal(vkf_examples_count(examples), 2);
        assert_int_equal(vkf_examples_bad_lines(examples), 1);
        const char *target = broken->kind == VKF_EXAMPLE_TEXT ? NULL : "b";
        expect_example(examples, 1, 3, target || json ? "a" : "a\tb", target);
        snprintf(expected, sizeof expected, "%s, line 2: %s; the line is left out\n",
                 vkf_examples_place(examples, 1).path, broken->problem);
        expect_end(&examples, &h, expected);
    }
}

static void test_examples_bound_broken_lines(void **state)
{
    static const char text[] = "x\na\tb\ny\nz\n", nothing[] = "\n\r\n";
    heard h;
    char expected[2000];
    vkf_examples *examples = NULL;
    vkf_examples_desc desc = {.max_bad_lines = 2};
    assert_int_equal(open_text(listen(&h), *state, "a.tsv", text, sizeof text - 1, desc, &examples), VKF_ERROR_FORMAT);
    const char *path = scratch_path(*state, "a.tsv");
    snprintf(expected, sizeof expected,
             "%s, line 1: it has no tab between source and target; the line is left out\n"
             "%s, line 3: it has no tab between source and target; the line is left out\n"
             "error %s, line 4: it has no tab between source and target; no more than 2 broken lines are left out "
             "(--max-bad-lines)\n",
             path, path, path);
    expect_end(&examples, &h, expected);
    assert_int_equal(open_text(listen(&h), *state, "a.tsv", nothing, sizeof nothing - 1, desc, &examples),
                     VKF_ERROR_FORMAT);
    snprintf(expected, sizeof expected, "error %s: there is no example in it\n", scratch_path(*state, "a.tsv"));
    expect_end(&examples, &h, expected);
}

// Lines longer than any piece that is read, at the limit and above it, with and without an end. At the limit a line and
// its carriage return fill three pieces.
static void test_examples_bound_a_line(void **state)
{
    enum { LIMIT = 3 * (1 << 18) - 1 };
    static const char *const ends[] = {"\n", "\r\n", ""};
    static const size_t more[] = {0, 1, 2 * LIMIT};
    char *text = malloc(3 * LIMIT + 100);
    assert_non_null(text);
    for (size_t i = 0; i < 9; i++) {
        const size_t length = LIMIT + more[i / 3];
        memset(text, 'x', length);
        size_t bytes = length + (size_t)sprintf(text + length, "%s", ends[i % 3]);
        if (i % 3 < 2)
            bytes += (size_t)sprintf(text + bytes, "last");
        heard h;
        vkf_examples *examples = NULL;
        const vkf_examples_desc desc = {.kind = VKF_EXAMPLE_TEXT, .max_line_bytes = LIMIT, .max_bad_lines = 1};
        vkf_status status = open_text(listen(&h), *state, "a.txt", text, bytes, desc, &examples);
        const bool nothing_left = i / 3 > 0 && i % 3 == 2;
        assert_int_equal(status, nothing_left ? VKF_ERROR_FORMAT : VKF_OK);
        if (nothing_left)
            continue;
        const vkf_example *example = NULL;
        const uint32_t count = vkf_examples_count(examples);
        assert_int_equal(count, (i / 3 == 0) + (i % 3 < 2));
        if (i % 3 < 2)
            expect_example(examples, count - 1, 2, "last", NULL);
        if (i / 3 == 0) {
            assert_int_equal(vkf_examples_get(examples, 0, &example), VKF_OK);
            assert_int_equal(example->source_bytes, LIMIT);
        }
        vkf_examples_close(&examples);
        assert_int_equal(h.recording.live, 0);
    }
    free(text);
}

// Several files of both kinds, read in no order; the index is 8 bytes a line and a little.
static void test_examples_of_many_lines(void **state)
{
    enum { LINES = 20000 };
    scratch_directory *scratch = *state;
    char *text = malloc(LINES * 64), paths[2][512], source[32], target[32];
    const char *names[] = {"a.tsv", "b.jsonl"}, *list[] = {paths[0], paths[1]};
    assert_non_null(text);
    static const char *const formats[] = {"source %d\ttarget %d\n%s",
                                          "{\"source\":\"source %d\",\"target\":\"target %d\"}\n%s"};
    for (size_t f = 0; f < 2; f++) {
        size_t bytes = 0;
        for (int i = 0; i < LINES; i++)
            bytes += (size_t)sprintf(text + bytes, formats[f], i, -i, i % 1000 == 7 ? "\n" : "");
        snprintf(paths[f], sizeof paths[f], "%s", scratch_write(scratch, names[f], text, bytes));
    }
    heard h;
    vkf_examples *examples = NULL;
    const vkf_examples_desc desc = {.paths = list, .path_count = 2};
    assert_int_equal(vkf_examples_open(listen(&h), &desc, &examples), VKF_OK);
    assert_int_equal(vkf_examples_count(examples), 2 * LINES);
    for (uint32_t i = 0; i < 2 * LINES; i++) {
        const uint32_t index = (uint32_t)(i * UINT64_C(7919) % (2 * LINES)), in_file = index % LINES;
        snprintf(source, sizeof source, "source %u", in_file);
        snprintf(target, sizeof target, "target %d", -(int)in_file);
        expect_example(examples, index, in_file + 1 + (in_file + 992) / 1000, source, target);
        assert_string_equal(vkf_examples_place(examples, index).path, paths[index / LINES]);
    }
    assert_true(h.recording.live_bytes < 2 * 8 * 2 * LINES + 2 * (1 << 20));
    expect_end(&examples, &h, "");
    free(text);
}

// The second file goes on with the line number at which the first ended.
static void test_examples_tell_files_apart(void **state)
{
    heard h;
    char paths[2][512];
    const char *list[] = {paths[0], paths[1]};
    vkf_examples *examples = NULL;
    const vkf_examples_desc desc = {.paths = list, .path_count = 2};
    snprintf(paths[0], sizeof paths[0], "%s", scratch_write(*state, "a.tsv", "a\tb\n", 4));
    snprintf(paths[1], sizeof paths[1], "%s", scratch_write(*state, "b.tsv", "\nc\td\n", 5));
    assert_int_equal(vkf_examples_open(listen(&h), &desc, &examples), VKF_OK);
    expect_example(examples, 0, 1, "a", "b");
    expect_example(examples, 1, 2, "c", "d");
    assert_string_equal(vkf_examples_place(examples, 1).path, paths[1]);
    expect_end(&examples, &h, "");
}

// A file that is written again, or grows, is the same for whoever reads its lines; one whose lines differ is not, even
// where size and time are those of before.
static void test_examples_are_what_they_were(void **state)
{
    static const char text[] = "a\tb\nlonger\tline\n";
    heard h;
    char path[512], expected[600];
    vkf_examples *examples = NULL;
    const vkf_example *example = NULL;
    assert_int_equal(open_text(listen(&h), *state, "a.tsv", text, sizeof text - 1, (vkf_examples_desc){0}, &examples),
                     VKF_OK);
    scratch_write(*state, "a.tsv", "a\tb\nlonger\tline\nmore\tb\n", 23);
    expect_example(examples, 1, 2, "longer", "line");
    snprintf(path, sizeof path, "%s", scratch_write(*state, "a.tsv", "a\tb\nlonger\tLINE\n", sizeof text - 1));
    expect_example(examples, 0, 1, "a", "b");
    assert_int_equal(vkf_examples_get(examples, 1, &example), VKF_ERROR_FILE);
    snprintf(expected, sizeof expected, "error %s, line 2: is not what it was when the run began\n", path);
    expect_end(&examples, &h, expected);
}

static void test_examples_refuse_what_is_no_file(void **state)
{
    scratch_directory *scratch = *state;
    char path[512];
    const char *list[] = {scratch->path};
    heard h;
    vkf_examples *examples = NULL;
    vkf_examples_desc desc = {.paths = list, .path_count = 1};
    assert_int_equal(vkf_examples_open(listen(&h), &desc, &examples), VKF_ERROR_FILE);
    assert_non_null(strstr(h.all, "is a directory"));
    snprintf(path, sizeof path, "%s", scratch_path(scratch, "none"));
    list[0] = path;
    assert_int_equal(vkf_examples_open(listen(&h), &desc, &examples), VKF_ERROR_FILE);
    assert_non_null(strstr(h.all, "cannot be opened"));
    assert_int_equal(h.recording.live, 0);
}

static void test_examples_release_all_when_memory_is_exhausted(void **state)
{
    static const char text[] = "{\"text\":\"a\"}\n\n{\"text\":\"b\"}\n";
    const vkf_examples_desc desc = {.kind = VKF_EXAMPLE_TEXT};
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t call = 1; status != VKF_OK; call++) {
        heard h;
        vkf_examples *examples = NULL;
        vkf__host *host = listen(&h);
        h.recording.fail_call = call;
        status = open_text(host, *state, "a.jsonl", text, sizeof text - 1, desc, &examples);
        assert_true(status == VKF_OK || (status == VKF_ERROR_OUT_OF_HOST_MEMORY && !examples && h.all[0]));
        vkf_examples_close(&examples);
        assert_int_equal(h.recording.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_of_columns),
        cmocka_unit_test(test_examples_of_objects),
        cmocka_unit_test(test_examples_of_plain_lines_and_classes_in_columns),
        cmocka_unit_test(test_examples_of_words_and_labels),
        cmocka_unit_test(test_examples_leave_broken_words_out),
        cmocka_unit_test(test_examples_of_classes_as_json_has_them),
        cmocka_unit_test(test_examples_leave_broken_lines_out),
        cmocka_unit_test(test_examples_bound_broken_lines),
        cmocka_unit_test(test_examples_bound_a_line),
        cmocka_unit_test(test_examples_of_many_lines),
        cmocka_unit_test(test_examples_tell_files_apart),
        cmocka_unit_test(test_examples_are_what_they_were),
        cmocka_unit_test(test_examples_refuse_what_is_no_file),
        cmocka_unit_test(test_examples_release_all_when_memory_is_exhausted),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
