// The second step of caps -> traits -> plan -> device: facts about the kind of device that follow from its caps, worked
// out once when the plan is made. Code that chooses between kernels, or between ways to use them, asks for traits and
// never for the type of the device.
#ifndef VKF_VK_TRAITS_H
#define VKF_VK_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

struct vkf__caps;

typedef struct vkf__traits {
    // Shaders run on a processor: it has few cores, no shared memory or matrix units in hardware, and a cache that
    // takes what does not fit in registers.
    bool processor;
    // The memory that is fastest for shaders can be mapped, and no mask forbids it: DEVICE memory needs no staging.
    bool unified_memory;
    // Products of 8-bit integers are faster than products of the floats that they were made from.
    bool integer_dot_units;
    // The depth from which on that holds for one row and a weight in blocks of 8 or 4 bits. Below it, rounding the row
    // takes longer than it saves. UINT32_MAX: at no depth, because the weight's bytes alone decide how long it takes.
    uint32_t row_dot_depth_q8, row_dot_depth_q4;
    // Products of 8-bit integers are faster than products of halves by matrices, too.
    bool dots_outrun_matrices;
    // Products of halves whose short runs are summed in f16 are faster than those of floats, without matrices.
    bool halves_outrun_floats;
    // 32-bit registers that an invocation's sums and what they are made of may take: 64 (16 sums), 96, 128 or more.
    uint32_t registers;
    // Matrices of halves multiply at a higher rate with sums in f16 than with sums in f32.
    bool matrices_prefer_half_sums;
    // What runs workgroups side by side: as the driver tells, else an estimate by the kind of device.
    uint32_t cores;
    bool cores_are_known;
    // What a core has to wait for at once to take its part of the memory's bandwidth, which no driver tells. 0: a
    // processor fetches ahead by itself.
    uint32_t core_bytes_in_flight;
    // What does not fit into registers goes to a processor's cache, and costs little.
    bool spills_to_cache;
    // Workgroups of a thousand invocations take less time than more of a hundred, as on processors.
    bool prefers_large_workgroups;
    // Models in 16 bits are faster in 16 bits: the device stores them, and multiplies them by matrices or one by one.
    bool prefers_halves;
    // Runs of a session are told apart by their number of rows, each class with kernels of its own. A processor's
    // driver takes seconds to compile those, and gains little from them.
    bool rows_by_class;
    // A step of decoding is submitted before the last one has ended, so that the device does not wait for the host. A
    // processor has nothing else to compute with meanwhile.
    bool runs_ahead;
    // From one command buffer to the next a device takes its time (6 us on an H200, driver 580.159), so that the layers
    // of a run are recorded into one as well.
    bool joins_layers;
    // Whoever waits for the end of a run polls shortly before it. On a processor that takes a core from the run itself.
    bool spins;
    // Its clock rises under load, over seconds, and falls when it is idle: what is timed before the clock has settled
    // says little. A processor's is up within milliseconds, and does not fall while the host is busy.
    bool clock_follows_load;
    // Memory that the host writes, and shaders count in, is the device's own.
    bool counts_in_mapped_memory;
    // In which kernels by cooperative matrices run; 0: of the size in the caps.
    uint32_t matrix_subgroup_size;
    // A processor's driver that folds loads from uniform addresses into the arithmetic. Others read texels fastest.
    bool folds_uniform_loads;
    // A processor's driver that takes many seconds to compile hundreds of unrolled multiply-adds on such loads.
    bool compiles_unrolled_slowly;
} vkf__traits;

// Pure. The caps must be final: nothing limits them afterwards.
vkf__traits vkf__traits_of(const struct vkf__caps *caps);

#endif
