// A list of dispatches that is planned, recorded once, and replayed with other sizes.
//
// An emitter (a function of the op, layer or model floor) appends dispatches by calling vkf__work_dispatch(). The same
// emitter runs in three modes over the life of a list:
//   PLAN    with maximum sizes: chooses kernels and collects the lifetimes of temporaries. It touches no device.
//   BUILD   with maximum sizes: creates pipelines and descriptor sets for the memory that the plan asked for.
//   UPDATE  with the sizes of a run: rewrites parameters and dispatch sizes in host-visible memory, nothing else.
// What depends on maximum sizes alone (choices of kernels, slices) is decided in PLAN and replayed in the other modes.
// They have to emit the same dispatches in the same order: each is compared with the plan, and a list that departs from
// it fails with VKF_ERROR_INTERNAL. Between PLAN and BUILD, kernels that have not been tried on this device are proven.
#ifndef VKF_KERNEL_WORK_H
#define VKF_KERNEL_WORK_H

#include "kernel/context.h"
#include "kernel/hazard.h"
#include "vk/arena.h"

typedef enum vkf__work_mode {
    VKF_WORK_PLAN = 0,
    VKF_WORK_BUILD,
    VKF_WORK_UPDATE,
} vkf__work_mode;

// A piece of device memory as an operand. It is absent when size_bytes is 0. In PLAN the buffer may still be NULL.
typedef struct vkf__span {
    vkf_buffer *buffer;
    uint64_t offset_bytes;
    uint64_t size_bytes; // at maximum sizes
    vkf_dtype dtype;
    bool panels;   // a weight in panels (VKF_GEMM_B_PANELS) instead of rows
    uint32_t temp; // 1-based index of the work's temporary that holds it; 0: none
} vkf__span;

typedef struct vkf__binding {
    vkf__span span;
    bool write; // written, or read and written
} vkf__binding;

typedef struct vkf__dispatch {
    const char *label; // static, or lives as long as the work
    vkf__variant variant;
    const uint32_t *flags; // values of the specialisation constants by their ids; see vkf__variant_spec()
    vkf__binding bindings[VKF_KERNEL_MAX_OPERANDS];
    const void *params; // kernel->params_bytes
    uint32_t grid[3];   // workgroups; all 0 skips the dispatch in this run
} vkf__dispatch;

// A kernel that a plan chose for a problem. It is to be proven on the device before the plan is built.
typedef struct vkf__want {
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__problem problem;
    vkf__variant variant;
} vkf__want;

// What a dispatch must match in BUILD and UPDATE.
typedef struct vkf__planned_node {
    const char *label; // as the emitter gives it
    vkf__variant variant;
    uint32_t present; // a bit 1 << i for every operand that is present
    uint32_t spec[VKF_KERNEL_MAX_SPEC];
} vkf__planned_node;

// How far a plan has come, or how far BUILD and UPDATE have followed it.
typedef struct vkf__work_cursors {
    size_t node, choice, decision, temp;
    uint32_t counter;
} vkf__work_cursors;

// The result of PLAN, which is data alone.
struct vkf__dispatch_plan {
    vkf__planned_node *nodes;
    size_t node_capacity;
    uint32_t node_count;   // valid after PLAN, as is arena_bytes
    vkf__variant *choices; // what vkf__work_select() gave, in its order
    size_t choice_count, choice_capacity;
    uint64_t *decisions;
    size_t decision_count, decision_capacity;
    // The dispatches between two barriers form a group, and temporaries live for whole groups. So memory that is used
    // again never needs a barrier of its own.
    vkf__hazards hazards; // while planning
    uint32_t group;
    vkf__arena_item *temps;
    size_t temp_count, temp_capacity;
    uint64_t arena_bytes;
    uint32_t counters;
    vkf__want *wants; // without duplicates
    size_t want_count, want_capacity;
};

