// The life of a work: BUILD and UPDATE, which replay the plan dispatch by dispatch. work_plan.c, work_bind.c,
// work_record.c and work_clocks.c have the rest.
#include "kernel/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "kernel/work_bind.h"
#include "kernel/work_plan.h"

// The distance of the nodes' parameter structs, which suits every device's uniform buffer alignment (at most 256).
#define PARAMS_STRIDE 256u

void vkf__work_init(vkf__work *work, vkf_context *context, const char *name)
{
    *work = (vkf__work){.context = context, .name = name};
}

void vkf__work_finish(vkf__work *work)
{
    if (!work->context)
        return;
    vkf__device *device = &work->context->device;
    const vkf__host *host = device->host;
    vkf__work_objects *built = &work->built;
    if (built->pool != VK_NULL_HANDLE)
        device->vk.vkDestroyDescriptorPool(device->handle, built->pool, NULL);
    vkf__work_clocks_finish(work);
    for (uint32_t i = 0; built->nodes && i < work->plan.node_count; i++)
        vkf__work_unbind(work, &built->nodes[i]);
    if (built->no_values != VK_NULL_HANDLE)
        device->vk.vkDestroyBufferView(device->handle, built->no_values, NULL);
    if (!work->lent_control)
        vkf__buffer_destroy(&built->control);
    for (size_t i = 0; i < built->label_count; i++)
        vkf__free(host, built->labels[i]);
    vkf__free(host, built->labels);
    vkf__free(host, built->nodes);
    vkf__free(host, built->written);
    vkf__free(host, work->restricted);
    vkf__dispatch_plan_free(&work->plan, host);
    *work = (vkf__work){0};
}

void vkf__work_rewind(vkf__work *work, vkf__work_mode mode)
{
    work->mode = mode;
    work->at = (vkf__work_cursors){0};
    work->prefix = NULL;
}

uint64_t vkf__work_params_offset(const vkf__work *work, uint32_t index)
{
    uint64_t grids = (uint64_t)work->plan.node_count * VKF_WORK_GRID_BYTES;
    return vkf__align_u64(grids, PARAMS_STRIDE) + (uint64_t)index * PARAMS_STRIDE;
}

uint64_t vkf__work_counter_offset(const vkf__work *work, uint32_t index)
{
    return vkf__work_params_offset(work, work->plan.node_count) + (uint64_t)index * sizeof(uint32_t);
}

uint64_t vkf__work_control_bytes(const vkf__work *work)
{
    return vkf__work_counter_offset(work, work->plan.counters);
}

const uint32_t *vkf__work_grid(const vkf__work *work, uint32_t index)
{
    return (const uint32_t *)work->built.written + (size_t)index * (VKF_WORK_GRID_BYTES / sizeof(uint32_t));
}

const void *vkf__work_params(const vkf__work *work, uint32_t index)
{
    return (const uint8_t *)work->built.written + vkf__work_params_offset(work, index);
}

static vkf_status make_pool(vkf__work *work)
{
    vkf__device *device = &work->context->device;
    const uint32_t count = work->plan.node_count;
    vkf_status status = VKF_OK;
    VkDescriptorPoolSize sizes[] = {
        {.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .descriptorCount = count},
        {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = count * VKF_KERNEL_MAX_OPERANDS},
        {.type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, .descriptorCount = count * VKF_KERNEL_MAX_OPERANDS},
    };
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = count,
        .poolSizeCount = 3,
        .pPoolSizes = sizes,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateDescriptorPool(device->handle, &info, NULL, &work->built.pool),
                  &work->built.pool);
    vkf__device_name(device, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)work->built.pool, work->name);
fail:
    return status;
}

static vkf_status make_objects(vkf__work *work, vkf_buffer *arena)
{
    vkf__device *device = &work->context->device;
    if (work->plan.node_count == 0)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT, "%s: nothing to do", work->name);
    VKF_ALLOC_OR_RETURN(device->host, work->built.nodes, work->plan.node_count);
    VKF_ALLOC_OR_RETURN(device->host, work->built.written,
                        vkf__work_counter_offset(work, 0) / sizeof *work->built.written);
    if (work->lent_control)
        work->built.control = work->lent_control;
    else
        VKF_RETURN_IF_ERROR(vkf__buffer_create(&work->context->transfer, VKF_MEMORY_CONTROL,
                                               vkf__work_control_bytes(work), work->name, &work->built.control));
    VKF_RETURN_IF_ERROR(make_pool(work));
    VKF_RETURN_IF_ERROR(vkf__work_clocks_init(work));
    work->built.arena = arena;
    return VKF_OK;
}

