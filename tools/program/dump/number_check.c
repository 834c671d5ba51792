// Checks every output of a run for NaN and infinities, and keeps its range.
#include "dump/number_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/visible_text.h"

#define LARGEST_HALF 65504.0f

void vkf_number_check_free(vkf_number_check *check)
{
    for (size_t i = 0; i < check->count; i++) {
        free(check->ranges[i].name);
        free(check->ranges[i].kernel);
    }
    free(check->ranges);
    *check = (vkf_number_check){0};
}

static bool grow(vkf_number_check *check)
{
    if (check->count < check->capacity)
        return true;
    size_t wanted = check->capacity > 0 ? 2 * check->capacity : 64;
    vkf_number_range *grown = realloc(check->ranges, wanted * sizeof *grown);
    if (!grown)
        return false;
    check->ranges = grown;
    check->capacity = wanted;
    return true;
}

static vkf_number_range *add_range(vkf_number_check *check, const char *name, const char *kernel)
{
    if (!grow(check))
        return NULL;
    vkf_number_range range = {
        .name = strdup(name),
        .kernel = strdup(kernel),
        .smallest = INFINITY,
        .largest = -INFINITY,
    };
    if (!range.name || !range.kernel) {
        free(range.name);
        free(range.kernel);
        return NULL;
    }
    check->ranges[check->count] = range;
    return &check->ranges[check->count++];
}

// Outputs repeat in the same order, so the search begins after the last one found.
static vkf_number_range *find_range(vkf_number_check *check, const vkf_probe_output *output)
{
    char name[256];
    snprintf(name, sizeof name, "%s %s", output->part, output->label);
    for (size_t i = 0; i < check->count; i++) {
        size_t at = (check->next + i) % check->count;
        vkf_number_range *range = &check->ranges[at];
        if (strcmp(range->name, name) == 0 && strcmp(range->kernel, output->kernel) == 0) {
            check->next = at + 1;
            return range;
        }
    }
    check->next = 0;
    return add_range(check, name, output->kernel);
}

static void take_first(vkf_number_check *check, const vkf_number_range *range, const vkf_probe_output *output,
                       uint64_t index)
{
    if (check->found)
        return;
    check->found = true;
    check->first = (size_t)(range - check->ranges);
    check->first_run = check->outputs;
    check->first_index = index;
    check->first_value = output->values[index];
    check->rank = output->rank;
    memcpy(check->shape, output->shape, sizeof check->shape);
}

// Minus infinity is intended where it replaces the logits of tokens that must not be generated.
static bool is_meant(const vkf_probe_output *output, float value)
{
    return value == -INFINITY && strcmp(output->label, "ban") == 0;
}

bool vkf_number_check_take(void *user, const vkf_probe_output *output)
{
    vkf_number_check *check = user;
    vkf_number_range *range = find_range(check, output);
    if (!range) {
        check->exhausted = true;
        return false;
    }
    range->count += output->count;
    for (uint64_t i = 0; i < output->count; i++) {
        float value = output->values[i];
        if (isfinite(value)) {
            range->smallest = fmin(range->smallest, (double)value);
            range->largest = fmax(range->largest, (double)value);
            range->beyond_half_count += fabsf(value) > LARGEST_HALF;
        } else if (!is_meant(output, value)) {
            range->nan_count += isnan(value) != 0;
            range->inf_count += isinf(value) != 0;
            take_first(check, range, output, i);
        }
    }
    check->outputs++;
    return true;
}

static void print_note(FILE *out, const char *what, uint64_t count, uint64_t of)
{
    if (count > 0)
        vkf_print_on(out, ", %" PRIu64 " of %" PRIu64 " %s", count, of, what);
}

static void print_place(FILE *out, const vkf_number_check *check)
{
    uint64_t index = check->first_index, places[4] = {0};
    for (uint32_t i = check->rank; i-- > 0; index /= check->shape[i])
        places[i] = index % check->shape[i];
    for (uint32_t i = 0; i < check->rank; i++)
        vkf_print_on(out, "%s%" PRIu64, i ? "," : "[", places[i]);
    fputs("] of [", out);
    for (uint32_t i = 0; i < check->rank; i++)
        vkf_print_on(out, "%s%u", i ? "," : "", check->shape[i]);
    fputc(']', out);
}

void vkf_number_check_print(FILE *out, const vkf_number_check *check)
{
    vkf_print_on(out, "%14s %14s  what\n", "smallest", "largest");
    for (size_t i = 0; i < check->count; i++) {
        const vkf_number_range *range = &check->ranges[i];
        if (range->largest >= range->smallest)
            fprintf(out, "%14.6g %14.6g  ", range->smallest, range->largest);
        else
            vkf_print_on(out, "%14s %14s  ", "-", "-");
        vkf_print_on(out, "%s (%s)", range->name, range->kernel);
        print_note(out, "NaN", range->nan_count, range->count);
        print_note(out, "infinite", range->inf_count, range->count);
        print_note(out, "beyond what 16 bits hold", range->beyond_half_count, range->count);
        fputc('\n', out);
    }
    if (!check->found) {
        fprintf(out, "all numbers of %" PRIu64 " outputs are finite\n", check->outputs);
        return;
    }
    fprintf(out, "the first that is not finite: %g at ", (double)check->first_value);
    print_place(out, check);
    vkf_print_on(out, ", %s (%s), output %" PRIu64 " of the run\n", check->ranges[check->first].name,
                 check->ranges[check->first].kernel, check->first_run + 1);
}
