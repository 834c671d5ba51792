// Ranges and errors of tensors, in sums that can be vectorised.
#include "lab/compare/tensor_error.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

// Several sums run side by side: they become vector instructions, and lose less precision than a single sum.
#define LANES 8

static bool is_finite(double value)
{
    return fabs(value) <= DBL_MAX;
}

static void count_others(vkf_tensor_range *range, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        range->nan_count += isnan(values[i]) != 0;
        range->inf_count += isinf(values[i]) != 0;
    }
}

void vkf_tensor_range_add(vkf_tensor_range *range, const double *values, size_t count)
{
    double largest[LANES] = {0};
    double others[LANES] = {0};
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            double magnitude = fabs(values[i + l]);
            double finite = magnitude <= DBL_MAX ? magnitude : 0;
            others[l] += magnitude <= DBL_MAX ? 0.0 : 1.0;
            largest[l] = finite > largest[l] ? finite : largest[l];
        }
    }
    for (size_t i = whole; i < count; i++) {
        double magnitude = fabs(values[i]);
        others[0] += is_finite(magnitude) ? 0.0 : 1.0;
        largest[0] = is_finite(magnitude) && magnitude > largest[0] ? magnitude : largest[0];
    }
    double other_count = 0;
    for (size_t l = 0; l < LANES; l++) {
        other_count += others[l];
        range->largest = largest[l] > range->largest ? largest[l] : range->largest;
    }
    if (other_count > 0)
        count_others(range, values, count);
}

// The power of two that brings values of this magnitude near 1.
static double factor_of(double largest)
{
    int exponent = 0;
    (void)frexp(largest, &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

vkf_tensor_error vkf_tensor_error_begin(const vkf_tensor_range *tested, const vkf_tensor_range *reference, double atol,
                                        double rtol)
{
    return (vkf_tensor_error){
        .tested = *tested,
        .reference = *reference,
        .scale = reference->largest > 0 ? reference->largest : 1,
        .atol = atol,
        .rtol = rtol,
        .tested_factor = factor_of(tested->largest),
        .reference_factor = factor_of(reference->largest),
        .error_factor = factor_of(fmax(tested->largest, reference->largest)),
    };
}

// Takes pairs that are not finite out of the sums by setting them to zero, which agrees and adds nothing.
static void take_out_others(vkf_tensor_error *error, double *tested, double *reference, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double a = tested[i], b = reference[i];
        if (is_finite(a) && is_finite(b))
            continue;
        tested[i] = reference[i] = 0;
        if ((isnan(a) && isnan(b)) || (isinf(a) && isinf(b) && signbit(a) == signbit(b)))
            continue;
        if (error->mismatch_count++ == 0)
            error->mismatch = (vkf_element_pair){error->count + i, a, b};
        error->beyond_count++;
    }
}

typedef struct lane_sums {
    double tested[LANES], reference[LANES], error[LANES], products[LANES];
    double worst[LANES], beyond[LANES];
} lane_sums;

static inline void add_pair(lane_sums *sums, size_t lane, const vkf_tensor_error *error, double a, double b)
{
    double difference = fabs(a - b);
    double limit = error->atol * error->scale + error->rtol * fabs(b);
    double scaled_a = a * error->tested_factor, scaled_b = b * error->reference_factor;
    double scaled = difference * error->error_factor;
    sums->tested[lane] += scaled_a * scaled_a;
    sums->reference[lane] += scaled_b * scaled_b;
    sums->error[lane] += scaled * scaled;
    sums->products[lane] += scaled_a * scaled_b;
    sums->worst[lane] = difference > sums->worst[lane] ? difference : sums->worst[lane];
    sums->beyond[lane] += difference > limit ? 1.0 : 0.0;
}

static void find_worst(vkf_tensor_error *error, const double *tested, const double *reference, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double difference = fabs(tested[i] - reference[i]);
        if (difference > error->worst_error) {
            error->worst_error = difference;
            error->worst = (vkf_element_pair){error->count + i, tested[i], reference[i]};
        }
    }
}

static double total(const double lanes[LANES])
{
    double sum = 0;
    for (size_t l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum;
}

void vkf_tensor_error_add(vkf_tensor_error *error, double *tested, double *reference, size_t count)
{
    lane_sums sums = {0};
    const vkf_tensor_range *a = &error->tested, *b = &error->reference;
    if (a->nan_count + a->inf_count + b->nan_count + b->inf_count > 0)
        take_out_others(error, tested, reference, count);
    size_t whole = count - count % LANES;
    const vkf_tensor_error how = *error; // a copy that the stores below cannot alias
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            add_pair(&sums, l, &how, tested[i + l], reference[i + l]);
    for (size_t i = whole; i < count; i++)
        add_pair(&sums, i - whole, &how, tested[i], reference[i]);
    double worst = 0;
    for (size_t l = 0; l < LANES; l++)
        worst = fmax(worst, sums.worst[l]);
    if (worst > error->worst_error)
        find_worst(error, tested, reference, count);
    error->tested_squares += total(sums.tested);
    error->reference_squares += total(sums.reference);
    error->error_squares += total(sums.error);
    error->products += total(sums.products);
    error->beyond_count += (uint64_t)total(sums.beyond);
    error->count += count;
}

double vkf_tensor_error_rms(const vkf_tensor_error *error)
{
    double difference = sqrt(error->error_squares) / error->error_factor;
    double reference = sqrt(error->reference_squares) / error->reference_factor;
    if (reference > 0)
        return difference / reference;
    return difference > 0 ? HUGE_VAL : 0;
}

double vkf_tensor_error_cosine(const vkf_tensor_error *error)
{
    double lengths = sqrt(error->tested_squares) * sqrt(error->reference_squares);
    if (lengths > 0)
        return fmax(-1, fmin(1, error->products / lengths));
    return error->tested_squares > 0 || error->reference_squares > 0 ? 0 : 1;
}
