// The reader of torch.save()'s files, on those of tests/torch, which tools/oracles/torch-fixtures has made with
// PyTorch.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/torch_file.h"

#include "recording_host.h"
#include "scratch_directory.h"

#define FIXTURES VKF_TEST_SOURCE_DIR "/tests/torch/"
#define MAX_BYTES 8192

// What stands before the dict in the old form: the magic number, the version and the machine.
#define LEGACY_HEAD "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3.\x80\2}."
#define LEGACY_HEAD_BYTES (sizeof LEGACY_HEAD - 1)

typedef struct content {
    uint8_t bytes[MAX_BYTES];
    size_t size_bytes;
} content;

static void read_fixture(const char *name, content *out)
{
    char path[512];
    (void)snprintf(path, sizeof path, FIXTURES "%s.bin", name);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        fail_msg("%s cannot be opened", path);
    out->size_bytes = fread(out->bytes, 1, sizeof out->bytes, stream);
    fclose(stream);
    assert_true(out->size_bytes < sizeof out->bytes);
}

// Exactly as long a copy, so that a sanitizer sees what is read beyond it.
static vkf_status open_bytes(recording_host *recording, const uint8_t *bytes, size_t size_bytes, vkf__tensor_file **out,
                             uint8_t **out_copy)
{
    *out_copy = malloc(size_bytes > 0 ? size_bytes : 1);
    assert_non_null(*out_copy);
    memcpy(*out_copy, bytes, size_bytes);
    *out = NULL;
    recording_host_init(recording);
    return vkf__torch_open_memory(&recording->host, "model.bin", *out_copy, size_bytes, out);
}

static void refuse(const content *c, vkf_status expected, const char *message)
{
    recording_host recording;
    vkf__tensor_file *file;
    uint8_t *copy;
    vkf_status status = open_bytes(&recording, c->bytes, c->size_bytes, &file, &copy);
    if (status != expected || file || !strstr(recording.text, message) || !strstr(recording.text, "model.bin"))
        fail_msg("status %d with \"%s\", expected %d with \"%s\"", status, recording.text, expected, message);
    assert_int_equal(recording.messages, 1);
    assert_int_equal(recording.live, 0);
    free(copy);
}

static vkf__tensor_file *open_fixture(recording_host *recording, const char *name)
{
    char path[512];
    vkf__tensor_file *file = NULL;
    recording_host_init(recording);
    (void)snprintf(path, sizeof path, FIXTURES "%s.bin", name);
    if (vkf__torch_open(&recording->host, path, &file) != VKF_OK)
        fail_msg("%s: %s", name, recording->text);
    return file;
}

static void close_fixture(recording_host *recording, vkf__tensor_file **file)
{
    vkf__tensor_file_close(file);
    assert_int_equal(recording->live, 0);
}

// ---- what is read

static const vkf__stored_tensor *find(const vkf__tensor_file *file, const char *name, vkf__stored_type type,
                                      uint32_t rank, uint64_t rows, uint64_t cols)
{
    const vkf__stored_tensor *tensor = vkf__tensor_file_find(file, name);
    if (!tensor)
        fail_msg("no tensor %s", name);
    assert_int_equal(tensor->type, type);
    assert_int_equal(tensor->rank, rank);
    assert_true((rank < 1 || tensor->shape[0] == rows) && (rank < 2 || tensor->shape[1] == cols));
    return tensor;
}

static void check_floats(const vkf__stored_tensor *tensor, const float *expected)
{
    recording_host recording;
    float values[16] = {0};
    recording_host_init(&recording);
    assert_true(tensor->count <= 16);
    if (tensor->count == 0)
        return;
    assert_int_equal(vkf__stored_convert(&recording.host, tensor, 0, tensor->count, VKF_DTYPE_F32, values), VKF_OK);
    for (uint64_t i = 0; i < tensor->count; i++)
        assert_true(values[i] == expected[i]);
}

static void check_integers(const vkf__stored_tensor *tensor)
{
    uint8_t bytes[32];
    size_t size = vkf__stored_type_size(tensor->type);
    assert_int_equal(tensor->size_bytes, 3 * size);
    assert_int_equal(vkf__stored_read(tensor, 0, tensor->size_bytes, bytes), VKF_OK);
    for (size_t i = 0; i < 3 * size; i++)
        assert_int_equal(bytes[i], i % size == 0 ? i / size + 1 : 0);
}

