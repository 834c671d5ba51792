// What one core of a chip does in a clock, by what its maker and others have published.
#ifndef VKF_PROGRAM_CHIP_RATES_H
#define VKF_PROGRAM_CHIP_RATES_H

#include "lab/shaders/asm_code.h"

// A rate of 0 has not been published: nothing is then said to be bound by it.
typedef struct chip_rates {
    const char *name;   // as tools/vendors has it
    const char *device; // a part of the name that Vulkan has for it; NULL where it has none
    const char *core;
    double multiply_adds[ASM_UNIT_COUNT];
    double lanes;           // invocations for which vector instructions are issued
    double transcendentals; // the same of exp2, rcp and the like
    double shared_bytes;
    double load_bytes;   // from the cache that is the core's own
    double memory_bytes; // its part of the memory's bandwidth, at the boost clock
    double latency;      // clocks of a load that misses the core's own cache
    double waves;        // how many units of those in statistics' `waves` it has; 0: then neither latency nor delays
    bool matrix_issues;  // matrix operations take the place of other vector instructions
    const char *source;
} chip_rates;

// By the name, or by the device's. NULL where neither is known.
const chip_rates *chip_rates_find(const char *name, const char *device);
// Prints all names to stderr.
void chip_rates_list(void);

#endif
