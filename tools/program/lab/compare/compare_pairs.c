// Matches the tensors of two files, orders them and compares each pair.
#include "lab/compare/compare_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare/stored_values.h"
#include "system/name_pattern.h"

const char *vkf_pair_name(const vkf_tensor_pair *pair)
{
    return pair->tested ? pair->tested->name : pair->reference->name;
}

// ---- order

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

int vkf_compare_names(const char *left, const char *right)
{
    const char *a = left, *b = right;
    while (*a && *b) {
        if (digits_at(a) > 0 && digits_at(b) > 0) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t digits = digits_at(a), other_digits = digits_at(b);
            if (digits != other_digits)
                return digits < other_digits ? -1 : 1;
            int order = memcmp(a, b, digits);
            if (order != 0)
                return order;
            a += digits;
            b += digits;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    if (*a != *b)
        return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
    return strcmp(left, right); // for names such as 01 and 1
}

static int by_name(const void *a, const void *b)
{
    return vkf_compare_names(vkf_pair_name(a), vkf_pair_name(b));
}

static const vkf__stored_tensor *placed_tensor(const vkf_tensor_pair *pair)
{
    return pair->tested ? pair->tested : pair->reference;
}

// The order of storage in the tested file, then, for tensors of the reference alone, the order of storage there.
static int by_offset(const void *a, const void *b)
{
    const vkf_tensor_pair *left = a, *right = b;
    if (!left->tested != !right->tested)
        return left->tested ? -1 : 1;
    const vkf__stored_tensor *l = placed_tensor(left), *r = placed_tensor(right);
    if (l->offset_bytes != r->offset_bytes)
        return l->offset_bytes < r->offset_bytes ? -1 : 1;
    if (l->size_bytes != r->size_bytes)
        return l->size_bytes < r->size_bytes ? -1 : 1; // an empty tensor shares its offset with the next
    return by_name(a, b);
}

static int by_place(const void *a, const void *b)
{
    const vkf_tensor_pair *left = a, *right = b;
    return (left->place > right->place) - (left->place < right->place);
}

double vkf_pair_badness(const vkf_tensor_pair *pair)
{
    switch (pair->verdict) {
    case VKF_PAIR_WITHIN:
    case VKF_PAIR_BEYOND:
        return pair->error.mismatch_count > 0 ? HUGE_VAL : pair->error.worst_error / pair->error.scale;
    case VKF_PAIR_SHAPES:
        return HUGE_VAL;
    default:
        return -1;
    }
}

static int by_badness(const void *a, const void *b)
{
    double left = vkf_pair_badness(a), right = vkf_pair_badness(b);
    if (left < right || left > right)
        return left > right ? -1 : 1;
    return by_place(a, b);
}

void vkf_pairs_sort(vkf_tensor_pair *pairs, size_t count, vkf_pair_order order)
{
    static int (*const orders[])(const void *, const void *) = {
        [VKF_ORDER_FILE] = by_place, [VKF_ORDER_NAME] = by_name, [VKF_ORDER_ERROR] = by_badness};
    if (count > 0)
        qsort(pairs, count, sizeof *pairs, orders[order]);
}

// Most writers, PyTorch's among them, sort tensors by type and name. The order of the file then means nothing, and
// layer 10 would come before layer 2.
static bool in_order_of_names(const vkf_tensor_pair *pairs, size_t count)
{
    for (size_t i = 1; i < count && pairs[i].tested; i++)
        if (pairs[i].tested->type == pairs[i - 1].tested->type &&
            strcmp(pairs[i].tested->name, pairs[i - 1].tested->name) < 0)
            return false;
    return true;
}

static void find_places(vkf_tensor_pair *pairs, size_t count)
{
    if (count == 0)
        return;
    qsort(pairs, count, sizeof *pairs, by_offset);
    size_t tested_count = 0;
    while (tested_count < count && pairs[tested_count].tested)
        tested_count++;
    if (in_order_of_names(pairs, count)) {
        qsort(pairs, tested_count, sizeof *pairs, by_name);
        qsort(pairs + tested_count, count - tested_count, sizeof *pairs, by_name);
    }
    for (size_t i = 0; i < count; i++)
        pairs[i].place = i;
}

// ---- matching

static bool matches(const char *pattern, const char *name)
{
    if (strpbrk(pattern, "*?["))
        return vkf_name_matches(pattern, name);
    return strncmp(pattern, name, strlen(pattern)) == 0;
}

static bool chosen(const char *const *patterns, size_t pattern_count, const char *name)
{
    for (size_t i = 0; i < pattern_count; i++)
        if (matches(patterns[i], name))
            return true;
    return pattern_count == 0;
}

static vkf_status check_patterns(const vkf__host *host, const char *const *patterns, size_t pattern_count,
                                 const vkf_tensor_pair *pairs, size_t count)
{
    for (size_t p = 0; p < pattern_count; p++) {
        bool found = false;
        for (size_t i = 0; i < count && !found; i++)
            found = matches(patterns[p], vkf_pair_name(&pairs[i]));
        if (!found)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "--only: no tensor's name is like '%.200s'",
                             patterns[p]);
    }
    return VKF_OK;
}

