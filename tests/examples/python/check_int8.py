"""Numbers of eight bits beside NumPy."""
import numpy as np

import vkformer

from package_support import WRONG, Drawn

BYTES = (np.int8, np.uint8)


def rounded(x, scale, zero, dtype):
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x / scale) + zero, limits.min, limits.max).astype(dtype)


class Bytes(Drawn):
    def bytes(self, dtype, *shape):
        limits = np.iinfo(dtype)
        return self.generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def test_quantize_and_back(self):
        for i in self.draws(8):
            shape, dtype = [self.size(5) for _ in range(i % 5)], BYTES[i % 2]
            x = np.asarray(30 * self.numbers(*shape), np.float32)
            each = len(shape) > 0 and i % 4 != 0
            axis = int(self.generator.integers(-len(shape), len(shape))) if each else -1
            count = [shape[axis]] if each else []
            # By powers of two both sides divide exactly, so that nothing but ties is near the half.
            scale, zero = 2.0 ** self.generator.integers(-3, 2, count), self.bytes(dtype, *count)
            wide = [1] * len(shape)
            if each:
                wide[axis] = -1
            by = [value.reshape(wide).astype(np.float64) if each else np.float64(value) for value in (scale, zero)]
            expected = rounded(x.astype(np.float64), *by, dtype)
            found = vkformer.quantize_linear(x, scale, zero, dtype, axis=axis)
            self.assertEqual(found.dtype, dtype)
            np.testing.assert_array_equal(found, expected)
            self.assert_close(vkformer.dequantize_linear(found, scale, zero, axis=axis),
                              (expected - by[1]) * by[0], atol=0)
            on_device = vkformer.quantize_linear(vkformer.Tensor(x), vkformer.Tensor(scale.astype(np.float32)),
                                                 vkformer.Tensor(zero), dtype, axis=axis)
            self.assertEqual(on_device.dtype, dtype)
            self.assert_close(vkformer.dequantize_linear(on_device, scale, zero, axis=axis).numpy(),
                              (expected - by[1]) * by[0], atol=0)
        np.testing.assert_array_equal(vkformer.quantize_linear([0.5, 1.5, 300, np.nan], 1), [0, 2, 127, 0])
        self.assert_close(vkformer.dequantize_linear(np.array([2**20, -7], np.int32), 0.5, 7), np.array([2**19 - 3.5, -7]))
        self.assert_error(WRONG, "dtype is int32", vkformer.quantize_linear, [0.5], 1, dtype=np.int32)
        self.assert_error(WRONG, "an input is float32", vkformer.dequantize_linear, np.ones(2, np.float32), 1)
        self.assert_error(WRONG, "zeros are from -128 to 127", vkformer.quantize_linear, [0.5], 1, 128)
        self.assert_error(WRONG, "no axis 1", vkformer.quantize_linear, [0.5], [1, 1], axis=1)

    def test_products(self):
        for i in self.draws(12):
            leading = [self.size(3) for _ in range(i % 3)]
            m, n, k = self.size(), self.size(), self.size()
            a, b = self.bytes(BYTES[i % 2], *leading, m, k), self.bytes(BYTES[i // 2 % 2], *(leading if i % 4 else []), k, n)
            a_zero, b_zero = (self.bytes(each.dtype, *([count] if i % 5 else [])) for each, count in ((a, m), (b, n)))
            a_scale, b_scale = (0.01 * 2.0 ** self.generator.integers(-1, 2, [count] if i % 3 else []) for count in (m, n))
            sums = (a.astype(int) - a_zero.astype(int)[..., np.newaxis]) @ (b.astype(int) - b_zero.astype(int))
            scaled = sums * (a_scale[..., np.newaxis] * b_scale)
            other, transposed = (b, False) if i % 2 else (np.ascontiguousarray(b.swapaxes(-1, -2)), True)
            for kind in (lambda array: array, vkformer.Tensor):
                product = vkformer.matmul_int8(kind(a), kind(other), a_zero, b_zero, transposed=transposed)
                self.assertEqual((product.dtype, product.shape), (np.int32, sums.shape))
                np.testing.assert_array_equal(np.asarray(product), sums)
                floats = vkformer.matmul_int8(kind(a), kind(other), a_zero, b_zero, input_scale=a_scale,
                                              other_scale=b_scale, transposed=transposed)
                self.assertEqual(floats.dtype, np.float32)
                self.assert_close(np.asarray(floats), scaled)
            found = vkformer.matmul_int8(a, other, a_zero, b_zero, input_scale=a_scale, other_scale=b_scale, out_scale=0.5,
                                         out_zero=100, dtype=BYTES[i % 2], transposed=transposed)
            self.assertEqual(found.dtype, BYTES[i % 2])
            expected = rounded(scaled, 0.5, 100, BYTES[i % 2]).astype(int)
            self.assertLessEqual(np.abs(found.astype(int) - expected).max(), 1)  # f32 may fall on a tie's other side
            self.assertLess((found != expected).mean(), 0.02 + 1 / found.size)
        a, b = self.bytes(np.int8, 2, 3), self.bytes(np.uint8, 3, 4)
        np.testing.assert_array_equal(vkformer.matmul_int8(a, b), a.astype(int) @ b)
        self.assertEqual(vkformer.matmul_int8(a, b, dtype=np.float32).dtype, np.float32)
        np.testing.assert_array_equal(vkformer.matmul_int8(a[:, :0], b[:0]), np.zeros((2, 4)))
        self.assertEqual(vkformer.matmul_int8(a[:0], b).shape, (0, 4))
        for wrong in ((a, a), (a[0], b), (a, b[0]), (a[np.newaxis], np.stack([b, b]))):
            self.assert_error(WRONG, "(..., k, n)", vkformer.matmul_int8, *wrong)
        self.assert_error(WRONG, "an input is float64", vkformer.matmul_int8, a, b.astype(np.float64))
        self.assert_error(WRONG, "dtype is int16", vkformer.matmul_int8, a, b, dtype=np.int16)
        self.assert_error(WRONG, "out of i32 with a scale", vkformer.matmul_int8, a, b, input_scale=1, dtype=np.int32)
        large = np.zeros((1, 40000), np.uint8)
        self.assert_error("VKF_ERROR_TOO_LARGE", "32 bits", vkformer.matmul_int8, large, large.T)

    def test_weights_in_blocks(self):
        for i in self.draws(8):
            n, k, kind = self.size(), 32 * self.size(3), ("q8", "q4")[i % 2]
            weight, bias, x = self.numbers(n, k), self.numbers(n), self.numbers(self.size(9), k)
            made = vkformer.quantize_weight(vkformer.Tensor(weight) if i % 3 else weight, kind)
            self.assertEqual(made.shape, (n, k))
            self.assertIn(kind, repr(made))
            blocks = weight.reshape(n, -1, 32)
            step = np.abs(blocks).max(-1) / 127 if kind == "q8" else (blocks.max(-1) - blocks.min(-1)) / 15
            error = np.abs(made.numpy() - weight).reshape(blocks.shape).max(-1)
            self.assertLess((error / step).max(), 0.6 if kind == "q8" else 1.6)  # q4 may clamp what lies far out
            found = vkformer.linear(x, made, bias, activation="relu")
            self.assert_close(found, np.maximum(x.astype(np.float64) @ made.numpy().T + bias, 0))
            on_device = vkformer.linear(vkformer.Tensor(x), made, bias, activation="relu")
            np.testing.assert_array_equal(on_device.numpy(), found)
            np.testing.assert_array_equal(made.astype(np.float32).numpy(), made.numpy())
        half = vkformer.linear(x.astype(np.float16), made)
        self.assert_close(half, x.astype(np.float64) @ made.numpy().T, rtol=0.02, atol=0.05)
        context = vkformer.Context()
        before = context.used_bytes
        made = vkformer.quantize_weight(vkformer.Tensor(self.numbers(256, 256), context=context), "q4")
        self.assertLess(context.used_bytes - before, 256 * 256)
        for call in (lambda: made.reshape(-1), lambda: made[1], lambda: made[:1]):
            self.assert_error(WRONG, "no parts", call)
        for call in (lambda: vkformer.softmax(made), lambda: vkformer.embedding([0], made), lambda: made.swapaxes(0, 1),
                     lambda: vkformer.Linear({"weight": made}), lambda: vkformer.quantize_weight(made, "q8")):
            self.assert_error(WRONG, "", call)
        self.assert_error(WRONG, "'q5'", vkformer.quantize_weight, weight, "q5")
        self.assert_error(WRONG, "32", vkformer.quantize_weight, weight[:, :31], "q8")
        self.assert_error(WRONG, "", vkformer.quantize_weight, np.full((1, 32), np.nan), "q8")
