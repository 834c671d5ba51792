// Parses the JSON header of safetensors files, which may come from a hostile source, and checks its entries.
#include "io/safetensors_header.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

#define MAX_DEPTH 3            // {name: {"shape": [...]}}
#define MAX_ARRAY_ENTRIES 64   // far above the rank, so that a rank of 9 gets its own message
#define BYTES_PER_CONTAINER 16 // a tensor takes at least 48 bytes for its object and two lists
#define FREE_CONTAINERS 64
#define MAX_SHAPE_ENTRY ((json_int_t)1 << 48) // beyond any memory
#define REASON_BYTES 512

static vkf_status bad_header(const vkf__safetensors_area *area, const char *reason)
{
    return vkf__fail(area->host, VKF_ERROR_FORMAT, "%s: safetensors header: %s", area->path, reason);
}

// What a scan of the text counts, strings aside.
typedef struct nesting {
    int depth;
    bool is_array[MAX_DEPTH + 1]; // by depth
    uint32_t commas[MAX_DEPTH + 1];
    uint64_t containers;
    uint64_t max_containers;
} nesting;

static const char *nesting_check(nesting *at, char c)
{
    if (c == '{' || c == '[') {
        if (at->depth == MAX_DEPTH)
            return "it nests deeper than tensor entries do";
        if (++at->containers > at->max_containers)
            return "it has more objects and lists than tensor entries of its length can have";
        at->is_array[++at->depth] = c == '[';
        at->commas[at->depth] = 0;
    } else if ((c == '}' || c == ']') && at->depth > 0) {
        at->depth--;
    } else if (c == ',' && at->is_array[at->depth] && ++at->commas[at->depth] >= MAX_ARRAY_ENTRIES) {
        return "a list has more entries than any shape (the rank is at most 8)";
    }
    return NULL;
}

// Bounds the memory and the stack that parsing takes, and so runs before it: a tree of small JSON values takes up to a
// hundred times the memory of its text. Text that is not JSON may pass here; the parser refuses it.
static vkf_status check_extent(const vkf__safetensors_area *area, const char *text, size_t text_bytes)
{
    nesting at = {.max_containers = text_bytes / BYTES_PER_CONTAINER + FREE_CONTAINERS};
    bool in_string = false;
    for (size_t i = 0; i < text_bytes; i++) {
        if (text[i] == '"') {
            in_string = !in_string;
        } else if (in_string) {
            i += text[i] == '\\';
        } else {
            const char *reason = nesting_check(&at, text[i]);
            if (reason)
                return bad_header(area, reason);
        }
    }
    return VKF_OK;
}

static vkf_status report_json(const vkf__safetensors_area *area, const json_error_t *error)
{
    const char *what = "not valid JSON";
    switch (json_error_code(error)) {
    case json_error_out_of_memory:
        return vkf__fail(area->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for the safetensors header",
                         area->path);
    case json_error_invalid_utf8:
        what = "not valid UTF-8";
        break;
    case json_error_duplicate_key:
        what = "duplicate tensor name, or duplicate key within a tensor";
        break;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        what = "NUL character in a name or string";
        break;
    case json_error_numeric_overflow:
        what = "a number is absurd: it exceeds 64 bits";
        break;
    default:
        break;
    }
    return vkf__fail(area->host, VKF_ERROR_FORMAT, "%s: safetensors header: %s: %s (at byte %d of the header)",
                     area->path, what, error->text, error->position);
}

static vkf_status take_metadata(const vkf__safetensors_area *area, json_t *root, json_t **out_metadata)
{
    json_t *metadata = json_object_get(root, VKF_SAFETENSORS_METADATA);
    if (!metadata)
        return VKF_OK;
    if (!json_is_object(metadata))
        return bad_header(area, "\"" VKF_SAFETENSORS_METADATA "\" is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return vkf__fail(area->host, VKF_ERROR_FORMAT,
                             "%s: safetensors header: \"" VKF_SAFETENSORS_METADATA "\": '%.200s' is not a string",
                             area->path, key);
    }
    *out_metadata = json_incref(metadata);
    json_object_del(root, VKF_SAFETENSORS_METADATA);
    return VKF_OK;
}

vkf_status vkf__safetensors_parse_header(const vkf__safetensors_area *area, const char *text, size_t text_bytes,
                                         json_t **out_root, json_t **out_metadata)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    if (text_bytes == 0 || text[0] != '{')
        return bad_header(area, "it is not a JSON object: it must begin with '{'");
    VKF_TRY(check_extent(area, text, text_bytes));
    json_error_t error;
    root = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return report_json(area, &error);
    VKF_TRY(take_metadata(area, root, out_metadata));
    *out_root = root;
    return VKF_OK;
