// What trainers are given: a small model that may be trained, and batches of it.
#include <stdio.h>

#include "base/directories.h"
#include "support/model_files.h"
#include "valid_parts.h"

static vkf_test_directory drawn; // has a config.json

// Each profile's, as their tests run side by side.
static const char *checkpoint_name(bool made)
{
    static char names[2][64];
    (void)snprintf(names[made], sizeof names[made], "sweep.checkpoint-%d%s", (int)valid.gpu->profile,
                   made ? "" : ".new");
    return names[made];
}

static void remove_checkpoint(bool made)
{
    vkf__directory_remove_unheld(VKF_TEST_BINARY_DIR, checkpoint_name(made));
}

vkf_trainer *valid_vkf_trainer(const char *function)
{
    (void)function;
    return valid.trainer;
}

const char *valid_checkpoint(const char *function)
{
    static char path[sizeof VKF_TEST_BINARY_DIR + 64];
    const bool made = is(function, "vkf_trainer_restore") || is(function, "vkf_train_progress_read");
    if (!made)
        remove_checkpoint(false);
    (void)snprintf(path, sizeof path, VKF_TEST_BINARY_DIR "/%s", checkpoint_name(made));
    return path;
}

vkf_trainer_desc valid_vkf_trainer_desc(const char *function, const char *parameter)
{
    static const char *trained[1], *targets[1];
    (void)function;
    (void)parameter;
    trained[0] = "*norm*";
    targets[0] = "q_proj";
    return (vkf_trainer_desc){.max_batch = 1,
                              .max_target_len = 2,
                              .rate = 1e-3,
                              .trained = trained,
                              .trained_count = 1,
                              .lora_rank = 1,
                              .lora_targets = targets,
                              .lora_target_count = 1};
}

vkf_draw_weights_desc valid_vkf_draw_weights_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_draw_weights_desc){.directory = drawn.path,
                                   .message = take_message,
                                   .message_user = &valid,
                                   .allocator = {allocate, release, &valid}};
}

vkf_train_batch valid_vkf_train_batch(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_train_batch){.batch = 1, .target_len = 2, .target_ids = valid_memory(), .labels = valid_memory()};
}

void valid_make_trainer(void)
{
    const vkf_model_desc model = {.directory = valid_directory(""), .trainable = true};
    const vkf_trainer_desc desc = valid_vkf_trainer_desc("", "");
    assert_int_equal(vkf_model_load(valid.gpu->context, &model, &valid.trainable), VKF_OK);
    assert_int_equal(vkf_trainer_create(valid.trainable, &desc, &valid.trainer), VKF_OK);
    vkf_test_directory_make(&drawn);
    vkf_test_copy_file(&drawn, model.directory, "config.json");
    remove_checkpoint(true);
    assert_int_equal(vkf_trainer_save(valid.trainer, valid_checkpoint("vkf_trainer_restore")), VKF_OK);
}

void valid_free_trainer(void)
{
    vkf_trainer_destroy(&valid.trainer);
    vkf_model_destroy(&valid.trainable);
    vkf_test_directory_remove(&drawn);
    remove_checkpoint(true);
    remove_checkpoint(false);
}
