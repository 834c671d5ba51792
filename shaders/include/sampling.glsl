// What the kernels that sample have in common: keys with the order of the logits, probabilities, histograms, and the
// random word. Included behind the parameters `p`, x_load(), `seen_data`, grid.glsl and local_size.glsl, and behind
// BINS and BIN_GROUPS, the bins of a histogram and the groups in which they are searched; no workgroup is smaller than
// either BIN_GROUPS or the bins of a group.
//
// Probabilities in histograms are integers, multiples of 2^-30, so that a sum does not depend on the order of its
// parts, and the same input gives the same token every time.
#ifndef VKF_SAMPLING_GLSL
#define VKF_SAMPLING_GLSL

#include "order_key.glsl"
#include "philox.glsl"
#include "workgroup_reduce.glsl"

const uint UNROLL = VKF_SAMPLE_UNROLL; // so that long rows stay below lavapipe's limit of 65,535 iterations
const uint BINS_PER_GROUP = BINS / BIN_GROUPS;
const uint PLACE_LANES = 16;       // invocations that share a long run of columns, to read side by side
const float ONE = 1073741824.0;    // of probability
const uint NO_TOKEN = 0xffffffffu; // -1

shared uvec2 best[LOCAL_SIZE]; // (key, index)
shared float partial[LOCAL_SIZE];
shared uint bins[BINS];
shared uint group_sums[BIN_GROUPS];
shared uvec2 found_group; // (group, sum of those before it)
shared uvec3 found;       // (bin, sum of those before it, its own)

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint cols;
uint lane;
float temperature;
float min_p;
float penalty;
uint row_first;  // of the row's logits
uint seen_first; // of its words

float peak;  // the row's largest logit
float scale; // ONE over the sum of the weights

void read_params(uint row)
{
    cols = p.cols;
    lane = gl_LocalInvocationID.x;
    temperature = p.temperature;
    min_p = p.min_p;
    penalty = p.repetition_penalty;
    row_first = row * cols;
    seen_first = seen_offset + row * ((cols + 31) / 32);
}

// The penalised logit, which must be the same in every pass, bit by bit.
float logit(uint col)
{
    precise float value = x_load(row_first + col);
    if (HAS_SEEN != 0 && (seen_data[seen_first + col / 32] >> (col % 32) & 1u) != 0u)
        value = value < 0.0 ? value * penalty : value / penalty;
    return value;
}

// A number proportional to the probability, and 1 for the largest.
float weight_of(float value)
{
    return value == peak ? 1.0 : exp(max((value - peak) / temperature, -100.0));
}

// The probability, in multiples of 2^-30.
uint mass_of(float value)
{
    return uint(weight_of(value) * scale + 0.5);
}

// (key, index) of the largest logit among the invocation's columns from `begin` on; (0, -1): it has none.
uvec2 own_largest(uint begin, uint end)
{
    uvec2 own = NOTHING;
    for (uint first = begin + lane; first < end; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            uvec2 candidate = uvec2(order_key(logit(min(col, cols - 1))), col);
            // No column twice: rank_reached() counts what the invocations saw.
            own = col < end ? better(own, candidate) : own;
        }
    }
    return own;
}

// The best of what the invocations bring.
uvec2 best_of_all(uvec2 own)
{
    best[lane] = own;
    WORKGROUP_REDUCE(best, better)
    return best[0];
}

bool is_number(uint key)
{
    return key > KEY_LOWEST && key < KEY_HIGHEST;
}

// The sum of the weights of one iteration's columns, as far as their rank is within the limit. A rank is a key in
// reversed order: the largest logit has the lowest rank. Sums of iterations, which are added up apart, round a long
// row's sum less often.
float step_weights(uint first, uint rank_limit)
{
    float sum = 0.0;
    [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
        uint col = first + i * gl_WorkGroupSize.x;
        float value = logit(min(col, cols - 1));
        sum += col < cols && ~order_key(value) <= rank_limit ? weight_of(value) : 0.0;
    }
    return sum;
}

float sum_of_all(float own)
{
    partial[lane] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    return partial[0];
}

void clear_bins()
{
    for (uint i = lane; i < BINS; i += gl_WorkGroupSize.x)
        bins[i] = 0u;
    barrier();
}

