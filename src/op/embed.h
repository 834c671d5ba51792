// Token embedding, scaled, with positions added.
#ifndef VKF_OP_EMBED_H
#define VKF_OP_EMBED_H

#include "op/operand.h"

typedef struct vkf__embed_args {
    const char *label;
    vkf__span ids;       // i32, (batch, ids_stride), read from column ids_first on
    vkf__span table;     // (vocab, dim)
    vkf__span positions; // optional, (max_len, dim) f32
    vkf__span out;       // (batch, len, dim)
    uint32_t batch, len, dim, vocab;
    uint32_t ids_stride, ids_first;
    uint32_t first_position;
    // The element of ids at which the tokens' positions begin, laid out as the ids are. 0: positions count from
    // first_position on.
    uint32_t position_ids;
    bool padding_leads; // each row of ids begins with its number of padding tokens, which positions do not count
    float scale;
} vkf__embed_args;

// A table that exceeds what the device binds is cut into slices of rows.
VKF_MUST_CHECK vkf_status vkf__emit_embed(vkf__work *work, const vkf__embed_args *args);

// How many rows of a table (vocab, dim) go into one binding: an even number, so that slices of 16-bit elements begin at
// a whole word, or all of them where no cut is needed or possible.
uint32_t vkf__embed_rows_per_slice(const vkf__work *work, const vkf__span *table, uint32_t vocab, uint32_t dim);

#endif
