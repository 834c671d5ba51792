// The rows of attention for training, of its gradients, and of the packing ahead of both.
#include "op/operators.h"
#include "op/train/attention_grad.h"
#include "op/train/attention_grad_cases.h"
#include "shared/attention_grad.h"

// Multiply-adds of one pair of a query and a key, in widths of heads and of values: scores, products with values where
// a gradient is taken through the softmax, and what is added to the sums.
static double pair_products(uint32_t gives, double width, double v_width)
{
    switch (gives) {
    case VKF_ATTENTION_GRAD_ROW_STATS:
        return width;
    case VKF_ATTENTION_GRAD_OUTPUT:
    case VKF_ATTENTION_GRAD_BIAS:
    case VKF_ATTENTION_GRAD_VALUE:
        return width + v_width;
    case VKF_ATTENTION_GRAD_KEY_AND_VALUE:
        return 2 * width + 2 * v_width;
    default:
        return 2 * width + v_width;
    }
}

// Elements of a row of what a pass gives.
static double out_elements(uint32_t gives, double width, double v_width)
{
    switch (gives) {
    case VKF_ATTENTION_GRAD_ROW_STATS:
        return 1;
    case VKF_ATTENTION_GRAD_OUTPUT:
        return v_width + 1;
    case VKF_ATTENTION_GRAD_VALUE:
        return v_width;
    case VKF_ATTENTION_GRAD_KEY_AND_VALUE:
        return width + v_width;
    default:
        return width;
    }
}

// Besides the products there are five operations on each score: scale, difference, exp(), difference and product. Each
// slice of the other rows has its part of the pairs, and reads its own rows again.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_attention_grad_params *p = dispatched->params;
    const uint32_t gives = dispatched->spec[VKF_ATTENTION_GRAD_SPEC_GIVES];
    const double width = dispatched->spec[VKF_ATTENTION_GRAD_SPEC_HEAD_DIM];
    const double v_width = dispatched->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM];
    const double heads = (double)p->key_heads * p->heads / p->kv_heads;
    const uint32_t causal = dispatched->spec[VKF_ATTENTION_GRAD_SPEC_CAUSAL];
    const double pairs_count =
        heads * vkf__visible_keys(p->q_len, p->k_len, causal, p->causal_offset, p->window) / p->slices;
    const double queries = heads * p->q_len, keys = (double)p->key_heads * p->k_len;
    const double own = vkf__attention_grad_owns_keys(gives) ? keys : queries,
                 other = vkf__attention_grad_owns_keys(gives) ? queries : keys;
    const double written = gives == VKF_ATTENTION_GRAD_BIAS ? (double)p->heads * p->q_len * p->mask_cols
                                                            : own * out_elements(gives, width, v_width);
    const double other_width = gives == VKF_ATTENTION_GRAD_ROW_STATS ? width : width + v_width;
    const double read = other / p->slices * other_width +
                        (vkf__attention_grad_trains(gives) ? own * width : own * other_width + 2 * queries);
    return (vkf__account){
        .flops = pairs_count * (2 * pair_products(gives, width, v_width) + 5),
        .bytes_read = vkf__stored_bytes(read, VKF_DTYPE_F32),
        .bytes_written = vkf__stored_bytes(written, VKF_DTYPE_F32),
    };
}

// For keys and values, the gradient of keys. Row stats lie among the rows. Only behind the last slice of the last
// part is anything complete.
static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_attention_grad_params *p = dispatched->params;
    const uint32_t gives = dispatched->spec[VKF_ATTENTION_GRAD_SPEC_GIVES];
    const bool value = gives == VKF_ATTENTION_GRAD_VALUE || gives == VKF_ATTENTION_GRAD_OUTPUT;
    *out_extent = (vkf__extent){
        .operand = VKF_ATTENTION_GRAD_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[0],
        .counts = {p->batch, vkf__attention_grad_owns_keys(gives) ? p->k_len : p->q_len,
                   vkf__attention_grad_owns_keys(gives) ? p->kv_heads : p->heads,
                   dispatched->spec[value ? VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM : VKF_ATTENTION_GRAD_SPEC_HEAD_DIM]},
        .strides = {p->out_batch, p->out_row, p->out_head, 1},
    };
    if (gives == VKF_ATTENTION_GRAD_BIAS) {
        out_extent->counts[0] = 1;
        out_extent->counts[3] = p->mask_cols;
    }
    return gives != VKF_ATTENTION_GRAD_ROW_STATS && p->slice + 1 == p->slices &&
           p->first_key_head + p->key_heads == p->batch * p->kv_heads;
}

