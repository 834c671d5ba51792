// The emitter of moves between rows, its operator's row, and how the moves are found.
#include "op/reorder.h"

#include <string.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/reorder.h"

vkf_status vkf__emit_reorder(vkf__work *work, const vkf__reorder_args *args)
{
    struct vkf_reorder_params params = {
        .first = args->first,
        .row_words = args->row_words,
        .moves = args->move_count,
    };
    vkf__span words = args->x;
    words.dtype = VKF_DTYPE_I32;
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_REORDER,
        .types = {VKF_DTYPE_I32},
        .bindings = {{words, true}, {args->moves, false}},
        .params = &params,
        .count = {args->count},
        .factors = 1,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

// If no row reads `row` any more, it is filled from its source. That may free the source, which is then filled
// likewise.
static uint32_t fill_chain(const uint32_t *sources, uint32_t *readers, uint32_t row, int32_t *moves)
{
    uint32_t count = 0;
    while (readers[row] == 0) {
        uint32_t from = sources[row];
        moves[2 * count] = (int32_t)row;
        moves[2 * count++ + 1] = (int32_t)from;
        readers[row] = UINT32_MAX; // done
        if (--readers[from] > 0)
            break;
        row = from;
    }
    return count;
}

// Moves rows that read each other in a cycle. The first is put aside, and the last one reads it from there.
static uint32_t turn_cycle(const uint32_t *sources, uint32_t *readers, uint32_t row, int32_t *moves)
{
    uint32_t count = 1;
    moves[0] = -1;
    moves[1] = (int32_t)row;
    for (uint32_t to = row; readers[to] != UINT32_MAX; to = sources[to]) {
        readers[to] = UINT32_MAX;
        moves[2 * count] = (int32_t)to;
        moves[2 * count++ + 1] = sources[to] == row ? -1 : (int32_t)sources[to];
    }
    return count;
}

uint32_t vkf__reorder_moves(const uint32_t *sources, uint32_t count, uint32_t *readers, int32_t *moves)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < count; i++)
        readers[i] = 0;
    // A row that stays reads itself, and so never becomes free.
    for (uint32_t i = 0; i < count; i++)
        readers[sources[i]]++;
    for (uint32_t i = 0; i < count; i++)
        made += fill_chain(sources, readers, i, moves + 2 * (size_t)made);
    for (uint32_t i = 0; i < count; i++)
        if (readers[i] != UINT32_MAX && sources[i] != i)
            made += turn_cycle(sources, readers, i, moves + 2 * (size_t)made);
    return made;
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_reorder_params *p = dispatched->params;
    const double moved = 4.0 * p->count * p->moves;
    return (vkf__account){.bytes_read = moved, .bytes_written = moved};
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_reorder(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_reorder_params *p = e->params;
    for (uint64_t i = p->first; i < (uint64_t)p->first + p->count; i++) {
        uint32_t aside = 0;
        for (uint64_t m = 0; m < p->moves; m++) {
            const int32_t to = (int32_t)vkf__load_word(e, VKF_REORDER_BINDING_MOVES, 2 * m);
            const int32_t from = (int32_t)vkf__load_word(e, VKF_REORDER_BINDING_MOVES, 2 * m + 1);
            const uint32_t word =
                from < 0 ? aside : vkf__load_word(e, VKF_REORDER_BINDING_X, (uint64_t)from * p->row_words + i);
            if (to < 0)
                aside = word;
            else
                vkf__store_word(e, VKF_REORDER_BINDING_X, (uint64_t)to * p->row_words + i, word);
        }
    }
    return VKF_OK;
}

enum { CASE_ROWS = 7 };

static vkf_status cases(vkf__cases *c)
{
    // A cycle of three that a fourth row reads, too; a chain; and a row that stays.
    static const uint32_t edge[CASE_ROWS] = {2, 0, 1, 1, 6, 4, 6};
    uint32_t sources[CASE_ROWS], readers[CASE_ROWS];
    int32_t moves[2 * (CASE_ROWS + CASE_ROWS / 2)];
    const uint32_t first = vkf__case_pick(c, 3, 9), count = vkf__case_size(c, 145, 600);
    vkf__reorder_args args = {
        .label = "reorder",
        .row_words = first + count + vkf__case_pick(c, 3, 5),
        .first = first,
        .count = count,
    };
    for (uint32_t row = 0; row < CASE_ROWS; row++)
        sources[row] = vkf__case_pick(c, edge[row], CASE_ROWS);
    args.move_count = vkf__reorder_moves(sources, CASE_ROWS, readers, moves);
    args.x = vkf__case_ints(c, INT32_MIN, INT32_MAX, (uint64_t)CASE_ROWS * args.row_words);
    args.moves = vkf__case_ints(c, 0, 1, 2 * (uint64_t)(args.move_count > 0 ? args.move_count : 1));
    memcpy(vkf__case_bytes(c, &args.moves), moves, 2 * args.move_count * sizeof moves[0]);
    return vkf__case_run(c, &args, 0, "%u of %u words of %d rows", count, args.row_words, CASE_ROWS);
}

// It moves rows of any type as words, and so has no `output`.
const vkf__op_info vkf__op_reorder = {
    .params_bytes = sizeof(struct vkf_reorder_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};
