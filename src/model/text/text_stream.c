// Decodes tokens as they come. Only the last segment of the text is decoded again with each token.
#include "model/text/text_stream.h"

#include <string.h>

void vkf__text_stream_init(vkf__text_stream *stream, const vkf__tokenizer *tokenizer, const vkf_text *stops,
                           uint32_t stop_count)
{
    *stream = (vkf__text_stream){.tokenizer = tokenizer, .stops = stops, .stop_count = stop_count};
}

void vkf__text_stream_free(vkf__text_stream *stream)
{
    if (stream->tokenizer) {
        vkf__free(stream->tokenizer->host, stream->ids);
        vkf__free(stream->tokenizer->host, stream->text);
    }
    *stream = (vkf__text_stream){0};
}

static vkf_status append_id(vkf__text_stream *stream, int32_t id)
{
    const vkf__host *host = stream->tokenizer->host;
    if (stream->id_count == stream->id_capacity) {
        uint32_t capacity = stream->id_capacity > 0 ? 2 * stream->id_capacity : 64;
        int32_t *ids = NULL;
        VKF_ALLOC_OR_RETURN(host, ids, capacity);
        if (stream->id_count > 0)
            memcpy(ids, stream->ids, stream->id_count * sizeof *ids);
        vkf__free(host, stream->ids);
        stream->ids = ids;
        stream->id_capacity = capacity;
    }
    stream->ids[stream->id_count++] = id;
    return VKF_OK;
}

static vkf_status reserve_text(vkf__text_stream *stream, size_t size_bytes)
{
    const vkf__host *host = stream->tokenizer->host;
    char *text = NULL;
    if (size_bytes < stream->capacity_bytes)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, text, 2 * size_bytes + 64);
    if (stream->size_bytes > 0)
        memcpy(text, stream->text, stream->size_bytes);
    vkf__free(host, stream->text);
    stream->text = text;
    stream->capacity_bytes = 2 * size_bytes + 64;
    return VKF_OK;
}

// Decodes the tokens of the segment and puts their text after that of the segments before it.
static vkf_status decode_segment(vkf__text_stream *stream)
{
    const int32_t *ids = stream->ids + stream->segment_id;
    uint32_t count = stream->id_count - stream->segment_id;
    size_t bytes = 0;
    VKF_RETURN_IF_ERROR(vkf__tokenizer_decode(stream->tokenizer, ids, count, true, &bytes, NULL));
    VKF_RETURN_IF_ERROR(reserve_text(stream, stream->segment_begin + bytes + 1));
    bytes = stream->capacity_bytes - stream->segment_begin;
    char *text = stream->text + stream->segment_begin;
    VKF_RETURN_IF_ERROR(vkf__tokenizer_decode(stream->tokenizer, ids, count, true, &bytes, text));
    size_t skip = stream->segment_skip < bytes ? stream->segment_skip : bytes;
    memmove(text, text + skip, bytes - skip + 1);
    stream->size_bytes = stream->segment_begin + bytes - skip;
    return VKF_OK;
}

// Begins a segment with the last token; what comes before it is not decoded again. The token's own text is skipped: it
// is there as context only, because decoders treat the first token differently.
static vkf_status begin_segment(vkf__text_stream *stream)
{
    size_t bytes = 0;
    vkf_status status =
        vkf__tokenizer_decode(stream->tokenizer, stream->ids + stream->id_count - 1, 1, true, &bytes, NULL);
    stream->segment_id = stream->id_count - 1;
    stream->segment_begin = stream->size_bytes;
    stream->segment_skip = bytes;
    return status;
}

// The offset of the first stop string that begins at `from` or later; SIZE_MAX if there is none.
static size_t find_stop(const vkf__text_stream *stream, size_t from)
{
    for (size_t at = from; at < stream->size_bytes; at++)
        for (uint32_t i = 0; i < stream->stop_count; i++) {
            const vkf_text *stop = &stream->stops[i];
            if (stop->size_bytes > 0 && stop->size_bytes <= stream->size_bytes - at &&
                memcmp(stream->text + at, stop->bytes, stop->size_bytes) == 0)
                return at;
        }
    return SIZE_MAX;
}

// The first offset from `from` on where the rest of the text is the beginning of a stop string; the text's end if none
// is.
static size_t possible_stop(const vkf__text_stream *stream, size_t from)
{
    for (size_t at = from; at < stream->size_bytes; at++)
        for (uint32_t i = 0; i < stream->stop_count; i++) {
            size_t rest = stream->size_bytes - at;
            if (rest < stream->stops[i].size_bytes && memcmp(stream->text + at, stream->stops[i].bytes, rest) == 0)
                return at;
        }
    return stream->size_bytes;
}

// A character that consists of several tokens decodes to U+FFFD until the last of them has come.
static bool ends_in_replacement(const vkf__text_stream *stream)
{
    static const char replacement[] = "\xef\xbf\xbd";
    return stream->size_bytes >= stream->segment_begin + 3 &&
           memcmp(stream->text + stream->size_bytes - 3, replacement, 3) == 0;
}

// Whether a token is a byte of a decoder with byte fallback: "<0x0A>". The text of a run of them is known only when it
// is over, because one broken character makes the whole run decode differently.
static bool is_byte(const vkf__text_stream *stream, int32_t id)
{
    const char *token = vkf__tokenizer_id_to_token(stream->tokenizer, id);
    return token && strlen(token) == 6 && strncmp(token, "<0x", 3) == 0 && token[5] == '>';
}

vkf_status vkf__text_stream_add(vkf__text_stream *stream, int32_t id)
{
    VKF_RETURN_IF_ERROR(append_id(stream, id));
    VKF_RETURN_IF_ERROR(decode_segment(stream));
    size_t stop = find_stop(stream, stream->certain_bytes);
    if (stop != SIZE_MAX) {
        stream->stopped = true;
        stream->size_bytes = stream->certain_bytes = stop;
        stream->text[stop] = '\0';
        return VKF_OK;
    }
    if (ends_in_replacement(stream) || is_byte(stream, id))
        return VKF_OK;
    size_t certain = possible_stop(stream, stream->certain_bytes);
    if (certain > stream->certain_bytes)
        stream->certain_bytes = certain;
    if (certain == stream->size_bytes && certain > stream->segment_begin && stream->text[certain - 1] == '\n')
        VKF_RETURN_IF_ERROR(begin_segment(stream));
    return VKF_OK;
}

void vkf__text_stream_end(vkf__text_stream *stream)
{
    stream->certain_bytes = stream->size_bytes;
}
