#include "kernel/select.h"

#include <string.h>

bool vkf__kernel_usable(const vkf__caps *caps, const vkf__kernel *kernel, const vkf__config *config,
                        const char **out_why)
{
    const char *why = "usable";
    bool usable = false;
    if (kernel->needs_storage_16bit && !caps->storage_16bit)
        why = "needs 16-bit values in storage buffers";
    else if (kernel->storage_count > caps->max_storage_buffers)
        why = "needs more storage buffers than a stage may bind";
    else if (4 * kernel->storage_count > caps->max_push_constant_bytes)
        why = "needs more push constants";
    else if (config->local_size > caps->max_workgroup_invocations || config->local_size > caps->max_workgroup_size_x)
        why = "needs a larger workgroup";
    else if (kernel->shared_bytes && kernel->shared_bytes(config) > caps->max_shared_memory_bytes)
        why = "needs more shared memory";
    else if (kernel->valid && !kernel->valid(config))
        why = "its tile parameters contradict each other";
    else
        usable = true;
    if (out_why)
        *out_why = why;
    return usable;
}

static bool config_fits(const vkf__config *config, const vkf__problem *problem)
{
    return (config->max_m == 0 || problem->m <= config->max_m) && problem->m >= config->min_m &&
           problem->n >= config->min_n;
}

bool vkf__select(const vkf__caps *caps, const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                 const vkf__problem *problem, vkf__variant *out_variant)
{
    const vkf__tuned_entry *entry = tuned ? vkf__tuned_find(tuned, op, types, problem) : NULL;
    if (entry) {
        const vkf__kernel *kernel = &vkf__kernels[entry->kernel];
        if (vkf__kernel_usable(caps, kernel, &kernel->configs[entry->config], NULL)) {
            *out_variant = (vkf__variant){kernel, &kernel->configs[entry->config]};
            return true;
        }
    }
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        const vkf__kernel *kernel = &vkf__kernels[i];
        if (kernel->op != op || memcmp(kernel->types, types, kernel->type_count * sizeof types[0]) != 0)
            continue;
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            const vkf__config *config = &kernel->configs[c];
            if (config_fits(config, problem) && vkf__kernel_usable(caps, kernel, config, NULL)) {
                *out_variant = (vkf__variant){kernel, config};
                return true;
            }
        }
    }
    return false;
}
