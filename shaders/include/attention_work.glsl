// What a workgroup of fused attention works on where it takes BLOCK_ROWS rows of a key head. The including kernel has
// defined BLOCK_ROWS, declared p, a vkf_attention_params, and included mask.glsl.
#ifndef VKF_ATTENTION_WORK_GLSL
#define VKF_ATTENTION_WORK_GLSL

struct work {
    uint b;
    uint kv_head;
    uint split;
    uint first_row;
};

struct row_view {
    uint h;
    uint l;
    mask_view mask;
};

// The rows of queries that share a key head.
uint row_count()
{
    return p.q_len * (p.heads / p.kv_heads);
}

// Blocks of rows run backwards: under the causal mask the longest come first.
work view_work(uint index)
{
    uint blocks = (row_count() + BLOCK_ROWS - 1) / BLOCK_ROWS;
    work w;
    w.first_row = (blocks - 1 - index % blocks) * BLOCK_ROWS;
    index /= blocks;
    w.split = index % p.splits;
    index /= p.splits;
    w.kv_head = index % p.kv_heads;
    w.b = index / p.kv_heads;
    return w;
}

// Computed wherever it is needed: to keep the views of all rows would cost registers that Apple's GPUs lack.
row_view view_row(work w, uint row)
{
    uint group = p.heads / p.kv_heads;
    row = min(row, row_count() - 1);
    row_view view;
    view.l = row / group;
    view.h = w.kv_head * group + row % group;
    view.mask = view_mask(w.b, view.h, view.l);
    return view;
}

// The key that is read in place of one at or beyond `end`.
uint clamp_key(uint key, uint end)
{
    return min(min(key, end - 1), p.k_len - 1);
}

// The first step of a split.
uint split_begin(uint steps, uint split)
{
    return steps / p.splits * split + min(split, steps % p.splits);
}

#endif
