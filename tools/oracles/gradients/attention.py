"""Attention, and the layers that are made of it: modules of torch.nn, whose parameters have the gradients."""
import contextlib
import math

import numpy as np
import torch
from torch import nn

from . import draws
from .operators import Kind

try:
    from torch.func import functional_call
except ImportError:
    from torch.nn.utils.stateless import functional_call

MASKS = ("src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask", "tgt_key_padding_mask",
         "memory_key_padding_mask")


class Sdpa(Kind):
    # mask, key_mask, causal, whether there is a window
    ROW_MODES = (("none", "none", "none", 0), ("bool", "none", "none", 0), ("float", "none", "none", 0),
                 ("bool3d", "none", "none", 0), ("float3d", "none", "none", 0), ("none", "bool", "none", 0),
                 ("none", "float", "none", 0), ("none", "lengths", "none", 0), ("float", "bool", "none", 0),
                 ("none", "none", "top_left", 0), ("none", "bool", "top_left", 0), ("float3d", "none", "top_left", 0),
                 ("none", "none", "bottom_right", 0), ("none", "none", "top_left", 1),
                 ("none", "none", "bottom_right", 1))
    MODES = len(ROW_MODES)

    @staticmethod
    def make(rng, index):
        mask, key_mask, causal, window = Sdpa.ROW_MODES[index % Sdpa.MODES]
        batch, kv_heads = int(rng.integers(1, 4)), draws.pick(rng, [1, 1, 2, 3])
        heads = kv_heads * draws.pick(rng, [1, 1, 2, 3, 4])
        queries, keys = draws.ragged(rng, 1, 80), draws.ragged(rng, 1, 80)
        if causal == "bottom_right" or window:  # else the first or last queries would see no key
            queries, keys = min(queries, keys), max(queries, keys)
        width = draws.ragged(rng, 1, 140)
        v_width = width if draws.chance(rng, 0.6) else draws.ragged(rng, 1, 140)
        keep = 0 if causal != "none" else int(rng.integers(keys))
        config = dict(batch=batch, heads=heads, kv_heads=kv_heads, q_len=queries, k_len=keys, head_dim=width,
                      v_dim=v_width, mask=mask, key_mask=key_mask, causal=causal,
                      window=draws.ragged(rng, 1, keys) if window else 0,
                      scale=float(np.float32(draws.pick(rng, [1 / math.sqrt(width), rng.uniform(0.05, 0.5)]))))
        key_masked = draws.pad_mask(rng, batch, keys, keep)
        key_masks = dict(none=None, bool=key_masked, float=draws.additive(rng, key_masked),
                         lengths=rng.integers(1, keys + 1, batch).astype(np.int32))
        return config, {}, draws.present(
            query=draws.normal(rng, batch, heads, queries, width),
            key=draws.normal(rng, batch, kv_heads, keys, width),
            value=draws.normal(rng, batch, kv_heads, keys, v_width),
            mask=draws.attention_mask(rng, mask, (batch, heads), queries, keys, keep),
            key_mask=key_masks[key_mask])

    @staticmethod
    def forward(config, t):
        group = config["heads"] // config["kv_heads"]
        key, value = (t[name].repeat_interleave(group, 1) for name in ("key", "value"))
        scores = config["scale"] * torch.matmul(t["query"], key.transpose(-1, -2))
        for name in ("mask", "key_mask"):
            if name in t:
                scores = apply_mask(scores, key_columns(t[name], config) if name == "key_mask" else t[name])
        return dict(output=torch.matmul(torch.softmax(scores.masked_fill(positions_masked(config), -math.inf), -1),
                                        value))


def apply_mask(scores, mask):
    return scores.masked_fill(mask, -math.inf) if mask.dtype == torch.bool else scores + mask


def key_columns(mask, config):
    """A mask of keys, (batch, keys) or lengths (batch), as one of scores (batch, heads, queries, keys)."""
    if config["key_mask"] == "lengths":
        mask = torch.arange(config["k_len"]) >= mask.unsqueeze(-1)
    return mask[:, None, None, :]


