// Runs a generator: tokenizes prompts, batches them by length, and hands on texts as they become certain.
#include "model/text/generator.h"

#include <string.h>

#include "model/generate/generation.h"
#include "model/session/cached_rows.h"
#include "model/text/batch_order.h"
#include "model/text/stop_strings.h"
#include "model/text/text_stream.h"

// One run over all prompts.
typedef struct generator_run {
    vkf_generator *generator;
    const vkf_generator_args *args;
    vkf_encoding *prompts; // (count)
    vkf__ranked *order;    // (count)
    vkf_continuation *out; // (count)
    vkf_generation_cost cost;
} generator_run;

// A batch of prompts in a session; callbacks have it as `user`.
typedef struct batch_run {
    generator_run *run;
    bool under_way;
    vkf__ranked *rows;          // which prompts: a part of run->order
    vkf__text_stream *streams;  // (batch)
    bool *silent;               // (batch): the caller wants no more of the row's text
    vkf_status callback_status; // the status of a callback that failed
    vkf_generate_args args;
    int32_t *ids;
    uint32_t *lengths;
    vkf_stop_reason *reasons;
    uint32_t room; // new tokens of a row
    vkf_generation_cost cost;
    vkf__generation generation;
} batch_run;

static vkf_status tokenize(generator_run *run)
{
    const vkf_encode_options options = {.truncation = VKF_TRUNCATION_NONE};
    for (uint32_t i = 0; i < run->args->count; i++)
        VKF_RETURN_IF_ERROR(
            vkf__text_model_encode(&run->generator->text, &run->args->prompts[i], NULL, &options, &run->prompts[i]));
    return VKF_OK;
}

// Hands on the text that became certain since byte `shown`. Returns false to end the row.
static bool show(batch_run *b, uint32_t row, size_t shown)
{
    const vkf_generator_args *args = b->run->args;
    const vkf__text_stream *stream = &b->streams[row];
    if (!args->on_text || b->silent[row] || stream->certain_bytes <= shown)
        return true;
    b->silent[row] =
        !args->on_text(args->on_text_user, b->rows[row].index, stream->text + shown, stream->certain_bytes - shown);
    return !b->silent[row];
}

static bool take_token(void *user, uint32_t row, int32_t token)
{
    batch_run *b = user;
    vkf__text_stream *stream = &b->streams[row];
    size_t shown = stream->certain_bytes;
    vkf_status status = vkf__text_stream_add(stream, token);
    if (status != VKF_OK) {
        b->callback_status = status;
        return false;
    }
    return show(b, row, shown) && !stream->stopped;
}

static int32_t choose(void *user, uint32_t row, float *logits, uint32_t vocab)
{
    const batch_run *b = user;
    return b->run->args->choose(b->run->args->choose_user, b->rows[row].index, logits, vocab);
}

// For beam search, which makes texts only at its end. A failure is reported after the run, by callback_status.
static bool ends_with_stop(void *user, uint32_t row, const int32_t *tokens, uint32_t count)
{
    (void)row;
    batch_run *b = user;
    const vkf_generator_args *args = b->run->args;
    const vkf__stop_strings strings = {&b->run->generator->text.tokenizer->parts, args->stops, args->stop_count};
    bool ends = false;
    vkf_status status = vkf__ends_with_stop(&strings, tokens, count, &ends);
    if (status != VKF_OK)
        b->callback_status = status;
    return ends;
}

// A prompt without tokens becomes bos_id alone. vkf__check_encoding() refuses such a prompt where the model has no
// bos_id.
static uint32_t tokens_of(const generator_run *run, uint32_t index, const int32_t **out_ids)
{
    const vkf_encoding *prompt = &run->prompts[index];
    *out_ids = prompt->count > 0 ? prompt->ids : &run->generator->text.model->config.bos_id;
    return prompt->count > 0 ? prompt->count : 1;
}

static vkf_status keep(batch_run *b, uint32_t row)
{
    const vkf__host *host = &b->run->generator->context->host;
    vkf__text_stream *stream = &b->streams[row];
    vkf_continuation *out = &b->run->out[b->rows[row].index];
    const uint32_t count = b->lengths[row];
    const int32_t *prompt = NULL;
    size_t shown = stream->certain_bytes;
    vkf__text_stream_end(stream);
    (void)show(b, row, shown);
    out->allocator = host->allocator;
    out->reason = stream->stopped ? VKF_STOP_EOS : b->reasons[row];
    out->prompt_count = tokens_of(b->run, b->rows[row].index, &prompt);
    VKF_ALLOC_OR_RETURN(host, out->ids, count);
    VKF_ALLOC_OR_RETURN(host, out->text, stream->size_bytes + 1);
    memcpy(out->ids, b->ids + (size_t)row * b->room, count * sizeof *b->ids);
    out->id_count = count;
    if (stream->size_bytes > 0)
        memcpy(out->text, stream->text, stream->size_bytes);
    out->size_bytes = stream->size_bytes;
    return VKF_OK;
}

