// A look at the first lines of training data, to tell what they are for, and at the classes that all of them name.
#ifndef VKF_PROGRAM_TRAIN_LOOK_H
#define VKF_PROGRAM_TRAIN_LOOK_H

#include "train/examples.h"
#include "train/train_config.h"

// What most of the first lines are.
typedef struct vkf_train_look {
    bool json;
    // Members of the first object: "prompt" or "completion", "messages", "label", "tokens", "source", "text".
    bool prompt, messages, label, tags, pair, text;
    bool columns; // of lines that are no objects: one tab
    bool words;   // and before it as many words as behind it, of which there are several somewhere
} vkf_train_look;

// Statuses: those of vkf_line_file_open() and vkf_line_file_read().
VKF_MUST_CHECK vkf_status vkf_train_look_at(const vkf__host *host, const vkf_train_config *config,
                                            vkf_train_look *out_look);

// The classes of all training examples, of texts (CLASS) or of words (TAGS).
typedef struct vkf_train_classes {
    char **names; // (count) sorted: as numbers where all of them are, else by their bytes, as transformers' examples do
    uint32_t count, examples;
    size_t capacity;
} vkf_train_classes;

// Broken lines are passed over without a word: whoever reads the examples afterwards warns of them. The classes are to
// be freed whether this succeeds or not. Statuses: FORMAT (they are no classes; the message says why), those of
// vkf_examples_open().
VKF_MUST_CHECK vkf_status vkf_train_classes_read(const vkf__host *host, const vkf_train_config *config,
                                                 vkf_example_kind kind, vkf_train_classes *out_classes);
void vkf_train_classes_free(const vkf__host *host, vkf_train_classes *classes);

#endif
