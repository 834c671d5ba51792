"""Steps of training a random Llama with AdamW in f32, a sequence each: llama.cpp's llama-finetune.

It makes a step of each context, of a multiple of 256 tokens, and leaves the embedding of tokens as it is.
"""
import os
import random
import re
import statistics

from . import texts
from .places import Unavailable

PROGRAM = "/usr/bin/llama-finetune"
SIZES = {"d_model": 256, "layers": 4, "heads": 4, "kv_heads": 4, "ff": 704, "vocab": 512}
WARM_UP = 2
# A line of its log as a step begins: minutes, seconds, milliseconds and microseconds since the process's start.
BEGIN = re.compile(r"(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) I epoch \d+ lr=")


def step_times_ms(log):
    """Of all steps but the last, whose end it does not note."""
    begins = [60e3 * int(minutes) + 1e3 * int(seconds) + int(ms) + 1e-3 * int(us)
              for minutes, seconds, ms, us in BEGIN.findall(log)]
    return [end - begin for begin, end in zip(begins, begins[1:])]


def write_text(path, tokens, steps):
    """So many contexts, of which each begins in the middle of the one before. A byte is a token."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(random.choices("abcdefgh", k=tokens + 1 + tokens // 2 * steps)))


def measure(place, models, device, tokens, repetitions):
    """One run on a device by llama.cpp's name, Vulkan0, or none for the processor."""
    if not place.has(PROGRAM):
        raise Unavailable("llama-finetune is missing (package llama.cpp-examples)")
    if device != "none" and device + ":" not in place.run([PROGRAM, "--list-devices"], 60):
        raise Unavailable("llama-finetune sees no %s (package libggml0-backend-vulkan)" % device)
    text, out = (os.path.join(place.work_dir, name) for name in ("finetune.txt", "finetuned.gguf"))
    write_text(text, tokens, WARM_UP + repetitions + 1)
    done = texts.run_measured(place, [
        PROGRAM, "-m", models.gguf("f32"), "-f", text, "-o", out, "-dev", device, "-ngl", 0 if device == "none" else 99,
        "-t", place.threads, "-c", tokens, "-b", tokens, "-ub", tokens, "-opt", "adamw", "-epochs", 1, "-val-split", 0,
        "--log-prefix", "--log-timestamps"])
    times = step_times_ms(done.stderr + done.stdout)[WARM_UP:]
    if len(times) != repetitions:
        raise Unavailable("llama-finetune noted %d steps, not %d" % (len(times), repetitions))
    return {"ms": statistics.median(times), "memory": done.peak_bytes}
