// The backward pass of the scores of additive attention (shared/additive_scores.h). With T = tanh(query[b, t, a] +
// key[b, s, a]) and d = dscores[b, t, s]:
//
//   dquery[b, t, a] = v[a] * sum over s of d (1 - T^2)        dkey[b, s, a] = v[a] * sum over t of d (1 - T^2)
//   dv[a] = sum over b, t, s of d T
//
// It takes three kinds of dispatches, so that none needs more than four storage buffers:
//
//   SUM      for each row of one side, own, the sums over the rows of the other side without v, into (rows, dim); with
//            totals, behind these the rows' parts of dv
//   SCALE    out = v * own, v being the other side
//   COLUMNS  out = the sum over the rows' parts of dv, which lie in own as SUM has left them
//
// A score of which d is 0, as of a key that is masked out, counts for nothing, whatever query and key hold. In SUM and
// SCALE a workgroup takes VKF_PART_EACH columns of a row for each of its invocations, in COLUMNS of all rows.
#ifndef VKF_SHARED_ADDITIVE_GRAD_H
#define VKF_SHARED_ADDITIVE_GRAD_H

#include "types.h"

#define VKF_ADDITIVE_GRAD_BINDING_OWN 1
#define VKF_ADDITIVE_GRAD_BINDING_OTHER 2   // in SUM and SCALE
#define VKF_ADDITIVE_GRAD_BINDING_DSCORES 3 // in SUM
#define VKF_ADDITIVE_GRAD_BINDING_OUT 4

#define VKF_ADDITIVE_GRAD_SPEC_KIND 1
#define VKF_ADDITIVE_GRAD_SPEC_COUNT 2

#define VKF_ADDITIVE_GRAD_SUM 0
#define VKF_ADDITIVE_GRAD_SCALE 1
#define VKF_ADDITIVE_GRAD_COLUMNS 2

#define VKF_ADDITIVE_GRAD_UNROLL 4 // rows per iteration

struct vkf_additive_grad_params {
    vkf_u32 rows; // of own
    vkf_u32 dim;
    vkf_u32 own_len;     // rows of one batch entry
    vkf_u32 other_len;   // the same of the other side
    vkf_u32 score_own;   // from a score to that of the next row of own
    vkf_u32 score_other; // to that of the next row of the other side
    vkf_u32 totals;
    vkf_u32 accumulate; // of SCALE and COLUMNS: adds to out, which is else not read
};
VKF_SHARED_SIZE(vkf_additive_grad_params, 8)

#endif
