// Puts an adapter's tensors and products into a model's weights: they are added while a weight is read on its way to
// the device, in the file's layout, so that whatever happens to weights there happens to their sum.
#ifndef VKF_MODEL_ADAPTER_MERGE_H
#define VKF_MODEL_ADAPTER_MERGE_H

#include "model/load/adapter.h"
#include "model/load/weight_resolution.h"

// Gives the tensor that the source's adapter has in place of a slot's, and names its file in the slot; NULL: it has
// none. Status UNSUPPORTED: the slot is a projection that is tied to a table which the adapter replaces alone.
VKF_MUST_CHECK vkf_status vkf__adapter_take(const vkf__model_source *source, vkf__weight_slot *slot,
                                            const vkf__stored_tensor **out_stored);

// Replaces the tensors of a resolution that the adapter of its source adds a product to. The new ones are F32 and are
// computed when they are read; vkf__merged_free() frees them. Does nothing without an adapter. Statuses: FORMAT (the
// adapter has something for a module that the model lacks, or in another shape, or a number that is not finite),
// UNSUPPORTED (see vkf__adapter_take()), FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__adapter_merge(const vkf__host *host, const vkf__model_source *source,
                                             vkf__weight_resolution *resolution);
void vkf__merged_free(const vkf__host *host, vkf__weight_resolution *resolution);

// Whether the model's own file has the tensor, by either of its names.
bool vkf__adapter_base_has(const vkf__model_source *source, const char *name);

// The tensor that a product was added to; other tensors are their own.
const vkf__stored_tensor *vkf__merged_base(const vkf__stored_tensor *stored);

#endif
