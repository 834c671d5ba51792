// out[b, t, :] = table[ids[b * ids_stride + ids_first + t], :] * scale + positions[first_position + t, :].
// With PADDING_LEADS, ids[b * ids_stride] is not an id but the number of padding tokens at the row's beginning.
// Positions are counted behind these: max(first_position + t - number, 0). With position_ids, which is the index of the
// first position id, ids[position_ids + b * ids_stride + ids_first + t] is the position whose row is added.
// A workgroup takes VKF_PART_EACH columns of a row of out for each of its invocations, and the grid runs over the parts
// of a row first. A table larger than a binding may be is cut into slices of rows. A dispatch writes only the rows
// whose id lies in its slice; the dispatch with owns_invalid also writes those with an id outside the table.
#ifndef VKF_SHARED_EMBED_H
#define VKF_SHARED_EMBED_H

#include "types.h"

#define VKF_EMBED_BINDING_IDS 1
#define VKF_EMBED_BINDING_TABLE 2
#define VKF_EMBED_BINDING_POSITIONS 3 // f32
#define VKF_EMBED_BINDING_OUT 4

#define VKF_EMBED_SPEC_HAS_POSITIONS 1
#define VKF_EMBED_SPEC_PADDING_LEADS 2
#define VKF_EMBED_SPEC_COUNT 3

struct vkf_embed_params {
    vkf_u32 batch;
    vkf_u32 len;
    vkf_u32 dim;
    vkf_u32 ids_stride;
    vkf_u32 ids_first;
    vkf_u32 vocab;       // of the whole table
    vkf_u32 slice_begin; // first row of the bound slice
    vkf_u32 slice_end;
    vkf_u32 owns_invalid;
    vkf_u32 first_position;
    vkf_u32 position_ids; // 0: there are none
    vkf_f32 scale;
};
VKF_SHARED_SIZE(vkf_embed_params, 12)

#endif
