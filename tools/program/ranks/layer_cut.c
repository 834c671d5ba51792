// Cuts a model between its layers: of all ways to give the ranks layers, the one whose slowest part is the fastest.
#include "ranks/layer_cut.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "command/options.h"

// The best cuts so far: place (rank, layers) is about the ranks before `rank`, which together have so many layers.
typedef struct cuts {
    const vkf_cut_model *model;
    const vkf_cut_rank *ranks;
    double *times;   // (count + 1, layers + 1), of the slowest part; infinite: there is no such cut
    uint32_t *taken; // the same shape: layers of the last of these ranks
} cuts;

static size_t place(const cuts *c, uint32_t rank, uint32_t layers)
{
    return (size_t)rank * (c->model->layers + 1) + layers;
}

static uint64_t bytes_of(const vkf_cut_model *m, uint32_t first, uint32_t count)
{
    const bool last = first + count == m->layers;
    const uint64_t own = first == 0 ? last ? m->whole_bytes : m->first_bytes : last ? m->last_bytes : m->middle_bytes;
    return count == 0 ? 0 : own + count * m->layer_bytes;
}

// Of a part of `count` layers that end before layer `end`; infinite where it does not fit.
static double time_of(const cuts *c, uint32_t rank, uint32_t end, uint32_t count)
{
    const vkf_cut_model *m = c->model;
    const double work = count * m->layer_time + (end == m->layers ? m->last_time : 0);
    if (count == 0)
        return rank == 0 ? INFINITY : 0;
    return bytes_of(m, end - count, count) > c->ranks[rank].memory_bytes ? INFINITY : work / c->ranks[rank].speed;
}

static void add_rank(const cuts *c, uint32_t rank)
{
    for (uint32_t end = 0; end <= c->model->layers; end++) {
        const size_t to = place(c, rank + 1, end);
        c->times[to] = INFINITY;
        for (uint32_t count = 0; count <= end; count++) {
            const double before = c->times[place(c, rank, end - count)], own = time_of(c, rank, end, count);
            const double slowest = own > before ? own : before;
            if (slowest < c->times[to]) {
                c->times[to] = slowest;
                c->taken[to] = count;
            }
        }
    }
}

static bool take(const cuts *c, uint32_t count, vkf_cut_part *out_parts)
{
    uint32_t end = c->model->layers;
    if (isinf(c->times[place(c, count, end)]))
        return false;
    for (uint32_t rank = count; rank-- > 0;) {
        const uint32_t taken = c->taken[place(c, rank + 1, end)];
        end -= taken;
        out_parts[rank] = (vkf_cut_part){end, taken, bytes_of(c->model, end, taken)};
    }
    return true;
}

static void say_why(const cuts *c, uint32_t count)
{
    const double mib = 1024.0 * 1024.0;
    uint64_t memory = 0;
    for (uint32_t rank = 0; rank < count; rank++)
        memory += c->ranks[rank].memory_bytes;
    vkf_print_error("the model does not fit: its %u layers take %.1f MiB each, and the first and the last part %.1f "
                    "and %.1f MiB more, and the %u ranks have %.1f MiB in all; take more ranks, --quantize, or a "
                    "smaller --batch or --context",
                    c->model->layers, (double)c->model->layer_bytes / mib, (double)c->model->first_bytes / mib,
                    (double)c->model->last_bytes / mib, count, (double)memory / mib);
}

bool vkf_cut_layers(const vkf_cut_model *model, const vkf_cut_rank *ranks, uint32_t count, vkf_cut_part *out_parts)
{
    const size_t places = ((size_t)count + 1) * (model->layers + 1);
    cuts c = {model, ranks, calloc(places, sizeof *c.times), calloc(places, sizeof *c.taken)};
    bool cut = c.times && c.taken;
    if (!cut)
        vkf_print_error("memory is exhausted");
    for (uint32_t end = 1; cut && end <= model->layers; end++)
        c.times[place(&c, 0, end)] = INFINITY;
    for (uint32_t rank = 0; cut && rank < count; rank++)
        add_rank(&c, rank);
    if (cut && !take(&c, count, out_parts)) {
        say_why(&c, count);
        cut = false;
    }
    free(c.times);
    free(c.taken);
    return cut;
}
