// Cuts a model between ranks: asks each what its device has, plans what each part takes, and has the layers cut.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "output/visible_text.h"
#include "ranks/cut_plan.h"
#include "run/run_ranks.h"

// What each rank tells the others of itself.
typedef struct rank_facts {
    uint64_t memory_bytes;
    double speed;
    uint32_t machine;
    int32_t precision; // -1: the model cannot be planned
    uint8_t uuid[VKF_UUID_SIZE];
    char name[256];
} rank_facts;

static rank_facts own_facts(const run_ranks *ranks, vkf_context *context, const vkf_model_desc *desc)
{
    vkf_device_info info;
    vkf_model_config config;
    vkf_model_precision precision;
    rank_facts facts = {.speed = 1.0, .machine = ranks->of.machine, .precision = -1};
    vkf_context_get_device_info(context, &info);
    facts.memory_bytes = vkf_cut_memory(&info);
    memcpy(facts.uuid, info.uuid, sizeof facts.uuid);
    memcpy(facts.name, info.name, sizeof facts.name);
    if (vkf_model_plan_config(context, desc, &config, &precision) == VKF_OK)
        facts.precision = (int32_t)precision;
    return facts;
}

static bool same_names(const rank_facts *facts, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(facts[i].name, facts[0].name) != 0)
            return false;
    return true;
}

// Devices of one name are equally fast. Others are measured by how fast they read their memory, which is what a token
// takes.
static bool measure(vkf_context *context, double *out_speed)
{
    vkf_roofs roofs;
    vkf_status status = vkf_measure_roofs(context, NULL, NULL, &roofs);
    if (status == VKF_OK)
        *out_speed = roofs.read_bytes_per_s;
    else
        vkf_print_error("the device cannot be measured: %s", vkf_status_text(status));
    return status == VKF_OK;
}

// Ranks share the memory of a device that they share.
static uint64_t share_of(const rank_facts *facts, uint32_t count, uint32_t rank)
{
    uint32_t sharing = 0;
    for (uint32_t i = 0; i < count; i++)
        sharing += facts[i].machine == facts[rank].machine &&
                   memcmp(facts[i].uuid, facts[rank].uuid, sizeof facts[i].uuid) == 0;
    return facts[rank].memory_bytes / sharing;
}

static vkf_model_desc desc_of(const run_options *options, vkf_model_precision precision)
{
    return (vkf_model_desc){
        .directory = options->model_directory,
        .precision = precision,
        .quantization = options->quantization,
    };
}

static void print_parts(const run_ranks *ranks, const rank_facts *facts)
{
    for (uint32_t i = 0; i < ranks->of.size; i++) {
        const vkf_cut_part *part = &ranks->parts[i];
        const double mib = (double)part->bytes / (1024.0 * 1024.0);
        if (part->count > 0)
            vkf_print_on(stderr, "rank %u: layers %u to %u, %.1f MiB with %u batches under way, %s\n", i, part->first,
                         part->first + part->count - 1, mib, ranks->batches, facts[i].name);
        else
            fprintf(stderr, "rank %u: no layers\n", i);
    }
}

// Rank 0 cuts, and tells the others, whose devices may plan other bytes.
static bool cut(const run_options *options, vkf_context *context, const rank_facts *facts, run_ranks *ranks)
{
    const vkf_model_desc desc = desc_of(options, ranks->precision);
    const vkf_cut_plan plan = {
        context, &desc, &ranks->session, ranks->batches, ranks->encoder_layers, ranks->decoder_layers,
    };
    vkf_cut_model model;
    vkf_cut_rank *of = calloc(ranks->of.size, sizeof *of);
    vkf_status status = of ? VKF_OK : VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; of && i < ranks->of.size; i++)
        of[i] = (vkf_cut_rank){share_of(facts, ranks->of.size, i), facts[i].speed};
    if (status == VKF_OK)
        status = vkf_cut_plan_parts(&plan, &model);
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be cut: %s", options->model_directory, vkf_status_text(status));
    const bool done = status == VKF_OK && vkf_cut_layers(&model, of, ranks->of.size, ranks->parts);
    if (done && (options->common.verbose || options->common.debug))
        print_parts(ranks, facts);
    free(of);
    return done;
}

// The precision of all, where they agree; activations of one part are read by the next.
static vkf_model_precision precision_of(const rank_facts *facts, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (facts[i].precision != facts[0].precision)
            return VKF_MODEL_PRECISION_F32;
    return (vkf_model_precision)facts[0].precision;
}

static bool gather(const run_options *options, vkf_context *context, run_ranks *ranks, rank_facts *all)
{
    const vkf_model_desc desc = desc_of(options, options->precision);
    rank_facts own = own_facts(ranks, context, &desc);
    if (own.precision < 0)
        return false;
    vkf_ranks_gather(&own, all, sizeof own);
    if (same_names(all, ranks->of.size))
        return true;
    if (!measure(context, &own.speed))
        return false;
    vkf_ranks_gather(&own, all, sizeof own);
    return true;
}

static void find_neighbours(run_ranks *ranks)
{
    ranks->before = ranks->behind = ranks->last = ranks->of.rank;
    for (uint32_t i = 0; i < ranks->of.size; i++) {
        if (ranks->parts[i].count == 0)
            continue;
        ranks->last = i;
        if (i < ranks->of.rank)
            ranks->before = i;
        if (i > ranks->of.rank && ranks->behind == ranks->of.rank)
            ranks->behind = i;
    }
}

void vkf_run_ranks_cut(const run_options *options, const vkf_model_config *config, vkf_context *context,
                       const vkf_session_desc *session, run_ranks *ranks)
{
    const uint32_t count = options->ranks.size, texts = options->texts ? options->text_count : UINT32_MAX;
    const uint32_t wanted = (texts - 1) / session->max_batch + 1;
    rank_facts *facts = calloc(count, sizeof *facts);
    *ranks = (run_ranks){
        .of = options->ranks,
        .encoder_layers = config->num_encoder_layers,
        .decoder_layers = config->num_decoder_layers,
        .parts = calloc(count, sizeof *ranks->parts),
        .batches = wanted < count ? wanted : count,
        .session = *session,
    };
    bool done = facts && ranks->parts && gather(options, context, ranks, facts);
    if (done) {
        ranks->precision = precision_of(facts, count);
        done = ranks->of.rank > 0 || cut(options, context, facts, ranks);
    }
    free(facts);
    if (!done)
        vkf_ranks_abort(VKF_EXIT_FAILED);
    vkf_ranks_broadcast(ranks->parts, count * sizeof *ranks->parts);
    find_neighbours(ranks);
}
