// Makes pipelines and their layouts, and finds those that were made before.
#include "kernel/pipeline.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/parallel.h"
#include "kernel/shader_table.h"
#include "kernel/spirv_rounding.h"
#include "shared/types.h"

static VkDescriptorType descriptor_type(vkf__operand_kind kind)
{
    bool texel = kind == VKF_OPERAND_TEXEL || kind == VKF_OPERAND_TEXEL4 || kind == VKF_OPERAND_VALUES;
    return texel ? VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

static vkf_status make_set_layout(vkf__device *device, const vkf__kernel *kernel, VkDescriptorSetLayout *out_set)
{
    vkf_status status = VKF_OK;
    VkDescriptorSetLayoutBinding bindings[VKF_KERNEL_MAX_OPERANDS + 1] = {
        {.binding = VKF_BINDING_PARAMS,
         .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
         .descriptorCount = 1,
         .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT},
    };
    uint32_t count = 1;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        if (kernel->operands[i] == VKF_OPERAND_ADDRESS)
            continue;
        bindings[count++] = (VkDescriptorSetLayoutBinding){
            .binding = 1 + i,
            .descriptorType = descriptor_type(kernel->operands[i]),
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateDescriptorSetLayout(device->handle, &info, NULL, out_set), out_set);
    vkf__device_name(device, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, (uint64_t)*out_set, "vkformer set layout");
fail:
    return status;
}

static vkf_status make_layout(vkf__device *device, const vkf__kernel *kernel, vkf__layout *layout)
{
    vkf_status status = VKF_OK;
    VKF_TRY(make_set_layout(device, kernel, &layout->set));
    const VkPushConstantRange push = {
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        .size = 4 * vkf__kernel_push_words(kernel),
    };
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &layout->set,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    VKF_VK_CREATE(device, device->vk.vkCreatePipelineLayout(device->handle, &info, NULL, &layout->handle),
                  &layout->handle);
    vkf__device_name(device, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)layout->handle, "vkformer layout");
fail:
    return status;
}

static void destroy_layout(vkf__device *device, vkf__layout *layout)
{
    if (layout->handle != VK_NULL_HANDLE)
        device->vk.vkDestroyPipelineLayout(device->handle, layout->handle, NULL);
    if (layout->set != VK_NULL_HANDLE)
        device->vk.vkDestroyDescriptorSetLayout(device->handle, layout->set, NULL);
    *layout = (vkf__layout){0};
}

static vkf_status get_layout(vkf__pipelines *pipelines, const vkf__kernel *kernel, const vkf__layout **out_layout)
{
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < pipelines->layout_count; i++) {
        const vkf__layout *layout = &pipelines->layouts[i];
        if (layout->operand_count == kernel->operand_count &&
            memcmp(layout->operands, kernel->operands, sizeof layout->operands) == 0) {
            *out_layout = layout;
            return VKF_OK;
        }
    }
    // The rows of the registry bind in fewer ways than there is room for; a test makes sure of it.
    assert(pipelines->layout_count < VKF_MAX_LAYOUTS);
    vkf__layout *layout = &pipelines->layouts[pipelines->layout_count];
    VKF_TRY(make_layout(device, kernel, layout));
    layout->operand_count = kernel->operand_count;
    memcpy(layout->operands, kernel->operands, sizeof layout->operands);
    pipelines->layout_count++;
    *out_layout = layout;
    return VKF_OK;
fail:
    destroy_layout(device, layout);
    return status;
}

vkf_status vkf__pipelines_init(vkf__pipelines *pipelines, vkf__device *device, VkPipelineCache cache,
                               const char *shader_dir)
{
    vkf_status status = VKF_OK;
    *pipelines = (vkf__pipelines){.device = device, .cache = cache};
    if (pthread_mutex_init(&pipelines->lock, NULL) != 0) {
        status = vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "pipelines: the system has no mutex left");
        goto fail;
    }
    pipelines->lock_ready = true;
    if (shader_dir) {
        VKF_TRY(vkf__glsl_open(device->host, &pipelines->glsl));
        pipelines->shader_dir = vkf__strdup(device->host, shader_dir);
        if (!pipelines->shader_dir) {
            status = vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "pipelines: no host memory");
            goto fail;
        }
    }
    return VKF_OK;
fail:
    vkf__pipelines_finish(pipelines);
    return status;
}

