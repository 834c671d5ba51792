// The directory of a run:
//
//   start            of a new model: what training begins with
//   step-N           the last checkpoints, models like any other
//   best             the checkpoint with the smallest loss of held-out examples
//   train.json       the settings that were given, to repeat the run
//   log.jsonl        see train/train_log.h
//   train.html       the log as pictures
#include <math.h>

#include "base/directories.h"
#include "base/new_file.h"
#include "io/file.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "train/train_page.h"
#include "train/train_run.h"
#include "train/train_steps.h"

vkf_status vkf_train_path(const vkf_train_run *run, const char *name, char **out_path)
{
    return vkf__path_join(run->host, run->config->output, name, out_path);
}

// ---- going on

// What the log knows of the run's earlier parts.
static vkf_status read_past(vkf_train_run *run, const char *path)
{
    vkf_train_log_line *lines = NULL;
    size_t count = 0;
    double best = INFINITY;
    VKF_RETURN_IF_ERROR(vkf_train_log_read(run->host, path, &lines, &count));
    for (size_t i = 0; i < count; i++) {
        run->seconds_before = lines[i].seconds;
        if (lines[i].type != VKF_TRAIN_LOG_EVAL)
            continue;
        run->looks_since_best = lines[i].loss < best ? 0 : run->looks_since_best + 1;
        best = fmin(best, lines[i].loss);
    }
    vkf__free(run->host, lines);
    return VKF_OK;
}

// A checkpoint of another model leaves everything as it was, the settings of its run too.
static vkf_status load_step(vkf_train_run *run, uint64_t step)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf_train_step_path(run->host, run->config->output, step, &path));
    const vkf_status status = vkf_trainer_restore(run->trainer, path);
    if (status == VKF_OK)
        run->saved_step = step;
    else if (vkf_train_leads(run))
        vkf_print_warning(
            "%s cannot be gone on from; if it is broken, move it away, and --resume takes the one before it", path);
    vkf__free(run->host, path);
    return status;
}

static vkf_status open_log(vkf_train_run *run, uint64_t step)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf_train_path(run, VKF_TRAIN_LOG, &path));
    vkf_status status = VKF_OK;
    if (vkf_train_leads(run))
        VKF_TRY(vkf_train_log_open(run->host, path, step, &run->log));
    vkf_ranks_meet();
    if (step > 0)
        VKF_TRY(read_past(run, path));
fail:
    vkf__free(run->host, path);
    return status;
}

vkf_status vkf_train_resume(vkf_train_run *run)
{
    uint64_t step = 0;
    if (vkf_train_last_step(run->config->output, &step))
        VKF_RETURN_IF_ERROR(load_step(run, step));
    if (vkf_train_leads(run) && !run->fresh)
        VKF_RETURN_IF_ERROR(vkf_train_write_settings(run));
    run->began = true;
    return open_log(run, step);
}

// ---- checkpoints

vkf_status vkf_train_save(vkf_train_run *run)
{
    const uint64_t step = vkf_trainer_get_steps(run->trainer);
    char *path = NULL;
    if (step == run->saved_step || !vkf_train_leads(run))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf_train_step_path(run->host, run->config->output, step, &path));
    vkf_status status = vkf_trainer_save(run->trainer, path);
    vkf__free(run->host, path);
    VKF_RETURN_IF_ERROR(status);
    run->saved_step = step;
    return vkf_train_keep_steps(run->host, run->config->output, VKF_TRAIN_KEPT_STEPS);
}

// Only a checkpoint is removed: whoever has put another directory there keeps it.
static vkf_status remove_checkpoint(const vkf_train_run *run, const char *name)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf_train_path(run, name, &path));
    vkf_status status = VKF_OK;
    if (vkf_train_is_checkpoint(run->config->output, name))
        status = vkf__new_directory_retire(run->host, path);
    else if (vkf__file_exists(path))
        status = vkf__fail(run->host, VKF_ERROR_FILE,
                           "%s: is no checkpoint of train, and is not replaced; move it away", path);
    vkf__free(run->host, path);
    return status;
}

