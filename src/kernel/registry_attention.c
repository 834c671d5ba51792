// Kernels of fused attention: for few queries, through shared memory, and on cooperative matrices.
#include "base/size.h"
#include "kernel/registry_families.h"
#include "kernel/registry_heads.h"
#include "shared/attention_coopmat.h"

#define ATTENTION_TILED_TILE(queries_, keys_, lanes_, depth_) \
    .tile.attention_tiled = {.queries = queries_, .keys = keys_, .lanes = lanes_, .depth = depth_}
#define ATTENTION_DECODE_TILE(keys_, lanes_) \
    .tile.attention_decode = {.rows = VKF_ATTENTION_DECODE_MAX_ROWS, .keys = keys_, .lanes = lanes_}
// A single row: rows that share keys go to workgroups of their own, which find them in the cache.
#define ATTENTION_DECODE_ROW(keys_, lanes_) \
    .tile.attention_decode = {.rows = 1, .keys = keys_, .lanes = lanes_}, .max_registers = 64
#define ATTENTION_COOPMAT_TILE(rows_, keys_, subgroups_) \
    .tile.attention_coopmat = {.rows = rows_, .keys = keys_, .subgroups = subgroups_}

CHECK_TILE(attention_tiled.queries, VKF_ATTENTION_SPEC_QUERIES);
CHECK_TILE(attention_tiled.keys, VKF_ATTENTION_SPEC_KEYS);
CHECK_TILE(attention_tiled.lanes, VKF_ATTENTION_SPEC_SPLIT_LANES);
CHECK_TILE(attention_tiled.depth, VKF_ATTENTION_SPEC_FENCE);
CHECK_TILE(attention_decode.keys, VKF_ATTENTION_SPEC_KEYS);
CHECK_TILE(attention_decode.lanes, VKF_ATTENTION_SPEC_SPLIT_LANES);
CHECK_TILE(attention_coopmat.rows, VKF_ATTENTION_COOPMAT_SPEC_ROWS);
CHECK_TILE(attention_coopmat.keys, VKF_ATTENTION_SPEC_KEYS);
CHECK_TILE(attention_coopmat.subgroups, VKF_ATTENTION_COOPMAT_SPEC_SUBGROUPS);

static const char *const tiled_constants[VKF_ATTENTION_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ATTENTION, QUERIES),
    CONSTANT(ATTENTION, KEYS),
    [VKF_ATTENTION_SPEC_SPLIT_LANES] = "LANES",
    [VKF_ATTENTION_SPEC_FENCE] = "DEPTH",
    HEADS_FLAGS,
};

static const char *const decode_constants[VKF_ATTENTION_DECODE_SPEC_COUNT] = {
    LOCAL_SIZE,  CONSTANT(ATTENTION, KEYS),        [VKF_ATTENTION_SPEC_SPLIT_LANES] = "LANES",
    HEADS_FLAGS, CONSTANT(ATTENTION_DECODE, ROWS), CONSTANT(ATTENTION_DECODE, FRESH),
};

static const char *const coopmat_constants[VKF_ATTENTION_COOPMAT_SPEC_COUNT] = {
    LOCAL_SIZE,
    CONSTANT(ATTENTION_COOPMAT, ROWS),
    CONSTANT(ATTENTION, KEYS),
    CONSTANT(ATTENTION_COOPMAT, SUBGROUPS),
    HEADS_FLAGS,
    CONSTANT(ATTENTION_COOPMAT, FRAGMENT_M),
    CONSTANT(ATTENTION_COOPMAT, FRAGMENT_N),
    CONSTANT(ATTENTION_COOPMAT, FRAGMENT_K),
};

// For few queries, where shuffles are missing, keys and values have their whole width in shared memory: with as few
// barriers, and as many bytes on their way, as can be.
static const vkf__config attention_tiled_configs[] = {
    {.name = "few64", .local_size = 64, ATTENTION_TILED_TILE(1, 32, 8, 64), .max_m = 8, .max_k = 64},
    {.name = "few128", .local_size = 64, ATTENTION_TILED_TILE(1, 32, 16, 128), .max_m = 8, .max_k = 128},
    {.name = "d64", .local_size = 64, ATTENTION_TILED_TILE(4, 32, 8, 32), .max_k = 64},
    {.name = "d64x2", .local_size = 64, ATTENTION_TILED_TILE(2, 32, 8, 32), .max_k = 64},
    {.name = "d64x128", .local_size = 128, ATTENTION_TILED_TILE(4, 32, 8, 32), .max_k = 64},
    {.name = "d128", .local_size = 64, ATTENTION_TILED_TILE(4, 32, 16, 32), .max_k = 128, .min_registers = 96},
    {.name = "d128x2", .local_size = 64, ATTENTION_TILED_TILE(2, 32, 16, 32), .max_k = 128},
    {.name = "d128x128", .local_size = 128, ATTENTION_TILED_TILE(4, 64, 16, 32), .max_k = 128},
    {.name = "d256", .local_size = 64, ATTENTION_TILED_TILE(2, 32, 32, 32)},
};

