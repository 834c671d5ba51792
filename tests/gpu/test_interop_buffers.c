// VkBuffers of the program's own, wrapped without a copy: as ports, weights and operands, with any usage.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "kernel/context.h"
#include "layer/layer.h"
#include "vulkan_program.h"

#define STORAGE VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
#define TRANSFER (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)
#define ADDRESS VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
#define TEXEL VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT

enum { ROOM_BYTES = 1 << 20 };

static const vkf_layer_sizes max_sizes = {2, 12, 15};

// One buffer of the program's, from which pieces are wrapped one behind the other, each as a vkf_buffer of its own.
typedef struct room {
    program *p;
    own_buffer own;
    VkBufferUsageFlags usage;
    VkDeviceSize used;
    vkf_buffer *pieces[64];
    size_t count;
} room;

static room open_room(program *p, VkBufferUsageFlags usage)
{
    return (room){.p = p, .own = program_buffer(p, ROOM_BYTES, usage), .usage = usage, .used = 32};
}

static void close_room(room *r)
{
    for (size_t i = 0; i < r->count; i++)
        vkf_buffer_destroy(&r->pieces[i]);
    memset(r->own.mapped, 0, ROOM_BYTES); // it is still there
    program_destroy_buffer(r->p, &r->own);
}

// A tensor of this one's shape that begins 16 bytes within a piece of the room. The piece begins at a multiple of 16
// that no other alignment divides.
static vkf_tensor move_in(room *r, const vkf_tensor *tensor)
{
    uint64_t bytes = 0;
    vkf_tensor moved = *tensor;
    assert_true(vkf_tensor_bytes(tensor, &bytes));
    vkf_wrapped_buffer_desc desc = {
        .buffer = r->own.handle, .offset_bytes = r->used, .size_bytes = 16 + (bytes + 15) / 16 * 16, .usage = r->usage};
    assert_true(r->used + desc.size_bytes <= ROOM_BYTES && r->count < 64);
    assert_int_equal(vkf_buffer_wrap(r->p->gpu.context, &desc, &r->pieces[r->count]), VKF_OK);
    moved.buffer = r->pieces[r->count++];
    moved.offset_bytes = 16;
    r->used += desc.size_bytes + 16;
    return moved;
}

static char *mapped(const room *r, const vkf_tensor *tensor)
{
    VkBuffer handle = VK_NULL_HANDLE;
    VkDeviceSize begin = 0;
    vkf_buffer_get_vulkan(tensor->buffer, &handle, &begin);
    assert_true(handle == r->own.handle);
    return (char *)r->own.mapped + begin + tensor->offset_bytes;
}

static void move_weight(room *r, vkf_tensor *tensor)
{
    uint64_t bytes = 0;
    if (tensor->rank == 0)
        return;
    const vkf_tensor moved = move_in(r, tensor);
    assert_true(vkf_tensor_bytes(tensor, &bytes));
    assert_int_equal(vkf_tensor_read(tensor, mapped(r, &moved), bytes), VKF_OK);
    *tensor = moved;
}

static void move_weights(room *r, sample_weights *weights)
{
    vkf_attention_weights *blocks[] = {&weights->self, &weights->cross};
    for (size_t i = 0; i < 2; i++) {
        vkf_tensor *tensors[] = {&blocks[i]->q_weight,   &blocks[i]->k_weight, &blocks[i]->v_weight,
                                 &blocks[i]->q_bias,     &blocks[i]->k_bias,   &blocks[i]->v_bias,
                                 &blocks[i]->out_weight, &blocks[i]->out_bias};
        for (size_t t = 0; t < sizeof tensors / sizeof tensors[0]; t++)
            move_weight(r, tensors[t]);
    }
    move_weight(r, &weights->feed_forward.weight1);
    move_weight(r, &weights->feed_forward.bias1);
    move_weight(r, &weights->feed_forward.weight2);
    move_weight(r, &weights->feed_forward.bias2);
    for (size_t i = 0; i < 3; i++) {
        move_weight(r, &weights->norm[i].weight);
        move_weight(r, &weights->norm[i].bias);
    }
}

// The kernels of a layer, and how they read its operands.
static size_t count_kinds(const vkf_layer *layer, vkf__operand_kind kind)
{
    size_t count = 0;
    for (uint32_t i = 0; i < layer->frames[0].work.plan.node_count; i++) {
        const vkf__node *node = &layer->frames[0].work.built.nodes[i];
        for (uint32_t o = 0; o < node->kernel->operand_count; o++)
            if (node->buffers[o] && node->buffers[o]->wrapped)
                count += node->kernel->operands[o] == kind;
    }
    return count;
}

