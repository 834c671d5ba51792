#include "kernel/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/elements.h"
#include "base/size.h"
#include "kernel/text_table.h"
#include "kernel/work_bind.h"

// One parameter struct per node, at a stride that suits every device's uniform buffer alignment (at most 256).
#define PARAMS_STRIDE 256u
#define GRID_BYTES 16u

void vkf__work_init(vkf__work *work, vkf_context *context, const char *name)
{
    *work = (vkf__work){.context = context, .mode = VKF_WORK_PLAN, .name = name};
    vkf__hazards_init(&work->hazards, context->device.host);
}

void vkf__work_finish(vkf__work *work)
{
    if (!work->context)
        return;
    vkf__device *device = &work->context->device;
    const vkf__host *host = device->host;
    if (work->pool != VK_NULL_HANDLE)
        device->vk.vkDestroyDescriptorPool(device->handle, work->pool, NULL);
    if (work->queries != VK_NULL_HANDLE)
        device->vk.vkDestroyQueryPool(device->handle, work->queries, NULL);
    vkf__counter_pools_finish(&work->counters, device);
    for (uint32_t i = 0; work->nodes && i < work->node_count; i++)
        vkf__work_unbind(work, &work->nodes[i]);
    vkf__buffer_destroy(&work->control);
    for (size_t i = 0; i < work->label_count; i++)
        vkf__free(host, work->labels[i]);
    vkf__free(host, work->labels);
    vkf__free(host, work->nodes);
    vkf__free(host, work->ticks);
    vkf__free(host, work->decisions);
    vkf__free(host, work->temps);
    vkf__hazards_finish(&work->hazards);
    *work = (vkf__work){0};
}

static void rewind_cursors(vkf__work *work, vkf__work_mode mode)
{
    work->mode = mode;
    work->cursor = 0;
    work->decision_cursor = 0;
    work->temp_cursor = 0;
    work->prefix = NULL;
}

vkf_status vkf__work_plan(vkf__work *work)
{
    work->node_count = work->cursor;
    vkf__hazards_finish(&work->hazards);
    for (size_t i = 0; i < work->temp_count; i++) {
        // Never used: it takes no room.
        if (work->temps[i].first_use > work->temps[i].last_use)
            work->temps[i] = (vkf__arena_item){0};
    }
    return vkf__arena_plan(work->context->device.host, work->temps, work->temp_count,
                           work->context->device.plan.buffer_alignment, &work->arena_bytes);
}

uint64_t vkf__work_params_offset(const vkf__work *work, uint32_t index)
{
    return vkf__align_u64((uint64_t)work->node_count * GRID_BYTES, PARAMS_STRIDE) + (uint64_t)index * PARAMS_STRIDE;
}

uint64_t vkf__work_control_bytes(const vkf__work *work)
{
    return vkf__work_params_offset(work, work->node_count);
}

const uint32_t *vkf__work_grid(const vkf__work *work, uint32_t index)
{
    return (const uint32_t *)work->control->allocation.mapped + (size_t)index * (GRID_BYTES / sizeof(uint32_t));
}

const void *vkf__work_params(const vkf__work *work, uint32_t index)
{
    return (const uint8_t *)work->control->allocation.mapped + vkf__work_params_offset(work, index);
}

static vkf_status make_pool(vkf__work *work)
{
    vkf__device *device = &work->context->device;
    vkf_status status = VKF_OK;
    VkDescriptorPoolSize sizes[] = {
        {.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, .descriptorCount = work->node_count},
        {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = work->node_count * VKF_KERNEL_MAX_OPERANDS},
        {.type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
         .descriptorCount = work->node_count * VKF_KERNEL_MAX_OPERANDS},
    };
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = work->node_count,
        .poolSizeCount = 3,
        .pPoolSizes = sizes,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateDescriptorPool(device->handle, &info, NULL, &work->pool), &work->pool);
    vkf__device_name(device, VK_OBJECT_TYPE_DESCRIPTOR_POOL, (uint64_t)work->pool, work->name);
    if (device->plan.enable_timestamps) {
        VkQueryPoolCreateInfo query_info = {
            .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
            .queryType = VK_QUERY_TYPE_TIMESTAMP,
            .queryCount = work->node_count + 1,
        };
        VKF_VK_CREATE(device, device->vk.vkCreateQueryPool(device->handle, &query_info, NULL, &work->queries),
                      &work->queries);
        vkf__device_name(device, VK_OBJECT_TYPE_QUERY_POOL, (uint64_t)work->queries, work->name);
        VKF_ALLOC(device->host, work->ticks, (size_t)work->node_count + 1);
    }
    if (work->counted && work->context->counters.count > 0)
        VKF_TRY(vkf__counter_pools_init(&work->counters, device, &work->context->counters, work->node_count));
