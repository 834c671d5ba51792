// Edge shapes of the operators of beam search: the most probable tokens of rows whose lengths lie around the words of
// the seen bits and the workgroup's steps, and rows that change places in chains and cycles.
#include "prove/self_test_bed.h"

#include <stdio.h>
#include <string.h>

#include "op/reorder.h"
#include "op/top.h"
#include "reference/reference.h"

enum { TOP_ROWS = 3, TOP_K = 9 };

static vkf_status emit_top(vkf__work *work, const void *args)
{
    return vkf__emit_top(work, args);
}

static vkf_status run_top(vkf__bed *bed, vkf__top_args *args, const float *x, int32_t *seen)
{
    float expected[TOP_ROWS * TOP_K * 2];
    const uint32_t words = (args->cols + 31) / 32;
    vkf__bed_clear(bed);
    for (uint32_t i = 0; i < TOP_ROWS * words; i++)
        seen[i] = (int32_t)(0x12345678u * (i + 1));
    memset(expected, 0, sizeof expected);
    args->x = vkf__bed_floats(bed, VKF_DTYPE_F32, x, (size_t)TOP_ROWS * args->cols);
    args->seen = vkf__bed_ints(bed, seen, (size_t)TOP_ROWS * words);
    args->out = vkf__bed_floats(bed, VKF_DTYPE_F32, expected, (size_t)TOP_ROWS * args->k * 2);
    for (uint32_t row = 0; row < TOP_ROWS; row++)
        vkf__ref_top(args->cols, x + (size_t)row * args->cols, (const uint32_t *)seen + (size_t)row * words,
                     args->repetition_penalty, args->k, expected + (size_t)row * args->k * 2);
    // Ids are so small that the tolerance tells them apart.
    vkf__bed_case c = {.emit = emit_top, .args = args, .out = args->out, .expected = expected, .tolerance = 2e-5};
    (void)snprintf(c.shape, sizeof c.shape, "the first %u of (3, %u)", args->k, args->cols);
    return vkf__bed_run(bed, &c);
}

vkf_status vkf__bed_top(vkf__bed *bed)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &bed->context->host;
    const uint32_t lengths[] = {1, 31, 33, 257, 8 * bed->variant->config->local_size + 5};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && status == VKF_OK; i++) {
        vkf__top_args args = {
            .label = "self-test",
            .rows = TOP_ROWS,
            .cols = lengths[i],
            .k = lengths[i] < TOP_K ? lengths[i] : TOP_K,
            .repetition_penalty = 1.25f,
        };
        float *x = vkf__bed_random_values(bed, (size_t)TOP_ROWS * args.cols);
        int32_t *seen = vkf__alloc(host, TOP_ROWS * (((size_t)args.cols + 31) / 32), sizeof *seen);
        status = x && seen ? run_top(bed, &args, x, seen)
                           : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
        vkf__free(host, x);
        vkf__free(host, seen);
    }
    return status;
}

static vkf_status emit_reorder(vkf__work *work, const void *args)
{
    return vkf__emit_reorder(work, args);
}

vkf_status vkf__bed_reorder(vkf__bed *bed)
{
    enum { ROWS = 7, WORDS = 151, FIRST = 3, MOVED = 145 };
    // A cycle of three that a fourth row reads, too; a chain; and a row that stays.
    static const uint32_t sources[ROWS] = {2, 0, 1, 1, 6, 4, 6};
    uint32_t readers[ROWS];
    int32_t x[ROWS * WORDS], expected[ROWS * WORDS], moves[2 * (ROWS + ROWS / 2)];
    for (uint32_t i = 0; i < ROWS * WORDS; i++)
        x[i] = expected[i] = (int32_t)(0x9e3779b9u * (i + 1));
    for (uint32_t row = 0; row < ROWS; row++)
        memcpy(expected + row * WORDS + FIRST, x + sources[row] * WORDS + FIRST, MOVED * sizeof x[0]);
    vkf__reorder_args args = {.label = "self-test", .row_words = WORDS, .first = FIRST, .count = MOVED};
    args.move_count = vkf__reorder_moves(sources, ROWS, readers, moves);
    vkf__bed_clear(bed);
    args.x = vkf__bed_ints(bed, x, ROWS * WORDS);
    args.moves = vkf__bed_ints(bed, moves, 2 * (size_t)args.move_count);
    vkf__bed_case c = {.emit = emit_reorder, .args = &args, .out = args.x, .expected = expected};
    (void)snprintf(c.shape, sizeof c.shape, "145 of 151 words of 7 rows");
    return vkf__bed_run(bed, &c);
}
