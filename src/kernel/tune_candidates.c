// Judges the variants for a problem and puts them into the order in which they are measured.
#include "kernel/tune_candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/ladder.h"

// Registers that an invocation can address on every GPU that we know. Beyond them it spills; a CPU spills to its cache.
#define MAX_REGISTERS 255u
// For addresses, counters, and what the compiler needs for itself.
#define BASE_REGISTERS 24u

uint32_t vkf__estimate_registers(const vkf__config *config)
{
    uint64_t elements = (uint64_t)config->tile.side.rows * config->tile.side.columns;
    if (elements == 0 || config->local_size == 0)
        return BASE_REGISTERS;
    double sums = ceil((double)elements / config->local_size);
    double registers = BASE_REGISTERS + sums + 2 * ceil(sqrt(sums));
    return registers >= (double)UINT32_MAX ? UINT32_MAX : (uint32_t)registers;
}

// Attention without shared memory keeps its query rows and sums in registers, and the scores of a step.
static uint32_t registers_of(const vkf__kernel *kernel, const vkf__config *config, const vkf__problem *problem)
{
    if (kernel->op != VKF_OP_ATTENTION || kernel->shared_bytes || kernel->shared_bytes_here)
        return vkf__estimate_registers(config);
    const vkf__attention_tile *t = &config->tile.attention;
    uint64_t registers = BASE_REGISTERS + t->queries * (2 * (uint64_t)problem->k + t->keys);
    return registers >= UINT32_MAX ? UINT32_MAX : (uint32_t)registers;
}

// From this many unrolled multiply-adds on, older drivers for processors take many seconds to compile attention over
// device addresses. Such a kernel stands behind the others there anyway.
#define SLOW_TO_COMPILE 512u

static bool is_slow_to_compile(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                               const vkf__problem *problem)
{
    uint64_t unrolled = 2 * (uint64_t)problem->k * config->tile.side.rows * config->tile.side.columns;
    return caps->traits.compiles_unrolled_slowly && kernel->op == VKF_OP_ATTENTION &&
           kernel->operands[1] == VKF_OPERAND_ADDRESS && unrolled > SLOW_TO_COMPILE;
}

// Rounding activations for integer dot products is not left to measurements where the device's traits say that it does
// not pay: it has an error of its own.
static bool rounds_for_nothing(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__problem *problem)
{
    return kernel->rounds_rows && !vkf__integer_dot_pays(&caps->traits, kernel->types[1], problem->m, problem->k);
}

static vkf__candidate judge(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                            const vkf__problem *problem)
{
    vkf__candidate candidate = {
        .variant = {kernel, config},
        .registers = registers_of(kernel, config, problem),
    };
    candidate.shared_bytes = vkf__variant_shared_bytes(selector->caps, &candidate.variant, problem);
    candidate.taken = vkf__variant_serves(selector, kernel, config, problem, &candidate.why);
    if (candidate.taken && !selector->caps->traits.spills_to_cache && candidate.registers > MAX_REGISTERS) {
        candidate.taken = false;
        candidate.why = "would keep more in registers than there are";
    }
    if (candidate.taken && rounds_for_nothing(selector->caps, kernel, problem)) {
        candidate.taken = false;
        candidate.why = "rounds activations where that does not pay";
    }
    if (candidate.taken && is_slow_to_compile(selector->caps, kernel, config, problem)) {
        candidate.taken = false;
        candidate.why = "would take this driver many seconds to compile";
    }
    return candidate;
}

typedef struct ranked {
    vkf__candidate candidate;
    uint32_t depth; // number of this kernel's taken configs before it
    uint32_t step;  // of the ladder
    uint32_t order;
} ranked;

static int compare(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static size_t count_variants(vkf__op op, const vkf_dtype *types)
{
    size_t count = 0;
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel = vkf__kernel_next(&walk); kernel; kernel = vkf__kernel_next(&walk))
        count += vkf__kernel_is_for(kernel, op, types) ? kernel->config_count : 0;
    return count;
}

// Judges the variants of one kernel. The default comes first, then those that suit the problem, and last those not
// taken.
static void judge_kernel(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__problem *problem,
                         uint32_t order, ranked *out_list)
{
    const uint32_t facts = vkf__ladder_facts(selector->caps, kernel->op, kernel->types, problem);
    const uint32_t step = vkf__ladder_step_of(kernel, facts);
    uint32_t depth = 0;
    const vkf__config *first = vkf__kernel_default(selector, kernel, problem);
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            const vkf__config *config = &kernel->configs[c];
            const int its_pass = config == first ? 0 : vkf__config_recommended(config, problem) ? 1 : 2;
            if (its_pass != pass)
                continue;
            const vkf__candidate candidate = judge(selector, kernel, config, problem);
            out_list[c] = (ranked){candidate, candidate.taken ? depth++ : UINT32_MAX, step, order + c};
        }
    }
}

vkf_status vkf__tune_candidates(const vkf__host *host, const vkf__selector *selector, vkf__op op,
                                const vkf_dtype *types, const vkf__problem *problem, vkf__candidate **out_candidates,
                                size_t *out_count)
{
    vkf_status status = VKF_OK;
    ranked *list = NULL;
    vkf__candidate *candidates = NULL;
    size_t count = 0, variants = count_variants(op, types);
    if (variants > 0) {
        VKF_ALLOC(host, list, variants);
        VKF_ALLOC(host, candidates, variants);
    }
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel = vkf__kernel_next(&walk); variants > 0 && kernel;
         kernel = vkf__kernel_next(&walk)) {
        if (!vkf__kernel_is_for(kernel, op, types))
            continue;
        judge_kernel(selector, kernel, problem, (uint32_t)count, list + count);
        count += kernel->config_count;
    }
    if (count > 0)
        qsort(list, count, sizeof *list, compare);
    for (size_t i = 0; i < count; i++)
        candidates[i] = list[i].candidate;
    *out_candidates = candidates;
    *out_count = count;
    candidates = NULL;
fail:
    vkf__free(host, list);
    vkf__free(host, candidates);
    return status;
}
