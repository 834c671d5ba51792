// Masks of attention scores, for every kernel that applies them. The including kernel has declared
//   - constants MASK_KIND, KEY_MASK_KIND, CAUSAL, WINDOW and SCORE_FORM (values in shared/types.h),
//   - p, whose struct has mask_cols, mask_batch, mask_head, mask_row, key_mask_batch, causal_offset, window,
//     distance_offset and soft_cap,
//   - READ(bytes, .., mask) and READ(bytes, .., key_mask),
//   - SLOPES_BINDING and SINKS_BINDING, of texel buffers whose offsets are slopes_offset and sinks_offset.
//
// A masked score is MASKED, -inf, as an added mask may make it. Every finite score is a value, the lowest number, too.
// A running maximum starts at that number, LOWEST, so that no difference of scores is inf - inf. NaN or +inf anywhere
// in a row makes the row NaN, as in PyTorch.
#ifndef VKF_MASK_GLSL
#define VKF_MASK_GLSL

#include "math.glsl"

const float LOWEST = -3.402823466e38;
#define MASKED uintBitsToFloat(0xff800000u)

const bool CAPPED = (SCORE_FORM & VKF_SHADER_SCORE_CAPPED) != 0;
const bool SLOPED = (SCORE_FORM & VKF_SHADER_SCORE_SLOPED) != 0;
const bool SUNK = (SCORE_FORM & VKF_SHADER_SCORE_SUNK) != 0;

layout(set = 0, binding = SLOPES_BINDING) uniform textureBuffer slopes_texels;
layout(set = 0, binding = SINKS_BINDING) uniform textureBuffer sinks_texels;

// Where the masks of one row (one query of one head) lie.
struct mask_view {
    uint mask;     // of the row in mask
    uint key_mask; // of the batch entry in key_mask
    int key_count; // keys of the batch entry
    int position;  // last key under the causal mask
    int origin;    // key at the distance 0
    float slope;   // of the head
};

mask_view view_mask(uint b, uint h, uint l)
{
    mask_view view;
    view.mask = b * p.mask_batch + h * p.mask_head + l * p.mask_row;
    view.key_mask = b * p.key_mask_batch;
    view.key_count = 0x7fffffff;
    if (KEY_MASK_KIND == VKF_SHADER_MASK_LENGTHS)
        view.key_count = key_mask_load_i32(view.key_mask);
    int own = int(l);
    if (CAUSAL == VKF_SHADER_CAUSAL_LENGTHS && KEY_MASK_KIND == VKF_SHADER_MASK_LENGTHS)
        own += view.key_count;
    view.position = own + p.causal_offset;
    view.origin = own + p.distance_offset;
    view.slope = 1.0;
    if (SLOPED)
        view.slope = texelFetch(slopes_texels, int(slopes_offset + h)).x;
    return view;
}

bool is_visible(mask_view view, uint col)
{
    bool visible = true;
    if (MASK_KIND == VKF_SHADER_MASK_BOOL_EXCLUDE)
        visible = !mask_load_bool(view.mask + col);
    if (MASK_KIND == VKF_SHADER_MASK_BOOL_ATTEND)
        visible = mask_load_bool(view.mask + col);
    if (KEY_MASK_KIND == VKF_SHADER_MASK_BOOL_EXCLUDE)
        visible = visible && !key_mask_load_bool(view.key_mask + col);
    if (KEY_MASK_KIND == VKF_SHADER_MASK_BOOL_ATTEND)
        visible = visible && key_mask_load_bool(view.key_mask + col);
    if (KEY_MASK_KIND == VKF_SHADER_MASK_LENGTHS)
        visible = visible && int(col) < view.key_count;
    if (CAUSAL != 0)
        visible = visible && int(col) <= view.position;
    if (WINDOW != 0)
        visible = visible && view.position - int(col) < int(min(p.window, 0x7fffffffu));
    return visible;
}

// By bits, because a compiler may assume that there are no infinities.
bool is_masked(float score)
{
    return floatBitsToUint(score) == 0xff800000u;
}

// A scaled score on its way to the masks.
float cap_score(float score)
{
    return CAPPED ? p.soft_cap * tanh_accurate(score / p.soft_cap) : score;
}

// What cap_score() multiplies the gradient of its argument by, from its result.
float cap_slope(float capped)
{
    float share = capped / p.soft_cap;
    return CAPPED ? 1.0 - share * share : 1.0;
}

// What is added to the score of a column for its query: -inf masks it whatever the slope. The product is rounded by
// itself: of a low number it is so large that gradients, which compute scores again, must find the same to the bit.
float added_by_query(mask_view view, uint col)
{
    float added = SLOPED ? -abs(float(int(col) - view.origin)) : 0.0;
    if (MASK_KIND == VKF_SHADER_MASK_ADDITIVE)
        added = mask_load_f32(view.mask + col);
    precise float sloped = view.slope * added;
    return SLOPED && !is_masked(added) ? sloped : added;
}

// The score of a column below mask_cols under the masks; MASKED where it is masked. The masks that are added are added
// to each other first, as PyTorch does: two of the lowest number are -inf together.
float mask_score(mask_view view, uint col, float score)
{
    float added = added_by_query(view, col);
    if (KEY_MASK_KIND == VKF_SHADER_MASK_ADDITIVE)
        added += key_mask_load_f32(view.key_mask + col);
    return is_visible(view, col) ? score + added : MASKED;
}

// Columns [x, y) below mask_cols; no row of a block sees any other column below mask_cols. They follow from the length
// of the batch entry, and from the causal mask and the window of the block's first and last query.
uvec2 visible_columns(mask_view first, mask_view last)
{
    uint begin = 0;
    uint end = p.mask_cols;
    if (KEY_MASK_KIND == VKF_SHADER_MASK_LENGTHS)
        end = min(end, uint(max(first.key_count, 0)));
    if (CAUSAL != 0)
        end = last.position < 0 ? 0u : min(end, uint(last.position) + 1u);
    if (WINDOW != 0) {
        int window = int(min(p.window, 0x7fffffffu));
        begin = first.position >= window ? uint(first.position - window) + 1u : 0u;
    }
    return uvec2(min(begin, end), end);
}

// exp(score - maximum), 0 for a masked score, NaN for one that is NaN or +inf.
float weight(float score, float maximum)
{
    if (is_nan(score) || floatBitsToUint(score) == 0x7f800000u)
        return nan_value();
    return is_masked(score) ? 0.0 : exp(score - maximum);
}

// The maximum and the total that the softmax of a row of head h begins with: those of its sink, if it has one here.
vec2 start_softmax(uint h, bool here)
{
    vec2 begun = vec2(LOWEST, 0.0);
    if (SUNK) {
        float sink = texelFetch(sinks_texels, int(sinks_offset + h)).x;
        begun.x = here && sink > LOWEST ? sink : LOWEST;
        begun.y = here ? weight(sink, begun.x) : 0.0;
    }
    return begun;
}

#endif
