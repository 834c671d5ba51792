// Indexes training data, and reads single examples.
#include "train/examples.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "input/line_file.h"

#define INDEX_PIECE_BYTES ((size_t)1 << 18)
#define SINGLE_PIECE_BYTES ((size_t)4096)

// Examples of successive lines of one file, up to the next run.
typedef struct line_run {
    uint32_t first; // example
    uint32_t file;
    uint64_t line; // of the first example
} line_run;

// Where the line of an example begins, and a hash of it.
typedef struct line_mark {
    uint64_t offset, hash;
} line_mark;

struct vkf_examples {
    const vkf__host *host;
    vkf_example_kind kind;
    vkf_line_file *files; // (file_count)
    uint32_t file_count;
    line_mark *lines; // (count)
    size_t count, capacity;
    line_run *runs; // (run_count)
    size_t run_count, run_capacity;
    uint32_t bad_lines, max_bad_lines;
    vkf_example current;
};

// The line that is being indexed.
typedef struct line_place {
    uint32_t file;
    uint64_t number, offset;
} line_place;

static const char *path_of(const vkf_examples *examples, uint32_t file)
{
    return vkf__file_path(examples->files[file].file);
}

static vkf_status add_run(vkf_examples *examples, const line_place *at)
{
    const line_run *last = examples->run_count > 0 ? &examples->runs[examples->run_count - 1] : NULL;
    if (last && last->file == at->file && last->line + (examples->count - last->first) == at->number)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__grow(examples->host, (void **)&examples->runs, sizeof *examples->runs, examples->run_count,
                                  &examples->run_capacity, examples->run_count + 1));
    examples->runs[examples->run_count++] = (line_run){(uint32_t)examples->count, at->file, at->number};
    return VKF_OK;
}

static uint64_t hash_of(const vkf_file_line *line)
{
    return vkf__hash(VKF_HASH_SEED, line->text, line->size_bytes);
}

static vkf_status add_example(vkf_examples *examples, const line_place *at, uint64_t hash)
{
    if (examples->count == UINT32_MAX)
        return vkf__fail(examples->host, VKF_ERROR_TOO_LARGE, "%s, line %" PRIu64 ": there are more than %u examples",
                         path_of(examples, at->file), at->number, UINT32_MAX);
    VKF_RETURN_IF_ERROR(vkf__grow(examples->host, (void **)&examples->lines, sizeof *examples->lines, examples->count,
                                  &examples->capacity, examples->count + 1));
    VKF_RETURN_IF_ERROR(add_run(examples, at));
    examples->lines[examples->count++] = (line_mark){at->offset, hash};
    return VKF_OK;
}

static vkf_status count_bad_line(vkf_examples *examples, const line_place *at, const char *problem)
{
    const char *path = path_of(examples, at->file);
    if (examples->bad_lines == examples->max_bad_lines)
        return vkf__fail(examples->host, VKF_ERROR_FORMAT,
                         "%s, line %" PRIu64 ": %s; no more than %u broken lines are left out (--max-bad-lines)", path,
                         at->number, problem, examples->max_bad_lines);
    examples->bad_lines++;
    vkf__log(examples->host, VKF_SEVERITY_WARNING, "%s, line %" PRIu64 ": %s; the line is left out", path, at->number,
             problem);
    return VKF_OK;
}

static vkf_status take_line(vkf_examples *examples, const line_place *at, const vkf_file_line *line, bool json)
{
    char problem[VKF_EXAMPLE_PROBLEM_BYTES];
    if (line->too_long) {
        snprintf(problem, sizeof problem, "it is longer than %zu bytes", examples->files[at->file].max_line_bytes);
        return count_bad_line(examples, at, problem);
    }
    if (line->size_bytes == 0)
        return VKF_OK;
    vkf_status status =
        vkf_example_parse(line->text, line->size_bytes, examples->kind, json, &examples->current, problem);
    vkf_example_clear(&examples->current);
    if (status == VKF_OK)
        return add_example(examples, at, hash_of(line));
    if (status == VKF_ERROR_FORMAT)
        return count_bad_line(examples, at, problem);
    return vkf__fail(examples->host, status, "%s, line %" PRIu64 ": no host memory for it", path_of(examples, at->file),
                     at->number);
}

