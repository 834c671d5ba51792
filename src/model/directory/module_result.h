// Which module of the PyTorch model has a dispatch's result: see vkf_inspection_get_module().
#ifndef VKF_MODEL_MODULE_RESULT_H
#define VKF_MODEL_MODULE_RESULT_H

#include <vkformer/directory.h>

#include "model/directory/inspection.h"

// False: there is no such dispatch.
bool vkf__module_result_of(const vkf__inspection *inspection, const char *part, const char *label,
                           vkf_module_result *out_result);

#endif
