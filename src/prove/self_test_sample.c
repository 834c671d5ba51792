// Edge shapes of sampling: lengths around the words of the seen bits, the workgroup's steps and the histogram's bins,
// with the thresholds on and off. No draw lies near the border between two tokens, where rounding decides.
#include "prove/self_test_bed.h"

#include <math.h>
#include <stdio.h>

#include "op/sample.h"
#include "reference/reference.h"

enum { ROWS = 3 };

// Every draw lies at least this far from a border, in probability.
#define MARGIN 1e-4

typedef struct sample_arrays {
    float *x;                       // (ROWS, cols)
    int32_t *results;               // out (ROWS), then seen (ROWS, words)
    double *probabilities, *sorted; // (cols)
} sample_arrays;

static vkf_status emit_sample(vkf__work *work, const void *args)
{
    return vkf__emit_sample(work, args);
}

static vkf__ref_sample_desc row_of(const vkf__sample_args *args, const sample_arrays *arrays, uint32_t row)
{
    uint32_t words = (args->cols + 31) / 32;
    return (vkf__ref_sample_desc){
        .cols = args->cols,
        .x = arrays->x + (size_t)row * args->cols,
        .seen = (const uint32_t *)arrays->results + ROWS + (size_t)row * words,
        .temperature = args->temperature,
        .top_k = args->top_k,
        .top_p = args->top_p,
        .min_p = args->min_p,
        .repetition_penalty = args->repetition_penalty,
        .seed = args->seed,
        .step = args->step,
    };
}

// Finds the first step at which no row's draw is near a border. False: there is none among the first hundred.
static bool find_step(vkf__sample_args *args, const sample_arrays *arrays, uint32_t out_tokens[ROWS])
{
    for (args->step = 0; args->step < 100; args->step++) {
        double least = 1;
        for (uint32_t row = 0; row < ROWS; row++) {
            const vkf__ref_sample_desc desc = row_of(args, arrays, row);
            double margin = 0;
            out_tokens[row] = vkf__ref_sample(&desc, row, arrays->probabilities, arrays->sorted, &margin);
            least = fmin(least, margin);
        }
        if (least > MARGIN)
            return true;
    }
    return false;
}

static vkf_status run_sample(vkf__bed *bed, vkf__sample_args *args, const sample_arrays *arrays)
{
    const uint32_t words = (args->cols + 31) / 32, results = ROWS * (1 + words);
    uint32_t tokens[ROWS];
    vkf__bed_clear(bed);
    args->x = vkf__bed_floats(bed, bed->variant->kernel->types[0], arrays->x, (size_t)ROWS * args->cols);
    // The output and the seen bits lie one after the other, so that both are compared, and restored between
    // repetitions.
    const vkf__span both = vkf__bed_ints(bed, arrays->results, results);
    args->out = vkf__span_part(&both, 0, ROWS);
    args->seen = vkf__span_part(&both, ROWS, (uint64_t)ROWS * words);
    if (!find_step(args, arrays, tokens))
        return VKF_OK;
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t *word = (uint32_t *)&arrays->results[ROWS + row * words + tokens[row] / 32];
        arrays->results[row] = (int32_t)tokens[row];
        *word |= 1u << (tokens[row] % 32);
    }
    vkf__bed_case c = {.emit = emit_sample, .args = args, .out = both, .expected = arrays->results};
    (void)snprintf(c.shape, sizeof c.shape, "(3, %u), temperature %g, top-k %u, top-p %g, min-p %g", args->cols,
                   (double)args->temperature, args->top_k, (double)args->top_p, (double)args->min_p);
    return vkf__bed_run(bed, &c);
}

static vkf_status check_sample(vkf__bed *bed, vkf__sample_args *args)
{
    const vkf__host *host = &bed->context->host;
    const uint32_t words = (args->cols + 31) / 32;
    sample_arrays arrays = {
        .x = vkf__bed_random_values(bed, (size_t)ROWS * args->cols),
        .results = vkf__alloc(host, ROWS * (1 + (size_t)words), sizeof(int32_t)),
        .probabilities = vkf__alloc(host, args->cols, sizeof(double)),
        .sorted = vkf__alloc(host, args->cols, sizeof(double)),
    };
    vkf_status status = VKF_OK;
    if (!arrays.x || !arrays.results || !arrays.probabilities || !arrays.sorted) {
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    } else {
        for (uint32_t i = 0; i < ROWS * words; i++)
            arrays.results[ROWS + i] = (int32_t)(0x12345678u * (i + 1));
        // In the first row all logits are equal, and no threshold may tell them apart.
        for (uint32_t col = 0; col < args->cols; col++)
            arrays.x[col] = 0.5f;
        // In the second row the last column is the most probable. It is read again where a row ends within a step of
        // the workgroup.
        arrays.x[2 * (size_t)args->cols - 1] = 4.0f;
        status = run_sample(bed, args, &arrays);
    }
    vkf__free(host, arrays.x);
    vkf__free(host, arrays.results);
    vkf__free(host, arrays.probabilities);
    vkf__free(host, arrays.sorted);
    return status;
}

vkf_status vkf__bed_sample(vkf__bed *bed)
{
    const uint32_t lengths[] = {1, 31, 33, 257, 8 * bed->variant->config->local_size + 5};
    vkf__sample_args settings[] = {
        {.temperature = 0, .top_p = 1},
        {.temperature = 0.7f, .top_p = 1},
        {.temperature = 1, .top_k = 5, .top_p = 0.8125f, .min_p = 0.05f},
        {.temperature = 8, .top_k = 5, .top_p = 1},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
            vkf__sample_args args = settings[k];
            args.label = "self-test";
            args.rows = ROWS;
            args.cols = lengths[i];
            args.out_stride = 1;
            args.repetition_penalty = 1.25f;
            args.seed = UINT64_C(0x0123456789abcdef);
            VKF_RETURN_IF_ERROR(check_sample(bed, &args));
        }
    return VKF_OK;
}
