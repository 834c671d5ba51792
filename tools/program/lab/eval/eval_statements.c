// Products, softmax, exchanged dimensions and the scores of additive attention on a tape.
#include "lab/eval/eval_statements.h"

#include "op/additive.h"
#include "op/copy.h"
#include "op/gemm.h"
#include "op/permute.h"
#include "op/train/additive_grad.h"
#include "op/train/column_sum.h"
#include "op/train/softmax_grad.h"

// ---- products

enum { A, B, C, BIAS };

// A factor as it is multiplied: its rows are `row` elements apart or, transposed, its columns.
typedef struct factor {
    vkf__span span;
    bool transposed;
    uint32_t row, outer;
} factor;

static factor turned(factor of)
{
    of.transposed = !of.transposed;
    return of;
}

static factor a_of(const vkf__tape *tape, const vkf_eval_product *p)
{
    return (factor){*vkf__tape_span(tape, p->a), p->transpose_a, p->transpose_a ? p->m : p->k, p->m * p->k};
}

static factor b_of(const vkf__tape *tape, const vkf_eval_product *p)
{
    return (factor){*vkf__tape_span(tape, p->b), p->transpose_b, p->transpose_b ? p->k : p->n,
                    p->shared ? 0 : p->k * p->n};
}

// x (m, depth) y (depth, n)
static vkf__gemm_args multiply(const factor *x, const factor *y, uint32_t m, uint32_t n, uint32_t depth)
{
    return (vkf__gemm_args){
        .label = "product_grad",
        .a = x->span,
        .b = y->span,
        .m = m,
        .n = n,
        .k = depth,
        .lda = x->row,
        .ldb = y->row,
        .ldd = n,
        .a_outer = x->outer,
        .b_outer = y->outer,
        .d_outer = m * n,
        .transpose_a = x->transposed,
        .transpose_b = y->transposed,
        .keep_layout = true,
    };
}

static vkf_status emit_a(vkf__tape *tape, const vkf_eval_product *p, const factor *dout)
{
    const factor b = b_of(tape, p), b_turned = turned(b), dout_turned = turned(*dout);
    vkf__gemm_args args =
        p->transpose_a ? multiply(&b, &dout_turned, p->k, p->m, p->n) : multiply(dout, &b_turned, p->m, p->k, p->n);
    bool adds;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, p->a, &args.d, &adds));
    args.batch = p->batch;
    args.alpha = p->alpha;
    args.beta = adds ? 1.0f : 0.0f;
    return vkf__emit_gemm(tape->work, &args);
}

// The gradient of one b for all is summed over the batch, an entry after the other.
static vkf_status emit_b(vkf__tape *tape, const vkf_eval_product *p, const factor *dout)
{
    const factor a = a_of(tape, p), a_turned = turned(a), dout_turned = turned(*dout);
    vkf__gemm_args args =
        p->transpose_b ? multiply(&dout_turned, &a, p->n, p->k, p->m) : multiply(&a_turned, dout, p->k, p->n, p->m);
    const vkf__span first = args.a, second = args.b;
    bool adds;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, p->b, &args.d, &adds));
    args.batch = p->shared ? 1 : p->batch;
    args.alpha = p->alpha;
    args.beta = adds ? 1.0f : 0.0f;
    for (uint32_t i = 0; i < (p->shared ? p->batch : 1); i++) {
        if (p->shared) {
            args.a = vkf__span_part(&first, (uint64_t)i * args.a_outer, args.a_outer);
            args.b = vkf__span_part(&second, (uint64_t)i * args.b_outer, args.b_outer);
        }
        VKF_RETURN_IF_ERROR(vkf__emit_gemm(tape->work, &args));
        args.beta = 1;
    }
    return VKF_OK;
}

static vkf__copy_args copy_of(const vkf_eval_product *p, float alpha)
{
    return (vkf__copy_args){.label = "c",
                            .outer = p->batch,
                            .rows = p->m,
                            .cols = p->n,
                            .x_outer = p->m * p->n,
                            .x_row = p->n,
                            .out_outer = p->m * p->n,
                            .out_row = p->n,
                            .alpha = alpha};
}

static vkf_status emit_c(vkf__tape *tape, const vkf_eval_product *p, const factor *dout)
{
    vkf__copy_args copy = copy_of(p, p->beta);
    bool adds;
    copy.x = dout->span;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, p->c, &copy.out, &adds));
    copy.beta = adds ? 1.0f : 0.0f;
    return vkf__emit_copy(tape->work, &copy);
}

static vkf_status emit_bias(vkf__tape *tape, const vkf_eval_product *p, const factor *dout)
{
    vkf__column_sum_args sum = {"bias_grad", .x = dout->span, .rows = p->batch * p->m, .cols = p->n};
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, p->bias, &sum.out, &sum.accumulate));
    return vkf__emit_column_sum(tape->work, &sum);
}

static vkf_status product_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf_eval_product p = *(const vkf_eval_product *)vkf__tape_note(tape, node);
    const factor dout = {vkf__tape_at(tape, node->out)->gradient, false, p.n, p.m * p.n};
    if (vkf__tape_wants(tape, node->operands[A]))
        VKF_RETURN_IF_ERROR(emit_a(tape, &p, &dout));
    if (vkf__tape_wants(tape, node->operands[B]))
        VKF_RETURN_IF_ERROR(emit_b(tape, &p, &dout));
    if (vkf__tape_wants(tape, node->operands[C]))
        VKF_RETURN_IF_ERROR(emit_c(tape, &p, &dout));
    return vkf__tape_wants(tape, node->operands[BIAS]) ? emit_bias(tape, &p, &dout) : VKF_OK;
}

