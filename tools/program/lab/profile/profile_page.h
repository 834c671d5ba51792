// The sections of a profile's HTML report, and what they share. Pictures are inline SVG whose horizontal positions are
// percentages and whose texts are not scaled, so that they are readable at any width of the page. What is written is in
// templates/; the code here only computes what stands in them by name.
#ifndef VKF_PROGRAM_PROFILE_PAGE_H
#define VKF_PROGRAM_PROFILE_PAGE_H

#include <stdio.h>

#include "lab/profile/profile_group.h"
#include "output/template.h"

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

// The class in profile.css that gives the operation of a rank its colour.
const char *vkf_page_colour(size_t rank);

// The share of the roofs that a group reaches; negative without roofs or time, and then *out_bound is "".
double vkf_page_roof(const vkf_profile_page *page, const vkf_profile_group *group, const char **out_bound);

// The share in percent that a time has of the device's.
double vkf_page_share(const vkf_profile_page *page, double ns);

// Writes the body for each of the operations, `max` at most: class, number, submission, label.
void vkf_page_write_ops(const vkf_template_body *body, const vkf_profile_page *page, size_t max);

// These write the parts of profile_page.html; `page` is a vkf_profile_page.
void vkf_page_facts(const vkf_template_body *body, const void *page);
void vkf_page_totals(const vkf_template_body *body, const void *page);
void vkf_page_stacks(const vkf_template_body *body, const void *page);
void vkf_page_submissions(const vkf_template_body *body, const void *page);
void vkf_page_roofline(const vkf_template_body *body, const void *page);
void vkf_page_op_bars(const void *page);
void vkf_page_layer_bars(const void *page);
void vkf_page_timeline(const vkf_template_body *body, const void *page);
void vkf_page_memory(const vkf_template_body *body, const void *page);
void vkf_page_kernels(const vkf_template_body *body, const void *page);
void vkf_page_kernel_sums(const vkf_template_body *body, const void *page);
void vkf_page_counters(const vkf_template_body *body, const void *page);
void vkf_page_counted_ops(const vkf_template_body *body, const void *page);

#endif