fail:
    return status;
}

vkf_status vkf__work_begin_build(vkf__work *work, vkf_buffer *arena)
{
    vkf__device *device = &work->context->device;
    vkf_status status = VKF_OK;
    if (work->node_count == 0)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT, "%s: nothing to do", work->name);
    VKF_ALLOC(device->host, work->nodes, work->node_count);
    VKF_TRY(vkf__buffer_create(&work->context->transfer, VKF_MEMORY_CONTROL, vkf__work_control_bytes(work), work->name,
                               &work->control));
    VKF_TRY(make_pool(work));
    work->arena = arena;
    rewind_cursors(work, VKF_WORK_BUILD);
fail:
    return status;
}

void vkf__work_begin_update(vkf__work *work)
{
    rewind_cursors(work, VKF_WORK_UPDATE);
}

static vkf_status add_temp(vkf__work *work, uint64_t size_bytes, bool pinned)
{
    void *temps = work->temps;
    vkf_status status = vkf__grow(work->context->device.host, &temps, sizeof *work->temps, work->temp_count,
                                  &work->temp_capacity, work->temp_count + 1);
    if (status != VKF_OK)
        return status;
    work->temps = temps;
    work->temps[work->temp_count++] = (vkf__arena_item){
        .size_bytes = size_bytes,
        .first_use = pinned ? 0 : UINT32_MAX,
        .last_use = pinned ? UINT32_MAX : 0,
    };
    return VKF_OK;
}

static vkf_status make_temp(vkf__work *work, vkf_dtype dtype, uint64_t count, bool pinned, vkf__span *out_span)
{
    const vkf__host *host = work->context->device.host;
    if (work->mode == VKF_WORK_PLAN) {
        uint64_t size = 0;
        if (!vkf__bytes_of(dtype, count, &size) || size > UINT64_MAX / 4)
            return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: a temporary of %" PRIu64 " elements", work->name, count);
        // Whole words: 16-bit values are read and written in pairs.
        vkf_status status = add_temp(work, vkf__align_u64(size, 4), pinned);
        if (status != VKF_OK)
            return status;
    }
    const vkf__arena_item *item = &work->temps[work->temp_cursor++];
    *out_span = (vkf__span){
        .buffer = work->mode == VKF_WORK_PLAN ? NULL : work->arena,
        .offset_bytes = item->offset,
        .size_bytes = item->size_bytes,
        .dtype = dtype,
        .temp = (uint32_t)work->temp_cursor,
    };
    return VKF_OK;
}

vkf_status vkf__work_temp(vkf__work *work, vkf_dtype dtype, uint64_t count, vkf__span *out_span)
{
    return make_temp(work, dtype, count, false, out_span);
}

vkf_status vkf__work_pinned(vkf__work *work, vkf_dtype dtype, uint64_t count, vkf__span *out_span)
{
    return make_temp(work, dtype, count, true, out_span);
}

vkf_status vkf__work_decide(vkf__work *work, uint64_t value, uint64_t *out_value)
{
    if (work->mode == VKF_WORK_PLAN) {
        void *decisions = work->decisions;
        vkf_status status = vkf__grow(work->context->device.host, &decisions, sizeof *work->decisions,
                                      work->decision_count, &work->decision_capacity, work->decision_count + 1);
        if (status != VKF_OK)
            return status;
        work->decisions = decisions;
        work->decisions[work->decision_count++] = value;
    }
    *out_value = work->decisions[work->decision_cursor++];
    return VKF_OK;
}

