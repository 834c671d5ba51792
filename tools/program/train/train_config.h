// What a training run is told, by CONFIG.json and by options, which come first. CONFIG.json is an object with the keys
// of train_keys.h in sections:
//
//   {"model": "bert-tiny", "output": "trained", "epochs": 3, "data": {"train": ["a.tsv"]}, "optimizer": {"lr": 1e-4}}
#ifndef VKF_PROGRAM_TRAIN_CONFIG_H
#define VKF_PROGRAM_TRAIN_CONFIG_H

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>

#include "base/host.h"
#include "train/train_keys.h"

typedef enum vkf_train_optimizer { VKF_TRAIN_ADAMW = 0, VKF_TRAIN_ADAM, VKF_TRAIN_SGD } vkf_train_optimizer;

// PAPER is that of "Attention Is All You Need": lr * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5). LINEAR and
// COSINE fall to 0 at the end of the run.
typedef enum vkf_train_schedule {
    VKF_TRAIN_CONSTANT = 0,
    VKF_TRAIN_LINEAR,
    VKF_TRAIN_COSINE,
    VKF_TRAIN_PAPER,
} vkf_train_schedule;

typedef enum vkf_train_parameters { VKF_TRAIN_ALL = 0, VKF_TRAIN_HEAD, VKF_TRAIN_LORA } vkf_train_parameters;
typedef enum vkf_train_dtype { VKF_TRAIN_F32 = 0, VKF_TRAIN_F16, VKF_TRAIN_BF16 } vkf_train_dtype;
// TRANSFORMER is torch.nn.Transformer with a vocabulary.json, the others are families of Hugging Face's transformers:
// decoders, an encoder that fills in masked words, and an encoder-decoder.
typedef enum vkf_train_model_type {
    VKF_TRAIN_TRANSFORMER = 0,
    VKF_TRAIN_GPT2,
    VKF_TRAIN_LLAMA,
    VKF_TRAIN_BERT,
    VKF_TRAIN_BART,
    VKF_TRAIN_MODEL_TYPE_COUNT,
} vkf_train_model_type;
typedef enum vkf_train_activation { VKF_TRAIN_RELU = 0, VKF_TRAIN_GELU } vkf_train_activation;

// AUTO: see vkf_train_goal_find(). The others are those of vkf_train_task, in its order.
#define VKF_TRAIN_TASK_AUTO 0u
typedef enum vkf_train_loss_on { VKF_TRAIN_ON_COMPLETION = 0, VKF_TRAIN_ON_ALL } vkf_train_loss_on;
// What is done with a text that is too long: AUTO is BLOCK for texts that are to be continued or filled in, else CUT.
typedef enum vkf_train_long {
    VKF_TRAIN_LONG_AUTO = 0,
    VKF_TRAIN_LONG_BLOCK, // several examples are made of it
    VKF_TRAIN_LONG_CUT,   // its end is left out, as by transformers' truncation=True
    VKF_TRAIN_LONG_DROP,  // all of it is
} vkf_train_long;

typedef struct vkf_train_texts {
    char **items; // (count)
    uint32_t count;
} vkf_train_texts;

typedef enum vkf_train_origin { VKF_TRAIN_DEFAULT = 0, VKF_TRAIN_FILE, VKF_TRAIN_FLAG } vkf_train_origin;

// Members are those of train_keys.h, which says what they mean. A number whose limits begin at 1 is 0 where it is not
// given; so is `lr`. Choices hold values of the enums above.
typedef struct vkf_train_config {
    const vkf__host *host;
    char *model, *tokenizer, *output;
    vkf_train_texts train, heldout;
    uint32_t long_texts, max_length;
    bool pack;
    uint32_t max_bad_lines, max_line_bytes;
    uint32_t model_type;
    uint32_t d_model, nhead, num_kv_heads, dim_feedforward, num_encoder_layers, num_decoder_layers;
    uint32_t max_source_len, max_len;
    uint32_t activation;
    bool norm_first, share_embed, tie_proj;
    uint32_t optimizer, schedule;
    double lr, betas[2], eps, weight_decay, momentum;
    bool nesterov;
    uint32_t warmup;
    uint32_t task, loss_on;
    uint32_t parameters, lora_rank;
    double lora_alpha, lora_dropout;
    vkf_train_texts lora_targets;
    uint32_t dtype;
    uint64_t seed;
    double label_smoothing, dropout, attention_dropout, activation_dropout, contrastive_scale, clip_norm;
    uint32_t batch_tokens, batch_rows, accumulation, steps, epochs, eval_every, patience, save_every;
    bool gradient_checkpointing;
    vkf_train_origin origins[VKF_TRAIN_KEY_COUNT];
} vkf_train_config;

// Rows of options: VKF_TRAIN_KEYS(VKF_TRAIN_OPTION), of which take_key() has to be defined. A switch may be given with
// =true or =false.
#define VKF_TRAIN_OPTION(id, section, key, flag, what, member, min, max, help)                      \
    {.name = flag,                                                                                  \
     .kind = VKF_TRAIN_KIND_##what == VKF_TRAIN_KIND_BOOL ? VKF_OPTION_OPTIONAL : VKF_OPTION_TAKEN, \
     .offset = VKF_TRAIN_##id,                                                                      \
     .take = take_key},

// Defaults. The host must outlive the config, which vkf_train_config_free() releases.
void vkf_train_config_init(const vkf__host *host, vkf_train_config *out_config);
void vkf_train_config_free(vkf_train_config *config);

// Takes the value of an option; `text` is NULL for a switch without one. The first of a repeatable option replaces
// what the file says. Statuses: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_train_config_flag(vkf_train_config *config, vkf_train_key key, const char *text);

// Reads CONFIG.json. Keys that an option gave, before or after, keep the option's value. Statuses: FILE, FORMAT (a key
// is unknown or its value is wrong), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_train_config_load(vkf_train_config *config, const char *path);

// Takes what was not given from the settings of the run that is gone on with, as vkf_train_config_json() has written
// them. Statuses: INVALID_ARGUMENT (what was given is another where a run cannot change: the message says which),
// those of vkf_train_config_load().
VKF_MUST_CHECK vkf_status vkf_train_config_continue(vkf_train_config *config, const char *path);

// Whether all of it together makes a run. Status INVALID_ARGUMENT.
VKF_MUST_CHECK vkf_status vkf_train_config_check(const vkf_train_config *config);

// The settings that were given, as CONFIG.json has them, so that a run can be repeated. NULL when memory is exhausted;
// the caller releases it with json_decref().
json_t *vkf_train_config_json(const vkf_train_config *config);

// The options with their meaning, a line each.
void vkf_train_config_print_help(FILE *out);

#endif
