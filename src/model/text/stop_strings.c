// Decodes the end of a sequence with and without its last token, and looks for stop strings in the difference.
#include "model/text/stop_strings.h"

#include <string.h>

// Decodes tokens with their special ones. The caller frees *out_text.
static vkf_status decode(const vkf__tokenizer *tokenizer, const int32_t *ids, uint32_t count, char **out_text,
                         size_t *out_bytes)
{
    VKF_RETURN_IF_ERROR(vkf__tokenizer_decode(tokenizer, ids, count, false, out_bytes, NULL));
    VKF_ALLOC_OR_RETURN(tokenizer->host, *out_text, ++*out_bytes);
    VKF_RETURN_IF_ERROR(vkf__tokenizer_decode(tokenizer, ids, count, false, out_bytes, *out_text));
    return VKF_OK;
}

// Whether a stop string ends within text[begin .. bytes).
static bool completes(const vkf_text *stop, const char *text, size_t bytes, size_t begin)
{
    for (size_t end = begin + 1; end <= bytes; end++)
        if (end >= stop->size_bytes && memcmp(text + end - stop->size_bytes, stop->bytes, stop->size_bytes) == 0)
            return true;
    return false;
}

static uint32_t longest_stop(const vkf__stop_strings *strings)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < strings->count; i++)
        longest = strings->stops[i].size_bytes > longest ? strings->stops[i].size_bytes : longest;
    return longest < UINT32_MAX / 2 ? (uint32_t)longest : UINT32_MAX / 2;
}

vkf_status vkf__ends_with_stop(const vkf__stop_strings *strings, const int32_t *ids, uint32_t count, bool *out_ends)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = strings->tokenizer->host;
    char *before = NULL, *text = NULL;
    size_t before_bytes = 0, bytes = 0, same = 0;
    // One token for each byte of the longest stop string, in case each adds a single byte, and more before them,
    // because decoders treat the first token differently.
    uint32_t looked_at = longest_stop(strings) + 2;
    bool ends = false;
    if (count > looked_at) {
        ids += count - looked_at;
        count = looked_at;
    }
    if (count > 0) {
        VKF_TRY(decode(strings->tokenizer, ids, count - 1, &before, &before_bytes));
        VKF_TRY(decode(strings->tokenizer, ids, count, &text, &bytes));
    }
    while (same < before_bytes && same < bytes && before[same] == text[same])
        same++;
    for (uint32_t i = 0; i < strings->count && !ends; i++)
        ends = strings->stops[i].size_bytes > 0 && completes(&strings->stops[i], text, bytes, same);
    *out_ends = ends;
fail:
    vkf__free(host, before);
    vkf__free(host, text);
    return status;
}
