// Everything that others need to know about an operator stands in one row, vkf__op_info, beside the operator's emitter:
// what a dispatch does with the parameters of a run, where its output lies, which problems are typical, and how its
// pipelines are commonly specialised. Profiler, probe, warm-up and reports read it. The kernels that serve the operator
// are rows of the registry.
#ifndef VKF_OP_OP_INFO_H
#define VKF_OP_OP_INFO_H

#include "kernel/work.h"
#include "op/typical_problem.h"

// A dispatch as it ran.
typedef struct vkf__dispatched {
    const vkf__kernel *kernel;
    const uint32_t *spec; // kernel->spec_count values, by id
    const void *params;   // of the kernel's operator
} vkf__dispatched;

// The work that no kernel can avoid. Every element of an operand that is read or written counts once, whatever caches
// do; biases and masks are small beside the operands and do not count. Operations are those of the formula: a
// multiply-add counts as two, anything else as one, exp() and tanh() included. Attention counts the keys that a causal
// mask and a window leave visible. Other masks are data, so the keys that they hide count, too.
typedef struct vkf__account {
    double flops, bytes_read, bytes_written;
} vkf__account;

#define VKF_EXTENT_RANK 4

// The elements of an operand, as nested runs. Those of the innermost run lie side by side.
typedef struct vkf__extent {
    uint32_t operand; // index among the kernel's operands
    vkf_dtype dtype;
    uint64_t first;                    // in elements
    uint32_t counts[VKF_EXTENT_RANK];  // outermost first
    uint64_t strides[VKF_EXTENT_RANK]; // in elements; the last is 1
} vkf__extent;

// Where a dispatch wrote its output. False where this dispatch leaves parts of sums.
typedef bool (*vkf__op_output_fn)(const vkf__dispatched *dispatched, vkf__extent *out_extent);
typedef vkf__account (*vkf__op_account_fn)(const vkf__dispatched *dispatched);
// Executes a dispatch on the host, see op/execution.h. Statuses: OUT_OF_HOST_MEMORY.
typedef struct vkf__execution vkf__execution;
typedef vkf_status (*vkf__op_reference_fn)(const vkf__execution *e);
// Runs the cases of a variant by vkf__case_run(), see op/cases.h. Statuses: those of vkf__cases.run.
typedef struct vkf__cases vkf__cases;
typedef vkf_status (*vkf__op_cases_fn)(vkf__cases *cases);
// Sets the constants behind the tile for a representative pipeline, where they depend on kernel, config or head_dim.
typedef void (*vkf__op_flags_fn)(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim,
                                 uint32_t *out_flags);
// Sets them for pipeline `index` of those that are made ahead for a problem. False when `index` is past the last one.
typedef bool (*vkf__op_ahead_fn)(const vkf__kernel *kernel, const vkf__problem *problem, uint32_t index,
                                 uint32_t *out_flags);

typedef struct vkf__spec_value {
    uint32_t id; // 0: none
    uint32_t value;
} vkf__spec_value;

typedef struct vkf__op_info {
    uint32_t params_bytes;          // size of the uniform parameter struct that all its kernels take
    vkf__op_account_fn account;     // NULL: its work is not counted
    vkf__op_output_fn output;       // NULL: it does not write a tensor of floating-point numbers
    vkf__emit_fn emit;              // the emitter, for whoever has the arguments of one without their type
    vkf__op_reference_fn reference; // NULL: it measures the device, and computes nothing
    vkf__op_cases_fn cases;         // NULL: it runs behind another operator alone, in whose cases it takes part
    const vkf__typical_problem *problems;
    uint32_t problem_count;
    bool per_head_dim;              // its kernels are compiled for one width of a head, see vkf__typical_head_dims
    bool sums_parts;                // it combines the parts that the dispatch before it has left
    vkf__spec_value usual[2];       // constants of a representative pipeline; the others are 0
    vkf__op_flags_fn typical_flags; // NULL: `usual` gives all of them
    vkf__op_ahead_fn ahead_flags;   // NULL: one pipeline is made ahead, with zeros
} vkf__op_info;

// Gives a row its list of typical problems.
#define VKF_OP_PROBLEMS(list) .problems = (list), .problem_count = sizeof(list) / sizeof(list)[0]

// For rows ------------------------------------------------------------------------------------------------------

double vkf__stored_bytes(double elements, vkf_dtype dtype);
// The account of reading every element as `from`, doing `flops_each` operations on it, and writing it as `to`.
vkf__account vkf__account_elementwise(double elements, double flops_each, vkf_dtype from, vkf_dtype to);
// The account of choosing tokens from rows of scores, with `chosen_bytes` written per row.
vkf__account vkf__account_choice(const vkf__kernel *kernel, uint32_t rows, uint32_t cols, double chosen_bytes);

// The extent of an output at `binding`: rows of `cols` elements, each `row` elements after the one before; or one run
// of `count` elements.
vkf__extent vkf__extent_rows(uint32_t binding, vkf_dtype dtype, uint32_t rows, uint32_t cols, uint64_t row);
vkf__extent vkf__extent_flat(uint32_t binding, vkf_dtype dtype, uint32_t count);

#endif
