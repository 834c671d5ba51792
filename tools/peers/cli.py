"""The command line of tools/compare."""
import argparse
import datetime
import functools
import json
import os
import shlex
import signal
import sys
import time

from . import measure as measurement
from . import places, provision, report, rows, texts, vkformer
from .places import Unavailable

HOST_PEERS = ("openblas", "ncnn", "ncnn-defaults")
LLAMA_PEERS = ("llama.cpp", "llama.cpp-f16")
IREE_PEERS = ("iree",)
TORCH_PEERS = ("torch-cpu", "torch-cuda", "torch-copy")
TEXT_PEERS = ("llama-bench", "own-read", "transformers")
ALL_PEERS = HOST_PEERS + IREE_PEERS + LLAMA_PEERS + TORCH_PEERS + TEXT_PEERS

DESCRIPTION = """\
Measures vkformer beside other programs: the same work on the same driver in the same run, in turn, round by round, and
writes one Markdown table per driver with ratios and what is to be reached."""
EPILOG = """\
The driver is the system's default one, or the one that VK_DRIVER_FILES names; with --chroot there is a second table on
the chroot's lavapipe, where everything runs inside. llama.cpp comes from the chroot's packages alone; for the first
table it runs in the chroot on this system's driver. tools/chroot makes the chroot. What cannot be set up is n/a, with
the reason.

The rows text-* run whole programs on text models: a random Llama beside llama-bench (Debian's llama.cpp-tools, in the
chroot), and a sentence encoder beside transformers. They take minutes each. The model is made here; PyPI's gguf and
numpy, which that takes, are installed below --work."""


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="tools/compare", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--build", metavar="DIR", help="build directory with the program vkformer (default: build)")
    parser.add_argument("--chroot", metavar="DIR", help="sid chroot, for its newer driver and for llama.cpp")
    parser.add_argument("--no-host", action="store_true", help="the chroot's table alone")
    parser.add_argument("--rows", metavar="LIST", default="*", help="keys of rows, with * and commas: gemm-*,mha; "
                        "text-* alone names those of text models (default: all others)")
    parser.add_argument("--peers", metavar="LIST", help="of %s (default: all)" % ", ".join(ALL_PEERS))
    parser.add_argument("--rounds", type=int, default=5, help="how often everything takes its turn (default 5)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time of a turn, at least three runs (default 0.3)")
    parser.add_argument("--threads", type=int, help="threads of everything, lavapipe too (default: a core each)")
    parser.add_argument("--clock", choices=("gpu", "wall"), help="vkformer's clock for every ratio")
    parser.add_argument("--work", metavar="DIR", help="where peers are set up (default: build/compare)")
    parser.add_argument("--python", metavar="PYTHON", help="has ncnn, numpy and IREE; nothing is installed then")
    sizes = ",".join("%s=%d" % item for item in texts.SIZES.items())
    parser.add_argument("--sizes", metavar="LIST", default="",
                        help="other sizes of the random Llama of text-* (default: %s)" % sizes)
    parser.add_argument("--encoder", metavar="DIR",
                        help="sentence encoder of text-embed-*, as sentence-transformers saves it")
    parser.add_argument("--text-python", metavar="PYTHON",
                        help="has torch and transformers, for text-embed-*; a path in the chroot where there is one")
    parser.add_argument("--markdown", metavar="FILE", help="the table goes to FILE, not to standard output")
    parser.add_argument("-o", "--output", metavar="FILE", help="raw samples as JSON")
    parser.add_argument("--from", dest="source", metavar="FILE", help="write the table of raw samples measured before")
    parser.add_argument("--list", action="store_true", help="print the keys of all rows and end")
    options = parser.parse_args(argv)
    try:
        options.chosen_rows = rows.choose(options.rows)
        options.model_sizes = texts.parse_sizes(options.sizes)
    except ValueError as error:
        parser.error(str(error))
    options.chosen_peers = options.peers.split(",") if options.peers else list(ALL_PEERS)
    for name in options.chosen_peers:
        if name not in ALL_PEERS:
            parser.error("there is no peer '%s'; there are %s" % (name, ", ".join(ALL_PEERS)))
    if options.rounds < 1 or (options.threads or 1) < 1 or options.seconds <= 0:
        parser.error("--rounds, --threads and --seconds are more than 0")
    if options.no_host and not options.chroot:
        parser.error("--no-host leaves nothing without --chroot")
    return options


