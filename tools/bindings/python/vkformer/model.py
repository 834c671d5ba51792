"""Whole models on token ids: weights, and sessions that run them."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import check, enumerator, enumerator_name, invalid, plain
from .messages import ProgressFunction, guard_progress
from .owner import Owner
from .sampling import set_choices
from .tensor import as_ids, typed
from .texts import Path, path_bytes, set_model, stop_reason

Rows = Sequence[Sequence[int]]


class Model(Owner):
    """The weights in a directory, or in a hub's snapshot of one. Threads and sessions may share it.

    precision     "auto", "f32", "f16_weights", "bf16_weights" or "f16", see vkformer/model.h
    quantization  "none", "q8" or "q4"
    adapter       the directory of a LoRA adapter, as PEFT saves it, that is merged while loading
    trainable     a Trainer may step the weights
    progress      called once per tensor that is loaded; returning False ends the loading
    """

    def __init__(self, directory: Path, *, precision: str = "f32", quantization: str = "none",
                 adapter: Path | None = None, trainable: bool = False,
                 progress: ProgressFunction | None = None, context: Context | None = None) -> None:
        context = context_or_default(context)
        path, adapter_path = path_bytes(directory), ffi.NULL if adapter is None else path_bytes(adapter)
        desc = ffi.new("vkf_model_desc *")
        set_model(desc, path, precision, quantization, adapter_path)
        desc.trainable = trainable
        guard = guard_progress(desc, progress)
        super().__init__("vkf_model", lib.vkf_model_destroy, context)
        guard.finish(lib.vkf_model_load(context._handle, desc, self._box))

    @property
    def config(self) -> dict[str, Any]:
        """vkf_model_config."""
        return plain(self._config()[0])

    @property
    def kind(self) -> str:
        """ "transformer", "seq2seq", "encoder" or "decoder"."""
        return enumerator_name("vkf_model_kind", "VKF_MODEL_", self._config().kind)

    @property
    def precision(self) -> str:
        """What "auto" has become."""
        return enumerator_name("vkf_model_precision", "VKF_MODEL_PRECISION_",
                               lib.vkf_model_get_precision(self._handle))

    def session(self, **sizes: Any) -> Session:
        """A session of this model; `sizes` as Session has them."""
        return Session(self, **sizes)

    def _config(self) -> Any:
        config = ffi.new("vkf_model_config *")
        lib.vkf_model_get_config(self._handle, config)
        return config


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of B rows of up to S ids."""

    hidden: np.ndarray  # (B, S, d_model); of padding it means nothing
    embeddings: np.ndarray | None  # (B, embedding_dim), of an encoder
    logits: np.ndarray | None  # of its head: (B, labels), or (B, S, outputs)


@dataclass(frozen=True)
class Generated:
    """What was generated for one row of ids."""

    ids: list[int]
    reason: str  # "eos", "length" or "context"


def session_desc(config: Any, *, max_batch: int = 1, max_source_len: int = 0, max_target_len: int = 0,
                 max_logit_rows: int = 0, max_beams: int = 0, cache_dtype: str = "f32", head: bool = False) -> Any:
    """A vkf_session_desc from what Session() takes."""
    desc = ffi.new("vkf_session_desc *")
    desc.max_batch, desc.max_beams = max_batch, max_beams
    if config.kind != lib.VKF_MODEL_DECODER:
        desc.max_source_len = max_source_len or min(config.max_source_len, 512)
    if config.kind != lib.VKF_MODEL_ENCODER:
        desc.max_target_len = max_target_len or min(config.max_target_len, 512)
    # To an encoder it only says whether its head runs.
    desc.max_logit_rows = int(head) if config.kind == lib.VKF_MODEL_ENCODER else max_logit_rows
    desc.cache_dtype = enumerator("vkf_dtype", "VKF_DTYPE_", cache_dtype)
    return desc


