// Loading a model whose file changes meanwhile, as under a download or a copy that has not ended: a status that says
// so, and never a crash or a model of two halves.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/model_files.h"

// What happens to the file, and when: before the tensor whose number it is.
typedef struct change {
    void (*apply)(const char *path);
    uint32_t at;
    char path[256];
    uint32_t calls;
} change;

typedef struct files {
    vkf_test_directory directory;
    vkf_test_weights weights;
    change change;
} files;

static void cut(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size / 2), 0);
}

static void cut_to_nothing(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

// The same bytes again, in place.
static void rewrite(const char *path)
{
    size_t size = 0;
    char *data = vkf_test_read_file(path, &size);
    vkf_test_write_file(path, data, size);
    free(data);
}

static void append(const char *path)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
}

// Another file under the name.
static void replace(const char *path)
{
    char other[300];
    (void)snprintf(other, sizeof other, "%s.other", path);
    vkf_test_write_file(other, "other", 5);
    assert_int_equal(rename(other, path), 0);
}

static bool apply(void *user, uint32_t done, uint32_t total, const char *what)
{
    change *c = user;
    assert_non_null(what);
    assert_true(done < total);
    c->calls++;
    if (done == c->at || (c->at == UINT32_MAX && done + 1 == total))
        c->apply(c->path);
    return true;
}

static void files_make(vkf_test_gpu *gpu, files *f, void (*what)(const char *path), uint32_t at)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    // The time of a file changes by ticks, and a test is fast.
    const struct timespec past[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    *f = (files){.change = {.apply = what, .at = at}};
    vkf_test_directory_make(&f->directory);
    vkf_test_weights_make(&gpu->random, &config, &f->weights);
    vkf_test_config_write(&config, vkf_test_path(&f->directory, "config.json"));
    (void)snprintf(f->change.path, sizeof f->change.path, "%s", vkf_test_path(&f->directory, "model.safetensors"));
    vkf_test_weights_write(&f->weights, VKF_STORED_F32, f->change.path);
    assert_int_equal(utimensat(AT_FDCWD, f->change.path, past, 0), 0);
}

static void files_free(files *f)
{
    vkf_test_weights_free(&f->weights);
    vkf_test_directory_remove(&f->directory);
}

static vkf_status load(vkf_test_gpu *gpu, files *f, vkf_model_precision precision, vkf_quantization quantization)
{
    const vkf_model_desc desc = {
        .directory = f->directory.path,
        .precision = precision,
        .quantization = quantization,
        .progress = apply,
        .progress_user = &f->change,
    };
    vkf_model *model = NULL;
    gpu->last_error[0] = '\0';
    vkf_status status = vkf_model_load(gpu->context, &desc, &model);
    assert_true((status == VKF_OK) == (model != NULL));
    vkf_model_destroy(&model);
    return status;
}

static const struct {
    vkf_model_precision precision;
    vkf_quantization quantization;
} kinds[] = {
    {VKF_MODEL_PRECISION_F32, VKF_QUANTIZATION_NONE}, // as the file has it
    {VKF_MODEL_PRECISION_F16, VKF_QUANTIZATION_NONE}, // converted
    {VKF_MODEL_PRECISION_F32, VKF_QUANTIZATION_Q8},   // into blocks
};

static void expect(void **state, void (*what)(const char *path), uint32_t at, vkf_status status, const char *message)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        files f;
        files_make(gpu, &f, what, at);
        vkf_status got = load(gpu, &f, kinds[i].precision, kinds[i].quantization);
        if (got != status || !strstr(gpu->last_error, message) ||
            (got != VKF_OK && !strstr(gpu->last_error, f.change.path)))
            fail_msg("kind %zu: %s: '%s', expected %s with '%s'", i, vkf_status_name(got), gpu->last_error,
                     vkf_status_name(status), message);
        assert_true(f.change.calls > at || at == UINT32_MAX);
        files_free(&f);
    }
}

static void test_load_of_a_file_that_is_truncated(void **state)
{
    expect(state, cut_to_nothing, 0, VKF_ERROR_FILE, "truncated while it was read");
    expect(state, cut, 1, VKF_ERROR_FILE, "truncated while it was read");
    expect(state, cut_to_nothing, UINT32_MAX, VKF_ERROR_FILE, "truncated while it was read");
}

static void test_load_of_a_file_that_is_written_to(void **state)
{
    expect(state, rewrite, 1, VKF_ERROR_FILE, "changed while it was read; start again");
    expect(state, append, UINT32_MAX, VKF_ERROR_FILE, "changed while it was read; start again");
}

static void test_load_of_a_file_that_is_replaced(void **state)
{
    expect(state, replace, 1, VKF_OK, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_of_a_file_that_is_truncated),
        cmocka_unit_test(test_load_of_a_file_that_is_written_to),
        cmocka_unit_test(test_load_of_a_file_that_is_replaced),
    };
    return cmocka_run_group_tests_name("loading files that change", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
