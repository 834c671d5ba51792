// One oracle case of `vkformer eval`: its files, what it puts on the device, and the results it collects. Everything a
// case makes belongs to the case and is released by vkf__eval_case_close(), so that the kinds need no clean-up code.
#ifndef VKF_PROGRAM_EVAL_CASE_H
#define VKF_PROGRAM_EVAL_CASE_H

#include <vkformer/vkformer.h>

#include "command/precision.h"
#include "io/json_file.h"
#include "io/safetensors.h"

// Settings for every case of a run.
typedef struct vkf_eval_settings {
    vkf_context *context;
    const vkf__host *host;
    vkf_fully_masked fully_masked;
    bool unfused; // outputs of attention blocks come from the run that gives the attention weights
    vkf_model_precision precision;
    vkf_precision_types types; // the types of that precision
} vkf_eval_settings;

typedef struct vkf_eval_case {
    vkf_eval_settings settings;
    char *config_path;
    char *weights_path;
    json_t *config;
    const char *kind; // belongs to config
    vkf__tensor_file *weights;
    vkf__tensor_file *inputs;
    vkf_layer *layer; // in kinds that make one; made after the tensors that it uses, and destroyed before them
    vkf_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    void **blocks; // host memory
    size_t block_count, block_capacity;
    vkf__stored_tensor *outputs;
    size_t output_count, output_capacity;
} vkf_eval_case;

typedef struct vkf_eval_dims {
    uint32_t rank;
    uint32_t shape[VKF_MAX_RANK];
} vkf_eval_dims;

// VKF_DIMS(b, l, e): a shape of one to four dimensions.
#define VKF_DIMS(...) ((vkf_eval_dims){sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), {__VA_ARGS__}})

// The number of elements. UINT64_MAX when the product overflows: an allocation of that size always fails.
uint64_t vkf__eval_count(vkf_eval_dims dims);

// Opens config.json, weights.safetensors and inputs.safetensors in the directory. *out_case may be uninitialised, and
// needs closing only after success. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__eval_case_open(const vkf_eval_settings *settings, const char *directory,
                                              vkf_eval_case *out_case);
void vkf__eval_case_close(vkf_eval_case *c);
// Writes the collected outputs to one safetensors file, either completely or not at all.
VKF_MUST_CHECK vkf_status vkf__eval_case_save(const vkf_eval_case *c, const char *path);

// Read required keys of config.json.
VKF_MUST_CHECK vkf_status vkf__eval_size(const vkf_eval_case *c, const char *key, uint32_t *out_value); // at least 1
VKF_MUST_CHECK vkf_status vkf__eval_id(const vkf_eval_case *c, const char *key, int32_t *out_value);    // at least 0
VKF_MUST_CHECK vkf_status vkf__eval_bool(const vkf_eval_case *c, const char *key, bool *out_value);
VKF_MUST_CHECK vkf_status vkf__eval_f32(const vkf_eval_case *c, const char *key, float *out_value);
VKF_MUST_CHECK vkf_status vkf__eval_activation(const vkf_eval_case *c, vkf_activation *out_value);

// Allocates zero-filled host memory for `count` > 0 elements.
VKF_MUST_CHECK vkf_status vkf__eval_alloc(vkf_eval_case *c, uint64_t count, size_t element_bytes, void **out_memory);

// An input's entry in the file, or NULL when it is absent. vkf__eval_find() also checks the shape, and refuses an
// absent input.
const vkf__stored_tensor *vkf__eval_peek(const vkf_eval_case *c, const char *name);
VKF_MUST_CHECK vkf_status vkf__eval_find(const vkf_eval_case *c, const char *name, vkf_eval_dims dims,
                                         const vkf__stored_tensor **out_tensor);
// Read an input into aligned host memory: as float32, as int32, or byte for byte.
VKF_MUST_CHECK vkf_status vkf__eval_host_f32(vkf_eval_case *c, const char *name, vkf_eval_dims dims,
                                             float **out_values);
VKF_MUST_CHECK vkf_status vkf__eval_host_i32(vkf_eval_case *c, const char *name, vkf_eval_dims dims,
                                             int32_t **out_values);
VKF_MUST_CHECK vkf_status vkf__eval_host_bytes(vkf_eval_case *c, const vkf__stored_tensor *stored, void **out_bytes);

// Make tensors on the device: an uninitialised one; an input in the activations' type; an input that takes the place of
// a model's parameter, in the parameters' type; and the weight called `prefix` + `name`, also in that type.
VKF_MUST_CHECK vkf_status vkf__eval_tensor(vkf_eval_case *c, vkf_dtype dtype, vkf_eval_dims dims, const char *name,
                                           vkf_tensor *out_tensor);
VKF_MUST_CHECK vkf_status vkf__eval_input(vkf_eval_case *c, const char *name, vkf_eval_dims dims,
                                          vkf_tensor *out_tensor);
VKF_MUST_CHECK vkf_status vkf__eval_input_parameter(vkf_eval_case *c, const char *name, vkf_eval_dims dims,
                                                    vkf_tensor *out_tensor);
VKF_MUST_CHECK vkf_status vkf__eval_weight(vkf_eval_case *c, const char *prefix, const char *name, vkf_eval_dims dims,
                                           vkf_tensor *out_tensor);
// Makes a weight in the activations' type, for an operator whose operands all have one type.
VKF_MUST_CHECK vkf_status vkf__eval_weight_like_inputs(vkf_eval_case *c, const char *prefix, const char *name,
                                                       vkf_eval_dims dims, vkf_tensor *out_tensor);
// Cuts the weight into `parts` of shape `dims` along its first dimension; they are views into one tensor.
VKF_MUST_CHECK vkf_status vkf__eval_packed_weight(vkf_eval_case *c, const char *prefix, const char *name,
                                                  uint32_t parts, vkf_eval_dims dims, vkf_tensor *out_parts);
bool vkf__eval_has_weight(const vkf_eval_case *c, const char *prefix, const char *name);

// Write and read ports of c->layer. Floats are converted to the port's dtype on the way in, and to float32 on the way
// out.
VKF_MUST_CHECK vkf_status vkf__eval_write_port(vkf_eval_case *c, vkf_port port, const char *input, vkf_eval_dims dims);
VKF_MUST_CHECK vkf_status vkf__eval_read_port(vkf_eval_case *c, vkf_port port, const char *output, vkf_eval_dims dims);

// Reserves an output (F32 or I32) for the caller to fill, or fills it from a floating-point tensor on the device.
// `name` must be static.
VKF_MUST_CHECK vkf_status vkf__eval_output(vkf_eval_case *c, const char *name, vkf__stored_type type,
                                           vkf_eval_dims dims, void **out_data);
VKF_MUST_CHECK vkf_status vkf__eval_output_tensor(vkf_eval_case *c, const char *name, const vkf_tensor *tensor);

#endif