// The number of vectors of four that the tiles of rows and keys take, with one vector of padding per line.
static uint32_t attention_tile_vectors(const vkf__config *config, uint32_t *out_rows)
{
    const vkf__attention_tiled_tile *t = &config->tile.attention_tiled;
    uint32_t rows = t->queries * config->local_size / t->lanes;
    *out_rows = rows;
    return (rows + t->keys) * (t->depth / 4 + 1);
}

static uint32_t attention_tiled_shared_bytes(const vkf__config *config)
{
    uint32_t rows = 0, vectors = attention_tile_vectors(config, &rows);
    const vkf__attention_tiled_tile *t = &config->tile.attention_tiled;
    return 16 * (vectors + rows * (t->keys / 4 + 1) + rows * (t->lanes / 4 + 1));
}

static bool attention_tiled_valid(const vkf__config *config)
{
    const vkf__attention_tiled_tile *t = &config->tile.attention_tiled;
    uint32_t rows = 0;
    if (!vkf__is_power_of_two_u64(t->keys * t->lanes) || t->lanes < 4 || t->lanes > t->keys ||
        config->local_size % t->lanes != 0 || t->depth == 0 || t->depth % 4 != 0)
        return false;
    uint32_t widest = config->max_k > 0 ? config->max_k : 256;
    // The values of at least four keys must fit into the tile, once queries and keys are done with.
    return attention_tile_vectors(config, &rows) >= 4 * ((widest + 3) / 4);
}

// A lane has one vector of 16 bytes of a key, or as many more as the subgroup is too small for that. Two keys at once
// take more registers beside queries in f32: two_keys_ is what a device has to have for them. 128 invocations: of 32
// heads over 8 key heads of width 64 in f16, an H200 computed a query over 544 keys in 14 us, and in 17 us with 256;
// over 1024 keys in 15 and 17, over 4096 in 29 and 31, when slots were joined through shared memory alone.
#define HALF_KEYS_CONFIGS(two_keys_)                                                                             \
    {.name = "lanes8", .local_size = 128, ATTENTION_DECODE_TILE(2, 8), .max_k = 64, .min_registers = two_keys_}, \
        {.name = "lanes16",                                                                                      \
         .local_size = 128,                                                                                      \
         ATTENTION_DECODE_TILE(2, 16),                                                                           \
         .max_k = 128,                                                                                           \
         .min_registers = two_keys_},                                                                            \
        {.name = "lanes8k1", .local_size = 128, ATTENTION_DECODE_TILE(1, 8), .max_k = 64, .min_registers = 96},  \
        {.name = "lanes16k1", .local_size = 128, ATTENTION_DECODE_TILE(1, 16), .min_registers = 96},             \
        {.name = "row8", .local_size = 256, ATTENTION_DECODE_ROW(2, 8), .max_k = 64},                            \
        {.name = "row16", .local_size = 256, ATTENTION_DECODE_ROW(2, 16)},                                       \
        {.name = "wide8", .local_size = 128, ATTENTION_DECODE_TILE(2, 8)},                                       \
    {                                                                                                            \
        .name = "wide4", .local_size = 128, ATTENTION_DECODE_TILE(1, 4)                                          \
    }

static const vkf__config attention_decode_half_configs[] = {HALF_KEYS_CONFIGS(96)};
static const vkf__config attention_decode_half_keys_configs[] = {HALF_KEYS_CONFIGS(256)};

static const vkf__config attention_decode_configs[] = {
    {.name = "lanes16", .local_size = 128, ATTENTION_DECODE_TILE(2, 16), .max_k = 64, .min_registers = 96},
    {.name = "lanes32", .local_size = 128, ATTENTION_DECODE_TILE(2, 32), .min_registers = 256},
    {.name = "lanes32k1", .local_size = 128, ATTENTION_DECODE_TILE(1, 32), .min_registers = 96},
    {.name = "row16", .local_size = 256, ATTENTION_DECODE_ROW(2, 16)},
    {.name = "wide16", .local_size = 256, ATTENTION_DECODE_TILE(2, 16)},
    {.name = "wide8", .local_size = 128, ATTENTION_DECODE_TILE(1, 8)},
    {.name = "wide4", .local_size = 128, ATTENTION_DECODE_TILE(1, 4)},
};

