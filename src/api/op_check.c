// Checks of sizes that entry points of operators share, and their way to the device.
#include "api/op_check.h"

#include <inttypes.h>

#include "op/run_once.h"

static vkf_status check_product(const vkf__checker *check, const vkf_tensor *tensor, uint32_t dims, const char *what,
                                uint32_t *out_product)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < dims; i++)
        product *= tensor->shape[i]; // no dimensions of a tensor that was checked overflow
    if (product > UINT32_MAX)
        return vkf__fail(check->host, VKF_ERROR_TOO_LARGE, "%s: %" PRIu64 " %s, and 2^32 - 1 are possible at most",
                         check->function, product, what);
    *out_product = (uint32_t)product;
    return VKF_OK;
}

vkf_status vkf__check_elements(const vkf__checker *check, const vkf_tensor *tensor, uint32_t *out_count)
{
    return check_product(check, tensor, tensor->rank, "elements", out_count);
}

vkf_status vkf__check_rows(const vkf__checker *check, const vkf_tensor *tensor, uint32_t *out_rows)
{
    return check_product(check, tensor, tensor->rank - 1, "rows", out_rows);
}

vkf_status vkf__check_dim(const vkf__checker *check, const vkf_tensor *tensor, int32_t dim, uint32_t *out_dim)
{
    const int64_t rank = tensor->rank, from_front = dim < 0 ? dim + rank : dim;
    if (from_front < 0 || from_front >= rank)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: dim is %d, and tensors of rank %u have the dimensions %d to %u", check->function, dim,
                         tensor->rank, -(int)rank, tensor->rank - 1);
    *out_dim = (uint32_t)from_front;
    return VKF_OK;
}

vkf_status vkf__run_operator(const vkf__checker *check, const vkf_tensor *written, const char *name, vkf__emit_fn emit,
                             const void *args)
{
    return vkf__is_empty(written) ? VKF_OK : vkf__run_once(check->context, name, emit, args);
}
