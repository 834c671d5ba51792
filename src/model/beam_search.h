// Beam search over one sequence, as transformers 4.57 does it (GenerationMixin._beam_search): log-probabilities in, which
// sequences go on out. It knows nothing of devices; scores are f32 as there, so that ties fall alike.
#ifndef VKF_MODEL_BEAM_SEARCH_H
#define VKF_MODEL_BEAM_SEARCH_H

#include <vkformer/model.h>

#include "base/host.h"

// The next token of one of the running sequences.
typedef struct vkf__beam_candidate {
    uint32_t beam;
    int32_t token;
    float score; // its log-probability; behind vkf__beam_search_gather() the sum of all of them
    bool ends;   // the sequence, with this token
} vkf__beam_candidate;

// Sequences of one kind, best first.
typedef struct vkf__hypotheses {
    int32_t *tokens; // (num_beams, max_new)
    uint32_t *lengths;
    float *scores;
    bool *finished; // of those that are kept; the others are places yet to be taken
} vkf__hypotheses;

typedef struct vkf__beam_search {
    vkf_beam_search desc;
    uint32_t max_new;
    uint32_t length; // new tokens of every running sequence
    vkf__hypotheses running, kept;
    vkf__hypotheses spare;           // the next generation of either, while it is made
    vkf__beam_candidate *candidates; // (candidate_count)
    uint32_t candidate_count;        // so many that num_beams of them do not end
    uint32_t gathered;               // candidates that there are
    float *scores;                   // scratch, (num_beams + candidate_count)
    bool *taken;                     // the same
    bool improvable;                 // a running sequence may yet become better than those kept
    bool done;
} vkf__beam_search;

// `end_count` is the number of tokens that end a sequence. Ownership: vkf__beam_search_free(), which accepts what is zero.
// Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__beam_search_make(const vkf__host *host, const vkf_beam_search *desc, uint32_t max_new,
                                                uint32_t end_count, vkf__beam_search *out_search);
void vkf__beam_search_free(const vkf__host *host, vkf__beam_search *search);

// The best of what the running sequences might go on with: `tops` holds (num_beams, k) of it, each row in descending order;
// counts[i] of row i are there.
void vkf__beam_search_gather(vkf__beam_search *search, const vkf__beam_candidate *tops, uint32_t k,
                             const uint32_t *counts);

// One token further. out_sources[i] is the running sequence that i goes on from, whose tokens are in search->running.
void vkf__beam_search_advance(vkf__beam_search *search, uint32_t *out_sources);

// The first place at which running sequences differ; search->length where none does.
uint32_t vkf__beam_search_common(const vkf__beam_search *search);

#endif