fail:
    json_decref(root);
    return status;
}

static vkf_status bad_entry(const vkf__safetensors_area *area, const char *name, const char *format, ...)
    VKF_PRINTF(3, 4);

static vkf_status bad_entry(const vkf__safetensors_area *area, const char *name, const char *format, ...)
{
    char reason[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return vkf__fail(area->host, VKF_ERROR_FORMAT, "%s: tensor '%.200s': %s", area->path, name, reason);
}

static vkf_status parse_type(const vkf__safetensors_area *area, const json_t *entry, vkf__stored_tensor *tensor)
{
    const json_t *dtype = json_object_get(entry, "dtype");
    if (!json_is_string(dtype))
        return bad_entry(area, tensor->name, "dtype is missing or not a string");
    if (!vkf__stored_type_from_name(json_string_value(dtype), &tensor->type))
        tensor->type = VKF_STORED_OTHER;
    return VKF_OK;
}

static vkf_status parse_shape(const vkf__safetensors_area *area, const json_t *entry, vkf__stored_tensor *tensor)
{
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return bad_entry(area, tensor->name, "shape is missing or not a list");
    size_t rank = json_array_size(shape);
    uint64_t extents[MAX_ARRAY_ENTRIES];
    for (size_t i = 0; i < rank; i++) {
        const json_t *entry_value = json_array_get(shape, i);
        if (!json_is_integer(entry_value))
            return bad_entry(area, tensor->name, "shape[%zu] is not a whole number", i);
        json_int_t extent = json_integer_value(entry_value);
        if (extent < 0)
            return bad_entry(area, tensor->name, "shape[%zu] is negative: %lld", i, (long long)extent);
        if (extent > MAX_SHAPE_ENTRY)
            return bad_entry(area, tensor->name, "shape[%zu] is absurd: %lld", i, (long long)extent);
        extents[i] = (uint64_t)extent;
    }
    if (!vkf__product_u64(extents, rank, &tensor->count) ||
        !vkf__mul_u64(tensor->count, vkf__stored_type_size(tensor->type), &tensor->size_bytes))
        return bad_entry(area, tensor->name, "the product of its shape overflows 64 bits");
    if (rank > VKF_STORED_MAX_RANK) { // which nothing reads
        tensor->type = VKF_STORED_OTHER;
        extents[0] = tensor->count;
        rank = 1;
    }
    memcpy(tensor->shape, extents, rank * sizeof *extents);
    tensor->rank = (uint32_t)rank;
    return VKF_OK;
}

static vkf_status parse_offsets(const vkf__safetensors_area *area, const json_t *entry, vkf__stored_tensor *tensor)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *first = json_array_get(offsets, 0);
    const json_t *last = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last))
        return bad_entry(area, tensor->name, "data_offsets is not a list of two whole numbers");
    json_int_t begin = json_integer_value(first);
    json_int_t end = json_integer_value(last);
    if (begin < 0 || end < begin)
        return bad_entry(area, tensor->name, "data_offsets [%lld, %lld] is not a range", (long long)begin,
                         (long long)end);
    if ((uint64_t)end > area->size_bytes)
        return bad_entry(area, tensor->name, "data_offsets end at %lld, beyond the file: it has %llu bytes of data",
                         (long long)end, (unsigned long long)area->size_bytes);
    if (vkf__stored_type_size(tensor->type) == 0)
        tensor->size_bytes = (uint64_t)(end - begin);
    if ((uint64_t)(end - begin) != tensor->size_bytes)
        return bad_entry(area, tensor->name,
                         "data_offsets span %lld bytes but shape and dtype disagree: they need %llu",
                         (long long)(end - begin), (unsigned long long)tensor->size_bytes);
    tensor->data = area->data ? area->data + begin : NULL;
    tensor->file = area->file;
    tensor->offset_bytes = area->begin_bytes + (uint64_t)begin;
    return VKF_OK;
}

vkf_status vkf__safetensors_parse_entry(const vkf__safetensors_area *area, const char *name, const json_t *entry,
                                        vkf__stored_tensor *out_tensor)
{
    vkf__stored_tensor tensor = {.name = name};
    if (!json_is_object(entry))
        return bad_entry(area, name, "its entry is not an object");
    VKF_RETURN_IF_ERROR(parse_type(area, entry, &tensor));
    VKF_RETURN_IF_ERROR(parse_shape(area, entry, &tensor));
    VKF_RETURN_IF_ERROR(parse_offsets(area, entry, &tensor));
    *out_tensor = tensor;
    return VKF_OK;
}
