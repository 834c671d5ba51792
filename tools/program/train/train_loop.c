// Steps, with looks at held-out examples and checkpoints between them.
#include <inttypes.h>
#include <math.h>
#include <signal.h>

#include "command/commands.h"
#include "output/progress.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "train/train_run.h"
#include "training/trainer.h"

#define MOST_SKIPPED 10 // steps in a row whose gradients are not finite

// ---- interruption

static volatile sig_atomic_t interrupted;

// The first one ends the run behind the step that it is in; a second one ends the process.
static void interrupt(int number)
{
    interrupted = 1;
    (void)signal(number, SIG_DFL);
}

static void watch_signals(void)
{
    interrupted = 0;
    (void)signal(SIGINT, interrupt);
    (void)signal(SIGTERM, interrupt);
}

// Of this rank, or of another.
static bool is_interrupted(void)
{
    double any = interrupted;
    vkf_ranks_sum(&any, 1);
    return any > 0;
}

// ---- what is said

typedef struct loop {
    vkf_train_run *run;
    vkf_progress progress;
    double start_ms;
    uint64_t first_step; // of this part of the run
    uint32_t skipped;    // steps in a row
    bool looked;         // at the model as it is now
    bool out_of_patience;
    bool stopped; // all ranks know of an interruption
} loop;

static double seconds_of(const loop *l)
{
    return l->run->seconds_before + (vkf_now_ms() - l->start_ms) / 1000;
}

static void show_progress(loop *l, const vkf_train_log_line *line)
{
    char text[64];
    const uint64_t done = line->step - l->first_step, left = l->run->total_steps - line->step;
    const double minutes = (vkf_now_ms() - l->start_ms) / 60e3 / (double)(done > 0 ? done : 1) * (double)left;
    (void)snprintf(text, sizeof text, "loss %.4f, %.0f tokens/s, %.0f min %02.0f s left", line->loss,
                   line->tokens_per_second, floor(minutes), floor(60 * (minutes - floor(minutes))));
    (void)vkf_progress_show(&l->progress, (uint32_t)line->step, (uint32_t)l->run->total_steps, text);
}

// ---- a step

static uint64_t epoch_of(const vkf_train_run *run)
{
    return run->trainer->state.examples / vkf_batches_per_epoch(run->train.batches);
}

static vkf_status fill_batches(vkf_train_run *run, vkf_train_batch *out_batches, uint64_t *out_tokens)
{
    const uint64_t first = run->trainer->state.examples; // batches so far
    for (uint32_t i = 0; i < run->train.slot_count; i++) {
        VKF_RETURN_IF_ERROR(vkf_train_data_take(&run->train, first + i, i));
        out_batches[i] = run->train.slots[i].batch;
        *out_tokens += run->train.slots[i].tokens;
    }
    return VKF_OK;
}

// Takes the batches' gradients and steps the parameters.
static vkf_status step_once(vkf_train_run *run, vkf_train_batch *batches, vkf_train_result *out_result,
                            vkf_train_log_line *out_line)
{
    const double start_ms = vkf_now_ms();
    const uint64_t epoch = epoch_of(run);
    uint64_t tokens = 0;
    VKF_RETURN_IF_ERROR(fill_batches(run, batches, &tokens));
    VKF_RETURN_IF_ERROR(vkf_trainer_step(run->trainer, batches, run->train.slot_count, out_result));
    *out_line = (vkf_train_log_line){
        .type = VKF_TRAIN_LOG_STEP,
        .step = out_result->step,
        .loss = out_result->loss,
        .tokens = out_result->labels,
        .epoch = epoch,
        .grad_norm = out_result->gradient_norm,
        .lr = out_result->rate,
        .tokens_per_second = (double)tokens * 1000 / fmax(vkf_now_ms() - start_ms, 1e-3),
    };
    return VKF_OK;
}

static vkf_status count_skipped(loop *l, const vkf_train_result *result)
{
    l->skipped = result->skipped ? l->skipped + 1 : 0;
    if (l->skipped < MOST_SKIPPED)
        return VKF_OK;
    return vkf__fail(l->run->host, VKF_ERROR_NOT_FINITE,
                     "the gradients of %u batches in a row behind step %" PRIu64
                     " are not finite: a lower 'optimizer.lr' (--lr), or a 'clip_norm' (--clip-norm), may help",
                     l->skipped, result->step - 1);
}

static vkf_status one_step(loop *l, vkf_train_batch *batches)
{
    vkf_train_result result;
    vkf_train_log_line line;
    VKF_RETURN_IF_ERROR(step_once(l->run, batches, &result, &line));
    VKF_RETURN_IF_ERROR(count_skipped(l, &result));
    if (result.skipped)
        return VKF_OK;
    l->looked = false;
    line.seconds = seconds_of(l);
    if (!vkf_train_leads(l->run))
        return VKF_OK;
    show_progress(l, &line);
    return vkf_train_log_write(&l->run->log, &line);
}

// ---- held-out examples

