"""Arrays that come in, and tensors on the device."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import c_string, enumerator_name, invalid
from .owner import Owner

_DTYPES: dict[np.dtype, int] = {
    np.dtype(np.float32): lib.VKF_DTYPE_F32, np.dtype(np.float16): lib.VKF_DTYPE_F16,
    np.dtype(np.int32): lib.VKF_DTYPE_I32, np.dtype(np.bool_): lib.VKF_DTYPE_BOOL}
_NUMPY: dict[int, np.dtype] = {value: dtype for dtype, value in _DTYPES.items()}


def as_array(value: Any) -> np.ndarray:
    """The caller's numbers in rows, shared where that is possible: by DLPack, or as NumPy takes them."""
    if hasattr(value, "detach"):  # PyTorch gives out no memory of a tensor that gradients go through
        value = value.detach()
    if "bfloat16" in str(getattr(value, "dtype", "")):
        raise invalid("NumPy has no bfloat16: convert the tensor to float32 first")
    array = None
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        try:
            array = np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError):
            pass  # DLPack has no booleans before its version 1, and no memory that is in rows backwards
    return np.ascontiguousarray(value if array is None else array)


def as_floats(value: Any) -> np.ndarray:
    """As f16 where it is f16, and as f32 elsewhere."""
    array = as_array(value)
    if array.dtype.kind not in "fiu":
        raise invalid(f"an array of numbers is wanted here, and not of {array.dtype}")
    return array if array.dtype == np.float16 else array.astype(np.float32, copy=False)


def as_ids(row: Any) -> np.ndarray:
    """A row of whole numbers of 32 bits, as the library takes ids, labels and types."""
    if np.ndim(row) != 1:
        raise invalid(f"a row of ids is a list of numbers, and not {type(row).__name__} of the shape {np.shape(row)}")
    array = as_array(row)
    limits = np.iinfo(np.int32)
    if array.size and array.dtype.kind not in "iu":
        raise invalid(f"ids are whole numbers, and not {array.dtype}")
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise invalid(f"ids are from {limits.min} to {limits.max}")
    return array.astype(np.int32)


def pointer(array: np.ndarray) -> Any:
    """To read from, as long as the array lives."""
    return ffi.cast("const void *", array.ctypes.data)


def writable(array: np.ndarray) -> Any:
    return ffi.cast("void *", array.ctypes.data)


def typed(kind: str, array: np.ndarray) -> Any:
    return ffi.cast(f"{kind} *", array.ctypes.data)


class _TensorBox(Owner):
    """Owns a tensor's buffer."""

    def __init__(self, context: Context) -> None:
        super().__init__("vkf_buffer", lib.vkf_buffer_destroy, context._log, context)


class Tensor:
    """An array on the device, of float32, float16, int32 or bool."""

    def __init__(self, array: Any, *, context: Context | None = None, name: str = "") -> None:
        context = context_or_default(context)
        values = as_array(array)
        if values.dtype not in _DTYPES:
            raise invalid(f"a tensor has float32, float16, int32 or bool, and not {values.dtype}")
        self._owner = _TensorBox(context)
        self._view = ffi.new("vkf_tensor *")
        shape = ffi.new("uint32_t[]", list(values.shape) or [1])
        check = context._log.check
        check(lib.vkf_tensor_create(context._handle, _DTYPES[values.dtype], max(values.ndim, 1), shape,
                                    c_string(name) if name else ffi.NULL, self._view))
        self._owner._box[0] = self._view.buffer
        check(lib.vkf_tensor_write(self._view, pointer(values), values.nbytes))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._view.shape[0:self._view.rank])

    @property
    def dtype(self) -> np.dtype:
        return _NUMPY[self._view.dtype]

    def numpy(self) -> np.ndarray:
        """A copy of the values."""
        values = np.empty(self.shape, self.dtype)
        self._owner._log.check(lib.vkf_tensor_read(self._view, writable(values), values.nbytes))
        return values

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return np.empty(0, self.dtype).__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        kind = enumerator_name("vkf_dtype", "VKF_DTYPE_", self._view.dtype)
        return f"<vkformer.Tensor {kind} {self.shape}>"

    def _part(self, out: Any, shape: Sequence[int], first: int = 0) -> None:
        """Makes the C tensor `out` a view of the elements from `first` on."""
        ffi.memmove(ffi.addressof(out), self._view, ffi.sizeof("vkf_tensor"))
        out.offset_bytes = self._view.offset_bytes + first * self.dtype.itemsize
        out.rank = len(shape)
        for i in range(len(out.shape)):
            out.shape[i] = shape[i] if i < len(shape) else 0
