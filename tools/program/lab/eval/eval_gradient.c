// Cases of the kind "gradient": what they have in common, and the table of what they are of.
#include "lab/eval/eval_gradient.h"

#include <stdio.h>
#include <string.h>

#include "op/copy.h"
#include "op/run_once.h"
#include "op/softmax.h"

vkf_status vkf__eval_gradient_name(vkf_eval_gradients *g, const char *prefix, const char *middle, const char *name,
                                   char **out_name)
{
    const size_t length = strlen(prefix) + strlen(middle) + strlen(name) + 1;
    void *text = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(g->c, length, 1, &text));
    (void)snprintf(text, length, "%s%s%s", prefix, middle, name);
    *out_name = text;
    return VKF_OK;
}

static vkf_status add_result(vkf_eval_gradients *g, const char *name, vkf_eval_dims dims, vkf_tensor *out_tensor)
{
    VKF_RETURN_IF_ERROR(vkf__grow(g->c->settings.host, (void **)&g->results, sizeof *g->results, g->result_count,
                                  &g->result_capacity, g->result_count + 1));
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(g->c, VKF_DTYPE_F32, dims, name, out_tensor));
    g->results[g->result_count++] = (vkf_eval_result){name, *out_tensor};
    return VKF_OK;
}

static vkf_status add_gradient(vkf_eval_gradients *g, const char *prefix, const char *name, vkf_eval_dims dims,
                               vkf__span *out_span)
{
    char *full_name = NULL;
    vkf_tensor tensor;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, "grad_", prefix, name, &full_name));
    VKF_RETURN_IF_ERROR(add_result(g, full_name, dims, &tensor));
    *out_span = vkf__span_of(&tensor);
    return VKF_OK;
}

vkf_status vkf__eval_gradient_input(vkf_eval_gradients *g, const char *name, vkf_eval_dims dims,
                                    vkf_eval_leaf *out_leaf)
{
    vkf_tensor tensor;
    VKF_RETURN_IF_ERROR(vkf__eval_input(g->c, name, dims, &tensor));
    out_leaf->span = vkf__span_of(&tensor);
    return add_gradient(g, "", name, dims, &out_leaf->gradient);
}

vkf_status vkf__eval_gradient_weight(vkf_eval_gradients *g, const char *prefix, const char *name, vkf_eval_dims dims,
                                     bool optional, vkf_eval_leaf *out_leaf)
{
    vkf_tensor tensor;
    *out_leaf = (vkf_eval_leaf){0};
    if (optional && !vkf__eval_has_weight(g->c, prefix, name))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__eval_weight(g->c, prefix, name, dims, &tensor));
    out_leaf->span = vkf__span_of(&tensor);
    return add_gradient(g, prefix, name, dims, &out_leaf->gradient);
}

vkf_status vkf__eval_gradient_output(vkf_eval_gradients *g, const char *name, vkf_eval_dims dims,
                                     vkf_eval_leaf *out_leaf)
{
    char *upstream_name = NULL;
    vkf_tensor tensor;
    *out_leaf = (vkf_eval_leaf){0};
    VKF_RETURN_IF_ERROR(add_result(g, name, dims, &tensor));
    out_leaf->span = vkf__span_of(&tensor);
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, "grad_", "", name, &upstream_name));
    if (!vkf__eval_peek(g->c, upstream_name))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__eval_input(g->c, upstream_name, dims, &tensor));
    out_leaf->gradient = vkf__span_of(&tensor);
    return VKF_OK;
}

vkf_status vkf__eval_gradient_mask(vkf_eval_gradients *g, const vkf__stored_tensor *stored, vkf_mask_kind kind,
                                   vkf__span *out_span)
{
    void *bytes = NULL;
    vkf_tensor tensor;
    vkf_eval_dims dims = {0};
    *out_span = (vkf__span){0};
    if (!stored)
        return VKF_OK;
    dims.rank = stored->rank;
    for (uint32_t i = 0; i < dims.rank; i++)
        dims.shape[i] = (uint32_t)stored->shape[i];
    VKF_RETURN_IF_ERROR(vkf__eval_host_bytes(g->c, stored, &bytes));
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(g->c, vkf__mask_dtype(kind), dims, stored->name, &tensor));
    VKF_RETURN_IF_ERROR(vkf_tensor_write(&tensor, bytes, stored->size_bytes));
    *out_span = vkf__span_of(&tensor);
    return VKF_OK;
}

