// Lays out the operands of cases, and draws their sizes and values.
#include "op/cases.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "base/hash.h"
#include "base/size.h"
#include "op/execution.h"
#include "op/operators.h"

vkf_status vkf__cases_init(vkf__cases *cases, uint64_t capacity_bytes)
{
    cases->image_bytes = vkf__align_u64(capacity_bytes, VKF_CASE_GUARD_BYTES);
    if (cases->random == 0)
        cases->random = UINT64_C(0x9e3779b97f4a7c15);
    VKF_ALLOC_OR_RETURN(cases->host, cases->image, cases->image_bytes);
    vkf__cases_clear(cases);
    return VKF_OK;
}

void vkf__cases_finish(vkf__cases *cases)
{
    vkf__free(cases->host, cases->image);
    cases->image = NULL;
}

void vkf__cases_seed(vkf__cases *cases, uint64_t seed)
{
    const vkf__variant *variant = cases->variant;
    seed = vkf__hash(VKF_HASH_SEED ^ seed, variant->kernel->name, strlen(variant->kernel->name));
    cases->random = vkf__hash(seed, variant->config->name, strlen(variant->config->name));
}

vkf__emit_fn vkf__case_emitter(const vkf__cases *cases, const vkf__case *c)
{
    return c->emit ? c->emit : vkf__operator(cases->variant->kernel->op)->emit;
}

void vkf__cases_clear(vkf__cases *cases)
{
    memset(cases->image, 0xff, VKF_CASE_GUARD_BYTES);
    cases->used_bytes = VKF_CASE_GUARD_BYTES;
    cases->least = 0;
    cases->aligned = vkf__case_flip(cases, true);
}

vkf_status vkf__case_run(vkf__cases *cases, const void *args, double tolerance, const char *format, ...)
{
    vkf__case c = {.args = args, .tolerance = tolerance, .least = cases->least};
    va_list list;
    va_start(list, format);
    (void)vsnprintf(c.shape, sizeof c.shape, format, list);
    va_end(list);
    return vkf__case_run_as(cases, &c);
}

vkf_status vkf__case_run_as(vkf__cases *cases, const vkf__case *c)
{
    const vkf_status status = cases->run(cases, c);
    vkf__cases_clear(cases);
    return status;
}

uint32_t vkf__case_bits(vkf__cases *cases)
{
    cases->random = cases->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(cases->random >> 33);
}

uint32_t vkf__case_size(vkf__cases *cases, uint32_t edge, uint32_t most)
{
    static const uint32_t about[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};
    enum { ABOUT = sizeof about / sizeof about[0] };
    if (!cases->draw)
        return edge;
    const uint32_t kind = vkf__case_bits(cases) % 5, one = vkf__case_bits(cases) % ABOUT,
                   beside = vkf__case_bits(cases) % 3;
    const uint32_t size = kind == 0   ? 1 + vkf__case_bits(cases) % 8
                          : kind == 1 ? 1 + vkf__case_bits(cases) % most
                          : kind == 2 ? 4 * (1 + vkf__case_bits(cases) % (most / 4 + 1))
                                      : about[one] + beside - 1;
    return size <= most ? size : 1 + size % most;
}

uint32_t vkf__case_pick(vkf__cases *cases, uint32_t edge, uint32_t count)
{
    return cases->draw ? vkf__case_bits(cases) % count : edge;
}

bool vkf__case_flip(vkf__cases *cases, bool edge)
{
    return cases->draw ? vkf__case_bits(cases) % 2 : edge;
}

uint32_t vkf__case_row_length(const vkf__cases *cases, uint32_t index)
{
    const uint32_t size = cases->variant->config->local_size;
    const uint32_t lengths[VKF_CASE_ROW_LENGTHS] = {1, 13, size - 1, size + 1, 3 * size + 7};
    return lengths[index] > 0 ? lengths[index] : 1;
}

float vkf__case_factor(vkf__cases *cases, float edge)
{
    return cases->draw ? ((float)(vkf__case_bits(cases) % 17) - 8) * 0.25f : edge;
}

uint32_t vkf__case_constant(const vkf__cases *cases, uint32_t id, uint32_t own)
{
    return cases->spec && id < cases->variant->kernel->spec_count ? cases->spec[id] : own;
}

float vkf__case_random(vkf__cases *cases)
{
    const uint32_t random = vkf__case_bits(cases);
    return (float)(random % 8) * (random >> 29 & 1 ? 0.25f : -0.25f);
}

