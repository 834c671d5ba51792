// The self-test's bed: one buffer on the device in which the operands of a case lie apart from each other.
//
// NaN surrounds every operand, which shows a kernel that reads beside it. The guards of the output are compared
// afterwards, which shows a kernel that writes there.
#ifndef VKF_PROVE_SELF_TEST_BED_H
#define VKF_PROVE_SELF_TEST_BED_H

#include "prove/self_test.h"
#include "prove/trial.h"

typedef struct vkf__bed {
    vkf_context *context;
    const vkf__variant *variant;
    vkf__verdict verdict; // PASSED until something is wrong
    uint32_t repetitions; // of every case
    // The specialisation constants with which the variant is about to be used. What they say of an operand the cases
    // take from them where they can, and a case that gives others is left out. NULL: the cases' own.
    const uint32_t *spec;
    bool passed;                   // with other constants: what is as likely to be wrong with any of them is left out
    vkf__keep_going_fn keep_going; // NULL: always
    void *user;
    // Of a bad verdict:
    double times; // how many times its budget it took
    bool foretold;
    char reason[VKF_VERDICT_REASON_BYTES];
    bool stopped;   // keep_going said no
    bool gathering; // vkf__bed_run() runs nothing, and gathers the pipelines that a case needs
    bool compiled;  // the pipelines are there, as far as the driver takes them
    vkf__pipeline_wants wants;
    uint32_t case_count; // cases that the variant took, or would take
    double best_ns;      // the fastest of the first runs of the last case
    double latency_ns;   // of an empty submission beside the last case that foretells
    uint64_t random;
    uint8_t *image; // what the device holds before a case runs
    uint64_t image_bytes;
    uint64_t used_bytes;
    vkf_buffer *buffer;
} vkf__bed;

// What is emitted on one shape, and what it has to give.
typedef struct vkf__bed_case {
    char shape[96]; // for messages
    vkf__emit_fn emit;
    const void *args;
    vkf__span out;
    const void *expected; // a float per element of out, or an int32_t for I32; for padding, what it held before
    double tolerance;     // relative to the larger of 1 and the expected value
    double patience;      // how many times the budget it may take; 0: 1
    bool foretells;       // its time stands for that of a larger case
    bool costly;          // repeated a few times, and then for a second at most
} vkf__bed_case;

// The value of a constant with which the variant is about to be used, or a case's own.
static inline uint32_t vkf__bed_constant(const vkf__bed *bed, uint32_t id, uint32_t own)
{
    return bed->spec && id < bed->variant->kernel->spec_count ? bed->spec[id] : own;
}

// Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY. vkf__bed_finish() must follow, whatever the status.
VKF_MUST_CHECK vkf_status vkf__bed_init(vkf__bed *bed, uint64_t capacity_bytes);
void vkf__bed_finish(vkf__bed *bed);

// Forgets the operands of the last case.
void vkf__bed_clear(vkf__bed *bed);

// Small multiples of 1/4, which are exact in half precision and bfloat16, and whose products and sums are exact in
// float32.
float vkf__bed_random(vkf__bed *bed);
float *vkf__bed_random_values(vkf__bed *bed, size_t count); // NULL when memory is exhausted

// Operands of a flat case, on the host.
#define VKF_BED_ELEMENTS 2048
typedef struct vkf__bed_values {
    float x[VKF_BED_ELEMENTS];
    float y[VKF_BED_ELEMENTS];
    float out[VKF_BED_ELEMENTS];
} vkf__bed_values;

// Random values for the next case, and a bed without the last one's operands. NULL when memory is exhausted, with a
// message.
vkf__bed_values *vkf__bed_make_values(vkf__bed *bed);
// Runs a case that expects values->out, and frees them.
VKF_MUST_CHECK vkf_status vkf__bed_run_values(vkf__bed *bed, vkf__bed_case *c, vkf__bed_values *values,
                                              const char *shape);

