"""Models of PyTorch that run on the device in part, or as a whole."""
from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .context import Context
from .errors import Error, INVALID, invalid
from .module import Module, Sequential, from_torch
from .torch_module import torch_module


def swap(model: Any, *, fully_masked: str = "nan", context: Context | None = None) -> Any:
    """Puts this package's modules into a model of PyTorch's, for inference: returns what is to be called in its place.

    The largest parts that have a counterpart are replaced in the model itself, which is returned; a model that is
    replaced as a whole is returned in its replacement. Parts of a Sequential that follow each other become one, so that
    their tensors are copied once at each end. Parts without parameters stay where they are if nothing beside them goes.
    unswap() puts everything back, and until then parameters of replaced parts are none of the model's. Models are in
    eval mode, and gradients are not computed.
    """
    torch = torch_module(model)
    if model.training:
        raise invalid("the model is in training mode, and what is swapped in computes as in eval mode: eval() first")
    try:
        return _Swapping(torch, fully_masked, context).swap(model)
    except BaseException:
        unswap(model)
        raise


def unswap(model: Any) -> Any:
    """Puts back what swap() has replaced, and returns the model that it was called with."""
    torch_module(model)
    if isinstance(model, _wrapper_class()):
        return model.original.train(model.training)
    for name, part in list(model._modules.items()):
        if part is not None:
            model._modules[name] = unswap(part)
    return model


@contextmanager
def swapped(model: Any, *, fully_masked: str = "nan", context: Context | None = None) -> Iterator[Any]:
    """swap() for the length of a `with` statement."""
    replacement = swap(model, fully_masked=fully_masked, context=context)
    try:
        yield replacement
    finally:
        unswap(replacement)


class _Swapping:
    def __init__(self, torch: Any, fully_masked: str, context: Context | None) -> None:
        self._torch, self._options = torch, {"fully_masked": fully_masked, "context": context}
        self._made: dict[int, Any] = {}  # by the originals, which may stand at several places

    def swap(self, module: Any) -> Any:
        """The replacement, or the module itself with parts that are replaced."""
        if id(module) not in self._made:
            converted = self._convert(module)
            dtype = _dtype(module)
            if converted is not None and dtype is not None:
                self._made[id(module)] = _wrapper_class()(module, converted, dtype)
            else:
                self._made[id(module)] = module
                if converted is None:
                    self._swap_parts(module)
        return self._made[id(module)]

    def _convert(self, module: Any) -> Module | None:
        if any(p.dtype == self._torch.float64 for p in module.parameters()):
            return None  # it would not be computed as exactly
        try:
            return from_torch(module, **self._options)
        except Error as error:
            if error.status != INVALID:
                raise
            return None

    def _swap_parts(self, module: Any) -> None:
        parts = {name: part for name, part in module._modules.items() if part is not None}
        if type(module) is not self._torch.nn.Sequential:
            for name, part in parts.items():
                module._modules[name] = self.swap(part)
            return
        run: dict[str, Module] = {}
        for name, part in [*parts.items(), (None, None)]:
            converted = None if part is None else self._convert(part)
            if converted is not None:
                run[name] = converted
                continue
            self._swap_run(module, parts, run)
            run = {}
            if part is not None:
                self.swap(part)

    @staticmethod
    def _swap_run(module: Any, parts: dict[str, Any], run: dict[str, Module]) -> None:
        """The first of the run computes all of it, and the others pass on what they get."""
        dtypes = [dtype for name in run if (dtype := _dtype(parts[name])) is not None]
        if dtypes:
            whole: Module | None = Sequential(*run.values())
            for name in run:
                module._modules[name] = _wrapper_class()(parts[name], whole, dtypes[-1])
                whole = None


def _dtype(module: Any) -> Any:
    """Of its parameters, or None if it has none."""
    parameter = next(module.parameters(), None)
    return None if parameter is None else parameter.dtype


@functools.lru_cache(maxsize=None)
def _wrapper_class() -> Any:
    """The class of what stands in the place of a module; it is of PyTorch's, which the package does without."""
    import torch

    class Swapped(torch.nn.Module):
        def __init__(self, original: Any, converted: Module | None, dtype: Any) -> None:
            super().__init__()
            self._kept = (original, converted)  # so that the original is no part of this
            self._dtype = dtype
            self.train(original.training)

        @property
        def original(self) -> Any:
            return self._kept[0]

        def __getattr__(self, name: str) -> Any:
            """What others read of the original, as a Linear's `weight`."""
            try:
                return super().__getattr__(name)
            except AttributeError:
                if "_kept" not in vars(self):
                    raise
                return getattr(self.original, name)

        def forward(self, *inputs: Any, **options: Any) -> Any:
            if self._kept[1] is None:
                return inputs[0]
            if self.training:
                raise invalid("a swapped module computes as in eval mode: call eval(), or unswap() to train")
            if torch.is_grad_enabled() and any(isinstance(value, torch.Tensor) and value.requires_grad
                                               for value in (*inputs, *options.values())):
                raise invalid("a swapped module computes no gradients: call the model under torch.no_grad()")
            result = self._kept[1](*inputs, **options)
            if isinstance(result, tuple):
                return tuple(part if part is None else part.to(self._dtype) for part in result)
            return result.to(self._dtype)

        def extra_repr(self) -> str:
            return type(self._kept[0]).__name__ if self._kept[1] else "computed by the one before"

    return Swapped
