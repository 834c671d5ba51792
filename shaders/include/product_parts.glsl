// For products of a few rows, in which the parts of a workgroup have each summed up all its outputs over a part of k:
// adds the parts and stores d. Included after TILE_M, TILE_N, OUTPUTS, LOCAL_SIZE and product_store.glsl, and after
// partial_load(part, i) and partial_store(part, i, value), by which the parts' sums of output i lie in shared memory.
#ifndef VKF_PRODUCT_PARTS_GLSL
#define VKF_PRODUCT_PARTS_GLSL

const uint SEGMENTS = LOCAL_SIZE > OUTPUTS ? LOCAL_SIZE / OUTPUTS : 1; // of the parts, which are added side by side

// `segments` invocations per output, SEGMENTS or 1, each add every segments-th part, and one of them adds their
// results.
void add_parts(uint parts, uint segments, uint d_first, uint row_first, uint col_first)
{
    barrier();
    if (segments > 1) {
        // This invocation alone reads the place that it writes.
        uint segment = gl_LocalInvocationID.x / OUTPUTS, i = gl_LocalInvocationID.x % OUTPUTS;
        float total = 0.0;
        for (uint part = segment; part < parts; part += segments)
            total += partial_load(part, i);
        partial_store(segment, i, total);
        parts = segments;
        barrier();
    }
    for (uint i = gl_LocalInvocationID.x; i < OUTPUTS; i += gl_WorkGroupSize.x) {
        float total = 0.0;
        for (uint part = 0; part < parts; ++part)
            total += partial_load(part, i);
        uint row = row_first + i / TILE_N;
        uint col = col_first + i % TILE_N;
        if (row < p.m && col < p.n)
            store_element(d_first + row * p.ldd + col, col, total);
    }
    barrier();
}

#endif
