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
    return (size_t)rank * (vkf_cut_layer_count(c->model) + 1) + layers;
}

uint32_t vkf_cut_layer_count(const vkf_cut_model *model)
{
    return model->encoder.layers + model->decoder.layers;
}

vkf_cut_place vkf_cut_place_of(const vkf_cut_model *model, uint32_t layers)
{
    const uint32_t border = model->encoder.layers, all = vkf_cut_layer_count(model);
    if (layers == 0 || layers == all)
        return layers == 0 ? VKF_CUT_FRONT : VKF_CUT_BACK;
    if (layers <= border)
        return layers < border ? VKF_CUT_IN_ENCODER : VKF_CUT_BORDER;
    return layers + 1 < all ? VKF_CUT_IN_DECODER : VKF_CUT_BEFORE_LAST;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

uint32_t vkf_cut_encoder_layers(const vkf_cut_model *model, uint32_t first, uint32_t end)
{
    return at_most(end, model->encoder.layers) - at_most(first, model->encoder.layers);
}

uint64_t vkf_cut_bytes(const vkf_cut_model *model, uint32_t first, uint32_t end)
{
    const uint32_t encoder = vkf_cut_encoder_layers(model, first, end), decoder = end - first - encoder;
    return model->own_bytes[vkf_cut_place_of(model, first)][vkf_cut_place_of(model, end)] +
           encoder * model->encoder.layer_bytes + decoder * model->decoder.layer_bytes;
}

// The cost of a part of `count` layers that end before layer `end`; infinite where it does not fit.
static double time_of(const cuts *c, uint32_t rank, uint32_t end, uint32_t count)
{
    const vkf_cut_model *m = c->model;
    const uint32_t first = end - count, encoder = vkf_cut_encoder_layers(m, first, end);
    const double work = encoder * m->encoder.layer_time + (count - encoder) * m->decoder.layer_time +
                        (vkf_cut_place_of(m, end) == VKF_CUT_BACK ? m->last_time : 0);
    if (count == 0)
        return rank == 0 ? INFINITY : 0;
    return vkf_cut_bytes(m, first, end) > c->ranks[rank].memory_bytes ? INFINITY : work / c->ranks[rank].speed;
}

static void add_rank(const cuts *c, uint32_t rank)
{
    const uint32_t layers = vkf_cut_layer_count(c->model);
    for (uint32_t end = 0; end <= layers; end++) {
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
    uint32_t end = vkf_cut_layer_count(c->model);
    if (isinf(c->times[place(c, count, end)]))
        return false;
    for (uint32_t rank = count; rank-- > 0;) {
        const uint32_t taken = c->taken[place(c, rank + 1, end)], first = end - taken;
        out_parts[rank] = (vkf_cut_part){first, taken, taken > 0 ? vkf_cut_bytes(c->model, first, end) : 0};
        end = first;
    }
    return true;
}

static void say_why(const cuts *c, uint32_t count)
{
    const double mib = 1024.0 * 1024.0;
    const vkf_cut_model *m = c->model;
    const uint32_t layers = vkf_cut_layer_count(m);
    uint64_t memory = 0, largest = 0;
    for (uint32_t rank = 0; rank < count; rank++)
        memory += c->ranks[rank].memory_bytes;
    for (uint32_t layer = 0; layer < layers; layer++)
        largest = vkf_cut_bytes(m, layer, layer + 1) > largest ? vkf_cut_bytes(m, layer, layer + 1) : largest;
    vkf_print_error("the model does not fit: its %u layers take %.1f MiB on one rank, and cut one by one up to %.1f "
                    "MiB, and the %u ranks have %.1f MiB in all; take more ranks, --quantize, or a smaller --batch or "
                    "--context",
                    layers, (double)vkf_cut_bytes(m, 0, layers) / mib, (double)largest / mib, count,
                    (double)memory / mib);
}

bool vkf_cut_layers(const vkf_cut_model *model, const vkf_cut_rank *ranks, uint32_t count, vkf_cut_part *out_parts)
{
    const uint32_t layers = vkf_cut_layer_count(model);
    const size_t places = ((size_t)count + 1) * (layers + 1);
    cuts c = {model, ranks, calloc(places, sizeof *c.times), calloc(places, sizeof *c.taken)};
    bool cut = c.times && c.taken;
    if (!cut)
        vkf_print_error("memory is exhausted");
    for (uint32_t end = 1; cut && end <= layers; end++)
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
