// Runs a generator: tokenizes prompts, batches them by length, and hands on texts as they become certain.
#include "model/generator.h"

#include <string.h>

#include "model/batch_order.h"
#include "model/cached_rows.h"
#include "model/session_run.h"
#include "model/stop_strings.h"
#include "model/text_stream.h"

// One run over all prompts.
typedef struct generator_run {
    vkf_generator *generator;
    const vkf_generator_args *args;
    vkf_encoding *prompts;     // (count)
    vkf__ranked *order;        // (count)
    vkf_continuation *out;     // (count)
    vkf__text_stream *streams; // (max_batch), of the rows of a batch
    vkf__ranked *rows;         // of the batch
    vkf_generation_cost cost;
    bool *silent;               // (max_batch): the caller wants no more of the row's text
    vkf_status callback_status; // the status of a callback that failed
} generator_run;

static vkf_status tokenize(generator_run *run)
{
    const vkf_encode_options options = {.truncation = VKF_TRUNCATION_NONE};
    for (uint32_t i = 0; i < run->args->count; i++)
        VKF_RETURN_IF_ERROR(
            vkf__text_model_encode(&run->generator->text, &run->args->prompts[i], NULL, &options, &run->prompts[i]));
    return VKF_OK;
}

// Hands on the text that became certain since byte `shown`. Returns false to end the row.
static bool show(generator_run *run, uint32_t row, size_t shown)
{
    const vkf__text_stream *stream = &run->streams[row];
    if (!run->args->on_text || run->silent[row] || stream->certain_bytes <= shown)
        return true;
    run->silent[row] = !run->args->on_text(run->args->on_text_user, run->rows[row].index, stream->text + shown,
                                           stream->certain_bytes - shown);
    return !run->silent[row];
}

static bool take_token(void *user, uint32_t row, int32_t token)
{
    generator_run *run = user;
    vkf__text_stream *stream = &run->streams[row];
    size_t shown = stream->certain_bytes;
    vkf_status status = vkf__text_stream_add(stream, token);
    if (status != VKF_OK) {
        run->callback_status = status;
        return false;
    }
    return show(run, row, shown) && !stream->stopped;
}

static int32_t choose(void *user, uint32_t row, float *logits, uint32_t vocab)
{
    const generator_run *run = user;
    return run->args->choose(run->args->choose_user, run->rows[row].index, logits, vocab);
}

