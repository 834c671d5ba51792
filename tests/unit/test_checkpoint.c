// Checkpoints: one file, or several that an index names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/checkpoint.h"
#include "io/safetensors.h"

#include "recording_host.h"
#include "scratch_directory.h"

static const float values[] = {1, 2, 3, 4};

static void write_file(scratch_directory *scratch, const char *file, const char *first, const char *second)
{
    recording_host recording;
    recording_host_init(&recording);
    const vkf__stored_tensor tensors[] = {
        {.name = first,
         .type = VKF_STORED_F32,
         .rank = 1,
         .shape = {3},
         .data = (const uint8_t *)values,
         .size_bytes = 12},
        {.name = second,
         .type = VKF_STORED_F32,
         .rank = 1,
         .shape = {2},
         .data = (const uint8_t *)values,
         .size_bytes = 8},
    };
    assert_int_equal(vkf__safetensors_write(&recording.host, scratch_path(scratch, file), tensors, second ? 2 : 1),
                     VKF_OK);
}

static void write_index(scratch_directory *scratch, const char *text)
{
    scratch_write(scratch, "model.safetensors.index.json", text, strlen(text));
}

static const char good[] = "{\"metadata\": {\"total_size\": 32}, \"weight_map\": {\"base.a\": \"1.safetensors\", "
                           "\"base.b\": \"2.safetensors\", \"base.c\": \"1.safetensors\"}}";

static void write_shards(scratch_directory *scratch)
{
    write_file(scratch, "1.safetensors", "base.a", "base.c");
    write_file(scratch, "2.safetensors", "base.b", NULL);
    write_index(scratch, good);
}

static void test_one_file(void **state)
{
    recording_host recording;
    scratch_directory *scratch = *state;
    vkf__checkpoint *checkpoint = NULL;
    recording_host_init(&recording);
    write_file(scratch, "model.safetensors", "a", "b");
    write_index(scratch, "not read, as the file is there");
    assert_int_equal(vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint), VKF_OK);
    assert_int_equal(vkf__checkpoint_count(checkpoint), 2);
    assert_non_null(vkf__checkpoint_find(checkpoint, "b"));
    assert_null(vkf__checkpoint_find(checkpoint, "c"));
    vkf__checkpoint_close(&checkpoint);
    assert_null(checkpoint);
    assert_int_equal(recording.live, 0);
}

static void test_several_files(void **state)
{
    recording_host recording;
    scratch_directory *scratch = *state;
    vkf__checkpoint *checkpoint = NULL;
    recording_host_init(&recording);
    write_shards(scratch);
    assert_int_equal(vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint), VKF_OK);
    assert_int_equal(vkf__checkpoint_count(checkpoint), 3);
    const vkf__stored_tensor *b = vkf__checkpoint_find(checkpoint, "base.b");
    assert_non_null(b);
    assert_non_null(strstr(vkf__checkpoint_path_of(checkpoint, b), "2.safetensors"));
    assert_non_null(strstr(vkf__checkpoint_path(checkpoint), "index.json"));
    float stored[3];
    assert_int_equal(vkf__stored_read(b, 0, sizeof stored, stored), VKF_OK);
    assert_memory_equal(stored, values, sizeof stored);
    assert_int_equal(vkf__checkpoint_check_unchanged(checkpoint), VKF_OK);
    scratch_write(scratch, "2.safetensors", "truncated", 9);
    assert_int_equal(vkf__stored_read(b, 0, sizeof stored, stored), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "2.safetensors: truncated while it was read"));
    assert_int_equal(vkf__checkpoint_check_unchanged(checkpoint), VKF_ERROR_FILE);
    assert_true(vkf__checkpoint_has_prefix(checkpoint, "base."));
    assert_false(vkf__checkpoint_has_prefix(checkpoint, "bert."));
    vkf__checkpoint_close(&checkpoint);
    assert_int_equal(recording.live, 0);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *index, *message;
        vkf_status status;
    } cases[] = {
        {"{\"weight_map\": {\"base.a\": \"3.safetensors\"}}", "3.safetensors", VKF_ERROR_FILE},
        {"{\"weight_map\": {\"base.b\": \"1.safetensors\"}}", "tensor base.b is missing", VKF_ERROR_FORMAT},
        {"{\"weight_map\": {\"base.a\": \"../1.safetensors\"}}", "outside of the directory", VKF_ERROR_FORMAT},
        {"{\"weight_map\": {\"base.a\": \"/etc/passwd\"}}", "outside of the directory", VKF_ERROR_FORMAT},
        {"{\"weight_map\": {\"base.a\": \"..\"}}", "outside of the directory", VKF_ERROR_FORMAT},
        {"{\"weight_map\": {\"base.a\": 1}}", "\"base.a\" is no string", VKF_ERROR_FORMAT},
        {"{\"weight_map\": {}}", "'weight_map'", VKF_ERROR_FORMAT},
        {"{\"weight_map\": []}", "'weight_map'", VKF_ERROR_FORMAT},
        {"{}", "'weight_map'", VKF_ERROR_FORMAT},
        {"{", "index.json", VKF_ERROR_FORMAT},
    };
    scratch_directory *scratch = *state;
    write_shards(scratch);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        vkf__checkpoint *checkpoint = NULL;
        recording_host_init(&recording);
        write_index(scratch, cases[i].index);
        vkf_status status = vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint);
        if (status != cases[i].status || checkpoint || !strstr(recording.text, cases[i].message))
            fail_msg("case %zu: status %d with \"%s\"", i, status, recording.text);
        assert_int_equal(recording.live, 0);
    }
}

static void test_a_directory_with_nothing_in_it(void **state)
{
    recording_host recording;
    scratch_directory *scratch = *state;
    vkf__checkpoint *checkpoint = NULL;
    recording_host_init(&recording);
    assert_int_equal(vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "model.safetensors"));
    assert_int_equal(recording.live, 0);
}

static void test_any_allocation_failing(void **state)
{
    scratch_directory *scratch = *state;
    bool failed = true;
    write_shards(scratch);
    for (size_t call = 1; failed; call++) {
        recording_host recording;
        vkf__checkpoint *checkpoint = NULL;
        recording_host_init(&recording);
        recording.fail_call = call;
        vkf_status status = vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint);
        failed = recording.calls >= call;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        vkf__checkpoint_close(&checkpoint);
        assert_int_equal(recording.live, 0);
    }
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_one_file),
        SCRATCH_TEST(test_several_files),
        SCRATCH_TEST(test_what_is_refused),
        SCRATCH_TEST(test_a_directory_with_nothing_in_it),
        SCRATCH_TEST(test_any_allocation_failing),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
