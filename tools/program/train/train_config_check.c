// Checks settings against each other.
#include "train/train_config.h"
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
    const bool new_model = !config->model, heldout = config->heldout.count > 0;
    const bool sgd = config->optimizer == VKF_TRAIN_SGD, lora = config->parameters == VKF_TRAIN_LORA;
    const char *beside_model = "says nothing of a model that is there already: leave it out, or leave out 'model'";
    const char *not_sgd = "says nothing to sgd", *only_lora = "says nothing unless 'parameters' is \"lora\"";
    const char *only_heldout = "wants held-out examples: give 'data.heldout' (--heldout)";
    const struct {
        vkf_train_key key;
        bool useful;
        const char *problem;
    } rules[] = {
        {VKF_TRAIN_TOKENIZER, new_model, beside_model},
        {VKF_TRAIN_D_MODEL, new_model, beside_model},
        {VKF_TRAIN_NHEAD, new_model, beside_model},
        {VKF_TRAIN_DIM_FEEDFORWARD, new_model, beside_model},
        {VKF_TRAIN_ENCODER_LAYERS, new_model, beside_model},
        {VKF_TRAIN_DECODER_LAYERS, new_model, beside_model},
        {VKF_TRAIN_MAX_SOURCE_LEN, new_model, beside_model},
        {VKF_TRAIN_MAX_LEN, new_model, beside_model},
        {VKF_TRAIN_ACTIVATION, new_model, beside_model},
        {VKF_TRAIN_NORM_FIRST, new_model, beside_model},
        {VKF_TRAIN_SHARE_EMBED, new_model, beside_model},
        {VKF_TRAIN_TIE_PROJ, new_model, beside_model},
        {VKF_TRAIN_BETAS, !sgd, not_sgd},
        {VKF_TRAIN_EPS, !sgd, not_sgd},
        {VKF_TRAIN_MOMENTUM, sgd, "says nothing unless 'optimizer.name' is \"sgd\""},
        {VKF_TRAIN_LORA_RANK, lora, only_lora},
        {VKF_TRAIN_LORA_ALPHA, lora, only_lora},
        {VKF_TRAIN_LORA_TARGETS, lora, only_lora},
        {VKF_TRAIN_EVAL_EVERY, heldout, only_heldout},
        {VKF_TRAIN_PATIENCE, heldout, only_heldout},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (is_given(config, rules[i].key) && !rules[i].useful)
            return fail_key(config, rules[i].key, rules[i].problem);
    return VKF_OK;
}

static vkf_status check_new_model(const vkf_train_config *config)
{
    static const vkf_train_key wanted[] = {VKF_TRAIN_D_MODEL,        VKF_TRAIN_NHEAD,   VKF_TRAIN_DIM_FEEDFORWARD,
                                           VKF_TRAIN_MAX_SOURCE_LEN, VKF_TRAIN_MAX_LEN, VKF_TRAIN_TOKENIZER};
    if (!is_given(config, VKF_TRAIN_D_MODEL))
        return fail_key(config, VKF_TRAIN_MODEL,
                        "is missing; for a new model give its sizes, from "
                        "'new_model.d_model' (--d-model) on");
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!is_given(config, wanted[i]))
            return fail_key(config, wanted[i], "is missing, and a new model needs it");
    if (config->num_encoder_layers == 0 || config->num_decoder_layers == 0)
        return fail_key(config, config->num_encoder_layers == 0 ? VKF_TRAIN_ENCODER_LAYERS : VKF_TRAIN_DECODER_LAYERS,
                        "is 0 or missing, and a new model has an encoder and a decoder");
    if (config->d_model % config->nhead != 0)
        return fail_key(config, VKF_TRAIN_D_MODEL, "is no multiple of 'new_model.nhead' (--nhead)");
    if (config->parameters != VKF_TRAIN_ALL)
        return fail_key(config, VKF_TRAIN_PARAMETERS, "must be \"all\" for a new model, in which nothing is learned");
    return VKF_OK;
}

vkf_status vkf_train_config_check(const vkf_train_config *config)
{
    VKF_RETURN_IF_ERROR(check_useful(config));
    if (!config->model)
        VKF_RETURN_IF_ERROR(check_new_model(config));
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
