"""Owners of C handles."""
from __future__ import annotations

import weakref
from typing import Any, Callable

from ._native import ffi
from .messages import Log


class Owner:
    """Owns one handle. `keep` lives as long as the handle: what it comes from, and what the library may call.

    Handles are given back when their owners are collected, and those that are left at the interpreter's end.
    """

    def __init__(self, kind: str, destroy: Callable[[Any], None], log: Log, keep: Any = None) -> None:
        self._box = ffi.new(f"{kind} **")
        self._log = log
        self._keep = keep
        self._finalizer = weakref.finalize(self, _release, destroy, self._box, log, keep)

    @property
    def _handle(self) -> Any:
        return self._box[0]

    def close(self) -> None:
        """Gives the handle back now. What is called afterwards raises `Error`."""
        self._finalizer()


def _release(destroy: Callable[[Any], None], box: Any, *_kept: Any) -> None:
    destroy(box)
