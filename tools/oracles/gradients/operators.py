"""The operators: how a case of each is drawn, and what PyTorch computes.

A kind is a class. MODES is how many modes its cases cycle through. make(rng, index) draws a config, weights and inputs.
forward(config, t) takes tensors by name and gives the outputs; differentiable(config, name) says which floating-point
inputs have a gradient, and UPSTREAM which outputs get one (None: all).
"""
import math

import numpy as np
import torch
from torch.nn import functional

from . import draws

ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": functional.silu,
    "tanh": torch.tanh,
    "none": lambda x: x,
}


class Kind:
    MODES = 1
    UPSTREAM = None

    @staticmethod
    def differentiable(_config, name):
        return "mask" not in name

    @staticmethod
    def kink(_config, _tensors):
        """How near a computed value comes to where the derivative jumps."""
        return math.inf


class Gemm(Kind):
    MODES = 8

    @staticmethod
    def make(rng, index):
        trans_a, trans_b, beta = bool(index & 1), bool(index & 2), bool(index & 4)
        shared, bias = draws.chance(rng, 0.4), draws.chance(rng, 0.6)
        while True:
            m, n, k = (draws.ragged(rng, 1, 300) for _ in range(3))
            batch = draws.ragged(rng, 2 if shared else 1, 12)
            if batch * (m * k + k * n + m * n) <= 200_000:
                break
        config = dict(m=m, n=n, k=k, batch=batch, trans_a=trans_a, trans_b=trans_b, b_shared=shared,
                      alpha=float(np.float32(1.0 if draws.chance(rng, 0.3) else rng.uniform(-2, 2))),
                      beta=float(np.float32(1.0 if draws.chance(rng, 0.3) else rng.uniform(-2, 2))) if beta else 0.0,
                      has_bias=bias)
        c = draws.normal(rng, batch, m, n) if beta or draws.chance(rng, 0.4) else None
        config["has_c"], config["c_has_nan"] = c is not None, c is not None and not beta
        if config["c_has_nan"]:
            c[rng.random(c.shape) < 0.5] = np.nan
            c.flat[0] = np.nan
        a = draws.normal(rng, batch, *((k, m) if trans_a else (m, k)))
        b = draws.normal(rng, *(() if shared else (batch,)), *((n, k) if trans_b else (k, n)))
        return config, {}, draws.present(A=a, B=b, C=c, bias=draws.normal(rng, n) if bias else None)

    @staticmethod
    def differentiable(config, name):
        return name != "C" or config["beta"] != 0.0

    @staticmethod
    def forward(config, t):
        a = t["A"].transpose(-1, -2) if config["trans_a"] else t["A"]
        b = t["B"].transpose(-1, -2) if config["trans_b"] else t["B"]
        out = config["alpha"] * torch.matmul(a, b)
        if config["beta"] != 0.0:
            out = out + config["beta"] * t["C"]
        return dict(out=out + t["bias"] if config["has_bias"] else out)


def norm_sizes(rng):
    return (draws.ragged(rng, 1, 400), draws.ragged(rng, 1, 300)) if draws.chance(rng, 0.7) else \
        (draws.ragged(rng, 1, 30), draws.ragged(rng, 300, 2000))


def norm_rows(rng, mode, rows, dim, eps):
    if mode == "tiny":  # the variance is about eps, which must be inside the root
        return rng.standard_normal((rows, dim)) * math.sqrt(eps)
    x = rng.standard_normal((rows, dim)) * rng.uniform(0.3, 4, (rows, 1))
    if mode == "offset":  # E[x^2] - E[x]^2 cancels in float32
        x = rng.standard_normal((rows, dim)) + rng.uniform(60, 100, (rows, 1))
    elif mode == "zeros":
        x[1:][rng.random(rows - 1) < 0.5] = 0.0
    elif mode == "mixed":
        x[:, :1] += rng.uniform(-50, 50, (rows, 1))
    return x


class LayerNorm(Kind):
    MODES = 5
    ROW_MODES = ("normal", "offset", "tiny", "zeros", "mixed")
    EPS = (1e-5, 1e-6, 1e-12, 1e-3, 1e-5, 1e-2)

    @classmethod
    def make(cls, rng, index):
        rows, dim = norm_sizes(rng)
        mode, eps = cls.ROW_MODES[index % 5], cls.EPS[index % 6]
        if mode in ("tiny", "zeros"):  # their gradients are 1 / sqrt(eps) times the others', which must not drown
            eps = max(eps, 1e-6 if mode == "tiny" else 1e-3)
        if dim < 8:  # a gradient of few columns is of the size of eps: what is left of it where the variance is larger
            mode, eps = "tiny", max(eps, 1e-3)
        weights = cls.draw_weights(rng, dim) if draws.chance(rng, 0.8) else {}
        return dict(rows=rows, dim=dim, eps=eps, affine=bool(weights), mode=mode), weights, \
            dict(x=draws.f32(norm_rows(rng, mode, rows, dim, eps)))

    @staticmethod
    def draw_weights(rng, dim):
        return dict(weight=draws.f32(1 + 0.3 * rng.standard_normal(dim)), bias=draws.normal(rng, dim, std=0.3))

    @staticmethod
    def forward(config, t):
        return dict(out=functional.layer_norm(t["x"], (config["dim"],), t.get("weight"), t.get("bias"), config["eps"]))


