"""What is compared, and what is to be reached.

A piece of work is a dictionary that every peer understands:
  op         gemm: (m, k) times weights (n, k), transposed; attention: softmax(q k^T) v of each head; mha: a
             whole multi-head attention with its four projections; layer: an encoder layer; softmax and norm: of
             each row, the layer norm with weight and bias; copy: memory to memory
             text: a program on a text model, see texts.py
  weights    gemm alone: element type of the weights
  dtype      element type of everything else
"""
import fnmatch
from dataclasses import dataclass, field

# Lavapipe of Mesa 22 and of Mesa 26 on, and the first and the second number of a target.
OLD, NEW = 0, 1


@dataclass(frozen=True)
class Row:
    """One line of work, measured by vkformer and by each of the peers in turn."""
    key: str
    title: str
    work: dict
    # Peer: how many times as fast vkformer shall be, as (old, new) lavapipe; None: no figure is set.
    peers: dict = field(default_factory=dict)
    # What vkformer itself is measured at besides, and how the two are compared.
    base: tuple = ()
    base_title: str = ""
    base_target: tuple = None
    kind: str = "speed"  # or "overhead", "memory", "bandwidth", "peak"
    needs: str = None    # a peer without which the row is not measured


def gemm(m, n, k, weights="f32", dtype="f32"):
    return {"op": "gemm", "m": m, "n": n, "k": k, "weights": weights, "dtype": dtype}


def attention(length, heads=8, head_dim=64, batch=1, causal=False, dtype="f32"):
    return {"op": "attention", "batch": batch, "heads": heads, "q_len": length, "kv_len": length, "head_dim": head_dim,
            "causal": causal, "dtype": dtype}


def shape_text(work):
    return "%dx%dx%d" % (work["m"], work["n"], work["k"])


def gemm_row(work):
    few_rows = work["m"] <= 8
    peers = {
        "openblas": (0.5, 1.2) if few_rows else (0.16, 0.42),
        "ncnn": None if few_rows else (5, 4.5),
        "ncnn-defaults": None,
        "iree": None,
        "llama.cpp": None if few_rows else (10, 20),
        "llama.cpp-f16": None if few_rows else (10, 20),
        "torch-cpu": None,
        "torch-cuda": None,
    }
    return Row("gemm-" + shape_text(work), "GEMM f32 %s" % shape_text(work), work, peers)


def f16_row(work):
    peers = {"openblas": None, "iree": None, "llama.cpp-f16": None}
    return Row("f16-" + shape_text(work), "GEMM %s, f16 weights" % shape_text(work), dict(work, weights="f16"), peers,
               base=(work,), base_title="its own f32 weights", base_target=(0.95, 0.95))


def attention_row(causal):
    work = attention(512, causal=causal)
    title = "attention B1 H8 L=S=512 d64"
    peers = {"openblas": None if causal else (0.2, 1.2), "llama.cpp-f16": None, "torch-cpu": None, "torch-cuda": None}
    if not causal:
        return Row("attention", title, work, dict(peers, iree=None))
    return Row("attention-causal", title + " causal", work, peers, base=(attention(512),),
               base_title="its own, not causal", base_target=(None, 1.7))


def layer_row():
    layer = {"op": "layer", "d_model": 768, "heads": 12, "ff": 3072, "len": 128, "batch": 1, "dtype": "f32"}
    parts = (gemm(128, 768, 768),) * 4 + (gemm(128, 3072, 768), gemm(128, 768, 3072), attention(128, heads=12))
    return Row("layer", "encoder layer 768/12/3072, L=128", layer, {"torch-cpu": None, "torch-cuda": None}, base=parts,
               base_title="its GEMMs and attention, one by one", base_target=(0.15, 0.15), kind="overhead")


def gpu_rows():
    """What only a GPU can do in reasonable time."""
    big = [(gemm(n, n, n, "f16", "f16"), "f16", 0.6) for n in (4096, 8192)]
    big.append((gemm(4096, 4096, 4096), "f32 without tf32", 0.7))
    for work, what, target in big:
        yield Row("gpu-gemm-%s-%d" % (what[:3], work["m"]), "GEMM %s %s" % (what, shape_text(work)), work,
                  {"torch-cuda": (target, target)}, needs="torch-cuda")
    yield Row("gpu-attention", "attention B8 H16 L=S=4096 d128 causal f16",
              attention(4096, heads=16, head_dim=128, batch=8, causal=True, dtype="f16"),
              {"torch-cuda": (0.5, 0.5)}, needs="torch-cuda")
    yield Row("gpu-gemv", "GEMV f16 1x8192x8192, bandwidth", gemm(1, 8192, 8192, "f16", "f16"),
              {"torch-copy": (0.85, 0.85)}, kind="bandwidth", needs="torch-copy")



def text_work(phase, dtype="f32/f16", prompt=128, new=64, blocks=None, **more):
    return dict({"op": "text", "phase": phase, "dtype": dtype, "prompt": prompt, "new": new, "blocks": blocks}, **more)