static void check_kinds(const vkf_layer *layer, VkBufferUsageFlags usage)
{
    if (!(usage & TEXEL))
        assert_int_equal(count_kinds(layer, VKF_OPERAND_TEXEL) + count_kinds(layer, VKF_OPERAND_TEXEL4), 0);
    if (!(usage & ADDRESS))
        assert_int_equal(count_kinds(layer, VKF_OPERAND_ADDRESS), 0);
}

static void check_same_kernels(const vkf_layer *a, const vkf_layer *b)
{
    assert_int_equal(a->frames[0].work.plan.node_count, b->frames[0].work.plan.node_count);
    for (uint32_t i = 0; i < a->frames[0].work.plan.node_count; i++)
        assert_string_equal(a->frames[0].work.built.nodes[i].kernel->name,
                            b->frames[0].work.built.nodes[i].kernel->name);
}

// A layer whose ports and weights all lie in one VkBuffer gives what a layer of the library's own buffers gives.
static void check_layer(program *p, sample_kind kind, VkBufferUsageFlags usage, const sample_weights *moved)
{
    static const vkf_layer_sizes runs[] = {{2, 12, 15}, {1, 1, 1}, {2, 5, 9}};
    room ports = open_room(p, usage);
    vkf_layer *own = NULL, *wrapped = NULL;
    sample_options options = {0};
    assert_int_equal(sample_layer_create(p->gpu.context, kind, &p->weights, max_sizes, &own), VKF_OK);
    for (vkf_port port = 0; port < VKF_PORT_COUNT; port++) {
        vkf_tensor tensor;
        if (vkf_layer_get_port(own, port, &tensor))
            options.ports[port] = move_in(&ports, &tensor);
    }
    assert_int_equal(sample_layer_create_with(p->gpu.context, kind, moved, max_sizes, &options, &wrapped), VKF_OK);
    check_kinds(wrapped, usage);
    if ((usage & TEXEL) && (usage & ADDRESS || !p->gpu.context->device.plan.enabled.buffer_device_address))
        check_same_kernels(wrapped, own);
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        sample_data data;
        sample_data_create(&p->gpu.random, runs[r], &data);
        assert_int_equal(sample_layer_run(own, kind, &data), VKF_OK);
        float *expected = data.out;
        data.out = malloc(sample_data_outputs(&data) * sizeof *data.out);
        assert_non_null(data.out);
        assert_int_equal(sample_layer_run(wrapped, kind, &data), VKF_OK);
        assert_close(data.out, expected, sample_data_outputs(&data), 1e-5, 1e-5,
                     vkf_test_label(&p->gpu, "%s, usage 0x%x, run %zu", sample_name(kind), (unsigned)usage, r));
        // The result is in the program's memory, with no copy.
        assert_memory_equal(mapped(&ports, &options.ports[VKF_PORT_OUTPUT]), data.out,
                            sample_data_outputs(&data) * sizeof *data.out);
        free(expected);
        sample_data_destroy(&data);
    }
    vkf_layer_destroy(&wrapped);
    vkf_layer_destroy(&own);
    close_room(&ports);
}

static void test_wrapped_buffers_serve_layers(void **state)
{
    program *p = program_of(state);
    const VkBufferUsageFlags address = p->gpu.context->device.plan.enabled.buffer_device_address ? ADDRESS : 0;
    const VkBufferUsageFlags usages[] = {STORAGE | TRANSFER, STORAGE | TRANSFER | TEXEL, STORAGE | TRANSFER | address,
                                         STORAGE | TRANSFER | TEXEL | address};
    for (size_t u = 0; u < sizeof usages / sizeof usages[0]; u++) {
        room weights = open_room(p, usages[u]);
        sample_weights moved = p->weights;
        move_weights(&weights, &moved);
        for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++)
            check_layer(p, kind, usages[u], &moved);
        close_room(&weights);
    }
}

static vkf_tensor tensor_in(vkf_buffer *buffer, uint64_t offset, uint32_t rows, uint32_t cols)
{
    return (vkf_tensor){
        .buffer = buffer, .offset_bytes = offset, .dtype = VKF_DTYPE_F32, .rank = 2, .shape = {rows, cols}};
}

