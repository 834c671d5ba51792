// Steps, with looks at held-out examples and checkpoints between them.
#include <inttypes.h>
#include <math.h>
#include <signal.h>

#include "command/commands.h"
#include "output/progress.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "train/train_pace.h"
#include "train/train_run.h"
#include "train/train_steps.h"

#define MOST_SKIPPED 10 // steps in a row whose gradients are not finite

// ---- interruption

static volatile sig_atomic_t interrupted;

// The first one ends the run behind the step that it is in; a second one ends the process. A terminal that goes away
// sends several, all for the one reason.
static void interrupt(int number)
{
    interrupted = 1;
#ifdef SIGHUP
    if (number == SIGHUP) {
        (void)signal(number, SIG_IGN);
        return;
    }
#endif
    (void)signal(number, SIG_DFL);
}

// What the process was started to ignore, as by nohup, stays ignored.
static void watch(int number)
{
    if (signal(number, interrupt) == SIG_IGN)
        (void)signal(number, SIG_IGN);
}

static void watch_signals(void)
{
    interrupted = 0;
    watch(SIGINT);
    watch(SIGTERM);
#ifdef SIGHUP
    watch(SIGHUP);
#endif
}

// ---- what is said

#define TOLD_EVERY_MS 60e3 // where no terminal shows the progress

typedef struct loop {
    vkf_train_run *run;
    vkf_progress progress;
    vkf_train_pace pace;
    double start_ms, step_ms, told_ms; // of the run, of the step that is under way, and of the last line that was told
    uint32_t skipped;                  // steps in a row
    bool looked;                       // at the model as it is now
    bool out_of_patience;
    bool stopped; // all ranks know of an interruption
    bool agreed;  // all ranks know of a failure
    bool whole;   // the weights are those of a step
} loop;

static double seconds_of(const loop *l)
{
    return l->run->seconds_before + (vkf_now_ms() - l->start_ms) / 1000;
}

static void show_progress(loop *l, const vkf_train_log_line *line)
{
    char text[96], left[VKF_TRAIN_LEFT_BYTES];
    const double now_ms = vkf_now_ms();
    vkf_train_pace_add(&l->pace, line->step, now_ms);
    vkf_train_pace_left(&l->pace, l->run->total_steps, left);
    (void)snprintf(text, sizeof text, "loss %.4f, %.0f tokens/s, %s", line->loss, line->tokens_per_second, left);
    (void)vkf_progress_show(&l->progress, (uint32_t)line->step, (uint32_t)l->run->total_steps, text);
    if (l->progress.terminal || (l->told_ms > 0 && now_ms - l->told_ms < TOLD_EVERY_MS))
        return;
    l->told_ms = now_ms;
    vkf_print("step %" PRIu64 " of %" PRIu64 ": %s\n", line->step, l->run->total_steps, text);
    (void)vkf_flush_stdout();
}

// What one rank meets, an interruption or examples that it cannot read, ends the run of all: they would wait for it.
static vkf_status agree(loop *l, vkf_status own)
{
    double sums[] = {interrupted, own != VKF_OK};
    vkf_ranks_sum(sums, 2);
    l->stopped = l->stopped || sums[0] > 0;
    l->agreed = sums[1] > 0;
    if (own == VKF_OK && l->agreed)
        return vkf__fail(l->run->host, VKF_ERROR_CANCELLED, "another rank cannot go on");
    return own;
}

// ---- a step

static vkf_train_progress progress_of(const vkf_train_run *run)
{
    vkf_train_progress progress;
    vkf_trainer_get_progress(run->trainer, &progress);
    return progress;
}

static uint64_t epoch_of(const vkf_train_run *run)
{
    return progress_of(run).batches / vkf_batches_per_epoch(run->train.batches);
}

static vkf_status fill_batches(vkf_train_run *run, vkf_train_batch *out_batches, uint64_t *out_tokens)
{
    const uint64_t first = progress_of(run).batches;
    for (uint32_t i = 0; i < run->train.slot_count; i++) {
        VKF_RETURN_IF_ERROR(vkf_train_data_take(&run->train, first + i, i));
        out_batches[i] = run->train.slots[i].batch;
        *out_tokens += run->train.slots[i].tokens;
    }
    return VKF_OK;
}

