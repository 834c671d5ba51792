// Attention weights as a picture: a panel per layer and head, in SVG or in a web page around it.
#ifndef VKF_PROGRAM_ATTENTION_PICTURE_H
#define VKF_PROGRAM_ATTENTION_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vkf_attention_picture {
    const char *model;       // for the title
    const char *source_text; // UTF-8, as all texts here
    const char *output_text;
    const char *const *key_tokens;   // (key_count)
    const char *const *query_tokens; // (query_count)
    uint32_t key_count;              // columns that are drawn
    uint32_t key_stride;             // columns in `weights`, padding included; >= key_count
    uint32_t query_count;
    uint32_t num_layers;
    uint32_t num_heads;
    const float *weights; // (num_layers, num_heads, query_count, key_stride), each from 0 to 1
} vkf_attention_picture;

// Whether the path ends in .svg or .html, and so can be written.
bool vkf_attention_picture_path_valid(const char *path);

// Writes the file; an existing one is replaced only by a whole one. False: the reason has been printed.
bool vkf_attention_picture_write(const vkf_attention_picture *picture, const char *path);

#endif
