// Compares two lists of kernels by the compiler's figures.
#include "lab/shaders/shader_diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/commands.h"
#include "command/options.h"
#include "input/input_text.h"
#include "input/name_index.h"
#include "io/json_file.h"
#include "lab/shaders/loop_output.h"
#include "output/json_output.h"

static const struct {
    const char *name;
    bool in_statistics; // otherwise a member of the object itself
} figures[VKF_FIGURE_COUNT] = {
    [VKF_FIGURE_REGISTERS] = {"registers", true},       [VKF_FIGURE_SPILLS] = {"spills", true},
    [VKF_FIGURE_SCRATCH] = {"scratch_bytes", true},     [VKF_FIGURE_SHARED] = {"shared_bytes", true},
    [VKF_FIGURE_INSTRUCTIONS] = {"instructions", true}, [VKF_FIGURE_WAVES] = {"waves", true},
    [VKF_FIGURE_SPIRV] = {"spirv_bytes", false},
};

static double number_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : -1;
}

static void read_figures(const json_t *row, double out_values[VKF_FIGURE_COUNT])
{
    const json_t *statistics = json_object_get(row, "statistics");
    for (size_t i = 0; i < VKF_FIGURE_COUNT; i++) {
        out_values[i] = number_of(figures[i].in_statistics ? statistics : row, figures[i].name);
    }
}

// Which of the rows has the same kernel, config and constants; the first of several.
typedef struct row_index {
    const json_t *rows;
    vkf_name_index names;
} row_index;

static void names_of(const json_t *row, const char *out_names[3])
{
    static const char *const keys[] = {"kernel", "config", "constants"};
    for (size_t k = 0; k < 3; k++)
        out_names[k] = vkf_rows_string(row, keys[k]);
}

static bool index_rows(const json_t *rows, row_index *out_index)
{
    const char *names[3];
    size_t first = 0;
    *out_index = (row_index){.rows = rows};
    bool indexed = vkf_name_index_init(&out_index->names);
    for (size_t i = 0; indexed && i < json_array_size(rows); i++) {
        names_of(json_array_get(rows, i), names);
        indexed = vkf_name_index_add(&out_index->names, names, 3, i, &first);
    }
    return indexed;
}

static const json_t *find_row(const row_index *index, const json_t *like)
{
    const char *names[3];
    size_t place = 0;
    names_of(like, names);
    return vkf_name_index_find(&index->names, names, 3, &place) ? json_array_get(index->rows, place) : NULL;
}

// Scratch memory counts where the driver does not report spills, or reports fewer bytes than went to scratch.
static double spills_of(const double values[VKF_FIGURE_COUNT])
{
    return values[VKF_FIGURE_SPILLS] > values[VKF_FIGURE_SCRATCH] ? values[VKF_FIGURE_SPILLS]
                                                                  : values[VKF_FIGURE_SCRATCH];
}

static bool rises_above(double before, double after, double percent)
{
    return before >= 0 && after >= 0 && after * 100 > before * (100 + percent);
}

static bool failed_to_compile(const json_t *row)
{
    return json_is_false(json_object_get(row, "compiled")) && !json_is_false(json_object_get(row, "usable"));
}

static vkf_shader_difference compare_rows(const json_t *before, const json_t *after, double fail_above)
{
    const json_t *either = after ? after : before;
    vkf_shader_difference d = {
        .kernel = vkf_rows_string(either, "kernel"),
        .config = vkf_rows_string(either, "config"),
        .constants = vkf_rows_string(either, "constants"),
        .change = !before  ? VKF_CHANGE_NEW
                  : !after ? VKF_CHANGE_MISSING
                           : VKF_CHANGE_NONE,
    };
    read_figures(before, d.before);
    read_figures(after, d.after);
    if (!before || !after)
        return d;
    d.no_longer_compiles = json_is_true(json_object_get(before, "compiled")) && failed_to_compile(after);
    d.newly_spills = spills_of(d.before) == 0 && spills_of(d.after) > 0;
    d.rose = rises_above(d.before[VKF_FIGURE_REGISTERS], d.after[VKF_FIGURE_REGISTERS], fail_above) ||
             rises_above(d.before[VKF_FIGURE_INSTRUCTIONS], d.after[VKF_FIGURE_INSTRUCTIONS], fail_above);
    bool changed = vkf_shader_is_worse(&d);
    for (size_t i = 0; i < VKF_FIGURE_COUNT; i++)
        changed = changed || d.before[i] < d.after[i] || d.before[i] > d.after[i];
    d.change = changed ? VKF_CHANGE_FIGURES : VKF_CHANGE_NONE;
    return d;
}

