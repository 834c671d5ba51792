// Cuts examples into pieces.
#include "train/pieces.h"

// ---- an example's tokens

// Those of the example that was asked for last are kept: of a long one all pieces are wanted in a row.
static vkf_status take_example(vkf_pieces *p, uint32_t example, vkf_example_ids *out_ids)
{
    if (!p->has_last || p->last != example) {
        p->has_last = false;
        VKF_RETURN_IF_ERROR(vkf_example_tokens_get(p->tokens, example, &p->last_ids));
        p->has_last = true;
        p->last = example;
    }
    *out_ids = p->last_ids;
    return VKF_OK;
}

// Tokens of a side: what stands around the text, and how much of the text has room between.
typedef struct window {
    uint32_t head, tail, text, room; // room 0: what stands around it leaves none
} window;

static window window_of(const vkf_pieces *p, const vkf_id_list *list, uint32_t count, uint32_t most)
{
    window w = {.head = p->stream ? 0 : list->head, .tail = p->stream ? 0 : list->tail};
    w.text = count - w.head - w.tail;
    w.room = most == 0 ? w.text : most > w.head + w.tail ? most - w.head - w.tail : 0;
    return w;
}

static window source_window(const vkf_pieces *p, const vkf_example_ids *ids)
{
    return window_of(p, &p->tokens->source, ids->source_count, p->max_source);
}

static bool is_long(const window *w)
{
    return w->room < w->text;
}

static vkf_status append(vkf_pieces *p, const int32_t *ids, uint32_t count, vkf_id_list *list)
{
    if (count == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__grow(p->tokens->host, (void **)&list->ids, sizeof *list->ids, list->count, &list->capacity,
                                  list->count + count));
    for (uint32_t i = 0; i < count; i++)
        list->ids[list->count++] = ids[i];
    return VKF_OK;
}

// The part of a text that begins at `begin`, with what stands around it.
static vkf_status cut(vkf_pieces *p, const int32_t *ids, const window *w, uint32_t begin, vkf_id_list *out)
{
    const uint32_t left = w->text - begin, count = left < w->room ? left : w->room;
    out->count = 0;
    VKF_RETURN_IF_ERROR(append(p, ids, w->head, out));
    VKF_RETURN_IF_ERROR(append(p, ids + w->head + begin, count, out));
    return append(p, ids + w->head + w->text, w->tail, out);
}

// ---- where pieces begin

static vkf_status add_piece(vkf_pieces *p, uint32_t example, uint32_t begin)
{
    if (p->count == UINT32_MAX)
        return vkf__fail(p->tokens->host, VKF_ERROR_TOO_LARGE, "the texts make more than %u blocks of %u tokens",
                         UINT32_MAX, p->max_source);
    VKF_RETURN_IF_ERROR(
        vkf__grow(p->tokens->host, (void **)&p->pieces, sizeof *p->pieces, p->count, &p->capacity, p->count + 1));
    p->pieces[p->count++] = (vkf_piece){example, begin};
    return VKF_OK;
}

// A text that is too long for a model of which nothing is left beside what stands around it is one piece, which the
// batches leave out. So is one without a token.
static vkf_status divide(vkf_pieces *p, uint32_t example, const window *w)
{
    const uint32_t step = w->room > 0 ? w->room : w->text;
    uint32_t begin = 0;
    do {
        VKF_RETURN_IF_ERROR(add_piece(p, example, begin));
        begin += step;
    } while (begin + p->stream < w->text); // a decoder learns nothing from a token alone
    p->long_texts += is_long(w);
    return VKF_OK;
}

// *inout_filled is how many tokens the last piece has.
static vkf_status pack(vkf_pieces *p, uint32_t example, const window *w, uint32_t *inout_filled)
{
    for (uint32_t begin = 0; begin < w->text;) {
        if (p->count == 0 || *inout_filled == p->max_source) {
            VKF_RETURN_IF_ERROR(add_piece(p, example, begin));
            *inout_filled = 0;
        }
        const uint32_t left = w->text - begin, room = p->max_source - *inout_filled, taken = left < room ? left : room;
        begin += taken;
        *inout_filled += taken;
    }
    p->long_texts += is_long(w);
    return VKF_OK;
}

vkf_status vkf_pieces_open(vkf_pieces *pieces)
{
    vkf_pieces *p = pieces;
    uint32_t filled = 0;
    for (uint32_t i = 0; p->how == VKF_TRAIN_LONG_BLOCK && i < vkf_examples_count(p->tokens->examples); i++) {
        vkf_example_ids ids;
        VKF_RETURN_IF_ERROR(take_example(p, i, &ids));
        const window w = source_window(p, &ids);
        VKF_RETURN_IF_ERROR(p->pack ? pack(p, i, &w, &filled) : divide(p, i, &w));
    }
    return VKF_OK;
}

