// Linear layers, and products of two values, on a tape.
#include "base/size.h"
#include "op/copy.h"
#include "op/gemm.h"
#include "op/train/column_sum.h"
#include "shared/gemm.h"
#include "training/records.h"

// A product reads b where a layer has its weight.
enum { X, WEIGHT, BIAS };

typedef struct product_note {
    float factor;
    bool keep_layout; // b has other rows in other runs, for which kernels are not chosen in another layout
    bool rounds;      // b was read in the type of tape->products, and x is kept in it
} product_note;

// With less depth, turning a factor first does not pay.
#define MIN_DEPTH_TO_TURN 32u

// A value as this product has read it.
static vkf_status factor_of(vkf__tape *tape, const vkf__tape_node *node, int operand, vkf__span *out_span)
{
    const product_note *note = vkf__tape_note(tape, node);
    if (note->rounds)
        return vkf__tape_rounded(tape, node->operands[operand], out_span);
    *out_span = *vkf__tape_span(tape, node->operands[operand]);
    return VKF_OK;
}

// dx (rows, in) = factor dy (rows, out) weight (out, in)
static vkf_status emit_input(vkf__tape *tape, const vkf__tape_node *node, const vkf__tape_value *out)
{
    const product_note *note = vkf__tape_note(tape, node);
    const vkf__tape_value *weight = vkf__tape_at(tape, node->operands[WEIGHT]);
    vkf__gemm_args product = {
        .label = "linear_grad",
        .a = out->gradient,
        .m = out->rows,
        .n = weight->cols,
        .k = weight->rows,
        .batch = 1,
        .lda = out->cols,
        .ldb = weight->cols,
        .ldd = weight->cols,
        .alpha = note->factor,
        .keep_layout = note->keep_layout,
        .fixed_rows = !note->keep_layout,
    };
    bool adds;
    VKF_RETURN_IF_ERROR(factor_of(tape, node, WEIGHT, &product.b));
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[X], &product.d, &adds));
    product.beta = adds ? 1.0f : 0.0f;
    return vkf__emit_gemm(tape->work, &product);
}

// Whether the product is faster with a transposed first, so that its rows lie along the depth.
static bool turning_pays(const vkf__work *work, const vkf__gemm_args *product)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf_dtype types[] = {product->a.dtype, product->b.dtype, product->d.dtype};
    const vkf__problem problem = {
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .b_layout = VKF_GEMM_B_PANELS,
        .precision = work->context->precision,
        .offers = product->k % 4 == 0 ? VKF_FORM_QUADS : 0,
        .largest = (uint64_t)product->m * product->k,
    };
    vkf__problem as_it_lies = problem;
    as_it_lies.wants = VKF_FORM_TRANSPOSED_A;
    return !product->keep_layout && product->k >= MIN_DEPTH_TO_TURN &&
           vkf__select_rank(&selector, VKF_OP_GEMM, types, &problem) <
               vkf__select_rank(&selector, VKF_OP_GEMM, types, &as_it_lies);
}

// Rows of a^T begin at multiples of four elements in every run, as kernels that read texels need it.
static vkf_status emit_turned(vkf__work *work, const vkf__gemm_args *product)
{
    vkf__gemm_args turned = *product;
    turned.lda = (uint32_t)vkf__align_u64(product->k, 4);
    turned.transpose_a = false;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, (uint64_t)product->m * turned.lda, &turned.a));
    const vkf__copy_args copy = {
        .label = "turn",
        .x = product->a,
        .out = turned.a,
        .outer = product->m,
        .rows = product->k,
        .cols = 1,
        .x_outer = 1,
        .x_row = product->lda,
        .out_outer = turned.lda,
        .out_row = 1,
        .alpha = 1,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_copy(work, &copy));
    return vkf__emit_gemm(work, &turned);
}

