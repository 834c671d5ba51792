"""Text models: whole programs, each in a process of its own, from a text to tokens or to an embedding.

The work is {"op": "text", "phase": ..., ...}; rows.py says which there are. A phase
  prompt, decode  time of all of the prompt's tokens, or of the new ones, as each program itself measures it, once it has
                  run the same before
  read            the same as decode, with the bytes of the weights that each token needs
  start           from the process's start to its end, one token after the prompt
  peak            the most memory that the process had, the driver's software GPU included
  embed           texts to embeddings, once the model is loaded
"""
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

from . import llama_directory, provision, stats
from .places import ROOT, Unavailable, last_words

LIMIT_S = 900
SIZES = {"d_model": 2048, "layers": 2, "heads": 32, "kv_heads": 8, "ff": 8192, "vocab": 4096}
WORD = "dog"  # a token of its own in BERT's vocabulary
READ_MIB = 128  # more than any cache holds, and no more than a buffer may have anywhere
EMBED_S = 1.0


@dataclass
class Done:
    stdout: str
    stderr: str
    ms: float  # from the process's start to its end
    peak_bytes: int  # of the largest process of all that it started


def run_measured(place, command, env=(), text=""):
    """Runs a command in a place to its end; raises Unavailable with what it had to say."""
    def file():
        return tempfile.TemporaryFile("w+", errors="replace")

    with file() as stdin, file() as out, file() as err:
        stdin.write(text)
        stdin.seek(0)
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(place.argv([str(word) for word in command]), env=dict(place.env, **dict(env)),
                                       stdin=stdin, stdout=out, stderr=err, start_new_session=True)
        except OSError as error:
            raise Unavailable(str(error)) from None
        status, usage = wait(process)
        ms = 1e3 * (time.perf_counter() - begin)
        out.seek(0)
        err.seek(0)
        done = Done(out.read(), err.read(), ms, 1024 * usage.ru_maxrss)
    if status == -signal.SIGKILL and ms >= 1e3 * LIMIT_S:
        raise Unavailable("no result within %d s" % LIMIT_S)
    if status != 0:
        raise Unavailable(last_words(done.stderr or done.stdout) or "exit status %d" % status)
    return done


def wait(process):
    """The exit status, and what the process and those that it waited for used. Ends all of them when it is late."""
    timer = threading.Timer(LIMIT_S, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        timer.cancel()


def parse_sizes(text):
    """The sizes of the random model; raises ValueError."""
    sizes = dict(SIZES)
    for part in filter(None, (text or "").split(",")):
        name, _, value = part.partition("=")
        if name not in sizes or not value.isdigit() or int(value) < 1:
            raise ValueError("'%s' is none of %s" % (part, ", ".join("%s=N" % key for key in SIZES)))
        sizes[name] = int(value)
    if sizes["d_model"] % sizes["heads"] or sizes["heads"] % sizes["kv_heads"]:
        raise ValueError("d_model is a multiple of heads, and heads of kv_heads")
    return sizes


class Models:
    """The random model, in both forms, and the encoder; made when they are first needed."""

    def __init__(self, work_dir, sizes, encoder):
        self.work_dir = work_dir
        self.sizes = sizes
        self.encoder_dir = encoder and os.path.abspath(encoder)

    @functools.cached_property
    def python(self):
        return provision.host_python(self.work_dir, provision.MODEL_PACKAGES)

    @functools.cached_property
    def directory(self):
        name = "llama-" + "-".join(str(size) for size in self.sizes.values())
        return self.made(name, lambda path: self.script("llama_directory", path, json.dumps(self.sizes)))

    def gguf(self, blocks):
        return self.made("%s-%s.gguf" % (os.path.basename(self.directory), blocks or "f16"),
                         lambda path: self.script("llama_gguf", self.directory, path, blocks or "f16"))

    @property
    def encoder(self):
        if not self.encoder_dir:
            raise Unavailable("needs --encoder")
        return self.encoder_dir

    def made(self, name, make):
        """What a run that was interrupted left half done does not count."""
        path = os.path.join(self.work_dir, name)
        if not os.path.exists(path):
            half = path + ".half"
            shutil.rmtree(half, ignore_errors=True)
            make(half)
            os.rename(half, path)
        return path

    def script(self, module, *words):
        provision.run([self.python, "-m", "peers." + module, *words], cwd=os.path.join(ROOT, "tools"))

    def completed(self, work):
        """A work with what a peer cannot know of itself."""
        if work.get("phase") != "embed":
            return work
        return dict(work, model=self.encoder, text=" ".join([WORD] * (work["len"] - 2)))


class Caches:
    """Directories in which a program and its driver keep what they compiled."""

    def __init__(self, place, name):
        self.directory = os.path.join(place.work_dir, "start-" + name + "-" + place.name)

    def env(self, cold):
        if cold:
            shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory, exist_ok=True)
        return {"XDG_CACHE_HOME": self.directory, "MESA_SHADER_CACHE_DIR": os.path.join(self.directory, "mesa")}


