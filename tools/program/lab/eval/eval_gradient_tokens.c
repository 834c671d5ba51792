// Gradients of what ids and labels go into: embedding and cross entropy.
#include <math.h>

#include "base/train/id_order.h"
#include "lab/eval/eval_gradient.h"
#include "op/copy.h"
#include "op/train/column_sum.h"
#include "op/train/cross_entropy.h"
#include "training/records.h"

static vkf_status upload(vkf_eval_gradients *g, const char *name, const int32_t *values, uint32_t count,
                         vkf__span *out_span)
{
    vkf_tensor tensor;
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(g->c, VKF_DTYPE_I32, VKF_DIMS(count), name, &tensor));
    VKF_RETURN_IF_ERROR(vkf_tensor_write(&tensor, values, count * sizeof *values));
    *out_span = vkf__span_of(&tensor);
    return VKF_OK;
}

// ---- embedding

typedef struct embedding_case {
    vkf_eval_gradients *g;
    vkf__token_embedding words;
    uint32_t dim;
    vkf_eval_leaf table, positions, out;
} embedding_case;

static vkf_status emit_embedding(vkf__work *work, const void *args)
{
    const embedding_case *e = args;
    (void)work;
    vkf__token_embedding words = e->words;
    vkf__value out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(e->g, &e->table, words.vocab, e->dim, &words.table));
    if (words.position_rows > 0)
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(e->g, &e->positions, words.position_rows, e->dim, &words.positions));
    VKF_RETURN_IF_ERROR(vkf__record_embedding(&e->g->tape, &words, &out));
    return vkf__eval_state_output(e->g, out, &e->out);
}

static vkf_status upload_lists(vkf_eval_gradients *g, const char *name, const int32_t *ids, uint32_t tokens,
                               uint32_t vocab, uint32_t *out_unique, vkf__span *out_lists)
{
    void *lists = NULL, *scratch = NULL;
    const uint32_t length = (uint32_t)vkf__id_order_length(tokens);
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(g->c, length, sizeof(int32_t), &lists));
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(g->c, vocab, sizeof(uint32_t), &scratch));
    *out_unique = vkf__id_order(ids, tokens, vocab, scratch, lists);
    return upload(g, name, lists, length, out_lists);
}

static vkf_status read_ids(vkf_eval_gradients *g, vkf__token_embedding *words)
{
    int32_t *ids = NULL;
    const uint32_t tokens = words->batch * words->len;
    VKF_RETURN_IF_ERROR(vkf__eval_host_i32(g->c, "ids", VKF_DIMS(words->batch, words->len), &ids));
    VKF_RETURN_IF_ERROR(upload(g, "ids", ids, tokens, &words->ids));
    return upload_lists(g, "lists", ids, tokens, words->vocab, &words->unique, &words->lists);
}

// The file tells how many positions the table has.
static vkf_status read_positions(vkf_eval_gradients *g, embedding_case *e)
{
    vkf__token_embedding *words = &e->words;
    void *rows = NULL;
    const uint32_t tokens = words->batch * words->len;
    const vkf__stored_tensor *stored = vkf__tensor_file_find(g->c->weights, "positions.weight");
    words->position_rows = stored ? (uint32_t)stored->shape[0] : words->len;
    if (words->position_rows < words->len)
        return vkf__fail(g->c->settings.host, VKF_ERROR_FORMAT, "%s: \"positions.weight\" has %u rows for %u positions",
                         g->c->weights_path, words->position_rows, words->len);
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "positions.", "weight", VKF_DIMS(words->position_rows, e->dim),
                                                  false, &e->positions));
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(g->c, tokens, sizeof(int32_t), &rows));
    for (uint32_t i = 0; i < tokens; i++)
        ((int32_t *)rows)[i] = (int32_t)(i % words->len);
    return upload_lists(g, "position_lists", rows, tokens, words->position_rows, &words->unique_positions,
                        &words->position_lists);
}

