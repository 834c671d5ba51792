// Unigram: of all ways to cut a piece into tokens, it takes the one with the greatest sum of scores, which are
// logarithms of probabilities. A character that no token covers scores ten less than the worst token; such characters
// in a row become one unknown token.
#include <math.h>

#include "text/code_point.h"
#include "text/unigram.h"

typedef vkf__unigram unigram;

// The best way to reach a place in the text.
typedef struct best_end {
    double score;
    uint32_t begin; // of its last token
    int32_t id;     // of its last token; NOT_REACHED: no way yet
} best_end;

#define NOT_REACHED (-2)
#define LARGEST_SUM 100000.0f

static vkf_status load_scores(const vkf__json_section *list, size_t count, unigram *self)
{
    double worst = INFINITY;
    VKF_ALLOC_OR_RETURN(list->host, self->scores, count + 1);
    for (size_t i = 0; i < count; i++) {
        self->scores[i] = json_number_value(json_array_get(json_array_get(list->object, i), 1));
        worst = self->scores[i] < worst ? self->scores[i] : worst;
    }
    self->unk_score = worst - VKF_UNIGRAM_UNKNOWN_PENALTY;
    return VKF_OK;
}

static vkf_status load(const vkf__json_section *section, vkf__token_vocabulary *vocabulary, void **out_self)
{
    vkf__json_section list;
    unigram *self = NULL;
    uint32_t unk_id = UINT32_MAX;
    VKF_RETURN_IF_ERROR(vkf__section_get(section, "vocab", &list));
    VKF_RETURN_IF_ERROR(vkf__vocabulary_load_list(&list, vocabulary));
    VKF_ALLOC_OR_RETURN(section->host, self, 1);
    *out_self = self;
    VKF_RETURN_IF_ERROR(load_scores(&list, vocabulary->count, self));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "byte_fallback", &self->byte_fallback));
    VKF_RETURN_IF_ERROR(vkf__section_u32(section, "unk_id", INT32_MAX, &unk_id));
    if (unk_id == UINT32_MAX || unk_id >= vocabulary->count)
        return vkf__fail(section->host, VKF_ERROR_FORMAT,
                         "%s: key 'unk_id' must be the place of a token in 'vocab', "
                         "which has %zu",
                         section->where, vocabulary->count);
    self->unk_id = (int32_t)unk_id;
    for (unsigned byte = 0; byte < 256; byte++)
        self->bytes[byte] = vkf__vocabulary_byte(vocabulary, (unsigned char)byte);
    return VKF_OK;
}

// Takes a way to `end` if it scores higher than the best so far. Of equal ways the first one found stays.
static void offer(const unigram *self, best_end *end, double score, size_t begin, int32_t id)
{
    score = self->single ? (float)score : score;
    if (end->id == NOT_REACHED || score > end->score)
        *end = (best_end){score, (uint32_t)begin, id};
}

// SentencePiece does this where sums have become too large for float32 to add to: scores count from here on.
static void count_from(best_end *ends, size_t begin, size_t reached)
{
    float here = (float)ends[begin].score;
    if (fabsf(here) <= LARGEST_SUM)
        return;
    for (size_t i = begin; i <= reached; i++)
        ends[i].score = (float)(ends[i].score - here);
}

// Viterbi's algorithm: at every place where a character begins, it tries all tokens that begin there.
static void find_best(const unigram *self, const vkf__trie *trie, const char *text, size_t bytes, best_end *ends)
{
    for (size_t i = 0; i <= bytes; i++)
        ends[i].id = NOT_REACHED;
    ends[0].score = 0;
    size_t reached = 0;
    for (size_t begin = 0; begin < bytes;) {
        size_t length = vkf__utf8_bytes(text + begin);
        if (self->single)
            count_from(ends, begin, reached);
        double here = ends[begin].score;
        bool covered = false;
        uint32_t node = VKF_TRIE_ROOT;
        for (size_t at = begin; at < bytes; at++) {
            node = vkf__trie_step(trie, node, (uint8_t)text[at]);
            if (node == VKF_TRIE_DEAD)
                break;
            int32_t id = trie->value[node];
            if (id == VKF_TRIE_NONE)
                continue;
            offer(self, &ends[at + 1], here + self->scores[id], begin, id);
            covered = covered || at + 1 - begin == length;
            reached = at + 1 > reached ? at + 1 : reached;
        }
        if (!covered) {
            offer(self, &ends[begin + length], here + self->unk_score, begin, self->unk_id);
            reached = begin + length > reached ? begin + length : reached;
        }
        begin += length;
    }
}

// Adds what is at [begin, end): its token or, where it is none, the tokens of its bytes, or the unknown token.
static vkf_status add_part(const unigram *self, const vkf__trie *trie, const char *text, size_t begin, size_t end,
                           vkf__token_scratch *scratch)
{
    int32_t id = vkf__trie_find(trie, text + begin, end - begin);
    if (id != VKF_TRIE_NONE)
        return vkf__add_token(scratch, id, begin, end);
    bool fallback = self->byte_fallback;
    for (size_t at = begin; at < end && fallback; at++)
        fallback = self->bytes[(unsigned char)text[at]] != VKF_TRIE_NONE;
    if (!fallback)
        return vkf__add_token(scratch, self->unk_id, begin, end);
    vkf_status status = VKF_OK;
    for (size_t at = begin; at < end && status == VKF_OK; at++)
        status = vkf__add_token(scratch, self->bytes[(unsigned char)text[at]], begin, end);
    return status;
}

vkf_status vkf__unigram_tokenize(const unigram *self, const vkf__trie *trie, const char *text, size_t bytes,
                                 vkf__token_scratch *scratch)
{
    vkf_status status =
        vkf__grow(scratch->host, &scratch->work, sizeof(best_end), 0, &scratch->work_capacity, bytes + 1);
    if (status != VKF_OK)
        return status;
    best_end *ends = scratch->work;
    find_best(self, trie, text, bytes, ends);
    // The best way is linked from the end to the beginning. This loop reverses it in place: each entry's `begin`, which
    // is no longer needed, becomes the end of the next token.
    size_t next = bytes;
    for (size_t end = bytes; end > 0;) {
        size_t begin = ends[end].begin;
        ends[end].begin = (uint32_t)next;
        next = end;
        end = begin;
    }
    for (size_t begin = 0; begin < bytes && status == VKF_OK;) {
        size_t end = next;
        while (ends[end].id == self->unk_id && end < bytes && ends[ends[end].begin].id == self->unk_id)
            end = ends[end].begin;
        status = add_part(self, trie, text, begin, end, scratch);
        begin = end;
        next = ends[end].begin;
    }
    return status;
}

static vkf_status tokenize(const void *self, const vkf__token_vocabulary *vocabulary, const char *text, size_t bytes,
                           vkf__token_scratch *scratch)
{
    return vkf__unigram_tokenize(self, &vocabulary->trie, text, bytes, scratch);
}

static void free_self(const vkf__host *host, void *data)
{
    unigram *self = data;
    vkf__free(host, self->scores);
    vkf__free(host, self);
}

const vkf__token_model_kind vkf__unigram_kind = {
    .name = "Unigram",
    .surface = true,
    .load = load,
    .tokenize = tokenize,
    .free = free_self,
};
