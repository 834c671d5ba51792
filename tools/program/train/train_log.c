// Writes lines of the log, and reads them.
#include "train/train_log.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/new_file.h"
#include "base/system_file.h"
#include "input/line_file.h"

#define MAX_LINE_BYTES 4096u
#define PIECE_BYTES ((size_t)1 << 16)
#define DIGITS 9 // a float32 is the same after it was read again

static const char *const type_names[VKF_TRAIN_LOG_TYPE_COUNT] = {
    [VKF_TRAIN_LOG_STEP] = "step", [VKF_TRAIN_LOG_EVAL] = "eval", [VKF_TRAIN_LOG_SKIPPED] = "skipped"};

typedef struct field {
    const char *name;
    size_t offset;
    bool whole;            // uint64_t, otherwise double
    bool of_step, of_eval; // in which lines it stands
} field;

static const field fields[] = {
    {"step", offsetof(vkf_train_log_line, step), true, true, true},
    {"epoch", offsetof(vkf_train_log_line, epoch), true, true, false},
    {"loss", offsetof(vkf_train_log_line, loss), false, true, true},
    {"accuracy", offsetof(vkf_train_log_line, accuracy), false, false, true},
    {"tokens", offsetof(vkf_train_log_line, tokens), true, true, true},
    {"grad_norm", offsetof(vkf_train_log_line, grad_norm), false, true, false},
    {"lr", offsetof(vkf_train_log_line, lr), false, true, false},
    {"tokens_per_second", offsetof(vkf_train_log_line, tokens_per_second), false, true, false},
    {"seconds", offsetof(vkf_train_log_line, seconds), false, true, true},
};

#define FIELD_COUNT (sizeof fields / sizeof fields[0])

static bool stands_in(const field *f, vkf_train_log_type type)
{
    return type == VKF_TRAIN_LOG_EVAL ? f->of_eval : f->of_step;
}

// ---- writing

static json_t *json_of_field(const field *f, const vkf_train_log_line *line)
{
    const void *member = (const char *)line + f->offset;
    if (f->whole)
        return json_integer((json_int_t) * (const uint64_t *)member);
    const double number = *(const double *)member;
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *json_of_line(const vkf_train_log_line *line)
{
    json_t *object = json_pack("{s:s}", "type", type_names[line->type]);
    for (size_t i = 0; object && i < FIELD_COUNT; i++)
        if (stands_in(&fields[i], line->type) &&
            json_object_set_new(object, fields[i].name, json_of_field(&fields[i], line)) != 0) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

static vkf_status fail_write(const vkf_train_log *log)
{
    return vkf__fail(log->host, VKF_ERROR_FILE, "%s: cannot be written: %s", log->path, strerror(errno));
}

vkf_status vkf_train_log_write(vkf_train_log *log, const vkf_train_log_line *line)
{
    json_t *object = json_of_line(line);
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) : NULL;
    vkf_status status = VKF_OK;
    if (!text)
        status = vkf__no_memory(log->host, __func__, 1, MAX_LINE_BYTES);
    else if (fprintf(log->stream, "%s\n", text) < 0 || fflush(log->stream) != 0)
        status = fail_write(log);
    free(text);
    json_decref(object);
    return status;
}

// ---- reading

// Takes a member; false where it is none of a log.
static bool take_field(const field *f, const json_t *value, vkf_train_log_line *line)
{
    void *member = (char *)line + f->offset;
    if (f->whole && json_is_integer(value) && json_integer_value(value) >= 0)
        *(uint64_t *)member = (uint64_t)json_integer_value(value);
    else if (!f->whole && (json_is_number(value) || json_is_null(value)))
        *(double *)member = json_is_null(value) ? NAN : json_number_value(value);
    else
        return false;
    return true;
}

static bool take_line(const json_t *object, vkf_train_log_line *out_line)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    vkf_train_log_line line = {0};
    while (line.type < VKF_TRAIN_LOG_TYPE_COUNT && (!type || strcmp(type, type_names[line.type]) != 0))
        line.type++;
    if (line.type == VKF_TRAIN_LOG_TYPE_COUNT)
        return false;
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (stands_in(&fields[i], line.type) && !take_field(&fields[i], json_object_get(object, fields[i].name), &line))
            return false;
    *out_line = line;
    return true;
}

// What is done with each line: its text, without its end, and what it says.
typedef vkf_status (*line_taker)(void *user, const vkf_file_line *text, const vkf_train_log_line *line);