static vkf_status choose_pinned(const vkf__work *work, const vkf_dtype *types, const vkf__problem *problem,
                                vkf__variant *out_variant)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    const vkf__kernel *kernel = work->pinned->kernel;
    // A trial is told what to run: whether its rounding is allowed is for whoever chooses by its outcome.
    vkf__problem trial = *problem;
    trial.allow_f16_math = true;
    if (memcmp(kernel->types, types, kernel->type_count * sizeof types[0]) != 0 ||
        !vkf__kernel_takes(caps, kernel, work->pinned->config, &trial))
        return VKF_ERROR_UNSUPPORTED;
    *out_variant = *work->pinned;
    return VKF_OK;
}

// *out_found stays false when no kernel serves.
static vkf_status find(const vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                       vkf__variant *out_variant, bool *out_found)
{
    vkf_context *context = work->context;
    vkf_status status = VKF_OK;
    if (context->first_use && !work->pinned)
        VKF_TRY(context->first_use(context, op, types, problem));
    *out_found = true;
    for (bool tested = true; tested;) {
        const vkf__selector selector = vkf__context_selector(context);
        *out_found = vkf__select(&selector, op, types, problem, out_variant, NULL);
        if (!*out_found)
            return VKF_OK;
        // A verdict may change what is selected; every variant gets one, so that this ends.
        vkf__verdict verdict = vkf__verdict_get(selector.verdicts, out_variant->kernel, out_variant->config);
        tested = verdict == VKF_VERDICT_UNKNOWN && context->self_test && !work->pinned;
        if (tested)
            VKF_TRY(context->self_test(context, out_variant, &verdict));
    }
fail:
    return status;
}

vkf_status vkf__work_can_select(vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                                bool *out_can)
{
    vkf__variant variant;
    return find(work, op, types, problem, &variant, out_can);
}

static vkf_status fail_without_kernel(const vkf__work *work, vkf__op op, const vkf_dtype *types,
                                      const vkf__problem *problem)
{
    const vkf__selector selector = vkf__context_selector(work->context);
    const vkf__host *host = work->context->device.host;
    vkf__variant wrong = {0};
    char key[96];
    if (!vkf__select_quarantined(&selector, op, types, problem, &wrong))
        return vkf__fail(
            host, VKF_ERROR_UNSUPPORTED, "%s: no kernel for %s with element types %s, %s, %s on this device",
            work->name, vkf__op_name(op), vkf_dtype_name(types[0]), vkf_dtype_name(types[1]), vkf_dtype_name(types[2]));
    vkf__device_key(selector.caps, "verdicts", key, sizeof key);
    return vkf__fail(
        host, VKF_ERROR_UNSUPPORTED,
        "%s: no kernel for %s is left: %s/%s is quarantined, for its self-test on this device and driver "
        "differed from the reference. The verdict is kept in the cache as \"%s\": to test it again, delete that "
        "file or open a context without cache callbacks (vkformer: --no-cache)",
        work->name, vkf__op_name(op), wrong.kernel->name, wrong.config->name, key);
}

static vkf_status choose(const vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                         vkf__variant *out_variant)
{
    vkf_status status = VKF_OK;
    bool found = false;
    if (work->pinned && work->pinned->kernel->op == op)
        return choose_pinned(work, types, problem, out_variant);
    VKF_TRY(find(work, op, types, problem, out_variant, &found));
    if (!found)
        status = fail_without_kernel(work, op, types, problem);
fail:
    return status;
}

vkf_status vkf__work_select(vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                            vkf__variant *out_variant)
{
    vkf_status status = VKF_OK;
    vkf__variant variant = {0};
    uint64_t packed = 0;
    if (work->mode == VKF_WORK_PLAN) {
        VKF_TRY(choose(work, op, types, problem, &variant));
        packed =
            (uint64_t)vkf__kernel_index(variant.kernel) << 32 | (uint64_t)(variant.config - variant.kernel->configs);
    }
    VKF_TRY(vkf__work_decide(work, packed, &packed));
    variant.kernel = vkf__kernel_at((uint32_t)(packed >> 32));
    variant.config = &variant.kernel->configs[packed & UINT32_MAX];
    *out_variant = variant;
fail:
    return status;
}

