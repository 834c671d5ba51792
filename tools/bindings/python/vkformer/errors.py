"""Statuses as exceptions, and the names of C's enumerators."""
from __future__ import annotations

from typing import Any

from ._native import ffi, lib


class Error(RuntimeError):
    """What the library said. `status` is the status's own name, as "VKF_ERROR_FILE"."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


def c_string(text: str | bytes) -> Any:
    """A text that ends where it ends: one with a zero byte in it would be cut there."""
    data = text.encode() if isinstance(text, str) else text
    if b"\0" in data:
        raise invalid(f"{data!r} has a zero byte in it, where C's texts end: leave it out")
    return ffi.new("char[]", data)


def text_of(pointer: Any) -> str:
    return ffi.string(pointer).decode("utf-8", "replace")


def text_or_none(pointer: Any) -> str | None:
    return None if pointer == ffi.NULL else text_of(pointer)


def library_version() -> str:
    version = lib.vkf_version()
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def status_name(status: int) -> str:
    return text_of(lib.vkf_status_name(status))


def check(status: int) -> None:
    """Right behind the call that returned it, on its thread."""
    if status != lib.VKF_OK:
        raise Error(text_of(lib.vkf_last_error(status)), status_name(status))


INVALID = status_name(lib.VKF_ERROR_INVALID_ARGUMENT)


def invalid(message: str) -> Error:
    """An argument that is refused before the library sees it."""
    return Error(message, INVALID)


def enumerators(enum: str, prefix: str) -> dict[str, int]:
    """The values of a C enum by their names without the prefix, in lower case: "f32", "top_left"."""
    names = {name[len(prefix):].lower(): value for value, name in ffi.typeof(enum).elements.items()
             if name.startswith(prefix)}
    return {name: value for name, value in names.items() if name != "count" and not name.endswith("_count")}


def enumerator(enum: str, prefix: str, name: str) -> int:
    """The value of the enumerator that the caller names."""
    values = enumerators(enum, prefix)
    if name not in values:
        raise invalid(f"there is no {prefix.rstrip('_').removeprefix('VKF_').lower()} {name!r}: "
                      f"take one of {', '.join(sorted(values))}")
    return values[name]


def enumerator_name(enum: str, prefix: str, value: int) -> str:
    return next((name for name, other in enumerators(enum, prefix).items() if other == value), str(value))


def plain(value: Any) -> Any:
    """A C struct, array, text or number as dictionaries, lists and Python's texts and numbers."""
    if not isinstance(value, ffi.CData):
        return value
    kind = ffi.typeof(value)
    if kind.kind == "struct":
        return {name: plain(getattr(value, name)) for name, _ in kind.fields}
    if kind.kind == "array":
        return [plain(element) for element in value]
    return text_or_none(value) if kind.cname == "char *" else None
