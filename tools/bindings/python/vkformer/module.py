"""Modules of torch.nn on the device, in eval mode, and how they follow each other."""
from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import functional
from .context import Context, context_or_default
from .errors import Error, invalid
from .layer import Parameters
from .tensor import Results, packed, uploaded
from .torch_module import ROOT, below, check, check_call, named, torch_module


class Module:
    """What is called as PyTorch's module of the same name is in eval mode.

    Results are where the inputs are: of tensors on the device they stay there, those of PyTorch's tensors are such, and
    else they are NumPy arrays.
    """

    _classes: dict[str, type[Module]] = {}
    context: Context | None = None  # None: the default one
    computes = True  # it can be called

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith(f"{__package__}."):  # and not what a program makes of it
            Module._classes[cls.__name__] = cls

    @classmethod
    def from_torch(cls, module: Any, *, fully_masked: str = "nan", context: Context | None = None) -> Any:
        """From PyTorch's module of the same name itself: what computes something else is refused."""
        check(module, ROOT, getattr(torch_module(module).nn, cls.__name__))
        return from_torch(module, fully_masked=fully_masked, context=context)

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Any:
        """The same within a conversion, of a module that is of the very class."""
        return cls()

    def forward(self, input: Any) -> Any:
        return Results(input).give(self._compute(input))

    def _compute(self, input: Any) -> Any:
        """The result on the device, wherever the input is. Every class has one of these two."""
        return self.forward(uploaded(input, self.context))

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.forward(*inputs, **options)


class Conversion:
    """From a tree of PyTorch's modules. What cannot be converted is remembered, so that it is all named at once."""

    def __init__(self, fully_masked: str, context: Context | None) -> None:
        self.fully_masked, self.context = fully_masked, context
        self.fresh = False  # what the next module gets was made by another one, and nobody else has it
        self.problems: list[str] = []

    def convert(self, module: Any, place: str) -> Any:
        """None for what cannot be converted."""
        kind = Module._classes.get(type(module).__name__)
        try:
            if kind is None or getattr(torch_module(module).nn, kind.__name__, None) is not type(module):
                raise invalid(f"{place} is a {named(module)}, which has no counterpart here")
            made = kind._converted(check_call(module, place), place, self)
        except Error as error:
            self.problems.append(str(error))
            return None
        made.context = made.context or self.context
        return made


def from_torch(module: Any, *, fully_masked: str = "nan", context: Context | None = None) -> Module:
    """The counterpart of a tree of PyTorch's modules, on the device and in eval mode.

    What the tree is made of has to have a counterpart of its own (docs/pytorch.md has a table), and compute what
    PyTorch's class does. What does not is named with its place. `fully_masked` is that of every attention in it.
    """
    torch_module(module)
    conversion = Conversion(fully_masked, context)
    made = conversion.convert(module, ROOT)
    if conversion.problems:
        raise invalid("; ".join(conversion.problems))
    return made


class _Parametrized(Module):
    """What has parameters by PyTorch's names, all of which are used."""

    def __init__(self, state_dict: Mapping[str, Any], context: Context | None, names: Sequence[str]) -> None:
        self._parameters = Parameters(state_dict, context_or_default(context))
        self._tensors = {name: self._parameters.optional(name) for name in names}
        self._parameters.forget_arrays()
        self.context = self._parameters.context

    def _uploaded(self, input: Any) -> Any:
        tensor = uploaded(input, self.context)
        self._parameters.check_inputs(tensor.dtype)
        return tensor


class Linear(_Parametrized):
    """torch.nn.Linear, from its state_dict: "weight" (n, k) and "bias" (n), or none."""

    def __init__(self, state_dict: Mapping[str, Any], *, context: Context | None = None) -> None:
        super().__init__(state_dict, context, ("weight", "bias"))
        self.out_features, self.in_features = self._parameters.matrix("weight")
        self._tensors["weight"] = packed(self._parameters.tensor("weight"))
        self._parameters.forget_tensors()
        self.activation = "none"

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Linear:
        return cls(module.state_dict(), context=conversion.context)

    def _compute(self, input: Any) -> Any:
        return functional.linear(self._uploaded(input), **self._tensors, activation=self.activation)

    def followed_by(self, activation: str) -> Linear:
        """The same one with an activation behind it."""
        other = copy.copy(self)
        other.activation = activation
        return other


