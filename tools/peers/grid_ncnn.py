"""The parameters with which ncnn's tests try SDPA, MultiHeadAttention, Softmax, RotaryEmbed, LayerNorm and RMSNorm.

Shapes are ncnn's, the innermost dimension first; heads are its channels."""
import numpy as np

import vkformer
from vkformer._native import lib

from . import grid_numbers as numbers
from .operators import Missing


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def sdpa(run, random, size, queries, heads, keys, kv_heads, v_size, mask, scale):
    """mask: None, of all heads, "one" of one head, "each" of each, or "far" below the scores of the first keys."""
    query, key = normal(random, 1, heads, queries, size), normal(random, 1, kv_heads, keys, size)
    value = normal(random, 1, kv_heads, keys, v_size)
    tensors = {"query": query, "key": key, "value": value}
    bias = 0.0
    if mask:
        bias = tensors["mask"] = normal(random, 1, heads if mask == "each" else 1, queries, keys)
        if mask == "far":
            bias[..., :min(keys, 256)] = -10000
    out = run.call("scaled_dot_product_attention", (1, heads, queries, v_size), np.float32, tensors,
                   {"scale": scale, "mask_kind": lib.VKF_MASK_ADDITIVE if mask else lib.VKF_MASK_NONE})
    return out, numbers.attention(query, key, value, scale or size ** -0.5, bias)