// Replay --------------------------------------------------------------------------------------------------------------

uint32_t vkf__dispatch_present(const vkf__dispatch *dispatch)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < dispatch->variant.kernel->operand_count; i++)
        present |= dispatch->bindings[i].span.size_bytes > 0 ? 1u << i : 0;
    return present;
}

vkf_status vkf__work_diverged(const vkf__work *work, const char *what)
{
    const vkf__dispatch_plan *plan = &work->plan;
    bool ended = work->at.node >= plan->node_count;
    return vkf__fail(work->context->device.host, VKF_ERROR_INTERNAL,
                     "%s: dispatch %zu of %u (%s) %s; please report it with what was run", work->name, work->at.node,
                     plan->node_count, ended ? "the end" : plan->nodes[work->at.node].label, what);
}

static vkf_status follow_plan(const vkf__work *work, const vkf__dispatch *dispatch)
{
    char what[192];
    const vkf__dispatch_plan *plan = &work->plan;
    const vkf__planned_node *node = &plan->nodes[work->at.node];
    if (work->at.node < plan->node_count && node->variant.kernel == dispatch->variant.kernel &&
        node->variant.config == dispatch->variant.config && node->present == vkf__dispatch_present(dispatch))
        return VKF_OK;
    (void)snprintf(what, sizeof what, "is now %.64s with %.64s and operands 0x%x", dispatch->label,
                   dispatch->variant.kernel->name, vkf__dispatch_present(dispatch));
    return vkf__work_diverged(work, what);
}

// Checks that everything that was planned came again.
static vkf_status follow_to_the_end(const vkf__work *work)
{
    const vkf__dispatch_plan *plan = &work->plan;
    if (work->at.node != plan->node_count)
        return vkf__work_diverged(work, "was planned and is missing");
    if (work->at.choice != plan->choice_count || work->at.decision != plan->decision_count ||
        work->at.temp != plan->temp_count || work->at.counter != plan->counters)
        return vkf__work_diverged(work, "comes with choices, decisions, temporaries or counters missing");
    return VKF_OK;
}

static vkf_status replay(vkf__work *work, vkf__work_mode mode, vkf__emit_fn emit, const void *args)
{
    vkf__work_rewind(work, mode);
    VKF_RETURN_IF_ERROR(emit(work, args));
    return follow_to_the_end(work);
}

vkf_status vkf__work_build(vkf__work *work, vkf_buffer *arena, vkf__emit_fn emit, const void *args)
{
    VKF_RETURN_IF_ERROR(make_objects(work, arena));
    VKF_RETURN_IF_ERROR(vkf__plan_pipelines_make(work->context, &work->plan, NULL));
    return replay(work, VKF_WORK_BUILD, emit, args);
}

vkf_status vkf__work_update(vkf__work *work, vkf__emit_fn emit, const void *args)
{
    return replay(work, VKF_WORK_UPDATE, emit, args);
}

// Dispatches ----------------------------------------------------------------------------------------------------------

void vkf__grid_flat(const vkf__work *work, uint64_t groups, uint32_t out_grid[3])
{
    uint64_t limit = work->context->device.plan.caps.max_workgroup_count_x;
    uint64_t rows = groups == 0 ? 0 : (groups + limit - 1) / limit;
    out_grid[0] = (uint32_t)(rows <= 1 ? groups : limit);
    // A grid beyond 32 bits is cut here, and the dispatch is refused for it afterwards.
    out_grid[1] = rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows;
    out_grid[2] = groups == 0 ? 0 : 1;
}