// For beam search, which makes texts only at its end. A failure is reported after the run, by callback_status.
static bool ends_with_stop(void *user, uint32_t row, const int32_t *tokens, uint32_t count)
{
    (void)row;
    generator_run *run = user;
    const vkf__stop_strings strings = {&run->generator->text.tokenizer->parts, run->args->stops, run->args->stop_count};
    bool ends = false;
    vkf_status status = vkf__ends_with_stop(&strings, tokens, count, &ends);
    if (status != VKF_OK)
        run->callback_status = status;
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

static vkf_status keep(generator_run *run, uint32_t row, const int32_t *ids, uint32_t count, vkf_stop_reason reason)
{
    const vkf__host *host = &run->generator->context->host;
    vkf__text_stream *stream = &run->streams[row];
    vkf_continuation *out = &run->out[run->rows[row].index];
    const int32_t *prompt = NULL;
    size_t shown = stream->certain_bytes;
    vkf__text_stream_end(stream);
    (void)show(run, row, shown);
    out->allocator = host->allocator;
    out->reason = stream->stopped ? VKF_STOP_EOS : reason;
    out->prompt_count = tokens_of(run, run->rows[row].index, &prompt);
    VKF_ALLOC_OR_RETURN(host, out->ids, count);
    VKF_ALLOC_OR_RETURN(host, out->text, stream->size_bytes + 1);
    memcpy(out->ids, ids, count * sizeof *ids);
    out->id_count = count;
    if (stream->size_bytes > 0)
        memcpy(out->text, stream->text, stream->size_bytes);
    out->size_bytes = stream->size_bytes;
    return VKF_OK;
}

static uint32_t common(const generator_run *run, uint32_t row, uint32_t index)
{
    const int32_t *tokens = NULL;
    const uint32_t count = tokens_of(run, index, &tokens);
    return vkf__row_common(run->generator->session, row, tokens, count);
}

// Gives each row of the cache the prompt of the batch that goes on from most of what it holds. Where tokens are drawn
// the rows stay as they are, because what is drawn depends on them.
static void match_rows(const generator_run *run, uint32_t count)
{
    const vkf_generator *generator = run->generator;
    if (generator->whole_prompts || !generator->session->rows || run->args->sampling.temperature > 0.0f)
        return;
    for (uint32_t row = 0; row < count; row++) {
        uint32_t best = row, longest = common(run, row, run->rows[row].index);
        for (uint32_t other = row + 1; other < count; other++) {
            const uint32_t length = common(run, row, run->rows[other].index);
            best = length > longest ? other : best;
            longest = length > longest ? length : longest;
        }
        const vkf__ranked chosen = run->rows[best];
        run->rows[best] = run->rows[row];
        run->rows[row] = chosen;
    }
}

// Puts the prompts of a batch one after the other.
static vkf_status gather(const generator_run *run, uint32_t count, int32_t **out_ids, uint32_t *out_lengths,
                         uint32_t *out_longest)
{
    size_t total = 0;
    int32_t *ids = NULL;
    const int32_t *tokens = NULL;
    *out_longest = 0;
    for (uint32_t row = 0; row < count; row++) {
        out_lengths[row] = tokens_of(run, run->rows[row].index, &tokens);
        total += out_lengths[row];
        *out_longest = out_lengths[row] > *out_longest ? out_lengths[row] : *out_longest;
    }
    VKF_ALLOC_OR_RETURN(&run->generator->context->host, ids, total);
    *out_ids = ids;
    for (uint32_t row = 0; row < count; row++, ids += out_lengths[row - 1]) {
        (void)tokens_of(run, run->rows[row].index, &tokens);
        memcpy(ids, tokens, out_lengths[row] * sizeof *ids);
    }
    return VKF_OK;
}

static vkf_status generate(generator_run *run, vkf_generate_args *args, uint32_t room)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &run->generator->context->host;
    vkf_stop_reason *reasons = NULL;
    vkf_generation_cost cost = {0};
    VKF_ALLOC(host, args->out_ids, (size_t)args->batch * room);
    VKF_ALLOC(host, args->out_lengths, args->batch);
    VKF_ALLOC(host, reasons, args->batch);
    args->out_reasons = reasons;
    args->out_cost = &cost;
    run->callback_status = VKF_OK;
    for (uint32_t row = 0; row < args->batch; row++)
        vkf__text_stream_init(&run->streams[row], &run->generator->text.tokenizer->parts, run->args->stops,
                              run->args->stop_count);
    VKF_TRY(vkf__session_generate(run->generator->session, args));
    VKF_TRY(run->callback_status);
    run->cost.prompt_tokens += args->out_cost->prompt_tokens;
    run->cost.reused_tokens += args->out_cost->reused_tokens;
    run->cost.prompt_ns += args->out_cost->prompt_ns;
    run->cost.new_tokens += args->out_cost->new_tokens;
    run->cost.new_ns += args->out_cost->new_ns;
    for (uint32_t row = 0; row < args->batch; row++)
        VKF_TRY(keep(run, row, args->out_ids + (size_t)row * room, args->out_lengths[row], reasons[row]));
fail:
    for (uint32_t row = 0; row < args->batch; row++)
        vkf__text_stream_free(&run->streams[row]);
    vkf__free(host, args->out_ids);
    vkf__free(host, args->out_lengths);
    vkf__free(host, reasons);
    return status;
}

static vkf_status run_batch(generator_run *run, uint32_t count)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &run->generator->context->host;
    uint32_t *lengths = NULL;
    int32_t *ids = NULL;
    uint32_t longest = 0;
    VKF_ALLOC(host, lengths, count);
    match_rows(run, count);
    VKF_TRY(gather(run, count, &ids, lengths, &longest));
    uint32_t wanted = run->args->max_new_tokens;
    VKF_TRY(vkf__session_check_room(run->generator->session, longest, wanted));
    vkf_generate_args args = {
        .batch = count,
        .prompt_ids = ids,
        .prompt_lengths = lengths,
        .max_new_tokens = wanted,
        .sampling = run->args->sampling,
        .beams = run->args->beams,
        .ends = run->args->beams.num_beams > 1 && run->args->stop_count > 0 ? ends_with_stop : NULL,
        .ends_user = run,
        .choose = run->args->choose ? choose : NULL,
        .choose_user = run,
        .reuse_cache = !run->generator->whole_prompts,
        .on_token = take_token,
        .on_token_user = run,
        .progress = run->args->progress,
        .progress_user = run->args->progress_user,
    };
    VKF_TRY(generate(run, &args, wanted > 0 ? wanted : vkf__session_room(run->generator->session, longest)));
fail:
    vkf__free(host, lengths);
    vkf__free(host, ids);
    return status;
}

vkf_status vkf__generator_run(vkf_generator *generator, const vkf_generator_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &generator->context->host;
    generator_run run = {.generator = generator, .args = args};
    VKF_ALLOC(host, run.prompts, args->count);
    VKF_ALLOC(host, run.out, args->count);
    VKF_ALLOC(host, run.streams, generator->max_batch);
    VKF_ALLOC(host, run.silent, generator->max_batch);
    VKF_TRY(tokenize(&run));
    VKF_TRY(vkf__order_by_length(host, run.prompts, args->count, &run.order));
    for (uint32_t first = 0; first < args->count; first += generator->max_batch) {
        uint32_t left = args->count - first;
        run.rows = run.order + first;
        memset(run.silent, 0, generator->max_batch * sizeof *run.silent);
        VKF_TRY(run_batch(&run, left < generator->max_batch ? left : generator->max_batch));
    }
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
    vkf__free(host, run.streams);
    vkf__free(host, run.silent);
    return status;
}
