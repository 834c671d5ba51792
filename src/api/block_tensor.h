// Weights in blocks between rows of blocks, as the host has them, and panels on the device.
#ifndef VKF_API_BLOCK_TENSOR_H
#define VKF_API_BLOCK_TENSOR_H

#include <vkformer/tensor.h>

#include "base/host.h"

// Whether a tensor is a weight in blocks that lies as it has to; *out_bytes: its size in rows of blocks.
bool vkf__is_block_tensor(const vkf_tensor *tensor, uint64_t *out_bytes);

// Copy `count` rows from row `first` on, a multiple of a panel's 32; the last of them ends the tensor or a panel.
VKF_MUST_CHECK vkf_status vkf__block_rows_write(const vkf_tensor *tensor, uint32_t first, uint32_t count,
                                                const void *rows);
VKF_MUST_CHECK vkf_status vkf__block_rows_read(const vkf_tensor *tensor, uint32_t first, uint32_t count,
                                               void *out_rows);

#endif
