// Marian's tokenizers: a directory with source.spm, target.spm and vocab.json, as transformers' MarianTokenizer reads
// it.
#ifndef VKF_TEXT_MARIAN_H
#define VKF_TEXT_MARIAN_H

#include "text/spm_file.h"
#include "text/tokenizer.h"

typedef struct vkf__marian_files {
    const char *paths[3];   // for messages
    vkf__spm_text bytes[3]; // source.spm, target.spm and vocab.json; used only while they are read
} vkf__marian_files;

// As vkf__tokenizer_load() and vkf__tokenizer_parse().
VKF_MUST_CHECK vkf_status vkf__marian_load(const vkf__host *host, const char *directory, vkf__tokenizer *out_tokenizer);
VKF_MUST_CHECK vkf_status vkf__marian_parse(const vkf__host *host, const vkf__marian_files *files,
                                            vkf__tokenizer *out_tokenizer);

#endif
