// The elements of a stored tensor of any type as doubles.
#ifndef VKF_PROGRAM_STORED_VALUES_H
#define VKF_PROGRAM_STORED_VALUES_H

#include "io/stored_tensor.h"

#define VKF_STORED_VALUES_MAX 1024

// Reads at most VKF_STORED_VALUES_MAX elements from `first` on, which are within the tensor. Values are exact, except
// that 64-bit whole numbers above 2^53 are rounded. Statuses: as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf_stored_values(const vkf__stored_tensor *tensor, uint64_t first, size_t count,
                                            double *out_values);

#endif