static vkf_status check_dispatch(const vkf__work *work, const vkf__dispatch *dispatch)
{
    const vkf__device *device = &work->context->device;
    const vkf__caps *caps = &device->plan.caps;
    for (uint32_t i = 0; i < dispatch->variant.kernel->operand_count; i++) {
        uint64_t size = dispatch->bindings[i].span.size_bytes;
        if (size > caps->max_storage_buffer_range)
            return vkf__fail(device->host, VKF_ERROR_TOO_LARGE,
                             "%s.%s: an operand of %" PRIu64 " bytes, the device binds %" PRIu64
                             " at most; use smaller maximum sizes",
                             work->name, dispatch->label, size, caps->max_storage_buffer_range);
    }
    if (dispatch->grid[0] > caps->max_workgroup_count_x || dispatch->grid[1] > caps->max_workgroup_count_y ||
        dispatch->grid[2] > caps->max_workgroup_count_z)
        return vkf__fail(device->host, VKF_ERROR_TOO_LARGE, "%s.%s: a grid of %ux%ux%u workgroups is too large",
                         work->name, dispatch->label, dispatch->grid[0], dispatch->grid[1], dispatch->grid[2]);
    return VKF_OK;
}

static vkf_status keep_label(vkf__work *work, const char *label, const char **out_label)
{
    if (!work->prefix) {
        *out_label = label;
        return VKF_OK;
    }
    const vkf__host *host = work->context->device.host;
    char *text = NULL;
    size_t size = strlen(work->prefix) + strlen(label) + 1;
    void *labels = work->built.labels;
    VKF_RETURN_IF_ERROR(vkf__grow(host, &labels, sizeof *work->built.labels, work->built.label_count,
                                  &work->built.label_capacity, work->built.label_count + 1));
    work->built.labels = labels;
    VKF_ALLOC_OR_RETURN(host, text, size);
    snprintf(text, size, "%s%s", work->prefix, label);
    work->built.labels[work->built.label_count++] = text;
    *out_label = text;
    return VKF_OK;
}

static vkf_status build_node(vkf__work *work, const vkf__dispatch *dispatch)
{
    vkf__node *node = &work->built.nodes[work->at.node];
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    node->kernel = dispatch->variant.kernel;
    node->config = dispatch->variant.config;
    vkf__variant_spec(&work->context->device.plan.caps, &dispatch->variant, dispatch->flags, spec);
    if (memcmp(spec, work->plan.nodes[work->at.node].spec, sizeof spec) != 0)
        return vkf__work_diverged(work, "comes with other specialisation constants");
    VKF_RETURN_IF_ERROR(keep_label(work, dispatch->label, &node->label));
    // A trial's kernel is not the one that will serve, so it is neither logged nor kept in the pipeline.
    if (!work->trial)
        vkf__log(work->context->device.host, VKF_SEVERITY_DEBUG, "%s.%s: %s/%s", work->name, node->label,
                 node->kernel->name, dispatch->variant.config->name);
    VKF_RETURN_IF_ERROR(vkf__pipelines_get(&work->context->pipelines, node->kernel, spec,
                                           work->trial ? NULL : node->config, &node->pipeline));
    return vkf__work_bind(work, dispatch, (uint32_t)work->at.node);
}

// To the device, and to the host's own copy.
static void write_control(vkf__work *work, const vkf__dispatch *dispatch)
{
    const uint64_t params = vkf__work_params_offset(work, (uint32_t)work->at.node);
    uint8_t *const copies[] = {work->built.control->allocation.mapped, (uint8_t *)work->built.written};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        memcpy(copies[i] + work->at.node * VKF_WORK_GRID_BYTES, dispatch->grid, sizeof dispatch->grid);
        memcpy(copies[i] + params, dispatch->params, dispatch->variant.kernel->params_bytes);
    }
}

vkf_status vkf__work_dispatch(vkf__work *work, const vkf__dispatch *dispatch)
{
    VKF_RETURN_IF_ERROR(check_dispatch(work, dispatch));
    if (work->mode == VKF_WORK_PLAN) {
        VKF_RETURN_IF_ERROR(vkf__work_plan_dispatch(work, dispatch));
    } else {
        VKF_RETURN_IF_ERROR(follow_plan(work, dispatch));
        if (work->mode == VKF_WORK_BUILD)
            VKF_RETURN_IF_ERROR(build_node(work, dispatch));
        write_control(work, dispatch);
    }
    work->at.node++;
    return VKF_OK;
}
