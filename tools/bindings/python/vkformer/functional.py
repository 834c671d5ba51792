"""Operators, by the names and with the arguments of torch.nn.functional.

Inputs are arrays of any kind or tensors on the device. Each call is one run of the device, and its result is where the
input is: of several inputs (matmul, concat, attention) one tensor keeps it on the device. Parameters say nothing of it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np

from ._native import ffi, lib
from .context import Context
from .errors import check, enumerator, invalid
from .layer import exactly, fully_masked_of, mask_of
from .tensor import Results, Tensor, as_array, as_parameter, context_of, typed, uploaded, whole_numbers

# What PyTorch calls so, of activations and of reductions.
_OF_TORCH = {"gelu": "gelu_erf", "hardswish": "hard_swish", "hardsigmoid": "hard_sigmoid", "sum": "add",
             "prod": "multiply", "amax": "max", "amin": "min"}


def activation_of(name: str) -> int:
    return enumerator("vkf_activation", "VKF_ACTIVATION_", _OF_TORCH.get(name, name))


def _run(context: Context, function: Callable[[Any, Any], int], desc: Any, result: Tensor) -> Tensor:
    """What is empty is computed already."""
    if result.size:
        check(function(context._handle, desc))
    return result


def _parameter(value: Any, context: Context) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(as_parameter(value), context=context)


def _residual(residual: Any, desc: Any, result: Tensor, shape: tuple[int, int]) -> Any:
    """Fills in what is added, if there is something. What is returned has to outlive the call."""
    if residual is None:
        return None
    added = uploaded(residual, result.context)
    if added.shape != result.shape:
        raise invalid(f"residual is {added.shape}, and not {result.shape} as what it is added to")
    desc.residual = added._c(*shape)[0]
    return added


def linear(input: Any, weight: Any, bias: Any = None, *, activation: str = "none", residual: Any = None) -> Any:
    """activation(input weight^T + bias) + residual: (..., k) by (n, k), and (n). Parameters may be bfloat16, or float16
    beside inputs of float32."""
    results, context = Results(input), context_of(input, weight, bias)
    x, matrix = uploaded(input, context), _parameter(weight, context)
    if x.ndim == 0 or matrix.ndim != 2 or x.shape[-1] != matrix.shape[1]:
        raise invalid(f"linear: input is {x.shape} and weight {matrix.shape}, and not (..., k) and (n, k)")
    result = Tensor._new(context, (*x.shape[:-1], matrix.shape[0]), x.dtype)
    desc = ffi.new("vkf_gemm_desc *")
    rows = math.prod(x.shape[:-1])
    desc.a, desc.b, desc.out = x._c(rows, x.shape[-1])[0], matrix._c()[0], result._c(rows, matrix.shape[0])[0]
    desc.transpose_b, desc.alpha, desc.activation = True, 1, activation_of(activation)
    kept = [_residual(residual, desc, result, (rows, matrix.shape[0]))]
    if bias is not None:
        kept.append(_parameter(bias, context))
        desc.bias = kept[-1]._c()[0]
    result = _run(context, lib.vkf_gemm, desc, result)
    del kept  # until here the descriptor points to it
    return results.give(result)


def matmul(input: Any, other: Any) -> Any:
    """torch.matmul() of matrices: (..., m, k) by (k, n), or by (..., k, n) with the same dimensions before."""
    results, context = Results(input, other), context_of(input, other)
    a, b = uploaded(input, context), uploaded(other, context)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-2] or b.ndim > 2 and a.shape[:-2] != b.shape[:-2]:
        raise invalid(f"matmul: {a.shape} and {b.shape} are not (..., m, k) and (k, n) or (..., k, n)")
    result = Tensor._new(context, (*a.shape[:-1], b.shape[-1]), a.dtype)
    desc = ffi.new("vkf_gemm_desc *")
    batch, rows = (math.prod(a.shape[:-2]), a.shape[-2]) if b.ndim > 2 else (1, math.prod(a.shape[:-1]))
    desc.a, desc.out = a._c(batch, rows, a.shape[-1])[0], result._c(batch, rows, b.shape[-1])[0]
    desc.b = (b._c(batch, *b.shape[-2:]) if b.ndim > 2 else b._c())[0]
    desc.alpha = 1
    return results.give(_run(context, lib.vkf_gemm, desc, result))


def activate(input: Any, activation: str, alpha: float | None = None) -> Any:
    """An activation of every element: "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "mish", "hardswish",
    "hardsigmoid", "leaky_relu" with the slope `alpha` (0.01) below 0, or "elu" with that factor (1)."""
    results, context = Results(input), context_of(input)
    x = uploaded(input, context)
    result, desc = Tensor._new(context, x.shape, x.dtype), ffi.new("vkf_activate_desc *")
    desc.x, desc.out = x._c(x.size)[0], result._c(x.size)[0]
    desc.activation, desc.alpha = activation_of(activation), 0 if alpha is None else exactly(alpha)
    return results.give(_run(context, lib.vkf_activate, desc, result))


def softmax(input: Any, dim: int = -1) -> Any:
    """exp(input) / sum(exp(input)) along a dimension."""
    return _softmax("softmax", input, dim, False)


def log_softmax(input: Any, dim: int = -1) -> Any:
    """The logarithm of softmax()."""
    return _softmax("log_softmax", input, dim, True)


def _softmax(name: str, input: Any, dim: int, logarithm: bool) -> Any:
    results, context = Results(input), context_of(input)
    x = uploaded(input, context)
    if x.ndim == 0:
        raise invalid(f"{name}: input is a number, and has no dimension to sum along")
    x = x.moveaxis(dim, -1)
    result, desc = Tensor._new(context, x.shape, x.dtype), ffi.new("vkf_softmax_desc *")
    rows = math.prod(x.shape[:-1]), x.shape[-1]
    desc.x, desc.out, desc.logarithm = x._c(*rows)[0], result._c(*rows)[0], logarithm
    return results.give(_run(context, lib.vkf_softmax, desc, result).moveaxis(-1, dim))


Shape = Union[int, Sequence[int]]


def layer_norm(input: Any, normalized_shape: Shape, weight: Any = None, bias: Any = None, eps: float = 1e-5, *,
               residual: Any = None) -> Any:
    """(x - mean) / sqrt(variance + eps) over the last dimensions, weighted, and with a bias. x is input + residual."""
    return _norm("layer_norm", input, normalized_shape, weight, bias, eps, False, residual)


def rms_norm(input: Any, normalized_shape: Shape, weight: Any = None, eps: float | None = None, *,
             residual: Any = None) -> Any:
    """x / sqrt(mean(x^2) + eps), weighted. Without eps it is float32's, 2^-23, for float16, too, as PyTorch's since 2.7.
    x is input + residual."""
    return _norm("rms_norm", input, normalized_shape, weight, None, eps, True, residual)


def _norm(name: str, input: Any, normalized_shape: Shape, weight: Any, bias: Any, eps: float | None,
          rms: bool, residual: Any) -> Any:
    results, context = Results(input), context_of(input, weight, bias)
    x = uploaded(input, context)
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    parameters = [None if value is None else _parameter(value, context) for value in (weight, bias)]
    if not shape or x.shape[-len(shape):] != shape or any(p is not None and p.shape != shape for p in parameters):
        raise invalid(f"{name}: normalized_shape is {shape}, and not that of the last dimensions of the input "
                      f"{x.shape}, of weight and of bias")
    result, desc = Tensor._new(context, x.shape, x.dtype), ffi.new("vkf_layer_norm_desc *")
    dim = math.prod(shape)
    rows = (x.size // max(dim, 1), dim)
    desc.x, desc.out = x._c(*rows)[0], result._c(*rows)[0]
    added = _residual(residual, desc, result, rows)
    desc.residual_order = lib.VKF_RESIDUAL_NONE if added is None else lib.VKF_RESIDUAL_BEFORE
    for member, parameter in zip(("weight", "bias"), parameters):
        if parameter is not None:
            setattr(desc, member, parameter._c(dim)[0])
    desc.eps = 2.0**-23 if eps is None else exactly(eps)
    desc.rms = rms
    result = _run(context, lib.vkf_layer_norm, desc, result)
    del added  # until here the descriptor points to it
    return results.give(result)


def embedding(input: Any, weight: Any, *, scale: float = 1.0) -> Any:
    """The rows of `weight`, times `scale`, that ids name, of any shape. Ids of the host are checked; one on the device
    that names no row gives zeros."""
    results, context = Results(input), context_of(input, weight)
    table = _parameter(weight, context)
    if table.ndim != 2:
        raise invalid(f"embedding: weight is {table.shape}, and no matrix")
    ids = ids_on_device(input, table.shape[0], context)
    dtype = np.float16 if table.dtype == np.float16 else np.float32
    result, desc = Tensor._new(context, (*ids.shape, table.shape[1]), dtype), ffi.new("vkf_embed_desc *")
    desc.ids, desc.table, desc.out = ids._c(1, ids.size)[0], table._c()[0], result._c(1, ids.size, table.shape[1])[0]
    desc.scale = exactly(scale)
    return results.give(_run(context, lib.vkf_embed, desc, result))


def ids_on_device(ids: Any, rows: int, context: Context) -> Tensor:
    if isinstance(ids, Tensor):
        return ids
    array = whole_numbers(ids)
    if array.size and (array.min() < 0 or array.max() >= rows):
        raise invalid(f"ids are from {array.min()} to {array.max()}, and there are rows 0 to {rows - 1}")
    return Tensor(array, context=context)


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *,
                                 lengths: Any = None, first_position: int = 0, window: int = 0, window_right: int = 0,
                                 soft_cap: float = 0.0, slopes: Any = None, sinks: Any = None,
                                 fully_masked: str = "zero") -> Any:
    """softmax(scale query key^T + masks) value, without a matrix of scores: (..., H, L, D), (..., H, S, D) and
    (..., H, S, Dv), or without H. With enable_gqa keys and values have fewer heads, each for several of the query's.

    A boolean mask is True where is attended, and floats are added; it broadcasts to (..., H, L, S). `lengths` (...) are
    how many of the keys a batch entry has; with is_causal its last query stands at the last of these. Otherwise
    `first_position` keys lie before the first query. `window` is how many keys up to its own position a query attends
    to, and `window_right` how many behind it. Scores s become soft_cap tanh(s / soft_cap); `slopes` (H) are those of
    ALiBi, and `sinks` (H) scores whose weight goes nowhere.
    fully_masked is what rows give in which every key is masked: "zero", as PyTorch's since 2.5, "nan" or "uniform".
    """
    results, context = Results(query, key, value), context_of(query, key, value)
    if dropout_p:
        raise invalid("scaled_dot_product_attention: dropout_p is for training, and 0 here")
    q, k, v = (uploaded(each, context) for each in (query, key, value))
    ranks = {each.ndim for each in (q, k, v)}
    if len(ranks) != 1 or q.ndim < 2 or not q.shape[:-3] == k.shape[:-3] == v.shape[:-3]:
        raise invalid(f"scaled_dot_product_attention: query {q.shape}, key {k.shape} and value {v.shape} are not all "
                      f"(..., H, L, D) with the same dimensions before")
    shapes = [(1,) * (4 - each.ndim) + each.shape if each.ndim < 4 else
              (math.prod(each.shape[:-3]), *each.shape[-3:]) for each in (q, k, v)]
    if shapes[0][1] != shapes[1][1] and not enable_gqa:
        raise invalid(f"scaled_dot_product_attention: {shapes[0][1]} heads of queries and {shapes[1][1]} of keys need "
                      f"enable_gqa")
    result, desc = Tensor._new(context, (*q.shape[:-1], v.shape[-1]), q.dtype), ffi.new("vkf_sdpa_desc *")
    desc.query, desc.key, desc.value = (each._c(*shape)[0] for each, shape in zip((q, k, v), shapes))
    desc.out = result._c(*shapes[0][:3], v.shape[-1])[0]
    kept = [_enter_mask(desc, attn_mask, (*q.shape[:-1], k.shape[-2]), context),
            _enter_lengths(desc, lengths, q.shape[:-3], k.shape[-2], context)]
    if is_causal:
        desc.causal = lib.VKF_CAUSAL_TOP_LEFT if lengths is None else lib.VKF_CAUSAL_LENGTHS
    desc.first_position = first_position
    desc.scale = 0 if scale is None else exactly(scale)
    desc.window, desc.window_right, desc.soft_cap = window, window_right, soft_cap
    desc.fully_masked = fully_masked_of(fully_masked)
    for name, value in (("slopes", slopes), ("sinks", sinks)):
        if value is not None:
            kept.append(uploaded(value, context))
            setattr(desc, name, kept[-1]._c()[0])
    result = _run(context, lib.vkf_scaled_dot_product_attention, desc, result)
    del kept  # until here the descriptor points to it
    return results.give(result)


def _enter_mask(desc: Any, attn_mask: Any, scores: tuple[int, ...], context: Context) -> Tensor | None:
    """Of a mask whose dimensions broadcast to those of the scores; what C does not broadcast, NumPy does. A tensor of
    float32 or booleans is read where it is."""
    if isinstance(attn_mask, Tensor) and attn_mask.dtype in (np.float32, np.bool_):
        desc.mask_kind = lib.VKF_MASK_ADDITIVE if attn_mask.dtype == np.float32 else lib.VKF_MASK_BOOL_ATTEND
        desc.mask = attn_mask._c()[0]
        return attn_mask
    array, desc.mask_kind = mask_of(attn_mask, lib.VKF_MASK_BOOL_ATTEND)
    if array is None:
        return None
    try:
        np.broadcast_to(array, scores)
    except ValueError:
        raise invalid(f"scaled_dot_product_attention: attn_mask is {array.shape}, which is not to be broadcast to "
                      f"{scores}") from None
    shape = (1,) * (len(scores) - array.ndim) + array.shape
    if math.prod(shape[:-3]) not in (1, math.prod(scores[:-3])):
        shape = (*scores[:-3], *shape[-3:])
    array = np.ascontiguousarray(np.broadcast_to(array, (*shape[:-1], scores[-1])))
    mask = Tensor(array, context=context)
    # Without a batch the dimension before the rows is that of heads, as it is in the scores.
    desc.mask = mask._c(math.prod(shape[:-3]), *((1,) * (3 - len(shape)) + array.shape)[-3:])[0]
    return mask


def _enter_lengths(desc: Any, lengths: Any, batch: tuple[int, ...], keys: int, context: Context) -> Tensor | None:
    """A number is that of every batch entry. Those of the host are checked."""
    if lengths is None:
        return None
    if not isinstance(lengths, Tensor):
        array = whole_numbers(lengths, "lengths")
        if array.size and (array.min() < 0 or array.max() > keys):
            raise invalid(f"scaled_dot_product_attention: lengths are from {array.min()} to {array.max()}, and there "
                          f"are {keys} keys")
        lengths = Tensor(array if array.ndim else np.broadcast_to(array, batch), context=context)
    if lengths.size != math.prod(batch):
        raise invalid(f"scaled_dot_product_attention: lengths are {lengths.shape}, and the batch is {batch}")
    desc.key_mask_kind, desc.key_mask = lib.VKF_MASK_LENGTHS, lengths._c(lengths.size)[0]
    return lengths


def rotary_table(length: int, rotary_dim: int, base: float = 10000.0, *, factors: Any = None,
                 magnitude: float = 1.0) -> np.ndarray:
    """(length, rotary_dim) for rotary(): cosines and then sines of position * base^(-2 i / rotary_dim) / factors[i],
    times `magnitude`."""
    scales = None if factors is None else as_array(factors)
    if scales is not None and scales.dtype.kind in "fiu":
        scales = scales.astype(np.float64)
    if length < 0 or rotary_dim <= 0 or rotary_dim % 2 or scales is not None and (
            scales.shape != (rotary_dim // 2,) or scales.dtype != np.float64):
        raise invalid(f"rotary_table: length {length} is at least 0, rotary_dim {rotary_dim} even and above 0, and "
                      f"factors are half as many numbers as that")
    table = np.empty((length, rotary_dim), np.float32)
    lib.vkf_rotary_table(length, rotary_dim, base, ffi.NULL if scales is None else typed("const double", scales),
                         magnitude, typed("float", table))
    return table


def rotary(input: Any, table: Any, positions: Any = None, *, first_position: int = 0, interleaved: bool = False,
           merged: bool = False, sections: Sequence[int] = (), sections_in_turns: bool = False,
           inverse: bool = False) -> Any:
    """Rotary position embedding of (B, H, L, D), or with `merged` of (B, L, H, D), by the rows of rotary_table().

    Row l stands at first_position + l, or at positions (L) or (B, L); with `sections`, the numbers of pairs that read
    one after the other of them, at positions (S, L) or (S, B, L). Pairs are half of the table's width apart, or with
    `interleaved` beside each other; `inverse` turns them back. A position beyond the table counts as one of zeros.
    """
    results, context = Results(input), context_of(input, table)
    x, rows = uploaded(input, context), uploaded(table, context)
    if not 2 <= x.ndim <= 4:
        raise invalid(f"rotary: input is {x.shape}, and not (B, H, L, D)")
    shape = (1,) * (4 - x.ndim) + x.shape
    if merged and x.ndim == 2:
        shape = (1, x.shape[0], 1, x.shape[1])
    result, desc = Tensor._new(context, x.shape, x.dtype), ffi.new("vkf_rotary_desc *")
    if len(sections) > len(desc.sections):
        raise invalid(f"rotary: there are {len(sections)} sections, and at most {len(desc.sections)} of them")
    desc.x, desc.out, desc.table = x._c(*shape)[0], result._c(*shape)[0], rows._c()[0]
    if positions is not None:
        where = positions if isinstance(positions, Tensor) else Tensor(whole_numbers(positions), context=context)
        if where.ndim == (2 if sections else 1):
            where = where.reshape(*where.shape[:-1], 1, where.shape[-1])
        desc.positions = where._c()[0]
    desc.sections[0:len(sections)] = list(sections)
    desc.sections_in_turns, desc.first_position, desc.interleaved = sections_in_turns, first_position, interleaved
    desc.merged, desc.inverse = merged, inverse
    return results.give(_run(context, lib.vkf_rotary, desc, result))


def argmax(input: Any, *, last: bool = False) -> Any:
    """The index of the largest number along the last dimension, the first or the last one among equals, as int32."""
    results, context = Results(input), context_of(input)
    x = uploaded(input, context)
    if x.ndim == 0:
        raise invalid("argmax: input is a number, and has no dimension to look along")
    result, desc = Tensor._new(context, x.shape[:-1], np.int32), ffi.new("vkf_argmax_desc *")
    rows = math.prod(x.shape[:-1])
    desc.x, desc.out, desc.last = x._c(rows, x.shape[-1])[0], result._c(rows)[0], last
    return results.give(_run(context, lib.vkf_argmax, desc, result))


def concat(inputs: Sequence[Any], dim: int = 0) -> Any:
    """torch.concat() of floats: side by side along one dimension, which is all that their shapes may differ in."""
    results, context = Results(*inputs), context_of(*inputs)
    parts = [uploaded(value, context) for value in inputs]
    if not parts or not 0 < parts[0].ndim or any(part.dtype != parts[0].dtype for part in parts):
        raise invalid("concat: there is at least one input, all of one type and with at least one dimension")
    axis, shape = parts[0]._axis(dim), list(parts[0].shape)
    for part in parts[1:]:
        if part.ndim != len(shape) or any(i != axis and part.shape[i] != shape[i] for i in range(len(shape))):
            raise invalid(f"concat: {part.shape} differs from {parts[0].shape} in more than dimension {axis}")
    shape[axis] = sum(part.shape[axis] for part in parts)
    result, desc = Tensor._new(context, shape, parts[0].dtype), ffi.new("vkf_concat_desc *")
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1:])
    array = ffi.new("vkf_tensor[]", [part._c(outer, part.shape[axis], inner)[0] for part in parts])
    desc.inputs, desc.input_count, desc.dim, desc.out = array, len(parts), 1, result._c(outer, shape[axis], inner)[0]
    return results.give(_run(context, lib.vkf_concat, desc, result))


def gather(input: Any, dim: int, index: Any) -> Any:
    """torch.gather() of floats, of up to four dimensions: input[.., index[.., i, ..], ..] for every i along `dim`.

    In other dimensions `index` is as long as the input, or 1 and holds for all: with (1, n, 1) and dim 1 this is
    torch.index_select(). Indices below 0 count from the end. Those of the host are checked; one on the device that is
    not in the input gives 0.
    """
    results, context = Results(input, index), context_of(input, index)
    x = uploaded(input, context)
    where, shape = _index("gather", index, x, dim, context), list(x.shape)
    shape[x._axis(dim)] = where.shape[dim]
    result, desc = Tensor._new(context, shape, x.dtype), ffi.new("vkf_gather_desc *")
    desc.x, desc.index, desc.out, desc.dim = x._c()[0], where._c()[0], result._c()[0], dim
    return results.give(_run(context, lib.vkf_gather, desc, result))


def scatter(input: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None) -> Any:
    """torch.Tensor.scatter() of floats, of up to four dimensions: the input, but for src[.., i, ..] at
    [.., index[.., i, ..], ..].

    `reduce` is "add", "multiply", "max" or "min", or by the names of scatter_reduce() "sum", "prod", "amax" or "amin";
    the element that was there is reduced, too. Without it, of several elements for one place any stays. Besides `dim`,
    `src` is as long as the input, and `index` as long as `src`, or 1 and holds for all. Indices below 0 count from the
    end. Those of the host are checked; what one on the device brings out of the input is left out.
    """
    results, context = Results(input, index, src), context_of(input, index, src)
    x, source = uploaded(input, context), uploaded(src, context)
    where = _index("scatter", index, x, dim, context)
    result, desc = Tensor._new(context, x.shape, x.dtype), ffi.new("vkf_scatter_desc *")
    desc.x, desc.index, desc.source, desc.out = (each._c()[0] for each in (x, where, source, result))
    desc.dim = dim
    if reduce is not None:
        desc.reduction = enumerator("vkf_reduction", "VKF_REDUCTION_", _OF_TORCH.get(reduce, reduce))
    return results.give(_run(context, lib.vkf_scatter, desc, result))


def _index(name: str, index: Any, x: Tensor, dim: int, context: Context) -> Tensor:
    length = x.shape[x._axis(dim)]
    if not isinstance(index, Tensor):
        array = whole_numbers(index, "indices")
        if array.size and (array.min() < -length or array.max() >= length):
            raise invalid(f"{name}: indices are from {array.min()} to {array.max()}, and dimension {dim} of the input "
                          f"is {length} long")
        index = Tensor(array, context=context)
    if index.ndim != x.ndim:
        raise invalid(f"{name}: index is {index.shape}, and has not as many dimensions as the input {x.shape}")
    return index
