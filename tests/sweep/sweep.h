// Every public function, and what it is called with: tests/sweep/generate writes the table from the headers.
#ifndef VKF_TESTS_SWEEP_H
#define VKF_TESTS_SWEEP_H

#include <vkformer/status.h>

typedef enum sweep_kind {
    SWEEP_VALID = 0, // nothing is wrong
    SWEEP_REQUIRED,  // a pointer is NULL
    SWEEP_OPTIONAL,  // the same, and the header says that it may be
    SWEEP_DEPENDS,   // the same, and other arguments may make it necessary
    SWEEP_FOREIGN,   // a tensor's buffer is one of another context
} sweep_kind;

typedef struct sweep_case {
    const char *function;
    const char *what;
    sweep_kind kind;
} sweep_case;

typedef struct sweep_function {
    const char *name;
    // Calls the function as case `which` says. False where the valid arguments have no such pointer.
    bool (*run)(int which, vkf_status *out_status);
    const sweep_case *cases;
    int case_count;
    bool fallible;  // returns a status
    bool on_device; // takes what is made from a context, or a context
} sweep_function;

extern const sweep_function sweep_functions[];
extern const size_t sweep_function_count;

#endif
