"""ncnn on Vulkan, from its wheel: in float32 throughout, or as it is by default."""
import os
import tempfile

import ncnn
import numpy as np

from . import checks
from .worker import timed

FLAG_F32 = b"\0\0\0\0"  # before a block of weights that is kept as it is


def layer_text(kind, parameters):
    listed = " ".join("%d=%s" % item for item in parameters.items())
    return "7767517\n2 2\nInput in 0 1 x\n%s layer 1 1 x y %s\n" % (kind, listed)


class Peer:
    """A network of one layer each."""

    def __init__(self, threads, fp32):
        if ncnn.get_gpu_count() == 0:
            raise RuntimeError("finds no Vulkan device")
        self.threads = threads
        self.fp32 = fp32
        self.version = "ncnn %s" % ncnn.__version__
        self.device = ncnn.get_gpu_info(ncnn.get_default_gpu_index()).device_name()

    def network(self, text, weights):
        net = ncnn.Net()
        net.opt.use_vulkan_compute = True
        net.opt.num_threads = self.threads
        if self.fp32:
            net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        with tempfile.TemporaryDirectory() as directory:
            paths = [os.path.join(directory, name) for name in ("layer.param", "layer.bin")]
            for path, data in zip(paths, (text.encode(), weights)):
                with open(path, "wb") as f:
                    f.write(data)
            if net.load_param(paths[0]) != 0 or net.load_model(paths[1]) != 0:
                raise RuntimeError("does not take the layer")
        return net

    def runner(self, net, x, note):
        mat = ncnn.Mat(x)

        def extract():
            extractor = net.create_extractor()
            extractor.input("x", mat)
            status, out = extractor.extract("y")
            if status != 0:
                raise RuntimeError("extract gives %d" % status)
            return out

        def run():
            extract()

        runner = checks.Runner(run, note)
        runner.keeps = (net, x)  # the network and the matrix look into memory of others
        runner.result = lambda: np.array(extract())
        return runner

    def prepare(self, work):
        if work["op"] == "gemm":
            return self.prepare_gemm(work)
        if work["op"] == "mha":
            return self.prepare_mha(work)
        raise RuntimeError("has no such layer on Vulkan")

    def prepare_gemm(self, work):
        """Its InnerProduct and its Gemm with constant weights, whichever is faster."""
        x, weights = checks.gemm_inputs(work)
        data = FLAG_F32 + weights.tobytes()
        layers = {
            "InnerProduct": {0: work["n"], 1: 0, 2: weights.size},
            "Gemm": {0: 1.0, 1: 1.0, 2: 0, 3: 1, 4: 0, 5: 1, 6: 0, 7: 0, 8: work["n"], 9: work["k"], 10: -1},
        }
        runners, refused = [], None
        for kind, parameters in layers.items():
            try:
                runner = self.runner(self.network(layer_text(kind, parameters), data), x, kind)
                checks.check_gemm(runner.result(), x, weights, "f32" if self.fp32 else "f16")
                runners.append((min(timed(runner, 0.2)), kind, runner))
            except RuntimeError as error:
                refused = error
        if not runners:
            raise refused
        return min(runners, key=lambda found: found[:2])[2]

    def prepare_mha(self, work):
        size = work["embed_dim"]
        x, weights = checks.mha_inputs(work)
        data = b"".join(FLAG_F32 + w.tobytes() + np.zeros(size, np.float32).tobytes() for w in weights)
        text = layer_text("MultiHeadAttention", {0: size, 1: work["heads"], 2: size * size, 3: size, 4: size})
        runner = self.runner(self.network(text, data), x, None)
        expected = checks.mha(x, weights, work["heads"])
        checks.check_close(runner.result(), expected, "f32" if self.fp32 else "f16")
        return runner
