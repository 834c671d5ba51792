#include "op/additive.h"

#include "op/flat.h"
#include "shared/additive_scores.h"

vkf_status vkf__emit_additive(vkf__work *work, const vkf__additive_args *args)
{
    struct vkf_additive_params params = {.q_len = args->q_len, .k_len = args->k_len, .dim = args->dim};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_ADDITIVE_SCORES,
        .types = {args->query.dtype},
        .bindings = {{args->query, false}, {args->key, false}, {args->v, false}, {args->out, true}},
        .params = &params,
        .count = {args->batch, args->q_len, args->k_len},
        .factors = 3,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}
