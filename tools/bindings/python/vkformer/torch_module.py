"""Whether a module of PyTorch computes what is computed here. What does not is refused by its place in the tree."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .errors import invalid

ROOT = "the module"


def torch_module(module: Any) -> Any:
    """PyTorch, which whoever has a module of it has imported."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(module, torch.nn.Module):
        raise invalid(f"a module of PyTorch is wanted here, and not a {named(module)}")
    return torch


def named(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__qualname__}"


def below(place: str, name: str) -> str:
    """The place of a part."""
    return name if place == ROOT else f"{place}.{name}"


def check(part: Any, place: str, *classes: type) -> Any:
    """Of a class itself, since a subclass may compute what it likes, and with nothing that runs before or after it."""
    if type(part) not in classes:
        raise invalid(f"{place} is a {named(part)}: what is computed here is that of "
                      f"{' or '.join('torch.nn.' + c.__name__ for c in classes)} itself. If that is right all the "
                      f"same, give the module's state_dict() to the constructor")
    return check_call(part, place)


def check_call(part: Any, place: str) -> Any:
    if part._forward_hooks or part._forward_pre_hooks:
        raise invalid(f"{place} has forward hooks, which are not run here: remove them first")
    if "forward" in vars(part):
        raise invalid(f"{place} has a forward() of its own, which is not run here: remove it first")
    return part


def check_out_proj(attention: Any, place: str) -> None:
    """PyTorch's own class for it is of Linear, and computes the same; it uses weight and bias, and never calls it."""
    nn = torch_module(attention).nn
    check(attention.out_proj, below(place, "out_proj"), type(nn.MultiheadAttention(1, 1).out_proj), nn.Linear)


def layer_options(module: Any, place: str, attentions: tuple[str, ...], norms: tuple[str, ...]) -> dict[str, Any]:
    """Of a transformer layer of PyTorch's, the arguments that a layer here takes beside its state_dict and activation."""
    nn = torch_module(module).nn
    first = module.self_attn
    for name in attentions:
        attention, of = getattr(module, name), below(place, name)
        check(attention, of, nn.MultiheadAttention)
        check_out_proj(attention, of)
        if attention.num_heads != first.num_heads or attention.batch_first != first.batch_first:
            raise invalid(f"{of} has other num_heads or another batch_first than self_attn: a layer here has one")
        if attention.add_zero_attn or attention.bias_k is not None:
            raise invalid(f"{of} has add_zero_attn or bias_k, which layers here have not")
    for name in ("linear1", "linear2"):
        check(getattr(module, name), below(place, name), nn.Linear)
    for name in norms:
        norm = check(getattr(module, name), below(place, name), nn.LayerNorm)
        if norm.eps != module.norm1.eps or norm.normalized_shape != (first.embed_dim,):
            raise invalid(f"{below(place, name)} has another eps than norm1, or is not over {first.embed_dim} numbers: "
                          f"a layer here has one eps, and norms of d_model")
    for name in ("dropout", *(f"dropout{i + 1}" for i in range(len(norms)))):
        check(getattr(module, name), below(place, name), nn.Dropout, nn.Identity)
    return {"nhead": first.num_heads, "norm_first": module.norm_first, "layer_norm_eps": module.norm1.eps,
            "batch_first": first.batch_first}


def stack_options(module: Any, place: str, kind: str, options_of: Callable[[Any, str], dict[str, Any]]) -> dict[str, Any]:
    """Those of the layers of an encoder or a decoder, which all have the same ones."""
    nn = torch_module(module).nn
    check(module.layers, below(place, "layers"), nn.ModuleList)
    found = {}
    for name, layer in module.layers._modules.items():
        of = below(place, f"layers.{name}")
        found[of] = options_of(check(layer, of, getattr(nn, kind)), of)
    if not found:
        raise invalid(f"{place} has no layers")
    first = next(iter(found.values()))
    for of, options in found.items():
        for name, value in options.items():
            if value != first[name]:
                raise invalid(f"{of} has {name} {value}, and the first of its layers {first[name]}: here all layers "
                              f"have one")
    return first
