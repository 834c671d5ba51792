// Compares the samples of a pair's halves, and prints the verdict.
#include "lab/bench/bench_compare.h"

#include <math.h>
#include <stdlib.h>

#include "output/json_output.h"
#include "output/standard_output.h"
#include "output/visible_text.h"

// The comparison of both halves. Making it sorts their samples.
typedef struct comparison {
    vkf_summary old, edited;
    double ratio;        // of the medians
    vkf_summary in_turn; // ratios of repetitions that ran one after the other
    double noise;        // as a share of the old median
    const char *verdict;
} comparison;

static double ratio_of(double edited, double old)
{
    return old > 0 ? edited / old : 1.0; // both may be 0, because the clock has a resolution
}

static comparison compare(const vkf_bench_pair *pair, double *ratios)
{
    const uint32_t count = pair->old.count < pair->edited.count ? pair->old.count : pair->edited.count;
    for (uint32_t i = 0; i < count; i++)
        ratios[i] = ratio_of(pair->edited.samples_ms[i], pair->old.samples_ms[i]);
    comparison c = {
        .in_turn = vkf_summarize(ratios, count),
        .old = vkf_summarize(pair->old.samples_ms, pair->old.count),
        .edited = vkf_summarize(pair->edited.samples_ms, pair->edited.count),
        .verdict = "no difference",
    };
    double noise_ms = fmax(c.old.iqr, c.edited.iqr);
    c.ratio = ratio_of(c.edited.median, c.old.median);
    c.noise = c.old.median > 0 ? noise_ms / c.old.median : 0;
    if (vkf_beyond_noise(c.old.median, c.edited.median, noise_ms))
        c.verdict = c.ratio > 1 ? "slower" : "faster";
    return c;
}

// Text ---------------------------------------------------------------------------------------------------------------

static void print_list(const json_t *names, const char *between)
{
    size_t index;
    json_t *name;
    json_array_foreach((json_t *)names, index, name)
    {
        vkf_print("%s%s", index ? between : "", json_string_value(name));
    }
}

void vkf_bench_compare_begin(const vkf_bench_report *report, const vkf_bench_save *save)
{
    if (report->rows.format != VKF_ROWS_TABLE)
        return;
    printf("\nsave %u: ", save->number);
    print_list(save->files, ", ");
    vkf_print("\n%-9s  %-24s  %-8s  %10s  %9s  %10s  %9s  %6s  %13s  %6s  %-13s  %s\n", "work", "shape", "types",
              "old ms", "iqr", "new ms", "iqr", "ratio", "quartiles", "noise", "", "kernels");
    (void)vkf_flush_stdout();
}

static void print_measured(const vkf_bench_pair *pair, const comparison *c)
{
    char quartiles[32];
    snprintf(quartiles, sizeof quartiles, "%.3f-%.3f", c->in_turn.lower_quartile, c->in_turn.upper_quartile);
    vkf_print("%10.4f  %9.4f  %10.4f  %9.4f  %6.3f  %13s  %5.1f%%  %-13s  ", c->old.median, c->old.iqr,
              c->edited.median, c->edited.iqr, c->ratio, quartiles, 100 * c->noise, c->verdict);
    print_list(pair->old.kernels, "+");
    if (!json_equal(pair->old.kernels, pair->edited.kernels)) {
        printf(" -> ");
        print_list(pair->edited.kernels, "+");
    }
    vkf_print("%s\n", vkf_settled_mark(pair->settled));
}

static void print_line(const vkf_bench_pair *pair, const comparison *c)
{
    const vkf_bench_types *t = vkf_bench_case_types(pair->old.bench->options, pair->spec, pair->index);
    char shape[256] = "", types[64];
    if (pair->shape)
        vkf_bench_shape_text(pair->shape, shape, sizeof shape);
    vkf_bench_types_text(vkf_dtype_name(t->activations), vkf_dtype_name(t->weights), types, sizeof types);
    vkf_print("%-9s  %-24s  %-8s  ", pair->op ? pair->op : pair->spec->name, shape, types);
    switch (pair->outcome) {
    case VKF_BENCH_MEASURED:
        print_measured(pair, c);
        break;
    case VKF_BENCH_UNCHANGED:
        printf("the edit is not used by this benchmark, whose kernels are the same code as before: ");
        print_list(pair->old.kernels, "+");
        putchar('\n');
        break;
    case VKF_BENCH_WRONG:
        printf("WRONG RESULTS of ");
        print_list(pair->refused, ", ");
        puts("; the last good version stays");
        break;
    case VKF_BENCH_FAILED:
        puts("FAILED; the last good version stays");
        break;
    case VKF_BENCH_STOPPED:
        puts("stopped");
        break;
    }
    (void)vkf_flush_stdout();
}

