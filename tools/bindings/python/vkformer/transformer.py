"""torch.nn's TransformerEncoderLayer, TransformerDecoderLayer, TransformerEncoder, TransformerDecoder and Transformer on
the device."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import invalid
from .functional import activation_of
from .layer import (Attention, Chain, Layers, Masks, Parameters, Scores, batch_first, check_keys, dtype_of, exactly,
                    fully_masked_of, of_caller)
from .module import Conversion, LayerNorm, Module, activation_name
from .tensor import Results, as_floats, uploaded
from .torch_module import below, layer_options, stack_options, torch_module


class _Layers(Module):
    """Layers of one kind that follow each other; PyTorch's names, in eval mode.

    Beyond PyTorch's are, of the self attention of every layer, `window`, `window_right`, `soft_cap`, `slopes`, `sinks`,
    `rotary` and `rotary_interleaved`, as of MultiheadAttention.

    fully_masked  what attention gives for rows in which every key is masked, by -inf or a boolean: "nan", as PyTorch's
                  does that gives weights, "zero", as that does that gives none, or "uniform"
    """

    _attentions: tuple[str, ...]
    _norms: tuple[str, ...]
    _create: Callable[[Any, Any, Any], int]

    def __init__(self, state_dict: Mapping[str, Any], nhead: int, *, activation: str = "relu",
                 norm_first: bool = False, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 fully_masked: str = "nan", window: int = 0, window_right: int = 0, soft_cap: float = 0.0,
                 slopes: Any = None, sinks: Any = None, rotary: Any = None, rotary_interleaved: bool = False,
                 context: Context | None = None) -> None:
        self.context = context_or_default(context)
        self._scores = Scores(self.context, window=window, window_right=window_right, soft_cap=soft_cap, slopes=slopes,
                              sinks=sinks, rotary=rotary, rotary_interleaved=rotary_interleaved)
        self._parameters = Parameters(state_dict, self.context)
        common = ffi.new("vkf_transformer_layer_desc *")
        common.num_heads, common.activation = nhead, activation_of(activation)
        common.norm_first, common.layer_norm_eps = norm_first, exactly(layer_norm_eps)
        common.fully_masked = fully_masked_of(fully_masked)
        self._descs = [self._describe(common, prefix) for prefix in self._prefixes(state_dict)]
        self._parameters.forget_arrays()
        self._layers = Layers()
        self.d_model, self.nhead, self.batch_first = self._descs[0].d_model, nhead, batch_first

    @classmethod
    def _options(cls, layer: Any, place: str) -> dict[str, Any]:
        """Of a layer of PyTorch's, the arguments that one here takes beside its state_dict."""
        activation = activation_name(layer.activation, below(place, "activation"), torch_module(layer))
        return {**layer_options(layer, place, cls._attentions, cls._norms), "activation": activation}

    def _prefixes(self, state_dict: Mapping[str, Any]) -> list[str]:
        """How the names of each layer's parameters begin."""
        return [""]

    def _describe(self, common: Any, prefix: str) -> Any:
        parameters, desc = self._parameters, ffi.new("vkf_transformer_layer_desc *", common[0])
        for name, member in zip(self._attentions, ("self", "cross")):
            Attention(parameters, f"{prefix}{name}.", desc.num_heads).enter(getattr(desc, member))
        self._scores.enter(desc.self, desc.self_mask)
        desc.dim_feedforward, desc.d_model = parameters.matrix(prefix + "linear1.weight")
        for i in (1, 2):
            parameters.enter(getattr(desc.feed_forward, f"weight{i}"), f"{prefix}linear{i}.weight")
            parameters.enter(getattr(desc.feed_forward, f"bias{i}"), f"{prefix}linear{i}.bias")
        for name in self._norms:
            norm = getattr(desc, name)
            parameters.enter(norm.weight, f"{prefix}{name}.weight")
            parameters.enter(norm.bias, f"{prefix}{name}.bias")
        return desc

    def _rows(self, array: Any, name: str) -> Any:
        """(B, L, E), whatever the caller has."""
        if array.ndim not in (2, 3) or array.shape[-1] != self.d_model:
            raise invalid(f"{type(self).__name__}: {name} is {array.shape}, and not (L, {self.d_model}) with or "
                          f"without a batch")
        return batch_first(array, self.batch_first)

    def _run(self, inputs: dict[int, tuple[str, Any]], masks: dict[str, Masks]) -> Any:
        """`inputs` with their names by their ports, the sequence that is transformed first; `masks` by their members
        in C."""
        results = Results(*(value for _, value in inputs.values()))
        arrays = {port: as_floats(value) for port, (_, value) in inputs.items()}
        batched = arrays[lib.VKF_PORT_QUERY].ndim == 3
        if any((array.ndim == 3) != batched for array in arrays.values()):
            raise invalid(f"{type(self).__name__}: tgt is {arrays[lib.VKF_PORT_QUERY].shape} and memory "
                          f"{arrays[lib.VKF_PORT_MEMORY].shape}: both have a batch, or neither")
        rows = {port: self._rows(array, inputs[port][0]) for port, array in arrays.items()}
        query = rows[lib.VKF_PORT_QUERY]
        self._parameters.check_inputs(query.dtype)
        memory = rows.get(lib.VKF_PORT_MEMORY, query)
        sizes = (query.shape[0], query.shape[1], memory.shape[1])
        if memory.shape[0] != query.shape[0]:
            raise invalid(f"{type(self).__name__}: the batch of memory is {memory.shape[0]}, and not {sizes[0]}")
        check_keys(sizes, type(self).__name__)
        for member, mask in masks.items():
            mask = mask if batched else mask.batched()
            mask.check(sizes[0], self.nhead, sizes[1], sizes[1 if member == "self_mask" else 2], member)
        output = query if 0 in sizes[:2] else self._run_chain(rows, sizes, masks, results.on_device)
        return results.give(of_caller(output, batched, self.batch_first))

    def _run_chain(self, rows: dict[int, Any], sizes: tuple[int, int, int], masks: dict[str, Masks],
                   on_device: bool) -> Any:
        query = rows[lib.VKF_PORT_QUERY]
        key = (query.dtype, tuple(mask.key for mask in masks.values()))
        with self._layers.turn:
            chain = self._layers.get(key, sizes, lambda largest: self._make(largest, dtype_of(query), masks))
            for port, array in rows.items():
                chain.write(port, array, query.dtype)
            chain.write(lib.VKF_PORT_MASK, masks["self_mask"].attn)
            chain.write(lib.VKF_PORT_KEY_MASK, masks["self_mask"].keys)
            if "cross_mask" in masks:
                chain.write(lib.VKF_PORT_MEMORY_MASK, masks["cross_mask"].attn)
                chain.write(lib.VKF_PORT_MEMORY_KEY_MASK, masks["cross_mask"].keys)
            chain.run(sizes)
            return chain.read(lib.VKF_PORT_OUTPUT, query.shape, query.dtype, on_device)

    def _make(self, sizes: tuple[int, int, int], dtype: int, masks: dict[str, Masks]) -> Chain:
        makers = []
        for each in self._descs:
            desc = ffi.new("vkf_transformer_layer_desc *", each[0])
            for member, mask in masks.items():
                mask.enter(getattr(desc, member))
            desc.dtype = dtype
            makers.append((type(self)._create, desc))
        return Chain(self._parameters.context, sizes, makers)


