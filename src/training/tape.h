// Reverse-mode differentiation of lists of dispatches. Operators of a tape emit what they compute at once and note what
// their gradients take; vkf__tape_back() then emits these, the last operator's first.
//
// As every emitter's, a tape's statements are made anew in each mode of its work. What a gradient needs of the way
// forward is kept because the work sees its last use there: temporaries live for as long as somebody reads them.
// Sums are taken in the order of the statements, so that the same inputs give the same bits.
//
// Values are compact matrices in f32 with a row for each position. All functions fail with the statuses of the emitters
// that they call, and with OUT_OF_HOST_MEMORY.
#ifndef VKF_TRAINING_TAPE_H
#define VKF_TRAINING_TAPE_H

#include "op/operand.h"

// A value on a tape, by its number; 0: absent.
typedef uint32_t vkf__value;

struct vkf__tape;

typedef struct vkf__tape_value {
    vkf__span span;
    uint64_t count;      // elements at maximum sizes
    uint32_t rows, cols; // of this run
    vkf__span gradient;  // absent until a statement has contributed to it, but for leaves
    vkf__span rounded;   // what products read in its place, once vkf__tape_rounded() was asked for it
    bool wanted;         // somebody asks for its gradient
    bool begun;          // the gradient has contributions
    bool borrowed;       // it is another value's, or the caller's, and only read
    bool given;          // it is the caller's
    size_t statement;    // whose result it is, counted from 1; 0: a leaf
} vkf__tape_value;

#define VKF_TAPE_OPERANDS 4

// A statement. `back` emits the gradients of its operands from that of its result.
typedef struct vkf__tape_node {
    vkf_status (*back)(struct vkf__tape *tape, const struct vkf__tape_node *node);
    vkf__value out, operands[VKF_TAPE_OPERANDS];
    size_t note;        // where vkf__tape_note() has put what else the gradients take
    const char *prefix; // of its labels
} vkf__tape_node;

struct vkf__lora;

typedef struct vkf__tape {
    const vkf__host *host;
    vkf__work *work;
    bool accumulates;             // set by the owner: gradients of leaves are added to what is there
    const struct vkf__lora *lora; // set by the owner: what linear layers add; NULL: nothing
    // Set by the owner: F16 or BF16, in which linear layers read their weights and keep their inputs for the way back.
    vkf_dtype products;      // F32: neither
    vkf__tape_value *values; // values[v - 1]
    size_t value_count, value_capacity;
    vkf__tape_node *nodes;
    size_t node_count, node_capacity;
    size_t at_statement; // on the way back: the one whose gradients are emitted, counted from 1
    unsigned char *notes;
    size_t note_bytes, note_capacity;
} vkf__tape;

void vkf__tape_init(vkf__tape *tape, const vkf__host *host);
void vkf__tape_finish(vkf__tape *tape);
// Forgets all statements. What follows emits into `work`.
void vkf__tape_begin(vkf__tape *tape, vkf__work *work);

// An input or a parameter. `gradient` gets its gradient; absent: nobody asks for it. Where the statements do not depend
// on it, that is 0.
VKF_MUST_CHECK vkf_status vkf__tape_leaf(vkf__tape *tape, const vkf__span *span, const vkf__span *gradient,
                                         uint32_t rows, uint32_t cols, vkf__value *out_value);
// Where a result lies.
const vkf__span *vkf__tape_span(const vkf__tape *tape, vkf__value value);
// Records the gradient of a result, which going back begins with. It is only read.
void vkf__tape_seed(vkf__tape *tape, vkf__value value, const vkf__span *gradient);
// Emits the gradients of all leaves.
VKF_MUST_CHECK vkf_status vkf__tape_back(vkf__tape *tape);

// For statements -----------------------------------------------------------------------------------------------------

// A temporary as a new value.
VKF_MUST_CHECK vkf_status vkf__tape_result(vkf__tape *tape, uint32_t rows, uint32_t cols, vkf__value *out_value);
// What another value's memory holds, as a value of its own.
VKF_MUST_CHECK vkf_status vkf__tape_view(vkf__tape *tape, vkf__value of, uint32_t rows, uint32_t cols,
                                         vkf__value *out_value);
// Enters a statement, whose result is wanted if any operand is. `note` (may be NULL) is copied.
VKF_MUST_CHECK vkf_status vkf__tape_record(vkf__tape *tape, const vkf__tape_node *node, const void *note,
                                           size_t note_bytes);
static inline const void *vkf__tape_note(const vkf__tape *tape, const vkf__tape_node *node)
{
    return tape->notes + node->note;
}

vkf__tape_value *vkf__tape_at(const vkf__tape *tape, vkf__value value);
// A value as products read it: with tape->products of 16 bits a copy in these, made once.
VKF_MUST_CHECK vkf_status vkf__tape_rounded(vkf__tape *tape, vkf__value value, vkf__span *out_span);
// Whether the gradient of a value, which may be absent, is asked for.
bool vkf__tape_wants(const vkf__tape *tape, vkf__value value);

// The gradient that a contribution goes to. `out_adds` tells whether it is to be added to what is there.
VKF_MUST_CHECK vkf_status vkf__tape_gradient(vkf__tape *tape, vkf__value value, vkf__span *out_span, bool *out_adds);
// The same to add to: zeros where nothing has contributed yet.
VKF_MUST_CHECK vkf_status vkf__tape_zeroed_gradient(vkf__tape *tape, vkf__value value, vkf__span *out_span);
// Contributes a gradient that is there already, without copying it where it is the first.
VKF_MUST_CHECK vkf_status vkf__tape_pass_on(vkf__tape *tape, vkf__value value, const vkf__span *gradient);

#endif
