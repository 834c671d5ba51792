// Measures what lies between the ranks, for the model of step time in docs/ranks.md.
#include <inttypes.h>
#include <stdlib.h>

#include "output/progress.h"
#include "run/run_ranks.h"

#define SMALL_BYTES 8
#define LARGE_BYTES ((size_t)4 << 20)
#define SMALL_ROUNDS 50
#define LARGE_ROUNDS 4

// One hop. A round goes from the first rank through all others back to it.
static double hop_ns(const run_ranks *ranks, void *bytes, size_t size_bytes, uint32_t rounds)
{
    const bool first = ranks->of.rank == 0, last = ranks->of.rank == ranks->last;
    const double begin_ms = vkf_now_ms();
    uint32_t hops = 0;
    for (uint32_t i = 0; i < ranks->of.size; i++)
        hops += ranks->parts[i].count > 0;
    for (uint32_t i = 0; i < rounds; i++) {
        if (!first)
            vkf_ranks_receive(ranks->before, bytes, size_bytes);
        vkf_ranks_send(last ? 0 : ranks->behind, bytes, size_bytes);
        if (first)
            vkf_ranks_receive(ranks->last, bytes, size_bytes);
    }
    return 1e6 * (vkf_now_ms() - begin_ms) / rounds / hops;
}

bool vkf_run_ranks_measure(const run_ranks *ranks, run_link *out_link)
{
    uint8_t *bytes = calloc(LARGE_BYTES, 1);
    if (!bytes) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    (void)hop_ns(ranks, bytes, LARGE_BYTES, 1); // connections are made by the first messages
    const double small_ns = hop_ns(ranks, bytes, SMALL_BYTES, SMALL_ROUNDS);
    const double large_ns = hop_ns(ranks, bytes, LARGE_BYTES, LARGE_ROUNDS);
    *out_link = (run_link){small_ns, large_ns > small_ns ? (double)LARGE_BYTES * 1e9 / (large_ns - small_ns) : 0};
    free(bytes);
    return true;
}

void vkf_run_ranks_print_speed(const run_link *link, uint64_t tokens, double ns)
{
    fprintf(stderr, "all     %8" PRIu64 " tokens %10.1f ms %10.1f tokens/s\n", tokens, ns / 1e6,
            ns > 0 ? (double)tokens * 1e9 / ns : 0.0);
    if (link->bytes_per_s > 0)
        fprintf(stderr, "from rank to rank %.1f us, %.2f GB/s\n", link->latency_ns / 1e3, link->bytes_per_s / 1e9);
}
