// Collects points in columns, and writes paths.
#include "train/train_curve.h"

#include <math.h>
#include <string.h>

#define TICKS 5 // about so many

void vkf_train_span_take(vkf_train_span *span, double value)
{
    if (span->low > span->high)
        *span = (vkf_train_span){value, value};
    span->low = fmin(span->low, value);
    span->high = fmax(span->high, value);
}

vkf_train_span vkf_train_span_not_empty(vkf_train_span span)
{
    if (span.high > span.low)
        return span;
    const double more = span.low != 0 ? fabs(span.low) * 0.1 : 1;
    return (vkf_train_span){span.low - more, span.high + more};
}

vkf_train_span vkf_train_span_with_room(vkf_train_span span, bool keep_low)
{
    const vkf_train_span wide = span.high > span.low ? span : vkf_train_span_not_empty(span);
    const double more = (wide.high - wide.low) * 0.05;
    return (vkf_train_span){keep_low ? span.low : wide.low - more, wide.high + more};
}

double vkf_train_span_place(vkf_train_span span, double value)
{
    return (value - span.low) / (span.high - span.low);
}

double vkf_train_tick_step(vkf_train_span span, bool whole)
{
    const double wanted = (span.high - span.low) / TICKS, power = pow(10, floor(log10(wanted)));
    const double step = wanted > 5 * power   ? 10 * power
                        : wanted > 2 * power ? 5 * power
                        : wanted > power     ? 2 * power
                                             : power;
    return whole ? fmax(step, 1) : step;
}

void vkf_train_points_begin(vkf_train_points *out_points, vkf_train_span x)
{
    memset(out_points, 0, sizeof *out_points);
    out_points->x = x;
}

void vkf_train_points_add(vkf_train_points *points, double x, double value)
{
    if (!isfinite(value))
        return;
    size_t at = (size_t)((x - points->x.low) * VKF_TRAIN_COLUMNS / (points->x.high - points->x.low));
    if (at >= VKF_TRAIN_COLUMNS)
        at = VKF_TRAIN_COLUMNS - 1;
    vkf_train_column *column = &points->columns[at];
    column->low = column->count > 0 ? fmin(column->low, value) : value;
    column->high = column->count > 0 ? fmax(column->high, value) : value;
    column->x_sum += x;
    column->sum += value;
    column->count++;
    points->count++;
    points->merged = points->merged || column->count > 1;
}

void vkf_train_points_widen(const vkf_train_points *points, vkf_train_span *values)
{
    for (const vkf_train_column *c = points->columns; c < points->columns + VKF_TRAIN_COLUMNS; c++)
        if (c->count > 0)
            vkf_train_span_take(values, c->sum / (double)c->count);
}

static void write_point(FILE *out, const vkf_train_points *points, const vkf_train_column *column, double value,
                        vkf_train_span values, bool first)
{
    const double x = vkf_train_span_place(points->x, column->x_sum / (double)column->count);
    const double y = 1 - vkf_train_span_place(values, value);
    fprintf(out, "%c%.1f %.1f", first ? 'M' : 'L', x * VKF_TRAIN_CURVE_SIZE, y * VKF_TRAIN_CURVE_SIZE);
}

void vkf_train_points_write_line(FILE *out, const vkf_train_points *points, vkf_train_span values)
{
    bool first = true;
    for (const vkf_train_column *c = points->columns; c < points->columns + VKF_TRAIN_COLUMNS; c++) {
        if (c->count == 0)
            continue;
        write_point(out, points, c, c->sum / (double)c->count, values, first);
        first = false;
    }
}

void vkf_train_points_write_band(FILE *out, const vkf_train_points *points, vkf_train_span values)
{
    bool first = true;
    for (const vkf_train_column *c = points->columns; c < points->columns + VKF_TRAIN_COLUMNS; c++) {
        if (c->count == 0)
            continue;
        write_point(out, points, c, c->high, values, first);
        first = false;
    }
    for (const vkf_train_column *c = points->columns + VKF_TRAIN_COLUMNS; c-- > points->columns;)
        if (c->count > 0)
            write_point(out, points, c, c->low, values, false);
    fputc('Z', out);
}
