// What `vkformer run --timing` prints.
#ifndef VKF_PROGRAM_RUN_TIMING_H
#define VKF_PROGRAM_RUN_TIMING_H

#include <vkformer/vkformer.h>

typedef struct vkf_run_timing {
    double context_ms;
    double model_ms;
    double session_ms;
    double first_run_ms;
    double steady_run_ms; // median over repetitions of the first batch
    uint32_t steady_runs; // 0: nothing was run
    uint32_t batch;       // lines of the first batch
    uint32_t tokens;      // generated in one run of it
} vkf_run_timing;

// Prints the table of wall times on stderr.
void vkf_run_timing_print(const vkf_run_timing *timing);

// Prints, under a heading, the GPU times of the parts of the session's last submission. False when memory is exhausted
// or the device fails (message printed).
bool vkf_run_timing_print_gpu(const char *heading, vkf_session *session);

#endif
