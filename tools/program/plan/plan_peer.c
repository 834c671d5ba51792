// ggml's dispatches, from ggml/src/ggml-vulkan/ggml-vulkan.cpp of llama.cpp. Functions of it are named where a choice
// is theirs.
#include "plan/plan_peer.h"

#include <math.h>

typedef struct peer_sum {
    const vkf_chip_speed *speed;
    const vkf_peer_run *run;
    double total_s;
} peer_sum;

static void add(peer_sum *sum, double count, vkf_plan_load load)
{
    sum->total_s += count * vkf_plan_estimate(sum->speed, &load).total_s;
}

// Norms, residuals, rotary and the like: 512 invocations, each with some f32 elements of two operands and a result.
static vkf_plan_load by_elements(double bytes)
{
    return (vkf_plan_load){
        .workgroups = fmax(1, bytes / (3 * 4 * 512)),
        .local_size = 512,
        .step_bytes = 512 * 16.0,
        .bytes = bytes,
        .after_barrier = true,
    };
}

#define QUANTIZED_BYTES (36.0 / 32) // of an element of q8_1

static vkf_plan_load quantize(double elements)
{
    return by_elements(elements * (4 + QUANTIZED_BYTES));
}

// mul_mat_vec: a subgroup has two rows, and four steps of four bytes of each on their way.
static vkf_plan_load vector(const vkf_peer_run *run, double n, double k, bool after_barrier)
{
    return (vkf_plan_load){
        .workgroups = ceil(n / 2),
        .local_size = run->lanes,
        .step_bytes = run->lanes * 32,
        .flops = 2 * n * k,
        .bytes = n * k * run->weight_bytes + 4 * (n + k),
        .after_barrier = after_barrier,
    };
}

static bool quantizes(const vkf_peer_run *run, double k)
{
    return run->quantized_depth > 0 && k >= run->quantized_depth;
}

// Products that share a row stand side by side, without a barrier between them; ggml_vk_should_use_mmvq().
static void add_vectors(peer_sum *sum, double n, double siblings, double sibling_n, double k)
{
    const double layers = sum->run->model->layers;
    if (quantizes(sum->run, k))
        add(sum, layers, quantize(k));
    add(sum, layers, vector(sum->run, n, k, true));
    add(sum, layers * siblings, vector(sum->run, sibling_n, k, false));
}

// flash_attn of one query: four workgroups for each head of the cache share its keys.
static vkf_plan_load attend_token(const vkf_peer_model *m, double context)
{
    return (vkf_plan_load){
        .attention = true,
        .workgroups = 4 * m->kv_heads,
        .local_size = 128,
        .step_bytes = 128 * 16.0,
        .flops = 4 * context * m->heads * m->head_dim,
        .bytes = 2 * 2 * context * m->kv_heads * m->head_dim,
        .after_barrier = true,
    };
}

// What builds of 2025 did not yet fuse: weights of norms, residuals, and the stores of keys and values.
static void add_unfused(peer_sum *sum)
{
    const vkf_peer_model *m = sum->run->model;
    add(sum, 4 * m->layers, by_elements(3 * 4 * m->width));
    add(sum, m->layers, by_elements(2 * 4 * m->kv_heads * m->head_dim));
}

double vkf_peer_token_s(const vkf_chip_speed *speed, const vkf_peer_run *run, double context)
{
    const vkf_peer_model *m = run->model;
    const double queries = m->heads * m->head_dim, keys = m->kv_heads * m->head_dim;
    peer_sum sum = {.speed = speed, .run = run};
    vkf_peer_run last = *run;
    last.weight_bytes = run->logits_bytes;
    add(&sum, (2 + m->extra_norms) * m->layers + 1, by_elements(3 * 4 * m->width));
    add_vectors(&sum, queries, 2, keys, m->width);
    add(&sum, m->layers, by_elements(2 * 4 * (queries + keys))); // rotary
    add(&sum, m->layers, attend_token(m, context));
    add_vectors(&sum, m->width, 0, 0, queries);
    add_vectors(&sum, m->ff, 1, m->ff, m->width);
    add(&sum, m->layers, by_elements(3 * 4 * m->ff)); // the gate
    add_vectors(&sum, m->width, 0, 0, m->ff);
    if (!run->fused)
        add_unfused(&sum);
    add(&sum, 1, vector(&last, m->vocabulary, m->width, true));
    return sum.total_s + speed->submit_s;
}

typedef struct peer_tile {
    double n, rows, k; // of the weight, of the prompt, of a step
    double local_size, shared_bytes;
} peer_tile;

