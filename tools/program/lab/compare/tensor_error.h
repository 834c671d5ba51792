// How far one tensor is from another, in double precision. Elements come in pieces, in two rounds over both tensors.
// The first round finds their ranges, which the second needs to judge the differences.
#ifndef VKF_PROGRAM_TENSOR_ERROR_H
#define VKF_PROGRAM_TENSOR_ERROR_H

#include <stddef.h>
#include <stdint.h>

// Begins as {0}.
typedef struct vkf_tensor_range {
    double largest; // magnitude of the finite values
    uint64_t nan_count, inf_count;
} vkf_tensor_range;

void vkf_tensor_range_add(vkf_tensor_range *range, const double *values, size_t count);

typedef struct vkf_element_pair {
    uint64_t index; // in the flattened tensor
    double tested, reference;
} vkf_element_pair;

// The result is in the members before the sums. A NaN agrees with a NaN, and an infinity with the same infinity. Any
// other pair with one of these is a mismatch and beyond every tolerance. Errors and sums are those of the pairs in
// which both are finite.
typedef struct vkf_tensor_error {
    vkf_tensor_range tested, reference;
    double scale; // the reference's largest magnitude; 1 where that is 0
    double atol;  // multiplied by the scale
    double rtol;
    uint64_t count;          // of pairs
    double worst_error;      // the largest |tested - reference|
    vkf_element_pair worst;  // the first pair with the worst error; meaningless while worst_error is 0
    uint64_t mismatch_count; // pairs in which NaN or infinities disagree
    vkf_element_pair mismatch;
    uint64_t beyond_count; // |tested - reference| > atol * scale + rtol * |reference|, and mismatches

    // Sums of squares and products. Values are multiplied by these powers of two first, so that no sum overflows or
    // vanishes.
    double tested_factor, reference_factor, error_factor;
    double tested_squares, reference_squares, error_squares, products;
} vkf_tensor_error;

// Begins the second round; atol and rtol are finite and not negative.
vkf_tensor_error vkf_tensor_error_begin(const vkf_tensor_range *tested, const vkf_tensor_range *reference, double atol,
                                        double rtol);
// Adds the next pairs, all of which the ranges have seen. Overwrites the values.
void vkf_tensor_error_add(vkf_tensor_error *error, double *tested, double *reference, size_t count);

// The root mean square of the differences over that of the reference; infinite where only the reference is zero.
double vkf_tensor_error_rms(const vkf_tensor_error *error);
// The cosine of the two tensors as vectors; 1 where both are zero, 0 where one of them is.
double vkf_tensor_error_cosine(const vkf_tensor_error *error);

#endif
