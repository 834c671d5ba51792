// Each unit of a core works beside the others, with turns of many subgroups at a time: the one that a turn keeps
// busy the longest binds. This is the best that a loop can reach: nothing misses a cache, and no banks conflict.
#include "lab/shaders/loop_reach.h"

static double over(double amount, double rate)
{
    return rate > 0 ? amount / rate : 0;
}

static bool has_units(const loop_figures *figures, const chip_rates *rates)
{
    for (size_t u = 0; u < ASM_UNIT_COUNT; u++) {
        if (figures->multiply_adds[u] > 0 && rates->multiply_adds[u] <= 0)
            return false;
    }
    return loop_multiply_adds(figures) > 0;
}

static bool is_matrix(size_t unit)
{
    return unit == ASM_UNIT_MATRIX || unit == ASM_UNIT_MATRIX_F16 || unit == ASM_UNIT_MATRIX_I8;
}

static double multiply_clocks(const loop_figures *figures, const chip_rates *rates)
{
    double clocks = 0;
    for (size_t u = 0; u < ASM_UNIT_COUNT; u++)
        clocks += over(figures->multiply_adds[u], rates->multiply_adds[u]);
    return clocks;
}

// Invocations for which a unit's instructions are issued in a clock. A subgroup of 64 issues float32 multiply-adds at
// the full rate where the chip has more units than lanes; one of 32 does so only where the compiler pairs them, and a
// pair is one instruction. Adreno multiplies halves one by one, and issues as many of them as it multiplies.
static double issue_rate(const loop_figures *figures, const chip_rates *rates, size_t unit)
{
    const double peak = rates->multiply_adds[unit];
    const bool paired = unit == ASM_UNIT_FMA && figures->subgroup == 64;
    const bool single = unit == ASM_UNIT_PACKED && figures->multiply_adds[unit] <= figures->fma_issues[unit];
    return (paired || single) && peak > rates->lanes ? peak : rates->lanes;
}

static double issue_clocks(const loop_figures *figures, const chip_rates *rates)
{
    uint32_t others = 0;
    double clocks = 0;
    for (size_t k = 0; k < ASM_KIND_COUNT; k++)
        others += k != ASM_HINT && k != ASM_MATRIX && k != ASM_FMA ? figures->counts[k] : 0;
    for (size_t u = 0; u < ASM_UNIT_COUNT; u++) {
        if (is_matrix(u))
            clocks += rates->matrix_issues ? over(figures->multiply_adds[u], rates->multiply_adds[u]) : 0;
        else
            clocks += figures->fma_issues[u] / issue_rate(figures, rates, u);
    }
    return clocks + (others - figures->scalar) / rates->lanes;
}

// So often a subgroup waits for loads in a turn; all subgroups of a core wait at the same time.
static double latency_clocks(const loop_figures *figures, const chip_rates *rates, int64_t waves)
{
    const uint32_t loads = figures->counts[ASM_GLOBAL_LOAD];
    if (waves <= 0 || rates->waves <= 0 || loads == 0 || figures->feed_in_flight == 0)
        return 0;
    const uint32_t rounds = (loads + figures->feed_in_flight - 1) / figures->feed_in_flight;
    return rounds * rates->latency / ((double)waves * rates->waves * figures->subgroup);
}

static double delay_clocks(const loop_figures *figures, const chip_rates *rates, int64_t waves)
{
    return waves > 0 && rates->waves > 0 ? figures->delay / ((double)waves * rates->waves * figures->subgroup) : 0;
}

// What a loop finds in shared memory and does not put there is not what it loads.
static bool shares_what_it_loads(const loop_figures *figures)
{
    return figures->shared_store_bytes > 0;
}

bool loop_reach_of(const loop_figures *figures, const chip_rates *rates, int64_t waves, loop_reach *out_reach)
{
    *out_reach = (loop_reach){0};
    if (!has_units(figures, rates))
        return false;
    double *clocks = out_reach->clocks;
    clocks[LOOP_BOUND_MULTIPLY] = multiply_clocks(figures, rates);
    clocks[LOOP_BOUND_MEMORY] = shares_what_it_loads(figures) ? 0 : over(figures->load_bytes, rates->memory_bytes);
    clocks[LOOP_BOUND_SHARED] =
        over((double)figures->shared_load_bytes + figures->shared_store_bytes, rates->shared_bytes);
    clocks[LOOP_BOUND_ISSUE] = issue_clocks(figures, rates);
    clocks[LOOP_BOUND_TRANSCENDENTAL] = over(figures->counts[ASM_TRANSCENDENTAL], rates->transcendentals);
    clocks[LOOP_BOUND_LOAD] = over(figures->load_bytes, rates->load_bytes);
    clocks[LOOP_BOUND_LATENCY] = latency_clocks(figures, rates, waves);
    clocks[LOOP_BOUND_DELAY] = delay_clocks(figures, rates, waves);
    for (loop_bound b = 0; b < LOOP_BOUND_COUNT; b++) {
        if (clocks[b] > clocks[out_reach->bound] * (1 + 1e-9))
            out_reach->bound = b;
    }
    const double roof = clocks[LOOP_BOUND_MEMORY] > clocks[LOOP_BOUND_MULTIPLY] ? clocks[LOOP_BOUND_MEMORY]
                                                                                : clocks[LOOP_BOUND_MULTIPLY];
    out_reach->share = roof / clocks[out_reach->bound];
    out_reach->multiply_adds = loop_multiply_adds(figures) / clocks[out_reach->bound];
    return true;
}

const char *loop_bound_name(loop_bound bound)
{
    static const char *const names[] = {
        [LOOP_BOUND_MULTIPLY] = "multiply-adds", [LOOP_BOUND_MEMORY] = "memory",
        [LOOP_BOUND_SHARED] = "shared memory",   [LOOP_BOUND_ISSUE] = "issue",
        [LOOP_BOUND_TRANSCENDENTAL] = "exp2",    [LOOP_BOUND_LOAD] = "loads",
        [LOOP_BOUND_LATENCY] = "latency",        [LOOP_BOUND_DELAY] = "delays",
    };
    return names[bound];
}
