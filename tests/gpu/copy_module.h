// What a copy of copy_module.c exports.
#ifndef VKF_TESTS_COPY_MODULE_H
#define VKF_TESTS_COPY_MODULE_H

#include <stdbool.h>

enum { COPY_MODULE_COUNT = 64 };

typedef struct copy_module copy_module;

copy_module *copy_module_open(void);                        // NULL: there is no context
bool copy_module_run(copy_module *copy, float *out_values); // a softmax over zeros: COPY_MODULE_COUNT equal values
void copy_module_close(copy_module *copy);

#endif
