// Finds buckets of gradients, records the parts of the pass, and runs them.
#include "training/exchange.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/process.h"

#define MOST_BUCKETS 32u
#define BUCKET_BYTES (UINT64_C(8) << 20)
// Between looks at whether a part has ended.
#define PAUSE_NS 50000
// A callback gets no more floats at once: those that count in 31 bits take them.
#define MOST_FLOATS (UINT64_C(1) << 28)

uint64_t vkf__exchange_bytes(const vkf__parameters *parameters)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < parameters->range_count; i++)
        bytes += parameters->ranges[i].gradient.size_bytes;
    return bytes;
}

// ---- buckets

static int by_place(const void *left, const void *right)
{
    const vkf__exchange_piece *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_end(const void *left, const void *right)
{
    const vkf__exchange_piece *a = left, *b = right;
    if (a->done != b->done)
        return a->done < b->done ? -1 : 1;
    return by_place(left, right);
}

static vkf_status add_piece(vkf__exchange *x, const vkf__parameters *p, const vkf_buffer *buffer,
                            const vkf__access *access, uint32_t node)
{
    void *pieces = x->pieces;
    uint32_t index = 0;
    while (index < p->gradients.buffer_count && p->gradients.buffers[index] != buffer)
        index++;
    if (index == p->gradients.buffer_count)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__grow(&x->context->host, &pieces, sizeof *x->pieces, x->piece_count, &x->piece_capacity,
                                  x->piece_count + 1));
    x->pieces = pieces;
    x->pieces[x->piece_count++] = (vkf__exchange_piece){index, node, access->begin, access->end, 0};
    return VKF_OK;
}

// What is written several times is complete with the last.
static void join_pieces(vkf__exchange *x)
{
    size_t count = 0;
    qsort(x->pieces, x->piece_count, sizeof *x->pieces, by_place);
    for (size_t i = 0; i < x->piece_count; i++) {
        const vkf__exchange_piece piece = x->pieces[i];
        vkf__exchange_piece *last = count > 0 ? &x->pieces[count - 1] : NULL;
        if (!last || last->buffer != piece.buffer || last->end <= piece.begin) {
            x->pieces[count++] = piece;
            continue;
        }
        last->end = piece.end > last->end ? piece.end : last->end;
        last->done = piece.done > last->done ? piece.done : last->done;
    }
    x->piece_count = count;
    qsort(x->pieces, x->piece_count, sizeof *x->pieces, by_end);
}

static vkf_status find_pieces(vkf__exchange *x, const vkf__parameters *p, const vkf__work *pass)
{
    for (uint32_t i = 0; i < pass->plan.node_count; i++) {
        const vkf__node *node = &pass->built.nodes[i];
        for (uint32_t j = 0; j < node->kernel->operand_count; j++)
            if (node->accesses[j].write)
                VKF_RETURN_IF_ERROR(add_piece(x, p, node->buffers[j], &node->accesses[j], i));
    }
    join_pieces(x);
    return VKF_OK;
}

static uint64_t place_pieces(vkf__exchange *x)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < x->piece_count; i++) {
        x->pieces[i].to = bytes;
        bytes += x->pieces[i].end - x->pieces[i].begin;
    }
    return bytes;
}

// ---- recordings

static void order(vkf__exchange *x, VkCommandBuffer commands, VkPipelineStageFlags to, VkAccessFlags access)
{
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = access,
    };
    x->context->device.vk.vkCmdPipelineBarrier(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, to, 0, 1, &barrier, 0, NULL, 0,
        NULL);
}