// out (5, 7) = a (5, 9) b (9, 7), with odd offsets, in a buffer without room behind the last element.
static void check_product(program *p, VkBufferUsageFlags usage, bool panels)
{
    enum {
        M = 5,
        N = 7,
        K = 9,
        A = 12,
        B = A + M * K * 4,
        OUT = B + N * K * 4,
        PANELS = (OUT + M * N * 4 + 15) / 16 * 16
    };
    enum { END = PANELS + K * 32 * 4 };
    own_buffer own = program_buffer(p, 48 + (END + 15) / 16 * 16, usage);
    vkf_buffer *wrapped = NULL;
    float *a = own.mapped + (48 + A) / 4, *b = own.mapped + (48 + B) / 4, *out = own.mapped + (48 + OUT) / 4;
    float expected[M * N];
    const vkf_wrapped_buffer_desc desc = {
        .buffer = own.handle, .offset_bytes = 48, .size_bytes = (END + 15) / 16 * 16, .usage = usage};
    vkf_test_fill_normal(&p->gpu.random, a, M * K, 0, 1);
    vkf_test_fill_normal(&p->gpu.random, b, N * K, 0, 1);
    for (int i = 0; i < M * N; i++) {
        expected[i] = 0;
        for (int k = 0; k < K; k++)
            expected[i] += a[i / N * K + k] * b[i % N * K + k];
    }
    assert_int_equal(vkf_buffer_wrap(p->gpu.context, &desc, &wrapped), VKF_OK);
    assert_int_equal(vkf_buffer_get_size(wrapped), desc.size_bytes);
    const vkf_tensor rows = tensor_in(wrapped, B, N, K);
    vkf_tensor weight = panels ? tensor_in(wrapped, PANELS, N, K) : rows;
    if (panels) {
        weight.layout = VKF_LAYOUT_PANELS; // (1, k, 32), the rows beyond n being zeros
        for (int i = 0; i < K * 32; i++)
            own.mapped[(48 + PANELS) / 4 + i] = i % 32 < N ? b[i % 32 * K + i / 32] : 0;
    }
    const vkf_gemm_desc gemm = {.a = tensor_in(wrapped, A, M, K),
                                .b = weight,
                                .transpose_b = true,
                                .out = tensor_in(wrapped, OUT, M, N),
                                .alpha = 1};
    assert_int_equal(vkf_gemm(p->gpu.context, &gemm), VKF_OK);
    vkf_gemm_desc odd = gemm;
    odd.b.offset_bytes += 4; // of rows any element will do, and of panels a multiple of 16 bytes
    if (panels)
        assert_int_equal(vkf_gemm(p->gpu.context, &odd), VKF_ERROR_INVALID_ARGUMENT);
    assert_close(out, expected, M * N, 1e-5, 1e-5, vkf_test_label(&p->gpu, "product, usage 0x%x", (unsigned)usage));
    vkf_buffer_destroy(&wrapped);
    program_destroy_buffer(p, &own);
}

static void test_wrapped_buffers_serve_operators(void **state)
{
    program *p = program_of(state);
    for (int panels = 0; panels < 2; panels++) {
        check_product(p, STORAGE, panels);
        check_product(p, STORAGE | TEXEL, panels);
    }
}

// In a context that takes kernels by address first: they serve where the program's buffer has an address.
static void test_wrapped_buffers_are_read_by_address(void **state)
{
    program *p = program_of(state);
    if (!p->gpu.context->device.plan.enabled.buffer_device_address) {
        printf("skipped: the device has no buffer addresses\n");
        skip();
    }
    check_product(p, STORAGE, true);
    assert_null(strstr(vkf_context_get_last_op_kernel(p->gpu.context), "address"));
    check_product(p, STORAGE | ADDRESS, true);
    assert_non_null(strstr(vkf_context_get_last_op_kernel(p->gpu.context), "address"));
}

// Two wrapped buffers of one VkBuffer overlap where their ranges do.
static void test_wrapped_buffers_that_overlap_are_refused(void **state)
{
    program *p = program_of(state);
    own_buffer own = program_buffer(p, 1024, STORAGE);
    vkf_buffer *first = NULL, *second = NULL;
    vkf_wrapped_buffer_desc desc = {.buffer = own.handle, .size_bytes = 512, .usage = STORAGE};
    assert_int_equal(vkf_buffer_wrap(p->gpu.context, &desc, &first), VKF_OK);
    desc.offset_bytes = 256;
    assert_int_equal(vkf_buffer_wrap(p->gpu.context, &desc, &second), VKF_OK);
    vkf_softmax_desc softmax = {.x = tensor_in(first, 256, 4, 4), .out = tensor_in(second, 32, 4, 4)};
    assert_int_equal(vkf_softmax(p->gpu.context, &softmax), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(p->gpu.last_error, "overlaps"));
    softmax.out.offset_bytes = 64;
    assert_int_equal(vkf_softmax(p->gpu.context, &softmax), VKF_OK);
    softmax.out.offset_bytes = 0; // the same tensor by another name, which may be overwritten
    assert_int_equal(vkf_softmax(p->gpu.context, &softmax), VKF_OK);
    vkf_buffer_destroy(&first);
    vkf_buffer_destroy(&second);
    program_destroy_buffer(p, &own);
}