bool vkf_shader_is_worse(const vkf_shader_difference *difference)
{
    return difference->no_longer_compiles || difference->newly_spills || difference->rose;
}

static void list_differences(const row_index *before, const row_index *after, double fail_above, vkf_shader_diff *diff)
{
    for (size_t i = 0; i < json_array_size(after->rows); i++) {
        const json_t *row = json_array_get(after->rows, i), *other = find_row(before, row);
        diff->items[diff->count] = compare_rows(other, row, fail_above);
        diff->worse += vkf_shader_is_worse(&diff->items[diff->count++]);
        diff->compared += other != NULL;
    }
    for (size_t i = 0; i < json_array_size(before->rows); i++) {
        const json_t *row = json_array_get(before->rows, i);
        if (!find_row(after, row))
            diff->items[diff->count++] = compare_rows(row, NULL, fail_above);
    }
}

bool vkf_shader_diff_make(const json_t *before, const json_t *after, double fail_above, vkf_shader_diff *out_diff)
{
    row_index before_index = {0}, after_index = {0};
    *out_diff = (vkf_shader_diff){0};
    out_diff->items = calloc(json_array_size(before) + json_array_size(after) + 1, sizeof *out_diff->items);
    bool made = out_diff->items && index_rows(before, &before_index) && index_rows(after, &after_index);
    if (made)
        list_differences(&before_index, &after_index, fail_above, out_diff);
    vkf_name_index_free(&before_index.names);
    vkf_name_index_free(&after_index.names);
    return made;
}

void vkf_shader_diff_free(vkf_shader_diff *diff)
{
    free(diff->items);
    *diff = (vkf_shader_diff){0};
}

// Loads one array, or one object per line.
static json_t *load_rows(const char *path)
{
    json_error_t error = {0};
    char *text = NULL;
    size_t bytes = 0, at = 0;
    json_t *rows = NULL;
    if (!vkf_read_input(path, VKF_JSON_MAX_BYTES, &text, &bytes))
        return NULL;
    rows = json_array();
    for (bool good = rows != NULL; good && at < bytes; at += strspn(text + at, " \n\r\t")) {
        json_t *value = json_loadb(text + at, bytes - at, JSON_DISABLE_EOF_CHECK, &error);
        at += value ? (size_t)error.position : 0;
        good =
            json_is_array(value) ? json_array_extend(rows, value) == 0 : value && json_array_append(rows, value) == 0;
        json_decref(value);
        if (!good) {
            json_decref(rows);
            rows = NULL;
        }
    }
    if (!rows || json_array_size(rows) == 0) {
        vkf_print_error("%.200s: it is no output of vkformer shaders: %s", path,
                        error.text[0] ? error.text : "there is nothing in it");
        json_decref(rows);
        rows = NULL;
    }
    free(text);
    return rows;
}

static bool check_rows(const char *path, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (vkf_rows_string(json_array_get(rows, i), "kernel")[0] == '\0') {
            vkf_print_error("%.200s: it is no output of vkformer shaders: item %zu names no kernel", path, i);
            return false;
        }
    }
    return true;
}

static json_t *difference_json(const vkf_shader_difference *d)
{
    static const char *const names[] = {[VKF_CHANGE_NONE] = "same",
                                        [VKF_CHANGE_FIGURES] = "changed",
                                        [VKF_CHANGE_NEW] = "new",
                                        [VKF_CHANGE_MISSING] = "missing"};
    json_t *object = json_object(), *all = json_object();
    vkf_json_put_string(object, "kernel", d->kernel);
    vkf_json_put_string(object, "config", d->config);
    vkf_json_put_string(object, "constants", d->constants);
    vkf_json_put_string(object, "change", names[d->change]);
    json_object_set_new(object, "no_longer_compiles", json_boolean(d->no_longer_compiles));
    json_object_set_new(object, "newly_spills", json_boolean(d->newly_spills));
    json_object_set_new(object, "rose", json_boolean(d->rose));
    for (size_t i = 0; i < VKF_FIGURE_COUNT; i++) {
        json_t *pair = json_object();
        vkf_json_put_real(pair, "before", d->before[i]);
        vkf_json_put_real(pair, "after", d->after[i]);
        json_object_set_new(all, figures[i].name, pair);
    }
    json_object_set_new(object, "figures", all);
    return object;
}

static const char *change_of(const json_t *row)
{
    static const struct {
        const char *key, *text;
    } worse[] = {{"no_longer_compiles", "NO LONGER COMPILES"}, {"newly_spills", "NEWLY SPILLS"}, {"rose", "ROSE"}};
    for (size_t i = 0; i < sizeof worse / sizeof worse[0]; i++)
        if (json_is_true(json_object_get(row, worse[i].key)))
            return worse[i].text;
    return vkf_rows_string(row, "change");
}

