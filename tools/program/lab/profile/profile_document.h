// A profile as one JSON document, from which every form of output is made. docs/profiling.md describes it.
#ifndef VKF_PROGRAM_PROFILE_DOCUMENT_H
#define VKF_PROGRAM_PROFILE_DOCUMENT_H

#include <jansson.h>

#include "lab/bench/bench_roof.h"
#include "lab/profile/profile_record.h"
#include "measure/settle.h"

#define VKF_PROFILE_SCHEMA "vkformer-profile"
#define VKF_PROFILE_SCHEMA_VERSION 1

typedef struct vkf_profile_facts {
    vkf_device_info device;
    json_t *subject;               // an object; the document takes ownership
    const vkf_memory_plan *memory; // NULL: unknown
    const vkf_roofs *roofs;        // NULL: not measured
    vkf_settled roofs_settled;
    const vkf_counter *counters; // (counter_count)
    uint32_t counter_count;
    uint32_t warmup;
    vkf_settled settled;
    double untimed_wall_ns; // median wall time of a run without profiler and timestamps; negative: not measured
} vkf_profile_facts;

// A new document; NULL when memory is exhausted (no message).
json_t *vkf_profile_document(const vkf_profile_record *record, const vkf_profile_facts *facts);

// The share of the roofs that work of this duration reaches. *out_bound is "compute", "memory", or "latency" where it
// reaches a tenth of neither roof.
double vkf_profile_roof(const vkf_roofs *roofs, const vkf_bench_cost *cost, double gpu_ns, const char **out_bound);

// Reads a saved document. NULL after a message that names file and key.
json_t *vkf_profile_document_read(const char *path);

#endif