// Each rank has a share of them.
static vkf_status evaluate(vkf_train_run *run, bool *out_stopped, vkf_train_log_line *out_line)
{
    enum { LOSS, LABELS, RIGHT, STOPPED, SUM_COUNT };
    const vkf_ranks *ranks = &run->options->ranks;
    const uint32_t count = vkf_batches_per_epoch(run->heldout.batches);
    double sums[SUM_COUNT] = {0};
    for (uint32_t i = ranks->rank; i < count && !interrupted; i += ranks->size) {
        vkf_train_result result;
        VKF_RETURN_IF_ERROR(vkf_train_data_take(&run->heldout, i, 0));
        VKF_RETURN_IF_ERROR(vkf_trainer_evaluate(run->trainer, &run->heldout.slots[0].batch, &result));
        sums[LOSS] += result.loss * (double)result.labels;
        sums[LABELS] += (double)result.labels;
        sums[RIGHT] += (double)result.right;
    }
    sums[STOPPED] = interrupted;
    vkf_ranks_sum(sums, SUM_COUNT);
    *out_stopped = sums[STOPPED] > 0;
    *out_line = (vkf_train_log_line){
        .type = VKF_TRAIN_LOG_EVAL,
        .step = vkf_trainer_steps(run->trainer),
        .loss = sums[LABELS] > 0 ? sums[LOSS] / sums[LABELS] : NAN,
        .tokens = (uint64_t)sums[LABELS],
        .accuracy = sums[LABELS] > 0 ? sums[RIGHT] / sums[LABELS] : NAN,
    };
    return VKF_OK;
}

static vkf_status judge(loop *l, const vkf_train_log_line *line)
{
    vkf_train_run *run = l->run;
    vkf__train_state *state = &run->trainer->state;
    if (state->best_step == 0 || line->loss < state->best) {
        state->best = line->loss;
        state->best_step = line->step;
        run->looks_since_best = 0;
        return vkf_train_save_best(run);
    }
    run->looks_since_best++;
    l->out_of_patience = run->config->patience > 0 && run->looks_since_best >= run->config->patience;
    return VKF_OK;
}

static vkf_status look(loop *l)
{
    vkf_train_log_line line;
    if (!l->run->heldout.batches || l->looked)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(evaluate(l->run, &l->stopped, &line));
    if (l->stopped) // in the middle of them
        return VKF_OK;
    line.seconds = seconds_of(l);
    if (vkf_train_leads(l->run))
        VKF_RETURN_IF_ERROR(vkf_train_log_write(&l->run->log, &line));
    VKF_RETURN_IF_ERROR(judge(l, &line));
    l->looked = true;
    if (!vkf_train_leads(l->run))
        return VKF_OK;
    vkf_progress_end(&l->progress);
    vkf_print("step %" PRIu64 ": loss %.6f of held-out examples, accuracy %.3f %%, %.0f s%s\n", line.step, line.loss,
              100 * line.accuracy, line.seconds,
              l->run->trainer->state.best_step == line.step ? ", the best so far" : "");
    (void)vkf_flush_stdout();
    return VKF_OK;
}

// ---- all of it

static bool is_due(uint32_t every, uint64_t step, bool new_epoch)
{
    return every > 0 ? step % every == 0 : new_epoch;
}

static bool goes_on(loop *l)
{
    l->stopped = l->stopped || is_interrupted();
    return !l->stopped && !l->out_of_patience && vkf_trainer_steps(l->run->trainer) < l->run->total_steps;
}

static vkf_status run_steps(loop *l, vkf_train_batch *batches)
{
    vkf_train_run *run = l->run;
    uint64_t epoch = epoch_of(run);
    while (goes_on(l)) {
        const uint64_t before = vkf_trainer_steps(run->trainer);
        VKF_RETURN_IF_ERROR(one_step(l, batches));
        const uint64_t step = vkf_trainer_steps(run->trainer);
        const bool new_epoch = epoch_of(run) > epoch;
        if (step == before)
            continue;
        epoch = epoch_of(run);
        if (is_due(run->config->eval_every, step, new_epoch))
            VKF_RETURN_IF_ERROR(look(l));
        if (is_due(run->config->save_every, step, new_epoch))
            VKF_RETURN_IF_ERROR(vkf_train_save(run));
    }
    if (!l->stopped)
        VKF_RETURN_IF_ERROR(look(l));
    return vkf_train_save(run);
}

static void say_how_it_ended(const vkf_train_run *run, bool done)
{
    const char *output = run->config->output;
    const uint64_t step = vkf_trainer_steps(run->trainer);
    const vkf__train_state *state = &run->trainer->state;
    if (done)
        vkf_print("%s/step-%" PRIu64 "%s\n", output, step,
                  run->config->parameters == VKF_TRAIN_LORA ? "/adapter is the trained adapter"
                                                            : " is the trained model");
    else if (run->saved_step > 0)
        vkf_print_warning("the training ended at step %" PRIu64 " of %" PRIu64 "; %s/step-%" PRIu64
                          " is its last checkpoint, from which --resume goes on",
                          step, run->total_steps, output, run->saved_step);
    if (state->best_step > 0)
        vkf_print("%s/best is that of step %" PRIu64 ", with the smallest loss of held-out examples, %.6f\n", output,
                  state->best_step, state->best);
}

int vkf_train_loop(vkf_train_run *run)
{
    vkf_status status = vkf_train_resume(run);
    vkf_train_batch *batches = NULL;
    loop l = {.run = run, .progress = vkf_progress_start("training: step"), .start_ms = vkf_now_ms()};
    l.first_step = vkf_trainer_steps(run->trainer);
    watch_signals();
    if (status == VKF_OK)
        status = VKF_ALLOC_STATUS(run->host, batches, run->train.slot_count);
    if (status == VKF_OK)
        status = run_steps(&l, batches);
    vkf_progress_end(&l.progress);
    vkf__free(run->host, batches);
    if (status != VKF_OK)
        vkf_print_error("the training failed: %s", vkf_status_text(status));
    if (run->log.stream && vkf_train_write_page(run) != VKF_OK)
        status = VKF_ERROR_FILE;
    const bool done = status == VKF_OK && !l.stopped;
    if (vkf_train_leads(run))
        say_how_it_ended(run, done);
    if (status == VKF_OK)
        vkf_ranks_end(); // who leaves with an exit code before the others ends them
    return done ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}
