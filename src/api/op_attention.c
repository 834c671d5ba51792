// Public entry point of scaled dot-product attention as a single operator.
#include <math.h>

#include "api/mask_check.h"
#include "api/op_check.h"
#include "base/elements.h"
#include "base/sized.h"
#include "op/attention.h"
#include "op/copy.h"
#include "op/operators.h"
#include "op/rotary.h"

typedef struct attention_shape {
    uint32_t batch, q_len, k_len, heads, kv_heads, dim, v_dim;
    uint32_t capacity, new_len; // rows of key and value, and of what is put into them
} attention_shape;

static vkf_status check_sizes(const vkf__checker *check, const attention_shape *s)
{
    if (s->dim == 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: heads of query and key have no elements",
                         check->function);
    if (s->kv_heads == 0 ? s->heads > 0 : s->heads % s->kv_heads != 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %u key heads do not divide %u query heads",
                         check->function, s->kv_heads, s->heads);
    return VKF_OK;
}

// Kernels count elements in 32 bits.
static vkf_status check_counts(const vkf__checker *check, const vkf_sdpa_desc *desc)
{
    uint32_t count = 0;
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, &desc->query, &count));
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, &desc->key, &count));
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, &desc->value, &count));
    return vkf__check_elements(check, &desc->out, &count);
}

// Of key or value: what query may have, or bf16 or q8.
static vkf_status check_kept(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    return tensor->dtype == VKF_DTYPE_Q8 ? vkf__check_tensor(check, tensor, name)
                                         : vkf__check_factor(check, tensor, name);
}

static vkf_status check_tensors(const vkf__checker *check, const vkf_sdpa_desc *desc, attention_shape *out_shape)
{
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->query, "query"));
    VKF_RETURN_IF_ERROR(check_kept(check, &desc->key, "key"));
    VKF_RETURN_IF_ERROR(check_kept(check, &desc->value, "value"));
    if (desc->query.rank != 4 || desc->key.rank != 4 || desc->value.rank != 4)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: query, key and value must be of rank 4",
                         check->function);
    const uint32_t *q = desc->query.shape, *k = desc->key.shape, *v = desc->value.shape;
    const attention_shape s = {q[0], q[2], k[2], q[1], k[1], q[3], v[3], k[2], 0};
    const uint32_t key[] = {s.batch, s.kv_heads, s.k_len, s.dim}, value[] = {s.batch, s.kv_heads, s.k_len, s.v_dim};
    const uint32_t out[] = {s.batch, s.heads, s.q_len, s.v_dim};
    const bool narrow = desc->key.dtype == VKF_DTYPE_BF16 || desc->key.dtype == VKF_DTYPE_Q8;
    const vkf_dtype keys = narrow && desc->query.dtype == VKF_DTYPE_F32 ? desc->key.dtype : desc->query.dtype;
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->key, "key", keys, 4, key));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->value, "value", keys, 4, value));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", desc->query.dtype, 4, out));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->query, "query"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->key, "key"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->value, "value"));
    *out_shape = s;
    VKF_RETURN_IF_ERROR(check_sizes(check, &s));
    return check_counts(check, desc);
}

// What is written besides the output lies apart from all that is read.
static vkf_status check_cache_apart(const vkf__checker *check, const vkf_sdpa_desc *desc, const vkf_tensor *cache)
{
    const struct {
        const vkf_tensor *tensor;
        const char *name;
    } read[] = {
        {&desc->query, "query"},   {&desc->new_key, "new_key"}, {&desc->new_value, "new_value"},
        {&desc->rotary, "rotary"}, {&desc->mask, "mask"},       {&desc->key_mask, "key_mask"},
        {&desc->slopes, "slopes"}, {&desc->sinks, "sinks"},
    };
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, cache, read[i].tensor, read[i].name));
    return VKF_OK;
}