class Setup:
    """Places and interpreters; each is set up when it is first needed."""

    def __init__(self, options):
        self.options = options
        self.work_dir = os.path.abspath(options.work or os.path.join(places.ROOT, "build", "compare"))
        self.threads = options.threads or len(os.sched_getaffinity(0))
        self.program = vkformer.find_program(options.build)
        self.host = places.Place("host", self.work_dir, self.threads)
        self.models = texts.Models(self.work_dir, options.model_sizes, options.encoder)
        self.bind_encoder(self.host)

    @functools.cached_property
    def chroot(self):
        place = places.chroot_place(self.options.chroot, self.work_dir, self.threads)
        place.binds.append(os.path.dirname(self.program))
        self.bind_encoder(place)
        return place

    def bind_encoder(self, place):
        if self.models.encoder_dir:
            place.binds.append(self.models.encoder_dir)

    @functools.cached_property
    def python(self):
        return self.options.python or provision.host_python(self.work_dir)

    @functools.cached_property
    def chroot_packages(self):
        return provision.chroot_packages(self.chroot, self.python)

    @functools.cached_property
    def chroot_iree(self):
        packages = provision.IREE_PACKAGES
        beside = self.chroot_packages  # numpy
        provision.chroot_packages(self.chroot, self.python, packages.values(), packages)
        return beside

    def llama_place(self, place, device):
        """Where llama.cpp runs for a place's driver."""
        if place.chroot:
            return place
        if not self.options.chroot:
            raise Unavailable("needs --chroot")
        return places.host_driver_in_chroot(self.options.chroot, self.host, device)

    def recipes(self, place, comparison):
        """{peer: how it is started}, see Peers."""
        def on_host():
            return place, self.python, ""

        def in_chroot():
            return place, places.CHROOT_PYTHON, self.chroot_packages

        def iree():
            if place.chroot:
                return place, places.CHROOT_PYTHON, self.chroot_iree
            if not self.options.python:
                provision.add_iree(self.python)
            return place, self.python, ""

        def llama():
            device = comparison.device["device"] if comparison.device else ""
            return self.llama_place(place, device), places.CHROOT_PYTHON, self.chroot_packages

        def torch():
            if place.chroot:
                raise Unavailable("not set up in the chroot")
            return place, provision.torch_python(self.python if self.options.python else None), ""

        def transformers():
            python = self.options.text_python
            if not python:
                raise Unavailable("needs --text-python")
            return self.chroot if self.options.chroot else place, python, ""

        found = {name: in_chroot if place.chroot else on_host for name in HOST_PEERS}
        found.update(dict.fromkeys(IREE_PEERS, iree))
        found.update(dict.fromkeys(LLAMA_PEERS, llama))
        found.update(dict.fromkeys(TORCH_PEERS, torch))
        found["transformers"] = transformers
        return {name: recipe for name, recipe in found.items() if name in self.options.chosen_peers}


def compare_in(setup, place, options):
    peers = measurement.Peers({})
    program = vkformer.Program(place, setup.program)
    comparison = measurement.Comparison(program, peers, None, options, texts.Vkformer(program, setup.models))
    peers.recipes = setup.recipes(place, comparison)

    def own_bench_place():
        if "llama.cpp-f16" not in options.chosen_peers:
            raise Unavailable(measurement.NOT_CHOSEN)
        return setup.llama_place(place, comparison.device["device"])

    def llama_bench():
        if "llama-bench" not in options.chosen_peers:
            raise Unavailable(measurement.NOT_CHOSEN)
        return texts.LlamaBench(setup.llama_place(place, comparison.device["device"]), setup.models)

    comparison.own_bench_place = own_bench_place
    comparison.llama_bench = llama_bench
    return comparison.run(options.chosen_rows)


def measure(options, argv):
    setup = Setup(options)
    busy = busy_share(1.0)
    names = ([] if options.no_host else ["host"]) + (["chroot"] if options.chroot else [])
    runs = []
    for name in names:
        try:
            runs.append(compare_in(setup, getattr(setup, name), options))
        except Unavailable as reason:
            measurement.progress("%s: %s" % (name, reason))
            runs.append({"place": name, "device": None, "driver": None, "versions": {}, "unavailable": {}, "rows": [],
                         "error": str(reason)})
        if runs[-1]["error"] == measurement.INTERRUPTED:
            break
    busy = max(busy, busy_share(1.0))
    return {
        "date": datetime.date.today().isoformat(),
        "command": shlex.join(["tools/compare", *argv]),
        "rounds": options.rounds,
        "sizes": options.model_sizes,
        "clock": options.clock and options.clock + "_ms",
        "machine": {"cpu": cpu_name(), "threads": setup.threads, "busy": busy},
        "runs": runs,
    }


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith(("model name", "Model")))
    except (OSError, StopIteration):
        return "unknown CPU"


def busy_share(seconds):
    """How much of the machine others use at the moment, from 0 to 1."""
    def ticks():
        with open("/proc/stat", encoding="utf-8") as f:
            values = [int(word) for word in f.readline().split()[1:]]
        return sum(values), values[3] + values[4]  # idle, and waiting for a disk

    try:
        total, idle = ticks()
        time.sleep(seconds)
        total_after, idle_after = ticks()
    except (OSError, ValueError, IndexError):
        return 0.0
    return 1 - (idle_after - idle) / max(1, total_after - total)


def interrupt(*_):
    raise KeyboardInterrupt


def main(argv):
    signal.signal(signal.SIGTERM, interrupt)  # as Ctrl-C: what was measured until then is reported
    options = parse_arguments(argv)
    if options.list:
        for row in rows.ROWS:
            print("%-20s %s" % (row.key, row.title))
        return 0
    try:
        if options.source:
            with open(options.source, encoding="utf-8") as f:
                raw = json.load(f)
        else:
            raw = measure(options, argv)
    except (Unavailable, OSError, ValueError) as error:
        print("compare: %s" % error, file=sys.stderr)
        return 1
    if options.output:
        with open(options.output, "w", encoding="utf-8") as f:
            json.dump(raw, f, indent=1)
    text = report.markdown(raw)
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        sys.stdout.write(text)
    return 0 if any(run["rows"] for run in raw["runs"]) else 1
