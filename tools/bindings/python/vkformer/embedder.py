"""Embeddings of texts, as with sentence-transformers, and what a model's head says of them."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import c_string, check, enumerator_name, invalid, plain, text_of, text_or_none
from .messages import ProgressFunction, guard_progress
from .owner import Owner
from .tensor import typed
from .texts import Path, Texts, path_bytes, set_model
from .tokenizer import Encoding, encoding_from


@dataclass(frozen=True)
class Prediction:
    """What a head says of one text."""

    logits: np.ndarray  # (1, labels) of a sequence's classes, else (tokens, outputs)
    tokens: Encoding


class Embedder(Owner):
    """An encoder's directory: config.json, weights and tokenizer. Threads take turns.

    precision     "auto", "f32", "f16_weights", "bf16_weights" or "f16", see vkformer/model.h
    quantization  "none", "q8" or "q4"
    max_batch     texts that run together; 0: 8
    max_tokens    of a text, longer ones are cut; 0: the model's
    head          the model's head runs, too, for predict()
    adapter       the directory of a LoRA adapter, as PEFT saves it, that is merged while loading
    truncate_dim  how many of an embedding's first elements are given; 0: what the directory says
    """

    def __init__(self, directory: Path, *, precision: str = "f32", quantization: str = "none", max_batch: int = 0,
                 max_tokens: int = 0, head: bool = False, truncate_dim: int = 0,
                 adapter: Path | None = None, context: Context | None = None) -> None:
        context = context_or_default(context)
        path, adapter_path = path_bytes(directory), ffi.NULL if adapter is None else path_bytes(adapter)
        desc = ffi.new("vkf_embedder_desc *")
        set_model(desc, path, precision, quantization, adapter_path)
        desc.max_batch, desc.max_tokens = max_batch, max_tokens
        desc.head, desc.truncate_dim = head, truncate_dim
        super().__init__("vkf_embedder", lib.vkf_embedder_destroy, context)
        check(lib.vkf_embedder_load(context._handle, desc, self._box))

    @property
    def config(self) -> dict[str, Any]:
        """vkf_model_config, with the length of the embeddings that are given as embedding_dim."""
        config = ffi.new("vkf_model_config *")
        lib.vkf_embedder_get_config(self._handle, config)
        return plain(config[0])

    @property
    def dim(self) -> int:
        config = ffi.new("vkf_model_config *")
        lib.vkf_embedder_get_config(self._handle, config)
        return config.embedding_dim

    @property
    def prompts(self) -> dict[str, str]:
        """The texts that encode(prompt_name=...) puts in front."""
        found, index = {}, 0
        while (prompt := lib.vkf_embedder_get_prompt(self._handle, index)) != ffi.NULL:
            found[text_of(prompt.name)] = text_of(prompt.text)
            index += 1
        return found

    @property
    def labels(self) -> list[str]:
        """The classes of a classifier, in the order of its logits."""
        found: list[str] = []
        while (label := text_or_none(lib.vkf_embedder_get_label(self._handle, len(found)))) is not None:
            found.append(label)
        return found

    @property
    def similarity(self) -> str:
        """How two embeddings are compared: "cosine", "dot", "euclidean" or "manhattan"."""
        return enumerator_name("vkf_similarity", "VKF_SIMILARITY_", lib.vkf_embedder_get_similarity(self._handle))

    def encode(self, texts: str | Sequence[str], *, prompt: str | None = None,
               prompt_name: str | None = None, progress: ProgressFunction | None = None) -> np.ndarray:
        """(texts, dim) float32, or (dim) of a text alone. An embedding does not depend on the texts beside it.

        `prompt` stands in front of each text, "" for none; `prompt_name` names one of `prompts`. `progress` is called
        once per batch with how many of how many texts are done, and ends the run by returning False.
        """
        single = isinstance(texts, str)
        views = Texts([texts] if single else texts)  # type: ignore[list-item]
        embeddings = np.empty((len(views), self.dim), np.float32)
        args = ffi.new("vkf_embed_args *")
        args.out_embeddings = typed("float", embeddings)
        self._run(args, views, prompt, prompt_name, progress)
        return embeddings[0] if single else embeddings

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None, *,
                progress: ProgressFunction | None = None) -> list[Prediction]:
        """What the head says of each text, or of each text with its pair, as a question with its context."""
        views = Texts(texts)
        seconds = None if pairs is None else Texts(pairs)
        if seconds is not None and len(seconds) != len(views):
            raise invalid(f"there are {len(views)} texts and {len(seconds)} pairs: give a pair for each text")
        predictions = ffi.new("vkf_prediction[]", max(len(views), 1))
        args = ffi.new("vkf_embed_args *")
        args.out_predictions = predictions
        args.pairs = ffi.NULL if seconds is None else seconds.array
        try:
            self._run(args, views, None, None, progress)
            return [_prediction_from(prediction) for prediction in predictions[0:len(views)]]
        finally:
            for i in range(len(predictions)):
                lib.vkf_prediction_free(predictions + i)

    def _run(self, args: Any, texts: Texts, prompt: str | None, prompt_name: str | None,
             progress: ProgressFunction | None) -> None:
        named = [None if text is None else c_string(text) for text in (prompt, prompt_name)]
        args.texts, args.count = texts.array, len(texts)
        args.prompt, args.prompt_name = (ffi.NULL if name is None else name for name in named)
        guard = guard_progress(args, progress)
        if len(texts) > 0:
            with self._turn:
                guard.finish(lib.vkf_embedder_run(self._handle, args))


def _prediction_from(prediction: Any) -> Prediction:
    count = prediction.rows * prediction.cols
    logits = np.frombuffer(ffi.buffer(prediction.logits, 4 * count), np.float32).copy()
    return Prediction(logits.reshape(prediction.rows, prediction.cols), encoding_from(prediction.tokens))
