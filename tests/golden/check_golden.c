// check_golden CASES RESULTS: compares what `vkformer eval` wrote with what PyTorch gave. Integers and the positions of
// NaN and infinity must agree exactly, other numbers within atol + rtol * |expected|.
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/json_file.h"
#include "io/safetensors.h"

enum { MAX_PATH = 4096, MAX_WHERE = 512, MAX_KIND = 64 };

typedef struct golden_check {
    vkf__host host;
    const char *cases_path;
    const char *results_path;
    double rtol, atol;
    bool zero;   // compare fully masked rows with expected_zero.safetensors
    bool floats; // leave out what is integer: token ids, which a coarser type may decide otherwise
    unsigned passed, failed;
    double worst_abs, worst_ratio; // ratio: error / tolerance
    char worst_at[MAX_WHERE];
    char kind[MAX_KIND]; // of the case at hand
} golden_check;

static void print_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    printf("  %s\n", text);
}

static bool same_shape(const vkf__stored_tensor *a, const vkf__stored_tensor *b)
{
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static bool fail_tensor(const golden_check *check, const char *case_name, const char *tensor, const char *what)
{
    printf("FAIL %s [%s] %s: %s\n", case_name, check->kind, tensor, what);
    return false;
}

// A tensor in memory.
static float load_float(const vkf__stored_tensor *tensor, uint64_t index)
{
    float value;
    memcpy(&value, tensor->data + index * sizeof value, sizeof value);
    return value;
}

// NaN where NaN is expected, and the same infinity where one is expected.
static bool same_special(float expected, float result)
{
    if (isnan(expected) || isnan(result))
        return isnan(expected) && isnan(result);
    if (isinf(expected) || isinf(result))
        return isinf(expected) && isinf(result) && signbit(expected) == signbit(result);
    return true;
}

static bool compare_floats(golden_check *check, const char *case_name, const vkf__stored_tensor *expected,
                           const vkf__stored_tensor *result)
{
    uint64_t outside = 0, special = 0, worst_index = 0;
    double worst_ratio = 0.0;
    for (uint64_t i = 0; i < expected->count; i++) {
        float e = load_float(expected, i), r = load_float(result, i);
        if (!same_special(e, r)) {
            special++;
            continue;
        }
        if (!isfinite(e))
            continue;
        double error = fabs((double)e - (double)r), tolerance = check->atol + check->rtol * fabs((double)e);
        double ratio = error > 0.0 ? error / tolerance : 0.0;
        outside += ratio > 1.0;
        if (ratio > worst_ratio) {
            worst_ratio = ratio;
            worst_index = i;
        }
        check->worst_abs = fmax(check->worst_abs, error);
    }
    if (worst_ratio > check->worst_ratio) {
        check->worst_ratio = worst_ratio;
        snprintf(check->worst_at, sizeof check->worst_at, "%s/%s", case_name, expected->name);
    }
    char text[256];
    if (special > 0) {
        snprintf(text, sizeof text, "NaN or infinity mismatch at %llu of %llu elements", (unsigned long long)special,
                 (unsigned long long)expected->count);
        return fail_tensor(check, case_name, expected->name, text);
    }
    if (outside > 0) {
        snprintf(text, sizeof text,
                 "%llu of %llu elements out of tolerance; worst at element %llu: got %.9g, expected %.9g",
                 (unsigned long long)outside, (unsigned long long)expected->count, (unsigned long long)worst_index,
                 (double)load_float(result, worst_index), (double)load_float(expected, worst_index));
        return fail_tensor(check, case_name, expected->name, text);
    }
    return true;
}

static bool compare_values(golden_check *check, const char *case_name, const vkf__stored_tensor *expected,
                           const vkf__stored_tensor *result)
{
    if (expected->type == VKF_STORED_F32)
        return compare_floats(check, case_name, expected, result);
    if (memcmp(expected->data, result->data, (size_t)expected->size_bytes) != 0)
        return fail_tensor(check, case_name, expected->name, "integers differ");
    return true;
}

static bool compare_tensor(golden_check *check, const char *case_name, const vkf__stored_tensor *expected,
                           const vkf__tensor_file *results)
{
    const vkf__stored_tensor *result = vkf__tensor_file_find(results, expected->name);
    if (!result)
        return fail_tensor(check, case_name, expected->name, "missing in the result");
    if (result->type != expected->type)
        return fail_tensor(check, case_name, expected->name, "has the wrong type");
    if (!same_shape(result, expected))
        return fail_tensor(check, case_name, expected->name, "has the wrong shape");
    if (expected->type != VKF_STORED_F32 && check->floats)
        return true;
    void *expected_bytes = malloc(expected->size_bytes + 1), *result_bytes = malloc(result->size_bytes + 1);
    vkf__stored_tensor in_memory[2];
    bool good = expected_bytes && result_bytes &&
                        vkf__stored_part(expected, 0, expected->count, expected_bytes, &in_memory[0]) == VKF_OK &&
                        vkf__stored_part(result, 0, result->count, result_bytes, &in_memory[1]) == VKF_OK
                    ? compare_values(check, case_name, &in_memory[0], &in_memory[1])
                    : fail_tensor(check, case_name, expected->name, "cannot be read");
    free(expected_bytes);
    free(result_bytes);
    return good;
}

static bool compare_files(golden_check *check, const char *case_name, const vkf__tensor_file *expected,
                          const vkf__tensor_file *results)
{
    bool good = vkf__tensor_file_count(expected) > 0;
    for (size_t i = 0; i < vkf__tensor_file_count(expected); i++)
        good = compare_tensor(check, case_name, vkf__tensor_file_at(expected, i), results) && good;
    for (size_t i = 0; i < vkf__tensor_file_count(results); i++) {
        const char *name = vkf__tensor_file_at(results, i)->name;
        if (!vkf__tensor_file_find(expected, name))
            good = fail_tensor(check, case_name, name, "is not expected");
    }
    return good;
}

static bool read_config(golden_check *check, const char *case_name, bool *out_fully_masked)
{
    char path[MAX_PATH];
    json_t *config = NULL;
    const char *kind = NULL;
    snprintf(path, sizeof path, "%s/%s/config.json", check->cases_path, case_name);
    bool good = vkf__json_load(&check->host, path, &config) == VKF_OK &&
                vkf__json_string(&check->host, path, config, "kind", &kind) == VKF_OK &&
                vkf__json_bool(&check->host, path, config, "fully_masked", out_fully_masked) == VKF_OK;
    snprintf(check->kind, sizeof check->kind, "%s", good ? kind : "?");
    json_decref(config);
    return good;
}

static bool check_case(golden_check *check, const char *case_name)
{
    char path[MAX_PATH];
    bool fully_masked = false;
    vkf__tensor_file *expected = NULL, *results = NULL;
    if (!read_config(check, case_name, &fully_masked))
        return fail_tensor(check, case_name, "config.json", "cannot be read");
    snprintf(path, sizeof path, "%s/%s/%s", check->cases_path, case_name,
             fully_masked && check->zero ? "expected_zero.safetensors" : "expected.safetensors");
    bool good = vkf__safetensors_open(&check->host, path, &expected) == VKF_OK;
    if (!good)
        fail_tensor(check, case_name, "expected", "cannot be read");
    snprintf(path, sizeof path, "%s/%s/out.safetensors", check->results_path, case_name);
    if (good && vkf__safetensors_open(&check->host, path, &results) != VKF_OK)
        good = fail_tensor(check, case_name, "result", "cannot be read");
    good = good && compare_files(check, case_name, expected, results);
    vkf__tensor_file_close(&results);
    vkf__tensor_file_close(&expected);
    return good;
}

static int is_case(const struct dirent *entry)
{
    return strncmp(entry->d_name, "case_", 5) == 0;
}

static bool check_all(golden_check *check)
{
    struct dirent **entries = NULL;
    int count = scandir(check->cases_path, &entries, is_case, alphasort);
    for (int i = 0; i < count; i++) {
        if (check_case(check, entries[i]->d_name))
            check->passed++;
        else
            check->failed++;
        free(entries[i]);
    }
    free(entries);
    if (count > 0)
        printf("%-18s worst abs %.3g  error/tolerance %.3g at %s\n", check->kind, check->worst_abs, check->worst_ratio,
               *check->worst_at ? check->worst_at : "-");
    else
        printf("no cases in %s\n", check->cases_path);
    printf("%u passed, %u failed\n", check->passed, check->failed);
    return count > 0 && check->failed == 0;
}

static bool parse_tolerance(const char *text, double *out_value)
{
    char *end = NULL;
    *out_value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out_value) && *out_value >= 0.0;
}

