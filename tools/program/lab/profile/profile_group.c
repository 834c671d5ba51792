// Sums up the dispatches of a document by group.
#include "lab/profile/profile_group.h"

#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "input/name_index.h"
#include "measure/sample_stats.h"

static const char *text(const json_t *row, const char *key, bool kept)
{
    return kept ? json_string_value(json_object_get(row, key)) : "";
}

// The group that a dispatch belongs to, still empty.
static vkf_profile_group key_of(const json_t *row, vkf_profile_by by)
{
    bool label = by != VKF_PROFILE_BY_LAYER, kernel = by == VKF_PROFILE_BY_OP || by == VKF_PROFILE_BY_DISPATCH;
    return (vkf_profile_group){
        .submission = text(row, "submission", true),
        .part = text(row, "part", by != VKF_PROFILE_BY_OP),
        .label = text(row, "label", label),
        .kernel = text(row, "kernel", kernel),
        .config = text(row, "config", kernel),
    };
}

static bool same(const vkf_profile_group *a, const vkf_profile_group *b)
{
    return strcmp(a->submission, b->submission) == 0 && strcmp(a->part, b->part) == 0 &&
           strcmp(a->label, b->label) == 0 && strcmp(a->kernel, b->kernel) == 0 && strcmp(a->config, b->config) == 0;
}

bool vkf_profile_group_has(const vkf_profile_group *group, const json_t *row, vkf_profile_by by)
{
    const vkf_profile_group key = key_of(row, by);
    return same(group, &key);
}

// The group of that key, which is made where there is none. NULL: memory is exhausted (message printed).
static vkf_profile_group *find(vkf_profile_groups *groups, vkf_name_index *index, const vkf_profile_group *key)
{
    const char *const names[] = {key->submission, key->part, key->label, key->kernel, key->config};
    size_t place = 0;
    if (!vkf_name_index_add(index, names, sizeof names / sizeof names[0], groups->count, &place))
        return NULL;
    if (place == groups->count) {
        groups->list[place] = *key;
        groups->list[place].run_ns = groups->run_ns + place * groups->runs;
        groups->count++;
    }
    return &groups->list[place];
}

static void add(vkf_profile_group *group, const json_t *row, uint32_t runs)
{
    const json_t *samples = json_object_get(json_object_get(row, "gpu_ns"), "runs");
    group->calls += (uint64_t)json_integer_value(json_object_get(row, "calls"));
    group->flops += json_number_value(json_object_get(row, "flops"));
    group->bytes_read += json_number_value(json_object_get(row, "bytes_read"));
    group->bytes_written += json_number_value(json_object_get(row, "bytes_written"));
    for (uint32_t i = 0; i < runs; i++)
        group->run_ns[i] += json_number_value(json_array_get(samples, i));
}

static void summarize(vkf_profile_group *group, uint32_t runs)
{
    double sorted[VKF_PROFILE_MAX_RUNS];
    memcpy(sorted, group->run_ns, runs * sizeof *sorted);
    const vkf_summary summary = vkf_summarize(sorted, runs);
    group->median_ns = summary.median;
    group->iqr_ns = summary.iqr;
}

bool vkf_profile_groups_make(const json_t *document, vkf_profile_by by, vkf_profile_groups *out_groups)
{
    const json_t *row, *dispatches = json_object_get(document, "dispatches");
    const size_t rows = json_array_size(dispatches);
    size_t i;
    vkf_name_index index = {0};
    vkf_profile_groups groups = {0};
    groups.runs = (uint32_t)json_array_size(json_object_get(json_object_get(document, "wall_ns"), "runs"));
    groups.list = calloc(rows + 1, sizeof *groups.list);
    groups.run_ns = calloc(rows + 1, groups.runs * sizeof *groups.run_ns);
    bool made = groups.list && groups.run_ns;
    if (!made)
        vkf_print_error("memory for %zu dispatches is exhausted", rows);
    made = made && vkf_name_index_init(&index);
    for (i = 0; made && i < rows; i++) {
        row = json_array_get(dispatches, i);
        const vkf_profile_group key = key_of(row, by);
        vkf_profile_group *group = find(&groups, &index, &key);
        made = group != NULL;
        if (made)
            add(group, row, groups.runs);
    }
    vkf_name_index_free(&index);
    for (i = 0; i < groups.count; i++) {
        summarize(&groups.list[i], groups.runs);
        groups.total_ns += groups.list[i].median_ns;
    }
    if (!made)
        vkf_profile_groups_free(&groups);
    *out_groups = groups;
    return made;
}

void vkf_profile_groups_free(vkf_profile_groups *groups)
{
    free(groups->list);
    free(groups->run_ns);
    *groups = (vkf_profile_groups){0};
}

static int dearer(const void *left, const void *right)
{
    const vkf_profile_group *a = left, *b = right;
    return (a->median_ns < b->median_ns) - (a->median_ns > b->median_ns);
}

void vkf_profile_groups_sort(vkf_profile_groups *groups)
{
    qsort(groups->list, groups->count, sizeof *groups->list, dearer);
}
