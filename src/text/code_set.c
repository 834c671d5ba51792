// Adds, joins, intersects and inverts sets of code points.
#include "text/code_set.h"

#include "text/unicode_table.h"

void vkf__code_set_free(const vkf__host *host, vkf__code_set *set)
{
    vkf__free(host, set->ranges);
    *set = (vkf__code_set){0};
}

// The first range whose end is not below `code`.
static size_t find(const vkf__code_set *set, uint32_t code)
{
    size_t begin = 0;
    size_t end = set->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (set->ranges[middle].end < code)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

vkf_status vkf__code_set_add(const vkf__host *host, vkf__code_set *set, uint32_t first, uint32_t end)
{
    size_t at = find(set, first);
    size_t behind = at;
    while (behind < set->count && set->ranges[behind].first <= end) {
        first = set->ranges[behind].first < first ? set->ranges[behind].first : first;
        end = set->ranges[behind].end > end ? set->ranges[behind].end : end;
        behind++;
    }
    if (behind == at)
        VKF_RETURN_IF_ERROR(
            vkf__grow(host, (void **)&set->ranges, sizeof *set->ranges, set->count, &set->capacity, set->count + 1));
    if (at < set->count)
        memmove(set->ranges + at + 1, set->ranges + behind, (set->count - behind) * sizeof *set->ranges);
    set->count = set->count + 1 - (behind - at);
    set->ranges[at] = (vkf__code_range){first, end};
    return VKF_OK;
}

vkf_status vkf__code_set_join(const vkf__host *host, vkf__code_set *set, const vkf__code_set *other)
{
    for (size_t i = 0; i < other->count; i++)
        VKF_RETURN_IF_ERROR(vkf__code_set_add(host, set, other->ranges[i].first, other->ranges[i].end));
    return VKF_OK;
}

vkf_status vkf__code_set_intersect(const vkf__host *host, vkf__code_set *set, const vkf__code_set *other)
{
    vkf_status status = VKF_OK;
    vkf__code_set both = {0};
    for (size_t i = 0, j = 0; i < set->count && j < other->count;) {
        vkf__code_range a = set->ranges[i];
        vkf__code_range b = other->ranges[j];
        uint32_t first = a.first > b.first ? a.first : b.first;
        uint32_t end = a.end < b.end ? a.end : b.end;
        if (first < end)
            VKF_TRY(vkf__code_set_add(host, &both, first, end));
        i += a.end <= b.end;
        j += b.end <= a.end;
    }
    vkf__free(host, set->ranges);
    *set = both;
    return VKF_OK;
fail:
    vkf__code_set_free(host, &both);
    return status;
}

vkf_status vkf__code_set_invert(const vkf__host *host, vkf__code_set *set)
{
    vkf_status status = VKF_OK;
    vkf__code_set rest = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (at < set->ranges[i].first)
            VKF_TRY(vkf__code_set_add(host, &rest, at, set->ranges[i].first));
        at = set->ranges[i].end;
    }
    if (at < VKF_UNICODE_END)
        VKF_TRY(vkf__code_set_add(host, &rest, at, VKF_UNICODE_END));
    vkf__free(host, set->ranges);
    *set = rest;
    return VKF_OK;
fail:
    vkf__code_set_free(host, &rest);
    return status;
}

bool vkf__code_set_has(const vkf__code_set *set, uint32_t code)
{
    size_t at = find(set, code + 1);
    return at < set->count && set->ranges[at].first <= code;
}

bool vkf__code_set_equal(const vkf__code_set *a, const vkf__code_set *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ranges, b->ranges, a->count * sizeof *a->ranges) == 0);
}