static void test_every_type_in_each_form(void **state)
{
    static const char *const names[] = {"plain", "plain-legacy", "plain-protocol4"};
    static const float counting[] = {0, 1, 2, 3, 4, 5}, parameter[] = {1.5f, -2.0f}, seven = 7;
    static const struct {
        const char *name;
        vkf__stored_type type;
    } integers[] = {{"int64", VKF_STORED_I64}, {"int32", VKF_STORED_I32}, {"int16", VKF_STORED_I16},
                    {"int8", VKF_STORED_I8},   {"uint8", VKF_STORED_U8},  {"uint16", VKF_STORED_U16}};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        recording_host recording;
        vkf__tensor_file *file = open_fixture(&recording, names[n]);
        assert_int_equal(vkf__tensor_file_count(file), 14);
        check_floats(find(file, "f32", VKF_STORED_F32, 2, 2, 3), counting);
        check_floats(find(file, "parameter", VKF_STORED_F32, 1, 2, 0), parameter);
        check_floats(find(file, "float16", VKF_STORED_F16, 1, 3, 0), counting + 1);
        check_floats(find(file, "bfloat16", VKF_STORED_BF16, 1, 3, 0), counting + 1);
        check_floats(find(file, "float64", VKF_STORED_F64, 1, 3, 0), counting + 1);
        check_floats(find(file, "scalar", VKF_STORED_F32, 0, 0, 0), &seven);
        check_floats(find(file, "empty", VKF_STORED_F32, 2, 0, 3), counting);
        assert_int_equal(find(file, "bool", VKF_STORED_BOOL, 1, 3, 0)->size_bytes, 3);
        for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
            check_integers(find(file, integers[i].name, integers[i].type, 1, 3, 0));
        assert_null(vkf__tensor_file_find(file, "_metadata"));
        assert_int_equal(vkf__tensor_file_check_unchanged(file), VKF_OK);
        close_fixture(&recording, &file);
    }
}

static void test_tensors_that_share_a_storage(void **state)
{
    static const char *const names[] = {"shared", "shared-legacy"};
    static const float counting[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        recording_host recording;
        vkf__tensor_file *file = open_fixture(&recording, names[n]);
        const vkf__stored_tensor *words = find(file, "words", VKF_STORED_F32, 2, 4, 3);
        check_floats(words, counting);
        assert_int_equal(find(file, "projection", VKF_STORED_F32, 2, 4, 3)->offset_bytes, words->offset_bytes);
        check_floats(find(file, "part", VKF_STORED_F32, 2, 2, 3), counting + 3);
        check_floats(find(file, "row", VKF_STORED_F32, 1, 3, 0), counting + 6);
        check_floats(find(file, "column", VKF_STORED_F32, 2, 1, 1), counting + 6);
        close_fixture(&recording, &file);
    }
}

// Python 2 counts what it remembers from 1. No PyTorch that writes it is left, so the bytes stand here.
static void test_a_file_of_python_2(void **state)
{
    static const char bytes[] = "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3.\x80\2}q\1."
                                "\x80\2}q\1(U\1aq\2ctorch._utils\n_rebuild_tensor\nq\3((U\7storageq\4"
                                "ctorch\nFloatStorage\nq\5U\0017q\6U\3cpuq\7K\2NtQK\0K\2\x85K\1\x85tRq\10"
                                "U\1bh\10u."
                                "\x80\2]q\1U\0017q\2a."
                                "\2\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\x40";
    static const float expected[] = {1, 2};
    recording_host recording;
    vkf__tensor_file *file;
    uint8_t *copy;
    (void)state;
    vkf_status status = open_bytes(&recording, (const uint8_t *)bytes, sizeof bytes - 1, &file, &copy);
    if (status != VKF_OK)
        fail_msg("status %d: %s", status, recording.text);
    check_floats(find(file, "a", VKF_STORED_F32, 1, 2, 0), expected);
    check_floats(find(file, "b", VKF_STORED_F32, 1, 2, 0), expected);
    close_fixture(&recording, &file);
    free(copy);
}

static void test_a_dict_within_a_training_state(void **state)
{
    static const char *const names[] = {"nested", "nested-legacy"};
    static const float ones[] = {1, 1};
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        recording_host recording;
        vkf__tensor_file *file = open_fixture(&recording, names[n]);
        assert_int_equal(vkf__tensor_file_count(file), 1);
        check_floats(find(file, "a", VKF_STORED_F32, 1, 2, 0), ones);
        close_fixture(&recording, &file);
    }
}

// ---- what is refused

static void test_what_is_no_dict_of_plain_tensors(void **state)
{
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"strided", "tensor a is not contiguous"},
        {"strided-legacy", "tensor a is not contiguous"},
        {"module", "asks for torch.nn.modules.linear.Linear"},
        {"list", "holds no dict of tensors"},
        {"list-legacy", "holds no dict of tensors"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        content c;
        read_fixture(cases[i].name, &c);
        refuse(&c, VKF_ERROR_UNSUPPORTED, cases[i].message);
    }
}

