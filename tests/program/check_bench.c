// check_bench FORMAT COUNT [KEY...]: reads what `vkformer bench -o FORMAT` printed (json, jsonl or csv) and fails, with
// a reason, unless there are COUNT results, each with all that every result has. The KEYs must be numbers above 0.
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INPUT (1u << 20)

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("check_bench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static bool above_zero(const json_t *result, const char *key)
{
    if (json_number_value(json_object_get(result, key)) > 0)
        return true;
    complain("%s is no number above 0", key);
    return false;
}

static bool is_text(const json_t *result, const char *key)
{
    const char *text = json_string_value(json_object_get(result, key));
    if (text && text[0])
        return true;
    complain("%s is no text", key);
    return false;
}

static double number(const json_t *result, const char *what, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "%s_%s", what, name);
    json_t *value = json_object_get(result, key);
    return json_is_number(value) ? json_number_value(value) : -1.0;
}

// All of a kind of time is there and in order, or, where it may be, none of it.
static bool times_agree(const json_t *result, const char *what, bool known)
{
    static const char *const names[] = {"min", "median", "mean", "max", "stddev", "iqr"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s_%s", what, names[i]);
        json_t *value = json_object_get(result, key);
        if (known ? !json_is_number(value) || json_number_value(value) < 0 : !json_is_null(value)) {
            complain("%s is %s", key, known ? "no number of at least 0" : "not null");
            return false;
        }
    }
    if (!known)
        return true;
    double min = number(result, what, "min"), max = number(result, what, "max");
    double median = number(result, what, "median"), mean = number(result, what, "mean");
    double slack = max * 1e-5; // numbers are printed with six digits
    if (median >= min - slack && median <= max + slack && mean >= min - slack && mean <= max + slack)
        return true;
    complain("%s: median or mean is not between min and max", what);
    return false;
}

static bool result_is_complete(const json_t *result, int key_count, char **keys)
{
    static const char *const texts[] = {"op", "dtype", "weights_dtype", "device", "driver", "variant", "timed_by"};
    static const char *const rates[] = {"gflops",
                                        "gbytes_per_s",
                                        "roof",
                                        "roof_bound",
                                        "roof_gflops",
                                        "roof_copy_gbytes_per_s",
                                        "roof_read_gbytes_per_s",
                                        "settled",
                                        "roof_settled"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!is_text(result, texts[i]))
            return false;
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (!json_object_get(result, rates[i])) {
            complain("%s is missing", rates[i]);
            return false;
        }
    }
    if (json_object_size(json_object_get(result, "shape")) == 0) {
        complain("shape has no members");
        return false;
    }
    bool timed = strcmp(json_string_value(json_object_get(result, "timed_by")), "gpu") == 0;
    if (!above_zero(result, "repetitions") || !times_agree(result, "wall_ms", true) ||
        !times_agree(result, "gpu_ms", timed))
        return false;
    for (int i = 0; i < key_count; i++) {
        if (!above_zero(result, keys[i]))
            return false;
    }
    return true;
}

static bool check_array(const char *text, long count, int key_count, char **keys)
{
    json_error_t error;
    json_t *array = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    bool good = json_is_array(array) && (long)json_array_size(array) == count;
    if (!good)
        complain("no JSON array of %ld results: %s", count, error.text);
    size_t index;
    json_t *result;
    json_array_foreach(array, index, result)
    {
        good = good && result_is_complete(result, key_count, keys);
    }
    json_decref(array);
    return good;
}

static bool check_lines(char *text, long count, int key_count, char **keys)
{
    long found = 0;
    bool good = true;
    for (char *line = text; good && *line; found++) {
        size_t length = strcspn(line, "\n");
        bool ended = line[length] == '\n';
        json_error_t error;
        line[length] = '\0';
        json_t *result = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (!result || !ended)
            complain("line %ld is no JSON object, or has no end: %s", found + 1, error.text);
        good = result && ended && result_is_complete(result, key_count, keys);
        json_decref(result);
        line += length + ended;
    }
    if (good && found != count)
        complain("%ld results, not %ld", found, count);
    return good && found == count;
}

// Lines after the heading, each with as many fields as the heading has; the keys are among its names.
static bool check_csv(const char *text, long count, int key_count, char **keys)
{
    long lines = 0;
    int fields = 1, heading = 0;
    bool quoted = false;
    size_t heading_length = strcspn(text, "\n");
    for (const char *c = text; *c; c++) {
        quoted = quoted != (*c == '"');
        fields += *c == ',' && !quoted;
        if (*c != '\n' || quoted)
            continue;
        heading = lines == 0 ? fields : heading;
        if (fields != heading) {
            complain("line %ld has %d fields, the heading %d", lines + 1, fields, heading);
            return false;
        }
        fields = 1;
        lines++;
    }
    for (int i = 0; i < key_count; i++) {
        const char *place = strstr(text, keys[i]);
        if (!place || place > text + heading_length) {
            complain("the heading has no %s", keys[i]);
            return false;
        }
    }
    if (lines != count + 1)
        complain("%ld lines, not %ld and a heading", lines, count);
    return lines == count + 1;
}

int main(int argc, char **argv)
{
    static char text[MAX_INPUT];
    if (argc < 3) {
        complain("usage: check_bench json|jsonl|csv COUNT [KEY...]");
        return 2;
    }
    size_t size = fread(text, 1, sizeof text - 1, stdin);
    text[size] = '\0';
    long count = strtol(argv[2], NULL, 10);
    bool good;
    if (strcmp(argv[1], "json") == 0)
        good = check_array(text, count, argc - 3, argv + 3);
    else if (strcmp(argv[1], "jsonl") == 0)
        good = check_lines(text, count, argc - 3, argv + 3);
    else
        good = check_csv(text, count, argc - 3, argv + 3);
    return good ? 0 : 1;
}
