"""What the layers have in common: parameters on the device, masks, and C layers that are made as they are needed."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context
from .errors import Error, check, enumerator, invalid
from .owner import Owner, Turn
from .tensor import Tensor, as_array, as_parameter, pointer, uploaded, widened, writable

# A layer of one kind is made for a combination of masks and outputs, and more of them than this are seldom in use.
KEPT_LAYERS = 8


class Parameters:
    """A state_dict of PyTorch, or tensors by the same names, on the device. All of them have to be asked for.

    They are stored as they are, in f32, f16 or bf16, and in f32 if they are of several types: what is computed of some
    of them takes one.
    """

    def __init__(self, state: Mapping[str, Any], context: Context) -> None:
        self.context = context
        self._arrays = {name: as_parameter(value) for name, value in state.items() if value is not None}
        for name, array in self._arrays.items():
            if array.ndim == 0:
                raise invalid(f"the parameter {name!r} is a number, and no vector or matrix")
        if len({array.dtype for array in self._arrays.values()}) > 1:
            self._arrays = {name: widened(as_array(array)).astype(np.float32, copy=False)
                            for name, array in self._arrays.items()}
        self._tensors: dict[str, Tensor] = {}
        # The matrices are multiplied by inputs of their own type, or wider ones.
        self._wide = [name for name, array in self._arrays.items() if array.ndim > 1 and array.dtype != np.float16]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self:
            raise invalid(f"there is no {name!r} among the parameters: {', '.join(sorted(self._arrays)) or 'none'}")
        return self._arrays[name].shape

    def matrix(self, name: str) -> tuple[int, int]:
        """The shape of one."""
        shape = self.shape(name)
        if len(shape) != 2:
            raise invalid(f"the parameter {name!r} is {shape}, and no matrix")
        return shape  # type: ignore[return-value]

    def tensor(self, name: str) -> Tensor:
        if name not in self._tensors:
            self.shape(name)
            array = self._arrays[name]
            self._tensors[name] = (array if isinstance(array, Tensor) else
                                   Tensor(array, context=self.context, name=name))
        return self._tensors[name]

    def optional(self, name: str) -> Tensor | None:
        return self.tensor(name) if name in self else None

    def enter(self, out: Any, name: str) -> None:
        """Sets a C tensor to the parameter, or leaves it absent."""
        if name in self:
            self.enter_rows(out, name, 0, self.shape(name)[0])

    def enter_third(self, out: Any, name: str, third: int, rows: int) -> None:
        """The same of queries, keys or values, which are packed in one parameter."""
        shape = self.shape(name)
        if shape[:1] != (3 * rows,):
            raise invalid(f"the parameter {name!r} is {shape}: queries, keys and values have {3 * rows} rows together")
        self.enter_rows(out, name, third * rows, rows)

    def enter_rows(self, out: Any, name: str, first: int, count: int) -> None:
        shape = self.shape(name)
        row = math.prod(shape[1:])
        ffi.memmove(ffi.addressof(out), self.tensor(name)._part((count, *shape[1:]), first * row)._c(),
                    ffi.sizeof("vkf_tensor"))

    def check_inputs(self, dtype: np.dtype) -> None:
        if dtype == np.float16 and self._wide:
            raise invalid(f"the inputs are float16, and {self._wide[0]!r} is not: convert the inputs to "
                          f"float32, or all parameters to float16")

    def forget_arrays(self) -> None:
        """The device has them all: of the host's copies only shapes are left. One that nobody has asked for would
        change what PyTorch computes."""
        unknown = sorted(self._arrays.keys() - self._tensors.keys())
        if unknown:
            raise invalid(f"there is no use for the parameters {', '.join(map(repr, unknown))}: leave them out if the "
                          f"layer is right without them")
        self._arrays = {name: np.broadcast_to(np.zeros((), array.dtype), array.shape)
                        for name, array in self._arrays.items()}

    def forget_tensors(self) -> None:
        """Whoever uses them has them."""
        self._tensors.clear()


class Attention:
    """The parameters of one attention block by PyTorch's names, behind `prefix`."""

    def __init__(self, parameters: Parameters, prefix: str, num_heads: int) -> None:
        self.parameters, self._prefix, self.num_heads = parameters, prefix, num_heads
        self.embed_dim = parameters.matrix(prefix + "out_proj.weight")[0]
        if num_heads <= 0 or self.embed_dim % num_heads:
            raise invalid(f"embed_dim {self.embed_dim} is no multiple of num_heads {num_heads}")
        self.packed = prefix + "in_proj_weight" in parameters
        weights = [prefix + name for name in ("k_proj_weight", "v_proj_weight")]
        self.kdim, self.vdim = ((self.embed_dim, self.embed_dim) if self.packed else
                                tuple(parameters.matrix(name)[1] for name in weights))
        self.bias_kv = prefix + "bias_k" in parameters

    def enter(self, out: Any) -> None:
        """Fills in a vkf_attention_weights."""
        rows, prefix, parameters = self.embed_dim, self._prefix, self.parameters
        for i, name in enumerate("qkv"):
            if self.packed:
                parameters.enter_third(getattr(out, f"{name}_weight"), prefix + "in_proj_weight", i, rows)
            else:
                parameters.enter(getattr(out, f"{name}_weight"), prefix + f"{name}_proj_weight")
            if prefix + "in_proj_bias" in parameters:
                parameters.enter_third(getattr(out, f"{name}_bias"), prefix + "in_proj_bias", i, rows)
        out.in_proj = self.packed
        parameters.enter(out.bias_k, prefix + "bias_k")
        parameters.enter(out.bias_v, prefix + "bias_v")
        parameters.enter(out.out_weight, prefix + "out_proj.weight")
        parameters.enter(out.out_bias, prefix + "out_proj.bias")


