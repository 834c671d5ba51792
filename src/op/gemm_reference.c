// The scalar reference of matrix products: shared/gemm.h says what is computed, and shared/blocks.h how weights lie.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "op/activation_value.h"
#include "op/execution.h"
#include "op/gemm_cases.h"
#include "shared/blocks.h"
#include "shared/gemm_rows.h"
#include "shared/quantize_rows.h"

// The factors of one entry of the batch as rows of k numbers, (m, k) and (n, k), and where they were read from.
typedef struct factors {
    double *a, *b;
    uint64_t a_first, b_first; // UINT64_MAX: nowhere yet
} factors;

static float float_at(const vkf__execution *e, uint32_t binding, uint64_t index)
{
    const uint32_t word = vkf__load_word(e, binding, index);
    float value = 0;
    memcpy(&value, &word, sizeof value);
    return value;
}

// An element of a in blocks of signed bytes. Those for a weight of nibbles have the even ones of every 8 first.
static double quantized_element(const vkf__execution *e, uint64_t index)
{
    const uint64_t block = index / VKF_QUANTIZE_ROWS_DEPTH * VKF_QUANTIZE_ROWS_WORDS;
    const uint32_t at = index % VKF_QUANTIZE_ROWS_DEPTH;
    const uint32_t place = e->kernel->types[1] == VKF_DTYPE_Q4 ? at / 8 * 8 + at % 2 * 4 + at % 8 / 2 : at;
    const uint32_t word = vkf__load_word(e, VKF_GEMM_BINDING_A, block + place / 4);
    return float_at(e, VKF_GEMM_BINDING_A, block + VKF_QUANTIZE_ROWS_SCALE) * (double)(int8_t)(word >> place % 4 * 8);
}

// An element of b in blocks: column `col` at depth k.
static double block_element(const vkf__execution *e, uint64_t col, uint64_t k)
{
    const struct vkf_gemm_params *p = e->params;
    const bool nibbles = e->kernel->types[1] == VKF_DTYPE_Q4;
    const uint64_t tiles = p->ldb / VKF_GEMM_PANEL / VKF_BLOCKS_DEPTH, c = col % VKF_GEMM_PANEL;
    const uint64_t tile =
        (col / VKF_GEMM_PANEL * tiles + k / VKF_BLOCKS_DEPTH) * (nibbles ? VKF_BLOCKS_Q4_WORDS : VKF_BLOCKS_Q8_WORDS);
    const uint32_t each = nibbles ? 8 : 4, at = k % VKF_BLOCKS_DEPTH;
    const uint64_t row = tile + VKF_BLOCKS_HEAD + at / each * VKF_GEMM_PANEL;
    const uint32_t head = vkf__load_word(e, VKF_GEMM_BINDING_B, tile + c / 2) >> (c % 2 * 16) & 0xffff;
    const uint32_t word = vkf__load_word(e, VKF_GEMM_BINDING_B, row + c);
    const double scale = vkf__float_from_half((uint16_t)(nibbles ? head & 0xfff0 : head));
    return scale * (nibbles ? (double)(word >> at % 8 * 4 & 15) - (head & 15) : (double)(int8_t)(word >> at % 4 * 8));
}

static double a_element(const vkf__execution *e, uint64_t first, uint64_t row, uint64_t k)
{
    const struct vkf_gemm_params *p = e->params;
    const bool transposed = e->spec[VKF_GEMM_SPEC_TRANSPOSE_A];
    const uint64_t index = first + (transposed ? k * p->lda + row : row * p->lda + k);
    return e->kernel->types[0] == VKF_DTYPE_I32 ? quantized_element(e, index) : vkf__load(e, VKF_GEMM_BINDING_A, index);
}

static double b_element(const vkf__execution *e, uint64_t first, uint64_t col, uint64_t k)
{
    const struct vkf_gemm_params *p = e->params;
    const uint32_t layout = e->spec[VKF_GEMM_SPEC_B_LAYOUT];
    const bool panels = layout == VKF_GEMM_B_PANELS;
    const uint64_t step = e->kernel->fixes_rows ? e->spec[VKF_GEMM_SPEC_B_ROW] : panels ? VKF_GEMM_PANEL : p->ldb;
    if (layout == VKF_GEMM_B_Q8 || layout == VKF_GEMM_B_Q4)
        return block_element(e, col, k);
    if (layout == VKF_GEMM_B_NK)
        return vkf__load(e, VKF_GEMM_BINDING_B, first + col * p->ldb + k);
    const uint64_t column = panels ? col / VKF_GEMM_PANEL * p->ldb + col % VKF_GEMM_PANEL : col;
    return vkf__load(e, VKF_GEMM_BINDING_B, first + column + k * step);
}

// Normalises a row of a.
static void normalise(const vkf__execution *e, double *row)
{
    const struct vkf_gemm_params *p = e->params;
    const uint32_t kind = e->spec[VKF_GEMM_SPEC_NORM];
    const bool layer = kind == VKF_GEMM_NORM_LAYER_F32 || kind == VKF_GEMM_NORM_LAYER_F16;
    double mean = 0, squares = 0;
    for (uint32_t k = 0; layer && k < p->k; k++)
        mean += row[k] / p->k;
    for (uint32_t k = 0; k < p->k; k++)
        squares += (row[k] - mean) * (row[k] - mean);
    const double scale = 1 / sqrt(squares / p->k + (double)p->norm_eps);
    for (uint32_t k = 0; k < p->k; k++) {
        row[k] = (row[k] - mean) * scale * vkf__load(e, VKF_GEMM_BINDING_BIAS, p->norm_weight_first + k);
        if (layer)
            row[k] += vkf__load(e, VKF_GEMM_BINDING_BIAS, p->norm_bias_first + k);
    }
}

