// Replaces invalid parts of a text, and remembers where they were.
#include "text/valid_text.h"

#include <string.h>

#include "text/code_point.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3u

// The number of bytes before the first invalid one.
static size_t valid_prefix(const char *text, size_t text_bytes)
{
    size_t at = 0;
    while (at < text_bytes) {
        bool valid = false;
        size_t length = (unsigned char)text[at] < 0x80 ? 1 : vkf__utf8_check(text + at, text_bytes - at, &valid);
        if ((unsigned char)text[at] >= 0x80 && !valid)
            break;
        at += length;
    }
    return at;
}

static vkf_status add_repair(vkf__valid_text *text, size_t end, size_t original_end)
{
    vkf_status status = vkf__grow(text->host, (void **)&text->repairs, sizeof *text->repairs, text->repair_count,
                                  &text->repair_capacity, text->repair_count + 1);
    if (status == VKF_OK)
        text->repairs[text->repair_count++] = (vkf__repair){end, original_end};
    return status;
}

vkf_status vkf__valid_text_make(const vkf__host *host, const char *text, size_t text_bytes, vkf__valid_text *out_text)
{
    vkf_status status = VKF_OK;
    vkf__valid_text made = {.host = host, .bytes = text_bytes > 0 ? text : "", .size_bytes = text_bytes};
    size_t at = valid_prefix(made.bytes, text_bytes);
    if (at == text_bytes) {
        *out_text = made;
        return VKF_OK;
    }
    if (text_bytes > SIZE_MAX / REPLACEMENT_BYTES)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "the text is %zu bytes long", text_bytes);
    VKF_ALLOC(host, made.repaired, text_bytes * REPLACEMENT_BYTES);
    memcpy(made.repaired, text, at);
    size_t length = at;
    while (at < text_bytes) {
        bool valid = false;
        size_t broken = vkf__utf8_check(text + at, text_bytes - at, &valid);
        memcpy(made.repaired + length, REPLACEMENT, REPLACEMENT_BYTES);
        length += REPLACEMENT_BYTES;
        at += broken;
        VKF_TRY(add_repair(&made, length, at));
        size_t good = valid_prefix(text + at, text_bytes - at);
        memcpy(made.repaired + length, text + at, good);
        length += good;
        at += good;
    }
    made.bytes = made.repaired;
    made.size_bytes = length;
    *out_text = made;
    made = (vkf__valid_text){.host = host};
fail:
    vkf__valid_text_free(&made);
    return status;
}

void vkf__valid_text_free(vkf__valid_text *text)
{
    vkf__free(text->host, text->repaired);
    vkf__free(text->host, text->repairs);
    *text = (vkf__valid_text){0};
}

size_t vkf__valid_text_original(const vkf__valid_text *text, size_t at)
{
    size_t begin = 0;
    size_t end = text->repair_count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (text->repairs[middle].end <= at)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == 0)
        return at;
    const vkf__repair *before = &text->repairs[begin - 1];
    return before->original_end + (at - before->end);
}