vkf_status vkf__eval_state_leaf(vkf_eval_gradients *g, const vkf_eval_leaf *leaf, uint32_t rows, uint32_t cols,
                                vkf__value *out_value)
{
    return vkf__tape_leaf(&g->tape, &leaf->span, &leaf->gradient, rows, cols, out_value);
}

vkf_status vkf__eval_state_output(vkf_eval_gradients *g, vkf__value value, const vkf_eval_leaf *output)
{
    const vkf__tape_value *at = vkf__tape_at(&g->tape, value);
    const vkf__copy_args copy = {
        .label = "output",
        .x = at->span,
        .out = output->span,
        .outer = 1,
        .rows = at->rows,
        .cols = at->cols,
        .x_row = at->cols,
        .out_row = at->cols,
        .alpha = 1,
    };
    if (vkf__present(&output->gradient))
        vkf__tape_seed(&g->tape, value, &output->gradient);
    return vkf__emit_copy(g->tape.work, &copy);
}

typedef struct gradient_run {
    vkf_eval_gradients *g;
    vkf__emit_fn emit;
    const void *args;
} gradient_run;

static vkf_status emit_both_ways(vkf__work *work, const void *args)
{
    const gradient_run *run = args;
    vkf__tape_begin(&run->g->tape, work);
    VKF_RETURN_IF_ERROR(run->emit(work, run->args));
    return vkf__tape_back(&run->g->tape);
}

vkf_status vkf__eval_run_gradients(vkf_eval_gradients *g, vkf__emit_fn emit, const void *args)
{
    const gradient_run run = {g, emit, args};
    VKF_RETURN_IF_ERROR(vkf__run_once(g->c->settings.context, "gradient", emit_both_ways, &run));
    for (size_t i = 0; i < g->result_count; i++)
        VKF_RETURN_IF_ERROR(vkf__eval_output_tensor(g->c, g->results[i].name, &g->results[i].tensor));
    return VKF_OK;
}

static const struct gradient_kind {
    const char *of;
    vkf_status (*run)(vkf_eval_gradients *g);
} kinds[] = {
    {"mha", vkf__eval_gradient_mha},
    {"encoder_layer", vkf__eval_gradient_encoder_layer},
    {"decoder_layer", vkf__eval_gradient_decoder_layer},
    {"layernorm", vkf__eval_gradient_layernorm},
    {"rmsnorm", vkf__eval_gradient_rmsnorm},
    {"activation", vkf__eval_gradient_activation},
    {"gate", vkf__eval_gradient_gate},
    {"transformer", vkf__eval_gradient_transformer},
    {"gemm", vkf__eval_gradient_gemm},
    {"softmax", vkf__eval_gradient_softmax},
    {"permute", vkf__eval_gradient_permute},
    {"sdpa", vkf__eval_gradient_sdpa},
    {"additive_attention", vkf__eval_gradient_additive_attention},
    {"embedding", vkf__eval_gradient_embedding},
    {"cross_entropy", vkf__eval_gradient_cross_entropy},
};

static const struct gradient_kind *find_kind(const char *of)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].of, of) == 0)
            return &kinds[i];
    return NULL;
}

vkf_status vkf__eval_gradient(vkf_eval_case *c)
{
    const char *of = NULL;
    VKF_RETURN_IF_ERROR(vkf__json_string(c->settings.host, c->config_path, c->config, "of", &of));
    const struct gradient_kind *kind = find_kind(of);
    if (!kind)
        return vkf__fail(c->settings.host, VKF_ERROR_UNSUPPORTED, "%s: there is no gradient of \"%.100s\"",
                         c->config_path, of);
    if (c->settings.types.activations != VKF_DTYPE_F32)
        return vkf__fail(c->settings.host, VKF_ERROR_UNSUPPORTED,
                         "gradients are in f32; f32/f16 and f32/bf16 are mixed precision");
    vkf_eval_gradients g = {.c = c};
    vkf__tape_init(&g.tape, c->settings.host);
    g.tape.products = c->settings.types.weights;
    c->settings.types.weights = VKF_DTYPE_F32; // the parameters themselves
    const vkf_status status = kind->run(&g);
    vkf__tape_finish(&g.tape);
    vkf__free(c->settings.host, g.results);
    return status;
}
