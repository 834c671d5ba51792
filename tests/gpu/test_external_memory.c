// Buffers on memory that is exported to, or imported from, somebody else: another context, and the host.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"
#include "fixture.h"
#include "kernel/context.h"

enum { BYTES = 8192, COUNT = 64, PAGE = 65536 };

static int open_external(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.external_memory = true};
    if (!gpu)
        return -1;
    *state = gpu;
    return vkf_test_gpu_open(gpu, &desc);
}

// The fixture, where the device can share memory as this.
static vkf_test_gpu *gpu_with(void **state, bool there, const char *extension)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    if (!there) {
        printf("skipped: the device does not have %s, or the profile takes it away\n", extension);
        skip();
    }
    return gpu;
}

static const vkf__enabled *enabled(void **state)
{
    return &vkf_test_gpu_of(state)->context->device.plan.enabled;
}

static vkf_tensor tensor_at(vkf_buffer *buffer, uint64_t offset)
{
    return (vkf_tensor){
        .buffer = buffer, .offset_bytes = offset, .dtype = VKF_DTYPE_F32, .rank = 2, .shape = {1, COUNT}};
}

static vkf_context *other_context(const vkf_test_gpu *gpu)
{
    const vkf_context_desc desc = {.profile = gpu->profile, .skip_self_test = true, .external_memory = true};
    vkf_context *other = NULL;
    assert_int_equal(vkf_context_create(&desc, &other), VKF_OK);
    return other;
}

static vkf_imported_memory import_of(const vkf_exported_memory *memory)
{
    return (vkf_imported_memory){.kind = VKF_MEMORY_OPAQUE_FD,
                                 .fd = memory->fd,
                                 .buffer_bytes = memory->buffer_bytes,
                                 .memory_bytes = memory->memory_bytes,
                                 .memory_type = memory->memory_type};
}

// One context writes, another with a device of its own computes on the same memory, and the first reads the result.
static void test_opaque_fd_is_one_memory_in_two_contexts(void **state)
{
    vkf_test_gpu *gpu = gpu_with(state, enabled(state)->external_fd, "VK_KHR_external_memory_fd");
    vkf_context *other = other_context(gpu);
    vkf_buffer *here = NULL, *there = NULL;
    vkf_exported_memory memory = {.fd = -1};
    float values[COUNT] = {0}, read[COUNT];
    assert_int_equal(vkf_buffer_create_exportable(gpu->context, VKF_MEMORY_OPAQUE_FD, BYTES, "shared", &here), VKF_OK);
    assert_int_equal(vkf_buffer_get_size(here), BYTES);
    assert_int_equal(vkf_buffer_write(here, 0, values, sizeof values), VKF_OK);
    assert_int_equal(vkf_buffer_export(here, &memory), VKF_OK);
    assert_true(memory.fd >= 0 && memory.buffer_bytes >= BYTES && memory.memory_bytes >= memory.buffer_bytes);
    const vkf_imported_memory from = import_of(&memory);
    if (vkf_buffer_import(other, &from, &there) != VKF_OK)
        fail_msg("no import");
    const vkf_softmax_desc softmax = {.x = tensor_at(there, 0), .out = tensor_at(there, 4096)};
    assert_int_equal(vkf_softmax(other, &softmax), VKF_OK);
    assert_int_equal(vkf_buffer_read(here, 4096, read, sizeof read), VKF_OK);
    for (int i = 0; i < COUNT; i++)
        values[i] = 1.0f / COUNT;
    assert_close(read, values, COUNT, 1e-6, 1e-6, vkf_test_label(gpu, "through shared memory"));
    vkf_buffer_destroy(&here); // the memory lives on in the other context
    assert_int_equal(vkf_buffer_read(there, 4096, read, sizeof read), VKF_OK);
    assert_close(read, values, COUNT, 1e-6, 1e-6, vkf_test_label(gpu, "behind the exporter's end"));
    vkf_buffer_destroy(&there);
    vkf_context_destroy(&other);
}