def generation_rows():
    """Tokens of a Llama, beside llama.cpp on the same weights (in blocks: of the same type), and beside the memory's speed."""
    for dtype, blocks, short in (("f32/f16", None, "f32"), ("f16", None, "f16"), ("f32/f16", "q8", "q8"),
                                 ("f32/f16", "q4", "q4")):
        types = "weights in %s" % blocks if blocks else dtype
        for length in (128, 512):
            yield Row("text-prompt-%d-%s" % (length, short), "prompt of %d tokens, %s" % (length, types),
                      text_work("prompt", dtype, length, 1, blocks, tokens=length), {"llama-bench": (10, 10)})
        yield Row("text-decode-" + short, "64 tokens after 128, %s" % types,
                  text_work("decode", dtype, blocks=blocks, tokens=64), {"llama-bench": (1, 1)})
        yield Row("text-roof-" + short, "weights read for 64 tokens, %s" % types,
                  text_work("read", dtype, blocks=blocks), {"own-read": (0.85, 0.85)}, kind="bandwidth")
    for cold, caches in ((True, "cold"), (False, "warm")):
        yield Row("text-start-" + caches, "start to first token after 128, %s caches" % caches,
                  text_work("start", new=1, cold=cold), {"llama-bench": (1, 1)})
    yield Row("text-peak", "peak memory of the process, 128 + 64 tokens", text_work("peak"), {"llama-bench": (1, 1)},
              kind="peak")


def embedding_rows():
    for length in (32, 128):
        for batch in (1, 8):
            work = {"op": "text", "phase": "embed", "dtype": "f32", "len": length, "batch": batch}
            yield Row("text-embed-%dx%d" % (batch, length), "text embedding, B=%d L=%d" % (batch, length), work,
                      {"transformers": (1, 1)})


def embedding_block_rows():
    """What a layer of all-MiniLM-L6-v2 is made of, beside a library that has such blocks alone."""
    for length in (32, 128):
        yield Row("text-block-mha-%d" % length, "its multi-head attention 384x12, L=%d" % length,
                  {"op": "mha", "embed_dim": 384, "heads": 12, "len": length, "dtype": "f32"}, {"ncnn": (1, 1)})
        for n, k in ((1536, 384), (384, 1536)):
            work = gemm(length, n, k)
            yield Row("text-block-" + shape_text(work), "its feed-forward, GEMM %s" % shape_text(work), work,
                      {"ncnn": (1, 1)})


# They take minutes each, and models: whoever wants them names them.
TEXT_ROWS = (*generation_rows(), *embedding_rows(), *embedding_block_rows())
ROWS = (
    *(gemm_row(gemm(*shape)) for shape in ((512, 512, 512), (1024, 1024, 1024), (128, 768, 768), (128, 3072, 768))),
    *(gemm_row(gemm(*shape)) for shape in ((8, 768, 768), (8, 3072, 768), (8, 768, 3072))),
    *(f16_row(gemm(*shape)) for shape in ((512, 512, 512), (128, 768, 768), (128, 3072, 768), (8, 3072, 768))),
    attention_row(causal=False),
    attention_row(causal=True),
    Row("mha", "multi-head attention 512x8, L=512",
        {"op": "mha", "embed_dim": 512, "heads": 8, "len": 512, "dtype": "f32"},
        {"ncnn": (6, 7), "ncnn-defaults": None, "iree": None, "torch-cpu": None, "torch-cuda": None}),
    layer_row(),
    Row("softmax", "softmax of 4096x512", {"op": "softmax", "rows": 4096, "cols": 512, "dtype": "f32"}, {"iree": None}),
    Row("norm", "layer norm of 512x768", {"op": "norm", "rows": 512, "cols": 768, "dtype": "f32"}, {"iree": None}),
    Row("memory", "attention H8 L=S=8192 d64, peak device memory", attention(8192), base_title="100 MB",
        base_target=(100e6, 100e6), kind="memory"),
    # The one shape with fewer than 128 MiB of weights on the list of llama.cpp's own benchmark.
    Row("llama-own", "GEMM 8x4096x14336, f16 weights", gemm(8, 4096, 14336, "f16"), {"llama.cpp-own": None}),
    *gpu_rows(),
    *TEXT_ROWS,
)


def choose(patterns):
    """The rows that a comma-separated list of patterns names; raises ValueError on one that names none.

    A mere * leaves out what takes minutes."""
    chosen = []
    for pattern in patterns.split(","):
        matching = [row for row in ROWS if fnmatch.fnmatch(row.key, pattern)]
        if pattern == "*":
            matching = [row for row in matching if row not in TEXT_ROWS]
        if not matching:
            raise ValueError("no row is called '%s'; there are %s" % (pattern, ", ".join(row.key for row in ROWS)))
        chosen += [row for row in matching if row not in chosen]
    return chosen


def by_key(key):
    return next(row for row in ROWS if row.key == key)
