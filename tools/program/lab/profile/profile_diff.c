// Compares two profiles, dispatch by dispatch.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "input/name_index.h"
#include "lab/profile/profile_output.h"
#include "measure/sample_stats.h"
#include "output/visible_text.h"

// A dispatch with a smaller share of its run cannot fail the comparison by itself, but the sum of all can.
#define LEAST_SHARE 0.005

typedef struct change {
    const char *submission, *part, *label;
    double before_ns, after_ns; // medians; negative: missing
    double noise_ns;            // the wider of both interquartile ranges
} change;

// The groups of a profile, by where their dispatches are.
typedef struct placed_groups {
    vkf_profile_groups groups;
    vkf_name_index index;
} placed_groups;

static bool find(const placed_groups *placed, const vkf_profile_group *like, const vkf_profile_group **out_group)
{
    const char *const names[] = {like->submission, like->part, like->label};
    size_t place = 0;
    bool found = vkf_name_index_find(&placed->index, names, 3, &place);
    *out_group = found ? &placed->groups.list[place] : NULL;
    return found;
}

static bool place_groups(const json_t *document, placed_groups *out_placed)
{
    size_t place = 0;
    bool placed = vkf_profile_groups_make(document, VKF_PROFILE_BY_PLACE, &out_placed->groups) &&
                  vkf_name_index_init(&out_placed->index);
    for (size_t i = 0; placed && i < out_placed->groups.count; i++) {
        const vkf_profile_group *group = &out_placed->groups.list[i];
        const char *const names[] = {group->submission, group->part, group->label};
        placed = vkf_name_index_add(&out_placed->index, names, 3, i, &place);
    }
    return placed;
}

static void free_placed(placed_groups *placed)
{
    vkf_profile_groups_free(&placed->groups);
    vkf_name_index_free(&placed->index);
}

static change compare(const vkf_profile_group *before, const vkf_profile_group *after)
{
    const vkf_profile_group *any = before ? before : after;
    change c = {any->submission, any->part, any->label, -1.0, -1.0, 0};
    if (before) {
        c.before_ns = before->median_ns;
        c.noise_ns = before->iqr_ns;
    }
    if (after) {
        c.after_ns = after->median_ns;
        c.noise_ns = fmax(c.noise_ns, after->iqr_ns);
    }
    return c;
}

static bool in_both(const change *c)
{
    return c->before_ns >= 0 && c->after_ns >= 0;
}

static bool beyond_noise(const change *c)
{
    return in_both(c) && vkf_beyond_noise(c->before_ns, c->after_ns, c->noise_ns);
}

static const char *verdict(const change *c)
{
    if (!in_both(c))
        return c->before_ns < 0 ? "new" : "gone";
    if (!beyond_noise(c))
        return "";
    return c->after_ns > c->before_ns ? "slower" : "faster";
}

static void print_ms(FILE *out, double ns)
{
    if (ns < 0)
        vkf_print_on(out, "%10s ", "-");
    else
        fprintf(out, "%10.3f ", ns * 1e-6);
}

static void print_change(FILE *out, const change *c)
{
    print_ms(out, c->before_ns);
    print_ms(out, c->after_ns);
    if (in_both(c) && c->before_ns > 0)
        fprintf(out, "%7.3f %6.1f%% ", c->after_ns / c->before_ns, 100 * c->noise_ns / c->before_ns);
    else
        vkf_print_on(out, "%7s %7s ", "-", "-");
    vkf_print_on(out, "%-7s %s%s%s\n", verdict(c), c->part[0] ? c->part : c->submission, c->label[0] ? " " : "",
                 c->label);
}

static int larger_difference(const void *left, const void *right)
{
    const change *a = left, *b = right;
    double da = fabs(fmax(a->after_ns, 0) - fmax(a->before_ns, 0));
    double db = fabs(fmax(b->after_ns, 0) - fmax(b->before_ns, 0));
    return (da < db) - (da > db);
}

static size_t list_changes(const placed_groups *before, const placed_groups *after, change *out_list)
{
    const vkf_profile_group *other = NULL;
    size_t count = 0;
    for (size_t i = 0; i < before->groups.count; i++) {
        (void)find(after, &before->groups.list[i], &other);
        out_list[count++] = compare(&before->groups.list[i], other);
    }
    for (size_t i = 0; i < after->groups.count; i++)
        if (!find(before, &after->groups.list[i], &other))
            out_list[count++] = compare(NULL, &after->groups.list[i]);
    qsort(out_list, count, sizeof *out_list, larger_difference);
    return count;
}

// Sums up all dispatches of a run.
static vkf_profile_group total_of(const vkf_profile_groups *groups)
{
    vkf_profile_group total = {.submission = "all", .part = "", .label = "", .kernel = "", .config = ""};
    double sums[VKF_PROFILE_MAX_RUNS] = {0};
    for (size_t i = 0; i < groups->count; i++)
        for (uint32_t run = 0; run < groups->runs; run++)
            sums[run] += groups->list[i].run_ns[run];
    const vkf_summary summary = vkf_summarize(sums, groups->runs);
    total.median_ns = summary.median;
    total.iqr_ns = summary.iqr;
    return total;
}

static bool too_slow(const change *c, double total_ns, double fail_above)
{
    return beyond_noise(c) && c->before_ns >= LEAST_SHARE * total_ns && c->after_ns > c->before_ns * (1 + fail_above);
}

static bool print_list(FILE *out, const change *total, const change *list, size_t count, double fail_above)
{
    bool passes = !too_slow(total, total->before_ns, fail_above);
    vkf_print_on(out, "%10s %10s %7s %7s %-7s what\n", "before ms", "after ms", "ratio", "noise", "");
    print_change(out, total);
    for (size_t i = 0; i < count; i++) {
        print_change(out, &list[i]);
        passes = passes && !too_slow(&list[i], total->before_ns, fail_above);
    }
    return passes;
}

bool vkf_profile_print_diff(FILE *out, const json_t *before, const json_t *after, double fail_above, bool *out_done)
{
    placed_groups old = {0}, now = {0};
    change *list = NULL;
    bool passes = true;
    *out_done = place_groups(before, &old) && place_groups(after, &now);
    if (*out_done) {
        list = calloc(old.groups.count + now.groups.count + 1, sizeof *list);
        *out_done = list != NULL;
        if (!list)
            vkf_print_error("memory for %zu dispatches is exhausted", old.groups.count + now.groups.count);
    }
    if (*out_done) {
        const vkf_profile_group old_total = total_of(&old.groups), now_total = total_of(&now.groups);
        const change total = compare(&old_total, &now_total);
        passes = print_list(out, &total, list, list_changes(&old, &now, list), fail_above);
    }
    free(list);
    free_placed(&old);
    free_placed(&now);
    return passes;
}
