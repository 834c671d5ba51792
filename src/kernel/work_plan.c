// PLAN: chooses kernels, decisions and temporaries at maximum sizes. Nothing here touches the device.
#include "kernel/work_plan.h"

#include <inttypes.h>
#include <string.h>

#include "base/elements.h"
#include "base/size.h"
#include "kernel/shader_table.h"
#include "kernel/text_table.h"
#include "kernel/work_bind.h"

void vkf__dispatch_plan_free(vkf__dispatch_plan *plan, const vkf__host *host)
{
    vkf__free(host, plan->nodes);
    vkf__free(host, plan->choices);
    vkf__free(host, plan->decisions);
    vkf__free(host, plan->temps);
    vkf__free(host, plan->wants);
    vkf__hazards_finish(&plan->hazards);
    *plan = (vkf__dispatch_plan){0};
}

static vkf_status add_temp(vkf__work *work, uint64_t size_bytes, bool pinned)
{
    vkf__dispatch_plan *plan = &work->plan;
    void *temps = plan->temps;
    vkf_status status = vkf__grow(work->context->device.host, &temps, sizeof *plan->temps, plan->temp_count,
                                  &plan->temp_capacity, plan->temp_count + 1);
    if (status != VKF_OK)
        return status;
    plan->temps = temps;
    plan->temps[plan->temp_count++] = (vkf__arena_item){
        .size_bytes = size_bytes,
        .first_use = pinned ? 0 : UINT32_MAX,
        .last_use = pinned ? UINT32_MAX : 0,
    };
    return VKF_OK;
}

static vkf_status plan_temp(vkf__work *work, vkf_dtype dtype, uint64_t count, bool pinned)
{
    uint64_t size = 0;
    if (!vkf__bytes_of(dtype, count, &size) || size > UINT64_MAX / 4)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s: a temporary of %" PRIu64 " elements",
                         work->name, count);
    // In whole words, because 16-bit values are read and written in pairs.
    return add_temp(work, vkf__align_u64(size, 4), pinned);
}

