// Memory: plans foretell what is allocated, to the byte and by heap; nothing stays behind; transfers of any size and
// place.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "fake_vulkan.h"
#include "long_attention.h"
#include "op/attention.h"
#include "op/operators.h"
#include "sample_layers.h"
#include "vk/transfer.h"

#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

// The same tests on three kinds of device: as it is; with its device memory kept from the host by a mask; and one that
// looks discrete, with two heaps. Then with a kernel for matrix products that makes layers pack their weights.
typedef struct memory_device {
    const char *masks[1];
    uint32_t mask_count;
    bool discrete;
    const char *variant;
} memory_device;

static const memory_device as_it_is = {.mask_count = 0};
static const memory_device masked = {.masks = {"hostVisibleDeviceMemory"}, .mask_count = 1};
static const memory_device discrete = {.discrete = true};
static const memory_device packing = {.variant = "gemm_texel."};

static int open_device(void **state, const memory_device *device)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.get_instance_proc_addr = fake_vulkan_get_proc,
                             .masks = device->masks,
                             .mask_count = device->mask_count,
                             .variant = device->variant};
    *state = gpu;
    fake_vulkan_reset();
    fake_vulkan_discrete(device->discrete);
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

static int open_as_it_is(void **state)
{
    return open_device(state, &as_it_is);
}

static int open_masked(void **state)
{
    return open_device(state, &masked);
}

static int open_discrete(void **state)
{
    return open_device(state, &discrete);
}

static int open_packing(void **state)
{
    return open_device(state, &packing);
}

static int close_device(void **state)
{
    int result = vkf_test_gpu_teardown(state);
    const char *kind = NULL;
    size_t alive = fake_vulkan_live(&kind);
    if (alive > 0 || fake_vulkan_misuse()) {
        fprintf(stderr, "%zu objects left (%s), misuse: %s\n", alive, kind,
                fake_vulkan_misuse() ? fake_vulkan_misuse() : "none");
        result = -1;
    }
    fake_vulkan_discrete(false);
    return result;
}

static vkf_memory_usage usage_of(vkf_test_gpu *gpu)
{
    vkf_memory_usage usage;
    vkf_context_get_memory_usage(gpu->context, &usage);
    return usage;
}

static void assert_same_usage(const vkf_memory_usage *a, const vkf_memory_usage *b)
{
    assert_int_equal(a->heap_count, b->heap_count);
    for (uint32_t i = 0; i < a->heap_count; i++) {
        assert_int_equal(a->used_bytes[i], b->used_bytes[i]);
        assert_int_equal(a->reserved_bytes[i], b->reserved_bytes[i]);
    }
}

static void assert_grown_by(vkf_test_gpu *gpu, const vkf_memory_usage *before, const vkf_memory_plan *plan,
                            const char *what)
{
    vkf_memory_usage after = usage_of(gpu);
    uint64_t kinds =
        plan->weights_bytes + plan->activations_bytes + plan->cache_bytes + plan->control_bytes + plan->staging_bytes;
    uint64_t heaps = 0;
    assert_int_equal(plan->heap_count, after.heap_count);
    for (uint32_t i = 0; i < after.heap_count; i++) {
        uint64_t grown = after.used_bytes[i] - before->used_bytes[i];
        heaps += plan->heap_bytes[i];
        if (grown != plan->heap_bytes[i])
            fail_msg("%s: heap %u grew by %llu bytes, the plan says %llu", what, i, (unsigned long long)grown,
                     (unsigned long long)plan->heap_bytes[i]);
        assert_true(after.reserved_bytes[i] >= after.used_bytes[i]);
    }
    assert_int_equal(kinds, heaps);
    assert_true(kinds > 0);
}

// What the packed weights of a sample layer take: four (32, 32) for each attention, (64, 32) with the filled-up panel
// and (32, 48) for a feed-forward block.
static uint64_t packed_bytes(sample_kind kind)
{
    const uint64_t attention = 4 * 32 * 32 * 4, feed_forward = (64 * 32 + 32 * 48) * 4;
    const uint64_t bytes[SAMPLE_KINDS] = {attention, feed_forward, attention + feed_forward,
                                          2 * attention + feed_forward};
    return bytes[kind];
}