void vkf__pipelines_finish(vkf__pipelines *pipelines)
{
    vkf__device *device = pipelines->device;
    if (!device)
        return;
    for (size_t i = 0; i < pipelines->count; i++) {
        device->vk.vkDestroyPipeline(device->handle, pipelines->entries[i]->handle, NULL);
        vkf__free(device->host, pipelines->entries[i]);
    }
    vkf__free(device->host, pipelines->entries);
    for (size_t i = 0; i < pipelines->layout_count; i++)
        destroy_layout(device, &pipelines->layouts[i]);
    if (pipelines->cache != VK_NULL_HANDLE)
        device->vk.vkDestroyPipelineCache(device->handle, pipelines->cache, NULL);
    vkf__free(device->host, pipelines->shader_dir);
    vkf__glsl_close(&pipelines->glsl);
    if (pipelines->lock_ready)
        pthread_mutex_destroy(&pipelines->lock);
    *pipelines = (vkf__pipelines){0};
}

VkPipelineCreateFlags vkf__pipelines_flags(const vkf__pipelines *pipelines)
{
    if (!pipelines->device->plan.enabled.pipeline_executable_info)
        return 0;
    return VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
           (pipelines->capture_representations ? VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR : 0U);
}

vkf_status vkf__module_make(vkf__device *device, const uint32_t *words, size_t size_bytes, const char *name,
                            VkShaderModule *out_module)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = size_bytes,
        .pCode = words,
    };
    VkShaderModule module = VK_NULL_HANDLE;
    VKF_VK_OR_RETURN(device, device->vk.vkCreateShaderModule(device->handle, &info, NULL, &module));
    vkf__device_name(device, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, name);
    *out_module = module;
    return VKF_OK;
}

static vkf_status make_module(vkf__pipelines *pipelines, vkf__pipeline *pipeline, VkShaderModule *out_module)
{
    const vkf__kernel *kernel = pipeline->kernel;
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    uint32_t *words = NULL;
    const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(kernel));
    if (!shader)
        return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED, "kernel %s is not in this build",
                         vkf__kernel_module(kernel));
    size_t size_bytes = (size_t)shader->word_count * 4;
    // The compiler in the plug-in may not know the extensions that these kernels use.
    bool embedded = kernel->needs & VKF_NEEDS_MATRIX;
    if (pipelines->shader_dir && embedded)
        vkf__log(device->host, VKF_SEVERITY_DEBUG, "kernel %s: the embedded module is taken in place of shader_dir's",
                 kernel->name);
    if (pipelines->shader_dir && !embedded)
        VKF_TRY(vkf__glsl_compile(device->host, &pipelines->glsl, pipelines->shader_dir, shader->source,
                                  shader->defines, &words, &size_bytes));
    else
        VKF_TRY(vkf__shader_words(device->host, shader, &words));
    if (device->plan.enabled.round_to_even_16)
        VKF_TRY(vkf__spirv_round_to_even(device->host, device->plan.caps.rounds_all_widths, &words, &size_bytes));
    VKF_TRY(vkf__module_make(device, words, size_bytes, kernel->name, out_module));
    pipeline->spirv_bytes = (uint32_t)size_bytes;
    pipeline->spirv_hash = vkf__hash(VKF_HASH_SEED, words, size_bytes);
fail:
    vkf__free(device->host, words);
    return status;
}

// Cooperative matrices are spread over whole subgroups, so the pipeline requires full subgroups of one size.
static void ask_for_subgroups(const vkf__device *device, const vkf__kernel *kernel,
                              VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *size,
                              VkPipelineShaderStageCreateInfo *stage)
{
    if ((kernel->needs & VKF_NEEDS_MATRIX) == 0)
        return;
    *size = (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = vkf__matrix_subgroup_size(&device->plan.caps),
    };
    if (device->plan.enabled.subgroup_size_control)
        stage->pNext = size;
    if (device->plan.enabled.compute_full_subgroups)
        stage->flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
}

// Drivers give any result for code that their compiler cannot take.
static vkf_status driver_compiles(vkf__device *device, const vkf__kernel *kernel, VkResult result)
{
    vkf_status status = vkf__device_status(device, result, kernel->name);
    return status == VKF_ERROR_VULKAN ? VKF_ERROR_SHADER : status;
}

// A pipeline on its way: what only the caller's thread may do lies before and behind the driver's compilation.
typedef struct making {
    vkf__pipelines *pipelines;
    vkf__pipeline *entry;
    size_t want; // its place in the list of what was asked for
    VkShaderModule module;
    VkResult result;
} making;

