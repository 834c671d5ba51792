// vkformer run: passes batches of lines through the session.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sample_stats.h"
#include "output/json_output.h"
#include "output/progress.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "run/run_state.h"

#define STEADY_RUNS 5

void vkf_run_clear_batch(const run_state *state, run_batch *batch)
{
    for (uint32_t i = 0; i < state->batch; i++)
        vkf_text_line_clear(&batch->lines[i]);
    batch->line_count = batch->row_count = batch->source_len = 0;
}

bool vkf_run_take_batch(run_state *state, run_batch *batch)
{
    while (batch->line_count < state->batch) {
        vkf_text_line *line = &batch->lines[batch->line_count];
        vkf_line_result result = vkf_text_source_next(&state->source, line);
        if (result == VKF_LINE_END)
            break;
        if (result == VKF_LINE_FAILED || !vkf_text_line_encode(&state->source, state->vocabulary, state->config.unk_id,
                                                               state->config.max_source_len, line))
            return false;
        if (line->state == VKF_TEXT_READY) {
            batch->slots[batch->row_count++] = batch->line_count;
            if (line->id_count > batch->source_len)
                batch->source_len = line->id_count;
        }
        state->refused = state->refused || line->state == VKF_TEXT_REFUSED;
        batch->line_count++;
    }
    for (uint32_t row = 0; row < batch->row_count; row++) {
        const vkf_text_line *line = &batch->lines[batch->slots[row]];
        for (uint32_t i = 0; i < batch->source_len; i++)
            batch->source_ids[(size_t)row * batch->source_len + i] =
                i < line->id_count ? line->ids[i] : state->config.pad_id;
    }
    return true;
}

static bool generate(const run_state *state, const run_batch *batch)
{
    vkf_progress progress = vkf_progress_start("generating token");
    vkf_greedy_args args = {
        .batch = batch->row_count,
        .source_len = batch->source_len,
        .source_ids = batch->source_ids,
        .max_len = state->max_len,
        .out_ids = batch->target_ids,
        .out_lengths = batch->lengths,
        .progress = vkf_progress_show,
        .progress_user = &progress,
    };
    vkf_status status = vkf_session_greedy(batch->session, &args);
    vkf_progress_end(&progress);
    if (status != VKF_OK)
        vkf_print_error("running %ss %" PRIu64 " to %" PRIu64 " failed: %s", state->source.unit, batch->lines[0].number,
                        batch->lines[batch->line_count - 1].number, vkf_status_text(status));
    return status == VKF_OK;
}

// *out_text is the caller's to release; NULL (message printed) on failure.
static bool output_of(const run_state *state, const run_batch *batch, const vkf_text_line *line, uint32_t row,
                      char **out_text)
{
    const int32_t *ids = batch->target_ids + (size_t)row * state->max_len;
    uint32_t length = batch->lengths[row];
    *out_text = vkf_text_decode(state->vocabulary, ids, length);
    if (*out_text && length > 0 && ids[length - 1] != state->config.eos_id)
        vkf_print_warning("%s %" PRIu64 ": the output was cut off at %u tokens", state->source.unit, line->number,
                          length);
    return *out_text != NULL;
}

static bool print_output(const run_state *state, const vkf_text_line *line, const char *output)
{
    if (!state->options->json) {
        vkf_print_text(output, strlen(output));
        putchar('\n');
        return true;
    }
    json_t *object = json_object();
    vkf_json_put_string(object, "text", line->text);
    vkf_json_put_string(object, "output", output);
    return vkf_print_json(object);
}

bool vkf_run_print_batch(const run_state *state, const run_batch *batch)
{
    uint32_t row = 0;
    bool printed = true;
    for (uint32_t i = 0; i < batch->line_count && printed; i++) {
        const vkf_text_line *line = &batch->lines[i];
        char *text = NULL;
        printed = (line->state != VKF_TEXT_READY || output_of(state, batch, line, row++, &text)) &&
                  print_output(state, line, text ? text : "");
        free(text);
    }
    (void)vkf_flush_stdout();
    return printed;
}

