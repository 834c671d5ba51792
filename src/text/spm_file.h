// SentencePiece's model files (.spm, .model), a protocol buffer: the pieces with their scores, and how text is
// normalised.
#ifndef VKF_TEXT_SPM_FILE_H
#define VKF_TEXT_SPM_FILE_H

#include "base/host.h"

typedef enum vkf__spm_type {
    VKF_SPM_NORMAL = 1,
    VKF_SPM_UNKNOWN,
    VKF_SPM_CONTROL,
    VKF_SPM_USER_DEFINED,
    VKF_SPM_UNUSED,
    VKF_SPM_BYTE,
    VKF_SPM_TYPE_END
} vkf__spm_type;

enum { VKF_SPM_UNIGRAM = 1, VKF_SPM_BPE = 2 }; // kinds of models

// A view of bytes in what was read.
typedef struct vkf__spm_text {
    const char *bytes;
    size_t count;
} vkf__spm_text;

typedef struct vkf__spm_piece {
    vkf__spm_text text; // not empty, but any bytes
    float score;        // finite
    uint32_t type;      // vkf__spm_type
} vkf__spm_piece;

typedef struct vkf__spm_file {
    const vkf__host *host;
    vkf__spm_piece *pieces;
    size_t count;
    size_t capacity;
    int32_t unk_id;            // the one piece of type UNKNOWN
    uint32_t model_type;       // VKF_SPM_UNIGRAM, VKF_SPM_BPE or another
    vkf__spm_text unk_surface; // what decoding writes for the unknown piece
    vkf__spm_text charsmap;    // empty: characters stay as they are
    vkf__spm_text denormalizer;
    bool byte_fallback;
    bool whitespace_as_suffix;
    bool add_dummy_prefix;
    bool remove_extra_whitespaces;
    bool escape_whitespaces;
} vkf__spm_file;

// `bytes` must outlive the result; `path` serves the messages. Ownership: freed with vkf__spm_file_free(); on failure
// there is nothing to free. Statuses: FORMAT and UNSUPPORTED (with file and reason), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__spm_file_parse(const vkf__host *host, const char *path, vkf__spm_text bytes,
                                              vkf__spm_file *out_file);
// UNSUPPORTED unless the model is of the given kind.
VKF_MUST_CHECK vkf_status vkf__spm_file_check_type(const vkf__spm_file *file, const char *path, uint32_t model_type);
void vkf__spm_file_free(vkf__spm_file *file);

#endif
