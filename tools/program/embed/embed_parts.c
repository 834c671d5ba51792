// vkformer embed --chunk: divides texts into parts of a number of tokens. A part's tokens are those of its text alone,
// as the embedder will make them, which need not be those that it has within the whole.
#include <stdlib.h>
#include <string.h>

#include "embed/embed_state.h"
#include "input/text_tokens.h"

#define FIRST_PARTS 64
#define MAX_TRIES 4 // to make a part shorter by as much as it is too long; then by half

typedef struct division {
    vkf_embed_state *state;
    const vkf_embedder *embedder;
    const char *prompt;
    uint32_t room; // for a part's own tokens
    uint32_t text;
    const char *bytes;
    vkf_encoding tokens; // of the text
} division;

vkf_text vkf_embed_text_of(const vkf_embed_state *state, uint32_t part)
{
    const vkf_embed_part *p = &state->parts[part];
    return (vkf_text){state->texts.list[p->text].text + p->begin, p->end - p->begin};
}

const char *vkf_embed_file_of(const vkf_embed_state *state, uint32_t part)
{
    return state->texts.list[state->parts[part].text].file;
}

static bool add_part(vkf_embed_state *state, uint32_t text, size_t begin, size_t end)
{
    if (state->count == state->capacity) {
        uint32_t capacity = state->capacity > 0 ? 2 * state->capacity : FIRST_PARTS;
        vkf_embed_part *parts = capacity > state->capacity ? realloc(state->parts, capacity * sizeof *parts) : NULL;
        if (!parts) {
            vkf_print_error("memory is exhausted");
            return false;
        }
        state->parts = parts;
        state->capacity = capacity;
    }
    state->parts[state->count++] = (vkf_embed_part){.text = text, .begin = begin, .end = end};
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Whether a blank stands before the token's word, or else whether a word of the tokenizer's begins, which may be a dot.
static bool begins_text(const division *d, uint32_t token)
{
    const size_t at = d->tokens.offsets[token].begin;
    return is_blank(d->bytes[at]) || (at > 0 && is_blank(d->bytes[at - 1]));
}

static bool begins_word(const division *d, uint32_t token)
{
    return d->tokens.words[token] != d->tokens.words[token - 1] || begins_text(d, token);
}

// Where a part that could go up to `end` does: at a blank in its second half, or else between words, or else there.
static uint32_t at_word(const division *d, uint32_t begin, uint32_t end)
{
    if (end == d->tokens.count)
        return end;
    for (uint32_t at = end; at > begin + (end - begin) / 2; at--)
        if (begins_text(d, at))
            return at;
    for (uint32_t at = end; at > begin; at--)
        if (begins_word(d, at))
            return at;
    return end;
}

static vkf_text text_between(const division *d, uint32_t begin, uint32_t end)
{
    const size_t from = d->tokens.offsets[begin].begin, to = d->tokens.offsets[end - 1].end;
    return (vkf_text){d->bytes + from, to > from ? to - from : 0};
}

// Finds where the part that begins with a token ends. Alone, its text may have more tokens than within the whole.
static bool find_end(const division *d, uint32_t begin, uint32_t *out_end)
{
    const uint32_t most = d->state->options->chunk, left = d->tokens.count - begin;
    uint32_t end = at_word(d, begin, begin + (left < d->room ? left : d->room)), count = 0;
    for (uint32_t tries = 0;; tries++) {
        const vkf_text part = text_between(d, begin, end);
        if (!vkf_count_text_tokens(d->embedder, d->prompt, &part, NULL, &count))
            return false;
        if (count <= most || end == begin + 1)
            break;
        const uint32_t own = end - begin, beyond = count - most;
        end = at_word(d, begin, begin + (tries < MAX_TRIES && beyond < own ? own - beyond : own / 2));
    }
    *out_end = end;
    return true;
}

// Where the next part begins: with what both have in common, which is at most half a part, so that parts go on.
static uint32_t next_begin(const division *d, uint32_t begin, uint32_t end)
{
    const uint32_t half = (end - begin) / 2, overlap = d->state->options->overlap;
    uint32_t next = end - (overlap < half ? overlap : half);
    while (next < end && !begins_word(d, next))
        next++;
    return next;
}

// Adds what one token stands for, in halves as long as that has too many tokens by itself and is no single character.
static bool add_pieces(const division *d, size_t begin, size_t end)
{
    const vkf_text piece = {d->bytes + begin, end - begin};
    size_t middle = begin + piece.size_bytes / 2;
    uint32_t count = 0;
    while (middle > begin && ((unsigned char)d->bytes[middle] & 0xc0u) == 0x80u)
        middle--;
    if (!vkf_count_text_tokens(d->embedder, d->prompt, &piece, NULL, &count))
        return false;
    if (count <= d->state->options->chunk || middle == begin)
        return add_part(d->state, d->text, begin, end);
    return add_pieces(d, begin, middle) && add_pieces(d, middle, end);
}

static bool divide_tokens(const division *d)
{
    uint32_t begin = 0, end = 0;
    while (end < d->tokens.count) {
        if (!find_end(d, begin, &end))
            return false;
        const vkf_text part = text_between(d, begin, end);
        const size_t from = (size_t)(part.bytes - d->bytes), to = from + part.size_bytes;
        if (end == begin + 1 ? !add_pieces(d, from, to) : !add_part(d->state, d->text, from, to))
            return false;
        begin = next_begin(d, begin, end);
    }
    return true;
}

static bool divide_text(division *d)
{
    const vkf_encode_options options = {.no_special_tokens = true, .truncation = VKF_TRUNCATION_NONE};
    const vkf_text_item *item = &d->state->texts.list[d->text];
    d->bytes = item->text;
    bool divided =
        vkf_tokenizer_encode(vkf_embedder_get_tokenizer(d->embedder), &(vkf_text){item->text, item->size_bytes}, NULL,
                             &options, &d->tokens) == VKF_OK;
    if (divided)
        divided = d->tokens.count > 0 ? divide_tokens(d) : add_part(d->state, d->text, 0, item->size_bytes);
    vkf_encoding_free(&d->tokens);
    return divided;
}

// What is left of a part's tokens beside those of the prompt and the special ones.
static bool find_room(division *d)
{
    const uint32_t most = d->state->options->chunk;
    const vkf_text nothing = {"", 0};
    uint32_t taken = 0;
    vkf_model_config config;
    vkf_embedder_get_config(d->embedder, &config);
    if (!vkf_count_text_tokens(d->embedder, d->prompt, &nothing, NULL, &taken))
        return false;
    if (most > config.truncate_len)
        vkf_print_error("--chunk %u: the model takes at most %u tokens", most, config.truncate_len);
    else if (most <= taken)
        vkf_print_error("--chunk %u: the prompt and the special tokens are %u, which leaves no room for a text", most,
                        taken);
    d->room = most - taken;
    return most <= config.truncate_len && most > taken;
}

bool vkf_embed_divide(vkf_embed_state *state, const vkf_embedder *embedder)
{
    const vkf_embed_options *options = state->options;
    const vkf_embed_args args = {.prompt = options->prompt, .prompt_name = options->prompt_name};
    division d = {.state = state, .embedder = embedder, .prompt = vkf_prompt_of(embedder, &args)};
    bool divided = options->chunk == 0 || find_room(&d);
    for (; divided && d.text < state->texts.count; d.text++)
        divided =
            options->chunk > 0 ? divide_text(&d) : add_part(state, d.text, 0, state->texts.list[d.text].size_bytes);
    return divided;
}
