// A whole tokenizer file: its parts, and how a text passes through them.
#ifndef VKF_TEXT_TOKENIZER_H
#define VKF_TEXT_TOKENIZER_H

#include <vkformer/tokenizer.h>

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

#define VKF_TOKENIZER_MAX_BYTES ((size_t)128 << 20) // of a file

typedef struct vkf__truncation {
    vkf_truncation strategy; // LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND; NONE: no truncation
    uint32_t max_length;
    bool left;
    uint32_t window, stride;
} vkf__truncation;

typedef struct vkf__tokenizer {
    const vkf__host *host;
    vkf__normalizer normalizer;
    vkf__pre_tokenizer pre_tokenizer;
    vkf__token_model model;
    vkf__added_tokens added;
    vkf__post_processor post_processor;
    vkf__decoder decoder;
    vkf__truncation truncation;
    vkf_tokenizer_info info;
} vkf__tokenizer;

// The object of the public interface. It keeps a copy of the host, to which the parts point.
struct vkf_tokenizer {
    vkf__host host;
    vkf__tokenizer parts;
    bool cleans_up; // blanks before punctuation are taken out of decoded texts
};

// Ownership: vkf_tokenizer_destroy(). Statuses: as vkf__tokenizer_load().
VKF_MUST_CHECK vkf_status vkf__tokenizer_make(const vkf__host *host, const char *path, vkf_tokenizer **out_tokenizer);

// Loads a tokenizer.json, or a directory with one, with Marian's files, or with files that have to be converted. In the
// other functions `path` only serves the messages. Ownership: freed with vkf__tokenizer_free(); on failure there is
// nothing to free. Statuses: FILE, FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__tokenizer_load(const vkf__host *host, const char *path, vkf__tokenizer *out_tokenizer);
VKF_MUST_CHECK vkf_status vkf__tokenizer_parse(const vkf__host *host, const char *path, const char *json,
                                               size_t json_bytes, vkf__tokenizer *out_tokenizer);
// `root` is the content of such a file.
VKF_MUST_CHECK vkf_status vkf__tokenizer_from_json(const vkf__host *host, const char *path, const json_t *root,
                                                   vkf__tokenizer *out_tokenizer);
void vkf__tokenizer_free(vkf__tokenizer *tokenizer);

// As the public functions; `options` is never NULL.
VKF_MUST_CHECK vkf_status vkf__tokenizer_encode(const vkf__tokenizer *tokenizer, const char *text, size_t text_bytes,
                                                const char *pair, size_t pair_bytes, const vkf_encode_options *options,
                                                vkf_encoding *out_encoding);
VKF_MUST_CHECK vkf_status vkf__tokenizer_decode(const vkf__tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                                                bool skip_special_tokens, size_t *inout_bytes, char *out_text);
int32_t vkf__tokenizer_token_to_id(const vkf__tokenizer *tokenizer, const char *token);
const char *vkf__tokenizer_id_to_token(const vkf__tokenizer *tokenizer, int32_t id);
uint32_t vkf__tokenizer_vocab_size(const vkf__tokenizer *tokenizer);

#endif
