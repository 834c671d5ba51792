#include "kernel/ladder.h"

#include "kernel/registry_row.h"
#include "shared/attention.h"

// Products of up to this many rows leave most of a matrix empty.
#define FEW_ROWS_MOST 8
// The side of the smallest tile of matrices of a workgroup.
#define TENSOR_TILE 64
// Fewer parts are added by one invocation as fast as by several, without a barrier.
#define MANY_PARTS_LEAST 8
// Rows that keep one core busy for longer than the phases of sampling by parts wait for each other. Devices of few
// cores, phones among them, wait longest between dispatches and gain least.
#define LONG_ROW 32000u
#define MANY_CORES 32u

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

#define FACTS(FACT)                                                                                         \
    FACT(SOFTWARE, "on a processor")                                                                        \
    FACT(GPU, "on a GPU")                                                                                   \
    FACT(FOLDS, "where loads from uniform addresses are folded into arithmetic")                            \
    FACT(SEVERAL_ROWS, "for more than one row")                                                             \
    FACT(FEW_ROWS, "for up to " TEXT(FEW_ROWS_MOST) " rows")                                                \
    FACT(MANY_ROWS, "for more than " TEXT(FEW_ROWS_MOST) " rows")                                           \
    FACT(FEW_QUERIES, "for as few queries as lanes can share keys of")                                      \
    FACT(HALF_SUMS, "where matrices multiply faster with sums in 16 bits")                                  \
    FACT(BUSY_CORES, "where a tile of " TEXT(TENSOR_TILE) " x " TEXT(TENSOR_TILE) " is left for each core") \
    FACT(FAST_HALVES, "where halves outrun floats")                                                         \
    FACT(DOTS_PAY, "where integer dot products make up for rounding, if any")                               \
    FACT(SHORT_ROWS, "for rows that a subgroup reads in few steps")                                         \
    FACT(MANY_PARTS, "for " TEXT(MANY_PARTS_LEAST) " parts or more")                                        \
    FACT(LONG_FEW_ROWS, "for rows as long as a vocabulary that leave cores idle")

#define FACT_INDEX(NAME, text) INDEX_##NAME,
enum { FACTS(FACT_INDEX) FACT_COUNT };
#define FACT_BIT(NAME, text) NAME = 1u << INDEX_##NAME,
enum { FACTS(FACT_BIT) };

// On processors that run shaders, no kernel with shared memory and barriers comes near those without.
//
// Matrices: a driver loads those of a workgroup for all of it, which llama.cpp measures at 1.35 times the speed on an
// RTX 3090; but its tiles are large. No driver that tests run on has tensor addressing; that the modules are valid is
// all that they show. On a device that has it, the first use of a variant waits for the self-test's edge shapes of
// products, and for a race against the kernel without matrices (prove/prove.h): a wrong one is not used, and a slow one
// loses. Processors have no matrix units, but some of their drivers emulate them.
static const vkf__ladder_step gemm[] = {
    // Halves: ahead of the kernels with lanes along m, which would unpack them for every row.
    {VKF_RUNG_ADDRESS_COLUMNS, FOLDS},
    {VKF_RUNG_ADDRESS, FOLDS},
    // With one row there is nothing to share, and the missing rows of a tile would be multiplied all the same.
    {VKF_RUNG_TEXEL_SHUFFLE, SOFTWARE | SEVERAL_ROWS},
    {VKF_RUNG_TEXEL, SOFTWARE},
    {VKF_RUNG_TEXEL_SHUFFLE, SOFTWARE},
    {VKF_RUNG_DIRECT, SOFTWARE},
    {VKF_RUNG_BLOCKS, SOFTWARE},
    {VKF_RUNG_ADDRESS_COLUMNS, SOFTWARE},
    {VKF_RUNG_ADDRESS, SOFTWARE},
    {VKF_RUNG_TENSORS_HALF, GPU | MANY_ROWS | HALF_SUMS | BUSY_CORES},
    {VKF_RUNG_MATRICES_HALF, GPU | MANY_ROWS | HALF_SUMS},
    {VKF_RUNG_TENSORS, GPU | MANY_ROWS | BUSY_CORES},
    {VKF_RUNG_MATRICES, GPU | MANY_ROWS},
    {VKF_RUNG_TENSORS_HALF, GPU | MANY_ROWS | HALF_SUMS},
    {VKF_RUNG_TENSORS, GPU | MANY_ROWS},
    // Few rows wait for memory, which halves and floats read alike.
    {VKF_RUNG_HALVES, MANY_ROWS | FAST_HALVES},
    {VKF_RUNG_SUBGROUP, FEW_ROWS},
    // Ahead of weights in blocks straight from memory.
    {VKF_RUNG_ROUNDED_ROWS, FEW_ROWS | DOTS_PAY},
    {VKF_RUNG_FEW_ROWS, FEW_ROWS},
    {VKF_RUNG_BLOCKS, FEW_ROWS},
    {VKF_RUNG_PLAIN, 0},
    {VKF_RUNG_TENSORS_HALF, GPU | HALF_SUMS | BUSY_CORES},
    {VKF_RUNG_MATRICES_HALF, GPU | HALF_SUMS},
    {VKF_RUNG_TENSORS, GPU | BUSY_CORES},
    {VKF_RUNG_MATRICES, GPU},
    {VKF_RUNG_TENSORS_HALF, GPU | HALF_SUMS},
    {VKF_RUNG_TEXEL_SHUFFLE, SEVERAL_ROWS},
    {VKF_RUNG_ADDRESS_COLUMNS, 0},
    {VKF_RUNG_TENSORS, GPU},
    {VKF_RUNG_TEXEL, 0},
    {VKF_RUNG_ADDRESS, 0},
    {VKF_RUNG_DIRECT, 0},
    {VKF_RUNG_TEXEL_SHUFFLE, 0},
    {VKF_RUNG_HALVES, 0},
    {VKF_RUNG_SUBGROUP, 0},
    {VKF_RUNG_FEW_ROWS, 0},
    {VKF_RUNG_BLOCKS, 0},
    {VKF_RUNG_MATRICES, 0},
    {VKF_RUNG_TENSORS, 0},
    {VKF_RUNG_MATRICES_HALF, 0},
    {VKF_RUNG_TENSORS_HALF, 0},
    {VKF_RUNG_ROUNDED_ROWS, 0},
    {VKF_RUNG_MATRIX_ELEMENTS, 0},
};