static vkf_status make_temp(vkf__work *work, vkf_dtype dtype, uint64_t count, bool pinned, vkf__span *out_span)
{
    bool planning = work->mode == VKF_WORK_PLAN;
    if (planning)
        VKF_RETURN_IF_ERROR(plan_temp(work, dtype, count, pinned));
    if (work->at.temp >= work->plan.temp_count)
        return vkf__work_diverged(work, "asks for a temporary more than was planned");
    const vkf__arena_item *item = &work->plan.temps[work->at.temp++];
    *out_span = (vkf__span){
        .buffer = planning ? NULL : work->built.arena,
        .offset_bytes = item->offset,
        .size_bytes = item->size_bytes,
        .dtype = dtype,
        .temp = (uint32_t)work->at.temp,
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

// Counters have no place until all dispatches are planned, so that they count as one that no operand has.
#define NOWHERE (UINT64_MAX / 2)

vkf_status vkf__work_counters(vkf__work *work, uint32_t count, vkf__span *out_span)
{
    const uint32_t first = work->at.counter;
    const bool planning = work->mode == VKF_WORK_PLAN;
    work->at.counter += count;
    if (planning)
        work->plan.counters = work->at.counter;
    if (work->at.counter > work->plan.counters)
        return vkf__work_diverged(work, "asks for more counters than were planned");
    *out_span = (vkf__span){
        .buffer = planning ? NULL : work->built.control,
        .offset_bytes = planning ? NOWHERE + sizeof(uint32_t) * first : vkf__work_counter_offset(work, first),
        .size_bytes = sizeof(uint32_t) * (uint64_t)count,
        .dtype = VKF_DTYPE_I32,
    };
    if (!planning)
        memset((uint8_t *)work->built.control->allocation.mapped + out_span->offset_bytes, 0, out_span->size_bytes);
    return VKF_OK;
}

vkf_status vkf__work_decide(vkf__work *work, uint64_t value, uint64_t *out_value)
{
    vkf__dispatch_plan *plan = &work->plan;
    if (work->mode == VKF_WORK_PLAN) {
        void *decisions = plan->decisions;
        vkf_status status = vkf__grow(work->context->device.host, &decisions, sizeof *plan->decisions,
                                      plan->decision_count, &plan->decision_capacity, plan->decision_count + 1);
        if (status != VKF_OK)
            return status;
        plan->decisions = decisions;
        plan->decisions[plan->decision_count++] = value;
    }
    if (work->at.decision >= plan->decision_count)
        return vkf__work_diverged(work, "takes a decision more than was planned");
    *out_value = plan->decisions[work->at.decision++];
    return VKF_OK;
}

static vkf_status choose_trial(const vkf__work *work, const vkf_dtype *types, const vkf__problem *problem,
                               vkf__variant *out_variant)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    const vkf__kernel *kernel = work->trial->kernel;
    // A trial is told what to run. Whether its rounding is allowed matters to whoever chooses by its outcome.
    vkf__problem rounded = *problem;
    rounded.precision = VKF_PRECISION_F16_SUMS;
    if (memcmp(kernel->types, types, kernel->type_count * sizeof types[0]) != 0 ||
        !vkf__kernel_takes(caps, kernel, work->trial->config, &rounded))
        return VKF_ERROR_UNSUPPORTED;
    *out_variant = *work->trial;
    return VKF_OK;
}

vkf__selector vkf__work_selector(const vkf__work *work)
{
    vkf__selector selector = vkf__context_selector(work->context);
    if (work->restricted)
        selector.caps = work->restricted;
    return selector;
}

bool vkf__work_has_kernel(const vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem)
{
    const vkf__selector selector = vkf__work_selector(work);
    vkf__variant variant;
    return vkf__select(&selector, op, types, problem, &variant, NULL);
}

// What would be done with the buffers of a program's is not what they were made for.
static vkf_status fail_by_usage(const vkf__work *work, const char *what)
{
    return vkf__fail(work->context->device.host, VKF_ERROR_UNSUPPORTED,
                     "%s: no kernel for %s reads the wrapped buffers by their usage: create the VkBuffers with "
                     "VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT and VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, too",
                     work->name, what);
}

static vkf_status fail_without_kernel(const vkf__work *work, vkf__op op, const vkf_dtype *types,
                                      const vkf__problem *problem)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf__host *host = work->context->device.host;
    vkf__variant wrong = {0};
    char key[96];
    if (work->restricted)
        return fail_by_usage(work, vkf__op_name(op));
    if (!vkf__select_quarantined(&selector, op, types, problem, &wrong))
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s: no kernel for %s with element types %s, %s, %s on this device%s", work->name,
                         vkf__op_name(op), vkf_dtype_name(types[0]), vkf_dtype_name(types[1]), vkf_dtype_name(types[2]),
                         vkf__shaders_whole ? "" : "; this build of the library leaves kernels out (VKF_KERNELS)");
    vkf__device_key(selector.caps, "verdicts", key, sizeof key);
    return vkf__fail(
        host, VKF_ERROR_UNSUPPORTED,
        "%s: no kernel for %s is left on this device and driver: %s/%s is %s. The verdict is kept in the cache as "
        "\"%s\": to test it again, call vkf_context_forget_verdicts() (vkformer: info --forget)",
        work->name, vkf__op_name(op), wrong.kernel->name, wrong.config->name,
        vkf__verdict_reason(vkf__verdict_get(selector.verdicts, wrong.kernel, wrong.config)), key);
}

static bool same_problem(const vkf__problem *a, const vkf__problem *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->b_layout == b->b_layout && a->wants == b->wants &&
           a->offers == b->offers && a->precision == b->precision && a->batch == b->batch && a->parts == b->parts &&
           a->largest == b->largest;
}

