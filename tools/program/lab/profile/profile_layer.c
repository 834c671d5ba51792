// Profiles an encoder or decoder layer of a given shape, with random weights and inputs.
#include <stdlib.h>

#include "command/options.h"
#include "lab/bench/random_layer.h"
#include "lab/profile/profile_subject.h"
#include "output/json_output.h"

typedef struct layer_subject {
    const vkf_profile_settings *settings;
    vkf_layer_shape shape;
    vkf_bench_data data;
    vkf_layer *layer;
} layer_subject;

static const vkf_bench_extents extents = VKF_LAYER_EXTENTS;

bool vkf_profile_layer_parse(const char *text, vkf_profile_settings *settings)
{
    vkf_bench_shapes shapes = {0};
    bool read = vkf_bench_shapes_add(&shapes, &extents, text, NULL);
    if (read && shapes.count != 1) {
        vkf_print_error("profile takes one shape of a layer, '%.100s' has %zu", text, shapes.count);
        read = false;
    }
    read = read && vkf_bench_shape_complete(&extents, &shapes.list[0]);
    if (read) {
        settings->shape_text = text;
        settings->shape = shapes.list[0];
    }
    vkf_bench_shapes_free(&shapes);
    return read;
}

static void end(void *state)
{
    layer_subject *s = state;
    vkf_layer_destroy(&s->layer);
    vkf_bench_data_end(&s->data);
    free(s);
}

static vkf_status begin(vkf_context *context, const vkf_profile_settings *settings, void **out_state,
                        vkf_memory_plan *out_plan)
{
    const bool chosen = settings->precision != VKF_MODEL_PRECISION_AUTO; // a layer has no file that could choose
    const vkf_precision_types types = vkf_types_of_precision(chosen ? settings->precision : VKF_MODEL_PRECISION_F32);
    layer_subject *s = calloc(1, sizeof *s);
    *out_state = s;
    if (!s)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    s->settings = settings;
    s->data = vkf_bench_data_begin(context, &types);
    if (!vkf_layer_shape_make(&settings->shape, settings->layer_kind, settings->activation, &s->shape))
        return VKF_ERROR_INVALID_ARGUMENT;
    s->layer = vkf_random_layer(&s->data, &s->shape, out_plan);
    out_plan->weights_bytes = (uint64_t)s->data.weight_bytes;
    return s->data.status;
}

static vkf_status run(void *state)
{
    layer_subject *s = state;
    const vkf_layer_sizes sizes = {s->shape.batch, s->shape.len, s->shape.memory_len};
    return vkf_layer_run(s->layer, &sizes);
}

static json_t *describe(const void *state)
{
    const layer_subject *s = state;
    json_t *object = json_object();
    json_object_set_new(object, "model", json_null());
    vkf_json_put_string(object, "layer", s->settings->shape_text);
    vkf_json_put_string(object, "kind", s->shape.decoder ? "decoder layer" : "encoder layer");
    vkf_json_put_integer(object, "batch", s->shape.batch);
    vkf_json_put_integer(object, "length", s->shape.len);
    vkf_json_put_integer(object, "d_model", s->shape.d_model);
    vkf_json_put_integer(object, "num_heads", s->shape.heads);
    vkf_json_put_integer(object, "dim_feedforward", s->shape.ff);
    if (s->shape.decoder)
        vkf_json_put_integer(object, "memory_length", s->shape.memory_len);
    vkf_json_put_string(object, "activation", s->settings->activation);
    vkf_json_put_string(object, "activations", vkf_dtype_name(s->data.types.activations));
    vkf_json_put_string(object, "weights", vkf_dtype_name(s->data.types.weights));
    return object;
}

static const int32_t *ids_of(const void *state, uint32_t *out_batch, uint32_t *out_length)
{
    (void)state;
    *out_batch = *out_length = 0;
    return NULL;
}

const vkf_profile_kind vkf_profile_layer = {begin, end, run, describe, ids_of};
