// Sorts examples by length, cuts them into batches, and fills single batches.
#include "train/batches.h"

#include <stdlib.h>

#include "train/shuffle.h"

// Streams of vkf_shuffle_make(): the batches', and those of groups from the next on.
#define STREAM_OF_BATCHES 0u
#define FIRST_STREAM_OF_GROUPS 1u

// An example and its padded lengths.
typedef struct sized_example {
    uint32_t source_len, target_len, example;
} sized_example;

// A batch: which of the sorted examples, whatever the epoch puts in their places, and how long they are padded.
typedef struct batch_shape {
    uint32_t begin, rows, source_len, target_len;
} batch_shape;

struct vkf_batches {
    const vkf__host *host;
    vkf_batches_desc desc;
    uint32_t count;      // examples that are taken
    uint32_t *sorted;    // (count) by padded length
    uint32_t *groups;    // (group_count + 1) where in `sorted` those of other lengths begin, and the end
    batch_shape *shapes; // (batch_count)
    uint32_t group_count, batch_count;
    uint32_t left_out, first_left_out;
    vkf_batch current; // with room for the largest
};

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t or_one(uint32_t value)
{
    return value > 0 ? value : 1;
}

// Not beyond `most`, unless that is 0, nor what fits into 32 bits.
static uint32_t padded(uint32_t length, uint32_t multiple, uint32_t most)
{
    const uint64_t rounded = ((uint64_t)length + multiple - 1) / multiple * multiple;
    const uint64_t limit = most > 0 ? most : UINT32_MAX;
    return (uint32_t)(rounded < limit ? rounded : limit);
}

static sized_example size_of(const vkf_batches_desc *desc, uint32_t example, const vkf_example_ids *ids)
{
    return (sized_example){
        .source_len = padded(ids->source_count, desc->source_multiple, desc->max_source_len),
        .target_len = padded(ids->target_count, desc->target_multiple, desc->max_target_len),
        .example = example,
    };
}

static bool is_taken(const vkf_batches_desc *desc, const vkf_example_ids *ids, const sized_example *size)
{
    return ids->source_count > 0 && (ids->target_count > 0 || !desc->has_targets) &&
           (desc->max_source_len == 0 || ids->source_count <= desc->max_source_len) &&
           (desc->max_target_len == 0 || ids->target_count <= desc->max_target_len) &&
           larger(size->source_len, size->target_len) <= desc->max_tokens;
}

static vkf_status measure(vkf_batches *b, sized_example *out_sizes)
{
    for (uint32_t i = 0; i < b->desc.example_count; i++) {
        vkf_example_ids ids = {0};
        VKF_RETURN_IF_ERROR(b->desc.ids(b->desc.ids_user, i, &ids));
        const sized_example size = size_of(&b->desc, i, &ids);
        if (is_taken(&b->desc, &ids, &size))
            out_sizes[b->count++] = size;
        else if (b->left_out++ == 0)
            b->first_left_out = i;
    }
    if (b->count > 0)
        return VKF_OK;
    return vkf__fail(b->host, VKF_ERROR_FORMAT,
                     "none of %u examples can be taken: they are empty, or too long for "
                     "the model or for batches of %u tokens",
                     b->desc.example_count, b->desc.max_tokens);
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_length(const void *left, const void *right)
{
    const sized_example *a = left, *b = right;
    const int source = compare_u32(a->source_len, b->source_len), target = compare_u32(a->target_len, b->target_len);
    return source ? source : target ? target : compare_u32(a->example, b->example);
}

static bool same_length(const sized_example *a, const sized_example *b)
{
    return a->source_len == b->source_len && a->target_len == b->target_len;
}

// With `out_starts` NULL the groups are counted.
static uint32_t find_groups(const sized_example *sizes, uint32_t count, uint32_t *out_starts)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && same_length(&sizes[i - 1], &sizes[i]))
            continue;
        if (out_starts)
            out_starts[groups] = i;
        groups++;
    }
    if (out_starts)
        out_starts[groups] = count;
    return groups;
}