// Creates layers of every kind after asking for their plans; `packs` tells what they do with a weight.
static void check_layer_plans(vkf_test_gpu *gpu, bool (*packs)(uint64_t weights_bytes, uint64_t packed))
{
    static const vkf_layer_sizes sizes[] = {{1, 1, 1}, {2, 7, 5}, {3, 33, 65}};
    sample_weights weights;
    sample_weights_create(gpu, &weights);
    const vkf_memory_usage before = usage_of(gpu);
    for (int i = 0; i < 3 * SAMPLE_KINDS; i++) {
        sample_kind kind = (sample_kind)(i / 3);
        vkf_memory_plan plan;
        vkf_layer *layer = NULL;
        assert_int_equal(sample_layer_plan(gpu->context, kind, &weights, sizes[i % 3], &plan), VKF_OK);
        vkf_memory_usage planned = usage_of(gpu);
        assert_same_usage(&planned, &before);
        assert_int_equal(sample_layer_create(gpu->context, kind, &weights, sizes[i % 3], &layer), VKF_OK);
        assert_grown_by(gpu, &before, &plan, sample_name(kind));
        assert_true(packs(plan.weights_bytes, packed_bytes(kind)));
        assert_true(plan.activations_bytes > 0 && plan.control_bytes > 0);
        vkf_layer_destroy(&layer);
        vkf_memory_usage after = usage_of(gpu);
        assert_same_usage(&after, &before);
    }
    sample_weights_destroy(&weights);
}

// By default a layer packs all of its weights or none, as the device likes it.
static bool all_or_none(uint64_t weights_bytes, uint64_t packed)
{
    return weights_bytes == 0 || weights_bytes == packed;
}

static bool all(uint64_t weights_bytes, uint64_t packed)
{
    return weights_bytes == packed;
}

static void test_layer_plan_is_exact(void **state)
{
    check_layer_plans(vkf_test_gpu_of(state), all_or_none);
}

static void test_layer_plan_is_exact_with_packed_weights(void **state)
{
    check_layer_plans(vkf_test_gpu_of(state), all);
}

static void test_layer_plan_needs_no_buffers(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_layer_sizes sizes = {2, 7, 5};
    sample_weights weights;
    vkf_memory_plan with, without;
    sample_weights_create(gpu, &weights);
    assert_int_equal(sample_layer_plan(gpu->context, SAMPLE_ENCODER, &weights, sizes, &with), VKF_OK);
    sample_weights shapes = weights;
    vkf_tensor *const tensors[] = {&shapes.self.q_weight, &shapes.self.out_bias, &shapes.feed_forward.weight1,
                                   &shapes.norm[0].weight};
    for (size_t i = 0; i < 4; i++)
        tensors[i]->buffer = NULL;
    assert_int_equal(sample_layer_plan(gpu->context, SAMPLE_ENCODER, &shapes, sizes, &without), VKF_OK);
    assert_memory_equal(&with, &without, sizeof with);
    sample_weights_destroy(&weights);
}

#define ALL_ATTENTION (VKF_ATTENTION_CROSS | VKF_ATTENTION_ENCODER | VKF_ATTENTION_DECODER)

