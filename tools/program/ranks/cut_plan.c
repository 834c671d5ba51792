// Plans parts of a model: its first and its last, and one between them.
#include "ranks/cut_plan.h"

#include "model/model.h"

uint64_t vkf_cut_memory(const vkf_device_info *info)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < info->heap_count; i++)
        if (info->heap_device_local[i] && info->heap_size_bytes[i] > most)
            most = info->heap_size_bytes[i];
    return most;
}

static uint64_t sum_of(const vkf_memory_plan *plan)
{
    return plan->weights_bytes + plan->activations_bytes + plan->cache_bytes + plan->control_bytes;
}

typedef struct part_bytes {
    uint64_t all, weights;
} part_bytes;

static vkf_status plan_part(const vkf_cut_plan *p, uint32_t first, uint32_t count, part_bytes *out)
{
    vkf_status status = VKF_OK;
    const vkf__layer_part part = {.first = first, .count = count};
    vkf_model *shape = NULL;
    vkf_memory_plan model, session;
    VKF_TRY(vkf__model_shape_part(p->context, p->model, &part, &model, &shape));
    VKF_TRY(vkf_session_plan(shape, p->session, &session));
    *out = (part_bytes){sum_of(&model) + p->batches * sum_of(&session), model.weights_bytes};
fail:
    vkf_model_destroy(&shape);
    return status;
}

// All layers are as large as the second one. Of two layers, each is a part or both are one. A token reads the weights
// of all layers and of what follows them, and of the words a row.
vkf_status vkf_cut_plan_parts(const vkf_cut_plan *plan, vkf_cut_model *out_model)
{
    const uint32_t layers = plan->layers;
    part_bytes first, two, middle, last, whole;
    vkf_cut_model m = {.layers = layers, .layer_time = 1.0};
    VKF_RETURN_IF_ERROR(plan_part(plan, 0, layers, &whole));
    VKF_RETURN_IF_ERROR(plan_part(plan, 0, 1, &first));
    VKF_RETURN_IF_ERROR(plan_part(plan, layers - 1, 1, &last));
    if (layers > 2) {
        VKF_RETURN_IF_ERROR(plan_part(plan, 0, 2, &two));
        VKF_RETURN_IF_ERROR(plan_part(plan, 1, 1, &middle));
        m.layer_bytes = two.all - first.all;
        m.middle_bytes = middle.all - m.layer_bytes;
        m.layer_time = (double)middle.weights;
        m.last_time = (double)last.weights - (double)middle.weights;
    }
    m.first_bytes = first.all - m.layer_bytes;
    m.last_bytes = last.all - m.layer_bytes;
    m.whole_bytes = whole.all - layers * m.layer_bytes;
    *out_model = m;
    return VKF_OK;
}