// Moves the elements, and with deltas reads the output of attention, too.
static vkf__account pack_account(const vkf__dispatched *dispatched)
{
    const struct vkf_attention_grad_pack_params *p = dispatched->params;
    const bool with_deltas = dispatched->spec[VKF_ATTENTION_GRAD_PACK_SPEC_DELTAS] != 0;
    const double elements = (double)p->rows * p->width;
    vkf__account packed_rows =
        vkf__account_elementwise(elements, with_deltas ? 2 : 0, dispatched->kernel->types[0], VKF_DTYPE_F32);
    packed_rows.bytes_read *= with_deltas ? 2 : 1;
    return packed_rows;
}

static void flags_of(const vkf__kernel *kernel, uint32_t head_dim, uint32_t gives, uint32_t *out_flags)
{
    vkf__typical_flag_set(kernel, VKF_ATTENTION_GRAD_SPEC_HEAD_DIM, head_dim, out_flags);
    vkf__typical_flag_set(kernel, VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM, head_dim, out_flags);
    vkf__typical_flag_set(kernel, VKF_ATTENTION_GRAD_SPEC_GIVES, gives, out_flags);
}

// With dropout, which takes the most registers.
static void train_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    (void)config;
    flags_of(kernel, head_dim, VKF_ATTENTION_GRAD_OUTPUT, out_flags);
    vkf__typical_flag_set(kernel, VKF_ATTENTION_GRAD_SPEC_DROPOUT, 1, out_flags);
}

static void typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    (void)config;
    flags_of(kernel, head_dim, VKF_ATTENTION_GRAD_QUERY, out_flags);
}

static void pair_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    (void)config;
    flags_of(kernel, head_dim, VKF_ATTENTION_GRAD_KEY_AND_VALUE, out_flags);
}

static vkf_status emit_train(vkf__work *work, const void *args)
{
    return vkf__emit_attention_train(work, args);
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_attention_grad(work, args);
}

// No pipeline is made ahead: the width of a head is one of its constants, and only a layer tells it.
static const vkf__typical_problem problems[] = {
    {.label = "512 rows", .problem = {.m = 512, .n = 512, .k = 64}},
    {.label = "512 rows", .problem = {.m = 512, .n = 512, .k = 128}},
    {.label = "512 rows", .problem = {.m = 512, .n = 512, .k = 256}},
};
static const vkf__typical_problem pack_problems[] = {{.label = "any", .problem = {.m = 1u << 14, .n = 64}}};

const vkf__op_info vkf__op_attention_train = {
    .params_bytes = sizeof(struct vkf_attention_grad_params),
    .account = account,
    .output = output,
    .emit = emit_train,
    .reference = vkf__attention_train_reference,
    .cases = vkf__attention_grad_cases,
    VKF_OP_PROBLEMS(problems),
    .per_head_dim = true,
    .typical_flags = train_flags,
};

const vkf__op_info vkf__op_attention_grad = {
    .params_bytes = sizeof(struct vkf_attention_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = vkf__attention_grad_reference,
    .cases = vkf__attention_grad_cases,
    VKF_OP_PROBLEMS(problems),
    .per_head_dim = true,
    .typical_flags = typical_flags,
};

const vkf__op_info vkf__op_attention_grad_pair = {
    .params_bytes = sizeof(struct vkf_attention_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = vkf__attention_grad_reference,
    .cases = vkf__attention_grad_cases,
    VKF_OP_PROBLEMS(problems),
    .per_head_dim = true,
    .typical_flags = pair_flags,
};

const vkf__op_info vkf__op_attention_grad_pack = {
    .params_bytes = sizeof(struct vkf_attention_grad_pack_params),
    .account = pack_account,
    .emit = emit,
    .reference = vkf__attention_grad_pack_reference,
    .cases = vkf__attention_grad_cases,
    VKF_OP_PROBLEMS(pack_problems),
};
