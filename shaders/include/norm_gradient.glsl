// What the gradient of a norm is made of, once the sums of a row are known. Included after the constant RMS.
#ifndef VKF_NORM_GRADIENT_GLSL
#define VKF_NORM_GRADIENT_GLSL

// A row, whose elements are given by their distances from a centre near their mean.
struct norm_row {
    float shift; // of the mean from the centre
    float inverse_deviation;
    float mean;  // of the gradients with regard to the normalised values; 0 with RMS
    float slope; // the gradient's part along the distances, for each unit of them
    bool along;  // false in a row without any gradient: nothing of x, which may be NaN there, is then multiplied
};

// `means` are those of the distance, of its square, of the gradient, and of gradient times distance.
norm_row norm_row_of(vec4 means, float eps)
{
    norm_row row;
    row.shift = RMS != 0 ? 0.0 : means.x;
    // max() may lose a NaN. LayerNorm carries it on in the mean; RMS has no mean, and therefore no max().
    float variance = RMS != 0 ? means.y : max(means.y - row.shift * row.shift, 0.0);
    row.inverse_deviation = inversesqrt(variance + eps);
    row.along = means.zw != vec2(0.0);
    row.mean = RMS != 0 ? 0.0 : means.z;
    row.slope = row.along ? (means.w - row.shift * means.z) * row.inverse_deviation * row.inverse_deviation : 0.0;
    return row;
}

// The means' terms of an element. Where the gradient is 0, it is not multiplied: the distance may be infinite or NaN.
vec4 norm_terms(float distance, float gradient)
{
    return vec4(distance, distance * distance, gradient, gradient != 0.0 ? gradient * distance : 0.0);
}

// With regard to x, of an element with a gradient with regard to its normalised value.
float norm_gradient(norm_row row, float distance, float gradient)
{
    if (row.along)
        gradient -= row.mean + (distance - row.shift) * row.slope;
    return gradient != 0.0 ? gradient * row.inverse_deviation : 0.0;
}

#endif
