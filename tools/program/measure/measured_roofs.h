// The roofs of a device, as commands measure them.
#ifndef VKF_PROGRAM_MEASURED_ROOFS_H
#define VKF_PROGRAM_MEASURED_ROOFS_H

#include <vkformer/vkformer.h>

#include "measure/settle.h"

typedef struct vkf_measured_roofs {
    vkf_roofs roofs;
    vkf_settled settled;
} vkf_measured_roofs;

// vkf_measure_roofs() with a progress line, once the device has settled, for which it has the seconds of --settle.
// Failures have been printed, with the advice to use --no-roof.
VKF_MUST_CHECK vkf_status vkf_measure_settled_roofs(vkf_context *context, float settle_s,
                                                    vkf_measured_roofs *out_roofs);

#endif
