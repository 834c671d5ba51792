"""Owners of C handles."""
from __future__ import annotations

import threading
import weakref
from typing import Any, Callable

from ._native import ffi
from .errors import invalid


class Turn:
    """What belongs to one thread at a time in the library: the others wait. Python's own lock does not do this, since
    it is let go while the library works."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None

    def __enter__(self) -> None:
        if self._thread == threading.get_ident():
            raise invalid("this is called from a callback of its own, and has to be left first")
        self._lock.acquire()
        self._thread = threading.get_ident()

    def __exit__(self, *_: Any) -> None:
        self._thread = None
        self._lock.release()


class Owner:
    """Owns one handle. `keep` lives as long as the handle: what it comes from, and what the library may call.

    Handles are given back when their owners are collected, and those that are left at the interpreter's end.
    """

    def __init__(self, kind: str, destroy: Callable[[Any], None], keep: Any = None) -> None:
        self._box = ffi.new(f"{kind} **")
        self._keep = keep
        self._turn = Turn()
        self._finalizer = weakref.finalize(self, _release, destroy, self._box, keep)

    @property
    def _handle(self) -> Any:
        if self.closed:
            raise invalid(f"this {type(self).__name__} is closed: make another")
        return self._box[0]

    @property
    def closed(self) -> bool:
        return self._box[0] == ffi.NULL

    def close(self) -> None:
        """Gives the handle back now. What is called afterwards raises `Error`."""
        with self._turn:
            self._finalizer()


def _release(destroy: Callable[[Any], None], box: Any, *_kept: Any) -> None:
    destroy(box)