static uint8_t *place(vkf__cases *cases, vkf_dtype dtype, uint64_t count, vkf__span *out_span)
{
    uint64_t size = 0;
    (void)vkf__bytes_of(dtype, count, &size);
    const uint64_t end = vkf__align_u64(cases->used_bytes + size, VKF_CASE_GUARD_BYTES) + VKF_CASE_GUARD_BYTES;
    assert(end <= cases->image_bytes);
    *out_span = (vkf__span){
        .buffer = cases->buffer,
        .offset_bytes = cases->used_bytes,
        .size_bytes = size,
        .dtype = dtype,
    };
    memset(cases->image + cases->used_bytes + size, 0xff, end - cases->used_bytes - size);
    cases->used_bytes = end;
    return cases->image + out_span->offset_bytes;
}

// Blocks of q8 with a scale of 2^-6 or 2^-7, and any elements.
static void fill_blocks(vkf__cases *cases, uint8_t *at, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)vkf__case_bits(cases);
    for (uint64_t i = 0; i < bytes; i += VKF_Q8_BLOCK_BYTES)
        vkf__element_set(VKF_DTYPE_F16, at + i, vkf__case_bits(cases) % 2 ? 0x1p-6 : 0x1p-7);
}

vkf__span vkf__case_quads(vkf__cases *cases, vkf_dtype dtype, uint64_t count)
{
    vkf__span span = {0};
    uint8_t *at = count > 0 ? place(cases, dtype, count, &span) : NULL;
    if (at && dtype == VKF_DTYPE_Q8) {
        fill_blocks(cases, at, span.size_bytes);
        return span;
    }
    for (uint64_t i = 0; i < count; i++)
        vkf__element_set(dtype, at + i * vkf_dtype_size(dtype), vkf__case_random(cases));
    return span;
}

vkf__span vkf__case_floats(vkf__cases *cases, vkf_dtype dtype, uint64_t count)
{
    const uint64_t beside = count > 0 && !cases->aligned ? vkf__case_pick(cases, 0, 4) * vkf_dtype_size(dtype) : 0;
    memset(cases->image + cases->used_bytes, 0xff, beside);
    cases->used_bytes += beside;
    return vkf__case_quads(cases, dtype, count);
}

vkf__span vkf__case_panels(vkf__cases *cases, vkf_dtype dtype, uint64_t elements)
{
    vkf__span span = {0};
    (void)place(cases, dtype, elements, &span);
    span.panels = true;
    return span;
}

vkf__span vkf__case_values(vkf__cases *cases, vkf_dtype dtype, const float *values, uint64_t count)
{
    vkf__span span = {0};
    uint8_t *at = values ? place(cases, dtype, count, &span) : NULL;
    for (uint64_t i = 0; values && i < count; i++)
        vkf__element_set(dtype, at + i * vkf_dtype_size(dtype), values[i]);
    return span;
}

vkf__span vkf__case_ints(vkf__cases *cases, int32_t least, int32_t beyond, uint64_t count)
{
    vkf__span span;
    uint8_t *at = place(cases, VKF_DTYPE_I32, count, &span);
    for (uint64_t i = 0; i < count; i++)
        vkf__element_set(VKF_DTYPE_I32, at + i * sizeof(int32_t),
                         least + (double)(vkf__case_bits(cases) % ((uint32_t)beyond - (uint32_t)least)));
    return span;
}

void vkf__case_extremes(vkf__cases *cases, const vkf__span *span)
{
    static const double extremes[] = {NAN, INFINITY, -INFINITY, 3e4, -3e4, -0.0, 0};
    const uint64_t size = vkf_dtype_size(span->dtype), count = span->size_bytes / size;
    if (!cases->draw || count == 0 || vkf__case_bits(cases) % 4 > 0)
        return;
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t at = vkf__case_bits(cases) % count;
        vkf__element_set(span->dtype, cases->image + span->offset_bytes + at * size,
                         extremes[vkf__case_bits(cases) % (sizeof extremes / sizeof extremes[0])]);
    }
}

void vkf__case_blank(const vkf__cases *cases, const vkf__span *span)
{
    memset(vkf__case_bytes(cases, span), 0xff, span->size_bytes);
}

void vkf__case_offset(vkf__cases *cases, const vkf__span *span)
{
    static const double offsets[] = {0, 0, 100, -1000};
    const double offset = offsets[vkf__case_pick(cases, 0, sizeof offsets / sizeof offsets[0])];
    const uint64_t size = vkf_dtype_size(span->dtype), count = span->size_bytes / size;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *at = (uint8_t *)vkf__case_bytes(cases, span) + i * size;
        vkf__element_set(span->dtype, at, vkf__element_value(span->dtype, at) + offset);
    }
}

void *vkf__case_bytes(const vkf__cases *cases, const vkf__span *span)
{
    return cases->image + span->offset_bytes;
}

double vkf__case_exact(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_F16 ? 1e-3 : 1e-6;
}

double vkf__case_close(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_F16 ? 2e-3 : 2e-5;
}
