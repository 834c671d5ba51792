// vkformer run: continues or translates texts with a model of one of transformers' families.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "output/json_output.h"
#include "output/progress.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "ranks/ranked.h"
#include "run/run_defaults.h"
#include "run/run_ranks.h"
#include "system/terminal.h"

#define DEFAULT_NEW_TOKENS 256u
// Under mpirun so many batches for each that is under way are taken at once: as long as there are more, no rank waits.
#define ROUND_BATCHES 4u

typedef struct generation {
    const run_options *options;
    const vkf_model_config *config;
    vkf_context *context;
    vkf_generator *generator;
    vkf_text_source source;
    run_ranks ranks;                 // under mpirun
    run_link link;                   // the same, with --timing
    uint32_t batch;                  // texts that run together
    uint32_t round;                  // texts that are taken at once
    vkf_text_line *lines;            // (round)
    vkf_text *prompts;               // (round)
    vkf_continuation *continuations; // (round); one without a text could not be run
    vkf_generation_cost cost;        // of all batches
    vkf_generation_cost last;        // of the last one
    double run_ns;                   // of all, by the clock; batches that run at once have costs of their own
    bool refused;                    // some text could not be run
} generation;

static bool is_ranks(const generation *g)
{
    return g->options->ranks.size > 1;
}

// Whether this process reads the texts and prints what comes of them.
static bool speaks(const generation *g)
{
    return g->options->ranks.rank == 0;
}

// A rank without layers has nothing to do.
static bool is_idle(const generation *g)
{
    return is_ranks(g) && g->ranks.parts[g->ranks.of.rank].count == 0;
}

static vkf_status create_part(generation *g, vkf_generator_desc *desc)
{
    const vkf_model_desc model = {
        .directory = desc->directory,
        .precision = g->ranks.precision,
        .quantization = desc->quantization,
        .progress = desc->progress,
        .progress_user = desc->progress_user,
    };
    vkf_model *part = NULL;
    vkf_status status = vkf_run_ranks_load(&g->ranks, g->context, &model, &part);
    if (status == VKF_OK) {
        desc->model = part;
        desc->batches = g->ranks.batches;
        status = vkf_generator_load(g->context, desc, &g->generator);
    }
    vkf_model_destroy(&part);
    return status;
}

static bool open_context(generation *g)
{
    vkf_common_options common = g->options->common;
    if (is_ranks(g))
        common.device = vkf_ranked_device(&g->options->ranks, &g->options->common);
    return vkf_open_context_aloud(&common, &g->context) == VKF_OK;
}

static bool load(generation *g)
{
    const run_options *options = g->options;
    vkf_progress progress = vkf_progress_start("loading tensor");
    vkf_generator_desc desc = {
        .directory = options->model_directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .adapter_directory = options->adapter,
        .max_batch = g->batch,
        .max_context = options->context,
        .max_beams = options->beams.num_beams,
        .cache_dtype = options->cache_dtype,
        // What is shown of a run is of whole prompts.
        .whole_prompts = options->common.numbers || options->dump_path,
        .progress = vkf_progress_show,
        .progress_user = &progress,
    };
    vkf_status status = is_ranks(g) ? create_part(g, &desc) : vkf_generator_load(g->context, &desc, &g->generator);
    vkf_progress_end(&progress);
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
    return status == VKF_OK;
}

// How fast the ranks reach each other is a part of what --timing prints.
static bool measure_link(generation *g)
{
    const bool measured = is_ranks(g) && g->options->timing && g->ranks.last > 0;
    return !measured || vkf_run_ranks_measure(&g->ranks, &g->link);
}

// The session of a generator's batch.
static vkf_session_desc session_of(const generation *g)
{
    const run_options *options = g->options;
    const vkf_model_config *config = g->config;
    uint32_t most = config->max_target_len < VKF_RUN_CONTEXT ? config->max_target_len : VKF_RUN_CONTEXT;
    if (config->kind == VKF_MODEL_SEQ2SEQ && config->max_source_len < most)
        most = config->max_source_len;
    const uint32_t context = options->context > 0 ? options->context : most;
    return (vkf_session_desc){
        .max_batch = g->batch,
        .max_source_len = context,
        .max_target_len = context,
        .max_beams = options->beams.num_beams,
        .cache_dtype = options->cache_dtype,
    };
}

