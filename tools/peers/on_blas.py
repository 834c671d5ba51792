"""OpenBLAS: sgemm, and attention as two products per head with a softmax between them."""
import ctypes
import functools
import glob
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import checks
from .worker import timed

ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112


def candidates():
    """(path, prefix and suffix of the symbols, integer type): the system's package first, then what numpy brought."""
    for path in sorted(glob.glob("/usr/lib/*/openblas-pthread/libopenblas.so.0")) + ["libopenblas.so.0"]:
        yield path, "", "", ctypes.c_int
    bundled = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs", "lib*openblas64_*.so*")
    for path in glob.glob(bundled):
        yield path, "scipy_", "64_", ctypes.c_int64


class Library:
    """cblas_sgemm, whatever it is called."""

    def __init__(self, threads):
        for path, prefix, suffix, integer in candidates():
            try:
                library = ctypes.CDLL(path)
                self.sgemm = getattr(library, prefix + "cblas_sgemm" + suffix)
                self.set_threads = getattr(library, prefix + "openblas_set_num_threads" + suffix)
                config = getattr(library, prefix + "openblas_get_config" + suffix)
                break
            except (OSError, AttributeError):
                continue
        else:
            raise RuntimeError("there is no OpenBLAS")
        number, pointer = ctypes.c_float, ctypes.c_void_p
        self.sgemm.restype = None
        self.sgemm.argtypes = [ctypes.c_int] * 3 + [integer] * 3 + [number, pointer, integer, pointer, integer, number,
                                                                    pointer, integer]
        config.restype = ctypes.c_char_p
        self.version = " ".join(config().decode().split()[:2])
        self.set_threads(threads)

    def product(self, a, b, out, scale=1.0, transpose_b=True):
        """out (m, n) = scale * a (m, k) b, b being (n, k) or, not transposed, (k, n)."""
        m, k = a.shape
        n = out.shape[1]
        self.sgemm(ROW_MAJOR, NO_TRANS, TRANS if transpose_b else NO_TRANS, m, n, k, scale, a.ctypes.data, k,
                   b.ctypes.data, b.shape[1], 0.0, out.ctypes.data, n)


class Peer:
    """Two ways to use the cores, and the faster one counts."""

    def __init__(self, threads):
        self.threads = threads
        self.library = Library(threads)
        self.version = self.library.version
        self.device = "%d threads" % threads

    def prepare(self, work):
        if work["op"] == "gemm":
            return self.prepare_gemm(work)
        if work["op"] == "attention":
            return self.prepare_attention(work)
        raise RuntimeError("has no such operation")

    def prepare_gemm(self, work):
        a, weights = checks.gemm_inputs(work)
        out = np.empty((work["m"], work["n"]), np.float32)

        def product(threads):
            self.library.set_threads(threads)
            self.library.product(a, weights, out)

        runs = [(functools.partial(product, threads), "%d threads" % threads) for threads in (self.threads, 1)]
        best, note = min(runs, key=lambda run: min(timed(run[0], 0.2)))
        checks.check_gemm(out, a, weights, "f32")
        return checks.Runner(best, note)

    def prepare_attention(self, work):
        query, key, value = (array.reshape(-1, *array.shape[-2:]) for array in checks.attention_inputs(work))
        out = np.empty_like(query)
        mask = checks.causal_mask(work["q_len"], work["kv_len"]) if work["causal"] else None
        scores = [np.empty((work["q_len"], work["kv_len"]), np.float32) for _ in range(self.threads)]
        scale = 1 / np.sqrt(work["head_dim"])

        def heads(which, thread):
            for head in which:
                self.library.product(query[head], key[head], scores[thread], scale)
                if mask is not None:
                    scores[thread] += mask
                checks.softmax(scores[thread])
                self.library.product(scores[thread], value[head], out[head], transpose_b=False)

        pool = ThreadPoolExecutor(self.threads)

        def threads_per_product():
            self.library.set_threads(self.threads)
            heads(range(len(query)), 0)

        def threads_per_head():
            self.library.set_threads(1)
            list(pool.map(lambda t: heads(range(t, len(query), self.threads), t), range(self.threads)))

        runs = [(threads_per_product, "threads share a product"), (threads_per_head, "a head per thread")]
        best, note = min(runs, key=lambda run: min(timed(run[0], 0.2)))
        best()
        checks.check_close(out, checks.attention(query, key, value, work["causal"]), "f32")
        return checks.Runner(best, note)