// An offset per operand, one word of padding, and an address per operand.
#define VKF_WORK_MAX_PUSH (VKF_KERNEL_MAX_OPERANDS + 1 + 2 * VKF_KERNEL_MAX_OPERANDS)

typedef struct vkf__node {
    const char *label;
    const vkf__kernel *kernel;
    const vkf__config *config;
    const vkf__pipeline *pipeline;
    VkDescriptorSet set;
    VkBufferView views[VKF_KERNEL_MAX_OPERANDS]; // of texel operands, owned
    uint32_t push[VKF_WORK_MAX_PUSH];            // vkf__kernel_push_words()
    vkf__access accesses[VKF_KERNEL_MAX_OPERANDS];
    vkf_buffer *buffers[VKF_KERNEL_MAX_OPERANDS]; // of the accesses; not owned
    vkf_dtype dtypes[VKF_KERNEL_MAX_OPERANDS];    // likewise
    bool barrier;                                 // there is a barrier before it in the recording
} vkf__node;

// What BUILD makes from the plan on the device.
typedef struct vkf__work_objects {
    vkf__node *nodes;    // plan.node_count
    vkf_buffer *arena;   // not owned
    vkf_buffer *control; // indirect grids, parameter structs, then counters; lent_control where there is one
    // What the work last wrote of grids and parameters, for the host to read: on discrete GPUs a word of the control
    // buffer itself takes it a microsecond.
    uint64_t *written;
    VkBufferView no_values; // for operands of few numbers that are absent; null until there is one
    VkDescriptorPool pool;
    VkCommandBuffer command_buffer; // of the owner's submission
    VkCommandBuffer single;         // of the same, for one dispatch at a time; null until it is asked for
    VkCommandBuffer empty;          // of the same, without a dispatch; null until it is asked for
    char **labels;                  // prefixed labels
    size_t label_count, label_capacity;
} vkf__work_objects;

// What tells how long a run took and what it counted.
typedef struct vkf__work_clocks {
    VkQueryPool queries; // null without timestamps
    uint64_t *ticks;     // (node_count + 1); NULL without timestamps
    vkf__counter_pools counters;
} vkf__work_clocks;

struct vkf__work;

// Is told of each dispatch while it is planned.
typedef struct vkf__plan_watcher {
    // `problem` is what the dispatch's kernel was chosen for, or all zeros. `barrier` tells whether one stands before
    // it; the first of a work always has one.
    void (*planned)(void *user, const struct vkf__work *work, const vkf__dispatch *dispatch,
                    const vkf__problem *problem, bool barrier);
    void *user;
    const char *run; // what the work is submitted with; set by the work's owner
    vkf__want last;  // the last choice of a kernel
} vkf__plan_watcher;

typedef struct vkf__work {
    vkf_context *context;
    const char *name;
    const char *prefix; // put before labels while not NULL: "self_attn."
    vkf__work_mode mode;
    vkf__work_cursors at;
    vkf__dispatch_plan plan;
    vkf__work_objects built;
    vkf__work_clocks clocks;
    // The device's caps without what buffers of a program's are not made for; NULL: they are made for all, or there are
    // none. `restricts` tells that planning has found more of it, so that it begins again.
    vkf__caps *restricted;
    bool restricts;
    // Set by the owner before PLAN ---------------------------------------------------------------
    // For a trial: the variant to take for its own operator. What the work takes besides needs no proof. NULL: none.
    const vkf__variant *trial;
    vkf__plan_watcher *watcher; // NULL: nobody watches
    bool counted;               // vkf__profile_run() follows each of its runs
    // Products that the plan states with more rows than this will run with this many at most; 0: with as many as it
    // says.
    uint32_t most_rows;
    // Set by the owner before BUILD --------------------------------------------------------------
    vkf_buffer *lent_control; // not owned, of vkf__work_control_bytes() at least; NULL: the work makes its own
    // Set by the owner before recording ----------------------------------------------------------
    // The work always runs directly behind (follows) or before (followed) another work: in the same submission, or in
    // one command buffer of a caller's. A plain barrier then joins the two.
    bool follows, followed;
} vkf__work;

