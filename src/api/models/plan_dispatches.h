// A planned dispatch as callers see it.
#ifndef VKF_API_PLAN_DISPATCHES_H
#define VKF_API_PLAN_DISPATCHES_H

#include <vkformer/plan.h>

#include "kernel/work.h"

// Describes what a vkf__plan_watcher sees; the run stays NULL, and the label is without the work's prefix.
vkf_planned_dispatch vkf__describe_planned(const vkf__work *work, const vkf__dispatch *planned,
                                           const vkf__problem *problem, bool barrier);

#endif
