#include "support/by_hand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <vkformer/sized/plan.h>

#include "base/size.h"
#include "kernel/context.h"
#include "op/operators.h"

#define ALIGNMENT 256u

static vkf_context *context;
static uint8_t *image; // of the operands
static uint64_t capacity, used;
static bool has_run;

int vkf_hand_setup(void **state)
{
    const vkf_device_description_desc chip = {.path = VKF_TEST_SOURCE_DIR "/tools/chips/described/h200.json"};
    vkf_device_description *description = NULL;
    (void)state;
    assert_int_equal(vkf_device_description_create(&chip, &description), VKF_OK);
    const vkf_context_desc desc = {.described = description};
    const vkf_status status = vkf_context_create(&desc, &context);
    vkf_device_description_destroy(&description);
    return status == VKF_OK ? 0 : -1;
}

int vkf_hand_teardown(void **state)
{
    (void)state;
    vkf_context_destroy(&context);
    free(image);
    image = NULL;
    capacity = used = 0;
    return 0;
}

vkf__span vkf_hand_operand(vkf_dtype dtype, const void *values, size_t count)
{
    used = has_run ? 0 : used;
    has_run = false;
    if (!values)
        return (vkf__span){0};
    const vkf__span span = {.offset_bytes = used, .size_bytes = count * vkf_dtype_size(dtype), .dtype = dtype};
    const uint64_t end = vkf__align_u64(used + span.size_bytes, ALIGNMENT);
    if (end > capacity) {
        capacity = 2 * end;
        image = realloc(image, capacity);
        assert_non_null(image);
    }
    memcpy(image + used, values, span.size_bytes);
    used = end;
    return span;
}

void vkf_hand_run(vkf__op op, const void *args)
{
    vkf__host_run run = {.context = context, .image = image, .image_bytes = used};
    has_run = true;
    assert_int_equal(vkf__host_run_emit(&run, vkf__operator(op)->emit, args), VKF_OK);
}

void vkf_hand_read(const vkf__span *span, void *out_values)
{
    memcpy(out_values, image + span->offset_bytes, span->size_bytes);
}
