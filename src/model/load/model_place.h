// Where a model's files are. A directory may have an adapter beside the model, or an adapter alone that says whose it
// is; transformers' from_pretrained() takes both for a model.
#ifndef VKF_MODEL_MODEL_PLACE_H
#define VKF_MODEL_MODEL_PLACE_H

#include "base/host.h"

typedef struct vkf__model_place {
    char *transformer; // config.json, generation_config.json and the weights
    char *modules;     // modules.json and what belongs to it, if there is such a file
    char *adapter;     // adapter_config.json; NULL: there is none
    enum { VKF_ADAPTER_ASKED_FOR, VKF_ADAPTER_BESIDE, VKF_ADAPTER_ALONE } kind; // of that adapter
    bool other_adapter; // the model's directory has another adapter than the one that was asked for
} vkf__model_place;

// `directory` is a model's, a sentence-transformers model's, or an adapter's. adapter_directory may be NULL; otherwise
// this adapter is taken. An adapter that comes with modules of its own, as sentence-transformers saves it, brings them
// along. Ownership: vkf__model_place_free(); on failure there is nothing to free. Statuses: FILE (also: an adapter
// whose model is not to be had; the message names it), FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_place_find(const vkf__host *host, const char *directory,
                                                const char *adapter_directory, vkf__model_place *out_place);
void vkf__model_place_free(const vkf__host *host, vkf__model_place *place);

// Logs what a caller may not expect: an adapter that nobody asked for is added, or one is left out.
void vkf__model_place_tell(const vkf__host *host, const vkf__model_place *place);

// The name of the model that the adapter in a directory belongs to, where the directory has no model, and where it is.
// Both are the caller's to free; the name is NULL for any other directory, the path where there is no such model.
// Statuses as above.
VKF_MUST_CHECK vkf_status vkf__lone_adapter_base(const vkf__host *host, const char *directory, char **out_name,
                                                 char **out_path);

#endif
