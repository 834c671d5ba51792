"""Arrays that come in, tensors on the device, and how results go back."""
from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import c_string, check, enumerator_name, invalid
from .owner import Owner

# NumPy has no bfloat16: an array of this type has its bits. `bits.view(bfloat16)` makes one of 16-bit integers.
bfloat16 = np.dtype([("bfloat16", np.uint16)])

_DTYPES: dict[np.dtype, int] = {
    np.dtype(np.float32): lib.VKF_DTYPE_F32, np.dtype(np.float16): lib.VKF_DTYPE_F16, bfloat16: lib.VKF_DTYPE_BF16,
    np.dtype(np.int32): lib.VKF_DTYPE_I32, np.dtype(np.bool_): lib.VKF_DTYPE_BOOL,
    np.dtype(np.int8): lib.VKF_DTYPE_I8, np.dtype(np.uint8): lib.VKF_DTYPE_U8}
# Weights in blocks of 32 numbers, as quantize_weight() makes them: a block as it is on the host.
q8 = np.dtype([("scale", np.float16), ("numbers", np.int8, 32)])
q4 = np.dtype([("scale", np.float16), ("numbers", np.uint8, 16)])
_BLOCKS = {q8: lib.VKF_DTYPE_Q8, q4: lib.VKF_DTYPE_Q4}
_ALL_DTYPES = {**_DTYPES, **_BLOCKS}


def torch_of(value: Any) -> Any:
    """PyTorch, if this is a tensor of it: whoever has one has imported it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(value, torch.Tensor) else None


def as_array(value: Any) -> np.ndarray:
    """The caller's numbers in rows, shared where that is possible: by DLPack, or as NumPy takes them."""
    torch = torch_of(value)
    if torch:  # which gives out no memory of a tensor that gradients go through
        value = value.detach()
    if "bfloat16" in str(getattr(value, "dtype", "")) and not isinstance(value, Tensor):
        bits = np.asarray(value.contiguous().view(torch.int16).numpy() if torch else value, order="C")
        if bits.dtype.itemsize != 2:
            raise invalid(f"{type(value).__name__} gives no bits of its bfloat16: convert it to float32 first")
        return bits.view(np.uint16).view(bfloat16)
    array = None
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        try:
            array = np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError):
            pass  # DLPack has no booleans before its version 1, and no memory that is in rows backwards
    return np.asarray(value if array is None else array, order="C")


def widened(array: np.ndarray) -> np.ndarray:
    """bfloat16 as the float32 that it is the upper half of."""
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if array.dtype == bfloat16 else array


def as_floats(value: Any) -> Any:
    """What is computed with: as f16 where it is f16, and as f32 elsewhere. Tensors stay where they are."""
    array = value if isinstance(value, Tensor) else widened(as_array(value))
    if array.dtype == bfloat16:
        raise invalid("a tensor of bfloat16 holds parameters; as an input it has to be float32: astype(numpy.float32)")
    if array.dtype.kind not in "fiu" or isinstance(array, Tensor) and array.dtype.kind != "f":
        raise invalid(f"an array of numbers is wanted here, and not of {array.dtype}")
    return array if array.dtype == np.float16 or isinstance(array, Tensor) else array.astype(np.float32, copy=False)


def as_parameter(value: Any) -> Any:
    """The same of what is stored, which may be bfloat16."""
    array = value if isinstance(value, Tensor) else as_array(value)
    return array if array.dtype == bfloat16 else as_floats(array)


def as_ids(row: Any) -> np.ndarray:
    """A row of whole numbers of 32 bits, as the library takes ids, labels and types."""
    if np.ndim(row) != 1:
        raise invalid(f"a row of ids is a list of numbers, and not {type(row).__name__} of the shape {np.shape(row)}")
    return whole_numbers(row)


def whole_numbers(values: Any, what: str = "ids", dtype: Any = np.int32) -> np.ndarray:
    array = as_array(values)
    limits = np.iinfo(dtype)
    if array.size and array.dtype.kind not in "iu":
        raise invalid(f"{what} are whole numbers, and not {array.dtype}")
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise invalid(f"{what} are from {limits.min} to {limits.max}")
    return array.astype(dtype)


def pointer(array: np.ndarray) -> Any:
    """To read from, as long as the array lives."""
    return ffi.cast("const void *", array.ctypes.data)


def writable(array: np.ndarray) -> Any:
    return ffi.cast("void *", array.ctypes.data)


def typed(kind: str, array: np.ndarray) -> Any:
    return ffi.cast(f"{kind} *", array.ctypes.data)


class _Buffer(Owner):
    """Device memory, zeros at first; of 0 bytes it gets a buffer later that somebody else has made."""

    def __init__(self, context: Context, size_bytes: int, name: str = "") -> None:
        super().__init__("vkf_buffer", lib.vkf_buffer_destroy, context)
        if size_bytes:
            check(lib.vkf_buffer_create(context._handle, size_bytes, c_string(name) if name else ffi.NULL, self._box))


