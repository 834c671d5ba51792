// Curves over the steps of a training run: many points become few columns, which are drawn as paths of SVG.
#ifndef VKF_PROGRAM_TRAIN_CURVE_H
#define VKF_PROGRAM_TRAIN_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define VKF_TRAIN_COLUMNS 400
#define VKF_TRAIN_CURVE_SIZE 1000 // paths are in a square of this size

typedef struct vkf_train_span {
    double low, high; // low > high: nothing is in it
} vkf_train_span;

#define VKF_TRAIN_NO_SPAN ((vkf_train_span){1, 0})

void vkf_train_span_take(vkf_train_span *span, double value);
// The same span, or a wider one where it has one value alone.
vkf_train_span vkf_train_span_not_empty(vkf_train_span span);
// With a twentieth more above, and below unless `keep_low` says that it begins there.
vkf_train_span vkf_train_span_with_room(vkf_train_span span, bool keep_low);
// 0 at the low end, 1 at the high one.
double vkf_train_span_place(vkf_train_span span, double value);
// The distance of four to ten ticks: 1, 2 or 5 times a power of ten, and no fraction if they are whole numbers.
double vkf_train_tick_step(vkf_train_span span, bool whole);

// Points with about the same place on the x axis.
typedef struct vkf_train_column {
    size_t count;
    double x_sum, sum, low, high; // of the points
} vkf_train_column;

typedef struct vkf_train_points {
    vkf_train_span x;
    size_t count; // of points
    bool merged;  // a column has several
    vkf_train_column columns[VKF_TRAIN_COLUMNS];
} vkf_train_points;

void vkf_train_points_begin(vkf_train_points *out_points, vkf_train_span x);
// A value that is not finite is no point.
void vkf_train_points_add(vkf_train_points *points, double x, double value);
// Widens a span by what the line goes through. The band may be beyond it.
void vkf_train_points_widen(const vkf_train_points *points, vkf_train_span *values);

// Write the `d` of a path: through the columns' means, and around what they have.
void vkf_train_points_write_line(FILE *out, const vkf_train_points *points, vkf_train_span values);
void vkf_train_points_write_band(FILE *out, const vkf_train_points *points, vkf_train_span values);

#endif
