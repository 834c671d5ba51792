// Shapes of problems as the command line writes them, lists of them, and files of lists: MxNxK for a product,
// attention:HxLxD or attention:HxLxSxD for H heads of width D, L queries and S keys.
#ifndef VKF_PROGRAM_SHAPE_LIST_H
#define VKF_PROGRAM_SHAPE_LIST_H

#include <vkformer/vkformer.h>

typedef struct vkf_shape_list {
    vkf_tune_problem *items;
    uint32_t count;
    uint32_t capacity;
} vkf_shape_list;

void vkf_shape_list_free(vkf_shape_list *list);

// False when memory is exhausted (message printed). A problem that is in the list already is left out.
bool vkf_shape_list_add(vkf_shape_list *list, const vkf_tune_problem *problem);

// "128x768x768,attention:8x512x64", or the path of a file with shapes on lines of their own or between commas, '#' beginning a
// comment. Types are those of `types`. False when a shape is none or the file cannot be read (message printed).
bool vkf_shape_list_parse(const char *option, const char *text, const vkf_tune_problem *types, vkf_shape_list *list);

// How a problem is written. `out_text` holds 64 bytes.
void vkf_shape_text(const vkf_tune_problem *problem, char out_text[64]);

// "f32,f16,f32": of x, the weight and the result.
bool vkf_parse_types(const char *option, const char *text, vkf_tune_problem *inout_problem);

#endif
