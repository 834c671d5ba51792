// Reads SentencePiece's model files straight from protobuf's wire format.
#include "text/spm_file.h"

#include <math.h>
#include <string.h>

#include "text/code_point.h"

#define MAX_PIECES ((size_t)1 << 24)

// --- the wire format of protocol buffers

typedef enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 } wire_type;

typedef struct wire {
    const uint8_t *at;
    const uint8_t *end;
} wire;

typedef struct wire_field {
    uint32_t key; // the field's number * 8 + its wire type
    uint64_t value;
    vkf__spm_text bytes;
} wire_field;

#define FIELD(number, type) ((number)*8u + (type))

static bool read_varint(wire *from, uint64_t *out_value)
{
    *out_value = 0;
    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        uint8_t byte = *from->at++;
        *out_value |= (uint64_t)(byte & 0x7fu) << shift;
        if (!(byte & 0x80u))
            return true;
    }
    return false;
}

static bool read_fixed(wire *from, size_t bytes, uint64_t *out_value)
{
    *out_value = 0;
    if ((size_t)(from->end - from->at) < bytes)
        return false;
    for (size_t i = 0; i < bytes; i++)
        *out_value |= (uint64_t)*from->at++ << (8 * i);
    return true;
}

// Reads the next field. False where the bytes are not a field.
static bool read_field(wire *from, wire_field *out_field)
{
    uint64_t key = 0;
    *out_field = (wire_field){0};
    if (!read_varint(from, &key) || key > UINT32_MAX)
        return false;
    out_field->key = (uint32_t)key;
    switch (key % 8) {
    case WIRE_VARINT:
        return read_varint(from, &out_field->value);
    case WIRE_FIXED64:
        return read_fixed(from, 8, &out_field->value);
    case WIRE_FIXED32:
        return read_fixed(from, 4, &out_field->value);
    case WIRE_BYTES:
        if (!read_varint(from, &out_field->value) || out_field->value > (uint64_t)(from->end - from->at))
            return false;
        out_field->bytes = (vkf__spm_text){(const char *)from->at, (size_t)out_field->value};
        from->at += out_field->bytes.count;
        return true;
    default: // groups, which were obsolete before SentencePiece began
        return false;
    }
}

// Calls `take` for every field of a message. `take` ignores fields that it does not know.
typedef vkf_status (*take_fn)(vkf__spm_file *file, const char *path, const wire_field *field);

static vkf_status read_message(vkf__spm_file *file, const char *path, const char *name, vkf__spm_text message,
                               take_fn take)
{
    vkf_status status = VKF_OK;
    const uint8_t *begin = (const uint8_t *)message.bytes;
    wire from = {begin, begin + message.count};
    while (from.at < from.end && status == VKF_OK) {
        wire_field field;
        size_t at = (size_t)(from.at - begin);
        if (!read_field(&from, &field))
            return vkf__fail(file->host, VKF_ERROR_FORMAT,
                             "%s: %s of this SentencePiece model is broken or cut off at its byte %zu", path, name, at);
        status = take(file, path, &field);
    }
    return status;
}

// --- the messages of sentencepiece_model.proto

static float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static vkf_status take_piece_field(vkf__spm_file *file, const char *path, const wire_field *field)
{
    vkf__spm_piece *piece = &file->pieces[file->count];
    (void)path;
    if (field->key == FIELD(1, WIRE_BYTES))
        piece->text = field->bytes;
    else if (field->key == FIELD(2, WIRE_FIXED32))
        piece->score = as_float(field->value);
    else if (field->key == FIELD(3, WIRE_VARINT))
        piece->type = field->value < VKF_SPM_TYPE_END ? (uint32_t)field->value : 0;
    return VKF_OK;
}

static vkf_status take_piece(vkf__spm_file *file, const char *path, vkf__spm_text message)
{
    size_t index = file->count;
    if (index >= MAX_PIECES)
        return vkf__fail(file->host, VKF_ERROR_FORMAT, "%s has more than %zu pieces", path, MAX_PIECES);
    VKF_RETURN_IF_ERROR(
        vkf__grow(file->host, (void **)&file->pieces, sizeof *file->pieces, index, &file->capacity, index + 1));
    file->pieces[index] = (vkf__spm_piece){.type = VKF_SPM_NORMAL};
    VKF_RETURN_IF_ERROR(read_message(file, path, "a piece", message, take_piece_field));
    const vkf__spm_piece *piece = &file->pieces[index];
    if (piece->text.count == 0 || piece->type == 0 || !isfinite(piece->score))
        return vkf__fail(file->host, VKF_ERROR_FORMAT, "%s: piece %zu has no text, no finite score or an unknown type",
                         path, index);
    if (piece->type == VKF_SPM_UNKNOWN) {
        if (file->unk_id >= 0)
            return vkf__fail(file->host, VKF_ERROR_FORMAT, "%s: pieces %ld and %zu are both the unknown one", path,
                             (long)file->unk_id, index);
        file->unk_id = (int32_t)index;
    }
    file->count++;
    return VKF_OK;
}

