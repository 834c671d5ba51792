"""Tokenizers: text to token ids and back, on the host alone."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._native import ffi, lib
from .errors import c_string, check, enumerator, text_or_none
from .messages import MessageFunction, listen
from .owner import Owner
from .tensor import as_ids, typed
from .texts import Path, Texts, decoded, path_bytes


@dataclass(frozen=True)
class Encoding:
    """The tokens of a text, or of a pair. Every array has an element for each token."""

    ids: np.ndarray  # int32
    type_ids: np.ndarray  # int32
    special_tokens_mask: np.ndarray  # bool: added around the text
    sequences: np.ndarray  # int8; 0: of the first text, 1: of the second, -1: of neither
    offsets: np.ndarray  # (count, 2): begin and end in bytes of the text in UTF-8
    words: np.ndarray  # int32; -1 for tokens of neither text

    def __len__(self) -> int:
        return len(self.ids)


def _copied(pointer: Any, count: int, dtype: Any) -> np.ndarray:
    if count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(pointer, count * np.dtype(dtype).itemsize), dtype).copy()


def encoding_from(c_encoding: Any) -> Encoding:
    count = c_encoding.count
    offsets = _copied(c_encoding.offsets, 2 * count, np.uintp).reshape(count, 2)
    return Encoding(_copied(c_encoding.ids, count, np.int32), _copied(c_encoding.type_ids, count, np.int32),
                    _copied(c_encoding.special_tokens_mask, count, np.uint8).astype(np.bool_),
                    _copied(c_encoding.sequences, count, np.int8), offsets.astype(np.int64),
                    _copied(c_encoding.words, count, np.int32))


class Tokenizer(Owner):
    """A tokenizer.json, or a directory with one or with the files of older checkpoints. Threads may share it."""

    def __init__(self, path: Path, *, message: MessageFunction | None = None) -> None:
        desc, name = ffi.new("vkf_tokenizer_desc *"), path_bytes(path)
        desc.path = name
        super().__init__("vkf_tokenizer", lib.vkf_tokenizer_destroy, listen(desc, message))
        check(lib.vkf_tokenizer_load(desc, self._box))

    def encode(self, text: str, pair: str | None = None, *, special_tokens: bool = True,
               truncation: str = "from_file", max_length: int = 0) -> Encoding:
        """`truncation` is "from_file", "none", "longest_first", "only_first" or "only_second"."""
        options = ffi.new("vkf_encode_options *")
        options.no_special_tokens = not special_tokens
        options.truncation = enumerator("vkf_truncation", "VKF_TRUNCATION_", truncation)
        options.max_length = max_length
        views = Texts([text] if pair is None else [text, pair])
        second = ffi.NULL if pair is None else views.array + 1
        encoding = ffi.new("vkf_encoding *")
        check(lib.vkf_tokenizer_encode(self._handle, views.array, second, options, encoding))
        try:
            return encoding_from(encoding)
        finally:
            lib.vkf_encoding_free(encoding)

    def decode(self, ids: Any, *, skip_special_tokens: bool = True) -> str:
        tokens = as_ids(np.atleast_1d(ids))
        return decoded(lambda size, text: lib.vkf_tokenizer_decode(
            self._handle, typed("const int32_t", tokens), len(tokens), skip_special_tokens, size, text))

    def token_to_id(self, token: str) -> int | None:
        found = lib.vkf_tokenizer_token_to_id(self._handle, c_string(token))
        return found if found >= 0 else None

    def id_to_token(self, token_id: int) -> str | None:
        return text_or_none(lib.vkf_tokenizer_id_to_token(self._handle, token_id))

    @property
    def vocab_size(self) -> int:
        return lib.vkf_tokenizer_get_vocab_size(self._handle)
