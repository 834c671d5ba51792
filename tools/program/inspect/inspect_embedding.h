// vkformer inspect: how an encoder makes embeddings.
#ifndef VKF_PROGRAM_INSPECT_EMBEDDING_H
#define VKF_PROGRAM_INSPECT_EMBEDDING_H

#include <jansson.h>

#include "model/inspection.h"

// The modules of sentence-transformers with what comes out of them, how long a text may be, and what stands in front of it.
json_t *vkf_describe_embedding(const vkf__inspection *inspection);

#endif
