// The emitter of matrix products of bytes, and its operator's row.
#include "op/gemm_int8.h"

#include <string.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "op/rows.h"
#include "shared/gemm_int8.h"

static uint64_t tiles_of(const vkf__gemm_int8_args *args, const vkf__variant *variant)
{
    const vkf__problem problem = {.m = args->m, .n = args->n, .batch = args->batch};
    return args->batch > 0 ? vkf__config_workgroups(variant->config, &problem) : 0;
}

vkf_status vkf__emit_gemm_int8(vkf__work *work, const vkf__gemm_int8_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_I8, args->d.dtype}; // signs are constants
    const vkf__problem problem = {.m = args->m, .n = args->n, .k = args->k, .batch = args->batch};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_GEMM_INT8, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_GEMM_INT8_SPEC_FLOAT] = args->d.dtype == VKF_DTYPE_F32,
        [VKF_GEMM_INT8_SPEC_TRANSPOSE_B] = args->transpose_b,
        [VKF_GEMM_INT8_SPEC_A_UNSIGNED] = args->a.dtype == VKF_DTYPE_U8,
        [VKF_GEMM_INT8_SPEC_B_UNSIGNED] = args->b.dtype == VKF_DTYPE_U8,
        [VKF_GEMM_INT8_SPEC_A_ZERO] = args->a_zero.present,
        [VKF_GEMM_INT8_SPEC_B_ZERO] = args->b_zero.present,
        [VKF_GEMM_INT8_SPEC_A_SCALE] = args->a_scale.present,
        [VKF_GEMM_INT8_SPEC_B_SCALE] = args->b_scale.present,
    };
    const struct vkf_gemm_int8_params params = {
        .m = args->m,
        .n = args->n,
        .k = args->k,
        .batch = args->batch,
        .b_batch = args->b_shared ? 0 : args->n * args->k,
        .a_zero_first = args->a_zero.first,
        .a_zero_step = args->a_zero.each,
        .b_zero_first = args->b_zero.first,
        .b_zero_step = args->b_zero.each,
        .a_scale_first = args->a_scale.first,
        .a_scale_step = args->a_scale.each,
        .b_scale_first = args->b_scale.first,
        .b_scale_step = args->b_scale.each,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->a, false}, {args->b, false}, {args->d, true}, {args->vectors, false}},
        .params = &params,
    };
    vkf__grid_flat(work, tiles_of(args, &variant), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_gemm_int8_params *p = dispatched->params;
    const double m = p->m, n = p->n, k = p->k, batch = p->batch;
    return (vkf__account){
        .flops = 2 * batch * m * n * k,
        .bytes_read = batch * m * k + (p->b_batch > 0 ? batch : 1) * n * k,
        .bytes_written = 4 * batch * m * n,
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_gemm_int8_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_GEMM_INT8_BINDING_D, dispatched->kernel->types[1], p->batch * p->m, p->n, p->n);
    return dispatched->kernel->types[1] == VKF_DTYPE_F32;
}

