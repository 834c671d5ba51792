"""vkformer's own figures, from the JSON of `vkformer bench`."""
import json
import os

from . import stats
from .places import ROOT, Unavailable

FIRST_RUN_S = 600  # kernels are compiled and tuned
KEYS = ("op", "device", "driver", "gpu_ms_min", "gpu_ms_median", "wall_ms_min", "wall_ms_median")
MEMORY_KEY = "device_bytes_peak"


def find_program(build):
    """The program in a build directory, or the path of the program itself."""
    build = os.path.abspath(build or os.path.join(ROOT, "build"))
    for path in (build, os.path.join(build, "vkformer"), os.path.join(build, "tools", "vkformer")):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Unavailable("there is no program vkformer in %s: build it, or name its directory with --build" % build)


def parse(text):
    """The one result in what bench printed: an object, a list of one, or a line of JSON."""
    try:
        result = json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.startswith("{")]
        if len(lines) != 1:
            raise Unavailable("bench printed no JSON") from None
        result = json.loads(lines[0])
    if isinstance(result, dict) and isinstance(result.get("results"), list):
        result = result["results"]
    if isinstance(result, list):
        if len(result) != 1:
            raise Unavailable("bench printed %d results, and one was expected" % len(result))
        result = result[0]
    for key in KEYS:
        if key not in result:
            raise Unavailable("bench printed no '%s'" % key)
    return result


class Program:
    """Measures work in one place."""
    name = "vkformer"

    def __init__(self, place, program):
        self.place = place
        self.program = program
        self.expected_ms = {}
        self.helps = {}
        self.version = place.run([program, "--version"], 60).strip()

    def has_option(self, benchmark, option):
        if benchmark not in self.helps:
            self.helps[benchmark] = self.place.run([self.program, "bench", benchmark, "--help"], 60).replace(",", " ")
        return option in self.helps[benchmark].split()

    def arguments(self, work):
        """The benchmark and its options."""
        op = work["op"]
        if op == "gemm":
            words = ["gemm", "--m", work["m"], "--n", work["n"], "--k", work["k"], "--transpose-b"]
            if work["weights"] == work["dtype"]:
                return words + ["--dtype", work["dtype"]]
            if self.has_option("gemm", "--types"):
                return words + ["--types", "%s/%s" % (work["dtype"], work["weights"])]
            return words + ["--dtype", work["weights"]]
        if op == "mha":
            return ["mha", "--q-len", work["len"], "--embed-dim", work["embed_dim"], "--heads", work["heads"],
                    "--dtype", work["dtype"]]
        if op == "attention":
            words = ["attention", "--batch", work["batch"], "--heads", work["heads"], "--q-len", work["q_len"],
                     "--kv-len", work["kv_len"], "--head-dim", work["head_dim"], "--dtype", work["dtype"]]
            return words + (["--causal"] if work["causal"] else [])
        if op == "layer":
            words = ["layer", "--kind", "encoder", "--d-model", work["d_model"], "--heads", work["heads"],
                     "--ff", work["ff"], "--len", work["len"], "--batch", work["batch"], "--dtype", work["dtype"]]
            return words + (["--activation", "gelu"] if self.has_option("layer", "--activation") else [])
        if op == "softmax":
            return ["softmax", "--rows", work["rows"], "--cols", work["cols"], "--dtype", work["dtype"]]
        if op == "norm":
            return ["norm", "--rows", work["rows"], "--dim", work["cols"], "--dtype", work["dtype"]]
        raise Unavailable("vkformer has no benchmark for %s" % op)

    def bench(self, work, repetitions, warmup, times=True):
        """Without times, the device's clock does not matter."""
        words = self.arguments(work)
        options = ["-o", "json"] if self.has_option(words[0], "-o") else ["--json"]
        if self.has_option(words[0], "--no-roof"):
            options.append("--no-roof")
        options += ["--repetitions", str(repetitions), "--warmup", str(warmup)]
        if not times and self.has_option(words[0], "--settle"):
            options += ["--settle", "0"]
        text = self.place.run([self.program, "bench", *map(str, words), *options], FIRST_RUN_S)
        return parse(text)

    def prepare(self, work):
        """Compiles and tunes; the result tells the device, too."""
        result = self.bench(work, 3, 1, times=False)
        self.expected_ms[key_of(work)] = result["wall_ms_median"]
        return result

    def measure(self, work, seconds):
        """Medians gpu_ms and wall_ms and the same with _min; a device without timestamps has no gpu times."""
        expected = self.expected_ms.get(key_of(work))
        result = self.bench(work, stats.repetitions(expected, seconds), 2)
        visit = {"variant": result.get("variant", ""), "wall_ms": result["wall_ms_median"],
                 "wall_ms_min": result["wall_ms_min"], "settled": result.get("settled")}
        if result["gpu_ms_median"]:
            visit["gpu_ms"], visit["gpu_ms_min"] = result["gpu_ms_median"], result["gpu_ms_min"]
        return visit

    def peak_bytes(self, work):
        result = self.bench(work, 1, 1, times=False)  # in the first run kernels are tested, in buffers of their own
        if MEMORY_KEY not in result:
            raise Unavailable("bench prints no '%s'" % MEMORY_KEY)
        return result[MEMORY_KEY]


def key_of(work):
    return json.dumps(work, sort_keys=True)