// Copies pieces [first, end) to host memory, or back.
static vkf_status record_copies(vkf__exchange *x, const vkf__parameters *p, size_t first, size_t end, bool back,
                                VkCommandBuffer commands)
{
    vkf__device *device = &x->context->device;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VKF_VK_OR_RETURN(device, device->vk.vkBeginCommandBuffer(commands, &info));
    order(x, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    for (size_t i = first; i < end; i++) {
        const vkf__exchange_piece *piece = &x->pieces[i];
        const VkBuffer gradients = p->gradients.buffers[piece->buffer]->handle, staging = x->staging->handle;
        const uint64_t from = back ? piece->to : piece->begin, to = back ? piece->begin : piece->to;
        const VkBufferCopy region = {from, to, piece->end - piece->begin};
        device->vk.vkCmdCopyBuffer(commands, back ? staging : gradients, back ? gradients : staging, 1, &region);
    }
    order(x, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
    VKF_VK_OR_RETURN(device, device->vk.vkEndCommandBuffer(commands));
    return VKF_OK;
}

// The part of the pass from dispatch `begin` to `end`, and copies of pieces [first, last).
static vkf_status record_bucket(vkf__exchange *x, const vkf__parameters *p, vkf__work *pass, vkf__bucket *bucket,
                                uint32_t begin, uint32_t end, size_t first, size_t last)
{
    VKF_RETURN_IF_ERROR(vkf__submission_init(&bucket->submission, &x->context->device, "exchange"));
    for (int i = 0; i < 2; i++)
        VKF_RETURN_IF_ERROR(
            vkf__submission_command_buffer(&bucket->submission, "exchange", &bucket->commands[i]));
    VKF_RETURN_IF_ERROR(vkf__work_record_part(pass, bucket->commands[0], begin, end));
    return record_copies(x, p, first, last, false, bucket->commands[1]);
}

// A bucket ends where it is large enough and the next piece is of another dispatch. The last one has what is left of
// the pass.
static vkf_status make_buckets(vkf__exchange *x, const vkf__parameters *p, vkf__work *pass, uint64_t bytes)
{
    const uint64_t wished = x->calls.bucket_bytes > 0 ? x->calls.bucket_bytes : BUCKET_BYTES;
    const uint64_t least = wished > bytes / MOST_BUCKETS ? wished : bytes / MOST_BUCKETS + 1;
    const size_t count = x->piece_count;
    uint32_t node = 0;
    VKF_ALLOC_OR_RETURN(&x->context->host, x->buckets, MOST_BUCKETS + 1);
    for (size_t first = 0, last = 0; last < count; first = last) {
        vkf__bucket *bucket = &x->buckets[x->bucket_count++];
        assert(x->bucket_count <= MOST_BUCKETS + 1);
        bucket->begin = bucket->end = x->pieces[first].to;
        while (last < count && (bucket->end - bucket->begin < least || x->pieces[last].done == x->pieces[last - 1].done))
            bucket->end += x->pieces[last].end - x->pieces[last].begin, last++;
        const uint32_t end = last < count ? x->pieces[last - 1].done + 1 : pass->plan.node_count;
        VKF_RETURN_IF_ERROR(record_bucket(x, p, pass, bucket, node, end, first, last));
        node = end;
    }
    return VKF_OK;
}

vkf_status vkf__exchange_init(vkf__exchange *x, const vkf_train_exchange *calls, const vkf__parameters *p,
                              vkf__work *pass, vkf__submission *submission)
{
    vkf_context *context = pass->context;
    *x = (vkf__exchange){.context = context, .calls = *calls, .mark = -1};
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_STAGING, vkf__exchange_bytes(p),
                                           "training exchange", &x->staging));
    VKF_RETURN_IF_ERROR(find_pieces(x, p, pass));
    VKF_RETURN_IF_ERROR(make_buckets(x, p, pass, place_pieces(x)));
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(submission, "sums", &x->sums));
    return record_copies(x, p, 0, x->piece_count, true, x->sums);
}

void vkf__exchange_free(vkf__exchange *x)
{
    if (!x->context)
        return;
    const vkf__host *host = &x->context->host;
    for (size_t i = 0; i < x->bucket_count; i++)
        vkf__submission_finish(&x->buckets[i].submission);
    vkf__buffer_destroy(&x->staging);
    vkf__free(host, x->buckets);
    vkf__free(host, x->pieces);
    *x = (vkf__exchange){0};
}

// ---- a step

static vkf_status add_up(vkf__exchange *x, double *values, uint32_t count)
{
    if (x->calls.sum(x->calls.user, values, count))
        return VKF_OK;
    return vkf__fail(&x->context->host, VKF_ERROR_CANCELLED, "the exchange between trainers failed");
}