class Scores:
    """What becomes of the scores of an attention besides PyTorch's masks, as scaled_dot_product_attention() says it, and
    `rotary`, a rotary_table() by which queries and keys of self attention are turned, from position 0 on."""

    def __init__(self, context: Context, *, window: int = 0, window_right: int = 0, soft_cap: float = 0.0,
                 slopes: Any = None, sinks: Any = None, rotary: Any = None, rotary_interleaved: bool = False) -> None:
        self._of_mask = {"window": window, "window_right": window_right, "soft_cap": soft_cap}
        self._tensors = {name: uploaded(value, context)
                         for name, value in (("slopes", slopes), ("sinks", sinks), ("rotary", rotary))
                         if value is not None}
        self._interleaved = rotary_interleaved

    def enter(self, weights: Any, mask: Any) -> None:
        """Fills in what is theirs of a vkf_attention_weights and a vkf_attention_mask."""
        for name, value in self._of_mask.items():
            setattr(mask, name, value)
        for name, tensor in self._tensors.items():
            setattr(weights, name, tensor._c()[0])
        weights.rotary_interleaved = self._interleaved


class Masks:
    """attn_mask and key_padding_mask of PyTorch: True is not attended, and floats are added to the scores."""

    def __init__(self, attn_mask: Any, key_padding_mask: Any, causal: bool) -> None:
        self.attn, self.attn_kind = mask_of(attn_mask)
        self.keys, self.key_kind = mask_of(key_padding_mask)
        # PyTorch's is_causal is a hint that attn_mask is the causal one: without one, it is that mask.
        self.causal = causal and self.attn is None
        self.key = (self.attn_kind, self.attn is not None and self.attn.ndim == 3, self.key_kind, self.causal)

    def check(self, batch: int, heads: int, query_len: int, key_len: int, names: str) -> None:
        allowed = ((query_len, key_len), (batch * heads, query_len, key_len))
        if self.attn is not None and self.attn.shape not in allowed:
            raise invalid(f"{names}: the attention mask is {self.attn.shape}, and not {allowed[0]} or {allowed[1]}")
        if self.keys is not None and self.keys.shape != (batch, key_len):
            raise invalid(f"{names}: the key padding mask is {self.keys.shape}, and not {(batch, key_len)}")

    def enter(self, out: Any) -> None:
        """Fills in a vkf_attention_mask."""
        out.kind, out.per_head, out.key_kind = self.key[:3]
        out.causal = lib.VKF_CAUSAL_TOP_LEFT if self.causal else lib.VKF_CAUSAL_NONE

    def batched(self) -> Masks:
        """The key padding mask of a sequence without a batch gets one."""
        if self.keys is not None and self.keys.ndim == 1:
            self.keys = self.keys[np.newaxis]
        return self


def mask_of(mask: Any, booleans: int = lib.VKF_MASK_BOOL_EXCLUDE) -> tuple[np.ndarray | None, int]:
    """Its values on the host, and their kind; `booleans` says what True means."""
    if mask is None:
        return None, lib.VKF_MASK_NONE
    array = widened(as_array(mask))
    if array.dtype == np.bool_:
        return array, booleans
    if array.dtype.kind != "f":
        raise invalid(f"a mask is of booleans or floats, and not of {array.dtype}")
    return array.astype(np.float32, copy=False), lib.VKF_MASK_ADDITIVE


class Layer(Owner):
    """A C layer, made for the sizes in its descriptor. `ports` are tensors of C that serve as ports of it."""

    def __init__(self, context: Context, create: Callable[[Any, Any, Any], int], desc: Any,
                 ports: Mapping[int, Any]) -> None:
        super().__init__("vkf_layer", lib.vkf_layer_destroy, context)
        for port, tensor in ports.items():
            desc.ports[port] = tensor[0]
        check(create(context._handle, desc, self._box))

    def port(self, port: int) -> Any:
        """The C tensor, or None if there is no such port."""
        tensor = ffi.new("vkf_tensor *")
        return tensor if lib.vkf_layer_get_port(self._handle, port, tensor) else None


# What the layers of a stack read alike.
_SHARED = (lib.VKF_PORT_MEMORY, lib.VKF_PORT_MASK, lib.VKF_PORT_KEY_MASK, lib.VKF_PORT_MEMORY_MASK,
           lib.VKF_PORT_MEMORY_KEY_MASK)