static void test_pickles_that_would_do_something(void **state)
{
    static const struct {
        const char *pickle, *message;
        vkf_status status;
    } cases[] = {
        {"\x80\2cos\nsystem\nX\2", "asks for os.system", VKF_ERROR_UNSUPPORTED},
        {"\x80\2c__builtin__\neval\n.", "asks for __builtin__.eval", VKF_ERROR_UNSUPPORTED},
        {"\x80\4\x8c\2os\x8c\6system\x93.", "asks for os.system", VKF_ERROR_UNSUPPORTED},
        {"\x80\2(ios\nsystem\n.", "opcode 0x69", VKF_ERROR_UNSUPPORTED},
        {"\x80\2ccollections\nOrderedDict\n)\x81.", "opcode 0x81", VKF_ERROR_UNSUPPORTED},
        {"\x80\2K\1}b.", "attributes of what is no dict", VKF_ERROR_UNSUPPORTED},
        {"\x80\2ctorch\nFloatStorage\n)R.", "calls torch.FloatStorage", VKF_ERROR_UNSUPPORTED},
        {"\x80\2K\1)R.", "a call of what was not imported", VKF_ERROR_FORMAT},
        {"\x80\2h\5.", "has not remembered", VKF_ERROR_FORMAT},
        {"\x80\2Kaq\7.", "out of order", VKF_ERROR_FORMAT},
        {"\x80\2Kaq\1Kaq\3.", "out of order", VKF_ERROR_FORMAT},
        {"\x80\2Kaq\1h\2.", "has not remembered", VKF_ERROR_FORMAT},
        {"\x80\2u.", "wants a mark", VKF_ERROR_FORMAT},
        {"\x80\2(\x85.", "more values than there are", VKF_ERROR_FORMAT},
        {"\x80\2NN.", "other than one value", VKF_ERROR_FORMAT},
        {"\x80\2X\377\377\377\177", "longer than the pickle", VKF_ERROR_FORMAT},
        {"\x80\2c\1\n\2\n.", "is no name", VKF_ERROR_FORMAT},
        {"\x80\2NQ.", "its storage's id", VKF_ERROR_FORMAT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        content c = {.size_bytes = LEGACY_HEAD_BYTES + strlen(cases[i].pickle)};
        memcpy(c.bytes, LEGACY_HEAD, LEGACY_HEAD_BYTES);
        memcpy(c.bytes + LEGACY_HEAD_BYTES, cases[i].pickle, strlen(cases[i].pickle));
        refuse(&c, cases[i].status, cases[i].message);
    }
}

// What stands behind a zero belongs to the name.
static void test_names_with_a_zero_in_them(void **state)
{
    static const char lines[] = "\x80\2ccollections\nOrderedDict\0x\n)R.";
    static const char strings[] = "\x80\4\x8c\13collections\x8c\15OrderedDict\0x\x93)R.";
    static const struct {
        const char *pickle;
        size_t size_bytes;
    } cases[] = {{lines, sizeof lines - 1}, {strings, sizeof strings - 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        content c = {.size_bytes = LEGACY_HEAD_BYTES + cases[i].size_bytes};
        memcpy(c.bytes, LEGACY_HEAD, LEGACY_HEAD_BYTES);
        memcpy(c.bytes + LEGACY_HEAD_BYTES, cases[i].pickle, cases[i].size_bytes);
        refuse(&c, VKF_ERROR_FORMAT, "is no name");
    }
}

// A key is the name of a zip entry, and stands in messages.
static void test_keys_of_storages_that_are_no_names(void **state)
{
#define STORAGE(key) "\x80\2((U\7storagectorch\nFloatStorage\nU\3" key "U\3cpuK\2NtQ."
    static const struct {
        const char *file, *message;
    } cases[] = {
        {LEGACY_HEAD STORAGE("a/b"), "its storage's id"},
        {LEGACY_HEAD STORAGE("a\nb"), "its storage's id"},
        {LEGACY_HEAD STORAGE("a\177b"), "its storage's id"},
        {LEGACY_HEAD "\x80\2}.\x80\2]U\3a/ba.", "has a key that is no name"},
        {LEGACY_HEAD "\x80\2}.\x80\2]U\3a\33ba.", "has a key that is no name"},
        {LEGACY_HEAD "\x80\2}.\x80\2]U\3a.ba.", "storage a.b belongs to no tensor"},
    };
#undef STORAGE
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        content c = {.size_bytes = strlen(cases[i].file)};
        memcpy(c.bytes, cases[i].file, c.size_bytes);
        refuse(&c, VKF_ERROR_FORMAT, cases[i].message);
    }
}

// A stack that only grows ends before memory does.
static void test_a_stack_without_an_end(void **state)
{
    enum { BYTES = 1 << 20 };
    static const char fillers[] = {'N', '(', ']'};
    uint8_t *bytes = malloc(BYTES), *copy;
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof fillers; i++) {
        recording_host recording;
        vkf__tensor_file *file;
        memset(bytes, fillers[i], BYTES);
        memcpy(bytes, LEGACY_HEAD, LEGACY_HEAD_BYTES);
        assert_int_equal(open_bytes(&recording, bytes, BYTES, &file, &copy), VKF_ERROR_FORMAT);
        assert_true(recording.peak_bytes < 8 * BYTES);
        free(copy);
    }
    free(bytes);
}

