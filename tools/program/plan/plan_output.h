// Prints a plan as text, or as one JSON object.
#ifndef VKF_PROGRAM_PLAN_OUTPUT_H
#define VKF_PROGRAM_PLAN_OUTPUT_H

#include "plan/plan_rows.h"
#include "ranks/layer_cut.h"

#define VKF_PLAN_MAX_RUNS 2
#define VKF_PLAN_MAX_RANKS 64

typedef struct vkf_plan_report {
    const char *model; // its directory
    const vkf_plan_chip *chip;
    const char *precision, *quantization; // quantization NULL: none
    uint32_t batch, prompt, context;
    vkf_device_info device;
    vkf_memory_plan weights, session;
    vkf_plan_run runs[VKF_PLAN_MAX_RUNS];
    size_t run_count;
    vkf_cut_part ranks[VKF_PLAN_MAX_RANKS]; // of each process
    uint32_t rank_count;                    // 0: the model is not cut
    double peer_s[VKF_PLAN_MAX_RUNS];       // of the same runs by the peer that was asked for; 0: none was
} vkf_plan_report;

void vkf_plan_print_text(const vkf_plan_report *report);
bool vkf_plan_print_json(const vkf_plan_report *report);

// An assumption of the model itself.
typedef struct vkf_plan_constant {
    const char *name;
    double value;
    const char *meaning;
} vkf_plan_constant;

#define VKF_PLAN_CONSTANT_COUNT 8
extern const vkf_plan_constant vkf_plan_constants[VKF_PLAN_CONSTANT_COUNT];

// "64x4096x4096", or "" where no problem decides; "f16,f16,f32".
void vkf_plan_format_problem(const vkf_planned_dispatch *dispatch, char *out_text, size_t capacity);
void vkf_plan_format_types(const vkf_planned_dispatch *dispatch, char *out_text, size_t capacity);
const char *vkf_plan_limit_name(const vkf_plan_row *row);

#endif
