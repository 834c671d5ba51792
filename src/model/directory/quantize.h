// A model directory made of another: see vkf_quantize().
#ifndef VKF_MODEL_QUANTIZE_H
#define VKF_MODEL_QUANTIZE_H

#include <vkformer/directory.h>

#include "base/host.h"

// The descriptor was checked. Statuses are those of vkf_quantize().
VKF_MUST_CHECK vkf_status vkf__quantize(const vkf__host *host, const vkf_quantize_desc *desc,
                                        vkf_quantize_result *out_result);

#endif