static const vkf__ladder_step attention[] = {
    {VKF_RUNG_ADDRESS, FOLDS},
    {VKF_RUNG_TEXEL, SOFTWARE},
    {VKF_RUNG_TEXEL_SINGLE, SOFTWARE},
    {VKF_RUNG_DIRECT, SOFTWARE},
    {VKF_RUNG_ADDRESS, SOFTWARE},
    // Ahead of the kernel whose softmax goes through shared memory: RADV's compiler makes it 0.4 to 0.7 of the
    // instructions beside the products (docs/shaders.md).
    {VKF_RUNG_MATRIX_REDUCTIONS, GPU | MANY_ROWS},
    {VKF_RUNG_MATRICES, GPU | MANY_ROWS},
    {VKF_RUNG_FEW_ROWS, GPU | FEW_QUERIES},
    {VKF_RUNG_PLAIN, 0},
    {VKF_RUNG_MATRIX_REDUCTIONS, GPU},
    {VKF_RUNG_FEW_ROWS, 0},
    {VKF_RUNG_MATRICES, GPU},
    {VKF_RUNG_TEXEL, 0},
    {VKF_RUNG_ADDRESS, 0},
    {VKF_RUNG_DIRECT, 0},
    {VKF_RUNG_TEXEL_SINGLE, 0},
    {VKF_RUNG_MATRIX_REDUCTIONS, 0},
    {VKF_RUNG_MATRICES, 0},
};

// Where each of such loads is a part of a multiply-add, no other kernel comes near; elsewhere they take far longer.
static const vkf__ladder_step attention_gradients[] = {
    {VKF_RUNG_ADDRESS, FOLDS}, {VKF_RUNG_TEXEL, SOFTWARE}, {VKF_RUNG_PLAIN, 0},
    {VKF_RUNG_TEXEL, 0},       {VKF_RUNG_ADDRESS, 0},
};

static const vkf__ladder_step attention_training[] = {
    {VKF_RUNG_ADDRESS, FOLDS}, {VKF_RUNG_PLAIN, 0}, {VKF_RUNG_ADDRESS, 0}};

// On processors finding a row takes longer than copying it.
static const vkf__ladder_step attention_pack[] = {
    {VKF_RUNG_DIRECT, SOFTWARE}, {VKF_RUNG_PLAIN, 0}, {VKF_RUNG_DIRECT, 0}};

static const vkf__ladder_step attention_reduce[] = {
    {VKF_RUNG_PARTS, GPU | MANY_PARTS}, {VKF_RUNG_PLAIN, 0}, {VKF_RUNG_PARTS, 0}};

static const vkf__ladder_step sample[] = {
    {VKF_RUNG_PARTS, GPU | LONG_FEW_ROWS}, {VKF_RUNG_PLAIN, 0}, {VKF_RUNG_PARTS, 0}};

// On processors it pays to avoid barriers, however long the rows.
static const vkf__ladder_step rows[] = {
    {VKF_RUNG_SUBGROUP, SOFTWARE}, {VKF_RUNG_SUBGROUP, SHORT_ROWS}, {VKF_RUNG_PLAIN, 0}, {VKF_RUNG_SUBGROUP, 0}};

static const vkf__ladder_step gemm_int8[] = {
    {VKF_RUNG_INTEGER_DOTS, DOTS_PAY}, {VKF_RUNG_PLAIN, 0}, {VKF_RUNG_INTEGER_DOTS, 0}};

static const vkf__ladder_step others[] = {{VKF_RUNG_PLAIN, 0}};

#define LADDER(list)      \
    {                     \
        list, COUNT(list) \
    }