static uint32_t common(const batch_run *b, uint32_t row, uint32_t index)
{
    const int32_t *tokens = NULL;
    const uint32_t count = tokens_of(b->run, index, &tokens);
    return vkf__row_common(b->generation.session, row, tokens, count);
}

// Gives each row of the cache the prompt of the batch that goes on from most of what it holds. Where tokens are drawn
// the rows stay as they are, because what is drawn depends on them.
static void match_rows(const batch_run *b)
{
    const uint32_t count = b->args.batch;
    if (b->run->generator->whole_prompts || !b->generation.session->rows || b->run->args->sampling.temperature > 0.0f)
        return;
    for (uint32_t row = 0; row < count; row++) {
        uint32_t best = row, longest = common(b, row, b->rows[row].index);
        for (uint32_t other = row + 1; other < count; other++) {
            const uint32_t length = common(b, row, b->rows[other].index);
            best = length > longest ? other : best;
            longest = length > longest ? length : longest;
        }
        const vkf__ranked chosen = b->rows[best];
        b->rows[best] = b->rows[row];
        b->rows[row] = chosen;
    }
}

// Puts the prompts of a batch one after the other.
static vkf_status gather(const batch_run *b, int32_t **out_ids, uint32_t **out_lengths)
{
    const vkf__host *host = &b->run->generator->context->host;
    size_t total = 0;
    int32_t *ids = NULL;
    uint32_t *lengths = NULL;
    const int32_t *tokens = NULL;
    VKF_ALLOC_OR_RETURN(host, lengths, b->args.batch);
    *out_lengths = lengths;
    for (uint32_t row = 0; row < b->args.batch; row++)
        total += lengths[row] = tokens_of(b->run, b->rows[row].index, &tokens);
    VKF_ALLOC_OR_RETURN(host, ids, total);
    *out_ids = ids;
    for (uint32_t row = 0; row < b->args.batch; row++, ids += lengths[row - 1]) {
        (void)tokens_of(b->run, b->rows[row].index, &tokens);
        memcpy(ids, tokens, lengths[row] * sizeof *ids);
    }
    return VKF_OK;
}

static void batch_free(batch_run *b)
{
    const vkf__host *host = &b->run->generator->context->host;
    for (uint32_t row = 0; b->streams && row < b->args.batch; row++)
        vkf__text_stream_free(&b->streams[row]);
    vkf__generation_end(&b->generation);
    vkf__free(host, (void *)b->args.prompt_ids);
    vkf__free(host, (void *)b->args.prompt_lengths);
    vkf__free(host, b->streams);
    vkf__free(host, b->silent);
    vkf__free(host, b->ids);
    vkf__free(host, b->lengths);
    vkf__free(host, b->reasons);
    b->under_way = false;
}

static vkf_generate_args args_of(batch_run *b, uint32_t count)
{
    const vkf_generator_args *args = b->run->args;
    return (vkf_generate_args){
        .batch = count,
        .max_new_tokens = args->max_new_tokens,
        .sampling = args->sampling,
        .beams = args->beams,
        .ends = args->beams.num_beams > 1 && args->stop_count > 0 ? ends_with_stop : NULL,
        .ends_user = b,
        .choose = args->choose ? choose : NULL,
        .choose_user = b,
        .reuse_cache = !b->run->generator->whole_prompts,
        .on_token = take_token,
        .on_token_user = b,
        .progress = args->progress,
        .progress_user = args->progress_user,
        .out_cost = &b->cost,
    };
}

static uint32_t longest_of(const generator_run *run, const vkf__ranked *rows, uint32_t count)
{
    const int32_t *tokens = NULL;
    uint32_t longest = 0;
    for (uint32_t row = 0; row < count; row++) {
        const uint32_t length = tokens_of(run, rows[row].index, &tokens);
        longest = length > longest ? length : longest;
    }
    return longest;
}

