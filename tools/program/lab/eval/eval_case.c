// Reads a case's files, moves its tensors to the device, and collects its outputs.
#include "lab/eval/eval_case.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

static vkf_status no_memory(const vkf_eval_case *c, uint64_t count, size_t element_bytes)
{
    return vkf__fail(c->settings.host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for %llu elements of %zu bytes",
                     (unsigned long long)count, element_bytes);
}

uint64_t vkf__eval_count(vkf_eval_dims dims)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < dims.rank; i++)
        if (!vkf__mul_u64(count, dims.shape[i], &count))
            return UINT64_MAX;
    return count;
}

// ---- the case and its files

static char *join_path(const vkf__host *host, const char *directory, const char *name)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = vkf__alloc(host, size, 1);
    if (path)
        snprintf(path, size, "%s/%s", directory, name);
    return path;
}

static vkf_status open_inputs(vkf_eval_case *c, const char *directory)
{
    const vkf__host *host = c->settings.host;
    char *path = join_path(host, directory, "inputs.safetensors");
    if (!path)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for a path", directory);
    vkf_status status = vkf__safetensors_open(host, path, &c->inputs);
    vkf__free(host, path);
    return status;
}

vkf_status vkf__eval_case_open(const vkf_eval_settings *settings, const char *directory, vkf_eval_case *out_case)
{
    vkf_status status;
    const vkf__host *host = settings->host;
    vkf_eval_case *c = out_case;
    *c = (vkf_eval_case){.settings = *settings};
    c->config_path = join_path(host, directory, "config.json");
    c->weights_path = join_path(host, directory, "weights.safetensors");
    if (!c->config_path || !c->weights_path) {
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for a path", directory);
        goto fail;
    }
    VKF_TRY(vkf__json_load(host, c->config_path, &c->config));
    VKF_TRY(vkf__json_string(host, c->config_path, c->config, "kind", &c->kind));
    VKF_TRY(vkf__safetensors_open(host, c->weights_path, &c->weights));
    VKF_TRY(open_inputs(c, directory));
    VKF_TRY(vkf__tensor_file_check_bools(c->weights));
    VKF_TRY(vkf__tensor_file_check_bools(c->inputs));
    return VKF_OK;
fail:
    vkf__eval_case_close(c);
    return status;
}

void vkf__eval_case_close(vkf_eval_case *c)
{
    const vkf__host *host = c->settings.host;
    vkf_layer_destroy(&c->layer);
    for (size_t i = 0; i < c->tensor_count; i++)
        vkf_tensor_destroy(&c->tensors[i]);
    for (size_t i = 0; i < c->block_count; i++)
        vkf__free(host, c->blocks[i]);
    vkf__free(host, c->tensors);
    vkf__free(host, c->blocks);
    vkf__free(host, c->outputs);
    vkf__tensor_file_close(&c->inputs);
    vkf__tensor_file_close(&c->weights);
    json_decref(c->config);
    vkf__free(host, c->weights_path);
    vkf__free(host, c->config_path);
    *c = (vkf_eval_case){.settings = c->settings};
}

vkf_status vkf__eval_case_save(const vkf_eval_case *c, const char *path)
{
    vkf_status status = VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__tensor_file_check_unchanged(c->inputs));
    VKF_RETURN_IF_ERROR(vkf__tensor_file_check_unchanged(c->weights));
    status = vkf__safetensors_write(c->settings.host, path, c->outputs, c->output_count);
    return status;
}

// ---- config.json

vkf_status vkf__eval_size(const vkf_eval_case *c, const char *key, uint32_t *out_value)
{
    return vkf__json_u32(c->settings.host, c->config_path, c->config, key, 1, UINT32_MAX, out_value);
}

vkf_status vkf__eval_id(const vkf_eval_case *c, const char *key, int32_t *out_value)
{
    uint32_t value = 0;
    vkf_status status = vkf__json_u32(c->settings.host, c->config_path, c->config, key, 0, INT32_MAX, &value);
    if (status == VKF_OK)
        *out_value = (int32_t)value;
    return status;
}

vkf_status vkf__eval_bool(const vkf_eval_case *c, const char *key, bool *out_value)
{
    return vkf__json_bool(c->settings.host, c->config_path, c->config, key, out_value);
}

vkf_status vkf__eval_f32(const vkf_eval_case *c, const char *key, float *out_value)
{
    return vkf__json_f32(c->settings.host, c->config_path, c->config, key, out_value);
}

