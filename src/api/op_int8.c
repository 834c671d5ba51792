// Public entry points of bytes: numbers to bytes and back, and matrix products of bytes.
#include "api/op_check.h"
#include "op/copy.h"
#include "op/gemm_int8.h"
#include "op/operators.h"
#include "op/quantize_linear.h"

#define LARGEST_I8 128u // of an i8 without a zero
#define LARGEST 255u    // of any other byte, less its zero
// The words that hold so many bytes, wherever these begin in the first, have indices of 32 bits for each.
#define MOST_ELEMENTS (UINT32_MAX - 7)

static bool is_bytes(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_I8 || dtype == VKF_DTYPE_U8;
}

static vkf_status check_bytes(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    const vkf_status status = vkf__check_tensor(check, tensor, name);
    if (status == VKF_OK && !is_bytes(tensor->dtype))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: tensor %s has dtype %s, expected i8 or u8",
                         check->function, name, vkf_dtype_name(tensor->dtype));
    return status;
}

// A scale or a zero, if it is there: one for all, or one for each of `count`.
static vkf_status check_vector(const vkf__checker *check, const vkf_tensor *vector, const char *name, vkf_dtype dtype,
                               uint32_t count)
{
    const uint32_t shape = vector->shape[0] == 1 ? 1 : count;
    return vkf__check_optional(check, vector, name, dtype, 1, &shape);
}

static vkf_status check_count(const vkf__checker *check, const vkf_tensor *tensor, uint32_t *out_count)
{
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, tensor, out_count));
    return *out_count <= MOST_ELEMENTS
               ? VKF_OK
               : vkf__fail(check->host, VKF_ERROR_TOO_LARGE, "%s: 2^32 - 7 elements or more", check->function);
}

static vkf_status check_linear(const vkf__checker *check, const vkf_quantize_linear_desc *desc, bool back)
{
    const vkf_tensor *x = &desc->x;
    const vkf_dtype narrow = back ? x->dtype : desc->out.dtype;
    if (back && x->dtype == VKF_DTYPE_I32)
        VKF_RETURN_IF_ERROR(vkf__check_tensor(check, x, "x"));
    else if (back)
        VKF_RETURN_IF_ERROR(check_bytes(check, x, "x"));
    else
        VKF_RETURN_IF_ERROR(vkf__check_shape(check, x, "x", VKF_DTYPE_F32, x->rank, x->shape));
    if (!back)
        VKF_RETURN_IF_ERROR(check_bytes(check, &desc->out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", back ? VKF_DTYPE_F32 : narrow, x->rank, x->shape));
    if (desc->axis >= x->rank)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: axis is %u, and x of rank %u", check->function,
                         desc->axis, x->rank);
    const uint32_t channels = desc->scale.shape[0] == 1 ? 1 : x->shape[desc->axis];
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->scale, "scale", VKF_DTYPE_F32, 1, &channels));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &desc->zero, "zero", narrow, 1, &channels));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->scale, "scale"));
    return vkf__check_apart(check, &desc->out, &desc->zero, "zero");
}

static vkf_status run_linear(vkf_context *context, const char *function, const vkf_quantize_linear_desc *desc,
                             size_t desc_bytes, bool back)
{
    if (!context || !desc)
        return vkf__null_argument(function);
    vkf_status status = vkf__context_enter(context, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, function, vkf_quantize_linear_desc, desc, desc_bytes);
    const vkf__checker check = vkf__operator_checker(context, function);
    VKF_RETURN_IF_ERROR(check_linear(&check, desc, back));
    uint64_t inner = 1;
    uint32_t count = 0;
    VKF_RETURN_IF_ERROR(check_count(&check, &desc->x, &count));
    for (uint32_t i = desc->axis + 1; i < desc->x.rank; i++)
        inner *= desc->x.shape[i];
    const vkf__quantize_linear_args args = {
        .label = "quantize_linear",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .scale = vkf__span_of(&desc->scale),
        .zero = vkf__span_of(&desc->zero),
        .count = (uint32_t)count,
        .channels = desc->scale.shape[0],
        .inner = (uint32_t)inner,
    };
    return vkf__run_operator(&check, &desc->out, "quantize_linear", vkf__operator(VKF_OP_QUANTIZE_LINEAR)->emit, &args);
}

vkf_status vkf_quantize_linear_sized(vkf_context *context, const vkf_quantize_linear_desc *desc, size_t desc_bytes)
{
    return run_linear(context, "vkf_quantize_linear", desc, desc_bytes, false);
}

vkf_status vkf_dequantize_linear_sized(vkf_context *context, const vkf_quantize_linear_desc *desc, size_t desc_bytes)
{
    return run_linear(context, "vkf_dequantize_linear", desc, desc_bytes, true);
}

