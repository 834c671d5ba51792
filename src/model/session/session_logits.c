// What follows the layers: the final norm, a decoder's logits, and the choice of the next tokens.
#include "model/session/session_emitters.h"
#include "model/session/session_layout.h"
#include "op/copy.h"
#include "op/gemm.h"
#include "op/layer_norm.h"
#include "op/sample.h"
#include "op/top.h"

// The final norm of a stream, (rows, d_model), in place; emits nothing where the model has none.
static vkf_status emit_norm(vkf_session *session, vkf__stage *stage, const vkf_norm_weights *weights,
                            const vkf__span *stream, uint32_t rows)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__layer_norm_args norm = {
        .label = "norm",
        .x = *stream,
        .out = *stream,
        .weight = vkf__span_of(&weights->weight),
        .bias = vkf__span_of(&weights->bias),
        .rows = rows,
        .dim = config->d_model,
        .eps = config->layer_norm_eps,
        .rms = config->norm == VKF_NORM_RMS,
    };
    return config->final_norm ? vkf__emit_layer_norm(stage->work, &norm) : VKF_OK;
}

vkf_status vkf__emit_source_norm(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    return emit_norm(session, stage, &session->model->weights.source.final_norm, &session->spans.memory,
                     vkf__session_rows(sizes) * sizes->source_len);
}

vkf_status vkf__emit_target_norm(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    return emit_norm(session, stage, &session->model->weights.target.final_norm, &session->spans.hidden,
                     vkf__session_rows(sizes) * sizes->target_len);
}

// Projects `hidden`, whose rows are compact and which holds logit_rows of them for each row of the run.
static vkf_status emit_logits(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes,
                              const vkf__span *hidden)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    uint32_t d = config->d_model;
    const vkf__gemm_args logits = {
        .label = "generator",
        .a = *hidden,
        .b = vkf__span_of(&weights->projection),
        .bias = vkf__span_of(&weights->projection_bias),
        .d = session->spans.logits,
        .m = vkf__session_rows(sizes) * sizes->logit_rows,
        .n = config->target_vocab,
        .k = d,
        .batch = 1,
        .lda = d,
        .ldb = d,
        .ldd = config->target_vocab,
        .transpose_b = true,
        .alpha = config->logit_scale != 0.0f ? config->logit_scale : 1.0f,
    };
    return vkf__emit_gemm(stage->work, &logits);
}

static vkf_status emit_sample(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes, uint32_t rows)
{
    const vkf_sampling *sampling = &session->sampling;
    const vkf__sample_args sample = {
        .label = "sample",
        .x = session->spans.logits,
        .seen = session->spans.seen,
        .out = session->spans.target_ids,
        .rows = rows,
        .cols = session->model->config.target_vocab,
        .out_stride = vkf__ids_row(session),
        .out_first = vkf__ids_lead(session) + sizes->target_past + sizes->target_len,
        .greedy = sizes->greedy,
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .repetition_penalty = sampling->repetition_penalty,
        .seed = sampling->seed,
        .step = sizes->target_past + sizes->target_len,
    };
    return vkf__emit_sample(stage->work, &sample);
}

static vkf_status emit_bans(vkf_session *session, vkf__stage *stage, uint32_t rows)
{
    const vkf_model_config *config = &session->model->config;
    for (uint32_t i = 0; i < config->banned_count; i++) {
        const vkf__copy_args copy = {
            .label = "ban",
            .x = session->spans.lowest,
            .out = session->spans.logits,
            .outer = 1,
            .rows = rows,
            .cols = 1,
            .out_first = (uint32_t)config->banned_ids[i],
            .out_row = config->target_vocab,
            .alpha = 1.0f,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_copy(stage->work, &copy));
    }
    return VKF_OK;
}

static vkf_status emit_top(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes, uint32_t rows)
{
    const bool recorded = session->desc.max_beams > 1 && !sizes->greedy;
    const vkf__top_args top = {
        .label = "top",
        .x = session->spans.logits,
        .seen = session->spans.seen,
        .out = session->spans.top,
        .rows = rows,
        .cols = session->model->config.target_vocab,
        .k = sizes->candidates,
        .repetition_penalty = session->sampling.repetition_penalty,
    };
    return recorded ? vkf__emit_top(stage->work, &top) : VKF_OK;
}

// All ways of choosing are recorded, and a run uses one of them at most; the others get 0 rows. A recording for greedy
// steps has only what these use, because a dispatch costs its barrier even where it has nothing to do. Bans are for
// sampling only. Beam search drops banned tokens on the host, as they still count in the probabilities of the others.
static vkf_status emit_choice(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    uint32_t rows = vkf__session_rows(sizes);
    VKF_RETURN_IF_ERROR(emit_bans(session, stage, sizes->samples ? rows : 0));
    VKF_RETURN_IF_ERROR(emit_sample(session, stage, sizes, sizes->samples ? rows : 0));
    return emit_top(session, stage, sizes, sizes->searches ? rows : 0);
}

vkf_status vkf__emit_target_logits(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    VKF_RETURN_IF_ERROR(vkf__emit_target_norm(session, stage, sizes));
    return emit_logits(session, stage, sizes, &session->spans.hidden);
}

vkf_status vkf__emit_step_choice(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    VKF_RETURN_IF_ERROR(vkf__emit_target_logits(session, stage, sizes));
    return emit_choice(session, stage, sizes);
}

vkf_status vkf__emit_prompt_choice(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__span *hidden = &session->spans.logit_hidden;
    VKF_RETURN_IF_ERROR(emit_norm(session, stage, &session->model->weights.target.final_norm, hidden,
                                  vkf__session_rows(sizes) * sizes->logit_rows));
    VKF_RETURN_IF_ERROR(emit_logits(session, stage, sizes, hidden));
    return emit_choice(session, stage, sizes);
}
