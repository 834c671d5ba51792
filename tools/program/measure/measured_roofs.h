// The roofs of a device, as commands measure them.
#ifndef VKF_PROGRAM_MEASURED_ROOFS_H
#define VKF_PROGRAM_MEASURED_ROOFS_H

#include <vkformer/vkformer.h>

// vkf_measure_roofs() with a progress line. Failures have been printed, with the advice to use --no-roof.
VKF_MUST_CHECK vkf_status vkf_measured_roofs(vkf_context *context, vkf_roofs *out_roofs);

#endif
