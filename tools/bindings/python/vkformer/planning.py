"""What a model would take and do on a device, before any of its weights are loaded."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import check, enumerator_name, plain
from .messages import Guard
from .model import session_desc
from .texts import Path, path_bytes, set_model


@dataclass(frozen=True)
class Plan:
    """Of a model and one session of it."""

    config: dict[str, Any]  # vkf_model_config
    precision: str  # what "auto" becomes
    model: dict[str, Any]  # vkf_memory_plan: bytes of the weights
    session: dict[str, Any]  # the same of the session: activations, cache ...
    dispatches: list[dict[str, Any]]  # vkf_planned_dispatch, in their order, at the largest sizes

    @property
    def total_bytes(self) -> int:
        return sum(plan["heap_bytes"][i] for plan in (self.model, self.session) for i in range(plan["heap_count"]))


def plan(directory: Path, *, precision: str = "f32", quantization: str = "none", adapter: Path | None = None,
         context: Context | None = None, **sizes: Any) -> Plan:
    """Reads headers only, and runs nothing; config.json alone will do. Arguments as of Model(), `sizes` as of Session().

    The context may be one that describes a device which is not there: Context(described="device.json").
    """
    context = context_or_default(context)
    path, adapter_path = path_bytes(directory), ffi.NULL if adapter is None else path_bytes(adapter)
    desc, config = ffi.new("vkf_model_desc *"), ffi.new("vkf_model_config *")
    became, of_model, of_session = (ffi.new(f"vkf_{kind} *") for kind in ("model_precision", "memory_plan", "memory_plan"))
    set_model(desc, path, precision, quantization, adapter_path)
    handle = context._handle
    check(lib.vkf_model_plan_config(handle, desc, config, became))
    session = session_desc(config, **sizes)
    check(lib.vkf_model_plan(handle, desc, of_model))
    check(lib.vkf_model_plan_session(handle, desc, session, of_session))
    dispatches: list[dict[str, Any]] = []
    guard = Guard(lambda dispatch: dispatches.append(plain(dispatch)))
    guard.finish(lib.vkf_model_plan_dispatches(handle, desc, session, lib.vkf_py_dispatch, guard.handle))
    return Plan(plain(config[0]), enumerator_name("vkf_model_precision", "VKF_MODEL_PRECISION_", became[0]),
                plain(of_model[0]), plain(of_session[0]), dispatches)


@ffi.def_extern()
def vkf_py_dispatch(user: Any, dispatch: Any) -> None:
    ffi.from_handle(user).call(dispatch[0])
