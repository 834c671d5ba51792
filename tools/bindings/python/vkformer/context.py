"""The context: one device with its kernels, memory and caches."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ._native import ffi, lib
from .errors import c_string, check, enumerator, enumerator_name, invalid, text_of
from .messages import SEVERITIES, MessageFunction, listen
from .owner import Owner
from .texts import path_bytes

_TYPES = ("integrated", "discrete", "virtual", "cpu")
_default: dict[int, Context] = {}


class Context(Owner):
    """A Vulkan device. Threads may share it.

    device     an index, a part of the name, or one of "cpu", "integrated", "discrete", "virtual",
               "reference" (the scalar references of the operators, on the host, without a driver); None: the best
    precision  "full", "f16" or "f16_sums": how exactly products are computed, see vkformer/context.h
    profile    limits the device: "full", "android_baseline_2022", "android_2025", "roadmap_2026"
    masks      features and limits that are masked on top of it, as "shaderFloat16"
    message    called with severity and text, from any thread; what it raises is printed; None: the logger "vkformer"
    cache_dir  where is kept what was found out about the device; None: $XDG_CACHE_HOME/vkformer or ~/.cache/vkformer,
               as with the program; False: nowhere
    described  a file in the form of Vulkan Profiles: the context describes that device, for plan(), and has none
    """

    def __init__(self, device: int | str | None = None, *, precision: str = "full", profile: str = "full",
                 masks: Iterable[str] = (), message: MessageFunction | None = None, min_severity: str = "warning",
                 cache_dir: str | os.PathLike[str] | bool | None = None, validation: bool = False,
                 described: str | os.PathLike[str] | None = None) -> None:
        if min_severity not in SEVERITIES:
            raise invalid(f"there is no severity {min_severity!r}: take one of {', '.join(SEVERITIES)}")
        desc = ffi.new("vkf_context_desc *")
        named = _choose(desc.device, device)  # lives until the context is there
        names = [c_string(mask) for mask in masks]
        array = ffi.new("const char *[]", names)
        desc.masks, desc.mask_count = array, len(names)
        desc.precision = enumerator("vkf_precision", "VKF_PRECISION_", precision)
        desc.profile = enumerator("vkf_caps_profile", "VKF_CAPS_PROFILE_", profile)
        listener = listen(desc, message, SEVERITIES[min_severity])
        desc.validation = validation
        directory = None
        if cache_dir is not False:
            directory = path_bytes("" if cache_dir is None or cache_dir is True else cache_dir)
            desc.cache_directory = directory
        description = None if described is None else _Description(described, message)
        if description is not None:
            desc.described = description._handle
        super().__init__("vkf_context", lib.vkf_context_destroy, listener)
        check(lib.vkf_context_create(desc, self._box))
        del named, directory, description

    @classmethod
    def default(cls) -> Context:
        """The best device, made when it is first asked for; what is given no context takes this one."""
        context = _default.get(os.getpid())
        if context is None or context.closed:
            context = _default[os.getpid()] = cls()
        return context

    @staticmethod
    def devices() -> list[str]:
        """The names of the devices there are, in the order of their indices."""
        desc, count = ffi.new("vkf_context_desc *"), ffi.new("uint32_t *")
        check(lib.vkf_enumerate_devices(desc, count, ffi.NULL))
        infos = ffi.new("vkf_device_info[]", max(count[0], 1))
        check(lib.vkf_enumerate_devices(desc, count, infos))
        return [text_of(info.name) for info in infos[0:count[0]]]

    @property
    def device_name(self) -> str:
        return text_of(self._info().name)

    @property
    def driver(self) -> str:
        info = self._info()
        return f"{text_of(info.driver_name)} {text_of(info.driver_info)}".strip()

    @property
    def device_type(self) -> str:
        return enumerator_name("vkf_device_type", "VKF_DEVICE_TYPE_", self._info().type)

    @property
    def used_bytes(self) -> int:
        """Device memory in use by what lives."""
        usage = ffi.new("vkf_memory_usage *")
        lib.vkf_context_get_memory_usage(self._handle, usage)
        return sum(usage.used_bytes[0:usage.heap_count])

    def save_cache(self) -> None:
        """Writes what was found out so far; otherwise that happens when the context ends."""
        check(lib.vkf_context_save_cache(self._handle))

    def forget_verdicts(self) -> None:
        """Forgets what was found out about kernels: each is tested again before its next use."""
        check(lib.vkf_context_forget_verdicts(self._handle))

    def _info(self) -> Any:
        info = ffi.new("vkf_device_info *")
        lib.vkf_context_get_device_info(self._handle, info)
        return info

    def __repr__(self) -> str:
        return "<vkformer.Context, closed>" if self.closed else f"<vkformer.Context on {self.device_name}>"


class _Description(Owner):
    """What a file says of a device."""

    def __init__(self, path: str | os.PathLike[str], message: MessageFunction | None) -> None:
        desc, name = ffi.new("vkf_device_description_desc *"), path_bytes(path)
        desc.path = name
        super().__init__("vkf_device_description", lib.vkf_device_description_destroy, listen(desc, message))
        check(lib.vkf_device_description_create(desc, self._box))


def context_or_default(context: Context | None) -> Context:
    return Context.default() if context is None else context


def _choose(choice: Any, device: int | str | None) -> list[Any]:
    """Fills in the choice; what is returned has to outlive it."""
    if device is None:
        return []
    if isinstance(device, int):
        choice.kind, choice.index = lib.VKF_CHOOSE_INDEX, device
        return []
    if device == "reference":
        choice.kind = lib.VKF_CHOOSE_REFERENCE
        return []
    if device in _TYPES:
        choice.kind = lib.VKF_CHOOSE_TYPE
        choice.type = enumerator("vkf_device_type", "VKF_DEVICE_TYPE_", device)
        return []
    name = c_string(device)
    choice.kind, choice.name = lib.VKF_CHOOSE_NAME, name
    return [name]