class RmsNorm(LayerNorm):
    @staticmethod
    def draw_weights(rng, dim):
        return dict(weight=draws.f32(1 + 0.3 * rng.standard_normal(dim)))

    @staticmethod
    def forward(config, t):
        out = t["x"] * torch.rsqrt(t["x"].pow(2).mean(-1, keepdim=True) + config["eps"])
        return dict(out=out * t["weight"] if config["affine"] else out)


class Softmax(Kind):
    MODES = 7
    ROW_MODES = ("plain", "bool", "float", "big", "big_offset", "neg_inf", "big_bool")

    @staticmethod
    def make(rng, index):
        mode = Softmax.ROW_MODES[index % 7]
        rows, cols = draws.ragged(rng, 1, 3000), draws.ragged(rng, 1, 60)
        if draws.chance(rng, 0.5):
            rows, cols = cols, rows
        big = mode.startswith("big")
        # Where |x| is about 1e4, scale * x is exact in float32 with a power of two alone.
        scale = float(2.0 ** rng.integers(-3, 1)) if big else float(np.float32(rng.uniform(0.05, 1.5)))
        if mode == "big_offset":
            x = draws.f32(draws.pick(rng, [-1e4, 1e4]) + 3 * rng.standard_normal((rows, cols)))
        elif big:
            x = draws.f32(rng.uniform(-1e4, 1e4, (rows, 1)) + 3 * rng.standard_normal((rows, cols)))
            x[rng.random((rows, cols)) < 0.3] -= 2e4  # exp() of the difference underflows
        else:
            x = draws.normal(rng, rows, cols, std=float(rng.uniform(0.5, 5)))
        mask = None
        if mode in ("bool", "big_bool", "float"):
            mask = rng.random((rows, cols)) < rng.uniform(0.1, 0.7)
            mask[:, int(rng.integers(cols))] = False
            mask = draws.additive(rng, mask) if mode == "float" else mask
        elif mode == "neg_inf":
            x[:, 1:][rng.random((rows, cols - 1)) < 0.4] = -np.inf
        kind = "none" if mask is None else "bool" if mask.dtype == bool else "float"
        return dict(rows=rows, cols=cols, scale=scale, mode=mode, mask=kind), {}, draws.present(x=x, mask=mask)

    @staticmethod
    def forward(config, t):
        scores = t["x"] * config["scale"]
        if config["mask"] == "bool":
            scores = scores.masked_fill(t["mask"], -math.inf)
        elif config["mask"] == "float":
            scores = scores + t["mask"]
        return dict(out=torch.softmax(scores, -1))


class Permute(Kind):
    MODES = 2

    @staticmethod
    def make(rng, index):
        b, l = draws.ragged(rng, 1, 8), draws.ragged(rng, 1, 80)
        h, d = draws.pick(rng, [1, 2, 3, 6, 8]), draws.ragged(rng, 1, 66)
        split = index % 2 == 0
        x = draws.normal(rng, *((b, l, h, d) if split else (b, h, l, d)))
        return dict(B=b, L=l, H=h, D=d, direction="split_heads" if split else "merge_heads"), {}, dict(x=x)

    @staticmethod
    def forward(_config, t):
        return dict(out=t["x"].permute(0, 2, 1, 3))


class CrossEntropy(Kind):
    MODES = 6
    UPSTREAM = ("loss",)
    ROW_MODES = ("plain", "smoothed", "ignored", "ignored_smoothed", "big", "offset_smoothed")

    @staticmethod
    def make(rng, index):
        mode = CrossEntropy.ROW_MODES[index % 6]
        rows, vocab = (draws.ragged(rng, 1, 300), draws.ragged(rng, 1, 200)) if draws.chance(rng, 0.6) else \
            (draws.ragged(rng, 1, 20), draws.ragged(rng, 200, 4000))
        std, offset = (30.0, 0.0) if mode == "big" else (rng.uniform(0.5, 4), 1000.0 * mode.startswith("offset"))
        labels = rng.integers(0, vocab, rows)
        ignore = draws.pick(rng, [-100, 0])
        if mode.startswith("ignored"):
            labels[rng.random(rows) < 0.4] = ignore
        labels[int(rng.integers(rows))] = vocab - 1  # PyTorch's mean over no label at all is NaN
        if vocab == 1:
            ignore = -100
            labels[0] = 0
        config = dict(rows=rows, vocab=vocab, ignore_index=ignore, reduction="mean", mode=mode,
                      label_smoothing=draws.pick(rng, [0.1, 0.25]) if mode.endswith("smoothed") else 0.0)
        return config, {}, dict(logits=draws.f32(offset + std * rng.standard_normal((rows, vocab))),
                                labels=labels.astype(np.int32))

    @staticmethod
    def forward(config, t):
        losses = functional.cross_entropy(t["logits"], t["labels"].long(), ignore_index=config["ignore_index"],
                                          label_smoothing=config["label_smoothing"], reduction="none")
        loss = functional.cross_entropy(t["logits"], t["labels"].long(), ignore_index=config["ignore_index"],
                                        label_smoothing=config["label_smoothing"])
        return dict(loss=loss.reshape(1), losses=losses)


