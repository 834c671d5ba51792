"""The gradients by their formulas, in numpy and float32, from nothing but a case's files.

A second opinion beside autograd's: where sums are taken in another order float32 rounds otherwise, and where a formula
here and PyTorch disagree one of them is wrong. `check` has to find each of PLANTS.
"""
import math

import numpy as np

LAYERS = "encoder_layer decoder_layer transformer"
# What is wrong, and the kinds that have it.
PLANTS = {
    "gemm_no_alpha": ("gradients of a product without alpha", "gemm"),
    "gemm_no_beta": ("gradient of C without beta", "gemm"),
    "gemm_one_batch": ("a shared B, or a weight, gets the gradient of the first batch entry alone",
        "gemm additive_attention mha " + LAYERS),
    "gemm_not_transposed": ("gradient of a transposed A or B is not transposed", "gemm"),
    "bias_mean": ("gradient of a bias is a mean over rows", "gemm layernorm additive_attention mha " + LAYERS),
    "norm_no_mean": ("gradient of a norm without the mean's part", "layernorm " + LAYERS),
    "norm_no_variance": ("gradient of a norm without the variance's part", "layernorm rmsnorm " + LAYERS),
    "norm_weight_raw": ("gradient of a norm's weight from x as it was, not from the normalised",
        "layernorm rmsnorm " + LAYERS),
    "softmax_no_sum": ("gradient of a softmax without the sum over the row", "softmax additive_attention"),
    "softmax_no_scale": ("gradient of a softmax without its scale", "softmax"),
    "permute_not": ("gradient keeps the order that it came in", "permute"),
    "attention_no_scale": ("gradients of queries and keys without the scale", "sdpa mha " + LAYERS),
    "attention_no_delta": ("gradient of scores without the row's sum", "sdpa mha " + LAYERS),
    "attention_no_mask": ("weights are computed anew without masks", "sdpa mha " + LAYERS),
    "attention_one_of_group": ("keys get the gradient of the first query head that shares them", "sdpa"),
    "mha_query_alone": ("self-attention gives its input the gradient of queries alone", "mha " + LAYERS),
    "mha_bias_kv_one": ("bias_k and bias_v get the gradient of the first batch entry alone", "mha"),
    "residual_dropped": ("no gradient goes around a sublayer", LAYERS),
    "memory_last_layer": ("memory gets the gradient of the last decoder layer alone", "transformer"),
    "relu_open": ("ReLU lets every gradient through", "activation gate " + LAYERS),
    "gelu_other": ("gradient of GELU is the one of the other form", "activation gate " + LAYERS),
    "silu_no_product": ("gradient of SiLU without x's share", "activation gate"),
    "tanh_not_squared": ("gradient of tanh is 1 - tanh(x)", "activation gate"),
    "none_halved": ("gradient of no activation is a half", "activation gate"),
    "cross_entropy_all_rows": ("mean over ignored rows, too", "cross_entropy"),
    "cross_entropy_ignored": ("ignored rows get a gradient", "cross_entropy"),
    "cross_entropy_sharp": ("gradient without smoothing", "cross_entropy"),
    "cross_entropy_no_label": ("gradient is the softmax alone", "cross_entropy"),
    "gate_swapped": ("the gate gets the gradient of the gated", "gate"),
    "embedding_last": ("an id that occurs twice gets its last gradient alone", "embedding"),
    "embedding_no_scale": ("gradient of a table without its scale", "embedding"),
    "positions_one_batch": ("positions get the gradient of the first batch entry alone", "embedding"),
    "additive_no_slope": ("gradient does not pass through tanh", "additive_attention"),
    "additive_context_alone": ("gradient of scores is left out", "additive_attention"),
}
planted = set()
erf = np.vectorize(math.erf, otypes=[np.float32])


# ---- products, norms, softmax

def linear(x, weight, bias=None):
    out = np.matmul(x, weight.T)
    return out if bias is None else out + bias


def linear_grad(x, weight, dout):
    """Gradients of x, weight and bias."""
    rows, douts = (x, dout) if x.ndim == 2 or "gemm_one_batch" not in planted else (x[0], dout[0])
    dweight = np.matmul(douts.reshape(-1, dout.shape[-1]).T, rows.reshape(-1, x.shape[-1]))
    return np.matmul(dout, weight), dweight, bias_grad(dout)


def bias_grad(dout):
    rows = dout.reshape(-1, dout.shape[-1])
    return rows.mean(0) if "bias_mean" in planted else rows.sum(0)


def norm(x, weight, bias, eps, rms=False):
    """The output, and what its gradient takes."""
    mean = np.float32(0) if rms else x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + np.float32(eps))
    normalised = (x - mean) * rstd
    out = normalised if weight is None else normalised * weight
    return out if bias is None else out + bias, (x, normalised, rstd, weight, rms)


