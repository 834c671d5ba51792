// Reads the first lines of training data, and the names of all classes.
#include "train/train_look.h"

#include <stdlib.h>
#include <string.h>

#include "input/line_file.h"

#define LOOKED_AT_LINES 100u
#define PIECE_BYTES ((size_t)1 << 16)
#define MOST_CLASSES 4096u
#define FEW_CLASSES 16u // that may be more than half of the examples

// ---- the first lines

typedef struct line_counts {
    uint32_t lines, with_tab, as_many_words, several_words;
} line_counts;

static void look_at_object(const char *text, size_t bytes, vkf_train_look *look)
{
    json_t *object = json_loadb(text, bytes, 0, NULL);
    look->prompt = json_object_get(object, "prompt") || json_object_get(object, "completion");
    look->messages = json_object_get(object, "messages");
    look->label = json_object_get(object, "label");
    look->tags = json_object_get(object, "tokens");
    look->pair = json_object_get(object, "source");
    look->text = json_object_get(object, "text");
    json_decref(object);
}

static uint32_t count_words(const char *text, const char *end)
{
    uint32_t count = 0;
    for (const char *at = text; at < end; at++)
        count += *at != ' ' && (at == text || at[-1] == ' ');
    return count;
}

static void look_at_columns(const char *text, size_t bytes, line_counts *counts)
{
    const char *end = text + bytes, *tab = memchr(text, '\t', bytes);
    counts->lines++;
    if (!tab || memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
        return;
    const uint32_t words = count_words(text, tab), labels = count_words(tab + 1, end);
    counts->with_tab++;
    counts->as_many_words += words == labels;
    counts->several_words += words == labels && words > 1;
}

static bool looks_like_one(const vkf_train_look *look)
{
    return look->prompt || look->messages || look->label || look->tags || look->pair || look->text;
}

static vkf_status look_at_lines(vkf_line_file *file, uint64_t offset, vkf_train_look *look)
{
    line_counts counts = {0};
    bool at_end = false;
    for (uint32_t i = 0; i < LOOKED_AT_LINES && !(look->json && looks_like_one(look)); i++) {
        vkf_file_line line;
        VKF_RETURN_IF_ERROR(vkf_line_file_read(file, offset, PIECE_BYTES, &line, &at_end));
        if (at_end)
            break;
        offset = line.next_offset;
        if (line.too_long || line.size_bytes == 0)
            continue;
        if (look->json)
            look_at_object(line.text, line.size_bytes, look);
        else
            look_at_columns(line.text, line.size_bytes, &counts);
    }
    look->columns = 2 * counts.with_tab > counts.lines;
    look->words = look->columns && counts.as_many_words == counts.with_tab && counts.several_words > 0;
    return VKF_OK;
}

vkf_status vkf_train_look_at(const vkf__host *host, const vkf_train_config *config, vkf_train_look *out_look)
{
    const char *path = config->train.items[0];
    vkf_line_file file = {0};
    uint64_t offset = 0;
    *out_look = (vkf_train_look){.json = vkf_example_is_json(path)};
    VKF_RETURN_IF_ERROR(vkf_line_file_open(host, path, config->max_line_bytes, &file, &offset));
    const vkf_status status = look_at_lines(&file, offset, out_look);
    vkf_line_file_close(&file);
    return status;
}

// ---- classes

// The place of a name, or the one where it belongs.
static uint32_t place_of(const vkf_train_classes *classes, const char *name, bool *out_there)
{
    uint32_t low = 0, high = classes->count;
    *out_there = false;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        const int order = strcmp(classes->names[middle], name);
        *out_there = *out_there || order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static vkf_status fail_many(const vkf__host *host, const vkf_train_config *config, const vkf_train_classes *classes)
{
    return vkf__fail(host, VKF_ERROR_FORMAT,
                     "%s: %u of the first %u labels differ, so that they are no classes: 'task' (--task) \"embed\" "
                     "learns which two texts belong together, \"fill\" and \"continue\" learn from texts alone",
                     config->train.items[0], classes->count, classes->examples);
}

static vkf_status add_class(const vkf__host *host, const vkf_train_config *config, const char *text, size_t bytes,
                            vkf_train_classes *classes)
{
    bool there = false;
    char *name = vkf__alloc(host, bytes + 1, 1);
    if (!name)
        return vkf__no_memory(host, __func__, bytes + 1, 1);
    memcpy(name, text, bytes);
    const uint32_t place = place_of(classes, name, &there);
    if (there || classes->count == MOST_CLASSES) {
        vkf__free(host, name);
        return there ? VKF_OK : fail_many(host, config, classes);
    }
    const vkf_status status = vkf__grow(host, (void **)&classes->names, sizeof *classes->names, classes->count,
                                        &classes->capacity, (size_t)classes->count + 1);
    if (status != VKF_OK) {
        vkf__free(host, name);
        return status;
    }
    memmove(classes->names + place + 1, classes->names + place, (classes->count - place) * sizeof *classes->names);
    classes->names[place] = name;
    classes->count++;
    return VKF_OK;
}

static vkf_status add_example(const vkf__host *host, const vkf_train_config *config, const vkf_example *example,
                              bool tags, vkf_train_classes *classes)
{
    vkf_example_items labels = vkf_example_labels(example);
    const char *label;
    size_t bytes;
    classes->examples++;
    if (!tags)
        return add_class(host, config, example->target, example->target_bytes, classes);
    while (vkf_example_next(&labels, &label, &bytes))
        VKF_RETURN_IF_ERROR(add_class(host, config, label, bytes, classes));
    return VKF_OK;
}

static bool is_number(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name) && strlen(name) < 10;
}

static int by_number(const void *left, const void *right)
{
    const long a = atol(*(char *const *)left), b = atol(*(char *const *)right);
    return (a > b) - (a < b);
}

static void sort(vkf_train_classes *classes)
{
    bool numbers = true;
    for (uint32_t i = 0; i < classes->count; i++)
        numbers = numbers && is_number(classes->names[i]);
    if (numbers && classes->count > 0)
        qsort(classes->names, classes->count, sizeof *classes->names, by_number);
}

// Whether one label in two, or each of them, is another: then they are texts.
static bool are_texts(const vkf_train_classes *classes, bool tags)
{
    bool blanks = false;
    for (uint32_t i = 0; i < classes->count; i++)
        blanks = blanks || strchr(classes->names[i], ' ');
    if (tags || classes->count < 2)
        return false;
    return (classes->count > FEW_CLASSES && 2 * classes->count > classes->examples) ||
           (blanks && classes->count == classes->examples);
}

static vkf_status read_classes(const vkf__host *host, const vkf_train_config *config, vkf_examples *examples, bool tags,
                               vkf_train_classes *classes)
{
    for (uint32_t i = 0; i < vkf_examples_count(examples); i++) {
        const vkf_example *example = NULL;
        VKF_RETURN_IF_ERROR(vkf_examples_get(examples, i, &example));
        VKF_RETURN_IF_ERROR(add_example(host, config, example, tags, classes));
    }
    if (are_texts(classes, tags))
        return fail_many(host, config, classes);
    if (classes->count == 1)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: all labels are '%.100s', and from one class nothing is learned",
                         config->train.items[0], classes->names[0]);
    sort(classes);
    return VKF_OK;
}

