// A program that owns the device: it records an attention layer and a render pass that draws the layer's weights into
// one command buffer, submits that once, and writes the picture. Nothing is copied between the layer and the picture:
// the fragment shader reads the buffer that the layer writes.
//
// drawn_attention PICTURE.ppm
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#include <vkformer/vulkan.h>

#include "drawn_attention_frag.h"
#include "drawn_attention_vert.h"

enum { LEN = 8, DIM = 32, HEADS = 4, CELL = 16, SIDE = LEN * CELL };

typedef struct device {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice handle;
    VkQueue queue;
    uint32_t family;
} device;

// What the picture is drawn into, and the buffer that it is read from.
typedef struct picture {
    VkImage image;
    VkImageView view;
    VkBuffer pixels;
    VkDeviceMemory image_memory, pixel_memory;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
} picture;

typedef struct drawing {
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool sets;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
} drawing;

static void check(bool well, const char *what)
{
    if (!well) {
        fprintf(stderr, "drawn_attention: %s failed\n", what);
        exit(EXIT_FAILURE);
    }
}

static void vk(VkResult result, const char *what)
{
    check(result == VK_SUCCESS, what);
}

static void print_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    if (severity >= VKF_SEVERITY_WARNING)
        fprintf(stderr, "%s\n", text);
}

// The first device, and its first queue family that draws and computes.
static void open_device(device *d)
{
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &application};
    vk(vkCreateInstance(&instance, NULL, &d->instance), "vkCreateInstance");
    uint32_t devices = 1, families = 16;
    VkQueueFamilyProperties properties[16];
    vkEnumeratePhysicalDevices(d->instance, &devices, &d->physical);
    check(devices == 1, "finding a device");
    vkGetPhysicalDeviceQueueFamilyProperties(d->physical, &families, properties);
    const VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    while (d->family < families && (properties[d->family].queueFlags & wanted) != wanted)
        d->family++;
    check(d->family < families, "finding a queue");
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = d->family,
                                           .queueCount = 1,
                                           .pQueuePriorities = (const float[]){1}};
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    vk(vkCreateDevice(d->physical, &info, NULL, &d->handle), "vkCreateDevice");
    vkGetDeviceQueue(d->handle, d->family, 0, &d->queue);
}

// A (DIM, DIM) weight: a turn of neighbouring elements against each other by an angle, times a gain.
static vkf_tensor make_weight(vkf_context *context, float angle, float gain, const char *name)
{
    static float values[DIM * DIM];
    for (int i = 0; i < DIM * DIM; i++)
        values[i] = 0;
    for (int i = 0; i < DIM; i += 2) {
        values[i * DIM + i] = values[(i + 1) * DIM + i + 1] = gain * cosf(angle);
        values[i * DIM + i + 1] = -gain * sinf(angle);
        values[(i + 1) * DIM + i] = gain * sinf(angle);
    }
    vkf_tensor weight = {0};
    check(vkf_tensor_create(context, VKF_DTYPE_F32, 2, (uint32_t[]){DIM, DIM}, name, &weight) == VKF_OK &&
              vkf_tensor_write(&weight, values, sizeof values) == VKF_OK,
          name);
    return weight;
}

// Causal self attention that leaves its weights, averaged over the heads, in a port.
static vkf_layer *make_attention(vkf_context *context)
{
    vkf_attention_desc desc = {
        .embed_dim = DIM,
        .num_heads = HEADS,
        .self_attention = true,
        .weights = true,
        .mask.causal = VKF_CAUSAL_TOP_LEFT,
        .params.q_weight = make_weight(context, 0.3F, 1.5F, "q"),
        .params.k_weight = make_weight(context, 0.0F, 1.5F, "k"),
        .params.v_weight = make_weight(context, 0.0F, 1.0F, "v"),
        .params.out_weight = make_weight(context, 0.0F, 1.0F, "out"),
        .max_sizes = {.batch = 1, .query_len = LEN},
    };
    vkf_layer *layer = NULL;
    check(vkf_attention_create(context, &desc, &layer) == VKF_OK, "vkf_attention_create");
    vkf_tensor_destroy(&desc.params.q_weight); // the layer keeps what it needs
    vkf_tensor_destroy(&desc.params.k_weight);
    vkf_tensor_destroy(&desc.params.v_weight);
    vkf_tensor_destroy(&desc.params.out_weight);
    return layer;
}

