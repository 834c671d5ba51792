// Words and their positions on a tape.
#include "op/embed.h"
#include "op/train/embed_grad.h"
#include "training/records.h"

enum { TABLE, POSITIONS };

// What a table gets of its rows' ids.
static vkf_status emit_table(vkf__tape *tape, const vkf__token_embedding *words, vkf__value table,
                             const vkf__embed_grad_args *ids)
{
    vkf__embed_grad_args args = *ids;
    args.tokens = words->batch * words->len;
    args.dim = vkf__tape_at(tape, table)->cols;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, table, &args.dtable, &args.accumulate));
    return vkf__emit_embed_grad(tape->work, &args);
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__token_embedding words = *(const vkf__token_embedding *)vkf__tape_note(tape, node);
    const vkf__span dout = vkf__tape_at(tape, node->out)->gradient;
    if (vkf__tape_wants(tape, node->operands[TABLE])) {
        const vkf__embed_grad_args ids = {"embed_grad",           .dout = dout,         .lists = words.lists,
                                          .unique = words.unique, .vocab = words.vocab, .scale = words.scale};
        VKF_RETURN_IF_ERROR(emit_table(tape, &words, words.table, &ids));
    }
    if (!vkf__tape_wants(tape, node->operands[POSITIONS]))
        return VKF_OK;
    const vkf__embed_grad_args rows = {"position_grad",
                                       .dout = dout,
                                       .lists = words.position_lists,
                                       .unique = words.unique_positions,
                                       .vocab = words.position_rows,
                                       .scale = 1};
    return emit_table(tape, &words, words.positions, &rows);
}

vkf_status vkf__record_embedding(vkf__tape *tape, const vkf__token_embedding *words, vkf__value *out_value)
{
    const vkf__tape_value table = *vkf__tape_at(tape, words->table);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, words->batch * words->len, table.cols, out_value));
    const vkf__embed_args args = {
        .label = words->label,
        .ids = words->ids,
        .table = table.span,
        .positions = words->positions ? *vkf__tape_span(tape, words->positions) : words->fixed_positions,
        .out = *vkf__tape_span(tape, *out_value),
        .batch = words->batch,
        .len = words->len,
        .dim = table.cols,
        .vocab = words->vocab,
        .ids_stride = words->len,
        .first_position = words->positions ? words->first_position : 0,
        .position_ids = words->position_ids,
        .scale = words->scale,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_embed(tape->work, &args));
    const vkf__tape_node node = {back, *out_value, {words->table, words->positions}, 0, NULL};
    return vkf__tape_record(tape, &node, words, sizeof *words);
}
