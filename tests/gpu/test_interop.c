// A program with a Vulkan device of its own: it opens the loader, creates instance, device and queue, and records
// layers into its command buffers between its own work.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "embedded_words.h"
#include "kernel/shader_table.h"
#include "sample_layers.h"
#include "shared/copy.h"
#include "vk/device.h"

#include <vkformer/vulkan.h>

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

static const vkf_layer_sizes max_sizes = {2, 12, 15};

// X(name): what the program itself calls.
#define INSTANCE_FUNCTIONS(X)                   \
    X(vkDestroyInstance)                        \
    X(vkEnumeratePhysicalDevices)               \
    X(vkGetPhysicalDeviceQueueFamilyProperties) \
    X(vkGetPhysicalDeviceMemoryProperties2)     \
    X(vkCreateDevice)                           \
    X(vkGetDeviceProcAddr)                      \
    X(vkDestroyDebugUtilsMessengerEXT)          \
    X(vkCreateDebugUtilsMessengerEXT)

typedef struct program {
    vkf_test_gpu gpu; // first: the fixture of the library's context
    void *library;
    PFN_vkGetInstanceProcAddr get_proc;
#define MEMBER(name) PFN_##name name;
    INSTANCE_FUNCTIONS(MEMBER)
#undef MEMBER
    struct VolkDeviceTable vk;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    uint32_t memory_type; // host-visible and coherent
    VkCommandPool pool;
    VkFence fence;
    // A dispatch of the program's own: out = alpha * x with the kernel "copy.f32_f32".
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    int locked; // balance of lock_queue and unlock_queue
    int locks;
    int messages;
    char first_message[512];
    sample_weights weights;
} program;

// A buffer of the program's own, mapped.
typedef struct own_buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    float *mapped;
} own_buffer;

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
                                           .apiVersion = VK_API_VERSION_1_1};
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