static vkf_status take_trainer_field(vkf__spm_file *file, const char *path, const wire_field *field)
{
    (void)path;
    if (field->key == FIELD(3, WIRE_VARINT))
        file->model_type = field->value < UINT32_MAX ? (uint32_t)field->value : UINT32_MAX;
    else if (field->key == FIELD(24, WIRE_VARINT))
        file->whitespace_as_suffix = field->value != 0;
    else if (field->key == FIELD(35, WIRE_VARINT))
        file->byte_fallback = field->value != 0;
    else if (field->key == FIELD(44, WIRE_BYTES))
        file->unk_surface = field->bytes;
    return VKF_OK;
}

static vkf_status take_normalizer_field(vkf__spm_file *file, const char *path, const wire_field *field)
{
    (void)path;
    if (field->key == FIELD(2, WIRE_BYTES))
        file->charsmap = field->bytes;
    else if (field->key == FIELD(3, WIRE_VARINT))
        file->add_dummy_prefix = field->value != 0;
    else if (field->key == FIELD(4, WIRE_VARINT))
        file->remove_extra_whitespaces = field->value != 0;
    else if (field->key == FIELD(5, WIRE_VARINT))
        file->escape_whitespaces = field->value != 0;
    return VKF_OK;
}

static vkf_status take_denormalizer_field(vkf__spm_file *file, const char *path, const wire_field *field)
{
    (void)path;
    if (field->key == FIELD(2, WIRE_BYTES))
        file->denormalizer = field->bytes;
    return VKF_OK;
}

static vkf_status take_field(vkf__spm_file *file, const char *path, const wire_field *field)
{
    switch (field->key) {
    case FIELD(1, WIRE_BYTES):
        return take_piece(file, path, field->bytes);
    case FIELD(2, WIRE_BYTES):
        return read_message(file, path, "the trainer_spec", field->bytes, take_trainer_field);
    case FIELD(3, WIRE_BYTES):
        return read_message(file, path, "the normalizer_spec", field->bytes, take_normalizer_field);
    case FIELD(5, WIRE_BYTES):
        return read_message(file, path, "the denormalizer_spec", field->bytes, take_denormalizer_field);
    default:
        return VKF_OK;
    }
}

// --- the whole

vkf_status vkf__spm_file_check_type(const vkf__spm_file *file, const char *path, uint32_t model_type)
{
    static const char *const names[] = {"an unknown kind", "Unigram", "BPE", "words", "characters"};
    uint32_t type = file->model_type <= 4 ? file->model_type : 0;
    if (file->model_type == model_type)
        return VKF_OK;
    return vkf__fail(file->host, VKF_ERROR_UNSUPPORTED,
                     "%s is a model of %s; of SentencePiece's own files those of %s are read here, "
                     "the others as tokenizer.json",
                     path, names[type], names[model_type]);
}

static vkf_status check(const vkf__spm_file *file, const char *path)
{
    if (file->denormalizer.count > 0)
        return vkf__fail(file->host, VKF_ERROR_UNSUPPORTED, "%s has a denormalizer_spec with rules", path);
    if (file->unk_id < 0)
        return vkf__fail(file->host, VKF_ERROR_FORMAT, "%s has no unknown piece", path);
    bool valid = true;
    for (size_t at = 0; at < file->unk_surface.count && valid;)
        at += vkf__utf8_check(file->unk_surface.bytes + at, file->unk_surface.count - at, &valid);
    return valid ? VKF_OK : vkf__fail(file->host, VKF_ERROR_FORMAT, "%s: unk_surface is not valid UTF-8", path);
}

vkf_status vkf__spm_file_parse(const vkf__host *host, const char *path, vkf__spm_text bytes, vkf__spm_file *out_file)
{
    vkf_status status = VKF_OK;
    vkf__spm_file file = {
        .host = host,
        .unk_id = -1,
        .model_type = 1,
        .unk_surface = {" \xe2\x81\x87 ", 5},
        .add_dummy_prefix = true,
        .remove_extra_whitespaces = true,
        .escape_whitespaces = true,
    };
    VKF_TRY(read_message(&file, path, "the message", bytes, take_field));
    VKF_TRY(check(&file, path));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__spm_file_free(&file);
    return status;
}

void vkf__spm_file_free(vkf__spm_file *file)
{
    if (file->host)
        vkf__free(file->host, file->pieces);
    *file = (vkf__spm_file){0};
}