vkf_status vkf__eval_activation(const vkf_eval_case *c, vkf_activation *out_value)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(c->settings.host, c->config_path, c->config, "activation", &name);
    if (status != VKF_OK)
        return status;
    if (strcmp(name, "relu") != 0 && strcmp(name, "gelu") != 0)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "%s: activation \"%s\" is neither relu nor gelu",
                         c->config_path, name);
    *out_value = strcmp(name, "relu") == 0 ? VKF_ACTIVATION_RELU : VKF_ACTIVATION_GELU_ERF;
    return VKF_OK;
}

// ---- host memory and inputs

vkf_status vkf__eval_alloc(vkf_eval_case *c, uint64_t count, size_t element_bytes, void **out_memory)
{
    const vkf__host *host = c->settings.host;
    void **blocks = c->blocks;
    if (count > SIZE_MAX || vkf__grow(host, (void **)&blocks, sizeof *blocks, c->block_count, &c->block_capacity,
                                      c->block_count + 1) != VKF_OK)
        return no_memory(c, count, element_bytes);
    c->blocks = blocks;
    void *memory = vkf__alloc(host, (size_t)count, element_bytes);
    if (!memory)
        return no_memory(c, count, element_bytes);
    c->blocks[c->block_count++] = memory;
    *out_memory = memory;
    return VKF_OK;
}

static bool shape_matches(const vkf__stored_tensor *stored, vkf_eval_dims dims)
{
    if (stored->rank != dims.rank)
        return false;
    for (uint32_t i = 0; i < dims.rank; i++)
        if (stored->shape[i] != dims.shape[i])
            return false;
    return true;
}

static void print_dims(vkf_eval_dims dims, char *out_text, size_t size)
{
    size_t used = 0;
    out_text[0] = '\0';
    for (uint32_t i = 0; i < dims.rank && used < size; i++)
        used += (size_t)snprintf(out_text + used, size - used, "%s%u", i ? ", " : "", dims.shape[i]);
}

static vkf_status find_in(const vkf_eval_case *c, const vkf__tensor_file *file, const char *name, vkf_eval_dims dims,
                          const vkf__stored_tensor **out_tensor)
{
    const vkf__stored_tensor *stored = vkf__tensor_file_find(file, name);
    char wanted[64];
    print_dims(dims, wanted, sizeof wanted);
    if (!stored)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "%s: tensor \"%s\" of shape (%s) is missing",
                         vkf__tensor_file_path(file), name, wanted);
    if (!shape_matches(stored, dims))
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT,
                         "%s: tensor \"%s\" does not have the shape (%s) that config.json asks for",
                         vkf__tensor_file_path(file), name, wanted);
    *out_tensor = stored;
    return VKF_OK;
}

static vkf_status wrong_type(const vkf_eval_case *c, const vkf__stored_tensor *stored, const char *wanted)
{
    return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "tensor \"%s\" has type %s, but %s is needed", stored->name,
                     vkf__stored_type_name(stored->type), wanted);
}

const vkf__stored_tensor *vkf__eval_peek(const vkf_eval_case *c, const char *name)
{
    return vkf__tensor_file_find(c->inputs, name);
}

vkf_status vkf__eval_find(const vkf_eval_case *c, const char *name, vkf_eval_dims dims,
                          const vkf__stored_tensor **out_tensor)
{
    return find_in(c, c->inputs, name, dims, out_tensor);
}

// Converts elements first .. first + count of a stored tensor to the bytes of a floating-point dtype.
static vkf_status convert(vkf_eval_case *c, const vkf__stored_tensor *stored, uint64_t first, uint64_t count,
                          vkf_dtype dtype, void **out_values)
{
    void *values = NULL;
    if (!vkf__stored_is_float(stored->type))
        return wrong_type(c, stored, "a floating-point type");
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, count, vkf_dtype_size(dtype), &values));
    VKF_RETURN_IF_ERROR(vkf__stored_convert(c->settings.host, stored, first, count, dtype, values));
    *out_values = values;
    return VKF_OK;
}

vkf_status vkf__eval_host_f32(vkf_eval_case *c, const char *name, vkf_eval_dims dims, float **out_values)
{
    const vkf__stored_tensor *stored = NULL;
    void *values = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_find(c, name, dims, &stored));
    VKF_RETURN_IF_ERROR(convert(c, stored, 0, stored->count, VKF_DTYPE_F32, &values));
    *out_values = values;
    return VKF_OK;
}

vkf_status vkf__eval_host_i32(vkf_eval_case *c, const char *name, vkf_eval_dims dims, int32_t **out_values)
{
    const vkf__stored_tensor *stored = NULL;
    void *values = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_find(c, name, dims, &stored));
    if (stored->type != VKF_STORED_I32)
        return wrong_type(c, stored, "I32");
    VKF_RETURN_IF_ERROR(vkf__eval_host_bytes(c, stored, &values));
    *out_values = values;
    return VKF_OK;
}

