// A plan beside what ggml's Vulkan backend would take for the same model on the same chip.
#ifndef VKF_PROGRAM_PLAN_BESIDE_H
#define VKF_PROGRAM_PLAN_BESIDE_H

#include "plan/plan_output.h"

// Whether there is such an estimate: of a decoder whose feed-forward is gated, with f16 weights or in blocks.
bool vkf_plan_peer_knows(const vkf_model_config *config, vkf_model_precision precision);

// Fills in report->peer_s of both runs, which have been planned for report->device.
void vkf_plan_beside_ggml(const vkf_model_config *config, vkf_quantization quantization, vkf_plan_report *report);

#endif
