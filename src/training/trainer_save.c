// Saves a trainer's checkpoint, and goes on from one.
#include <string.h>

#include "base/hash.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "training/trainer.h"

#define HASHED_BYTES 1024u // of either end of a parameter

// What moments mean depends on it.
static uint64_t settings_of(const vkf_trainer *t)
{
    uint32_t settings[] = {(uint32_t)t->desc.optimizer, (uint32_t)t->desc.loss, 0};
    memcpy(&settings[2], &t->desc.lora_alpha, sizeof t->desc.lora_alpha);
    return vkf__hash(0, settings, sizeof settings);
}

// Saved by a training whose gradients are not scaled.
#define NO_SCALE 0.0f

static vkf_status hash_end(const vkf__span *value, uint64_t offset, uint64_t bytes, uint64_t *hash)
{
    uint8_t end[HASHED_BYTES];
    VKF_RETURN_IF_ERROR(vkf_buffer_read(value->buffer, value->offset_bytes + offset, end, bytes));
    *hash = vkf__hash(*hash, end, (size_t)bytes);
    return VKF_OK;
}

// Tells the model that an adapter is beside from others, which would take the adapter as well: both ends of each of its
// parameters that do not train. 0 without an adapter.
static vkf_status hash_base(const vkf_trainer *t, uint64_t *out_hash)
{
    uint64_t hash = t->lora.count > 0 ? VKF_HASH_SEED : 0;
    for (size_t i = 0; t->lora.count > 0 && i < t->model->weights.trainable_count; i++) {
        const vkf__span value = vkf__span_of(&t->parameters.items[i].value);
        const uint64_t bytes = value.size_bytes < HASHED_BYTES ? value.size_bytes : HASHED_BYTES;
        if (vkf__present(&t->parameters.items[i].gradient))
            continue;
        VKF_RETURN_IF_ERROR(hash_end(&value, 0, bytes, &hash));
        VKF_RETURN_IF_ERROR(hash_end(&value, value.size_bytes - bytes, bytes, &hash));
    }
    *out_hash = hash;
    return VKF_OK;
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
    vkf__train_state state = t->state;
    state.settings = settings_of(t);
    if (!vkf__trainer_scales(t))
        state.loss_scale = NO_SCALE;
    VKF_RETURN_IF_ERROR(hash_base(t, &state.base));
    return vkf__checkpoint_save(t->model, t->lora.count > 0 ? &t->lora : NULL, &t->parameters, &state, directory);
}

// Everything is checked before the first of it is loaded, so that a trainer is refused a checkpoint as a whole.
static vkf_status load(vkf_trainer *t, const char *directory, const char *state_path, bool check,
                       vkf__train_state *state)
{
    VKF_RETURN_IF_ERROR(t->lora.count > 0 ? vkf__lora_load(&t->lora, directory, check)
                                          : vkf__checkpoint_load_weights(t->model, directory, check));
    return vkf__checkpoint_load_state(&t->parameters, state_path, check, state);
}

vkf_status vkf__trainer_resume(vkf_trainer *t, const char *directory)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &t->context->host;
    vkf__train_state state = {.settings = settings_of(t)};
    char *path = NULL;
    VKF_TRY(hash_base(t, &state.base));
    VKF_TRY(vkf__path_join(host, directory, VKF_CHECKPOINT_FILE, &path));
    VKF_TRY(load(t, directory, path, true, &state));
    VKF_TRY(load(t, directory, path, false, &state));
    if (!vkf__trainer_scales(t) || state.loss_scale == NO_SCALE)
        state.loss_scale = vkf__trainer_first_scale(t);
    t->state = state;
    vkf__trainer_seed(t);
    if (t->exchange)
        t->exchange->mark = -1;
fail:
    vkf__free(host, path);
    return status;
}
