// Keeps a window of the file, and moves it to where a line is wanted.
#include "input/line_file.h"

#include <inttypes.h>

#define MOST_SKIPPED_BYTES (UINT64_C(64) << 20) // of a line that is too long, in which its end is looked for

static const char byte_order_mark[] = "\xef\xbb\xbf";

// Reads a piece behind the window. *out_got is 0 at the end of the file.
static vkf_status append_piece(vkf_line_file *file, size_t piece_bytes, size_t *out_got)
{
    const uint64_t at = file->window_offset + file->window_bytes, size = vkf__file_size(file->file);
    const uint64_t left = at < size ? size - at : 0;
    const size_t bytes = left < piece_bytes ? (size_t)left : piece_bytes;
    VKF_RETURN_IF_ERROR(vkf__grow(file->host, (void **)&file->window, 1, file->window_bytes, &file->window_capacity,
                                  file->window_bytes + piece_bytes));
    VKF_RETURN_IF_ERROR(vkf__file_read_at(file->file, at, file->window + file->window_bytes, bytes));
    file->window_bytes += bytes;
    *out_got = bytes;
    return VKF_OK;
}

// Lets the window begin at the offset. What it has from there on stays.
static void move_window(vkf_line_file *file, uint64_t offset)
{
    size_t kept = 0;
    if (offset >= file->window_offset && offset - file->window_offset < file->window_bytes) {
        size_t dropped = (size_t)(offset - file->window_offset);
        kept = file->window_bytes - dropped;
        memmove(file->window, file->window + dropped, kept);
    }
    file->window_offset = offset;
    file->window_bytes = kept;
}

// Goes on behind the window, where no newline was, without keeping what it reads.
static vkf_status skip_line(vkf_line_file *file, uint64_t offset, size_t piece_bytes, vkf_file_line *out_line)
{
    const uint64_t most = file->max_line_bytes + MOST_SKIPPED_BYTES;
    size_t got = 0;
    const char *end = NULL;
    do {
        if (file->window_offset + file->window_bytes - offset > most)
            return vkf__fail(file->host, VKF_ERROR_FORMAT,
                             "%s: the line that begins at byte %" PRIu64 " does not end within %" PRIu64
                             " bytes: this is no file of lines",
                             vkf__file_path(file->file), offset + 1, most);
        move_window(file, file->window_offset + file->window_bytes);
        VKF_RETURN_IF_ERROR(append_piece(file, piece_bytes, &got));
        end = got > 0 ? memchr(file->window, '\n', got) : NULL;
    } while (got > 0 && !end);
    *out_line = (vkf_file_line){
        .next_offset = file->window_offset + (end ? (size_t)(end - file->window) + 1 : got),
        .too_long = true,
    };
    return VKF_OK;
}

static vkf_file_line line_of(const vkf_line_file *file, size_t begin, size_t end, bool has_newline)
{
    vkf_file_line line = {.text = file->window + begin, .size_bytes = end - begin};
    line.next_offset = file->window_offset + end + has_newline;
    if (line.size_bytes > 0 && line.text[line.size_bytes - 1] == '\r')
        line.size_bytes--;
    line.too_long = line.size_bytes > file->max_line_bytes;
    if (line.too_long)
        line.text = NULL;
    return line;
}

vkf_status vkf_line_file_read(vkf_line_file *file, uint64_t offset, size_t piece_bytes, vkf_file_line *out_line,
                              bool *out_at_end)
{
    const bool inside = offset >= file->window_offset && offset - file->window_offset < file->window_bytes;
    size_t begin = inside ? (size_t)(offset - file->window_offset) : 0, searched = begin, got = 0;
    if (!inside)
        move_window(file, offset);
    *out_at_end = false;
    for (;;) {
        const char *end =
            searched < file->window_bytes ? memchr(file->window + searched, '\n', file->window_bytes - searched) : NULL;
        if (end) {
            *out_line = line_of(file, begin, (size_t)(end - file->window), true);
            return VKF_OK;
        }
        if (file->window_bytes - begin > file->max_line_bytes + 1) // one byte may be a carriage return
            return skip_line(file, offset, piece_bytes, out_line);
        move_window(file, offset);
        begin = 0;
        searched = file->window_bytes;
        VKF_RETURN_IF_ERROR(append_piece(file, piece_bytes, &got));
        if (got == 0) {
            *out_at_end = file->window_bytes == 0;
            *out_line = line_of(file, 0, file->window_bytes, false);
            return VKF_OK;
        }
    }
}

vkf_status vkf_line_file_open(const vkf__host *host, const char *path, size_t max_line_bytes, vkf_line_file *out_file,
                              uint64_t *out_first_offset)
{
    vkf_status status = VKF_OK;
    size_t got = 0, mark_bytes = sizeof byte_order_mark - 1;
    vkf_line_file file = {.host = host, .max_line_bytes = max_line_bytes};
    VKF_TRY(vkf__file_open(host, path, &file.file));
    VKF_TRY(append_piece(&file, mark_bytes, &got));
    *out_first_offset = got == mark_bytes && memcmp(file.window, byte_order_mark, mark_bytes) == 0 ? mark_bytes : 0;
    *out_file = file;
    return VKF_OK;
fail:
    vkf_line_file_close(&file);
    return status;
}

void vkf_line_file_close(vkf_line_file *file)
{
    if (!file->host)
        return;
    vkf__file_close(&file->file);
    vkf__free(file->host, file->window);
    *file = (vkf_line_file){0};
}
