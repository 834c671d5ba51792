// The dispatches of a run, alike ones of several layers put together, with what each costs.
#ifndef VKF_PROGRAM_PLAN_ROWS_H
#define VKF_PROGRAM_PLAN_ROWS_H

#include <vkformer/vkformer.h>

#include "plan/plan_chip.h"

#define VKF_PLAN_LABEL_MAX 64

// Dispatches with the same label, kernel, problem and workgroups.
typedef struct vkf_plan_row {
    char label[VKF_PLAN_LABEL_MAX];
    vkf_planned_dispatch dispatch; // the first of them; its run, part and label are no longer valid
    uint32_t count, barriers;
    double workgroups;  // of each
    vkf_plan_cost cost; // of one; zeros without speeds
    double total_s;     // of all
} vkf_plan_row;

typedef struct vkf_plan_run {
    const char *what; // "prompt", "token" or "text"
    vkf_plan_row *rows;
    size_t row_count, row_capacity;
    uint32_t dispatches, barriers;
    double flops, bytes;
    double total_s, roof_s; // 0 without speeds
    bool failed;            // memory was exhausted
    const vkf_plan_chip *chip;
    const char *group; // "decoder": which dispatches belong to the run
} vkf_plan_run;

// A vkf_planned_dispatch_fn with a vkf_plan_run as `user`; dispatches of other groups are passed over.
void vkf_plan_run_take(void *user, const vkf_planned_dispatch *dispatch);
// Ends a run: adds what comes once.
void vkf_plan_run_finish(vkf_plan_run *run);
void vkf_plan_run_free(vkf_plan_run *run);

#endif