// Reads the factors of an entry, unless they are those of the one before.
static void load(const vkf__execution *e, uint64_t a_first, uint64_t b_first, factors *f)
{
    const struct vkf_gemm_params *p = e->params;
    const bool norms = (e->kernel->offers & VKF_FORM_NORMED) && e->spec[VKF_GEMM_SPEC_NORM] != VKF_GEMM_NORM_NONE;
    for (uint64_t row = 0; a_first != f->a_first && row < p->m; row++) {
        for (uint64_t k = 0; k < p->k; k++)
            f->a[row * p->k + k] = a_element(e, a_first, row, k);
        if (norms)
            normalise(e, f->a + row * p->k);
    }
    for (uint64_t col = 0; b_first != f->b_first && col < p->n; col++)
        for (uint64_t k = 0; k < p->k; k++)
            f->b[col * p->k + k] = b_element(e, b_first, col, k);
    f->a_first = a_first;
    f->b_first = b_first;
}

// Four sums, of which none waits for another.
static double dot(const double *a, const double *b, uint32_t begin, uint32_t end)
{
    double sums[4] = {0};
    for (uint32_t k = begin; k < end; k++)
        sums[k % 4] += a[k] * b[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// What a column gives before the activation; where alpha is 0, a and b do not count.
static double column(const vkf__execution *e, const factors *f, uint64_t row, uint64_t col)
{
    const struct vkf_gemm_params *p = e->params;
    if (col >= p->n)
        return NAN;
    double value = p->alpha == 0.0f ? 0 : p->alpha * dot(f->a + row * p->k, f->b + col * p->k, 0, p->k);
    if (e->spec[VKF_GEMM_SPEC_HAS_BIAS])
        value += vkf__load(e, VKF_GEMM_BINDING_BIAS, p->bias_first + col);
    return value;
}

static void put(const vkf__execution *e, const factors *f, uint64_t first, uint64_t row, uint64_t col)
{
    const struct vkf_gemm_params *p = e->params;
    const uint64_t at = first + row * p->ldd + col;
    const vkf_activation activation = (vkf_activation)e->spec[VKF_GEMM_SPEC_ACTIVATION];
    const bool gates = (e->kernel->offers & VKF_FORM_GATED) && e->spec[VKF_GEMM_SPEC_GATE],
               after = e->spec[VKF_GEMM_SPEC_ADD_AFTER];
    const double added = p->beta == 0.0f ? 0 : p->beta * vkf__load(e, VKF_GEMM_BINDING_D, at);
    double value = vkf__activation_value(activation, column(e, f, row, col) + (after ? 0 : added));
    if (gates)
        value *= column(e, f, row, col + p->n / 2);
    vkf__store(e, VKF_GEMM_BINDING_D, at, value + (after ? added : 0));
}

// The plain sums of each part of the depth, (splits, batch, m, n).
static void put_parts(const vkf__execution *e, const factors *f, uint64_t entry)
{
    const struct vkf_gemm_params *p = e->params;
    for (uint64_t s = 0; s < p->splits; s++) {
        const uint64_t begin = s * p->split_k < p->k ? s * p->split_k : p->k;
        const uint64_t end = begin + p->split_k < p->k ? begin + p->split_k : p->k;
        for (uint64_t i = 0; i < (uint64_t)p->m * p->n; i++)
            vkf__store(e, VKF_GEMM_BINDING_D, (s * p->batch + entry) * p->m * p->n + i,
                       dot(f->a + i / p->n * p->k, f->b + i % p->n * p->k, (uint32_t)begin, (uint32_t)end));
    }
}

static void execute_entry(const vkf__execution *e, uint64_t entry, factors *f)
{
    const struct vkf_gemm_params *p = e->params;
    const uint64_t outer = entry / p->batch_inner, inner = entry % p->batch_inner;
    const uint64_t first = p->d_first + outer * p->d_outer + inner * p->d_inner;
    load(e, p->a_first + outer * p->a_outer + inner * p->a_inner, outer * p->b_outer + inner * p->b_inner, f);
    if ((e->kernel->offers & VKF_FORM_SPLIT) && e->spec[VKF_GEMM_SPEC_SPLIT]) {
        put_parts(e, f, entry);
        return;
    }
    for (uint64_t row = 0; row < p->m; row++)
        for (uint64_t col = 0; col < p->d_n; col++)
            put(e, f, first, row, col);
}

vkf_status vkf__gemm_reference(const vkf__execution *e)
{
    vkf_status status = VKF_OK;
    const struct vkf_gemm_params *p = e->params;
    factors f = {.a_first = UINT64_MAX, .b_first = UINT64_MAX};
    VKF_ALLOC(e->host, f.a, (size_t)p->m * p->k);
    VKF_ALLOC(e->host, f.b, (size_t)p->n * p->k);
    for (uint64_t entry = 0; entry < p->batch; entry++)
        execute_entry(e, entry, &f);
fail:
    vkf__free(e->host, f.a);
    vkf__free(e->host, f.b);
    return status;
}
