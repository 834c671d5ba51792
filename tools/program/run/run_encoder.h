// What `vkformer run` does with encoders that have no head, and the picture for all encoders.
#ifndef VKF_PROGRAM_RUN_ENCODER_H
#define VKF_PROGRAM_RUN_ENCODER_H

#include "run/run_state.h"

// Draws the attention over a text and its pair (text NULL: no pair), truncated as `cut` says. False: the reason has
// been printed.
bool vkf_run_draw_encoder(const run_options *options, vkf_embedder *embedder, const vkf_text_line *line,
                          const vkf_text_line *pair, const vkf_encode_options *cut);

#endif
