// One emitter run by itself: planned, proven, built, recorded, submitted, waited for, and taken down.
#ifndef VKF_OP_RUN_ONCE_H
#define VKF_OP_RUN_ONCE_H

#include "kernel/work.h"

VKF_MUST_CHECK vkf_status vkf__run_once(vkf_context *context, const char *name, vkf__emit_fn emit, const void *args);

#endif
