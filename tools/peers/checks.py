"""Inputs that all peers work on, and whether what they computed is right."""
import numpy as np

SEED = 2026
TOLERANCE = {"f32": 1e-4, "f16": 3e-2}


class Runner:
    """A prepared work: calling it runs it once."""

    def __init__(self, run, note=None):
        self.run = run
        self.note = note

    def __call__(self):
        return self.run()


def generator():
    return np.random.default_rng(SEED)


def uniform(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def gemm_inputs(work):
    """(m, k) and (n, k)."""
    rng = generator()
    return uniform(rng, work["m"], work["k"]), uniform(rng, work["n"], work["k"])


def attention_inputs(work):
    """Query, key and value as (batch, heads, length, head_dim)."""
    rng = generator()
    lengths = (work["q_len"], work["kv_len"], work["kv_len"])
    return [uniform(rng, work["batch"], work["heads"], length, work["head_dim"]) for length in lengths]


def softmax(scores):
    """In place, over the last axis."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def causal_mask(query_len, kv_len):
    """What is added to the scores: query i sees keys 0 to i."""
    return np.triu(np.full((query_len, kv_len), -np.inf, np.float32), 1)


def attention(query, key, value, causal=False):
    """The reference, for arrays that end in (length, head_dim)."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(np.float32(query.shape[-1]))
    if causal:
        scores += causal_mask(*scores.shape[-2:])
    return softmax(scores) @ value


def mha_inputs(work):
    """x (len, embed_dim), and the four weights of its projections."""
    rng = generator()
    size = work["embed_dim"]
    x = uniform(rng, work["len"], size)
    return x, [uniform(rng, size, size) / np.float32(np.sqrt(size)) for _ in range(4)]


def mha(x, weights, head_count):
    """The reference, without biases."""
    heads = [np.swapaxes((x @ w.T).reshape(len(x), head_count, -1), 0, 1) for w in weights[:3]]
    return np.swapaxes(attention(*heads), 0, 1).reshape(x.shape) @ weights[3].T


def layer_norm(x, weight, bias, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(epsilon)) * weight + bias


def check_gemm(out, a, weights, precision):
    """Some rows of out (m, n); a sum of k products grows with the root of k."""
    rows = slice(0, min(len(a), 8))
    check_close(out[rows] / np.sqrt(a.shape[1]), a[rows] @ weights.T / np.sqrt(a.shape[1]), precision)


def check_close(out, expected, precision):
    error = float(np.abs(np.asarray(out, dtype=np.float32) - expected).max())
    if not error <= TOLERANCE[precision]:
        raise RuntimeError("its result is wrong by %.3g" % error)
