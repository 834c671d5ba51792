// Safetensors files as they are written.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "io/file.h"
#include "io/safetensors.h"
#include "recording_host.h"
#include "scratch_directory.h"

static const uint8_t bytes[64] = {0, 1, 1, 0, 1, 5, 6, 7, 8, 9};

static const vkf__stored_tensor three[] = {
    {.name = "b", .type = VKF_STORED_U8, .rank = 1, .shape = {3}, .data = bytes + 4, .size_bytes = 3},
    {.name = "c", .type = VKF_STORED_F32, .rank = 2, .shape = {1, 2}, .data = bytes, .size_bytes = 8},
    {.name = "a", .type = VKF_STORED_BOOL, .rank = 0, .data = bytes + 1, .size_bytes = 1},
};

static void test_safetensors_write_puts_wide_types_first(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__stored_tensor given[3];
    memcpy(given, three, sizeof given);
    const char *path = scratch_path(scratch, "w.safetensors");
    assert_int_equal(vkf__safetensors_write(&recording.host, path, given, 3), VKF_OK);
    assert_memory_equal(given, three, sizeof given);
    static const char expected[] = "\xa8\0\0\0\0\0\0\0"
                                   "{\"c\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                                   "\"a\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[8,9]},"
                                   "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[9,12]}}      "
                                   "\0\1\1\0\1\5\6\7"
                                   "\1"
                                   "\1\5\6";
    vkf__file_bytes whole;
    assert_int_equal(vkf__file_read(&recording.host, path, 4096, &whole), VKF_OK);
    assert_int_equal(whole.size_bytes, sizeof expected - 1);
    assert_memory_equal(whole.data, expected, sizeof expected - 1);
    vkf__file_bytes_free(&recording.host, &whole);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_write_as_given_keeps_the_order(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    const char *path = scratch_path(scratch, "given.safetensors");
    assert_int_equal(vkf__safetensors_write_as_given(&recording.host, path, three, 3), VKF_OK);
    static const char expected[] = "{\"c\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                                   "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]},"
                                   "\"a\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[11,12]}}";
    vkf__file_bytes whole;
    assert_int_equal(vkf__file_read(&recording.host, path, 4096, &whole), VKF_OK);
    assert_true(whole.size_bytes > 8 + sizeof expected);
    assert_memory_equal((const char *)whole.data + 8, expected, sizeof expected - 1);
    vkf__file_bytes_free(&recording.host, &whole);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_write_is_read_back(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    enum { TYPES = VKF_STORED_F6_E2M3 }; // of whole bytes
    char names[TYPES][32];
    vkf__stored_tensor tensors[TYPES];
    for (unsigned i = 0; i < TYPES; i++) {
        vkf__stored_type type = (vkf__stored_type)i;
        snprintf(names[i], sizeof names[i], "layer.%u \"q\"\n\xc3\xa9", (i * 7) % TYPES);
        tensors[i] = (vkf__stored_tensor){.name = names[i],
                                          .type = type,
                                          .rank = 2,
                                          .shape = {1, i % 4},
                                          .data = bytes,
                                          .size_bytes = i % 4 * vkf__stored_type_size(type)};
    }
    const char *path = scratch_path(scratch, "round.safetensors");
    assert_int_equal(vkf__safetensors_write(&recording.host, path, tensors, TYPES), VKF_OK);
    vkf__tensor_file *file = NULL;
    assert_int_equal(vkf__safetensors_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__tensor_file_count(file), TYPES);
    for (unsigned i = 0; i < TYPES; i++) {
        const vkf__stored_tensor *read = vkf__tensor_file_find(file, names[i]);
        assert_non_null(read);
        assert_int_equal(read->type, tensors[i].type);
        assert_memory_equal(read->shape, tensors[i].shape, sizeof read->shape);
        assert_int_equal(read->size_bytes, tensors[i].size_bytes);
        assert_int_equal(read->offset_bytes % vkf__stored_type_size(read->type), 0);
        uint8_t stored[sizeof bytes];
        assert_int_equal(vkf__stored_read(read, 0, read->size_bytes, stored), VKF_OK);
        assert_memory_equal(stored, bytes, read->size_bytes);
    }
    vkf__tensor_file_close(&file);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_write_of_nothing(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    const char *path = scratch_path(scratch, "nothing.safetensors");
    assert_int_equal(vkf__safetensors_write(&recording.host, path, NULL, 0), VKF_OK);
    vkf__tensor_file *file = NULL;
    assert_int_equal(vkf__safetensors_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__tensor_file_count(file), 0);
    vkf__tensor_file_close(&file);
}

static vkf_status write_byte(void *user, size_t index, vkf__new_file *file)
{
    (void)index;
    return vkf__new_file_write(file, user, 1);
}

static void test_safetensors_write_made_with_metadata(void **state)
{
    recording_host recording;
    recording_host_init(&recording);
    const vkf__stored_tensor tensor = {.name = "a", .type = VKF_STORED_U8, .rank = 1, .shape = {1}, .size_bytes = 1};
    const char *path = scratch_path(*state, "made.safetensors");
    json_t *metadata = json_pack("{s:s}", "format", "pt");
    vkf__tensor_file *file = NULL;
    uint8_t byte = 7, read = 0;
    assert_int_equal(vkf__safetensors_write_made(&recording.host, path, &tensor, 1, metadata, write_byte, &byte),
                     VKF_OK);
    assert_int_equal(vkf__safetensors_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__tensor_file_count(file), 1);
    assert_int_equal(vkf__stored_read(vkf__tensor_file_at(file, 0), 0, 1, &read), VKF_OK);
    assert_int_equal(read, byte);
    assert_true(json_equal(vkf__tensor_file_metadata(file), metadata));
    vkf__tensor_file_close(&file);
    json_decref(metadata);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_write_refuses_bad_tensors(void **state)
{
    scratch_directory *scratch = *state;
    scratch_list(scratch, 1);
    static const struct {
        vkf__stored_tensor tensor;
        const char *words;
    } rows[] = {
        {{.name = NULL, .size_bytes = 1, .type = VKF_STORED_U8, .data = bytes}, "has no name"},
        {{.name = "__metadata__", .size_bytes = 1, .type = VKF_STORED_U8, .data = bytes}, "reserved"},
        {{.name = "\xff", .size_bytes = 1, .type = VKF_STORED_U8, .data = bytes}, "not UTF-8"},
        {{.name = "a", .size_bytes = 1, .type = VKF_STORED_COUNT, .data = bytes},
         "cannot be written: it has an unknown"},
        {{.name = "a", .size_bytes = 1, .type = VKF_STORED_U8, .rank = 9, .data = bytes}, "rank above 8"},
        {{.name = "a", .size_bytes = 2, .type = VKF_STORED_U8, .data = bytes}, "size_bytes disagrees"},
        {{.name = "a", .size_bytes = 1, .type = VKF_STORED_U8}, "has no data"},
        {{.name = "a", .size_bytes = 0, .type = VKF_STORED_U8, .rank = 2, .shape = {UINT64_MAX, 2}}, "disagrees"},
        {{.name = "a", .size_bytes = 1, .type = VKF_STORED_BOOL, .data = bytes + 5}, "BOOL"},
        {{.name = "b", .size_bytes = 1, .type = VKF_STORED_U8, .data = bytes}, "the same name"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__stored_tensor tensors[2] = {three[0], rows[i].tensor};
        const char *path = scratch_path(scratch, "bad.safetensors");
        assert_int_equal(vkf__safetensors_write(&recording.host, path, tensors, 2), VKF_ERROR_INVALID_ARGUMENT);
        if (!strstr(recording.text, rows[i].words))
            print_message("row %zu: '%s' has no '%s'\n", i, recording.text, rows[i].words);
        assert_non_null(strstr(recording.text, rows[i].words));
        assert_int_equal(scratch_list(scratch, 0), 0);
        assert_int_equal(recording.live, 0);
    }
}

static void test_safetensors_write_where_it_cannot(void **state)
{
    scratch_directory *scratch = *state;
    scratch_list(scratch, 1);
    recording_host recording;
    recording_host_init(&recording);
    const char *path = scratch_path(scratch, "absent/w.safetensors");
    assert_int_equal(vkf__safetensors_write(&recording.host, path, three, 3), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent/w.safetensors: cannot be written: No such file"));
    path = scratch_path(scratch, "directory");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(vkf__safetensors_write(&recording.host, path, three, 3), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "directory: cannot be written: it is a directory"));
    assert_int_equal(scratch_list(scratch, 0), 1);
    assert_int_equal(recording.live, 0);
}

// A disk that is full, by a limit on the size of files.
static vkf_status write_limited(const vkf__host *host, const char *path, rlim_t limit_bytes, size_t tensor_bytes)
{
    static const uint8_t zeros[100000];
    vkf__stored_tensor tensor = {.name = "t",
                                 .type = VKF_STORED_U8,
                                 .rank = 1,
                                 .shape = {tensor_bytes},
                                 .data = zeros,
                                 .size_bytes = tensor_bytes};
    struct rlimit unlimited;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    struct rlimit limited = {.rlim_cur = limit_bytes, .rlim_max = unlimited.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
    vkf_status status = vkf__safetensors_write(host, path, &tensor, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
    return status;
}

// Long data fails as it is written, short data as the stream is flushed.
static void test_safetensors_write_that_fails_keeps_the_old_file(void **state)
{
    scratch_directory *scratch = *state;
    static const struct {
        rlim_t limit_bytes;
        size_t tensor_bytes;
    } rows[] = {{50000, 100000}, {10, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch_list(scratch, 1);
        recording_host recording;
        recording_host_init(&recording);
        const char *path = scratch_write(scratch, "full.safetensors", "old", 3);
        assert_int_equal(write_limited(&recording.host, path, rows[i].limit_bytes, rows[i].tensor_bytes),
                         VKF_ERROR_FILE);
        assert_non_null(strstr(recording.text, "cannot be written: File too large"));
        assert_int_equal(scratch_list(scratch, 0), 1);
        vkf__file_bytes whole;
        assert_int_equal(vkf__file_read(&recording.host, path, 100, &whole), VKF_OK);
        assert_int_equal(whole.size_bytes, 3);
        vkf__file_bytes_free(&recording.host, &whole);
        assert_int_equal(recording.live, 0);
    }
}

static void test_safetensors_write_survives_allocation_failure(void **state)
{
    scratch_directory *scratch = *state;
    scratch_list(scratch, 1);
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    size_t n = 0;
    while (status != VKF_OK && n < 100) {
        recording_host recording;
        recording_host_init(&recording);
        recording.fail_call = ++n;
        const char *path = scratch_path(scratch, "memory.safetensors");
        status = vkf__safetensors_write(&recording.host, path, three, 3);
        if (status != VKF_OK) {
            assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
            assert_int_equal(recording.messages, 1);
            assert_int_equal(scratch_list(scratch, 0), 0);
        }
        assert_int_equal(recording.live, 0);
    }
    assert_int_equal(status, VKF_OK);
    assert_in_range(n, 5, 99);
    assert_int_equal(scratch_list(scratch, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_write_puts_wide_types_first),
        cmocka_unit_test(test_safetensors_write_as_given_keeps_the_order),
        cmocka_unit_test(test_safetensors_write_is_read_back),
        cmocka_unit_test(test_safetensors_write_of_nothing),
        cmocka_unit_test(test_safetensors_write_made_with_metadata),
        cmocka_unit_test(test_safetensors_write_refuses_bad_tensors),
        cmocka_unit_test(test_safetensors_write_where_it_cannot),
        cmocka_unit_test(test_safetensors_write_that_fails_keeps_the_old_file),
        cmocka_unit_test(test_safetensors_write_survives_allocation_failure),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
