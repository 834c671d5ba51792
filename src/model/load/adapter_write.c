// Writes an adapter's two files.
#include "model/load/adapter_write.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/new_file.h"
#include "io/path.h"
#include "io/safetensors.h"
#include "model/load/adapter.h"

#define NAME_MAX_BYTES 256

typedef char tensor_name[NAME_MAX_BYTES];

static vkf_status name_tensor(const vkf__host *host, const char *name, const char *ending, tensor_name out)
{
    if (snprintf(out, sizeof(tensor_name), VKF_ADAPTER_PREFIX "%s%s", name, ending) < (int)sizeof(tensor_name))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%.200s: the name is longer than an adapter's may be", name);
}

static vkf__stored_tensor matrix(const float *values, uint64_t rows, uint64_t cols)
{
    return (vkf__stored_tensor){
        .type = VKF_STORED_F32,
        .rank = 2,
        .shape = {rows, cols},
        .count = rows * cols,
        .data = (const uint8_t *)values,
        .size_bytes = rows * cols * sizeof(float),
    };
}

static vkf_status write_weights(const vkf__host *host, const char *path, uint32_t rank, const vkf__adapter_pair *pairs,
                                size_t pair_count, const vkf__stored_tensor *saved, size_t saved_count)
{
    vkf_status status = VKF_OK;
    size_t count = 2 * pair_count + saved_count;
    vkf__stored_tensor *tensors = NULL;
    tensor_name *names = NULL;
    VKF_ALLOC(host, tensors, count);
    VKF_ALLOC(host, names, count);
    for (size_t i = 0; i < pair_count; i++) {
        VKF_TRY(name_tensor(host, pairs[i].module, ".lora_A.weight", names[2 * i]));
        VKF_TRY(name_tensor(host, pairs[i].module, ".lora_B.weight", names[2 * i + 1]));
        tensors[2 * i] = matrix(pairs[i].a, rank, pairs[i].in);
        tensors[2 * i + 1] = matrix(pairs[i].b, pairs[i].out, rank);
    }
    for (size_t i = 0; i < saved_count; i++) {
        VKF_TRY(name_tensor(host, saved[i].name, "", names[2 * pair_count + i]));
        tensors[2 * pair_count + i] = saved[i];
    }
    for (size_t i = 0; i < count; i++)
        tensors[i].name = names[i];
    status = vkf__safetensors_write(host, path, tensors, count);
fail:
    vkf__free(host, tensors);
    vkf__free(host, names);
    return status;
}

// NULL: no host memory.
static json_t *names_of(const char *const *names, const vkf__adapter_pair *pairs, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, json_string(pairs ? pairs[i].module : names[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static vkf_status write_config(const vkf__host *host, const char *path, const vkf__adapter_config *config,
                               const vkf__adapter_pair *pairs, size_t pair_count)
{
    json_t *root = json_pack("{s:s, s:i, s:f, s:b, s:b, s:s, s:s?, s:s?, s:b, s:f, s:o, s:o}", "peft_type", "LORA", "r",
                             (int)config->rank, "lora_alpha", config->alpha, "use_rslora", (int)config->root_scale,
                             "fan_in_fan_out", (int)config->fan_in_out, "bias", "none", "base_model_name_or_path",
                             config->base, "task_type", config->task, "inference_mode", 1, "lora_dropout", 0.0,
                             "target_modules", names_of(NULL, pairs, pair_count), "modules_to_save",
                             names_of(config->saved_modules, NULL, config->saved_module_count));
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    vkf_status status = text ? vkf__file_write(host, path, text, strlen(text))
                             : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its text", path);
    free(text);
    json_decref(root);
    return status;
}

vkf_status vkf__adapter_write(const vkf__host *host, const char *directory, const vkf__adapter_config *config,
                              const vkf__adapter_pair *pairs, size_t pair_count, const vkf__stored_tensor *saved,
                              size_t saved_count)
{
    vkf_status status = VKF_OK;
    char *weights = NULL, *settings = NULL;
    VKF_TRY(vkf__path_join(host, directory, VKF_ADAPTER_WEIGHTS, &weights));
    VKF_TRY(vkf__path_join(host, directory, VKF_ADAPTER_CONFIG, &settings));
    VKF_TRY(write_weights(host, weights, config->rank, pairs, pair_count, saved, saved_count));
    status = write_config(host, settings, config, pairs, pair_count);
fail:
    vkf__free(host, weights);
    vkf__free(host, settings);
    return status;
}
