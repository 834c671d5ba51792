// Who owns the directory of a run: one process at a time, and nothing in it that is not of a run is written over.
#include <errno.h>
#include <string.h>

#include "base/directories.h"
#include "base/make_directories.h"
#include "base/system_file.h"
#include "io/file.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "system/terminal.h"
#include "train/train_json.h"
#include "train/train_run.h"
#include "train/train_steps.h"

#define LOCK "train.lock"
#define FOLDER_BYTES 512

static const char *const checkpoints[] = {VKF_TRAIN_BEST, VKF_TRAIN_NEXT_BEST};
static const char *const others[] = {VKF_TRAIN_START, VKF_TRAIN_SETTINGS, VKF_TRAIN_LOG, VKF_TRAIN_PAGE};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    while (count > 0 && strcmp(names[count - 1], name) != 0)
        count--;
    return count > 0;
}

// ---- the lock

static vkf_status take_lock(vkf_train_run *run)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    VKF_TRY(vkf_train_path(run, LOCK, &path));
    run->lock = vkf__lock_take(path);
    if (run->lock < 0 && errno == EBUSY)
        status = vkf__fail(run->host, VKF_ERROR_FILE,
                           "%s: another run of train is at work in it; wait for its end, or give another directory "
                           "(--out)",
                           run->config->output);
    else if (run->lock < 0)
        status = vkf__fail(run->host, VKF_ERROR_FILE, "%s: cannot be made: %s", path, strerror(errno));
fail:
    vkf__free(run->host, path);
    return status;
}

static void release_lock(vkf_train_run *run)
{
    char *path = NULL;
    if (run->lock >= 0 && vkf_train_path(run, LOCK, &path) == VKF_OK)
        vkf__lock_release(path, run->lock);
    vkf__free(run->host, path);
    run->lock = -1;
}

// ---- what is there

// What of a run's names the directory has.
typedef struct findings {
    char name[32];    // one of them, "" for none
    char foreign[32]; // of a checkpoint, without what a checkpoint has; "" for none
    bool known;       // something tells that a run was here
} findings;

static vkf_status look_around(const vkf_train_run *run, findings *out_findings)
{
    const char *output = run->config->output;
    findings f = {0};
    uint64_t step;
    vkf__listing *listing = vkf__listing_open(output);
    if (!listing)
        return vkf__fail(run->host, VKF_ERROR_FILE, "%s: cannot be read: %s", output, strerror(errno));
    for (const char *name; (name = vkf__listing_next(listing));) {
        const bool checkpoint =
            vkf_train_is_step(name, &step) || is_one_of(name, checkpoints, sizeof checkpoints / sizeof checkpoints[0]);
        const bool whole = checkpoint && vkf_train_is_checkpoint(output, name);
        if (!checkpoint && !is_one_of(name, others, sizeof others / sizeof others[0]))
            continue;
        (void)snprintf(f.name, sizeof f.name, "%s", name);
        if (checkpoint && !whole)
            (void)snprintf(f.foreign, sizeof f.foreign, "%s", name);
        f.known = f.known || whole || strcmp(name, VKF_TRAIN_SETTINGS) == 0;
    }
    vkf__listing_close(listing);
    *out_findings = f;
    return VKF_OK;
}

// Directories that only have such names are never written over. The settings that are there were read before.
static vkf_status check_names(vkf_train_run *run)
{
    const char *output = run->config->output;
    findings f;
    VKF_RETURN_IF_ERROR(look_around(run, &f));
    run->fresh = f.name[0] == '\0';
    if (f.foreign[0] != '\0')
        return vkf__fail(run->host, VKF_ERROR_FILE,
                         "%s/%s is there, and is no checkpoint of train; move it away, or give another directory "
                         "(--out)",
                         output, f.foreign);
    if (f.name[0] != '\0' && !run->options->resume)
        return vkf__fail(run->host, VKF_ERROR_FILE,
                         "%s/%s is there already: --resume goes on with the run that is in the directory; for a new "
                         "run give another one (--out)",
                         output, f.name);
    if (f.name[0] != '\0' && !f.known)
        return vkf__fail(run->host, VKF_ERROR_FILE,
                         "%s/%s is there, but neither " VKF_TRAIN_SETTINGS " nor a checkpoint of train, so there is no "
                         "run to go on with; give another directory (--out)",
                         output, f.name);
    return VKF_OK;
}

