// Keeps a device busy before something is measured, until its clock has settled.
#ifndef VKF_PROGRAM_SETTLE_H
#define VKF_PROGRAM_SETTLE_H

#include <jansson.h>
#include <stdbool.h>

#include <vkformer/vkformer.h>

// The default of --settle: VKF_SETTLE_GPU_S for a GPU, and 0 for a processor.
#define VKF_SETTLE_DEFAULT (-1.0f)
#define VKF_SETTLE_GPU_S 5.0f
#define VKF_SETTLE_MAX_S 600.0f
#define VKF_SETTLE_HELP "5 on GPUs, 0 on processors"

typedef enum vkf_settled {
    VKF_SETTLED_UNKNOWN = 0, // nobody asked for it
    VKF_SETTLED_YES,
    VKF_SETTLED_NO,
} vkf_settled;

typedef struct vkf_settle_work {
    vkf_context *context;
    float seconds; // of --settle, or VKF_SETTLE_DEFAULT
    // Runs what will be measured, and tells the device's time for it; negative: it is unknown.
    vkf_status (*run)(void *user, double *out_gpu_ns);
    void *user;
    bool alone; // the context must run nothing else
} vkf_settle_work;

// Runs the work again and again until it takes as long as half a second before, for at most `seconds`. A device that
// mostly waits for the host keeps a low clock, so what it does half of the time or less takes turns with multiply-adds,
// unless it has to be alone. What follows at once finds the device as it will stay. Prints no message.
vkf_status vkf_settle(const vkf_settle_work *work, vkf_settled *out_settled);

// The same by multiply-adds alone.
vkf_status vkf_settle_idle(vkf_context *context, float seconds, vkf_settled *out_settled);

// Behind a figure: " (not settled)", or nothing.
const char *vkf_settled_mark(vkf_settled settled);
// A new true, false or, where nobody asked, null.
json_t *vkf_settled_json(vkf_settled settled);

#endif
