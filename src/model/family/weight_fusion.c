// Groups the slots of each layer by fusion, and checks whether their tensors are adjacent.
#include "model/family/weight_fusion.h"

#include "op/operand.h"
#include "shared/gemm.h"

static const struct {
    const char *what;
    uint32_t parts;
} fusions[VKF_FUSION_COUNT] = {
    [VKF_FUSION_QKV] = {"queries, keys and values", 3},
    [VKF_FUSION_QKV_BIAS] = {"biases of queries, keys and values", 3},
    [VKF_FUSION_GATE] = {"the gate and the first matrix", 2},
    [VKF_FUSION_GATE_BIAS] = {"biases of the gate and the first matrix", 2},
};

// The slots that a layer has of one fusion.
typedef struct group {
    const vkf__weight_slot *first;
    uint32_t parts;
    bool in_order; // the slots are adjacent, from part 0 on
    bool single;   // one tensor holds all of it
} group;

uint32_t vkf__fusion_parts(vkf__fusion fusion)
{
    return fusions[fusion].parts;
}

static group group_of(const vkf__weight_slot *slots, size_t count, vkf__fusion fusion)
{
    group g = {.in_order = true};
    for (size_t i = 0; i < count; i++) {
        const vkf__weight_slot *slot = &slots[i];
        if (slot->fusion != fusion)
            continue;
        g.first = g.first ? g.first : slot;
        g.single = slot->fusion_part == VKF_FUSION_ALL_PARTS;
        g.in_order = g.in_order && (g.single || slot == g.first + slot->fusion_part);
        g.parts++;
    }
    return g;
}

// The number of slots from the first one on that belong to its layer.
static size_t layer_end(const vkf__weight_slot *slots, size_t count)
{
    size_t end = 1;
    while (end < count && slots[end].layer == slots[0].layer)
        end++;
    return end;
}

static vkf_status check_layer(const vkf__host *host, const vkf__weight_slot *slots, size_t count)
{
    for (int fusion = VKF_FUSION_NONE + 1; fusion < VKF_FUSION_COUNT; fusion++) {
        const group g = group_of(slots, count, (vkf__fusion)fusion);
        if (g.parts == fusions[fusion].parts && !g.in_order)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                             "%s: %s are not listed one behind the other, they would be "
                             "multiplied one by one",
                             g.first->name, fusions[fusion].what);
    }
    return VKF_OK;
}

vkf_status vkf__fusions_check(const vkf__host *host, const vkf__weight_slot *slots, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        end = i + layer_end(slots + i, count - i);
        if (slots[i].layer)
            VKF_RETURN_IF_ERROR(check_layer(host, slots + i, end - i));
    }
    return VKF_OK;
}

// Panels of two weights join without a gap only where the first weight has no padded panel.
static bool whole_panels(const vkf_tensor *tensor)
{
    return tensor->layout != VKF_LAYOUT_PANELS || tensor->shape[0] % VKF_GEMM_PANEL == 0;
}

static bool is_one_operand(const group *g, vkf__fusion fusion)
{
    if (g->single)
        return true;
    if (g->parts != fusions[fusion].parts)
        return false;
    for (uint32_t i = 0; i < g->parts; i++) {
        const vkf__span part = vkf__span_of(g->first[i].target);
        const vkf__span next = i + 1 < g->parts ? vkf__span_of(g->first[i + 1].target) : (vkf__span){0};
        if (!whole_panels(g->first[i].target) || (i + 1 < g->parts && !vkf__span_follows(&part, &next)))
            return false;
    }
    return true;
}

static bool is_fused(const vkf__weight_slot *slots, size_t count, vkf__fusion weights, vkf__fusion biases)
{
    const group weight = group_of(slots, count, weights), bias = group_of(slots, count, biases);
    return is_one_operand(&weight, weights) && (bias.parts == 0 || is_one_operand(&bias, biases));
}

void vkf__fusions_settle(const vkf__weight_slot *slots, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        end = i + layer_end(slots + i, count - i);
        if (!slots[i].layer)
            continue;
        slots[i].layer->fused_qkv = is_fused(slots + i, end - i, VKF_FUSION_QKV, VKF_FUSION_QKV_BIAS);
        slots[i].layer->fused_gate = is_fused(slots + i, end - i, VKF_FUSION_GATE, VKF_FUSION_GATE_BIAS);
    }
}