// The batch that begins with an example: as many rows as there is room for.
static batch_shape shape_at(const vkf_batches_desc *desc, const sized_example *sizes, uint32_t begin, uint32_t count)
{
    batch_shape shape = {.begin = begin};
    uint32_t longest = 0;
    while (begin + shape.rows < count && (desc->max_rows == 0 || shape.rows < desc->max_rows)) {
        const sized_example *next = &sizes[begin + shape.rows];
        longest = larger(longest, larger(next->source_len, next->target_len));
        if ((uint64_t)(shape.rows + 1) * longest > desc->max_tokens)
            break;
        shape.rows++;
    }
    if (shape.rows > desc->row_multiple && begin + shape.rows < count)
        shape.rows -= shape.rows % desc->row_multiple;
    for (uint32_t i = begin; i < begin + shape.rows; i++) {
        shape.source_len = larger(shape.source_len, sizes[i].source_len);
        shape.target_len = larger(shape.target_len, sizes[i].target_len);
    }
    return shape;
}

// With `out_shapes` NULL the batches are counted.
static uint32_t find_batches(const vkf_batches_desc *desc, const sized_example *sizes, uint32_t count,
                             batch_shape *out_shapes)
{
    uint32_t batches = 0;
    batch_shape shape;
    for (uint32_t at = 0; at < count; at += shape.rows) {
        shape = shape_at(desc, sizes, at, count);
        if (out_shapes)
            out_shapes[batches] = shape;
        batches++;
    }
    return batches;
}

static vkf_status divide(vkf_batches *b, sized_example *sizes)
{
    vkf_status status = VKF_OK;
    qsort(sizes, b->count, sizeof *sizes, by_length);
    b->group_count = find_groups(sizes, b->count, NULL);
    b->batch_count = find_batches(&b->desc, sizes, b->count, NULL);
    if (b->batch_count < b->desc.ranks)
        return vkf__fail(b->host, VKF_ERROR_FORMAT, "%u examples make %u batches of %u tokens, too few for %u machines",
                         b->count, b->batch_count, b->desc.max_tokens, b->desc.ranks);
    VKF_ALLOC(b->host, b->sorted, b->count);
    VKF_ALLOC(b->host, b->groups, (size_t)b->group_count + 1);
    VKF_ALLOC(b->host, b->shapes, b->batch_count);
    (void)find_groups(sizes, b->count, b->groups);
    (void)find_batches(&b->desc, sizes, b->count, b->shapes);
    for (uint32_t i = 0; i < b->count; i++)
        b->sorted[i] = sizes[i].example;
fail:
    return status;
}

static vkf_status make_room(vkf_batches *b)
{
    vkf_status status = VKF_OK;
    size_t rows = 0, source_ids = 0, target_ids = 0;
    for (uint32_t i = 0; i < b->batch_count; i++) {
        const batch_shape *shape = &b->shapes[i];
        const size_t source = (size_t)shape->rows * shape->source_len, target = (size_t)shape->rows * shape->target_len;
        rows = shape->rows > rows ? shape->rows : rows;
        source_ids = source > source_ids ? source : source_ids;
        target_ids = target > target_ids ? target : target_ids;
    }
    VKF_ALLOC(b->host, b->current.examples, rows);
    VKF_ALLOC(b->host, b->current.source_lengths, rows);
    VKF_ALLOC(b->host, b->current.target_lengths, rows);
    VKF_ALLOC(b->host, b->current.source_ids, source_ids);
    VKF_ALLOC(b->host, b->current.target_ids, target_ids);
fail:
    return status;
}

vkf_status vkf_batches_create(const vkf__host *host, const vkf_batches_desc *desc, vkf_batches **out_batches)
{
    vkf_status status = VKF_OK;
    sized_example *sizes = NULL;
    vkf_batches *batches = NULL;
    VKF_ALLOC(host, batches, 1);
    batches->host = host;
    batches->desc = *desc;
    batches->desc.row_multiple = or_one(desc->row_multiple);
    batches->desc.source_multiple = or_one(desc->source_multiple);
    batches->desc.target_multiple = or_one(desc->target_multiple);
    batches->desc.ranks = or_one(desc->ranks);
    VKF_ALLOC(host, sizes, desc->example_count);
    VKF_TRY(measure(batches, sizes));
    VKF_TRY(divide(batches, sizes));
    VKF_TRY(make_room(batches));
    *out_batches = batches;
    batches = NULL;
fail:
    vkf__free(host, sizes);
    vkf_batches_destroy(&batches);
    return status;
}

