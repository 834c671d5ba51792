// Plans a model on a described chip.
#ifndef VKF_PROGRAM_PLAN_MAKE_H
#define VKF_PROGRAM_PLAN_MAKE_H

#include "command/options.h"
#include "plan/plan_output.h"

typedef struct vkf_plan_request {
    const char *directory;
    const vkf_plan_chip *chip;
    vkf_model_precision precision;
    vkf_quantization quantization;
    uint32_t batch, prompt, context;
    uint32_t ranks; // processes with such a chip each, between which the layers are cut; 0: 1
    bool peer;      // beside ggml's Vulkan backend
} vkf_plan_request;

// The prompt runs in a session of its own, as long as itself. A token is the last one of the context. An encoder has
// one run, of texts as long as the prompt. Sizes beyond the model's are cut to it. False after a message; free the
// report in either case.
bool vkf_plan_make(const vkf_common_options *common, const vkf_plan_request *request, vkf_plan_report *out_report);
void vkf_plan_report_free(vkf_plan_report *report);

#endif