static void test_files_that_are_cut_off(void **state)
{
    static const char *const names[] = {"plain", "plain-legacy", "shared"};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        content c;
        read_fixture(names[n], &c);
        for (size_t size = 0; size < c.size_bytes; size++) {
            recording_host recording;
            vkf__tensor_file *file;
            uint8_t *copy;
            vkf_status status = open_bytes(&recording, c.bytes, size, &file, &copy);
            if (status != VKF_ERROR_FORMAT || recording.messages != 1)
                fail_msg("%s, %zu bytes: status %d with \"%s\"", names[n], size, status, recording.text);
            assert_int_equal(recording.live, 0);
            free(copy);
        }
    }
}

// `from`, which is in the fixture as often as `times` says, becomes `to` of the same length.
static void change(content *c, const void *from, const void *to, size_t size_bytes, size_t times)
{
    size_t found = 0;
    for (size_t i = 0; i + size_bytes <= c->size_bytes; i++) {
        if (memcmp(c->bytes + i, from, size_bytes) != 0)
            continue;
        memcpy(c->bytes + i, to, size_bytes);
        found++;
    }
    assert_int_equal(found, times);
}

static void test_archives_of_another_kind(void **state)
{
    content c;
    (void)state;
    read_fixture("shared", &c);
    change(&c, "PK\1\2\0\0\0\0\10\10\0\0", "PK\1\2\0\0\0\0\10\10\10\0", 12, 7);
    refuse(&c, VKF_ERROR_UNSUPPORTED, "compressed or encrypted");
    read_fixture("shared", &c);
    change(&c, "little", "bigbig", 6, 1);
    refuse(&c, VKF_ERROR_UNSUPPORTED, "big-endian");
    read_fixture("shared", &c);
    change(&c, "/data.pkl", "/date.pkl", 9, 2);
    refuse(&c, VKF_ERROR_FORMAT, "no data.pkl");
    read_fixture("shared", &c);
    change(&c, "/data/0", "/data/1", 7, 2);
    refuse(&c, VKF_ERROR_FORMAT, "storage 0 is missing");
    read_fixture("shared", &c);
    change(&c, "K\14t", "K\20t", 3, 4);
    refuse(&c, VKF_ERROR_FORMAT, "longer than what the file has of it");
}

static void test_files_of_other_formats(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "not a file that torch.save writes"},
        {"{}", "not a file that torch.save writes"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n", "pointer of Git LFS"},
        {"\x80\2}.", "a pickle that torch.save has not written"},
        {"PK\3\4", "it is too short"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        content c = {.size_bytes = strlen(cases[i].text)};
        memcpy(c.bytes, cases[i].text, c.size_bytes);
        refuse(&c, VKF_ERROR_FORMAT, cases[i].message);
    }
}

static void test_any_allocation_failing(void **state)
{
    static const char *const names[] = {"plain", "plain-legacy"};
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        bool failed = true;
        for (size_t call = 1; failed; call++) {
            recording_host recording;
            vkf__tensor_file *file = NULL;
            char path[512];
            (void)snprintf(path, sizeof path, FIXTURES "%s.bin", names[n]);
            recording_host_init(&recording);
            recording.fail_call = call;
            vkf_status status = vkf__torch_open(&recording.host, path, &file);
            failed = recording.calls >= call;
            assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
            vkf__tensor_file_close(&file);
            assert_int_equal(recording.live, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_in_each_form),
        cmocka_unit_test(test_tensors_that_share_a_storage),
        cmocka_unit_test(test_a_file_of_python_2),
        cmocka_unit_test(test_a_dict_within_a_training_state),
        cmocka_unit_test(test_what_is_no_dict_of_plain_tensors),
        cmocka_unit_test(test_pickles_that_would_do_something),
        cmocka_unit_test(test_names_with_a_zero_in_them),
        cmocka_unit_test(test_keys_of_storages_that_are_no_names),
        cmocka_unit_test(test_a_stack_without_an_end),
        cmocka_unit_test(test_files_that_are_cut_off),
        cmocka_unit_test(test_archives_of_another_kind),
        cmocka_unit_test(test_files_of_other_formats),
        cmocka_unit_test(test_any_allocation_failing),
    };
    return cmocka_run_group_tests_name("torch_file", tests, NULL, NULL);
}
