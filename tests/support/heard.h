// A context of the test's profile whose messages about self-tests are heard. Failures fail the running test.
#ifndef VKF_TESTS_HEARD_H
#define VKF_TESTS_HEARD_H

#include <stdatomic.h>

#include "fixture.h"
#include "kernel/context.h"

// What the context takes for products of some size, and what tests spoil.
#define VKF_TEST_LARGE_TILE "gemm_tile.f32_f32_f32/large"

typedef struct vkf_test_heard {
    atomic_int tests;    // self-tests that ran
    atomic_int warnings; // about the self-test
    atomic_int wrongs;   // those that say that a variant is wrong
    char warning[512];
    char wrong[512];
    char last[512];      // of any warning or error
    char slow[512];      // about VKF_TEST_LARGE_TILE
    char untouched[512]; // about a variant that none of the shapes fits
} vkf_test_heard;

// The descriptor's profile and message functions are set here.
vkf_context *vkf_test_open_heard(vkf_test_gpu *gpu, vkf_test_heard *out, vkf_context_desc desc);

// out (n, n) = ones (n, n) ones (n, n): every element is n, and *out_value the last.
vkf_status vkf_test_multiply_ones(vkf_context *context, uint32_t n, float *out_value);

// What is slow depends on the device: the times that a test reckons with are those of lavapipe.
void vkf_test_skip_unless_lavapipe(const vkf_test_gpu *gpu);

vkf__variant vkf_test_variant_named(const char *name);
vkf__verdict vkf_test_verdict_of(const vkf_context *context, const char *name);

#endif