class Vkformer:
    """Measures text works by the program."""

    def __init__(self, program, models):
        self.place = program.place
        self.program = program.program
        self.models = models
        self.batches = {}

    def prepare(self, work):
        """Makes what is needed, and fills the caches; tells the device."""
        if work["phase"] == "embed":
            self.batches[json.dumps(work, sort_keys=True)] = self.embed_batches(work)
        else:
            self.generate(work)
        return self.memory_read(16, 3)

    def measure(self, work, seconds):
        del seconds  # a turn is one run of the program
        if work["phase"] == "embed":
            return self.visit(self.embed_step_ms(work))
        if work["phase"] == "start":
            return self.visit(self.start(work).ms)
        if work["phase"] == "peak":
            return {"bytes": self.generate(work).peak_bytes}
        result = self.results(self.generate(work, times=2))[-1]
        if work["phase"] == "prompt":
            return self.visit(result["prompt_ms"])
        # The first new token comes with the prompt.
        ms = result["new_ms"] * work["new"] / (len(result["tokens"]) - 1)
        if work["phase"] == "read":
            return dict(self.visit(ms), bytes=work["new"] * llama_directory.read_bytes(self.models.sizes, work["blocks"]))
        return self.visit(ms)

    @staticmethod
    def visit(ms):
        return {"wall_ms": ms, "wall_ms_min": ms}

    @staticmethod
    def results(done):
        return [json.loads(line) for line in done.stdout.splitlines()]

    def generate(self, work, env=(), times=1):
        # No text begins as another does: what they share would not run again.
        text = "".join(" ".join("t%d" % (1 + (7 * i + 13 * row) % (self.models.sizes["vocab"] - 1))
                                for i in range(work["prompt"])) + "\n" for row in range(times))
        done = run_measured(self.place, [self.program, "run", self.models.directory, "-", "--batch", 1, "--dtype",
                                         work["dtype"], "--max-new-tokens", work["new"], "--context",
                                         work["prompt"] + work["new"], "--timing", "--json",
                                         *(["--quantize", work["blocks"]] if work["blocks"] else [])],
                            env, text=text)
        made = [(result["prompt_tokens"], len(result["tokens"])) for result in self.results(done)]
        if made != [(work["prompt"], work["new"])] * times:
            raise Unavailable("ran and made %s tokens" % made)
        return done

    def start(self, work):
        return self.generate(work, Caches(self.place, "vkformer-" + work["dtype"].replace("/", "-")).env(work["cold"]))

    def embed_ms(self, work, batches):
        work = self.models.completed(work)
        done = run_measured(self.place, [self.program, "embed", work["model"], "-", "--batch", work["batch"], "--max-len",
                                         work["len"], "--dtype", work["dtype"]],
                            text=(work["text"] + "\n") * (batches * work["batch"]))
        counts = [json.loads(line)["tokens"] for line in done.stdout.splitlines()]
        if counts != [work["len"]] * (batches * work["batch"]):
            raise Unavailable("embed gave %d texts of %s tokens" % (len(counts), sorted(set(counts))))
        return done.ms

    def embed_batches(self, work):
        """How many batches more take about EMBED_S, beside which the noise of starting is short."""
        fewer, few = self.embed_ms(work, 2), self.embed_ms(work, 10)
        return stats.repetitions(max(1.0, (few - fewer) / 8), EMBED_S, most=1000)

    def embed_step_ms(self, work):
        """Time of one batch: what a longer run takes beyond a short one, for each batch more."""
        more = self.batches[json.dumps(work, sort_keys=True)]
        extra = -self.embed_ms(work, 2) + self.embed_ms(work, 2 + more)
        if extra <= 0:
            raise Unavailable("a longer run took no longer")
        return extra / more

    def memory_read(self, mib, repetitions):
        """`vkformer bench copy`'s figure of reading."""
        text = self.place.run([self.program, "bench", "copy", "--mib", str(mib), "--repetitions", str(repetitions),
                               "--no-roof", "-o", "json"], LIMIT_S)
        found = [result for result in json.loads(text) if result["op"] == "read"]
        if len(found) != 1:
            raise Unavailable("bench copy measures no reading")
        return found[0]

    def read_visit(self):
        result = self.memory_read(READ_MIB, 5)
        return {"ms": [result["gpu_ms_median"] or result["wall_ms_median"]], "bytes": READ_MIB << 20}


class LlamaBench:
    """The same by llama-bench."""
    PROGRAM = "/usr/bin/llama-bench"

    def __init__(self, place, models):
        if not place.has(self.PROGRAM):
            raise Unavailable("llama-bench is missing (package llama.cpp-tools)")
        self.place = place
        self.models = models

    def run(self, work, prompt, new, depth=0, env=(), warm_up=True):
        words = [self.PROGRAM, "-m", self.models.gguf(work["blocks"]), "-p", prompt, "-n", new, "-d", depth, "-r", 1,
                 "-t", self.place.threads, "-dev", "Vulkan0", "-ngl", 99, "-o", "json"]
        return run_measured(self.place, words + ([] if warm_up else ["--no-warmup"]), env)

    def measure(self, work):
        if work["phase"] == "peak":
            return {"bytes": self.run(work, 0, work["new"], work["prompt"]).peak_bytes}
        if work["phase"] == "start":
            env = Caches(self.place, "llama").env(work["cold"])
            return {"ms": [self.run(work, work["prompt"], 0, env=env, warm_up=False).ms]}
        if work["phase"] == "prompt":
            done = self.run(work, work["prompt"], 0)
        else:
            done = self.run(work, 0, work["new"], work["prompt"])
        results = json.loads(done.stdout)
        if len(results) != 1:
            raise Unavailable("llama-bench printed %d results" % len(results))
        result = results[0]
        if "Vulkan" not in result.get("backends", ""):
            raise Unavailable("llama-bench ran on %s" % result.get("backends"))
        version = "build %s, %s" % (result.get("build_number"), result.get("gpu_info"))
        return {"ms": [result["avg_ns"] * 1e-6], "version": version}