vkf_status vkf__eval_state_product(vkf__tape *tape, const vkf_eval_product *product, vkf__value *out_value)
{
    const factor a = a_of(tape, product), b = b_of(tape, product);
    vkf__gemm_args args = multiply(&a, &b, product->m, product->n, product->k);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, product->batch * product->m, product->n, out_value));
    args.label = product->label;
    args.d = *vkf__tape_span(tape, *out_value);
    if (product->bias)
        args.bias = *vkf__tape_span(tape, product->bias);
    args.batch = product->batch;
    args.alpha = product->alpha;
    args.beta = product->beta;
    if (product->beta != 0.0f) {
        vkf__copy_args copy = copy_of(product, 1);
        copy.x = *vkf__tape_span(tape, product->c);
        copy.out = args.d;
        VKF_RETURN_IF_ERROR(vkf__emit_copy(tape->work, &copy));
    }
    VKF_RETURN_IF_ERROR(vkf__emit_gemm(tape->work, &args));
    const vkf__tape_node node = {
        product_back, *out_value, {product->a, product->b, product->c, product->bias}, 0, NULL};
    return vkf__tape_record(tape, &node, product, sizeof *product);
}

// ---- softmax

static vkf_status softmax_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const float *scale = vkf__tape_note(tape, node);
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    vkf__softmax_grad_args args = {
        .label = "softmax_grad",
        .y = out.span,
        .dout = out.gradient,
        .rows = out.rows,
        .cols = out.cols,
        .scale = *scale,
    };
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, out.count, &args.dx));
    VKF_RETURN_IF_ERROR(vkf__emit_softmax_grad(tape->work, &args));
    return vkf__tape_pass_on(tape, node->operands[0], &args.dx);
}

vkf_status vkf__eval_state_softmax(vkf__tape *tape, const vkf__softmax_args *args, vkf__value x, vkf__value *out_value)
{
    vkf__softmax_args softmax = *args;
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, args->batch * args->heads * args->q_len, args->k_len, out_value));
    softmax.x = *vkf__tape_span(tape, x);
    softmax.out = *vkf__tape_span(tape, *out_value);
    VKF_RETURN_IF_ERROR(vkf__emit_softmax(tape->work, &softmax));
    const vkf__tape_node node = {softmax_back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, &args->masks.scale, sizeof args->masks.scale);
}

// ---- permute

static vkf_status emit_permute(vkf__tape *tape, const vkf_eval_exchange *e, const vkf__span *x, const vkf__span *out)
{
    const vkf__permute_args args = {"permute", *x, *out, e->batch, e->rows, e->cols, e->depth};
    return vkf__emit_permute(tape->work, &args);
}

static vkf_status permute_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf_eval_exchange *e = vkf__tape_note(tape, node);
    const vkf_eval_exchange back = {e->batch, e->cols, e->rows, e->depth};
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    vkf__span dx;
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, out.count, &dx));
    VKF_RETURN_IF_ERROR(emit_permute(tape, &back, &out.gradient, &dx));
    return vkf__tape_pass_on(tape, node->operands[0], &dx);
}

vkf_status vkf__eval_state_permute(vkf__tape *tape, vkf__value x, const vkf_eval_exchange *exchange,
                                   vkf__value *out_value)
{
    const vkf__span from = *vkf__tape_span(tape, x);
    VKF_RETURN_IF_ERROR(
        vkf__tape_result(tape, exchange->batch * exchange->cols, exchange->rows * exchange->depth, out_value));
    VKF_RETURN_IF_ERROR(emit_permute(tape, exchange, &from, vkf__tape_span(tape, *out_value)));
    const vkf__tape_node node = {permute_back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, exchange, sizeof *exchange);
}

// ---- additive attention's scores

static vkf_status additive_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__additive_args *forward = vkf__tape_note(tape, node);
    vkf__additive_grad_args args = {
        .label = "additive_grad",
        .query = forward->query,
        .key = forward->key,
        .v = forward->v,
        .dscores = vkf__tape_at(tape, node->out)->gradient,
        .batch = forward->batch,
        .q_len = forward->q_len,
        .k_len = forward->k_len,
        .dim = forward->dim,
    };
    const vkf__value *of = node->operands;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, of[0], &args.dquery, &args.accumulate_query));
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, of[1], &args.dkey, &args.accumulate_key));
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, of[2], &args.dv, &args.accumulate_v));
    return vkf__emit_additive_grad(tape->work, &args);
}

vkf_status vkf__eval_state_additive(vkf__tape *tape, const vkf_eval_additive *additive, vkf__value *out_value)
{
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, additive->batch * additive->q_len, additive->k_len, out_value));
    const vkf__additive_args args = {
        .label = "scores",
        .query = *vkf__tape_span(tape, additive->query),
        .key = *vkf__tape_span(tape, additive->key),
        .v = *vkf__tape_span(tape, additive->v),
        .out = *vkf__tape_span(tape, *out_value),
        .batch = additive->batch,
        .q_len = additive->q_len,
        .k_len = additive->k_len,
        .dim = vkf__tape_at(tape, additive->query)->cols,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_additive(tape->work, &args));
    const vkf__tape_node node = {additive_back, *out_value, {additive->query, additive->key, additive->v}, 0, NULL};
    return vkf__tape_record(tape, &node, &args, sizeof args);
}
