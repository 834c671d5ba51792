// A trainer that refuses a checkpoint is what it was before: weights, moments, counters, and every step from there on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"
#include "model/load/adapter.h"
#include "support/pretrained.h"
#include "support/trained.h"

#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"
#define WEIGHTS "model.safetensors"
#define STEPS 2 // further ones

// ---- what is done to a checkpoint

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

static bytes read_file(const char *path)
{
    bytes b = {.data = malloc(16u << 20)};
    FILE *stream = fopen(path, "rb");
    assert_true(stream && b.data);
    b.size = fread(b.data, 1, 16u << 20, stream);
    assert_true(b.size > 0 && b.size < 16u << 20);
    fclose(stream);
    return b;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

// Tensors are at a file's end, so its last four bytes are an element.
static void put_nan(const char *path, const bytes *whole)
{
    const uint32_t nan = 0x7fc00000;
    write_file(path, whole->data, whole->size);
    FILE *stream = fopen(path, "r+b");
    assert_true(stream && fseek(stream, -4, SEEK_END) == 0);
    assert_int_equal(fwrite(&nan, sizeof nan, 1, stream), 1);
    assert_int_equal(fclose(stream), 0);
}

static void cut_file(const char *path, const bytes *whole)
{
    write_file(path, whole->data, whole->size / 2);
}

static void remove_file(const char *path, const bytes *whole)
{
    (void)whole;
    assert_int_equal(vkf__file_remove(path), 0);
}

static void put_another_models(const char *path, const bytes *whole)
{
    char from[512];
    (void)whole;
    (void)snprintf(from, sizeof from, "%s/" WEIGHTS, vkf_test_pretrained("gpt2"));
    bytes other = read_file(from);
    write_file(path, other.data, other.size);
    free(other.data);
}

typedef struct damage {
    const char *name;
    void (*apply)(const char *path, const bytes *whole);
    vkf_status status;
} damage;

static const damage damages[] = {
    {"an element is NaN", put_nan, VKF_ERROR_FORMAT},
    {"the second half is missing", cut_file, VKF_ERROR_FORMAT},
    {"the file is missing", remove_file, VKF_ERROR_FILE},
    {"it is another model's", put_another_models, VKF_ERROR_FORMAT},
};

// ---- the tests

typedef struct tested {
    const char *directory, *weights;
    vkf_trainer_desc desc;
} tested;

static const char *const norms[] = {"*norm*"};
static const tested whole_model = {DEMO, WEIGHTS, {.rate = 1e-2, .dropout = 0.1f, .seed = 11}};
static const tested adapter = {
    NULL,
    VKF_ADAPTER_WEIGHTS,
    {.rate = 1e-2, .lora_rank = 2, .lora_dropout = 0.1f, .seed = 7, .trained = norms, .trained_count = 1}};

static const char *directory_of(const tested *of)
{
    return of->directory ? of->directory : vkf_test_pretrained("llama");
}

// The checkpoint of another training than those that are opened below.
static void save_other(vkf_test_gpu *gpu, const tested *of, const char *path)
{
    vkf_test_trained t;
    vkf_test_trained_open(&t, gpu, directory_of(of), &of->desc);
    (void)vkf_test_trained_step(&t, 3);
    vkf_test_must(gpu, vkf_trainer_save(t.trainer, path));
    vkf_test_trained_close(&t);
}

static void expect_refused(vkf_test_trained *t, const char *saved, const damage *d)
{
    vkf_test_everything before = vkf_test_trained_everything(t);
    const vkf_status status = vkf_trainer_restore(t->trainer, saved);
    if (status != d->status)
        fail_msg("%s: %s, %s", d->name, vkf_status_name(status), t->gpu->last_error);
    vkf_test_everything after = vkf_test_trained_everything(t);
    vkf_test_expect_same(&before, &after, d->name);
}

static void refuse_all(vkf_test_trained *t, const char *saved, const char *file)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", saved, file);
    bytes whole = read_file(path);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        damages[i].apply(path, &whole);
        expect_refused(t, saved, &damages[i]);
    }
    write_file(path, whole.data, whole.size);
    free(whole.data);
}

static void check_refusals(vkf_test_gpu *gpu, const tested *of)
{
    vkf_test_directory directory;
    vkf_test_trained t, control;
    char saved[512];
    vkf_test_directory_make(&directory);
    (void)snprintf(saved, sizeof saved, "%s/saved", directory.path);
    save_other(gpu, of, saved);
    vkf_test_trained_open(&t, gpu, directory_of(of), &of->desc);
    vkf_test_trained_open(&control, gpu, directory_of(of), &of->desc);
    control.batch = t.batch;
    (void)vkf_test_trained_step(&t, 1);
    (void)vkf_test_trained_step(&control, 1);
    refuse_all(&t, saved, of->weights);
    refuse_all(&t, saved, VKF_CHECKPOINT_FILE);
    (void)vkf_test_trained_step(&t, STEPS);
    (void)vkf_test_trained_step(&control, STEPS);
    vkf_test_everything a = vkf_test_trained_everything(&t), b = vkf_test_trained_everything(&control);
    vkf_test_expect_same(&a, &b, "steps behind a refusal");
    vkf_test_must(gpu, vkf_trainer_restore(t.trainer, saved)); // the damage was what it was refused for
    assert_int_equal(vkf_trainer_get_steps(t.trainer), 3);
    vkf_test_trained_close(&t);
    vkf_test_trained_close(&control);
    vkf__directory_remove_unheld(directory.path, "saved");
    vkf_test_directory_remove(&directory);
}