static const vkf__typical_problem problems[] = {
    {.label = "bytes", .problem = {.m = 512, .n = 768, .k = 768}},
    {.label = "a row of bytes", .problem = {.m = 1, .n = 768, .k = 768}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm_int8(work, args);
}

// A byte as the constants say, whatever the operand's type is.
static int64_t load_byte(const vkf__execution *e, uint32_t binding, uint64_t index, uint32_t is_unsigned)
{
    const uint8_t byte = (uint8_t)(int32_t)vkf__load(e, binding, index);
    return is_unsigned ? byte : (int8_t)byte;
}

static int64_t load_zero(const vkf__execution *e, uint32_t spec, uint32_t first, uint32_t step, uint32_t index)
{
    const uint64_t at = first + (uint64_t)step * index;
    return e->spec[spec] ? (int32_t)vkf__load_word(e, VKF_GEMM_INT8_BINDING_VECTORS, at) : 0;
}

static double load_scale(const vkf__execution *e, uint32_t spec, uint32_t first, uint32_t step, uint32_t index)
{
    float scale = 1;
    const uint32_t word = vkf__load_word(e, VKF_GEMM_INT8_BINDING_VECTORS, first + (uint64_t)step * index);
    if (e->spec[spec])
        memcpy(&scale, &word, sizeof scale);
    return (double)scale;
}

static int32_t sum_of(const vkf__execution *e, uint32_t entry, uint32_t row, uint32_t col)
{
    const struct vkf_gemm_int8_params *p = e->params;
    const bool transposed = e->spec[VKF_GEMM_INT8_SPEC_TRANSPOSE_B];
    const int64_t a_zero = load_zero(e, VKF_GEMM_INT8_SPEC_A_ZERO, p->a_zero_first, p->a_zero_step, row);
    const int64_t b_zero = load_zero(e, VKF_GEMM_INT8_SPEC_B_ZERO, p->b_zero_first, p->b_zero_step, col);
    const uint64_t a = ((uint64_t)entry * p->m + row) * p->k, b = (uint64_t)entry * p->b_batch;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p->k; i++)
        sum +=
            (uint64_t)((load_byte(e, VKF_GEMM_INT8_BINDING_A, a + i, e->spec[VKF_GEMM_INT8_SPEC_A_UNSIGNED]) - a_zero) *
                       (load_byte(e, VKF_GEMM_INT8_BINDING_B,
                                  b + (transposed ? col * (uint64_t)p->k + i : i * p->n + col),
                                  e->spec[VKF_GEMM_INT8_SPEC_B_UNSIGNED]) -
                        b_zero));
    return (int32_t)(uint32_t)sum;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_gemm_int8_params *p = e->params;
    uint64_t at = 0;
    for (uint32_t entry = 0; entry < p->batch; entry++)
        for (uint32_t row = 0; row < p->m; row++)
            for (uint32_t col = 0; col < p->n; col++, at++) {
                const int32_t sum = sum_of(e, entry, row, col);
                const double a = load_scale(e, VKF_GEMM_INT8_SPEC_A_SCALE, p->a_scale_first, p->a_scale_step, row);
                const double b = load_scale(e, VKF_GEMM_INT8_SPEC_B_SCALE, p->b_scale_first, p->b_scale_step, col);
                if (e->spec[VKF_GEMM_INT8_SPEC_FLOAT])
                    vkf__store(e, VKF_GEMM_INT8_BINDING_D, at, sum * (a * b));
                else
                    vkf__store_word(e, VKF_GEMM_INT8_BINDING_D, at, (uint32_t)sum);
            }
    return VKF_OK;
}

typedef struct int8_shape {
    uint32_t batch, m, n, k;
    bool shared, transposed, a_unsigned, b_unsigned;
    uint32_t present; // a bit for each vector
    uint32_t each;    // the same
} int8_shape;

static vkf__span make_bytes(vkf__cases *c, vkf_dtype dtype, uint64_t count)
{
    vkf__span span = vkf__case_floats(c, dtype, count);
    uint8_t *bytes = vkf__case_bytes(c, &span);
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)vkf__case_bits(c);
    return span;
}

