// Decomposes with utf8proc's tables, sorts marks and composes, and keeps track of what became of each code point.
#include "text/normal_form.h"

#include <utf8proc.h>

#include "text/unicode_age.h"

#define LONGEST_DECOMPOSITION 32 // U+FDFA decomposes to 18

static unsigned combining_class(uint32_t code_point)
{
    unsigned order =
        code_point < 0x300 ? 0 : (unsigned)utf8proc_get_property((utf8proc_int32_t)code_point)->combining_class;
    return order > 0 && vkf__is_newer(VKF_AGE_MARK, code_point) ? 0 : order;
}

// Sorts the marks behind the last starter by their classes. Marks of the same class keep their order.
static void sort_marks(vkf__change *changes, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i < end; i++) {
        vkf__change moved = changes[i];
        unsigned moved_class = combining_class(moved.code_point);
        size_t at = i;
        for (; at > begin && combining_class(changes[at - 1].code_point) > moved_class; at--)
            changes[at] = changes[at - 1];
        changes[at] = moved;
    }
}

// Lists the decomposition of the piece as changes, in canonical order.
static void decompose(vkf__aligned_text *text, bool compatible)
{
    utf8proc_option_t options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
    size_t marks = 0; // where the marks behind the last starter begin
    text->change_count = 0;
    for (uint32_t at = text->begin; at < text->end && text->status == VKF_OK;) {
        utf8proc_int32_t parts[LONGEST_DECOMPOSITION];
        uint32_t code_point = vkf__utf8_read(text->now.bytes + at);
        at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
        int boundary = 0;
        utf8proc_ssize_t count =
            utf8proc_decompose_char((utf8proc_int32_t)code_point, parts, LONGEST_DECOMPOSITION, options, &boundary);
        bool unknown = parts[0] != (utf8proc_int32_t)code_point && vkf__is_newer(VKF_AGE_DECOMPOSITION, code_point);
        if (count < 1 || count > LONGEST_DECOMPOSITION || unknown) {
            parts[0] = (utf8proc_int32_t)code_point;
            count = 1;
        }
        for (utf8proc_ssize_t i = 0; i < count; i++) {
            if (combining_class((uint32_t)parts[i]) == 0) {
                sort_marks(text->changes, marks, text->change_count);
                marks = text->change_count + 1;
            }
            vkf__text_keep_change(text, (uint32_t)parts[i], i > 0);
        }
    }
    if (text->status == VKF_OK)
        sort_marks(text->changes, marks, text->change_count);
}

// The code point that the two compose to, or 0.
static uint32_t compose(uint32_t first, uint32_t second)
{
    if (second < 0x300)
        return 0;
    utf8proc_int32_t pair[3] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second, 0};
    bool composed = utf8proc_normalize_utf32(pair, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) == 1;
    return composed && !vkf__is_newer(VKF_AGE_DECOMPOSITION, (uint32_t)pair[0]) ? (uint32_t)pair[0] : 0;
}

// The algorithm of Unicode's annex 15, in place: a mark composes with the last starter unless something between them
// blocks it, which is any code point of the same class or a higher one.
static void recompose(vkf__aligned_text *text)
{
    vkf__change *changes = text->changes;
    size_t count = 0;
    size_t starter = SIZE_MAX;
    unsigned last_class = 0;
    for (size_t i = 0; i < text->change_count; i++) {
        vkf__change next = changes[i];
        unsigned next_class = combining_class(next.code_point);
        bool adjacent = starter != SIZE_MAX && starter + 1 == count;
        uint32_t composed = 0;
        if (starter != SIZE_MAX && (adjacent || last_class < next_class))
            composed = compose(changes[starter].code_point, next.code_point);
        if (composed) {
            changes[starter].code_point = composed;
            changes[starter].change += next.change - 1;
            continue;
        }
        if (next_class == 0)
            starter = count;
        last_class = next_class;
        changes[count++] = next;
    }
    text->change_count = count;
}

static bool is_ascii(const vkf__aligned_text *text)
{
    unsigned char all = 0;
    for (uint32_t at = text->begin; at < text->end; at++)
        all |= (unsigned char)text->now.bytes[at];
    return all < 0x80;
}

void vkf__put_normal_form(vkf__aligned_text *text, const void *form)
{
    const vkf__normal_form *wanted = form;
    if (is_ascii(text)) {
        vkf__text_copy(text, text->begin, text->end);
        return;
    }
    decompose(text, wanted->compatible);
    if (text->status == VKF_OK && wanted->composed)
        recompose(text);
    for (size_t i = 0; i < text->change_count && text->status == VKF_OK; i++)
        vkf__text_put_change(text, text->changes[i]);
}
