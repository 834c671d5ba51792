"""Runs every program in turn, round by round."""
import sys
import time

from . import llama_bench, vkformer
from .places import Unavailable
from .workers import Worker

REST_S = 0.1  # between two programs, so that the workers of the one are asleep when the other starts
COPY_WORK = {"op": "copy", "bytes": 1 << 28}
OURS, BASE = "vkformer", "vkformer base"
NOT_CHOSEN = "not chosen"
INTERRUPTED = "interrupted"


def progress(text):
    print(text, file=sys.stderr, flush=True)


class Peers:
    """Starts a peer when it is first asked for, and remembers why one is not to be had."""

    def __init__(self, recipes):
        self.recipes = recipes  # {peer: function that returns (place, python, python_path), or raises Unavailable}
        self.workers = {}
        self.missing = {}

    def get(self, name):
        if name in self.missing:
            raise Unavailable(self.missing[name])
        if name not in self.workers:
            try:
                if name not in self.recipes:
                    raise Unavailable(NOT_CHOSEN)
                place, python, python_path = self.recipes[name]()
                self.workers[name] = Worker(place, python, name, python_path)
            except Unavailable as reason:
                self.missing[name] = str(reason)
                raise
        return self.workers[name]

    def versions(self):
        return {name: "%s, %s" % (worker.version, worker.device) for name, worker in self.workers.items()}

    def drop(self, name):
        """After a failure the process may be gone: the next row starts another."""
        worker = self.workers.get(name)
        if worker and worker.process.poll() is not None:
            del self.workers[name]

    def close(self):
        for worker in self.workers.values():
            worker.close()


class Comparison:
    """All rows in one place."""

    def __init__(self, program, peers, own_bench_place, options, texts=None):
        self.program = program
        self.texts = texts  # texts.Vkformer, which measures the text models
        self.llama_bench = None  # function: what measures them by llama.cpp
        self.peers = peers
        self.own_bench_place = own_bench_place  # function: where llama.cpp's own benchmark runs
        self.options = options
        self.device = None
        self.versions = {}  # of peers that tell theirs with what they measured

    def subjects(self, row):
        """{name: function that measures once and returns a visit}, in their order."""
        seconds = self.options.seconds

        def ours(work):
            return lambda: self.program_of(work).measure(work, seconds)

        def peer(name):
            work = COPY_WORK if name == "torch-copy" else self.completed(row.work)
            return lambda: self.peers.get(name).measure(work, seconds)

        found = {OURS: ours(row.work)}
        for i, work in enumerate(row.base):
            found["%s %d" % (BASE, i)] = ours(work)
        for name in row.peers:
            if name == "llama.cpp-own":
                found[name] = lambda: llama_bench.measure(self.own_bench_place(), row.work)
            elif name == "llama-bench":
                found[name] = lambda: self.llama_bench().measure(row.work)
            elif name == "own-read":
                found[name] = self.texts.read_visit
            else:
                found[name] = peer(name)
        return found

    def program_of(self, work):
        return self.texts if work["op"] == "text" else self.program

    def completed(self, work):
        return self.texts.models.completed(work) if work["op"] == "text" else work

    def prepare(self, row):
        for work in (row.work, *row.base):
            result = self.program_of(work).prepare(work)
            self.device = self.device or result

    def measure_memory(self, row, result):
        try:
            result["samples"][OURS] = [{"bytes": self.program.peak_bytes(row.work)}]
        except Unavailable as reason:
            result["missing"][OURS] = str(reason)

    def measure_row(self, row):
        """{"key", "samples": {subject: a visit per round}, "missing": {subject: why}}"""
        result = {"key": row.key, "samples": {}, "missing": {}}
        progress("%s: %s" % (self.program.place.name, row.title))
        if row.kind == "memory":
            self.measure_memory(row, result)
            return result
        try:
            self.prepare(row)
        except Unavailable as reason:
            result["missing"][OURS] = str(reason)
            return result
        subjects = self.subjects(row)
        for index in range(self.options.rounds):
            order = list(subjects)
            for name in order[index % len(order):] + order[:index % len(order)]:
                if name in result["missing"] or (name == "llama.cpp-own" and index > 0):
                    continue
                self.visit(name, subjects[name], result)
        return result

    def visit(self, name, function, result):
        time.sleep(REST_S)
        try:
            visit = function()
        except Unavailable as reason:
            result["missing"][name] = str(reason)
            result["samples"].pop(name, None)
            self.peers.drop(name)
            return
        if "version" in visit:
            self.versions[name] = visit.pop("version")
        result["samples"].setdefault(name, []).append(visit)

    def wanted(self, row):
        """A row that needs a peer is not for a machine without it."""
        if row.needs is None:
            return True
        try:
            self.peers.get(row.needs)
            return True
        except Unavailable:
            return False

    def run(self, rows):
        results, error = [], None
        try:
            for row in rows:
                if self.wanted(row):
                    results.append(self.measure_row(row))
        except KeyboardInterrupt:
            error = INTERRUPTED
        finally:
            self.peers.close()
        versions = dict(self.peers.versions(), **self.versions, vkformer=self.program.version)
        device = self.device or {}
        return {"place": self.program.place.name, "device": device.get("device"), "driver": device.get("driver"),
                "versions": versions, "unavailable": self.peers.missing, "rows": results, "error": error}