static vkf_status prepare(making *m)
{
    VKF_RETURN_IF_ERROR(get_layout(m->pipelines, m->entry->kernel, &m->entry->layout));
    return make_module(m->pipelines, m->entry, &m->module);
}

// Runs on any thread: it calls the driver alone.
static void compile(void *user, size_t index)
{
    making *m = (making *)user + index;
    const vkf__kernel *kernel = m->entry->kernel;
    vkf__device *device = m->pipelines->device;
    VkSpecializationMapEntry entries[VKF_KERNEL_MAX_SPEC];
    for (uint32_t i = 0; i < kernel->spec_count; i++)
        entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
    VkSpecializationInfo specialization = {
        .mapEntryCount = kernel->spec_count,
        .pMapEntries = entries,
        .dataSize = (size_t)4 * kernel->spec_count,
        .pData = m->entry->spec,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = vkf__pipelines_flags(m->pipelines),
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = m->module,
                  .pName = "main",
                  .pSpecializationInfo = &specialization},
        .layout = m->entry->layout->handle,
    };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup_size;
    ask_for_subgroups(device, kernel, &subgroup_size, &info.stage);
    m->result =
        device->vk.vkCreateComputePipelines(device->handle, m->pipelines->cache, 1, &info, NULL, &m->entry->handle);
}

static vkf_status keep_entry(making *m)
{
    vkf__device *device = m->pipelines->device;
    if (m->result != VK_SUCCESS)
        m->entry->handle = VK_NULL_HANDLE; // undefined after a failure
    VKF_RETURN_IF_ERROR(driver_compiles(device, m->entry->kernel, m->result));
    vkf__device_name(device, VK_OBJECT_TYPE_PIPELINE, (uint64_t)m->entry->handle, m->entry->kernel->name);
    m->pipelines->entries[m->pipelines->count++] = m->entry;
    m->entry = NULL;
    return VKF_OK;
}

static void drop_making(making *m)
{
    vkf__device *device = m->pipelines->device;
    if (m->module != VK_NULL_HANDLE)
        device->vk.vkDestroyShaderModule(device->handle, m->module, NULL);
    vkf__free(device->host, m->entry);
}

static vkf__pipeline *find_locked(const vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec)
{
    for (size_t i = 0; i < pipelines->count; i++) {
        vkf__pipeline *entry = pipelines->entries[i];
        if (entry->kernel == kernel && memcmp(entry->spec, spec, 4 * (size_t)kernel->spec_count) == 0)
            return entry;
    }
    return NULL;
}

bool vkf__pipelines_have(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec)
{
    pthread_mutex_lock(&pipelines->lock);
    const bool have = find_locked(pipelines, kernel, spec) != NULL;
    pthread_mutex_unlock(&pipelines->lock);
    return have;
}

// Fills in what is to be made: pipelines that are neither there nor named before.
static vkf_status list_missing(vkf__pipelines *pipelines, const vkf__pipeline_want *wants, size_t count, making *list,
                               size_t *out_missing)
{
    for (size_t i = 0; i < count; i++) {
        const vkf__kernel *kernel = wants[i].kernel;
        bool known = find_locked(pipelines, kernel, wants[i].spec) != NULL;
        for (size_t j = 0; j < *out_missing && !known; j++)
            known = list[j].entry->kernel == kernel &&
                    memcmp(list[j].entry->spec, wants[i].spec, 4 * (size_t)kernel->spec_count) == 0;
        if (known)
            continue;
        making *m = &list[*out_missing];
        m->pipelines = pipelines;
        m->want = i;
        VKF_ALLOC_OR_RETURN(pipelines->device->host, m->entry, 1);
        m->entry->kernel = kernel;
        memcpy(m->entry->spec, wants[i].spec, 4 * (size_t)kernel->spec_count);
        (*out_missing)++;
        VKF_RETURN_IF_ERROR(prepare(m));
    }
    return VKF_OK;
}

vkf_status vkf__pipelines_tell(const vkf__pipelines *pipelines, size_t done, size_t total, const char *what)
{
    const vkf_progress_fn progress = pipelines->progress;
    return !progress || progress(pipelines->progress_user, (uint32_t)done, (uint32_t)total, what) ? VKF_OK
                                                                                                  : VKF_ERROR_CANCELLED;
}

