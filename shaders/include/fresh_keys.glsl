// Queries, keys and values of attention as one product has made them (FRESH in shared/attention.h). Included by
// attention_decode.comp once it can fetch what is cached.
#ifndef VKF_FRESH_KEYS_GLSL
#define VKF_FRESH_KEYS_GLSL

#if SAME_TYPE(TYPE_KV, q8)
vec4 load_query(uint first, uint col, uint i)
{
    return q_load4(first + col);
}

uvec4 fetch_any_value(work w, uint key, uint c)
{
    return fetch_value(key, c);
}

void make_keys_and_values(work w, uint first, uint end)
{
}
#else
READ_QUADS(f32, VKF_ATTENTION_BINDING_TABLE, table)
layout(set = 0, binding = VKF_ATTENTION_BINDING_K, std430) writeonly buffer k_kept_buffer { uvec4 k_kept[]; };
layout(set = 0, binding = VKF_ATTENTION_BINDING_V, std430) writeonly buffer v_kept_buffer { uvec4 v_kept[]; };

// Elements col .. col + 3 of a head of position i that begins at `first` in q, rotated. Without branches, so that all
// that is loaded is on its way at once.
vec4 load_rotated(uint first, uint col, uint i)
{
    uint half_dim = p.rotary_dim / 2;
    bool low = col < half_dim, rotated = col < p.rotary_dim;
    uint other_col = low ? col + half_dim : col - half_dim, angle_col = low ? col : other_col;
    uint angle = (p.first_position + i) * p.rotary_dim + (rotated ? angle_col : 0);
    vec4 own = q_load4(first + col);
    vec4 other = q_load4(first + (rotated ? other_col : col));
    vec4 turned = own * table_load4(angle) + (low ? -1.0 : 1.0) * other * table_load4(angle + half_dim);
    return mix(own, turned, bvec4(rotated));
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
#if SAME_TYPE(TYPE_KV, bf16p)
#define STORED_BITS bfloat_bits
#else
#define STORED_BITS half_bits
#endif
uint stored_pair(vec2 pair)
{
    return STORED_BITS(pair.x) | STORED_BITS(pair.y) << 16;
}

uvec4 stored_vector(vec4 quads[VECTOR_QUADS])
{
    return uvec4(stored_pair(quads[0].xy), stored_pair(quads[0].zw), stored_pair(quads[1].xy),
                 stored_pair(quads[1].zw));
}
#endif

// Vectors c of a lane, as fetch_key() and fetch_value() have them, of a fresh key as k and v will have it.
uvec4 make_key(work w, uint key, uint c)
{
    uint i = key - p.fresh_first, vector = lane() + LANES * c;
    uint first = w.b * p.q_batch + i * p.q_row + p.k_fresh + w.kv_head * HEAD_DIM;
    vec4 quads[VECTOR_QUADS];
    [[unroll]] for (uint quad = 0; quad < VECTOR_QUADS; ++quad)
        quads[quad] = load_rotated(first, (min(vector, VECTORS - 1) * VECTOR_QUADS + quad) * 4, i);
    return ALL_LANES || vector < VECTORS ? stored_vector(quads) : uvec4(0);
}

uvec4 make_value(work w, uint key, uint c)
{
    uint first = w.b * p.q_batch + (key - p.fresh_first) * p.q_row + p.v_fresh + w.kv_head * V_HEAD_DIM;
    uint vector = min(lane() + LANES * c, V_VECTORS - 1);
    vec4 quads[VECTOR_QUADS];
    [[unroll]] for (uint quad = 0; quad < VECTOR_QUADS; ++quad)
        quads[quad] = q_load4(first + (vector * VECTOR_QUADS + quad) * 4);
    return stored_vector(quads);
}

// Bring them to their places.
void keep_key(uint key, uint c, uvec4 made)
{
    uint vector = lane() + LANES * c;
    if (ALL_LANES || vector < VECTORS)
        k_kept[(k_offset + k_first + key * p.k_row) / VECTOR + vector] = made;
}

void keep_value(uint key, uint c, uvec4 made)
{
    uint vector = lane() + LANES * c;
    if (V_VECTORS % LANES == 0 || vector < V_VECTORS)
        v_kept[(v_offset + v_first + key * p.v_row) / VECTOR + vector] = made;
}

// Makes the keys and values of a step in the place of loading them: one to a slot, which keeps it.
void make_keys_and_values(work w, uint first, uint end)
{
    uint key = clamp_key(first + slot(), end);
    bool kept = w.first_row == 0 && first + slot() < end;
    [[unroll]] for (uint c = 0; c < LANE_VECTORS; ++c) {
        keys[c] = make_key(w, key, c);
        if (kept)
            keep_key(key, c, keys[c]);
    }
    [[unroll]] for (uint c = 0; c < V_LANE_VECTORS; ++c) {
        values[c] = make_value(w, key, c);
        if (kept)
            keep_value(key, c, values[c]);
    }
    [[unroll]] for (uint i = LANE_VECTORS; i < KEYS * LANE_VECTORS; ++i)
        keys[i] = uvec4(0);
    [[unroll]] for (uint i = V_LANE_VECTORS; i < KEYS * V_LANE_VECTORS; ++i)
        values[i] = uvec4(0);
}

// The value of a key that is fresh or not.
uvec4 fetch_any_value(work w, uint key, uint c)
{
    return FRESH == 0 || key < p.fresh_first ? fetch_value(key, c) : make_value(w, key, c);
}
#endif

#endif
