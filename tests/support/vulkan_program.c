// Makes the program's instance, device and queue, and its own pipeline.
#include "vulkan_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared_library.h"
#include "embedded_words.h"
#include "kernel/shader_table.h"
#include "vk/feature_chain.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

static VKAPI_ATTR VkBool32 VKAPI_CALL hear(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                           VkDebugUtilsMessageTypeFlagsEXT types,
                                           const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    program *p = user;
    (void)severity;
    (void)types;
    if (p->messages++ == 0)
        (void)snprintf(p->first_message, sizeof p->first_message, "%s", data->pMessage);
    return VK_FALSE;
}

static void lock_queue(void *user)
{
    program *p = user;
    p->locked++;
    p->locks++;
}

static void unlock_queue(void *user)
{
    program *p = user;
    p->locked--;
}

static void create_instance(program *p, bool validation)
{
    static const char *const layers[] = {VALIDATION_LAYER};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    static const VkValidationFeatureEnableEXT enables[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    const VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                              .enabledValidationFeatureCount = 1,
                                              .pEnabledValidationFeatures = enables};
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = p->external.api_version};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pNext = validation ? &features : NULL,
                                       .pApplicationInfo = &application,
                                       .enabledLayerCount = validation,
                                       .ppEnabledLayerNames = layers,
                                       .enabledExtensionCount = validation,
                                       .ppEnabledExtensionNames = extensions};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)p->get_proc(VK_NULL_HANDLE, "vkCreateInstance");
    assert_int_equal(create(&info, NULL, &p->instance), VK_SUCCESS);
#define LOAD(name) p->name = (PFN_##name)p->get_proc(p->instance, #name);
    INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
    const VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = hear,
        .pUserData = p,
    };
    if (validation)
        assert_int_equal(p->vkCreateDebugUtilsMessengerEXT(p->instance, &messenger, NULL, &p->messenger), VK_SUCCESS);
}

static void find_device(program *p)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 1, family_count = 16;
    VkResult result = p->vkEnumeratePhysicalDevices(p->instance, &count, &p->physical);
    assert_true((result == VK_SUCCESS || result == VK_INCOMPLETE) && count == 1);
    p->vkGetPhysicalDeviceQueueFamilyProperties(p->physical, &family_count, families);
    while (p->family < family_count && !(families[p->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        p->family++;
    assert_true(p->family < family_count);
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    p->vkGetPhysicalDeviceMemoryProperties2(p->physical, &memory);
    while ((memory.memoryProperties.memoryTypes[p->memory_type].propertyFlags & wanted) != wanted)
        p->memory_type++;
    p->external.instance = p->instance;
    p->external.physical_device = p->physical;
    p->external.queue_family_index = p->family;
}

// Takes every second feature out again, and the extensions that only these have.
static void halve(program *p, VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFeatures2 *all = vkf_device_setup_get_features(p->setup);
    uint32_t structures = 0;
    vkf__feature_chain_read(all, &p->features);
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++)
        for (const VkBaseInStructure *link = (const void *)all; link; link = link->pNext)
            structures |= (link->sType == vkf__feature_structures[i].type ? 1u : 0u) << i;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i += 2) {
        const vkf__feature *feature = &vkf__feature_table[i];
        char *features = (char *)&p->features;
        if (feature->bit > 0) {
            memset(features + feature->bit, 0, sizeof(VkBool32));
            memset(features + feature->with, 0, sizeof(VkBool32));
        }
        const char **names = (const char **)(uintptr_t)info->ppEnabledExtensionNames;
        for (uint32_t n = 0; n < info->enabledExtensionCount; n++)
            if (feature->extension && strcmp(names[n], feature->extension) == 0)
                names[n] = names[--info->enabledExtensionCount];
    }
    p->features.head.pNext = vkf__features_chain(&p->features, structures);
    info->pNext = &p->features.head;
    info->pEnabledFeatures = NULL;
    p->external.features = &p->features.head;
}

