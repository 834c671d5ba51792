// Reads JSON files and the typed values of their keys.
#include "io/json_file.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "io/file.h"
#include "io/json_text.h"

static bool is_constant(const char *text)
{
    return strcmp(text, VKF_JSON_NAN) == 0 || strcmp(text + (*text == '-'), VKF_JSON_INFINITY) == 0;
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return is_constant(json_string_value(value)) ? "no finite number" : "a string";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number with a fraction or exponent";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "of an unknown type";
}

static vkf_status parse(const vkf__host *host, const char *path, const char *text, size_t text_bytes, json_type wanted,
                        json_t **out_root)
{
    json_error_t error;
    char *rewritten = NULL;
    VKF_RETURN_IF_ERROR(vkf__json_text_rewrite(host, text, text_bytes, &rewritten, &text_bytes));
    json_t *root = json_loadb(rewritten ? rewritten : text_bytes > 0 ? text : "", text_bytes, 0, &error);
    vkf__free(host, rewritten);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its JSON values", path);
    if (!root)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s:%d:%d: not valid %s: %s", path, error.line, error.column,
                         json_error_code(&error) == json_error_invalid_utf8 ? "UTF-8" : "JSON", error.text);
    if (json_typeof(root) != wanted) {
        vkf_status status = vkf__fail(host, VKF_ERROR_FORMAT, "%s:1:1: the top level is %s; it must be an %s", path,
                                      type_name(root), wanted == JSON_ARRAY ? "array" : "object");
        json_decref(root);
        return status;
    }
    *out_root = root;
    return VKF_OK;
}

vkf_status vkf__json_parse(const vkf__host *host, const char *path, const char *text, size_t text_bytes,
                           json_t **out_root)
{
    return parse(host, path, text, text_bytes, JSON_OBJECT, out_root);
}

static vkf_status load(const vkf__host *host, const char *path, json_type wanted, json_t **out_root)
{
    vkf__file_bytes file;
    vkf_status status = vkf__file_read(host, path, VKF_JSON_MAX_BYTES, &file);
    if (status != VKF_OK)
        return status;
    status = parse(host, path, (const char *)file.data, file.size_bytes, wanted, out_root);
    vkf__file_bytes_free(host, &file);
    return status;
}

vkf_status vkf__json_load(const vkf__host *host, const char *path, json_t **out_root)
{
    return load(host, path, JSON_OBJECT, out_root);
}

vkf_status vkf__json_load_as_written(const vkf__host *host, const char *path, json_t **out_root)
{
    vkf__file_bytes file;
    VKF_RETURN_IF_ERROR(vkf__file_read(host, path, VKF_JSON_MAX_BYTES, &file));
    const char *text = file.size_bytes > 0 ? (const char *)file.data : "";
    json_t *root = json_loadb(text, file.size_bytes, 0, NULL);
    vkf_status status = VKF_OK;
    if (!json_is_object(root)) { // what it is instead, or what it has that only Python reads
        json_decref(root);
        status = parse(host, path, text, file.size_bytes, JSON_OBJECT, &root);
    }
    if (status == VKF_OK)
        *out_root = root;
    vkf__file_bytes_free(host, &file);
    return status;
}

vkf_status vkf__json_load_array(const vkf__host *host, const char *path, json_t **out_root)
{
    return load(host, path, JSON_ARRAY, out_root);
}

bool vkf__json_has(const json_t *object, const char *key)
{
    const json_t *value = key ? json_object_get(object, key) : NULL;
    return value && !json_is_null(value);
}

static vkf_status required(const vkf__host *host, const char *path, const json_t *object, const char *key,
                           const json_t **out_value)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: key '%s' is missing", path, key);
    *out_value = value;
    return VKF_OK;
}

static vkf_status wrong_type(const vkf__host *host, const char *path, const char *key, const json_t *value,
                             const char *wanted)
{
    return vkf__fail(host, VKF_ERROR_FORMAT, "%s: key '%s' is %s; it must be %s", path, key, type_name(value), wanted);
}

vkf_status vkf__json_u32(const vkf__host *host, const char *path, const json_t *object, const char *key, uint32_t min,
                         uint32_t max, uint32_t *out_value)
{
    const json_t *value = NULL;
    VKF_RETURN_IF_ERROR(required(host, path, object, key, &value));
    double real = json_real_value(value); // a whole number of more than 64 bits, perhaps
    if (json_is_real(value) && real == floor(real))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: key '%s' is %.17g; it must be within %lu and %lu", path, key,
                         real, (unsigned long)min, (unsigned long)max);
    if (!json_is_integer(value))
        return wrong_type(host, path, key, value, "a whole number");
    json_int_t number = json_integer_value(value);
    if (number < (json_int_t)min || number > (json_int_t)max)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: key '%s' is %lld; it must be within %lu and %lu", path, key,
                         (long long)number, (unsigned long)min, (unsigned long)max);
    *out_value = (uint32_t)number;
    return VKF_OK;
}

vkf_status vkf__json_bool(const vkf__host *host, const char *path, const json_t *object, const char *key,
                          bool *out_value)
{
    const json_t *value = NULL;
    VKF_RETURN_IF_ERROR(required(host, path, object, key, &value));
    if (!json_is_boolean(value))
        return wrong_type(host, path, key, value, "true or false");
    *out_value = json_is_true(value);
    return VKF_OK;
}

vkf_status vkf__json_f32(const vkf__host *host, const char *path, const json_t *object, const char *key,
                         float *out_value)
{
    const json_t *value = NULL;
    VKF_RETURN_IF_ERROR(required(host, path, object, key, &value));
    if (!json_is_number(value))
        return wrong_type(host, path, key, value, "a number");
    double number = json_number_value(value);
    if (fabs(number) > (double)FLT_MAX)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: key '%s' is %g, which is too large for a float32", path, key,
                         number);
    *out_value = (float)number;
    return VKF_OK;
}

vkf_status vkf__json_string(const vkf__host *host, const char *path, const json_t *object, const char *key,
                            const char **out_value)
{
    const json_t *value = NULL;
    VKF_RETURN_IF_ERROR(required(host, path, object, key, &value));
    if (!json_is_string(value))
        return wrong_type(host, path, key, value, "a string");
    *out_value = json_string_value(value);
    return VKF_OK;
}
