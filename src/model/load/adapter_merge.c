// W + scale * B A, row by row, while W is read.
#include "model/load/adapter_merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/edit_distance.h"
#include "base/elements.h"
#include "base/parallel.h"
#include "model/family/model_kind.h"
#include "model/load/weight_blocks.h"

#define TILE 256                          // columns whose sums are kept at once
#define PART_PRODUCTS (UINT64_C(1) << 20) // that a thread adds at once, a part of a millisecond's work

// The weight, as its file has it, plus left times right. Sums are in f32 and in the order of the rank, and are added to
// the weight as a whole.
struct vkf__merged_weight {
    const vkf__host *host;
    const vkf__adapter *adapter;
    const vkf__adapter_product *product;
    vkf__stored_tensor stored; // (rows, cols) F32
    const vkf__stored_tensor *base;
    vkf_dtype blocks; // of the base; F32: it is in none
    float *left;      // (rows, rank), times the scale
    float *right;     // (rank, cols)
    uint64_t rows, cols, rank;
};

// ---- reading

// Elements [first, first + count) of the matrix, to which the product is added.
typedef struct addition {
    const vkf__merged_weight *weight;
    uint64_t first, count, first_row, part_rows;
    float *values;
} addition;

static void add_to_row(const vkf__merged_weight *w, uint64_t row, uint64_t col, uint64_t count, float *values)
{
    const float *left = w->left + row * w->rank;
    for (uint64_t done = 0; done < count; done += TILE) {
        uint64_t width = count - done < TILE ? count - done : TILE;
        float sums[TILE] = {0};
        for (uint64_t k = 0; k < w->rank; k++) {
            const float *right = w->right + k * w->cols + col + done;
            for (uint64_t i = 0; i < width; i++)
                sums[i] += left[k] * right[i];
        }
        for (uint64_t i = 0; i < width; i++)
            values[done + i] += sums[i];
    }
}

static void add_part(void *user, size_t index)
{
    const addition *a = user;
    const uint64_t cols = a->weight->cols, end = a->first + a->count;
    uint64_t row = a->first_row + index * a->part_rows, last = row + a->part_rows;
    for (; row < last && row * cols < end; row++) {
        uint64_t from = row * cols > a->first ? row * cols : a->first;
        uint64_t to = (row + 1) * cols < end ? (row + 1) * cols : end;
        add_to_row(a->weight, row, from - row * cols, to - from, a->values + (from - a->first));
    }
}

static void add_product(const vkf__merged_weight *w, uint64_t first, uint64_t count, float *values)
{
    addition a = {.weight = w, .first = first, .count = count, .first_row = first / w->cols, .values = values};
    uint64_t rows = (first + count - 1) / w->cols - a.first_row + 1, row_products = w->cols * w->rank;
    a.part_rows = row_products < PART_PRODUCTS ? PART_PRODUCTS / row_products : 1;
    vkf__parallel_run(vkf__parallel_threads(), (size_t)((rows + a.part_rows - 1) / a.part_rows), add_part, &a);
}

// Blocks are read in whole rows, as they are never transposed.
static vkf_status read_blocks(const vkf__merged_weight *w, uint64_t first, uint64_t count, float *out_values)
{
    vkf_status status = VKF_OK;
    size_t bytes = vkf_dtype_block_bytes(w->blocks);
    uint8_t *blocks = NULL;
    VKF_ALLOC(w->host, blocks, count / VKF_BLOCK * bytes);
    VKF_TRY(vkf__stored_read(w->base, first / VKF_BLOCK * bytes, count / VKF_BLOCK * bytes, blocks));
    vkf__blocks_to_f32(w->blocks, blocks, (size_t)(count / VKF_BLOCK), out_values);
fail:
    vkf__free(w->host, blocks);
    return status;
}

static void store(const float *values, uint64_t count, uint8_t *out_bytes)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (size_t byte = 0; byte < 4; byte++)
            out_bytes[4 * i + byte] = (uint8_t)(bits >> (8 * byte));
    }
}

