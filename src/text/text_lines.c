// Reads a text file and hands out its lines.
#include "text/text_lines.h"

#include <string.h>

#include "text/code_point.h"
#include "text/tokenizer.h"

vkf_status vkf__text_lines_open(const vkf__host *host, const char *path, vkf__text_lines *out_lines)
{
    *out_lines = (vkf__text_lines){.host = host, .path = path};
    return vkf__file_read(host, path, VKF_TOKENIZER_MAX_BYTES, &out_lines->file);
}

void vkf__text_lines_close(vkf__text_lines *lines)
{
    if (lines->host)
        vkf__file_bytes_free(lines->host, &lines->file);
    *lines = (vkf__text_lines){0};
}

static vkf_status check(const vkf__text_lines *lines, const char *line, size_t bytes)
{
    bool valid = true;
    for (size_t at = 0; at < bytes && valid;)
        at += vkf__utf8_check(line + at, bytes - at, &valid);
    if (!valid)
        return vkf__fail(lines->host, VKF_ERROR_FORMAT, "%s: line %zu is not valid UTF-8", lines->path, lines->number);
    if (bytes > 0 && memchr(line, 0, bytes))
        return vkf__fail(lines->host, VKF_ERROR_FORMAT, "%s: line %zu has a zero byte", lines->path, lines->number);
    return VKF_OK;
}

static size_t trimmed(const char *line, size_t bytes)
{
    while (bytes > 0) {
        size_t last = vkf__utf8_before(line, 0, bytes);
        if (!vkf__is_whitespace(vkf__utf8_read(line + last)))
            break;
        bytes = last;
    }
    return bytes;
}

vkf_status vkf__text_lines_next(vkf__text_lines *lines, bool trims, json_t **out_line)
{
    size_t left = lines->file.size_bytes - lines->at;
    *out_line = NULL;
    if (left == 0)
        return VKF_OK;
    const char *line = (const char *)lines->file.data + lines->at;
    const char *end = memchr(line, '\n', left);
    size_t bytes = end ? (size_t)(end - line) : left;
    lines->at += bytes + (end ? 1 : 0);
    lines->number++;
    vkf_status status = check(lines, line, bytes);
    if (status != VKF_OK)
        return status;
    if (end && bytes > 0 && line[bytes - 1] == '\r')
        bytes--;
    bytes = trims ? trimmed(line, bytes) : bytes;
    *out_line = json_stringn(bytes > 0 ? line : "", bytes);
    return *out_line ? VKF_OK : vkf__no_memory(lines->host, __func__, bytes, 1);
}
