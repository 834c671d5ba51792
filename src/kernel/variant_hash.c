// Hashes variants, and finds them by name.
#include "kernel/variant_hash.h"

#include <string.h>

#include "base/hash.h"
#include "kernel/shader_table.h"

uint64_t vkf__variant_hash(const vkf__kernel *kernel, const vkf__config *config)
{
    const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(kernel));
    if (!shader)
        return 0;
    uint64_t hash = vkf__hash(VKF_HASH_SEED, &shader->hash, sizeof shader->hash);
    hash = vkf__hash(hash, &config->local_size, sizeof config->local_size);
    return vkf__hash(hash, config->tile.values, sizeof config->tile.values);
}

static bool is_name(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

bool vkf__variant_named(const char *name, size_t length, const vkf__kernel **out_kernel, const vkf__config **out_config)
{
    const char *slash = memchr(name, '/', length);
    if (!slash)
        return false;
    size_t kernel_length = (size_t)(slash - name);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        if (!is_name(name, kernel_length, kernel->name))
            continue;
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            if (is_name(slash + 1, length - kernel_length - 1, kernel->configs[c].name)) {
                *out_kernel = kernel;
                *out_config = &kernel->configs[c];
                return true;
            }
        }
    }
    return false;
}
