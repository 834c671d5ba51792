// Chooses a variant: one that was asked for, else one that was measured, else the first that its operator's ladder has.
#include "kernel/select.h"

#include <math.h>
#include <string.h>

#include "base/blocks.h"
#include "kernel/ladder.h"
#include "kernel/shader_table.h"
#include "kernel/variant_name.h"
#include "vk/driver_faults.h"

static uint32_t count_operands(const vkf__kernel *kernel, vkf__operand_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->operand_count; i++)
        count += kernel->operands[i] == kind;
    return count;
}

uint32_t vkf__kernel_push_words(const vkf__kernel *kernel)
{
    uint32_t addresses = count_operands(kernel, VKF_OPERAND_ADDRESS);
    return addresses == 0 ? kernel->operand_count : (kernel->operand_count + 1) / 2 * 2 + 2 * addresses;
}

uint32_t vkf__variant_local_size(const vkf__caps *caps, const vkf__variant *variant)
{
    const vkf__config *config = variant->config;
    return config->subgroups > 0 ? config->subgroups * vkf__matrix_subgroup_size(caps) : config->local_size;
}

uint32_t vkf__variant_shared_bytes(const vkf__caps *caps, const vkf__variant *variant, const vkf__problem *problem)
{
    const vkf__kernel *kernel = variant->kernel;
    if (kernel->matrix != VKF_MATRIX_NONE && !vkf__matrix_shape_of(caps, kernel, variant->config))
        return 0;
    if (kernel->shared_bytes_here)
        return kernel->shared_bytes_here(caps, kernel, variant->config, problem);
    return kernel->shared_bytes ? kernel->shared_bytes(variant->config) : 0;
}

void vkf__variant_spec(const vkf__caps *caps, const vkf__variant *variant, const uint32_t *flags, uint32_t *out_spec)
{
    const vkf__kernel *kernel = variant->kernel;
    const vkf__matrix_shape *shape = vkf__matrix_shape_of(caps, kernel, variant->config);
    uint32_t at = 0, flags_end = kernel->spec_count - (shape ? 3 : 0);
    out_spec[at++] = vkf__variant_local_size(caps, variant);
    for (uint32_t i = 0; i < kernel->tile_count; i++)
        out_spec[at++] = variant->config->tile.values[i];
    for (; at < flags_end; at++)
        out_spec[at] = flags[at];
    if (shape) {
        out_spec[at++] = shape->m;
        out_spec[at++] = shape->n;
        out_spec[at++] = shape->k;
    }
}

