// Reads and applies SentencePiece's maps of characters. Their places are checked, because they come from a file.
#include "text/charsmap.h"

#include <string.h>

#include <utf8proc.h>

#define LONGEST_GRAPHEME 5 // bytes; longer graphemes are mapped code point by code point

struct vkf__charsmap {
    const vkf__host *host;
    uint8_t *blob;
    const uint8_t *units; // little-endian words
    size_t unit_count;
    const char *texts; // the replacements, each with a terminating zero
    size_t text_bytes;
};

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Decodes base64; false when the text is not base64. The output has room for three bytes for every four characters.
static bool read_base64(const char *text, size_t length, uint8_t *out, size_t *out_bytes)
{
    if (length % 4 != 0)
        return false;
    size_t bytes = 0;
    while (length > 0 && text[length - 1] == '=' && length % 4 != 2)
        length--;
    if (length % 4 == 1)
        return false;
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (uint32_t)digit) & 0xffffu;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[bytes++] = (uint8_t)(bits >> held);
        }
    }
    *out_bytes = bytes;
    return true;
}

static uint32_t read_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool is_utf8(const char *text, size_t bytes)
{
    bool valid = true;
    for (size_t at = 0; at < bytes && valid;)
        at += vkf__utf8_check(text + at, bytes - at, &valid);
    return valid;
}

// Divides the blob into the trie, whose size in bytes is the first word, and the replacements.
static vkf_status divide(vkf__charsmap *map, const char *where, size_t bytes)
{
    size_t trie_bytes = bytes >= 4 ? read_word(map->blob) : SIZE_MAX;
    if (bytes < 8 || trie_bytes < 4 || trie_bytes > bytes - 4)
        return vkf__fail(map->host, VKF_ERROR_FORMAT, "%s: key 'precompiled_charsmap' holds no trie of its %zu bytes",
                         where, bytes);
    map->units = map->blob + 4;
    map->unit_count = trie_bytes / 4;
    map->texts = (const char *)map->blob + 4 + map->unit_count * 4;
    map->text_bytes = bytes - 4 - map->unit_count * 4;
    if (!is_utf8(map->texts, map->text_bytes))
        return vkf__fail(map->host, VKF_ERROR_FORMAT,
                         "%s: key 'precompiled_charsmap': the replacements are not valid UTF-8", where);
    return VKF_OK;
}

vkf_status vkf__charsmap_create(const vkf__host *host, const char *where, const char *base64, vkf__charsmap **out_map)
{
    vkf_status status = VKF_OK;
    vkf__charsmap *map = NULL;
    size_t length = strlen(base64);
    size_t bytes = 0;
    VKF_ALLOC(host, map, 1);
    map->host = host;
    VKF_ALLOC(host, map->blob, length / 4 * 3 + 1);
    if (!read_base64(base64, length, map->blob, &bytes)) {
        status = vkf__fail(host, VKF_ERROR_FORMAT, "%s: key 'precompiled_charsmap' is not base64", where);
        goto fail;
    }
    VKF_TRY(divide(map, where, bytes));
    *out_map = map;
    map = NULL;
fail:
    vkf__charsmap_destroy(&map);
    return status;
}

vkf_status vkf__charsmap_copy(const vkf__host *host, const char *where, const void *blob, size_t bytes,
                              vkf__charsmap **out_map)
{
    vkf_status status = VKF_OK;
    vkf__charsmap *map = NULL;
    VKF_ALLOC(host, map, 1);
    map->host = host;
    VKF_ALLOC(host, map->blob, bytes + 1);
    memcpy(map->blob, blob, bytes);
    VKF_TRY(divide(map, where, bytes));
    *out_map = map;
    map = NULL;
fail:
    vkf__charsmap_destroy(&map);
    return status;
}

void vkf__charsmap_destroy(vkf__charsmap **map)
{
    if (!*map)
        return;
    vkf__free((*map)->host, (*map)->blob);
    vkf__free((*map)->host, *map);
    *map = NULL;
}

// The unit at a place, which a hostile file may have made up. Beyond the end it is a unit without a leaf or a label.
static uint32_t unit_at(const vkf__charsmap *map, size_t place)
{
    return place < map->unit_count ? read_word(map->units + 4 * place) : 0x80000000u;
}

// A unit's offset to its children has 22 bits, and counts in steps of 256 where bit 9 is set.
static size_t unit_offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
}

