// The way of projected keys and values to the cache: heads are turned, types converted, rows put in their places.
#ifndef VKF_LAYER_KEY_CACHE_H
#define VKF_LAYER_KEY_CACHE_H

#include "layer/projection.h"
#include "op/attention.h"

// Whether heads of queries and keys are normalised or rotated once they are projected.
bool vkf__turns_heads(const vkf__attention_block *block);

// Whether keys and values are stored in another type than they are made in.
bool vkf__converts_keys(const vkf__attention_block *block, const vkf__attention_io *io);

// Turns heads, and brings what is not projected straight into the caches there. `made` tells where they lie, before and
// after.
VKF_MUST_CHECK vkf_status vkf__emit_way_to_caches(vkf__work *work, const vkf__attention_block *block,
                                                  const vkf__attention_io *io, const vkf__attention_sizes *sizes,
                                                  vkf__projections *made);

// Whether attention may go that way itself, where one of its kernels does: heads are rotated and not normalised, and
// the caches keep what one product has made.
bool vkf__leaves_fresh_keys(const vkf__attention_block *block, const vkf__attention_io *io,
                            const vkf__projections *made);

// What attention then has to know. `made` says afterwards that keys and values lie in the caches.
vkf__fresh_keys vkf__fresh_keys_of(const vkf__attention_block *block, const vkf__attention_io *io,
                                   const vkf__attention_sizes *sizes, vkf__projections *made);

#endif