vkf_status vkf__eval_gradient_embedding(vkf_eval_gradients *g)
{
    embedding_case e = {.g = g, .words.label = "embed"};
    vkf__token_embedding *words = &e.words;
    bool positions = false;
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "batch", &words->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "len", &words->len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "dim", &e.dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "vocab", &words->vocab));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(g->c, "scale", &words->scale));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(g->c, "positions", &positions));
    VKF_RETURN_IF_ERROR(read_ids(g, words));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "", "weight", VKF_DIMS(words->vocab, e.dim), false, &e.table));
    if (positions)
        VKF_RETURN_IF_ERROR(read_positions(g, &e));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "out", VKF_DIMS(words->batch, words->len, e.dim), &e.out));
    return vkf__eval_run_gradients(g, emit_embedding, &e);
}

// ---- cross_entropy

typedef struct loss_case {
    vkf_eval_gradients *g;
    vkf__loss_state loss;
    uint32_t rows, cols, counted; // counted: rows that are not ignored
    vkf_eval_leaf logits, mean, losses;
} loss_case;

// The mean over the rows that count. The upstream gradient is in the loss's factor already.
static vkf_status emit_mean(vkf__work *work, const loss_case *l, const vkf__span *losses)
{
    vkf__column_sum_args sum = {"loss_sum", .x = *losses, .rows = l->rows, .cols = 1};
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, 1, &sum.out));
    VKF_RETURN_IF_ERROR(vkf__emit_column_sum(work, &sum));
    const vkf__copy_args mean = {"loss_mean",
                                 .x = sum.out,
                                 .out = l->mean.span,
                                 .outer = 1,
                                 .rows = 1,
                                 .cols = 1,
                                 .alpha = 1.0f / (float)l->counted};
    return vkf__emit_copy(work, &mean);
}

static vkf_status emit_loss(vkf__work *work, const void *args)
{
    const loss_case *l = args;
    vkf__value logits, losses;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(l->g, &l->logits, l->rows, l->cols, &logits));
    VKF_RETURN_IF_ERROR(vkf__record_cross_entropy(&l->g->tape, "cross_entropy", logits, &l->loss, &losses));
    VKF_RETURN_IF_ERROR(emit_mean(work, l, vkf__tape_span(&l->g->tape, losses)));
    return vkf__eval_state_output(l->g, losses, &l->losses);
}

static vkf_status read_loss(vkf_eval_gradients *g, loss_case *l)
{
    int32_t *labels = NULL;
    float ignored = 0, *upstream = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "rows", &l->rows));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "vocab", &l->cols));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(g->c, "label_smoothing", &l->loss.smoothing));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(g->c, "ignore_index", &ignored));
    VKF_RETURN_IF_ERROR(vkf__eval_host_i32(g->c, "labels", VKF_DIMS(l->rows), &labels));
    VKF_RETURN_IF_ERROR(vkf__eval_host_f32(g->c, "grad_loss", VKF_DIMS(1), &upstream));
    if (fabsf(ignored) > 16777216.0f)
        return vkf__fail(g->c->settings.host, VKF_ERROR_FORMAT, "%s: ignore_index %g is beyond 2^24", g->c->config_path,
                         (double)ignored);
    l->loss.ignored = (int32_t)ignored;
    VKF_RETURN_IF_ERROR(vkf__check_labels(g->c->settings.host, labels, l->rows, l->cols, l->loss.ignored, &l->counted));
    l->loss.factor = upstream[0] / (float)l->counted;
    return upload(g, "labels", labels, l->rows, &l->loss.labels);
}

vkf_status vkf__eval_gradient_cross_entropy(vkf_eval_gradients *g)
{
    loss_case l = {.g = g};
    VKF_RETURN_IF_ERROR(read_loss(g, &l));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "logits", VKF_DIMS(l.rows, l.cols), &l.logits));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "loss", VKF_DIMS(1), &l.mean));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "losses", VKF_DIMS(l.rows), &l.losses));
    return vkf__eval_run_gradients(g, emit_loss, &l);
}
