"""torch.nn.MultiheadAttention on the device."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import invalid
from .layer import (Attention, Chain, Layers, Masks, Parameters, Scores, batch_first, check_keys, dtype_of,
                    fully_masked_of, of_caller)
from .module import Conversion, Module
from .tensor import Results, as_floats
from .torch_module import check_out_proj


class MultiheadAttention(Module):
    """torch.nn.MultiheadAttention in eval mode, from its state_dict or from arrays by the same names.

    All sizes come from the parameters, except for the number of heads. Parameters are float32 or float16; with
    float16 inputs, which take float16 parameters, activations are float16, too.

    Beyond PyTorch's are `window`, `window_right`, `soft_cap`, `slopes` and `sinks`, as of scaled_dot_product_attention(),
    and `rotary`, a rotary_table() by which queries and keys of self attention are turned, from position 0 on.

    fully_masked  what rows give in which every key is masked, by -inf or a boolean: "nan", as PyTorch's do that give
                  weights, "zero", as those do that give none, or "uniform"
    """

    def __init__(self, state_dict: Mapping[str, Any], num_heads: int, *, batch_first: bool = False,
                 add_zero_attn: bool = False, fully_masked: str = "nan", window: int = 0, window_right: int = 0,
                 soft_cap: float = 0.0, slopes: Any = None, sinks: Any = None, rotary: Any = None,
                 rotary_interleaved: bool = False, context: Context | None = None) -> None:
        parameters = Parameters(state_dict, context_or_default(context))
        self._attention = Attention(parameters, "", num_heads)
        self._weights = ffi.new("vkf_attention_weights *")
        self._attention.enter(self._weights)
        parameters.forget_arrays()
        self.context = parameters.context
        self._scores = Scores(self.context, window=window, window_right=window_right, soft_cap=soft_cap, slopes=slopes,
                              sinks=sinks, rotary=rotary, rotary_interleaved=rotary_interleaved)
        self._layers = Layers()
        self.num_heads, self.embed_dim = num_heads, self._attention.embed_dim
        self.kdim, self.vdim = self._attention.kdim, self._attention.vdim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self._fully_masked = fully_masked_of(fully_masked)

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> MultiheadAttention:
        check_out_proj(module, place)
        return cls(module.state_dict(), module.num_heads, batch_first=module.batch_first,
                   add_zero_attn=module.add_zero_attn, fully_masked=conversion.fully_masked,
                   context=conversion.context)

    def forward(self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
                attn_mask: Any = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Any, Any]:
        """The output, and with `need_weights` the attention weights, averaged over the heads or (B, H, L, S).

        Shapes and masks are PyTorch's, sequences without a batch included. `is_causal` without an attn_mask, which
        PyTorch refuses, is the causal mask. Without weights attention is fused, and takes less time and memory.
        """
        itself = key is query and value is query
        results = Results(query, key, value)
        query = as_floats(query)
        self._attention.parameters.check_inputs(query.dtype)
        key, value = (query, query) if itself else (as_floats(key), as_floats(value))
        masks = Masks(attn_mask, key_padding_mask, is_causal)
        batched = query.ndim == 3
        query, key, value = (self._rows(array, batched) for array in (query, key, value))
        if not batched:
            masks.batched()
        sizes = self._sizes(query, key, value)
        masks.check(sizes[0], self.num_heads, sizes[1], sizes[2], "MultiheadAttention")
        port = None
        if need_weights:
            port = lib.VKF_PORT_WEIGHTS if average_attn_weights else lib.VKF_PORT_WEIGHTS_PER_HEAD
        weights_shape = self._weights_shape(sizes, average_attn_weights)
        output, weights = query, None if port is None else np.empty(weights_shape, np.float32)
        if 0 not in sizes[:2]:
            with self._layers.turn:
                chain = self._layers.get((itself, port, query.dtype, masks.key), sizes,
                                         lambda largest: self._make(largest, itself, port, dtype_of(query), masks))
                chain.write(lib.VKF_PORT_QUERY, query)
                if not itself:
                    chain.write(lib.VKF_PORT_KEY, key, query.dtype)
                    chain.write(lib.VKF_PORT_VALUE, value, query.dtype)
                chain.write(lib.VKF_PORT_MASK, masks.attn)
                chain.write(lib.VKF_PORT_KEY_MASK, masks.keys)
                chain.run(sizes)
                output = chain.read(lib.VKF_PORT_OUTPUT, query.shape, query.dtype, results.on_device)
                if weights is not None:
                    weights = chain.read(port, weights_shape, np.float32, results.on_device)
        if weights is not None:
            weights = results.give(weights if batched else weights.reshape(weights.shape[1:]))
        return results.give(of_caller(output, batched, self.batch_first)), weights

    def _rows(self, array: Any, batched: bool) -> Any:
        """(B, L, E), whatever the caller has."""
        if array.ndim != (3 if batched else 2):
            raise invalid(f"MultiheadAttention: query, key and value are all (L, E), or all have a batch, and not "
                          f"{array.shape}")
        return batch_first(array, self.batch_first)

    def _sizes(self, query: Any, key: Any, value: Any) -> tuple[int, int, int]:
        batch, query_len, key_len = query.shape[0], query.shape[1], key.shape[1]
        wanted = ((query, (batch, query_len, self.embed_dim)), (key, (batch, key_len, self.kdim)),
                  (value, (batch, key_len, self.vdim)))
        for (array, shape), name in zip(wanted, ("query", "key", "value")):
            if array.shape != shape:
                raise invalid(f"MultiheadAttention: {name} is {array.shape} with the batch first, and not {shape}")
        check_keys((batch, query_len, key_len), "MultiheadAttention")
        return batch, query_len, key_len

    def _weights_shape(self, sizes: tuple[int, int, int], averaged: bool) -> tuple[int, ...]:
        batch, query_len, key_len = sizes
        key_len += self._attention.bias_kv + self.add_zero_attn
        return (batch, query_len, key_len) if averaged else (batch, self.num_heads, query_len, key_len)

    def _make(self, sizes: tuple[int, int, int], itself: bool, port: int | None, dtype: int,
              masks: Masks) -> Chain:
        desc = ffi.new("vkf_attention_desc *")
        desc.embed_dim, desc.num_heads = self.embed_dim, self.num_heads
        desc.kdim, desc.vdim = self.kdim, self.vdim
        desc.self_attention = itself
        desc.add_zero_attn = self.add_zero_attn
        desc.weights = port == lib.VKF_PORT_WEIGHTS
        desc.weights_per_head = port == lib.VKF_PORT_WEIGHTS_PER_HEAD
        masks.enter(desc.mask)
        desc.fully_masked = self._fully_masked
        desc.params = self._weights[0]
        self._scores.enter(desc.params, desc.mask)
        desc.dtype = dtype
        return Chain(self._attention.parameters.context, sizes, [(lib.vkf_attention_create, desc)])