static bool attention_decode_valid(const vkf__config *config)
{
    const vkf__attention_decode_tile *t = &config->tile.attention_decode;
    return t->keys > 0 && vkf__is_power_of_two_u64(t->lanes) && config->local_size % t->lanes == 0;
}

static const char *attention_decode_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem)
{
    (void)problem;
    if (config->local_size % caps->max_subgroup_size != 0)
        return "needs smaller subgroups";
    return config->tile.attention_decode.lanes > caps->min_subgroup_size ? "needs larger subgroups" : NULL;
}

// A maximum and a total of each row, and one row of sums, of each group of invocations; and what the last workgroup is
// known by.
static uint32_t attention_decode_shared(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                        const vkf__problem *problem)
{
    (void)caps;
    const vkf__attention_decode_tile *t = &config->tile.attention_decode;
    const uint32_t width = problem ? problem->k : 4, ticket = kernel->offers & VKF_FORM_JOINED ? 4 : 0;
    return 4 * (config->local_size / t->lanes) * (2 * t->rows + width) + ticket;
}

static const vkf__config attention_coopmat_configs[] = {
    {.name = "rows32", .subgroups = 4, ATTENTION_COOPMAT_TILE(32, 32, 4), .max_k = 64, .min_m = 64},
    {.name = "rows16", .subgroups = 4, ATTENTION_COOPMAT_TILE(16, 32, 4)},
};

// Shared memory does not grow with the rows here, and the more of them share a step, the less of it is loading. But
// prompts of 512 rows and few heads make too few workgroups of so many: the tuner may find that they suffice.
static const vkf__config attention_coopmat2_configs[] = {
    {.name = "rows32", .subgroups = 4, ATTENTION_COOPMAT_TILE(32, 32, 4), .max_k = 64, .min_m = 64},
    {.name = "rows16x8", .subgroups = 8, ATTENTION_COOPMAT_TILE(16, 32, 8), .min_m = 2048},
    {.name = "rows16", .subgroups = 4, ATTENTION_COOPMAT_TILE(16, 32, 4)},
};

// Up to four lanes share a row, each with whole vectors of eight of its keys.
static bool attention_coopmat_valid(const vkf__config *config)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    return vkf__is_power_of_two_u64(t->rows) && t->rows >= 8 && vkf__is_power_of_two_u64(t->keys) && t->keys >= 32 &&
           t->subgroups > 0 && t->subgroups == config->subgroups;
}

static void attention_matrix_tile(const vkf__config *config, uint32_t out_mnk[3])
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    out_mnk[0] = t->rows;
    out_mnk[1] = t->keys; // columns of scores
    out_mnk[2] = t->keys; // depth of values
}

// 32-bit registers of an invocation that queries and sums may take.
#define MATRIX_REGISTERS 96u

static const char *attention_coopmat_unfit(const vkf__caps *caps, const vkf__config *config,
                                           const vkf__problem *problem)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    // Queries take 16 bits and sums 32, spread over a subgroup. A processor's cache takes what does not fit.
    uint64_t registers = problem ? (uint64_t)t->rows * ((uint64_t)problem->k / 2 + problem->k) : 0;
    if (!caps->traits.spills_to_cache && registers > (uint64_t)MATRIX_REGISTERS * vkf__matrix_subgroup_size(caps))
        return "would keep more in registers than there are";
    return NULL;
}

// Keys and values of a step, in units of 16 bytes, for heads as wide as the wider of the two. `depth` and `side` are
// those of fragments (attention_matrix.glsl).
static uint64_t attention_step_units(const vkf__attention_coopmat_tile *t, uint64_t width, uint32_t depth,
                                     uint32_t side)
{
    return t->keys * (vkf__align_u64(width, depth) / 8 + 1) +
           (width + side - 1) / side * (side * (t->keys / 8 + 1) + 1);
}

// A step of keys and values, a line per row and a number (see the shader).
static uint32_t attention_coopmat_shared(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                         const vkf__problem *problem)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    const vkf__matrix_shape *shape = vkf__matrix_shape_of(caps, kernel, config);
    uint64_t width = problem ? problem->k : 1, scores = t->keys / 4, later = t->keys / 8 + shape->n / 4;
    uint64_t line = (scores > later ? scores : later) + 1;
    uint64_t units = attention_step_units(t, width, shape->k, shape->n) + (uint64_t)t->subgroups * t->rows * line;
    return units < UINT32_MAX / 16 ? (uint32_t)(16 * units) + 4 : UINT32_MAX;
}