static void test_model_and_session_plans_are_exact(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_memory_usage before = usage_of(gpu);
    for (int precision = 0; precision < VKF_MODEL_PRECISION_COUNT; precision++) {
        const vkf_model_desc desc = {.directory = DEMO_MODEL, .precision = (vkf_model_precision)precision};
        const vkf_session_desc session_desc = {.max_batch = 2,
                                               .max_source_len = 9,
                                               .max_target_len = 11,
                                               .max_logit_rows = precision == VKF_MODEL_PRECISION_F32 ? 4 : 1,
                                               .attention_weights =
                                                   precision == VKF_MODEL_PRECISION_F32 ? ALL_ATTENTION : 0};
        vkf_memory_plan plan;
        vkf_model *model = NULL;
        vkf_session *session = NULL;
        assert_int_equal(vkf_model_plan(gpu->context, &desc, &plan), VKF_OK);
        assert_int_equal(vkf_model_load(gpu->context, &desc, &model), VKF_OK);
        assert_grown_by(gpu, &before, &plan, "model");
        const vkf_memory_usage loaded = usage_of(gpu);
        assert_int_equal(vkf_session_plan(model, &session_desc, &plan), VKF_OK);
        assert_int_equal(vkf_session_create(model, &session_desc, &session), VKF_OK);
        assert_grown_by(gpu, &loaded, &plan, "session");
        assert_true(plan.cache_bytes > 0);
        vkf_session_destroy(&session);
        vkf_model_destroy(&model);
        vkf_memory_usage after = usage_of(gpu);
        assert_same_usage(&after, &before);
    }
}

static void test_slabs_are_shared_and_reused(void **state)
{
    enum { BUFFERS = 24 };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffers[BUFFERS] = {0};
    assert_int_equal(vkf_buffer_create(gpu->context, 1000, "first", &buffers[0]), VKF_OK);
    const vkf_memory_usage before = usage_of(gpu);
    fake_vulkan_reset();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 1; i < BUFFERS; i++)
            assert_int_equal(vkf_buffer_create(gpu->context, 1000 * i, "small", &buffers[i]), VKF_OK);
        for (size_t i = 1; i < BUFFERS; i += 2)
            vkf_buffer_destroy(&buffers[i]);
        for (size_t i = 1; i < BUFFERS; i += 2)
            assert_int_equal(vkf_buffer_create(gpu->context, 1000 * i, "again", &buffers[i]), VKF_OK);
        for (size_t i = 1; i < BUFFERS; i++)
            vkf_buffer_destroy(&buffers[i]);
    }
    assert_int_equal(fake_vulkan_calls("vkAllocateMemory"), 0);
    const vkf_memory_usage after = usage_of(gpu);
    assert_same_usage(&after, &before);
    vkf_buffer_destroy(&buffers[0]);
}

static void keep_error(void *user, vkf_severity severity, const char *text)
{
    vkf_test_gpu *gpu = user;
    if (severity == VKF_SEVERITY_ERROR)
        (void)snprintf(gpu->last_error, sizeof gpu->last_error, "%s", text);
}