// dweight (out, in) = factor dy^T (out, rows) x (rows, in)
static vkf_status emit_weight(vkf__tape *tape, const vkf__tape_node *node, const vkf__tape_value *out)
{
    const product_note *note = vkf__tape_note(tape, node);
    const vkf__tape_value *x = vkf__tape_at(tape, node->operands[X]);
    vkf__gemm_args product = {
        .label = "weight_grad",
        .a = out->gradient,
        .m = out->cols,
        .n = x->cols,
        .k = out->rows,
        .batch = 1,
        .lda = out->cols,
        .ldb = x->cols,
        .ldd = x->cols,
        .transpose_a = true,
        .alpha = note->factor,
        .keep_layout = note->keep_layout,
        .fixed_rows = !note->keep_layout,
    };
    bool adds;
    VKF_RETURN_IF_ERROR(factor_of(tape, node, X, &product.b));
    uint64_t turn = tape->work->mode == VKF_WORK_PLAN && turning_pays(tape->work, &product);
    VKF_RETURN_IF_ERROR(vkf__work_decide(tape->work, turn, &turn));
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[WEIGHT], &product.d, &adds));
    product.beta = adds ? 1.0f : 0.0f;
    return turn ? emit_turned(tape->work, &product) : vkf__emit_gemm(tape->work, &product);
}

static vkf_status emit_bias(vkf__tape *tape, const vkf__tape_node *node, const vkf__tape_value *out)
{
    vkf__column_sum_args sum = {"bias_grad", .x = out->gradient, .rows = out->rows, .cols = out->cols};
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[BIAS], &sum.out, &sum.accumulate));
    return vkf__emit_column_sum(tape->work, &sum);
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    if (vkf__tape_wants(tape, node->operands[X]))
        VKF_RETURN_IF_ERROR(emit_input(tape, node, &out));
    if (vkf__tape_wants(tape, node->operands[WEIGHT]))
        VKF_RETURN_IF_ERROR(emit_weight(tape, node, &out));
    return vkf__tape_wants(tape, node->operands[BIAS]) ? emit_bias(tape, node, &out) : VKF_OK;
}

vkf_status vkf__record_linear(vkf__tape *tape, const char *label, vkf__value x, const vkf__linear_values *linear,
                              vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x), weight = *vkf__tape_at(tape, linear->weight);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, from.rows, weight.rows, out_value));
    vkf__linear_args args = {
        .label = label,
        .x = from.span,
        .d = *vkf__tape_span(tape, *out_value),
        .rows = from.rows,
        .in = weight.cols,
        .out = weight.rows,
    };
    VKF_RETURN_IF_ERROR(vkf__tape_rounded(tape, linear->weight, &args.weight));
    if (linear->bias)
        VKF_RETURN_IF_ERROR(vkf__tape_rounded(tape, linear->bias, &args.bias));
    VKF_RETURN_IF_ERROR(vkf__emit_linear(tape->work, &args));
    // Here, so that x itself need not live until then.
    vkf__span kept;
    if (weight.wanted)
        VKF_RETURN_IF_ERROR(vkf__tape_rounded(tape, x, &kept));
    const vkf__tape_node node = {back, *out_value, {x, linear->weight, linear->bias}, 0, NULL};
    return vkf__tape_record(tape, &node, &(product_note){.factor = 1, .rounds = true}, sizeof(product_note));
}

vkf_status vkf__record_product(vkf__tape *tape, const char *label, vkf__value a, vkf__value b, float factor,
                               vkf__value *out_value)
{
    const vkf__tape_value first = *vkf__tape_at(tape, a), second = *vkf__tape_at(tape, b);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, first.rows, second.rows, out_value));
    const vkf__gemm_args product = {
        .label = label,
        .a = first.span,
        .b = second.span,
        .d = *vkf__tape_span(tape, *out_value),
        .m = first.rows,
        .n = second.rows,
        .k = first.cols,
        .batch = 1,
        .lda = first.cols,
        .ldb = second.cols,
        .ldd = second.rows,
        .transpose_b = true,
        .alpha = factor,
        .keep_layout = true,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_gemm(tape->work, &product));
    const vkf__tape_node node = {back, *out_value, {a, b}, 0, NULL};
    return vkf__tape_record(tape, &node, &(product_note){.factor = factor, .keep_layout = true}, sizeof(product_note));
}
