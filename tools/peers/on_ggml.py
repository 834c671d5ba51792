"""llama.cpp's Vulkan backend: one operation at a time, through the C interface of its tensor library."""
import ctypes
import functools

import numpy as np

from . import checks

F32, F16 = 0, 1
NUMPY_TYPE = {F32: np.float32, F16: np.float16}
CONTEXT_BYTES = 1 << 22
POINTER, INT, INT64, SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_size_t


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", SIZE), ("mem_buffer", POINTER), ("no_alloc", ctypes.c_bool)]


SIGNATURES = {
    "ggml_init": (POINTER, [InitParams]),
    "ggml_free": (None, [POINTER]),
    "ggml_new_tensor_4d": (POINTER, [POINTER, INT] + [INT64] * 4),
    "ggml_mul_mat": (POINTER, [POINTER] * 3),
    "ggml_flash_attn_ext": (POINTER, [POINTER] * 5 + [ctypes.c_float] * 3),
    "ggml_flash_attn_ext_set_prec": (None, [POINTER, INT]),
    "ggml_new_graph": (POINTER, [POINTER]),
    "ggml_build_forward_expand": (None, [POINTER] * 2),
    "ggml_version": (ctypes.c_char_p, []),
    "ggml_backend_load_all": (None, []),
    "ggml_backend_dev_by_name": (POINTER, [ctypes.c_char_p]),
    "ggml_backend_dev_description": (ctypes.c_char_p, [POINTER]),
    "ggml_backend_dev_init": (POINTER, [POINTER, ctypes.c_char_p]),
    "ggml_backend_supports_op": (ctypes.c_bool, [POINTER] * 2),
    "ggml_backend_alloc_ctx_tensors": (POINTER, [POINTER] * 2),
    "ggml_backend_buffer_free": (None, [POINTER]),
    "ggml_backend_tensor_set": (None, [POINTER, POINTER, SIZE, SIZE]),
    "ggml_backend_tensor_get": (None, [POINTER, POINTER, SIZE, SIZE]),
    "ggml_backend_graph_compute": (INT, [POINTER] * 2),
}
ACCUMULATE_F32 = 10
# It rounds f32 operands to f16 where it has matrix cores.
PRECISION = "f16"


@functools.cache
def ggml():
    """The functions, from the two libraries that have them."""
    libraries = [ctypes.CDLL(name) for name in ("libggml-base.so.0", "libggml.so.0")]
    functions = type("ggml", (), {})()
    for name, (result, arguments) in SIGNATURES.items():
        function = next((getattr(lib, name) for lib in libraries if hasattr(lib, name)), None)
        if function is None:
            raise RuntimeError("its library has no %s" % name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions


class Graph:
    """One operation with its tensors on the backend; freed with the object."""

    def __init__(self, backend):
        self.backend = backend
        self.buffer = None
        self.context = ggml().ggml_init(InitParams(CONTEXT_BYTES, None, True))

    def __del__(self):
        if self.buffer:
            ggml().ggml_backend_buffer_free(self.buffer)
        ggml().ggml_free(self.context)

    def tensor(self, data, kind):
        """A tensor of an array's shape; ggml counts dimensions from the last one."""
        sizes = (list(data.shape[::-1]) + [1] * 4)[:4]
        return ggml().ggml_new_tensor_4d(self.context, kind, *sizes)

    def finish(self, out, inputs):
        if not ggml().ggml_backend_supports_op(self.backend, out):
            raise RuntimeError("does not support the operation on this device")
        self.graph = ggml().ggml_new_graph(self.context)
        ggml().ggml_build_forward_expand(self.graph, out)
        self.buffer = ggml().ggml_backend_alloc_ctx_tensors(self.context, self.backend)
        if not self.buffer:
            raise RuntimeError("has not enough memory")
        for tensor, data, kind in inputs:
            array = np.ascontiguousarray(data, NUMPY_TYPE[kind])
            ggml().ggml_backend_tensor_set(tensor, array.ctypes.data, 0, array.nbytes)

    def compute(self):
        if ggml().ggml_backend_graph_compute(self.backend, self.graph) != 0:
            raise RuntimeError("computing failed")

    def read(self, tensor, shape):
        out = np.empty(shape, np.float32)
        ggml().ggml_backend_tensor_get(tensor, out.ctypes.data, 0, out.nbytes)
        return out


class Peer:
    """weights: element type of a product's weights, and of an attention's keys and values."""

    def __init__(self, threads, weights):
        del threads  # all of its work is the device's
        ggml().ggml_backend_load_all()
        device = ggml().ggml_backend_dev_by_name(b"Vulkan0")
        if not device:
            raise RuntimeError("finds no Vulkan device")
        self.backend = ggml().ggml_backend_dev_init(device, None)
        if not self.backend:
            raise RuntimeError("cannot open the device")
        self.kind = F16 if weights == "f16" else F32
        self.version = "ggml %s" % ggml().ggml_version().decode()
        self.device = ggml().ggml_backend_dev_description(device).decode()

    def prepare(self, work):
        if work["op"] == "gemm":
            return self.prepare_gemm(work)
        if work["op"] == "attention":
            return self.prepare_attention(work)
        raise RuntimeError("has no such operation")

    def prepare_gemm(self, work):
        x, weights = checks.gemm_inputs(work)
        graph = Graph(self.backend)
        x_tensor, w_tensor = graph.tensor(x, F32), graph.tensor(weights, self.kind)
        out = ggml().ggml_mul_mat(graph.context, w_tensor, x_tensor)
        graph.finish(out, [(x_tensor, x, F32), (w_tensor, weights, self.kind)])
        graph.compute()
        checks.check_gemm(graph.read(out, (work["m"], work["n"])), x, weights, PRECISION)
        return checks.Runner(graph.compute)

    def prepare_attention(self, work):
        """Its flash attention."""
        arrays = checks.attention_inputs(work)
        kinds = (F32, self.kind, self.kind)
        graph = Graph(self.backend)
        inputs = [(graph.tensor(data, kind), data, kind) for data, kind in zip(arrays, kinds)]
        mask_tensor = None
        if work["causal"]:
            mask = checks.causal_mask(work["q_len"], work["kv_len"])
            mask_tensor = graph.tensor(mask, F16)
            inputs.append((mask_tensor, mask, F16))
        tensors = [tensor for tensor, _, _ in inputs[:3]]
        out = ggml().ggml_flash_attn_ext(graph.context, *tensors, mask_tensor, work["head_dim"] ** -0.5, 0.0, 0.0)
        ggml().ggml_flash_attn_ext_set_prec(out, ACCUMULATE_F32)
        graph.finish(out, inputs)
        graph.compute()
        shape = (work["batch"], work["q_len"], work["heads"], work["head_dim"])
        expected = np.swapaxes(checks.attention(*arrays, work["causal"]), 1, 2)
        checks.check_close(graph.read(out, shape), expected, PRECISION)
        return checks.Runner(graph.compute)
