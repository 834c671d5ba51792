// The log of a training run: a JSON object in each line, one for each step, one for each that was skipped, and one for
// each look at the held-out examples. Each line reaches the file at once, so that a run that is killed leaves all it
// has said.
//
//   {"type":"step","step":12,"epoch":0,"loss":5.1,"tokens":4096,"grad_norm":1.2,"lr":0.0001,"tokens_per_second":9000,
//    "seconds":5.4}
//   {"type":"eval","step":12,"loss":5.0,"accuracy":0.31,"tokens":8000,"seconds":6.1}
//   {"type":"skipped", ...}: as of a step, which it is an attempt at
#ifndef VKF_PROGRAM_TRAIN_LOG_H
#define VKF_PROGRAM_TRAIN_LOG_H

#include <stdio.h>

#include "base/host.h"

typedef enum vkf_train_log_type {
    VKF_TRAIN_LOG_STEP = 0,
    VKF_TRAIN_LOG_EVAL,
    VKF_TRAIN_LOG_SKIPPED,
    VKF_TRAIN_LOG_TYPE_COUNT,
} vkf_train_log_type;

// A number that is not finite is unknown: it is null in the file, and NaN when it is read.
typedef struct vkf_train_log_line {
    vkf_train_log_type type;
    uint64_t step;            // from 1; of an EVAL, the one before it
    double loss;              // mean of the tokens that are learned, or looked at
    uint64_t tokens;          // that loss is the mean of
    double seconds;           // from the beginning of the run, over all its parts
    uint64_t epoch;           // of STEP and SKIPPED, from 0
    double grad_norm;         // of STEP and SKIPPED, before it is clipped
    double lr;                // of STEP and SKIPPED
    double tokens_per_second; // of STEP and SKIPPED
    double accuracy;          // of EVAL: the share of tokens, or classes, that are found
} vkf_train_log_line;

typedef struct vkf_train_log {
    const vkf__host *host;
    FILE *stream;
    char *path;
} vkf_train_log;

// Opens the log of a run that is resumed after `resumed_step`, and drops the lines of later steps, which will come
// again, and broken lines, after a warning; 0 begins a new log. Statuses: FILE, FORMAT (as vkf_line_file_read()),
// OUT_OF_HOST_MEMORY. The host must outlive the log.
VKF_MUST_CHECK vkf_status vkf_train_log_open(const vkf__host *host, const char *path, uint64_t resumed_step,
                                             vkf_train_log *out_log);
// Status FILE.
VKF_MUST_CHECK vkf_status vkf_train_log_write(vkf_train_log *log, const vkf_train_log_line *line);
// Accepts {0}.
void vkf_train_log_close(vkf_train_log *log);

// Reads a whole log, but for broken lines, of which a warning tells; the last line may be cut, as a killed run leaves
// it. The caller releases *out_lines (out_count) with vkf__free(). Statuses: FILE, FORMAT (as vkf_line_file_read()),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_train_log_read(const vkf__host *host, const char *path, vkf_train_log_line **out_lines,
                                             size_t *out_count);

#endif
