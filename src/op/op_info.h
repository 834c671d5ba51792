// An operator is told once, by one row that stands beside its emitter. A row says what a dispatch did with the
// parameters of a run, where its output lies, which problems of the operator are usual, and how its pipelines are
// commonly made. Profiler, probe, warm-up and reports read it. Kernels that serve the operator are rows of the
// registry.
#ifndef VKF_OP_OP_INFO_H
#define VKF_OP_OP_INFO_H

#include "op/typical_problem.h"

// A dispatch as it ran.
typedef struct vkf__dispatched {
    const vkf__kernel *kernel;
    const uint32_t *spec; // kernel->spec_count values, by id
    const void *params;   // of the kernel's operator
} vkf__dispatched;

// What no kernel can do without: every element of the operands that is read or written counts once, whatever caches
// make of it; biases and masks, which are small beside them, do not. Operations are those of the formula: two of a
// multiply-add, one of anything else, exp() and tanh() too. Of attention, the keys that a causal mask and a window
// leave visible; other masks are data, and what they hide counts.
typedef struct vkf__account {
    double flops, bytes_read, bytes_written;
} vkf__account;

#define VKF_EXTENT_RANK 4

// Elements of an operand, as nested runs: the innermost lie side by side.
typedef struct vkf__extent {
    uint32_t operand; // place among the kernel's operands
    vkf_dtype dtype;
    uint64_t first;                    // in elements
    uint32_t counts[VKF_EXTENT_RANK];  // outermost first
    uint64_t strides[VKF_EXTENT_RANK]; // in elements; the last is 1
} vkf__extent;

// False where this dispatch leaves parts of sums.
typedef bool (*vkf__op_output_fn)(const vkf__dispatched *dispatched, vkf__extent *out_extent);
typedef vkf__account (*vkf__op_account_fn)(const vkf__dispatched *dispatched);
// The constants after the tile of a pipeline that stands for many, where they hang on kernel, config or head.
typedef void (*vkf__op_flags_fn)(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim,
                                 uint32_t *out_flags);
// The same of pipeline `index` that is made ahead for a problem; false beyond the last of them.
typedef bool (*vkf__op_ahead_fn)(const vkf__kernel *kernel, const vkf__problem *problem, uint32_t index,
                                 uint32_t *out_flags);

typedef struct vkf__spec_value {
    uint32_t id; // 0: none
    uint32_t value;
} vkf__spec_value;

typedef struct vkf__op_info {
    uint32_t params_bytes;      // of the uniform parameter struct that every kernel of it takes
    vkf__op_account_fn account; // NULL: nothing counts
    vkf__op_output_fn output;   // NULL: what it writes is no tensor of floating-point numbers
    const vkf__typical_problem *problems;
    uint32_t problem_count;
    bool per_head_dim;              // its kernels are compiled for the width of a head: see vkf__typical_head_dims
    bool sums_parts;                // it puts together the parts that the dispatch before it has left
    vkf__spec_value usual[2];       // constants of a pipeline that stands for many; the others are 0
    vkf__op_flags_fn typical_flags; // NULL: `usual` says it all
    vkf__op_ahead_fn ahead_flags;   // NULL: zeros, for one pipeline
} vkf__op_info;

// The list of typical problems of a row.
#define VKF_OP_PROBLEMS(list) .problems = (list), .problem_count = sizeof(list) / sizeof(list)[0]

// For rows ------------------------------------------------------------------------------------------------------

double vkf__stored_bytes(double elements, vkf_dtype dtype);
// Every element is read as `from`, worked on and written as `to`.
vkf__account vkf__account_elementwise(double elements, double flops_each, vkf_dtype from, vkf_dtype to);
// Rows of scores from which tokens are chosen.
vkf__account vkf__account_choice(const vkf__kernel *kernel, uint32_t rows, uint32_t cols, double chosen_bytes);

// `binding` is the output's. Rows of `cols` elements that begin `row` after each other, or one run of elements.
vkf__extent vkf__extent_rows(uint32_t binding, vkf_dtype dtype, uint32_t rows, uint32_t cols, uint64_t row);
vkf__extent vkf__extent_flat(uint32_t binding, vkf_dtype dtype, uint32_t count);

#endif
