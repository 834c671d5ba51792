// What the library's profiler reported about some runs: a row for each dispatch that a run repeats, and the last run in
// detail.
#ifndef VKF_PROGRAM_PROFILE_RECORD_H
#define VKF_PROGRAM_PROFILE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vkformer/vkformer.h>

#define VKF_PROFILE_MAX_RUNS 1000u

// A dispatch, which a run may make several times. Sums cover a whole run; there is one for each run.
typedef struct vkf_profile_row {
    char *submission, *part, *label, *kernel, *config;
    // In the last run.
    uint32_t calls;
    uint32_t workgroups[3]; // of the last call
    double flops, bytes_read, bytes_written;
    double *gpu_ns;   // (runs)
    double *counters; // (counter_count), sums over the calls of the last run
    uint32_t counted; // how many of these calls were counted
} vkf_profile_row;

// The host's times for all submissions of one name.
typedef struct vkf_profile_phase {
    char *name;
    uint32_t calls;                                   // in the last run
    double *update_ns, *submit_ns, *wait_ns, *gpu_ns; // (runs)
} vkf_profile_phase;

// A submission of the last run, with the range of its events.
typedef struct vkf_profile_submission {
    uint32_t phase;
    double begin_ns, update_ns, submit_ns, wait_ns, gpu_ns;
    double gpu_begin_ns, gpu_deviation_ns; // both 0: unknown
    size_t first_event, event_count;
} vkf_profile_submission;

// A dispatch of the last run.
typedef struct vkf_profile_event {
    uint32_t row;
    double begin_ns, gpu_ns; // on the device, from the beginning of the submission's first dispatch
    double flops, bytes_read, bytes_written;
} vkf_profile_event;

typedef struct vkf_profile_record {
    uint32_t runs; // how many to record
    uint32_t counter_count;
    uint32_t run;      // the current one
    double run_gpu_ns; // of the submissions of this run or warm-up
    bool recording;
    bool exhausted; // memory was exhausted, so the record is incomplete
    vkf_profile_row *rows;
    size_t row_count, row_capacity;
    vkf_profile_phase *phases;
    size_t phase_count, phase_capacity;
    vkf_profile_submission *submissions;
    size_t submission_count, submission_capacity;
    vkf_profile_event *events;
    size_t event_count, event_capacity;
    double *wall_ns; // (runs)
    size_t next_row; // where to look for the next dispatch first
    double started_ns;
} vkf_profile_record;

// False when memory is exhausted (no message). vkf_profile_record_free() must follow in either case.
bool vkf_profile_record_init(vkf_profile_record *record, uint32_t runs);
void vkf_profile_record_free(vkf_profile_record *record);

// The callbacks, with the record as `user`. Outside of runs they do nothing.
vkf_profiler vkf_profile_record_profiler(vkf_profile_record *record);

// Enclose each run; `keep` is false for a warm-up.
void vkf_profile_record_begin(vkf_profile_record *record, bool keep);
void vkf_profile_record_end(vkf_profile_record *record);

#endif
