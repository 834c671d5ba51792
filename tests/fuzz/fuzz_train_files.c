// What `vkformer train` reads: an input is training data of each kind, settings, and the log of a run that is resumed.
// What was taken as an example can be read again, and is what its kind says.
#include <unistd.h>

#include "../unit/scratch_directory.h"
#include "fuzz.h"
#include "text/code_point.h"
#include "train/examples.h"
#include "train/train_config.h"
#include "train/train_log.h"
#include "train/train_look.h"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("\xef\xbb\xbf"
              "one\tuno\r\n\ntwo\tdu\xc3\xa9\nthree\n\xff\tx\na\tb\tc\nlast\tl"),
    FUZZ_TEXT("{\"source\":\"a\",\"target\":\"b\",\"text\":\"c\",\"label\":2}\n{\"text\":\"\\u00e9\",\"label\":\"x\"}"
              "\r\n[]\n"),
    FUZZ_TEXT("{\"tokens\":[\"a\",\"\"],\"labels\":[\"O\",3]}\n{\"tokens\":[\"b\"],\"ner_tags\":[1]}\n"),
    FUZZ_TEXT("{\"prompt\":\"a\",\"completion\":\" b\"}\n{\"messages\":[{\"role\":\"user\"}]}\n"
              "{\"text\":\"a\",\"label\":true}\n{\"text\":\"b\",\"label\":1.0}\n[{\"text\":\"c\"}]\n"),
    FUZZ_TEXT("a b\tA B\nc\tA\nd\tB\n"),
    FUZZ_TEXT("{\"task\":\"classify\",\"loss_on\":\"all\",\"data\":{\"train\":[\"a\"],\"long\":\"cut\",\"pack\":true,"
              "\"max_length\":9}}"),
    FUZZ_TEXT("{\"model\":\"m\",\"output\":\"o\",\"epochs\":3,\"data\":{\"train\":[\"a\"],\"max_bad_lines\":0},"
              "\"optimizer\":{\"name\":\"adam\",\"lr\":5e-4,\"betas\":[0.9,0.98]},\"parameters\":\"lora\","
              "\"lora\":{\"rank\":4,\"targets\":[\"q\",\"v\"]},\"schedule\":{\"name\":\"cosine\",\"warmup\":4}}"),
    FUZZ_TEXT("{\"new_model\":{\"d_model\":64,\"nhead\":4,\"norm_first\":true},\"tokenizer\":\"t\",\"stesp\":1}"),
    FUZZ_TEXT("{\"type\":\"step\",\"step\":1,\"epoch\":0,\"loss\":0.4,\"tokens\":4096,\"grad_norm\":null,\"lr\":1e-4,"
              "\"tokens_per_second\":9000.0,\"seconds\":3.0}\n"
              "{\"type\":\"eval\",\"step\":2,\"loss\":null,\"accuracy\":0.25,\"tokens\":100,\"seconds\":7.0}\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static scratch_directory scratch;

static void finish(void)
{
    scratch_list(&scratch, 1);
    rmdir(scratch.path);
}

static void start(void)
{
    if (scratch.path[0])
        return;
    snprintf(scratch.path, sizeof scratch.path, "/tmp/vkformer-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(scratch.path) && atexit(finish) == 0);
}

static void ignore_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    FUZZ_CHECK(text[0]);
}

static void check_text(const char *text, size_t size_bytes)
{
    bool valid = true;
    FUZZ_CHECK(size_bytes > 0);
    for (size_t at = 0; at < size_bytes; at += vkf__utf8_check(text + at, size_bytes - at, &valid))
        FUZZ_CHECK(valid && text[at] != '\0');
    FUZZ_CHECK(valid);
}

static void check_texts(const vkf_example *example, vkf_example_kind kind)
{
    check_text(example->source, example->source_bytes);
    FUZZ_CHECK((kind == VKF_EXAMPLE_TEXT) == !example->target);
    if (example->target)
        check_text(example->target, example->target_bytes);
}

static void check_tags(const vkf_example *example)
{
    vkf_example_items words = vkf_example_words(example), labels = vkf_example_labels(example);
    const char *text;
    size_t count = 0, bytes;
    for (; vkf_example_next(&words, &text, &bytes); count++)
        if (bytes > 0) // of an object
            check_text(text, bytes);
    FUZZ_CHECK(count > 0);
    for (; vkf_example_next(&labels, &text, &bytes); count--)
        FUZZ_CHECK(text);
    FUZZ_CHECK(count == 0);
}

static void read_examples(const vkf__host *host, const char *path, vkf_example_kind kind)
{
    vkf_examples *examples = NULL;
    const vkf_examples_desc desc = {
        .paths = &path, .path_count = 1, .kind = kind, .max_line_bytes = 200, .max_bad_lines = 5};
    const vkf_status status = vkf_examples_open(host, &desc, &examples);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT);
    for (uint32_t i = examples ? vkf_examples_count(examples) : 0; i-- > 0;) {
        const vkf_example *example = NULL;
        FUZZ_CHECK(vkf_examples_get(examples, i, &example) == VKF_OK);
        if (kind == VKF_EXAMPLE_TAGS)
            check_tags(example);
        else
            check_texts(example, kind);
        FUZZ_CHECK(i == 0 || vkf_examples_place(examples, i).line > vkf_examples_place(examples, i - 1).line);
    }
    vkf_examples_close(&examples);
}

