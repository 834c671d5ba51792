// What a run learns: chosen by the model, the settings and a look at the data; and the settings that follow from it.
#ifndef VKF_PROGRAM_TRAIN_GOAL_H
#define VKF_PROGRAM_TRAIN_GOAL_H

#include <vkformer/directory.h>

#include "train/train_look.h"

// In the order of the names of 'task', which has "auto" before them.
typedef enum vkf_train_task {
    VKF_TASK_TRANSLATE = 0, // SEQ2SEQ: pairs
    VKF_TASK_CONTINUE,      // DECODER: texts, each of whose tokens is to follow from those before it
    VKF_TASK_COMPLETE,      // DECODER: prompts, and what is to follow them
    VKF_TASK_CLASSIFY,      // ENCODER with a head for sequences: texts and their classes
    VKF_TASK_TAG,           // ENCODER with a head for tokens: words and their classes
    VKF_TASK_FILL,          // ENCODER with a head for masked words: texts, of which some tokens are to be filled in
    VKF_TASK_EMBED,         // ENCODER without a head: pairs that belong together
    VKF_TASK_COUNT,
} vkf_train_task;

typedef struct vkf_train_goal {
    vkf_train_task task;
    // A head for classes that the model's file lacks, and which is to be drawn; NONE: it has what it needs. Its classes
    // are those of the data, or none where they are those of config.json's id2label.
    vkf_head drawn;
    vkf_train_classes classes;
    char *transformer;   // with `drawn`, the directory of the model's config.json and weights
    uint32_t long_texts; // a vkf_train_long, never AUTO
    uint32_t batch_rows; // 0: any number
    double lr;
} vkf_train_goal;

// `directory` is the model's; the goal is to be freed whether this succeeds or not. A new head is chosen where the
// model has none, or one for masked words, and the data name classes. Statuses: INVALID_ARGUMENT (a setting that the
// model or the task does not take), UNSUPPORTED (what the model's head does is not trained here), FORMAT (the data fit
// nothing that the model learns), those of files.
VKF_MUST_CHECK vkf_status vkf_train_goal_find(const vkf__host *host, const vkf_train_config *config,
                                              const char *directory, vkf_train_goal *out_goal);
void vkf_train_goal_free(const vkf__host *host, vkf_train_goal *goal);

// What the directory of a model has. Only errors are said: whoever loads the model warns of the rest. Statuses: those
// of vkf_inspection_load().
VKF_MUST_CHECK vkf_status vkf_train_inspect(const vkf__host *host, const char *directory,
                                            vkf_inspection **out_inspection);

#endif
