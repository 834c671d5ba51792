"""Modules of torch.nn on the device, in eval mode, and how they follow each other."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import functional
from .context import Context, context_or_default
from .errors import Error, invalid
from .layer import Parameters
from .tensor import Results, uploaded
from .torch_module import ROOT, below, check, check_call, named, torch_module


class Module:
    """What is called as PyTorch's module of the same name is in eval mode.

    Results are where the inputs are: of tensors on the device they stay there, those of PyTorch's tensors are such, and
    else they are NumPy arrays.
    """

    _classes: dict[str, type[Module]] = {}
    context: Context | None = None  # None: the default one

    def __init_subclass__(cls) -> None:
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
        self.fully_masked, self.context = fully_masked, context_or_default(context)
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

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Linear:
        return cls(module.state_dict(), context=conversion.context)

    def _compute(self, input: Any) -> Any:
        return functional.linear(self._uploaded(input), **self._tensors)


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
    is that of the inputs' type."""

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

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Softmax:
        if module.dim is None:
            raise invalid(f"{place} has no dim, and PyTorch guesses one: say it")
        return cls(module.dim)

    def _compute(self, input: Any) -> Any:
        return functional.softmax(uploaded(input, self.context), self.dim)


class Sequential(Module):
    """torch.nn.Sequential: what is between its modules stays on the device."""

    def __init__(self, *modules: Module) -> None:
        self._modules = modules

    @classmethod
    def _converted(cls, module: Any, place: str, conversion: Conversion) -> Sequential:
        return cls(*(conversion.convert(part, below(place, name)) for name, part in module.named_children()))

    def _compute(self, input: Any) -> Any:
        for module in self._modules:
            input = module._compute(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        return Sequential(*self._modules[index]) if isinstance(index, slice) else self._modules[index]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)
