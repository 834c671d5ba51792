// Queries, keys and values of attention as one product has made them (FRESH in shared/attention.h). Included by
// attention_decode.comp after its constants, buffers, and what it begins with.
#ifndef VKF_FRESH_KEYS_GLSL
#define VKF_FRESH_KEYS_GLSL

// Elements col .. col + 3 of a head of position i that begins at `first` in q, rotated.
vec4 load_rotated(uint first, uint col, uint i)
{
    uint half_dim = p.rotary_dim / 2;
    vec4 own = q_load4(first + col);
    if (col >= p.rotary_dim)
        return own;
    bool low = col < half_dim;
    vec4 other = q_load4(first + (low ? col + half_dim : col - half_dim));
    uint angle = (p.first_position + i) * p.rotary_dim + (low ? col : col - half_dim);
    return own * table_load4(angle) + (low ? -other : other) * table_load4(angle + half_dim);
}

vec4 load_query(uint first, uint col, uint i)
{
    return FRESH != 0 ? load_rotated(first, col, i) : q_load4(first + col);
}

#if SAME_TYPE(TYPE_KV, f32)
uvec4 stored_vector(vec4 quads[VECTOR_QUADS])
{
    return floatBitsToUint(quads[0]);
}
#else
uint stored_pair(vec2 pair)
{
    return half_bits(pair.x) | half_bits(pair.y) << 16;
}

uvec4 stored_vector(vec4 quads[VECTOR_QUADS])
{
    return uvec4(stored_pair(quads[0].xy), stored_pair(quads[0].zw), stored_pair(quads[1].xy),
                 stored_pair(quads[1].zw));
}
#endif

// A vector of a fresh key as k will have it. Beyond a row's last vector it is zeros.
uvec4 fresh_key(work w, uint key, uint vector)
{
    uint i = key - p.fresh_first;
    uint first = w.b * p.q_batch + i * p.q_row + p.k_fresh + w.kv_head * HEAD_DIM;
    vec4 quads[VECTOR_QUADS];
    [[unroll]] for (uint quad = 0; quad < VECTOR_QUADS; ++quad)
        quads[quad] = load_rotated(first, (min(vector, VECTORS - 1) * VECTOR_QUADS + quad) * 4, i);
    uvec4 stored = stored_vector(quads);
    return ALL_LANES || vector < VECTORS ? stored : uvec4(0);
}

// Beyond a row's last vector the sums are never stored.
uvec4 fresh_value(work w, uint key, uint vector)
{
    uint first = w.b * p.q_batch + (key - p.fresh_first) * p.q_row + p.v_fresh + w.kv_head * V_HEAD_DIM;
    vec4 quads[VECTOR_QUADS];
    [[unroll]] for (uint quad = 0; quad < VECTOR_QUADS; ++quad)
        quads[quad] = q_load4(first + (min(vector, V_VECTORS - 1) * VECTOR_QUADS + quad) * 4);
    return stored_vector(quads);
}

// Brings those of the key head to their places.
void keep_fresh_keys(work w)
{
    const uint vectors = VECTORS + V_VECTORS;
    for (uint at = gl_LocalInvocationID.x; at < p.q_len * vectors; at += LOCAL_SIZE) {
        uint key = p.fresh_first + at / vectors, vector = at % vectors;
        if (vector < VECTORS)
            k_kept[(k_offset + k_first + key * p.k_row) / VECTOR + vector] = fresh_key(w, key, vector);
        else
            v_kept[(v_offset + v_first + key * p.v_row) / VECTOR + vector - VECTORS] =
                fresh_value(w, key, vector - VECTORS);
    }
}

#endif