class _EncoderLayers(_Layers):
    _attentions, _norms = ("self_attn",), ("norm1", "norm2")
    _create = staticmethod(lib.vkf_encoder_layer_create)

    def _encode(self, src: Any, mask: Any, padding: Any, is_causal: bool | None) -> Any:
        return self._run({lib.VKF_PORT_QUERY: ("src", src)}, {"self_mask": Masks(mask, padding, bool(is_causal))})


class _DecoderLayers(_Layers):
    _attentions, _norms = ("self_attn", "multihead_attn"), ("norm1", "norm2", "norm3")
    _create = staticmethod(lib.vkf_decoder_layer_create)

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Any:
        """The output, of tgt's shape. An `is_causal` without its mask is the causal mask."""
        return self._run({lib.VKF_PORT_QUERY: ("tgt", tgt), lib.VKF_PORT_MEMORY: ("memory", memory)},
                         {"self_mask": Masks(tgt_mask, tgt_key_padding_mask, bool(tgt_is_causal)),
                          "cross_mask": Masks(memory_mask, memory_key_padding_mask, memory_is_causal)})


class _Layer(_Layers):
    """One of them."""

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Any:
        return cls(module.state_dict(), **cls._options(module, place), fully_masked=conversion.fully_masked,
                   context=conversion.context)


class TransformerEncoderLayer(_Layer, _EncoderLayers):
    """torch.nn.TransformerEncoderLayer in eval mode, from its state_dict or from arrays by the same names."""

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False) -> Any:
        """The output, of src's shape. `is_causal` without a mask is the causal mask."""
        return self._encode(src, src_mask, src_key_padding_mask, is_causal)


