// Prints a profile as a table for a terminal.

#include "lab/profile/profile_counters.h"
#include "lab/profile/profile_output.h"
#include "measure/settle.h"
#include "output/visible_text.h"

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : -1.0;
}

static double median(const json_t *object, const char *key)
{
    return number(json_object_get(object, key), "median");
}

static const char *string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

// Prints "decoder tests/pretrained/llama, batch 1, length 32, new_tokens 16, ...".
static void print_subject(FILE *out, const json_t *document)
{
    const json_t *subject = json_object_get(document, "subject"), *device = json_object_get(document, "device");
    const char *key;
    json_t *value;
    bool first = true;
    json_object_foreach((json_t *)subject, key, value)
    {
        if (json_is_string(value))
            vkf_print_on(out, "%s%s %s", first ? "" : ", ", key, json_string_value(value));
        else if (json_is_integer(value))
            vkf_print_on(out, "%s%s %lld", first ? "" : ", ", key, (long long)json_integer_value(value));
        first = first && json_is_null(value);
    }
    vkf_print_on(out, "\n%s, %s %s\n", string(device, "name"), string(device, "driver"), string(device, "driver_info"));
}

// The sum of the submissions' medians.
static double device_ns(const json_t *document)
{
    const json_t *submission, *submissions = json_object_get(document, "submissions");
    size_t i;
    double sum_ns = 0;
    json_array_foreach(submissions, i, submission) sum_ns += median(submission, "gpu_ns");
    return sum_ns;
}

static void print_host(FILE *out, const json_t *document, double gpu_ns)
{
    const json_t *submission, *submissions = json_object_get(document, "submissions");
    size_t i;
    double wall_ns = median(document, "wall_ns"), host_ns = number(document, "unprofiled_wall_ns");
    fprintf(out, "%zu runs, median %.3f ms",
            json_array_size(json_object_get(json_object_get(document, "wall_ns"), "runs")), wall_ns * 1e-6);
    if (gpu_ns > 0)
        fprintf(out, ", of it on the device %.3f ms", gpu_ns * 1e-6);
    vkf_print_on(out, "%s\n",
                 json_is_false(json_object_get(document, "settled")) ? vkf_settled_mark(VKF_SETTLED_NO) : "");
    if (host_ns > 0)
        fprintf(out, "without profiler and timestamps %.3f ms: profiling takes %+.1f %%\n", host_ns * 1e-6,
                100 * (wall_ns / host_ns - 1));
    vkf_print_on(out, "\n%-12s %6s %12s %12s %12s %12s\n", "submission", "calls", "write ms", "submit ms", "wait ms",
                 "GPU ms");
    json_array_foreach(submissions, i, submission) vkf_print_on(
        out, "%-12s %6.0f %12.3f %12.3f %12.3f %12.3f\n", string(submission, "name"), number(submission, "calls"),
        median(submission, "update_ns") * 1e-6, median(submission, "submit_ns") * 1e-6,
        median(submission, "wait_ns") * 1e-6, median(submission, "gpu_ns") * 1e-6);
}

static void print_roof(FILE *out, const json_t *roofs, const vkf_profile_group *group)
{
    const vkf_roofs measured = {
        .copy_bytes_per_s = number(roofs, "copy_bytes_per_s"),
        .read_bytes_per_s = number(roofs, "read_bytes_per_s"),
        .fma_flops_per_s = number(roofs, "fma_flops_per_s"),
    };
    const vkf_bench_cost cost = {group->flops, group->bytes_read, group->bytes_written};
    const char *bound;
    if (!json_is_object(roofs) || group->median_ns <= 0) {
        vkf_print_on(out, " %6s %-8s", "-", "");
        return;
    }
    double fraction = vkf_profile_roof(&measured, &cost, group->median_ns, &bound);
    vkf_print_on(out, " %5.1f%% %-8s", 100 * fraction, bound);
}

// In each run the times of dispatches add up to the whole, but their medians need not.
static void print_rest(FILE *out, double gpu_ns, double dispatches_ns)
{
    if (gpu_ns > 0)
        vkf_print_on(out, "%10.3f %7s %5.1f%% %42s difference of medians\n", (gpu_ns - dispatches_ns) * 1e-6, "",
                     100 * (1 - dispatches_ns / gpu_ns), "");
}

static void print_group(FILE *out, const json_t *document, const vkf_profile_group *group, double total_ns)
{
    double ns = group->median_ns;
    fprintf(out, "%10.3f %7.3f %5.1f%% %6llu", ns * 1e-6, group->iqr_ns * 1e-6, total_ns > 0 ? 100 * ns / total_ns : 0,
            (unsigned long long)group->calls);
    fprintf(out, " %8.2f %8.2f", ns > 0 ? group->flops / ns : 0,
            ns > 0 ? (group->bytes_read + group->bytes_written) / ns : 0);
    print_roof(out, json_object_get(document, "roofs"), group);
    const char *const names[] = {group->part[0] ? group->part : group->submission, group->label, group->kernel,
                                 group->config};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i][0])
            vkf_print_on(out, "%s%s", i == 3 ? "/" : " ", names[i]);
    fputc('\n', out);
}

bool vkf_profile_print_table(FILE *out, const json_t *document, vkf_profile_by by)
{
    vkf_profile_groups groups;
    if (!vkf_profile_groups_make(document, by, &groups))
        return false;
    vkf_profile_groups_sort(&groups);
    print_subject(out, document);
    double gpu_ns = device_ns(document);
    print_host(out, document, gpu_ns);
    vkf_print_on(out, "\n%10s %7s %6s %6s %8s %8s %6s %-8s what\n", "GPU ms", "iqr", "share", "calls", "GFLOP/s",
                 "GB/s", "roof", "bound");
    for (size_t i = 0; i < groups.count; i++)
        print_group(out, document, &groups.list[i], gpu_ns);
    print_rest(out, gpu_ns, groups.total_ns);
    vkf_profile_print_counters(out, document, by, &groups);
    vkf_profile_groups_free(&groups);
    return true;
}
