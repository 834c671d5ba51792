// Turns a product with a weight, or attention, into a subject for the search, with operands to run it on.
#include "prove/tune.h"

#include <math.h>
#include <string.h>

#include "base/elements.h"
#include "base/half.h"
#include "base/size.h"
#include "op/attention.h"
#include "op/gemm.h"
#include "op/operators.h"
#include "op/pack.h"
#include "shared/gemm.h"

// The number of heads that attention is measured with where its problem does not say.
#define HEADS 8u
#define MAX_OPERANDS 5

// What the kernels run on. Until make_buffer() the operands have no more than sizes and types.
typedef struct operands {
    vkf__span spans[MAX_OPERANDS];
    size_t count;
    vkf_buffer *buffer;
    union {
        vkf__gemm_args linear[VKF_TUNE_WAYS];
        vkf__attention_args attention;
    };
} operands;

static vkf__span *add_operand(operands *o, vkf_dtype dtype, uint64_t count)
{
    vkf__span *span = &o->spans[o->count++];
    *span = (vkf__span){.dtype = dtype};
    (void)vkf__bytes_of(dtype, count, &span->size_bytes);
    return span;
}

// Fills blocks with halves of magnitudes between 2^-5 and 2^-4, which are scales as good as any.
static void fill_blocks(uint8_t *chunk, size_t bytes)
{
    uint32_t random = 1;
    for (size_t at = 0; at < bytes; at += sizeof(uint16_t)) {
        random = random * 1664525u + 1013904223u;
        uint16_t half = (uint16_t)(0x2800u | (random >> 16 & 0x83ffu));
        memcpy(chunk + at, &half, sizeof half);
    }
}

// Fills a chunk with multiples of 1/8 between -1 and 1: numbers like those of weights, which make no denormals and no
// infinities on the way.
static void fill_chunk(vkf_dtype dtype, uint8_t *chunk, size_t bytes)
{
    uint32_t random = 1;
    if (vkf__is_blocks(dtype)) {
        fill_blocks(chunk, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += vkf_dtype_size(dtype)) {
        random = random * 1664525u + 1013904223u;
        float value = (float)((int)(random >> 24) % 17 - 8) * 0.125f;
        uint16_t half = dtype == VKF_DTYPE_BF16 ? vkf__bfloat_from_float(value) : vkf__half_from_float(value);
        if (vkf_dtype_size(dtype) == sizeof half)
            memcpy(chunk + at, &half, sizeof half);
        else
            memcpy(chunk + at, &value, sizeof value);
    }
}

static vkf_status fill(const vkf__host *host, const vkf__span *span)
{
    const size_t chunk_bytes = (size_t)1 << 20;
    vkf_status status = VKF_OK;
    uint8_t *chunk = NULL;
    VKF_ALLOC(host, chunk, chunk_bytes);
    fill_chunk(span->dtype, chunk, chunk_bytes);
    for (uint64_t at = 0; at < span->size_bytes; at += chunk_bytes) {
        uint64_t left = span->size_bytes - at;
        VKF_TRY(
            vkf_buffer_write(span->buffer, span->offset_bytes + at, chunk, left < chunk_bytes ? left : chunk_bytes));
    }
fail:
    vkf__free(host, chunk);
    return status;
}

static vkf_status make_buffer(vkf_context *context, operands *o)
{
    uint64_t total = 0;
    for (size_t i = 0; i < o->count; i++) {
        o->spans[i].offset_bytes = total;
        total = vkf__align_u64(total + o->spans[i].size_bytes, context->device.plan.buffer_alignment);
    }
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, total, "tune", &o->buffer));
    for (size_t i = 0; i < o->count; i++) {
        o->spans[i].buffer = o->buffer;
        VKF_RETURN_IF_ERROR(fill(&context->host, &o->spans[i]));
    }
    return VKF_OK;
}

// A product with a weight ---------------------------------------------------------------------------------------------

enum { LINEAR_A = 0, LINEAR_ROWS, LINEAR_PANELS, LINEAR_BIAS, LINEAR_D };

static void size_linear(const vkf_tune_problem *p, operands *o)
{
    (void)add_operand(o, p->x, (uint64_t)p->m * p->k);
    bool blocks = vkf__is_blocks(p->weight);
    (void)add_operand(o, p->weight, blocks ? 0 : (uint64_t)p->n * p->k);
    add_operand(o, p->weight, vkf__packed_elements(p->n, p->k))->panels = true;
    (void)add_operand(o, blocks ? p->x : p->weight, p->n);
    (void)add_operand(o, p->out, (uint64_t)p->m * p->n);
}

static vkf__gemm_args linear_args(const vkf_tune_problem *p, const operands *o, bool panels)
{
    return (vkf__gemm_args){
        .label = "tune",
        .a = o->spans[LINEAR_A],
        .b = o->spans[panels ? LINEAR_PANELS : LINEAR_ROWS],
        .d = o->spans[LINEAR_D],
        .bias = o->spans[LINEAR_BIAS],
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .batch = 1,
        .lda = p->k,
        .ldb = p->k,
        .ldd = p->n,
        .keep_layout = !panels,
        .transpose_b = true,
        .alpha = 1.0f,
    };
}

