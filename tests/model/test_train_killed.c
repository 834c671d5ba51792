// A process that is killed while it writes and removes checkpoints leaves whole ones alone. VKF_TEST_ALL=1: 50 are.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/directories.h"
#include "io/safetensors.h"
#include "model/load/model.h"
#include "support/model_files.h"
#include "train/train_steps.h"
#include "training/train_checkpoint.h"

#define KEPT 2
#define MOST_NS 30000000L // into the next checkpoint until a process is killed

// Writes steps from `first` on until it is killed; a weight of each is its number. A byte through `ready` says that it
// begins the next one.
static void write_steps(const char *directory, const char *root, uint64_t first, int ready)
{
    vkf_test_gpu gpu = {0};
    vkf_context_desc desc = {0};
    vkf_model *model = NULL;
    vkf__parameters p;
    if (vkf_test_gpu_open(&gpu, &desc) != 0 || !gpu.context)
        _exit(77);
    const vkf_model_desc model_desc = {.directory = directory, .trainable = true};
    if (vkf_model_load(gpu.context, &model_desc, &model) != VKF_OK ||
        vkf__parameters_create(model, NULL, 0, 1, &p) != VKF_OK)
        _exit(1);
    for (vkf__train_state state = {.step = first}; state.step < first + 10000; state.step++) {
        const vkf__span *bias = &p.ranges[0].value;
        const float value = (float)state.step;
        char *path = NULL;
        if (write(ready, "", 1) != 1 ||
            vkf_buffer_write(bias->buffer, p.items[0].value.offset_bytes, &value, sizeof value) != VKF_OK ||
            vkf_train_step_path(&gpu.context->host, root, state.step, &path) != VKF_OK ||
            vkf__checkpoint_save(model, NULL, &p, &state, path) != VKF_OK ||
            vkf_train_keep_steps(&gpu.context->host, root, KEPT) != VKF_OK)
            _exit(1);
        vkf__free(&gpu.context->host, path);
    }
    _exit(1);
}

static bool is_file_of(const char *path, const char *name, uint64_t step)
{
    vkf__host host;
    char full[600];
    vkf__tensor_file *file = NULL;
    (void)snprintf(full, sizeof full, "%s/%s", path, name);
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    if (vkf__safetensors_open(&host, full, &file) != VKF_OK)
        return false;
    const char *text = json_string_value(json_object_get(vkf__tensor_file_metadata(file), "step"));
    bool whole = !text || strtoull(text, NULL, 10) == step;
    float value = -1;
    for (size_t i = 0; !text && whole && i < vkf__tensor_file_count(file); i++) {
        const vkf__stored_tensor *tensor = vkf__tensor_file_at(file, i);
        float first = 0;
        whole = vkf__stored_read(tensor, 0, sizeof first, &first) == VKF_OK;
        value = first == (float)step ? first : value;
    }
    vkf__tensor_file_close(&file);
    return whole && (text || value == (float)step);
}

// How many directories of steps there are; each must be whole.
static size_t check_steps(const char *root)
{
    size_t count = 0;
    vkf__listing *listing = vkf__listing_open(root);
    for (const char *name; (name = vkf__listing_next(listing));) {
        char path[512];
        if (strncmp(name, "step-", 5) != 0)
            continue;
        const uint64_t step = strtoull(name + 5, NULL, 10);
        (void)snprintf(path, sizeof path, "%s/%s", root, name);
        if (!is_file_of(path, "model.safetensors", step) || !is_file_of(path, VKF_CHECKPOINT_FILE, step))
            fail_msg("%s is not whole", path);
        count++;
    }
    vkf__listing_close(listing);
    return count;
}

// Removing older steps removes what killed processes have left as well.
static void check_nothing_left(const char *root)
{
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    assert_int_equal(vkf_train_keep_steps(&host, root, KEPT), VKF_OK);
    vkf__listing *listing = vkf__listing_open(root);
    for (const char *name; (name = vkf__listing_next(listing));)
        if (strncmp(name, "step-", 5) != 0)
            fail_msg("%s is left", name);
    vkf__listing_close(listing);
}

static void kill_one(const char *directory, const char *root, uint64_t first, int saves, long after_ns)
{
    int ready[2], status = 0;
    char byte;
    bool began = true;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_steps(directory, root, first, ready[1]);
    close(ready[1]);
    for (int i = 0; i <= saves; i++)
        began = began && read(ready[0], &byte, 1) == 1;
    if (began) {
        nanosleep(&(struct timespec){.tv_nsec = after_ns}, NULL);
        kill(child, SIGKILL);
    }
    close(ready[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!began && WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(began && WIFSIGNALED(status));
}

static void test_a_killed_process_leaves_whole_checkpoints(void **state)
{
    (void)state;
    vkf_test_directory directory, root;
    vkf_test_weights weights;
    vkf_test_random random;
    vkf_model_config config = vkf_test_small_seq2seq();
    const int kills = vkf_test_all() ? 50 : 10;
    uint64_t step = 0;
    size_t most = 0;
    vkf_test_directory_make(&directory);
    vkf_test_directory_make(&root);
    vkf_test_random_init(&random, 1);
    vkf_test_weights_make(&random, &config, &weights);
    vkf_test_config_write(&config, vkf_test_path(&directory, "config.json"));
    vkf_test_weights_write(&weights, VKF_STORED_F32, vkf_test_path(&directory, "model.safetensors"));
    for (int i = 0; i < kills; i++) {
        kill_one(directory.path, root.path, step + 1, i % 3, (i * 37 % kills) * (MOST_NS / kills));
        const size_t count = check_steps(root.path);
        most = count > most ? count : most;
        assert_true(count <= KEPT + 1);
        assert_true(vkf_train_last_step(root.path, &step) == (count > 0));
    }
    assert_true(most >= KEPT && step >= (uint64_t)kills - 2); // there was something to break
    check_nothing_left(root.path);
    vkf__listing *listing = vkf__listing_open(root.path);
    for (const char *name; (name = vkf__listing_next(listing));)
        vkf__directory_remove_unheld(root.path, name);
    vkf__listing_close(listing);
    vkf_test_directory_remove(&root);
    vkf_test_directory_remove(&directory);
    vkf_test_weights_free(&weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_process_leaves_whole_checkpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
