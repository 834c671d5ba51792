// The dispatches of a profile, summed up by what they have in common.
#ifndef VKF_PROGRAM_PROFILE_GROUP_H
#define VKF_PROGRAM_PROFILE_GROUP_H

#include <jansson.h>

#include "lab/profile/profile_document.h"

typedef enum vkf_profile_by {
    VKF_PROFILE_BY_OP = 0,   // submission, label and kernel, over all layers
    VKF_PROFILE_BY_LAYER,    // submission and part
    VKF_PROFILE_BY_DISPATCH, // submission, part, label and kernel
    VKF_PROFILE_BY_PLACE,    // submission, part and label, whatever the kernel
} vkf_profile_by;

// A group's strings belong to the document; a string is "" where the group has several.
typedef struct vkf_profile_group {
    const char *submission, *part, *label, *kernel, *config;
    uint64_t calls;
    double flops, bytes_read, bytes_written;
    double *run_ns; // (runs of the groups): GPU time of each
    double median_ns, iqr_ns;
} vkf_profile_group;

typedef struct vkf_profile_groups {
    vkf_profile_group *list;
    double *run_ns; // (count, runs)
    size_t count;
    uint32_t runs;
    double total_ns; // of the medians
} vkf_profile_groups;

// Makes the groups of a document that was made here or read. False when memory is exhausted (message printed).
bool vkf_profile_groups_make(const json_t *document, vkf_profile_by by, vkf_profile_groups *out_groups);
void vkf_profile_groups_free(vkf_profile_groups *groups);

// Whether a dispatch of the document is in the group.
bool vkf_profile_group_has(const vkf_profile_group *group, const json_t *row, vkf_profile_by by);

// Sorts by time, the longest first.
void vkf_profile_groups_sort(vkf_profile_groups *groups);

#endif
