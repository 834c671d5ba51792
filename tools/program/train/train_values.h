// Values of single settings: how each is read from JSON and written as it, and what it must be.
#ifndef VKF_PROGRAM_TRAIN_VALUES_H
#define VKF_PROGRAM_TRAIN_VALUES_H

#include "train/train_config.h"

#define VKF_TRAIN_NAME_BYTES 64
#define VKF_TRAIN_EXPECTED_BYTES 160

typedef struct vkf_train_row {
    const char *section, *key, *flag; // section "": the top level
    vkf_train_kind kind;
    size_t offset; // of the member in vkf_train_config
    double min, max;
    const char *help;
} vkf_train_row;

extern const vkf_train_row vkf_train_rows[VKF_TRAIN_KEY_COUNT];

// Writes "optimizer.lr".
void vkf_train_key_name(vkf_train_key key, char out_name[VKF_TRAIN_NAME_BYTES]);

// Writes what a value must be: "a number from 0 to 1".
void vkf_train_expected(vkf_train_key key, char out_text[VKF_TRAIN_EXPECTED_BYTES]);

// The name of a choice, of a kind from DTYPE on.
const char *vkf_train_choice(vkf_train_kind kind, uint32_t choice);

// Statuses, without a message: FORMAT (it is none of what is expected; the config stays as it was),
// OUT_OF_HOST_MEMORY. A list is replaced.
VKF_MUST_CHECK vkf_status vkf_train_value_take(vkf_train_config *config, vkf_train_key key, const json_t *value);

// Adds an item to a list. Status OUT_OF_HOST_MEMORY, without a message.
VKF_MUST_CHECK vkf_status vkf_train_texts_add(const vkf__host *host, vkf_train_texts *texts, const char *text);
void vkf_train_texts_clear(const vkf__host *host, vkf_train_texts *texts);

// A number or switch as JSON, text and choice as a string, a list as an array. NULL: it is empty, or memory is
// exhausted.
json_t *vkf_train_value_json(const vkf_train_config *config, vkf_train_key key);

// Whether text or list is empty, or a number stands below its limits, which means that it was not given.
bool vkf_train_value_is_empty(const vkf_train_config *config, vkf_train_key key);

// The member of a config, of the type that the kind says.
void *vkf_train_member(vkf_train_config *config, vkf_train_key key);

#endif