void vkf_batches_destroy(vkf_batches **batches)
{
    vkf_batches *b = *batches;
    if (!b)
        return;
    void *const memory[] = {b->sorted,
                            b->groups,
                            b->shapes,
                            b->current.examples,
                            b->current.source_ids,
                            b->current.target_ids,
                            b->current.source_lengths,
                            b->current.target_lengths};
    const vkf__host *host = b->host;
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        vkf__free(host, memory[i]);
    vkf__free(host, b);
    *batches = NULL;
}

uint32_t vkf_batches_per_epoch(const vkf_batches *batches)
{
    return vkf_shuffle_share(batches->batch_count, batches->desc.ranks);
}

vkf_batch_sizes vkf_batches_largest(const vkf_batches *batches)
{
    vkf_batch_sizes sizes = {0};
    for (uint32_t i = 0; i < batches->batch_count; i++) {
        const batch_shape *shape = &batches->shapes[i];
        sizes.rows = larger(sizes.rows, shape->rows);
        sizes.source_len = larger(sizes.source_len, shape->source_len);
        sizes.target_len = larger(sizes.target_len, shape->target_len);
    }
    return sizes;
}

uint32_t vkf_batches_left_out(const vkf_batches *batches, uint32_t *out_first)
{
    if (out_first && batches->left_out > 0)
        *out_first = batches->first_left_out;
    return batches->left_out;
}

// Which group a place of the sorted examples is in.
static uint32_t group_of(const vkf_batches *b, uint32_t place)
{
    uint32_t low = 0, high = b->group_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (b->groups[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Which example an epoch puts in each place of a batch.
static void choose_examples(const vkf_batches *b, const batch_shape *shape, uint32_t epoch, uint32_t *out_examples)
{
    const uint32_t end = shape->begin + shape->rows;
    uint32_t at = shape->begin;
    for (uint32_t group = group_of(b, at); at < end; group++) {
        const uint32_t begin = b->groups[group], group_end = b->groups[group + 1];
        const vkf_shuffle shuffle =
            vkf_shuffle_make(group_end - begin, b->desc.seed, epoch, FIRST_STREAM_OF_GROUPS + group);
        for (; at < group_end && at < end; at++)
            out_examples[at - shape->begin] = b->sorted[begin + vkf_shuffle_at(&shuffle, at - begin)];
    }
}

static void fill_row(int32_t *out_row, uint32_t length, const int32_t *ids, uint32_t count, int32_t pad_id)
{
    for (uint32_t i = 0; i < length; i++)
        out_row[i] = i < count ? ids[i] : pad_id;
}

static vkf_status fill(vkf_batches *b, vkf_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        vkf_example_ids ids = {0};
        VKF_RETURN_IF_ERROR(b->desc.ids(b->desc.ids_user, batch->examples[row], &ids));
        if (ids.source_count > batch->source_len || ids.target_count > batch->target_len)
            return vkf__fail(b->host, VKF_ERROR_INTERNAL, "example %u has more tokens than when the run began",
                             batch->examples[row]);
        fill_row(batch->source_ids + (size_t)row * batch->source_len, batch->source_len, ids.source, ids.source_count,
                 b->desc.source_pad_id);
        fill_row(batch->target_ids + (size_t)row * batch->target_len, batch->target_len, ids.target, ids.target_count,
                 b->desc.target_pad_id);
        batch->source_lengths[row] = ids.source_count;
        batch->target_lengths[row] = ids.target_count;
        batch->source_tokens += ids.source_count;
        batch->target_tokens += ids.target_count;
    }
    return VKF_OK;
}

vkf_status vkf_batches_get(vkf_batches *batches, uint64_t number, const vkf_batch **out_batch)
{
    vkf_batches *b = batches;
    const uint32_t per_epoch = vkf_batches_per_epoch(b), epoch = (uint32_t)(number / per_epoch);
    const uint32_t place = vkf_shuffle_place(b->desc.rank, b->desc.ranks, (uint32_t)(number % per_epoch));
    const vkf_shuffle order = vkf_shuffle_make(b->batch_count, b->desc.seed, epoch, STREAM_OF_BATCHES);
    const batch_shape *shape = &b->shapes[vkf_shuffle_at(&order, place)];
    b->current.rows = shape->rows;
    b->current.source_len = shape->source_len;
    b->current.target_len = shape->target_len;
    b->current.source_tokens = b->current.target_tokens = 0;
    choose_examples(b, shape, epoch, b->current.examples);
    VKF_RETURN_IF_ERROR(fill(b, &b->current));
    *out_batch = &b->current;
    return VKF_OK;
}
