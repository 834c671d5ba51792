// The vkf_generator object: turns prompts into tokens, runs them in batches, and gives back continuations.
#ifndef VKF_MODEL_GENERATOR_H
#define VKF_MODEL_GENERATOR_H

#include <vkformer/generate.h>

#include "model/session/session.h"
#include "model/text/text_model.h"

struct vkf_generator {
    vkf_context *context;
    vkf__text_model text;
    vkf_session **sessions; // (session_count): as many batches run at once
    uint32_t session_count;
    vkf_session_desc session; // of each
    uint32_t max_batch, max_context;
    bool whole_prompts;
};

VKF_MUST_CHECK vkf_status vkf__generator_run(vkf_generator *generator, const vkf_generator_args *args);

#endif