const vkf__ladder_step *vkf__ladder_of(vkf__op op, uint32_t *out_count)
{
    static const struct {
        const vkf__ladder_step *steps;
        uint32_t count;
    } ladders[VKF_OP_COUNT] = {
        [VKF_OP_GEMM] = LADDER(gemm),
        [VKF_OP_GEMM_INT8] = LADDER(gemm_int8),
        [VKF_OP_ATTENTION] = LADDER(attention),
        [VKF_OP_ATTENTION_REDUCE] = LADDER(attention_reduce),
        [VKF_OP_ATTENTION_TRAIN] = LADDER(attention_training),
        [VKF_OP_ATTENTION_GRAD] = LADDER(attention_gradients),
        [VKF_OP_ATTENTION_GRAD_PAIR] = LADDER(attention_gradients),
        [VKF_OP_ATTENTION_GRAD_PACK] = LADDER(attention_pack),
        [VKF_OP_SAMPLE] = LADDER(sample),
        [VKF_OP_SOFTMAX] = LADDER(rows),
        [VKF_OP_LAYER_NORM] = LADDER(rows),
        [VKF_OP_LAYER_NORM_RESIDUAL] = LADDER(rows),
        [VKF_OP_ROTARY] = LADDER(rows),
        [VKF_OP_LAYER_NORM_GRAD] = LADDER(rows),
        [VKF_OP_NORM_STATS] = LADDER(rows),
        [VKF_OP_SOFTMAX_GRAD] = LADDER(rows),
    };
    *out_count = ladders[op].steps ? ladders[op].count : COUNT(others);
    return ladders[op].steps ? ladders[op].steps : others;
}

bool vkf__integer_dot_pays(const vkf__traits *traits, vkf_dtype weight, uint32_t m, uint32_t k)
{
    const uint32_t row_depth = weight == VKF_DTYPE_Q8 ? traits->row_dot_depth_q8 : traits->row_dot_depth_q4;
    return traits->integer_dot_units && (m > 1 || k >= row_depth);
}

static bool keeps_cores_busy(const vkf__traits *traits, const vkf__problem *problem)
{
    const uint64_t tiles_m = ((uint64_t)problem->m + TENSOR_TILE - 1) / TENSOR_TILE;
    const uint64_t tiles_n = ((uint64_t)problem->n + TENSOR_TILE - 1) / TENSOR_TILE;
    return tiles_m * tiles_n * (problem->batch > 0 ? problem->batch : 1) >= traits->cores;
}

static bool is_long_and_few(const vkf__traits *traits, const vkf__problem *problem)
{
    return traits->cores >= MANY_CORES && problem->m <= traits->cores / 4 && problem->n >= LONG_ROW;
}

uint32_t vkf__ladder_facts(const vkf__caps *caps, vkf__op op, const vkf_dtype *types, const vkf__problem *problem)
{
    const vkf__traits *traits = &caps->traits;
    const bool dots = op == VKF_OP_GEMM_INT8
                          ? traits->integer_dot_units
                          : op == VKF_OP_GEMM && vkf__integer_dot_pays(traits, types[1], problem->m, problem->k);
    return (traits->processor ? SOFTWARE : GPU) | (traits->folds_uniform_loads ? FOLDS : 0) |
           (problem->m > 1 ? SEVERAL_ROWS : 0) | (problem->m <= FEW_ROWS_MOST ? FEW_ROWS : MANY_ROWS) |
           (problem->m <= VKF_ATTENTION_DECODE_MAX_ROWS ? FEW_QUERIES : 0) |
           (traits->matrices_prefer_half_sums ? HALF_SUMS : 0) | (keeps_cores_busy(traits, problem) ? BUSY_CORES : 0) |
           (traits->halves_outrun_floats ? FAST_HALVES : 0) | (dots ? DOTS_PAY : 0) |
           (problem->n <= 32 * caps->subgroup_size ? SHORT_ROWS : 0) |
           (problem->k >= MANY_PARTS_LEAST ? MANY_PARTS : 0) | (is_long_and_few(traits, problem) ? LONG_FEW_ROWS : 0);
}

uint32_t vkf__ladder_step_of(const vkf__kernel *kernel, uint32_t facts)
{
    uint32_t count = 0;
    const vkf__ladder_step *steps = vkf__ladder_of(kernel->op, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (steps[i].rung == kernel->rung && (steps[i].facts & ~facts) == 0)
            return i;
    }
    return count;
}

const char *vkf__fact_text(uint32_t facts)
{
#define FACT_TEXT(NAME, text) text,
    static const char *const texts[] = {FACTS(FACT_TEXT)};
    for (uint32_t i = 0; i < FACT_COUNT; i++) {
        if (facts >> i & 1)
            return texts[i];
    }
    return "always";
}

const char *vkf__rung_name(vkf__rung rung)
{
#define RUNG_NAME(NAME, name) name,
    static const char *const names[] = {VKF_RUNGS(RUNG_NAME)};
    return names[rung];
}