// The sum of all bins, after they were filled.
uint bins_total()
{
    barrier();
    if (lane < BIN_GROUPS) {
        uint sum = 0u;
        for (uint i = 0; i < BINS_PER_GROUP; ++i) // in turns: neighbours read from different banks
            sum += bins[lane * BINS_PER_GROUP + (lane + i) % BINS_PER_GROUP];
        group_sums[lane] = sum;
    }
    barrier();
    uint total = 0u;
    for (uint i = 0; i < BIN_GROUPS; ++i)
        total += group_sums[i];
    return total;
}

// The bin at which the running sum reaches `target`, which lies in 1 .. bins_total(), the sum before it, and the bin's
// own. Called after bins_total(). One bin alone has fewer than the target before it and reaches it itself.
uvec3 find_bin(uint target)
{
    if (lane < BIN_GROUPS) {
        uint before = 0u;
        for (uint i = 0; i < BIN_GROUPS; ++i)
            before += i < lane ? group_sums[i] : 0u;
        if (before < target && target - before <= group_sums[lane])
            found_group = uvec2(lane, before);
    }
    barrier();
    uint first = found_group.x * BINS_PER_GROUP;
    if (lane < BINS_PER_GROUP) {
        uint before = found_group.y;
        for (uint i = 0; i < BINS_PER_GROUP; ++i)
            before += i < lane ? bins[first + i] : 0u;
        if (before < target && target - before <= bins[first + lane])
            found = uvec3(first + lane, before, bins[first + lane]);
    }
    barrier();
    return found;
}

// Adds each logit between `begin` and `end` within the limit to the bin of its rank's digit, which begins at bit
// `shift`, if the bits in `above`, those of the digits above it, are the prefix's.
void fill_bins(uint begin, uint end, uint rank_limit, uint above, uint shift, uint prefix, bool by_mass)
{
    for (uint first = begin + lane; first < end; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            float value = logit(min(col, cols - 1));
            uint rank = ~order_key(value);
            if (col < end && rank <= rank_limit && (rank & above) == prefix)
                atomicAdd(bins[(rank & ~above) >> shift], by_mass ? mass_of(value) : 1u);
        }
    }
}

// The probability of a token as far as it stayed.
uint place_mass(uint col, uint end, uint rank_limit)
{
    float value = logit(min(col, cols - 1));
    bool stays = col < end && ~order_key(value) <= rank_limit && weight_of(value) >= min_p;
    return stays ? mass_of(value) : 0u;
}

// Puts into each bin the probability of `width` tokens between `begin` and `end`, as far as they stayed. Neighbours
// read columns side by side: of one bin where it has many, so that each adds to it once, and else of bins side by side.
void fill_places(uint rank_limit, uint begin, uint end, uint width)
{
    clear_bins();
    uint sharing = width >= PLACE_LANES ? PLACE_LANES : 1u;
    uint each = gl_WorkGroupSize.x / sharing; // bins at a time
    for (uint bin = lane / sharing; bin < BINS; bin += each) {
        uint first = begin + bin * width, last = min(first + width, end), sum = 0u;
        for (uint col = first + lane % sharing; col < last; col += UNROLL * sharing)
            [[unroll]] for (uint i = 0; i < UNROLL; ++i)
                sum += place_mass(col + i * sharing, last, rank_limit);
        if (sum > 0u)
            atomicAdd(bins[bin], sum);
    }
}

// The place of the row's draw in a sum of probabilities, from 1 on, by the first random word.
uint drawn_place(uint row, uint total)
{
    uvec4 words = philox(uvec4(row, p.step, 0u, 0u), uvec2(p.seed_low, p.seed_high));
    uint place, low;
    umulExtended(words.x, total, place, low);
    return place + 1u;
}

// Narrows the tokens between `begin` and `end` down to one, by a factor of BINS each time. `target` is the place of the
// draw among them; 0: they are the whole row's, and it is drawn here.
uint draw(uint row, uint rank_limit, uint begin, uint end, uint target)
{
    while (end - begin > 1) {
        uint width = (end - begin + BINS - 1) / BINS;
        barrier(); // all have read the bins
        fill_places(rank_limit, begin, end, width);
        uint total = bins_total();
        if (target == 0u)
            target = drawn_place(row, total);
        uvec3 at = find_bin(target);
        target -= at.y;
        begin += at.x * width;
        end = min(begin + width, end);
    }
    return begin;
}

void give_token(uint row, uint token)
{
    out_store(row * p.out_stride + p.out_first, int(token));
    if (HAS_SEEN != 0 && token != NO_TOKEN)
        seen_data[seen_first + token / 32] |= 1u << (token % 32);
}

#endif