// NULL when nothing is missing.
static const char *missing_feature(const vkf__caps *caps, uint32_t needs)
{
    const vkf__caps_matrix *matrix = &caps->matrix;
    const struct {
        uint32_t need;
        bool present;
        const char *why;
    } rows[] = {
        {VKF_NEEDS_STORAGE_16BIT, caps->storage_16bit, "needs 16-bit values in storage buffers"},
        {VKF_NEEDS_FLOAT16, caps->shader_float16, "needs 16-bit floats in arithmetic"},
        {VKF_NEEDS_INT64, caps->shader_int64, "needs 64-bit integers"},
        {VKF_NEEDS_INTEGER_DOT, caps->integer_dot, "needs integer dot products"},
        {VKF_NEEDS_SUBGROUP, caps->subgroup_arithmetic, "needs subgroup arithmetic"},
        {VKF_NEEDS_SHUFFLE, caps->subgroup_shuffle, "needs subgroup shuffles"},
        {VKF_NEEDS_MATRIX, matrix->cooperative_matrix, "needs cooperative matrices"},
        {VKF_NEEDS_MATRIX, caps->vulkan_memory_model && caps->shader_float16,
         "needs the Vulkan memory model and 16-bit floats in arithmetic"},
        {VKF_NEEDS_MATRIX_BF16, matrix->bfloat16, "needs cooperative matrices of bfloat16"},
        {VKF_NEEDS_MATRIX_ELEMENT, caps->api_version >= VK_API_VERSION_1_3 && caps->maintenance4,
         "needs Vulkan 1.3 with maintenance4"},
        {VKF_NEEDS_MATRIX_ELEMENT, matrix->per_element_operations,
         "needs per-element operations on cooperative matrices"},
        {VKF_NEEDS_MATRIX_REDUCTION, matrix->reductions, "needs reductions of cooperative matrices"},
        {VKF_NEEDS_MATRIX_FLEXIBLE, matrix->flexible_dimensions, "needs cooperative matrices of any size"},
        {VKF_NEEDS_MATRIX_TENSOR, matrix->workgroup_scope && matrix->tensor_addressing,
         "needs cooperative matrices of a workgroup, with tensor addressing"},
        {VKF_NEEDS_MATRIX_DECODED, matrix->block_loads, "needs cooperative matrices that are loaded in blocks"},
        {VKF_NEEDS_MATRIX_DECODED, caps->buffer_device_address, "needs buffer device addresses"},
        {VKF_NEEDS_MATRIX_CONVERSION, matrix->conversions, "needs conversions of cooperative matrices"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((needs & rows[i].need) && !rows[i].present)
            return rows[i].why;
    }
    return NULL;
}

// Whether the device can run workgroups of this many subgroups of the size that matrices are spread over.
static bool has_subgroups(const vkf__caps *caps, uint32_t subgroups)
{
    const uint32_t size = vkf__matrix_subgroup_size(caps);
    return size >= caps->min_subgroup_size && size <= caps->max_subgroup_size &&
           subgroups <= caps->max_workgroup_subgroups;
}

static const char *why_not_supported(const vkf__caps *caps, const vkf__variant *variant)
{
    const vkf__kernel *kernel = variant->kernel;
    const vkf__config *config = variant->config;
    uint32_t local_size = vkf__variant_local_size(caps, variant);
    const char *why = missing_feature(caps, kernel->needs);
    if (!vkf__shader_is_embedded(vkf__kernel_module(kernel)))
        return "is not in this build of the library (VKF_KERNELS)";
    if (!why)
        why = vkf__driver_fault_of_kernel(caps, kernel->name);
    if (why)
        return why;
    if (kernel->subgroup_size && kernel->subgroup_size(config) != caps->subgroup_size)
        return "needs another subgroup size";
    if (config->subgroups > 0 && !has_subgroups(caps, config->subgroups))
        return "needs subgroups of a size or number that the device does not have";
    if (count_operands(kernel, VKF_OPERAND_ADDRESS) > 0 && !caps->buffer_device_address)
        return "needs buffer device addresses";
    if (count_operands(kernel, VKF_OPERAND_STORAGE) > caps->max_storage_buffers)
        return "needs more storage buffers than a stage may bind";
    if (4 * vkf__kernel_push_words(kernel) > caps->max_push_constant_bytes)
        return "needs more push constants";
    if (local_size > caps->max_workgroup_invocations || local_size > caps->max_workgroup_size_x)
        return "needs a larger workgroup";
    if (kernel->valid && !kernel->valid(config))
        return "its tile parameters contradict each other";
    if (kernel->matrix != VKF_MATRIX_NONE && !vkf__lists_matrices(caps, kernel))
        return "the device lists no matrices of its type";
    if (kernel->matrix != VKF_MATRIX_NONE && !vkf__matrix_shape_of(caps, kernel, config))
        return "its tiles are no multiples of the device's matrices";
    why = kernel->unfit ? kernel->unfit(caps, config, NULL) : NULL;
    if (why)
        return why;
    if (vkf__variant_shared_bytes(caps, variant, NULL) > caps->max_shared_memory_bytes)
        return "needs more shared memory";
    return NULL;
}

bool vkf__kernel_supported(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                           const char **out_why)
{
    const char *why = why_not_supported(caps, &(vkf__variant){kernel, config});
    if (out_why)
        *out_why = why ? why : "usable";
    return why == NULL;
}

const vkf__config *vkf__kernel_supported_config(const vkf__caps *caps, const vkf__kernel *kernel, const char **out_why)
{
    for (uint32_t i = 0; i < kernel->config_count; i++) {
        if (vkf__kernel_supported(caps, kernel, &kernel->configs[i], out_why))
            return &kernel->configs[i];
    }
    return NULL;
}

uint32_t vkf__kernels_supported(const vkf__caps *caps)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        count += vkf__kernel_supported_config(caps, vkf__kernel_at(i), NULL) != NULL;
    return count;
}

