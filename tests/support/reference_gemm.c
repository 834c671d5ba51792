// Matrix products with their epilogue, and the activations.
#include "op/activation_value.h"
#include "support/reference.h"

static size_t entry_offset(vkf_ref_layout layout, uint32_t entry, uint32_t batch_inner)
{
    return entry / batch_inner * layout.outer + entry % batch_inner * layout.inner;
}

// Spells out the layout that {0} stands for.
static vkf_ref_layout resolve_layout(vkf_ref_layout layout, uint32_t rows, uint32_t cols, uint32_t batch_inner)
{
    if (layout.row > 0)
        return layout;
    size_t matrix = (size_t)rows * cols;
    return (vkf_ref_layout){.row = cols, .outer = matrix * batch_inner, .inner = matrix};
}

static double dot(const vkf_ref_gemm_desc *desc, const float *a, size_t a_row, const float *b, size_t b_row, uint32_t i,
                  uint32_t j)
{
    double sum = 0;
    for (uint32_t k = 0; k < desc->k; k++) {
        double a_value = desc->transpose_a ? a[k * a_row + i] : a[i * a_row + k];
        double b_value = desc->transpose_b ? b[j * b_row + k] : b[k * b_row + j];
        sum += a_value * b_value;
    }
    return sum;
}

void vkf_ref_gemm(const vkf_ref_gemm_desc *desc)
{
    uint32_t inner = desc->batch_inner > 0 ? desc->batch_inner : 1;
    uint32_t a_rows = desc->transpose_a ? desc->k : desc->m;
    uint32_t b_rows = desc->transpose_b ? desc->n : desc->k;
    vkf_ref_layout a_layout = resolve_layout(desc->a_layout, a_rows, desc->transpose_a ? desc->m : desc->k, inner);
    vkf_ref_layout b_layout = resolve_layout(desc->b_layout, b_rows, desc->transpose_b ? desc->k : desc->n, inner);
    vkf_ref_layout out_layout = resolve_layout(desc->out_layout, desc->m, desc->n, inner);
    for (uint32_t e = 0; e < desc->batch; e++) {
        const float *a = desc->alpha != 0 ? desc->a + entry_offset(a_layout, e, inner) : NULL;
        const float *b = desc->alpha != 0 ? desc->b + entry_offset(b_layout, e, inner) : NULL;
        size_t first = entry_offset(out_layout, e, inner);
        for (uint32_t i = 0; i < desc->m; i++) {
            for (uint32_t j = 0; j < desc->n; j++) {
                size_t at = first + i * out_layout.row + j;
                double value = desc->alpha != 0 ? desc->alpha * dot(desc, a, a_layout.row, b, b_layout.row, i, j) : 0;
                if (desc->c && desc->beta != 0)
                    value += (double)desc->beta * desc->c[at];
                if (desc->bias)
                    value += desc->bias[j];
                value = vkf__activation_value(desc->activation, value);
                if (desc->residual)
                    value += desc->residual[at];
                desc->out[at] = (float)value;
            }
        }
    }
}