static bool prepare(generation *g)
{
    g->batch = g->round = vkf_run_batch_size(g->options);
    g->source = vkf_run_source(g->options);
    if (!open_context(g))
        return false;
    if (is_ranks(g)) {
        const vkf_session_desc session = session_of(g);
        vkf_run_ranks_cut(g->options, g->config, g->context, &session, &g->ranks);
        g->round = g->batch * g->ranks.batches * ROUND_BATCHES;
    }
    g->lines = calloc(g->round, sizeof *g->lines);
    g->prompts = calloc(g->round, sizeof *g->prompts);
    g->continuations = calloc(g->round, sizeof *g->continuations);
    if (!g->lines || !g->prompts || !g->continuations) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    return is_idle(g) || (load(g) && measure_link(g));
}

static bool print_part(void *user, uint32_t prompt, const char *bytes, size_t size_bytes)
{
    (void)user;
    (void)prompt;
    vkf_print_text(bytes, size_bytes);
    (void)vkf_flush_stdout();
    return true;
}

// A single text is printed as it is generated.
static bool streams(const generation *g)
{
    return g->batch == 1 && !g->options->json && !is_ranks(g);
}

// How many tokens to generate; 0: as many as the context has room for.
static uint32_t new_tokens(const generation *g)
{
    if (g->options->max_new_tokens > 0)
        return g->options->max_new_tokens;
    if (g->options->fills_context || g->options->usual_new_tokens > 0)
        return g->options->usual_new_tokens;
    return vkf_generator_get_max_context(g->generator) > DEFAULT_NEW_TOKENS ? DEFAULT_NEW_TOKENS : 0;
}

static void add_cost(vkf_generation_cost *sum, const vkf_generation_cost *cost)
{
    sum->prompt_tokens += cost->prompt_tokens;
    sum->reused_tokens += cost->reused_tokens;
    sum->prompt_ns += cost->prompt_ns;
    sum->new_tokens += cost->new_tokens;
    sum->new_ns += cost->new_ns;
}

static vkf_status run_prompts(generation *g, uint32_t first, uint32_t count, uint32_t max_new_tokens)
{
    const run_options *options = g->options;
    vkf_generation_cost cost = {0};
    vkf_progress progress = vkf_progress_start("prompt");
    const vkf_generator_args args = {
        .prompts = g->prompts + first,
        .count = count,
        .max_new_tokens = max_new_tokens,
        .sampling = options->sampling,
        .beams = options->beams,
        .stops = options->stops,
        .stop_count = options->stop_count,
        .on_text = streams(g) ? print_part : NULL,
        .progress = vkf_progress_show,
        .progress_user = &progress,
        .out_continuations = g->continuations + first,
        .out_cost = &cost,
    };
    const double begin_ms = vkf_now_ms();
    vkf_status status = vkf_generator_run(g->generator, &args);
    g->run_ns += 1e6 * (vkf_now_ms() - begin_ms);
    vkf_progress_end(&progress);
    add_cost(&g->cost, &cost);
    add_cost(&g->last, &cost);
    return status;
}

// A text that leaves no room for the usual number of tokens gets as many as there is room for.
static vkf_status run_alone(generation *g, uint32_t text)
{
    vkf_status status = run_prompts(g, text, 1, new_tokens(g));
    if (status == VKF_ERROR_TOO_LARGE && g->options->max_new_tokens == 0 && new_tokens(g) > 0)
        status = run_prompts(g, text, 1, 0);
    return status;
}