// The most elements that the kernel's texel buffers may hold.
static uint64_t texel_limit(const vkf__caps *caps, const vkf__kernel *kernel)
{
    if (count_operands(kernel, VKF_OPERAND_TEXEL) > 0)
        return caps->max_texel_elements;
    return count_operands(kernel, VKF_OPERAND_TEXEL4) > 0 ? 4 * (uint64_t)caps->max_texel_elements : UINT64_MAX;
}

static uint32_t lowest_form(uint32_t forms)
{
    uint32_t form = 0;
    while (!(forms >> form & 1))
        form++;
    return form;
}

// Why a kernel does not fit the form of a problem; NULL when it does.
static const char *why_of_another_form(const vkf__kernel *kernel, const vkf__config *config,
                                       const vkf__problem *problem)
{
#define NOT_OFFERED(NAME, name, not_offered, not_given) not_offered,
#define NOT_GIVEN(NAME, name, not_offered, not_given) not_given,
    static const char *const not_offered[] = {VKF_FORMS(NOT_OFFERED)}, *const not_given[] = {VKF_FORMS(NOT_GIVEN)};
    const uint32_t shared = kernel->shares_rows && config->tile.attention.lanes > 1 ? VKF_FORM_SPLIT : 0u;
    const uint32_t missing = problem->wants & ~kernel->offers;
    const uint32_t wanted = (kernel->wants | shared) & ~(problem->wants | problem->offers);
    return missing ? not_offered[lowest_form(missing)] : wanted ? not_given[lowest_form(wanted)] : NULL;
}

// Why this problem may not be given to a supported kernel with a config; NULL when it may.
static const char *why_not_taken(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                                 const vkf__problem *problem)
{
    if (kernel->b_layouts != 0 && (kernel->b_layouts >> problem->b_layout & 1) == 0)
        return "does not read b in this layout";
    const char *why = why_of_another_form(kernel, config, problem);
    if (why)
        return why;
    if (config->max_m != 0 && problem->m > config->max_m)
        return "is limited to fewer rows";
    if (config->max_k != 0 && problem->k > config->max_k)
        return "is limited to less depth";
    if (problem->largest > texel_limit(caps, kernel))
        return "an operand exceeds what a texel buffer holds";
    if (kernel->rounds && kernel->types[0] == VKF_DTYPE_F32 && problem->precision < VKF_PRECISION_F16)
        return "rounds float32 to 16 bits, which the precision asked for does not allow";
    if (kernel->half_sums && problem->precision < VKF_PRECISION_F16_SUMS)
        return "sums in 16 bits, which the precision asked for does not allow";
    if (vkf__variant_shared_bytes(caps, &(vkf__variant){kernel, config}, problem) > caps->max_shared_memory_bytes)
        return "needs more shared memory for this problem";
    return kernel->unfit ? kernel->unfit(caps, config, problem) : NULL;
}

bool vkf__kernel_takes(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                       const vkf__problem *problem)
{
    return why_not_taken(caps, kernel, config, problem) == NULL;
}

bool vkf__config_recommended(const vkf__config *config, const vkf__problem *problem)
{
    return problem->m >= config->min_m && problem->n >= config->min_n;
}

static const char *why_quarantined(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config)
{
    return selector->verdicts ? vkf__verdict_reason(vkf__verdict_get(selector->verdicts, kernel, config)) : NULL;
}

// Whether it lost to the next one, so that it serves where it is asked for or was measured, and else as a last resort.
static bool is_outrun(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config)
{
    return selector->verdicts && vkf__race_get(selector->verdicts, kernel, config) == VKF_RACE_SLOWER;
}

bool vkf__variant_serves(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                         const vkf__problem *problem, const char **out_why)
{
    const char *why = NULL;
    if (!vkf__kernel_supported(selector->caps, kernel, config, &why))
        goto done;
    why = why_not_taken(selector->caps, kernel, config, problem);
    if (why)
        goto done;
    why = why_quarantined(selector, kernel, config);
done:
    if (out_why)
        *out_why = why ? why : "usable";
    return why == NULL;
}