// The sinusoidal positions of a sentence whose words say nothing else.
static void write_query(vkf_layer *layer)
{
    static float query[LEN * DIM]; // (1, LEN, DIM)
    vkf_sinusoidal_positions(LEN, DIM, query);
    check(vkf_layer_write(layer, VKF_PORT_QUERY, query, sizeof query) == VKF_OK, "vkf_layer_write");
}

static VkDeviceMemory allocate(const device *d, const VkMemoryRequirements *needs, VkMemoryPropertyFlags wanted)
{
    VkPhysicalDeviceMemoryProperties memory;
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs->size};
    VkDeviceMemory allocation = VK_NULL_HANDLE;
    vkGetPhysicalDeviceMemoryProperties(d->physical, &memory);
    while (info.memoryTypeIndex < memory.memoryTypeCount &&
           (!(needs->memoryTypeBits >> info.memoryTypeIndex & 1) ||
            (memory.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted))
        info.memoryTypeIndex++;
    check(info.memoryTypeIndex < memory.memoryTypeCount, "finding memory");
    vk(vkAllocateMemory(d->handle, &info, NULL, &allocation), "vkAllocateMemory");
    return allocation;
}

static void make_image(const device *d, picture *p)
{
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .extent = {SIDE, SIDE, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
    };
    VkMemoryRequirements needs;
    vk(vkCreateImage(d->handle, &info, NULL, &p->image), "vkCreateImage");
    vkGetImageMemoryRequirements(d->handle, p->image, &needs);
    p->image_memory = allocate(d, &needs, 0);
    vk(vkBindImageMemory(d->handle, p->image, p->image_memory, 0), "vkBindImageMemory");
    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = p->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = info.format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    vk(vkCreateImageView(d->handle, &view, NULL, &p->view), "vkCreateImageView");
}

static void make_pixels(const device *d, picture *p)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4 * SIDE * SIDE,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    vk(vkCreateBuffer(d->handle, &info, NULL, &p->pixels), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(d->handle, p->pixels, &needs);
    p->pixel_memory = allocate(d, &needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    vk(vkBindBufferMemory(d->handle, p->pixels, p->pixel_memory, 0), "vkBindBufferMemory");
}

// The pass leaves the image as a transfer takes it.
static void make_pass(const device *d, picture *p)
{
    const VkAttachmentDescription attachment = {
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
    };
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.colorAttachmentCount = 1, .pColorAttachments = &color};
    const VkSubpassDependency dependency = {
        .srcSubpass = 0,
        .dstSubpass = VK_SUBPASS_EXTERNAL,
        .srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT,
        .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
    };
    const VkRenderPassCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &attachment,
        .subpassCount = 1,
        .pSubpasses = &subpass,
        .dependencyCount = 1,
        .pDependencies = &dependency,
    };
    vk(vkCreateRenderPass(d->handle, &info, NULL, &p->pass), "vkCreateRenderPass");
    const VkFramebufferCreateInfo framebuffer = {
        .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
        .renderPass = p->pass,
        .attachmentCount = 1,
        .pAttachments = &p->view,
        .width = SIDE,
        .height = SIDE,
        .layers = 1,
    };
    vk(vkCreateFramebuffer(d->handle, &framebuffer, NULL, &p->framebuffer), "vkCreateFramebuffer");
}

// The layer's weights as the fragment shader's buffer.
static void bind_weights(const device *d, const vkf_layer *layer, drawing *draw)
{
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT,
                                                  NULL};
    const VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    vk(vkCreateDescriptorSetLayout(d->handle, &layout, NULL, &draw->set_layout), "vkCreateDescriptorSetLayout");
    vk(vkCreateDescriptorPool(d->handle, &pool, NULL, &draw->sets), "vkCreateDescriptorPool");
    const VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = draw->sets,
                                             .descriptorSetCount = 1,
                                             .pSetLayouts = &draw->set_layout};
    vk(vkAllocateDescriptorSets(d->handle, &set, &draw->set), "vkAllocateDescriptorSets");

    vkf_tensor weights;
    VkDescriptorBufferInfo buffer = {.range = LEN * LEN * sizeof(float)};
    check(vkf_layer_get_port(layer, VKF_PORT_WEIGHTS, &weights), "vkf_layer_get_port");
    vkf_buffer_get_vulkan(weights.buffer, &buffer.buffer, &buffer.offset);
    buffer.offset += weights.offset_bytes;
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = draw->set,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
}

