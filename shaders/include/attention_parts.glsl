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

// Adds a part. One that saw no key counts for nothing unless all parts saw none.
void add_part(inout share s, column_part own, parts_view view)
{
    float factor = view.masked ? 1.0 : exp(own.maximum - view.maximum);
    s.total += is_nan(own.total) ? own.total : own.total * factor;
    s.sum += view.masked || own.total != 0.0 ? own.value * factor : 0.0;
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

parts_view view_parts(parts row)
{
    parts_view view = parts_view(part_maximum(row, 0), true);
    for (uint split = 0; split < p.splits; split += PARTS_UNROLL) {
        float maxima[PARTS_UNROLL], totals[PARTS_UNROLL];
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i) {
            maxima[i] = part_maximum(row, min(split + i, p.splits - 1));
            totals[i] = part_total(row, min(split + i, p.splits - 1));
        }
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i) {
            view.maximum = max(view.maximum, maxima[i]);
            view.masked = view.masked && totals[i] == 0.0;
        }
    }
    return view;
}

float join_column(parts row, uint col, parts_view view)
{
    share s = share(0.0, 0.0);
    for (uint split = 0; split < p.splits; split += PARTS_UNROLL) {
        column_part loaded[PARTS_UNROLL];
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i)
            loaded[i] = load_part(row, min(split + i, p.splits - 1), col);
        [[unroll]] for (uint i = 0; i < PARTS_UNROLL; ++i) {
            if (split + i < p.splits)
                add_part(s, loaded[i], view);
        }
    }
    return joined(s, view);
}

#endif
