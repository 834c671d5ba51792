"""What the library says while it works, and callbacks of the caller's that may raise."""
from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Optional

from ._native import ffi, lib
from .errors import check, text_of

SEVERITIES = {"debug": lib.VKF_SEVERITY_DEBUG, "info": lib.VKF_SEVERITY_INFO, "warning": lib.VKF_SEVERITY_WARNING,
              "error": lib.VKF_SEVERITY_ERROR, "validation": lib.VKF_SEVERITY_VALIDATION}
NAMES = {value: name for name, value in SEVERITIES.items()}
MessageFunction = Callable[[str, str], None]

_logger = logging.getLogger("vkformer")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.DEBUG,
           "validation": logging.ERROR}


def _to_logging(severity: str, text: str) -> None:
    """Errors are raised, so that they are logged for debugging alone."""
    _logger.log(_LEVELS[severity], "%s", text)


def listen(desc: Any, message: MessageFunction | None, min_severity: int = lib.VKF_SEVERITY_WARNING) -> Any:
    """Sets the messages of a C struct. What is returned has to outlive all that is made from it: the library may call
    it as long as anything of that lives."""
    handle = ffi.new_handle(message or _to_logging)
    desc.message, desc.message_user, desc.min_severity = lib.vkf_py_message, handle, min_severity
    return handle


@ffi.def_extern()
def vkf_py_message(user: Any, severity: int, text: Any) -> None:
    ffi.from_handle(user)(NAMES.get(severity, "error"), text_of(text))


class Guard:
    """A callback of the caller's: what it raises ends the run, and is raised again behind it."""

    def __init__(self, function: Callable[..., bool | None]) -> None:
        self.handle = ffi.new_handle(self)
        self._function = function
        self._raised: BaseException | None = None

    def call(self, *arguments: Any) -> bool:
        """None, which a function without a `return` gives, goes on."""
        if self._raised is not None:
            return False
        try:
            return self._function(*arguments) is not False
        except BaseException as raised:  # also KeyboardInterrupt: it ends the run
            self._raised = raised
            return False

    def finish(self, status: int) -> None:
        """After the run."""
        outside = _outside.pop(threading.get_ident(), None)
        raised = self._raised or outside
        if raised is not None:
            raise raised
        check(status)


# What was raised in a thread's callback before its guard looked out for it: an interrupt may come at any place.
_outside: dict[int, BaseException] = {}


def _keep(_kind: Any, raised: BaseException, _traceback: Any) -> bool:
    _outside[threading.get_ident()] = raised
    return False


@ffi.def_extern(onerror=_keep)
def vkf_py_progress(user: Any, done: int, total: int, what: Any) -> bool:
    return ffi.from_handle(user).call(done, total, "" if what == ffi.NULL else text_of(what))


@ffi.def_extern(onerror=_keep)
def vkf_py_text(user: Any, prompt: int, text: Any, size_bytes: int) -> bool:
    return ffi.from_handle(user).call(prompt, ffi.buffer(text, size_bytes)[:].decode("utf-8", "replace"))


ProgressFunction = Callable[[int, int, str], Optional[bool]]


def guard_progress(desc: Any, progress: ProgressFunction | None) -> Guard:
    """Sets the progress callback of a C struct; the guard has to outlive the run.

    There is always one: an interrupt from the keyboard reaches the program there, and ends the run.
    """
    guard = Guard(progress or (lambda *_: True))
    desc.progress = lib.vkf_py_progress
    desc.progress_user = guard.handle
    return guard
