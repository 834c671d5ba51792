// Edge shapes of rounding rows to blocks: one block and many, rows that begin anywhere, blocks of zeros, and blocks
// with a NaN or an infinity; and rows that are normalised first.
#include "prove/self_test_bed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/quantize_rows.h"
#include "shared/quantize_rows.h"

#define DEPTH VKF_QUANTIZE_ROWS_DEPTH
#define WORDS VKF_QUANTIZE_ROWS_WORDS
#define MAX_BLOCKS 64u
#define UNTOUCHED 0x5a5a

// An RMSNorm whose weights are 1 changes nothing of a block but its scale. The device's root may be off by a few units
// in the last place.
#define NORM_EPS 0.5f
#define NORM_TOLERANCE 1e-8

typedef struct quantize_values {
    float x[2 * MAX_BLOCKS * DEPTH]; // including what lies between rows
    int32_t words[MAX_BLOCKS * WORDS];
    int32_t before[MAX_BLOCKS * WORDS];
    float norm[MAX_BLOCKS * DEPTH];
} quantize_values;

static vkf_status emit_quantize(vkf__work *work, const void *args)
{
    return vkf__emit_quantize_rows(work, args);
}

// Makes a block whose largest magnitude is 127 times a power of two, so that it is exact in every type. Some blocks are
// zeros instead, and some hold a NaN or an infinity unless the rows are normalised.
static void make_block(vkf__bed *bed, vkf_dtype weight, uint32_t number, bool normed, float *x, int32_t *out_words)
{
    float scale = number % 2 == 0 ? 0.125f : 0.5f;
    int8_t q[DEPTH] = {0};
    uint32_t words[WORDS];
    for (uint32_t i = 0; i < DEPTH; i++) {
        q[i] = (int8_t)(vkf__bed_random(bed) * 64);
        x[i] = scale * (float)q[i];
    }
    q[number % DEPTH] = number % 3 == 0 ? -127 : 127;
    x[number % DEPTH] = scale * (float)q[number % DEPTH];
    bool zero = number % 7 == 3, broken = number % 7 == 5 && !normed;
    if (zero || broken) {
        memset(q, 0, sizeof q);
        scale = zero ? 0 : NAN;
    }
    for (uint32_t i = 0; zero && i < DEPTH; i++)
        x[i] = 0;
    if (broken)
        x[number % DEPTH] = number % 2 == 0 ? NAN : -INFINITY;
    vkf__quantized_block(weight, scale, q, words);
    memcpy(out_words, words, sizeof words);
    for (uint32_t i = VKF_QUANTIZE_ROWS_SUM + 1; i < WORDS; i++)
        out_words[i] = UNTOUCHED;
}

// Brings the scales of a row's blocks to what they are after the norm.
static void normalise_row(const float *x, uint32_t k, int32_t *words)
{
    double squares = 0;
    for (uint32_t i = 0; i < k; i++)
        squares += (double)x[i] * x[i];
    const double factor = 1 / sqrt(squares / k + (double)NORM_EPS);
    for (uint32_t i = 0; i < 2 * (k / DEPTH); i++) {
        int32_t *word = words + i / 2 * WORDS + VKF_QUANTIZE_ROWS_SCALE + i % 2;
        float head;
        memcpy(&head, word, sizeof head);
        head = (float)(head * factor);
        memcpy(word, &head, sizeof head);
    }
}

// Lays out rows of k elements, with a few more between them.
static void lay_out(vkf__bed *bed, vkf_dtype weight, bool normed, vkf__quantize_rows_args *args, quantize_values *v)
{
    const uint32_t rows = args->batch * args->m, blocks = args->k / DEPTH;
    for (uint32_t i = 0; i < rows * blocks; i++) {
        make_block(bed, weight, i, normed, v->x + (size_t)(i / blocks) * args->ld + (size_t)(i % blocks) * DEPTH,
                   v->words + (size_t)i * WORDS);
        for (uint32_t word = 0; word < WORDS; word++)
            v->before[i * WORDS + word] = UNTOUCHED;
    }
    for (uint32_t i = 0; normed && i < rows; i++)
        normalise_row(v->x + (size_t)i * args->ld, args->k, v->words + (size_t)i * blocks * WORDS);
    for (uint32_t i = 0; i < args->k; i++)
        v->norm[i] = 1;
    vkf__bed_clear(bed);
    if (normed)
        args->norm =
            (vkf__input_norm){.weight = vkf__bed_floats(bed, VKF_DTYPE_F32, v->norm, args->k), .eps = NORM_EPS};
    args->x = vkf__bed_floats(bed, bed->variant->kernel->types[0], v->x, (size_t)rows * args->ld);
    args->out = vkf__bed_ints(bed, v->before, (size_t)rows * blocks * WORDS);
}

static vkf_status check(vkf__bed *bed, vkf_dtype weight, bool normed, const uint32_t shape[4])
{
    vkf_status status = VKF_OK;
    quantize_values *v = NULL;
    const uint32_t ld = shape[2] + shape[3];
    vkf__quantize_rows_args args = {.label = "self-test",
                                    .weight = weight,
                                    .batch = shape[0],
                                    .m = shape[1],
                                    .k = shape[2],
                                    .ld = ld,
                                    .outer = shape[1] * ld};
    VKF_ALLOC(&bed->context->host, v, 1);
    lay_out(bed, weight, normed, &args, v);
    vkf__bed_case c = {.emit = emit_quantize,
                       .args = &args,
                       .out = args.out,
                       .expected = v->words,
                       .tolerance = normed ? NORM_TOLERANCE : 0};
    (void)snprintf(c.shape, sizeof c.shape, "(%u, %u, %u) with rows of %u for %s%s", shape[0], shape[1], shape[2], ld,
                   vkf_dtype_name(weight), normed ? ", normalised" : "");
    VKF_TRY(vkf__bed_run(bed, &c));
fail:
    vkf__free(&bed->context->host, v);
    return status;
}

vkf_status vkf__bed_quantize_rows(vkf__bed *bed)
{
    // Entries of a batch, rows, elements of a row, and elements between rows.
    static const uint32_t shapes[][4] = {{1, 1, DEPTH, 0}, {1, 3, 3 * DEPTH, 1}, {2, 7, 4 * DEPTH, 4}};
    for (size_t i = 0; i < 4 * sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, i % 2 == 0 ? VKF_DTYPE_Q8 : VKF_DTYPE_Q4, i / 2 % 2 == 1, shapes[i / 4]));
    return VKF_OK;
}