static VkShaderModule make_module(const device *d, const uint32_t *words, size_t size_bytes)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size_bytes, .pCode = words};
    VkShaderModule module = VK_NULL_HANDLE;
    vk(vkCreateShaderModule(d->handle, &info, NULL, &module), "vkCreateShaderModule");
    return module;
}

static void make_pipeline(const device *d, VkRenderPass pass, drawing *draw)
{
    static const uint32_t constants[] = {LEN, CELL};
    static const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}};
    const VkSpecializationInfo special = {2, entries, sizeof constants, constants};
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &draw->set_layout};
    vk(vkCreatePipelineLayout(d->handle, &layout, NULL, &draw->layout), "vkCreatePipelineLayout");
    VkShaderModule modules[] = {make_module(d, drawn_attention_vert, sizeof drawn_attention_vert),
                                make_module(d, drawn_attention_frag, sizeof drawn_attention_frag)};
    const VkPipelineShaderStageCreateInfo stages[] = {
        {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0, VK_SHADER_STAGE_VERTEX_BIT, modules[0], "main",
         NULL},
        {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0, VK_SHADER_STAGE_FRAGMENT_BIT, modules[1], "main",
         &special},
    };
    const VkViewport viewport = {0, 0, SIDE, SIDE, 0, 1};
    const VkRect2D scissor = {{0, 0}, {SIDE, SIDE}};
    const VkPipelineColorBlendAttachmentState color = {.colorWriteMask = 0xf};
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState =
            &(VkPipelineVertexInputStateCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO},
        .pInputAssemblyState =
            &(VkPipelineInputAssemblyStateCreateInfo){.sType =
                                                          VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
                                                      .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST},
        .pViewportState = &(VkPipelineViewportStateCreateInfo){VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                               NULL, 0, 1, &viewport, 1, &scissor},
        .pRasterizationState =
            &(VkPipelineRasterizationStateCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1},
        .pMultisampleState =
            &(VkPipelineMultisampleStateCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT},
        .pColorBlendState =
            &(VkPipelineColorBlendStateCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                   .attachmentCount = 1,
                                                   .pAttachments = &color},
        .layout = draw->layout,
        .renderPass = pass,
    };
    vk(vkCreateGraphicsPipelines(d->handle, VK_NULL_HANDLE, 1, &info, NULL, &draw->pipeline),
       "vkCreateGraphicsPipelines");
    for (int i = 0; i < 2; i++)
        vkDestroyShaderModule(d->handle, modules[i], NULL);
}

// The fragment shader waits for the layer, the copy for the picture, and the host for the copy.
static void record(VkCommandBuffer commands, vkf_layer *layer, const picture *p, const drawing *draw)
{
    const VkMemoryBarrier layer_to_picture = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                              .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                              .dstAccessMask = VK_ACCESS_SHADER_READ_BIT};
    const VkMemoryBarrier copy_to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                          .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                          .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    const VkRenderPassBeginInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                        .renderPass = p->pass,
                                        .framebuffer = p->framebuffer,
                                        .renderArea = {{0, 0}, {SIDE, SIDE}}};
    const VkBufferImageCopy copy = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                    .imageExtent = {SIDE, SIDE, 1}};
    check(vkf_layer_record(layer, 0, commands) == VKF_OK, "vkf_layer_record");
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, 0, 1,
                         &layer_to_picture, 0, NULL, 0, NULL);
    vkCmdBeginRenderPass(commands, &pass, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, draw->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, draw->layout, 0, 1, &draw->set, 0, NULL);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRenderPass(commands);
    vkCmdCopyImageToBuffer(commands, p->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, p->pixels, 1, &copy);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &copy_to_host, 0,
                         NULL, 0, NULL);
}