// Begins a batch of `count` prompts, which is under way then, even after a failure.
static vkf_status begin_batch(batch_run *b, vkf_session *session, vkf__ranked *rows, uint32_t count)
{
    const vkf_generator_args *args = b->run->args;
    const vkf__host *host = &b->run->generator->context->host;
    int32_t *prompt_ids = NULL;
    uint32_t *prompt_lengths = NULL;
    *b = (batch_run){.run = b->run, .under_way = true, .rows = rows};
    b->args = args_of(b, count);
    b->generation = (vkf__generation){.session = session, .args = &b->args};
    b->room =
        args->max_new_tokens > 0 ? args->max_new_tokens : vkf__session_room(session, longest_of(b->run, rows, count));
    match_rows(b);
    const vkf_status gathered = gather(b, &prompt_ids, &prompt_lengths);
    b->args.prompt_ids = prompt_ids;
    b->args.prompt_lengths = prompt_lengths;
    VKF_RETURN_IF_ERROR(gathered);
    VKF_ALLOC_OR_RETURN(host, b->ids, (size_t)count * b->room);
    VKF_ALLOC_OR_RETURN(host, b->lengths, count);
    VKF_ALLOC_OR_RETURN(host, b->reasons, count);
    VKF_ALLOC_OR_RETURN(host, b->silent, count);
    VKF_ALLOC_OR_RETURN(host, b->streams, count);
    b->args.out_ids = b->ids;
    b->args.out_lengths = b->lengths;
    b->args.out_reasons = b->reasons;
    for (uint32_t row = 0; row < count; row++)
        vkf__text_stream_init(&b->streams[row], &b->run->generator->text.tokenizer->parts, args->stops,
                              args->stop_count);
    return vkf__generation_begin(&b->generation);
}

// Takes a turn, and with the last one what the batch has come to.
static vkf_status turn_batch(batch_run *b)
{
    vkf_generation_cost *sum = &b->run->cost;
    bool more = false;
    VKF_RETURN_IF_ERROR(vkf__generation_turn(&b->generation, &more));
    if (more)
        return VKF_OK;
    vkf__generation_give(&b->generation);
    VKF_RETURN_IF_ERROR(b->callback_status);
    sum->prompt_tokens += b->cost.prompt_tokens;
    sum->reused_tokens += b->cost.reused_tokens;
    sum->prompt_ns += b->cost.prompt_ns;
    sum->new_tokens += b->cost.new_tokens;
    sum->new_ns += b->cost.new_ns;
    for (uint32_t row = 0; row < b->args.batch; row++)
        VKF_RETURN_IF_ERROR(keep(b, row));
    batch_free(b);
    return VKF_OK;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

// All batches are checked before the first runs: where parts of a model run together, one that stopped between two
// turns would leave the others waiting.
static vkf_status check_room(const generator_run *run)
{
    const uint32_t count = run->args->count, most = run->generator->max_batch;
    for (uint32_t first = 0; first < count; first += most)
        VKF_RETURN_IF_ERROR(vkf__session_check_room(run->generator->sessions[0],
                                                    longest_of(run, run->order + first, at_most(count - first, most)),
                                                    run->args->max_new_tokens));
    return VKF_OK;
}

// Each session has a batch in it as long as there are any, and they take their turns one after the other.
static vkf_status run_batches(generator_run *run)
{
    vkf_status status = VKF_OK;
    const vkf_generator *generator = run->generator;
    const uint32_t count = run->args->count;
    batch_run *batches = NULL;
    uint32_t first = 0;
    VKF_ALLOC(&generator->context->host, batches, generator->session_count);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < generator->session_count; i++) {
            batch_run *b = &batches[i];
            b->run = run;
            if (b->under_way) {
                VKF_TRY(turn_batch(b));
            } else if (first < count) {
                const uint32_t rows = at_most(count - first, generator->max_batch);
                VKF_TRY(begin_batch(b, generator->sessions[i], run->order + first, rows));
                first += rows;
            }
            more = more || b->under_way || first < count;
        }
    }
fail:
    for (uint32_t i = 0; batches && i < generator->session_count; i++)
        if (batches[i].under_way)
            batch_free(&batches[i]);
    vkf__free(&generator->context->host, batches);
    return status;
}

// Where several batches run at once, each is of prompts that are given one after the other, as if it ran alone.
static uint32_t window_of(const generator_run *run)
{
    return run->generator->session_count > 1 ? run->generator->max_batch : run->args->count;
}

vkf_status vkf__generator_run(vkf_generator *generator, const vkf_generator_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &generator->context->host;
    generator_run run = {.generator = generator, .args = args};
    VKF_ALLOC(host, run.prompts, args->count);
    VKF_ALLOC(host, run.out, args->count);
    VKF_TRY(tokenize(&run));
    VKF_TRY(vkf__order_by_length(host, run.prompts, args->count, window_of(&run), &run.order));
    VKF_TRY(check_room(&run));
    VKF_TRY(run_batches(&run));
    memcpy(args->out_continuations, run.out, args->count * sizeof *run.out);
    if (args->out_cost)
        *args->out_cost = run.cost;
fail:
    for (uint32_t i = 0; i < args->count; i++) {
        if (run.prompts)
            vkf_encoding_free(&run.prompts[i]);
        if (run.out && status != VKF_OK)
            vkf_continuation_free(&run.out[i]);
    }
    vkf__free(host, run.prompts);
    vkf__free(host, run.order);
    vkf__free(host, run.out);
    return status;
}
