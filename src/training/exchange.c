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

// Copies pieces [first, last) to host memory, or back. Ownership: the caller's, vkf__free().
static vkf_status list_copies(const vkf__exchange *x, const vkf__parameters *p, size_t first, size_t last, bool back,
                              vkf__buffer_copy **out_copies)
{
    VKF_ALLOC_OR_RETURN(&x->context->host, *out_copies, last - first);
    for (size_t i = first; i < last; i++) {
        const vkf__exchange_piece *piece = &x->pieces[i];
        const vkf_buffer *gradients = p->gradients.buffers[piece->buffer];
        const uint64_t bytes = piece->end - piece->begin;
        (*out_copies)[i - first] = back ? (vkf__buffer_copy){x->staging, gradients, piece->to, piece->begin, bytes}
                                        : (vkf__buffer_copy){gradients, x->staging, piece->begin, piece->to, bytes};
    }
    return VKF_OK;
}

static vkf_status record(const vkf__exchange *x, const vkf__parameters *p, vkf__work_part_desc *desc, size_t first,
                         size_t last, vkf__work_part *out_part)
{
    vkf__buffer_copy *copies = NULL;
    VKF_RETURN_IF_ERROR(list_copies(x, p, first, last, desc->copies_first, &copies));
    desc->copies = copies;
    desc->copy_count = last - first;
    const vkf_status status = vkf__work_part_init(out_part, desc);
    vkf__free(&x->context->host, copies);
    return status;
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
        bucket->begin = x->pieces[first].to;
        for (bool full = false; last < count && !full; last++) {
            bucket->end = x->pieces[last].to + x->pieces[last].end - x->pieces[last].begin;
            full = bucket->end - bucket->begin >= least &&
                   (last + 1 == count || x->pieces[last].done != x->pieces[last + 1].done);
        }
        const uint32_t end = last < count ? x->pieces[last - 1].done + 1 : pass->plan.node_count;
        vkf__work_part_desc part = {.work = pass, .begin = node, .end = end};
        VKF_RETURN_IF_ERROR(record(x, p, &part, first, last, &bucket->part));
        node = end;
    }
    return VKF_OK;
}

vkf_status vkf__exchange_init(vkf__exchange *x, const vkf_train_exchange *calls, const vkf__parameters *p,
                              vkf__work *pass, vkf__work *update)
{
    vkf_context *context = pass->context;
    *x = (vkf__exchange){.context = context, .calls = *calls, .mark = -1};
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_STAGING, vkf__exchange_bytes(p),
                                           "training exchange", &x->staging));
    VKF_RETURN_IF_ERROR(find_pieces(x, p, pass));
    VKF_RETURN_IF_ERROR(make_buckets(x, p, pass, place_pieces(x)));
    vkf__work_part_desc part = {.work = update, .end = update->plan.node_count, .copies_first = true};
    return record(x, p, &part, 0, x->piece_count, &x->update);
}

void vkf__exchange_free(vkf__exchange *x)
{
    if (!x->context)
        return;
    const vkf__host *host = &x->context->host;
    for (size_t i = 0; i < x->bucket_count; i++)
        vkf__work_part_finish(&x->buckets[i].part);
    vkf__work_part_finish(&x->update);
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
    for (size_t i = 0; i < x->bucket_count; i++)
        VKF_RETURN_IF_ERROR(vkf__work_part_submit(&x->buckets[i].part, pass));
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
        VKF_RETURN_IF_ERROR(wait_for(x, &x->buckets[i].part.submission));
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
        vkf__submission_idle(&x->buckets[0].part.submission);
    return status;
}

vkf_status vkf__exchange_update(vkf__exchange *x)
{
    VKF_RETURN_IF_ERROR(vkf__work_part_submit(&x->update, true));
    return vkf__submission_wait(&x->update.submission);
}