// Numbers of the model's that are not finite are said to be its own, by whoever reads the sum.
static vkf_status check_sum(const vkf__merged_weight *w, uint64_t first, uint64_t count, const float *base,
                            const float *values)
{
    for (uint64_t i = 0; i < count; i++)
        if (isfinite(base[i]) && !isfinite(values[i]))
            return vkf__fail(w->host, VKF_ERROR_FORMAT,
                             "%s: the product of tensors %s and %s, times %g, makes element %" PRIu64
                             " of %s too large for a float32",
                             vkf__checkpoint_path(w->adapter->checkpoint), w->product->b->name, w->product->a->name,
                             w->product->scale, first + i, w->base->name);
    return VKF_OK;
}

static vkf_status make_sum(const void *user, uint64_t first, uint64_t size_bytes, void *out_bytes)
{
    vkf_status status = VKF_OK;
    const vkf__merged_weight *w = user;
    uint64_t from = first / sizeof(float), count = size_bytes / sizeof(float);
    float *values = NULL, *base = NULL;
    VKF_ALLOC(w->host, values, count);
    VKF_ALLOC(w->host, base, count);
    VKF_TRY(vkf__is_blocks(w->blocks) ? read_blocks(w, from, count, values)
                                      : vkf__stored_convert(w->host, w->base, from, count, VKF_DTYPE_F32, values));
    memcpy(base, values, count * sizeof *base);
    add_product(w, from, count, values);
    VKF_TRY(check_sum(w, from, count, base, values));
    store(values, count, out_bytes);
fail:
    vkf__free(w->host, base);
    vkf__free(w->host, values);
    return status;
}

// ---- matching

// Writes the names of the model's weights that are nearest to one that it lacks.
static vkf_status fail_module(const vkf__model_source *source, const vkf__weight_resolution *r, const char *name)
{
    const char *near = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < r->count; i++) {
        size_t distance = r->slots[i].rank == 2 ? vkf__edit_distance(name, r->slots[i].name) : SIZE_MAX;
        if (distance < least) {
            least = distance;
            near = r->slots[i].name;
        }
    }
    return vkf__fail(&source->adapter->host, VKF_ERROR_FORMAT,
                     "%s: the model has no weight for %s of the adapter; the nearest is %s",
                     vkf__checkpoint_path(source->adapter->checkpoint), name, near ? near : "none");
}

static vkf_status fail_tied(const vkf__model_source *source, const char *name)
{
    return vkf__fail(&source->adapter->host, VKF_ERROR_UNSUPPORTED,
                     "%s: %s is the projection's weight, too, and the adapter changes only one of the two; train with "
                     "ensure_weight_tying, or leave the table out",
                     vkf__checkpoint_path(source->adapter->checkpoint), name);
}

vkf_status vkf__adapter_take(const vkf__model_source *source, vkf__weight_slot *slot,
                             const vkf__stored_tensor **out_stored)
{
    const vkf__stored_tensor *stored = vkf__adapter_saved(source->adapter, source->family, slot->name);
    if (stored && slot->tied && !source->adapter->ties)
        return fail_tied(source, slot->name);
    if (stored)
        slot->checkpoint = source->adapter->checkpoint;
    *out_stored = stored;
    return VKF_OK;
}

bool vkf__adapter_base_has(const vkf__model_source *source, const char *name)
{
    char names[2][VKF_WEIGHT_NAME_MAX];
    vkf__adapter_spell(source->family, name, names);
    return vkf__checkpoint_find(source->checkpoint, names[0]) || vkf__checkpoint_find(source->checkpoint, names[1]);
}

static int compare_pointers(const void *a, const void *b)
{
    const uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return (left > right) - (left < right);
}

