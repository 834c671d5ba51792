// The safetensors reader. An input that begins with "H" is a header's text, then after a zero byte the data, so that a
// mutation does not spoil the length field; any other input is a whole file.
#include <string.h>

#include "../unit/recording_host.h"
#include "base/size.h"
#include "fuzz.h"
#include "io/safetensors.h"

#define TENSOR(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("H{}"),
    FUZZ_TEXT("H{" TENSOR("a", "F32", "[1,2]", "[0,8]") "}\0ABCDEFGH"),
    FUZZ_TEXT("H{" TENSOR("a", "BOOL", "[2]", "[0,2]") "," TENSOR("b", "U8", "[]", "[2,3]") "}  \0\0\1x"),
    FUZZ_TEXT("H{" TENSOR("b", "F16", "[0,3]", "[4,4]") "," TENSOR("a", "I16", "[2]", "[0,4]") "}\0ABCD"),
    FUZZ_TEXT("H{\"__metadata__\":{\"format\":\"pt\"}," TENSOR("\\u00e9", "BF16", "[1,1]", "[0,2]") "}\0AB"),
    FUZZ_TEXT("H{" TENSOR("deep", "I8", "[1,1,1,1,1,1,1,2]", "[0,2]") "}\0AB"),
    FUZZ_TEXT("\2\0\0\0\0\0\0\0{}"),
    FUZZ_TEXT("\70\0\0\0\0\0\0\0{" TENSOR("a", "U8", "[2]", "[0,2]") "}   AB"),
    FUZZ_TEXT("\377\377\377\377\377\377\377\377{}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

// The file that the input stands for, of *size_bytes bytes; the caller frees it.
static uint8_t *make_file(const uint8_t *data, size_t *size_bytes)
{
    size_t input_bytes = *size_bytes;
    uint8_t *file = malloc(input_bytes + 8);
    FUZZ_CHECK(file);
    if (input_bytes == 0 || data[0] != 'H') {
        if (input_bytes > 0)
            memcpy(file, data, input_bytes);
        return file;
    }
    const uint8_t *zero = memchr(data, 0, input_bytes);
    size_t header_bytes = (zero ? (size_t)(zero - data) : input_bytes) - 1;
    size_t skip = zero ? header_bytes + 2 : input_bytes;
    for (size_t i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)header_bytes >> (8 * i));
    memcpy(file + 8, data + 1, header_bytes);
    memcpy(file + 8 + header_bytes, data + skip, input_bytes - skip);
    *size_bytes = 8 + header_bytes + input_bytes - skip;
    return file;
}

static void check_tensor(const vkf__tensor_file *file, size_t index, bool good_bools, const uint8_t *data,
                         size_t size_bytes)
{
    const vkf__stored_tensor *tensor = vkf__tensor_file_at(file, index);
    FUZZ_CHECK(vkf__tensor_file_find(file, tensor->name) == tensor);
    FUZZ_CHECK(index == 0 || strcmp(vkf__tensor_file_at(file, index - 1)->name, tensor->name) < 0);
    FUZZ_CHECK(tensor->rank <= VKF_STORED_MAX_RANK);
    uint64_t count = 0;
    FUZZ_CHECK(vkf__product_u64(tensor->shape, tensor->rank, &count) && count == tensor->count);
    const size_t element = vkf__stored_type_size(tensor->type);
    FUZZ_CHECK(element == 0 || tensor->size_bytes == count * element);
    FUZZ_CHECK(tensor->data >= data + 8 && tensor->size_bytes <= (size_t)(data + size_bytes - tensor->data));
    for (uint64_t i = 0; i < count && element > 0; i++) {
        float value;
        uint16_t half;
        bool converted = vkf__stored_to_f32(tensor, i, 1, &value);
        FUZZ_CHECK(vkf__stored_to_f16(tensor, i, 1, &half) == converted);
        FUZZ_CHECK(!good_bools || tensor->type != VKF_STORED_BOOL || tensor->data[i] <= 1);
    }
}

static void check_file(const vkf__tensor_file *file, const uint8_t *data, size_t size_bytes)
{
    uint64_t data_bytes = 0;
    const bool good_bools = vkf__tensor_file_check_bools(file) == VKF_OK;
    for (size_t i = 0; i < vkf__tensor_file_count(file); i++) {
        check_tensor(file, i, good_bools, data, size_bytes);
        data_bytes += vkf__tensor_file_at(file, i)->size_bytes;
    }
    uint64_t header_bytes = 0;
    for (size_t i = 0; i < 8; i++)
        header_bytes |= (uint64_t)data[i] << (8 * i);
    FUZZ_CHECK(8 + header_bytes + data_bytes == size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__tensor_file *file = NULL;
    uint8_t *bytes = make_file(data, &size_bytes);
    vkf_status status = vkf__safetensors_open_memory(&recording.host, "fuzz", bytes, size_bytes, &file);
    FUZZ_CHECK(recording.peak_bytes <= 4096 + 8 * size_bytes);
    if (status == VKF_OK) {
        FUZZ_CHECK(recording.messages == 0);
        check_file(file, bytes, size_bytes);
    } else {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT);
        FUZZ_CHECK(!file && recording.messages == 1 && recording.severity == VKF_SEVERITY_ERROR);
    }
    vkf__tensor_file_close(&file);
    FUZZ_CHECK(recording.live == 0);
    free(bytes);
    return 0;
}
