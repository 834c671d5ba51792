// Beam search over one sequence, as transformers 4.57 does it (GenerationMixin._beam_search). It takes
// log-probabilities and says which sequences go on; it knows nothing of devices. Scores are f32 as in transformers, so
// that ties are broken alike.
#ifndef VKF_MODEL_BEAM_SEARCH_H
#define VKF_MODEL_BEAM_SEARCH_H

#include <vkformer/model.h>

#include "base/host.h"

// The next token of one of the running sequences.
typedef struct vkf__beam_candidate {
    uint32_t beam;
    int32_t token;
    float score; // its log-probability; after vkf__beam_search_gather() the sum over the sequence
    bool ends;   // this token ends the sequence
} vkf__beam_candidate;

// Sequences of one kind, best first.
typedef struct vkf__hypotheses {
    int32_t *tokens; // (num_beams, max_new)
    uint32_t *lengths;
    float *scores;
    bool *finished; // for kept ones: false where the place is still free
} vkf__hypotheses;

typedef struct vkf__beam_search {
    vkf_beam_search desc;
    uint32_t max_new;
    uint32_t length; // new tokens of every running sequence
    vkf__hypotheses running, kept;
    vkf__hypotheses spare;           // scratch: the next state of either, which is then swapped in
    vkf__beam_candidate *candidates; // (candidate_count)
    uint32_t candidate_count;        // enough that num_beams of them do not end
    uint32_t gathered;               // candidates that there are now
    float *scores;                   // scratch, (num_beams + candidate_count)
    bool *taken;                     // scratch, (num_beams + candidate_count)
    bool improvable;                 // a running sequence may still become better than those kept
    bool done;
} vkf__beam_search;

// `end_count` is the number of different tokens that end a sequence. Ownership: vkf__beam_search_free(), which accepts
// a zeroed search. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__beam_search_make(const vkf__host *host, const vkf_beam_search *desc, uint32_t max_new,
                                                uint32_t end_count, vkf__beam_search *out_search);
void vkf__beam_search_free(const vkf__host *host, vkf__beam_search *search);

// Gathers the best continuations over all running sequences. `tops` (num_beams, k) holds counts[i] candidates in row i,
// in descending order.
void vkf__beam_search_gather(vkf__beam_search *search, const vkf__beam_candidate *tops, uint32_t k,
                             const uint32_t *counts);

// Goes one token further. out_sources[i] is the running sequence, by its index before this call, that sequence i goes
// on from.
void vkf__beam_search_advance(vkf__beam_search *search, uint32_t *out_sources);

// The number of tokens from the start that all running sequences share; search->length where none differs.
uint32_t vkf__beam_search_common(const vkf__beam_search *search);

#endif
