// The post-processor of a tokenizer file: where special tokens go around one or two sequences, which type each part
// has, and whether offsets leave out the blanks of byte-level tokens.
#ifndef VKF_TEXT_POST_PROCESSOR_H
#define VKF_TEXT_POST_PROCESSOR_H

#include "text/json_section.h"

typedef enum vkf__part_kind { VKF_PART_FIRST = 0, VKF_PART_SECOND = 1, VKF_PART_SPECIAL = 2 } vkf__part_kind;

// One part of a template: a sequence, or one special token.
typedef struct vkf__template_part {
    vkf__part_kind kind;
    int32_t id; // of a special token
    int32_t type_id;
} vkf__template_part;

typedef struct vkf__template {
    vkf__template_part *parts;
    size_t count;
    size_t capacity;
    size_t special_count;
} vkf__template;

typedef struct vkf__post_processor {
    const vkf__host *host;
    vkf__template single;
    vkf__template pair;
    bool has_template; // the file says where special tokens go
    unsigned trims;    // how often offsets are trimmed, usually once
    bool add_prefix_space;
} vkf__post_processor;

// Loads the file's section "post_processor"; if there is none (NULL), one sequence follows the other. The object may be
// half-filled on failure: free it in either case. Statuses: FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__post_processor_load(const vkf__host *host, const vkf__json_section *section,
                                                   vkf__post_processor *out_processor);
void vkf__post_processor_free(vkf__post_processor *processor);

// The highest id of the special tokens that it adds; -1 when there are none.
int32_t vkf__post_processor_highest_id(const vkf__post_processor *processor);

#endif
