"""Numbers of eight bits: made of floats, by a scale and a zero, multiplied, and made floats again."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context
from .errors import check, invalid
from .tensor import Results, Tensor, as_array, as_floats, context_of, uploaded, whole_numbers


def quantize_linear(input: Any, scale: Any, zero: Any = None, dtype: Any = np.int8, *, axis: int = -1) -> Any:
    """round(input / scale) + zero within the range of `dtype`, numpy.int8 or numpy.uint8: ONNX's QuantizeLinear,
    torch.quantize_per_tensor() and quantize_per_channel(). Ties are rounded to even.

    `scale` is a number for all, or there is one for each entry of the dimension `axis`; `zero` is likewise, or absent.
    """
    results, context = Results(input), context_of(input, scale, zero)
    kind = _one_of("quantize_linear", "dtype", dtype, np.int8, np.uint8)
    x = uploaded(input, context).astype(np.float32)
    return results.give(_linear(lib.vkf_quantize_linear, x, scale, zero, kind, kind, axis))


def dequantize_linear(input: Any, scale: Any, zero: Any = None, *, axis: int = -1) -> Any:
    """(input - zero) * scale, of int8, uint8 or int32, in float32: the way back from quantize_linear()."""
    results, context = Results(input), context_of(input, scale, zero)
    x = _integers(input, context, "dequantize_linear", np.int8, np.uint8, np.int32)
    return results.give(_linear(lib.vkf_dequantize_linear, x, scale, zero, x.dtype, np.dtype(np.float32), axis))


def _linear(function: Any, x: Tensor, scale: Any, zero: Any, narrow: np.dtype, dtype: np.dtype, axis: int) -> Tensor:
    result, desc = Tensor._new(x.context, x.shape, dtype), ffi.new("vkf_quantize_linear_desc *")
    kept = [_vector(desc, "scale", scale, np.dtype(np.float32), x.context),
            _vector(desc, "zero", zero, narrow, x.context)]
    shape = (x.size,)
    if kept[0].size != 1:
        axis = x._axis(axis)
        shape, desc.axis = (math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1:])), 1
    desc.x, desc.out = x._c(*shape)[0], result._c(*shape)[0]
    if result.size:
        check(function(x.context._handle, desc))
    del kept  # until here the descriptor points to it
    return result


def matmul_int8(input: Any, other: Any, input_zero: Any = None, other_zero: Any = None, *, input_scale: Any = None,
                other_scale: Any = None, out_scale: Any = None, out_zero: Any = None, dtype: Any = None,
                transposed: bool = False) -> Any:
    """(input - input_zero) times (other - other_zero), of int8 or uint8: (..., m, k) by (k, n), or by (..., k, n) with
    the same dimensions before; with `transposed` other is (n, k), as weights are.

    The sums are int32, and exact (ONNX's MatMulInteger). Times input_scale and other_scale they are float32, and with
    out_scale and out_zero bytes, as quantize_linear() makes them (QLinearMatMul): `dtype`, or int8. Zeros and scales of
    input are a number or (m), those of other a number or (n), and those of the result a number.
    """
    results, context = Results(input, other), context_of(input, other)
    a, b = (_integers(each, context, "matmul_int8", np.int8, np.uint8) for each in (input, other))
    k, n = (b.shape[:-3:-1] if transposed else b.shape[-2:]) if b.ndim > 1 else (0, 0)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != k or b.ndim > 2 and a.shape[:-2] != b.shape[:-2]:
        raise invalid(f"matmul_int8: {a.shape} and {b.shape} are not (..., m, k) and (k, n) or (..., k, n), or with "
                      f"`transposed` (n, k)")
    scaled = np.int32 if input_scale is None and other_scale is None else np.float32
    kind = (scaled if out_scale is None else np.int8) if dtype is None else dtype
    kind = _one_of("matmul_int8", "dtype", kind, np.int8, np.uint8, np.int32, np.float32)
    result, desc = Tensor._new(context, (*a.shape[:-1], n), kind), ffi.new("vkf_gemm_int8_desc *")
    batch = math.prod(a.shape[:-2])
    desc.a, desc.out = a._c(batch, *a.shape[-2:])[0], result._c(batch, *result.shape[-2:])[0]
    desc.b, desc.transpose_b = (b._c(batch, *b.shape[-2:]) if b.ndim > 2 else b._c())[0], transposed
    floats = np.dtype(np.float32)
    kept = [_vector(desc, name, value, type, context) for name, value, type in (
        ("a_zero", input_zero, a.dtype), ("b_zero", other_zero, b.dtype), ("a_scale", input_scale, floats),
        ("b_scale", other_scale, floats), ("out_scale", out_scale, floats), ("out_zero", out_zero, kind))]
    if result.size:
        check(lib.vkf_gemm_int8(context._handle, desc))
    del kept  # until here the descriptor points to it
    return results.give(result)


def _integers(value: Any, context: Context, name: str, *dtypes: Any) -> Tensor:
    array = value if isinstance(value, Tensor) else as_array(value)
    _one_of(name, "an input", array.dtype, *dtypes)
    return array if isinstance(array, Tensor) else Tensor(array, context=context)


def _one_of(name: str, what: str, dtype: Any, *dtypes: Any) -> np.dtype:
    if np.dtype(dtype) not in dtypes:
        raise invalid(f"{name}: {what} is {np.dtype(dtype)}, and not {' or '.join(each.__name__ for each in dtypes)}")
    return np.dtype(dtype)


def _vector(desc: Any, member: str, value: Any, dtype: np.dtype, context: Context) -> Tensor | None:
    """Fills in a scale or a zero, a number or a row of them, if there is one."""
    if value is None:
        return None
    if not isinstance(value, Tensor):
        array = as_floats(value).astype(dtype) if dtype == np.float32 else whole_numbers(value, "zeros", dtype)
        value = Tensor(array, context=context)
    setattr(desc, member, value._c()[0])
    return value
