// Gradients of single operators: norms, activations, gates.
#include <string.h>

#include "lab/eval/eval_gradient.h"
#include "training/records.h"

typedef struct rows_case {
    vkf_eval_gradients *g;
    vkf_eval_leaf x, weight, bias, out;
    uint32_t rows, dim;
    float eps;
    bool rms;
    vkf_activation activation;
} rows_case;

static vkf_status emit_norm(vkf__work *work, const void *args)
{
    const rows_case *r = args;
    (void)work;
    vkf__norm_values norm = {.eps = r->eps, .rms = r->rms};
    vkf__value x, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(r->g, &r->x, r->rows, r->dim, &x));
    if (vkf__present(&r->weight.span))
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(r->g, &r->weight, 1, r->dim, &norm.weight));
    if (vkf__present(&r->bias.span))
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(r->g, &r->bias, 1, r->dim, &norm.bias));
    VKF_RETURN_IF_ERROR(vkf__record_norm(&r->g->tape, "norm", x, &norm, &out));
    return vkf__eval_state_output(r->g, out, &r->out);
}

static vkf_status run_norm(vkf_eval_gradients *g, bool rms)
{
    rows_case r = {.g = g, .rms = rms};
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "rows", &r.rows));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "dim", &r.dim));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(g->c, "eps", &r.eps));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "x", VKF_DIMS(r.rows, r.dim), &r.x));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "", "weight", VKF_DIMS(r.dim), true, &r.weight));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "", "bias", VKF_DIMS(r.dim), true, &r.bias));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "out", VKF_DIMS(r.rows, r.dim), &r.out));
    return vkf__eval_run_gradients(g, emit_norm, &r);
}

vkf_status vkf__eval_gradient_layernorm(vkf_eval_gradients *g)
{
    return run_norm(g, false);
}

vkf_status vkf__eval_gradient_rmsnorm(vkf_eval_gradients *g)
{
    return run_norm(g, true);
}

static vkf_status emit_activation(vkf__work *work, const void *args)
{
    const rows_case *r = args;
    (void)work;
    vkf__value x, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(r->g, &r->x, r->rows, r->dim, &x));
    VKF_RETURN_IF_ERROR(vkf__record_activation(&r->g->tape, "activation", x, r->activation, &out));
    return vkf__eval_state_output(r->g, out, &r->out);
}

static vkf_status emit_gate(vkf__work *work, const void *args)
{
    const rows_case *r = args;
    (void)work;
    vkf__value x, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(r->g, &r->x, r->rows, 2 * r->dim, &x));
    VKF_RETURN_IF_ERROR(vkf__record_gate(&r->g->tape, "gate", x, r->activation, &out));
    return vkf__eval_state_output(r->g, out, &r->out);
}

static vkf_status read_activation(const vkf_eval_case *c, vkf_activation *out_activation)
{
    static const struct {
        const char *name;
        vkf_activation activation;
    } names[] = {
        {"relu", VKF_ACTIVATION_RELU}, {"gelu", VKF_ACTIVATION_GELU_ERF}, {"gelu_tanh", VKF_ACTIVATION_GELU_TANH},
        {"silu", VKF_ACTIVATION_SILU}, {"tanh", VKF_ACTIVATION_TANH},     {"none", VKF_ACTIVATION_NONE},
    };
    const char *name = NULL;
    VKF_RETURN_IF_ERROR(vkf__json_string(c->settings.host, c->config_path, c->config, "activation", &name));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *out_activation = names[i].activation;
            return VKF_OK;
        }
    }
    return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "%s: there is no activation \"%.100s\"", c->config_path, name);
}

// `columns` of x for each of the output.
static vkf_status run_activation(vkf_eval_gradients *g, uint32_t columns, vkf__emit_fn emit)
{
    rows_case r = {.g = g};
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "rows", &r.rows));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "dim", &r.dim));
    VKF_RETURN_IF_ERROR(read_activation(g->c, &r.activation));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "x", VKF_DIMS(r.rows, columns * r.dim), &r.x));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "out", VKF_DIMS(r.rows, r.dim), &r.out));
    return vkf__eval_run_gradients(g, emit, &r);
}

vkf_status vkf__eval_gradient_activation(vkf_eval_gradients *g)
{
    return run_activation(g, 1, emit_activation);
}

vkf_status vkf__eval_gradient_gate(vkf_eval_gradients *g)
{
    return run_activation(g, 2, emit_gate);
}