// A tensor in place of one that the model's file has, but does not read, does not matter either.
static vkf_status check_saved(const vkf__host *host, const vkf__model_source *source, const vkf__weight_resolution *r)
{
    vkf_status status = VKF_OK;
    const vkf__adapter *adapter = source->adapter;
    uintptr_t *read = NULL;
    VKF_ALLOC(host, read, r->count);
    for (size_t i = 0; i < r->count; i++)
        read[i] = (uintptr_t)r->stored[i];
    qsort(read, r->count, sizeof *read, compare_pointers);
    for (size_t s = 0; s < adapter->saved_count && status == VKF_OK; s++) {
        const uintptr_t stored = (uintptr_t)adapter->saved[s].stored;
        if (!bsearch(&stored, read, r->count, sizeof *read, compare_pointers) &&
            !vkf__adapter_base_has(source, adapter->saved[s].name))
            status = fail_module(source, r, adapter->saved[s].name);
    }
fail:
    vkf__free(host, read);
    return status;
}

// ---- preparing

static vkf_status read_matrix(const vkf__adapter *adapter, const vkf__stored_tensor *stored, float **out_values)
{
    const vkf__host *host = &adapter->host;
    VKF_ALLOC_OR_RETURN(host, *out_values, stored->count);
    VKF_RETURN_IF_ERROR(vkf__stored_convert(host, stored, 0, stored->count, VKF_DTYPE_F32, *out_values));
    for (uint64_t i = 0; i < stored->count; i++)
        if (!isfinite((*out_values)[i]))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: element %" PRIu64 " of tensor %s is not a finite number",
                             vkf__checkpoint_path(adapter->checkpoint), i, stored->name);
    return VKF_OK;
}

// (rows, cols) becomes (cols, rows).
static vkf_status transpose(const vkf__host *host, uint64_t rows, uint64_t cols, float **values)
{
    float *turned = NULL;
    VKF_ALLOC_OR_RETURN(host, turned, rows * cols);
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t col = 0; col < cols; col++)
            turned[col * rows + row] = (*values)[row * cols + col];
    vkf__free(host, *values);
    *values = turned;
    return VKF_OK;
}

static vkf_status check_shape(const vkf__adapter *adapter, const vkf__adapter_product *p, uint64_t out, uint64_t in)
{
    if (p->b->shape[0] == out && p->a->shape[1] == in)
        return VKF_OK;
    return vkf__fail(
        &adapter->host, VKF_ERROR_FORMAT,
        "%s: tensors %s and %s are for a weight of %" PRIu64 " by %" PRIu64 ", the model's has %" PRIu64 " by %" PRIu64,
        vkf__checkpoint_path(adapter->checkpoint), p->b->name, p->a->name, p->b->shape[0], p->a->shape[1], out, in);
}

// A table, like a transposed weight, stands in the file with the product's columns as its rows.
static vkf_status prepare(const vkf__adapter *adapter, const vkf__adapter_product *p, const vkf__weight_slot *slot,
                          vkf__merged_weight *w)
{
    const vkf__host *host = &adapter->host;
    bool turned = p->embedding || slot->transposed;
    uint64_t out = (uint64_t)slot->shape[0] * (slot->parts > 0 ? slot->parts : 1), in = slot->shape[1];
    w->host = host;
    w->adapter = adapter;
    w->product = p;
    w->rank = p->a->shape[0];
    w->rows = slot->transposed ? in : out;
    w->cols = slot->transposed ? out : in;
    VKF_RETURN_IF_ERROR(check_shape(adapter, p, p->embedding ? in : out, p->embedding ? out : in));
    VKF_RETURN_IF_ERROR(read_matrix(adapter, p->b, turned ? &w->right : &w->left));
    VKF_RETURN_IF_ERROR(read_matrix(adapter, p->a, turned ? &w->left : &w->right));
    if (turned) {
        VKF_RETURN_IF_ERROR(transpose(host, w->cols, w->rank, &w->right));
        VKF_RETURN_IF_ERROR(transpose(host, w->rank, w->rows, &w->left));
    }
    for (uint64_t i = 0; i < w->rows * w->rank; i++)
        w->left[i] = (float)(p->scale * (double)w->left[i]);
    return VKF_OK;
}

