// The weights of a model in which nothing is learned yet, or of which only the head is new.
#ifndef VKF_MODEL_NEW_WEIGHTS_H
#define VKF_MODEL_NEW_WEIGHTS_H

#include <vkformer/directory.h>

#include "base/host.h"

// See vkf_draw_weights(); `host` is made of the descriptor. Statuses: as there.
VKF_MUST_CHECK vkf_status vkf__new_weights_write(const vkf__host *host, const vkf_draw_weights_desc *desc);

#endif