static vkf_status want(vkf__work *work, const vkf_dtype *types, const vkf__problem *problem,
                       const vkf__variant *variant)
{
    vkf__dispatch_plan *plan = &work->plan;
    vkf__want want = {.op = variant->kernel->op, .problem = *problem, .variant = *variant};
    memcpy(want.types, types, variant->kernel->type_count * sizeof types[0]);
    for (size_t i = 0; i < plan->want_count; i++) {
        const vkf__want *known = &plan->wants[i];
        if (known->variant.config == variant->config && known->variant.kernel == variant->kernel &&
            same_problem(&known->problem, problem))
            return VKF_OK;
    }
    void *wants = plan->wants;
    vkf_status status = vkf__grow(work->context->device.host, &wants, sizeof *plan->wants, plan->want_count,
                                  &plan->want_capacity, plan->want_count + 1);
    if (status != VKF_OK)
        return status;
    plan->wants = wants;
    plan->wants[plan->want_count++] = want;
    return VKF_OK;
}

static vkf_status choose(vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                         vkf__variant *out_variant)
{
    const vkf__selector selector = vkf__work_selector(work);
    if (work->trial && work->trial->kernel->op == op)
        return choose_trial(work, types, problem, out_variant);
    if (!vkf__select(&selector, op, types, problem, out_variant, NULL))
        return fail_without_kernel(work, op, types, problem);
    return work->trial ? VKF_OK : want(work, types, problem, out_variant);
}

// Remembers for a watcher what a kernel was chosen for.
static void note_choice(vkf__work *work, const vkf__problem *problem, const vkf__variant *variant)
{
    if (work->watcher)
        work->watcher->last = (vkf__want){.op = variant->kernel->op, .problem = *problem, .variant = *variant};
}

static void tell_watcher(const vkf__work *work, const vkf__dispatch *dispatch, bool barrier)
{
    const vkf__problem none = {0};
    vkf__plan_watcher *watcher = work->watcher;
    if (!watcher)
        return;
    bool chosen = watcher->last.variant.kernel == dispatch->variant.kernel &&
                  watcher->last.variant.config == dispatch->variant.config;
    watcher->planned(watcher->user, work, dispatch, chosen ? &watcher->last.problem : &none,
                     barrier || work->plan.node_count == 0);
}

static vkf_status plan_choice(vkf__work *work, const vkf__variant *variant)
{
    vkf__dispatch_plan *plan = &work->plan;
    void *choices = plan->choices;
    VKF_RETURN_IF_ERROR(vkf__grow(work->context->device.host, &choices, sizeof *plan->choices, plan->choice_count,
                                  &plan->choice_capacity, plan->choice_count + 1));
    plan->choices = choices;
    plan->choices[plan->choice_count++] = *variant;
    return VKF_OK;
}

vkf_status vkf__work_select(vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                            vkf__variant *out_variant)
{
    vkf__variant variant = {0};
    if (work->mode == VKF_WORK_PLAN) {
        VKF_RETURN_IF_ERROR(choose(work, op, types, problem, &variant));
        note_choice(work, problem, &variant);
        VKF_RETURN_IF_ERROR(plan_choice(work, &variant));
    }
    if (work->at.choice >= work->plan.choice_count)
        return vkf__work_diverged(work, "chooses a kernel more than was planned");
    *out_variant = work->plan.choices[work->at.choice++];
    return VKF_OK;
}

static void touch_temps(vkf__work *work, const vkf__dispatch *dispatch)
{
    for (uint32_t i = 0; i < dispatch->variant.kernel->operand_count; i++) {
        uint32_t temp = dispatch->bindings[i].span.temp;
        if (temp == 0)
            continue;
        vkf__arena_item *item = &work->plan.temps[temp - 1];
        item->first_use = work->plan.group < item->first_use ? work->plan.group : item->first_use;
        item->last_use = work->plan.group > item->last_use ? work->plan.group : item->last_use;
    }
}

