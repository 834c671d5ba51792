// Walks the cases that stand beside the operators, for every kernel that a device takes.
#ifndef VKF_PROGRAM_OPERATOR_CASES_H
#define VKF_PROGRAM_OPERATOR_CASES_H

#include "output/rows.h"
#include "prove/self_test_fixture.h"

typedef struct vkf_operator_cases {
    const char *name; // of an operator, the beginning of a kernel's, or "all"
    uint32_t draws;   // cases with drawn sizes and flags, beside the edge shapes; each kernel draws its own
    uint32_t seed;
    vkf_rows_format format;
} vkf_operator_cases;

typedef struct vkf_case_walk {
    vkf_context *context;
    const vkf_operator_cases *cases;
    vkf_rows rows;
    // What is done with a case; NULL: the device's results are compared with the reference's.
    vkf_status (*run)(vkf__cases *cases, const vkf__case *c);
    // Called after the cases of a kernel and config, of which the first wrong one was the last; may be NULL.
    vkf_status (*after)(struct vkf_case_walk *walk, const vkf__fixture *fixture);
    void *user;       // of `run`, as cases->user
    uint32_t kernels; // that took a case, or were refused by the driver
    uint32_t wrong;
} vkf_case_walk;

// False after a message: there is no operator or kernel of that name.
bool vkf_operator_cases_exist(const char *name);

// Edge shapes first, then drawn ones, kernel after kernel, and the end of the rows. Gives an exit code: VKF_EXIT_BEYOND
// where one is wrong. Failures have been printed.
int vkf_operator_cases_run(vkf_case_walk *walk);

#endif