def activation_values(rng, *shape):
    """Mostly where derivatives bend, some far out where exponentials overflow, and zeros."""
    x = rng.standard_normal(shape) * 2
    x[rng.random(shape) < 0.02] *= 40
    x[rng.random(shape) < 0.02] = 0.0
    return draws.f32(x)


class Activation(Kind):
    MODES = 6

    @staticmethod
    def make(rng, index):
        rows, dim = draws.ragged(rng, 1, 200), draws.ragged(rng, 1, 300)
        return dict(rows=rows, dim=dim, activation=list(ACTIVATIONS)[index % 6]), {}, \
            dict(x=activation_values(rng, rows, dim))

    @staticmethod
    def forward(config, t):
        return dict(out=ACTIVATIONS[config["activation"]](t["x"]))


class Gate(Kind):
    MODES = 6

    @staticmethod
    def make(rng, index):
        rows, dim = draws.ragged(rng, 1, 150), draws.ragged(rng, 1, 200)
        return dict(rows=rows, dim=dim, activation=list(ACTIVATIONS)[index % 6]), {}, \
            dict(x=activation_values(rng, rows, 2 * dim))

    @staticmethod
    def forward(config, t):
        gate, value = t["x"].split(config["dim"], -1)
        return dict(out=ACTIVATIONS[config["activation"]](gate) * value)


class Embedding(Kind):
    MODES = 4

    @staticmethod
    def make(rng, index):
        batch, length = draws.ragged(rng, 1, 6), draws.ragged(rng, 1, 80)
        dim, vocab = draws.ragged(rng, 1, 200), draws.ragged(rng, 1, 400)
        scale = float(np.float32(math.sqrt(dim))) if index % 2 else 1.0
        weights = {"weight": draws.normal(rng, vocab, dim)}
        if index // 2 % 2:
            weights["positions.weight"] = draws.normal(rng, length + draws.ragged(rng, 1, 9) - 1, dim)
        # Ids as words are: a few often, most of them never.
        ids = (vocab * rng.random((batch, length)) ** 4).astype(np.int32)
        config = dict(batch=batch, len=length, dim=dim, vocab=vocab, scale=scale, positions=len(weights) == 2)
        return config, weights, dict(ids=ids)

    @staticmethod
    def forward(config, t):
        out = functional.embedding(t["ids"].long(), t["weight"]) * config["scale"]
        return dict(out=out + t["positions.weight"][:config["len"]] if config["positions"] else out)


class AdditiveAttention(Kind):
    MODES = 12

    @staticmethod
    def make(rng, index):
        batch, queries, keys = draws.ragged(rng, 1, 6), draws.ragged(rng, 1, 24) if index % 2 else 1, \
            draws.ragged(rng, 1, 60)
        d_s, d_h, dim = draws.ragged(rng, 1, 200), draws.ragged(rng, 1, 200), draws.ragged(rng, 1, 160)
        bias, mask = index % 3 == 1, index % 4 >= 2
        weights = {"W_s.weight": draws.normal(rng, dim, d_s, std=1 / math.sqrt(d_s)),
                   "W_h.weight": draws.normal(rng, dim, d_h, std=1 / math.sqrt(d_h)),
                   "v.weight": draws.normal(rng, 1, dim, std=2 / math.sqrt(dim))}
        if bias:
            weights["W_s.bias"], weights["W_h.bias"] = draws.normal(rng, dim, std=0.3), draws.normal(rng, dim, std=0.3)
        config = dict(batch=batch, tgt_len=queries, src_len=keys, d_s=d_s, d_h=d_h, attn_dim=dim, bias=bias, mask=mask)
        return config, weights, draws.present(
            s=draws.normal(rng, batch, queries, d_s), h=draws.normal(rng, batch, keys, d_h),
            mask=draws.pad_mask(rng, batch, keys) if mask else None)

    @staticmethod
    def forward(config, t):
        query = functional.linear(t["s"], t["W_s.weight"], t.get("W_s.bias"))
        key = functional.linear(t["h"], t["W_h.weight"], t.get("W_h.bias"))
        scores = functional.linear(torch.tanh(query.unsqueeze(2) + key.unsqueeze(1)), t["v.weight"]).squeeze(-1)
        visible = scores.masked_fill(t["mask"].unsqueeze(1), -math.inf) if config["mask"] else scores
        weights = torch.softmax(visible, -1)
        return dict(scores=scores, weights=weights, context=torch.bmm(weights, t["h"]))