class Tensor:
    """An array on the device, of float32, float16, bfloat16, int32, int8, uint8 or bool.

    What is called with tensors gives tensors: nothing comes to the host before numpy(), torch(), `numpy.asarray()` or
    DLPack ask for it. `array` may be anything with numbers in it.
    """

    def __init__(self, array: Any, *, context: Context | None = None, name: str = "") -> None:
        values = as_array(array)
        if values.dtype not in _DTYPES:
            raise invalid("a tensor has float32, float16, bfloat16, int32, int8, uint8 or bool, and not "
                          f"{values.dtype}")
        self._make(context_or_default(context), values.shape, values.dtype, name)
        if values.size:
            check(lib.vkf_buffer_write(self._buffer._handle, 0, pointer(values), values.nbytes))

    @classmethod
    def _new(cls, context: Context, shape: Sequence[int], dtype: Any) -> Tensor:
        """Zeros."""
        made = cls.__new__(cls)
        made._make(context, tuple(shape), np.dtype(dtype), "")
        return made

    def _make(self, context: Context, shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
        self.context, self.shape, self.dtype, self._first, self._layout = context, shape, dtype, 0, lib.VKF_LAYOUT_ROWS
        self._buffer = _Buffer(context, max(math.prod(shape) * dtype.itemsize, 4), name)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def reshape(self, *shape: Any) -> Tensor:
        """The same memory in another shape, in which one length may be -1."""
        wanted = list(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
        known = math.prod(length for length in wanted if length != -1)
        if wanted.count(-1) == 1 and known > 0:
            wanted[wanted.index(-1)] = self.size // known
        if math.prod(wanted) != self.size or any(length < 0 for length in wanted):
            raise invalid(f"a tensor of the shape {self.shape} cannot have the shape {tuple(wanted)}")
        return self._part(wanted, 0)

    def __len__(self) -> int:
        return self.shape[self._axis(0)]

    def __getitem__(self, index: int | slice) -> Tensor:
        """The same memory: an element along the first axis, or some that follow each other."""
        if isinstance(index, slice):
            begin, end, step = index.indices(len(self))
            if step != 1:
                raise invalid("what is taken of a tensor follows each other")
            shape: tuple[int, ...] = (max(end - begin, 0), *self.shape[1:])
        else:
            begin, shape = index + len(self) * (index < 0), self.shape[1:]
            if not 0 <= begin < len(self):
                raise IndexError(f"a tensor of the shape {self.shape} has no element {index}")
        return self._part(shape, begin * math.prod(self.shape[1:]))

    def moveaxis(self, source: int, destination: int) -> Tensor:
        """A copy on the device in which an axis stands elsewhere."""
        source, destination = (self._axis(axis) for axis in (source, destination))
        if source == destination:
            return self
        begin, end = min(source, destination), max(source, destination) + 1
        middle = source + (source < destination)  # the axes from begin to here change places with those from here to end
        first, second = self.shape[begin:middle], self.shape[middle:end]
        result = Tensor._new(self.context, (*self.shape[:begin], *second, *first, *self.shape[end:]), self.dtype)
        if self.size:
            outer, rows, cols, depth = map(math.prod, (self.shape[:begin], first, second, self.shape[end:]))
            check(lib.vkf_split_heads(self.context._handle, self._c(outer, rows, cols, depth),
                                      result._c(outer, cols, rows, depth)))
        return result

    def swapaxes(self, first: int, second: int) -> Tensor:
        """A copy on the device with two axes exchanged."""
        low, high = sorted(self._axis(axis) for axis in (first, second))
        return self if low == high else self.moveaxis(low, high).moveaxis(high - 1, low)

    def astype(self, dtype: Any) -> Tensor:
        """Of the other type of floats, float32 or float16. From bfloat16 and blocks it goes through the host."""
        if np.dtype(dtype) == self.dtype:
            return self
        if self.dtype == bfloat16 or self.dtype in _BLOCKS:
            return Tensor(self.numpy(), context=self.context).astype(dtype)
        result = Tensor._new(self.context, self.shape, dtype)
        result._copy(self)
        return result

    def numpy(self) -> np.ndarray:
        """A copy of the values, those of bfloat16 and of blocks as float32."""
        if self.dtype in _BLOCKS:
            return self._unblocked()
        values = np.empty(self.shape, self.dtype)
        if values.size:
            check(lib.vkf_buffer_read(self._buffer._handle, self._first * self.dtype.itemsize, writable(values),
                                      values.nbytes))
        return widened(values)

    def _unblocked(self) -> np.ndarray:
        blocks = np.empty(self.size // 32, self.dtype)
        values = np.empty(self.shape, np.float32)
        check(lib.vkf_tensor_read(self._c(), writable(blocks), blocks.nbytes))
        lib.vkf_blocks_to_f32(_BLOCKS[self.dtype], pointer(blocks), typed("float", values), blocks.size)
        return values

    def torch(self) -> Any:
        """A copy as a tensor of PyTorch's on the processor, in bfloat16 where this is."""
        import torch  # of the caller's: the package does without

        return _as_torch(torch, self.numpy(), self.dtype == bfloat16)

    def close(self) -> None:
        """Gives the memory back now, that of its other shapes, too."""
        self._buffer.close()

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return np.empty(0).__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("what is on the device comes to the host by a copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        kind = enumerator_name("vkf_dtype", "VKF_DTYPE_", _ALL_DTYPES[self.dtype])
        return f"<vkformer.Tensor {kind} {self.shape}>"

    def _axis(self, axis: int) -> int:
        if not -self.ndim <= axis < self.ndim:
            raise invalid(f"a tensor of the shape {self.shape} has no axis {axis}")
        return axis % self.ndim

    def _part(self, shape: Sequence[int], first: int) -> Tensor:
        """A view of the elements from `first` on."""
        if self.dtype in _BLOCKS and (first or tuple(shape) != self.shape):
            raise invalid("a weight in blocks has no parts and no other shape")
        view = Tensor.__new__(Tensor)
        view.context, view.shape, view.dtype = self.context, tuple(shape), self.dtype
        view._buffer, view._first, view._layout = self._buffer, self._first + first, self._layout
        return view

    def _c(self, *shape: int) -> Any:
        """The C tensor, of this shape or another one."""
        out = ffi.new("vkf_tensor *")
        out.buffer, out.offset_bytes = self._buffer._handle, self._first * self.dtype.itemsize
        out.dtype, out.layout = _ALL_DTYPES[self.dtype], self._layout
        shape = shape or self.shape or (1,)
        if len(shape) > len(out.shape) or max(shape) >= 2**32:
            raise invalid(f"a tensor of the shape {shape} has more axes or longer ones than fit here")
        out.rank = len(shape)
        out.shape[0:len(shape)] = shape
        return out

    def _copy(self, source: Tensor) -> None:
        """The values of another tensor, in its order and in the own type."""
        if self.size:
            check(lib.vkf_copy(self.context._handle, source._c(source.size), self._c(self.size)))


def uploaded(value: Any, context: Context) -> Tensor:
    """Floats to compute with."""
    floats = as_floats(value)
    return floats if isinstance(floats, Tensor) else Tensor(floats, context=context)


def packed(weight: Tensor) -> Tensor:
    """A matrix (n, k) to multiply by in the layout that the device likes best. Its values are not to be read."""
    context, c_weight = weight.context, weight._c()
    inputs = lib.VKF_DTYPE_F16 if weight.dtype == np.float16 else lib.VKF_DTYPE_F32
    best = lib.vkf_context_get_preferred_layout(context._handle, inputs, c_weight.dtype, *weight.shape)
    if best == weight._layout:
        return weight
    c_made = ffi.new("vkf_tensor *")
    check(lib.vkf_pack_weight(context._handle, c_weight, ffi.NULL, c_made))
    return _of_c(weight, weight.dtype, c_made)


def quantize_weight(weight: Any, dtype: str) -> Tensor:
    """A matrix (n, k) of floats as a weight of linear() in blocks of 32 numbers along k, "q8" or "q4": about 8 or 4
    bits for each. k is a multiple of 32. It is read as float32, and has no parts and no other shape."""
    kinds = {"q8": q8, "q4": q4}
    if dtype not in kinds:
        raise invalid(f"quantize_weight: dtype is {dtype!r}, and not 'q8' or 'q4'")
    matrix = as_parameter(weight)
    matrix = matrix if isinstance(matrix, Tensor) else Tensor(matrix)
    c_made = ffi.new("vkf_tensor *")
    check(lib.vkf_quantize_weight(matrix.context._handle, matrix._c(), _BLOCKS[kinds[dtype]], ffi.NULL, c_made))
    return _of_c(matrix, kinds[dtype], c_made)


def _of_c(source: Tensor, dtype: np.dtype, c_made: Any) -> Tensor:
    """What the library has made of a tensor, in its shape."""
    made = source._part(source.shape, 0)
    made.dtype, made._buffer, made._first, made._layout = dtype, _Buffer(source.context, 0), 0, c_made.layout
    made._buffer._box[0] = c_made.buffer
    return made


def context_of(*values: Any) -> Context:
    """Where the tensors are, or else the default one."""
    return context_or_default(next((value.context for value in values if isinstance(value, Tensor)), None))


class Results:
    """How results go back to who gave these inputs: as tensors on the device if one is, else as PyTorch's if one is,
    else as NumPy's."""

    def __init__(self, *inputs: Any) -> None:
        self._context = next((value.context for value in inputs if isinstance(value, Tensor)), None)
        self.on_device = self._context is not None
        first = next((value for value in inputs if torch_of(value)), None)
        self._torch = torch_of(first)
        self._to_bfloat16 = self._torch and first.dtype is self._torch.bfloat16

    def give(self, result: Any) -> Any:
        if self.on_device:
            return result if isinstance(result, Tensor) else Tensor(result, context=self._context)
        if torch_of(result):
            return result
        array = result.numpy() if isinstance(result, Tensor) else as_array(result)
        return _as_torch(self._torch, array, self._to_bfloat16) if self._torch else array


def _as_torch(torch: Any, array: np.ndarray, to_bfloat16: bool) -> Any:
    tensor = torch.from_numpy(array)
    return tensor.bfloat16() if to_bfloat16 and tensor.is_floating_point() else tensor
