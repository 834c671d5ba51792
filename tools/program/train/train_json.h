// JSON files of a run.
#ifndef VKF_PROGRAM_TRAIN_JSON_H
#define VKF_PROGRAM_TRAIN_JSON_H

#include <jansson.h>

#include "base/host.h"

// Writes `root` into a directory, and releases it. It is NULL where there was no memory for it. Statuses: FILE,
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_train_json_write(const vkf__host *host, json_t *root, const char *directory,
                                               const char *name);

#endif
