// Layers in the command buffers of a program with a Vulkan device of its own, between the program's own work.
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "shared/copy.h"
#include "vulkan_program.h"

#define USAGE                                                                                                     \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | \
     VK_BUFFER_USAGE_TRANSFER_DST_BIT)

static const vkf_layer_sizes max_sizes = {2, 12, 15};

static int open_program(void **state)
{
    return program_open(state, &(program_wishes){0});
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
    assert_true(vkf_layer_get_port(layer, port, &tensor));
    vkf_buffer_get_vulkan(tensor.buffer, &handle, &begin);
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
    own_buffer in = program_buffer(p, count * sizeof(float), USAGE),
               out = program_buffer(p, count * sizeof(float), USAGE);
    own_buffer params = program_buffer(p, 256, USAGE);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *recorded = NULL, *own = NULL;
        VkDeviceSize query_offset = 0, output_offset = 0;
        assert_int_equal(sample_layer_create(p->gpu.context, kind, &p->weights, max_sizes, &recorded), VKF_OK);
        assert_int_equal(sample_layer_create(p->gpu.context, kind, &p->weights, max_sizes, &own), VKF_OK);
        VkBuffer query = port_buffer(recorded, VKF_PORT_QUERY, &query_offset);
        VkBuffer output = port_buffer(recorded, VKF_PORT_OUTPUT, &output_offset);
        VkCommandBuffer commands = program_begin(p);
        record_scale(p, commands, &params, in.handle, query, (uint32_t)query_offset, (uint32_t)count, 2);
        assert_int_equal(vkf_layer_record(recorded, 0, commands), VKF_OK);
        const VkBufferCopy region = {output_offset, 0, count * sizeof(float)};
        p->vk.vkCmdCopyBuffer(commands, output, out.handle, 1, &region);
        program_barrier(p, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                        VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
        for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
            sample_data data;
            sample_data_create(&p->gpu.random, runs[r], &data);
            assert_int_equal(sample_layer_write(recorded, kind, &data), VKF_OK);
            for (size_t i = 0; i < sample_data_outputs(&data); i++) {
                in.mapped[i] = data.query[i];
                data.query[i] *= 2;
            }
            assert_int_equal(vkf_layer_set_sizes(recorded, 0, &runs[r]), VKF_OK);
            program_submit(p, commands);
            assert_int_equal(sample_layer_run(own, kind, &data), VKF_OK);
            assert_close(out.mapped, data.out, sample_data_outputs(&data), 0, 0,
                         vkf_test_label(&p->gpu, "%s, run %zu", sample_name(kind), r));
            sample_data_destroy(&data);
        }
        vkf_layer_destroy(&recorded);
        vkf_layer_destroy(&own);
    }
    program_destroy_buffer(p, &in);
    program_destroy_buffer(p, &out);
    program_destroy_buffer(p, &params);
}

// Transfers before the first and after the last dispatch are waited for, with no barrier of the program's own.
static void test_layer_after_fill_and_before_copy(void **state)
{
    program *p = program_of(state);
    const size_t count = (size_t)max_sizes.batch * max_sizes.query_len * SAMPLE_DIM;
    own_buffer out = program_buffer(p, count * sizeof(float), USAGE);
    vkf_layer *layer = NULL;
    VkDeviceSize query_offset = 0, output_offset = 0;
    float half = 0.5f;
    uint32_t word = 0;
    sample_data data;
    memcpy(&word, &half, sizeof word);
    assert_int_equal(sample_layer_create(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &layer), VKF_OK);
    VkBuffer query = port_buffer(layer, VKF_PORT_QUERY, &query_offset);
    VkBuffer output = port_buffer(layer, VKF_PORT_OUTPUT, &output_offset);
    VkCommandBuffer commands = program_begin(p);
    p->vk.vkCmdFillBuffer(commands, query, query_offset, count * sizeof(float), word);
    assert_int_equal(vkf_layer_record(layer, 0, commands), VKF_OK);
    const VkBufferCopy region = {output_offset, 0, count * sizeof(float)};
    p->vk.vkCmdCopyBuffer(commands, output, out.handle, 1, &region);
    program_barrier(p, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                    VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    program_submit(p, commands);
    sample_data_create(&p->gpu.random, max_sizes, &data);
    for (size_t i = 0; i < count; i++)
        data.query[i] = half;
    assert_int_equal(sample_layer_run(layer, SAMPLE_ENCODER, &data), VKF_OK);
    assert_close(out.mapped, data.out, count, 0, 0, vkf_test_label(&p->gpu, "encoder after a fill"));
    sample_data_destroy(&data);
    vkf_layer_destroy(&layer);
    program_destroy_buffer(p, &out);
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
    assert_true(vkf_layer_get_port(first, VKF_PORT_OUTPUT, &between));
    vkf_feed_forward_desc desc = {.d_model = SAMPLE_DIM,
                                  .dim_feedforward = SAMPLE_HIDDEN,
                                  .activation = VKF_ACTIVATION_RELU,
                                  .params = p->weights.feed_forward,
                                  .max_sizes = max_sizes};
    desc.ports[VKF_PORT_QUERY] = between;
    assert_int_equal(vkf_feed_forward_create(p->gpu.context, &desc, &second), VKF_OK);
    VkCommandBuffer commands = program_begin(p);
    assert_int_equal(vkf_layer_record(first, 0, commands), VKF_OK);
    assert_int_equal(vkf_layer_record(second, 0, commands), VKF_OK);
    assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    sample_data_create(&p->gpu.random, max_sizes, &data);
    size_t count = sample_data_outputs(&data);
    float *out = malloc(count * sizeof *out);
    assert_non_null(out);
    assert_int_equal(sample_layer_write(first, SAMPLE_ENCODER, &data), VKF_OK);
    program_submit(p, commands);
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
    assert_int_equal(vkf_layer_record(layer, 0, VK_NULL_HANDLE), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_layer_record(NULL, 0, VK_NULL_HANDLE), VKF_ERROR_INVALID_ARGUMENT);
    vkf_layer_destroy(&layer);
}

static void test_external_device_unusable_is_refused(void **state)
{
    program *p = program_of(state);
    vkf_external_device bad[6];
    for (size_t i = 0; i < 6; i++)
        bad[i] = p->external;
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
    return cmocka_run_group_tests_name("interop", tests, open_program, program_close);
}
