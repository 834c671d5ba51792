"""What the cases of grids compute, by NumPy in float64."""
import numpy as np


def softmax(scores, sinks=None):
    """Over the last dimension. A sink is a further score of its head, the third dimension from the end: it takes part,
    and its weight is left out."""
    if sinks is not None:
        scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], (*scores.shape[:-1], 1))], -1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights if sinks is None else weights[..., :-1]


def attention(query, key, value, scale, bias=0.0, sinks=None, soft_cap=0.0):
    """(B, H, L, D), (B, Hkv, S, D), (B, Hkv, S, Dv); `bias` is added to the scores."""
    group = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x.astype(np.float64), group, 1) for x in (key, value))
    scores = scale * (query.astype(np.float64) @ key.swapaxes(-1, -2))
    if soft_cap:
        scores = soft_cap * np.tanh(scores / soft_cap)
    return softmax(scores + bias, sinks) @ value


def alibi_slopes(heads, max_bias):
    """Press, Smith and Lewis 2022: powers of one number, and of its root between them for heads beyond a power of 2."""
    whole = 2 ** int(np.log2(heads))
    slopes = [2.0 ** (-max_bias * (i + 1) / whole) for i in range(whole)]
    return np.array(slopes + [2.0 ** (-max_bias * (2 * i + 1) / (2 * whole)) for i in range(heads - whole)])


def rotate(x, cosines, sines, interleaved):
    """Pairs of the first elements of x, twice as many as there are cosines, by their angles."""
    pairs = cosines.shape[-1]
    out = x.astype(np.float64)
    first, second = ((slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)) if interleaved else
                     (slice(0, pairs), slice(pairs, 2 * pairs)))
    a, b = out[..., first].copy(), out[..., second].copy()
    out[..., first], out[..., second] = a * cosines - b * sines, b * cosines + a * sines
    return out


def norm(x, eps, rms):
    x = x.astype(np.float64)
    if not rms:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