void vkf_pieces_close(vkf_pieces *pieces)
{
    if (pieces->tokens && pieces->tokens->host) {
        vkf__free(pieces->tokens->host, pieces->pieces);
        vkf__free(pieces->tokens->host, pieces->source.ids);
        vkf__free(pieces->tokens->host, pieces->target.ids);
    }
    *pieces = (vkf_pieces){0};
}

uint32_t vkf_pieces_count(const vkf_pieces *pieces)
{
    return pieces->how == VKF_TRAIN_LONG_BLOCK ? (uint32_t)pieces->count : vkf_examples_count(pieces->tokens->examples);
}

uint32_t vkf_pieces_example(const vkf_pieces *pieces, uint32_t index)
{
    return pieces->how == VKF_TRAIN_LONG_BLOCK ? pieces->pieces[index].example : index;
}

// ---- a piece

// The first token of a decoder's text follows from nothing.
static bool learns(const vkf_pieces *p)
{
    for (size_t i = p->stream; i < p->target.count; i++)
        if (p->target.ids[i] != VKF_IGNORED_LABEL)
            return true;
    return false;
}

static vkf_status take_packed(vkf_pieces *p, const vkf_piece *at)
{
    const uint32_t examples = vkf_examples_count(p->tokens->examples);
    p->source.count = p->target.count = 0;
    for (uint32_t i = at->example, begin = at->begin; i < examples && p->source.count < p->max_source; i++, begin = 0) {
        vkf_example_ids ids;
        VKF_RETURN_IF_ERROR(take_example(p, i, &ids));
        const uint32_t left = ids.source_count - begin, room = p->max_source - (uint32_t)p->source.count;
        const uint32_t taken = left < room ? left : room;
        VKF_RETURN_IF_ERROR(append(p, ids.source + begin, taken, &p->source));
        if (p->by_token)
            VKF_RETURN_IF_ERROR(append(p, ids.target + begin, taken, &p->target));
    }
    return VKF_OK;
}

static vkf_status take_part(vkf_pieces *p, const vkf_example_ids *ids, uint32_t begin, bool *out_long)
{
    const window source = source_window(p, ids);
    const window target = p->by_token ? source : window_of(p, &p->tokens->target, ids->target_count, p->max_target);
    *out_long = is_long(&source) || (!p->by_token && is_long(&target));
    if (source.room == 0 || target.room < (target.text > 0)) { // it is left out, or has nothing to learn
        p->source.count = p->target.count = 0;
        VKF_RETURN_IF_ERROR(append(p, ids->source, ids->source_count, &p->source));
        return append(p, ids->target, ids->target_count, &p->target);
    }
    VKF_RETURN_IF_ERROR(cut(p, ids->source, &source, begin, &p->source));
    return cut(p, ids->target, &target, p->by_token ? begin : 0, &p->target);
}

static vkf_status take_piece(vkf_pieces *p, uint32_t index)
{
    const vkf_piece at = p->how == VKF_TRAIN_LONG_BLOCK ? p->pieces[index] : (vkf_piece){index, 0};
    bool too_long = false;
    vkf_example_ids ids;
    if (p->pack)
        return take_packed(p, &at);
    VKF_RETURN_IF_ERROR(take_example(p, at.example, &ids));
    VKF_RETURN_IF_ERROR(take_part(p, &ids, at.begin, &too_long));
    if (index == p->asked) {
        p->asked++;
        p->long_texts += too_long && p->how == VKF_TRAIN_LONG_CUT;
    }
    return VKF_OK;
}

vkf_status vkf_pieces_get(void *user, uint32_t index, vkf_example_ids *out_ids)
{
    vkf_pieces *p = user;
    if (p->how == VKF_TRAIN_LONG_DROP)
        return vkf_example_tokens_get(p->tokens, index, out_ids);
    VKF_RETURN_IF_ERROR(take_piece(p, index));
    const bool nothing = p->by_token ? !learns(p) : p->stream && p->source.count < 2;
    *out_ids = (vkf_example_ids){p->source.ids, p->target.ids, (uint32_t)p->source.count, (uint32_t)p->target.count};
    if (nothing)
        *(p->by_token ? &out_ids->target_count : &out_ids->source_count) = 0;
    return VKF_OK;
}
