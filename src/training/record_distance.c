// Biases of scores by the distance from query to key, on a tape.
//
// Each of `len` equal rows has, head after head, what the table says of all distances: a query's biases begin in its
// row, one element sooner for each query. So the gradients of one distance stand below each other.
#include "op/copy.h"
#include "op/embed.h"
#include "op/permute.h"
#include "op/train/column_sum.h"
#include "op/train/embed_grad.h"
#include "training/records.h"

// A statement's note.
typedef struct way_back {
    vkf__distance_bias bias;
    uint32_t distances; // at maximum sizes, as strides and places are
} way_back;

// (rows, cols) of x turned around.
static vkf_status emit_turned(vkf__tape *tape, const vkf__span *x, uint32_t rows, uint32_t cols, vkf__span *out)
{
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, (uint64_t)rows * cols, out));
    const vkf__permute_args args = {"turn", *x, *out, .batch = 1, .rows = rows, .cols = cols, .depth = 1};
    return vkf__emit_permute(tape->work, &args);
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const way_back noted = *(const way_back *)vkf__tape_note(tape, node);
    const vkf__distance_bias *bias = &noted.bias;
    const uint32_t heads = vkf__tape_at(tape, bias->table)->cols;
    vkf__column_sum_args sum = {"bias_grad", vkf__tape_at(tape, node->out)->gradient, .rows = bias->len,
                                .cols = heads * noted.distances};
    vkf__embed_grad_args table = {"embed_grad", .lists = bias->lists,   .tokens = noted.distances,
                                  .dim = heads, .unique = bias->unique, .vocab = bias->vocab,
                                  .scale = 1};
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, sum.cols, &sum.out));
    VKF_RETURN_IF_ERROR(vkf__emit_column_sum(tape->work, &sum));
    VKF_RETURN_IF_ERROR(emit_turned(tape, &sum.out, heads, noted.distances, &table.dout));
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, bias->table, &table.dtable, &table.accumulate));
    return vkf__emit_embed_grad(tape->work, &table);
}

vkf_status vkf__record_distance_bias(vkf__tape *tape, const char *label, const vkf__distance_bias *bias,
                                     vkf__score_bias *out_bias)
{
    const vkf__tape_value table = *vkf__tape_at(tape, bias->table);
    uint64_t most = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(tape->work, bias->len, &most));
    const way_back note = {*bias, 2 * (uint32_t)most - 1};
    const uint32_t distances = note.distances, row = table.cols * distances;
    vkf__embed_args found = {label,
                             bias->ids,
                             table.span,
                             .batch = 1,
                             .len = distances,
                             .dim = table.cols,
                             .vocab = bias->vocab,
                             .ids_stride = distances,
                             .scale = 1};
    vkf__copy_args copy = {label, .outer = 1, .rows = bias->len, .cols = row, .out_row = row, .alpha = 1};
    *out_bias = (vkf__score_bias){.first = (uint32_t)most - 1, .row = row - 1, .head = distances};
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, bias->len, row, &out_bias->value));
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, row, &found.out));
    VKF_RETURN_IF_ERROR(vkf__emit_embed(tape->work, &found));
    VKF_RETURN_IF_ERROR(emit_turned(tape, &found.out, distances, table.cols, &copy.x));
    copy.out = *vkf__tape_span(tape, out_bias->value);
    VKF_RETURN_IF_ERROR(vkf__emit_copy(tape->work, &copy));
    const vkf__tape_node node = {back, out_bias->value, {bias->table}, 0, NULL};
    return vkf__tape_record(tape, &node, &note, sizeof note);
}
