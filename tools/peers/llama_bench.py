"""llama.cpp's own benchmark, test-backend-ops: it measures a fixed list of shapes, for a second each or longer."""
import glob
import re

from .places import Unavailable

TIME_LIMIT_S = 600
LINE = re.compile(r"(\w+)\((?P<params>[^)]*)\): +(?P<runs>\d+) runs - +(?P<us>[0-9.]+) us/run - .*? (?P<rate>[0-9.]+) "
                  r"(?P<unit>[KMGT]?)FLOPS")
UNITS = {"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}


def parse(text):
    """[{"params", "ms", "gflops"}] from what it prints; lines of what is not supported count for nothing."""
    found = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines():
        match = LINE.search(line)
        if match:
            params = dict(part.split("=", 1) for part in re.split(r",(?=\w+=)", match["params"]))
            found.append({"params": params, "ms": float(match["us"]) * 1e-3,
                          "gflops": float(match["rate"]) * UNITS[match["unit"]]})
    return found


def find_program(place):
    programs = sorted(glob.glob(place.inside("/usr/libexec/*/*/test-backend-ops")))
    if not programs:
        raise Unavailable("test-backend-ops is missing (package llama.cpp-tests or libggml0)")
    return programs[0][len(place.chroot or ""):]


def measure(place, work):
    """Milliseconds of one product; its m is vkformer's n and the other way round."""
    shape = "type_a=%s,type_b=f32,m=%d,n=%d,k=%d," % (work["weights"], work["n"], work["m"], work["k"])
    text = place.run([find_program(place), "perf", "-b", "Vulkan0", "-o", "MUL_MAT", "-p", shape], TIME_LIMIT_S)
    results = parse(text)
    if not results:
        raise Unavailable("it measured nothing of %s" % shape.rstrip(","))
    return {"ms": [results[0]["ms"]]}