// Appends the dispatches of a list: see above.
typedef vkf_status (*vkf__emit_fn)(vkf__work *work, const void *args);

// `name` lives as long as the work.
void vkf__work_init(vkf__work *work, vkf_context *context, const char *name);
void vkf__work_finish(vkf__work *work);

// Plans with `emit`, and replaces any earlier plan. Afterwards plan.arena_bytes and vkf__work_control_bytes() are
// valid. Trusts kernels that have not been tried on this device. Statuses: those of `emit`.
VKF_MUST_CHECK vkf_status vkf__work_plan(vkf__work *work, vkf__emit_fn emit, const void *args);
// The same for a plan that is to be built: has the chosen kernels proven by context->prove, and plans again until none
// of them is refused. Statuses: those of `emit`, and those of running kernels on the device.
VKF_MUST_CHECK vkf_status vkf__work_plan_proven(vkf__work *work, vkf__emit_fn emit, const void *args);
// Takes over the plan of another work, which is emitted alike: for a second recording that must not differ from the
// first, whatever was learned about kernels since then. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__work_plan_like(vkf__work *work, const vkf__work *other);
uint64_t vkf__work_control_bytes(const vkf__work *work);

// Adds the pipelines of a plan to a list. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__plan_pipelines(const vkf__host *host, const vkf__dispatch_plan *plan,
                                              vkf__pipeline_wants *wants);
// Has the driver compile them, several at a time. *out_refused (may be NULL) becomes true where it does not take one,
// whose variant is then not chosen again. Statuses: those of vkf__pipelines_make().
VKF_MUST_CHECK vkf_status vkf__plan_pipelines_make(vkf_context *context, const vkf__dispatch_plan *plan,
                                                   bool *out_refused);

// Allocates the control buffer, if none is lent, and the descriptor pool, and builds the list. `arena` (may be NULL
// when plan.arena_bytes is 0) outlives the work. Status INTERNAL where `emit` departs from the plan, here and in
// vkf__work_update().
VKF_MUST_CHECK vkf_status vkf__work_build(vkf__work *work, vkf_buffer *arena, vkf__emit_fn emit, const void *args);
VKF_MUST_CHECK vkf_status vkf__work_update(vkf__work *work, vkf__emit_fn emit, const void *args);

// For emitters -------------------------------------------------------------------------------------------------------

// A temporary of `count` elements at maximum sizes, alive from its first to its last use. A pinned one keeps its place
// for good, for inputs and outputs that the host reads and writes.
VKF_MUST_CHECK vkf_status vkf__work_temp(vkf__work *work, vkf_dtype dtype, uint64_t count, vkf__span *out_span);
VKF_MUST_CHECK vkf_status vkf__work_pinned(vkf__work *work, vkf_dtype dtype, uint64_t count, vkf__span *out_span);

// `count` words for what the workgroups of one dispatch count together, 0 before each run. The dispatch leaves zeros.
VKF_MUST_CHECK vkf_status vkf__work_counters(vkf__work *work, uint32_t count, vkf__span *out_span);

// Gives `value` in PLAN, and in the other modes what PLAN was given: a decision taken at maximum sizes.
VKF_MUST_CHECK vkf_status vkf__work_decide(vkf__work *work, uint64_t value, uint64_t *out_value);

// Chooses a kernel for a problem at maximum sizes, among those not known to be wrong or slow, and notes that it is
// wanted. Status UNSUPPORTED when no kernel serves op and types here, or, without a message, when a trial's variant
// does not take the problem.
VKF_MUST_CHECK vkf_status vkf__work_select(vkf__work *work, vkf__op op, const vkf_dtype *types,
                                           const vkf__problem *problem, vkf__variant *out_variant);

