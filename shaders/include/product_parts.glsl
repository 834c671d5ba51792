// For products of a few rows, in which the parts of a workgroup have each summed up all its outputs over a part of k:
// adds the parts and stores d. Included after LOCAL_SIZE, few_rows.glsl and product_store.glsl, and after
// partial_load(part, i) and partial_store(part, i, value), by which sum i of a part lies in shared memory.
#ifndef VKF_PRODUCT_PARTS_GLSL
#define VKF_PRODUCT_PARTS_GLSL

const uint SEGMENTS = LOCAL_SIZE > SUMS ? LOCAL_SIZE / SUMS : 1; // of the parts, which are added side by side
const uint STORED_N = TILE_N / (1 + GATE);                        // columns of d

float sum_of_parts(uint parts, uint i)
{
    float total = 0.0;
    for (uint part = 0; part < parts; ++part)
        total += partial_load(part, i);
    return total;
}

// The factor by which a row is normalised.
float norm_factor(uint parts, uint row)
{
    return RMS != 0 ? inversesqrt(sum_of_parts(parts, OUTPUTS + row) / float(p.k) + p.norm_eps) : 1.0;
}

void store_gated(uint at, uint col, float gate, float total)
{
    float by = activate(ACTIVATION, p.alpha * gate + (HAS_BIAS != 0 ? bias_load(col) : 0.0));
    d_store(at, by * (p.alpha * total + (HAS_BIAS != 0 ? bias_load(p.d_n + col) : 0.0)));
}

// `segments` invocations per sum, SEGMENTS or 1, each add every segments-th part, and one of them adds their results.
void add_parts(uint parts, uint segments, uint d_first, uint row_first, uint col_first)
{
    barrier();
    if (segments > 1) {
        // This invocation alone reads the place that it writes.
        uint segment = gl_LocalInvocationID.x / SUMS, i = gl_LocalInvocationID.x % SUMS;
        if (segment < segments) {
            float total = 0.0;
            for (uint part = segment; part < parts; part += segments)
                total += partial_load(part, i);
            partial_store(segment, i, total);
        }
        parts = segments;
        barrier();
    }
    for (uint i = gl_LocalInvocationID.x; i < TILE_M * STORED_N; i += gl_WorkGroupSize.x) {
        uint m = i / STORED_N, n = i % STORED_N;
        uint row = row_first + m, col = col_first / (1 + GATE) + n, at = d_first + row * p.ldd + col;
        float factor = norm_factor(parts, m), total = factor * sum_of_parts(parts, m * TILE_N + n);
        bool inside = row < p.m && col < p.d_n;
        if (inside && GATE != 0)
            store_gated(at, col, total, factor * sum_of_parts(parts, m * TILE_N + STORED_N + n));
        else if (inside)
            store_element(at, col, total);
    }
    barrier();
}

#endif