vkf_status vkf__eval_host_bytes(vkf_eval_case *c, const vkf__stored_tensor *stored, void **out_bytes)
{
    void *bytes = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, stored->size_bytes, 1, &bytes));
    VKF_RETURN_IF_ERROR(vkf__stored_read(stored, 0, stored->size_bytes, bytes));
    *out_bytes = bytes;
    return VKF_OK;
}

// ---- tensors on the device

vkf_status vkf__eval_tensor(vkf_eval_case *c, vkf_dtype dtype, vkf_eval_dims dims, const char *name,
                            vkf_tensor *out_tensor)
{
    vkf_tensor *tensors = c->tensors;
    if (vkf__grow(c->settings.host, (void **)&tensors, sizeof *tensors, c->tensor_count, &c->tensor_capacity,
                  c->tensor_count + 1) != VKF_OK)
        return no_memory(c, 1, sizeof *tensors);
    c->tensors = tensors;
    vkf_status status = vkf_tensor_create(c->settings.context, dtype, dims.rank, dims.shape, name, out_tensor);
    if (status == VKF_OK)
        c->tensors[c->tensor_count++] = *out_tensor;
    return status;
}

static vkf_status upload(vkf_eval_case *c, const vkf__stored_tensor *stored, uint64_t first, vkf_eval_dims dims,
                         vkf_dtype dtype, vkf_tensor *out_tensor)
{
    uint64_t count = vkf__eval_count(dims);
    void *values = NULL;
    vkf_tensor tensor = {0};
    VKF_RETURN_IF_ERROR(convert(c, stored, first, count, dtype, &values));
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, dtype, dims, stored->name, &tensor));
    VKF_RETURN_IF_ERROR(vkf_tensor_write(&tensor, values, count * vkf_dtype_size(dtype)));
    *out_tensor = tensor;
    return VKF_OK;
}

static vkf_status upload_input(vkf_eval_case *c, const char *name, vkf_eval_dims dims, vkf_dtype dtype,
                               vkf_tensor *out_tensor)
{
    const vkf__stored_tensor *stored = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_find(c, name, dims, &stored));
    return upload(c, stored, 0, dims, dtype, out_tensor);
}

vkf_status vkf__eval_input(vkf_eval_case *c, const char *name, vkf_eval_dims dims, vkf_tensor *out_tensor)
{
    return upload_input(c, name, dims, c->settings.types.activations, out_tensor);
}

vkf_status vkf__eval_input_parameter(vkf_eval_case *c, const char *name, vkf_eval_dims dims, vkf_tensor *out_tensor)
{
    return upload_input(c, name, dims, c->settings.types.weights, out_tensor);
}

#define MAX_NAME 128

static vkf_status packed_weight(vkf_eval_case *c, const char *prefix, const char *name, uint32_t parts,
                                vkf_eval_dims dims, vkf_dtype dtype, vkf_tensor *out_parts)
{
    char full_name[MAX_NAME];
    vkf_eval_dims packed = dims;
    packed.shape[0] *= parts;
    const vkf__stored_tensor *stored = NULL;
    snprintf(full_name, sizeof full_name, "%s%s", prefix, name);
    VKF_RETURN_IF_ERROR(find_in(c, c->weights, full_name, packed, &stored));

    uint64_t part_count = vkf__eval_count(dims);
    uint64_t part_bytes = part_count * vkf_dtype_size(dtype);
    if (part_bytes % 4 != 0 && parts > 1) { // a view must begin at a multiple of 4 bytes
        for (uint32_t i = 0; i < parts; i++)
            VKF_RETURN_IF_ERROR(upload(c, stored, i * part_count, dims, dtype, &out_parts[i]));
        return VKF_OK;
    }
    vkf_tensor whole = {0};
    VKF_RETURN_IF_ERROR(upload(c, stored, 0, packed, dtype, &whole));
    for (uint32_t i = 0; i < parts; i++) {
        out_parts[i] = whole;
        out_parts[i].offset_bytes += i * part_bytes;
        out_parts[i].shape[0] = dims.shape[0];
    }
    return VKF_OK;
}

vkf_status vkf__eval_weight(vkf_eval_case *c, const char *prefix, const char *name, vkf_eval_dims dims,
                            vkf_tensor *out_tensor)
{
    return packed_weight(c, prefix, name, 1, dims, c->settings.types.weights, out_tensor);
}

