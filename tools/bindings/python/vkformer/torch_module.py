"""Whether a module of PyTorch computes what the layers here compute. What does not is refused by its place."""
from __future__ import annotations

import sys
from typing import Any

from .errors import invalid


def _torch(module: Any) -> Any:
    """PyTorch, which whoever has a module of it has imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise invalid(f"from_torch() takes a module of PyTorch, and not a {type(module).__name__}")
    return torch


def _check(part: Any, place: str, *classes: type) -> Any:
    """Of a class itself, since a subclass may compute what it likes, and with nothing that runs before or after it."""
    kind = type(part)
    if kind not in classes:
        raise invalid(f"{place} is a {kind.__module__}.{kind.__qualname__}: what is computed here is that of "
                      f"{' or '.join('torch.nn.' + c.__name__ for c in classes)} itself. If that is right all the "
                      f"same, give the module's state_dict() to the constructor")
    if part._forward_hooks or part._forward_pre_hooks:
        raise invalid(f"{place} has forward hooks, which are not run here: remove them first")
    if "forward" in vars(part):
        raise invalid(f"{place} has a forward() of its own, which is not run here: remove it first")
    return part


def check_attention(module: Any, place: str) -> None:
    torch = _torch(module)
    _check(module, place, torch.nn.MultiheadAttention)
    # PyTorch's own class for it is of Linear, and computes the same; it uses weight and bias, and never calls it.
    _check(module.out_proj, f"out_proj of {place}", type(torch.nn.MultiheadAttention(1, 1).out_proj), torch.nn.Linear)


def _activation_of(module: Any, torch: Any) -> str:
    """Its name here, by what it is and not by what it is called."""
    activation, functional = module.activation, torch.nn.functional
    functions = {functional.relu: "relu", torch.relu: "relu", functional.gelu: "gelu", functional.silu: "silu",
                 functional.tanh: "tanh", torch.tanh: "tanh"}
    modules = {torch.nn.ReLU: "relu", torch.nn.GELU: "gelu", torch.nn.SiLU: "silu", torch.nn.Tanh: "tanh"}
    if isinstance(activation, torch.nn.Module):
        _check(activation, "activation of the module", *modules)
        tanh = getattr(activation, "approximate", "none") == "tanh"
        return "gelu_tanh" if tanh else modules[type(activation)]
    for function, name in functions.items():
        if activation is function:
            return name
    raise invalid(f"activation of the module is {activation!r}: take one of relu, gelu, silu and tanh of "
                  f"torch.nn.functional, or torch.nn's modules for them")


def check_layer(module: Any, kind: str, attentions: tuple[str, ...], norms: tuple[str, ...]) -> str:
    """A transformer layer of PyTorch's class `kind`. Returns its activation's name."""
    torch = _torch(module)
    nn = torch.nn
    _check(module, "the module", getattr(nn, kind))
    first = module.self_attn
    for name in attentions:
        attention, place = getattr(module, name), f"{name} of the module"
        check_attention(attention, place)
        if attention.num_heads != first.num_heads or attention.batch_first != first.batch_first:
            raise invalid(f"{place} has other num_heads or another batch_first than self_attn: a layer here has one")
        if attention.add_zero_attn or attention.bias_k is not None:
            raise invalid(f"{place} has add_zero_attn or bias_k, which layers here have not")
    for name in ("linear1", "linear2"):
        _check(getattr(module, name), f"{name} of the module", nn.Linear)
    for name in norms:
        norm = _check(getattr(module, name), f"{name} of the module", nn.LayerNorm)
        if norm.eps != module.norm1.eps or norm.normalized_shape != (first.embed_dim,):
            raise invalid(f"{name} of the module has another eps than norm1, or is not over {first.embed_dim} numbers: "
                          f"a layer here has one eps, and norms of d_model")
    for name in ("dropout", *(f"dropout{i + 1}" for i in range(len(norms)))):
        _check(getattr(module, name), f"{name} of the module", nn.Dropout, nn.Identity)
    return _activation_of(module, torch)