static vkf_status index_file(vkf_examples *examples, uint32_t index, uint64_t first_offset)
{
    vkf_line_file *file = &examples->files[index];
    const bool json = vkf_example_is_json(vkf__file_path(file->file));
    line_place at = {.file = index, .number = 1, .offset = first_offset};
    for (;;) {
        vkf_file_line line;
        bool at_end = false;
        VKF_RETURN_IF_ERROR(vkf_line_file_read(file, at.offset, INDEX_PIECE_BYTES, &line, &at_end));
        if (at_end)
            return VKF_OK;
        VKF_RETURN_IF_ERROR(take_line(examples, &at, &line, json));
        at.number++;
        at.offset = line.next_offset;
    }
}

static vkf_status index_files(vkf_examples *examples, const vkf_examples_desc *desc)
{
    const size_t max_line_bytes = desc->max_line_bytes > 0 ? desc->max_line_bytes : VKF_EXAMPLE_MAX_LINE_BYTES;
    for (uint32_t i = 0; i < desc->path_count; i++) {
        uint64_t first_offset = 0;
        VKF_RETURN_IF_ERROR(
            vkf_line_file_open(examples->host, desc->paths[i], max_line_bytes, &examples->files[i], &first_offset));
        VKF_RETURN_IF_ERROR(index_file(examples, i, first_offset));
    }
    if (examples->count > 0)
        return VKF_OK;
    return vkf__fail(examples->host, VKF_ERROR_FORMAT, "%s%s: there is no example in %s", desc->paths[0],
                     desc->path_count > 1 ? " and others" : "", desc->path_count > 1 ? "them" : "it");
}

vkf_status vkf_examples_open(const vkf__host *host, const vkf_examples_desc *desc, vkf_examples **out_examples)
{
    vkf_status status = VKF_OK;
    vkf_examples *examples = NULL;
    VKF_ALLOC(host, examples, 1);
    examples->host = host;
    examples->kind = desc->kind;
    examples->max_bad_lines = desc->max_bad_lines;
    VKF_ALLOC(host, examples->files, desc->path_count);
    examples->file_count = desc->path_count;
    VKF_TRY(index_files(examples, desc));
    *out_examples = examples;
    return VKF_OK;
fail:
    vkf_examples_close(&examples);
    return status;
}

void vkf_examples_close(vkf_examples **examples)
{
    vkf_examples *e = *examples;
    if (!e)
        return;
    const vkf__host *host = e->host;
    vkf_example_clear(&e->current);
    for (uint32_t i = 0; i < e->file_count; i++)
        vkf_line_file_close(&e->files[i]);
    vkf__free(host, e->files);
    vkf__free(host, e->lines);
    vkf__free(host, e->runs);
    vkf__free(host, e);
    *examples = NULL;
}

uint32_t vkf_examples_count(const vkf_examples *examples)
{
    return (uint32_t)examples->count;
}

uint32_t vkf_examples_bad_lines(const vkf_examples *examples)
{
    return examples->bad_lines;
}

static const line_run *run_of(const vkf_examples *examples, uint32_t index)
{
    size_t low = 0, high = examples->run_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (examples->runs[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return &examples->runs[low];
}

vkf_example_place vkf_examples_place(const vkf_examples *examples, uint32_t index)
{
    const line_run *run = run_of(examples, index);
    return (vkf_example_place){path_of(examples, run->file), run->line + (index - run->first)};
}

vkf_status vkf_examples_get(vkf_examples *examples, uint32_t index, const vkf_example **out_example)
{
    vkf_line_file *file = &examples->files[run_of(examples, index)->file];
    vkf_file_line line;
    bool at_end = false;
    char problem[VKF_EXAMPLE_PROBLEM_BYTES];
    const vkf_example_place place = vkf_examples_place(examples, index);
    VKF_RETURN_IF_ERROR(vkf_line_file_read(file, examples->lines[index].offset, SINGLE_PIECE_BYTES, &line, &at_end));
    vkf_example_clear(&examples->current);
    if (line.too_long || hash_of(&line) != examples->lines[index].hash)
        return vkf__fail(examples->host, VKF_ERROR_FILE, "%s, line %" PRIu64 ": is not what it was when the run began",
                         place.path, place.line);
    const vkf_status status =
        vkf_example_parse(line.text, line.size_bytes, examples->kind, vkf_example_is_json(vkf__file_path(file->file)),
                          &examples->current, problem);
    if (status != VKF_OK) // of lines that are broken there is no index
        return vkf__fail(examples->host, status, "%s, line %" PRIu64 ": no host memory for it", place.path, place.line);
    *out_example = &examples->current;
    return VKF_OK;
}
