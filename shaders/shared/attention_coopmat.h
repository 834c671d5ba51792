// Specialisation constants of attention_coopmat: those of attention.h, two of them with another meaning (FENCE is not
// used), and the shape of the fragments, which is one that the device lists.
#ifndef VKF_SHARED_ATTENTION_COOPMAT_H
#define VKF_SHARED_ATTENTION_COOPMAT_H

#include "attention.h"

#define VKF_ATTENTION_COOPMAT_SPEC_ROWS 1      // of a subgroup
#define VKF_ATTENTION_COOPMAT_SPEC_SUBGROUPS 3 // of a workgroup
#define VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_M VKF_ATTENTION_SPEC_COUNT
#define VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_N (VKF_ATTENTION_SPEC_COUNT + 1)
#define VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_K (VKF_ATTENTION_SPEC_COUNT + 2)
#define VKF_ATTENTION_COOPMAT_SPEC_COUNT (VKF_ATTENTION_SPEC_COUNT + 3)

#endif