// ---- products

typedef struct int8_shape {
    uint32_t batch, m, n, k;
} int8_shape;

static vkf_status check_factors(const vkf__checker *check, const vkf_gemm_int8_desc *desc, int8_shape *out_shape)
{
    const vkf_tensor *a = &desc->a, *b = &desc->b;
    VKF_RETURN_IF_ERROR(check_bytes(check, a, "a"));
    VKF_RETURN_IF_ERROR(check_bytes(check, b, "b"));
    if (a->rank < 2 || a->rank > 3 || b->rank < 2 || b->rank > 3)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: a and b must be of rank 2 or 3",
                         check->function);
    const uint32_t *a_matrix = a->shape + (a->rank - 2), *b_matrix = b->shape + (b->rank - 2);
    const int8_shape s = {a->rank == 3 ? a->shape[0] : 1, a_matrix[0], b_matrix[desc->transpose_b ? 0 : 1],
                          a_matrix[1]};
    const uint32_t b_k = b_matrix[desc->transpose_b ? 1 : 0], b_batch = b->rank == 3 ? b->shape[0] : s.batch;
    if (b_k != s.k || b_batch != s.batch)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: a and b do not agree: k is %u and %u, batch %u and %u", check->function, s.k, b_k,
                         s.batch, b_batch);
    *out_shape = s;
    return VKF_OK;
}

// Whether every sum fits an i32 and every element has an index, whatever the bytes and zeros are.
static vkf_status check_size(const vkf__checker *check, const vkf_gemm_int8_desc *desc, const int8_shape *s)
{
    const uint64_t a = desc->a.dtype == VKF_DTYPE_I8 && desc->a_zero.rank == 0 ? LARGEST_I8 : LARGEST;
    const uint64_t b = desc->b.dtype == VKF_DTYPE_I8 && desc->b_zero.rank == 0 ? LARGEST_I8 : LARGEST;
    const vkf_tensor *tensors[] = {&desc->a, &desc->b, &desc->out};
    if (a * b * s->k > INT32_MAX)
        return vkf__fail(check->host, VKF_ERROR_TOO_LARGE, "%s: sums of %u products of bytes may not fit 32 bits",
                         check->function, s->k);
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        uint32_t count = 0;
        VKF_RETURN_IF_ERROR(check_count(check, tensors[i], &count));
    }
    return VKF_OK;
}

static vkf_status check_out(const vkf__checker *check, const vkf_gemm_int8_desc *desc, const int8_shape *s)
{
    const vkf_tensor *out = &desc->out;
    const uint32_t shape3[] = {s->batch, s->m, s->n};
    const bool flat = out->rank == 2 && s->batch == 1;
    if (out->dtype == VKF_DTYPE_I32 || out->dtype == VKF_DTYPE_F32)
        VKF_RETURN_IF_ERROR(vkf__check_tensor(check, out, "out"));
    else
        VKF_RETURN_IF_ERROR(check_bytes(check, out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, out, "out", out->dtype, flat ? 2 : 3, flat ? shape3 + 1 : shape3));
    const uint32_t one = 1;
    const bool scaled = desc->a_scale.rank > 0 || desc->b_scale.rank > 0;
    if (is_bytes(out->dtype)) {
        VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out_scale, "out_scale", VKF_DTYPE_F32, 1, &one));
        return vkf__check_optional(check, &desc->out_zero, "out_zero", out->dtype, 1, &one);
    }
    if (desc->out_scale.rank > 0 || desc->out_zero.rank > 0 || (scaled && out->dtype == VKF_DTYPE_I32))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: an out of %s with %s", check->function,
                         vkf_dtype_name(out->dtype),
                         out->dtype == VKF_DTYPE_I32 ? "a scale or a zero" : "a scale or a zero of its own");
    return VKF_OK;
}

static vkf_status check_gemm_int8(const vkf__checker *check, const vkf_gemm_int8_desc *desc, int8_shape *out_shape)
{
    VKF_RETURN_IF_ERROR(check_factors(check, desc, out_shape));
    const struct {
        const vkf_tensor *tensor;
        const char *name;
        vkf_dtype dtype;
        uint32_t count;
    } vectors[] = {
        {&desc->a_zero, "a_zero", desc->a.dtype, out_shape->m},
        {&desc->b_zero, "b_zero", desc->b.dtype, out_shape->n},
        {&desc->a_scale, "a_scale", VKF_DTYPE_F32, out_shape->m},
        {&desc->b_scale, "b_scale", VKF_DTYPE_F32, out_shape->n},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        VKF_RETURN_IF_ERROR(
            check_vector(check, vectors[i].tensor, vectors[i].name, vectors[i].dtype, vectors[i].count));
    VKF_RETURN_IF_ERROR(check_out(check, desc, out_shape));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->a, "a"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->b, "b"));
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, vectors[i].tensor, vectors[i].name));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->out_scale, "out_scale"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->out_zero, "out_zero"));
    return check_size(check, desc, out_shape);
}