// Whether it takes the problem, whatever was found out about it.
static bool takes_whatever_was_found(const vkf__selector *selector, const vkf__kernel *kernel,
                                     const vkf__config *config, const vkf__problem *problem)
{
    return vkf__kernel_supported(selector->caps, kernel, config, NULL) &&
           vkf__kernel_takes(selector->caps, kernel, config, problem);
}

// Whether its verdict is one that expires.
static bool is_suspected(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config)
{
    const vkf__verdict verdict =
        selector->verdicts ? vkf__verdict_get(selector->verdicts, kernel, config) : VKF_VERDICT_UNKNOWN;
    return verdict == VKF_VERDICT_SLOW || verdict == VKF_VERDICT_STARTED;
}

static bool is_quarantined(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                           const vkf__problem *problem)
{
    return why_quarantined(selector, kernel, config) && !is_suspected(selector, kernel, config) &&
           takes_whatever_was_found(selector, kernel, config, problem);
}

static const vkf__tuned_entry *select_tuned(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                                            const vkf__problem *problem, vkf__variant *out_variant)
{
    const vkf__tuned_entry *entry = selector->tuned ? vkf__tuned_find(selector->tuned, op, types, problem) : NULL;
    if (!entry)
        return NULL;
    const vkf__kernel *kernel = vkf__kernel_at(entry->kernel);
    const vkf__config *config = &kernel->configs[entry->config];
    if (!vkf__variant_serves(selector, kernel, config, problem, NULL))
        return NULL;
    *out_variant = (vkf__variant){kernel, config};
    return entry;
}

typedef bool (*serves_fn)(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                          const vkf__problem *problem);

static bool serves(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                   const vkf__problem *problem)
{
    return vkf__variant_serves(selector, kernel, config, problem, NULL);
}

static bool has_registers_for(const vkf__traits *traits, const vkf__config *config)
{
    const uint32_t most = config->max_registers > 0 ? config->max_registers : UINT32_MAX;
    return traits->registers >= config->min_registers && traits->registers <= most;
}

static bool serves_by_default(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                              const vkf__problem *problem)
{
    return !is_outrun(selector, kernel, config) && has_registers_for(&selector->caps->traits, config) &&
           serves(selector, kernel, config, problem);
}

uint32_t vkf__selector_cores(const vkf__selector *selector)
{
    const uint32_t told = selector->caps->traits.cores;
    return selector->cores > 0 ? selector->cores : told > 0 ? told : 1;
}

// What a tile loads for a multiply-add, in numbers, and the multiply-adds that hide the load of one.
#define LOADS_HIDDEN 16.0
// The multiply-adds by matrices in the time that one number takes from shared memory. Loops of subgroups with 16 by 16
// results reach half of what those with 32 by 32 reach, and more results gain no more (docs/vendors.md).
#define SHARED_LOADS_HIDDEN 16.0
// Beyond all costs of tiles that keep the cores busy.
#define IDLE_CORES 1e30
// A core is busy with this part of the subgroups that it holds: the others then work while some wait. The estimates of
// `vkformer plan` have the same part, which was fitted to published measurements.
#define BUSY_PART 8

// The part of a core that `workgroups` in turn keep busy, up to 1.
static double busy_part(const vkf__caps *caps, uint32_t local_size, double workgroups)
{
    const double room = (double)caps->core_subgroups * caps->subgroup_size;
    const double busy = workgroups * local_size * BUSY_PART;
    return room > busy ? busy / room : 1;
}

// How much slower a subgroup's matrices are fed from shared memory than they multiply. Those of a whole workgroup are
// fed by the driver.
static double shared_loads(const vkf__kernel *kernel, const vkf__gemm_tile *tile)
{
    if (!(kernel->needs & VKF_NEEDS_MATRIX) || tile->thread_m == 0)
        return 1;
    return fmax(1, SHARED_LOADS_HIDDEN * (1.0 / tile->thread_m + 1.0 / tile->thread_n));
}