// Nothing is allocated beyond the limit, what is within it still is, and what was given back may be had again.
static void test_memory_limit_holds(void **state)
{
    enum { MIB = 1 << 20 };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_context_desc desc = {.profile = gpu->profile,
                                   .skip_self_test = true,
                                   .external_memory = true,
                                   .message = keep_error,
                                   .message_user = gpu,
                                   .device_memory_limit_bytes = 20 * MIB};
    vkf_context *context = NULL;
    vkf_buffer *most = NULL, *more = NULL, *little = NULL;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    assert_int_equal(vkf_buffer_create(context, 12 * MIB, "most", &most), VKF_OK);
    assert_int_equal(vkf_buffer_create(context, 12 * MIB, "more", &more), VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_non_null(strstr(gpu->last_error, "device_memory_limit_bytes, 20971520"));
    if (context->device.plan.enabled.external_fd)
        assert_int_equal(vkf_buffer_create_exportable(context, VKF_MEMORY_OPAQUE_FD, 12 * MIB, "more", &more),
                         VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(vkf_buffer_create(context, 1000, "little", &little), VKF_OK); // a whole slab would be beyond it
    vkf_buffer_destroy(&most);
    assert_int_equal(vkf_buffer_create(context, 12 * MIB, "more", &more), VKF_OK);
    vkf_buffer_destroy(&more);
    vkf_buffer_destroy(&little);
    vkf_context_destroy(&context);
}

static void test_peak_outlives_what_is_gone(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffer = NULL;
    const vkf_memory_usage before = usage_of(gpu);
    vkf_context_reset_memory_peak(gpu->context);
    assert_memory_equal(usage_of(gpu).peak_bytes, before.used_bytes, sizeof before.used_bytes);
    assert_int_equal(vkf_buffer_create(gpu->context, 4096, "short-lived", &buffer), VKF_OK);
    const vkf_memory_usage during = usage_of(gpu);
    vkf_buffer_destroy(&buffer);
    const vkf_memory_usage after = usage_of(gpu);
    assert_same_usage(&after, &before);
    assert_memory_equal(after.peak_bytes, during.used_bytes, sizeof during.used_bytes);
    assert_memory_not_equal(after.peak_bytes, before.used_bytes, sizeof before.used_bytes);
    vkf_context_reset_memory_peak(gpu->context);
    assert_memory_equal(usage_of(gpu).peak_bytes, before.used_bytes, sizeof before.used_bytes);
}

// Buffers that lie beside each other in one slab do not touch each other.
static void test_neighbours_keep_their_content(void **state)
{
    enum { BUFFERS = 16, BYTES = 777 };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffers[BUFFERS] = {0};
    uint8_t bytes[BYTES], read[BYTES];
    for (int i = 0; i < BUFFERS; i++) {
        assert_int_equal(vkf_buffer_create(gpu->context, BYTES, "neighbour", &buffers[i]), VKF_OK);
        assert_int_equal(vkf_buffer_read(buffers[i], 0, read, BYTES), VKF_OK);
        for (size_t k = 0; k < BYTES; k++)
            assert_int_equal(read[k], 0);
        memset(bytes, 17 + i, BYTES);
        assert_int_equal(vkf_buffer_write(buffers[i], 0, bytes, BYTES), VKF_OK);
    }
    for (int i = 0; i < BUFFERS; i++) {
        memset(bytes, 17 + i, BYTES);
        assert_int_equal(vkf_buffer_read(buffers[i], 0, read, BYTES), VKF_OK);
        assert_memory_equal(read, bytes, BYTES);
        vkf_buffer_destroy(&buffers[i]);
    }
}

// A buffer is zero when made, even where memory was used before.
static void test_new_buffer_is_zero(void **state)
{
    enum { BYTES = 5 << 20 };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    uint8_t *bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (int round = 0; round < 3; round++) {
        vkf_buffer *buffer = NULL;
        size_t size = round == 1 ? 3001 : BYTES;
        assert_int_equal(vkf_buffer_create(gpu->context, size, "zero", &buffer), VKF_OK);
        memset(bytes, 1, size);
        assert_int_equal(vkf_buffer_read(buffer, 0, bytes, size), VKF_OK);
        for (size_t i = 0; i < size; i++) {
            if (bytes[i] != 0)
                fail_msg("byte %zu is %u", i, bytes[i]);
        }
        memset(bytes, 0xff, size);
        assert_int_equal(vkf_buffer_write(buffer, 0, bytes, size), VKF_OK);
        vkf_buffer_destroy(&buffer);
    }
    free(bytes);
}

static void test_transfer_at_any_offset(void **state)
{
    enum { BYTES = 3 * (int)VKF_STAGING_BYTES + 1234567 };
    static const struct {
        uint64_t offset, size;
    } rows[] = {
        {0, 1},
        {1, 1},
        {3, 5},
        {255, 2},
        {0, BYTES},
        {BYTES - 1, 1},
        {0, VKF_STAGING_BYTES},
        {7, VKF_STAGING_BYTES - 1},
        {13, VKF_STAGING_BYTES + 1},
        {11, 2 * VKF_STAGING_BYTES + 3},
        {1, BYTES - 2},
        {BYTES, 0},
    };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffer = NULL;
    uint8_t *expected = malloc(BYTES), *read = malloc(BYTES), *part = malloc(BYTES);
    assert_true(expected && read && part);
    assert_int_equal(vkf_buffer_create(gpu->context, BYTES, "transfers", &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_get_size(buffer), BYTES);
    memset(expected, 0, BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint64_t k = 0; k < rows[i].size; k++)
            part[k] = (uint8_t)(vkf_test_random_u64(&gpu->random) >> 40);
        memcpy(expected + rows[i].offset, part, (size_t)rows[i].size);
        assert_int_equal(vkf_buffer_write(buffer, rows[i].offset, part, rows[i].size), VKF_OK);
        memset(read, 0x5a, BYTES);
        assert_int_equal(vkf_buffer_read(buffer, rows[i].offset, read, rows[i].size), VKF_OK);
        assert_memory_equal(read, part, (size_t)rows[i].size);
        assert_int_equal(vkf_buffer_read(buffer, 0, read, BYTES), VKF_OK);
        assert_memory_equal(read, expected, BYTES);
    }
    vkf_buffer_destroy(&buffer);
    free(expected);
    free(read);
    free(part);
}

// Whichever call fails, be it one of the half that is filled or of the one in flight: the write or the read says so,
// and leaves both halves to those that follow.
// Both ways, by less than a part and by more; on the host and through staging memory.
static void test_bytes_move_to_places_that_overlap(void **state)
{
    enum { SIZE = 5 << 20, PLACES = 4 };
    static const uint64_t from[PLACES] = {3, 1000, 0, 3 << 20}, to[PLACES] = {1000, 3, 3 << 20, 5};
    static const uint64_t size[PLACES] = {(4 << 20) + 7, (4 << 20) + 7, 2 << 20, 2 << 20};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    uint8_t *bytes = malloc(SIZE), *read = malloc(SIZE);
    vkf_buffer *buffer = NULL;
    assert_non_null(bytes);
    assert_non_null(read);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    assert_int_equal(vkf_buffer_create(gpu->context, SIZE, "moves", &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_write(buffer, 0, bytes, SIZE), VKF_OK);
    for (size_t i = 0; i < PLACES; i++) {
        assert_int_equal(vkf__buffer_move(buffer, from[i], to[i], size[i]), VKF_OK);
        memmove(bytes + to[i], bytes + from[i], size[i]);
        assert_int_equal(vkf_buffer_read(buffer, 0, read, SIZE), VKF_OK);
        assert_memory_equal(read, bytes, SIZE);
    }
    vkf_buffer_destroy(&buffer);
    free(bytes);
    free(read);
}

static void check_failing_transfers(vkf_test_gpu *gpu, vkf_buffer *buffer, uint8_t *bytes, bool reads)
{
    const uint64_t size = vkf_buffer_get_size(buffer);
    uint32_t calls = 0;
    for (bool failed = true; failed; calls += failed) {
        fake_vulkan_reset();
        fake_vulkan_fail(VK_ERROR_OUT_OF_DEVICE_MEMORY, calls + 1);
        vkf_status status = reads ? vkf_buffer_read(buffer, 0, bytes, size) : vkf_buffer_write(buffer, 0, bytes, size);
        failed = fake_vulkan_failed() != NULL;
        fake_vulkan_reset();
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_DEVICE_MEMORY : VKF_OK);
        gpu->last_error[0] = '\0';
    }
    assert_true(calls >= 3 * 3); // a part is recorded, submitted and waited for
}

static void test_transfer_with_any_call_failing(void **state)
{
    enum { BYTES = 2 * (int)VKF_STAGING_BYTES + 4321 };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffer = NULL;
    uint8_t *bytes = malloc(BYTES), *read = calloc(1, BYTES);
    assert_true(bytes && read);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(vkf_test_random_u64(&gpu->random) >> 40);
    assert_int_equal(vkf_buffer_create(gpu->context, BYTES, "transfers", &buffer), VKF_OK);
    check_failing_transfers(gpu, buffer, bytes, false);
    check_failing_transfers(gpu, buffer, read, true);
    assert_memory_equal(read, bytes, BYTES);
    vkf_buffer_destroy(&buffer);
    free(bytes);
    free(read);
}

static void test_transfer_beyond_the_end_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffer = NULL;
    uint8_t bytes[64] = {0};
    assert_int_equal(vkf_buffer_create(gpu->context, 50, "short", &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_write(buffer, 0, bytes, 51), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_write(buffer, 50, bytes, 1), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_write(buffer, UINT64_MAX, bytes, 2), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_read(buffer, 1, bytes, UINT64_MAX), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_read(buffer, 0, NULL, 1), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_write(buffer, 0, NULL, 1), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_write(buffer, 50, bytes, 0), VKF_OK);
    vkf_buffer_destroy(&buffer);
    assert_null(buffer);
    assert_int_equal(vkf_buffer_create(gpu->context, 0, "empty", &buffer), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_buffer_create(gpu->context, UINT64_MAX, "huge", &buffer), VKF_ERROR_TOO_LARGE);
    assert_null(buffer);
}

static void test_staged_device_copies(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_device_info info;
    vkf_buffer *buffer = NULL;
    uint32_t word = 0x01020304;
    vkf_context_get_device_info(gpu->context, &info);
    assert_false(info.unified_memory);
    assert_int_equal(vkf_buffer_create(gpu->context, 64, "staged", &buffer), VKF_OK);
    fake_vulkan_reset();
    assert_int_equal(vkf_buffer_write(buffer, 4, &word, sizeof word), VKF_OK);
    assert_int_equal(fake_vulkan_calls("vkCmdCopyBuffer"), 1);
    assert_int_equal(vkf_buffer_read(buffer, 4, &word, sizeof word), VKF_OK);
    assert_int_equal(fake_vulkan_calls("vkCmdCopyBuffer"), 2);
    vkf_buffer_destroy(&buffer);
}

static void test_discrete_device_has_two_heaps(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_memory_usage before = usage_of(gpu);
    vkf_device_info info;
    vkf_buffer *buffer = NULL;
    vkf_context_get_device_info(gpu->context, &info);
    assert_int_equal(info.type, VKF_DEVICE_TYPE_DISCRETE);
    assert_int_equal(info.heap_count, 2);
    assert_true(info.heap_device_local[0] && !info.heap_device_local[1]);
    assert_int_equal(before.used_bytes[1], 2 * VKF_STAGING_BYTES);
    assert_int_equal(vkf_buffer_create(gpu->context, 64, "device", &buffer), VKF_OK);
    const vkf_memory_usage after = usage_of(gpu);
    assert_true(after.used_bytes[0] > before.used_bytes[0]);
    assert_int_equal(after.used_bytes[1], before.used_bytes[1]);
    vkf_buffer_destroy(&buffer);
}

// The layers compute the same where everything is staged.
static void test_layers_run_where_memory_is_staged(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_gpu plain;
    vkf_context_desc desc = {.get_instance_proc_addr = NULL};
    vkf_test_random seed;
    vkf_test_random_init(&seed, gpu->seed);
    gpu->random = seed;
    assert_int_equal(vkf_test_gpu_open(&plain, &desc), 0);
    vkf_test_gpu *const both[] = {gpu, &plain};
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        sample_data data[2];
        for (size_t i = 0; i < 2; i++) {
            sample_weights weights;
            vkf_layer *layer = NULL;
            const vkf_layer_sizes sizes = {2, 6, 9};
            sample_weights_create(both[i], &weights);
            sample_data_create(&both[i]->random, sizes, &data[i]);
            assert_int_equal(sample_layer_create(both[i]->context, kind, &weights, sizes, &layer), VKF_OK);
            assert_int_equal(sample_layer_run(layer, kind, &data[i]), VKF_OK);
            vkf_layer_destroy(&layer);
            sample_weights_destroy(&weights);
        }
        // The other kind of device may take other kernels, which add in another order.
        assert_close(data[0].out, data[1].out, sample_data_outputs(&data[0]), 2e-5, 2e-5, sample_name(kind));
        sample_data_destroy(&data[0]);
        sample_data_destroy(&data[1]);
    }
    vkf_context_destroy(&plain.context);
    assert_int_equal(plain.validation_messages, 0);
}

static vkf_status plan_long_attention(vkf_context *context, uint64_t *out_bytes)
{
    const vkf__attention_args args = vkf_test_long_attention();
    vkf__work work;
    vkf__work_init(&work, context, "attention");
    vkf_status status = vkf__work_plan(&work, vkf__operator(VKF_OP_ATTENTION)->emit, &args);
    if (status == VKF_OK)
        *out_bytes = work.plan.arena_bytes + vkf__work_control_bytes(&work) + 4 * VKF_TEST_LONG_BYTES;
    vkf__work_finish(&work);
    return status;
}

static vkf_status plan_long_layer(vkf_context *context, vkf_memory_plan *out_plan)
{
    const vkf_tensor weight = {.dtype = VKF_DTYPE_F32, .rank = 2, .shape = {VKF_TEST_LONG_DIM, VKF_TEST_LONG_DIM}};
    const vkf_attention_desc desc = {
        .embed_dim = VKF_TEST_LONG_DIM,
        .num_heads = VKF_TEST_LONG_HEADS,
        .self_attention = true,
        .params = {.q_weight = weight, .k_weight = weight, .v_weight = weight, .out_weight = weight},
        .max_sizes = {1, VKF_TEST_LONG_LENGTH, 0},
    };
    return vkf_attention_plan(context, &desc, out_plan);
}

// A matrix of scores would take 2 GiB. Kernels without one bind six storage buffers, or texel buffers that hold all of
// an operand; a device with neither refuses such lengths.
static void test_attention_plan_has_no_matrix_of_scores(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_device_info info;
    vkf_memory_plan plan;
    uint64_t bytes = 0;
    vkf_context_get_device_info(gpu->context, &info);
    vkf_status status = plan_long_attention(gpu->context, &bytes);
    if (info.max_storage_buffers < 6 && status == VKF_ERROR_TOO_LARGE)
        return;
    assert_int_equal(status, VKF_OK);
    assert_in_range(bytes, 4 * VKF_TEST_LONG_BYTES, 100000000);
    // Input, output, query, key, value and context, whose rows are a cache line longer; weights of 4 MiB; control.
    assert_int_equal(plan_long_layer(gpu->context, &plan), VKF_OK);
    assert_in_range(plan.activations_bytes, 1, (uint64_t)VKF_TEST_LONG_LENGTH * (6 * VKF_TEST_LONG_DIM * 4 + 64));
    assert_in_range(plan.weights_bytes + plan.control_bytes, 1, 5000000);
}

static uint32_t copies;
static PFN_vkCmdCopyBuffer copy_buffer;
static void VKAPI_CALL count_copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                                  const VkBufferCopy *regions)
{
    copies++;
    copy_buffer(commands, from, to, count, regions);
}

