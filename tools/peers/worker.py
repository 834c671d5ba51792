"""A peer in a process of its own: python3 -m peers.worker PEER THREADS

It says first what it is, {"version", "device"} or {"unavailable"}. Then for each line of {"work", "seconds"} on its
standard input it answers {"ms": [...]}, {"ms": [...], "note": ...} or {"unavailable": ...}. A work's first line
prepares it and checks its result: a peer that computes something else is no peer.
"""
import importlib
import json
import os
import sys
import time

MODULES = {
    "openblas": ("on_blas", {}),
    "ncnn": ("on_ncnn", {"fp32": True}),
    "ncnn-defaults": ("on_ncnn", {"fp32": False}),
    "iree": ("on_iree", {}),
    "llama.cpp": ("on_ggml", {"weights": "f32"}),
    "llama.cpp-f16": ("on_ggml", {"weights": "f16"}),
    "torch-cpu": ("on_torch", {"device": "cpu"}),
    "torch-cuda": ("on_torch", {"device": "cuda"}),
    "torch-copy": ("on_torch", {"device": "cuda"}),
    "transformers": ("on_transformers", {}),
}
PREPARED_AT_ONCE = 4


def answer_channel():
    """The standard output for answers alone: what libraries print goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


def timed(run, seconds):
    """Milliseconds of each run, for about as many seconds, after one that does not count."""
    run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (len(times) < 200 and time.perf_counter() < end):
        start = time.perf_counter()
        own_ms = run()
        times.append(own_ms if own_ms is not None else 1e3 * (time.perf_counter() - start))
    return times


class Server:
    """Keeps the last few works prepared."""

    def __init__(self, peer):
        self.peer = peer
        self.prepared = {}

    def answer(self, request):
        work = request["work"]
        key = json.dumps(work, sort_keys=True)
        if key not in self.prepared:
            while len(self.prepared) >= PREPARED_AT_ONCE:
                del self.prepared[next(iter(self.prepared))]
            self.prepared[key] = self.peer.prepare(work)
        run = self.prepared[key]
        answer = {"ms": timed(run, request["seconds"])}
        note = getattr(run, "note", None)
        return dict(answer, note=note) if note else answer


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    channel = answer_channel()

    def say(answer):
        channel.write(json.dumps(answer) + "\n")

    module, options = MODULES[name]
    try:
        peer = importlib.import_module("." + module, __package__).Peer(threads, **options)
    except Exception as error:  # whatever keeps a peer from starting is its reason
        say({"unavailable": str(error) or type(error).__name__})
        return
    say({"version": peer.version, "device": peer.device})
    server = Server(peer)
    for line in sys.stdin:
        try:
            say(server.answer(json.loads(line)))
        except Exception as error:
            say({"unavailable": str(error) or type(error).__name__})


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # drivers that are unloaded beneath their threads crash