// Without matrices a workgroup loads and multiplies in turn, and another one beside it does what it does not. All that
// is known of a core's shared memory is what one workgroup may have. Kernels by matrices load ahead.
static double turns(const vkf__caps *caps, const vkf__variant *variant, const vkf__problem *problem)
{
    const bool ahead = variant->kernel->needs & VKF_NEEDS_MATRIX;
    const uint64_t two = 2 * (uint64_t)vkf__variant_shared_bytes(caps, variant, problem);
    return !ahead && two > caps->max_shared_memory_bytes ? 2 : 1;
}

// The part of the bytes of b that a core has to wait for at once which is missing where each core has `workgroups`. A
// workgroup waits for a step of each of its invocations, and for no more than all of its columns.
static double missing_loads(const vkf__caps *caps, const vkf__variant *variant, const vkf__problem *problem,
                            double workgroups)
{
    const vkf__gemm_tile *t = &variant->config->tile.gemm;
    const double step = (double)vkf__variant_local_size(caps, variant) * t->k * t->thread_n;
    const double bytes = fmin(step, (double)t->n * problem->k) * vkf__element_bytes(variant->kernel->types[1]);
    return fmax(0, 1 - workgroups * bytes / caps->traits.core_bytes_in_flight);
}

double vkf__config_time(const vkf__selector *selector, const vkf__variant *variant, const vkf__problem *problem)
{
    const uint32_t local_size = vkf__variant_local_size(selector->caps, variant);
    const vkf__gemm_tile *t = &variant->config->tile.gemm;
    const uint64_t workgroups = vkf__config_workgroups(variant->config, problem);
    const uint64_t cores = vkf__selector_cores(selector);
    const double waves = (double)((workgroups + cores - 1) / cores), loads = 1.0 / t->m + 1.0 / t->n;
    const double area_cost = (double)t->m * t->n * (1 + LOADS_HIDDEN * loads) * shared_loads(variant->kernel, t);
    return waves * area_cost * turns(selector->caps, variant, problem) / busy_part(selector->caps, local_size, waves);
}

double vkf__config_cost(const vkf__selector *selector, const vkf__kernel *kernel, const vkf__config *config,
                        const vkf__problem *problem)
{
    const vkf__variant variant = {kernel, config};
    const vkf__gemm_tile *t = &config->tile.gemm;
    const uint64_t workgroups = vkf__config_workgroups(config, problem), cores = vkf__selector_cores(selector);
    const double per_core = (double)workgroups / (double)cores;
    if (config->max_m > 0 || kernel->walks_columns)
        return (per_core < 1 ? 2 - per_core : 0) + missing_loads(selector->caps, &variant, problem, per_core);
    if (workgroups < cores)
        return IDLE_CORES + (double)t->m * t->n * (IDLE_CORES * 1e-6);
    return vkf__config_time(selector, &variant, problem);
}

// The best of a kernel's configs that may serve and whose names begin with `name`; NULL: there is none. On a GPU these
// are first its tiles among which the cores decide. Else it is the first that suits the problem, or else the first.
static const vkf__config *best_config(const vkf__selector *selector, const vkf__kernel *kernel,
                                      const vkf__problem *problem, const char *name, serves_fn may_serve)
{
    const vkf__traits *traits = &selector->caps->traits;
    const vkf__config *best = NULL;
    bool best_by_cores = false;
    double best_cost = 0;
    for (uint32_t c = 0; c < kernel->config_count; c++) {
        const vkf__config *config = &kernel->configs[c];
        const bool by_cores = config->by_cores && !traits->processor;
        const double cost = by_cores ? vkf__config_cost(selector, kernel, config, problem)
                            : vkf__config_recommended(config, problem) ? 0
                                                                       : 1;
        const bool better = !best || (by_cores != best_by_cores ? by_cores : cost < best_cost);
        if (!better || !vkf__variant_is_named(kernel, config, name) || !may_serve(selector, kernel, config, problem))
            continue;
        best = config;
        best_by_cores = by_cores;
        best_cost = cost;
    }
    return best;
}

