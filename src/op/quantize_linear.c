// The emitter of numbers to bytes and back, and its operator's row.
#include "op/quantize_linear.h"

#include <math.h>
#include <string.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/quantize_linear.h"

static uint32_t type_flag(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_I8    ? VKF_QUANTIZE_LINEAR_I8
           : dtype == VKF_DTYPE_U8  ? VKF_QUANTIZE_LINEAR_U8
           : dtype == VKF_DTYPE_I32 ? VKF_QUANTIZE_LINEAR_I32
                                    : VKF_QUANTIZE_LINEAR_F32;
}

// Bytes that are written may begin and end within words.
static uint64_t invocations(const vkf__quantize_linear_args *args)
{
    const uint64_t words = (uint64_t)args->count / 4 + 2;
    return type_flag(args->out.dtype) < VKF_QUANTIZE_LINEAR_I8 ? args->count : args->count > 0 ? words : 0;
}

vkf_status vkf__emit_quantize_linear(vkf__work *work, const vkf__quantize_linear_args *args)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_QUANTIZE_LINEAR_SPEC_X] = type_flag(args->x.dtype),
        [VKF_QUANTIZE_LINEAR_SPEC_OUT] = type_flag(args->out.dtype),
        [VKF_QUANTIZE_LINEAR_SPEC_ZERO] =
            vkf__present(&args->zero) ? type_flag(args->zero.dtype) : VKF_QUANTIZE_LINEAR_NONE,
        [VKF_QUANTIZE_LINEAR_SPEC_HAS_SCALE] = vkf__present(&args->scale),
    };
    const struct vkf_quantize_linear_params params = {args->count, args->channels, args->inner};
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_QUANTIZE_LINEAR,
        .types = {args->x.dtype, args->out.dtype},
        .bindings = {{args->x, false}, {args->out, true}, {args->scale, false}, {args->zero, false}},
        .flags = flags,
        .params = &params,
        .count = {invocations(args)},
        .factors = 1,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_quantize_linear_params *p = dispatched->params;
    return vkf__account_elementwise(p->count, 2, dispatched->kernel->types[0], dispatched->kernel->types[1]);
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_quantize_linear(work, args);
}

// A word, or a byte in its lowest bits.
static uint32_t load_bits(const vkf__execution *e, uint32_t binding, uint64_t index)
{
    const vkf_dtype dtype = e->operands[binding - 1].dtype;
    return type_flag(dtype) < VKF_QUANTIZE_LINEAR_I8 ? vkf__load_word(e, binding, index)
                                                     : (uint8_t)(int32_t)vkf__load(e, binding, index);
}

static int32_t integer_of(uint32_t bits, uint32_t type)
{
    return type == VKF_QUANTIZE_LINEAR_I8   ? (int8_t)bits
           : type == VKF_QUANTIZE_LINEAR_U8 ? (uint8_t)bits
                                            : (int32_t)bits;
}

static double byte_of(uint32_t bits, float scale, int32_t zero, uint32_t type)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    const double steps = isnan(x) ? 0 : fmin(fmax(nearbyint((double)(x / scale)), -1024), 1024);
    const double least = type == VKF_QUANTIZE_LINEAR_I8 ? -128 : 0;
    return fmin(fmax(steps + zero, least), least + 255);
}

