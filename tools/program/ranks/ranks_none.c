// A process of a build without MPI is the only one.
#include "ranks/ranks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"

void vkf_ranks_begin(vkf_ranks *out_ranks)
{
    *out_ranks = (vkf_ranks){.size = 1};
    if (getenv("OMPI_COMM_WORLD_SIZE") && strcmp(getenv("OMPI_COMM_WORLD_SIZE"), "1") != 0)
        vkf_print_warning("this build is without MPI: each process of mpirun runs by itself; see docs/ranks.md");
}

void vkf_ranks_end(void)
{
}

bool vkf_ranks_joined(void)
{
    return false;
}

void vkf_ranks_abort(int code)
{
    exit(code);
}

void vkf_ranks_send(uint32_t to, const void *bytes, size_t size_bytes)
{
    (void)to, (void)bytes, (void)size_bytes;
    assert(!"nobody is there");
}

void vkf_ranks_receive(uint32_t from, void *out_bytes, size_t size_bytes)
{
    (void)from, (void)out_bytes, (void)size_bytes;
    assert(!"nobody is there");
}

void vkf_ranks_broadcast(void *bytes, size_t size_bytes)
{
    (void)bytes, (void)size_bytes;
}

void vkf_ranks_gather(const void *own, void *out_all, size_t size_bytes)
{
    memcpy(out_all, own, size_bytes);
}

void vkf_ranks_add(float *values, size_t count)
{
    (void)values, (void)count;
}

void vkf_ranks_advance(void)
{
}

void vkf_ranks_added(void)
{
}

void vkf_ranks_sum(double *values, size_t count)
{
    (void)values, (void)count;
}

void vkf_ranks_meet(void)
{
}
