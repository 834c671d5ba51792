"""How tokens are chosen: what the caller says, and elsewhere what the model's directory says."""
from __future__ import annotations

from typing import Any

from .errors import enumerator

_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")


def set_choices(args: Any, defaults: Any, max_new_tokens: int | None, num_beams: int | None,
                length_penalty: float | None, early_stopping: str | None, **sampling: Any) -> None:
    """Fills in sampling, beams and max_new_tokens of a run. `defaults` is the vkf_generation_defaults of the model."""
    args.sampling, args.beams = defaults.sampling, defaults.beams
    args.max_new_tokens = defaults.max_new_tokens if max_new_tokens is None else max_new_tokens
    for name in _SAMPLING:
        if sampling.get(name) is not None:
            setattr(args.sampling, name, sampling[name])
    if num_beams is not None:
        args.beams.num_beams = num_beams
        if defaults.beams.length_penalty == 0:
            args.beams.length_penalty = 1  # transformers' default, which a directory without beams does not name
    if length_penalty is not None:
        args.beams.length_penalty = length_penalty
    if early_stopping is not None:
        args.beams.early_stopping = enumerator("vkf_early_stopping", "VKF_EARLY_STOPPING_", early_stopping)