// 32 bits of what a step depends on. Where pieces lie on a device, and how it computes them, is its own.
static vkf_status take_mark(vkf__exchange *x, const vkf__parameters *p, uint64_t state)
{
    uint64_t hash = vkf__hash(VKF_HASH_SEED, &state, sizeof state);
    for (size_t i = 0; i < x->piece_count; i++)
        hash = vkf__hash(hash, &x->pieces[i].to, sizeof x->pieces[i].to);
    for (size_t i = 0; i < x->bucket_count; i++)
        hash = vkf__hash(hash, &x->buckets[i].end, sizeof x->buckets[i].end);
    for (size_t i = 0; i < p->range_count; i++) {
        const vkf__span *value = &p->ranges[i].value;
        VKF_RETURN_IF_ERROR(
            vkf_buffer_read(value->buffer, value->offset_bytes, x->staging->allocation.mapped, value->size_bytes));
        hash = vkf__hash(hash, x->staging->allocation.mapped, value->size_bytes);
    }
    x->mark = (double)((hash ^ hash >> 32) & UINT32_MAX);
    return VKF_OK;
}

vkf_status vkf__exchange_labels(vkf__exchange *x, const vkf__parameters *p, uint64_t state, uint64_t *inout_labels)
{
    if (x->mark < 0)
        VKF_RETURN_IF_ERROR(take_mark(x, p, state));
    double sums[] = {(double)*inout_labels, x->mark};
    VKF_RETURN_IF_ERROR(add_up(x, sums, 2));
    if (sums[1] != x->mark * x->calls.count) // sums of a few numbers of 32 bits are exact
        return vkf__fail(&x->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_trainer_step: trainer %u of %u differs from others in weights, steps so far, or what is "
                         "trained: all have to begin with the same files",
                         x->calls.index, x->calls.count);
    *inout_labels = (uint64_t)sums[0];
    return VKF_OK;
}

vkf_status vkf__exchange_loss(vkf__exchange *x, float *inout_loss)
{
    double loss = *inout_loss;
    x->finite = isfinite(loss);
    VKF_RETURN_IF_ERROR(add_up(x, &loss, 1));
    *inout_loss = (float)loss;
    return VKF_OK;
}

static vkf_status submit(vkf__exchange *x, bool pass)
{
    for (size_t i = 0; i < x->bucket_count; i++) {
        vkf__bucket *bucket = &x->buckets[i];
        VKF_RETURN_IF_ERROR(pass ? vkf__submission_submit(&bucket->submission, bucket->commands, 2)
                                 : vkf__submission_submit(&bucket->submission, &bucket->commands[1], 1));
    }
    return VKF_OK;
}

static vkf_status wait_for(vkf__exchange *x, vkf__submission *submission)
{
    for (bool ended = !x->calls.progress; !ended;) {
        VKF_RETURN_IF_ERROR(vkf__submission_ended(submission, &ended));
        if (ended)
            break;
        x->calls.progress(x->calls.user);
        vkf__pause_ns(PAUSE_NS);
    }
    return vkf__submission_wait(submission);
}

static vkf_status send(vkf__exchange *x, const vkf__bucket *bucket)
{
    float *values = (float *)(void *)(x->staging->allocation.mapped + bucket->begin);
    const uint64_t count = (bucket->end - bucket->begin) / sizeof *values;
    for (uint64_t done = 0; done < count; done += MOST_FLOATS)
        if (!x->calls.begin(x->calls.user, values + done, count - done < MOST_FLOATS ? count - done : MOST_FLOATS))
            return vkf__fail(&x->context->host, VKF_ERROR_CANCELLED, "the exchange between trainers failed");
    return VKF_OK;
}

static vkf_status send_each(vkf__exchange *x)
{
    for (size_t i = 0; i < x->bucket_count; i++) {
        VKF_RETURN_IF_ERROR(wait_for(x, &x->buckets[i].submission));
        VKF_RETURN_IF_ERROR(send(x, &x->buckets[i]));
    }
    if (x->calls.finish(x->calls.user))
        return VKF_OK;
    return vkf__fail(&x->context->host, VKF_ERROR_CANCELLED, "the exchange between trainers failed");
}

vkf_status vkf__exchange_run(vkf__exchange *x, bool pass)
{
    vkf_status status = submit(x, pass);
    if (status == VKF_OK)
        status = send_each(x);
    if (status != VKF_OK && x->bucket_count > 0)
        vkf__submission_idle(&x->buckets[0].submission);
    return status;
}