static void run(const device *d, vkf_layer *layer, const picture *p, const drawing *draw)
{
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = d->family};
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    vk(vkCreateCommandPool(d->handle, &pool_info, NULL, &pool), "vkCreateCommandPool");
    const VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    vk(vkAllocateCommandBuffers(d->handle, &info, &commands), "vkAllocateCommandBuffers");
    vk(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    record(commands, layer, p, draw);
    vk(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    check(vkf_layer_set_sizes(layer, 0, &(vkf_layer_sizes){.batch = 1, .query_len = LEN}) == VKF_OK,
          "vkf_layer_set_sizes");
    vk(vkQueueSubmit(d->queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    vk(vkQueueWaitIdle(d->queue), "vkQueueWaitIdle");
    vkDestroyCommandPool(d->handle, pool, NULL);
}

static void write_picture(const unsigned char *pixels, const char *path)
{
    FILE *file = fopen(path, "wb");
    check(file != NULL, path);
    fprintf(file, "P6\n%d %d\n255\n", SIDE, SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        fwrite(pixels + 4 * i, 3, 1, file);
    check(fclose(file) == 0, path);
}

// Every pixel has the brightness of its weight, and none looks at what comes later.
static void check_picture(const unsigned char *pixels, vkf_layer *layer)
{
    float weights[LEN * LEN]; // (1, LEN, LEN)
    check(vkf_layer_read(layer, VKF_PORT_WEIGHTS, weights, sizeof weights) == VKF_OK, "vkf_layer_read");
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const float weight = weights[y / CELL * LEN + x / CELL];
            const int drawn = pixels[4 * (y * SIDE + x)];
            check(fabsf(255 * weight - (float)drawn) <= 0.51F, "a pixel's brightness");
            check(x / CELL <= y / CELL ? drawn > 0 : drawn == 0, "the causal mask");
        }
    }
}

static void destroy_picture(const device *d, picture *p, drawing *draw)
{
    vkDestroyPipeline(d->handle, draw->pipeline, NULL);
    vkDestroyPipelineLayout(d->handle, draw->layout, NULL);
    vkDestroyDescriptorPool(d->handle, draw->sets, NULL);
    vkDestroyDescriptorSetLayout(d->handle, draw->set_layout, NULL);
    vkDestroyFramebuffer(d->handle, p->framebuffer, NULL);
    vkDestroyRenderPass(d->handle, p->pass, NULL);
    vkDestroyBuffer(d->handle, p->pixels, NULL);
    vkDestroyImageView(d->handle, p->view, NULL);
    vkDestroyImage(d->handle, p->image, NULL);
    vkFreeMemory(d->handle, p->pixel_memory, NULL);
    vkFreeMemory(d->handle, p->image_memory, NULL);
}

static void draw_attention(const device *d, vkf_layer *layer, const char *path)
{
    picture p = {0};
    drawing draw = {0};
    void *pixels = NULL;
    write_query(layer);
    make_image(d, &p);
    make_pixels(d, &p);
    make_pass(d, &p);
    bind_weights(d, layer, &draw);
    make_pipeline(d, p.pass, &draw);
    run(d, layer, &p, &draw);
    vk(vkMapMemory(d->handle, p.pixel_memory, 0, VK_WHOLE_SIZE, 0, &pixels), "vkMapMemory");
    check_picture(pixels, layer);
    write_picture(pixels, path);
    vkUnmapMemory(d->handle, p.pixel_memory);
    destroy_picture(d, &p, &draw);
}

int main(int argc, char **argv)
{
    device d = {0};
    vkf_context *context = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: drawn_attention PICTURE.ppm\n");
        return 2;
    }
    open_device(&d);
    const vkf_external_device external = {.instance = d.instance,
                                          .physical_device = d.physical,
                                          .device = d.handle,
                                          .queue = d.queue,
                                          .queue_family_index = d.family,
                                          .api_version = VK_API_VERSION_1_1};
    check(vkf_context_create(&(vkf_context_desc){.message = print_message, .external = &external}, &context) == VKF_OK,
          "vkf_context_create");
    vkf_layer *layer = make_attention(context);
    draw_attention(&d, layer, argv[1]);
    vkf_layer_destroy(&layer);
    vkf_context_destroy(&context);
    vkDestroyDevice(d.handle, NULL);
    vkDestroyInstance(d.instance, NULL);
    printf("%s: %d x %d pixels\n", argv[1], SIDE, SIDE);
    return EXIT_SUCCESS;
}
