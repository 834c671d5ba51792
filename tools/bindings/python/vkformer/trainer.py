"""Training: a model's loss, and steps of an optimiser."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._native import ffi, lib
from .errors import c_string, check, enumerator, invalid, plain, text_of
from .model import Model, Rows, padded, padded_beside
from .owner import Owner
from .tensor import as_ids, typed
from .texts import Path, path_bytes

IGNORED = -100


@dataclass(frozen=True)
class Batch:
    """Rows of ids, each of its own length, and what is learned of them.

    source, types  of an encoder; types are as long as the ids in every row
    target         what a decoder reads
    labels         what each position of `target` is to say next, so as many as its ids in every row, the last one -100
                   where nothing follows; or of an encoder's row its class, or the classes of its positions, as many as
                   ids; -100 is not learned. None for sentences that belong together
    """

    source: Rows | None = None
    target: Rows | None = None
    labels: Rows | Sequence[int] | None = None
    types: Rows | None = None


class Trainer(Owner):
    """What steps the weights of a model that was loaded with trainable=True.

    rate       the highest learning rate
    loss       "default", "labels" or "contrastive"
    optimizer  "adamw", "adam" or "sgd"
    schedule   "constant", "linear", "cosine" or "inverse_root"
    trained    names of parameters, with * and ?; None: all, or with lora_rank none beside the adapter
    mixed_precision  "f32" (none), "f16" or "bf16"
    settings   other numbers of vkf_trainer_desc: max_source_len, warmup_steps, lora_rank ..., see vkformer/train.h
    """

    def __init__(self, model: Model, *, rate: float, max_batch: int, loss: str = "default", optimizer: str = "adamw",
                 schedule: str = "constant", mixed_precision: str = "f32", trained: Sequence[str] | None = None,
                 lora_targets: Sequence[str] | None = None, **settings: float) -> None:
        desc = ffi.new("vkf_trainer_desc *")
        desc.rate, desc.max_batch = rate, max_batch
        desc.loss = enumerator("vkf_train_loss", "VKF_TRAIN_LOSS_", loss)
        desc.optimizer = enumerator("vkf_optimizer", "VKF_OPTIMIZER_", optimizer)
        desc.schedule = enumerator("vkf_rate_schedule", "VKF_RATE_", schedule)
        desc.mixed_precision = enumerator("vkf_dtype", "VKF_DTYPE_", mixed_precision)
        kept = [_set_names(desc, member, names)
                for member, names in (("trained", trained), ("lora_targets", lora_targets))]
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise invalid(f"there is no setting {name!r} of a trainer: take one of {', '.join(sorted(_SETTINGS))}")
            setattr(desc, name, value)
        config = model._config()
        self._pad = max(config.pad_id, 0)
        self._ignored = desc.ignored_label or IGNORED
        self._contrastive = desc.loss == lib.VKF_TRAIN_LOSS_CONTRASTIVE
        self._encodes = config.kind == lib.VKF_MODEL_ENCODER
        self._classifies = self._encodes and config.head == lib.VKF_HEAD_SEQUENCE_CLASSIFICATION
        super().__init__("vkf_trainer", lib.vkf_trainer_destroy, model)
        check(lib.vkf_trainer_create(model._handle, desc, self._box))
        del kept  # until here the descriptor points to it

    def step(self, *batches: Batch) -> dict[str, Any]:
        """One step over all of the batches; vkf_train_result."""
        made, result = ffi.new("vkf_train_batch[]", max(len(batches), 1)), ffi.new("vkf_train_result *")
        kept = [self._fill(batch, to) for batch, to in zip(batches, made)]
        with self._turn:
            check(lib.vkf_trainer_step(self._handle, made, len(kept), result))
        return plain(result[0])

    def evaluate(self, batch: Batch) -> dict[str, Any]:
        """The loss as it is, and how many labels are the most probable ones."""
        made, result = ffi.new("vkf_train_batch *"), ffi.new("vkf_train_result *")
        kept = self._fill(batch, made)
        with self._turn:
            check(lib.vkf_trainer_evaluate(self._handle, made, result))
        del kept
        return plain(result[0])

    @property
    def parameters(self) -> list[tuple[str, int]]:
        """Names and numbers of elements of what trains."""
        found, parameter = [], ffi.new("vkf_train_parameter *")
        while lib.vkf_trainer_get_parameter(self._handle, len(found), parameter):
            found.append((text_of(parameter.name), parameter.count))
        return found

    @property
    def steps(self) -> int:
        return lib.vkf_trainer_get_steps(self._handle)

    @property
    def info(self) -> dict[str, Any]:
        """vkf_trainer_info: how many parameters there are, and how many of them are trained."""
        info = ffi.new("vkf_trainer_info *")
        lib.vkf_trainer_get_info(self._handle, info)
        return plain(info[0])

    @property
    def progress(self) -> dict[str, Any]:
        """vkf_train_progress: steps, those that were skipped, and the best one."""
        progress = ffi.new("vkf_train_progress *")
        lib.vkf_trainer_get_progress(self._handle, progress)
        return plain(progress[0])

    def set_best(self, step: int, loss: float) -> None:
        """Notes for checkpoints which step gave the best model so far, by the caller's judgement."""
        lib.vkf_trainer_set_best(self._handle, step, loss)

    def gradient(self, batch: Batch, name: str) -> np.ndarray:
        """The gradient of a batch with respect to a parameter, flat, as a step would take it; nothing changes."""
        names = [parameter for parameter, _ in self.parameters]
        if name not in names:
            raise invalid(f"there is no parameter {name!r} that trains: {', '.join(names)}")
        gradient, made = np.empty(dict(self.parameters)[name], np.float32), ffi.new("vkf_train_batch *")
        kept = self._fill(batch, made)
        with self._turn:
            check(lib.vkf_trainer_compute_gradient(self._handle, made, names.index(name), typed("float", gradient)))
        del kept
        return gradient

    def save(self, directory: Path) -> None:
        """A checkpoint: the model with its tokenizer, and what restore() takes."""
        with self._turn:
            check(lib.vkf_trainer_save(self._handle, path_bytes(directory)))

    def save_adapter(self, directory: Path) -> None:
        """What lora_rank has trained, as PEFT saves it."""
        with self._turn:
            check(lib.vkf_trainer_save_adapter(self._handle, path_bytes(directory)))

    def restore(self, directory: Path) -> None:
        """Goes on from what save() wrote, bit by bit. What is refused changes nothing."""
        with self._turn:
            check(lib.vkf_trainer_restore(self._handle, path_bytes(directory)))

    def _fill(self, batch: Batch, to: Any) -> list[np.ndarray]:
        """Sets a C batch, of which the library reads as many labels and types as ids. What it points to is returned."""
        kept: list[np.ndarray] = []

        def enter(member: str, array: np.ndarray) -> None:
            kept.append(array)
            setattr(to, member, typed(f"const {array.dtype}_t", array))

        sides = {}
        for side, rows in (("source", batch.source), ("target", batch.target)):
            if rows is not None:
                ids, sides[side] = padded(rows, self._pad)
                enter(side + "_ids", ids)
                to.batch, length = ids.shape
                setattr(to, side + "_len", length)
        if len({len(lengths) for lengths in sides.values()}) > 1:
            raise invalid("a batch has as many rows of one side as of the other")
        if "source" in sides:
            enter("source_lengths", sides["source"])
        if batch.types is not None:
            enter("source_types", padded_beside(_side(sides, "source"), batch.types, 0, "types"))
        if batch.labels is not None:
            enter("labels", self._labels(batch.labels, _side(sides, "source" if self._encodes else "target")))
        return kept

    def _labels(self, labels: Any, lengths: np.ndarray) -> np.ndarray:
        """One for each row, or for each of its ids."""
        if self._contrastive:
            raise invalid("of sentences that belong together no labels are learned: leave them out")
        if not self._classifies:
            return padded_beside(lengths, labels, self._ignored, "labels")
        classes = as_ids([label if np.isscalar(label) else as_ids(label).item() for label in labels])
        if len(classes) != len(lengths):
            raise invalid(f"there are {len(lengths)} rows of ids and {len(classes)} labels: give one for each row")
        return classes


def _side(sides: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in sides:
        raise invalid(f"a batch has labels or types, and no {name} that they stand beside")
    return sides[name]


# Numbers that have no argument of their own, but for the lengths of its arrays.
_SETTINGS = {name for name, field in ffi.typeof("vkf_trainer_desc").fields
             if field.type.kind == "primitive" and not name.endswith("_count")}


def _set_names(desc: Any, member: str, names: Sequence[str] | None) -> Any:
    if names is None:
        return None
    texts = [c_string(name) for name in names]
    array = ffi.new("const char *[]", texts or [ffi.NULL])
    setattr(desc, member, array)
    setattr(desc, "trained_count" if member == "trained" else "lora_target_count", len(texts))
    return texts, array