// The program has feature structures of its own, which the library completes.
static void chain_aggregates(program *p, VkDeviceCreateInfo *info)
{
    p->features13 = (VkPhysicalDeviceVulkan13Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    p->features12 = (VkPhysicalDeviceVulkan12Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                       .pNext = &p->features13,
                                                       .timelineSemaphore = VK_TRUE};
    p->features11 = (VkPhysicalDeviceVulkan11Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                                       .pNext = &p->features12};
    p->core =
        (VkPhysicalDeviceFeatures2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &p->features11};
    info->pNext = &p->core;
}

static void use_setup(program *p, VkDeviceCreateInfo *info)
{
    assert_int_equal(vkf_device_setup_create(&p->desc, &p->setup), VKF_OK);
    if (p->wishes.aggregates)
        chain_aggregates(p, info);
    assert_int_equal(vkf_device_setup_fill_create_info(p->setup, info), VKF_OK);
    p->external.features = p->wishes.aggregates ? &p->core : vkf_device_setup_get_features(p->setup);
    if (p->wishes.halved)
        halve(p, info);
    p->external.extensions = info->ppEnabledExtensionNames;
    p->external.extension_count = info->enabledExtensionCount;
}

static void create_device(program *p)
{
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = p->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    if (p->wishes.setup)
        use_setup(p, &info);
    assert_int_equal(p->vkCreateDevice(p->physical, &info, NULL, &p->device), VK_SUCCESS);
#define LOAD(name) p->vk.name = (PFN_##name)p->vkGetDeviceProcAddr(p->device, #name);
    VKF_DEVICE_FUNCTIONS(LOAD)
#undef LOAD
    p->vk.vkGetDeviceQueue(p->device, p->family, 0, &p->queue);
    p->external.device = p->device;
    p->external.queue = p->queue;
}

static void create_commands(program *p)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = p->family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    assert_int_equal(p->vk.vkCreateCommandPool(p->device, &pool, NULL, &p->pool), VK_SUCCESS);
    assert_int_equal(p->vk.vkCreateFence(p->device, &fence, NULL, &p->fence), VK_SUCCESS);
}

static void create_pipeline(program *p)
{
    const vkf__shader *shader = vkf__shader_find("copy.f32_f32");
    const uint32_t local_size = 64;
    VkDescriptorSetLayoutBinding bindings[3] = {0};
    VkShaderModule module = VK_NULL_HANDLE;
    assert_non_null(shader);
    uint32_t *words = embedded_words(shader);
    assert_non_null(words);
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            i, i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
            VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 3, .pBindings = bindings};
    assert_int_equal(p->vk.vkCreateDescriptorSetLayout(p->device, &set, NULL, &p->set_layout), VK_SUCCESS);
    const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 8};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &p->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    assert_int_equal(p->vk.vkCreatePipelineLayout(p->device, &layout, NULL, &p->layout), VK_SUCCESS);
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = (size_t)4 * shader->word_count,
                                           .pCode = words};
    assert_int_equal(p->vk.vkCreateShaderModule(p->device, &code, NULL, &module), VK_SUCCESS);
    free(words);
    const VkSpecializationMapEntry entry = {.constantID = 0, .size = 4};
    const VkSpecializationInfo constants = {1, &entry, sizeof local_size, &local_size};
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = p->layout,
    };
    assert_int_equal(p->vk.vkCreateComputePipelines(p->device, VK_NULL_HANDLE, 1, &info, NULL, &p->pipeline),
                     VK_SUCCESS);
    p->vk.vkDestroyShaderModule(p->device, module, NULL);
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 8},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 16}};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 8, .poolSizeCount = 2, .pPoolSizes = sizes};
    assert_int_equal(p->vk.vkCreateDescriptorPool(p->device, &pool, NULL, &p->descriptors), VK_SUCCESS);
}

