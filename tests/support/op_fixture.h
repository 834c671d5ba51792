// Operands of the operator tests: random values on the host and the tensor that holds them, rounded to its type.
//
// Every tensor is a view inside a larger buffer, off every alignment. What surrounds it is NaN (or -1, or true), so
// that a kernel that reads beside its operand gives NaN, and one that writes there is found when the operand is read.
#ifndef VKF_TESTS_OP_FIXTURE_H
#define VKF_TESTS_OP_FIXTURE_H

#include <vkformer/vkformer.h>

#include "support/compare.h"
#include "support/fixture.h"

#define VKF_TEST_MAX_OPERANDS 64

// A rank and a shape as two arguments: SHAPE(2, 3).
#define SHAPE(...)                                                                       \
    (uint32_t)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), (const uint32_t[]) \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// What outputs hold before a call: no result of the tests, and exact in half precision.
#define VKF_TEST_UNTOUCHED (-77.0f)

typedef struct vkf_test_operand {
    vkf_tensor tensor;
    size_t count;
    float *values;  // floats, and blocks in rows: what the device holds
    int32_t *ids;   // i32
    uint8_t *bytes; // bool, i8 and u8
} vkf_test_operand;

// A vkf_test_gpu with the operands of the running test; *state of a group that was set up by vkf_test_ops_setup().
typedef struct vkf_test_ops {
    vkf_test_gpu gpu;
    vkf_test_operand *operands[VKF_TEST_MAX_OPERANDS];
    size_t operand_count;
    bool aligned; // operands made from now on begin at multiples of 256 bytes
} vkf_test_ops;

// Group set-up: the device as it is, and the device without 16-bit storage, so that f16 takes the packed kernels.
int vkf_test_ops_setup(void **state);
int vkf_test_ops_setup_packed(void **state);
int vkf_test_ops_teardown(void **state);
// Teardown of one test: frees its operands, also after a failure.
int vkf_test_ops_clear(void **state);

// A fixture of the test's own with masks on top of the profile; false when there is no device.
bool vkf_test_ops_open(vkf_test_ops *ops, const char *const *masks, uint32_t mask_count);
// The same with a variant that is asked for (vkf_context_desc.variant).
bool vkf_test_ops_open_variant(vkf_test_ops *ops, const char *variant);
void vkf_test_ops_close(vkf_test_ops *ops);

// The fixture of a test body; skips the test without a device.
vkf_test_ops *vkf_test_ops_of(void **state);
// Frees the operands made so far: between the cases of a loop.
void vkf_test_ops_reset(vkf_test_ops *ops);

#define VKF_OPS_TEST(function) cmocka_unit_test_teardown(function, vkf_test_ops_clear)

// Operands; the fixture owns them. Values are rounded to the type, so that no error comes from the inputs.
vkf_test_operand *vkf_test_uniform(vkf_test_ops *ops, vkf_dtype dtype, float low, float high, uint32_t rank,
                                   const uint32_t *shape);
vkf_test_operand *vkf_test_normal(vkf_test_ops *ops, vkf_dtype dtype, float mean, float deviation, uint32_t rank,
                                  const uint32_t *shape);
vkf_test_operand *vkf_test_integers(vkf_test_ops *ops, vkf_dtype dtype, int32_t low, int32_t high, uint32_t rank,
                                    const uint32_t *shape);
vkf_test_operand *vkf_test_constant(vkf_test_ops *ops, vkf_dtype dtype, float value, uint32_t rank,
                                    const uint32_t *shape);
vkf_test_operand *vkf_test_values(vkf_test_ops *ops, vkf_dtype dtype, const float *values, uint32_t rank,
                                  const uint32_t *shape);
// i8 or u8, of which every one may occur.
vkf_test_operand *vkf_test_bytes(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rank, const uint32_t *shape);
vkf_test_operand *vkf_test_bools(vkf_test_ops *ops, double probability, uint32_t rank, const uint32_t *shape);
vkf_test_operand *vkf_test_ids(vkf_test_ops *ops, const int32_t *ids, uint32_t rank, const uint32_t *shape);
// An output: VKF_TEST_UNTOUCHED everywhere.
vkf_test_operand *vkf_test_output(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rank, const uint32_t *shape);

// Writes changed values, ids or bytes to the device.
void vkf_test_upload(vkf_test_ops *ops, vkf_test_operand *operand);
// Reads the device's content back into values, ids or bytes; fails the test when a guard changed.
void vkf_test_download(vkf_test_ops *ops, vkf_test_operand *operand);
// Fails the test when an output of vkf_test_output() was written to.
void vkf_test_assert_untouched(vkf_test_ops *ops, vkf_test_operand *output);
// Fails the test unless the status is the expected one and a message came with it; forgets the message.
void vkf_test_assert_refused(vkf_test_ops *ops, vkf_status status, vkf_status expected, const char *what);
// Fails the test with the last message unless the status is VKF_OK.
void vkf_test_assert_ok(vkf_test_ops *ops, vkf_status status, const char *what);

// The tensor, absent for NULL.
static inline vkf_tensor vkf_test_tensor_of(const vkf_test_operand *operand)
{
    return operand ? operand->tensor : (vkf_tensor){0};
}

static inline const float *vkf_test_values_of(const vkf_test_operand *operand)
{
    return operand ? operand->values : NULL;
}

// A wrong value for one field of a struct; floats by their bits.
typedef struct vkf_test_plant {
    const char *field;
    size_t offset, size;
    uint64_t value;
} vkf_test_plant;
#define VKF_PLANT(type, field, value)                                      \
    {                                                                      \
#field, offsetof(type, field), sizeof(((type *)0)->field), (value) \
    }
#define VKF_TEST_HALF_BITS 0x3f000000u      // 0.5f
#define VKF_TEST_MINUS_ONE_BITS 0xbf800000u // -1.0f
#define VKF_TEST_NAN_BITS 0x7fc00000u
#define VKF_TEST_INFINITY_BITS 0x7f800000u
void vkf_test_plant_into(const vkf_test_plant *plant, void *object);

// malloc that fails the test.
float *vkf_test_floats(size_t count);

#endif
