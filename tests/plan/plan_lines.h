// What the tests of plans share: the chips, models and products that they go over, and golden files.
#ifndef VKF_TESTS_PLAN_LINES_H
#define VKF_TESTS_PLAN_LINES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan_make.h"

#define PLAN_CHIP_COUNT 10
#define PLAN_MODEL_COUNT 9
#define PLAN_SHAPE_COUNT 25

extern const char *const plan_chips[PLAN_CHIP_COUNT];
extern const char *const plan_models[PLAN_MODEL_COUNT]; // directories of tests/plan/models

// A product with a weight (n, k) of a real model.
typedef struct plan_shape {
    const char *name;
    uint32_t m, n, k;
    bool logits; // its result is in f32
} plan_shape;
extern const plan_shape plan_shapes[PLAN_SHAPE_COUNT];

// A chip with its context; fails the test where it cannot be opened.
typedef struct plan_device {
    vkf_plan_chip chip;
    vkf_context *context;
} plan_device;
plan_device plan_open(const char *chip);
void plan_close(plan_device *device);

// The dispatches of one product with activations in f16 and a weight of this type. At most `capacity` are stored.
uint32_t plan_product(const plan_device *device, const plan_shape *shape, vkf_dtype weight,
                      vkf_planned_dispatch *out_dispatches, uint32_t capacity);

// A text that grows.
typedef struct plan_text {
    char *text;
    size_t length, capacity;
} plan_text;
void plan_print(plan_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Compares the text with a file below tests/plan, or writes the file where the program was called with --write.
// Releases the text.
void plan_check(plan_text *text, const char *file);

// cmocka_run_group_tests() after reading the arguments.
#define PLAN_RUN(tests, argc, argv) (plan_arguments(argc, argv), cmocka_run_group_tests(tests, NULL, NULL))
void plan_arguments(int argc, char **argv);

#endif