static void change_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    snprintf(out_text, VKF_CELL_BYTES, "%s", change_of(row));
}

static void figure_text(double value, char out_text[32])
{
    snprintf(out_text, 32, value < 0 ? "-" : "%.0f", value);
}

static size_t add_figure(const char *name, double before, double after, char *out_text, size_t length)
{
    char old[32], new[32], ratio[32] = "";
    figure_text(before, old);
    figure_text(after, new);
    if (before > 0 && after >= 0)
        snprintf(ratio, sizeof ratio, " (%+.1f %%)", 100 * (after / before - 1));
    return length + (size_t)snprintf(out_text + length, VKF_CELL_BYTES - length, "%s%s %s -> %s%s",
                                     length > 0 ? ", " : "", name, old, new, ratio);
}

static void figures_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const bool changed = strcmp(vkf_rows_string(row, "change"), "changed") == 0;
    size_t length = 0;
    for (size_t i = 0; changed && i < VKF_FIGURE_COUNT; i++) {
        const json_t *pair = json_object_get(json_object_get(row, "figures"), figures[i].name);
        const double before = number_of(pair, "before"), after = number_of(pair, "after");
        if (before < after || before > after)
            length = add_figure(figures[i].name, before, after, out_text, length);
    }
}

static const vkf_column columns[] = {
    {.title = "kernel", .text = loop_name_cell, .width = -44},
    {.title = "constants", .key = "constants", .width = -12},
    {.title = "change", .text = change_cell, .width = -18},
    {.title = "figures", .text = figures_cell},
    {0},
};

static bool print_rows(const vkf_shader_diff *diff, vkf_rows_format format)
{
    vkf_rows rows = {.format = format, .columns = columns, .no_head = true};
    bool printed = true;
    vkf_rows_head(&rows);
    for (size_t i = 0; i < diff->count && printed; i++)
        if (diff->items[i].change != VKF_CHANGE_NONE)
            printed = vkf_rows_add(&rows, difference_json(&diff->items[i]));
    return vkf_rows_end(&rows) && printed;
}

// Comparing with another compiler or another device is allowed, but should not be overlooked.
static void warn_of_others(const json_t *before, const json_t *after)
{
    static const char *const keys[] = {"device", "driver", "driver_info"};
    const json_t *a = json_array_get(before, 0), *b = json_array_get(after, 0);
    for (size_t i = 0; i < 3 && a && b; i++) {
        if (strcmp(vkf_rows_string(a, keys[i]), vkf_rows_string(b, keys[i])) != 0)
            vkf_print_warning("%s: '%.100s' before, '%.100s' after", keys[i], vkf_rows_string(a, keys[i]),
                              vkf_rows_string(b, keys[i]));
    }
}

static bool has_statistics(const vkf_shader_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        const vkf_shader_difference *d = &diff->items[i];
        for (size_t f = 0; f < VKF_FIGURE_SPIRV; f++) {
            if (d->before[f] >= 0 && d->after[f] >= 0)
                return true;
        }
    }
    return false;
}

static int print_diff(const vkf_shader_diff *diff, double fail_above, vkf_rows_format format)
{
    if (diff->compared == 0) {
        vkf_print_error("the two files have no kernel in common");
        return VKF_EXIT_FAILED;
    }
    if (!has_statistics(diff))
        vkf_print_warning("no kernel has statistics in both files: only sizes of SPIR-V were compared");
    if (!print_rows(diff, format))
        return VKF_EXIT_FAILED;
    if (diff->worse == 0)
        return VKF_EXIT_DONE;
    vkf_print_error("%zu of %zu kernels compile no longer, newly spill, or take over %g %% more registers or "
                    "instructions",
                    diff->worse, diff->compared, fail_above);
    return VKF_EXIT_BEYOND;
}

int vkf_print_shader_diff(const char *before_path, const char *after_path, double fail_above, vkf_rows_format format)
{
    json_t *before = load_rows(before_path), *after = before ? load_rows(after_path) : NULL;
    vkf_shader_diff diff = {0};
    int code = VKF_EXIT_FAILED;
    if (before && after && check_rows(before_path, before) && check_rows(after_path, after)) {
        warn_of_others(before, after);
        if (vkf_shader_diff_make(before, after, fail_above, &diff))
            code = print_diff(&diff, fail_above, format);
        else
            vkf_print_error("memory is exhausted");
    }
    vkf_shader_diff_free(&diff);
    json_decref(before);
    json_decref(after);
    return code;
}