// How many copies on the device it takes to read so many bytes, which must come as they were written.
static uint32_t copies_of_a_read(vkf_test_gpu *gpu, vkf_buffer *buffer, uint64_t size)
{
    vkf__device *device = &gpu->context->device;
    uint8_t *written = malloc(size), *read = calloc(1, size);
    assert_true(written && read);
    for (uint64_t i = 0; i < size; i++)
        written[i] = (uint8_t)(vkf_test_random_u64(&gpu->random) >> 40);
    assert_int_equal(vkf_buffer_write(buffer, 0, written, size), VKF_OK);
    copies = 0;
    copy_buffer = device->vk.vkCmdCopyBuffer;
    device->vk.vkCmdCopyBuffer = count_copy;
    vkf_status status = vkf_buffer_read(buffer, 0, read, size);
    device->vk.vkCmdCopyBuffer = copy_buffer;
    assert_int_equal(status, VKF_OK);
    assert_memory_equal(read, written, size);
    free(written);
    free(read);
    return copies;
}

// Where one allocation, or one buffer, may be no larger than this, the halves of the staging memory are not.
static void test_staging_is_no_larger_than_an_allocation(void **state)
{
    static const char *const limits[] = {"maxMemoryAllocationSize=500001", "maxBufferSize=500001"};
    enum { BYTES = 122 * 4096 };
    const vkf_caps_profile profile = vkf_test_gpu_of(state)->profile;
    for (size_t i = 0; i < 2; i++) {
        const char *const masks[] = {"hostVisibleDeviceMemory", limits[i]};
        vkf_context_desc desc = {.profile = profile, .masks = masks, .mask_count = 2};
        vkf_test_gpu limited;
        vkf_buffer *buffer = NULL;
        assert_int_equal(vkf_test_gpu_open(&limited, &desc), 0);
        assert_int_equal(vkf_buffer_create(limited.context, BYTES, "limited", &buffer), VKF_OK);
        assert_int_equal(copies_of_a_read(&limited, buffer, BYTES), 1);
        vkf_buffer_destroy(&buffer);
        vkf_context_destroy(&limited.context);
        vkf_test_assert_silent(&limited);
    }
}

