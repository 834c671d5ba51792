// Shapes of problems on the command line, lists of them, and files of lists. MxNxK is a product; attention:HxLxD and
// attention:HxLxSxD have H heads of width D, L queries and S keys.
#ifndef VKF_PROGRAM_SHAPE_LIST_H
#define VKF_PROGRAM_SHAPE_LIST_H

#include <vkformer/vkformer.h>

typedef struct vkf_shape_list {
    vkf_tune_problem *items;
    uint32_t count;
    uint32_t capacity;
} vkf_shape_list;

void vkf_shape_list_free(vkf_shape_list *list);

// Adds a problem unless the list already has it. False when memory is exhausted (message printed).
bool vkf_shape_list_add(vkf_shape_list *list, const vkf_tune_problem *problem);

// `text` is "128x768x768,attention:8x512x64", or the path of a file with shapes on separate lines or between commas,
// where '#' begins a comment. Types are those of `types`. False when a shape is malformed or the file cannot be read
// (message printed).
bool vkf_shape_list_parse(const char *option, const char *text, const vkf_tune_problem *types, vkf_shape_list *list);

// Writes a problem as text. `out_text` holds 64 bytes.
void vkf_shape_text(const vkf_tune_problem *problem, char out_text[64]);

// Parses "f32,f16,f32": the types of x, the weight and the result.
bool vkf_parse_types(const char *option, const char *text, vkf_tune_problem *inout_problem);

#endif