// The replacement of the longest or the shortest beginning of `text` that has one, and its length; NULL for none. The
// place of a child is its parent's place XOR the parent's offset XOR the byte, which the child's unit repeats in its
// low bits. Bit 8 says that the unit has a leaf.
static const char *find(const vkf__charsmap *map, const char *text, size_t bytes, bool longest, size_t *out_length)
{
    const char *found = NULL;
    size_t place = unit_offset(unit_at(map, 0));
    for (size_t i = 0; i < bytes && text[i]; i++) {
        unsigned char byte = (unsigned char)text[i];
        place ^= byte;
        uint32_t unit = unit_at(map, place);
        if ((unit & 0x800000ffu) != byte)
            break;
        place ^= unit_offset(unit);
        if (unit & 1u << 8) {
            size_t value = unit_at(map, place) & 0x7fffffffu;
            bool begins = value < map->text_bytes && ((unsigned char)map->texts[value] & 0xc0u) != 0x80u;
            found = begins ? map->texts + value : NULL;
            *out_length = i + 1;
            if (!longest)
                break;
        }
    }
    return found;
}

// As the library `tokenizers` does it.
static const char *find_shortest(const vkf__charsmap *map, const char *text, size_t bytes)
{
    size_t length = 0;
    return find(map, text, bytes, false, &length);
}

static uint32_t count_code_points(const char *text, size_t bytes)
{
    uint32_t count = 0;
    for (size_t at = 0; at < bytes; at += vkf__utf8_bytes(text + at))
        count++;
    return count;
}

// The length of a replacement; the last one may lack its terminating zero.
static size_t replacement_bytes(const vkf__charsmap *map, const char *replacement)
{
    size_t most = map->text_bytes - (size_t)(replacement - map->texts);
    const char *end = memchr(replacement, 0, most);
    return end ? (size_t)(end - replacement) : most;
}

const char *vkf__charsmap_longest(const vkf__charsmap *map, const char *text, size_t bytes, size_t *out_length,
                                  size_t *out_bytes)
{
    const char *found = find(map, text, bytes, true, out_length);
    *out_bytes = found ? replacement_bytes(map, found) : 0;
    *out_length = found ? *out_length : 0;
    return found;
}

// Replaces `old_count` code points. If the replacement has fewer, the last code point written, which may be an earlier
// one, takes away the rest. If it has more, those at its end are new.
static void keep_replacement(const vkf__charsmap *map, vkf__aligned_text *text, uint32_t old_count,
                             const char *replacement)
{
    size_t bytes = replacement_bytes(map, replacement);
    uint32_t new_count = count_code_points(replacement, bytes);
    uint32_t index = 0;
    for (size_t at = 0; at < bytes; at += vkf__utf8_bytes(replacement + at), index++)
        vkf__text_keep_change(text, vkf__utf8_read(replacement + at), index >= old_count);
    if (new_count < old_count && text->change_count > 0 && text->status == VKF_OK)
        text->changes[text->change_count - 1].change -= (int32_t)(old_count - new_count);
}

// The end of the grapheme that begins at `at`.
static uint32_t grapheme_end(const vkf__aligned_text *text, uint32_t at)
{
    const char *bytes = text->now.bytes;
    utf8proc_int32_t state = 0;
    while (at < text->end) {
        uint32_t next = at + (uint32_t)vkf__utf8_bytes(bytes + at);
        if (next == text->end)
            return next;
        bool plain = (unsigned char)bytes[at] < 0x80 && (unsigned char)bytes[next] < 0x80 && bytes[at] != '\r';
        if (plain || utf8proc_grapheme_break_stateful((utf8proc_int32_t)vkf__utf8_read(bytes + at),
                                                      (utf8proc_int32_t)vkf__utf8_read(bytes + next), &state))
            return next;
        at = next;
    }
    return at;
}

void vkf__put_mapped(vkf__aligned_text *text, const void *user)
{
    const vkf__charsmap *map = user;
    const char *bytes = text->now.bytes;
    text->change_count = 0;
    for (uint32_t at = text->begin; at < text->end && text->status == VKF_OK;) {
        uint32_t end = grapheme_end(text, at);
        const char *whole = end - at <= LONGEST_GRAPHEME ? find_shortest(map, bytes + at, end - at) : NULL;
        if (whole) {
            keep_replacement(map, text, count_code_points(bytes + at, end - at), whole);
            at = end;
        }
        while (at < end) {
            uint32_t length = (uint32_t)vkf__utf8_bytes(bytes + at);
            const char *part = find_shortest(map, bytes + at, length);
            if (part)
                keep_replacement(map, text, 1, part);
            else
                vkf__text_keep_change(text, vkf__utf8_read(bytes + at), 0);
            at += length;
        }
    }
    for (size_t i = 0; i < text->change_count && text->status == VKF_OK; i++)
        vkf__text_put_change(text, text->changes[i]);
}
