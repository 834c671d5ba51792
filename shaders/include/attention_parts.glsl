// Puts together what parts of the keys have left of a row, see shared/attention.h. Included after math.glsl, the
// constant FULLY_MASKED, the declaration of p and float part_load(uint i); PART_WIDTH is the number of sums of a part.
#ifndef VKF_ATTENTION_PARTS_GLSL
#define VKF_ATTENTION_PARTS_GLSL

// A row's parts: `stride` elements each, of which the last two are maximum and total.
struct parts {
    uint begin;
    uint stride;
};

float part_maximum(parts row, uint split)
{
    return part_load(row.begin + split * row.stride + PART_WIDTH);
}

float part_total(parts row, uint split)
{
    return part_load(row.begin + split * row.stride + PART_WIDTH + 1);
}

// The sum of a column's values over some of the parts, relative to the row's maximum, and that of the totals.
struct share {
    float sum;
    float total;
};

// What a part has for a column.
struct column_part {
    float value;
    float maximum;
    float total;
};

column_part load_part(parts row, uint split, uint col)
{
    return column_part(part_load(row.begin + split * row.stride + col), part_maximum(row, split),
                       part_total(row, split));
}

// What all parts of a row have in common.
struct parts_view {
    float maximum;
    bool masked; // none of them saw a key
};

// Adds a part. One that saw no key counts for nothing unless all parts saw none. Without branches, as are the functions
// below: what few invocations do at the end, everything waits for.
void add_part(inout share s, column_part own, parts_view view)
{
    float difference = own.maximum - view.maximum, factor = exp(view.masked ? 0.0 : difference);
    float value = own.value * factor, total = own.total, scaled = total * factor;
    bool broken = is_nan(total), counts = own.total != 0.0;
    counts = view.masked || counts;
    s.total += broken ? total : scaled;
    s.sum += counts ? value : 0.0;
}

// The element of the output whose share all parts have been added to.
float joined(share s, parts_view view)
{
    if (view.masked && FULLY_MASKED != VKF_SHADER_FULLY_MASKED_UNIFORM)
        return FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
    return is_nan(s.total) ? nan_value() : s.sum / (view.masked ? float(p.k_len) : s.total);
}

// For kernels whose invocations each go through all parts of a row:

const uint PARTS_UNROLL = 8; // parts that an invocation has on their way from memory at once

// Brings what parts before have to the view of more of them.
void change_view(inout share s, parts_view before, parts_view view)
{
    float factor = exp(before.maximum - view.maximum), sum = s.sum * factor;
    bool forgotten = before.masked && !view.masked;
    s.total *= factor;
    s.sum = forgotten ? 0.0 : sum;
}

float join_column(parts row, uint col)
{
    share s = share(0.0, 0.0);
    parts_view view = parts_view(part_maximum(row, 0), true);
    for (uint split = 0; split < p.splits; split += PARTS_UNROLL) {
        column_part loaded[PARTS_UNROLL];
        parts_view before = view;
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i)
            loaded[i] = load_part(row, min(split + i, p.splits - 1), col);
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i) {
            bool hidden = loaded[i].total == 0.0;
            view.maximum = max(view.maximum, loaded[i].maximum);
            view.masked = view.masked && hidden;
        }
        change_view(s, before, view);
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i) {
            float value = loaded[i].value, total = loaded[i].total;
            bool beyond = split + i >= p.splits;
            value = beyond ? 0.0 : value;
            total = beyond ? 0.0 : total;
            add_part(s, column_part(value, loaded[i].maximum, total), view);
        }
    }
    return joined(s, view);
}

#endif