// Zeros first and scales behind them, with words between that are none of them.
static void make_vectors(vkf__cases *c, const int8_shape *s, bool floats, vkf__gemm_int8_args *args)
{
    vkf__int8_vector *vectors[] = {&args->a_zero, &args->b_zero, &args->a_scale, &args->b_scale};
    static const uint32_t specs[] = {VKF_GEMM_INT8_SPEC_A_ZERO, VKF_GEMM_INT8_SPEC_B_ZERO, VKF_GEMM_INT8_SPEC_A_SCALE,
                                     VKF_GEMM_INT8_SPEC_B_SCALE};
    uint32_t words = 1;
    for (uint32_t i = 0; i < 4; i++) {
        const bool wanted = vkf__case_constant(c, specs[i], vkf__case_flip(c, s->present >> i & 1));
        vectors[i]->present = wanted && (i < 2 || floats);
        vectors[i]->each = vkf__case_flip(c, s->each >> i & 1);
        vectors[i]->first = words;
        words += (vectors[i]->each ? (i % 2 == 0 ? args->m : args->n) : 1) + 1;
    }
    args->vectors = vkf__case_ints(c, -255, 256, words);
    int32_t *values = vkf__case_bytes(c, &args->vectors);
    for (uint32_t i = 2; i < 4; i++)
        for (uint32_t j = vectors[i]->first; j < (i < 3 ? vectors[3]->first : words); j++) {
            const float scale = 0.25f + vkf__case_factor(c, 1) * vkf__case_factor(c, 0.5f);
            memcpy(&values[j], &scale, sizeof scale);
        }
}

static vkf_status run_shape(vkf__cases *c, const int8_shape *s)
{
    const vkf_dtype *types = c->variant->kernel->types;
    const bool floats = types[1] == VKF_DTYPE_F32;
    vkf__gemm_int8_args args = {
        .label = "gemm_int8",
        .m = vkf__case_size(c, s->m, 90),
        .n = vkf__case_size(c, s->n, 90),
        .k = vkf__case_size(c, s->k, 200),
        .batch = vkf__case_size(c, s->batch, 3),
        .b_shared = vkf__case_flip(c, s->shared),
        .transpose_b = vkf__case_constant(c, VKF_GEMM_INT8_SPEC_TRANSPOSE_B, vkf__case_flip(c, s->transposed)),
    };
    const bool a_unsigned = vkf__case_constant(c, VKF_GEMM_INT8_SPEC_A_UNSIGNED, vkf__case_flip(c, s->a_unsigned));
    const bool b_unsigned = vkf__case_constant(c, VKF_GEMM_INT8_SPEC_B_UNSIGNED, vkf__case_flip(c, s->b_unsigned));
    args.a = make_bytes(c, a_unsigned ? VKF_DTYPE_U8 : VKF_DTYPE_I8, (uint64_t)args.batch * args.m * args.k);
    args.b = make_bytes(c, b_unsigned ? VKF_DTYPE_U8 : VKF_DTYPE_I8,
                        (args.b_shared ? 1 : (uint64_t)args.batch) * args.n * args.k);
    make_vectors(c, s, floats, &args);
    const uint64_t count = (uint64_t)args.batch * args.m * args.n;
    args.d = floats ? vkf__case_floats(c, VKF_DTYPE_F32, count) : vkf__case_ints(c, -9, 9, count);
    return vkf__case_run(c, &args, floats ? 1e-6 : 0,
                         "(%u, %u, %u) by (%u, %u)%s, unsigned %d %d, zeros %d %d, scales %d %d", args.batch, args.m,
                         args.k, args.k, args.n, args.transpose_b ? " transposed" : "", a_unsigned, b_unsigned,
                         args.a_zero.present, args.b_zero.present, args.a_scale.present, args.b_scale.present);
}

static vkf_status cases(vkf__cases *c)
{
    const uint32_t tile = c->variant->config->tile.gemm.m;
    const int8_shape shapes[] = {
        {2, 7, 13, 31, false, true, true, true, 0xf, 0xf},
        {2, tile - 1, tile + 1, 33, true, false, true, false, 0xf, 0x0},
        {1, tile, tile, 64, false, true, false, false, 0x1, 0x1},
        {1, tile + 1, 2 * tile + 3, 97, true, false, false, true, 0xe, 0x6},
        {3, 1, 1, 1, false, false, false, false, 0x0, 0x0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(run_shape(c, &shapes[i]));
    return VKF_OK;
}

const vkf__op_info vkf__op_gemm_int8 = {
    .params_bytes = sizeof(struct vkf_gemm_int8_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};