def multi_head_attention(run, random, query, key, value, embed_dim, heads, mask):
    """Each of the three is (width, length), or None: the one before."""
    key = key or query
    value = value or key
    if query[0] != embed_dim:
        raise Missing("queries of another width than all heads together")
    widths = {"q": embed_dim, "k": key[0], "v": value[0], "out": embed_dim}
    weights = {name: normal(random, embed_dim, width) / np.float32(width ** 0.5) for name, width in widths.items()}
    biases = {name: normal(random, embed_dim) for name in widths}
    q, k, v = (normal(random, 1, length, width) for width, length in (query, key, value))
    added = normal(random, query[1], key[1]) if mask else None
    module = vkformer.MultiheadAttention(
        {**{name + "_proj_weight": weights[name] for name in "qkv"}, "out_proj.weight": weights["out"],
         "in_proj_bias": np.concatenate([biases[name] for name in "qkv"]), "out_proj.bias": biases["out"]},
        heads, batch_first=True, context=run.context)
    out = module(q, k, v, attn_mask=added, need_weights=False)[0]

    def project(x, name):
        return x.astype(np.float64) @ weights[name].T.astype(np.float64) + biases[name]

    apart = (project(x, name).reshape(1, x.shape[1], heads, -1).swapaxes(1, 2) for x, name in zip((q, k, v), "qkv"))
    mixed = numbers.attention(*apart, (embed_dim // heads) ** -0.5, 0.0 if added is None else added)
    return out, project(mixed.swapaxes(1, 2).reshape(1, query[1], embed_dim), "out")


def softmax(run, random, shape, axis):
    x = normal(random, *shape)
    return run.softmax(x, axis), np.moveaxis(numbers.softmax(np.moveaxis(x, axis, -1).astype(np.float64)), -1, axis)


def rotary_embed(run, random, size, length, heads, interleaved):
    """By a table of any numbers."""
    x, table = normal(random, 1, heads, length, size), normal(random, length, size)
    out = run.call("rotary", x.shape, x.dtype, {"x": x, "table": table}, {"interleaved": interleaved})
    return out, numbers.rotate(x, table[:, :size // 2], table[:, size // 2:], interleaved)


def norm(run, random, shape, inner, eps, affine, rms):
    """Over the first `inner` dimensions of the shape."""
    dim = int(np.prod(shape[:inner]))
    x = normal(random, *reversed(shape))
    weight = normal(random, dim) if affine else None
    bias = normal(random, dim) if affine and not rms else None
    rows = numbers.norm(x.reshape(-1, dim), eps, rms)
    rows = rows * (1 if weight is None else weight) + (0 if bias is None else bias)
    return run.norm(x, dim, weight, bias, eps, rms), rows.reshape(x.shape)


def in_int8(run, random, **case):
    raise Missing("products of bytes that are scaled as they come")


def sdpa_cases():
    for size, queries, heads, keys, kv_heads, v_size, mask, scale in (
            (63, 1, 8, 513, 1, 37, None, 0.0), (80, 1, 8, 521, 2, 96, "all", -0.4), (96, 1, 8, 521, 2, 80, "each", 0.0),
            (128, 17, 4, 513, 4, 192, "far", 0.0), (32, 66, 8, 66, 8, 20, None, 0.0),
            (26, 64, 8, 61, 8, 18, "all", 0.0), (192, 9, 8, 17, 2, 128, "one", 0.2),
            (256, 5, 4, 13, 4, 96, "each", 0.0), (40, 62, 7, 61, 7, 24, None, 0.0),
            (24, 22, 6, 19, 6, 16, "all", 0.0), (64, 128, 12, 128, 2, 64, None, 0.0),
            (64, 122, 12, 127, 2, 48, "all", 0.0), (44, 128, 4, 123, 4, 55, None, 1.0),
            (12, 127, 4, 127, 4, 55, "all", 1.0), (28, 17, 15, 127, 5, 32, None, 0.1),
            (28, 17, 15, 32, 5, 11, "all", -0.4)):
        yield {"size": size, "queries": queries, "heads": heads, "keys": keys, "kv_heads": kv_heads, "v_size": v_size,
               "mask": mask, "scale": scale}


ATTENTION = (
    ((64, 128), (64, 128), (64, 128), 64, 4, False), ((48, 127), (64, 127), (64, 127), 64, 16, True),
    ((16, 128), (44, 128), (55, 128), 16, 2, False), ((12, 128), (44, 127), (55, 127), 16, 4, True),
    ((12, 17), (28, 127), (32, 127), 12, 3, False), ((12, 17), (28, 32), (11, 32), 12, 3, True),
    ((64, 128), (64, 128), None, 64, 4, False), ((48, 127), (64, 127), None, 64, 16, False),
    ((16, 128), (44, 128), None, 16, 2, False), ((12, 128), (22, 127), None, 16, 4, False),
    ((12, 17), (28, 127), None, 12, 3, False), ((12, 17), (11, 32), None, 12, 3, False),
    ((64, 4), (64, 128), None, 64, 4, False), ((12, 17), (11, 7), None, 12, 3, False),
    ((64, 128), None, None, 64, 4, False), ((48, 127), None, None, 64, 8, False))


def attention_cases():
    names = ("query", "key", "value", "embed_dim", "heads", "mask")
    return (dict(zip(names, values)) for values in ATTENTION)


def softmax_cases():
    for shape in ((16, 7, 6), (13, 5, 3), (16, 6), (15, 7), (128,), (127,)):
        yield from ({"shape": shape, "axis": axis} for axis in range(len(shape)))


def rotary_embed_cases():
    for size, length, heads, interleaved in (
            (32, 66, 8, False), (26, 64, 8, True), (64, 28, 12, False), (48, 22, 12, True), (44, 28, 64, False),
            (12, 27, 64, True), (28, 17, 15, False), (28, 17, 15, True)):
        yield {"size": size, "length": length, "heads": heads, "interleaved": interleaved}


def norm_cases(rms):
    thick = (((6, 4, 2), 0.01), ((4, 5, 6), 0.01), ((3, 3, 8), 0.002), ((5, 6, 12), 0.02), ((4, 7, 16), 0.02),
             ((6, 7, 24), 0.001), ((5, 8, 32), 0.001))
    flat = (((4, 2), 0.01), ((5, 6), 0.01), ((3, 8), 0.002), ((6, 12), 0.02), ((4, 16), 0.02), ((7, 24), 0.001),
            ((8, 32), 0.001))
    line = (((2,), 0.01), ((6,), 0.01), ((8,), 0.002), ((12,), 0.02), ((16,), 0.02), ((24,), 0.001), ((32,), 0.001))
    for affine in (False, True):
        for shapes, inner in ((thick, 1), (thick, 2), (flat, 1), (line, 1)):
            for shape, eps in shapes:
                yield {"shape": shape, "inner": inner, "eps": eps, "affine": affine, "rms": rms}
        for inner, eps in ((1, 0.01), (2, 0.002), (3, 0.001)) if rms else ():
            yield {"shape": (4, 3, 2, 5) if affine else (5, 3, 2, 8), "inner": inner, "eps": eps, "affine": affine,
                   "rms": rms}


GRIDS = {
    "SDPA": (sdpa, sdpa_cases), "MultiHeadAttention": (multi_head_attention, attention_cases),
    "SDPA of int8": (in_int8, lambda: list(sdpa_cases())[-10:]),
    "MultiHeadAttention of int8": (in_int8, attention_cases),
    "Softmax": (softmax, softmax_cases), "RotaryEmbed": (rotary_embed, rotary_embed_cases),
    "LayerNorm": (norm, lambda: norm_cases(False)), "RMSNorm": (norm, lambda: norm_cases(True)),
}