class Session(Owner):
    """What it takes to run a model of up to so many rows of so many ids. Threads take turns.

    max_source_len  of sources, or of an encoder's texts; 0: the model's, at most 512
    max_target_len  of a decoder's prompt and its continuation, or of an encoder-decoder's targets; 0: as above
    max_logit_rows  positions of a row whose logits() are computed together; 0: the session only generates
    head            an encoder's head runs, too
    """

    def __init__(self, model: Model, *, max_batch: int = 1, max_source_len: int = 0, max_target_len: int = 0,
                 max_logit_rows: int = 0, max_beams: int = 0, cache_dtype: str = "f32", head: bool = False) -> None:
        self._config = model._config()
        self._kind = self._config.kind
        self._head = head and self._kind == lib.VKF_MODEL_ENCODER
        desc = session_desc(self._config, max_batch=max_batch, max_source_len=max_source_len,
                            max_target_len=max_target_len, max_logit_rows=max_logit_rows, max_beams=max_beams,
                            cache_dtype=cache_dtype, head=head)
        super().__init__("vkf_session", lib.vkf_session_destroy, model)
        check(lib.vkf_session_create(model._handle, desc, self._box))

    def encode(self, rows: Rows, types: Rows | None = None) -> Encoded:
        """An encoder, or the encoder of an encoder-decoder, on rows of ids, each of its own length."""
        ids, lengths = padded(rows, max(self._config.pad_id, 0))
        batch, length = ids.shape
        args = ffi.new("vkf_encode_args *")
        args.batch, args.source_len = batch, length
        args.source_ids, args.source_lengths = typed("const int32_t", ids), typed("const uint32_t", lengths)
        type_ids = None if types is None else padded_beside(lengths, types, 0, "types")
        if type_ids is not None:
            args.source_types = typed("const int32_t", type_ids)
        hidden = np.empty((batch, length, self._config.d_model), np.float32)
        args.out_memory = typed("float", hidden)
        embeddings = logits = None
        if self._kind == lib.VKF_MODEL_ENCODER:
            embeddings = np.empty((batch, self._config.embedding_dim), np.float32)
            args.out_embeddings = typed("float", embeddings)
        if self._head:
            outputs = self._config.head_outputs
            whole = self._config.head == lib.VKF_HEAD_SEQUENCE_CLASSIFICATION
            logits = np.empty((batch, outputs) if whole else (batch, length, outputs), np.float32)
            args.out_logits = typed("float", logits)
        with self._turn:
            check(lib.vkf_session_encode(self._handle, args))
        return Encoded(hidden, embeddings, logits)

    def logits(self, rows: Rows) -> np.ndarray:
        """(B, T, vocabulary): a decoder's logits at every position of rows of ids, or an encoder-decoder's at every
        position of targets, after encode() with as many rows. Rows are of one length."""
        ids, lengths = padded(rows, 0)
        batch, length = ids.shape
        if (lengths != length).any():
            raise invalid("the rows of one call have one length")
        args = ffi.new("vkf_decode_args *")
        args.target_len, args.target_ids, args.batch = length, typed("const int32_t", ids), batch
        logits = np.empty((batch, length, self._config.target_vocab), np.float32)
        args.out_logits = typed("float", logits)
        with self._turn:
            check(lib.vkf_session_decode(self._handle, args))
        return logits

    def generate(self, rows: Rows, *, max_new_tokens: int, temperature: float | None = None,
                 top_k: int | None = None, top_p: float | None = None, min_p: float | None = None,
                 repetition_penalty: float | None = None, seed: int | None = None,
                 num_beams: int | None = None, length_penalty: float | None = None,
                 early_stopping: str | None = None) -> list[Generated]:
        """Continues rows of ids. What is None is as the directory says, as with Generator.generate()."""
        if max_new_tokens <= 0:
            raise invalid("max_new_tokens says how many tokens may be made, and is above 0")
        prompts = [as_ids(row) for row in rows]
        lengths = np.array([len(row) for row in prompts], np.uint32)
        ids = np.concatenate([*prompts, np.empty(0, np.int32)])
        out_ids = np.empty((len(prompts), max_new_tokens), np.int32)
        out_lengths = np.empty(len(prompts), np.uint32)
        reasons = ffi.new("vkf_stop_reason[]", max(len(prompts), 1))
        args = ffi.new("vkf_generate_args *")
        set_choices(args, self._config.generation, max_new_tokens, num_beams, length_penalty, early_stopping,
                    temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                    repetition_penalty=repetition_penalty, seed=seed)
        args.batch = len(prompts)
        args.prompt_ids, args.prompt_lengths = typed("const int32_t", ids), typed("const uint32_t", lengths)
        args.out_ids, args.out_lengths = typed("int32_t", out_ids), typed("uint32_t", out_lengths)
        args.out_reasons = reasons
        with self._turn:
            check(lib.vkf_session_generate(self._handle, args))
        return [Generated(row[:length].tolist(), stop_reason(reason))
                for row, length, reason in zip(out_ids, out_lengths, reasons)]

    def prefill(self, rows: Rows, *, progress: ProgressFunction | None = None) -> np.ndarray:
        """Appends ids to the rows of a decoder's cache, and runs nothing else: (B, vocabulary), the logits behind each
        row's last id, NaN for a row that got none. A row is empty at first, and keeps what generate() left in it."""
        taken = [as_ids(row) for row in rows]
        counts = np.array([len(row) for row in taken], np.uint32)
        ids = np.concatenate([*taken, np.empty(0, np.int32)])
        logits = np.full((len(taken), self._config.target_vocab), np.nan, np.float32)
        args = ffi.new("vkf_prefill_args *")
        args.batch, args.out_logits = len(taken), typed("float", logits)
        args.ids, args.counts = typed("const int32_t", ids), typed("const uint32_t", counts)
        guard = guard_progress(args, progress)
        with self._turn:
            guard.finish(lib.vkf_session_prefill(self._handle, args))
        return logits

    def step(self, ids: Sequence[int]) -> np.ndarray:
        """One more id for each row of a decoder's cache, -1 for a row that stays as it is; logits as of prefill()."""
        taken = as_ids(ids)
        logits = np.full((len(taken), self._config.target_vocab), np.nan, np.float32)
        args = ffi.new("vkf_step_args *")
        args.batch, args.ids, args.out_logits = len(taken), typed("const int32_t", taken), typed("float", logits)
        with self._turn:
            check(lib.vkf_session_step(self._handle, args))
        return logits

    def tokens(self, row: int) -> list[int]:
        """The ids whose keys and values a row of a decoder's cache has."""
        with self._turn:
            count = lib.vkf_session_get_position(self._handle, row)
            return list(lib.vkf_session_get_tokens(self._handle, row)[0:count]) if count else []

    def truncate(self, row: int, position: int) -> None:
        """Forgets what is behind the first `position` ids of a row."""
        with self._turn:
            check(lib.vkf_session_truncate(self._handle, row, position))

    def save(self, path: Path) -> None:
        """Writes what the rows of a decoder's cache hold to a file."""
        with self._turn:
            check(lib.vkf_session_save(self._handle, path_bytes(path)))

    def restore(self, path: Path) -> None:
        """The rows become those of a saved cache of the same model."""
        with self._turn:
            check(lib.vkf_session_restore(self._handle, path_bytes(path)))


def padded(rows: Rows, pad: int) -> tuple[np.ndarray, np.ndarray]:
    """(B, S) and the rows' lengths."""
    taken = [as_ids(row) for row in rows]
    lengths = np.array([len(row) for row in taken], np.uint32)
    if len(lengths) == 0 or lengths.min() == 0:
        raise invalid("there is at least one row of ids, and each has at least one")
    ids = np.full((len(taken), int(lengths.max())), pad, np.int32)
    for row, values in zip(ids, taken):
        row[:len(values)] = values
    return ids, lengths


def padded_beside(lengths: np.ndarray, rows: Rows, pad: int, name: str) -> np.ndarray:
    """What stands beside ids of these lengths: the library reads as many of each."""
    values, own = padded(rows, pad)
    if len(own) != len(lengths):
        raise invalid(f"there are {len(lengths)} rows of ids and {len(own)} of {name}: give as many {name} as rows")
    for i in np.flatnonzero(own != lengths):
        raise invalid(f"row {i} has {lengths[i]} ids and {own[i]} {name}: give as many {name} as ids in every row")
    return values
