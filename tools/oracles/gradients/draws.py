"""Random shapes, numbers and masks, from the kind of a case, its seed and its index."""
import math
import zlib

import numpy as np


def generator(kind, seed, index):
    return np.random.default_rng([seed, zlib.crc32(("gradient of " + kind).encode()), index])


def f32(array):
    return np.ascontiguousarray(np.asarray(array, np.float64).astype(np.float32))


def normal(rng, *shape, std=1.0):
    return f32(rng.standard_normal(shape) * std)


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def chance(rng, probability):
    return bool(rng.random() < probability)


def ragged(rng, low, high):
    """Log-uniform, and often a power of two, one less or one more: where tiles end."""
    if chance(rng, 0.35):
        edges = [edge for power in range(9) for edge in (2**power - 1, 2**power, 2**power + 1) if low <= edge <= high]
        if edges:
            return int(pick(rng, edges))
    return int(min(high, max(low, round(math.exp(rng.uniform(math.log(low), math.log(high + 0.49)))))))


def parameters(rng, module, gain):
    """Values for a module's parameters. PyTorch's own leave biases 0 and norms' weights 1, where errors hide."""
    drawn = {}
    for name, parameter in module.state_dict().items():
        shape = tuple(parameter.shape)
        if "norm" in name:
            drawn[name] = f32(name.endswith("weight") + 0.2 * rng.standard_normal(shape))
        elif len(shape) == 2:
            drawn[name] = normal(rng, *shape, std=gain / math.sqrt(shape[1]))
        else:
            drawn[name] = normal(rng, *shape, std=1.0 if len(shape) == 3 else 0.2)  # 3: bias_k and bias_v
    return drawn


# Masks are BOOL, True being masked, or F32, which is added. Key `keep` stays visible to every query: PyTorch's gradient
# of a row that sees nothing is NaN.
def pad_mask(rng, batch, length, keep=0):
    """Padding at the end, or scattered."""
    if chance(rng, 0.5):
        masked = np.arange(length) >= rng.integers(1, length + 1, (batch, 1))
    else:
        masked = rng.random((batch, length)) < rng.uniform(0.1, 0.6)
    masked[:, keep] = False
    return masked


def additive(rng, masked):
    return f32(np.where(masked, -np.inf, rng.standard_normal(masked.shape)))


def causal_mask(queries, keys):
    return np.triu(np.ones((queries, keys), bool), 1)


def attention_mask(rng, mode, per_head, queries, keys, keep=0):
    """None, or of shape (queries, keys); those of mode bool3d and float3d have the leading shape `per_head`, too."""
    if mode == "none":
        return None
    if mode.startswith("causal"):
        masked = causal_mask(queries, keys)
        return masked if mode == "causal_bool" else f32(np.where(masked, -np.inf, 0.0))
    shape = (*per_head, queries, keys) if mode.endswith("3d") else (queries, keys)
    masked = rng.random(shape) < rng.uniform(0.1, 0.6)
    masked[..., keep] = False
    return additive(rng, masked) if mode.startswith("float") else masked


def present(**tensors):
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}
