// Cuts and rewrites text, keeps each byte's origin, and stops rules that write too much.
#include "text/aligned_text.h"

#include <string.h>

void vkf__aligned_text_init(const vkf__host *host, vkf__aligned_text *text)
{
    *text = (vkf__aligned_text){.host = host, .spare = VKF_TEXT_SPARE_BYTES};
}

static void free_buffer(const vkf__host *host, vkf__text_buffer *buffer)
{
    vkf__free(host, buffer->bytes);
    vkf__free(host, buffer->origins);
    vkf__free(host, buffer->pieces);
}

void vkf__aligned_text_free(vkf__aligned_text *text)
{
    free_buffer(text->host, &text->now);
    free_buffer(text->host, &text->next);
    vkf__free(text->host, text->spans);
    vkf__free(text->host, text->changes);
}

static vkf_status fail_limit(const vkf__aligned_text *text)
{
    return vkf__fail(text->host, VKF_ERROR_TOO_LARGE,
                     "the tokenizer's rules make a text of %zu bytes longer than %zu bytes (%u for each, and %zu)",
                     text->given, text->limit, VKF_TEXT_GROWTH, text->spare);
}

// Counts what a step wrote. Many steps that each write a long text are too much, too.
static vkf_status count_written(vkf__aligned_text *text, size_t bytes)
{
    text->written += bytes;
    text->peak = bytes > text->peak ? bytes : text->peak;
    if (bytes > text->limit)
        return fail_limit(text);
    const uint64_t most = vkf__text_work_limit(text->given, text->spare);
    if (text->written <= most)
        return VKF_OK;
    return vkf__fail(text->host, VKF_ERROR_TOO_LARGE,
                     "the tokenizer's rules write more than %llu bytes on the way of a text of %zu bytes",
                     (unsigned long long)most, text->given);
}

// Makes room for `more` further bytes.
static vkf_status reserve(const vkf__aligned_text *text, vkf__text_buffer *buffer, size_t more)
{
    const vkf__host *host = text->host;
    size_t needed = buffer->count + more;
    if (needed <= buffer->capacity)
        return VKF_OK;
    if (needed > text->limit + VKF_UTF8_MAX_BYTES) // the caller may need less than one code point
        return fail_limit(text);
    size_t capacity = buffer->capacity;
    vkf_status status =
        vkf__grow(host, (void **)&buffer->origins, sizeof *buffer->origins, buffer->count, &capacity, needed);
    if (status != VKF_OK)
        return status;
    // If the second array fails to grow after the first, the first only has more room than is recorded.
    status = vkf__grow(host, (void **)&buffer->bytes, 1, buffer->count, &buffer->capacity, capacity);
    return status;
}

static vkf_status push_piece(const vkf__host *host, vkf__text_buffer *buffer, vkf__piece piece)
{
    vkf_status status = vkf__grow(host, (void **)&buffer->pieces, sizeof piece, buffer->piece_count,
                                  &buffer->piece_capacity, buffer->piece_count + 1);
    if (status == VKF_OK)
        buffer->pieces[buffer->piece_count++] = piece;
    return status;
}

vkf_status vkf__aligned_text_set(vkf__aligned_text *text, const char *bytes, size_t size_bytes)
{
    vkf__text_buffer *buffer = &text->now;
    buffer->count = 0;
    buffer->piece_count = 0;
    if (size_bytes > VKF_TEXT_MAX_BYTES)
        return vkf__fail(text->host, VKF_ERROR_TOO_LARGE,
                         "the text is %zu bytes long; at most %lu can be turned into "
                         "tokens at once",
                         size_bytes, (unsigned long)VKF_TEXT_MAX_BYTES);
    text->given = text->peak = size_bytes;
    text->written = 0;
    text->limit = vkf__text_limit(size_bytes, text->spare);
    vkf_status status = reserve(text, buffer, size_bytes + 1); // at least one byte, so never NULL
    if (status != VKF_OK)
        return status;
    if (size_bytes > 0)
        memcpy(buffer->bytes, bytes, size_bytes);
    for (size_t at = 0; at < size_bytes;) {
        size_t length = vkf__utf8_bytes(bytes + at);
        vkf__byte_span origin = {(uint32_t)at, (uint32_t)(at + length)};
        for (size_t i = 0; i < length; i++)
            buffer->origins[at++] = origin;
    }
    buffer->count = size_bytes;
    return push_piece(text->host, buffer, (vkf__piece){0, (uint32_t)size_bytes, 0, VKF_NO_TOKEN});
}

size_t vkf__text_spared(const vkf__aligned_text *text)
{
    size_t own = vkf__text_limit(text->given, 0);
    size_t longest = text->peak, written = (size_t)(text->written / VKF_TEXT_REWRITES);
    longest = written > longest ? written : longest;
    return longest > own ? longest - own : 0;
}

vkf_status vkf__text_add_piece(vkf__aligned_text *text, uint32_t begin, uint32_t end, int32_t token)
{
    if (begin == end)
        return VKF_OK;
    return push_piece(text->host, &text->next, (vkf__piece){begin, end, text->now.origins[begin].begin, token});
}

