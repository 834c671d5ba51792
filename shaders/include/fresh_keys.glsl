// Queries, keys and values of attention as one product has made them (FRESH in shared/attention.h). Included by
// attention_decode.comp once it can fetch what is cached.
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

// Of query and key i: a vector of the key as k will have it, and one of the value.
uvec4 make_key(work w, uint i, uint vector)
{
    uint first = w.b * p.q_batch + i * p.q_row + p.k_fresh + w.kv_head * HEAD_DIM;
    vec4 quads[VECTOR_QUADS];
    [[unroll]] for (uint quad = 0; quad < VECTOR_QUADS; ++quad)
        quads[quad] = load_rotated(first, (vector * VECTOR_QUADS + quad) * 4, i);
    return stored_vector(quads);
}

uvec4 make_value(work w, uint i, uint vector)
{
    uint first = w.b * p.q_batch + i * p.q_row + p.v_fresh + w.kv_head * V_HEAD_DIM;
    vec4 quads[VECTOR_QUADS];
    [[unroll]] for (uint quad = 0; quad < VECTOR_QUADS; ++quad)
        quads[quad] = q_load4(first + (vector * VECTOR_QUADS + quad) * 4);
    return stored_vector(quads);
}

const uint FRESH_VECTORS = VECTORS + V_VECTORS; // of a key and its value

shared uvec4 fresh_vectors[FRESH * FRESH_VECTORS + 1]; // (FRESH, FRESH_VECTORS)

// Makes the fresh keys and values of the key head, and with `kept` brings them to their places in k and v.
void make_fresh_keys(work w, bool kept)
{
    for (uint at = gl_LocalInvocationID.x; at < p.q_len * FRESH_VECTORS; at += LOCAL_SIZE) {
        uint i = at / FRESH_VECTORS, vector = at % FRESH_VECTORS, key = p.fresh_first + i;
        bool of_key = vector < VECTORS;
        uvec4 made = of_key ? make_key(w, i, vector) : make_value(w, i, vector - VECTORS);
        fresh_vectors[at] = made;
        if (kept && of_key)
            k_kept[(k_offset + k_first + key * p.k_row) / VECTOR + vector] = made;
        else if (kept)
            v_kept[(v_offset + v_first + key * p.v_row) / VECTOR + vector - VECTORS] = made;
    }
    barrier();
}

// Vectors c of a lane, as fetch_key() and fetch_value() have them, of keys of which some are fresh.
uvec4 fetch_any_key(uint key, uint c)
{
    if (FRESH == 0 || key < p.fresh_first)
        return fetch_key(key, c);
    uint vector = lane() + LANES * c;
    return ALL_LANES || vector < VECTORS ? fresh_vectors[(key - p.fresh_first) * FRESH_VECTORS + vector] : uvec4(0);
}

uvec4 fetch_any_value(uint key, uint c)
{
    if (FRESH == 0 || key < p.fresh_first)
        return fetch_value(key, c);
    return fresh_vectors[(key - p.fresh_first) * FRESH_VECTORS + VECTORS + min(lane() + LANES * c, V_VECTORS - 1)];
}

#endif