static bool parse_arguments(int argc, char **argv, golden_check *check)
{
    static const struct option options[] = {
        {"fully-masked", required_argument, NULL, 'f'},
        {"rtol", required_argument, NULL, 'r'},
        {"atol", required_argument, NULL, 'a'},
        {"floats", no_argument, NULL, 'i'},
        {0},
    };
    int option;
    bool good = true;
    while (good && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'f') {
            check->zero = strcmp(optarg, "zero") == 0;
            good = check->zero || strcmp(optarg, "nan") == 0;
        } else if (option == 'r') {
            good = parse_tolerance(optarg, &check->rtol);
        } else if (option == 'a') {
            good = parse_tolerance(optarg, &check->atol);
        } else if (option == 'i') {
            check->floats = true;
        } else {
            good = false;
        }
    }
    if (!good || argc - optind != 2)
        return false;
    check->cases_path = argv[optind];
    check->results_path = argv[optind + 1];
    return true;
}

int main(int argc, char **argv)
{
    golden_check check = {.rtol = 1e-4, .atol = 5e-5};
    if (!parse_arguments(argc, argv, &check)) {
        fprintf(stderr, "usage: check_golden CASES RESULTS [--fully-masked nan|zero] [--rtol R] [--atol A] "
                        "[--floats]\n");
        return 2;
    }
    if (vkf__host_init(&check.host, NULL, print_message, NULL, VKF_SEVERITY_WARNING) != VKF_OK)
        return 1;
    return check_all(&check) ? 0 : 1;
}
