// The reader of torch.save()'s files. An input that begins with "Z" is a pickle that is wrapped into a zip archive with
// a few storages, one that begins with "L" a pickle of the old form, in the same way: a mutation then spoils no length
// and no directory. Any other input is a whole file.
#include <string.h>

#include "../unit/recording_host.h"
#include "base/size.h"
#include "fuzz.h"
#include "io/torch_file.h"

#define ODICT "ccollections\nOrderedDict\n"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n"
#define TEXT(length, text) "X" length "\0\0\0" text
// A tensor of `numel` elements of storage `key`, all of them in one dimension.
#define STORAGE(class, key, numel) \
    "(" TEXT("\7", "storage") "ctorch\n" class "\n" TEXT("\1", key) TEXT("\3", "cpu") "K" numel
#define VECTOR(class, key, numel, end)                                            \
    REBUILD "(" STORAGE(class, key, numel) end "tQK\0K" numel "\x85K\1\x85\x89)t" \
                                               "R"
#define DICT_BEGIN "\x80\2" ODICT ")R("

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("Z" DICT_BEGIN TEXT("\1", "a") VECTOR("FloatStorage", "0", "\4", "") "u."),
    FUZZ_TEXT("Z" DICT_BEGIN TEXT("\1", "a") VECTOR("HalfStorage", "0", "\2", "") TEXT("\1", "b")
                  VECTOR("BoolStorage", "1", "\3", "") "u}" TEXT("\11", "_metadata") "}sb."),
    FUZZ_TEXT("Z\x80\2}q\0(" TEXT("\5", "epoch") "K\3" TEXT("\5", "model") DICT_BEGIN TEXT("\1", "a")
                  VECTOR("LongStorage", "2", "\1", "") "uu."),
    FUZZ_TEXT("Z\x80\2}(" TEXT("\1", "a") REBUILD
              "(" STORAGE("FloatStorage", "0", "\4") "tQK\0K\2K\2\x86K\2K\1\x86\x89)tR"
                                                     "u."),
    FUZZ_TEXT(
        "Z\x80\4\x95\0\0\0\0\0\0\0\0}\x94(\x8c\1a\x94\x8c\14torch._utils\x94\x8c\22_rebuild_tensor_v2\x94\x93\x94)R"
        "u."),
    FUZZ_TEXT("L" DICT_BEGIN TEXT("\1", "a") VECTOR("FloatStorage", "0", "\4", "N") "u.\x80\2](" TEXT("\1", "0") "e."),
    FUZZ_TEXT("L" DICT_BEGIN TEXT("\1", "a") VECTOR("ByteStorage", "0", "\4", "N") TEXT("\1", "b")
                  VECTOR("ByteStorage", "0", "\4", "N") "u.\x80\2](" TEXT("\1", "0") "e."),
    FUZZ_TEXT("Z\x80\2cos\nsystem\n" TEXT("\2", "id") "\x85R."),
    FUZZ_TEXT("PK\3\4"),
    FUZZ_TEXT("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3."),
    FUZZ_TEXT("version https://git-lfs.github.com/spec/v1\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

#define STORAGE_COUNT 3
#define STORAGE_BYTES 16
#define OVERHEAD_BYTES 2048

typedef struct writer {
    uint8_t *data;
    size_t size_bytes;
} writer;

static void put(writer *w, const void *bytes, size_t size_bytes)
{
    memcpy(w->data + w->size_bytes, bytes, size_bytes);
    w->size_bytes += size_bytes;
}

static void put_number(writer *w, uint64_t number, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        w->data[w->size_bytes++] = (uint8_t)(i < 8 ? number >> (8 * i) : 0);
}

// A local header or, with an offset, a central one.
static void put_header(writer *w, const char *name, size_t size_bytes, const size_t *offset)
{
    put_number(w, offset ? 0x02014b50 : 0x04034b50, 4);
    put_number(w, 0, offset ? 16 : 14);
    put_number(w, size_bytes, 4);
    put_number(w, size_bytes, 4);
    put_number(w, strlen(name), 2);
    put_number(w, 0, offset ? 12 : 2);
    if (offset)
        put_number(w, *offset, 4);
    put(w, name, strlen(name));
}

static void wrap_zip(writer *w, const uint8_t *pickle, size_t size_bytes)
{
    static const char *const names[] = {"x/data.pkl", "x/data/0", "x/data/1", "x/data/2"};
    static const uint8_t storage[STORAGE_BYTES] = {0, 1, 1, 0, 0, 1};
    size_t offsets[STORAGE_COUNT + 1];
    for (size_t i = 0; i <= STORAGE_COUNT; i++) {
        offsets[i] = w->size_bytes;
        put_header(w, names[i], i == 0 ? size_bytes : sizeof storage, NULL);
        put(w, i == 0 ? pickle : storage, i == 0 ? size_bytes : sizeof storage);
    }
    size_t begin = w->size_bytes;
    for (size_t i = 0; i <= STORAGE_COUNT; i++)
        put_header(w, names[i], i == 0 ? size_bytes : sizeof storage, &offsets[i]);
    size_t end = w->size_bytes;
    put_number(w, 0x06054b50, 8);
    put_number(w, STORAGE_COUNT + 1, 2);
    put_number(w, STORAGE_COUNT + 1, 2);
    put_number(w, end - begin, 4);
    put_number(w, begin, 4);
    put_number(w, 0, 2);
}

static void wrap_legacy(writer *w, const uint8_t *pickles, size_t size_bytes)
{
    static const char head[] =
        "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3.\x80\2}X\15\0\0\0little_endian\x88s.";
    put(w, head, sizeof head - 1);
    put(w, pickles, size_bytes);
    put_number(w, 4, 8);
    put(w, "0123456789abcdef", STORAGE_BYTES);
}

static void check_tensor(const vkf__tensor_file *file, size_t index, const uint8_t *data, size_t size_bytes)
{
    const vkf__stored_tensor *tensor = vkf__tensor_file_at(file, index);
    uint64_t count = 0;
    FUZZ_CHECK(vkf__tensor_file_find(file, tensor->name) == tensor);
    FUZZ_CHECK(index == 0 || strcmp(vkf__tensor_file_at(file, index - 1)->name, tensor->name) < 0);
    FUZZ_CHECK(tensor->rank <= VKF_STORED_MAX_RANK && tensor->type < VKF_STORED_COUNT);
    FUZZ_CHECK(vkf__product_u64(tensor->shape, tensor->rank, &count) && count == tensor->count);
    FUZZ_CHECK(tensor->size_bytes == count * vkf__stored_type_size(tensor->type));
    FUZZ_CHECK(tensor->offset_bytes <= size_bytes && tensor->size_bytes <= size_bytes - tensor->offset_bytes);
    FUZZ_CHECK(tensor->data == data + tensor->offset_bytes);
    for (uint64_t i = 0; tensor->type == VKF_STORED_BOOL && i < count; i++)
        FUZZ_CHECK(tensor->data[i] <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__tensor_file *file = NULL;
    writer w = {malloc(size_bytes + OVERHEAD_BYTES), 0};
    FUZZ_CHECK(w.data);
    if (size_bytes > 0 && data[0] == 'Z')
        wrap_zip(&w, data + 1, size_bytes - 1);
    else if (size_bytes > 0 && data[0] == 'L')
        wrap_legacy(&w, data + 1, size_bytes - 1);
    else if (size_bytes > 0)
        put(&w, data, size_bytes);
    uint8_t *bytes = realloc(w.data, w.size_bytes > 0 ? w.size_bytes : 1); // so that a read beyond the end is seen
    FUZZ_CHECK(bytes);
    vkf_status status = vkf__torch_open_memory(&recording.host, "fuzz", bytes, w.size_bytes, &file);
    FUZZ_CHECK(recording.peak_bytes <= 65536 + 128 * w.size_bytes);
    if (status == VKF_OK) {
        FUZZ_CHECK(recording.messages == 0);
        for (size_t i = 0; i < vkf__tensor_file_count(file); i++)
            check_tensor(file, i, bytes, w.size_bytes);
    } else {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED);
        FUZZ_CHECK(!file && recording.messages == 1 && recording.severity == VKF_SEVERITY_ERROR);
    }
    vkf__tensor_file_close(&file);
    FUZZ_CHECK(recording.live == 0);
    free(bytes);
    return 0;
}
