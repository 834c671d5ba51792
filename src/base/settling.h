// Tells from the times of repeated runs when a device has come to its speed.
//
// A GPU that was idle runs at a fraction of its clock, and its governor raises that over seconds of load. Runs are
// gathered in windows of time, and a window's median is compared with that of a window half a second before: of a clock
// that rises slowly, neighbours hardly differ. The logic knows no clock and no device, so made-up times test it.
#ifndef VKF_BASE_SETTLING_H
#define VKF_BASE_SETTLING_H

#include <stdbool.h>
#include <stdint.h>

#define VKF_SETTLING_WINDOW_NS 100e6
#define VKF_SETTLING_LAG_NS 500e6
// How long windows have to go on being like those before them.
#define VKF_SETTLING_HOLD_NS 250e6
// Medians that differ by no more than this share are alike. A governor that keeps to its power limit moves by as much.
#define VKF_SETTLING_SHARE 0.02
#define VKF_SETTLING_SAMPLES 256
// Windows that are kept: more than the lag has.
#define VKF_SETTLING_WINDOWS 16

typedef struct vkf__settling_window {
    double end_ns;
    double median_ns; // of the runs
} vkf__settling_window;

typedef struct vkf__settling {
    double begin_ns, cap_ns;
    bool settled;
    bool late;
    // The window that is being filled, from every `stride`-th of its runs.
    double window_begin_ns;
    double samples_ns[VKF_SETTLING_SAMPLES];
    uint32_t sample_count, runs, stride;
    // The latest windows; window i is at i % VKF_SETTLING_WINDOWS.
    vkf__settling_window windows[VKF_SETTLING_WINDOWS];
    uint32_t window_count;
    // Since when the speed has been the same, where it is.
    bool steady;
    double steady_since_ns;
} vkf__settling;

// Begins at the time `now_ns`. It ends `cap_ns` later at the latest; with 0 no run is wanted.
vkf__settling vkf__settling_begin(double now_ns, double cap_ns);

// Whether one more run is wanted. Afterwards `settled` says why not.
static inline bool vkf__settling_goes_on(const vkf__settling *settling)
{
    return !settling->settled && !settling->late;
}

// Takes in a run that took `run_ns` and has ended at the time `now_ns`. Runs follow each other without pauses.
void vkf__settling_add(vkf__settling *settling, double now_ns, double run_ns);

#endif
