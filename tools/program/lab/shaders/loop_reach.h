// What share of its roof a loop can reach on a chip, and what keeps it from more.
#ifndef VKF_PROGRAM_LOOP_REACH_H
#define VKF_PROGRAM_LOOP_REACH_H

#include "lab/shaders/chip_rates.h"
#include "lab/shaders/loop_figures.h"

// In the order in which they are named where two take equally long.
typedef enum loop_bound {
    LOOP_BOUND_MULTIPLY = 0, // the units that multiply and add: the peak
    LOOP_BOUND_MEMORY,       // bandwidth, of a loop that shares nothing of what it loads
    LOOP_BOUND_SHARED,       // shared memory's bandwidth
    LOOP_BOUND_ISSUE,        // instructions beside the multiply-adds
    LOOP_BOUND_TRANSCENDENTAL,
    LOOP_BOUND_LOAD,    // the bandwidth of the core's own cache
    LOOP_BOUND_LATENCY, // loads that are waited for, with the subgroups that there are
    LOOP_BOUND_DELAY,   // instructions that wait for one another, where the driver says how long, likewise
    LOOP_BOUND_COUNT
} loop_bound;

typedef struct loop_reach {
    double share; // of the roof, 0 to 1: the peak, or memory's bandwidth where that is the lower of the two
    loop_bound bound;
    double multiply_adds;            // of a core in a clock at that share, which compares loops of different units
    double clocks[LOOP_BOUND_COUNT]; // of a core, for one turn of one invocation; 0 where it does not count
} loop_reach;

// `waves` is what the statistics have; negative where that is unknown: then neither latency nor delays count. False
// where there are no multiply-adds, or the chip has no unit for them.
bool loop_reach_of(const loop_figures *figures, const chip_rates *rates, int64_t waves, loop_reach *out_reach);
const char *loop_bound_name(loop_bound bound);

#endif