// Rows are columns of its matrices, so the sides of a tile change places.
static void attention_column_tile(const vkf__config *config, uint32_t out_mnk[3])
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    out_mnk[0] = t->keys;
    out_mnk[1] = t->rows;
    out_mnk[2] = t->keys;
}

static const char *attention_coopmat2_unfit(const vkf__caps *caps, const vkf__config *config,
                                            const vkf__problem *problem)
{
    uint32_t tile[3];
    attention_column_tile(config, tile);
    const vkf__matrix_shape *shape = vkf__matrix_find(&caps->matrix, VK_COMPONENT_TYPE_FLOAT16_KHR,
                                                      VK_COMPONENT_TYPE_FLOAT32_KHR, tile[0], tile[1], tile[2]);
    if (!shape || shape->m != shape->k)
        return "needs matrices whose sums are as tall as its factors are deep";
    return attention_coopmat_unfit(caps, config, problem);
}

// A step of keys and values, or the lines of the rows, which take their place (see the shader).
static uint32_t attention_coopmat2_shared(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                          const vkf__problem *problem)
{
    const vkf__attention_coopmat_tile *t = &config->tile.attention_coopmat;
    const vkf__matrix_shape *shape = vkf__matrix_shape_of(caps, kernel, config);
    uint64_t width = problem ? problem->k : 1, line = (shape->k / 8 > shape->m / 4 ? shape->k / 8 : shape->m / 4) + 1;
    uint64_t step = attention_step_units(t, width, shape->k, shape->m);
    uint64_t lines = (uint64_t)t->subgroups * t->rows * line, units = step > lines ? step : lines;
    return units < UINT32_MAX / 16 ? (uint32_t)(16 * units) : UINT32_MAX;
}

// Kernels of few queries, in which lanes share a key.
#define VECTORS_OF_QUADS (VKF_FORM_QUADS | VKF_FORM_VECTORS)
#define FEW_QUERIES(operands, spec_count_, configs_)                                                         \
    HEADS_OF(operands), CONFIGS(configs_), .constants = decode_constants, .spec_count = spec_count_,         \
                                           .valid = attention_decode_valid, .unfit = attention_decode_unfit, \
                                           .shared_bytes_here = attention_decode_shared, .rung = VKF_RUNG_FEW_ROWS

#define ATTENTION_DECODE(q, kv, out, configs_)                                                         \
    {                                                                                                  \
        .name = NAME_3("attention_decode", q, kv, out), TYPES_3(q, kv, out),                           \
        FEW_QUERIES(VKF_ATTENTION_BINDING_TABLE, COUNT(decode_constants), configs_),                   \
        .needs = VKF_NEEDS_SHUFFLE | STORAGE_3(q, kv, out), .offers = VKF_FORM_SPLIT | VKF_FORM_FRESH, \
        .wants = VECTORS_OF_QUADS                                                                      \
    }

// The same for keys in blocks, which it does not make.
#define ATTENTION_DECODE_BLOCKS(q, kv, out, configs_)                                                           \
    {                                                                                                           \
        .name = NAME_3("attention_decode", q, kv, out), TYPES_3(q, kv, out),                                    \
        FEW_QUERIES(VKF_ATTENTION_BINDING_SINKS, VKF_ATTENTION_DECODE_SPEC_FRESH, configs_),                    \
        .needs = VKF_NEEDS_SHUFFLE | STORAGE_3(q, kv, out), .offers = VKF_FORM_SPLIT, .wants = VECTORS_OF_QUADS \
    }

// The same, for keys in parts, which the last workgroup of a row puts together. Devices that do not store 16 bits leave
// halves to the kernels above and to attention_reduce.
#define ATTENTION_DECODE_JOINED(q, kv, out, configs_)                                                            \
    {                                                                                                            \
        .name = NAME_3("attention_decode_joined", q, kv, out), TYPES_3(q, kv, out),                              \
        FEW_QUERIES(VKF_ATTENTION_BINDING_COUNTERS, COUNT(decode_constants), configs_),                          \
        .needs = VKF_NEEDS_SHUFFLE | STORAGE_3(q, kv, out),                                                      \
        .offers = VKF_FORM_SPLIT | VKF_FORM_FRESH | VKF_FORM_JOINED, .wants = VECTORS_OF_QUADS | VKF_FORM_JOINED \
    }

