// Measures roofs with a progress line.
#include "measure/measured_roofs.h"

#include "command/options.h"
#include "output/progress.h"

vkf_status vkf_measure_settled_roofs(vkf_context *context, float settle_s, vkf_measured_roofs *out_roofs)
{
    vkf_progress progress = vkf_progress_start("measuring the roofs");
    vkf_status status = vkf_settle_idle(context, settle_s, &out_roofs->settled);
    if (status == VKF_OK)
        status = vkf_measure_roofs(context, vkf_progress_show, &progress, &out_roofs->roofs);
    vkf_progress_end(&progress);
    if (status != VKF_OK)
        vkf_print_error("the device's roofs cannot be measured: %s; --no-roof does without them",
                        vkf_status_text(status));
    return status;
}
