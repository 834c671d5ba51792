// An adapter: what Hugging Face's PEFT saves of a model that was trained by LoRA (Hu et al. 2021), which adds to some
// of its weights a product of two small matrices, W + scale * B A. Other tensors of an adapter take the place of the
// model's.
#ifndef VKF_MODEL_ADAPTER_H
#define VKF_MODEL_ADAPTER_H

#include "model/family/weight_names.h"

#define VKF_ADAPTER_CONFIG "adapter_config.json"
#define VKF_ADAPTER_WEIGHTS "adapter_model.safetensors"
#define VKF_ADAPTER_PREFIX "base_model.model." // of all tensors' names

// What a module's weight gets.
typedef struct vkf__adapter_product {
    char module[VKF_WEIGHT_NAME_MAX]; // as the model's file names its weight, without ".weight"
    const vkf__stored_tensor *a, *b;  // (rank, in), (out, rank)
    bool embedding;                   // in: the rows of a table, out: its columns
    double scale;
} vkf__adapter_product;

// A tensor that takes the place of the model's.
typedef struct vkf__adapter_tensor {
    char name[VKF_WEIGHT_NAME_MAX]; // as the model's file has it
    const vkf__stored_tensor *stored;
} vkf__adapter_tensor;

struct vkf__adapter {
    vkf__host host;
    vkf__checkpoint *checkpoint;
    vkf__adapter_product *products; // both are sorted by name
    size_t product_count;
    vkf__adapter_tensor *saved;
    size_t saved_count;
    bool ties; // what changes an embedding changes a projection that is tied to it, too
};

// Opens adapter_config.json and adapter_model.safetensors or, in older directories, adapter_model.bin. Statuses: FILE,
// FORMAT (a tensor lacks the other of its pair, or has another shape or type), UNSUPPORTED (see
// vkf__adapter_settings_load()), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__adapter_open(const vkf__host *host, const char *directory, vkf__adapter **out_adapter);
void vkf__adapter_close(vkf__adapter **adapter);

// The two ways to name a tensor: without and with what models with a head put before the names of the base model's
// tensors.
void vkf__adapter_spell(const vkf__family *family, const char *name, char out_names[2][VKF_WEIGHT_NAME_MAX]);
// The tensor in place of the model's `name`; NULL where there is none, and for an adapter of NULL.
const vkf__stored_tensor *vkf__adapter_saved(const vkf__adapter *adapter, const vkf__family *family, const char *name);
// The product that is added to the model's weight `name`; NULL where there is none, and for an adapter of NULL.
const vkf__adapter_product *vkf__adapter_product_for(const vkf__adapter *adapter, const vkf__family *family,
                                                     const char *name);

// Continues a hash with what tells this adapter from others. Statuses: as vkf__checkpoint_fingerprint().
VKF_MUST_CHECK vkf_status vkf__adapter_fingerprint(const vkf__adapter *adapter, uint64_t *hash);

#endif
