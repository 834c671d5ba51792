// A plug-in that has the library inside: linked with libvkformer.a, it shows one function and keeps nothing behind once
// it is closed. plugin_host.c opens and closes it.
#include <vkformer/vkformer.h>

enum { DIM = 16, LEN = 3 };

__attribute__((visibility("default"))) int plugin_run(float *out_first);

// Feed-forward with twice the identity and the identity: out = 2 x.
static vkf_status make_layer(vkf_context *context, vkf_layer **out_layer)
{
    vkf_feed_forward_desc desc = {
        .d_model = DIM,
        .dim_feedforward = DIM,
        .activation = VKF_ACTIVATION_RELU,
        .max_sizes = {.batch = 1, .query_len = LEN},
    };
    vkf_tensor *const weights[] = {&desc.params.weight1, &desc.params.weight2};
    vkf_status status = VKF_OK;
    for (int w = 0; w < 2 && status == VKF_OK; w++) {
        float values[DIM * DIM] = {0};
        for (int i = 0; i < DIM; i++)
            values[i * DIM + i] = w == 0 ? 2.0F : 1.0F;
        status = vkf_tensor_create(context, VKF_DTYPE_F32, 2, (uint32_t[]){DIM, DIM}, "weight", weights[w]);
        if (status == VKF_OK)
            status = vkf_tensor_write(weights[w], values, sizeof values);
    }
    if (status == VKF_OK)
        status = vkf_feed_forward_create(context, &desc, out_layer);
    for (int w = 0; w < 2; w++)
        vkf_tensor_destroy(weights[w]);
    return status;
}

// Makes a context and a layer, runs it on ones, and leaves nothing. The answer is a vkf_status.
int plugin_run(float *out_first)
{
    float values[LEN * DIM]; // (1, LEN, DIM)
    vkf_context *context = NULL;
    vkf_layer *layer = NULL;
    for (int i = 0; i < LEN * DIM; i++)
        values[i] = 1.0F;
    vkf_status status = vkf_context_create(&(vkf_context_desc){.skip_self_test = true}, &context);
    if (status == VKF_OK)
        status = make_layer(context, &layer);
    if (status == VKF_OK)
        status = vkf_layer_write(layer, VKF_PORT_QUERY, values, sizeof values);
    if (status == VKF_OK)
        status = vkf_layer_run(layer, &(vkf_layer_sizes){.batch = 1, .query_len = LEN});
    if (status == VKF_OK)
        status = vkf_layer_read(layer, VKF_PORT_OUTPUT, values, sizeof values);
    if (status == VKF_OK)
        *out_first = values[0];
    vkf_layer_destroy(&layer);
    vkf_context_destroy(&context);
    return (int)status;
}
