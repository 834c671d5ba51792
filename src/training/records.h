// What can be recorded on a tape: the operators that Transformers are made of, each with its gradients.
#ifndef VKF_TRAINING_RECORDS_H
#define VKF_TRAINING_RECORDS_H

#include <vkformer/model.h>

#include "op/attention.h"
#include "training/tape.h"

// Words by their ids: scale * table[id] + position. An id that is none of the table's gives its position alone.
typedef struct vkf__token_embedding {
    const char *label;
    vkf__value table;          // (vocab, dim)
    vkf__value positions;      // learned, optional, (position_rows, dim)
    vkf__span fixed_positions; // or given, optional, (len, dim) f32
    // i32, (batch, len), compact. From element position_ids on come the rows of positions, laid out as the ids are.
    // 0: positions count, learned ones from row first_position on.
    vkf__span ids;
    // i32, (3 * tokens + 1): what vkf__id_order() makes of the ids, and of the rows of learned positions. Not read
    // where nobody asks for the gradient.
    vkf__span lists, position_lists;
    uint32_t batch, len, vocab, position_rows, first_position, position_ids;
    uint32_t unique, unique_positions; // what vkf__id_order() returned; to plan, the largest numbers possible
    float scale;
} vkf__token_embedding;
// The result is (batch * len, dim).
VKF_MUST_CHECK vkf_status vkf__record_embedding(vkf__tape *tape, const vkf__token_embedding *tokens,
                                                vkf__value *out_value);

// torch.nn.Linear: x (rows, in) weight^T + bias; weight (out, in), bias optional, (1, out).
typedef struct vkf__linear_values {
    vkf__value weight, bias;
} vkf__linear_values;
VKF_MUST_CHECK vkf_status vkf__record_linear(vkf__tape *tape, const char *label, vkf__value x,
                                             const vkf__linear_values *linear, vkf__value *out_value);

// factor * a b^T: a (m, k), b (n, k).
VKF_MUST_CHECK vkf_status vkf__record_product(vkf__tape *tape, const char *label, vkf__value a, vkf__value b,
                                              float factor, vkf__value *out_value);

// Layer and RMS normalisation of rows; weight and bias optional, (1, dim).
typedef struct vkf__norm_values {
    vkf__value weight, bias;
    float eps;
    bool rms;
} vkf__norm_values;
VKF_MUST_CHECK vkf_status vkf__record_norm(vkf__tape *tape, const char *label, vkf__value x,
                                           const vkf__norm_values *norm, vkf__value *out_value);

VKF_MUST_CHECK vkf_status vkf__record_activation(vkf__tape *tape, const char *label, vkf__value x,
                                                 vkf_activation activation, vkf__value *out_value);
// activation(x[:, :dim]) * x[:, dim:] of x (rows, 2 dim).
VKF_MUST_CHECK vkf_status vkf__record_gate(vkf__tape *tape, const char *label, vkf__value x, vkf_activation activation,
                                           vkf__value *out_value);
VKF_MUST_CHECK vkf_status vkf__record_sum(vkf__tape *tape, const char *label, vkf__value a, vkf__value b,
                                          vkf__value *out_value);

// What is dropped, see op/train/dropout.h. p is 0 in all runs of a work or in none.
typedef struct vkf__dropout_state {
    float p;
    uint64_t seed;
    uint32_t stream, step;
} vkf__dropout_state;
// With p 0 that is x itself, without a dispatch.
VKF_MUST_CHECK vkf_status vkf__record_dropout(vkf__tape *tape, const char *label, vkf__value x,
                                              const vkf__dropout_state *dropout, vkf__value *out_value);
// a + dropout(b), in one dispatch.
VKF_MUST_CHECK vkf_status vkf__record_residual(vkf__tape *tape, const char *label, vkf__value a, vkf__value b,
                                               const vkf__dropout_state *dropout, vkf__value *out_value);

// Rotary embedding of heads side by side in the rows of x (batch * len, heads * head_dim). Positions count from 0.
// `rotary` is (positions, rotary_dim) f32, see op/rotary.h.
VKF_MUST_CHECK vkf_status vkf__record_rotary(vkf__tape *tape, const char *label, vkf__value x, const vkf__span *rotary,
                                             uint32_t rotary_dim, uint32_t batch, uint32_t len, uint32_t heads,
                                             uint32_t head_dim, vkf__value *out_value);
