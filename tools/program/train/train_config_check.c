// Checks settings against each other.
#include "train/train_config.h"

#include <stdio.h>

#include "train/train_values.h"

static bool is_given(const vkf_train_config *config, vkf_train_key key)
{
    return config->origins[key] != VKF_TRAIN_DEFAULT;
}

static vkf_status fail_key(const vkf_train_config *config, vkf_train_key key, const char *problem)
{
    char name[VKF_TRAIN_NAME_BYTES];
    vkf_train_key_name(key, name);
    return vkf__fail(config->host, VKF_ERROR_INVALID_ARGUMENT, "'%s' (--%s) %s", name, vkf_train_rows[key].flag,
                     problem);
}

// Settings that change nothing unless a condition holds: whoever gives one believes otherwise.
static vkf_status check_useful(const vkf_train_config *config)
{
    const bool heldout = config->heldout.count > 0;
    const bool sgd = config->optimizer == VKF_TRAIN_SGD, lora = config->parameters == VKF_TRAIN_LORA;
    const char *not_sgd = "says nothing to sgd", *only_lora = "says nothing unless 'parameters' is \"lora\"";
    const char *only_heldout = "wants held-out examples: give 'data.heldout' (--heldout)";
    const struct {
        vkf_train_key key;
        bool useful;
        const char *problem;
    } rules[] = {
        {VKF_TRAIN_BETAS, !sgd, not_sgd},
        {VKF_TRAIN_EPS, !sgd, not_sgd},
        {VKF_TRAIN_MOMENTUM, sgd, "says nothing unless 'optimizer.name' is \"sgd\""},
        {VKF_TRAIN_NESTEROV, sgd && config->momentum > 0,
         "says nothing unless 'optimizer.momentum' (--momentum) is above 0"},
        {VKF_TRAIN_LORA_RANK, lora, only_lora},
        {VKF_TRAIN_LORA_ALPHA, lora, only_lora},
        {VKF_TRAIN_LORA_DROPOUT, lora, only_lora},
        {VKF_TRAIN_LORA_TARGETS, lora, only_lora},
        {VKF_TRAIN_EVAL_EVERY, heldout, only_heldout},
        {VKF_TRAIN_PATIENCE, heldout, only_heldout},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (is_given(config, rules[i].key) && !rules[i].useful)
            return fail_key(config, rules[i].key, rules[i].problem);
    return VKF_OK;
}

#define OF(type) (1u << VKF_TRAIN_##type)
#define ENCODERS (OF(TRANSFORMER) | OF(BERT) | OF(BART))
#define DECODERS (OF(TRANSFORMER) | OF(GPT2) | OF(LLAMA) | OF(BART))
#define ALL_TYPES ((1u << VKF_TRAIN_MODEL_TYPE_COUNT) - 1)

// What is said of a new model, and of which types: these need it, or else may have it.
static const struct new_model_key {
    vkf_train_key key;
    unsigned needed, possible;
} new_model_keys[] = {
    {VKF_TRAIN_TOKENIZER, ALL_TYPES, ALL_TYPES},
    {VKF_TRAIN_MODEL_TYPE, 0, ALL_TYPES},
    {VKF_TRAIN_D_MODEL, ALL_TYPES, ALL_TYPES},
    {VKF_TRAIN_NHEAD, ALL_TYPES, ALL_TYPES},
    {VKF_TRAIN_KV_HEADS, 0, OF(LLAMA)},
    {VKF_TRAIN_DIM_FEEDFORWARD, ALL_TYPES, ALL_TYPES},
    {VKF_TRAIN_ENCODER_LAYERS, ENCODERS, ENCODERS},
    {VKF_TRAIN_DECODER_LAYERS, DECODERS, DECODERS},
    {VKF_TRAIN_MAX_SOURCE_LEN, OF(TRANSFORMER) | OF(BERT), OF(TRANSFORMER) | OF(BERT)},
    {VKF_TRAIN_MAX_LEN, DECODERS, DECODERS}, // of both sides of BART
    {VKF_TRAIN_ACTIVATION, 0, ALL_TYPES},
    {VKF_TRAIN_NORM_FIRST, 0, OF(TRANSFORMER)},
    {VKF_TRAIN_SHARE_EMBED, 0, OF(TRANSFORMER)},
    {VKF_TRAIN_TIE_PROJ, 0, OF(TRANSFORMER) | OF(LLAMA)}, // the others' always is
};

#define NEW_MODEL_KEYS (sizeof new_model_keys / sizeof new_model_keys[0])

static vkf_status check_no_new_model(const vkf_train_config *config)
{
    for (size_t i = 0; i < NEW_MODEL_KEYS; i++)
        if (is_given(config, new_model_keys[i].key))
            return fail_key(config, new_model_keys[i].key,
                            "says nothing of a model that is there already: leave it out, or leave out 'model'");
    return VKF_OK;
}

// All that are missing, in one message.
static vkf_status check_needed(const vkf_train_config *config, unsigned type)
{
    char list[600] = "", name[VKF_TRAIN_NAME_BYTES];
    size_t length = 0, count = 0;
    for (size_t i = 0; i < NEW_MODEL_KEYS; i++) {
        const struct new_model_key *k = &new_model_keys[i];
        if (is_given(config, k->key) || !(k->needed & type))
            continue;
        vkf_train_key_name(k->key, name);
        length += (size_t)snprintf(list + length, sizeof list - length, "%s'%s' (--%s)", count++ > 0 ? ", " : "", name,
                                   vkf_train_rows[k->key].flag);
    }
    if (count == 0)
        return VKF_OK;
    return vkf__fail(config->host, VKF_ERROR_INVALID_ARGUMENT, "%s %s missing, and a new %s needs %s", list,
                     count > 1 ? "are" : "is", vkf_train_choice(VKF_TRAIN_KIND_MODEL_TYPE, config->model_type),
                     count > 1 ? "them" : "it");
}

static vkf_status check_new_model_keys(const vkf_train_config *config)
{
    char useless[80];
    const unsigned type = 1u << config->model_type;
    (void)snprintf(useless, sizeof useless, "says nothing of a new model of 'new_model.type' \"%s\"",
                   vkf_train_choice(VKF_TRAIN_KIND_MODEL_TYPE, config->model_type));
    for (size_t i = 0; i < NEW_MODEL_KEYS; i++) {
        const struct new_model_key *k = &new_model_keys[i];
        if (is_given(config, k->key) && !(k->possible & type))
            return fail_key(config, k->key, useless);
    }
    return check_needed(config, type);
}

static vkf_status check_new_model(const vkf_train_config *config)
{
    bool any = false;
    for (size_t i = 0; i < NEW_MODEL_KEYS; i++)
        any = any || is_given(config, new_model_keys[i].key);
    if (!any)
        return fail_key(config, VKF_TRAIN_MODEL,
                        "is missing; a new model takes 'tokenizer' (--tokenizer) and its sizes, from "
                        "'new_model.d_model' (--d-model) on");
    VKF_RETURN_IF_ERROR(check_new_model_keys(config));
    if (config->d_model % config->nhead != 0)
        return fail_key(config, VKF_TRAIN_D_MODEL, "is no multiple of 'new_model.nhead' (--nhead)");
    if (config->num_kv_heads > 0 && config->nhead % config->num_kv_heads != 0)
        return fail_key(config, VKF_TRAIN_NHEAD, "is no multiple of 'new_model.num_kv_heads' (--kv-heads)");
    if (config->model_type == VKF_TRAIN_LLAMA && config->d_model / config->nhead % 2 != 0)
        return fail_key(config, VKF_TRAIN_D_MODEL, "gives each head an odd width, and its positions turn pairs");
    if (config->parameters != VKF_TRAIN_ALL)
        return fail_key(config, VKF_TRAIN_PARAMETERS, "must be \"all\" for a new model, in which nothing is learned");
    return VKF_OK;
}

vkf_status vkf_train_config_check(const vkf_train_config *config)
{
    VKF_RETURN_IF_ERROR(config->model ? check_no_new_model(config) : check_new_model(config));
    VKF_RETURN_IF_ERROR(check_useful(config));
    if (config->train.count == 0)
        return fail_key(config, VKF_TRAIN_TRAIN, "is missing: there is nothing to learn from");
    if (!config->output)
        return fail_key(config, VKF_TRAIN_OUTPUT, "is missing");
    if (config->steps == 0 && config->epochs == 0)
        return fail_key(config, VKF_TRAIN_STEPS, "is missing, and so is 'epochs' (--epochs): the run would not end");
    if (config->schedule == VKF_TRAIN_PAPER && !is_given(config, VKF_TRAIN_LR))
        return fail_key(config, VKF_TRAIN_LR,
                        "is missing, which the paper's schedule takes as a factor: there it is 1");
    if (config->schedule == VKF_TRAIN_PAPER && config->warmup == 0)
        return fail_key(config, VKF_TRAIN_WARMUP, "must be 1 at least for the paper's schedule, which divides by it");
    return VKF_OK;
}