// If one text is too long to run together with the others, each runs alone.
static bool run_texts(generation *g, uint32_t count)
{
    g->last = (vkf_generation_cost){0};
    vkf_status status = count > 1 ? run_prompts(g, 0, count, new_tokens(g)) : run_alone(g, 0);
    if (status == VKF_ERROR_TOO_LARGE && count > 1) {
        for (uint32_t i = 0; i < count && (status == VKF_OK || status == VKF_ERROR_TOO_LARGE); i++)
            status = run_alone(g, i);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (g->continuations[i].text)
            continue;
        g->refused = true;
        if (!speaks(g))
            continue;
        bool long_one = status == VKF_OK || status == VKF_ERROR_TOO_LARGE;
        vkf_print_error("%s %" PRIu64 " cannot be continued: %s", g->source.unit, g->lines[i].number,
                        long_one ? "it is too long for the context" : vkf_status_text(status));
    }
    return status == VKF_OK || status == VKF_ERROR_TOO_LARGE;
}

// Puts null where there is no text, or where it is not valid UTF-8.
static void put_text(json_t *object, const char *key, const char *text, size_t size_bytes)
{
    json_t *string = text ? json_stringn(text, size_bytes) : NULL;
    json_object_set_new(object, key, string ? string : json_null());
}

// Without a cost, no times are printed.
static bool print_json(const vkf_text_line *line, const vkf_continuation *continuation, const vkf_generation_cost *cost)
{
    static const char *const reasons[VKF_STOP_REASON_COUNT] = {"length", "eos", "context", "caller"};
    json_t *object = json_object(), *ids = json_array();
    put_text(object, "text", line->text, line->size_bytes);
    put_text(object, "output", continuation->text, continuation->size_bytes);
    if (continuation->text) {
        vkf_json_put_integer(object, "prompt_tokens", continuation->prompt_count);
        vkf_json_put_string(object, "stop", reasons[continuation->reason]);
        for (uint32_t i = 0; i < continuation->id_count; i++)
            json_array_append_new(ids, json_integer(continuation->ids[i]));
    }
    json_object_set_new(object, "tokens", ids);
    if (cost) {
        vkf_json_put_integer(object, "reused_tokens", cost->reused_tokens);
        json_object_set_new(object, "prompt_ms", json_real((double)cost->prompt_ns * 1e-6));
        json_object_set_new(object, "new_ms", json_real((double)cost->new_ns * 1e-6));
    }
    return vkf_print_json(object);
}

static bool print_outputs(generation *g, uint32_t count)
{
    bool printed = true;
    for (uint32_t i = 0; i < count; i++) {
        const vkf_continuation *continuation = &g->continuations[i];
        if (g->options->json) {
            printed = printed && print_json(&g->lines[i], continuation, g->options->timing ? &g->last : NULL);
            continue;
        }
        if (!streams(g) && continuation->text)
            vkf_print_text(continuation->text, continuation->size_bytes);
        putchar('\n');
    }
    (void)vkf_flush_stdout();
    return printed;
}

// *out_count is 0 at the end.
static bool take_lines(generation *g, uint32_t *out_count)
{
    uint32_t count = 0;
    vkf_line_result result = VKF_LINE_TAKEN;
    while (speaks(g) && count < g->round &&
           (result = vkf_text_source_next(&g->source, &g->lines[count])) == VKF_LINE_TAKEN)
        count++;
    if (result == VKF_LINE_FAILED)
        return false;
    if (is_ranks(g))
        count = vkf_run_ranks_share_lines(&g->ranks, count, g->lines);
    for (uint32_t i = 0; i < count; i++)
        g->prompts[i] = (vkf_text){g->lines[i].text, g->lines[i].size_bytes};
    *out_count = count;
    return true;
}

static void clear_lines(generation *g)
{
    for (uint32_t i = 0; g->lines && i < g->round; i++)
        vkf_text_line_clear(&g->lines[i]);
    for (uint32_t i = 0; g->continuations && i < g->round; i++)
        vkf_continuation_free(&g->continuations[i]);
}

