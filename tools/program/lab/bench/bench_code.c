// Compares the code of two contexts by looking into their pipelines.
#include "lab/bench/bench_code.h"

#include <stdio.h>
#include <string.h>

#include "kernel/context.h"

void vkf_bench_code_begin(vkf_context *context)
{
    for (size_t i = 0; i < context->pipelines.count; i++)
        context->pipelines.entries[i]->taken = NULL;
}

// Keeps names sorted and unique, because the order in which pipelines were made means nothing.
static void add_name(json_t *names, const vkf__kernel *kernel, const vkf__config *config)
{
    char name[160];
    snprintf(name, sizeof name, "%s/%s", kernel->name, config->name);
    size_t index = 0;
    while (index < json_array_size(names) && strcmp(json_string_value(json_array_get(names, index)), name) < 0)
        index++;
    const char *known = json_string_value(json_array_get(names, index));
    if (!known || strcmp(known, name) != 0)
        json_array_insert_new(names, index, json_string(name));
}

json_t *vkf_bench_code_taken(const vkf_context *context)
{
    json_t *names = json_array();
    for (size_t i = 0; i < context->pipelines.count; i++) {
        const vkf__pipeline *pipeline = context->pipelines.entries[i];
        if (pipeline->taken)
            add_name(names, pipeline->kernel, pipeline->taken);
    }
    return names;
}

json_t *vkf_bench_code_embedded(const vkf_context *context)
{
    json_t *names = json_array();
    for (size_t i = 0; i < context->pipelines.count; i++) {
        const vkf__pipeline *pipeline = context->pipelines.entries[i];
        if (pipeline->taken && (pipeline->kernel->needs & VKF_NEEDS_MATRIX))
            add_name(names, pipeline->kernel, pipeline->taken);
    }
    return names;
}

// False when there is no pipeline of that kernel, or one made of other code.
static bool made_of(const vkf__pipelines *pipelines, const vkf__kernel *kernel, uint64_t spirv_hash)
{
    bool found = false;
    for (size_t i = 0; i < pipelines->count; i++) {
        if (pipelines->entries[i]->kernel != kernel)
            continue;
        found = true;
        if (pipelines->entries[i]->spirv_hash != spirv_hash)
            return false;
    }
    return found;
}

static bool taken_are_in(const vkf_context *context, const vkf_context *other)
{
    for (size_t i = 0; i < context->pipelines.count; i++) {
        const vkf__pipeline *pipeline = context->pipelines.entries[i];
        if (pipeline->taken && !made_of(&other->pipelines, pipeline->kernel, pipeline->spirv_hash))
            return false;
    }
    return true;
}

bool vkf_bench_code_same(const vkf_context *old, const vkf_context *edited)
{
    return taken_are_in(old, edited) && taken_are_in(edited, old);
}

json_t *vkf_bench_code_refused(const vkf_context *old, const vkf_context *edited)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            const vkf__config *config = &kernel->configs[c];
            if (vkf__verdict_bad(vkf__verdict_get(&edited->learned.verdicts, kernel, config)) &&
                !vkf__verdict_bad(vkf__verdict_get(&old->learned.verdicts, kernel, config)))
                add_name(names, kernel, config);
        }
    }
    return names;
}
