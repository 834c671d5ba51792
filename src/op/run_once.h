// Runs one emitter by itself: plans, proves, builds, records and submits it, waits, and frees everything again.
#ifndef VKF_OP_RUN_ONCE_H
#define VKF_OP_RUN_ONCE_H

#include "kernel/work.h"

VKF_MUST_CHECK vkf_status vkf__run_once(vkf_context *context, const char *name, vkf__emit_fn emit, const void *args);

#endif