class Chain:
    """C layers that run one after the other, made for the sizes (B, L, S): each reads what the one before it wrote, and
    nothing comes to the host between them. Two tensors serve in turns as what is read and what is written."""

    def __init__(self, context: Context, sizes: tuple[int, int, int],
                 makers: Sequence[tuple[Callable[[Any, Any, Any], int], Any]]) -> None:
        self.context, self.sizes = context, sizes
        self._layers: list[Layer] = []
        ports: dict[int, Any] = {}
        for create, desc in makers:
            desc.max_sizes = ffi.new("vkf_layer_sizes *", sizes)[0]
            layer = Layer(context, create, desc, ports)
            self._layers.append(layer)
            ports = {port: tensor for port in _SHARED if (tensor := layer.port(port)) is not None}
            ports[lib.VKF_PORT_QUERY] = layer.port(lib.VKF_PORT_OUTPUT)
            ports[lib.VKF_PORT_OUTPUT] = layer.port(lib.VKF_PORT_QUERY)

    def write(self, port: int, value: Any, dtype: Any = None) -> None:
        """An array, made of the type if one is given, or a tensor, which is copied and made so on the device."""
        first = self._layers[0]
        if isinstance(value, Tensor):
            if value.size:
                check(lib.vkf_copy(self.context._handle, value._c(value.size), _cut(first.port(port), value.size)))
        elif value is not None:
            rows = np.ascontiguousarray(value, dtype)
            check(lib.vkf_layer_write(first._handle, port, pointer(rows), rows.nbytes))

    def run(self, sizes: tuple[int, int, int]) -> None:
        c_sizes = ffi.new("vkf_layer_sizes *", sizes)
        for layer in self._layers:
            check(lib.vkf_layer_run(layer._handle, c_sizes))

    def read(self, port: int, shape: tuple[int, ...], dtype: Any, on_device: bool) -> Any:
        """A tensor or an array."""
        last = self._layers[-1]
        if on_device:
            tensor = Tensor._new(self.context, shape, dtype)
            check(lib.vkf_copy(self.context._handle, _cut(last.port(port), tensor.size), tensor._c(tensor.size)))
            return tensor
        array = np.empty(shape, dtype)
        check(lib.vkf_layer_read(last._handle, port, writable(array), array.nbytes))
        return array


def _cut(tensor: Any, count: int) -> Any:
    """A port's first elements: what it holds is compact for the sizes of the run."""
    tensor.rank, tensor.shape = 1, [count, *[0] * (len(tensor.shape) - 1)]
    return tensor


class Layers:
    """The C layers of one module: a chain for each combination of masks and outputs, made anew where it is too
    small."""

    def __init__(self) -> None:
        self.turn = Turn()
        self._made: dict[Any, Chain] = {}

    def get(self, key: Any, sizes: tuple[int, int, int], make: Callable[[tuple[int, int, int]], Chain]) -> Chain:
        chain = self._made.pop(key, None)
        if chain is None:
            chain = make(sizes)
        elif any(size > made for size, made in zip(sizes, chain.sizes)):
            # With room for more, because what grows mostly goes on growing, token by token.
            larger = tuple(max(size, made + made // 2) if size > made else made
                           for size, made in zip(sizes, chain.sizes))
            del chain  # its memory serves the next one
            try:
                chain = make(larger)  # type: ignore[arg-type]
            except Error:
                chain = make(sizes)
        self._made[key] = chain  # the last one is the one that was used last
        if len(self._made) > KEPT_LAYERS:
            del self._made[next(iter(self._made))]
        return chain


def check_keys(sizes: tuple[int, int, int], what: str) -> None:
    """There is something to attend to, or nothing that would."""
    if sizes[2] == 0 and 0 not in sizes[:2]:
        raise invalid(f"{what}: the sequence of the keys is empty: leave out the rows that have nothing to attend to")


def exactly(value: float) -> float:
    """Of a number for which 0 means a default in C: VKF_ZERO is 0 itself."""
    return value or -0.0


def fully_masked_of(name: str) -> int:
    return enumerator("vkf_fully_masked", "VKF_FULLY_MASKED_", name)


def dtype_of(array: Any) -> int:
    return lib.VKF_DTYPE_F16 if array.dtype == np.float16 else lib.VKF_DTYPE_F32


def batch_first(rows: Any, are_already: bool) -> Any:
    """An array or tensor of (L, E), (B, L, E) or (L, B, E) as (B, L, E)."""
    if rows.ndim == 2:
        return rows.reshape((1, *rows.shape))
    return rows if are_already else rows.swapaxes(0, 1)


def of_caller(rows: Any, batched: bool, stay: bool) -> Any:
    """The way back."""
    if not batched:
        return rows.reshape(rows.shape[1:])
    turned = rows if stay else rows.swapaxes(0, 1)
    return np.ascontiguousarray(turned) if isinstance(turned, np.ndarray) else turned
