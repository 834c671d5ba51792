// Mean and deviation of the rows that a workgroup normalises on their way into something else, so that a LayerNorm
// needs no dispatch of its own. The workgroup reads the rows once more for them. The sums of a product could be
// corrected afterwards instead, as those of an RMSNorm's rows are. But that takes two more sums for each column, and
// they have to be multiplied and added for every element of the weight. What rounds rows needs an RMSNorm's factors
// ahead, too.
//
// Summed up are distances from a shift, and their squares: about 0 the variance would cancel. The shift is the median
// of three elements. A single large one, as hidden states have them, therefore cancels nothing either. An RMSNorm
// shifts nothing.
//
// Included after LOCAL_SIZE, NORM, MOMENT_ROWS, float row_load(uint at), vec4 row_load4(uint at), which reads from a
// multiple of four on, and moment_load(i) and moment_store(i, value), which reach shared memory of two floats for each
// row and invocation.
#ifndef VKF_ROW_MOMENTS_GLSL
#define VKF_ROW_MOMENTS_GLSL

const bool NORM_LAYER = NORM >= VKF_GEMM_NORM_LAYER_F32;

#ifdef GEMV_SUBGROUP
const uint MOMENT_PARTS = LOCAL_SIZE / 4 + 1; // at most
#else
const uint MOMENT_PARTS = LOCAL_SIZE;
#endif
// Quads of a row whose loads are under way together.
const uint MOMENT_STEPS = MOMENT_ROWS < 8 ? 8 / MOMENT_ROWS : 1;

// Shift, one over the deviation, and what is then left to add. The mean itself, as one number, would round a large one.
vec3 moments[MOMENT_ROWS];

float median(float a, float b, float c)
{
    return max(min(a, b), min(max(a, b), c));
}

uint moment_place(uint row, uint part)
{
    return 2 * row * MOMENT_PARTS + part;
}

void store_part(uint row, uint part, vec2 value)
{
    moment_store(moment_place(row, part), value.x);
    moment_store(moment_place(row, part) + MOMENT_PARTS, value.y);
}

vec2 load_part(uint row, uint part)
{
    uint at = moment_place(row, part);
    return vec2(moment_load(at), moment_load(at + MOMENT_PARTS));
}

// Adds what the invocations have, for each of them.
void add_up(inout vec2 sums[MOMENT_ROWS])
{
    uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i) {
#ifdef GEMV_SUBGROUP
        vec2 total = vec2(subgroupAdd(sums[i].x), subgroupAdd(sums[i].y));
        if (subgroupElect())
            store_part(i, gl_SubgroupID, total);
        sums[i] = vec2(0.0);
#else
        store_part(i, lane, sums[i]);
#endif
    }
    barrier();
#ifdef GEMV_SUBGROUP
    for (uint part = 0; part < gl_NumSubgroups; ++part) {
        [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i)
            sums[i] += load_part(i, part);
    }
#else
    for (uint stride = LOCAL_SIZE / 2; stride > 0; stride /= 2) {
        [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i) {
            if (lane < stride)
                store_part(i, lane, load_part(i, lane) + load_part(i, lane + stride));
        }
        barrier();
    }
    [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i)
        sums[i] = load_part(i, 0);
#endif
    barrier(); // the same memory may be written again
}

// Row i begins at first[i] and has `length` elements; `quads` says whether rows begin at multiples of four elements.
void find_moments(uint first[MOMENT_ROWS], uint length, bool quads, float eps)
{
    float shift[MOMENT_ROWS];
    vec2 sums[MOMENT_ROWS];
    uint lane = gl_LocalInvocationID.x, quads_end = quads ? length - length % 4 : 0;
    const uint stride = 4 * gl_WorkGroupSize.x;
    [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i) {
        shift[i] = 0.0;
        if (NORM_LAYER)
            shift[i] = median(row_load(first[i]), row_load(first[i] + length / 2), row_load(first[i] + length - 1));
        sums[i] = vec2(0.0);
    }
    for (uint k = 4 * lane; k < quads_end; k += MOMENT_STEPS * stride) {
        [[unroll]] for (uint step = 0; step < MOMENT_STEPS; ++step) {
            uint at = k + step * stride;
            [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i) {
                vec4 distances = row_load4(first[i] + min(at, quads_end - 4)) - shift[i];
                distances = at < quads_end ? distances : vec4(0.0);
                sums[i] += vec2(dot(distances, vec4(1.0)), dot(distances, distances));
            }
        }
    }
    for (uint k = quads_end + lane; k < length; k += gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i) {
            float distance = row_load(first[i] + k) - shift[i];
            sums[i] += vec2(distance, distance * distance);
        }
    }
    add_up(sums);
    [[unroll]] for (uint i = 0; i < MOMENT_ROWS; ++i) {
        vec2 means = sums[i] / float(length);
        // max() may lose a NaN, which goes on in the mean. RMS has no mean, and therefore no max().
        float factor = inversesqrt((NORM_LAYER ? max(means.y - means.x * means.x, 0.0) : means.y) + eps);
        moments[i] = vec3(shift[i], factor, NORM_LAYER ? -means.x * factor : 0.0);
    }
}

// Elements of a row with these moments, as the norm has them but for weight and bias.
vec4 normalised(vec3 of_row, vec4 value)
{
    return fma(value - of_row.x, vec4(of_row.y), vec4(of_row.z));
}

#endif
