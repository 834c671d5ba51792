"""Texts on their way into the library."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Union

from ._native import ffi, lib
from .errors import c_string, check, enumerator, invalid

Path = Union[str, "os.PathLike[str]"]


def path_bytes(path: Path) -> Any:
    return c_string(os.fsencode(path))


class Texts:
    """A C array of vkf_text, with the bytes that it points to."""

    def __init__(self, texts: Sequence[str]) -> None:
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise invalid("texts are a list of strings")
        # A lone surrogate, as os.fsdecode() makes it, is no character of UTF-8, and what the library gets is a text.
        encoded = [text.encode("utf-8", "replace") for text in texts]
        self._bytes = [ffi.from_buffer(data or b"\0") for data in encoded]
        self._sizes = [len(data) for data in encoded]
        self.array = ffi.new("vkf_text[]", len(texts))
        for view, data, size in zip(self.array, self._bytes, self._sizes):
            view.bytes, view.size_bytes = ffi.cast("const char *", data), size

    def __len__(self) -> int:
        return len(self._sizes)


def set_model(desc: Any, directory: Any, precision: str, quantization: str, adapter: Any) -> None:
    """The members that the descriptors of models, embedders and generators share."""
    desc.directory = directory
    desc.adapter_directory = adapter
    desc.precision = enumerator("vkf_model_precision", "VKF_MODEL_PRECISION_", precision)
    desc.quantization = enumerator("vkf_quantization", "VKF_QUANTIZATION_", quantization)


def decoded(decode: Any) -> str:
    """The text that a function with the protocol of vkf_tokenizer_decode() writes."""
    size = ffi.new("size_t *")
    check(decode(size, ffi.NULL))
    size[0] += 1
    text = ffi.new("char[]", size[0])
    check(decode(size, text))
    return ffi.buffer(text, size[0])[:].decode("utf-8", "replace")


def stop_reason(value: int) -> str:
    return {lib.VKF_STOP_LENGTH: "length", lib.VKF_STOP_EOS: "eos", lib.VKF_STOP_CONTEXT: "context",
            lib.VKF_STOP_CALLER: "caller"}.get(value, str(value))