static void test_a_refused_checkpoint_changes_nothing(void **state)
{
    check_refusals(vkf_test_gpu_of(state), &whole_model);
}

static void test_a_refused_adapter_changes_nothing(void **state)
{
    check_refusals(vkf_test_gpu_of(state), &adapter);
}

// The checkpoint of an adapter has no weights of its base, whose names and shapes another model may have, too.
static void test_an_adapter_of_another_base_is_refused(void **state)
{
    const damage other = {"another base", NULL, VKF_ERROR_FORMAT};
    const float value = 0.125f;
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_test_trained t;
    char saved[512];
    vkf_test_directory_make(&directory);
    (void)snprintf(saved, sizeof saved, "%s/saved", directory.path);
    save_other(gpu, &adapter, saved);
    vkf_test_trained_open(&t, gpu, directory_of(&adapter), &adapter.desc);
    const vkf_tensor *first = &t.model->weights.trainable[0].tensor;
    vkf_test_must(gpu, vkf_buffer_write(first->buffer, first->offset_bytes, &value, sizeof value));
    expect_refused(&t, saved, &other);
    assert_non_null(strstr(gpu->last_error, "another model"));
    vkf_test_trained_close(&t);
    vkf__directory_remove_unheld(directory.path, "saved");
    vkf_test_directory_remove(&directory);
}

// An adapter's checkpoint is what PEFT saves, its base's name, and the state of the training: no copy of the base.
static void test_a_checkpoint_of_an_adapter_is_small(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    char saved[512], path[600];
    size_t count = 0;
    vkf_test_directory_make(&directory);
    (void)snprintf(saved, sizeof saved, "%s/saved", directory.path);
    save_other(gpu, &adapter, saved);
    vkf__listing *listing = vkf__listing_open(saved);
    assert_non_null(listing);
    for (const char *name; (name = vkf__listing_next(listing)); count++)
        assert_true(strcmp(name, VKF_ADAPTER_CONFIG) == 0 || strcmp(name, VKF_ADAPTER_WEIGHTS) == 0 ||
                    strcmp(name, VKF_CHECKPOINT_FILE) == 0);
    vkf__listing_close(listing);
    assert_int_equal(count, 3);
    (void)snprintf(path, sizeof path, "%s/" VKF_ADAPTER_CONFIG, saved);
    bytes config = read_file(path);
    char *base = vkf__path_absolute(directory_of(&adapter)), expected[700];
    assert_non_null(base);
    (void)snprintf(expected, sizeof expected, "\"base_model_name_or_path\": \"%s\"", base);
    config.data[config.size] = '\0';
    assert_non_null(strstr(config.data, expected));
    free(base);
    free(config.data);
    vkf__directory_remove_unheld(directory.path, "saved");
    vkf_test_directory_remove(&directory);
}

static void expect_progress(const vkf_train_progress *progress, uint64_t best_step, double best_loss)
{
    assert_int_equal(progress->steps, 3);
    assert_int_equal(progress->batches, 3);
    assert_int_equal(progress->skipped, 0);
    assert_int_equal(progress->best_step, best_step);
    assert_true(progress->best_loss == best_loss);
}

// A checkpoint has what its trainer was told, and whoever goes on from it, or reads it alone, has it, too.
static void test_a_checkpoint_has_the_progress(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_test_trained t;
    vkf_train_progress progress = {.steps = 7};
    char saved[512];
    vkf_test_directory_make(&directory);
    (void)snprintf(saved, sizeof saved, "%s/saved", directory.path);
    vkf_test_trained_open(&t, gpu, DEMO, &whole_model.desc);
    (void)vkf_test_trained_step(&t, 3);
    vkf_trainer_set_best(t.trainer, 2, 0.1);
    vkf_test_must(gpu, vkf_trainer_save(t.trainer, saved));
    vkf_trainer_set_best(t.trainer, 3, -0.5);
    vkf_trainer_get_progress(t.trainer, &progress);
    expect_progress(&progress, 3, -0.5);
    vkf_test_must(gpu, vkf_trainer_restore(t.trainer, saved));
    vkf_trainer_get_progress(t.trainer, &progress);
    expect_progress(&progress, 2, 0.1);
    progress = (vkf_train_progress){0};
    vkf_test_must(gpu, vkf_train_progress_read(gpu->context, saved, &progress));
    expect_progress(&progress, 2, 0.1);
    vkf_test_expect(gpu, vkf_train_progress_read(gpu->context, DEMO, &progress), VKF_ERROR_FILE, VKF_CHECKPOINT_FILE);
    expect_progress(&progress, 2, 0.1); // untouched
    (void)snprintf(saved, sizeof saved, "%s/saved/" VKF_CHECKPOINT_FILE, directory.path);
    write_file(saved, "{}", 2);
    *strrchr(saved, '/') = '\0';
    vkf_test_expect(gpu, vkf_train_progress_read(gpu->context, saved, &progress), VKF_ERROR_FORMAT,
                    VKF_CHECKPOINT_FILE);
    vkf_test_trained_close(&t);
    vkf__directory_remove_unheld(directory.path, "saved");
    vkf_test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refused_checkpoint_changes_nothing),
        cmocka_unit_test(test_a_refused_adapter_changes_nothing),
        cmocka_unit_test(test_an_adapter_of_another_base_is_refused),
        cmocka_unit_test(test_a_checkpoint_of_an_adapter_is_small),
        cmocka_unit_test(test_a_checkpoint_has_the_progress),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
