// The workgroup that is the last of several to leave parts of the same rows puts these together, so that no dispatch
// has to wait for all of them. Included by attention_decode.comp.
//
// The parts are coherent: what a workgroup has written before it counts itself, the last one sees after it has counted.
#ifndef VKF_LAST_WORKGROUP_GLSL
#define VKF_LAST_WORKGROUP_GLSL

#include "attention_parts.glsl"

shared uint workgroups_before;

// Among those of the batch, as view_work() has them.
uint rows_index(work w)
{
    uint blocks = (row_count() + ROWS - 1) / ROWS;
    return (w.b * p.kv_heads + w.kv_head) * blocks + w.first_row / ROWS;
}

// Whether all other workgroups with parts of these rows have counted themselves. The count begins anew then.
bool is_last_workgroup(work w)
{
    uint at = counter_offset + rows_index(w);
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationID.x == 0) {
        memoryBarrierBuffer();
        workgroups_before = atomicAdd(counter_data[at], 1u);
        if (workgroups_before == p.splits - 1)
            atomicExchange(counter_data[at], 0u);
        memoryBarrierBuffer();
    }
    barrier();
    memoryBarrierBuffer();
    return workgroups_before == p.splits - 1;
}

// Neighbours take neighbouring columns of all rows of the workgroup.
void join_parts(work w)
{
    uint rows = min(ROWS, row_count() - w.first_row);
    for (uint at = gl_LocalInvocationID.x; at < rows * V_HEAD_DIM; at += LOCAL_SIZE) {
        uint row = w.first_row + at / V_HEAD_DIM, col = at % V_HEAD_DIM;
        row_view view = view_row(w, row);
        float value = join_column(parts(first_part(w, row), PART_STRIDE), col);
        out_store(w.b * p.out_batch + view.l * p.out_row + view.h * p.out_head + col, value);
    }
}

#endif
