// A training run: what `vkformer train` has in its hands while it goes on.
#ifndef VKF_PROGRAM_TRAIN_RUN_H
#define VKF_PROGRAM_TRAIN_RUN_H

#include "command/options.h"
#include "ranks/ranks.h"
#include "train/train_data.h"
#include "train/train_log.h"

typedef struct vkf_train_options {
    vkf_common_options common;
    vkf__host host; // prints messages
    vkf_train_config config;
    bool resume, check_gradients;
    vkf_ranks ranks; // see train/train_ranks.h
} vkf_train_options;

typedef struct vkf_train_run {
    const vkf_train_options *options;
    const vkf_train_config *config;
    const vkf__host *host;
    char *start;                // the directory of the model that training begins with
    vkf_inspection *inspection; // of that directory
    vkf_context *context;
    vkf_model *model;
    vkf_model_config model_config;
    vkf_train_goal goal;
    vkf_train_words words;
    vkf_train_data train, heldout; // `heldout` has no batches unless there are held-out examples
    vkf_trainer *trainer;
    vkf_train_log log;
    vkf_memory_plan memory; // of the trainer
    uint64_t total_steps;
    double seconds_before;     // of earlier parts of the run
    uint32_t looks_since_best; // at held-out examples
    uint64_t saved_step;       // of the last checkpoint; 0: there is none
    int lock;                  // of the directory; -1: it is not this rank's
    bool made_output;          // the directory was not there
    bool fresh;                // nothing of a run was in it
    bool began;                // something of this run is to stay
    char *scratch;             // where a check of gradients has its new model; NULL: nowhere
} vkf_train_run;

// What the directory of a run has, beside the checkpoints of steps.
#define VKF_TRAIN_START "start"
#define VKF_TRAIN_BEST "best"
#define VKF_TRAIN_NEXT_BEST "best.next" // is whole, and about to become the best one
#define VKF_TRAIN_SETTINGS "train.json"
#define VKF_TRAIN_LOG "log.jsonl"
#define VKF_TRAIN_PAGE "train.html"
#define VKF_TRAIN_KEPT_STEPS 3

// Whether this rank is the one that writes and prints.
static inline bool vkf_train_leads(const vkf_train_run *run)
{
    return run->options->ranks.rank == 0;
}

// train_setup.c: opens the device, the model, the examples and the trainer. A new model is written first. The run is to
// be closed whether this succeeds or not. False after a message.
bool vkf_train_open(const vkf_train_options *options, vkf_train_run *out_run);
void vkf_train_close(vkf_train_run *run);

// train_intro.c: says what the run will learn, and from what.
void vkf_train_say(const vkf_train_run *run);

// train_directory.c: makes the directory of the run this process's alone until it is left. What is in it has to be of a
// run, which is to be gone on with. What killed processes have left is removed, and a new run writes its settings.
// Status FILE: another process has the directory, or it has something else of a run's names.
VKF_MUST_CHECK vkf_status vkf_train_take_directory(vkf_train_run *run);
// A folder of the system's for a new model that nobody wants afterwards.
VKF_MUST_CHECK vkf_status vkf_train_take_scratch(vkf_train_run *run);
// A run that has not begun leaves nothing.
void vkf_train_leave_directory(vkf_train_run *run);
VKF_MUST_CHECK vkf_status vkf_train_write_settings(const vkf_train_run *run);

// train_files.c: the files of the directory of the run. Paths are released with vkf__free().
VKF_MUST_CHECK vkf_status vkf_train_path(const vkf_train_run *run, const char *name, char **out_path);
// Goes on from the last checkpoint, if there is one, and opens the log.
VKF_MUST_CHECK vkf_status vkf_train_resume(vkf_train_run *run);
// Writes a checkpoint of the last step, unless there is one, and removes older ones.
VKF_MUST_CHECK vkf_status vkf_train_save(vkf_train_run *run);
// Puts the model as it is into the place of the best one.
VKF_MUST_CHECK vkf_status vkf_train_save_best(vkf_train_run *run);
// Gives the next best one, which is whole, the name of the best one.
VKF_MUST_CHECK vkf_status vkf_train_name_best(const vkf_train_run *run);
// Draws the log.
VKF_MUST_CHECK vkf_status vkf_train_write_page(vkf_train_run *run);

// train_loop.c: steps until the end, or until the user interrupts. Returns an exit code.
int vkf_train_loop(vkf_train_run *run);

// train_gradients.c: compares gradients of the first batch with how its loss changes. Returns an exit code.
int vkf_train_check_gradients(vkf_train_run *run);

#endif