// One row of each `len` of x (batch * len, dim). `lengths` is i32, (batch); absent: all of them are len.
VKF_MUST_CHECK vkf_status vkf__record_pool(vkf__tape *tape, const char *label, vkf__value x, const vkf__span *lengths,
                                           vkf_pooling pooling, uint32_t batch, uint32_t len, vkf__value *out_value);

// Copies of a part of x: its columns or rows from `first` on.
VKF_MUST_CHECK vkf_status vkf__record_columns(vkf__tape *tape, const char *label, vkf__value x, uint32_t first,
                                              uint32_t cols, vkf__value *out_value);
VKF_MUST_CHECK vkf_status vkf__record_rows(vkf__tape *tape, const char *label, vkf__value x, uint32_t first,
                                           uint32_t rows, vkf__value *out_value);

// x itself with its elements in rows of another width.
VKF_MUST_CHECK vkf_status vkf__record_view(vkf__tape *tape, vkf__value x, uint32_t rows, uint32_t cols,
                                           vkf__value *out_value);
// The rows of a, each with that of b behind it.
VKF_MUST_CHECK vkf_status vkf__record_join(vkf__tape *tape, const char *label, vkf__value a, vkf__value b,
                                           vkf__value *out_value);

// x (batch * len, width) with rows behind each batch entry's: `row` (1, width) where it is not absent, and then
// `zeros` rows of zeros.
typedef struct vkf__extra_rows {
    uint32_t batch, len;
    vkf__value row;
    uint32_t zeros;
} vkf__extra_rows;
VKF_MUST_CHECK vkf_status vkf__record_extra_rows(vkf__tape *tape, const char *label, vkf__value x,
                                                 const vkf__extra_rows *extra, vkf__value *out_value);

// What is added to the scores of every batch entry: for query l, head h and key s it is element
// first + l * row + h * head + s of a value. Absent with value 0.
typedef struct vkf__score_bias {
    vkf__value value;
    uint32_t first, row, head;
} vkf__score_bias;

// Rows of a learned table by the distance from query to key.
typedef struct vkf__distance_bias {
    vkf__value table; // (vocab, heads)
    // As in vkf__token_embedding, of the distances 1 - len .. len - 1 for the largest `len`, in every run.
    vkf__span ids, lists;
    uint32_t len, vocab, unique;
} vkf__distance_bias;
VKF_MUST_CHECK vkf_status vkf__record_distance_bias(vkf__tape *tape, const char *label, const vkf__distance_bias *bias,
                                                    vkf__score_bias *out_bias);

// Queries, keys and values: heads side by side in the rows of q (batch * q_len, ..), k (batch * k_len, ..) and v, from
// a column on. They may be columns of one value, which are then all columns that it has. A bias takes the mask's place.
typedef struct vkf__attention_values {
    vkf__value q, k, v;
    uint32_t q_first, k_first, v_first;
    vkf__score_bias bias;
} vkf__attention_values;
// Fused attention. Of `args` label, sizes, masks and scale count; the operands are set here. `dropout`, which may be
// NULL, is of the weights.
VKF_MUST_CHECK vkf_status vkf__record_attention(vkf__tape *tape, const vkf__attention_args *args,
                                                const vkf__dropout_state *dropout, const vkf__attention_values *values,
                                                vkf__value *out_value);

// The losses of rows of logits, (rows, 1), at the root of a tape: vkf__tape_back() goes back from the gradient of
// factor * (their sum). It takes the logits' place, unless they are a leaf with one of its own; so nothing else reads
// these, and they are of a statement that does not read its result again, as attention does.
typedef struct vkf__loss_state {
    vkf__span labels; // i32, (rows)
    int32_t ignored;
    float smoothing, factor; // see op/train/cross_entropy.h
} vkf__loss_state;
VKF_MUST_CHECK vkf_status vkf__record_cross_entropy(vkf__tape *tape, const char *label, vkf__value logits,
                                                    const vkf__loss_state *loss, vkf__value *out_value);

#endif
