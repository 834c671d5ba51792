// The search of the Unigram model, for tokenizer files and for SentencePiece's own.
#ifndef VKF_TEXT_UNIGRAM_H
#define VKF_TEXT_UNIGRAM_H

#include "text/token_model.h"

#define VKF_UNIGRAM_UNKNOWN_PENALTY 10.0

typedef struct vkf__unigram {
    double *scores; // (tokens)
    double unk_score;
    int32_t unk_id;
    bool single; // sums are rounded to float32, as SentencePiece does it; `tokenizers` adds in float64
    bool byte_fallback;
    int32_t bytes[256]; // the tokens of single bytes, or VKF_TRIE_NONE
} vkf__unigram;

// Adds the tokens of a piece, with their numbers in the trie; bytes > 0. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__unigram_tokenize(const vkf__unigram *self, const vkf__trie *trie, const char *text,
                                                size_t bytes, vkf__token_scratch *scratch);

#endif
