// How the loss scale follows the gradients.
#include "training/loss_scale.h"

#include <math.h>

// From 2^-126 to 2^126 a number and its inverse are normal floats.
#define LEAST 0x1p-126f
#define MOST 0x1p126f

vkf__loss_scale vkf__loss_scale_default(void)
{
    return (vkf__loss_scale){.scale = 65536.0f, .growth = 2.0f, .backoff = 0.5f, .interval = 2000};
}

static void multiply(vkf__loss_scale *scale, float factor)
{
    const float changed = scale->scale * factor;
    if (changed >= LEAST && changed <= MOST)
        scale->scale = changed;
    scale->counted = 0;
}

bool vkf__loss_scale_update(vkf__loss_scale *scale, float norm)
{
    const bool taken = isfinite(norm);
    if (scale->interval == 0)
        return taken;
    if (!taken)
        multiply(scale, scale->backoff);
    else if (++scale->counted == scale->interval)
        multiply(scale, scale->growth);
    return taken;
}
