// out[g, col] = sum of x[row, col] over the rows of group g (+ out[g, col]), a group being `group_rows` rows that
// follow each other: the gradient of a bias. With a norm, whose input is `normed` and whose (mean, 1 / deviation) of
// each row is `stats`, it is the sum of x[row, col] * (normed[row, col] - mean) / deviation: the gradient of its
// weight. A 0 in x adds nothing, whatever the norm's row holds.
//
// Rows are summed in two dispatches, by groups and then the sums of groups as one, in an order that sizes alone decide.
// A workgroup takes VKF_PART_EACH columns of a group for each of its invocations, and the grid runs over the parts of a
// group first.
#ifndef VKF_SHARED_COLUMN_SUM_H
#define VKF_SHARED_COLUMN_SUM_H

#include "types.h"

#define VKF_COLUMN_SUM_BINDING_X 1
#define VKF_COLUMN_SUM_BINDING_OUT 2
#define VKF_COLUMN_SUM_BINDING_NORMED 3
#define VKF_COLUMN_SUM_BINDING_STATS 4

#define VKF_COLUMN_SUM_SPEC_NORM 1 // 1: normed and stats are given
#define VKF_COLUMN_SUM_SPEC_COUNT 2

struct vkf_column_sum_params {
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_u32 x_row;      // elements from one row of x to the next, and of normed
    vkf_u32 group_rows; // >= 1
    vkf_u32 accumulate; // 0: out is not read
};
VKF_SHARED_SIZE(vkf_column_sum_params, 5)

#endif
