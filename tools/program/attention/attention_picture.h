// Attention weights as a picture: a panel per layer and head, in a web page of its own or in SVG.
#ifndef VKF_PROGRAM_ATTENTION_PICTURE_H
#define VKF_PROGRAM_ATTENTION_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

// All panels of one kind of attention.
typedef struct vkf_attention_section {
    const char *name;                // "cross": ids in the document begin with it
    const char *title;               // "Cross attention"
    const char *about;               // what rows and columns are
    const char *const *query_tokens; // (queries), UTF-8, as all texts here
    const char *const *key_tokens;   // (keys)
    uint32_t queries, keys;
    uint32_t layer_count, head_count;
    const uint32_t *layers, *heads; // the numbers of those that are drawn
    bool mean;                      // a panel for the mean over all heads of a layer comes first
    const float *weights;           // (layer_count, mean + head_count, queries, keys), each from 0 to 1
} vkf_attention_section;

typedef struct vkf_attention_picture {
    const char *model; // for the title
    const char *text;
    const char *output; // NULL: there is none
    const vkf_attention_section *sections;
    uint32_t section_count;
} vkf_attention_picture;

// Cells that a file may have: with more it would be larger than some 10 MB, and hard to look at.
#define VKF_ATTENTION_MAX_CELLS 4194304u

// Whether the path ends in .svg or .html, and so can be written; and whether it is the latter.
bool vkf_attention_picture_path_valid(const char *path);
bool vkf_attention_picture_is_page(const char *path);

// Writes the file; an existing one is replaced only by a whole one. False: the reason has been printed.
bool vkf_attention_picture_write(const vkf_attention_picture *picture, const char *path);

#endif