static vkf_status check_new_keys(const vkf__checker *check, const vkf_sdpa_desc *desc, attention_shape *s)
{
    if (desc->new_key.rank == 0 && desc->new_value.rank == 0)
        return VKF_OK;
    const uint32_t len = desc->new_key.rank == 4 ? desc->new_key.shape[2] : 0;
    const uint32_t key[] = {s->batch, s->kv_heads, len, s->dim}, value[] = {s->batch, s->kv_heads, len, s->v_dim};
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->new_key, "new_key", desc->query.dtype, 4, key));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->new_value, "new_value", desc->query.dtype, 4, value));
    if (desc->first_position > s->capacity || len > s->capacity - desc->first_position)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %u new keys behind %u, and key has %u rows",
                         check->function, len, desc->first_position, s->capacity);
    s->k_len = desc->first_position + len;
    s->new_len = len;
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->new_key, "new_key"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->new_value, "new_value"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->key, &desc->value, "value"));
    VKF_RETURN_IF_ERROR(check_cache_apart(check, desc, &desc->key));
    return check_cache_apart(check, desc, &desc->value);
}

static vkf_status check_rotary(const vkf__checker *check, const vkf_sdpa_desc *desc, const attention_shape *s)
{
    const vkf_tensor *table = &desc->rotary;
    if (table->rank == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, table, "rotary", VKF_DTYPE_F32, 2, table->shape));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, table, "rotary"));
    if (s->new_len == 0 && desc->key.dtype != desc->query.dtype)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: rotary turns keys in %s as new keys alone",
                         check->function, vkf_dtype_name(desc->key.dtype));
    const int64_t first = vkf__own_positions_of(desc->causal, desc->first_position, s->q_len, s->k_len).first;
    const int64_t end = first + s->q_len > s->k_len ? first + s->q_len : s->k_len;
    if (desc->causal != VKF_CAUSAL_LENGTHS && first >= 0 && end <= table->shape[0] && table->shape[1] % 2 == 0 &&
        table->shape[1] <= s->dim)
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: rotary must have an even width of at most %u and all positions of queries and keys, %lld to "
                     "%lld, which LENGTHS do not say",
                     check->function, s->dim, (long long)(first < 0 ? first : 0), (long long)end - 1);
}

static vkf__heads_span heads_of(const vkf_tensor *tensor)
{
    uint32_t row = tensor->shape[3], head = tensor->shape[2] * row;
    return (vkf__heads_span){vkf__span_of(tensor), tensor->shape[1] * head, row, head};
}

static vkf__attention_args args_of(const vkf_sdpa_desc *desc, const attention_shape *s)
{
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_of(&desc->query),
        .k = heads_of(&desc->key),
        .v = heads_of(&desc->value),
        .out = heads_of(&desc->out),
        .batch = s->batch,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .head_dim = s->dim,
        .v_head_dim = s->v_dim,
    };
}

typedef struct attention_job {
    const vkf_sdpa_desc *desc;
    attention_shape shape;
    vkf__attention_args args;
} attention_job;

// Rows that are put into a cache, or turned, or both: those of `count` heads.
typedef struct head_rows {
    vkf__span x, out;
    uint32_t count, len, width;
    uint32_t first_position;
    uint32_t out_first, out_len; // the row of out that the first becomes, and rows of a head there
} head_rows;

static vkf_status emit_copied(vkf__work *work, const char *label, const head_rows *rows)
{
    const vkf__copy_args copy = {
        .label = label,
        .x = rows->x,
        .out = rows->out,
        .outer = rows->count,
        .rows = rows->len,
        .cols = rows->width,
        .x_outer = rows->len * rows->width,
        .x_row = rows->width,
        .out_first = rows->out_first * rows->width,
        .out_outer = rows->out_len * rows->width,
        .out_row = rows->width,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(work, &copy);
}

static vkf_status emit_turned(vkf__work *work, const char *label, const vkf_sdpa_desc *desc, const head_rows *rows)
{
    const vkf__rotary_args turn = {
        .label = label,
        .x = rows->x,
        .out = rows->out,
        .table = vkf__span_of(&desc->rotary),
        .batch = rows->count,
        .len = rows->len,
        .k_heads = 1,
        .head_dim = rows->width,
        .rotary_dim = desc->rotary.shape[1],
        .first_position = rows->first_position,
        .x_batch = rows->len * rows->width,
        .x_row = rows->width,
        .k_first = rows->out_first * rows->width,
        .out_batch = rows->out_len * rows->width,
        .out_row = rows->width,
        .interleaved = desc->rotary_interleaved,
    };
    return vkf__emit_rotary(work, &turn);
}

// Turns heads on their way to a temporary tensor, in whose place they are then read.
static vkf_status emit_turned_apart(vkf__work *work, const char *label, const attention_job *job, uint32_t count,
                                    uint32_t len, uint32_t first_position, vkf__span *inout_heads)
{
    vkf__span turned;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, inout_heads->dtype, (uint64_t)count * len * job->shape.dim, &turned));
    const head_rows rows = {
        .x = *inout_heads,
        .out = turned,
        .count = count,
        .len = len,
        .width = job->shape.dim,
        .first_position = first_position,
        .out_len = len,
    };
    *inout_heads = turned;
    return emit_turned(work, label, job->desc, &rows);
}

