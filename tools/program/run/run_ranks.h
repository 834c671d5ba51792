// vkformer run under mpirun: the layers of a model that generates are cut between the ranks.
//
// All ranks make the same calls for the same texts, which rank 0 reads, and rank 0 alone prints. What fails ends all
// ranks.
#ifndef VKF_PROGRAM_RUN_RANKS_H
#define VKF_PROGRAM_RUN_RANKS_H

#include "ranks/layer_cut.h"
#include "run/run_state.h"

typedef struct run_ranks {
    vkf_ranks of;
    uint32_t encoder_layers, decoder_layers; // of the model
    vkf_cut_part *parts;                     // (of.size)
    uint32_t before, behind, last; // ranks with layers: the neighbours of this one, and the one that chooses tokens
    uint32_t batches;              // that are under way at once
    vkf_session_desc session;      // of each batch
    vkf_model_precision precision; // of all parts
} run_ranks;

// Whether options and model are ones that ranks can run together; if not, the reason has been printed.
bool vkf_run_ranks_fit(const run_options *options, run_way way);

// run_ranks_cut.c: cuts the layers by the memory and the speed of each rank's device, for batches that each have such a
// session. All ranks have to call it. Ownership: vkf_run_ranks_free().
void vkf_run_ranks_cut(const run_options *options, const vkf_model_config *config, vkf_context *context,
                       const vkf_session_desc *session, run_ranks *ranks);
void vkf_run_ranks_free(run_ranks *ranks);

// Loads this rank's part, which refers to `ranks`. The caller owns it. Statuses: those of vkf_model_load().
VKF_MUST_CHECK vkf_status vkf_run_ranks_load(run_ranks *ranks, vkf_context *context, const vkf_model_desc *desc,
                                             vkf_model **out_model);

// Measures how long a message takes from one rank to the next, on its way through all that have layers, which all have
// to call it: one of a few bytes, and how much faster larger ones pass.
typedef struct run_link {
    double latency_ns, bytes_per_s;
} run_link;
bool vkf_run_ranks_measure(const run_ranks *ranks, run_link *out_link);

// Prints how many tokens all batches had in the given time, and the link where it was measured.
void vkf_run_ranks_print_speed(const run_link *link, uint64_t tokens, double ns);

// The bytes that rank 0 has become those of all ranks with layers, which all have to call it.
void vkf_run_ranks_share(const run_ranks *ranks, void *bytes, size_t size_bytes);

// The lines that rank 0 has become those of all ranks. Returns their number.
uint32_t vkf_run_ranks_share_lines(const run_ranks *ranks, uint32_t count, vkf_text_line *lines);

// run_ranks_lines.c: runs every line through one of the project's own models. False: a line was refused. What fails
// ends all ranks.
bool vkf_run_ranks_lines(const run_options *options, const vkf_model_config *config);

#endif
