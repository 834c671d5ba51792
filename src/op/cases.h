// The cases of an operator: arguments for its emitter, on which a kernel has to give what the operator's reference
// gives. They stand beside the emitter, and are told once for all who walk them: the self-test on the device, which
// takes the edge shapes, and tests, which draw many more from the same function, and change each word of the parameters
// in turn.
//
// The operands of a case lie in one buffer, apart from each other. NaN around each shows a kernel that reads beside it.
// Whatever the reference does not write has to stay as it is, which shows a kernel that writes there.
#ifndef VKF_OP_CASES_H
#define VKF_OP_CASES_H

#include "op/op_info.h"

// What is emitted on one shape, and how close the result has to be.
typedef struct vkf__case {
    char shape[96];    // for messages
    vkf__emit_fn emit; // NULL: the operator's
    const void *args;
    double tolerance; // relative to the larger of `least` and the expected value
    double least;     // 0: 1, or nothing where by_largest is set
    bool by_largest;  // or to the largest number that is written beside it, where sums are rounded relative to that
    double foretells; // its share of a costly case that follows, whose time it foretells; 0: it foretells nothing
    bool costly; // may take VKF_CASE_PATIENCE times the budget; repeated a few times, and then for a second at most
} vkf__case;

struct vkf__cases {
    const vkf__host *host;
    const vkf__caps *caps;       // of the device
    const vkf__variant *variant; // whose cases they are
    // The specialisation constants with which the variant is about to be used. What they say of an operand the cases
    // take from them where they can, and a case that gives others is left out. NULL: the cases' own.
    const uint32_t *spec;
    bool passed; // it has passed with other constants: what is as likely to be wrong with any of them may be left out
    bool draw;   // sizes and choices are drawn from `random`; else they are those of the edge shapes
    uint64_t random;
    uint32_t taken;     // cases that the variant took, or would take; counted by `run`
    vkf_buffer *buffer; // of the operands; NULL without a device
    uint8_t *image;     // what it holds before a case runs
    uint64_t image_bytes, used_bytes;
    vkf_status (*run)(vkf__cases *cases, const vkf__case *c); // what is done with a case
    void *user;
    // The case that is laid out:
    double least; // see vkf__case
    bool aligned; // all operands begin at multiples of four elements
};

#define VKF_CASE_PATIENCE 4.0
#define VKF_CASE_GUARD_BYTES 256u // around every operand; edge shapes begin at multiples of it, too

// Makes the image; all else is set by the caller. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__cases_init(vkf__cases *cases, uint64_t capacity_bytes);
void vkf__cases_finish(vkf__cases *cases);
// Begins draws that each kernel and config has for itself.
void vkf__cases_seed(vkf__cases *cases, uint64_t seed);
// The operator's emitter, or the case's own.
vkf__emit_fn vkf__case_emitter(const vkf__cases *cases, const vkf__case *c);
// Forgets the operands of the last case.
void vkf__cases_clear(vkf__cases *cases);

// For the function that an operator's row names ----------------------------------------------------------------------

// Runs a case with the operator's emitter, and forgets its operands. The text after `tolerance` tells its shape.
VKF_MUST_CHECK vkf_status vkf__case_run(vkf__cases *cases, const void *args, double tolerance, const char *format, ...)
    VKF_PRINTF(4, 5);

// The same for a case that is told in full.
VKF_MUST_CHECK vkf_status vkf__case_run_as(vkf__cases *cases, const vkf__case *c);

// 31 random bits.
uint32_t vkf__case_bits(vkf__cases *cases);
// A size: `edge`, or one drawn from 1 to `most`, mostly near the sizes of workgroups and their parts, or of quads.
uint32_t vkf__case_size(vkf__cases *cases, uint32_t edge, uint32_t most);
// One of 0 .. count - 1: `edge`, or drawn.
uint32_t vkf__case_pick(vkf__cases *cases, uint32_t edge, uint32_t count);
bool vkf__case_flip(vkf__cases *cases, bool edge);
// The edge lengths of rows that a workgroup takes: one, primes, and those about its size.
#define VKF_CASE_ROW_LENGTHS 5
uint32_t vkf__case_row_length(const vkf__cases *cases, uint32_t index);
// A number that is exact in float32 and f16: `edge`, or one drawn between -2 and 2.
float vkf__case_factor(vkf__cases *cases, float edge);
// The value of a constant with which the variant is about to be used, or a case's own.
uint32_t vkf__case_constant(const vkf__cases *cases, uint32_t id, uint32_t own);

// Small multiples of 1/4, which are exact in half precision and bfloat16, and whose products and sums are exact in
// float32.
float vkf__case_random(vkf__cases *cases);
// An operand of such values, or of blocks of q8 with any elements; absent where `count` is 0. Every second drawn case
// has it beside every alignment but its element's. An assertion checks that the image has room for it.
vkf__span vkf__case_floats(vkf__cases *cases, vkf_dtype dtype, uint64_t count);
// The same for an operand that has to begin at a multiple of four elements.
vkf__span vkf__case_quads(vkf__cases *cases, vkf_dtype dtype, uint64_t count);
// Room for a weight in panels, which the case fills itself.
vkf__span vkf__case_panels(vkf__cases *cases, vkf_dtype dtype, uint64_t elements);
// An operand with these values, stored as the type says; absent when `values` is NULL.
vkf__span vkf__case_values(vkf__cases *cases, vkf_dtype dtype, const float *values, uint64_t count);
// Integers from `least` on below `beyond`.
vkf__span vkf__case_ints(vkf__cases *cases, int32_t least, int32_t beyond, uint64_t count);
// Drawn cases alone: now and then puts what is no number, infinite, very large or a negative zero into an operand.
void vkf__case_extremes(vkf__cases *cases, const vkf__span *span);
// Fills an output that is not to be read with NaN.
void vkf__case_blank(const vkf__cases *cases, const vkf__span *span);
// Drawn cases alone: now and then moves all numbers of an operand away from 0.
void vkf__case_offset(vkf__cases *cases, const vkf__span *span);
// Where an operand's bytes lie in the image, for a case that fills them itself.
void *vkf__case_bytes(const vkf__cases *cases, const vkf__span *span);

// The tolerances for a float type: of results that are exact until they are stored, and of results that are rounded on
// the way.
double vkf__case_exact(vkf_dtype dtype);
double vkf__case_close(vkf_dtype dtype);

#endif
