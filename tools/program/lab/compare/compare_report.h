// What `vkformer compare` found, in every form of output.
#ifndef VKF_PROGRAM_COMPARE_REPORT_H
#define VKF_PROGRAM_COMPARE_REPORT_H

#include "lab/compare/compare_pairs.h"
#include "output/rows.h"

typedef struct vkf_compare_report {
    const char *tested_path, *reference_path;
    double atol, rtol;
    const vkf_tensor_pair *pairs; // judged, in the order in which to show them
    size_t count;
    size_t compared_count; // tensors that both files have
    size_t failed_count;
    const char *first_failed; // in the order of the files; NULL when none failed
} vkf_compare_report;

// Prints on stdout. False, with a message, when printing fails.
bool vkf_compare_print(const vkf_compare_report *report, vkf_rows_format format);

#endif