own_buffer program_buffer(program *p, VkDeviceSize bytes, VkBufferUsageFlags usage)
{
    own_buffer buffer = {0};
    void *mapped = NULL;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage};
    VkMemoryRequirements needs;
    assert_int_equal(p->vk.vkCreateBuffer(p->device, &info, NULL, &buffer.handle), VK_SUCCESS);
    p->vk.vkGetBufferMemoryRequirements(p->device, buffer.handle, &needs);
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .pNext = usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT ? &flags : NULL,
                                           .allocationSize = needs.size,
                                           .memoryTypeIndex = p->memory_type};
    assert_int_equal(p->vk.vkAllocateMemory(p->device, &allocate, NULL, &buffer.memory), VK_SUCCESS);
    assert_int_equal(p->vk.vkBindBufferMemory(p->device, buffer.handle, buffer.memory, 0), VK_SUCCESS);
    assert_int_equal(p->vk.vkMapMemory(p->device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
    buffer.mapped = mapped;
    return buffer;
}

void program_destroy_buffer(program *p, own_buffer *buffer)
{
    p->vk.vkDestroyBuffer(p->device, buffer->handle, NULL);
    p->vk.vkFreeMemory(p->device, buffer->memory, NULL);
    *buffer = (own_buffer){0};
}

static bool open_loader(program *p)
{
    const char *why = NULL;
    p->library = vkf__library_open("libvulkan.so.1", &why);
    if (p->library)
        p->get_proc = (PFN_vkGetInstanceProcAddr)vkf__library_find(p->library, "vkGetInstanceProcAddr");
    p->desc.get_instance_proc_addr = (vkf_get_instance_proc_addr)(vkf_void_function)p->get_proc;
    return p->get_proc != NULL;
}

int program_open(void **state, const program_wishes *wishes)
{
    program *p = calloc(1, sizeof *p);
    if (!p)
        return -1;
    *state = p;
    p->wishes = *wishes;
    p->desc.timestamps = wishes->timestamps;
    p->desc.variant = wishes->variant;
    if (vkf_test_gpu_prepare(&p->gpu, &p->desc) != 0)
        return -1;
    const bool validation = p->desc.validation;
    p->desc.validation = false; // the instance is the program's
    if (!open_loader(p))        // no Vulkan here: the fixture decides whether that is a failure
        return vkf_test_gpu_create(&p->gpu, &p->desc);
    p->external = (vkf_external_device){
        .api_version = wishes->api_version > 0 ? wishes->api_version : VK_API_VERSION_1_1,
        .lock_queue = lock_queue,
        .unlock_queue = unlock_queue,
        .lock_user = p,
    };
    p->desc.external = &p->external;
    create_instance(p, validation);
    find_device(p);
    create_device(p);
    create_commands(p);
    create_pipeline(p);
    if (vkf_test_gpu_create(&p->gpu, &p->desc) != 0)
        return -1;
    sample_weights_create(&p->gpu, &p->weights);
    return 0;
}

int program_close(void **state)
{
    program *p = *state;
    sample_weights_destroy(&p->weights);
    vkf_context_destroy(&p->gpu.context);
    vkf_device_setup_destroy(&p->setup);
    if (p->device) {
        (void)p->vk.vkQueueWaitIdle(p->queue);
        p->vk.vkDestroyDescriptorPool(p->device, p->descriptors, NULL);
        p->vk.vkDestroyPipeline(p->device, p->pipeline, NULL);
        p->vk.vkDestroyPipelineLayout(p->device, p->layout, NULL);
        p->vk.vkDestroyDescriptorSetLayout(p->device, p->set_layout, NULL);
        p->vk.vkDestroyFence(p->device, p->fence, NULL);
        p->vk.vkDestroyCommandPool(p->device, p->pool, NULL);
        p->vk.vkDestroyDevice(p->device, NULL);
    }
    if (p->messenger)
        p->vkDestroyDebugUtilsMessengerEXT(p->instance, p->messenger, NULL);
    if (p->instance)
        p->vkDestroyInstance(p->instance, NULL);
    if (p->library)
        vkf__library_close(p->library);
    int messages = p->messages, locked = p->locked;
    if (messages > 0 || locked != 0)
        fprintf(stderr, "%d validation messages, the first: %s; queue locks left: %d\n", messages, p->first_message,
                locked);
    free(p);
    return messages == 0 && locked == 0 ? 0 : -1;
}

program *program_of(void **state)
{
    (void)vkf_test_gpu_of(state);
    return *state;
}

VkCommandBuffer program_begin(program *p)
{
    VkCommandBuffer commands = VK_NULL_HANDLE;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = p->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert_int_equal(p->vk.vkAllocateCommandBuffers(p->device, &info, &commands), VK_SUCCESS);
    assert_int_equal(p->vk.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
    return commands;
}

void program_submit(program *p, VkCommandBuffer commands)
{
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    assert_int_equal(p->vk.vkResetFences(p->device, 1, &p->fence), VK_SUCCESS);
    assert_int_equal(p->vk.vkQueueSubmit(p->queue, 1, &info, p->fence), VK_SUCCESS);
    assert_int_equal(p->vk.vkWaitForFences(p->device, 1, &p->fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
}

VkSemaphore program_semaphore(program *p, bool timeline)
{
    VkSemaphore semaphore = VK_NULL_HANDLE;
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = timeline ? &type : NULL};
    assert_int_equal(p->vk.vkCreateSemaphore(p->device, &info, NULL, &semaphore), VK_SUCCESS);
    return semaphore;
}

void program_signal(program *p, VkSemaphore semaphore, uint64_t value)
{
    PFN_vkSignalSemaphore function = (PFN_vkSignalSemaphore)p->vkGetDeviceProcAddr(p->device, "vkSignalSemaphore");
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    assert_non_null(function);
    assert_int_equal(function(p->device, &info), VK_SUCCESS);
}

bool program_reaches(program *p, VkSemaphore semaphore, uint64_t value, uint64_t timeout_ns)
{
    PFN_vkWaitSemaphores function = (PFN_vkWaitSemaphores)p->vkGetDeviceProcAddr(p->device, "vkWaitSemaphores");
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &value};
    assert_non_null(function);
    const VkResult result = function(p->device, &info, timeout_ns);
    assert_true(result == VK_SUCCESS || result == VK_TIMEOUT);
    return result == VK_SUCCESS;
}

void program_submit_after(program *p, VkCommandBuffer commands, VkSemaphore wait, VkSemaphore done)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = wait != VK_NULL_HANDLE,
                               .pWaitSemaphores = &wait,
                               .pWaitDstStageMask = &stage,
                               .signalSemaphoreCount = done != VK_NULL_HANDLE,
                               .pSignalSemaphores = &done,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    assert_int_equal(p->vk.vkQueueSubmit(p->queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
}

void program_barrier(program *p, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
                     VkPipelineStageFlags to, VkAccessFlags to_access)
{
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from_access, .dstAccessMask = to_access};
    p->vk.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}