static void name_sum(vkf__merged_weight *w, const vkf__weight_slot *slot, const vkf__stored_tensor *base)
{
    w->base = base;
    w->blocks = VKF_DTYPE_F32;
    (void)vkf__stored_in_blocks(slot, base, &w->blocks);
    w->stored = (vkf__stored_tensor){
        .name = base->name,
        .type = VKF_STORED_F32,
        .rank = 2,
        .shape = {w->rows, w->cols},
        .count = w->rows * w->cols,
        .size_bytes = w->rows * w->cols * sizeof(float),
        .make = make_sum,
        .make_user = w,
    };
}

// In a model whose sides share a table, PEFT changes what one of them sees.
static vkf_status check_slot(const vkf__model_source *source, const vkf__adapter_product *p,
                             const vkf__weight_slot *slot)
{
    const char *path = vkf__checkpoint_path(source->adapter->checkpoint);
    if (slot->tied && !source->adapter->ties)
        return fail_tied(source, slot->name);
    if (slot->tied || (slot->linear && !p->embedding))
        return VKF_OK;
    if (slot->rank != 2 || slot->linear || !p->embedding)
        return vkf__fail(&source->adapter->host, VKF_ERROR_FORMAT, "%s: tensor %s is %s, which %s is not", path,
                         p->a->name, p->embedding ? "an embedding's" : "a linear layer's", slot->name);
    if (vkf__facts_of(&source->config)->own_decoder)
        return vkf__fail(&source->adapter->host, VKF_ERROR_UNSUPPORTED,
                         "%s: tensor %s is for an embedding, which encoder and decoder share; that is not supported",
                         path, p->a->name);
    return VKF_OK;
}

// Adds to a slot's weight what the adapter has for it. Slots may share a weight.
static vkf_status merge(const vkf__model_source *source, vkf__weight_resolution *r, size_t index)
{
    const vkf__weight_slot *slot = &r->slots[index];
    const vkf__adapter_product *p = vkf__adapter_product_for(source->adapter, source->family, slot->name);
    if (!p)
        return VKF_OK;
    vkf__merged_weight *w = &r->merged[p - source->adapter->products];
    VKF_RETURN_IF_ERROR(check_slot(source, p, slot));
    if (!w->base) {
        VKF_RETURN_IF_ERROR(prepare(source->adapter, p, slot, w));
        name_sum(w, slot, r->stored[index]);
    }
    r->stored[index] = &w->stored;
    return VKF_OK;
}

vkf_status vkf__adapter_merge(const vkf__host *host, const vkf__model_source *source, vkf__weight_resolution *r)
{
    const vkf__adapter *adapter = source->adapter;
    if (!adapter)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(check_saved(host, source, r));
    VKF_ALLOC_OR_RETURN(host, r->merged, adapter->product_count);
    r->merged_count = adapter->product_count;
    for (size_t i = 0; i < r->count; i++)
        VKF_RETURN_IF_ERROR(merge(source, r, i));
    for (size_t i = 0; i < adapter->product_count; i++)
        if (!r->merged[i].base)
            return fail_module(source, r, adapter->products[i].module);
    return vkf__checkpoint_check_unchanged(adapter->checkpoint);
}

void vkf__merged_free(const vkf__host *host, vkf__weight_resolution *r)
{
    for (size_t i = 0; i < r->merged_count; i++) {
        vkf__free(host, r->merged[i].left);
        vkf__free(host, r->merged[i].right);
    }
    vkf__free(host, r->merged);
}

const vkf__stored_tensor *vkf__merged_base(const vkf__stored_tensor *stored)
{
    return stored->make == make_sum ? ((const vkf__merged_weight *)stored->make_user)->base : stored;
}
