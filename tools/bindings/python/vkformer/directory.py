"""Model directories, on the host alone: what belongs to an adapter, and a directory made of another."""
from __future__ import annotations

from typing import Any

from ._native import ffi, lib
from .errors import enumerator, plain
from .messages import MessageFunction, ProgressFunction, guard_progress, listen
from .texts import Path, decoded, path_bytes


def adapter_base(directory: Path, *, message: MessageFunction | None = None) -> str:
    """The name of the model that a LoRA adapter belongs to, where it is no path; "" if the directory has its model."""
    desc, kept = _desc("vkf_inspection_desc *", directory, None, message)
    base = decoded(lambda size, text: lib.vkf_read_adapter_base(desc, size, text))
    del kept
    return base


def quantize(directory: Path, out_directory: Path, *, quantization: str = "none", adapter: Path | None = None,
             progress: ProgressFunction | None = None, message: MessageFunction | None = None) -> dict[str, Any]:
    """Makes a directory with the weights of linear layers in blocks ("q8" or "q4"), or, with "none", with a LoRA
    adapter merged into them; vkf_quantize_result."""
    desc, kept = _desc("vkf_quantize_desc *", directory, adapter, message)
    out, result = path_bytes(out_directory), ffi.new("vkf_quantize_result *")
    desc.out_directory = out
    desc.quantization = enumerator("vkf_quantization", "VKF_QUANTIZATION_", quantization)
    guard = guard_progress(desc, progress)
    guard.finish(lib.vkf_quantize(desc, result))
    del kept
    return plain(result[0])


def _desc(kind: str, directory: Path, adapter: Path | None, message: MessageFunction | None) -> tuple[Any, Any]:
    """A descriptor, and what has to live as long."""
    desc, path = ffi.new(kind), path_bytes(directory)
    adapter_path = ffi.NULL if adapter is None else path_bytes(adapter)
    desc.directory, desc.adapter_directory = path, adapter_path
    return desc, (path, adapter_path, listen(desc, message))
