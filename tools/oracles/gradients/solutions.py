"""Each kind by the formulas: a function of config and {name: array} that gives outputs and gradients."""
import math

import numpy as np

from . import files, formulas as f
from .formulas import planted


def gemm(c, t):
    a = t["A"].swapaxes(-1, -2) if c["trans_a"] else t["A"]
    b = t["B"].swapaxes(-1, -2) if c["trans_b"] else t["B"]
    alpha, beta, dout = np.float32(c["alpha"]), np.float32(c["beta"]), t["grad_out"]
    r = dict(out=alpha * np.matmul(a, b))
    scaled = dout if "gemm_no_alpha" in planted else alpha * dout
    da, db = np.matmul(scaled, b.swapaxes(-1, -2)), np.matmul(a.swapaxes(-1, -2), scaled)
    if c["b_shared"]:
        db = db[0] if "gemm_one_batch" in planted else db.sum(0)
    for name, gradient, transposed in (("A", da, c["trans_a"]), ("B", db, c["trans_b"])):
        straight = gradient.swapaxes(-1, -2) if transposed else gradient
        r["grad_" + name] = gradient.reshape(straight.shape) if "gemm_not_transposed" in planted else straight
    if beta:
        r["out"] = r["out"] + beta * t["C"]
        r["grad_C"] = dout if "gemm_no_beta" in planted else beta * dout
    if c["has_bias"]:
        r["out"], r["grad_bias"] = r["out"] + t["bias"], f.bias_grad(dout)
    return r


def norm(c, t):
    out, saved = f.norm(t["x"], t.get("weight"), t.get("bias"), c["eps"], c["of"] == "rmsnorm")
    gradients = dict(zip(("grad_x", "grad_weight", "grad_bias"), f.norm_grad(saved, t["grad_out"])))
    return dict(out=out, **{name: g for name, g in gradients.items() if name == "grad_x" or name[5:] in t})


def softmax(c, t):
    scale = np.float32(c["scale"])
    p = f.softmax(f.masked(scale * t["x"], t.get("mask")))
    dx = f.softmax_grad(p, t["grad_out"])
    return dict(out=p, grad_x=dx if "softmax_no_scale" in planted else scale * dx)


def permute(_c, t):
    dout = t["grad_out"]
    return dict(out=t["x"].swapaxes(1, 2),
                grad_x=dout.reshape(t["x"].shape) if "permute_not" in planted else dout.swapaxes(1, 2))


def sdpa_masks(c, t):
    offset = c["k_len"] - c["q_len"] if c["causal"] == "bottom_right" else 0
    ahead = np.arange(c["k_len"]) - np.arange(c["q_len"])[:, None] - offset
    masks = [ahead > 0] if c["causal"] != "none" else []
    masks += [ahead <= -c["window"]] if c["window"] else []
    masks += [t["mask"]] if "mask" in t else []
    if "key_mask" in t:
        key_mask = t["key_mask"]
        if c["key_mask"] == "lengths":
            key_mask = np.arange(c["k_len"]) >= key_mask[:, None]
        masks.append(key_mask[:, None, None])
    return masks


def sdpa(c, t):
    operands = *(t[name] for name in ("query", "key", "value")), np.float32(c["scale"]), sdpa_masks(c, t)
    out, log_sum = f.attend(*operands)
    gradients = f.attend_grad(*operands, out, log_sum, t["grad_output"])
    return dict(zip(("output", "grad_query", "grad_key", "grad_value"), (out, *gradients)))


def additive_attention(_c, t):
    query, key = (f.linear(t[x], t[w + ".weight"], t.get(w + ".bias")) for x, w in (("s", "W_s"), ("h", "W_h")))
    bent, v = np.tanh(query[:, :, None] + key[:, None]), t["v.weight"][0]
    scores = np.matmul(bent, v)
    p = f.softmax(f.masked(scores, t["mask"][:, None] if "mask" in t else None))
    dp = t["grad_weights"] + np.matmul(t["grad_context"], t["h"].swapaxes(1, 2))
    dscores = f.softmax_grad(p, dp) + (0 if "additive_context_alone" in planted else t["grad_scores"])
    dsum = dscores[..., None] * v * (1 if "additive_no_slope" in planted else 1 - bent * bent)
    r = dict(scores=scores, weights=p, context=np.matmul(p, t["h"]))
    r["grad_v.weight"] = (dscores[..., None] * bent).sum((0, 1, 2))[None]
    for x, w, dout in (("s", "W_s", dsum.sum(2)), ("h", "W_h", dsum.sum(1))):
        gradients = f.linear_grad(t[x], t[w + ".weight"], dout)
        r.update(zip(("grad_" + x, "grad_" + w + ".weight", "grad_" + w + ".bias"), gradients))
        if w + ".bias" not in t:
            del r["grad_" + w + ".bias"]
    r["grad_h"] = r["grad_h"] + np.matmul(p.swapaxes(1, 2), t["grad_context"])
    return r


