// The modules that sentence-transformers puts after a Transformer: modules.json, and a directory for each of them.
#ifndef VKF_MODEL_SENTENCE_MODULES_H
#define VKF_MODEL_SENTENCE_MODULES_H

#include "model/family/weight_names.h"

#define VKF_MAX_SENTENCE_MODULES (VKF_MAX_EMBEDDING_MODULES + 4)

typedef enum vkf__sentence_module_kind {
    VKF_SENTENCE_TRANSFORMER = 0,
    VKF_SENTENCE_POOLING,
    VKF_SENTENCE_DENSE,
    VKF_SENTENCE_LAYER_NORM,
    VKF_SENTENCE_NORMALIZE,
    VKF_SENTENCE_DROPOUT, // does nothing here
    VKF_SENTENCE_UNKNOWN,
} vkf__sentence_module_kind;

typedef struct vkf__sentence_module {
    vkf__sentence_module_kind kind;
    char type[96]; // as the file has it
    char folder[VKF_MODULE_FOLDER_MAX];
} vkf__sentence_module;

typedef struct vkf__sentence_list {
    vkf__sentence_module modules[VKF_MAX_SENTENCE_MODULES];
    uint32_t count;
    bool embeds; // there is a modules.json, and it is not a CrossEncoder's, which makes no embeddings
} vkf__sentence_list;

// Reads modules.json if there is one. Statuses: FILE, FORMAT, UNSUPPORTED (too many), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__sentence_list_load(const vkf__host *host, const char *directory,
                                                  vkf__sentence_list *out_list);

// Finds the directory of the model itself: the one that modules.json names for its Transformer, or `directory`.
// *out_path is freed with vkf__free(). Statuses as above.
VKF_MUST_CHECK vkf_status vkf__transformer_directory(const vkf__host *host, const char *directory, char **out_path);

// Reads the modules' config.json into the configuration's embedding modules and the source's folders. Without
// modules.json there is one module, the mean. The rest of the configuration must be there already. Statuses: FILE,
// FORMAT (names file and key), UNSUPPORTED (a module, or a value, that changes results and is not followed),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__sentence_modules_load(const vkf__host *host, const char *directory,
                                                     const vkf__sentence_list *list, vkf__model_source *source);

// Opens the weights of the modules that have some. The caller calls vkf__sentence_weights_close() whether this succeeds
// or not. Statuses are those of vkf__checkpoint_open(), and FORMAT (a tensor that is not the module's).
VKF_MUST_CHECK vkf_status vkf__sentence_weights_open(const vkf__host *host, const char *directory,
                                                     vkf__model_source *source);
void vkf__sentence_weights_close(vkf__model_source *source);

// Lists the slots of the modules' tensors. Fills `slots` when it is not NULL; always returns their number.
size_t vkf__sentence_slots(const vkf__model_source *source, vkf__weights *weights, vkf__weight_slot *slots);

#endif