class LayerNorm(_Parametrized):
    """torch.nn.LayerNorm, from its state_dict: "weight" and "bias", or neither; then normalized_shape has to be said.
    """

    _names: tuple[str, ...] = ("weight", "bias")
    _norm = staticmethod(functional.layer_norm)

    def __init__(self, state_dict: Mapping[str, Any], normalized_shape: functional.Shape | None = None, *,
                 eps: float | None = 1e-5, context: Context | None = None) -> None:
        super().__init__(state_dict, context, self._names)
        if normalized_shape is None:
            normalized_shape = self._parameters.shape("weight")
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> LayerNorm:
        return cls(module.state_dict(), module.normalized_shape, eps=module.eps, context=conversion.context)

    def _compute(self, input: Any) -> Any:
        return self._norm(self._uploaded(input), self.normalized_shape, eps=self.eps, **self._tensors)


class RMSNorm(LayerNorm):
    """torch.nn.RMSNorm, from its state_dict: "weight", or nothing; then normalized_shape has to be said. Without eps it
    is float32's, 2^-23, as PyTorch's since 2.7."""

    _names = ("weight",)
    _norm = staticmethod(functional.rms_norm)

    def __init__(self, state_dict: Mapping[str, Any], normalized_shape: functional.Shape | None = None, *,
                 eps: float | None = None, context: Context | None = None) -> None:
        super().__init__(state_dict, normalized_shape, eps=eps, context=context)


class Embedding(_Parametrized):
    """torch.nn.Embedding, from its state_dict: "weight" (vocabulary, dim)."""

    def __init__(self, state_dict: Mapping[str, Any], *, context: Context | None = None) -> None:
        super().__init__(state_dict, context, ("weight",))
        self.num_embeddings, self.embedding_dim = self._parameters.matrix("weight")

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Embedding:
        if module.max_norm is not None:
            raise invalid(f"{place} has max_norm, which changes weights that are looked up: nothing here does")
        return cls(module.state_dict(), context=conversion.context)

    def _compute(self, input: Any) -> Any:
        return functional.embedding(functional.ids_on_device(input, self.num_embeddings, self.context),
                                    **self._tensors)


class Identity(Module):
    """torch.nn.Identity."""

    def _compute(self, input: Any) -> Any:
        return input


class Dropout(Identity):
    """torch.nn.Dropout, which does nothing in eval mode."""


class Softmax(Module):
    """torch.nn.Softmax."""

    _function = staticmethod(functional.softmax)

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Softmax:
        if module.dim is None:
            raise invalid(f"{place} has no dim, and PyTorch guesses one: say it")
        return cls(module.dim)

    def _compute(self, input: Any) -> Any:
        return self._function(uploaded(input, self.context), self.dim)


class LogSoftmax(Softmax):
    """torch.nn.LogSoftmax."""

    _function = staticmethod(functional.log_softmax)


class _Activation(Module):
    """Element by element, by the name that torch.nn.functional has for it."""

    _name: str
    _alpha: str | None = None  # what PyTorch calls the parameter, if there is one

    def __init__(self, alpha: float | None = None) -> None:
        self.name, self.alpha = self._name, alpha

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Any:
        if getattr(module, "inplace", False) and not conversion.fresh:
            raise invalid(f"{place} changes its input in place, which nothing here does: inplace=False")
        return cls(*([] if cls._alpha is None else [getattr(module, cls._alpha)]))

    def _compute(self, input: Any) -> Any:
        return functional.activate(uploaded(input, self.context), self.name, self.alpha)


class ReLU(_Activation):
    """torch.nn.ReLU."""

    _name = "relu"