def norm_grad(saved, dout):
    """Gradients of x, weight and bias."""
    x, normalised, rstd, weight, rms = saved
    inner = dout if weight is None else dout * weight
    mean = 0 if rms or "norm_no_mean" in planted else inner.mean(-1, keepdims=True)
    variance = 0 if "norm_no_variance" in planted else normalised * (inner * normalised).mean(-1, keepdims=True)
    factor = x if "norm_weight_raw" in planted else normalised
    axes = tuple(range(x.ndim - 1))
    return rstd * (inner - mean - variance), (dout * factor).sum(axes), bias_grad(dout)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_grad(p, dout):
    return p * (dout if "softmax_no_sum" in planted else dout - (p * dout).sum(-1, keepdims=True))


def masked(scores, mask):
    if mask is None:
        return scores
    return np.where(mask, np.float32(-np.inf), scores) if mask.dtype == bool else scores + mask


# ---- activations

def activate(name, x):
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return x * normal_below(x)
    if name == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(gelu_inner(x)))
    if name == "silu":
        return x * sigmoid(x)
    return np.tanh(x) if name == "tanh" else x


def normal_below(x):
    return np.float32(0.5) * (1 + erf(x * np.float32(math.sqrt(0.5))))


def gelu_inner(x):
    return np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x**3)


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def slope(name, x):
    """The derivative."""
    if "gelu_other" in planted:
        name = {"gelu": "gelu_tanh", "gelu_tanh": "gelu"}.get(name, name)
    if name == "relu":
        return np.ones_like(x) if "relu_open" in planted else (x > 0).astype(np.float32)
    if name == "gelu":
        return normal_below(x) + x * np.exp(-x * x / 2) / np.float32(math.sqrt(2 * math.pi))
    if name == "gelu_tanh":
        t = np.tanh(gelu_inner(x))
        inner = np.float32(math.sqrt(2 / math.pi)) * (1 + np.float32(3 * 0.044715) * x * x)
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner
    if name == "silu":
        s = sigmoid(x)
        return s if "silu_no_product" in planted else s * (1 + x * (1 - s))
    if name == "tanh":
        return 1 - np.tanh(x) ** (1 if "tanh_not_squared" in planted else 2)
    return np.full_like(x, 0.5 if "none_halved" in planted else 1)


# ---- attention: (batch, heads, rows, width)

def attend(q, k, v, scale, masks):
    """As fused kernels have it: what is kept is the logarithm of each row's sum, not the weights."""
    k, v = (share(t, q.shape[1]) for t in (k, v))
    scores = scale * np.matmul(q, k.swapaxes(-1, -2))
    for mask in masks:
        scores = masked(scores, mask)
    top = scores.max(-1, keepdims=True)
    log_sum = top + np.log(np.exp(scores - top).sum(-1, keepdims=True))
    return np.matmul(np.exp(scores - log_sum), v), log_sum


def share(t, heads):
    return np.repeat(t, heads // t.shape[1], 1)


def unshare(dt, kv_heads):
    groups = dt.reshape(dt.shape[0], kv_heads, -1, *dt.shape[2:])
    return groups[:, :, 0] if "attention_one_of_group" in planted else groups.sum(2)


def attend_grad(q, k, v, scale, masks, out, log_sum, dout):
    """Gradients of q, k and v, after FlashAttention-2 (Dao 2023): a row's sum of p * dp is that of dout * out."""
    kv_heads, k, v = k.shape[1], share(k, q.shape[1]), share(v, q.shape[1])
    scores = scale * np.matmul(q, k.swapaxes(-1, -2))
    for mask in () if "attention_no_mask" in planted else masks:
        scores = masked(scores, mask)
    p = np.exp(scores - log_sum)
    delta = 0 if "attention_no_delta" in planted else (dout * out).sum(-1, keepdims=True)
    dscores = p * (np.matmul(dout, v.swapaxes(-1, -2)) - delta)
    if "attention_no_scale" not in planted:
        dscores = dscores * scale
    return (np.matmul(dscores, k), unshare(np.matmul(dscores.swapaxes(-1, -2), q), kv_heads),
            unshare(np.matmul(p.swapaxes(-1, -2), dout), kv_heads))


def split_heads(t, heads):
    return t.reshape(*t.shape[:2], heads, -1).swapaxes(1, 2)


def merge_heads(t):
    return t.swapaxes(1, 2).reshape(t.shape[0], t.shape[2], -1)


def row_mask(mask, heads):
    """(queries, keys), or (batch * heads, queries, keys), for scores."""
    return mask if mask is None or mask.ndim == 2 else mask.reshape(-1, heads, *mask.shape[1:])