typedef struct int8_job {
    const vkf_gemm_int8_desc *desc;
    int8_shape shape;
} int8_job;

// Brings a zero or a scale to its words, the next of all vectors.
static vkf_status emit_vector(vkf__work *work, const vkf_tensor *from, const vkf__span *vectors, uint32_t *inout_used,
                              vkf__int8_vector *out_vector)
{
    const uint32_t count = from->rank > 0 ? from->shape[0] : 0;
    if (count == 0)
        return VKF_OK;
    *out_vector = (vkf__int8_vector){true, count > 1, *inout_used};
    vkf__span words = vkf__span_part(vectors, *inout_used, count);
    *inout_used += count;
    if (from->dtype != VKF_DTYPE_F32)
        return vkf__emit_quantize_linear(
            work,
            &(vkf__quantize_linear_args){
                .label = "zeros", .x = vkf__span_of(from), .out = words, .count = count, .channels = 1, .inner = 1});
    words.dtype = VKF_DTYPE_F32;
    const vkf__copy_args copy = vkf__copy_all("scales", vkf__span_of(from), words, count);
    return vkf__emit_copy(work, &copy);
}

static vkf_status emit_vectors(vkf__work *work, const vkf_gemm_int8_desc *desc, vkf__gemm_int8_args *product)
{
    const struct {
        const vkf_tensor *from;
        vkf__int8_vector *to;
    } vectors[] = {
        {&desc->a_zero, &product->a_zero},
        {&desc->b_zero, &product->b_zero},
        {&desc->a_scale, &product->a_scale},
        {&desc->b_scale, &product->b_scale},
    };
    uint64_t words = 0;
    uint32_t used = 0;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        words += vectors[i].from->rank > 0 ? vectors[i].from->shape[0] : 0;
    if (words == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_I32, words, &product->vectors));
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        VKF_RETURN_IF_ERROR(emit_vector(work, vectors[i].from, &product->vectors, &used, vectors[i].to));
    return VKF_OK;
}

// The products, or zeros where k is 0: an i32 of 0 has the bits of an f32.
static vkf_status emit_products(vkf__work *work, const vkf_gemm_int8_desc *desc, vkf__gemm_int8_args *product)
{
    if (product->k > 0) {
        VKF_RETURN_IF_ERROR(emit_vectors(work, desc, product));
        return vkf__emit_gemm_int8(work, product);
    }
    vkf__span sums = product->d;
    sums.dtype = VKF_DTYPE_F32;
    return vkf__emit_zeros(work, "empty_sum", &sums, product->batch, product->m, product->n);
}

// An out of bytes is made of products in f32.
static vkf_status emit_gemm_int8(vkf__work *work, const void *args)
{
    const int8_job *job = args;
    const vkf_gemm_int8_desc *desc = job->desc;
    const int8_shape *s = &job->shape;
    const uint32_t count = s->batch * s->m * s->n;
    vkf__gemm_int8_args product = {
        .label = "gemm_int8",
        .a = vkf__span_of(&desc->a),
        .b = vkf__span_of(&desc->b),
        .d = vkf__span_of(&desc->out),
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .batch = s->batch,
        .b_shared = desc->b.rank == 2,
        .transpose_b = desc->transpose_b,
    };
    if (is_bytes(desc->out.dtype))
        VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, count, &product.d));
    VKF_RETURN_IF_ERROR(emit_products(work, desc, &product));
    if (!is_bytes(desc->out.dtype))
        return VKF_OK;
    const vkf__quantize_linear_args round = {
        .label = "round",
        .x = product.d,
        .out = vkf__span_of(&desc->out),
        .scale = vkf__span_of(&desc->out_scale),
        .zero = vkf__span_of(&desc->out_zero),
        .count = count,
        .channels = 1,
        .inner = 1,
    };
    return vkf__emit_quantize_linear(work, &round);
}

vkf_status vkf_gemm_int8_sized(vkf_context *context, const vkf_gemm_int8_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_gemm_int8");
    if (status != VKF_OK)
        return status;
    int8_job job = {0};
    VKF_TAKE_SIZED(&context->host, "vkf_gemm_int8", vkf_gemm_int8_desc, desc, desc_bytes);
    const vkf__checker check = vkf__operator_checker(context, "vkf_gemm_int8");
    VKF_RETURN_IF_ERROR(check_gemm_int8(&check, desc, &job.shape));
    job.desc = desc;
    return vkf__run_operator(&check, &desc->out, "gemm_int8", emit_gemm_int8, &job);
}
