// The sections of a profile's HTML report, and what they share. Pictures are inline SVG whose horizontal positions are
// percentages and whose texts are not scaled, so that they can be read at any width of the page. What is fixed of them is in
// templates/.
#ifndef VKF_PROGRAM_PROFILE_PAGE_H
#define VKF_PROGRAM_PROFILE_PAGE_H

#include <stdio.h>

#include "profile/profile_group.h"

// Operations that have a number, the dearest ones; and those of them that have a colour of their own.
#define VKF_PAGE_NUMBERED 8u
#define VKF_PAGE_COLOURED 6u

typedef struct vkf_profile_page {
    FILE *out;
    const json_t *document;
    vkf_profile_groups ops, layers; // dearest first
    size_t *op_of_dispatch;         // index into ops.list for each of the document's dispatches
    bool timestamps;                // the device has them; without, all of its times are 0
    bool has_roofs;
    vkf_roofs roofs;
    double wall_ns, gpu_ns; // of a run: the median, and the sum of the submissions' medians
} vkf_profile_page;

// A number of the document; negative: it is unknown, or there is none.
double vkf_page_number(const json_t *object, const char *key);
double vkf_page_median(const json_t *object, const char *key);
const char *vkf_page_string(const json_t *object, const char *key); // "" for none

// Text of the document is always written by this, or by the two below.
void vkf_page_text(const vkf_profile_page *page, const char *text);
void vkf_page_subject(const void *page); // its name
// "step linear1", and "step.0", which are told apart from each other by nothing else in their lists.
void vkf_page_op(const vkf_profile_page *page, const vkf_profile_group *group);
void vkf_page_layer(const vkf_profile_page *page, const vkf_profile_group *group);

// The class that gives the operation of a rank its colour, in profile.css.
const char *vkf_page_colour(size_t rank);

// The share of the roofs that is reached; negative without roofs or time, and then *out_bound is "".
double vkf_page_roof(const vkf_profile_page *page, const vkf_profile_group *group, const char **out_bound);

// Parts of profile_page.html; `page` is a vkf_profile_page.
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
void vkf_page_counters(const void *page); // nothing where nothing was counted

#endif