// What a look at the data says, and classes that are each another.
static void read_classes(const vkf__host *host, const char *path)
{
    char *paths[] = {(char *)path};
    const vkf_train_config config = {.train = {paths, 1}, .max_line_bytes = 200, .max_bad_lines = 5};
    vkf_train_look look;
    FUZZ_CHECK(vkf_train_look_at(host, &config, &look) == VKF_OK);
    FUZZ_CHECK(look.columns || !look.words);
    for (vkf_example_kind kind = VKF_EXAMPLE_CLASS; kind <= VKF_EXAMPLE_TAGS; kind++) {
        vkf_train_classes classes;
        const vkf_status status = vkf_train_classes_read(host, &config, kind, &classes);
        FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT);
        for (uint32_t i = 0; i < classes.count; i++)
            check_text(classes.names[i], strlen(classes.names[i]));
        for (uint32_t i = 1; i < classes.count; i++)
            FUZZ_CHECK(strcmp(classes.names[i - 1], classes.names[i]) != 0);
        vkf_train_classes_free(host, &classes);
    }
}

// A run that is gone on with has them all, and what it has is no other than what it had.
static void continue_config(const vkf__host *host, const char *path, json_t *written)
{
    vkf_train_config config;
    vkf_train_config_init(host, &config);
    json_object_del(written, "output");
    for (int time = 0; time < 2; time++) {
        FUZZ_CHECK(vkf_train_config_continue(&config, path) == VKF_OK);
        json_t *continued = vkf_train_config_json(&config);
        FUZZ_CHECK(json_equal(written, continued));
        json_decref(continued);
    }
    vkf_train_config_free(&config);
}

// Settings that are taken are the same when they are written and read again.
static void read_config(const vkf__host *host, const char *path)
{
    vkf_train_config config, again;
    vkf_train_config_init(host, &config);
    vkf_train_config_init(host, &again);
    vkf_status status = vkf_train_config_load(&config, path);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT);
    json_t *written = vkf_train_config_json(&config);
    FUZZ_CHECK(written);
    if (status == VKF_OK) {
        char *text = json_dumps(written, 0);
        FUZZ_CHECK(text);
        const char *other = scratch_write(&scratch, "again.json", text, strlen(text));
        FUZZ_CHECK(vkf_train_config_load(&again, other) == VKF_OK);
        json_t *written_again = vkf_train_config_json(&again);
        FUZZ_CHECK(json_equal(written, written_again));
        json_decref(written_again);
        free(text);
        continue_config(host, other, written);
        status = vkf_train_config_check(&config);
        FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_INVALID_ARGUMENT);
    }
    json_decref(written);
    vkf_train_config_free(&config);
    vkf_train_config_free(&again);
}

// A log that is read is one that a run can go on with.
static void read_log(const vkf__host *host, const char *path)
{
    vkf_train_log log = {0};
    vkf_train_log_line *lines = NULL;
    size_t count = 0;
    FUZZ_CHECK(vkf_train_log_read(host, path, &lines, &count) == VKF_OK);
    if (count > 0) // the disk is waited for
        FUZZ_CHECK(vkf_train_log_open(host, path, 1, &log) == VKF_OK);
    vkf_train_log_close(&log);
    vkf__free(host, lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static const char *const names[] = {"data.tsv", "data.jsonl"};
    vkf__host host;
    char path[512];
    start();
    FUZZ_CHECK(vkf__host_init(&host, NULL, ignore_message, NULL, VKF_SEVERITY_WARNING) == VKF_OK);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s", scratch_write(&scratch, names[i], data, size_bytes));
        for (vkf_example_kind kind = 0; kind < VKF_EXAMPLE_KIND_COUNT; kind++)
            read_examples(&host, path, kind);
        read_classes(&host, path);
    }
    read_config(&host, path);
    read_log(&host, path);
    return 0;
}
