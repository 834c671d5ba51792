// Passes texts, hidden states and tokens from rank to rank.
#include "run/run_ranks.h"

#include <stdlib.h>

#include "command/commands.h"

bool vkf_run_ranks_fit(const run_options *options, run_way way)
{
    const bool generates = way == RUN_GENERATION || way == RUN_SEQ2SEQ;
    const char *refused = options->attention.path   ? "--attention"
                          : options->dump_path      ? "--dump"
                          : options->common.numbers ? "--check-numbers"
                          : options->adapter        ? "--adapter"
                          : generates               ? NULL
                                                    : options->model_directory;
    if (!refused)
        return true;
    vkf_print_error("%s: under mpirun the layers of a decoder or of an encoder-decoder are cut between ranks, and "
                    "nothing else is; run it without mpirun",
                    refused);
    return false;
}

void vkf_run_ranks_free(run_ranks *ranks)
{
    free(ranks->parts);
    *ranks = (run_ranks){0};
}

// ---- hidden states and tokens

static bool take(void *user, void *out_bytes, size_t size_bytes)
{
    const run_ranks *ranks = user;
    vkf_ranks_receive(ranks->before, out_bytes, size_bytes);
    return true;
}

static bool give(void *user, const void *bytes, size_t size_bytes)
{
    const run_ranks *ranks = user;
    vkf_ranks_send(ranks->behind, bytes, size_bytes);
    return true;
}

static void send_to_others(const run_ranks *ranks, const void *bytes, size_t size_bytes)
{
    for (uint32_t i = 0; i < ranks->of.size; i++)
        if (i != ranks->of.rank && ranks->parts[i].count > 0)
            vkf_ranks_send(i, bytes, size_bytes);
}

static bool share(void *user, void *bytes, size_t size_bytes)
{
    const run_ranks *ranks = user;
    if (ranks->of.rank == ranks->last)
        send_to_others(ranks, bytes, size_bytes);
    else
        vkf_ranks_receive(ranks->last, bytes, size_bytes);
    return true;
}

vkf_status vkf_run_ranks_load(run_ranks *ranks, vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model)
{
    const vkf_cut_part *part = &ranks->parts[ranks->of.rank];
    const vkf_layer_part layers = {part->first, part->count, {take, give, share, ranks}, {0}};
    vkf_model_desc of_part = *desc;
    of_part.part = &layers;
    return vkf_model_load(context, &of_part, out_model);
}

// ---- texts

// A line on its way; its text follows.
typedef struct line_head {
    uint64_t number, size_bytes;
} line_head;

static void receive_line(vkf_text_line *line)
{
    line_head head;
    vkf_ranks_receive(0, &head, sizeof head);
    *line = (vkf_text_line){
        .text = malloc((size_t)head.size_bytes + 1),
        .size_bytes = (size_t)head.size_bytes,
        .number = head.number,
    };
    if (!line->text) {
        vkf_print_error("memory is exhausted");
        vkf_ranks_abort(VKF_EXIT_FAILED);
    }
    vkf_ranks_receive(0, line->text, line->size_bytes + 1);
}

void vkf_run_ranks_share(const run_ranks *ranks, void *bytes, size_t size_bytes)
{
    if (ranks->of.rank == 0)
        send_to_others(ranks, bytes, size_bytes);
    else
        vkf_ranks_receive(0, bytes, size_bytes);
}

uint32_t vkf_run_ranks_share_lines(const run_ranks *ranks, uint32_t count, vkf_text_line *lines)
{
    vkf_run_ranks_share(ranks, &count, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        if (ranks->of.rank > 0) {
            receive_line(&lines[i]);
            continue;
        }
        const line_head head = {lines[i].number, lines[i].size_bytes};
        send_to_others(ranks, &head, sizeof head);
        send_to_others(ranks, lines[i].text, lines[i].size_bytes + 1);
    }
    return count;
}