static vkf_status emit_new_keys(vkf__work *work, const attention_job *job)
{
    const vkf_sdpa_desc *desc = job->desc;
    const attention_shape *s = &job->shape;
    head_rows rows = {
        .x = vkf__span_of(&desc->new_key),
        .out = vkf__span_of(&desc->key),
        .count = s->batch * s->kv_heads,
        .len = s->new_len,
        .width = s->dim,
        .first_position = desc->first_position,
        .out_first = desc->first_position,
        .out_len = s->capacity,
    };
    const bool turns = desc->rotary.rank > 0, at_once = turns && rows.x.dtype == rows.out.dtype;
    if (turns && !at_once)
        VKF_RETURN_IF_ERROR(
            emit_turned_apart(work, "new_key_rotary", job, rows.count, rows.len, rows.first_position, &rows.x));
    VKF_RETURN_IF_ERROR(at_once ? emit_turned(work, "new_key", desc, &rows) : emit_copied(work, "new_key", &rows));
    rows.x = vkf__span_of(&desc->new_value);
    rows.out = vkf__span_of(&desc->value);
    rows.width = s->v_dim;
    return emit_copied(work, "new_value", &rows);
}

static vkf_status emit_all_turned(vkf__work *work, const attention_job *job, vkf__attention_args *args)
{
    const attention_shape *s = &job->shape;
    const vkf__own_positions own =
        vkf__own_positions_of(job->desc->causal, job->desc->first_position, s->q_len, s->k_len);
    VKF_RETURN_IF_ERROR(emit_turned_apart(work, "query_rotary", job, s->batch * s->heads, s->q_len, (uint32_t)own.first,
                                          &args->q.span));
    return s->new_len > 0
               ? VKF_OK
               : emit_turned_apart(work, "key_rotary", job, s->batch * s->kv_heads, s->k_len, 0, &args->k.span);
}

static vkf_status emit_job(vkf__work *work, const void *emitted)
{
    const attention_job *job = emitted;
    vkf__attention_args args = job->args;
    if (job->shape.new_len > 0)
        VKF_RETURN_IF_ERROR(emit_new_keys(work, job));
    if (vkf__is_empty(&job->desc->out))
        return VKF_OK;
    if (args.k_len == 0)
        return vkf__emit_zeros(work, "no_keys", &args.out.span, args.batch, args.heads * args.q_len, args.v_head_dim);
    if (job->desc->rotary.rank > 0)
        VKF_RETURN_IF_ERROR(emit_all_turned(work, job, &args));
    return vkf__emit_attention(work, &args);
}

vkf_status vkf_scaled_dot_product_attention_sized(vkf_context *context, const vkf_sdpa_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_scaled_dot_product_attention");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_scaled_dot_product_attention", vkf_sdpa_desc, desc, desc_bytes);
    vkf__checker check = vkf__operator_checker(context, "vkf_scaled_dot_product_attention");
    check.block_rows = true;
    attention_job job = {.desc = desc};
    VKF_RETURN_IF_ERROR(check_tensors(&check, desc, &job.shape));
    VKF_RETURN_IF_ERROR(check_new_keys(&check, desc, &job.shape));
    const attention_shape *s = &job.shape;
    job.args = args_of(desc, s);
    const vkf__mask_target target = {s->batch, s->heads, s->q_len, s->k_len, &desc->out};
    const vkf__mask_members members = VKF_MASK_MEMBERS(desc);
    VKF_RETURN_IF_ERROR(vkf__check_masks(&check, &members, &target, 1.0f / sqrtf((float)s->dim), &job.args.masks));
    VKF_RETURN_IF_ERROR(check_rotary(&check, desc, s));
    const bool appends = s->new_len > 0 && !vkf__is_empty(&desc->new_key);
    return vkf__run_operator(&check, appends ? &desc->new_key : &desc->out, "attention", emit_job, &job);
}
