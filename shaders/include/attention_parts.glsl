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

// Adds a part. One that saw no key counts for nothing unless all parts saw none, which `masked` says.
void add_part(inout share s, column_part own, float maximum, bool masked)
{
    float factor = masked ? 1.0 : exp(own.maximum - maximum);
    s.total += is_nan(own.total) ? own.total : own.total * factor;
    s.sum += masked || own.total != 0.0 ? own.value * factor : 0.0;
}

// The element of the output whose share all parts have been added to.
float joined(share s, bool masked)
{
    if (masked && FULLY_MASKED != VKF_SHADER_FULLY_MASKED_UNIFORM)
        return FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
    return is_nan(s.total) ? nan_value() : s.sum / (masked ? float(p.k_len) : s.total);
}

#endif
