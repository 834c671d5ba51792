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
    char *start; // the directory of the model that training begins with
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
} vkf_train_run;

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

// train_files.c: the files of the directory of the run. Paths are released with vkf__free().
VKF_MUST_CHECK vkf_status vkf_train_path(const vkf_train_run *run, const char *name, char **out_path);
// Whether the directory fits what the options want: it has checkpoints only if these are to be gone on from.
VKF_MUST_CHECK vkf_status vkf_train_settle_directory(const vkf_train_options *options);
// Goes on from the last checkpoint, if there is one, and opens the log.
VKF_MUST_CHECK vkf_status vkf_train_resume(vkf_train_run *run);
// Writes a checkpoint of the last step, unless there is one, and removes older ones.
VKF_MUST_CHECK vkf_status vkf_train_save(vkf_train_run *run);
// Puts the model as it is into the place of the best one.
VKF_MUST_CHECK vkf_status vkf_train_save_best(vkf_train_run *run);
// Draws the log.
VKF_MUST_CHECK vkf_status vkf_train_write_page(vkf_train_run *run);

// train_loop.c: steps until the end, or until the user interrupts. Returns an exit code.
int vkf_train_loop(vkf_train_run *run);

// train_gradients.c: compares gradients of the first batch with how its loss changes. Returns an exit code.
int vkf_train_check_gradients(vkf_train_run *run);

#endif
