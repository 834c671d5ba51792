// The course of a training run as a self-contained web page: pictures are inline SVG, and there are no scripts and no
// network. What is written is in templates/; the code here only computes what stands in them by name.
#ifndef VKF_PROGRAM_TRAIN_PAGE_H
#define VKF_PROGRAM_TRAIN_PAGE_H

#include <stdio.h>

#include "train/train_log.h"

// Something that is known of the run, such as its device.
typedef struct vkf_train_fact {
    const char *name, *value;
} vkf_train_fact;

typedef struct vkf_train_page {
    const char *model;
    const vkf_train_fact *facts; // (fact_count)
    size_t fact_count;
    const vkf_train_log_line *lines; // (line_count), in the log's order
    size_t line_count;
} vkf_train_page;

// Errors of writing are the stream's.
void vkf_train_page_write(FILE *out, const vkf_train_page *page);

#endif
