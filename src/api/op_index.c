// Public entry points of gathering and scattering along a dimension.
#include "api/op_check.h"
#include "base/sized.h"
#include "op/copy.h"
#include "op/index.h"
#include "op/operators.h"

// The sizes of a tensor as of one of the highest rank.
static void widen(const vkf_tensor *tensor, uint32_t *out_shape)
{
    for (uint32_t i = 0; i < VKF_INDEX_RANK; i++)
        out_shape[i] = i + tensor->rank < VKF_INDEX_RANK ? 1 : tensor->shape[i + tensor->rank - VKF_INDEX_RANK];
}

// The elements of `moved` and of `wide`, of which there are more or fewer along the dimension alone, and the index.
static vkf_status check_index(const vkf__checker *check, const vkf_tensor *moved, const char *moved_name,
                              const vkf_tensor *wide, const vkf_tensor *index, int32_t dim, vkf__index_args *args)
{
    uint32_t along = 0, count = 0;
    VKF_RETURN_IF_ERROR(vkf__check_dim(check, wide, dim, &along));
    vkf_tensor expected = *wide;
    expected.shape[along] = moved->rank > along ? moved->shape[along] : 0;
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, moved, moved_name, wide->dtype, wide->rank, expected.shape));
    for (uint32_t i = 0; i < expected.rank; i++)
        expected.shape[i] = index->rank > i && index->shape[i] == 1 ? 1 : expected.shape[i];
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, index, "index", VKF_DTYPE_I32, wide->rank, expected.shape));
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, moved, &count));
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, wide, &count));
    widen(moved, args->shape);
    widen(index, args->index_shape);
    args->index = vkf__span_of(index);
    args->dim = along + VKF_INDEX_RANK - wide->rank;
    args->len = wide->shape[along];
    return VKF_OK;
}

vkf_status vkf_gather_sized(vkf_context *context, const vkf_gather_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_gather");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_gather", vkf_gather_desc, desc, desc_bytes);
    vkf__index_args args = {.label = "gather", .gather = true};
    const vkf__checker check = vkf__operator_checker(context, "vkf_gather");
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, &desc->x, "x"));
    VKF_RETURN_IF_ERROR(check_index(&check, &desc->out, "out", &desc->x, &desc->index, desc->dim, &args));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, &desc->x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, &desc->index, "index"));
    args.x = vkf__span_of(&desc->x);
    args.out = vkf__span_of(&desc->out);
    args.x.dtype = desc->x.dtype; // an x without elements is absent, and has a type all the same
    return vkf__run_operator(&check, &desc->out, "gather", vkf__operator(VKF_OP_INDEX)->emit, &args);
}

typedef struct scatter_job {
    const vkf_scatter_desc *desc;
    vkf__index_args index;
    uint32_t count; // elements of out
} scatter_job;

static vkf_status emit_scatter(vkf__work *work, const void *args)
{
    const scatter_job *job = args;
    const vkf_scatter_desc *desc = job->desc;
    if (!vkf__same_tensor(&desc->x, &desc->out)) {
        const vkf__copy_args copy = vkf__copy_all("copy", vkf__span_of(&desc->x), vkf__span_of(&desc->out), job->count);
        VKF_RETURN_IF_ERROR(vkf__emit_copy(work, &copy));
    }
    return vkf__is_empty(&desc->source) ? VKF_OK : vkf__emit_index(work, &job->index);
}

static vkf_status check_scatter(const vkf__checker *check, const vkf_scatter_desc *desc, scatter_job *job)
{
    const vkf_tensor *x = &desc->x, *out = &desc->out;
    VKF_RETURN_IF_ERROR(vkf__check_float(check, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, out, "out", x->dtype, x->rank, x->shape));
    VKF_RETURN_IF_ERROR(check_index(check, &desc->source, "source", out, &desc->index, desc->dim, &job->index));
    if (!vkf__same_tensor(x, out))
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, out, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, out, &desc->index, "index"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, out, &desc->source, "source"));
    if (desc->reduction >= VKF_REDUCTION_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown reduction %d", check->function,
                         (int)desc->reduction);
    return vkf__check_elements(check, out, &job->count);
}

vkf_status vkf_scatter_sized(vkf_context *context, const vkf_scatter_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_scatter");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_scatter", vkf_scatter_desc, desc, desc_bytes);
    scatter_job job = {.desc = desc, .index = {.label = "scatter", .reduction = desc->reduction}};
    const vkf__checker check = vkf__operator_checker(context, "vkf_scatter");
    VKF_RETURN_IF_ERROR(check_scatter(&check, desc, &job));
    job.index.x = vkf__span_of(&desc->source);
    job.index.out = vkf__span_of(&desc->out);
    // In place, nothing is written but what is scattered.
    const bool in_place = vkf__same_tensor(&desc->x, &desc->out);
    const vkf_tensor *written = in_place && vkf__is_empty(&desc->source) ? &desc->source : &desc->out;
    return vkf__run_operator(&check, written, "scatter", emit_scatter, &job);
}