vkf_status vkf__eval_packed_weight(vkf_eval_case *c, const char *prefix, const char *name, uint32_t parts,
                                   vkf_eval_dims dims, vkf_tensor *out_parts)
{
    return packed_weight(c, prefix, name, parts, dims, c->settings.types.weights, out_parts);
}

vkf_status vkf__eval_weight_like_inputs(vkf_eval_case *c, const char *prefix, const char *name, vkf_eval_dims dims,
                                        vkf_tensor *out_tensor)
{
    return packed_weight(c, prefix, name, 1, dims, c->settings.types.activations, out_tensor);
}

bool vkf__eval_has_weight(const vkf_eval_case *c, const char *prefix, const char *name)
{
    char full_name[MAX_NAME];
    snprintf(full_name, sizeof full_name, "%s%s", prefix, name);
    return vkf__tensor_file_find(c->weights, full_name) != NULL;
}

// ---- ports and outputs

vkf_status vkf__eval_write_port(vkf_eval_case *c, vkf_port port, const char *input, vkf_eval_dims dims)
{
    const vkf__stored_tensor *stored = NULL;
    void *values = NULL;
    vkf_dtype dtype = c->settings.types.activations;
    VKF_RETURN_IF_ERROR(vkf__eval_find(c, input, dims, &stored));
    VKF_RETURN_IF_ERROR(convert(c, stored, 0, stored->count, dtype, &values));
    return vkf_layer_write(c->layer, port, values, stored->count * vkf_dtype_size(dtype));
}

vkf_status vkf__eval_output(vkf_eval_case *c, const char *name, vkf__stored_type type, vkf_eval_dims dims,
                            void **out_data)
{
    vkf__stored_tensor output = {.name = name, .type = type, .rank = dims.rank, .count = vkf__eval_count(dims)};
    output.size_bytes = output.count * vkf__stored_type_size(type);
    for (uint32_t i = 0; i < dims.rank; i++)
        output.shape[i] = dims.shape[i];
    vkf__stored_tensor *outputs = c->outputs;
    VKF_RETURN_IF_ERROR(vkf__grow(c->settings.host, (void **)&outputs, sizeof *outputs, c->output_count,
                                  &c->output_capacity, c->output_count + 1));
    c->outputs = outputs;
    void *data = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, output.count, vkf__stored_type_size(type), &data));
    output.data = data;
    c->outputs[c->output_count++] = output;
    *out_data = data;
    return VKF_OK;
}

// Reads the first `count` values of a port of c->layer, whose tensor is given. With VKF_PORT_COUNT, reads the tensor
// itself.
static vkf_status read_as_f32(vkf_eval_case *c, vkf_port port, const vkf_tensor *tensor, uint64_t count,
                              float *out_values)
{
    void *data = out_values;
    uint64_t size_bytes = count * vkf_dtype_size(tensor->dtype);
    if (tensor->dtype == VKF_DTYPE_F16)
        VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, count, sizeof(uint16_t), &data));
    if (port < VKF_PORT_COUNT)
        VKF_RETURN_IF_ERROR(vkf_layer_read(c->layer, port, data, size_bytes));
    else
        VKF_RETURN_IF_ERROR(vkf_tensor_read(tensor, data, size_bytes));
    if (tensor->dtype == VKF_DTYPE_F16)
        vkf_f16_to_f32(data, out_values, (size_t)count);
    return VKF_OK;
}

vkf_status vkf__eval_read_port(vkf_eval_case *c, vkf_port port, const char *output, vkf_eval_dims dims)
{
    void *values = NULL;
    vkf_tensor tensor = {0};
    if (!vkf_layer_get_port(c->layer, port, &tensor))
        return vkf__fail(c->settings.host, VKF_ERROR_INVALID_ARGUMENT, "the layer has no port for \"%s\"", output);
    VKF_RETURN_IF_ERROR(vkf__eval_output(c, output, VKF_STORED_F32, dims, &values));
    return read_as_f32(c, port, &tensor, vkf__eval_count(dims), values);
}

vkf_status vkf__eval_output_tensor(vkf_eval_case *c, const char *name, const vkf_tensor *tensor)
{
    void *values = NULL;
    vkf_eval_dims dims = {.rank = tensor->rank};
    memcpy(dims.shape, tensor->shape, sizeof dims.shape);
    VKF_RETURN_IF_ERROR(vkf__eval_output(c, name, VKF_STORED_F32, dims, &values));
    return read_as_f32(c, VKF_PORT_COUNT, tensor, vkf__eval_count(dims), values);
}
