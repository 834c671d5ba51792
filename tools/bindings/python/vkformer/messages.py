"""What the library says while it works, and callbacks of the caller's that may raise."""
from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Optional

from ._native import ffi, lib
from .errors import Error, status_name, text_of

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


class Log:
    """Receives the messages of a context.

    The library may call it as long as anything lives that was made from the context, so all of that holds the log.
    """

    def __init__(self, message: MessageFunction | None) -> None:
        self.handle = ffi.new_handle(self)
        self._forward = message if message is not None else _to_logging

    def receive(self, severity: int, text: str) -> None:
        self._forward(NAMES.get(severity, "error"), text)

    def check(self, status: int) -> None:
        if status != lib.VKF_OK:
            raise Error(text_of(lib.vkf_last_error(status)), status_name(status))


@ffi.def_extern()
def vkf_py_message(user: Any, severity: int, text: Any) -> None:
    ffi.from_handle(user).receive(severity, text_of(text))


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

    def finish(self, log: Log, status: int) -> None:
        """After the run."""
        raised = self._raised or _outside.pop(threading.get_ident(), None)
        if raised is not None:
            raise raised
        log.check(status)


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
