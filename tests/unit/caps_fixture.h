// Devices written by hand, and a message callback that remembers, for the tests of caps and plan.
#ifndef VKF_TEST_CAPS_FIXTURE_H
#define VKF_TEST_CAPS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "vk/plan.h"

#define DL VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define HV VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT
#define HC VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
#define CACHED VK_MEMORY_PROPERTY_HOST_CACHED_BIT

typedef struct message_record {
    char text[2048]; // the last message
    vkf_severity severity;
    int count;
} message_record;

static inline void record_message(void *user, vkf_severity severity, const char *text)
{
    message_record *record = user;
    (void)snprintf(record->text, sizeof record->text, "%s", text);
    record->severity = severity;
    record->count++;
}

static inline vkf__host recording_host(message_record *record)
{
    vkf__host host;
    *record = (message_record){0};
    assert_int_equal(vkf__host_init(&host, NULL, record_message, record, VKF_SEVERITY_DEBUG), VKF_OK);
    return host;
}

static inline void assert_said(const message_record *record, const char *part)
{
    if (!strstr(record->text, part))
        fail_msg("the message \"%s\" does not say \"%s\"", record->text, part);
}

// What a plan does with the caps that it is made of. Tests that select kernels without one call it after each change
// from which traits follow.
static inline void settle_traits(vkf__caps *caps)
{
    caps->traits = vkf__traits_of(caps);
}

// Everything a large desktop device has, save the memory.
static inline vkf__caps rich_caps(const char *name, vkf_device_type type)
{
    vkf__caps caps = {
        .type = type,
        .api_version = VK_MAKE_API_VERSION(0, 1, 3, 250),
        .max_workgroup_invocations = 1024,
        .max_workgroup_size_x = 1024,
        .max_workgroup_count_x = 2147483647,
        .max_workgroup_count_y = 65535,
        .max_workgroup_count_z = 65535,
        .max_shared_memory_bytes = 49152,
        .max_storage_buffers = 1048576,
        .max_storage_buffer_range = UINT32_MAX,
        .max_uniform_buffer_range = 65536,
        .max_texel_elements = UINT32_C(1) << 27,
        .max_push_constant_bytes = 256,
        .max_memory_allocation_count = 4294967295,
        .max_memory_allocation_bytes = UINT64_C(4) << 30,
        .max_buffer_bytes = UINT64_C(4) << 30,
        .subgroup_size = 32,
        .storage_buffer_alignment = 16,
        .uniform_buffer_alignment = 64,
        .texel_buffer_alignment = 16,
        .non_coherent_atom_bytes = 64,
        .min_subgroup_size = 32,
        .max_subgroup_size = 32,
        .least_subgroup_size = 32,
        .max_workgroup_subgroups = 32,
        .timestamp_period_ns = 1.0F,
        .timestamp_valid_bits = 64,
        .queue_family_count = 2,
        .queue_families = {{.compute = true, .queue_count = 1, .timestamp_valid_bits = 64}, {.compute = false}},
#define ON(field, ...) .field = true,
        VKF_CAPS_FEATURES(ON)
#undef ON
#define ON(field, ...) .other.field = true,
            VKF_OTHER_FEATURES(ON)
#undef ON
    };
    (void)snprintf(caps.name, sizeof caps.name, "%s", name);
    memset(caps.device_uuid, name[0], sizeof caps.device_uuid);
    return caps;
}

// Cooperative matrices of one listed shape per type, all that VK_NV_cooperative_matrix2 adds, and flexible shapes for
// subgroups and for workgroups of 128 and 256.
static inline void add_matrices(vkf__caps *caps, uint32_t side)
{
    const vkf__matrix_shape f16 = {
        .m = side,
        .n = side,
        .k = side,
        .a_type = VK_COMPONENT_TYPE_FLOAT16_KHR,
        .b_type = VK_COMPONENT_TYPE_FLOAT16_KHR,
        .c_type = VK_COMPONENT_TYPE_FLOAT32_KHR,
        .result_type = VK_COMPONENT_TYPE_FLOAT32_KHR,
        .scope = VK_SCOPE_SUBGROUP_KHR,
    };
    vkf__caps_matrix *matrix = &caps->matrix;
#define ON(field, ...) matrix->field = true;
    VKF_MATRIX_FEATURES(ON)
#undef ON
    matrix->shape_count = 2;
    matrix->shapes[0] = matrix->shapes[1] = f16;
    matrix->shapes[1].a_type = matrix->shapes[1].b_type = (uint32_t)VK_COMPONENT_TYPE_BFLOAT16_KHR;
    matrix->flexible_count = 3;
    for (uint32_t i = 0; i < 3; i++)
        matrix->flexible[i] = f16;
    matrix->flexible[1].scope = matrix->flexible[2].scope = VK_SCOPE_WORKGROUP_KHR;
    matrix->flexible[1].workgroup_invocations = 128;
    matrix->flexible[2].workgroup_invocations = 256;
    matrix->flexible_max_dimension = 1024;
    matrix->workgroup_scope_max_invocations = 1024;
    matrix->workgroup_scope_reserved_bytes = 16384;
    settle_traits(caps);
}

static inline void add_heap(vkf__caps *caps, uint64_t size_bytes, bool device_local)
{
    VkMemoryHeap *heap = &caps->memory.memoryHeaps[caps->memory.memoryHeapCount++];
    heap->size = size_bytes;
    heap->flags = device_local ? VK_MEMORY_HEAP_DEVICE_LOCAL_BIT : 0;
}

static inline void add_type(vkf__caps *caps, uint32_t heap, VkMemoryPropertyFlags flags)
{
    VkMemoryType *type = &caps->memory.memoryTypes[caps->memory.memoryTypeCount++];
    type->heapIndex = heap;
    type->propertyFlags = flags;
}

// A discrete device with a window of 256 MiB through which the host sees its memory.
static inline vkf__caps discrete_caps(void)
{
    vkf__caps caps = rich_caps("Discrete 9000", VKF_DEVICE_TYPE_DISCRETE);
    add_heap(&caps, UINT64_C(8) << 30, true);
    add_heap(&caps, UINT64_C(16) << 30, false);
    add_heap(&caps, UINT64_C(256) << 20, true);
    add_type(&caps, 1, 0);
    add_type(&caps, 0, DL);
    add_type(&caps, 1, HV | HC);
    add_type(&caps, 1, HV | HC | CACHED);
    add_type(&caps, 2, DL | HV | HC);
    settle_traits(&caps);
    return caps;
}

static inline vkf__caps integrated_caps(void)
{
    vkf__caps caps = rich_caps("Integrated 5", VKF_DEVICE_TYPE_INTEGRATED);
    add_heap(&caps, UINT64_C(16) << 30, true);
    add_type(&caps, 0, DL);
    add_type(&caps, 0, DL | HV | HC);
    add_type(&caps, 0, DL | HV | HC | CACHED);
    settle_traits(&caps);
    return caps;
}

static inline vkf__caps cpu_caps(void)
{
    vkf__caps caps = rich_caps("Software rasterizer", VKF_DEVICE_TYPE_CPU);
    add_heap(&caps, UINT64_C(2) << 30, true);
    add_type(&caps, 0, DL | HV | HC | CACHED);
    settle_traits(&caps);
    return caps;
}

#endif