// An operator reads from and writes to memory of the host's.
static void test_host_pointer_is_computed_on(void **state)
{
    vkf_test_gpu *gpu = gpu_with(state, enabled(state)->external_host, "VK_EXT_external_memory_host");
    float *memory = aligned_alloc(PAGE, PAGE), expected[COUNT];
    const vkf_imported_memory from = {
        .kind = VKF_MEMORY_HOST_POINTER, .pointer = memory, .buffer_bytes = BYTES, .memory_bytes = PAGE};
    vkf_buffer *buffer = NULL;
    vkf_memory_usage before, after;
    assert_non_null(memory);
    memset(memory, 0, PAGE);
    vkf_context_get_memory_usage(gpu->context, &before);
    vkf_status status = vkf_buffer_import(gpu->context, &from, &buffer);
    if (status == VKF_ERROR_UNSUPPORTED) {
        free(memory);
        printf("skipped: %s\n", gpu->last_error);
        skip();
    }
    assert_int_equal(status, VKF_OK);
    const vkf_softmax_desc softmax = {.x = tensor_at(buffer, 0), .out = tensor_at(buffer, 4096)};
    assert_int_equal(vkf_softmax(gpu->context, &softmax), VKF_OK);
    for (int i = 0; i < COUNT; i++)
        expected[i] = 1.0f / COUNT;
    assert_close(memory + 1024, expected, COUNT, 1e-6, 1e-6, vkf_test_label(gpu, "in the host's memory"));
    vkf_buffer_destroy(&buffer);
    vkf_context_get_memory_usage(gpu->context, &after);
    assert_memory_equal(before.used_bytes, after.used_bytes, sizeof before.used_bytes);
    memory[0] = 1; // it is still there
    free(memory);
}