def cross_entropy(c, t):
    x, labels = t["logits"], t["labels"]
    counts, smoothing, vocab = labels != c["ignore_index"], np.float32(c["label_smoothing"]), c["vocab"]
    shifted = x - x.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    target = np.zeros_like(x)
    target[np.arange(c["rows"])[counts], labels[counts]] = 1
    smoothed = (1 - smoothing) * target + smoothing / vocab
    losses = np.where(counts, -(smoothed * logs).sum(-1), np.float32(0))
    if "cross_entropy_sharp" in planted or "cross_entropy_no_label" in planted:
        smoothed = target * ("cross_entropy_sharp" in planted)
    mean = np.float32(len(counts) if "cross_entropy_all_rows" in planted else counts.sum())
    rows = np.ones_like(counts) if "cross_entropy_ignored" in planted else counts
    return dict(loss=losses.sum(keepdims=True) / mean, losses=losses,
                grad_logits=t["grad_loss"] / mean * (np.exp(logs) - smoothed) * rows[:, None])


def activation(c, t):
    return dict(out=f.activate(c["activation"], t["x"]), grad_x=t["grad_out"] * f.slope(c["activation"], t["x"]))


def gate(c, t):
    opened, value = np.split(t["x"], 2, -1)
    halves = (t["grad_out"] * value * f.slope(c["activation"], opened),
              t["grad_out"] * f.activate(c["activation"], opened))
    return dict(out=f.activate(c["activation"], opened) * value,
                grad_x=np.concatenate(halves[::-1] if "gate_swapped" in planted else halves, -1))


def embedding(c, t):
    scale, dout = np.float32(c["scale"]), t["grad_out"]
    r = dict(out=scale * t["weight"][t["ids"]], grad_weight=np.zeros_like(t["weight"]))
    rows = dout if "embedding_no_scale" in planted else scale * dout
    if "embedding_last" in planted:
        r["grad_weight"][t["ids"]] = rows
    else:
        np.add.at(r["grad_weight"], t["ids"], rows)
    if c["positions"]:
        r["out"] = r["out"] + t["positions.weight"][:c["len"]]
        r["grad_positions.weight"] = np.zeros_like(t["positions.weight"])
        r["grad_positions.weight"][:c["len"]] = dout[0] if "positions_one_batch" in planted else dout.sum(0)
    return r


# ---- modules. Each runs forward, and returns its output and a function of the output's gradient, which adds the
# weights' gradients to `grads` and returns the inputs'.