static void execute_element(const vkf__execution *e, uint64_t i)
{
    const struct vkf_quantize_linear_params *p = e->params;
    const uint64_t channel = i / p->inner % p->channels;
    const uint32_t type = e->spec[VKF_QUANTIZE_LINEAR_SPEC_OUT], zero_type = e->spec[VKF_QUANTIZE_LINEAR_SPEC_ZERO];
    const uint32_t bits = load_bits(e, VKF_QUANTIZE_LINEAR_BINDING_X, i);
    const bool scaled = e->spec[VKF_QUANTIZE_LINEAR_SPEC_HAS_SCALE];
    const float scale = scaled ? (float)vkf__load(e, VKF_QUANTIZE_LINEAR_BINDING_SCALE, channel) : 1;
    const int32_t zero = zero_type == VKF_QUANTIZE_LINEAR_NONE
                             ? 0
                             : integer_of(load_bits(e, VKF_QUANTIZE_LINEAR_BINDING_ZERO, channel), zero_type);
    if (type >= VKF_QUANTIZE_LINEAR_I8) {
        vkf__store(e, VKF_QUANTIZE_LINEAR_BINDING_OUT, i, byte_of(bits, scale, zero, type));
        return;
    }
    const uint32_t difference = (uint32_t)integer_of(bits, e->spec[VKF_QUANTIZE_LINEAR_SPEC_X]) - (uint32_t)zero;
    if (type == VKF_QUANTIZE_LINEAR_F32)
        vkf__store(e, VKF_QUANTIZE_LINEAR_BINDING_OUT, i, (int32_t)difference * (double)scale);
    else
        vkf__store_word(e, VKF_QUANTIZE_LINEAR_BINDING_OUT, i, difference);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_quantize_linear_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++)
        execute_element(e, i);
    return VKF_OK;
}

static vkf__span make_operand(vkf__cases *c, vkf_dtype dtype, uint64_t count)
{
    vkf__span span = vkf__case_floats(c, dtype, count);
    uint8_t *bytes = vkf__case_bytes(c, &span);
    for (uint64_t i = 0; i < count * vkf_dtype_size(dtype) && dtype != VKF_DTYPE_F32; i++)
        bytes[i] = (uint8_t)vkf__case_bits(c);
    return span;
}

// Numbers are multiples of 1/4 between scales of powers of two, so that some lie on ties, and some beyond the range.
static void make_scales(vkf__cases *c, vkf__quantize_linear_args *args)
{
    args->scale = vkf__case_floats(c, VKF_DTYPE_F32, args->channels);
    for (uint32_t i = 0; i < args->channels; i++)
        vkf__element_set(VKF_DTYPE_F32, (uint8_t *)vkf__case_bytes(c, &args->scale) + 4 * i,
                         ldexp(1, 1 - (int)(vkf__case_bits(c) % 9)));
}

static vkf_status cases_of(vkf__cases *c, uint32_t outer, uint32_t channels, uint32_t inner, bool zero)
{
    const vkf_dtype *types = c->variant->kernel->types;
    const vkf_dtype narrow = type_flag(types[0]) == VKF_QUANTIZE_LINEAR_F32 ? types[1] : types[0];
    vkf__quantize_linear_args args = {
        .label = "quantize_linear",
        .channels = vkf__case_size(c, channels, 9),
        .inner = vkf__case_size(c, inner, 300),
    };
    const uint32_t zero_type = vkf__case_constant(c, VKF_QUANTIZE_LINEAR_SPEC_ZERO, vkf__case_flip(c, zero));
    const bool scaled = vkf__case_constant(c, VKF_QUANTIZE_LINEAR_SPEC_HAS_SCALE, vkf__case_flip(c, zero));
    args.count = vkf__case_size(c, outer, 3) * args.channels * args.inner - vkf__case_pick(c, 0, 2);
    args.x = make_operand(c, types[0], args.count);
    if (scaled && types[1] != VKF_DTYPE_I32)
        make_scales(c, &args);
    if (zero_type != VKF_QUANTIZE_LINEAR_NONE)
        args.zero = make_operand(c, narrow, args.channels);
    if (types[0] == VKF_DTYPE_F32)
        vkf__case_extremes(c, &args.x);
    args.out = make_operand(c, types[1], args.count);
    return vkf__case_run(c, &args, types[1] == VKF_DTYPE_F32 ? 1e-6 : 0, "%u of %u channels of %u, zero %u, scale %d",
                         args.count, args.channels, args.inner, zero_type, scaled);
}

static vkf_status cases(vkf__cases *c)
{
    VKF_RETURN_IF_ERROR(cases_of(c, 1, 1, 1, false));
    VKF_RETURN_IF_ERROR(cases_of(c, 1, 1, 260, true));
    return cases_of(c, 2, 5, 13, true);
}

// It writes bytes, mostly, and so has no `output`.
const vkf__op_info vkf__op_quantize_linear = {
    .params_bytes = sizeof(struct vkf_quantize_linear_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};