static vkf__problem linear_problem(const vkf_context *context, const vkf_tune_problem *p, bool panels)
{
    uint64_t a = (uint64_t)p->m * p->k, b = panels ? vkf__packed_elements(p->n, p->k) : (uint64_t)p->n * p->k;
    return (vkf__problem){
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .b_layout = panels ? VKF_GEMM_B_PANELS : VKF_GEMM_B_NK,
        .precision = context->precision,
        .offers = panels && p->k % 4 == 0 ? VKF_FORM_QUADS : 0,
        .largest = a > b ? a : b,
    };
}

// Attention -----------------------------------------------------------------------------------------------------------

enum { ATTENTION_Q = 0, ATTENTION_K, ATTENTION_V, ATTENTION_OUT };

static uint32_t heads_of(const vkf_tune_problem *p)
{
    return p->heads > 0 ? p->heads : HEADS;
}

static void size_attention(const vkf_tune_problem *p, operands *o)
{
    const uint64_t row = (uint64_t)heads_of(p) * p->k;
    (void)add_operand(o, p->x, p->m * row);
    (void)add_operand(o, p->weight, p->n * row);
    (void)add_operand(o, p->weight, p->n * row);
    (void)add_operand(o, p->out, p->m * row);
}

// The rows of all heads lie side by side, as projections leave them.
static vkf__attention_args attention_args(const vkf_tune_problem *p, const operands *o)
{
    const uint32_t heads = heads_of(p), row = heads * p->k;
    return (vkf__attention_args){
        .label = "tune",
        .q = {o->spans[ATTENTION_Q], p->m * row, row, p->k},
        .k = {o->spans[ATTENTION_K], p->n * row, row, p->k},
        .v = {o->spans[ATTENTION_V], p->n * row, row, p->k},
        .out = {o->spans[ATTENTION_OUT], p->m * row, row, p->k},
        .batch = 1,
        .heads = heads,
        .kv_heads = heads,
        .q_len = p->m,
        .k_len = p->n,
        .head_dim = p->k,
        .v_head_dim = p->k,
        .masks = {.cols = p->n, .scale = 1.0f / sqrtf((float)p->k)},
    };
}

// Both ----------------------------------------------------------------------------------------------------------------

vkf__problem vkf__tune_problem_of(const vkf_context *context, const vkf_tune_problem *problem, bool panels,
                                  vkf_dtype out_types[VKF_KERNEL_MAX_TYPES])
{
    operands o = {0};
    if (problem->kind == VKF_TUNE_LINEAR) {
        const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {problem->x, problem->weight, problem->out};
        memcpy(out_types, types, sizeof types);
        return linear_problem(context, problem, panels);
    }
    size_attention(problem, &o);
    const vkf__attention_args args = attention_args(problem, &o);
    return vkf__attention_problem(context, &args, out_types);
}

static void pose_linear(const vkf_context *context, const vkf_tune_problem *p, operands *o, vkf__tune_subject *subject)
{
    subject->emit = vkf__operator(VKF_OP_GEMM)->emit;
    for (uint32_t way = 0; way < VKF_TUNE_WAYS; way++) {
        bool panels = way == VKF_TUNE_PANELS;
        o->linear[way] = linear_args(p, o, panels);
        subject->ways[way].problem = vkf__tune_problem_of(context, p, panels, subject->types);
        bool has_way = vkf__is_blocks(p->weight) ? panels : !panels || p->n >= VKF_GEMM_PANEL;
        subject->ways[way].args = has_way ? &o->linear[way] : NULL;
    }
}

static void pose_attention(const vkf_context *context, const vkf_tune_problem *p, operands *o,
                           vkf__tune_subject *subject)
{
    subject->emit = vkf__operator(VKF_OP_ATTENTION)->emit;
    o->attention = attention_args(p, o);
    subject->ways[VKF_TUNE_ROWS].problem = vkf__tune_problem_of(context, p, false, subject->types);
    subject->ways[VKF_TUNE_ROWS].args = &o->attention;
}

vkf_status vkf__tune_with_operands(vkf_context *context, const vkf_tune_problem *problem, vkf__tune_use_fn use,
                                   void *user)
{
    vkf_status status = VKF_OK;
    operands o = {0};
    vkf__tune_subject subject = {.op = vkf__tune_op(problem)};
    bool linear = problem->kind == VKF_TUNE_LINEAR;
    (linear ? size_linear : size_attention)(problem, &o);
    VKF_TRY(make_buffer(context, &o));
    (linear ? pose_linear : pose_attention)(context, problem, &o, &subject);
    VKF_TRY(use(context, &subject, user));
fail:
    vkf__buffer_destroy(&o.buffer);
    return status;
}

typedef struct search_use {
    const vkf__tune_limits *limits;
    vkf_tune_result *result;
} search_use;

static vkf_status search(vkf_context *context, const vkf__tune_subject *subject, void *user)
{
    const search_use *use = user;
    return vkf__tune_search(context, subject, use->limits, use->result);
}

vkf_status vkf__tune_one(vkf_context *context, const vkf_tune_problem *problem, const vkf__tune_limits *limits,
                         vkf_tune_result *out_result)
{
    *out_result = (vkf_tune_result){.problem = *problem};
    return vkf__tune_with_operands(context, problem, search, &(search_use){limits, out_result});
}
