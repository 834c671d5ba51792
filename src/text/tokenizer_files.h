// Finds the files of a model directory that are its tokenizer.
#ifndef VKF_TEXT_TOKENIZER_FILES_H
#define VKF_TEXT_TOKENIZER_FILES_H

#include "text/tokenizer.h"

// Finds the file that shows that there is a tokenizer: tokenizer.json, Marian's source.spm, or one that has to be
// converted. *out_path is the caller's to release, and NULL where there is none. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tokenizer_files_find(const vkf__host *host, const char *directory, char **out_path);

// vkf__tokenizer_load() for a directory with one of the files that have to be converted.
VKF_MUST_CHECK vkf_status vkf__tokenizer_files_load(const vkf__host *host, const char *directory,
                                                    vkf__tokenizer *out_tokenizer);

#endif