class GELU(_Activation):
    """torch.nn.GELU: `approximate` is "none" or "tanh"."""

    _name, _alpha = "gelu", "approximate"

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise invalid(f"GELU: approximate is {approximate!r}, and not 'none' or 'tanh'")
        self.name = "gelu" if approximate == "none" else "gelu_tanh"


class SiLU(_Activation):
    """torch.nn.SiLU."""

    _name = "silu"


class Tanh(_Activation):
    """torch.nn.Tanh."""

    _name = "tanh"


class Sigmoid(_Activation):
    """torch.nn.Sigmoid."""

    _name = "sigmoid"


class Mish(_Activation):
    """torch.nn.Mish."""

    _name = "mish"


class Hardswish(_Activation):
    """torch.nn.Hardswish."""

    _name = "hardswish"


class Hardsigmoid(_Activation):
    """torch.nn.Hardsigmoid."""

    _name = "hardsigmoid"


class LeakyReLU(_Activation):
    """torch.nn.LeakyReLU."""

    _name, _alpha = "leaky_relu", "negative_slope"

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__(None if negative_slope == 0.01 else negative_slope)


class ELU(_Activation):
    """torch.nn.ELU."""

    _name, _alpha = "elu", "alpha"

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(None if alpha == 1 else alpha)


def activation_name(activation: Any, place: str, torch: Any) -> str:
    """Of a function of PyTorch's, or a module for it, by what it is and not by what it is called."""
    if isinstance(activation, torch.nn.Module):
        conversion = Conversion("nan", None)
        conversion.fresh = True  # a layer has what goes into its activation from a product
        made = conversion.convert(activation, place)
        if isinstance(made, _Activation) and made.alpha is None:
            return made.name
        raise invalid("; ".join(conversion.problems) or f"{place} is no activation that layers here have")
    for kind in Module._classes.values():
        name = getattr(kind, "_name", None)
        if name and any(activation is getattr(place, name, torch) for place in (torch.nn.functional, torch)):
            return name
    raise invalid(f"{place} is {activation!r}: take a function of torch.nn.functional that has a counterpart here, or "
                  f"torch.nn's module for it")


class ModuleList(Module):
    """torch.nn.ModuleList: what computes nothing by itself."""

    computes = False

    def __init__(self, *modules: Module) -> None:
        self._modules = modules

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Any:
        return cls(*(conversion.convert(part, below(place, name)) for name, part in module._modules.items()))

    def forward(self, input: Any) -> Any:
        raise invalid(f"a {type(self).__name__} is not called, but what it has")

    def __getitem__(self, index: Any) -> Any:
        return type(self)(*self._modules[index]) if isinstance(index, slice) else self._modules[index]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)


class ModuleDict(ModuleList):
    """torch.nn.ModuleDict: the same by names."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        super().__init__(*modules.values())
        self._names = {name: i for i, name in enumerate(modules)}

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> ModuleDict:
        return cls({name: conversion.convert(part, below(place, name)) for name, part in module.items()})

    def __getitem__(self, name: str) -> Module:
        return self._modules[self._names[name]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)


class Sequential(ModuleList):
    """torch.nn.Sequential: what is between its modules stays on the device. A Linear computes the activation behind it.
    """

    computes = True

    def __init__(self, *modules: Module) -> None:
        super().__init__(*modules)
        self._steps: list[Module] = []
        for module in modules:
            before = self._steps[-1] if self._steps else None
            if isinstance(before, Linear) and isinstance(module, _Activation) and module.alpha is None and (
                    before.activation == "none"):
                self._steps[-1] = before.followed_by(module.name)
            else:
                self._steps.append(module)

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Sequential:
        made = []
        for name, part in module._modules.items():  # a part may stand at two places, and named_children() has it once
            made.append(conversion.convert(part, below(place, name)))
            conversion.fresh = True  # whoever changes what this gave changes nothing of the caller's
        return cls(*made)

    def forward(self, input: Any) -> Any:
        return Results(input).give(self._compute(input))

    def _compute(self, input: Any) -> Any:
        for step in self._steps:
            input = step._compute(input)
        return input