void vkf__grid_flat(const vkf__work *work, uint64_t groups, uint32_t out_grid[3])
{
    uint64_t limit = work->context->device.plan.caps.max_workgroup_count_x;
    uint64_t rows = groups == 0 ? 0 : (groups + limit - 1) / limit;
    out_grid[0] = (uint32_t)(rows <= 1 ? groups : limit);
    // Beyond what 32 bits hold the dispatch is refused for its grid.
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

static void touch_temps(vkf__work *work, const vkf__dispatch *dispatch)
{
    for (uint32_t i = 0; i < dispatch->variant.kernel->operand_count; i++) {
        uint32_t temp = dispatch->bindings[i].span.temp;
        if (temp == 0)
            continue;
        vkf__arena_item *item = &work->temps[temp - 1];
        item->first_use = work->group < item->first_use ? work->group : item->first_use;
        item->last_use = work->group > item->last_use ? work->group : item->last_use;
    }
}

// Temporaries have no place yet: each counts as a buffer of its own. What has no buffer yet is taken for one and the
// same; at worst a group ends before its time.
static vkf_status plan_dispatch(vkf__work *work, const vkf__dispatch *dispatch)
{
    vkf__access accesses[VKF_KERNEL_MAX_OPERANDS] = {0};
    uint32_t count = dispatch->variant.kernel->operand_count;
    bool barrier = false;
    for (uint32_t i = 0; i < count; i++) {
        const vkf__span *span = &dispatch->bindings[i].span;
        const void *identity = span->temp > 0 ? (const void *)(uintptr_t)span->temp : span->buffer;
        accesses[i] = (vkf__access){identity, span->offset_bytes, span->offset_bytes + span->size_bytes,
                                    dispatch->bindings[i].write};
    }
    vkf_status status = vkf__hazards_add(&work->hazards, accesses, count, &barrier);
    work->group += barrier ? 1 : 0;
    touch_temps(work, dispatch);
    return status;
}

static vkf_status keep_label(vkf__work *work, const char *label, const char **out_label)
{
    if (!work->prefix) {
        *out_label = label;
        return VKF_OK;
    }
    const vkf__host *host = work->context->device.host;
    vkf_status status = VKF_OK;
    char *text = NULL;
    size_t size = strlen(work->prefix) + strlen(label) + 1;
    void *labels = work->labels;
    VKF_TRY(vkf__grow(host, &labels, sizeof *work->labels, work->label_count, &work->label_capacity,
                      work->label_count + 1));
    work->labels = labels;
    VKF_ALLOC(host, text, size);
    snprintf(text, size, "%s%s", work->prefix, label);
    work->labels[work->label_count++] = text;
    *out_label = text;
fail:
    return status;
}

static vkf_status build_node(vkf__work *work, const vkf__dispatch *dispatch)
{
    vkf_status status = VKF_OK;
    vkf__node *node = &work->nodes[work->cursor];
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    node->kernel = dispatch->variant.kernel;
    node->config = dispatch->variant.config;
    vkf__variant_spec(&work->context->device.plan.caps, &dispatch->variant, dispatch->flags, spec);
    VKF_TRY(keep_label(work, dispatch->label, &node->label));
    // What a trial runs is not what serves.
    if (!work->pinned)
        vkf__log(work->context->device.host, VKF_SEVERITY_DEBUG, "%s.%s: %s/%s", work->name, node->label,
                 node->kernel->name, dispatch->variant.config->name);
    VKF_TRY(vkf__pipelines_get(&work->context->pipelines, node->kernel, spec, work->pinned ? NULL : node->config,
                               &node->pipeline));
    VKF_TRY(vkf__work_bind(work, dispatch, node));
fail:
    return status;
}

static void write_control(vkf__work *work, const vkf__dispatch *dispatch)
{
    uint8_t *control = work->control->allocation.mapped;
    memcpy(control + (size_t)work->cursor * GRID_BYTES, dispatch->grid, sizeof dispatch->grid);
    memcpy(control + vkf__work_params_offset(work, work->cursor), dispatch->params,
           dispatch->variant.kernel->params_bytes);
}

vkf_status vkf__work_dispatch(vkf__work *work, const vkf__dispatch *dispatch)
{
    vkf_status status = VKF_OK;
    VKF_TRY(check_dispatch(work, dispatch));
    if (work->mode == VKF_WORK_PLAN)
        VKF_TRY(plan_dispatch(work, dispatch));
    if (work->mode == VKF_WORK_BUILD)
        VKF_TRY(build_node(work, dispatch));
    if (work->mode != VKF_WORK_PLAN)
        write_control(work, dispatch);
    work->cursor++;
fail:
    return status;
}