// Runs the encoder alone and then everything, because a session only knows the GPU times of its last submission.
static bool report_gpu_times(const run_state *state, const run_batch *batch)
{
    vkf_device_info device;
    vkf_context_get_device_info(state->context, &device);
    if (!device.timestamps) {
        fputs("GPU time: this device has no timestamps\n", stderr);
        return true;
    }
    vkf_encode_args args = {
        .batch = batch->row_count, .source_len = batch->source_len, .source_ids = batch->source_ids};
    vkf_status status = vkf_session_encode(batch->session, &args);
    if (status != VKF_OK) {
        vkf_print_error("running the encoder failed: %s", vkf_status_text(status));
        return false;
    }
    return vkf_run_timing_print_gpu("GPU time, source", batch->session) && generate(state, batch) &&
           vkf_run_timing_print_gpu("GPU time, last token", batch->session);
}

// Times the first batch again and again.
static bool report_times(run_state *state, const run_batch *batch)
{
    double runs_ms[STEADY_RUNS];
    for (uint32_t i = 0; i < STEADY_RUNS; i++) {
        double start_ms = vkf_now_ms();
        if (!generate(state, batch))
            return false;
        runs_ms[i] = vkf_now_ms() - start_ms;
    }
    state->timing.steady_run_ms = vkf_median(runs_ms, STEADY_RUNS);
    state->timing.steady_runs = STEADY_RUNS;
    state->timing.batch = batch->row_count;
    for (uint32_t row = 0; row < batch->row_count; row++)
        state->timing.tokens += batch->lengths[row] > 0 ? batch->lengths[row] - 1 : 0;
    vkf_run_timing_print(&state->timing);
    return report_gpu_times(state, batch);
}

static bool draw_first_line(run_state *state, const run_batch *batch)
{
    const vkf_text_line *line = &batch->lines[0];
    if (line->state == VKF_TEXT_READY) {
        char *output = vkf_text_decode(state->vocabulary, batch->target_ids, batch->lengths[0]);
        const run_picture picture = {
            .options = state->options,
            .model = state->model,
            .vocabulary = state->vocabulary,
            .text = line->text,
            .output = output,
            .source_ids = line->ids,
            .source_count = line->id_count,
            .target_ids = batch->target_ids,
            .target_count = batch->lengths[0],
        };
        bool drawn = output && vkf_run_draw_attention(&picture);
        free(output);
        return drawn;
    }
    vkf_print_error("--attention: the first %s was not run, so there is nothing to draw", state->source.unit);
    state->refused = true;
    return true;
}

static bool run_one_batch(run_state *state, const run_batch *batch)
{
    double start_ms = vkf_now_ms();
    if (batch->row_count > 0 && !generate(state, batch))
        return false;
    double run_ms = vkf_now_ms() - start_ms;
    if (!vkf_run_print_batch(state, batch))
        return false;
    bool first_line = batch->lines[0].number == 1;
    if (first_line && state->options->attention.path && !draw_first_line(state, batch))
        return false;
    if (batch->row_count > 0 && state->options->timing && state->timing.steady_runs == 0) {
        state->timing.first_run_ms = run_ms;
        return report_times(state, batch);
    }
    return true;
}

bool vkf_run_lines(run_state *state)
{
    run_batch *batch = &state->batches[0];
    for (bool more = true; more;) {
        bool done = vkf_run_take_batch(state, batch) && (batch->line_count == 0 || run_one_batch(state, batch));
        more = batch->line_count > 0;
        vkf_run_clear_batch(state, batch);
        if (!done)
            return false;
    }
    if (state->options->attention.path && state->source.lines_taken == 0) {
        vkf_print_error("--attention: there was no text, so there is nothing to draw");
        state->refused = true;
    }
    if (state->options->timing && state->timing.steady_runs == 0)
        vkf_run_timing_print(&state->timing);
    return true;
}
