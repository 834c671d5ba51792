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

    The largest parts that have a counterpart are replaced in the model itself, which is returned; of a model that is
    replaced as a whole, or is a Sequential, the replacement is. Parts of a Sequential that follow each other become
    one, so that their tensors are copied once at each end; it is to be called, and has no parts to ask for until
    unswap(). Parts without parameters stay where they are if nothing beside them goes.
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
        original = model.original
        model = original if original.training == model.training else original.train(model.training)
    for name, part in model._modules.items():
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
            converted, dtype = self._convert(module), _dtype(module)
            if converted is not None:
                self._made[id(module)] = module if dtype is None else _wrapper_class()(module, converted, dtype)
            elif type(module) is self._torch.nn.Sequential:
                self._made[id(module)] = self._swap_runs(module)
            else:
                self._made[id(module)] = module
                for name, part in module._modules.items():
                    if part is not None:
                        module._modules[name] = self.swap(part)
        return self._made[id(module)]

    def _convert(self, module: Any) -> Module | None:
        if any(p.dtype == self._torch.float64 for p in module.parameters()):
            return None  # it would not be computed as exactly
        if any(part.training for part in module.modules()):
            return None  # a Dropout, say, that drops out all the same
        try:
            made = from_torch(module, **self._options)
        except Error as error:
            if error.status != INVALID:
                raise
            return None
        return made if made.computes else None

    def _swap_runs(self, module: Any) -> Any:
        """A Sequential in which parts that follow each other have become one. Whoever asks the original for its parts
        would not get what it computes between them, so that it stands no longer in its place."""
        parts: list[Any] = []
        run: list[tuple[Any, Module]] = []
        for part in [*module._modules.values(), None]:
            converted = None if part is None else self._convert(part)
            if converted is not None:
                run.append((part, converted))
                continue
            dtypes = [dtype for one, _ in run if (dtype := _dtype(one)) is not None]
            if dtypes:
                whole = self._torch.nn.Sequential(*(one for one, _ in run)).eval()
                parts.append(_wrapper_class()(whole, Sequential(*(one for _, one in run)), dtypes[-1]))
            else:
                parts.extend(one for one, _ in run)
            run = []
            if part is not None:
                parts.append(self.swap(part))
        if all(one is other for one, other in zip(parts, module._modules.values())):
            return module
        return _wrapper_class()(module, self._torch.nn.Sequential(*parts), None)


def _dtype(module: Any) -> Any:
    """Of its parameters, or None if it has none."""
    parameter = next(module.parameters(), None)
    return None if parameter is None else parameter.dtype


@functools.lru_cache(maxsize=None)
def _wrapper_class() -> Any:
    """The class of what stands in the place of a module; it is of PyTorch's, which the package does without."""
    import torch

    class Swapped(torch.nn.Module):
        """`replacement` is a module of this package's, or PyTorch's of which parts are."""

        def __init__(self, original: Any, replacement: Any, dtype: Any) -> None:
            super().__init__()
            self._kept = (original, replacement)  # so that they are no parts of this
            if isinstance(replacement, torch.nn.Module):
                self.parts = replacement
            self._dtype = dtype
            self.training = original.training

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
            if "parts" in self._modules:
                return self.parts(*inputs, **options)
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
            return type(self.original).__name__

    return Swapped
