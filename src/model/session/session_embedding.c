// An ENCODER's embeddings: its hidden states go through the modules of sentence-transformers.
#include "model/session/session_emitters.h"
#include "op/gemm.h"
#include "op/layer_norm.h"
#include "op/pool.h"

// The default eps of nn.LayerNorm; the module's configuration has none.
#define LAYER_NORM_EPS 1e-5f

// One vector for each sequence, as compact rows in f32.
typedef struct vectors {
    vkf__span span;
    uint32_t count, dim;
} vectors;

// A module may pool in several ways; their vectors lie side by side in the rows of `out`. `normalise` is set only where
// there is one way: then the pool also does the work of the normalisation after it.
static vkf_status emit_pool(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes,
                            const vkf_embedding_module *module, bool normalise, const vectors *out)
{
    uint32_t d = session->model->config.d_model;
    for (uint32_t i = 0; i < module->pooling_count; i++) {
        const vkf__pool_args pool = {
            .label = "pool",
            .x = session->spans.memory,
            .lengths = session->spans.source_key_mask,
            .out = vkf__span_part(&out->span, (uint64_t)i * d, out->span.size_bytes / sizeof(float) - (uint64_t)i * d),
            .batch = out->count,
            .len = sizes->source_len,
            .dim = d,
            .first = module->without_prompt ? sizes->prompt_len : 0,
            .out_row = out->dim,
            .pooling = module->poolings[i],
            .normalise = normalise,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_pool(stage->work, &pool));
    }
    return VKF_OK;
}

// Normalises by means of the pool op: the pool of a sequence of length 1 is its only vector.
static vkf_status emit_normalise(vkf_session *session, vkf__stage *stage, const vectors *x, const vectors *out)
{
    const vkf__pool_args pool = {
        .label = "embedding_normalise",
        .x = x->span,
        .lengths = session->spans.source_key_mask, // at least 1, as no sequence is empty
        .out = out->span,
        .batch = x->count,
        .len = 1,
        .dim = x->dim,
        .pooling = VKF_POOLING_FIRST,
        .normalise = true,
    };
    return vkf__emit_pool(stage->work, &pool);
}

static vkf_status emit_layer_norm(vkf__stage *stage, const vkf__linear_weights *weights, const vectors *x,
                                  const vectors *out)
{
    const vkf__layer_norm_args norm = {
        .label = "embedding_norm",
        .x = x->span,
        .out = out->span,
        .weight = vkf__span_of(&weights->weight),
        .bias = vkf__span_of(&weights->bias),
        .rows = x->count,
        .dim = x->dim,
        .eps = LAYER_NORM_EPS,
    };
    return vkf__emit_layer_norm(stage->work, &norm);
}

static vkf_status emit_dense(vkf__stage *stage, const vkf_embedding_module *module, const vkf__linear_weights *weights,
                             const vectors *x, const vectors *out)
{
    const vkf__linear_args linear = {
        .label = "embedding_dense",
        .x = x->span,
        .weight = vkf__span_of(&weights->weight),
        .bias = vkf__span_of(&weights->bias),
        .d = out->span,
        .rows = x->count,
        .in = x->dim,
        .out = out->dim,
        .activation = module->activation,
    };
    return vkf__emit_linear(stage->work, &linear);
}

static vkf_status emit_module(vkf_session *session, vkf__stage *stage, uint32_t index, const vectors *x,
                              const vectors *out)
{
    const vkf_embedding_module *module = &session->model->config.embedding_modules[index];
    const vkf__linear_weights *weights = &session->model->weights.modules[index];
    if (module->kind == VKF_EMBEDDING_DENSE)
        return emit_dense(stage, module, weights, x, out);
    if (module->kind == VKF_EMBEDDING_LAYER_NORM)
        return emit_layer_norm(stage, weights, x, out);
    return emit_normalise(session, stage, x, out);
}

// Where module `index` writes: the last one to the session's embeddings, the others to a temporary.
static vkf_status make_out(vkf_session *session, vkf__stage *stage, uint32_t index, uint32_t batch, vectors *out)
{
    const vkf_model_config *config = &session->model->config;
    *out = (vectors){session->spans.embeddings, batch, config->embedding_modules[index].dim};
    if (index + 1 == config->embedding_module_count)
        return VKF_OK;
    return vkf__work_temp(stage->work, VKF_DTYPE_F32, (uint64_t)batch * out->dim, &out->span);
}

vkf_status vkf__emit_embedding(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf_model_config *config = &session->model->config;
    const vkf_embedding_module *modules = config->embedding_modules;
    bool normalised = config->embedding_module_count > 1 && modules[0].pooling_count == 1 &&
                      modules[1].kind == VKF_EMBEDDING_NORMALISE;
    uint32_t first = normalised ? 1 : 0;
    vectors x, out;
    VKF_RETURN_IF_ERROR(make_out(session, stage, first, sizes->batch, &x));
    VKF_RETURN_IF_ERROR(emit_pool(session, stage, sizes, &modules[0], normalised, &x));
    for (uint32_t i = first + 1; i < config->embedding_module_count; i++) {
        VKF_RETURN_IF_ERROR(make_out(session, stage, i, sizes->batch, &out));
        VKF_RETURN_IF_ERROR(emit_module(session, stage, i, &x, &out));
        x = out;
    }
    return VKF_OK;
}
