// vkformer inspect: how an encoder makes embeddings.
#ifndef VKF_PROGRAM_INSPECT_EMBEDDING_H
#define VKF_PROGRAM_INSPECT_EMBEDDING_H

#include <jansson.h>
#include <vkformer/vkformer.h>

// The modules of sentence-transformers with the sizes of their outputs, how long a text may be, and the prompts put
// before it. `info` and `config` are those of the inspection.
json_t *vkf_describe_embedding(const vkf_inspection *inspection, const vkf_inspection_info *info,
                               const vkf_model_config *config);

#endif
