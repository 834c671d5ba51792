// Runs one emitter planned, built and recorded with its largest sizes, and updated to those of a run.
#ifndef VKF_TEST_RUN_RESIZED_H
#define VKF_TEST_RUN_RESIZED_H

#include "kernel/work.h"

vkf_status vkf_test_run_resized(vkf_context *context, const char *name, vkf__emit_fn emit, const void *largest,
                                const void *args);

#endif