typedef struct teller {
    const vkf__pipelines *pipelines;
    size_t total;
} teller;

static bool tell(void *user, size_t done)
{
    const teller *t = user;
    return vkf__pipelines_tell(t->pipelines, done, t->total, "compiling kernels") == VKF_OK;
}

// Returns how many were begun, the first of the list.
static size_t compile_all(vkf__pipelines *pipelines, making *list, size_t count)
{
    teller t = {pipelines, count};
    size_t begun = count;
    if (count == 0)
        return 0;
    if (pipelines->progress)
        begun = vkf__parallel_run_told(vkf__parallel_threads(), count, compile, list, tell, &t);
    else
        vkf__parallel_run(vkf__parallel_threads(), count, compile, list);
    if (begun == count)
        (void)tell(&t, count); // that it has ended
    return begun;
}

// Keeps all that were made. The status is that of the first which was not.
static vkf_status keep_entries(making *list, size_t count, size_t *out_failed)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < count; i++) {
        const vkf_status made = keep_entry(&list[i]);
        if (status == VKF_OK && made != VKF_OK)
            *out_failed = list[i].want;
        status = status != VKF_OK ? status : made;
    }
    return status;
}

static vkf_status make_locked(vkf__pipelines *pipelines, const vkf__pipeline_want *wants, size_t count,
                              size_t *out_failed)
{
    const vkf__host *host = pipelines->device->host;
    vkf_status status = VKF_OK;
    making *list = NULL;
    size_t missing = 0;
    void *entries = pipelines->entries;
    VKF_ALLOC(host, list, count);
    status = list_missing(pipelines, wants, count, list, &missing);
    if (status != VKF_OK && missing > 0)
        *out_failed = list[missing - 1].want;
    VKF_TRY(status);
    VKF_TRY(vkf__grow(host, &entries, sizeof *pipelines->entries, pipelines->count, &pipelines->capacity,
                      pipelines->count + missing));
    pipelines->entries = entries;
    const size_t begun = compile_all(pipelines, list, missing);
    VKF_TRY(keep_entries(list, begun, out_failed));
    status = begun < missing ? VKF_ERROR_CANCELLED : VKF_OK;
fail:
    for (size_t i = 0; i < missing; i++)
        drop_making(&list[i]);
    vkf__free(host, list);
    return status;
}

bool vkf__pipelines_refused(const vkf__pipelines *pipelines, vkf_status status)
{
    return status == VKF_ERROR_SHADER && !pipelines->shader_dir;
}

vkf_status vkf__pipelines_add_want(const vkf__host *host, vkf__pipeline_wants *wants, const vkf__kernel *kernel,
                                   const uint32_t *spec)
{
    void *list = wants->list;
    VKF_RETURN_IF_ERROR(vkf__grow(host, &list, sizeof *wants->list, wants->count, &wants->capacity, wants->count + 1));
    wants->list = list;
    wants->list[wants->count].kernel = kernel;
    memcpy(wants->list[wants->count++].spec, spec, sizeof wants->list->spec);
    return VKF_OK;
}

vkf_status vkf__pipelines_make(vkf__pipelines *pipelines, const vkf__pipeline_want *wants, size_t count,
                               size_t *out_failed)
{
    size_t failed = 0;
    if (count == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(pipelines->device, wants[0].kernel->name));
    pthread_mutex_lock(&pipelines->lock);
    vkf_status status = make_locked(pipelines, wants, count, &failed);
    pthread_mutex_unlock(&pipelines->lock);
    if (out_failed)
        *out_failed = failed;
    return status;
}

vkf_status vkf__pipelines_get(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec,
                              const vkf__config *taken, const vkf__pipeline **out_pipeline)
{
    vkf_status status = VKF_OK;
    vkf__pipeline_want want = {.kernel = kernel};
    memcpy(want.spec, spec, 4 * (size_t)kernel->spec_count);
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(pipelines->device, kernel->name));
    pthread_mutex_lock(&pipelines->lock);
    vkf__pipeline *pipeline = find_locked(pipelines, kernel, spec);
    if (!pipeline) {
        size_t failed = 0;
        status = make_locked(pipelines, &want, 1, &failed);
        pipeline = find_locked(pipelines, kernel, spec);
    }
    if (status == VKF_OK && taken)
        pipeline->taken = taken;
    pthread_mutex_unlock(&pipelines->lock);
    if (status == VKF_OK)
        *out_pipeline = pipeline;
    return status;
}
