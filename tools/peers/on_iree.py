"""IREE on Vulkan, from its wheels: what its compiler makes of a work's MLIR, with inputs and weights on the device."""
import iree.compiler
import iree.compiler.version
import iree.runtime
import numpy as np

from . import checks, iree_text
from .worker import timed

NUMPY_TYPE = {"f32": np.float32, "f16": np.float16}
# It has none for lavapipe, and what it makes for a GPU is right here or not; it depends on the work.
TARGETS = ("vp_android_baseline_2022", "valhall", "adreno")


class Compiled:
    """One function with its arguments on the device; a call returns when the device has finished."""

    def __init__(self, device, target, text, arrays):
        binary = iree.compiler.compile_str(text, target_backends=["vulkan-spirv"], input_type="none",
                                           extra_args=["--iree-vulkan-target=" + target])
        self.device = device
        self.context = iree.runtime.SystemContext(config=iree.runtime.Config(device=device))
        self.context.add_vm_module(iree.runtime.VmModule.copy_buffer(self.context.instance, binary))
        self.function = self.context.modules.module[iree_text.FUNCTION]
        self.arguments = [iree.runtime.asdevicearray(device, array) for array in arrays]

    def run(self):
        self.out = self.function(*self.arguments)

    def result(self):
        """Through a buffer of its own: its to_host() hands numpy's memory to Vulkan, which wants whole pages."""
        self.run()
        types, usages = iree.runtime.MemoryType, iree.runtime.BufferUsage
        source = self.out._buffer_view.get_buffer()
        staging = self.device.allocator.allocate_buffer(
            memory_type=int(types.HOST_LOCAL | types.DEVICE_VISIBLE),
            allowed_usage=int(usages.TRANSFER_TARGET | usages.MAPPING_SCOPED), allocation_size=source.byte_length())
        semaphore = self.device.create_semaphore(0)
        fences = [iree.runtime.HalFence.create_at(semaphore, value) for value in (0, 1)]
        self.device.queue_copy(source, staging, wait_semaphores=fences[0], signal_semaphores=fences[1])
        fences[1].wait()
        return np.array(staging.map().asarray(self.out._buffer_view.shape, np.dtype(self.out.dtype)))


class Peer:
    """A module of one function for each work."""

    def __init__(self, threads):
        del threads  # all of its work is the device's
        driver = iree.runtime.get_driver("vulkan")
        devices = driver.query_available_devices()
        if not devices:
            raise RuntimeError("finds no Vulkan device")
        self.hal = driver.create_device(devices[0]["device_id"])
        self.version = "iree %s" % iree.compiler.version.VERSION
        self.device = devices[0]["name"]

    def runner(self, text, arrays, check):
        """By the target that is fastest here among those whose result is right."""
        runners, refused = [], None
        for target in TARGETS:
            try:
                compiled = Compiled(self.hal, target, text, arrays)
                check(compiled.result())
                runners.append((min(timed(compiled.run, 0.2)), target, compiled))
            except iree.compiler.CompilerToolError:
                refused = refused or RuntimeError("does not compile it")
            except RuntimeError as error:
                refused = error
        if not runners:
            raise refused
        _, target, compiled = min(runners, key=lambda found: found[:2])
        return checks.Runner(compiled.run, "target " + target)

    def prepare(self, work):
        prepare = getattr(self, "prepare_" + work["op"], None)
        if not prepare or work["dtype"] != "f32":
            raise RuntimeError("has no such operation here")
        return prepare(work)

    def prepare_gemm(self, work):
        x, weights = checks.gemm_inputs(work)
        weights = weights.astype(NUMPY_TYPE[work["weights"]])
        return self.runner(iree_text.gemm(work), (x, weights),
                           lambda out: checks.check_gemm(out, x, weights.astype(np.float32), "f32"))

    def prepare_attention(self, work):
        arrays = checks.attention_inputs(work)
        if work["causal"]:
            raise RuntimeError("has no causal attention here")
        expected = checks.attention(*arrays)
        heads = [array.reshape(-1, *array.shape[-2:]) for array in arrays]
        return self.runner(iree_text.attention(work), heads,
                           lambda out: checks.check_close(out.reshape(expected.shape), expected, "f32"))

    def prepare_mha(self, work):
        x, weights = checks.mha_inputs(work)
        expected = checks.mha(x, weights, work["heads"])
        return self.runner(iree_text.mha(work), (x, *weights), lambda out: checks.check_close(out, expected, "f32"))

    def prepare_softmax(self, work):
        x = checks.uniform(checks.generator(), work["rows"], work["cols"])
        expected = checks.softmax(x.copy())
        return self.runner(iree_text.softmax(work), (x,), lambda out: checks.check_close(out, expected, "f32"))

    def prepare_norm(self, work):
        rng = checks.generator()
        x = checks.uniform(rng, work["rows"], work["cols"])
        weight, bias = (checks.uniform(rng, work["cols"]) for _ in range(2))
        expected = checks.layer_norm(x, weight, bias)
        return self.runner(iree_text.norm(work), (x, weight, bias),
                           lambda out: checks.check_close(out, expected, "f32"))
