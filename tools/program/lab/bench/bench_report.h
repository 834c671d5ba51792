// What benchmarks print: a line for each result, in one of several formats.
#ifndef VKF_PROGRAM_BENCH_REPORT_H
#define VKF_PROGRAM_BENCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include <vkformer/vkformer.h>

#include "command/precision.h"
#include "measure/measured_roofs.h"
#include "measure/sample_stats.h"
#include "output/rows.h"

typedef vkf_precision_types vkf_bench_types;

// One result. A negative number is unknown.
typedef struct vkf_bench_row {
    const char *op;
    const json_t *shape; // an object of numbers, booleans and strings, in order
    vkf_bench_types types;
    const char *variant;
    bool gpu_timed;
    vkf_settled settled;
    vkf_summary gpu_ms;
    vkf_summary wall_ms;
    double gflops;
    double gbytes_per_s;
    double roof;       // fraction
    const char *bound; // "compute", "memory", or NULL
    double host_us;    // with tokens: time of the host, per step
    double tokens_per_s;
    uint64_t device_bytes; // the peak of all live buffers
    json_t *details;       // array of dispatches, or NULL
} vkf_bench_row;

typedef struct vkf_bench_report {
    vkf_rows rows;
    vkf_device_info device;
    char driver[520];
    const vkf_measured_roofs *roofs; // NULL: not measured
    bool wall_only;                  // a result without gpu times was printed
    bool unsettled;                  // a result, or a roof, with a clock that had not settled was printed
} vkf_bench_report;

// `roofs` (may be NULL) must outlive the report. Nothing is printed before the first row.
vkf_bench_report vkf_bench_report_begin(vkf_context *context, vkf_rows_format format, bool tokens,
                                        const vkf_measured_roofs *roofs);
// False, after a message, when the row cannot be written.
bool vkf_bench_report_row(vkf_bench_report *report, const vkf_bench_row *row);
bool vkf_bench_report_end(vkf_bench_report *report);

// The shape as people read it: "512x768x64", "encoder 1x128x768", "1x8x512x64 causal".
void vkf_bench_shape_text(const json_t *shape, char *out_text, size_t size_bytes);
// The types: "f32", "f32/f16".
void vkf_bench_types_text(const char *activations, const char *weights, char *out_text, size_t size_bytes);

#endif
