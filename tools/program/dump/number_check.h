// What `--check-numbers` finds: the range of everything that a run writes, and the first NaN or infinity.
#ifndef VKF_PROGRAM_NUMBER_CHECK_H
#define VKF_PROGRAM_NUMBER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <vkformer/vkformer.h>

// The range of one tensor, over all runs of its submission.
typedef struct vkf_number_range {
    char *name; // "step decoder.0 self_attn.q_proj"
    char *kernel;
    double smallest, largest; // of the finite values
    uint64_t count, nan_count, inf_count;
    uint64_t beyond_half_count; // finite, but above the largest half: infinite where activations are stored in 16 bits
} vkf_number_range;

typedef struct vkf_number_check {
    vkf_number_range *ranges;
    size_t count, capacity, next;
    bool exhausted;
    uint64_t outputs; // seen so far
    // The first NaN or infinity.
    bool found;
    size_t first;       // index of its range
    uint64_t first_run; // outputs before it
    uint32_t rank, shape[4];
    uint64_t first_index;
    float first_value;
} vkf_number_check;

// A vkf_probe_fn; `user` is a vkf_number_check that began as {0}.
bool vkf_number_check_take(void *user, const vkf_probe_output *output);
void vkf_number_check_free(vkf_number_check *check);

// Prints the ranges as a table, and the first NaN or infinity, or that there is none.
void vkf_number_check_print(FILE *out, const vkf_number_check *check);

#endif