// An operand with these values, stored as the type says; absent when `values` is NULL. An assertion checks that the bed
// has room for it.
vkf__span vkf__bed_floats(vkf__bed *bed, vkf_dtype dtype, const float *values, size_t count);
// The same in panels of `elements` elements, given by the bytes that the device is to hold.
vkf__span vkf__bed_panels(vkf__bed *bed, vkf_dtype dtype, const void *bytes, uint64_t elements);
vkf__span vkf__bed_ints(vkf__bed *bed, const int32_t *values, size_t count);

// Runs a case bed->repetitions times and compares the results, unless the verdict is bad already. A case that the
// variant does not take is skipped. While pipelines are gathered, it adds to bed->wants instead.
VKF_MUST_CHECK vkf_status vkf__bed_run(vkf__bed *bed, const vkf__bed_case *c);

// Marks the variant as too slow for a shape, which took `ns`.
void vkf__bed_too_slow(vkf__bed *bed, const char *shape, double ns, double patience);
// The same where it is only expected to take so long: then the variant is passed over in this context alone.
void vkf__bed_foretold_slow(vkf__bed *bed, const char *shape, double ns, double patience);

// The tolerances for a float type: of results that are exact until they are stored, and of results that are rounded on
// the way.
double vkf__bed_exact(vkf_dtype dtype);
double vkf__bed_close(vkf_dtype dtype);

// Edge shapes of the operators, see self_test.c.
typedef vkf_status (*vkf__bed_cases_fn)(vkf__bed *bed);
vkf_status vkf__bed_gemm(vkf__bed *bed);
vkf_status vkf__bed_attention(vkf__bed *bed);
vkf_status vkf__bed_attention_grad(vkf__bed *bed);
vkf_status vkf__bed_softmax(vkf__bed *bed);
vkf_status vkf__bed_layer_norm(vkf__bed *bed);
vkf_status vkf__bed_argmax(vkf__bed *bed);
vkf_status vkf__bed_sample(vkf__bed *bed);
vkf_status vkf__bed_top(vkf__bed *bed);
vkf_status vkf__bed_reorder(vkf__bed *bed);
vkf_status vkf__bed_pack(vkf__bed *bed);
vkf_status vkf__bed_quantize_rows(vkf__bed *bed);
vkf_status vkf__bed_permute(vkf__bed *bed);
vkf_status vkf__bed_copy(vkf__bed *bed);
vkf_status vkf__bed_embed(vkf__bed *bed);
vkf_status vkf__bed_additive(vkf__bed *bed);
vkf_status vkf__bed_head_mean(vkf__bed *bed);
vkf_status vkf__bed_pool(vkf__bed *bed);
vkf_status vkf__bed_rotary(vkf__bed *bed);
vkf_status vkf__bed_gate(vkf__bed *bed);
vkf_status vkf__bed_layer_norm_grad(vkf__bed *bed); // and of the rows' stats
vkf_status vkf__bed_norm_gradients(vkf__bed *bed);
vkf_status vkf__bed_column_sum(vkf__bed *bed);
vkf_status vkf__bed_softmax_grad(vkf__bed *bed);
vkf_status vkf__bed_cross_entropy(vkf__bed *bed);
vkf_status vkf__bed_total(vkf__bed *bed);
vkf_status vkf__bed_clip(vkf__bed *bed);
vkf_status vkf__bed_adam(vkf__bed *bed);
vkf_status vkf__bed_sgd(vkf__bed *bed);
vkf_status vkf__bed_activation(vkf__bed *bed);
vkf_status vkf__bed_activation_grad(vkf__bed *bed);
vkf_status vkf__bed_gate_grad(vkf__bed *bed);
vkf_status vkf__bed_dropout(vkf__bed *bed);
vkf_status vkf__bed_embed_grad(vkf__bed *bed);
vkf_status vkf__bed_pool_grad(vkf__bed *bed);
vkf_status vkf__bed_additive_grad(vkf__bed *bed);

#endif
