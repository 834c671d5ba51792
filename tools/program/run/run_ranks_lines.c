// vkformer run under mpirun with one of the project's own models: batches of lines take turns, each in a session of its
// own. Rank 0 has the vocabulary, and the others get token ids.
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/session_context.h"
#include "output/progress.h"
#include "output/standard_output.h"
#include "ranks/ranked.h"
#include "run/run_ranks.h"
#include "system/terminal.h"

// The generation of a batch, beside the batch itself.
typedef struct ranked_batch {
    run_batch *lines;
    bool under_way;
    uint32_t *prompt_lengths, *new_lengths; // (batch)
    int32_t *prompt_ids, *new_ids;          // (batch, max_source_len), (batch, max_len - 1)
    vkf_generation *generation;
} ranked_batch;

typedef struct ranked_lines {
    run_state state;
    run_ranks ranks;
    run_link link;
    ranked_batch *batches; // (ranks.batches)
    bool no_more;          // lines
    uint64_t tokens;       // of all batches
} ranked_lines;

static bool speaks(const ranked_lines *r)
{
    return r->ranks.of.rank == 0;
}

// ---- one batch

// The rows of rank 0, without padding, become those of all. The batch has no lines when there are no more.
static bool share_rows(ranked_lines *r, ranked_batch *b)
{
    uint32_t counts[2] = {b->lines->line_count, b->lines->row_count};
    size_t ids = 0;
    for (uint32_t row = 0; speaks(r) && row < counts[1]; row++) {
        const vkf_text_line *line = &b->lines->lines[b->lines->slots[row]];
        memcpy(b->prompt_ids + ids, line->ids, line->id_count * sizeof *line->ids);
        ids += b->prompt_lengths[row] = line->id_count;
    }
    vkf_run_ranks_share(&r->ranks, counts, sizeof counts);
    vkf_run_ranks_share(&r->ranks, b->prompt_lengths, counts[1] * sizeof *b->prompt_lengths);
    ids = 0;
    for (uint32_t row = 0; row < counts[1]; row++)
        ids += b->prompt_lengths[row];
    vkf_run_ranks_share(&r->ranks, b->prompt_ids, ids * sizeof *b->prompt_ids);
    b->lines->line_count = counts[0];
    b->lines->row_count = counts[1];
    r->tokens += ids;
    return counts[0] > 0;
}

static bool check(vkf_status status)
{
    if (status != VKF_OK)
        vkf_print_error("the lines cannot be run: %s", vkf_status_text(status));
    return status == VKF_OK;
}

// Takes the next lines, and begins to run those that can be.
static bool begin(ranked_lines *r, ranked_batch *b)
{
    vkf_run_clear_batch(&r->state, b->lines);
    if (speaks(r) && !r->no_more && !vkf_run_take_batch(&r->state, b->lines))
        return false;
    r->no_more = !share_rows(r, b);
    b->under_way = b->lines->row_count > 0;
    const vkf_generate_args args = {
        .batch = b->lines->row_count,
        .prompt_ids = b->prompt_ids,
        .prompt_lengths = b->prompt_lengths,
        .max_new_tokens = r->state.max_len - 1,
        .out_ids = b->new_ids,
        .out_lengths = b->new_lengths,
    };
    return !b->under_way || check(vkf_generation_begin(b->lines->session, &args, &b->generation));
}

// The row of a batch begins with the token that the decoder begins with.
static void keep(ranked_lines *r, const ranked_batch *b)
{
    const size_t most = r->state.max_len;
    for (uint32_t row = 0; row < b->lines->row_count; row++) {
        int32_t *ids = b->lines->target_ids + row * most;
        const uint32_t count = b->new_lengths[row];
        ids[0] = r->state.config.bos_id;
        memcpy(ids + 1, b->new_ids + row * (most - 1), count * sizeof *ids);
        b->lines->lengths[row] = 1 + count;
        r->tokens += count;
    }
}

static bool take_turn(ranked_lines *r, ranked_batch *b)
{
    if (!check(vkf_generation_turn(b->generation, &b->under_way)))
        return false;
    if (b->under_way)
        return true;
    vkf_generation_destroy(&b->generation);
    keep(r, b);
    return true;
}