// l_warptile_mmq. Of mul_mm_cm2 the large tile where it is worth it, ggml_vk_guess_matmul_pipeline().
static peer_tile tile_of(const peer_sum *sum, double n, double rows)
{
    if (sum->run->product != VKF_PEER_MATRIX2)
        return (peer_tile){128, 128, 32, sum->run->lanes == 64 && sum->run->product == VKF_PEER_MATRIX ? 256 : 128,
                           20480};
    const double cores = sum->speed->cores;
    const double large = ceil(n / 128) * ceil(rows / 256), medium = ceil(n / 128) * ceil(rows / 128);
    const bool takes_large = medium > cores || large > cores || (large <= floor(cores / 3) && medium > cores / 2);
    return (peer_tile){128, takes_large ? 256 : 128, 64, 256, 49152};
}

// ggml_vk_guess_split_k().
static double splits_of(double tiles, double k, double cores)
{
    if (k < 2048 || tiles > floor(cores * 2 / 3))
        return 1;
    return tiles <= floor(cores / 2) ? fmin(8, floor(cores / tiles)) : 3;
}

static vkf_plan_math math_of(vkf_peer_product product)
{
    static const vkf_plan_math maths[] = {[VKF_PEER_HALF] = VKF_PLAN_HALF,
                                          [VKF_PEER_DOT] = VKF_PLAN_DOT,
                                          [VKF_PEER_MATRIX] = VKF_PLAN_MATRIX,
                                          [VKF_PEER_MATRIX2] = VKF_PLAN_MATRIX};
    return maths[product];
}

static void add_product(peer_sum *sum, double count, double rows, double n, double k)
{
    const vkf_peer_run *run = sum->run;
    const peer_tile tile = tile_of(sum, n, rows);
    const double tiles = ceil(n / tile.n) * ceil(rows / tile.rows);
    const double splits = splits_of(tiles, k, sum->speed->cores);
    count *= run->model->layers;
    add(sum, count,
        (vkf_plan_load){
            .math = math_of(run->product),
            .half_sums = true,
            .workgroup_scope = run->product == VKF_PEER_MATRIX2,
            .workgroups = tiles * splits,
            .local_size = tile.local_size,
            .shared_bytes = tile.shared_bytes,
            .step_bytes = tile.k * (tile.n * run->weight_bytes + tile.rows * 2),
            .flops = 2 * rows * n * k,
            .bytes = n * k * run->weight_bytes + rows * (2 * k + 4 * n),
            .after_barrier = true,
        });
    if (splits > 1)
        add(sum, count, by_elements(rows * n * 4 * (splits + 1)));
}

// flash_attn, flash_attn_cm1 or flash_attn_cm2, of 64 queries at once. Masked keys are multiplied, too.
static vkf_plan_load attend_prompt(const vkf_peer_run *run, double rows)
{
    const vkf_peer_model *m = run->model;
    const bool matrices = math_of(run->product) == VKF_PLAN_MATRIX;
    return (vkf_plan_load){
        .math = matrices ? VKF_PLAN_MATRIX : VKF_PLAN_HALF,
        .attention = true,
        .half_sums = true,
        .workgroups = ceil(rows / 64) * m->heads,
        .local_size = 128,
        .step_bytes = 32 * 2 * m->head_dim,
        .flops = 4 * rows * rows * m->heads * m->head_dim,
        .bytes = rows * m->head_dim * (8 * m->heads + 4 * m->kv_heads),
        .after_barrier = true,
    };
}

// Between the products: rows are made f16 or q8_1 for kernels that take them so.
static void add_between(peer_sum *sum, double rows)
{
    const vkf_peer_model *m = sum->run->model;
    add(sum, (4 + m->extra_norms) * m->layers, by_elements(3 * 4 * rows * m->width)); // norms, residuals
    add(sum, 2 * m->layers, by_elements(2 * 4 * rows * m->heads * m->head_dim));      // rotary
    add(sum, m->layers, by_elements(3 * 4 * rows * m->ff));                           // the gate
    add(sum, m->layers, by_elements(6 * rows * m->kv_heads * m->head_dim));           // the cache
    if (sum->run->product == VKF_PEER_HALF)
        return;
    add(sum, 3 * m->layers, by_elements(6 * rows * m->width));
    add(sum, m->layers, by_elements(6 * rows * m->ff));
}

double vkf_peer_prompt_s(const vkf_chip_speed *speed, const vkf_peer_run *run, double rows)
{
    const vkf_peer_model *m = run->model;
    const double queries = m->heads * m->head_dim;
    peer_sum sum = {.speed = speed, .run = run};
    add_product(&sum, 1, rows, queries, m->width);
    add_product(&sum, 2, rows, m->kv_heads * m->head_dim, m->width);
    add_product(&sum, 1, rows, m->width, queries);
    add_product(&sum, 2, rows, m->ff, m->width);
    add_product(&sum, 1, rows, m->width, m->ff);
    add(&sum, m->layers, attend_prompt(run, rows));
    add_between(&sum, rows);
    return sum.total_s + speed->submit_s;
}