// Takes the batches' gradients and steps the parameters. What fails here leaves weights that are none of a step's, or a
// loss that is not finite.
static vkf_status step_once(loop *l, const vkf_train_batch *batches, uint64_t tokens, vkf_train_result *out_result,
                            vkf_train_log_line *out_line)
{
    vkf_train_run *run = l->run;
    const uint64_t epoch = epoch_of(run);
    l->whole = false;
    VKF_RETURN_IF_ERROR(vkf_trainer_step(run->trainer, batches, run->train.slot_count, out_result));
    l->whole = true;
    *out_line = (vkf_train_log_line){
        .type = out_result->skipped ? VKF_TRAIN_LOG_SKIPPED : VKF_TRAIN_LOG_STEP,
        .step = out_result->step,
        .loss = out_result->loss,
        .tokens = out_result->labels,
        .seconds = seconds_of(l),
        .epoch = epoch,
        .grad_norm = out_result->gradient_norm,
        .lr = out_result->rate,
        .tokens_per_second = (double)tokens * 1000 / fmax(vkf_now_ms() - l->step_ms, 1e-3),
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

// A scale that was too large is found by steps that are skipped, so these are nothing to warn of.
static vkf_status tell_step(loop *l, const vkf_train_log_line *line)
{
    if (!vkf_train_leads(l->run))
        return VKF_OK;
    if (line->type == VKF_TRAIN_LOG_STEP)
        show_progress(l, line);
    else if (l->run->config->dtype != VKF_TRAIN_F16) {
        vkf_progress_end(&l->progress);
        vkf_print_warning("the batch behind step %" PRIu64 " is left out: its gradients are not finite",
                          line->step - 1);
    }
    return vkf_train_log_write(&l->run->log, line);
}

static vkf_status one_step(loop *l, const vkf_train_batch *batches, uint64_t tokens)
{
    vkf_train_result result;
    vkf_train_log_line line;
    VKF_RETURN_IF_ERROR(step_once(l, batches, tokens, &result, &line));
    l->looked = l->looked && result.skipped;
    VKF_RETURN_IF_ERROR(tell_step(l, &line));
    return count_skipped(l, &result);
}

// ---- held-out examples

enum { LOSS, LABELS, RIGHT, SUM_COUNT };

// Each rank has a share of them.
static vkf_status sum_up(vkf_train_run *run, double sums[SUM_COUNT])
{
    const vkf_ranks *ranks = &run->options->ranks;
    const uint32_t count = vkf_batches_per_epoch(run->heldout.batches);
    for (uint32_t i = ranks->rank; i < count && !interrupted; i += ranks->size) {
        vkf_train_result result;
        VKF_RETURN_IF_ERROR(vkf_train_data_take(&run->heldout, i, 0));
        VKF_RETURN_IF_ERROR(vkf_trainer_evaluate(run->trainer, &run->heldout.slots[0].batch, &result));
        sums[LOSS] += result.loss * (double)result.labels;
        sums[LABELS] += (double)result.labels;
        sums[RIGHT] += (double)result.right;
    }
    return VKF_OK;
}

static vkf_status evaluate(loop *l, vkf_train_log_line *out_line)
{
    double sums[SUM_COUNT] = {0};
    VKF_RETURN_IF_ERROR(agree(l, sum_up(l->run, sums)));
    vkf_ranks_sum(sums, SUM_COUNT);
    *out_line = (vkf_train_log_line){
        .type = VKF_TRAIN_LOG_EVAL,
        .step = vkf_trainer_get_steps(l->run->trainer),
        .loss = sums[LABELS] > 0 ? sums[LOSS] / sums[LABELS] : NAN,
        .tokens = (uint64_t)sums[LABELS],
        .seconds = seconds_of(l),
        .accuracy = sums[LABELS] > 0 ? sums[RIGHT] / sums[LABELS] : NAN,
    };
    return VKF_OK;
}

// The checkpoint that is to be the best one says so itself. Where it cannot be written, it is not the best one.
static vkf_status take_best(vkf_train_run *run, const vkf_train_log_line *line)
{
    const vkf_train_progress before = progress_of(run);
    vkf_trainer_set_best(run->trainer, line->step, line->loss);
    const vkf_status status = vkf_train_save_best(run);
    if (status != VKF_OK) {
        vkf_trainer_set_best(run->trainer, before.best_step, before.best_loss);
        return status;
    }
    run->looks_since_best = 0;
    return VKF_OK;
}

static vkf_status judge(loop *l, const vkf_train_log_line *line)
{
    vkf_train_run *run = l->run;
    const vkf_train_progress progress = progress_of(run);
    if (progress.best_step == 0 || line->loss < progress.best_loss)
        return take_best(run, line);
    run->looks_since_best++;
    l->out_of_patience = run->config->patience > 0 && run->looks_since_best >= run->config->patience;
    return VKF_OK;
}

static vkf_status look(loop *l)
{
    vkf_train_log_line line;
    if (!l->run->heldout.batches || l->looked)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(evaluate(l, &line));
    if (l->stopped) // in the middle of them
        return VKF_OK;
    if (vkf_train_leads(l->run))
        VKF_RETURN_IF_ERROR(vkf_train_log_write(&l->run->log, &line));
    VKF_RETURN_IF_ERROR(judge(l, &line));
    l->looked = true;
    if (!vkf_train_leads(l->run))
        return VKF_OK;
    vkf_progress_end(&l->progress);
    vkf_print("step %" PRIu64 ": loss %.6f of held-out examples, accuracy %.3f %%, %.0f s%s\n", line.step, line.loss,
              100 * line.accuracy, line.seconds, progress_of(l->run).best_step == line.step ? ", the best so far" : "");
    (void)vkf_flush_stdout();
    return VKF_OK;
}

// ---- all of it

static bool is_due(uint32_t every, uint64_t step, bool new_epoch)
{
    return every > 0 ? step % every == 0 : new_epoch;
}

static vkf_status save(loop *l)
{
    l->whole = false; // what cannot be saved is not tried again
    VKF_RETURN_IF_ERROR(vkf_train_save(l->run));
    l->whole = true;
    return VKF_OK;
}

static bool goes_on(const loop *l)
{
    return !l->stopped && !l->out_of_patience && vkf_trainer_get_steps(l->run->trainer) < l->run->total_steps;
}

// Looks and checkpoints that are due behind a step.
static vkf_status look_and_save(loop *l, bool new_epoch)
{
    const vkf_train_run *run = l->run;
    const uint64_t step = vkf_trainer_get_steps(run->trainer);
    if (is_due(run->config->eval_every, step, new_epoch))
        VKF_RETURN_IF_ERROR(look(l));
    if (is_due(run->config->save_every, step, new_epoch))
        VKF_RETURN_IF_ERROR(save(l));
    return VKF_OK;
}

static vkf_status run_steps(loop *l, vkf_train_batch *batches)
{
    vkf_train_run *run = l->run;
    uint64_t epoch = epoch_of(run);
    while (goes_on(l)) {
        const uint64_t before = vkf_trainer_get_steps(run->trainer);
        uint64_t tokens = 0;
        l->step_ms = vkf_now_ms();
        VKF_RETURN_IF_ERROR(agree(l, fill_batches(run, batches, &tokens)));
        if (l->stopped)
            break;
        VKF_RETURN_IF_ERROR(one_step(l, batches, tokens));
        if (vkf_trainer_get_steps(run->trainer) == before)
            continue;
        VKF_RETURN_IF_ERROR(look_and_save(l, epoch_of(run) > epoch));
        epoch = epoch_of(run);
    }
    if (!l->stopped)
        VKF_RETURN_IF_ERROR(look(l));
    return save(l);
}

// Steps, and saves what they have come to before anything else ends them: data that cannot be read any more, a log or a
// best checkpoint that cannot be written.
static vkf_status train(loop *l)
{
    vkf_train_batch *batches = NULL;
    VKF_ALLOC_OR_RETURN(l->run->host, batches, l->run->train.slot_count);
    vkf_status status = run_steps(l, batches);
    vkf__free(l->run->host, batches);
    if (status != VKF_OK && l->whole) {
        const vkf_status saved = vkf_train_save(l->run);
        (void)saved; // the first failure is what to say
    }
    return status;
}

// The best checkpoint that is there; what the trainer knows may not have come to the disk.
static void say_best(const vkf_train_run *run)
{
    const char *output = run->config->output;
    vkf_train_progress best;
    char *path = NULL;
    if (!vkf_train_is_checkpoint(output, VKF_TRAIN_BEST) || vkf_train_path(run, VKF_TRAIN_BEST, &path) != VKF_OK)
        return;
    if (vkf_train_progress_read(run->context, path, &best) == VKF_OK)
        vkf_print("%s is that of step %" PRIu64 ", with the smallest loss of held-out examples, %.6f\n", path,
                  best.best_step, best.best_loss);
    vkf__free(run->host, path);
}

static void say_how_it_ended(const vkf_train_run *run, bool done)
{
    const char *output = run->config->output;
    const uint64_t step = vkf_trainer_get_steps(run->trainer);
    if (done && run->config->parameters == VKF_TRAIN_LORA)
        vkf_print("%s/step-%" PRIu64 " is the trained adapter of %s\n", output, step, run->start);
    else if (done)
        vkf_print("%s/step-%" PRIu64 " is the trained model\n", output, step);
    else if (run->saved_step > 0)
        vkf_print_warning("the training ended at step %" PRIu64 " of %" PRIu64 "; %s/step-%" PRIu64
                          " is its last checkpoint, from which --resume goes on",
                          step, run->total_steps, output, run->saved_step);
    else
        vkf_print_warning("the training ended at step %" PRIu64 " of %" PRIu64 ", and there is no checkpoint", step,
                          run->total_steps);
    say_best(run);
}

int vkf_train_loop(vkf_train_run *run)
{
    vkf_status status = vkf_train_resume(run);
    if (status != VKF_OK) {
        vkf_print_error("the training cannot begin: %s", vkf_status_text(status));
        return VKF_EXIT_FAILED;
    }
    loop l = {.run = run, .progress = vkf_progress_start("training: step"), .start_ms = vkf_now_ms(), .whole = true};
    l.pace = vkf_train_pace_begin(vkf_trainer_get_steps(run->trainer), l.start_ms);
    watch_signals();
    status = train(&l);
    vkf_progress_end(&l.progress);
    if (status != VKF_OK)
        vkf_print_error("the training failed: %s", vkf_status_text(status));
    if (run->log.stream && vkf_train_write_page(run) != VKF_OK)
        status = VKF_ERROR_FILE;
    const bool done = status == VKF_OK && !l.stopped;
    if (vkf_train_leads(run))
        say_how_it_ended(run, done);
    if (status == VKF_OK || l.agreed)
        vkf_ranks_end(); // who leaves with an exit code before the others ends them
    return done ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}
