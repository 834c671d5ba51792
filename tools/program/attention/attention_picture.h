// Attention weights as a picture: a panel per layer and head, in a web page of its own or in SVG.
#ifndef VKF_PROGRAM_ATTENTION_PICTURE_H
#define VKF_PROGRAM_ATTENTION_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

// All panels of one kind of attention.
typedef struct vkf_attention_section {
    const char *name;                // "cross"; ids in the document begin with it
    const char *title;               // "Cross attention"
    const char *about;               // what rows and columns are
    const char *const *query_tokens; // (queries), UTF-8, like all texts here
    const char *const *key_tokens;   // (keys)
    uint32_t queries, keys;
    uint32_t layer_count, head_count;
    const uint32_t *layers, *heads; // the numbers of those drawn
    bool mean;                      // the first panel of a layer is the mean over all its heads
    const float *weights;           // (layer_count, mean + head_count, queries, keys), each from 0 to 1
} vkf_attention_section;

typedef struct vkf_attention_picture {
    const char *model; // for the title
    const char *text;
    const char *output; // NULL: none
    const vkf_attention_section *sections;
    uint32_t section_count;
} vkf_attention_picture;

// The most cells of a file. With more, it would be larger than about 10 MB, and hard to look at.
#define VKF_ATTENTION_MAX_CELLS 4194304u

// The first says whether the path ends in .svg or .html, so that the file can be written; the second, whether in .html.
bool vkf_attention_picture_path_valid(const char *path);
bool vkf_attention_picture_is_page(const char *path);

// Writes the file. An existing file is replaced only by a complete one. False: the reason has been printed.
bool vkf_attention_picture_write(const vkf_attention_picture *picture, const char *path);

#endif
