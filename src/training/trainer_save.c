// Saves a trainer's checkpoint, and goes on from one.
#include <string.h>

#include "base/directories.h"
#include "base/hash.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "training/trainer.h"

#define ADAPTER_FOLDER "adapter"

// What moments mean depends on it.
static uint64_t settings_of(const vkf_trainer *t)
{
    uint32_t settings[] = {(uint32_t)t->desc.optimizer, (uint32_t)t->desc.loss, 0};
    memcpy(&settings[2], &t->desc.lora_alpha, sizeof t->desc.lora_alpha);
    return vkf__hash(0, settings, sizeof settings);
}

// Saved by a training whose gradients are not scaled.
#define NO_SCALE 0.0f

// The adapter lies in a folder of its own, so that loaders of the model do not take it for the whole.
static vkf_status save_adapter(const vkf_trainer *t, const char *directory)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &t->context->host;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, ADAPTER_FOLDER, &path));
    const int error = vkf__directory_make(path, 0777);
    if (error != 0)
        VKF_TRY(vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be made: %s", path, strerror(error)));
    VKF_TRY(vkf__lora_save(&t->lora, path));
fail:
    vkf__free(host, path);
    return status;
}

vkf_status vkf__trainer_save_adapter(vkf_trainer *t, const char *directory)
{
    vkf_status status = VKF_OK;
    vkf__new_directory made = {0};
    if (t->lora.count == 0)
        return vkf__fail(&t->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_trainer_save_adapter: the trainer was made without lora_rank");
    VKF_TRY(vkf__new_directory_open(&t->context->host, directory, &made));
    VKF_TRY(vkf__lora_save(&t->lora, made.temporary));
    VKF_TRY(vkf__new_directory_commit(&made));
fail:
    vkf__new_directory_discard(&made);
    return status;
}

vkf_status vkf__trainer_save(vkf_trainer *t, const char *directory)
{
    vkf_status status = VKF_OK;
    vkf__new_directory made = {0};
    vkf__train_state state = t->state;
    state.settings = settings_of(t);
    if (!vkf__trainer_scales(t))
        state.loss_scale = NO_SCALE;
    VKF_TRY(vkf__new_directory_open(&t->context->host, directory, &made));
    VKF_TRY(vkf__checkpoint_save(t->model, &t->parameters, &state, made.temporary));
    if (t->lora.count > 0)
        VKF_TRY(save_adapter(t, made.temporary));
    VKF_TRY(vkf__new_directory_commit(&made));
fail:
    vkf__new_directory_discard(&made);
    return status;
}

vkf_status vkf__trainer_resume(vkf_trainer *t, const char *directory)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &t->context->host;
    vkf__train_state state = {.settings = settings_of(t)};
    char *path = NULL, *adapter = NULL;
    VKF_TRY(vkf__path_join(host, directory, VKF_TRAIN_STATE_FILE, &path));
    VKF_TRY(vkf__path_join(host, directory, ADAPTER_FOLDER, &adapter));
    if (t->lora.count > 0)
        VKF_TRY(vkf__lora_load(&t->lora, adapter, true));
    VKF_TRY(vkf__checkpoint_load_state(&t->parameters, path, &state));
    VKF_TRY(vkf__checkpoint_load_weights(t->model, directory));
    if (t->lora.count > 0)
        VKF_TRY(vkf__lora_load(&t->lora, adapter, false));
    if (!vkf__trainer_scales(t) || state.loss_scale == NO_SCALE)
        state.loss_scale = vkf__trainer_first_scale(t);
    t->state = state;
    vkf__trainer_seed(t);
    if (t->exchange)
        t->exchange->mark = -1;
fail:
    vkf__free(host, adapter);
    vkf__free(host, path);
    return status;
}