def positions_masked(config):
    """What causal and window mask: (queries, keys)."""
    offset = config["k_len"] - config["q_len"] if config["causal"] == "bottom_right" else 0
    query, key = torch.arange(config["q_len"])[:, None] + offset, torch.arange(config["k_len"])
    masked = (key > query) & (config["causal"] != "none")
    return masked | (key + config["window"] <= query) if config["window"] else masked


class Module(Kind):
    """A kind whose weights are those of module(config)."""

    @classmethod
    def call(cls, config, t, *inputs, **options):
        module = cls.module(config).to(inputs[0].dtype)
        weights = {name: t[name] for name in module.state_dict()}
        return functional_call(module, weights, inputs, options)


class Mha(Module):
    EMBED_HEADS = ((300, 6), (96, 4), (7, 1), (33, 1), (128, 8), (66, 2), (50, 1), (96, 1), (33, 3), (128, 1), (14, 2),
                   (64, 8), (5, 5), (192, 2), (99, 3), (100, 2), (256, 2), (28, 4), (6, 2))
    # attn_mask, key_padding_mask
    ROW_MODES = (("none", "none"), ("bool", "none"), ("float", "none"), ("bool3d", "none"), ("float3d", "none"),
                 ("none", "bool"), ("bool", "bool"), ("float", "bool"), ("causal_bool", "none"),
                 ("causal_float", "bool"), ("none", "float"), ("float3d", "bool"), ("bool3d", "bool"),
                 ("causal_bool", "bool"))
    MODES = len(ROW_MODES)
    UPSTREAM = ("output",)

    @staticmethod
    def make(rng, index):
        embed_dim, heads = Mha.EMBED_HEADS[(index * 7 + int(rng.integers(2))) % len(Mha.EMBED_HEADS) if index else 0]
        attn_mask, key_mask = Mha.ROW_MODES[index % Mha.MODES]
        batch, queries, keys = int(rng.integers(1, 6)), draws.ragged(rng, 1, 80), draws.ragged(rng, 1, 80)
        itself, kdim, vdim = draws.chance(rng, 0.4), embed_dim, embed_dim
        if itself:
            keys = queries
        elif draws.chance(rng, 0.4):
            kdim, vdim = draws.ragged(rng, 1, 140), draws.ragged(rng, 1, 140)
        config = dict(embed_dim=embed_dim, num_heads=heads, kdim=kdim, vdim=vdim, bias=draws.chance(rng, 0.75),
                      add_bias_kv=draws.chance(rng, 0.25) or index % 9 == 3,
                      add_zero_attn=draws.chance(rng, 0.25) or index % 9 == 3, batch_first=True, self_attention=itself,
                      batch=batch, tgt_len=queries, src_len=keys, attn_mask=attn_mask, key_padding_mask=key_mask,
                      weights=draws.pick(rng, ["none", "average"]))
        weights = draws.parameters(rng, Mha.module(config), float(rng.uniform(0.6, 1.7)))
        query = draws.normal(rng, batch, queries, embed_dim)
        key, value = (query, query) if itself else (draws.normal(rng, batch, keys, kdim),
                                                    draws.normal(rng, batch, keys, vdim))
        keep = 0 if attn_mask.startswith("causal") else int(rng.integers(keys))
        pad = draws.pad_mask(rng, batch, keys, keep)
        mask = draws.attention_mask(rng, attn_mask, (batch * heads,), queries, keys, keep)
        return config, weights, draws.present(
            query=query, key=key, value=value, attn_mask=mask,
            key_padding_mask=dict(none=None, bool=pad, float=draws.additive(rng, pad))[key_mask])

    @staticmethod
    def module(config):
        return nn.MultiheadAttention(config["embed_dim"], config["num_heads"], batch_first=True, **{
            name: config[name] for name in ("bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim")})

    @staticmethod
    def differentiable(config, name):
        return "mask" not in name and not (config["self_attention"] and name in ("key", "value"))

    @classmethod
    def forward(cls, config, t):
        query = t["query"]
        key, value = (query, query) if config["self_attention"] else (t["key"], t["value"])
        output, weights = cls.call(config, t, query, key, value, attn_mask=t.get("attn_mask"),
                                   key_padding_mask=t.get("key_padding_mask"),
                                   need_weights=config["weights"] == "average")
        return dict(output=output) if weights is None else dict(output=output, attn_weights=weights)