// ---- taking it

vkf_status vkf_train_write_settings(const vkf_train_run *run)
{
    return vkf_train_json_write(run->host, vkf_train_config_json(run->config), run->config->output, VKF_TRAIN_SETTINGS);
}

static vkf_status clean(const vkf_train_run *run, const char *name)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf_train_path(run, name, &path));
    const vkf_status status = vkf__new_directory_clean(run->host, path);
    vkf__free(run->host, path);
    return status;
}

// Parts of the log, of the page and of the settings.
static void remove_parts(const vkf_train_run *run)
{
    static const char stem[] = "vkformer-";
    vkf__listing *listing = vkf__listing_open(run->config->output);
    for (const char *name; listing && (name = vkf__listing_next(listing));) {
        char *path = NULL;
        if (vkf__new_directory_is_temporary(name, stem, strlen(stem)) && vkf_train_path(run, name, &path) == VKF_OK)
            (void)vkf__file_remove(path);
        vkf__free(run->host, path);
    }
    vkf__listing_close(listing);
}

// What killed processes have left: parts of files and directories, and a best one that was about to get its name.
static vkf_status heal(const vkf_train_run *run)
{
    remove_parts(run);
    VKF_RETURN_IF_ERROR(vkf_train_keep_steps(run->host, run->config->output, VKF_TRAIN_KEPT_STEPS));
    VKF_RETURN_IF_ERROR(clean(run, VKF_TRAIN_BEST));
    VKF_RETURN_IF_ERROR(clean(run, VKF_TRAIN_NEXT_BEST));
    VKF_RETURN_IF_ERROR(clean(run, VKF_TRAIN_START));
    if (!vkf_train_is_checkpoint(run->config->output, VKF_TRAIN_NEXT_BEST) ||
        vkf_train_is_checkpoint(run->config->output, VKF_TRAIN_BEST))
        return VKF_OK;
    return vkf_train_name_best(run);
}

vkf_status vkf_train_take_directory(vkf_train_run *run)
{
    const char *output = run->config->output;
    run->made_output = !vkf__file_exists(output);
    const int error = vkf__make_directories(output, 0777);
    if (error != 0)
        return vkf__fail(run->host, VKF_ERROR_FILE, "%s: cannot be made: %s", output, strerror(error));
    VKF_RETURN_IF_ERROR(take_lock(run));
    VKF_RETURN_IF_ERROR(check_names(run));
    return run->fresh ? vkf_train_write_settings(run) : heal(run);
}

void vkf_train_leave_directory(vkf_train_run *run)
{
    char *settings = NULL;
    if (run->scratch)
        vkf__directory_remove_unheld(run->scratch, VKF_TRAIN_START);
    if (run->scratch)
        (void)vkf__directory_remove(run->scratch);
    vkf__free(run->host, run->scratch);
    run->scratch = NULL;
    if (run->fresh && !run->began && vkf_train_path(run, VKF_TRAIN_SETTINGS, &settings) == VKF_OK) {
        vkf__directory_remove_unheld(run->config->output, VKF_TRAIN_START);
        (void)vkf__file_remove(settings);
    }
    vkf__free(run->host, settings);
    release_lock(run);
    if (run->made_output && !run->began)
        (void)vkf__directory_remove(run->config->output); // unless something is in it
}

vkf_status vkf_train_take_scratch(vkf_train_run *run)
{
    char folder[FOLDER_BYTES], path[FOLDER_BYTES + 32];
    if (!vkf_temporary_folder(folder, sizeof folder))
        return vkf__fail(run->host, VKF_ERROR_FILE, "the system names no folder for files of a moment");
    (void)snprintf(path, sizeof path, "%s/vkformer-train-XXXXXX", folder);
    const int error = vkf__directory_make_temporary(path);
    if (error != 0)
        return vkf__fail(run->host, VKF_ERROR_FILE, "%s: cannot be made: %s", path, strerror(error));
    VKF_STRDUP_OR_RETURN(run->host, run->scratch, path);
    return VKF_OK;
}
