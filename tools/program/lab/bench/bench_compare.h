// What is printed about an edit: a line for each case, or an object of JSON.
#ifndef VKF_PROGRAM_BENCH_COMPARE_H
#define VKF_PROGRAM_BENCH_COMPARE_H

#include "lab/bench/bench_pair.h"

typedef struct vkf_bench_save {
    uint32_t number;     // from 1
    const json_t *files; // array of paths
} vkf_bench_save;

// Prints what introduces the lines about a save. Nothing in JSON, whose objects contain it.
void vkf_bench_compare_begin(const vkf_bench_report *report, const vkf_bench_save *save);

// `message` (may be NULL) says why the case failed. False after a message.
bool vkf_bench_compare_print(const vkf_bench_report *report, const vkf_bench_save *save, const vkf_bench_pair *pair,
                             const char *message);

#endif
