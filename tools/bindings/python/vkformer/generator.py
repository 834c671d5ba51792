"""Text generation as transformers' generate() does it."""
from __future__ import annotations

import json
import pathlib
import queue
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional, overload

import numpy as np

from ._native import ffi, lib
from .context import Context, context_or_default
from .errors import enumerator, invalid, plain
from .messages import Guard, ProgressFunction, guard_progress
from .owner import Owner
from .sampling import set_choices
from .texts import Path, Texts, path_bytes, set_model, stop_reason

TextFunction = Callable[[int, str], Optional[bool]]


@dataclass(frozen=True)
class Continuation:
    """What was generated for one prompt."""

    text: str  # without special tokens and stop strings
    ids: list[int]  # the generated tokens, all of them
    prompt_tokens: int  # special ones counted
    reason: str  # "eos" (a stop string, too), "length", "context" or "caller"


def _beams_asked_for(directory: Path) -> int:
    """num_beams of the directory. The library says what is wrong with its files."""
    for name in ("generation_config.json", "config.json"):
        path = pathlib.Path(directory) / name
        if path.is_file():
            try:
                beams = json.loads(path.read_text("utf-8")).get("num_beams", 0)
            except (OSError, ValueError, AttributeError):
                return 0
            return beams if isinstance(beams, int) and 0 < beams <= 64 else 0
    return 0


class Generator(Owner):
    """A decoder's or encoder-decoder's directory: config.json, weights and tokenizer.

    Threads take turns. While a stream is open, the generator does nothing else.

    precision     "auto", "f32", "f16_weights", "bf16_weights" or "f16", see vkformer/model.h
    quantization  "none", "q8" or "q4"
    max_batch     prompts that run together; 0: 1
    max_context   tokens of a prompt and its continuation; 0: the model's, at most 2048
    max_beams     what beam search may take; 0: as many as generation_config.json asks for, or else 1
    cache_dtype   "f32", which means as the precision says, or "f16"
    adapter       the directory of a LoRA adapter, as PEFT saves it, that is merged while loading
    progress      of loading
    """

    def __init__(self, directory: Path, *, precision: str = "f32", quantization: str = "none", max_batch: int = 0,
                 max_context: int = 0, max_beams: int = 0, cache_dtype: str = "f32",
                 adapter: Path | None = None, progress: ProgressFunction | None = None,
                 context: Context | None = None) -> None:
        context = context_or_default(context)
        self._stream_thread: threading.Thread | None = None
        path, adapter_path = path_bytes(directory), ffi.NULL if adapter is None else path_bytes(adapter)
        desc = ffi.new("vkf_generator_desc *")
        set_model(desc, path, precision, quantization, adapter_path)
        desc.max_batch, desc.max_context = max_batch, max_context
        desc.max_beams = max_beams or _beams_asked_for(directory)
        desc.cache_dtype = enumerator("vkf_dtype", "VKF_DTYPE_", cache_dtype)
        guard = guard_progress(desc, progress)
        super().__init__("vkf_generator", lib.vkf_generator_destroy, context)
        guard.finish(lib.vkf_generator_load(context._handle, desc, self._box))

    @property
    def config(self) -> dict[str, Any]:
        """vkf_model_config."""
        return plain(self._config()[0])

    @property
    def context_len(self) -> int:
        """How many tokens a prompt and its continuation may have together."""
        return lib.vkf_generator_get_max_context(self._handle)

    @overload
    def generate(self, prompts: str, **options: Any) -> Continuation: ...

    @overload
    def generate(self, prompts: Sequence[str], **options: Any) -> list[Continuation]: ...

    def generate(  # type: ignore[misc]
            self, prompts: str | Sequence[str], *, max_new_tokens: int | None = None, temperature: float | None = None,
            top_k: int | None = None, top_p: float | None = None, min_p: float | None = None,
            repetition_penalty: float | None = None, seed: int | None = None, num_beams: int | None = None,
            length_penalty: float | None = None, early_stopping: str | None = None, stop: str | Sequence[str] = (),
            on_text: TextFunction | None = None,
            progress: ProgressFunction | None = None) -> Continuation | list[Continuation]:
        """Continues a prompt, or each of several.

        What is None is as the directory's generation_config.json says; if that says nothing, tokens are the most
        probable ones (temperature 0), and go on until an end token comes or the context is full. A continuation ends
        before the first of `stop`. `on_text` is called with the prompt's number and each new part of its continuation,
        and `progress` once for each part of a prompt; either ends the work by returning False.
        """
        if self._stream_thread not in (None, threading.current_thread()):
            raise invalid("a stream of this generator is open: take it to its end, or close it")
        single = isinstance(prompts, str)
        views = Texts([prompts] if single else prompts)  # type: ignore[list-item]
        stops = Texts([stop] if isinstance(stop, str) else stop)
        args = ffi.new("vkf_generator_args *")
        set_choices(args, self._config().generation, max_new_tokens, num_beams, length_penalty, early_stopping,
                    temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                    repetition_penalty=repetition_penalty, seed=seed)
        args.prompts, args.count = views.array, len(views)
        args.stops, args.stop_count = stops.array, len(stops)
        results = self._run(args, on_text, progress) if len(views) > 0 else []
        return results[0] if single else results

    def stream(self, prompt: str, **options: Any) -> TextStream:
        """The parts of one continuation as they come; options as in generate(), without its callbacks.

        A loop that is left ends the generation. `continuation` of the stream is there when it has ended.
        """
        return TextStream(self, prompt, options)

    def _config(self) -> Any:
        config = ffi.new("vkf_model_config *")
        lib.vkf_generator_get_config(self._handle, config)
        return config

    def _run(self, args: Any, on_text: TextFunction | None,
             progress: ProgressFunction | None) -> list[Continuation]:
        continuations = ffi.new("vkf_continuation[]", args.count)
        args.out_continuations = continuations
        heard = Guard(on_text or (lambda *_: True))
        args.on_text, args.on_text_user = lib.vkf_py_text, heard.handle  # always: see guard_progress()
        seen = guard_progress(args, progress)
        try:
            with self._turn:
                status = lib.vkf_generator_run(self._handle, args)
                seen.finish(lib.VKF_OK)
                heard.finish(status)
            return [_continuation_from(continuation) for continuation in continuations]
        finally:
            for i in range(len(continuations)):
                lib.vkf_continuation_free(continuations + i)


