// What the parts of `vkformer embed` share.
#ifndef VKF_PROGRAM_EMBED_STATE_H
#define VKF_PROGRAM_EMBED_STATE_H

#include "command/options.h"

typedef enum vkf_embed_format {
    VKF_EMBED_JSONL = 0, // an object per text
    VKF_EMBED_JSON,      // one array of them
    VKF_EMBED_NPY,       // NumPy's: (texts, dim) float32
} vkf_embed_format;

typedef struct vkf_embed_options {
    vkf_common_options common;
    const char *model_directory;
    char *const *arguments; // texts, or paths with `files`; none: the lines of the standard input
    uint32_t argument_count;
    bool files;
    uint32_t batch;                   // 0: not given
    uint32_t max_tokens;              // 0: not given
    uint32_t truncate_dim;            // 0: not given
    const char *prompt, *prompt_name; // NULL: not given
    vkf_model_precision precision;
    vkf_quantization quantization;
    vkf_embed_format format;
    const char *out_path; // NULL: the standard output
    bool compare;
    const char *index_path; // NULL: no search
    uint32_t top;
} vkf_embed_options;

// What is embedded, and then its embedding.
typedef struct vkf_embed_item {
    char *text;
    size_t size_bytes;
    const char *file; // NULL: the text came from elsewhere
    uint32_t token_count;
} vkf_embed_item;

typedef struct vkf_embed_state {
    const vkf_embed_options *options;
    vkf_embed_item *items; // (count)
    uint32_t count, capacity;
    uint32_t dim;
    float *embeddings; // (count, dim)
    vkf_similarity similarity;
} vkf_embed_state;

// The texts that the options name. False: the reason has been printed. vkf_embed_free() in either case.
bool vkf_embed_collect(vkf_embed_state *state);
void vkf_embed_free(vkf_embed_state *state);

// All embeddings in the format asked for, into the file, which is whole or as before, or the standard output. False: the
// reason has been printed.
bool vkf_embed_write(const vkf_embed_state *state);
// A table of the similarities between all texts, as the model compares embeddings.
bool vkf_embed_print_similarities(const vkf_embed_state *state);
// For each text the `top` entries of the index, a file that vkf_embed_write() wrote as JSONL, that are nearest to it.
bool vkf_embed_search(const vkf_embed_state *state);

// How alike two embeddings are: the larger, the more. A cosine is NaN when a vector has no direction, which is printed as
// "undefined".
double vkf_embed_similarity(vkf_similarity similarity, const float *a, const float *b, uint32_t dim);

#endif
