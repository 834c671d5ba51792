// The emitter that rounds activations to blocks, its operator's row, and how the host makes such a block.
#include "op/quantize_rows.h"

#include <assert.h>
#include <string.h>

#include "op/activation.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/blocks.h"
#include "shared/quantize_rows.h"

_Static_assert(VKF_QUANTIZE_ROWS_DEPTH == VKF_BLOCKS_DEPTH && VKF_QUANTIZE_ROWS_WORDS % 4 == 0,
               "blocks of activations and of weights are of one depth");

uint64_t vkf__quantized_words(uint64_t count)
{
    uint64_t blocks = count / VKF_QUANTIZE_ROWS_DEPTH;
    return blocks > UINT64_MAX / VKF_QUANTIZE_ROWS_WORDS ? UINT64_MAX : blocks * VKF_QUANTIZE_ROWS_WORDS;
}

void vkf__quantized_block(vkf_dtype weight, float scale, const int8_t q[32], uint32_t out_words[12])
{
    int32_t sum = 0;
    memset(out_words, 0, VKF_QUANTIZE_ROWS_WORDS * sizeof *out_words);
    for (uint32_t i = 0; i < VKF_QUANTIZE_ROWS_DEPTH; i++) {
        // For 4-bit weights the even elements of every eight come first, as they do when nibbles are masked.
        uint32_t at = weight == VKF_DTYPE_Q4 ? i / 8 * 8 + i % 2 * 4 + i % 8 / 2 : i;
        out_words[at / 4] |= (uint32_t)(uint8_t)q[i] << at % 4 * 8;
        sum += q[i];
    }
    const float head[] = {scale, scale * (float)sum};
    memcpy(out_words + VKF_QUANTIZE_ROWS_SCALE, head, sizeof head);
}

vkf_status vkf__emit_quantize_rows(vkf__work *work, const vkf__quantize_rows_args *args)
{
    struct vkf_quantize_rows_params params = {
        .m = args->m,
        .k = args->k,
        .batch_inner = args->batch_inner > 0 ? args->batch_inner : 1,
        .x_first = (uint32_t)args->first,
        .x_row = args->ld,
        .x_outer = args->outer,
        .x_inner = args->inner,
        .norm_eps = args->norm.eps,
    };
    vkf__gemm_vectors norm = {.all = {0}};
    bool joined = vkf__gemm_join_vectors(work, &args->norm, &(vkf__span){0}, &norm);
    assert(joined && !(args->gate.wanted && vkf__present(&args->norm.weight)));
    (void)joined;
    params.norm_weight_first = norm.norm_weight_first;
    params.norm_bias_first = norm.norm_bias_first;
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD] = args->weight == VKF_DTYPE_Q4,
        [VKF_QUANTIZE_ROWS_SPEC_NORM] = vkf__input_norm_flag(&args->norm),
        [VKF_QUANTIZE_ROWS_SPEC_GATE] = args->gate.wanted,
        [VKF_QUANTIZE_ROWS_SPEC_ACTIVATION] = vkf__activation_flag(args->gate.activation),
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_QUANTIZE_ROWS,
        .types = {args->x.dtype},
        .flags = flags,
        .bindings = {{args->x, false}, {args->out, true}, {norm.all, false}},
        .params = &params,
        .count = {args->batch, args->m, args->k / VKF_QUANTIZE_ROWS_RUN},
        .factors = 3,
        .normed = vkf__present(&args->norm.weight),
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_quantize_rows_params *p = dispatched->params;
    const double blocks = (double)p->count * VKF_QUANTIZE_ROWS_RUN / VKF_QUANTIZE_ROWS_DEPTH;
    const double elements = blocks * VKF_QUANTIZE_ROWS_DEPTH;
    const bool gated = dispatched->spec[VKF_QUANTIZE_ROWS_SPEC_GATE] != 0;
    return (vkf__account){
        .flops = (gated ? 8 : 4) * elements,
        .bytes_read = vkf__stored_bytes((gated ? 2 : 1) * elements, dispatched->kernel->types[0]),
        .bytes_written = 4 * blocks * VKF_QUANTIZE_ROWS_WORDS,
    };
}

static const vkf__typical_problem problems[] = {
    {.label = "any", .problem = {.m = 1u << 16}, .ahead = true},
    {.label = "normalised rows", .problem = {.m = 1u << 16, .normed = true}},
};

// It writes blocks of bytes, and so has no `output`.
const vkf__op_info vkf__op_quantize_rows = {
    .params_bytes = sizeof(struct vkf_quantize_rows_params),
    .account = account,
    VKF_OP_PROBLEMS(problems),
};