// Draws the first text and its continuation, by the tokens of both.
static bool draw_tokens(generation *g, const vkf_tokenizer *tokenizer, const vkf_encoding *prompt)
{
    const vkf_continuation *continuation = &g->continuations[0];
    vkf_model_config config;
    vkf_generator_get_config(g->generator, &config);
    bool decoder = config.kind == VKF_MODEL_DECODER, read = decoder && prompt->count > 0;
    uint32_t before = read ? prompt->count : 1;
    int32_t *target = calloc((size_t)before + continuation->id_count, sizeof *target);
    if (!target) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    // A decoder that reads a source begins with bos, and so does one with an empty prompt.
    memcpy(target, read ? prompt->ids : &config.bos_id, before * sizeof *target);
    memcpy(target + before, continuation->ids, continuation->id_count * sizeof *target);
    const run_picture picture = {
        .options = g->options,
        .model = vkf_generator_get_model(g->generator),
        .tokenizer = tokenizer,
        .text = g->lines[0].text,
        .output = continuation->text,
        .source_ids = decoder ? NULL : prompt->ids,
        .source_count = decoder ? 0 : prompt->count,
        .target_ids = target,
        .target_count = before + continuation->id_count,
    };
    bool drawn = vkf_run_draw_attention(&picture);
    free(target);
    return drawn;
}

static bool draw_first(generation *g)
{
    const vkf_encode_options options = {.truncation = VKF_TRUNCATION_NONE};
    const vkf_tokenizer *tokenizer = vkf_generator_get_tokenizer(g->generator);
    vkf_encoding prompt = {0};
    bool drawn = false;
    if (!g->options->attention.path || g->lines[0].number != 1)
        return true;
    if (!g->continuations[0].text) {
        vkf_print_error("--attention: the first %s was not run, so there is nothing to draw", g->source.unit);
        return true; // the refusal is remembered elsewhere
    }
    const vkf_status status =
        vkf_tokenizer_encode(tokenizer, &(vkf_text){g->lines[0].text, g->lines[0].size_bytes}, NULL, &options, &prompt);
    if (status != VKF_OK)
        vkf_print_error("the first text's tokens cannot be made: %s", vkf_status_text(status));
    else
        drawn = draw_tokens(g, tokenizer, &prompt);
    vkf_encoding_free(&prompt);
    return drawn;
}

static bool run_lines(generation *g)
{
    uint32_t count = 0;
    do {
        bool done = take_lines(g, &count) &&
                    (count == 0 || (run_texts(g, count) && (!speaks(g) || print_outputs(g, count)) && draw_first(g)));
        clear_lines(g);
        if (!done)
            return false;
    } while (count > 0);
    return true;
}

static void print_rate(const char *what, uint64_t tokens, double ns)
{
    vkf_print_on(stderr, "%-7s %8" PRIu64 " tokens %10.1f ms %10.1f tokens/s\n", what, tokens, ns / 1e6,
                 ns > 0 ? (double)tokens * 1e9 / ns : 0.0);
}

static void print_speed(const generation *g)
{
    if (!g->options->timing && !vkf_is_terminal(VKF_STANDARD_ERROR))
        return;
    if (is_ranks(g)) {
        vkf_run_ranks_print_speed(&g->link, g->cost.prompt_tokens + g->cost.new_tokens, g->run_ns);
        return;
    }
    print_rate("prompt", g->cost.prompt_tokens - g->cost.reused_tokens, g->cost.prompt_ns);
    if (g->cost.reused_tokens > 0)
        fprintf(stderr, "        %8" PRIu64 " tokens more were in the cache\n", g->cost.reused_tokens);
    if (g->cost.new_tokens > 0)
        print_rate("new", g->cost.new_tokens, g->cost.new_ns);
}

bool vkf_run_generation(const run_options *options, const vkf_model_config *config)
{
    generation g = {.options = options, .config = config};
    bool done = prepare(&g) && (is_idle(&g) || run_lines(&g));
    if (done && speaks(&g))
        print_speed(&g);
    if (!done && is_ranks(&g))
        vkf_ranks_abort(VKF_EXIT_FAILED);
    clear_lines(&g);
    free(g.lines);
    free(g.prompts);
    free(g.continuations);
    vkf_generator_destroy(&g.generator);
    vkf_run_ranks_free(&g.ranks);
    if (is_ranks(&g)) {
        (void)vkf_flush_stdout();
        vkf_ranks_end();
    }
    vkf_context_destroy(&g.context);
    return done && !g.refused;
}
