// Saves a trainer's checkpoint, and goes on from one.
#include "base/hash.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "training/trainer.h"

// What moments mean depends on it.
static uint64_t settings_of(const vkf_trainer *t)
{
    const uint32_t settings[] = {(uint32_t)t->desc.optimizer, (uint32_t)t->desc.loss};
    return vkf__hash(0, settings, sizeof settings);
}

vkf_status vkf__trainer_save(vkf_trainer *t, const char *directory)
{
    vkf_status status = VKF_OK;
    vkf__new_directory made = {0};
    vkf__train_state state = t->state;
    state.settings = settings_of(t);
    VKF_TRY(vkf__new_directory_open(&t->context->host, directory, &made));
    VKF_TRY(vkf__checkpoint_save(t->model, &t->parameters, &state, made.temporary));
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
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, VKF_TRAIN_STATE_FILE, &path));
    VKF_TRY(vkf__checkpoint_load_state(&t->parameters, path, &state));
    VKF_TRY(vkf__checkpoint_load_weights(t->model, directory));
    t->state = state;
    vkf__trainer_seed(t);
    if (t->exchange)
        t->exchange->mark = -1;
fail:
    vkf__free(host, path);
    return status;
}