// A discrete device whose memory is mapped whole has it write-combined: more than a few bytes are copied to cached
// memory first, and nothing else is.
static void test_uncached_memory_is_read_through_staging(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_buffer *buffer = NULL;
    assert_int_equal(vkf_buffer_create(gpu->context, 100000, "uncached", &buffer), VKF_OK);
    if (buffer->allocation.mapped && buffer->allocation.host_cached)
        assert_int_equal(copies_of_a_read(gpu, buffer, 100000), 0);
    buffer->allocation.host_cached = false;
    assert_int_equal(copies_of_a_read(gpu, buffer, 100000), 1);
    assert_int_equal(copies_of_a_read(gpu, buffer, 16), buffer->allocation.mapped ? 0 : 1);
    vkf_buffer_destroy(&buffer);
}

int main(void)
{
#define EVERYWHERE                                                                                               \
    cmocka_unit_test(test_layer_plan_is_exact), cmocka_unit_test(test_model_and_session_plans_are_exact),        \
        cmocka_unit_test(test_slabs_are_shared_and_reused), cmocka_unit_test(test_peak_outlives_what_is_gone),   \
        cmocka_unit_test(test_neighbours_keep_their_content), cmocka_unit_test(test_new_buffer_is_zero),         \
        cmocka_unit_test(test_transfer_at_any_offset), cmocka_unit_test(test_bytes_move_to_places_that_overlap), \
        cmocka_unit_test(test_uncached_memory_is_read_through_staging)
    const struct CMUnitTest as_it_is_tests[] = {
        EVERYWHERE,
        cmocka_unit_test(test_layer_plan_needs_no_buffers),
        cmocka_unit_test(test_staging_is_no_larger_than_an_allocation),
        cmocka_unit_test(test_transfer_beyond_the_end_is_refused),
        cmocka_unit_test(test_memory_limit_holds),
        cmocka_unit_test(test_attention_plan_has_no_matrix_of_scores),
    };
    const struct CMUnitTest masked_tests[] = {
        EVERYWHERE,
        cmocka_unit_test(test_staged_device_copies),
        cmocka_unit_test(test_layers_run_where_memory_is_staged),
    };
    const struct CMUnitTest discrete_tests[] = {
        EVERYWHERE,
        cmocka_unit_test(test_staged_device_copies),
        cmocka_unit_test(test_discrete_device_has_two_heaps),
        cmocka_unit_test(test_transfer_with_any_call_failing),
        cmocka_unit_test(test_layers_run_where_memory_is_staged),
        cmocka_unit_test(test_attention_plan_has_no_matrix_of_scores),
    };
    const struct CMUnitTest packing_tests[] = {
        cmocka_unit_test(test_layer_plan_is_exact_with_packed_weights),
        cmocka_unit_test(test_model_and_session_plans_are_exact),
        cmocka_unit_test(test_layer_plan_needs_no_buffers),
        cmocka_unit_test(test_layers_run_where_memory_is_staged),
    };
#undef EVERYWHERE
    int failures = cmocka_run_group_tests_name("memory as it is", as_it_is_tests, open_as_it_is, close_device);
    failures += cmocka_run_group_tests_name("memory masked", masked_tests, open_masked, close_device);
    failures += cmocka_run_group_tests_name("memory discrete", discrete_tests, open_discrete, close_device);
    failures += cmocka_run_group_tests_name("memory packing", packing_tests, open_packing, close_device);
    return failures;
}