// JSON ---------------------------------------------------------------------------------------------------------------

static json_t *half_of(const vkf_bench_half *half, const vkf_summary *summary)
{
    json_t *object = json_object();
    json_object_set(object, "kernels", half->kernels);
    vkf_json_put_integer(object, "samples", summary->count);
    vkf_json_put_real(object, "min_ms", summary->min);
    vkf_json_put_real(object, "lower_quartile_ms", summary->lower_quartile);
    vkf_json_put_real(object, "median_ms", summary->median);
    vkf_json_put_real(object, "upper_quartile_ms", summary->upper_quartile);
    return object;
}

static void put_comparison(json_t *object, const vkf_bench_pair *pair, const comparison *c)
{
    vkf_json_put_string(object, "timed_by", pair->gpu_timed ? "gpu" : "wall");
    json_object_set_new(object, "settled", vkf_settled_json(pair->settled));
    json_object_set_new(object, "old", half_of(&pair->old, &c->old));
    json_object_set_new(object, "new", half_of(&pair->edited, &c->edited));
    vkf_json_put_real(object, "ratio", c->ratio);
    vkf_json_put_real(object, "ratio_lower_quartile", c->in_turn.lower_quartile);
    vkf_json_put_real(object, "ratio_upper_quartile", c->in_turn.upper_quartile);
    vkf_json_put_real(object, "noise", c->noise);
    vkf_json_put_string(object, "verdict", c->verdict);
}

static json_t *object_of(const vkf_bench_report *report, const vkf_bench_save *save, const vkf_bench_pair *pair,
                         const comparison *c, const char *message)
{
    static const char *const outcomes[] = {
        [VKF_BENCH_FAILED] = "failed", [VKF_BENCH_MEASURED] = "measured", [VKF_BENCH_UNCHANGED] = "unchanged",
        [VKF_BENCH_WRONG] = "wrong",   [VKF_BENCH_STOPPED] = "stopped",
    };
    const vkf_bench_types *types = vkf_bench_case_types(pair->old.bench->options, pair->spec, pair->index);
    json_t *object = json_object();
    vkf_json_put_integer(object, "save", save->number);
    json_object_set(object, "files", (json_t *)save->files);
    vkf_json_put_string(object, "outcome", outcomes[pair->outcome]);
    vkf_json_put_string(object, "op", pair->op ? pair->op : pair->spec->name);
    json_object_set_new(object, "shape", pair->shape ? json_incref(pair->shape) : json_null());
    vkf_json_put_string(object, "dtype", vkf_dtype_name(types->activations));
    vkf_json_put_string(object, "weights_dtype", vkf_dtype_name(types->weights));
    vkf_json_put_string(object, "device", report->device.name);
    vkf_json_put_string(object, "driver", report->driver);
    if (pair->outcome == VKF_BENCH_MEASURED)
        put_comparison(object, pair, c);
    if (pair->outcome == VKF_BENCH_UNCHANGED)
        json_object_set(object, "kernels", pair->old.kernels);
    if (pair->outcome == VKF_BENCH_WRONG)
        json_object_set(object, "kernels", pair->refused);
    if (pair->outcome == VKF_BENCH_FAILED)
        json_object_set_new(object, "message", message ? json_string(message) : json_null());
    return object;
}

bool vkf_bench_compare_print(const vkf_bench_report *report, const vkf_bench_save *save, const vkf_bench_pair *pair,
                             const char *message)
{
    comparison c = {0};
    if (pair->outcome == VKF_BENCH_MEASURED) {
        double *ratios = malloc(pair->old.count * sizeof *ratios);
        if (!ratios) {
            vkf_print_error("memory for %u ratios is exhausted", pair->old.count);
            return false;
        }
        c = compare(pair, ratios);
        free(ratios);
    }
    bool done = true;
    if (report->rows.format == VKF_ROWS_TABLE)
        print_line(pair, &c);
    else
        done = vkf_print_json(object_of(report, save, pair, &c, message));
    (void)vkf_flush_stdout();
    return done;
}