// What it takes into account.
vkf__selector vkf__work_selector(const vkf__work *work);

// Whether vkf__work_select() would find a kernel.
bool vkf__work_has_kernel(const vkf__work *work, vkf__op op, const vkf_dtype *types, const vkf__problem *problem);

// Statuses: TOO_LARGE (a range or grid beyond the device's limits), INTERNAL (not what was planned), and those of
// vkf__pipelines_get().
VKF_MUST_CHECK vkf_status vkf__work_dispatch(vkf__work *work, const vkf__dispatch *dispatch);

// The grid for `groups` workgroups, for kernels with an invocation per element or a workgroup per row. It has two
// dimensions where one does not suffice.
void vkf__grid_flat(const vkf__work *work, uint64_t groups, uint32_t out_grid[3]);

// Recording ----------------------------------------------------------------------------------------------------------

// Records all dispatches into a command buffer in the recording state. `queries` puts timestamps and counters around
// each one. These belong to the work, so they are only for its own command buffer.
VKF_MUST_CHECK vkf_status vkf__work_record(vkf__work *work, VkCommandBuffer command_buffer, bool queries);

// Allocates built.command_buffer from the submission and records it once, to be submitted repeatedly.
VKF_MUST_CHECK vkf_status vkf__work_record_own(vkf__work *work, vkf__submission *submission);
// Records built.command_buffer again. Its last submission must have ended.
VKF_MUST_CHECK vkf_status vkf__work_record_again(vkf__work *work);

// Finds the nodes that a barrier stands before. Recording a work as a whole does it, too.
VKF_MUST_CHECK vkf_status vkf__work_find_barriers(vkf__work *work);
// Records the nodes [begin, end) of a work whose barriers were found into a command buffer of their own. With `alone`
// the part is submitted by itself, without timestamps, and what it leaves can be taken while the next one runs; else
// all parts are submitted at once, in their order, with timestamps and counters where the work has them.
VKF_MUST_CHECK vkf_status vkf__work_record_part(vkf__work *work, VkCommandBuffer command_buffer, uint32_t begin,
                                                uint32_t end, bool alone);

// Whether the work's own command buffer writes timestamps.
bool vkf__work_timed(const vkf__work *work);

// Runs one node by itself, with barriers against everything before and after, without timestamps, and waits for it.
VKF_MUST_CHECK vkf_status vkf__work_run_node(vkf__work *work, vkf__submission *submission, uint32_t index);

// Submits a command buffer without a dispatch and waits for it. *out_ns is the time from submission to fence.
VKF_MUST_CHECK vkf_status vkf__work_run_nothing(vkf__work *work, vkf__submission *submission, double *out_ns);

// GPU time of node `index` in the last run, in nanoseconds. Status UNSUPPORTED without timestamps.
VKF_MUST_CHECK vkf_status vkf__work_time(vkf__work *work, uint32_t index, double *out_ns);

// Reads the device's clock for the last run. clocks.ticks[0] is when all earlier work had ended, and the end of each
// node follows. A node's time includes its barrier and start, so that the times of the nodes sum up to the whole.
VKF_MUST_CHECK vkf_status vkf__work_read_ticks(vkf__work *work);
// The same where nothing is wrong without: false also where a driver has timestamps and writes none, as those of GPUs
// that are not there do.
bool vkf__work_ticked(vkf__work *work);
double vkf__work_ticks_ns(const vkf__work *work, uint64_t from, uint64_t to);

// Writes the values of the context's counters for node `index` in the last run. False when there are none.
bool vkf__work_read_counters(vkf__work *work, uint32_t index, double *out_values);

// What node `index` was dispatched with: its workgroups, and its kernel's parameters.
const uint32_t *vkf__work_grid(const vkf__work *work, uint32_t index);
const void *vkf__work_params(const vkf__work *work, uint32_t index);

#endif
