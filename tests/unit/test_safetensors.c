// Reading. Files are made of a header's text and data bytes that count 0, 1, 0, 1, ... (valid for every type).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/safetensors.h"
#include "recording_host.h"
#include "scratch_directory.h"

#define MAX_FILE_BYTES 4096

// Puts a file together; returns its size.
static size_t make_file(const char *header, size_t header_bytes, size_t data_bytes, uint8_t out_file[MAX_FILE_BYTES])
{
    assert_true(8 + header_bytes + data_bytes <= MAX_FILE_BYTES);
    for (size_t i = 0; i < 8; i++)
        out_file[i] = (uint8_t)((uint64_t)header_bytes >> (8 * i));
    memcpy(out_file + 8, header, header_bytes);
    for (size_t i = 0; i < data_bytes; i++)
        out_file[8 + header_bytes + i] = (uint8_t)(i % 2);
    return 8 + header_bytes + data_bytes;
}

static vkf_status open_text(recording_host *recording, scratch_directory *scratch, const char *header,
                            size_t data_bytes, vkf__tensor_file **out_file)
{
    uint8_t bytes[MAX_FILE_BYTES];
    size_t size = make_file(header, strlen(header), data_bytes, bytes);
    const char *path = scratch_write(scratch, "m.safetensors", bytes, size);
    return vkf__safetensors_open(&recording->host, path, out_file);
}

static void assert_refused(const recording_host *recording, vkf_status status, const vkf__tensor_file *file,
                           const char *words, const char *what)
{
    if (status != VKF_ERROR_FORMAT || !strstr(recording->text, words))
        print_message("%s: status %d, message '%s' has no '%s'\n", what, (int)status, recording->text, words);
    assert_int_equal(status, VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording->text, words));
    assert_non_null(strstr(recording->text, "m.safetensors"));
    assert_null(file);
    assert_int_equal(recording->messages, 1);
    assert_int_equal(recording->live, 0);
}

typedef struct malformed_case {
    const char *header;
    size_t data_bytes;
    const char *words; // of the message
} malformed_case;

#define ENTRY(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{" ENTRY("t", dtype, shape, offsets) "}"