// Takes a variant whose name begins with `name` from the first step of the ladder that has one. Of equals it takes the
// first that suits, or else the first. Returns the step, or NO_STEP.
#define NO_STEP UINT32_MAX
static uint32_t select_from_ladder(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                                   const vkf__problem *problem, const char *name, serves_fn may_serve,
                                   vkf__variant *out_variant)
{
    const uint32_t facts = vkf__ladder_facts(selector->caps, op, types, problem);
    uint32_t best = UINT32_MAX;
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel = vkf__kernel_next(&walk); kernel; kernel = vkf__kernel_next(&walk)) {
        if (!vkf__kernel_is_for(kernel, op, types))
            continue;
        // The lowest bit tells configs of the same step apart: those that suit the problem come first.
        uint32_t place = 2 * vkf__ladder_step_of(kernel, facts);
        if (place >= best)
            continue;
        const vkf__config *config = best_config(selector, kernel, problem, name, may_serve);
        if (!config)
            continue;
        const bool by_cores = config->by_cores && !selector->caps->traits.processor;
        place += by_cores || vkf__config_recommended(config, problem) ? 0 : 1;
        if (place >= best)
            continue;
        best = place;
        *out_variant = (vkf__variant){kernel, config};
    }
    return best == UINT32_MAX ? NO_STEP : best / 2;
}

// A slow variant is better than none, and the least slow one of these is the best. A variant that others did not come
// back from is tested again before it is used (vkf__verdict_is_due()).
static bool select_least_slow(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                              const vkf__problem *problem, vkf__variant *out_variant)
{
    double least = HUGE_VAL;
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel = vkf__kernel_next(&walk); kernel; kernel = vkf__kernel_next(&walk)) {
        if (!vkf__kernel_is_for(kernel, op, types))
            continue;
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            const vkf__config *config = &kernel->configs[c];
            if (!is_suspected(selector, kernel, config) || !takes_whatever_was_found(selector, kernel, config, problem))
                continue;
            const double slowness = vkf__verdict_slowness(selector->verdicts, kernel, config);
            if (slowness >= least)
                continue;
            least = slowness;
            *out_variant = (vkf__variant){kernel, config};
        }
    }
    return least < HUGE_VAL;
}

const vkf__config *vkf__kernel_default(const vkf__selector *selector, const vkf__kernel *kernel,
                                       const vkf__problem *problem)
{
    return best_config(selector, kernel, problem, "", serves_by_default);
}

static bool select_forced(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                          const vkf__problem *problem, vkf__variant *out_variant)
{
    return selector->forced &&
           select_from_ladder(selector, op, types, problem, selector->forced, serves, out_variant) != NO_STEP;
}

bool vkf__select(const vkf__selector *selector, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                 vkf__variant *out_variant, const char **out_why)
{
    const char *why = NULL;
    if (select_forced(selector, op, types, problem, out_variant))
        why = "asked for";
    else if (select_tuned(selector, op, types, problem, out_variant))
        why = "measured on this device";
    else if (select_from_ladder(selector, op, types, problem, "", serves_by_default, out_variant) != NO_STEP)
        why = "the default for a device with these traits";
    else if (selector->verdicts && select_from_ladder(selector, op, types, problem, "", serves, out_variant) != NO_STEP)
        why = "no default of this device, but there is no other";
    else if (select_least_slow(selector, op, types, problem, out_variant))
        why = "slow, but there is no other";
    if (why && out_why)
        *out_why = why;
    return why != NULL;
}

uint32_t vkf__select_rank(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                          const vkf__problem *problem)
{
    vkf__variant variant;
    if (select_forced(selector, op, types, problem, &variant))
        return 0;
    const vkf__tuned_entry *entry = select_tuned(selector, op, types, problem, &variant);
    if (entry)
        return vkf__tuned_best_layout(selector->tuned, entry) ? 1 : 2;
    const uint32_t step = select_from_ladder(selector, op, types, problem, "", serves_by_default, &variant);
    return step == NO_STEP ? UINT32_MAX : 3 + step;
}

bool vkf__select_quarantined(const vkf__selector *selector, vkf__op op, const vkf_dtype *types,
                             const vkf__problem *problem, vkf__variant *out_variant)
{
    return select_from_ladder(selector, op, types, problem, "", is_quarantined, out_variant) != NO_STEP;
}
