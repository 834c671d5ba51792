// The processes that mpirun has started together, and what they say to each other. The program alone knows of MPI, and
// of the program ranks_mpi.c alone. Without MPI, or without mpirun, a process is the only one.
//
// Messages from one rank to another arrive in the order in which they were sent. A failure of MPI's own, or the end of
// another rank, ends all ranks with a message.
#ifndef VKF_PROGRAM_RANKS_H
#define VKF_PROGRAM_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vkf_ranks {
    uint32_t rank, size; // 0 and 1 without mpirun
    uint32_t machine;    // the lowest rank on the same machine
    uint32_t local_rank; // this one's number among those there
} vkf_ranks;

// To be called once. vkf_ranks_end() must follow, or vkf_ranks_abort().
void vkf_ranks_begin(vkf_ranks *out_ranks);
// Waits for all ranks, the first time that it is called.
void vkf_ranks_end(void);
// Whether others may wait for this process: from vkf_ranks_begin() to vkf_ranks_end(), where there are any.
bool vkf_ranks_joined(void);
// Ends this process with an exit code other than 0, and all others with it.
_Noreturn void vkf_ranks_abort(int code);

// Returns at once; the bytes may change then.
void vkf_ranks_send(uint32_t to, const void *bytes, size_t size_bytes);
// Waits for a message of exactly this size.
void vkf_ranks_receive(uint32_t from, void *out_bytes, size_t size_bytes);

// All ranks have to call these. The bytes of rank 0 become those of all; `own` of each rank goes into out_all of all,
// in the order of ranks.
void vkf_ranks_broadcast(void *bytes, size_t size_bytes);
void vkf_ranks_gather(const void *own, void *out_all, size_t size_bytes);

// All ranks have to call these in the same order. Begins to add up the floats of all ranks, element by element and in
// place, so that all have the same bits; returns at once, and the floats stay where they are until vkf_ranks_added(),
// which waits for all that has begun. vkf_ranks_advance() keeps it going meanwhile.
void vkf_ranks_add(float *values, size_t count);
void vkf_ranks_advance(void);
void vkf_ranks_added(void);
// Adds up a few numbers of all ranks, in the order of ranks.
void vkf_ranks_sum(double *values, size_t count);
// Waits for all ranks.
void vkf_ranks_meet(void);

#endif