static void test_wrapped_buffers_unusable_are_refused(void **state)
{
    program *p = program_of(state);
    own_buffer own = program_buffer(p, 256, STORAGE);
    const struct {
        vkf_wrapped_buffer_desc desc;
        const char *said;
    } bad[] = {
        {{VK_NULL_HANDLE, 0, 256, STORAGE}, "null"},
        {{own.handle, 0, 256, TRANSFER}, "VK_BUFFER_USAGE_STORAGE_BUFFER_BIT"},
        {{own.handle, 0, 0, STORAGE}, "no range"},
        {{own.handle, 8, 16, STORAGE}, "multiples of 16"},
        {{own.handle, 0, 20, STORAGE}, "multiples of 16"},
        {{own.handle, UINT64_MAX - 15, 256, STORAGE}, "no range"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vkf_buffer *buffer = NULL;
        assert_int_equal(vkf_buffer_wrap(p->gpu.context, &bad[i].desc, &buffer), VKF_ERROR_INVALID_ARGUMENT);
        assert_null(buffer);
        if (!strstr(p->gpu.last_error, bad[i].said))
            fail_msg("\"%s\" does not say \"%s\"", p->gpu.last_error, bad[i].said);
    }
    program_destroy_buffer(p, &own);
}

// The host's way is by transfers, and their usage is asked for.
static void test_wrapped_buffers_are_read_and_written(void **state)
{
    program *p = program_of(state);
    float values[4] = {1, 2, 3, 4}, read[4] = {0};
    own_buffer open = program_buffer(p, 256, STORAGE | TRANSFER), shut = program_buffer(p, 256, STORAGE);
    vkf_wrapped_buffer_desc desc = {open.handle, 32, 64, STORAGE | TRANSFER};
    vkf_buffer *buffer = NULL;
    vkf_memory_usage before, after;
    vkf_context_get_memory_usage(p->gpu.context, &before);
    assert_int_equal(vkf_buffer_wrap(p->gpu.context, &desc, &buffer), VKF_OK);
    vkf_context_get_memory_usage(p->gpu.context, &after);
    assert_memory_equal(before.used_bytes, after.used_bytes, sizeof before.used_bytes);
    assert_int_equal(vkf_buffer_write(buffer, 16, values, sizeof values), VKF_OK);
    assert_memory_equal(open.mapped + 12, values, sizeof values);
    assert_int_equal(vkf_buffer_read(buffer, 16, read, sizeof read), VKF_OK);
    assert_memory_equal(read, values, sizeof values);
    assert_int_equal(vkf_buffer_read(buffer, 56, read, sizeof read), VKF_ERROR_INVALID_ARGUMENT);
    vkf_buffer_destroy(&buffer);
    desc = (vkf_wrapped_buffer_desc){shut.handle, 32, 64, STORAGE};
    assert_int_equal(vkf_buffer_wrap(p->gpu.context, &desc, &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_write(buffer, 0, values, sizeof values), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(p->gpu.last_error, "VK_BUFFER_USAGE_TRANSFER_DST_BIT"));
    assert_int_equal(vkf_buffer_read(buffer, 0, read, sizeof read), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(p->gpu.last_error, "VK_BUFFER_USAGE_TRANSFER_SRC_BIT"));
    vkf_buffer_destroy(&buffer);
    program_destroy_buffer(p, &open);
    program_destroy_buffer(p, &shut);
}

static int open_setup(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true});
}

static int open_address(void **state)
{
    return program_open(state,
                        &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true, .variant = "gemm_address"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrapped_buffers_serve_layers),
        cmocka_unit_test(test_wrapped_buffers_serve_operators),
        cmocka_unit_test(test_wrapped_buffers_that_overlap_are_refused),
        cmocka_unit_test(test_wrapped_buffers_unusable_are_refused),
        cmocka_unit_test(test_wrapped_buffers_are_read_and_written),
    };
    const struct CMUnitTest by_address[] = {cmocka_unit_test(test_wrapped_buffers_are_read_by_address)};
    return cmocka_run_group_tests_name("interop_buffers", tests, open_setup, program_close) +
           cmocka_run_group_tests_name("interop_buffers by address", by_address, open_address, program_close);
}
