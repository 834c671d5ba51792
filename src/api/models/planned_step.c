// Reads the tiles of kernels.
#include "api/models/planned_step.h"

#include <string.h>

#include "base/blocks.h"

#define BYTES_WITHOUT_TILE 16.0

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// A step of one factor or of both, by a whole workgroup through shared memory.
static double tile_step(const vkf__gemm_tile *tile, const vkf_planned_dispatch *dispatch)
{
    return tile->k *
           (tile->m * vkf__element_bytes(dispatch->types[0]) + tile->n * vkf__element_bytes(dispatch->types[1]));
}

// Every invocation by itself: so many columns of the weight, and so deep.
static double lane_step(const vkf__gemm_tile *tile, const vkf_planned_dispatch *dispatch)
{
    return dispatch->local_size * tile->k * tile->thread_n * vkf__element_bytes(dispatch->types[1]);
}

static double product_step(const vkf__config *config, const vkf_planned_dispatch *dispatch)
{
    const char *kernel = dispatch->kernel;
    bool by_lanes = begins(kernel, "gemv") || begins(kernel, "gemm_blocks") || begins(kernel, "gemm_dot.") ||
                    begins(kernel, "gemm_dot_rounds") || begins(kernel, "gemm_direct");
    return by_lanes ? lane_step(&config->tile.gemm, dispatch) : tile_step(&config->tile.gemm, dispatch);
}

// Keys, then values; the two have a step each, but where few queries wait for both.
static double attention_step(const vkf__config *config, const vkf_planned_dispatch *dispatch)
{
    const double width = dispatch->k > 0 ? dispatch->k : 64;
    const vkf__attention_decode_tile *decode = &config->tile.attention_decode;
    if (begins(dispatch->kernel, "attention_decode"))
        return 2.0 * dispatch->local_size / decode->lanes * decode->keys * width *
               vkf__element_bytes(dispatch->types[1]);
    const double depth = config->tile.attention_tiled.depth;
    bool tiled = begins(dispatch->kernel, "attention_tiled") && depth > 0 && depth < width;
    return config->tile.side.columns * (tiled ? depth : width) * vkf__element_bytes(dispatch->types[1]);
}

double vkf__planned_step_bytes(const vkf__config *config, const vkf_planned_dispatch *dispatch)
{
    if (dispatch->n > 0 && strcmp(dispatch->op, "gemm") == 0)
        return product_step(config, dispatch);
    if (strcmp(dispatch->op, "attention") == 0)
        return attention_step(config, dispatch);
    return dispatch->local_size * BYTES_WITHOUT_TILE;
}