// Looks for an operand in a buffer that was not made for the way in which the kernel reads it.
static vkf_status heed_usage(vkf__work *work, const vkf__dispatch *dispatch)
{
    const vkf__kernel *kernel = dispatch->variant.kernel;
    bool texels = true, addresses = true;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        // An absent operand is bound, too, as work_bind.c does it.
        const vkf__span *span = &dispatch->bindings[dispatch->bindings[i].span.size_bytes > 0 ? i : 0].span;
        const vkf__operand_kind kind = kernel->operands[i];
        if (!span->buffer || !span->buffer->wrapped || kind == VKF_OPERAND_STORAGE || kind == VKF_OPERAND_VALUES)
            continue;
        if (kind == VKF_OPERAND_ADDRESS)
            addresses = addresses && span->buffer->address > 0;
        else
            texels = texels && vkf__buffer_has_texels(span->buffer);
    }
    if (texels && addresses)
        return VKF_OK;
    if (!work->restricted) {
        VKF_ALLOC_OR_RETURN(work->context->device.host, work->restricted, 1);
        *work->restricted = work->context->device.plan.caps;
    }
    if (!texels)
        work->restricted->max_texel_elements = 0;
    if (!addresses)
        work->restricted->buffer_device_address = false;
    work->restricts = true;
    return VKF_OK;
}

// Temporaries have no place yet, so each counts as a buffer of its own. Operands without a buffer yet count as one and
// the same buffer. At worst, a group then ends early.
static vkf_status place_dispatch(vkf__work *work, const vkf__dispatch *dispatch)
{
    vkf__access accesses[VKF_KERNEL_MAX_OPERANDS] = {0};
    uint32_t count = dispatch->variant.kernel->operand_count;
    bool barrier = false;
    for (uint32_t i = 0; i < count; i++) {
        accesses[i] = vkf__access_of(&dispatch->bindings[i]);
        if (dispatch->bindings[i].span.temp > 0)
            accesses[i].buffer = (const void *)(uintptr_t)dispatch->bindings[i].span.temp;
    }
    vkf_status status = vkf__hazards_add(&work->plan.hazards, accesses, count, &barrier);
    work->plan.group += barrier ? 1 : 0;
    touch_temps(work, dispatch);
    tell_watcher(work, dispatch, barrier);
    return status;
}

vkf_status vkf__work_plan_dispatch(vkf__work *work, const vkf__dispatch *dispatch)
{
    vkf__dispatch_plan *plan = &work->plan;
    void *nodes = plan->nodes;
    VKF_RETURN_IF_ERROR(heed_usage(work, dispatch));
    VKF_RETURN_IF_ERROR(place_dispatch(work, dispatch));
    VKF_RETURN_IF_ERROR(vkf__grow(work->context->device.host, &nodes, sizeof *plan->nodes, plan->node_count,
                                  &plan->node_capacity, (size_t)plan->node_count + 1));
    plan->nodes = nodes;
    vkf__planned_node *node = &plan->nodes[plan->node_count++];
    *node = (vkf__planned_node){dispatch->label, dispatch->variant, vkf__dispatch_present(dispatch), {0}};
    vkf__variant_spec(&work->context->device.plan.caps, &dispatch->variant, dispatch->flags, node->spec);
    return VKF_OK;
}

// Puts the temporaries into the arena. Unused ones take no room.
static vkf_status place_temps(vkf__work *work)
{
    vkf__dispatch_plan *plan = &work->plan;
    for (size_t i = 0; i < plan->temp_count; i++) {
        if (plan->temps[i].first_use > plan->temps[i].last_use)
            plan->temps[i] = (vkf__arena_item){0};
    }
    return vkf__arena_plan(work->context->device.host, plan->temps, plan->temp_count,
                           work->context->device.plan.buffer_alignment, &plan->arena_bytes);
}

static vkf_status plan_once(vkf__work *work, vkf__emit_fn emit, const void *args)
{
    const vkf__host *host = work->context->device.host;
    vkf__dispatch_plan_free(&work->plan, host);
    vkf__hazards_init(&work->plan.hazards, host);
    vkf__work_rewind(work, VKF_WORK_PLAN);
    VKF_RETURN_IF_ERROR(emit(work, args));
    vkf__hazards_finish(&work->plan.hazards);
    return VKF_OK;
}