vkf_status vkf_train_classes_read(const vkf__host *host, const vkf_train_config *config, vkf_example_kind kind,
                                  vkf_train_classes *out_classes)
{
    vkf__host quiet = *host;
    vkf_examples *examples = NULL;
    const vkf_examples_desc desc = {
        .paths = (const char *const *)config->train.items,
        .path_count = config->train.count,
        .kind = kind,
        .max_line_bytes = config->max_line_bytes,
        .max_bad_lines = config->max_bad_lines,
    };
    quiet.min_severity = VKF_SEVERITY_ERROR;
    *out_classes = (vkf_train_classes){0};
    VKF_RETURN_IF_ERROR(vkf_examples_open(&quiet, &desc, &examples));
    const vkf_status status = read_classes(host, config, examples, kind == VKF_EXAMPLE_TAGS, out_classes);
    const bool tells = status != VKF_OK && vkf_examples_bad_lines(examples) > 0;
    vkf_examples_close(&examples);
    if (tells && vkf_examples_open(host, &desc, &examples) == VKF_OK) // with its warnings, as nobody else will warn
        vkf_examples_close(&examples);
    return status;
}

void vkf_train_classes_free(const vkf__host *host, vkf_train_classes *classes)
{
    for (uint32_t i = 0; i < classes->count; i++)
        vkf__free(host, classes->names[i]);
    vkf__free(host, classes->names);
    *classes = (vkf_train_classes){0};
}
