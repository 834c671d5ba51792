"""torch.nn.TransformerEncoderLayer and TransformerDecoderLayer on the device."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import enumerator, invalid
from .layer import Attention, Layer, Layers, Masks, Parameters, dtype_of, fully_masked_of
from .tensor import as_floats
from .torch_module import check_layer

_GELU = {"gelu": "gelu_erf"}  # what PyTorch calls so


class _TransformerLayer:
    """What both have in common; PyTorch's names, in eval mode.

    fully_masked  what attention gives for rows in which every key is masked, by -inf or a boolean: "nan", as PyTorch's
                  does that gives weights, "zero", as that does that gives none, or "uniform"
    """

    _attentions: tuple[str, ...]
    _norms: tuple[str, ...]
    _create: Callable[[Any, Any, Any], int]

    def __init__(self, state_dict: Mapping[str, Any], nhead: int, *, activation: str = "relu",
                 norm_first: bool = False, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 fully_masked: str = "nan", context: Context | None = None) -> None:
        self._context = context_or_default(context)
        parameters = Parameters(state_dict, self._context)
        self._desc = desc = ffi.new("vkf_transformer_layer_desc *")
        for name, member in zip(self._attentions, ("self", "cross")):
            Attention(parameters, name + ".", nhead).enter(getattr(desc, member))
        desc.dim_feedforward, desc.d_model = parameters.matrix("linear1.weight")
        desc.num_heads = nhead
        desc.activation = enumerator("vkf_activation", "VKF_ACTIVATION_", _GELU.get(activation, activation))
        desc.norm_first, desc.layer_norm_eps = norm_first, layer_norm_eps
        for i in (1, 2):
            parameters.enter(getattr(desc.feed_forward, f"weight{i}"), f"linear{i}.weight")
            parameters.enter(getattr(desc.feed_forward, f"bias{i}"), f"linear{i}.bias")
        for name in self._norms:
            norm = getattr(desc, name)
            parameters.enter(norm.weight, name + ".weight")
            parameters.enter(norm.bias, name + ".bias")
        desc.fully_masked = fully_masked_of(fully_masked)
        parameters.forget_arrays()
        self._parameters = parameters
        self._layers = Layers()
        self.d_model, self.nhead, self.batch_first = desc.d_model, nhead, batch_first

    @classmethod
    def from_torch(cls, module: Any, *, fully_masked: str = "nan", context: Context | None = None) -> Any:
        """From PyTorch's module of the same name itself: what computes something else is refused."""
        activation = check_layer(module, cls.__name__, cls._attentions, cls._norms)
        return cls(module.state_dict(), module.self_attn.num_heads, activation=activation,
                   norm_first=module.norm_first, layer_norm_eps=module.norm1.eps,
                   batch_first=module.self_attn.batch_first, fully_masked=fully_masked, context=context)

    def _rows(self, array: np.ndarray, name: str) -> np.ndarray:
        """(B, L, E), whatever the caller has."""
        if array.ndim not in (2, 3) or array.shape[-1] != self.d_model:
            raise invalid(f"{type(self).__name__}: {name} is {array.shape}, and not (L, {self.d_model}) with or "
                          f"without a batch")
        if array.ndim == 2:
            return array[np.newaxis]
        return array if self.batch_first else array.swapaxes(0, 1)

    def _run(self, inputs: dict[int, np.ndarray], masks: dict[str, Masks], batched: bool) -> np.ndarray:
        """`inputs` by their ports, the sequence that is transformed first; `masks` by their members in C."""
        query = next(iter(inputs.values()))
        self._parameters.check_inputs(query.dtype)
        memory = inputs.get(lib.VKF_PORT_MEMORY, query)
        sizes = (query.shape[0], query.shape[1], memory.shape[1])
        if memory.shape[0] != query.shape[0]:
            raise invalid(f"{type(self).__name__}: the batch of memory is {memory.shape[0]}, and not {sizes[0]}")
        for member, mask in masks.items():
            mask = mask if batched else mask.batched()
            mask.check(sizes[0], self.nhead, sizes[1], sizes[1 if member == "self_mask" else 2], member)
        key = (query.dtype, tuple(mask.key for mask in masks.values()))
        with self._layers.turn:
            layer = self._layers.get(key, sizes, lambda largest: self._make(largest, dtype_of(query), masks))
            for port, array in inputs.items():
                layer.write(port, array.astype(query.dtype, copy=False))
            layer.write(lib.VKF_PORT_MASK, masks["self_mask"].attn)
            layer.write(lib.VKF_PORT_KEY_MASK, masks["self_mask"].keys)
            if "cross_mask" in masks:
                layer.write(lib.VKF_PORT_MEMORY_MASK, masks["cross_mask"].attn)
                layer.write(lib.VKF_PORT_MEMORY_KEY_MASK, masks["cross_mask"].keys)
            layer.run(sizes)
            output = layer.read(lib.VKF_PORT_OUTPUT, query.shape, query.dtype)
        if not batched:
            return output[0]
        return output if self.batch_first else np.ascontiguousarray(output.swapaxes(0, 1))

    def _make(self, sizes: tuple[int, int, int], dtype: int, masks: dict[str, Masks]) -> Layer:
        desc = ffi.new("vkf_transformer_layer_desc *", self._desc[0])
        for member, mask in masks.items():
            mask.enter(getattr(desc, member))
        desc.dtype = dtype
        desc.max_sizes = ffi.new("vkf_layer_sizes *", sizes)[0]
        return Layer(self._context, sizes, lambda context, out: type(self)._create(context, desc, out))


class TransformerEncoderLayer(_TransformerLayer):
    """torch.nn.TransformerEncoderLayer in eval mode, from its state_dict or from arrays by the same names."""

    _attentions, _norms = ("self_attn",), ("norm1", "norm2")
    _create = staticmethod(lib.vkf_encoder_layer_create)

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False) -> np.ndarray:
        """The output, of src's shape. `is_causal` without a mask is the causal mask."""
        array = as_floats(src)
        return self._run({lib.VKF_PORT_QUERY: self._rows(array, "src")},
                         {"self_mask": Masks(src_mask, src_key_padding_mask, is_causal)}, array.ndim == 3)

    __call__ = forward


class TransformerDecoderLayer(_TransformerLayer):
    """torch.nn.TransformerDecoderLayer in eval mode, from its state_dict or from arrays by the same names."""

    _attentions, _norms = ("self_attn", "multihead_attn"), ("norm1", "norm2", "norm3")
    _create = staticmethod(lib.vkf_decoder_layer_create)

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> np.ndarray:
        """The output, of tgt's shape. An `is_causal` without its mask is the causal mask."""
        array, source = as_floats(tgt), as_floats(memory)
        if array.ndim != source.ndim:
            raise invalid(f"TransformerDecoderLayer: tgt is {array.shape} and memory {source.shape}: both have a "
                          f"batch, or neither")
        return self._run({lib.VKF_PORT_QUERY: self._rows(array, "tgt"),
                          lib.VKF_PORT_MEMORY: self._rows(source, "memory")},
                         {"self_mask": Masks(tgt_mask, tgt_key_padding_mask, tgt_is_causal),
                          "cross_mask": Masks(memory_mask, memory_key_padding_mask, memory_is_causal)},
                         array.ndim == 3)

    __call__ = forward
