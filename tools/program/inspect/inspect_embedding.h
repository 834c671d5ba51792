// vkformer inspect: how an encoder makes embeddings.
#ifndef VKF_PROGRAM_INSPECT_EMBEDDING_H
#define VKF_PROGRAM_INSPECT_EMBEDDING_H

#include <jansson.h>

#include "model/load/inspection.h"

// The modules of sentence-transformers with the sizes of their outputs, how long a text may be, and the prompts put
// before it.
json_t *vkf_describe_embedding(const vkf__inspection *inspection);

#endif
