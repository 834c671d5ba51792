"""The parameters with which ggml's test-backend-ops tries FLASH_ATTN_EXT, SOFT_MAX, ROPE and norms (llama.cpp, 2026).

Shapes are ggml's, the innermost dimension first. What is a view there, or of another type than a tensor here may have,
is a copy: masks in f16 become f32, and so do keys and values beside queries in f32."""
import itertools

import numpy as np

import vkformer
from vkformer._native import lib

from . import grid_numbers as numbers
from .operators import Missing

BASE, POSITIONS = 10000.0, 512
TYPES = {"f32": np.float32, "f16": np.float16}
NO_GRADIENT, NO_FULL_WEIGHTS = "a gradient as an operator", "weights for every row"


def uniform(random, shape, dtype=np.float32, low=-1.0, high=1.0):
    return random.uniform(low, high, shape).astype(dtype)


def shape_of(ne):
    return tuple(reversed(ne))


# ---- softmax and attention

def draw_mask(random, shape, dtype):
    """Numbers, and keys masked in blocks of rows, of which the first key is none."""
    mask = uniform(random, shape, dtype).astype(np.float32)
    for row in range(0, shape[-2], 16):
        hidden = random.integers(1, shape[-1], max(1, shape[-1] // 4))
        mask[..., row:row + 16, hidden] = -np.inf
    return mask


def scores_operands(random, heads, shape, dtype, mask, sinks, max_bias):
    """Of softmax and attention alike: tensors, fields, what is added to scores, and sinks."""
    tensors, fields, bias, sink = {}, {}, 0.0, None
    if mask:
        bias = tensors["mask"] = draw_mask(random, shape, dtype)
        fields["mask_kind"] = lib.VKF_MASK_ADDITIVE
    if mask and max_bias:
        slopes = tensors["slopes"] = numbers.alibi_slopes(heads, max_bias).astype(np.float32)
        bias = bias * slopes.astype(np.float64)[:, None, None]
    if sinks:
        sink = tensors["sinks"] = uniform(random, heads, low=-10, high=10)
    return tensors, fields, bias, sink


def soft_max(run, random, ne, mask, sinks, mask_type, repeats, scale, max_bias, in_place=False):
    n3, n2, n1, n0 = shape_of(ne)
    x = uniform(random, (n3 * repeats[1], n2 * repeats[0], n1, n0))
    tensors, fields, bias, sink = scores_operands(random, x.shape[1], (n3, n2, n1, n0), TYPES[mask_type], mask, sinks,
                                                  max_bias)
    out = run.call("softmax", x.shape, x.dtype, {"x": x, **tensors}, {"scale": scale, **fields},
                   in_place="x" if in_place else None)
    return out, numbers.softmax(scale * x.astype(np.float64) + bias, sink)


def soft_max_back(run, random, ne, scale, max_bias):
    raise Missing(NO_GRADIENT)


def bits_of(x):
    """The upper halves of float32."""
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def cut_to_bfloats(x):
    """Such as bfloat16 has, in float32."""
    return (bits_of(x).astype(np.uint32) << 16).view(np.float32)


def flash_attn_ext(run, random, k_size, v_size, heads, repeats, keys, queries, mask, sinks, max_bias, soft_cap,
                   precision, k_type, v_type, permuted=False):
    bfloats = k_type == v_type == "bf16"  # which queries in f32 read
    if not bfloats and not {k_type, v_type} <= set(TYPES):
        raise Missing("keys and values in blocks")
    group, batch = repeats
    query = uniform(random, (batch, heads * group, queries, k_size))
    key = uniform(random, (batch, heads, keys, k_size), TYPES.get(k_type, np.float32))
    value = uniform(random, (batch, heads, keys, v_size), TYPES.get(v_type, np.float32))
    dtype = np.float16 if precision == "default" and not bfloats else np.float32
    query, key, value = (x.astype(dtype) for x in (query, key, value))
    if bfloats:
        key, value = (cut_to_bfloats(x) for x in (key, value))
    tensors, fields, bias, sink = scores_operands(random, heads * group, (batch, 1, queries, keys), np.float16, mask,
                                                  sinks, max_bias)
    fields.update({"soft_cap": soft_cap} if soft_cap else {})
    lie = [run.split_heads(np.ascontiguousarray(x.swapaxes(1, 2))) if permuted else x for x in (query, key, value)]
    if bfloats:
        lie[1:] = (bits_of(x).view(vkformer.bfloat16) for x in lie[1:])
    out = run.call("scaled_dot_product_attention", (*query.shape[:3], v_size), dtype,
                   {**dict(zip(("query", "key", "value"), lie)), **tensors}, fields)
    return out, numbers.attention(query, key, value, k_size ** -0.5, bias, sink, soft_cap)


# ---- rotary positions

def frequencies(dims, pairs, section, stretch, mix, factors):
    """Of each pair, with YaRN's mixture of stretched frequencies and those that are not (Peng et al. 2023). Where
    sections begin anew they are those of as many pairs."""
    own = BASE ** (-2.0 * (np.arange(pairs) % section) / dims) / factors
    low, high = (dims * np.log(POSITIONS / (beta * 2 * np.pi)) / (2 * np.log(BASE)) for beta in (32.0, 1.0))
    low, high = max(0.0, np.floor(low)), min(dims - 1.0, np.ceil(high))
    kept = mix * (1 - np.clip((np.arange(pairs) - low) / max(0.001, high - low), 0, 1))
    return own * (stretch * (1 - kept) + kept)


def positions_of_pairs(mode, pairs, sections):
    """Which of the positions each pair takes."""
    i = np.arange(pairs)
    if mode == "imrope":
        return np.where(i < 3 * sections, i % 3, 3)
    return i % (3 * sections) // sections if mode in ("mrope", "vision") else np.zeros(pairs, int)


def rotary_fields(mode, sections):
    fields = {"interleaved": mode == "normal", "merged": True, "sections_in_turns": mode == "imrope"}
    counts = {"mrope": [sections] * 3, "imrope": [sections] * 3, "vision": [sections] * 2}.get(mode)
    return {**fields, **({"sections": counts + [0] * (4 - len(counts))} if counts else {})}


def rotary_table(length, frequency, magnitude):
    dim = 2 * len(frequency)
    factors = BASE ** (-np.arange(0, dim, 2) / dim) / frequency
    return vkformer.rotary_table(length, dim, BASE, factors=factors, magnitude=magnitude)


def rope(run, random, dtype, ne, dims, mode, stretch, mix, magnitude, factors, view, forward, in_place=False):
    d, heads, tokens, batch = ne
    x = uniform(random, (batch, tokens, heads, d), TYPES[dtype])
    pairs = dims // 2
    sections = dims // (4 if mode == "vision" else 3)
    count = {"mrope": 3, "imrope": 4, "vision": 2}.get(mode, 1)
    positions = random.integers(0, POSITIONS, (count, 1, tokens), np.int32)
    of_pairs = random.uniform(0.9, 1.1, pairs) if factors else np.ones(pairs)
    frequency = (frequencies(dims // 2, pairs, sections, stretch, mix, of_pairs) if mode == "vision" else
                 frequencies(dims, pairs, pairs, stretch, mix, of_pairs))
    magnitude *= 1 + 0.1 * np.log(1 / stretch) if mix else 1
    out = run.call("rotary", x.shape, x.dtype,
                   {"x": x, "table": rotary_table(POSITIONS, frequency, magnitude),
                    "positions": positions if count > 1 else positions[0]},
                   {"inverse": not forward, **rotary_fields(mode, sections)}, in_place="x" if in_place else None)
    angles = positions[positions_of_pairs(mode, pairs, sections), 0].T * frequency
    sines = magnitude * np.sin(angles) * (1 if forward else -1)
    return out, numbers.rotate(x, (magnitude * np.cos(angles))[:, None], sines[:, None], mode == "normal")


# ---- norms

def norm(run, random, ne, eps, rms, view=False, in_place=False):
    x = uniform(random, shape_of(ne))
    out = run.norm(x, ne[0], None, None, eps, rms, in_place="x" if in_place else None)
    return out, numbers.norm(x, eps, rms)


def norm_mul_add(run, random, ne, eps, rms, broadcast, more=False):
    if ne[1] > 1:
        raise Missing(NO_FULL_WEIGHTS)
    x, weight, bias = (uniform(random, shape_of(ne)) for _ in range(3))
    further = weight if more else np.zeros_like(weight)
    out = run.norm(x, ne[0], weight.reshape(-1), (bias + further).reshape(-1), eps, rms)
    return out, numbers.norm(x, eps, rms) * weight + bias + further


def added(residual):
    """Before a norm."""
    return {"inputs": {"residual": residual}, "fields": {"residual_order": lib.VKF_RESIDUAL_BEFORE}}


def add_rms_norm(run, random, ne, eps, broadcast):
    residual = uniform(random, shape_of(ne))
    x = uniform(random, [n * (i + 1) if broadcast else n for i, n in enumerate(ne)][::-1])
    residual = np.tile(residual, [a // b for a, b in zip(x.shape, residual.shape)])
    out = run.norm(x, x.shape[-1], None, None, eps, True, **added(residual))
    return out, numbers.norm(x.astype(np.float64) + residual, eps, True)


def group_norm(run, random, ne, weighted):
    """32 groups of channels, whose elements lie one behind the other."""
    if weighted:
        raise Missing(NO_FULL_WEIGHTS)
    x = uniform(random, (32, int(np.prod(ne)) // 32))
    return run.norm(x, x.shape[1], None, None, 1e-6, False), numbers.norm(x, 1e-6, False)


def scattered(run, random, source, expected, tokens):
    """The rows of the tokens, and what they should be, in places of a larger tensor."""
    rows, width = random.permutation(2 * tokens)[:tokens], source.size // tokens
    places = np.zeros((2 * tokens, width))
    places[rows] = expected.reshape(tokens, width)
    return run.call("scatter", places.shape, np.float32,
                    {"x": np.zeros_like(places, np.float32), "index": rows.astype(np.int32)[:, None],
                     "source": source.reshape(tokens, width)}, {"dim": 0}), places


def rms_norm_mul_rope(run, random, ne, more, set_rows, mode):
    d, heads, tokens, batch = ne
    x, residual = (uniform(random, (batch, tokens, heads, d)) for _ in range(2))
    weight, residual = uniform(random, d), residual if more else np.zeros_like(residual)
    positions = random.integers(0, POSITIONS, (1, tokens), np.int32)
    frequency = frequencies(d, d // 2, d // 2, 1.0, 0.0, np.ones(d // 2))
    normed = run.norm(x, d, weight, None, 1e-6, True, **(added(residual) if more else {}))
    out = run.call("rotary", x.shape, x.dtype, {"x": normed, "table": rotary_table(POSITIONS, frequency, 1.0),
                                                "positions": positions}, rotary_fields(mode, 0))
    angles = positions[0][:, None, None] * frequency
    weighted = numbers.norm(x.astype(np.float64) + residual, 1e-6, True) * weight
    expected = numbers.rotate(weighted, np.cos(angles), np.sin(angles), mode == "normal")
    return scattered(run, random, out, expected, tokens) if set_rows else (out, expected)


def norm_back(run, random, ne, eps):
    raise Missing(NO_GRADIENT)


def l2_norm(run, random, ne, eps, view=False, in_place=False):
    raise Missing("an L2 norm")


# ---- the grids: each gives the parameters of a case after the other

def product(**axes):
    """Of every choice of one value for each name."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values))


def soft_max_cases():
    for p in product(mask=(False, True), sinks=(False, True), max_bias=(0.0, 8.0), scale=(1.0, 0.1), n0=(16, 1024),
                     n1=(16, 1024), mask_type=("f32", "f16")):
        n0, n1 = p.pop("n0"), p.pop("n1")
        if not p["mask"] and (p["max_bias"] or p["mask_type"] == "f16"):
            continue
        yield {"ne": (n0, n1, 1, 1), "repeats": (1, 1), **p}
        yield {"ne": (n0 - 1, n1 - 1, 1, 1), "repeats": (1, 1), **p}
        if p["mask"] and max(n0, n1) <= 32:
            yield {"ne": (n0, n1, 1, 3), "repeats": (3, 1), **p}
            yield {"ne": (n0 - 1, n1 - 1, 1, 1), "repeats": (2, 3), **p}
    one = {"ne": (16, 2, 32, 1), "repeats": (1, 1), "scale": 0.1, "max_bias": 0.0}
    for p in product(mask=(False, True), sinks=(False, True), mask_type=("f32", "f16")):
        yield {**one, **p, "in_place": True}
    for ne, mask, sinks, mask_type, max_bias in (
            ((16, 2, 32, 1), True, True, "f32", 0.0), ((16, 2, 32, 1), True, False, "f16", 0.0),
            ((16, 2, 32, 1), False, True, "f32", 0.0), ((32, 2, 32, 1), True, True, "f32", 0.0),
            ((32, 2, 32, 1), True, False, "f16", 0.0), ((32, 2, 32, 1), True, True, "f32", 8.0),
            ((32, 2, 32, 1), True, True, "f16", 8.0), ((200001, 2, 3, 1), True, True, "f32", 8.0),
            ((200001, 2, 3, 1), True, True, "f16", 8.0)):
        yield {**one, "ne": ne, "mask": mask, "sinks": sinks, "mask_type": mask_type, "max_bias": max_bias}
    for ne in ((200000, 1, 1, 1), (200000, 4, 1, 1), (643251, 3, 1, 1)):
        yield {**one, "ne": ne, "mask": False, "sinks": False, "mask_type": "f32", "scale": 1.0}


def soft_max_back_cases():
    for p in product(max_bias=(0.0, 8.0), scale=(1.0, 0.1), n0=(16, 1024), n1=(16, 1024)):
        n0, n1 = p.pop("n0"), p.pop("n1")
        for ne in ((n0, n1, 1, 1), (n0 - 1, n1 - 1, 1, 1), (n0, n1, 2, 3)):
            yield {"ne": ne, **p}


HEADS = [(s, s) for s in (40, 64, 72, 80, 96, 128, 192, 256, 512)] + [(192, 128), (320, 256), (576, 512)]
KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")


def groups_of(k_size, heads):
    """Query heads to a head of keys."""
    further = {192: (8, 16), 128: (12,), 576: (20,) if heads == 1 else (), 320: (32,) if heads == 1 else ()}
    return (1, 4, *further.get(k_size, ()))


def flash_attn_ext_cases():
    for p in product(sizes=HEADS, mask=(True, False), sinks=(True, False), max_bias=(0.0, 8.0), soft_cap=(0.0, 10.0),
                     heads=(1, 4), batch=(1, 3), keys=(113, 512, 1024), queries=(1, 3, 32, 75),
                     precision=("f32", "default"), kind=KV_TYPES):
        (k_size, v_size), batch, kind = (p.pop(name) for name in ("sizes", "batch", "kind"))
        if ((not p["mask"] and p["max_bias"]) or (k_size != 128 and (p["soft_cap"] or p["precision"] == "default")) or
                (p["heads"] == 1 and k_size not in (320, 576)) or (k_size > 64 and batch > 1) or
                (kind != "f16" and k_size not in (64, 72))):
            continue
        for group in groups_of(k_size, p["heads"]):
            if group == 1 or p["keys"] == 512:
                case = {"k_size": k_size, "v_size": v_size, "repeats": (group, batch), "k_type": kind, "v_type": kind,
                        **p}
                yield case
                if p["mask"] and not p["max_bias"] and not p["soft_cap"] and p["keys"] == 512:
                    yield {**case, "permuted": True}
    for k_size, v_size, keys, queries, mask, k_type, v_type in (
            (64, 64, 128, 2, True, "q8_0", "q4_0"), (64, 64, 128, 2, True, "q4_0", "f16"),
            (72, 72, 96, 2, True, "q4_0", "q8_0"), (64, 64, 96, 2, True, "f16", "f32"),
            (128, 128, 256, 1, False, "f16", "q4_0"), (128, 128, 96, 2, True, "q1_0", "q1_0"),
            (128, 64, 128, 2, True, "q1_0", "q4_0"), (64, 128, 128, 2, True, "q4_0", "q1_0"),
            (128, 64, 64, 2, True, "q1_0", "f16")):
        yield {"k_size": k_size, "v_size": v_size, "heads": 4, "repeats": (1, 1), "keys": keys, "queries": queries,
               "mask": mask, "sinks": False, "max_bias": 0.0, "soft_cap": 0.0, "precision": "f32", "k_type": k_type,
               "v_type": v_type}


# Of models: shape, rotated elements, and how.
ROPE_FEW = [((128, 32, 2, 1), 128, "normal"), ((64, 128, 2, 1), 64, "neox")]
ROPE_ALL = ROPE_FEW + [((128, heads, 2, 1), 128, "normal") for heads in (40, 52, 64)] + [
    ((64, heads, 2, 1), 64, "neox") for heads in (1, 71, 8)] + [
    ((80, 32, tokens, 1), dims, mode)
    for mode in ("normal", "neox") for tokens, dims in ((2, 20), (2, 32), (4, 32))] + [
    ((128, heads, 2, 1), dims, mode) for mode in ("mrope", "imrope")
    for heads, dims in ((12, 128), (28, 128), (12, 20), (28, 32))] + [
    ((80, 16, 2, 1), 80, "vision"), ((128, 16, 2, 1), 128, "imrope")] + [
    ((16, 16, 8192, 1), 16, mode) for mode in ("normal", "neox", "imrope")]
ROPE_MODES = ("normal", "neox", "mrope", "imrope", "vision")


def rope_cases():
    for p in product(forward=(True, False), stretch=(1.0, 1.4245), mix=(0.0, 0.7465), magnitude=(1.0, 1.4245),
                     dtype=("f32", "f16"), factors=(False, True)):
        plain = p["stretch"] == 1.0 and p["mix"] == 0.0 and p["magnitude"] == 1.0 and p["dtype"] == "f32"
        for view, (ne, dims, mode) in itertools.product((0, 1), ROPE_ALL if plain else ROPE_FEW):
            yield {"ne": ne, "dims": dims, "mode": mode, "view": view, **p}
        for mode in ROPE_MODES:
            yield {"ne": (36, 16, 2457, 1), "dims": 36, "mode": mode, "view": 2, **p}
    for p in product(dtype=("f32", "f16"), mode=ROPE_MODES, factors=(False, True), ne_view=(((128, 32, 2, 1), 0), (
            (128, 32, 2, 1), 1), ((128, 32, 2, 3), 1))):
        ne, view = p.pop("ne_view")
        yield {"ne": ne, "dims": 128, "stretch": 1.4245, "mix": 0.7465, "magnitude": 1.4245, "view": view,
               "forward": True, "in_place": True, **p}


EPS, ROW_LENGTHS = (0.0, 1e-6, 1e-4, 1e-1, 10.0), (64, 1025)


def rows_of(**axes):
    for p in product(eps=EPS, n=ROW_LENGTHS, **axes):
        yield {"ne": (p.pop("n"), 5, 4, 3), **p}


def norm_cases(rms):
    for p in rows_of(view=(False, True)):
        yield {"rms": rms, **p}
    if rms:
        yield {"rms": rms, "ne": (64, 5, 4, 3), "eps": 1e-6, "in_place": True}
    else:
        yield from ({"rms": rms, "in_place": True, **p} for p in rows_of())


def fused_rows_of(**axes):
    """The last eps is another one where norms are fused with what follows them."""
    for p in rows_of(broadcast=(False, True)):
        yield {**p, "eps": min(p["eps"], 1.0), **axes}


def norm_mul_add_cases():
    for rms in (True, False):
        yield from fused_rows_of(rms=rms)
    for p in product(n=(1, 511, 1025, 8192, 33 * 512), more=(False, True)):
        yield {"ne": (p.pop("n"), 1, 1, 1), "eps": 1e-6, "rms": True, "broadcast": False, **p}


def add_rms_norm_cases():
    yield from fused_rows_of()
    for n in (1, 511, 1025, 8192, 33 * 512):
        yield {"ne": (n, 1, 1, 1), "eps": 1e-6, "broadcast": False}


def rms_norm_mul_rope_cases():
    shapes = ((768, 1, 1), (768, 3, 1), (768, 3, 5), (128, 32, 2), (128, 4, 2), (128, 32, 50), (128, 4, 50),
              (8192, 2, 2))
    for p in product(more=(False, True), set_rows=(False, True), mode=("normal", "neox"), ne=shapes):
        yield {**p, "ne": (*p["ne"], 1)}


def l2_norm_cases():
    yield from rows_of(view=(False, True))
    yield from ({"in_place": True, **p} for p in rows_of())


GRIDS = {
    "FLASH_ATTN_EXT": (flash_attn_ext, flash_attn_ext_cases), "SOFT_MAX": (soft_max, soft_max_cases),
    "SOFT_MAX_BACK": (soft_max_back, soft_max_back_cases), "ROPE": (rope, rope_cases),
    "NORM": (norm, lambda: norm_cases(False)), "RMS_NORM": (norm, lambda: norm_cases(True)),
    "NORM_MUL_ADD": (norm_mul_add, norm_mul_add_cases), "ADD_RMS_NORM": (add_rms_norm, add_rms_norm_cases),
    "RMS_NORM_MUL_ROPE": (rms_norm_mul_rope, rms_norm_mul_rope_cases), "RMS_NORM_BACK": (norm_back, rows_of),
    "L2_NORM": (l2_norm, l2_norm_cases),
    "GROUP_NORM": (group_norm, lambda: product(ne=((64, 64, 320, 1), (9, 9, 1280, 1)), weighted=(False, True))),
}
