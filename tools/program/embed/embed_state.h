// What the parts of `vkformer embed` share.
#ifndef VKF_PROGRAM_EMBED_STATE_H
#define VKF_PROGRAM_EMBED_STATE_H

#include "command/options.h"
#include "input/text_items.h"

typedef enum vkf_embed_format {
    VKF_EMBED_JSONL = 0, // an object per text
    VKF_EMBED_JSON,      // one array of objects
    VKF_EMBED_NPY,       // NumPy's: (texts, dim) float32
} vkf_embed_format;

typedef struct vkf_embed_options {
    vkf_common_options common;
    const char *model_directory;
    char *const *arguments; // texts, or paths with `files`; none: lines of the standard input
    uint32_t argument_count;
    bool files;
    uint32_t batch;                   // 0: not given
    uint32_t max_tokens;              // 0: not given
    uint32_t chunk, overlap;          // tokens of a part, and what it has in common with the one before; 0: no parts
    uint32_t truncate_dim;            // 0: not given
    const char *prompt, *prompt_name; // NULL: not given
    vkf_model_precision precision;
    vkf_quantization quantization;
    const char *adapter; // NULL: none
    vkf_embed_format format;
    const char *out_path; // NULL: the standard output
    bool compare;
    const char *index_path; // NULL: no search
    uint32_t top;
} vkf_embed_options;

// A text or a part of one, and then its embedding.
typedef struct vkf_embed_part {
    uint32_t text;     // which one
    size_t begin, end; // in bytes of the text
    uint32_t token_count;
} vkf_embed_part;

typedef struct vkf_embed_state {
    const vkf_embed_options *options;
    vkf_text_items texts;
    vkf_embed_part *parts; // (count)
    uint32_t count, capacity;
    uint32_t dim;
    float *embeddings; // (count, dim)
    vkf_similarity similarity;
} vkf_embed_state;

// Makes the parts: each text as a whole, or what --chunk divides it into. False: the reason has been printed.
bool vkf_embed_divide(vkf_embed_state *state, const vkf_embedder *embedder);

// The part's text, and what it is called: its file, or nothing.
vkf_text vkf_embed_text_of(const vkf_embed_state *state, uint32_t part);
const char *vkf_embed_file_of(const vkf_embed_state *state, uint32_t part);

// Writes all embeddings in the chosen format, to the standard output or to the file, which is then complete or as
// before. False: the reason has been printed.
bool vkf_embed_write(const vkf_embed_state *state);
// Prints the similarities between all texts as a table, with the model's own measure.
bool vkf_embed_print_similarities(const vkf_embed_state *state);
// Prints, for each text, the `top` nearest entries of the index, which is a JSONL file that vkf_embed_write() wrote.
bool vkf_embed_search(const vkf_embed_state *state);

// How similar two embeddings are; larger is more similar. A cosine is NaN when a vector has no direction, and is then
// printed as "undefined".
double vkf_embed_similarity(vkf_similarity similarity, const float *a, const float *b, uint32_t dim);

#endif