// Lines that are broken, as a full disk or two writers make them, are left out.
static vkf_status walk_lines(vkf_line_file *file, uint64_t offset, line_taker take, void *user)
{
    vkf_status status = VKF_OK;
    uint64_t broken = 0, first_broken = 0;
    for (uint64_t number = 1; status == VKF_OK; number++) {
        vkf_file_line text;
        vkf_train_log_line line;
        bool at_end = false;
        VKF_RETURN_IF_ERROR(vkf_line_file_read(file, offset, PIECE_BYTES, &text, &at_end));
        // A killed run may have left a part of a line.
        if (at_end || (!text.too_long && text.next_offset == offset + text.size_bytes))
            break;
        json_t *object = text.too_long ? NULL : json_loadb(text.text, text.size_bytes, 0, NULL);
        if (take_line(object, &line))
            status = take(user, &text, &line);
        else if (broken++ == 0)
            first_broken = number;
        json_decref(object);
        offset = text.next_offset;
    }
    if (status == VKF_OK && broken > 0)
        vkf__log(file->host, VKF_SEVERITY_WARNING,
                 "%s, line %" PRIu64 ": is no line of a training's log%s; it is left out", vkf__file_path(file->file),
                 first_broken, broken > 1 ? ", nor are others" : "");
    return status;
}

static vkf_status read_lines(const vkf__host *host, const char *path, line_taker take, void *user)
{
    vkf_line_file file = {0};
    uint64_t offset = 0;
    VKF_RETURN_IF_ERROR(vkf_line_file_open(host, path, MAX_LINE_BYTES, &file, &offset));
    vkf_status status = walk_lines(&file, offset, take, user);
    vkf_line_file_close(&file);
    return status;
}

typedef struct line_list {
    const vkf__host *host;
    vkf_train_log_line *lines;
    size_t count, capacity;
} line_list;

static vkf_status keep_line(void *user, const vkf_file_line *text, const vkf_train_log_line *line)
{
    line_list *list = user;
    (void)text;
    VKF_RETURN_IF_ERROR(vkf__grow(list->host, (void **)&list->lines, sizeof *list->lines, list->count, &list->capacity,
                                  list->count + 1));
    list->lines[list->count++] = *line;
    return VKF_OK;
}

vkf_status vkf_train_log_read(const vkf__host *host, const char *path, vkf_train_log_line **out_lines,
                              size_t *out_count)
{
    line_list list = {.host = host};
    vkf_status status = read_lines(host, path, keep_line, &list);
    if (status != VKF_OK) {
        vkf__free(host, list.lines);
        return status;
    }
    *out_lines = list.lines;
    *out_count = list.count;
    return VKF_OK;
}

// ---- opening

typedef struct line_copy {
    vkf__new_file *file;
    uint64_t last_step;
} line_copy;

static vkf_status copy_line(void *user, const vkf_file_line *text, const vkf_train_log_line *line)
{
    line_copy *copy = user;
    if (line->step > copy->last_step)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__new_file_write(copy->file, text->text, text->size_bytes));
    return vkf__new_file_write(copy->file, "\n", 1);
}

static vkf_status drop_later_lines(const vkf__host *host, const char *path, uint64_t last_step)
{
    vkf__new_file file = {0};
    line_copy copy = {&file, last_step};
    VKF_RETURN_IF_ERROR(vkf__new_file_open(host, path, &file));
    vkf_status status = read_lines(host, path, copy_line, &copy);
    if (status == VKF_OK)
        status = vkf__new_file_commit(&file);
    vkf__new_file_discard(&file);
    return status;
}

vkf_status vkf_train_log_open(const vkf__host *host, const char *path, uint64_t resumed_step, vkf_train_log *out_log)
{
    vkf_status status = VKF_OK;
    vkf_train_log log = {.host = host};
    if (resumed_step > 0 && vkf__file_exists(path))
        VKF_RETURN_IF_ERROR(drop_later_lines(host, path, resumed_step));
    VKF_STRDUP(host, log.path, path);
    log.stream = vkf__stream_open(path, resumed_step > 0 ? "ab" : "wb");
    if (!log.stream)
        VKF_TRY(fail_write(&log));
    *out_log = log;
    return VKF_OK;
fail:
    vkf_train_log_close(&log);
    return status;
}

void vkf_train_log_close(vkf_train_log *log)
{
    if (!log->host)
        return;
    if (log->stream)
        (void)fclose(log->stream); // each line was flushed
    vkf__free(log->host, log->path);
    *log = (vkf_train_log){0};
}