static void create_device(program *p)
{
    const float priority = 1;
    VkQueueFamilyProperties families[16];
    uint32_t count = 1, family_count = 16;
    VkResult result = p->vkEnumeratePhysicalDevices(p->instance, &count, &p->physical);
    assert_true((result == VK_SUCCESS || result == VK_INCOMPLETE) && count == 1);
    p->vkGetPhysicalDeviceQueueFamilyProperties(p->physical, &family_count, families);
    while (p->family < family_count && !(families[p->family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        p->family++;
    assert_true(p->family < family_count);
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = p->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    assert_int_equal(p->vkCreateDevice(p->physical, &info, NULL, &p->device), VK_SUCCESS);
#define LOAD(name) p->vk.name = (PFN_##name)p->vkGetDeviceProcAddr(p->device, #name);
    VKF_DEVICE_FUNCTIONS(LOAD)
#undef LOAD
    p->vk.vkGetDeviceQueue(p->device, p->family, 0, &p->queue);
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    p->vkGetPhysicalDeviceMemoryProperties2(p->physical, &memory);
    while ((memory.memoryProperties.memoryTypes[p->memory_type].propertyFlags & wanted) != wanted)
        p->memory_type++;
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

static own_buffer create_buffer(program *p, VkDeviceSize bytes)
{
    own_buffer buffer = {0};
    void *mapped = NULL;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    assert_int_equal(p->vk.vkCreateBuffer(p->device, &info, NULL, &buffer.handle), VK_SUCCESS);
    p->vk.vkGetBufferMemoryRequirements(p->device, buffer.handle, &needs);
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = needs.size,
                                           .memoryTypeIndex = p->memory_type};
    assert_int_equal(p->vk.vkAllocateMemory(p->device, &allocate, NULL, &buffer.memory), VK_SUCCESS);
    assert_int_equal(p->vk.vkBindBufferMemory(p->device, buffer.handle, buffer.memory, 0), VK_SUCCESS);
    assert_int_equal(p->vk.vkMapMemory(p->device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
    buffer.mapped = mapped;
    return buffer;
}

static void destroy_buffer(program *p, own_buffer *buffer)
{
    p->vk.vkDestroyBuffer(p->device, buffer->handle, NULL);
    p->vk.vkFreeMemory(p->device, buffer->memory, NULL);
    *buffer = (own_buffer){0};
}

static vkf_external_device external_of(program *p)
{
    return (vkf_external_device){
        .instance = p->instance,
        .physical_device = p->physical,
        .device = p->device,
        .queue = p->queue,
        .queue_family_index = p->family,
        .api_version = VK_API_VERSION_1_1,
        .lock_queue = lock_queue,
        .unlock_queue = unlock_queue,
        .lock_user = p,
    };
}

static int open_program(void **state)
{
    const char *validation = getenv("VKF_TEST_VALIDATION");
    program *p = calloc(1, sizeof *p);
    if (!p)
        return -1;
    *state = p;
    if (validation && strcmp(validation, "1") == 0)
        (void)dlopen("libVkLayer_khronos_validation.so", RTLD_NOW | RTLD_NODELETE);
    p->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = p->library ? dlsym(p->library, "vkGetInstanceProcAddr") : NULL;
    memcpy(&p->get_proc, &symbol, sizeof symbol);
    if (!p->get_proc) { // no Vulkan here: the fixture decides whether that is a failure
        vkf_context_desc desc = {0};
        return vkf_test_gpu_open(&p->gpu, &desc);
    }
    create_instance(p, validation && strcmp(validation, "1") == 0);
    create_device(p);
    create_commands(p);
    create_pipeline(p);
    const vkf_external_device external = external_of(p);
    vkf_context_desc desc = {.external = &external,
                             .get_instance_proc_addr = (vkf_get_instance_proc_addr)(vkf_void_function)p->get_proc};
    if (vkf_test_gpu_open(&p->gpu, &desc) != 0)
        return -1;
    sample_weights_create(&p->gpu, &p->weights);
    return 0;
}

// The library destroys none of the program's objects: they are all still good when its context is gone.
static int close_program(void **state)
{
    program *p = *state;
    sample_weights_destroy(&p->weights);
    vkf_context_destroy(&p->gpu.context);
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
        dlclose(p->library);
    int messages = p->messages, locked = p->locked;
    if (messages > 0 || locked != 0)
        fprintf(stderr, "%d validation messages, the first: %s; queue locks left: %d\n", messages, p->first_message,
                locked);
    free(p);
    return messages == 0 && locked == 0 ? 0 : -1;
}

static program *program_of(void **state)
{
    (void)vkf_test_gpu_of(state);
    return *state;
}

static VkCommandBuffer begin_commands(program *p)
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

static void submit(program *p, VkCommandBuffer commands)
{
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    assert_int_equal(p->vk.vkResetFences(p->device, 1, &p->fence), VK_SUCCESS);
    assert_int_equal(p->vk.vkQueueSubmit(p->queue, 1, &info, p->fence), VK_SUCCESS);
    assert_int_equal(p->vk.vkWaitForFences(p->device, 1, &p->fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
}

static void barrier(program *p, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
                    VkPipelineStageFlags to, VkAccessFlags to_access)
{
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from_access, .dstAccessMask = to_access};
    p->vk.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

// A dispatch of the program's own: to[0 .. count) = alpha * from[0 .. count). `params` is read when it runs.
static void record_scale(program *p, VkCommandBuffer commands, own_buffer *params, VkBuffer from, VkBuffer to,
                         uint32_t to_offset_bytes, uint32_t count, float alpha)
{
    const struct vkf_copy_params values = {
        .count = count, .rows = 1, .cols = count, .x_row = count, .out_row = count, .alpha = alpha};
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = p->descriptors,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &p->set_layout};
    const VkDescriptorBufferInfo buffers[] = {
        {params->handle, 0, sizeof values}, {from, 0, VK_WHOLE_SIZE}, {to, 0, VK_WHOLE_SIZE}};
    const uint32_t offsets[] = {0, to_offset_bytes / 4}; // in elements, as the library's kernels take them
    VkDescriptorSet set = VK_NULL_HANDLE;
    VkWriteDescriptorSet writes[3];
    memcpy(params->mapped, &values, sizeof values);
    assert_int_equal(p->vk.vkAllocateDescriptorSets(p->device, &info, &set), VK_SUCCESS);
    for (uint32_t i = 0; i < 3; i++)
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                                    : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[i]};
    p->vk.vkUpdateDescriptorSets(p->device, 3, writes, 0, NULL);
    p->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->pipeline);
    p->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, p->layout, 0, 1, &set, 0, NULL);
    p->vk.vkCmdPushConstants(commands, p->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof offsets, offsets);
    p->vk.vkCmdDispatch(commands, (count + 63) / 64, 1, 1);
}

// Where a port's bytes are, in Vulkan's terms.
static VkBuffer port_buffer(vkf_layer *layer, vkf_port port, VkDeviceSize *out_offset)
{
    vkf_tensor tensor;
    VkBuffer handle = VK_NULL_HANDLE;
    VkDeviceSize begin = 0;
    assert_true(vkf_layer_port(layer, port, &tensor));
    vkf_buffer_vulkan(tensor.buffer, &handle, &begin);
    *out_offset = begin + tensor.offset_bytes;
    return handle;
}

// The program's dispatch doubles its data into the query, the layer runs, the program copies the output away: one
// command buffer, recorded once, submitted for several sizes.
static void test_layer_between_own_work(void **state)
{
    static const vkf_layer_sizes runs[] = {{2, 12, 15}, {1, 1, 1}, {2, 5, 9}, {1, 12, 3}, {2, 12, 15}};
    program *p = program_of(state);
    const size_t count = (size_t)max_sizes.batch * max_sizes.query_len * SAMPLE_DIM;
    own_buffer in = create_buffer(p, count * sizeof(float)), out = create_buffer(p, count * sizeof(float));
    own_buffer params = create_buffer(p, 256);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *recorded = NULL, *own = NULL;
        VkDeviceSize query_offset = 0, output_offset = 0;
        assert_int_equal(sample_layer_create(p->gpu.context, kind, &p->weights, max_sizes, &recorded), VKF_OK);
        assert_int_equal(sample_layer_create(p->gpu.context, kind, &p->weights, max_sizes, &own), VKF_OK);
        VkBuffer query = port_buffer(recorded, VKF_PORT_QUERY, &query_offset);
        VkBuffer output = port_buffer(recorded, VKF_PORT_OUTPUT, &output_offset);
        VkCommandBuffer commands = begin_commands(p);
        record_scale(p, commands, &params, in.handle, query, (uint32_t)query_offset, (uint32_t)count, 2);
        assert_int_equal(vkf_layer_record(recorded, commands), VKF_OK);
        const VkBufferCopy region = {output_offset, 0, count * sizeof(float)};
        p->vk.vkCmdCopyBuffer(commands, output, out.handle, 1, &region);
        barrier(p, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                VK_ACCESS_HOST_READ_BIT);
        assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
        for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
            sample_data data;
            sample_data_create(&p->gpu.random, runs[r], &data);
            assert_int_equal(sample_layer_write(recorded, kind, &data), VKF_OK);
            for (size_t i = 0; i < sample_data_outputs(&data); i++) {
                in.mapped[i] = data.query[i];
                data.query[i] *= 2;
            }
            assert_int_equal(vkf_layer_set_sizes(recorded, &runs[r]), VKF_OK);
            submit(p, commands);
            assert_int_equal(sample_layer_run(own, kind, &data), VKF_OK);
            assert_close(out.mapped, data.out, sample_data_outputs(&data), 0, 0,
                         vkf_test_label(&p->gpu, "%s, run %zu", sample_name(kind), r));
            sample_data_destroy(&data);
        }
        vkf_layer_destroy(&recorded);
        vkf_layer_destroy(&own);
    }
    destroy_buffer(p, &in);
    destroy_buffer(p, &out);
    destroy_buffer(p, &params);
}

// Transfers before the first and after the last dispatch are waited for, with no barrier of the program's own.
static void test_layer_after_fill_and_before_copy(void **state)
{
    program *p = program_of(state);
    const size_t count = (size_t)max_sizes.batch * max_sizes.query_len * SAMPLE_DIM;
    own_buffer out = create_buffer(p, count * sizeof(float));
    vkf_layer *layer = NULL;
    VkDeviceSize query_offset = 0, output_offset = 0;
    float half = 0.5f;
    uint32_t word = 0;
    sample_data data;
    memcpy(&word, &half, sizeof word);
    assert_int_equal(sample_layer_create(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &layer), VKF_OK);
    VkBuffer query = port_buffer(layer, VKF_PORT_QUERY, &query_offset);
    VkBuffer output = port_buffer(layer, VKF_PORT_OUTPUT, &output_offset);
    VkCommandBuffer commands = begin_commands(p);
    p->vk.vkCmdFillBuffer(commands, query, query_offset, count * sizeof(float), word);
    assert_int_equal(vkf_layer_record(layer, commands), VKF_OK);
    const VkBufferCopy region = {output_offset, 0, count * sizeof(float)};
    p->vk.vkCmdCopyBuffer(commands, output, out.handle, 1, &region);
    barrier(p, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_HOST_READ_BIT);
    assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    submit(p, commands);
    sample_data_create(&p->gpu.random, max_sizes, &data);
    for (size_t i = 0; i < count; i++)
        data.query[i] = half;
    assert_int_equal(sample_layer_run(layer, SAMPLE_ENCODER, &data), VKF_OK);
    assert_close(out.mapped, data.out, count, 0, 0, vkf_test_label(&p->gpu, "encoder after a fill"));
    sample_data_destroy(&data);
    vkf_layer_destroy(&layer);
    destroy_buffer(p, &out);
}

// Two layers in one command buffer: the second reads, as a port of its own, what the first wrote.
static void test_layers_in_one_command_buffer(void **state)
{
    program *p = program_of(state);
    vkf_layer *first = NULL, *second = NULL, *alone = NULL;
    vkf_tensor between;
    sample_data data;
    assert_int_equal(sample_layer_create(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &first), VKF_OK);
    assert_int_equal(sample_layer_create(p->gpu.context, SAMPLE_FEED_FORWARD, &p->weights, max_sizes, &alone), VKF_OK);
    assert_true(vkf_layer_port(first, VKF_PORT_OUTPUT, &between));
    vkf_feed_forward_desc desc = {.d_model = SAMPLE_DIM,
                                  .dim_feedforward = SAMPLE_HIDDEN,
                                  .activation = VKF_ACTIVATION_RELU,
                                  .params = p->weights.feed_forward,
                                  .max_sizes = max_sizes};
    desc.ports[VKF_PORT_QUERY] = between;
    assert_int_equal(vkf_feed_forward_create(p->gpu.context, &desc, &second), VKF_OK);
    VkCommandBuffer commands = begin_commands(p);
    assert_int_equal(vkf_layer_record(first, commands), VKF_OK);
    assert_int_equal(vkf_layer_record(second, commands), VKF_OK);
    assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    sample_data_create(&p->gpu.random, max_sizes, &data);
    size_t count = sample_data_outputs(&data);
    float *out = malloc(count * sizeof *out);
    assert_non_null(out);
    assert_int_equal(sample_layer_write(first, SAMPLE_ENCODER, &data), VKF_OK);
    submit(p, commands);
    assert_int_equal(vkf_layer_read(second, VKF_PORT_OUTPUT, out, count * sizeof *out), VKF_OK);
    assert_int_equal(sample_layer_run(first, SAMPLE_ENCODER, &data), VKF_OK);
    memcpy(data.query, data.out, count * sizeof *out);
    assert_int_equal(sample_layer_run(alone, SAMPLE_FEED_FORWARD, &data), VKF_OK);
    assert_close(out, data.out, count, 0, 0, vkf_test_label(&p->gpu, "two layers"));
    free(out);
    sample_data_destroy(&data);
    vkf_layer_destroy(&second);
    vkf_layer_destroy(&first);
    vkf_layer_destroy(&alone);
}

static void test_external_queue_is_locked(void **state)
{
    program *p = program_of(state);
    vkf_layer *layer = NULL;
    const vkf_layer_sizes sizes = {1, 2, 3};
    assert_int_equal(sample_layer_create(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &layer), VKF_OK);
    p->locks = 0;
    assert_int_equal(vkf_layer_run(layer, &sizes), VKF_OK);
    assert_int_equal(p->locks, 1);
    assert_int_equal(p->locked, 0);
    vkf_layer_destroy(&layer);
}

static void test_layer_record_null_is_refused(void **state)
{
    program *p = program_of(state);
    vkf_layer *layer = NULL;
    assert_int_equal(sample_layer_create(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &layer), VKF_OK);
    assert_int_equal(vkf_layer_record(layer, VK_NULL_HANDLE), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_layer_record(NULL, VK_NULL_HANDLE), VKF_ERROR_INVALID_ARGUMENT);
    vkf_layer_destroy(&layer);
}

static void test_external_device_unusable_is_refused(void **state)
{
    program *p = program_of(state);
    vkf_external_device bad[6];
    for (size_t i = 0; i < 6; i++)
        bad[i] = external_of(p);
    bad[0].device = VK_NULL_HANDLE;
    bad[1].queue = VK_NULL_HANDLE;
    bad[2].queue_family_index = 99;
    bad[3].unlock_queue = NULL;
    bad[4].api_version = VK_API_VERSION_1_0;
    bad[5].lock_queue = NULL;
    for (size_t i = 0; i < 6; i++) {
        vkf_context *context = NULL;
        const vkf_context_desc desc = {
            .external = &bad[i], .get_instance_proc_addr = (vkf_get_instance_proc_addr)(vkf_void_function)p->get_proc};
        assert_int_equal(vkf_context_create(&desc, &context),
                         i == 4 ? VKF_ERROR_NO_VULKAN : VKF_ERROR_INVALID_ARGUMENT);
        assert_null(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_between_own_work),       cmocka_unit_test(test_layer_after_fill_and_before_copy),
        cmocka_unit_test(test_layers_in_one_command_buffer), cmocka_unit_test(test_external_queue_is_locked),
        cmocka_unit_test(test_layer_record_null_is_refused), cmocka_unit_test(test_external_device_unusable_is_refused),
    };
    return cmocka_run_group_tests_name("interop", tests, open_program, close_program);
}