static void assert_refused(vkf_test_gpu *gpu, const vkf_imported_memory *from, const char *said)
{
    vkf_buffer *buffer = NULL;
    assert_int_equal(vkf_buffer_import(gpu->context, from, &buffer), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(buffer);
    if (!strstr(gpu->last_error, said))
        fail_msg("\"%s\" does not say \"%s\"", gpu->last_error, said);
}

static void test_import_unusable_is_refused(void **state)
{
    vkf_test_gpu *gpu = gpu_with(state, enabled(state)->external_fd, "VK_KHR_external_memory_fd");
    vkf_buffer *buffer = NULL, *plain = NULL;
    vkf_exported_memory memory = {.fd = -1};
    assert_int_equal(vkf_buffer_create_exportable(gpu->context, VKF_MEMORY_OPAQUE_FD, BYTES, NULL, &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_export(buffer, &memory), VKF_OK);
    vkf_imported_memory from = import_of(&memory);
    from.fd = -1;
    assert_refused(gpu, &from, "no fd");
    from = import_of(&memory);
    from.buffer_bytes = 20;
    assert_refused(gpu, &from, "multiple of 16");
    from.buffer_bytes = from.memory_bytes + 16;
    assert_refused(gpu, &from, "within it");
    from.kind = VKF_MEMORY_KIND_COUNT;
    assert_refused(gpu, &from, "does not exist");
    close(memory.fd); // refused imports leave it to the caller
    assert_int_equal(vkf_buffer_create(gpu->context, BYTES, "plain", &plain), VKF_OK);
    assert_int_equal(vkf_buffer_export(plain, &memory), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_create_exportable(gpu->context, VKF_MEMORY_HOST_POINTER, BYTES, NULL, &plain),
                     VKF_ERROR_INVALID_ARGUMENT);
    vkf_buffer_destroy(&plain);
    vkf_buffer_destroy(&buffer);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_fails(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                 VkDeviceSize offset)
{
    (void)device, (void)buffer, (void)memory, (void)offset;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocation_fails(VkDevice device, const VkMemoryAllocateInfo *info,
                                                       const VkAllocationCallbacks *callbacks, VkDeviceMemory *memory)
{
    (void)device, (void)info, (void)callbacks, (void)memory;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

// The lowest number that is free: one that was not closed would be below it.
static int next_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

// Before the driver has taken the file descriptor and after that, it stays the caller's; only success takes it.
static void test_failed_import_leaves_the_descriptor(void **state)
{
    vkf_test_gpu *gpu = gpu_with(state, enabled(state)->external_fd, "VK_KHR_external_memory_fd");
    struct VolkDeviceTable *vk = &gpu->context->device.vk;
    const struct VolkDeviceTable before = *vk;
    vkf_buffer *buffer = NULL, *imported = NULL;
    vkf_exported_memory memory = {.fd = -1};
    assert_int_equal(vkf_buffer_create_exportable(gpu->context, VKF_MEMORY_OPAQUE_FD, BYTES, NULL, &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_export(buffer, &memory), VKF_OK);
    const vkf_imported_memory from = import_of(&memory);
    const int next = next_descriptor();
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            vk->vkAllocateMemory = allocation_fails;
        else
            vk->vkBindBufferMemory = bind_fails;
        vkf_status status = vkf_buffer_import(gpu->context, &from, &imported);
        *vk = before;
        assert_int_equal(status, VKF_ERROR_OUT_OF_DEVICE_MEMORY);
        assert_null(imported);
        assert_int_equal(next_descriptor(), next);
        assert_true(fcntl(memory.fd, F_GETFD) >= 0);
    }
    assert_int_equal(vkf_buffer_import(gpu->context, &from, &imported), VKF_OK);
    assert_int_equal(fcntl(memory.fd, F_GETFD), -1);
    assert_refused(gpu, &from, "is not open");
    vkf_buffer_destroy(&imported);
    vkf_buffer_destroy(&buffer);
    assert_true(next_descriptor() <= next);
}

static void test_dma_buf_is_exported(void **state)
{
    vkf_test_gpu *gpu = gpu_with(state, enabled(state)->external_dma_buf, "VK_EXT_external_memory_dma_buf");
    vkf_buffer *buffer = NULL;
    vkf_exported_memory memory = {.fd = -1};
    vkf_status status = vkf_buffer_create_exportable(gpu->context, VKF_MEMORY_DMA_BUF, BYTES, NULL, &buffer);
    if (status == VKF_ERROR_UNSUPPORTED) {
        printf("skipped: %s\n", gpu->last_error);
        skip();
    }
    assert_int_equal(status, VKF_OK);
    assert_int_equal(vkf_buffer_export(buffer, &memory), VKF_OK);
    close(memory.fd);
    vkf_buffer_destroy(&buffer);
}

// What nobody asked for is not enabled, and a sentence says so.
static void test_context_without_external_memory_refuses(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_context_desc desc = {.profile = gpu->profile, .skip_self_test = true};
    vkf_context *context = NULL;
    vkf_buffer *buffer = NULL;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    assert_false(context->device.plan.enabled.external_fd || context->device.plan.enabled.external_host);
    assert_int_equal(vkf_buffer_create_exportable(context, VKF_MEMORY_OPAQUE_FD, BYTES, NULL, &buffer),
                     VKF_ERROR_UNSUPPORTED);
    assert_null(buffer);
    vkf_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opaque_fd_is_one_memory_in_two_contexts),
        cmocka_unit_test(test_host_pointer_is_computed_on),
        cmocka_unit_test(test_import_unusable_is_refused),
        cmocka_unit_test(test_failed_import_leaves_the_descriptor),
        cmocka_unit_test(test_dma_buf_is_exported),
        cmocka_unit_test(test_context_without_external_memory_refuses),
    };
    return cmocka_run_group_tests_name("external_memory", tests, open_external, vkf_test_gpu_teardown);
}