static vkf_status check_type(const vkf__host *host, const vkf__tensor_file *file, const vkf__stored_tensor *tensor)
{
    if (!tensor || vkf__stored_is_float(tensor->type) || vkf__stored_is_whole(tensor->type))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: tensor %.200s is stored as %s, which is not compared; leave it "
                     "out by --only",
                     vkf__tensor_file_path(file), tensor->name, vkf__stored_type_name(tensor->type));
}

vkf_status vkf_pairs_make(const vkf__host *host, const vkf__tensor_file *tested, const vkf__tensor_file *reference,
                          const char *const *patterns, size_t pattern_count, vkf_tensor_pair **out_pairs,
                          size_t *out_count)
{
    vkf_status status = VKF_OK;
    size_t tested_count = vkf__tensor_file_count(tested), reference_count = vkf__tensor_file_count(reference);
    size_t count = 0;
    vkf_tensor_pair *pairs = NULL;
    VKF_ALLOC(host, pairs, tested_count + reference_count + 1);
    for (size_t i = 0; i < tested_count; i++) {
        const vkf__stored_tensor *tensor = vkf__tensor_file_at(tested, i);
        if (chosen(patterns, pattern_count, tensor->name))
            pairs[count++] =
                (vkf_tensor_pair){.tested = tensor, .reference = vkf__tensor_file_find(reference, tensor->name)};
    }
    for (size_t i = 0; i < reference_count; i++) {
        const vkf__stored_tensor *tensor = vkf__tensor_file_at(reference, i);
        if (!vkf__tensor_file_find(tested, tensor->name) && chosen(patterns, pattern_count, tensor->name))
            pairs[count++] = (vkf_tensor_pair){.reference = tensor};
    }
    VKF_TRY(check_patterns(host, patterns, pattern_count, pairs, count));
    for (size_t i = 0; i < count; i++) {
        VKF_TRY(check_type(host, tested, pairs[i].tested));
        VKF_TRY(check_type(host, reference, pairs[i].reference));
    }
    find_places(pairs, count);
    *out_pairs = pairs;
    *out_count = count;
    pairs = NULL;
fail:
    vkf__free(host, pairs);
    return status;
}

// ---- judging

// Compares shapes without leading dimensions of 1.
static bool same_shape(const vkf__stored_tensor *a, const vkf__stored_tensor *b)
{
    uint32_t first = 0, other_first = 0;
    while (first < a->rank && a->shape[first] == 1)
        first++;
    while (other_first < b->rank && b->shape[other_first] == 1)
        other_first++;
    size_t rank = a->rank - first;
    return rank == b->rank - other_first &&
           (rank == 0 || memcmp(&a->shape[first], &b->shape[other_first], rank * sizeof *a->shape) == 0);
}

static size_t piece_at(const vkf__stored_tensor *tensor, uint64_t first)
{
    uint64_t left = tensor->count - first;
    return left < VKF_STORED_VALUES_MAX ? (size_t)left : VKF_STORED_VALUES_MAX;
}

static vkf_status range_of(const vkf__stored_tensor *tensor, vkf_tensor_range *out_range)
{
    double values[VKF_STORED_VALUES_MAX];
    vkf_tensor_range range = {0};
    for (uint64_t i = 0; i < tensor->count; i += VKF_STORED_VALUES_MAX) {
        size_t piece = piece_at(tensor, i);
        VKF_RETURN_IF_ERROR(vkf_stored_values(tensor, i, piece, values));
        vkf_tensor_range_add(&range, values, piece);
    }
    *out_range = range;
    return VKF_OK;
}

vkf_status vkf_pair_judge(vkf_tensor_pair *pair, double atol, double rtol)
{
    const vkf__stored_tensor *tested = pair->tested, *reference = pair->reference;
    double tested_values[VKF_STORED_VALUES_MAX], reference_values[VKF_STORED_VALUES_MAX];
    if (!tested || !reference || !same_shape(tested, reference)) {
        pair->verdict = !reference ? VKF_PAIR_TESTED_ONLY : !tested ? VKF_PAIR_REFERENCE_ONLY : VKF_PAIR_SHAPES;
        return VKF_OK;
    }
    vkf_tensor_range tested_range, reference_range;
    VKF_RETURN_IF_ERROR(range_of(tested, &tested_range));
    VKF_RETURN_IF_ERROR(range_of(reference, &reference_range));
    pair->exact = vkf__stored_is_whole(tested->type) && vkf__stored_is_whole(reference->type);
    pair->error =
        vkf_tensor_error_begin(&tested_range, &reference_range, pair->exact ? 0 : atol, pair->exact ? 0 : rtol);
    for (uint64_t i = 0; i < tested->count; i += VKF_STORED_VALUES_MAX) {
        size_t piece = piece_at(tested, i);
        VKF_RETURN_IF_ERROR(vkf_stored_values(tested, i, piece, tested_values));
        VKF_RETURN_IF_ERROR(vkf_stored_values(reference, i, piece, reference_values));
        vkf_tensor_error_add(&pair->error, tested_values, reference_values, piece);
    }
    pair->verdict = pair->error.beyond_count > 0 ? VKF_PAIR_BEYOND : VKF_PAIR_WITHIN;
    return VKF_OK;
}