class Layers(Module):
    """What has feed-forward layers, and so perhaps ReLU."""
    EMBED_HEADS = ((300, 6), (64, 4), (33, 3), (96, 6), (50, 1), (128, 8), (28, 4), (66, 2), (7, 7), (100, 5),
                   (6, 2))
    EPS = (1e-5, 1e-6, 1e-3, 1e-2, 1e-12)

    @classmethod
    def draw_config(cls, rng, index, max_feed_forward):
        embed_dim, heads = cls.EMBED_HEADS[int(rng.integers(len(cls.EMBED_HEADS))) if index else 0]
        return dict(d_model=embed_dim, nhead=heads, dim_feedforward=draws.ragged(rng, 1, max_feed_forward),
                    activation=("relu", "gelu")[index % 2], norm_first=bool(index // 2 % 2),
                    layer_norm_eps=cls.EPS[index % 5], batch=int(rng.integers(1, 5)))

    @staticmethod
    def options(config):
        return dict(dropout=0.0, batch_first=True, **{name: config[name] for name in (
            "d_model", "nhead", "dim_feedforward", "activation", "layer_norm_eps", "norm_first")})

    @classmethod
    def kink(cls, config, tensors):
        if config["activation"] != "relu":
            return math.inf
        nearest = []
        with watch_relu(lambda out: nearest.append(float(out.abs().min()))), torch.no_grad():
            cls.forward(config, tensors)
        return min(nearest)


@contextlib.contextmanager
def watch_relu(see):
    """Calls see() with what enters each ReLU."""
    original = nn.functional.relu

    def seen(x, *rest, **options):
        see(x)
        return original(x, *rest, **options)
    nn.functional.relu = seen
    try:
        yield
    finally:
        nn.functional.relu = original


class EncoderLayer(Layers):
    ROW_MODES = (("none", 0), ("none", 1), ("bool", 0), ("float", 0), ("causal_float", 1), ("bool3d", 1),
                 ("float3d", 0))
    MODES = 14

    @classmethod
    def make(cls, rng, index):
        config, (mode, pad) = cls.draw_config(rng, index, 512), cls.ROW_MODES[index % 7]
        config.update(src_len=draws.ragged(rng, 1, 64), src_mask=mode, src_key_padding_mask=bool(pad))
        batch, heads, length = config["batch"], config["nhead"], config["src_len"]
        weights = draws.parameters(rng, cls.module(config), float(rng.uniform(0.7, 1.5)))
        return config, weights, draws.present(
            src=draws.normal(rng, batch, length, config["d_model"]),
            src_mask=draws.attention_mask(rng, mode, (batch * heads,), length, length),
            src_key_padding_mask=draws.pad_mask(rng, batch, length) if pad else None)

    @classmethod
    def module(cls, config):
        return nn.TransformerEncoderLayer(**cls.options(config))

    @classmethod
    def forward(cls, config, t):
        return dict(output=cls.call(config, t, t["src"], **{name: t.get(name) for name in MASKS if "src" in name}))


class DecoderLayer(Layers):
    # tgt_mask, tgt_key_padding_mask, memory_mask, memory_key_padding_mask
    ROW_MODES = (("causal_float", 0, "none", 0), ("causal_bool", 1, "none", 1), ("causal_float", 1, "bool", 0),
                 ("none", 0, "float", 1), ("bool3d", 0, "float3d", 0), ("causal_float", 0, "none", 1),
                 ("float", 1, "bool3d", 1))
    MODES = 14

    @classmethod
    def make(cls, rng, index):
        config = cls.draw_config(rng, index, 512)
        mode, pad, memory_mode, memory_pad = cls.ROW_MODES[index % 7]
        queries, keys = draws.ragged(rng, 1, 50), draws.ragged(rng, 1, 50)
        config.update(tgt_len=queries, src_len=keys, tgt_mask=mode, tgt_key_padding_mask=bool(pad),
                      memory_mask=memory_mode, memory_key_padding_mask=bool(memory_pad))
        batch, per_head = config["batch"], (config["batch"] * config["nhead"],)
        weights = draws.parameters(rng, cls.module(config), float(rng.uniform(0.7, 1.5)))
        return config, weights, draws.present(
            tgt=draws.normal(rng, batch, queries, config["d_model"]),
            memory=draws.normal(rng, batch, keys, config["d_model"]),
            tgt_mask=draws.attention_mask(rng, mode, per_head, queries, queries),
            memory_mask=draws.attention_mask(rng, memory_mode, per_head, queries, keys),
            tgt_key_padding_mask=draws.pad_mask(rng, batch, queries) if pad else None,
            memory_key_padding_mask=draws.pad_mask(rng, batch, keys) if memory_pad else None)

    @classmethod
    def module(cls, config):
        return nn.TransformerDecoderLayer(**cls.options(config))

    @classmethod
    def forward(cls, config, t):
        masks = {name: t.get(name) for name in MASKS if "src" not in name}
        return dict(output=cls.call(config, t, t["tgt"], t["memory"], **masks))


class Encoding(nn.Module):
    """nn.Transformer with the encoder's output beside its own: both get a gradient."""

    def __init__(self, transformer):
        super().__init__()
        self.transformer = transformer

    def forward(self, src, tgt, masks):
        memory = self.transformer.encoder(src, mask=masks["src_mask"],
                                          src_key_padding_mask=masks["src_key_padding_mask"])
        output = self.transformer.decoder(tgt, memory, **{name: masks[name] for name in MASKS if "src" not in name})
        return memory, output


class Transformer(Layers):
    MODES = 12

    @classmethod
    def make(cls, rng, index):
        config = cls.draw_config(rng, index, 256)
        queries, keys = draws.ragged(rng, 1, 40), draws.ragged(rng, 1, 40)
        config.update(num_encoder_layers=2 if index % 3 == 2 else int(rng.integers(1, 3)),
                      num_decoder_layers=2 if index % 3 == 1 else int(rng.integers(1, 3)),
                      tgt_len=queries, src_len=keys)
        batch, per_head = config["batch"], (config["batch"] * config["nhead"],)
        weights = draws.parameters(rng, cls.module(config), float(rng.uniform(0.7, 1.4)))
        source_pad = draws.pad_mask(rng, batch, keys) if index % 3 else None
        modes = (("none", "bool", "float", "none"), ("causal_float", "causal_bool", "causal_float", "none"),
                 ("none", "none", "bool", "float"))
        src_mode, tgt_mode, memory_mode = (row[index % 4] for row in modes)
        inputs = draws.present(
            src=draws.normal(rng, batch, keys, config["d_model"]),
            tgt=draws.normal(rng, batch, queries, config["d_model"]),
            src_mask=draws.attention_mask(rng, src_mode, per_head, keys, keys),
            tgt_mask=draws.attention_mask(rng, tgt_mode, per_head, queries, queries),
            memory_mask=draws.attention_mask(rng, memory_mode, per_head, queries, keys),
            src_key_padding_mask=source_pad, memory_key_padding_mask=source_pad,
            tgt_key_padding_mask=draws.pad_mask(rng, batch, queries) if index % 3 == 2 else None)
        config["masks"] = [name for name in MASKS if name in inputs]
        return config, weights, inputs

    @classmethod
    def module(cls, config):
        transformer = nn.Transformer(**cls.options(config), num_encoder_layers=config["num_encoder_layers"],
                                     num_decoder_layers=config["num_decoder_layers"])
        transformer.encoder.enable_nested_tensor = False
        return transformer

    @classmethod
    def forward(cls, config, t):
        module = Encoding(cls.module(config).to(t["src"].dtype))
        weights = {"transformer." + name: t[name] for name in module.transformer.state_dict()}
        masks = {name: t.get(name) for name in MASKS}
        memory, output = functional_call(module, weights, (t["src"], t["tgt"], masks))
        return dict(memory=memory, output=output)
