// The way of projected keys and values to the cache: heads are turned, types converted, rows put in their places.
#ifndef VKF_LAYER_KEY_CACHE_H
#define VKF_LAYER_KEY_CACHE_H

#include "layer/projection.h"

// Whether heads of queries and keys are normalised or rotated once they are projected.
bool vkf__turns_heads(const vkf__attention_block *block);

// Whether keys and values are stored in another type than they are made in.
bool vkf__converts_keys(const vkf__attention_block *block, const vkf__attention_io *io);

// Turns heads, and brings what is not projected straight into the caches there. `single`: one product has made queries,
// keys and values side by side. `made` tells where they lie, before and after.
VKF_MUST_CHECK vkf_status vkf__emit_way_to_caches(vkf__work *work, const vkf__attention_block *block,
                                                  const vkf__attention_io *io, const vkf__attention_sizes *sizes,
                                                  bool single, vkf__projections *made);

#endif