vkf_status vkf__work_plan(vkf__work *work, vkf__emit_fn emit, const void *args)
{
    // Twice more at most: for texels, and for addresses. No kernel that can be chosen then reads in these ways.
    for (int turn = 0; turn == 0 || (work->restricts && turn < 3); turn++) {
        work->restricts = false;
        VKF_RETURN_IF_ERROR(plan_once(work, emit, args));
    }
    return work->restricts ? fail_by_usage(work, "all of it") : place_temps(work);
}

static vkf_status copy_array(const vkf__host *host, const void *from, size_t count, size_t element_bytes, void **out_to)
{
    size_t capacity = 0;
    if (count == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__grow(host, out_to, element_bytes, 0, &capacity, count));
    memcpy(*out_to, from, count * element_bytes);
    return VKF_OK;
}

vkf_status vkf__work_plan_like(vkf__work *work, const vkf__work *other)
{
    const vkf__host *host = work->context->device.host;
    const vkf__dispatch_plan *from = &other->plan;
    void *nodes = NULL, *choices = NULL, *decisions = NULL, *temps = NULL, *restricted = NULL;
    vkf_status status = VKF_OK;
    vkf__dispatch_plan_free(&work->plan, host);
    VKF_TRY(copy_array(host, from->nodes, from->node_count, sizeof *from->nodes, &nodes));
    VKF_TRY(copy_array(host, from->choices, from->choice_count, sizeof *from->choices, &choices));
    VKF_TRY(copy_array(host, from->decisions, from->decision_count, sizeof *from->decisions, &decisions));
    VKF_TRY(copy_array(host, from->temps, from->temp_count, sizeof *from->temps, &temps));
    VKF_TRY(copy_array(host, other->restricted, other->restricted ? 1 : 0, sizeof *other->restricted, &restricted));
    work->plan.node_count = from->node_count;
    work->plan.choice_count = from->choice_count;
    work->plan.decision_count = from->decision_count;
    work->plan.temp_count = from->temp_count;
    work->plan.arena_bytes = from->arena_bytes;
    work->plan.counters = from->counters;
fail:
    // The work owns what there is, whether or not that is all.
    work->plan.nodes = nodes;
    work->plan.choices = choices;
    work->plan.decisions = decisions;
    work->plan.temps = temps;
    vkf__free(host, work->restricted);
    work->restricted = restricted;
    return status;
}

vkf_status vkf__plan_pipelines(const vkf__host *host, const vkf__dispatch_plan *plan, vkf__pipeline_wants *wants)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const vkf__planned_node *node = &plan->nodes[i];
        VKF_RETURN_IF_ERROR(vkf__pipelines_add_want(host, wants, node->variant.kernel, node->spec));
    }
    return VKF_OK;
}

vkf_status vkf__plan_pipelines_make(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_refused)
{
    const vkf__host *host = context->device.host;
    vkf_status status = VKF_OK;
    vkf__pipeline_wants wants = {0};
    size_t failed = 0;
    VKF_TRY(vkf__plan_pipelines(host, plan, &wants));
    status = vkf__pipelines_make(&context->pipelines, wants.list, wants.count, &failed);
    if (!out_refused || !vkf__pipelines_refused(&context->pipelines, status))
        goto fail;
    *out_refused = true;
    status = VKF_OK;
    vkf__context_uncompiled(context, &plan->nodes[failed].variant);
fail:
    vkf__free(host, wants.list);
    return status;
}

vkf_status vkf__work_plan_proven(vkf__work *work, vkf__emit_fn emit, const void *args)
{
    vkf_context *context = work->context;
    // This ends, because what is learned only grows and never unsettles what was proven before.
    for (bool again = true; again;) {
        again = false;
        VKF_RETURN_IF_ERROR(vkf__work_plan(work, emit, args));
        if (context->prove)
            VKF_RETURN_IF_ERROR(context->prove(context, &work->plan, &again));
        if (!again)
            VKF_RETURN_IF_ERROR(vkf__plan_pipelines_make(context, &work->plan, &again));
    }
    return VKF_OK;
}