def _continuation_from(c: Any) -> Continuation:
    text = ffi.buffer(c.text, c.size_bytes)[:].decode("utf-8", "replace") if c.size_bytes else ""
    ids = np.frombuffer(ffi.buffer(c.ids, 4 * c.id_count), np.int32).tolist() if c.id_count else []
    return Continuation(text, ids, c.prompt_count, stop_reason(c.reason))


class _Parts:
    """What lies between the thread that generates and whoever takes the parts: at most one part, or the end."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Any] = queue.Queue()
        self.room = threading.Semaphore(1)
        self.left = False

    def hand_on(self, _prompt: int, text: str) -> bool:
        self.room.acquire()
        if not self.left:
            self.queue.put(text)
        return not self.left

    def generate(self, generator: Generator, prompt: str, options: dict[str, Any]) -> None:
        try:
            self.queue.put(generator.generate(prompt, on_text=self.hand_on, progress=lambda *_: not self.left,
                                              **options))
        except BaseException as raised:  # whatever it is, who takes the parts gets it
            self.queue.put(raised)

    def leave(self, generator: Generator, thread: threading.Thread) -> None:
        self.left = True
        self.room.release()
        thread.join()
        generator._stream_thread = None


class TextStream(Iterator[str]):
    """Text as it comes. A thread generates, at most one part ahead of who takes them."""

    def __init__(self, generator: Generator, prompt: str, options: dict[str, Any]) -> None:
        self.continuation: Continuation | None = None
        self._parts = _Parts()
        thread = threading.Thread(target=self._parts.generate, args=(generator, prompt, options), daemon=True)
        if generator._stream_thread is not None:
            raise invalid("a stream of this generator is open already: take it to its end, or close it")
        generator._stream_thread = thread
        thread.start()
        # The thread knows nothing of this object, which therefore is collected when nobody takes parts any more.
        self._finalizer = weakref.finalize(self, self._parts.leave, generator, thread)

    def __next__(self) -> str:
        if not self._finalizer.alive:
            raise StopIteration
        part = self._parts.queue.get()
        if isinstance(part, str):
            self._parts.room.release()
            return part
        self.close()
        if isinstance(part, BaseException):
            raise part
        self.continuation = part
        raise StopIteration

    def close(self) -> None:
        """Ends the generation; the generator is free when this returns."""
        self._finalizer()

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