// Whoever is killed between the two leaves a directory that is whole, under the other name.
vkf_status vkf_train_name_best(const vkf_train_run *run)
{
    vkf_status status = VKF_OK;
    char *next = NULL, *best = NULL;
    VKF_TRY(vkf_train_path(run, VKF_TRAIN_NEXT_BEST, &next));
    VKF_TRY(vkf_train_path(run, VKF_TRAIN_BEST, &best));
    VKF_TRY(remove_checkpoint(run, VKF_TRAIN_BEST));
    const int error = vkf__directory_rename(next, best);
    if (error != 0)
        status = vkf__fail(run->host, VKF_ERROR_FILE, "%s: cannot be replaced by %s: %s", best, next, strerror(error));
fail:
    vkf__free(run->host, next);
    vkf__free(run->host, best);
    return status;
}

vkf_status vkf_train_save_best(vkf_train_run *run)
{
    char *next = NULL;
    if (!vkf_train_leads(run))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(remove_checkpoint(run, VKF_TRAIN_NEXT_BEST));
    VKF_RETURN_IF_ERROR(vkf_train_path(run, VKF_TRAIN_NEXT_BEST, &next));
    const vkf_status status = vkf_trainer_save(run->trainer, next);
    vkf__free(run->host, next);
    return status == VKF_OK ? vkf_train_name_best(run) : status;
}

// ---- the page

#define FACT_BYTES 300
#define FACTS 7

typedef struct fact_list {
    vkf_train_fact facts[FACTS];
    char texts[FACTS][FACT_BYTES];
    size_t count;
} fact_list;

static void add_fact(fact_list *list, const char *name, const char *text)
{
    (void)snprintf(list->texts[list->count], FACT_BYTES, "%s", text);
    list->facts[list->count] = (vkf_train_fact){name, list->texts[list->count]};
    list->count++;
}

static void add_number(fact_list *list, const char *name, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    add_fact(list, name, text);
}

static void list_facts(const vkf_train_run *run, fact_list *out_list)
{
    vkf_device_info device;
    vkf_trainer_info info;
    vkf_train_progress progress;
    vkf_context_get_device_info(run->context, &device);
    vkf_trainer_get_info(run->trainer, &info);
    vkf_trainer_get_progress(run->trainer, &progress);
    *out_list = (fact_list){0};
    add_fact(out_list, "Device", device.name);
    add_fact(out_list, "Driver", device.driver_info);
    add_number(out_list, "Trained parameters", info.trained_count);
    add_number(out_list, "Examples", vkf_examples_count(run->train.examples));
    add_number(out_list, "Batches of an epoch", vkf_batches_per_epoch(run->train.batches));
    add_number(out_list, "Seed", run->config->seed);
    if (progress.skipped > 0)
        add_number(out_list, "Steps skipped, whose gradients were not finite", progress.skipped);
}

vkf_status vkf_train_write_page(vkf_train_run *run)
{
    vkf_status status = VKF_OK;
    char *log = NULL, *path = NULL;
    vkf_train_log_line *lines = NULL;
    vkf__new_file file = {0};
    fact_list list;
    size_t count = 0;
    VKF_TRY(vkf_train_path(run, VKF_TRAIN_LOG, &log));
    VKF_TRY(vkf_train_path(run, VKF_TRAIN_PAGE, &path));
    VKF_TRY(vkf_train_log_read(run->host, log, &lines, &count));
    list_facts(run, &list);
    const vkf_train_page page = {run->config->model ? run->config->model : run->config->output, list.facts, list.count,
                                 lines, count};
    VKF_TRY(vkf__new_file_open(run->host, path, &file));
    vkf_train_page_write(file.stream, &page);
    VKF_TRY(vkf__new_file_commit(&file));
fail:
    vkf__new_file_discard(&file);
    vkf__free(run->host, lines);
    vkf__free(run->host, log);
    vkf__free(run->host, path);
    return status;
}
