// The sections of a profile's HTML report, and what they share. Pictures are inline SVG whose horizontal positions are
// percentages and whose texts are not scaled, so that they are readable at any width of the page. Their constant parts
// are in templates/.
#ifndef VKF_PROGRAM_PROFILE_PAGE_H
#define VKF_PROGRAM_PROFILE_PAGE_H

#include <stdio.h>

#include "profile/profile_group.h"

// How many operations have a number, and how many of these have a colour of their own; the longest come first.
#define VKF_PAGE_NUMBERED 8u
#define VKF_PAGE_COLOURED 6u

typedef struct vkf_profile_page {
    FILE *out;
    const json_t *document;
    vkf_profile_groups ops, layers; // the longest first
    size_t *op_of_dispatch;         // index into ops.list for each of the document's dispatches
    bool timestamps;                // the device has timestamps; without them all its times are 0
    bool has_roofs;
    vkf_roofs roofs;
    double wall_ns, gpu_ns; // of a run: the median, and the sum of the submissions' medians
} vkf_profile_page;

// Reads a number of the document; negative: unknown or missing.
double vkf_page_number(const json_t *object, const char *key);
double vkf_page_median(const json_t *object, const char *key);
const char *vkf_page_string(const json_t *object, const char *key); // "" for none

// Text from the document is always written, and so escaped, by this function or the three below.
void vkf_page_text(const vkf_profile_page *page, const char *text);
void vkf_page_subject(const void *page); // the name of what was run
// Write "step linear1" and "step.0": just enough to tell the entries of their lists apart.
void vkf_page_op(const vkf_profile_page *page, const vkf_profile_group *group);
void vkf_page_layer(const vkf_profile_page *page, const vkf_profile_group *group);

// The class in profile.css that gives the operation of a rank its colour.
const char *vkf_page_colour(size_t rank);

// The share of the roofs that a group reaches; negative without roofs or time, and then *out_bound is "".
double vkf_page_roof(const vkf_profile_page *page, const vkf_profile_group *group, const char **out_bound);

// These write the parts of profile_page.html; `page` is a vkf_profile_page.
void vkf_page_facts(const void *page);
void vkf_page_totals(const void *page);
void vkf_page_stacks(const void *page);
void vkf_page_submissions(const void *page);
void vkf_page_roofline(const void *page);
void vkf_page_op_bars(const void *page);
void vkf_page_layer_bars(const void *page);
void vkf_page_timeline(const void *page);
void vkf_page_memory(const void *page);
void vkf_page_kernels(const void *page);
void vkf_page_kernel_sums(const void *page);
void vkf_page_counters(const void *page); // writes nothing where nothing was counted

#endif
