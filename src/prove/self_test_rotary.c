// Edge shapes of rotary embedding: heads around the workgroup's size, of an odd number of elements, rotated in part, in
// rows that lie apart, and with every type of weight.
#include "prove/self_test_bed.h"

#include <stdio.h>

#include "op/rotary.h"
#include "reference/reference.h"

enum { BATCH = 2, LEN = 3, HEADS = 2, FIRST = 5 };

typedef struct rotary_shape {
    uint32_t head_dim, rotary_dim;
    bool table, weight;
    vkf_dtype weight_type;
    bool inverse;
} rotary_shape;

typedef struct rotary_arrays {
    float *x, *out; // (BATCH, LEN, row)
    float *table;   // (FIRST + LEN, rotary_dim)
    float *weight;  // (head_dim)
} rotary_arrays;

static vkf_status emit_rotary(vkf__work *work, const void *args)
{
    return vkf__emit_rotary(work, args);
}

// Two elements lie between the heads of one position and those of the next. One lies before them all in x, two in out.
static vkf_status run_shape(vkf__bed *bed, const rotary_shape *s, const rotary_arrays *arrays)
{
    const vkf_dtype *types = bed->variant->kernel->types;
    uint32_t row = HEADS * s->head_dim + 2;
    size_t count = (size_t)BATCH * LEN * row;
    vkf__bed_clear(bed);
    vkf__rotary_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, types[0], arrays->x, count),
        .out = vkf__bed_floats(bed, types[1], arrays->out, count),
        .batch = BATCH,
        .len = LEN,
        .k_heads = HEADS,
        .head_dim = s->head_dim,
        .rotary_dim = s->rotary_dim,
        .first_position = FIRST,
        .x_first = 1,
        .x_batch = LEN * row,
        .x_row = row,
        .k_first = 2,
        .out_batch = LEN * row,
        .out_row = row,
        .eps = 1e-5f,
        .inverse = s->inverse,
    };
    if (s->table)
        args.table = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->table, (size_t)(FIRST + LEN) * s->rotary_dim);
    if (s->weight)
        args.weight = vkf__bed_floats(bed, s->weight_type, arrays->weight, s->head_dim);
    vkf__ref_rotary(&(vkf__ref_rotary_desc){BATCH, LEN, HEADS, s->head_dim, s->rotary_dim, FIRST, arrays->x,
                                            s->table ? arrays->table : NULL, s->weight ? arrays->weight : NULL, 1,
                                            args.x_batch, row, 2, args.out_batch, row, args.eps, arrays->out,
                                            s->inverse});
    vkf__bed_case c = {.emit = emit_rotary,
                       .args = &args,
                       .out = args.out,
                       .expected = arrays->out,
                       .tolerance = vkf__bed_close(types[1])};
    (void)snprintf(c.shape, sizeof c.shape, "(2, 3, 2, %u), %u turned%s%s%s", s->head_dim, s->table ? s->rotary_dim : 0,
                   s->inverse ? " back" : "", s->weight ? ", normalised, weight " : "",
                   s->weight ? vkf_dtype_name(s->weight_type) : "");
    return vkf__bed_run(bed, &c);
}

static vkf_status check_shape(vkf__bed *bed, const rotary_shape *s)
{
    const vkf__host *host = &bed->context->host;
    size_t count = (size_t)BATCH * LEN * (HEADS * s->head_dim + 2);
    rotary_arrays arrays = {
        .x = vkf__bed_random_values(bed, count),
        .out = vkf__bed_random_values(bed, count),
        .table = vkf__bed_random_values(bed, (size_t)(FIRST + LEN) * (s->rotary_dim + 1)),
        .weight = vkf__bed_random_values(bed, s->head_dim),
    };
    vkf_status status = arrays.x && arrays.out && arrays.table && arrays.weight
                            ? run_shape(bed, s, &arrays)
                            : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    vkf__free(host, arrays.x);
    vkf__free(host, arrays.out);
    vkf__free(host, arrays.table);
    vkf__free(host, arrays.weight);
    return status;
}

vkf_status vkf__bed_rotary(vkf__bed *bed)
{
    uint32_t size = bed->variant->config->local_size;
    const rotary_shape shapes[] = {
        {64, 64, true, false, VKF_DTYPE_F32, false},
        {13, 6, true, false, VKF_DTYPE_F32, false},
        {2 * size + 3, 2 * size, true, true, VKF_DTYPE_F32, false},
        {size - 1, 2, true, true, VKF_DTYPE_F16, false},
        {3 * size + 7, 10, true, true, VKF_DTYPE_BF16, false},
        {13, 0, false, true, VKF_DTYPE_F32, false},
        {13, 6, true, false, VKF_DTYPE_F32, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check_shape(bed, &shapes[i]));
    return VKF_OK;
}