vkf_status vkf__text_add_span(vkf__aligned_text *text, size_t begin, size_t end, bool match)
{
    vkf_status status = vkf__grow(text->host, (void **)&text->spans, sizeof *text->spans, text->span_count,
                                  &text->span_capacity, text->span_count + 1);
    if (status == VKF_OK)
        text->spans[text->span_count++] = (vkf__matched_span){(uint32_t)begin, (uint32_t)end, match};
    return status;
}

// Cutting leaves the bytes where they are, so that only the lists of pieces change places.
static void swap_pieces(vkf__aligned_text *text)
{
    vkf__text_buffer *now = &text->now;
    vkf__text_buffer *next = &text->next;
    vkf__piece *pieces = now->pieces;
    size_t capacity = now->piece_capacity;
    now->pieces = next->pieces;
    now->piece_count = next->piece_count;
    now->piece_capacity = next->piece_capacity;
    next->pieces = pieces;
    next->piece_capacity = capacity;
    next->piece_count = 0;
}

vkf_status vkf__text_cut(vkf__aligned_text *text, vkf__cut_fn cut, const void *user)
{
    vkf_status status = VKF_OK;
    text->next.piece_count = 0;
    for (size_t i = 0; i < text->now.piece_count && status == VKF_OK; i++) {
        const vkf__piece *piece = &text->now.pieces[i];
        if (piece->token != VKF_NO_TOKEN)
            status = push_piece(text->host, &text->next, *piece);
        else
            status = cut(text, piece, user);
    }
    if (status == VKF_OK)
        swap_pieces(text);
    return status;
}

static bool has_room(vkf__aligned_text *text, size_t more)
{
    if (text->status == VKF_OK)
        text->status = reserve(text, &text->next, more);
    return text->status == VKF_OK;
}

void vkf__text_put(vkf__aligned_text *text, uint32_t code_point, vkf__byte_span origin)
{
    vkf__text_buffer *next = &text->next;
    if (next->count + VKF_UTF8_MAX_BYTES > next->capacity && !has_room(text, VKF_UTF8_MAX_BYTES))
        return;
    size_t length = vkf__utf8_write(code_point, next->bytes + next->count);
    for (size_t i = 0; i < length; i++)
        next->origins[next->count++] = origin;
}

void vkf__text_copy(vkf__aligned_text *text, uint32_t begin, uint32_t end)
{
    vkf__text_buffer *next = &text->next;
    size_t count = end - begin;
    if (count == 0 || !has_room(text, count))
        return;
    memcpy(next->bytes + next->count, text->now.bytes + begin, count);
    memcpy(next->origins + next->count, text->now.origins + begin, count * sizeof *next->origins);
    next->count += count;
}

void vkf__text_take_back(vkf__aligned_text *text, size_t bytes)
{
    text->next.count -= bytes;
}

vkf__byte_span vkf__text_origin_before(const vkf__aligned_text *text, uint32_t at)
{
    return at > text->begin ? text->now.origins[at - 1] : (vkf__byte_span){text->shift, text->shift};
}

static void use_up(vkf__aligned_text *text, uint32_t code_points)
{
    for (; code_points > 0 && text->at < text->end; code_points--)
        text->at += (uint32_t)vkf__utf8_bytes(text->now.bytes + text->at);
}

void vkf__text_put_change(vkf__aligned_text *text, vkf__change change)
{
    // A rewriting that uses up more than there is continues at the end.
    bool inserted = change.change > 0 || text->at == text->end;
    vkf__text_put(text, change.code_point,
                  inserted ? vkf__text_origin_before(text, text->at) : text->now.origins[text->at]);
    if (change.change <= 0)
        use_up(text, 1 + (uint32_t)-change.change);
}

void vkf__text_keep_change(vkf__aligned_text *text, uint32_t code_point, int32_t change)
{
    if (text->status == VKF_OK && text->change_count >= text->limit) // each change becomes at least one byte
        text->status = fail_limit(text);
    if (text->status == VKF_OK)
        text->status = vkf__grow(text->host, (void **)&text->changes, sizeof *text->changes, text->change_count,
                                 &text->change_capacity, text->change_count + 1);
    if (text->status == VKF_OK)
        text->changes[text->change_count++] = (vkf__change){code_point, change};
}

vkf_status vkf__text_rewrite(vkf__aligned_text *text, vkf__rewrite_fn rewrite, const void *user)
{
    vkf__text_buffer *next = &text->next;
    next->count = 0;
    next->piece_count = 0;
    text->status = reserve(text, next, text->now.count + VKF_UTF8_MAX_BYTES);
    for (size_t i = 0; i < text->now.piece_count && text->status == VKF_OK; i++) {
        vkf__piece piece = text->now.pieces[i];
        text->begin = text->at = piece.begin;
        text->end = piece.end;
        text->shift = piece.shift;
        piece.begin = (uint32_t)next->count;
        if (piece.token != VKF_NO_TOKEN)
            vkf__text_copy(text, text->begin, text->end);
        else
            rewrite(text, user);
        piece.end = (uint32_t)next->count;
        if (text->status == VKF_OK)
            text->status = push_piece(text->host, next, piece);
    }
    if (text->status == VKF_OK)
        text->status = count_written(text, next->count);
    if (text->status != VKF_OK)
        return text->status;
    vkf__text_buffer swapped = text->now;
    text->now = text->next;
    text->next = swapped;
    return VKF_OK;
}
