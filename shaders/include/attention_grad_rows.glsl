// What kernels of attention's gradients have in common: the rows of a workgroup, and which others they walk over. The
// including kernel has declared OWN, OWNS_KEYS and what include/mask.glsl asks for.
#ifndef VKF_ATTENTION_GRAD_ROWS_GLSL
#define VKF_ATTENTION_GRAD_ROWS_GLSL

#define SLOPES_BINDING VKF_ATTENTION_GRAD_BINDING_SLOPES
#define SINKS_BINDING VKF_ATTENTION_GRAD_BINDING_SINKS
#include "mask.glsl"

struct work {
    uint b;
    uint kv_head;
    uint first_own;
};

uint query_count()
{
    return p.q_len * (p.heads / p.kv_heads);
}

uint own_count()
{
    return OWNS_KEYS ? p.k_len : query_count();
}

// Blocks of queries run backwards: under the causal mask the longest come first.
work view_work(uint index, uint first_key_head)
{
    uint blocks = (own_count() + OWN - 1) / OWN, block = index % blocks;
    uint key_head = first_key_head + index / blocks;
    work w;
    w.first_own = (OWNS_KEYS ? block : blocks - 1 - block) * OWN;
    w.kv_head = key_head % p.kv_heads;
    w.b = key_head / p.kv_heads;
    return w;
}

uint key_head_of(work w)
{
    return w.b * p.kv_heads + w.kv_head;
}

// Whether its rows are packed.
bool is_packed(work w)
{
    return key_head_of(w) - p.first_key_head < p.key_heads;
}

// The head of a row of queries.
uint head_of(work w, uint row)
{
    uint group = p.heads / p.kv_heads;
    return w.kv_head * group + row % group;
}

mask_view view_query(work w, uint row)
{
    row = min(row, query_count() - 1);
    return view_mask(w.b, head_of(w, row), row / (p.heads / p.kv_heads));
}

// The rows of queries that may see one of these keys, from the causal mask, the window and the length of the batch
// entry. Keys after mask_cols are always visible.
uvec2 seeing_rows(work w, uint first_key, uint last_key)
{
    mask_view query = view_query(w, 0); // position of query 0
    uint begin = 0, end = p.q_len;
    if (last_key < p.mask_cols) {
        if (KEY_MASK_KIND == VKF_SHADER_MASK_LENGTHS && int(first_key) >= query.key_count)
            end = 0;
        if (CAUSAL != 0)
            begin = uint(max(int(first_key) - query.position, 0));
        if (WINDOW != 0 && p.window < 0x40000000u)
            end = min(end, uint(max(int(last_key) + int(p.window) - query.position, 0)));
    }
    return uvec2(min(begin, end), end) * (p.heads / p.kv_heads);
}

// The first step of a slice.
uint slice_begin(uint steps, uint slice)
{
    return steps / p.slices * slice + min(slice, steps % p.slices);
}

// Where a row of the workgroup's begins in an output with these strides.
uint first_element(work w, uint row, uint batch_stride, uint row_stride, uint head_stride)
{
    uint group = p.heads / p.kv_heads;
    uint l = OWNS_KEYS ? row : row / group;
    uint h = OWNS_KEYS ? w.kv_head : head_of(w, row);
    return w.b * batch_stride + l * row_stride + h * head_stride;
}

#endif