// ---- all of them

// Lines are printed in their order, and so only the oldest batch makes room for the next one.
static bool run_all(ranked_lines *r)
{
    const uint32_t count = r->ranks.batches;
    for (uint32_t i = 0, oldest = 0, empty = 0; empty < count; i = (i + 1) % count) {
        ranked_batch *b = &r->batches[i];
        if (b->under_way && !take_turn(r, b))
            return false;
        if (b->under_way || i != oldest)
            continue;
        if ((speaks(r) && !vkf_run_print_batch(&r->state, b->lines)) || !begin(r, b))
            return false;
        empty = b->lines->line_count == 0 ? empty + 1 : 0;
        oldest = (oldest + 1) % count;
    }
    return true;
}

static bool make_batches(ranked_lines *r)
{
    const uint32_t count = r->ranks.batches;
    if (!vkf_run_make_batches(&r->state, count))
        return false;
    r->batches = calloc(count, sizeof *r->batches);
    bool made = r->batches != NULL;
    for (uint32_t i = 0; made && i < count; i++) {
        ranked_batch *b = &r->batches[i];
        const size_t rows = r->state.batch;
        b->lines = &r->state.batches[i];
        b->prompt_lengths = calloc(rows, sizeof *b->prompt_lengths);
        b->new_lengths = calloc(rows, sizeof *b->new_lengths);
        b->prompt_ids = calloc(rows * r->state.config.max_source_len, sizeof *b->prompt_ids);
        b->new_ids = calloc(rows * r->state.max_len, sizeof *b->new_ids);
        made = b->prompt_lengths && b->new_lengths && b->prompt_ids && b->new_ids;
    }
    if (!made)
        vkf_print_error("memory is exhausted");
    return made;
}

static bool load(ranked_lines *r)
{
    const run_options *options = r->state.options;
    const vkf_model_desc desc = {
        .directory = options->model_directory,
        .precision = r->ranks.precision,
        .quantization = options->quantization,
    };
    vkf_status status = vkf_run_ranks_load(&r->ranks, r->state.context, &desc, &r->state.model);
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
    return status == VKF_OK && (!speaks(r) || vkf_run_load_vocabulary(&r->state)) && make_batches(r);
}

static bool run(ranked_lines *r)
{
    const run_options *options = r->state.options;
    const bool timed = options->timing || vkf_is_terminal(VKF_STANDARD_ERROR);
    if (r->ranks.parts[r->ranks.of.rank].count == 0)
        return true;
    if (!load(r) || (options->timing && r->ranks.last > 0 && !vkf_run_ranks_measure(&r->ranks, &r->link)))
        return false;
    const double begin_ms = vkf_now_ms();
    if (!run_all(r))
        return false;
    if (speaks(r) && timed)
        vkf_run_ranks_print_speed(&r->link, r->tokens, 1e6 * (vkf_now_ms() - begin_ms));
    return true;
}

static void release(ranked_lines *r)
{
    for (uint32_t i = 0; r->batches && i < r->ranks.batches; i++) {
        vkf_generation_destroy(&r->batches[i].generation);
        free(r->batches[i].prompt_lengths);
        free(r->batches[i].new_lengths);
        free(r->batches[i].prompt_ids);
        free(r->batches[i].new_ids);
    }
    free(r->batches);
    vkf_run_ranks_free(&r->ranks);
    vkf_run_release(&r->state);
}

bool vkf_run_ranks_lines(const run_options *options, const vkf_model_config *config)
{
    ranked_lines r = {.state = {.options = options, .config = *config, .source = vkf_run_source(options)}};
    vkf_common_options common = options->common;
    common.device = vkf_ranked_device(&options->ranks, &options->common);
    if (vkf_open_context(&common, &r.state.context) != VKF_OK)
        vkf_ranks_abort(VKF_EXIT_FAILED);
    const vkf_session_desc session = vkf_run_session(&r.state);
    vkf_run_ranks_cut(options, config, r.state.context, &session, &r.ranks);
    if (!run(&r))
        vkf_ranks_abort(VKF_EXIT_FAILED);
    const bool refused = r.state.refused;
    (void)vkf_flush_stdout();
    vkf_ranks_end();
    release(&r);
    return !refused;
}
