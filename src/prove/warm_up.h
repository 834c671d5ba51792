// Makes pipelines ahead of their first use, of the kernels that a device takes for the typical problems that are marked
// `ahead`.
#ifndef VKF_PROVE_WARM_UP_H
#define VKF_PROVE_WARM_UP_H

#include "kernel/context.h"

// `progress` may be NULL. Statuses: CANCELLED, and those of vkf__pipelines_get().
VKF_MUST_CHECK vkf_status vkf__warm_up(vkf_context *context, vkf_progress_fn progress, void *user);

#endif
