// The outputs of an ENCODER: the embedding of a sequence, and the logits of the head that it was trained with.
#include "model/session/session_emitters.h"
#include "model/session/session_layout.h"
#include "op/gemm.h"
#include "op/layer_norm.h"
#include "op/pool.h"

// What the head multiplies: all positions, or one vector for each sequence.
typedef struct head_rows {
    vkf__span x;
    uint32_t count, stride; // stride: elements from one row to the next
} head_rows;

// Pools each sequence into one vector.
static vkf_status emit_head_pool(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes,
                                 const head_rows *rows)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__pool_args pool = {
        .label = "head_pool",
        .x = session->spans.memory,
        .lengths = session->spans.source_key_mask,
        .out = rows->x,
        .batch = rows->count,
        .len = sizes->source_len,
        .dim = config->d_model,
        .pooling = config->head_pooling,
    };
    return vkf__emit_pool(stage->work, &pool);
}

static vkf_status select_rows(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes,
                              head_rows *out_rows)
{
    const vkf_model_config *config = &session->model->config;
    uint32_t d = config->d_model, batch = sizes->logit_rows > 0 ? sizes->batch : 0;
    head_rows rows = {session->spans.memory, batch * sizes->source_len, d};
    if (config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION) {
        rows.count = batch;
        rows.stride = sizes->source_len * d;
        if (config->head_pooling != VKF_POOLING_FIRST) {
            rows.stride = d;
            VKF_RETURN_IF_ERROR(vkf__work_temp(stage->work, VKF_DTYPE_F32, (uint64_t)sizes->batch * d, &rows.x));
            VKF_RETURN_IF_ERROR(emit_head_pool(session, stage, sizes, &rows));
        }
    }
    *out_rows = rows;
    return VKF_OK;
}

static vkf_status emit_linear(vkf__stage *stage, const char *label, const head_rows *rows, const vkf_tensor *weight,
                              const vkf_tensor *bias, vkf_activation activation, const vkf__span *out)
{
    const vkf__gemm_args gemm = {
        .label = label,
        .a = rows->x,
        .b = vkf__span_of(weight),
        .d = *out,
        .bias = vkf__span_of(bias),
        .m = rows->count,
        .n = weight->shape[0],
        .k = weight->shape[1],
        .batch = 1,
        .lda = rows->stride,
        .ldb = weight->shape[1],
        .ldd = weight->shape[0],
        .transpose_b = true,
        .alpha = 1.0f,
        .activation = activation,
    };
    return vkf__emit_gemm(stage->work, &gemm);
}

// norm(activation(dense(x))); each of them only where the head has it.
static vkf_status emit_transform(vkf_session *session, vkf__stage *stage, head_rows *rows)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__weights *weights = &session->model->weights;
    vkf__span x;
    if (weights->head_dense.weight.rank == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__work_temp(stage->work, rows->x.dtype, (uint64_t)rows->count * config->d_model, &x));
    VKF_RETURN_IF_ERROR(emit_linear(stage, "head_dense", rows, &weights->head_dense.weight, &weights->head_dense.bias,
                                    config->head_activation, &x));
    const vkf__layer_norm_args norm = {
        .label = "head_norm",
        .x = x,
        .out = x,
        .weight = vkf__span_of(&weights->head_norm.weight),
        .bias = vkf__span_of(&weights->head_norm.bias),
        .rows = rows->count,
        .dim = config->d_model,
        .eps = config->layer_norm_eps,
    };
    if (vkf__present(&norm.weight))
        VKF_RETURN_IF_ERROR(vkf__emit_layer_norm(stage->work, &norm));
    *rows = (head_rows){x, rows->count, config->d_model};
    return VKF_OK;
}

static vkf_status emit_logits(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    const vkf__weights *weights = &session->model->weights;
    head_rows rows;
    VKF_RETURN_IF_ERROR(select_rows(session, stage, sizes, &rows));
    VKF_RETURN_IF_ERROR(emit_transform(session, stage, &rows));
    return emit_linear(stage, "head", &rows, &weights->projection, &weights->projection_bias, VKF_ACTIVATION_NONE,
                       &session->spans.logits);
}

vkf_status vkf__emit_encoder_head(vkf_session *session, vkf__stage *stage, const vkf__session_sizes *sizes)
{
    VKF_RETURN_IF_ERROR(vkf__emit_source_norm(session, stage, sizes));
    VKF_RETURN_IF_ERROR(vkf__emit_embedding(session, stage, sizes));
    if (vkf__session_has_head(session))
        VKF_RETURN_IF_ERROR(emit_logits(session, stage, sizes));
    return VKF_OK;
}
