"""Keeps what the library found out about a device in files, where the program `vkformer` keeps it, too."""
from __future__ import annotations

import logging
import os
import pathlib
import tempfile
from typing import Any

from ._native import ffi, lib
from .errors import text_of

_logger = logging.getLogger("vkformer")


def default_directory() -> pathlib.Path | None:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):  # the XDG specification says to ignore a relative path
        return pathlib.Path(base) / "vkformer"
    home = os.environ.get("HOME")
    return pathlib.Path(home) / ".cache" / "vkformer" if home else None


class Cache:
    """A directory with a file for each key; what cannot be read is not there, and what cannot be written is lost."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.handle = ffi.new_handle(self)
        self._directory = directory

    def load(self, key: str) -> bytes:
        try:
            return (self._directory / key).read_bytes()
        except OSError:
            return b""

    def save(self, key: str, data: bytes) -> None:
        """A file is written whole or not at all, whoever writes beside."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._directory, prefix=key + ".", delete=False) as file:
                file.write(data)
            os.replace(file.name, self._directory / key)
        except OSError as error:
            _logger.warning("the cache was not written: %s", error)

    def enter(self, callbacks: Any) -> None:
        callbacks.load = lib.vkf_py_cache_load
        callbacks.save = lib.vkf_py_cache_save
        callbacks.user = self.handle


@ffi.def_extern(error=0)
def vkf_py_cache_load(user: Any, key: Any, data: Any, capacity: int) -> int:
    content = ffi.from_handle(user).load(text_of(key))
    if data != ffi.NULL and len(content) <= capacity:
        ffi.memmove(data, content, len(content))
    return len(content)


@ffi.def_extern()
def vkf_py_cache_save(user: Any, key: Any, data: Any, size_bytes: int) -> None:
    ffi.from_handle(user).save(text_of(key), ffi.buffer(data, size_bytes)[:])