class TransformerDecoderLayer(_Layer, _DecoderLayers):
    """torch.nn.TransformerDecoderLayer in eval mode, from its state_dict or from arrays by the same names."""


class _Stack(_Layers):
    """Several layers, and a norm at the end: that of the state_dict, with layer_norm_eps, or the module `norm`.

    Nothing comes to the host between them. The names of parameters are "layers.0.linear1.weight" and so on.
    """

    def __init__(self, state_dict: Mapping[str, Any], nhead: int, *, norm: Module | None = None,
                 layer_norm_eps: float = 1e-5, context: Context | None = None, **options: Any) -> None:
        context = context_or_default(context)
        rest, of_norm = parts_of(state_dict, "norm")
        if of_norm:
            norm = LayerNorm(of_norm, eps=layer_norm_eps, context=context)
        super().__init__(rest, nhead, layer_norm_eps=layer_norm_eps, context=context, **options)
        self.norm, self.num_layers = norm, len(self._descs)

    def _prefixes(self, state_dict: Mapping[str, Any]) -> list[str]:
        numbers = {name.split(".")[1] for name in state_dict if name.startswith("layers.")}
        if not numbers:
            raise invalid(f"{type(self).__name__}: no parameter is of 'layers.0'")
        return [f"layers.{i}." for i in range(len(numbers))]

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Any:
        kind = cls.__name__ + "Layer"
        options = stack_options(module, place, kind, cls._options)
        norm = None if module.norm is None else conversion.convert(module.norm, below(place, "norm"))
        state_dict, _ = parts_of(module.state_dict(), "norm")
        return cls(state_dict, **options, norm=norm, fully_masked=conversion.fully_masked, context=conversion.context)

    def _run(self, inputs: dict[int, tuple[str, Any]], masks: dict[str, Masks]) -> Any:
        if self.norm is None:
            return super()._run(inputs, masks)
        results = Results(*(value for _, value in inputs.values()))
        on_device = {port: (name, uploaded(value, self.context)) for port, (name, value) in inputs.items()}
        return results.give(self.norm(super()._run(on_device, masks)))


class TransformerEncoder(_Stack, _EncoderLayers):
    """torch.nn.TransformerEncoder in eval mode, from its state_dict or from arrays by the same names.

    Positions that are padded come out as those of other masks do: zeros, as PyTorch's nested tensors give them, they
    are not."""

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool | None = None) -> Any:
        """The output, of src's shape. `is_causal` without a mask is the causal mask."""
        return self._encode(src, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(_Stack, _DecoderLayers):
    """torch.nn.TransformerDecoder in eval mode, from its state_dict or from arrays by the same names."""


class Transformer(Module):
    """torch.nn.Transformer in eval mode, from its state_dict or from arrays by the same names; `options` are those of
    its TransformerEncoder and TransformerDecoder, `encoder` and `decoder`."""

    def __init__(self, state_dict: Mapping[str, Any], nhead: int, *, context: Context | None = None,
                 **options: Any) -> None:
        self.context = context_or_default(context)
        rest, of_encoder = parts_of(state_dict, "encoder")
        rest, of_decoder = parts_of(rest, "decoder")
        if rest:
            raise invalid(f"Transformer: there is no use for the parameters {', '.join(map(repr, sorted(rest)))}")
        self.encoder: Module = TransformerEncoder(of_encoder, nhead, context=context, **options)
        self.decoder: Module = TransformerDecoder(of_decoder, nhead, context=context, **options)

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Transformer:
        made = cls.__new__(cls)
        for name, kind in (("encoder", TransformerEncoder), ("decoder", TransformerDecoder)):
            part = conversion.convert(getattr(module, name), below(place, name))
            if part is not None and not isinstance(part, kind):
                raise invalid(f"{below(place, name)} is no torch.nn.{kind.__name__}")
            setattr(made, name, part)
        return made

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, src_is_causal: bool | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Any:
        """The output, of tgt's shape. An `is_causal` without its mask is the causal mask."""
        memory = self.encoder(uploaded(src, self.context), src_mask, src_key_padding_mask, src_is_causal)
        output = self.decoder(uploaded(tgt, self.context), memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                              memory_key_padding_mask, tgt_is_causal, memory_is_causal)
        return Results(src, tgt).give(output)


def parts_of(state_dict: Mapping[str, Any], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is not of the part of this name, and what is, by its names there."""
    prefix = name + "."
    return ({key: value for key, value in state_dict.items() if not key.startswith(prefix)},
            {key[len(prefix):]: value for key, value in state_dict.items() if key.startswith(prefix)})
