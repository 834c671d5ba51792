// Ranks by MPI, whose own error handler ends all ranks where a call fails.
#include "ranks/ranks.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/process.h"
#include "command/options.h"

// What launchers set for the processes that they start: Open MPI's, PMIx's, and those of MPICH and of Slurm.
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"};

#define MESSAGE_TAG 1
// A wait that takes longer than SPIN_NS pauses between its looks: others may need the processor, of which software
// rasterisers take all. Between devices of one machine a message takes less.
#define SPIN_NS 2e5
#define PAUSE_NS 50000

// Sent messages keep a copy until they have arrived. The oldest is waited for when all places are taken.
#define PENDING 32
static struct {
    MPI_Request request;
    void *bytes;
} pending[PENDING];
static size_t next_pending;
// Sums that are being taken.
static MPI_Request adding[PENDING];
static size_t next_adding;
static bool begun;

static void await(MPI_Request *request)
{
    const double begin_ns = vkf__now_ns();
    for (int done = 0; !done;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        if (vkf__now_ns() - begin_ns < SPIN_NS)
            vkf__yield();
        else
            vkf__pause_ns(PAUSE_NS);
    }
}

static bool is_launched(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (getenv(sizes[i]))
            return true;
    return false;
}

void vkf_ranks_begin(vkf_ranks *out_ranks)
{
    int rank = 0, size = 1, local_rank = 0, machine = 0;
    MPI_Comm local;
    *out_ranks = (vkf_ranks){.size = 1};
    if (!is_launched())
        return;
    MPI_Init(NULL, NULL);
    begun = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &local_rank);
    machine = rank;
    MPI_Bcast(&machine, 1, MPI_INT, 0, local);
    MPI_Comm_free(&local);
    for (size_t i = 0; i < PENDING; i++)
        pending[i].request = adding[i] = MPI_REQUEST_NULL;
    *out_ranks = (vkf_ranks){(uint32_t)rank, (uint32_t)size, (uint32_t)machine, (uint32_t)local_rank};
}

void vkf_ranks_end(void)
{
    if (!begun)
        return;
    for (size_t i = 0; i < PENDING; i++) {
        await(&pending[i].request);
        free(pending[i].bytes);
    }
    MPI_Finalize();
    begun = false;
}

bool vkf_ranks_joined(void)
{
    int size = 1;
    if (begun)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size > 1;
}

void vkf_ranks_abort(int code)
{
    if (begun)
        MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

// MPI counts in int.
static int count_of(size_t size_bytes)
{
    if (size_bytes > INT_MAX) {
        vkf_print_error("a message between ranks has %zu bytes, more than MPI's %d: a smaller --batch has less",
                        size_bytes, INT_MAX);
        vkf_ranks_abort(1);
    }
    return (int)size_bytes;
}

void vkf_ranks_send(uint32_t to, const void *bytes, size_t size_bytes)
{
    const size_t place = next_pending++ % PENDING;
    await(&pending[place].request);
    free(pending[place].bytes);
    pending[place].bytes = malloc(size_bytes + 1);
    if (!pending[place].bytes) {
        vkf_print_error("memory for a message of %zu bytes is exhausted", size_bytes);
        vkf_ranks_abort(1);
        return;
    }
    memcpy(pending[place].bytes, bytes, size_bytes);
    MPI_Isend(pending[place].bytes, count_of(size_bytes), MPI_BYTE, (int)to, MESSAGE_TAG, MPI_COMM_WORLD,
              &pending[place].request);
}

void vkf_ranks_receive(uint32_t from, void *out_bytes, size_t size_bytes)
{
    MPI_Request request;
    MPI_Irecv(out_bytes, count_of(size_bytes), MPI_BYTE, (int)from, MESSAGE_TAG, MPI_COMM_WORLD, &request);
    await(&request);
}

void vkf_ranks_broadcast(void *bytes, size_t size_bytes)
{
    MPI_Request request;
    if (!begun)
        return;
    MPI_Ibcast(bytes, count_of(size_bytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    await(&request);
}

void vkf_ranks_gather(const void *own, void *out_all, size_t size_bytes)
{
    MPI_Request request;
    if (!begun) {
        memcpy(out_all, own, size_bytes);
        return;
    }
    MPI_Iallgather(own, count_of(size_bytes), MPI_BYTE, out_all, count_of(size_bytes), MPI_BYTE, MPI_COMM_WORLD,
                   &request);
    await(&request);
}

void vkf_ranks_add(float *values, size_t count)
{
    MPI_Request *request = &adding[next_adding++ % PENDING];
    if (!begun)
        return;
    await(request);
    MPI_Iallreduce(MPI_IN_PLACE, values, count_of(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);
}

void vkf_ranks_advance(void)
{
    int done = 0;
    if (begun)
        MPI_Testall(PENDING, adding, &done, MPI_STATUSES_IGNORE);
}

void vkf_ranks_added(void)
{
    for (size_t i = 0; begun && i < PENDING; i++)
        await(&adding[i]);
}

void vkf_ranks_sum(double *values, size_t count)
{
    int size = 1;
    double *all = NULL;
    if (!begun)
        return;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    all = malloc((size_t)size * count * sizeof *all);
    if (!all) {
        vkf_print_error("memory for numbers of %d ranks is exhausted", size);
        vkf_ranks_abort(1);
    }
    vkf_ranks_gather(values, all, count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = 0;
        for (size_t rank = 0; rank < (size_t)size; rank++)
            values[i] += all[rank * count + i];
    }
    free(all);
}

void vkf_ranks_meet(void)
{
    MPI_Request request;
    if (!begun)
        return;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    await(&request);
}