static const malformed_case malformed[] = {
    {"", 0, "must begin with '{'"},
    {" {}", 0, "must begin with '{'"},
    {"[]", 0, "not a JSON object"},
    {"{", 0, "not valid JSON"},
    {"{} x", 0, "not valid JSON"},
    {"{\"t\":{\"dtype\":\"U8\"", 0, "not valid JSON"},
    {"{\"\xff\":{}}", 0, "not valid UTF-8"},
    {"{\"\xc0\x80\":{}}", 0, "not valid UTF-8"},
    {"{\"a\\u0000b\":{}}", 0, "NUL"},
    {ONE("\"U8\\u0000\"", "[]", "[0,1]"), 1, "NUL"},
    {"{" ENTRY("t", "\"U8\"", "[1]", "[0,1]") "," ENTRY("t", "\"U8\"", "[1]", "[1,2]") "}", 2, "duplicate tensor name"},
    {"{" ENTRY("t", "\"U8\"", "[1]", "[0,1]") "," ENTRY("\\u0074", "\"U8\"", "[1]", "[1,2]") "}", 2, "duplicate"},
    {"{\"t\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "duplicate key"},
    {"{\"t\":3}", 0, "'t': its entry is not an object"},
    {"{\"t\":[]}", 0, "its entry is not an object"},
    {"{\"t\":{}}", 0, "dtype is missing"},
    {ONE("8", "[1]", "[0,1]"), 1, "dtype is missing or not a string"},
    {"{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "shape is missing"},
    {ONE("\"U8\"", "1", "[0,1]"), 1, "shape is missing or not a list"},
    {ONE("\"U8\"", "[-1]", "[0,1]"), 1, "shape[0] is negative: -1"},
    {ONE("\"U8\"", "[1,1.0]", "[0,1]"), 1, "shape[1] is not a whole number"},
    {ONE("\"U8\"", "[\"1\"]", "[0,1]"), 1, "shape[0] is not a whole number"},
    {ONE("\"U8\"", "[true]", "[0,1]"), 1, "shape[0] is not a whole number"},
    {ONE("\"U8\"", "[0,281474976710657]", "[0,0]"), 0, "shape[1] is absurd"},
    {ONE("\"U8\"", "[0,9223372036854775807]", "[0,0]"), 0, "shape[1] is absurd"},
    {ONE("\"U8\"", "[9223372036854775808]", "[0,1]"), 1, "absurd"},
    {ONE("\"U8\"", "[1e3]", "[0,1000]"), 1000, "shape[0] is not a whole number"},
    {ONE("\"U8\"", "[4294967296,4294967296]", "[0,0]"), 0, "overflows"},
    {ONE("\"U8\"", "[4294967296,4294967296,0]", "[0,0]"), 0, "overflows"},
    {ONE("\"F64\"", "[4294967296,536870912]", "[0,0]"), 0, "overflows"},
    {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "data_offsets is not a list of two"},
    {ONE("\"U8\"", "[1]", "{}"), 1, "data_offsets is not a list of two"},
    {ONE("\"U8\"", "[1]", "[0]"), 1, "data_offsets is not a list of two"},
    {ONE("\"U8\"", "[1]", "[0,1,2]"), 1, "data_offsets is not a list of two"},
    {ONE("\"U8\"", "[1]", "[0,1.5]"), 1, "data_offsets is not a list of two whole numbers"},
    {ONE("\"U8\"", "[1]", "[-1,0]"), 1, "data_offsets [-1, 0] is not a range"},
    {ONE("\"U8\"", "[1]", "[1,0]"), 1, "data_offsets [1, 0] is not a range"},
    {ONE("\"U8\"", "[2]", "[0,2]"), 1, "data_offsets end at 2, beyond the file: it has 1 bytes"},
    {ONE("\"U8\"", "[9]", "[0,9223372036854775807]"), 9, "beyond the file"},
    {ONE("\"F32\"", "[2]", "[0,4]"), 4, "span 4 bytes but shape and dtype disagree: they need 8"},
    {ONE("\"F32\"", "[]", "[0,0]"), 0, "disagree"},
    {ONE("\"F8_E4M3\"", "[2]", "[0,1]"), 1, "disagree: they need 2"},
    {ONE("\"C64\"", "[1]", "[0,4]"), 4, "disagree: they need 8"},
    {"{" ENTRY("a", "\"U8\"", "[2]", "[0,2]") "," ENTRY("b", "\"U8\"", "[2]", "[1,3]") "}", 3, "'b' and 'a' overlap"},
    {"{" ENTRY("a", "\"U8\"", "[2]", "[0,2]") "," ENTRY("b", "\"U8\"", "[2]", "[0,2]") "}", 2, "overlap"},
    {"{" ENTRY("a", "\"U8\"", "[2]", "[0,2]") "," ENTRY("e", "\"U8\"", "[0]", "[1,1]") "}", 2, "overlap"},
    {"{" ENTRY("a", "\"U8\"", "[1]", "[0,1]") "," ENTRY("b", "\"U8\"", "[1]", "[2,3]") "}", 3, "a hole of 1 bytes"},
    {ONE("\"U8\"", "[1]", "[3,4]"), 4, "a hole of 3 bytes"},
    {ONE("\"U8\"", "[1]", "[0,1]"), 6, "5 bytes after the last tensor"},
    {"{}", 1, "1 bytes after the last tensor"},
    {"{\"__metadata__\":[]}", 0, "\"__metadata__\" is not an object"},
    {"{\"__metadata__\":{\"step\":7}}", 0, "'step' is not a string"},
    {"{\"__metadata__\":{\"nested\":{\"deep\":{}}}}", 0, "nests deeper"},
};

static void test_safetensors_open_refuses_malformed_headers(void **state)
{
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__tensor_file *file = NULL;
        vkf_status status = open_text(&recording, *state, malformed[i].header, malformed[i].data_bytes, &file);
        assert_refused(&recording, status, file, malformed[i].words, malformed[i].header);
    }
}

static void test_safetensors_open_refuses_bad_lengths(void **state)
{
    static const struct {
        uint8_t bytes[12];
        size_t size;
        const char *words;
    } rows[] = {
        {{0}, 0, "0 bytes; a safetensors file is not shorter than 8"},
        {{2, 0, 0, 0, 0, 0, 0}, 7, "7 bytes; a safetensors file is not shorter than 8"},
        {{2, 0, 0, 0, 0, 0, 0, 0}, 8, "claims 2 bytes, longer than the file"},
        {{3, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, 10, "claims 3 bytes, longer than the file"},
        {{0x00, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{', '}'}, 10, "claims 100000000 bytes, longer than the file"},
        {{0x01, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{', '}'}, 10, "claims 100000001 bytes, more than 100 MB"},
        {{255, 255, 255, 255, 255, 255, 255, 255, '{', '}'}, 10, "more than 100 MB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__tensor_file *file = NULL;
        const char *path = scratch_write(*state, "m.safetensors", rows[i].bytes, rows[i].size);
        vkf_status status = vkf__safetensors_open(&recording.host, path, &file);
        assert_refused(&recording, status, file, rows[i].words, rows[i].words);
    }
}

static void test_safetensors_open_refuses_zero_byte_in_header(void **state)
{
    (void)state;
    static const char header[] = "{\"a\0b\":{}}";
    recording_host recording;
    recording_host_init(&recording);
    uint8_t bytes[MAX_FILE_BYTES];
    size_t size = make_file(header, sizeof header - 1, 0, bytes);
    vkf__tensor_file *file = NULL;
    vkf_status status = vkf__safetensors_open_memory(&recording.host, "m.safetensors", bytes, size, &file);
    assert_refused(&recording, status, file, "not valid JSON", "zero byte");
}

// The format gets new types, and files have tensors that no model reads: what such a tensor is does not matter.
static void test_safetensors_open_takes_types_that_nothing_reads(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_bytes;
        vkf__stored_type type;
    } rows[] = {
        {ONE("\"F8_E4M3\"", "[2]", "[0,2]"), 2, VKF_STORED_F8_E4M3},
        {ONE("\"F8_E8M0\"", "[]", "[0,1]"), 1, VKF_STORED_F8_E8M0},
        {ONE("\"C64\"", "[1,2]", "[0,16]"), 16, VKF_STORED_C64},
        {ONE("\"F4\"", "[4]", "[0,2]"), 2, VKF_STORED_F4},
        {ONE("\"F6_E2M3\"", "[4]", "[0,3]"), 3, VKF_STORED_F6_E2M3},
        {ONE("\"f32\"", "[1]", "[0,4]"), 4, VKF_STORED_OTHER},
        {ONE("\"\"", "[1]", "[0,1]"), 1, VKF_STORED_OTHER},
        {ONE("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), 8, VKF_STORED_OTHER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recording_host recording;
        uint8_t bytes[MAX_FILE_BYTES];
        size_t size = make_file(rows[i].header, strlen(rows[i].header), rows[i].data_bytes, bytes);
        vkf__tensor_file *file = NULL;
        recording_host_init(&recording);
        if (vkf__safetensors_open_memory(&recording.host, "m.safetensors", bytes, size, &file) != VKF_OK)
            fail_msg("%s: %s", rows[i].header, recording.text);
        const vkf__stored_tensor *tensor = vkf__tensor_file_find(file, "t");
        assert_int_equal(tensor->type, rows[i].type);
        assert_int_equal(tensor->size_bytes, rows[i].data_bytes);
        assert_false(vkf__stored_is_float(tensor->type) || vkf__stored_is_whole(tensor->type));
        vkf__tensor_file_close(&file);
        assert_int_equal(recording.live, 0);
    }
}

static void test_tensor_file_check_bools(void **state)
{
    static const char header[] = ONE("\"BOOL\"", "[4]", "[0,4]");
    for (int opened = 0; opened < 2; opened++) {
        recording_host recording;
        uint8_t bytes[MAX_FILE_BYTES];
        size_t size = make_file(header, strlen(header), 4, bytes);
        vkf__tensor_file *file = NULL;
        bytes[size - 2] = 2;
        recording_host_init(&recording);
        const char *path = scratch_write(*state, "m.safetensors", bytes, size);
        assert_int_equal(opened ? vkf__safetensors_open(&recording.host, path, &file)
                                : vkf__safetensors_open_memory(&recording.host, path, bytes, size, &file),
                         VKF_OK);
        assert_int_equal(vkf__tensor_file_check_bools(file), VKF_ERROR_FORMAT);
        assert_non_null(strstr(recording.text, "BOOL element 2 is 2, neither 0 nor 1"));
        vkf__tensor_file_close(&file);
        assert_int_equal(recording.live, 0);
    }
}

// A tensor of more elements than are read at once.
static void test_stored_first_bad_bool_looks_at_all_of_a_file(void **state)
{
    static uint8_t bytes[3 << 20];
    static const uint64_t places[] = {0, (1 << 20) - 1, 1 << 20, sizeof bytes - 1, sizeof bytes};
    recording_host recording;
    recording_host_init(&recording);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        vkf__file *file = NULL;
        uint64_t index = 0;
        memset(bytes, 1, sizeof bytes);
        if (places[i] < sizeof bytes)
            bytes[places[i]] = 2;
        assert_int_equal(vkf__file_open(&recording.host, scratch_write(*state, "bools", bytes, sizeof bytes), &file),
                         VKF_OK);
        const vkf__stored_tensor tensor = {
            .type = VKF_STORED_BOOL, .count = sizeof bytes, .file = file, .size_bytes = sizeof bytes};
        assert_int_equal(vkf__stored_first_bad_bool(&recording.host, &tensor, &index), VKF_OK);
        assert_int_equal(index, places[i]);
        vkf__file_close(&file);
        assert_int_equal(recording.live, 0);
        assert_true(recording.peak_bytes < 2 << 20);
    }
}

// Whatever the pieces are, a file's elements are those of memory.
static void test_stored_convert_of_a_file_gives_what_memory_does(void **state)
{
    enum { COUNT = 300000, FIRST = 3 };
    static const vkf_dtype dtypes[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};
    static uint8_t bytes[8 * COUNT];
    static float expected[COUNT], got[COUNT];
    recording_host recording;
    recording_host_init(&recording);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + i / 253);
    vkf__file *file = NULL;
    assert_int_equal(vkf__file_open(&recording.host, scratch_write(*state, "values", bytes, sizeof bytes), &file),
                     VKF_OK);
    for (unsigned type = VKF_STORED_F64; type <= VKF_STORED_BF16; type++) {
        size_t size = vkf__stored_type_size((vkf__stored_type)type);
        vkf__stored_tensor memory = {
            .type = (vkf__stored_type)type, .count = COUNT, .data = bytes, .size_bytes = COUNT * size};
        vkf__stored_tensor stored = memory;
        stored.data = NULL;
        stored.file = file;
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
            size_t compared = (COUNT - FIRST) * vkf_dtype_size(dtypes[i]);
            assert_int_equal(vkf__stored_convert(&recording.host, &memory, FIRST, COUNT - FIRST, dtypes[i], expected),
                             VKF_OK);
            assert_int_equal(vkf__stored_convert(&recording.host, &stored, FIRST, COUNT - FIRST, dtypes[i], got),
                             VKF_OK);
            assert_memory_equal(got, expected, compared);
        }
    }
    vkf__file_close(&file);
    assert_int_equal(recording.live, 0);
}

// Text that is repeated up to `size_bytes`, after `head`.
static vkf_status open_repeated(recording_host *recording, const char *head, const char *repeated, size_t size_bytes,
                                vkf__tensor_file **out_file)
{
    uint8_t *bytes = malloc(size_bytes);
    assert_non_null(bytes);
    size_t header_bytes = size_bytes - 8;
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)header_bytes >> (8 * i));
    size_t head_bytes = strlen(head);
    size_t period = strlen(repeated);
    for (size_t i = 0; i < header_bytes; i++)
        bytes[8 + i] = (uint8_t)(i < head_bytes ? head[i] : repeated[(i - head_bytes) % period]);
    vkf_status status = vkf__safetensors_open_memory(&recording->host, "m.safetensors", bytes, size_bytes, out_file);
    free(bytes);
    return status;
}

// Headers that would blow up a parser's stack or memory are refused before they are parsed.
static void test_safetensors_open_refuses_bombs(void **state)
{
    (void)state;
    static const struct {
        const char *head, *repeated, *words;
    } rows[] = {
        {"{\"a\":", "[", "nests deeper"},
        {"{\"a\":", "{\"a\":", "nests deeper"},
        {"{\"a\":{\"shape\":[1", ",1", "more entries than any shape"},
        {"{\"a\":[", "[],", "more entries than any shape"},
        {"{", "\"a\":[],", "more objects and lists"},
        {"{", "\"a\":{},", "more objects and lists"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__tensor_file *file = NULL;
        vkf_status status = open_repeated(&recording, rows[i].head, rows[i].repeated, 3000000, &file);
        assert_refused(&recording, status, file, rows[i].words, rows[i].words);
        assert_in_range(recording.peak_bytes, 0, 4096);
    }
}

static void test_safetensors_open_of_absent_file_and_directory(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__tensor_file *file = NULL;
    const char *path = scratch_path(scratch, "absent.safetensors");
    assert_int_equal(vkf__safetensors_open(&recording.host, path, &file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent.safetensors"));
    assert_int_equal(vkf__safetensors_open(&recording.host, scratch->path, &file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "directory"));
    assert_null(file);
    assert_int_equal(recording.live, 0);
}

static const char several[] = "{\"__metadata__\":{\"format\":\"pt\",\"{\\\"[\":\"]}\"}," ENTRY(
    "norm.weight", "\"F32\"", "[2,3]",
    "[8,32]") "," ENTRY("empty", "\"F16\"", "[4,0]",
                        "[8,8]") "," ENTRY("\xc3\xa9", "\"I64\"", "[]",
                                           "[0,8]") "," ENTRY("norm", "\"BOOL\"", "[1,1,1,1,1,1,1,3]",
                                                              "[32,35]") "," ENTRY("", "\"U8\"", "[0]",
                                                                                   "[35,35]") "}     ";

static void test_safetensors_open_lists_tensors_by_name(void **state)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__tensor_file *file = NULL;
    assert_int_equal(open_text(&recording, *state, several, 35, &file), VKF_OK);
    static const char *const names[] = {"", "empty", "norm", "norm.weight", "\xc3\xa9"};
    assert_int_equal(vkf__tensor_file_count(file), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(vkf__tensor_file_at(file, i)->name, names[i]);
        assert_ptr_equal(vkf__tensor_file_find(file, names[i]), vkf__tensor_file_at(file, i));
    }
    assert_null(vkf__tensor_file_at(file, 5));
    assert_null(vkf__tensor_file_find(file, "nor"));
    assert_null(vkf__tensor_file_find(file, "__metadata__"));
    assert_non_null(strstr(vkf__tensor_file_path(file), "/m.safetensors"));
    assert_int_equal(recording.messages, 0);
    vkf__tensor_file_close(&file);
    assert_null(file);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_open_reads_entries(void **state)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__tensor_file *file = NULL;
    assert_int_equal(open_text(&recording, *state, several, 35, &file), VKF_OK);
    const vkf__stored_tensor *weight = vkf__tensor_file_find(file, "norm.weight");
    assert_int_equal(weight->type, VKF_STORED_F32);
    assert_int_equal(weight->rank, 2);
    assert_int_equal(weight->shape[0], 2);
    assert_int_equal(weight->shape[1], 3);
    assert_int_equal(weight->count, 6);
    assert_int_equal(weight->size_bytes, 24);
    const vkf__stored_tensor *scalar = vkf__tensor_file_find(file, "\xc3\xa9");
    assert_int_equal(scalar->rank, 0);
    assert_int_equal(scalar->count, 1);
    uint8_t stored[8];
    assert_int_equal(weight->offset_bytes - scalar->offset_bytes, 8);
    assert_int_equal(vkf__stored_read(scalar, 0, 8, stored), VKF_OK);
    assert_memory_equal(stored, "\0\1\0\1\0\1\0\1", 8);
    const vkf__stored_tensor *empty = vkf__tensor_file_find(file, "empty");
    assert_int_equal(empty->count, 0);
    assert_int_equal(empty->size_bytes, 0);
    const vkf__stored_tensor *deep = vkf__tensor_file_find(file, "norm");
    assert_int_equal(deep->rank, 8);
    assert_int_equal(deep->shape[7], 3);
    vkf__tensor_file_close(&file);
}

static void test_safetensors_open_memory_copies_nothing(void **state)
{
    (void)state;
    static const char header[] = ONE("\"F32\"", "[2]", "[0,8]");
    recording_host recording;
    recording_host_init(&recording);
    uint8_t bytes[MAX_FILE_BYTES];
    size_t size = make_file(header, strlen(header), 8, bytes);
    vkf__tensor_file *file = NULL;
    assert_int_equal(vkf__safetensors_open_memory(&recording.host, "asset", bytes, size, &file), VKF_OK);
    assert_ptr_equal(vkf__tensor_file_at(file, 0)->data, bytes + size - 8);
    assert_string_equal(vkf__tensor_file_path(file), "asset");
    vkf__tensor_file_close(&file);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_open_without_tensors(void **state)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__tensor_file *file = NULL;
    assert_int_equal(open_text(&recording, *state, "{}", 0, &file), VKF_OK);
    assert_int_equal(vkf__tensor_file_count(file), 0);
    assert_null(vkf__tensor_file_find(file, "a"));
    vkf__tensor_file_close(&file);
    vkf__tensor_file_close(&file);
    vkf__tensor_file_close(NULL);
    assert_int_equal(recording.live, 0);
}

static void test_safetensors_open_knows_every_type(void **state)
{
    recording_host recording;
    for (unsigned i = 0; i < VKF_STORED_COUNT; i++) {
        recording_host_init(&recording);
        vkf__tensor_file *file = NULL;
        char header[256];
        size_t bytes = vkf__stored_type_size((vkf__stored_type)i);
        snprintf(header, sizeof header,
                 "{\"t\":{\"data_offsets\":[0,%zu],\"extra\":null,\"shape\":[3],\"dtype\":\"%s\"}}", 3 * bytes,
                 vkf__stored_type_name((vkf__stored_type)i));
        assert_int_equal(open_text(&recording, *state, header, 3 * bytes, &file), VKF_OK);
        assert_int_equal(vkf__tensor_file_at(file, 0)->type, i);
        vkf__tensor_file_close(&file);
    }
}

static void test_safetensors_open_survives_allocation_failure(void **state)
{
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    size_t n = 0;
    while (status != VKF_OK && n < 100) {
        recording_host recording;
        recording_host_init(&recording);
        recording.fail_call = ++n;
        vkf__tensor_file *file = NULL;
        status = open_text(&recording, *state, several, 35, &file);
        if (status != VKF_OK) {
            assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
            assert_int_equal(recording.messages, 1);
            assert_null(file);
        }
        vkf__tensor_file_close(&file);
        assert_int_equal(recording.live, 0);
    }
    assert_int_equal(status, VKF_OK);
    assert_in_range(n, 5, 99);
}

static void test_stored_type_of_unknown_value(void **state)
{
    (void)state;
    vkf__stored_type type = VKF_STORED_I8;
    assert_string_equal(vkf__stored_type_name(VKF_STORED_COUNT), "unknown");
    assert_int_equal(vkf__stored_type_size(VKF_STORED_COUNT), 0);
    assert_false(vkf__stored_type_from_name("I7", &type));
    assert_int_equal(type, VKF_STORED_I8);
}

// 1.5, -0.0, 2^-24 and 1 + 2^-11 + 2^-40, as each type holds them, after one byte that makes them unaligned.
static const uint8_t f64_bytes[] = {9, 0, 0, 0, 0, 0, 0,    0xf8, 0x3f, 0,    0, 0, 0, 0, 0,    0,   0x80,
                                    0, 0, 0, 0, 0, 0, 0x70, 0x3e, 0,    0x10, 0, 0, 0, 2, 0xf0, 0x3f};
static const uint8_t f32_bytes[] = {9, 0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80, 0, 0, 0x80, 0x33, 0, 0x10, 0x80, 0x3f};
static const uint8_t f16_bytes[] = {9, 0, 0x3e, 0, 0x80, 1, 0, 0, 0x3c};
static const uint8_t bf16_bytes[] = {9, 0xc0, 0x3f, 0, 0x80, 0x80, 0x33, 0x80, 0x3f};

static const struct {
    vkf__stored_type type;
    const uint8_t *bytes;
    uint32_t last_f32;
    uint16_t last_f16; // the double alone still knows that it is above the tie
} conversions[] = {
    {VKF_STORED_F64, f64_bytes, 0x3f801000, 0x3c01},
    {VKF_STORED_F32, f32_bytes, 0x3f801000, 0x3c00},
    {VKF_STORED_F16, f16_bytes, 0x3f800000, 0x3c00},
    {VKF_STORED_BF16, bf16_bytes, 0x3f800000, 0x3c00},
};

static void test_stored_to_every_width_of_every_float_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
        vkf__stored_tensor tensor = {.type = conversions[i].type, .count = 4, .data = conversions[i].bytes + 1};
        uint32_t floats[5] = {0, 0, 0, 0, 0xbeef};
        uint32_t expected_floats[5] = {0x3fc00000, 0x80000000, 0x33800000, conversions[i].last_f32, 0xbeef};
        float values[5];
        memcpy(values, floats, sizeof values);
        assert_true(vkf__stored_to_f32(&tensor, 0, 4, values));
        assert_memory_equal(values, expected_floats, sizeof values);
        uint16_t halves[5] = {0, 0, 0, 0, 0xbeef};
        uint16_t expected_halves[5] = {0x3e00, 0x8000, 0x0001, conversions[i].last_f16, 0xbeef};
        assert_true(vkf__stored_to_f16(&tensor, 0, 4, halves));
        assert_memory_equal(halves, expected_halves, sizeof halves);
        const uint16_t expected_bfloats[5] = {0x3fc0, 0x8000, 0x3380, 0x3f80, 0xbeef};
        assert_true(vkf__stored_to_bf16(&tensor, 0, 4, halves));
        assert_memory_equal(halves, expected_bfloats, sizeof halves);
    }
}

// Ties go to even, a signalling NaN becomes quiet; in its own type everything keeps its bits.
static void test_stored_to_bf16_rounds_and_keeps_its_own(void **state)
{
    (void)state;
    static const uint8_t f32[] = {0, 0x80, 0x80, 0x3f, 1, 0x80, 0x80, 0x3f, 0, 0x80, 0x81, 0x3f, 1, 0, 0x80, 0xff};
    static const uint8_t bf16[] = {0x81, 0x7f, 0xc1, 0xff, 1, 0, 0x80, 0x7f};
    const vkf__stored_tensor wide = {.type = VKF_STORED_F32, .count = 4, .data = f32};
    const vkf__stored_tensor same = {.type = VKF_STORED_BF16, .count = 4, .data = bf16};
    const uint16_t rounded[4] = {0x3f80, 0x3f81, 0x3f82, 0xffc0}, kept[4] = {0x7f81, 0xffc1, 0x0001, 0x7f80};
    uint16_t bfloats[4] = {0};
    assert_true(vkf__stored_to_bf16(&wide, 0, 4, bfloats));
    assert_memory_equal(bfloats, rounded, sizeof bfloats);
    assert_true(vkf__stored_to_bf16(&same, 0, 4, bfloats));
    assert_memory_equal(bfloats, kept, sizeof bfloats);
}

static void test_stored_to_f32_of_a_range(void **state)
{
    (void)state;
    vkf__stored_tensor tensor = {.type = VKF_STORED_F32, .count = 4, .data = f32_bytes + 1};
    float values[2] = {7.0f, 7.0f};
    uint16_t halves[2] = {7, 7};
    assert_true(vkf__stored_to_f32(&tensor, 2, 1, values));
    assert_true(values[0] == 0x1p-24f && values[1] == 7.0f);
    assert_true(vkf__stored_to_f16(&tensor, 4, 0, halves));
    assert_false(vkf__stored_to_f32(&tensor, 3, 2, values));
    assert_false(vkf__stored_to_f32(&tensor, 5, 0, values));
    assert_false(vkf__stored_to_f16(&tensor, 2, UINT64_MAX, halves));
    assert_true(values[0] == 0x1p-24f && halves[0] == 7);
}

static void test_stored_to_f32_refuses_other_types(void **state)
{
    (void)state;
    for (unsigned i = VKF_STORED_I64; i < VKF_STORED_COUNT; i++) {
        vkf__stored_tensor tensor = {.type = (vkf__stored_type)i, .count = 1, .data = f64_bytes};
        float value = 7.0f;
        uint16_t half = 7;
        assert_false(vkf__stored_to_f32(&tensor, 0, 1, &value));
        assert_false(vkf__stored_to_f16(&tensor, 0, 1, &half));
        assert_false(vkf__stored_to_bf16(&tensor, 0, 1, &half));
        assert_true(value == 7.0f && half == 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors_open_refuses_malformed_headers),
        cmocka_unit_test(test_safetensors_open_refuses_bad_lengths),
        cmocka_unit_test(test_safetensors_open_refuses_zero_byte_in_header),
        cmocka_unit_test(test_safetensors_open_takes_types_that_nothing_reads),
        cmocka_unit_test(test_tensor_file_check_bools),
        cmocka_unit_test(test_stored_first_bad_bool_looks_at_all_of_a_file),
        cmocka_unit_test(test_stored_convert_of_a_file_gives_what_memory_does),
        cmocka_unit_test(test_safetensors_open_refuses_bombs),
        cmocka_unit_test(test_safetensors_open_of_absent_file_and_directory),
        cmocka_unit_test(test_safetensors_open_lists_tensors_by_name),
        cmocka_unit_test(test_safetensors_open_reads_entries),
        cmocka_unit_test(test_safetensors_open_memory_copies_nothing),
        cmocka_unit_test(test_safetensors_open_without_tensors),
        cmocka_unit_test(test_safetensors_open_knows_every_type),
        cmocka_unit_test(test_safetensors_open_survives_allocation_failure),
        cmocka_unit_test(test_stored_type_of_unknown_value),
        cmocka_unit_test(test_stored_to_every_width_of_every_float_type),
        cmocka_unit_test(test_stored_to_bf16_rounds_and_keeps_its_own),
        cmocka_unit_test(test_stored_to_f32_of_a_range),
        cmocka_unit_test(test_stored_to_f32_refuses_other_types),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
