"""PyTorch, on the CPU or through CUDA: cuBLAS without tf32, and scaled_dot_product_attention."""
import torch

from . import checks

DTYPES = {"f32": torch.float32, "f16": torch.float16}


class Peer:
    """Times on CUDA are those between events on the device."""

    def __init__(self, threads, device):
        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("finds no CUDA device")
        self.name = device
        torch.set_num_threads(threads)
        torch.backends.cuda.matmul.allow_tf32 = False
        self.version = "torch %s" % torch.__version__
        self.device = torch.cuda.get_device_name() if device == "cuda" else "%d threads" % threads

    def random(self, dtype, *shape):
        generator = torch.Generator(self.name).manual_seed(checks.SEED)
        return torch.rand(shape, generator=generator, device=self.name, dtype=DTYPES[dtype]) * 2 - 1

    def runner(self, function):
        @torch.inference_mode()
        def on_cpu():
            function()

        @torch.inference_mode()
        def on_cuda():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            function()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)

        return checks.Runner(on_cuda if self.name == "cuda" else on_cpu)

    def prepare(self, work):
        return self.runner(getattr(self, "prepare_" + work["op"])(work))

    def prepare_gemm(self, work):
        x, weights = (self.random(work["dtype"], work[rows], work["k"]) for rows in ("m", "n"))
        return lambda: torch.nn.functional.linear(x, weights)

    def prepare_attention(self, work):
        query, key, value = (self.random(work["dtype"], work["batch"], work["heads"], work[length], work["head_dim"])
                             for length in ("q_len", "kv_len", "kv_len"))
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: attend(query, key, value, is_causal=work["causal"])

    def prepare_mha(self, work):
        block = torch.nn.MultiheadAttention(work["embed_dim"], work["heads"], batch_first=True)
        block = block.to(self.name, DTYPES[work["dtype"]]).eval()
        x = self.random(work["dtype"], 1, work["len"], work["embed_dim"])
        return lambda: block(x, x, x, need_weights=False)

    def prepare_layer(self, work):
        block = torch.nn.TransformerEncoderLayer(work["d_model"], work["heads"], work["ff"], activation="gelu",
                                                 batch_first=True)
        block = block.to(self.name, DTYPES[work["dtype"]]).eval()
        x = self.random(work["dtype"], work["batch"], work["len"], work["d_model"])
        return lambda: block(x)

    def prepare_copy(self, work):
        """Twice the bytes are moved: read once and written once."""
        source = torch.empty(work["bytes"], dtype=torch.uint8, device=self.name)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)
