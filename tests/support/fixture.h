// A context on the driver and under the profile that the environment names:
//   VKF_TEST_PROFILE       profile name; full when unset
//   VKF_TEST_MASKS         masks on top of the profile, separated by commas: bufferDeviceAddress,subgroupSize=4
//   VKF_TEST_SUBGROUP_SIZE the program is skipped (exit status 77) on a device with other subgroups
//   VKF_TEST_VALIDATION=1  with validation layers: any message of theirs fails the test that tears the context down
//   VKF_TEST_REQUIRE_GPU=1 no device is a failure; otherwise test bodies skip
//   VKF_TEST_AS_GPU=1      the device, a processor, has the traits of a GPU, whose code it then runs
//   VKF_TEST_SEED          seed of random data; printed with every failure
//   VKF_TEST_ALL=1         long tests too
#ifndef VKF_TESTS_FIXTURE_H
#define VKF_TESTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <vkformer/vkformer.h>

#include "base/host.h"
#include "random.h"

#define VKF_TEST_MAX_MASKS 16

// The mask by which a device multiplies by weights in blocks without rounding the rows to bytes.
#define VKF_TEST_NO_INTEGER_DOT_UNITS "integerDotProduct4x8BitPackedSignedAccelerated"

typedef struct vkf_test_gpu {
    vkf_context *context; // NULL: no device here
    vkf_caps_profile profile;
    uint64_t seed;
    vkf_test_random random;
    char last_error[1024]; // the newest message of severity ERROR
    char first_validation[1024];
    int validation_messages;
    char label[256]; // vkf_test_label()
    char mask_text[256];
    const char *masks[VKF_TEST_MAX_MASKS];
} vkf_test_gpu;

// cmocka tells of a group's tear-down that fails, and gives 0 all the same. Here it counts as one more failure.
int vkf_test_run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                       CMFixtureFunction teardown);
#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
    vkf_test_run_group(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)

// Group set-up and tear-down for cmocka_run_group_tests(): *state becomes a vkf_test_gpu.
int vkf_test_gpu_setup(void **state);
int vkf_test_gpu_teardown(void **state);

// The same with a descriptor of the test's own; profile, validation and messages are filled in.
int vkf_test_gpu_open(vkf_test_gpu *gpu, vkf_context_desc *desc);
// The two steps of that: the first fills in, the second makes the context.
int vkf_test_gpu_prepare(vkf_test_gpu *gpu, vkf_context_desc *desc);
int vkf_test_gpu_create(vkf_test_gpu *gpu, const vkf_context_desc *desc);
// Fails when the validation layers said anything since the last call.
void vkf_test_assert_silent(vkf_test_gpu *gpu);

// The fixture of a test body; skips (or fails) the test when there is no device.
vkf_test_gpu *vkf_test_gpu_of(void **state);

// Whether long tests run, too.
bool vkf_test_all(void);
// Skips the test, which is counted, unless they do.
void vkf_test_skip_unless_all(void);

// Skips a test that uses the device in a child of fork(), where such a child cannot have threads.
void vkf_test_skip_if_children_have_no_threads(const vkf_test_gpu *gpu);

// Formats a label that ends in the seed; valid until the next call.
const char *vkf_test_label(vkf_test_gpu *gpu, const char *format, ...) VKF_PRINTF(2, 3);

// A tensor of the given type with these float values (converted to half for F16). Fails the test on error.
vkf_tensor vkf_test_tensor(vkf_test_gpu *gpu, vkf_dtype dtype, uint32_t rank, const uint32_t *shape,
                           const float *values);
// A tensor with raw bytes; bytes == NULL leaves zeros.
vkf_tensor vkf_test_tensor_raw(vkf_test_gpu *gpu, vkf_dtype dtype, uint32_t rank, const uint32_t *shape,
                               const void *bytes);
// Reads f32 or f16 tensors as float; the caller frees the result.
float *vkf_test_read(const vkf_tensor *tensor);

// Until the second is called, every wait for the device fails with VKF_ERROR_OUT_OF_HOST_MEMORY.
void vkf_test_forbid_waits(vkf_test_gpu *gpu);
void vkf_test_allow_waits(vkf_test_gpu *gpu);

// What the context holds on the device.
uint64_t vkf_test_bytes_in_use(const vkf_test_gpu *gpu);

#endif