class Modules:
    def __init__(self, config, tensors):
        self.config, self.tensors, self.grads = config, tensors, {}

    def put(self, names, gradients):
        for name, gradient in zip(names, gradients):
            if name in self.tensors:
                self.grads["grad_" + name] = gradient

    def linear(self, name, x):
        weight, bias = self.tensors[name + ".weight"], self.tensors.get(name + ".bias")

        def backward(dout):
            dx, *gradients = f.linear_grad(x, weight, dout)
            self.put((name + ".weight", name + ".bias"), gradients)
            return dx
        return f.linear(x, weight, bias), backward

    def norm(self, name, x):
        out, saved = f.norm(x, self.tensors[name + ".weight"], self.tensors[name + ".bias"],
                            self.config["layer_norm_eps"])

        def backward(dout):
            dx, *gradients = f.norm_grad(saved, dout)
            self.put((name + ".weight", name + ".bias"), gradients)
            return dx
        return out, backward

    def feed_forward(self, name, x):
        activation = self.config["activation"]
        inner, first = self.linear(name + "linear1", x)
        out, second = self.linear(name + "linear2", f.activate(activation, inner))
        return out, lambda dout: first(second(dout) * f.slope(activation, inner))

    def project(self, name, x):
        """The three projections of query, key and value, be they packed or not."""
        t, parts = self.tensors, []
        packed = t.get(name + "in_proj_weight")
        biases = np.split(t[name + "in_proj_bias"], 3) if name + "in_proj_bias" in t else (None,) * 3
        weights = [t[name + part + "_proj_weight"] for part in "qkv"] if packed is None else np.split(packed, 3)
        parts = [f.linear(*operands) for operands in zip(x, weights, biases)]

        def backward(douts):
            dx, dweights, dbiases = zip(*(f.linear_grad(*operands) for operands in zip(x, weights, douts)))
            self.put([name + part + "_proj_weight" for part in "qkv"], dweights)
            if packed is not None:
                self.put([name + "in_proj_weight"], [np.concatenate(dweights)])
            self.put([name + "in_proj_bias"], [np.concatenate(dbiases)])
            return dx
        return parts, backward

    def attention(self, name, heads, x, masks):
        """Multi-head attention of x = (query, key, value), with bias_k, bias_v and a row of zeros where given."""
        (q, k, v), projected = self.project(name, x)
        keys, batch = k.shape[1], k.shape[0]
        bias = [self.tensors.get(name + part) for part in ("bias_k", "bias_v")]
        more = [(np.repeat(b, batch, 0),) if b is not None else () for b in bias]
        zero = (np.zeros((batch, 1, k.shape[2]), np.float32),) if self.config.get("add_zero_attn") else ()
        k, v = (np.concatenate((t, *extra, *zero), 1) for t, extra in zip((k, v), more))
        masks = [widen(mask, k.shape[1]) for mask in (f.row_mask(masks[0], heads), key_rows(masks[1]))
                 if mask is not None]
        operands = *(f.split_heads(t, heads) for t in (q, k, v)), np.float32(1 / math.sqrt(q.shape[2] // heads)), masks
        context, log_sum = f.attend(*operands)
        out, merged = self.linear(name + "out_proj", f.merge_heads(context))

        def backward(dout):
            dcontext = f.split_heads(merged(dout), heads)
            dq, dk, dv = map(f.merge_heads, f.attend_grad(*operands, context, log_sum, dcontext))
            if bias[0] is not None:
                rows = [dt[:, keys] for dt in (dk, dv)]
                self.put((name + "bias_k", name + "bias_v"),
                         [(r[0] if "mha_bias_kv_one" in planted else r.sum(0))[None, None] for r in rows])
            return projected((dq, dk[:, :keys], dv[:, :keys]))
        return out, backward, (operands, log_sum)

    def sublayer(self, x, norm, body):
        """x + body(norm(x)), or norm(x + body(x)). Backward returns the gradient of x alone."""
        if self.config["norm_first"]:
            inside, norm_back = self.norm(norm, x)
            out, back = body(inside)
            return x + out, lambda dout: around(norm_back(back(dout)), dout)
        inside, back = body(x)
        out, norm_back = self.norm(norm, x + inside)

        def backward(dout):
            dsum = norm_back(dout)
            return around(back(dsum), dsum)
        return out, backward

    def self_attention(self, name, mask, key_mask):
        def body(x):
            out, back, _ = self.attention(name, self.config["nhead"], (x, x, x), (mask, key_mask))
            return out, lambda dout: sum_of_self(back(dout))
        return body

    def encoder_layer(self, name, x, mask, key_mask):
        x, first = self.sublayer(x, name + "norm1", self.self_attention(name + "self_attn.", mask, key_mask))
        x, second = self.sublayer(x, name + "norm2", lambda inside: self.feed_forward(name, inside))
        return x, lambda dout: first(second(dout))

    def decoder_layer(self, name, x, memory, masks):
        """Backward returns the gradients of x and of memory."""
        dmemory = []

        def cross(inside):
            out, back, _ = self.attention(name + "multihead_attn.", self.config["nhead"], (inside, memory, memory),
                                          masks[2:])

            def backward(dout):
                dx, dk, dv = back(dout)
                dmemory.append(dk + dv)
                return dx
            return out, backward
        x, first = self.sublayer(x, name + "norm1", self.self_attention(name + "self_attn.", *masks[:2]))
        x, second = self.sublayer(x, name + "norm2", cross)
        x, third = self.sublayer(x, name + "norm3", lambda inside: self.feed_forward(name, inside))
        return x, lambda dout: (first(second(third(dout))), dmemory[0])


def around(inner, dout):
    return inner if "residual_dropped" in planted else inner + dout


def sum_of_self(gradients):
    return gradients[0] if "mha_query_alone" in planted else sum(gradients)


def key_rows(mask):
    return None if mask is None else mask[:, None, None]


def widen(mask, keys):
    """What is behind a mask's keys (bias_k, zeros) is visible."""
    missing = keys - mask.shape[-1]
    return np.concatenate((mask, np.zeros((*mask.shape[:-1], missing), mask.dtype)), -1)


def mha(c, t):
    m, names = Modules(c, t), ("query", "key", "value")
    out, back, (operands, log_sum) = m.attention("", c["num_heads"], [t[name] for name in names],
                                                 (t.get("attn_mask"), t.get("key_padding_mask")))
    gradients = back(t["grad_output"])
    r = dict(output=out)
    if c["weights"] == "average":
        q, k, _, scale, masks = operands
        scores = scale * np.matmul(q, k.swapaxes(-1, -2))
        for mask in masks:
            scores = f.masked(scores, mask)
        r["attn_weights"] = np.exp(scores - log_sum).mean(1)
    r.update({"grad_query": sum_of_self(gradients)} if c["self_attention"] else
             zip(("grad_query", "grad_key", "grad_value"), gradients))
    return dict(r, **m.grads)


def encoder_layer(c, t):
    m = Modules(c, t)
    out, back = m.encoder_layer("", t["src"], t.get("src_mask"), t.get("src_key_padding_mask"))
    return dict(output=out, grad_src=back(t["grad_output"]), **m.grads)


DECODER_MASKS = ("tgt_mask", "tgt_key_padding_mask", "memory_mask", "memory_key_padding_mask")


def decoder_layer(c, t):
    m = Modules(c, t)
    out, back = m.decoder_layer("", t["tgt"], t["memory"], [t.get(name) for name in DECODER_MASKS])
    dtgt, dmemory = back(t["grad_output"])
    return dict(output=out, grad_tgt=dtgt, grad_memory=dmemory, **m.grads)


def transformer(c, t):
    m, memory, output, back = Modules(c, t), t["src"], t["tgt"], []
    for i in range(c["num_encoder_layers"]):
        memory, step = m.encoder_layer("encoder.layers.%d." % i, memory, t.get("src_mask"),
                                       t.get("src_key_padding_mask"))
        back.append(step)
    memory, step = m.norm("encoder.norm", memory)
    back.append(step)
    decoder = []
    for i in range(c["num_decoder_layers"]):
        output, step = m.decoder_layer("decoder.layers.%d." % i, output, memory, [t.get(n) for n in DECODER_MASKS])
        decoder.append(step)
    output, step = m.norm("decoder.norm", output)
    dtgt, shares = step(t["grad_output"]), []
    for step in decoder[::-1]:
        dtgt, share = step(dtgt)
        shares.append(share)
    dsrc = t["grad_memory"] + sum(shares[:1] if "memory_last_layer" in planted else shares)
    for step in back[::-1]:
        dsrc = step(dsrc)
    return dict(memory=memory, output=output, grad_src=dsrc, grad_tgt=dtgt, **m.grads)


SOLUTIONS = dict(gemm=gemm, layernorm=norm, rmsnorm=norm, softmax=softmax, permute=permute, sdpa=sdpa,
                 additive_attention=additive_attention, mha=mha, encoder_layer=encoder_layer,
                 decoder_layer=decoder_layer, transformer=transformer, cross_entropy=cross_entropy,
                 activation=activation, gate=gate, embedding=embedding)


def solve(case, plants=()):
    planted.update(plants)
    try:
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            results = SOLUTIONS[case.config["of"]](case.config, {**case.weights, **case.inputs})
    finally:
        planted.clear()
    return {name: np.ascontiguousarray(array, np.float32) for name, array in results.items()}


def round_bf16(array):
    bits = array.view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)


# To the nearest even, as mixed precision reads the matrices of linear layers.
ROUNDINGS = dict(f16=lambda array: array.astype(np.float16).astype(np.float32), bf16=round_bf16)


def solve_rounded(case, kind):
    """By the formulas in float64, for matrices that are rounded to `kind`."""
    weights = {name: ROUNDINGS[kind](array) if array.ndim > 1 else array for name, array in case.weights.items()}
    wide = [{name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in tensors.items()}
            for tensors in (weights, case.inputs)]
    return solve(files.Case(case.config, *wide))