#define ATTENTION_TILED(q, kv, out)                                                                            \
    {                                                                                                          \
        .name = NAME_3("attention_tiled", q, kv, out), TYPES_3(q, kv, out), HEADS, CONSTANTS(tiled_constants), \
        .needs = STORAGE_3(q, kv, out), CONFIGS(attention_tiled_configs), .valid = attention_tiled_valid,      \
        .shared_bytes = attention_tiled_shared_bytes                                                           \
    }

// Queries, keys and values are fetched in words, whatever their type.
#define ATTENTION_COOPMAT(q, kv, out)                                                                                  \
    {                                                                                                                  \
        .name = NAME_3("attention_coopmat", q, kv, out), TYPES_3(q, kv, out), HEADS, CONSTANTS(coopmat_constants),     \
        .matrix = VKF_MATRIX_F16, .rounds = true, .needs = VKF_NEEDS_MATRIX | STORAGE(out),                            \
        CONFIGS(attention_coopmat_configs), .valid = attention_coopmat_valid, .unfit = attention_coopmat_unfit,        \
        .matrix_tile = attention_matrix_tile, .shared_bytes_here = attention_coopmat_shared, .rung = VKF_RUNG_MATRICES \
    }

// With the softmax in registers.
#define REDUCTIONS                                                                                            \
    (VKF_NEEDS_MATRIX | VKF_NEEDS_MATRIX_ELEMENT | VKF_NEEDS_MATRIX_REDUCTION | VKF_NEEDS_MATRIX_CONVERSION | \
     VKF_NEEDS_SUBGROUP)
#define ATTENTION_COOPMAT2(q, kv, out)                                                                              \
    {                                                                                                               \
        .name = NAME_3("attention_coopmat2", q, kv, out), TYPES_3(q, kv, out), HEADS, CONSTANTS(coopmat_constants), \
        .matrix = VKF_MATRIX_F16, .rounds = true, .needs = REDUCTIONS | STORAGE(out),                               \
        CONFIGS(attention_coopmat2_configs), .valid = attention_coopmat_valid, .unfit = attention_coopmat2_unfit,   \
        .matrix_tile = attention_column_tile, .shared_bytes_here = attention_coopmat2_shared,                       \
        .rung = VKF_RUNG_MATRIX_REDUCTIONS                                                                          \
    }

static const vkf__kernel rows[] = {
    ATTENTION_TILED(f32, f32, f32),
    ATTENTION_TILED(f16, f16, f16),
    ATTENTION_TILED(f16p, f16p, f16p),
    ATTENTION_TILED(f16p, f16p, f32),
    // Keys and values in half the bytes, for activations in f32. Not by matrices, which would round the queries, too;
    // and no cache asks for matrices of bfloat16 yet.
    ATTENTION_TILED(f32, f16p, f32),
    ATTENTION_TILED(f32, bf16p, f32),
    // In blocks. Not by matrices: they would round the queries, and fewer bytes of keys count where queries are few.
    ATTENTION_TILED(f32, q8, f32),
    ATTENTION_DECODE(f32, f32, f32, attention_decode_configs),
    ATTENTION_DECODE(f16, f16, f16, attention_decode_half_configs),
    ATTENTION_DECODE(f16p, f16p, f16p, attention_decode_half_configs),
    ATTENTION_DECODE(f16p, f16p, f32, attention_decode_half_configs),
    ATTENTION_DECODE(f32, f16p, f32, attention_decode_half_keys_configs),
    ATTENTION_DECODE(f32, bf16p, f32, attention_decode_half_keys_configs),
    ATTENTION_DECODE_BLOCKS(f32, q8, f32, attention_decode_half_keys_configs),
    ATTENTION_DECODE_JOINED(f32, f32, f32, attention_decode_configs),
    ATTENTION_DECODE_JOINED(f16, f16, f16, attention_decode_half_configs),
    ATTENTION_DECODE_JOINED(f32, f16p, f32, attention_decode_half_keys_configs),
    ATTENTION_DECODE_JOINED(f32, bf16p, f32, attention_decode_half_keys_configs),
    ATTENTION_COOPMAT(f16, f16, f16),
    ATTENTION_COOPMAT(f16, f16, f32),
    ATTENTION_COOPMAT2(f16, f16, f16),
    ATTENTION_COOPMAT2(f16, f16, f32),
};

const vkf__family vkf__attention_family = {rows, COUNT(rows)};
