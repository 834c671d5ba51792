"""Operators, modules and trees of them: beside PyTorch in float64 where that is installed, beside NumPy everywhere."""
import copy
import math
import os
import unittest
from unittest import mock

import numpy as np

import vkformer
from vkformer import layer, tensor

from package_support import Numbers

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

WRONG = "VKF_ERROR_INVALID_ARGUMENT"
SEED = int(os.environ.get("VKF_TEST_SEED", "1"))


class Counting:
    """The library, with a count of what copies between host and device."""

    def __init__(self, lib):
        self._lib, self.written, self.read = lib, 0, 0

    def __getattr__(self, name):
        self.written += name in ("vkf_buffer_write", "vkf_layer_write")
        self.read += name in ("vkf_buffer_read", "vkf_layer_read")
        return getattr(self._lib, name)


def counting():
    """Counts the copies of a `with` block."""
    lib = Counting(tensor.lib)
    patches = [mock.patch.object(module, "lib", lib) for module in (tensor, layer)]

    class Block:
        def __enter__(self):
            for patch in patches:
                patch.start()
            return lib

        def __exit__(self, *_):
            for patch in patches:
                patch.stop()

    return Block()


class Drawn(Numbers):
    """Numbers and sizes that are drawn; a failure names the seed and the draw."""

    def setUp(self):
        self.generator, self.drawn = np.random.default_rng(SEED), []

    def _callTestMethod(self, method):
        with self.subTest(VKF_TEST_SEED=SEED, draws=self.drawn):
            method()

    def numbers(self, *shape, dtype=np.float32):
        return self.generator.normal(size=shape).astype(dtype)

    def size(self, most=40):
        return int(self.generator.choice([1, 2, 3, 7, 8, 17, 31, 32, 33, most]))

    def draws(self, count):
        for i in range(count):
            self.drawn[:] = [i]
            yield i


def softmax_of(scores, axis=-1):
    exponents = np.exp(scores - scores.max(axis, keepdims=True))
    return exponents / exponents.sum(axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0), "silu": lambda x: x * sigmoid(x), "tanh": np.tanh, "sigmoid": sigmoid,
    "gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / np.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "leaky_relu": lambda x, alpha=0.01: np.where(x > 0, x, alpha * x),
    "elu": lambda x, alpha=1: np.where(x > 0, x, alpha * np.expm1(x)), "none": lambda x: x}


class Operators(Drawn):
    def test_activations(self):
        for _ in self.draws(3):
            x = 3 * self.numbers(*(self.size(9) for _ in range(self.generator.integers(0, 6))))
            wide = x.astype(np.float64)
            for name, formula in ACTIVATIONS.items():
                self.assert_close(vkformer.activate(x, name), formula(wide))
            for name in ("leaky_relu", "elu"):
                for alpha in (0.0, 0.3, -2.0):
                    self.assert_close(vkformer.activate(x, name, alpha), ACTIVATIONS[name](wide, alpha))
        special = np.array([np.nan, np.inf, -np.inf, 0, -0.0], np.float32)
        np.testing.assert_array_equal(vkformer.activate(special, "leaky_relu", 0.5), [np.nan, np.inf, -np.inf, 0, 0])
        self.assert_error(WRONG, "'swish'", vkformer.activate, special, "swish")

    def test_a_product_computes_the_activation_behind_it(self):
        x, weight = self.numbers(5, 8), self.numbers(8, 8)
        linear = vkformer.Linear({"weight": weight})
        product = x.astype(np.float64) @ weight.T
        for name, kind in (("relu", vkformer.ReLU), ("gelu", vkformer.GELU), ("silu", vkformer.SiLU),
                           ("tanh", vkformer.Tanh), ("sigmoid", vkformer.Sigmoid), ("mish", vkformer.Mish),
                           ("hardswish", vkformer.Hardswish), ("hardsigmoid", vkformer.Hardsigmoid),
                           ("leaky_relu", vkformer.LeakyReLU), ("elu", vkformer.ELU)):
            chain = vkformer.Sequential(linear, kind(), kind())
            self.assertEqual((len(chain), len(chain._steps)), (3, 2))
            formula = ACTIVATIONS[name]
            self.assert_close(chain(x), formula(formula(product)))
            self.assert_close(chain[1](linear(x)), formula(product))
        for kind, parameter in ((vkformer.LeakyReLU, 0.2), (vkformer.ELU, 1.5)):
            chain = vkformer.Sequential(linear, kind(parameter))
            self.assertEqual(len(chain._steps), 2)
            self.assert_close(chain(x), ACTIVATIONS[kind._name](product, parameter))
        self.assert_close(vkformer.GELU("tanh")(x), ACTIVATIONS["gelu_tanh"](x.astype(np.float64)))
        self.assert_close(linear(x), product)
        self.assert_error(WRONG, "'erf'", vkformer.GELU, "erf")

    def test_linear(self):
        for _ in self.draws(8):
            leading = [self.size(5) for _ in range(self.generator.integers(0, 5))]
            n, k = self.size(), self.size()
            x, weight, bias = self.numbers(*leading, k), self.numbers(n, k), self.numbers(n)
            expected = x.astype(np.float64) @ weight.T + bias
            self.assert_close(vkformer.linear(x, weight, bias), expected)
            self.assert_close(vkformer.linear(x, weight, activation="relu"), np.maximum(expected - bias, 0))
            self.assert_close(vkformer.Linear({"weight": weight, "bias": bias})(x), expected)
            residual = self.numbers(*leading, n)
            self.assert_close(vkformer.linear(x, weight, bias, activation="silu", residual=residual),
                              ACTIVATIONS["silu"](expected) + residual)

    def test_weights_are_packed_where_the_device_likes_that(self):
        x, weight, bias = self.numbers(5, 24), self.numbers(40, 24), self.numbers(40)
        expected = x.astype(np.float64) @ weight.T + bias
        library = tensor.lib
        for dtype, bounds in ((np.float32, {}), (np.float16, {"rtol": 1e-2, "atol": 1e-2})):
            for layout in (library.VKF_LAYOUT_ROWS, library.VKF_LAYOUT_PANELS):
                lib = Counting(library)
                lib.vkf_context_get_preferred_layout = lambda *_, best=layout: best
                context = vkformer.Context()
                before = context.used_bytes
                with mock.patch.object(tensor, "lib", lib):
                    linear = vkformer.Linear({"weight": weight.astype(dtype), "bias": bias.astype(dtype)}, context=context)
                self.assertEqual(linear._tensors["weight"]._layout, layout)
                # Panels are of 32 rows; rows of their own are not kept beside them.
                self.assertLess(context.used_bytes - before, 64 * 24 * np.dtype(dtype).itemsize + 1024)
                self.assert_close(linear(x), expected, **bounds)

    def test_matmul(self):
        for i in self.draws(8):
            leading = [self.size(5) for _ in range(self.generator.integers(0, 4))]
            m, n, k = self.size(), self.size(), self.size()
            a, b = self.numbers(*leading, m, k), self.numbers(*(leading if i % 2 else []), k, n)
            self.assert_close(vkformer.matmul(a, b), a.astype(np.float64) @ b)
        for shapes in (((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 2, 3), (3, 3, 2))):
            self.assert_error(WRONG, "matmul", vkformer.matmul, *(np.zeros(shape) for shape in shapes))

    def test_softmax(self):
        for _ in self.draws(8):
            x = 4 * self.numbers(*(self.size(5) for _ in range(self.generator.integers(1, 6))))
            for dim in (*range(x.ndim), -1):
                expected = softmax_of(x.astype(np.float64), dim)
                self.assert_close(vkformer.softmax(x, dim), expected)
                self.assert_close(vkformer.Softmax(dim)(x), expected)
                self.assert_close(vkformer.log_softmax(x, dim), np.log(expected))
                self.assert_close(vkformer.LogSoftmax(dim)(x), np.log(expected))
        self.assert_error(WRONG, "no axis 2", vkformer.softmax, np.zeros((2, 2)), 2)
        self.assert_error(WRONG, "a number", vkformer.softmax, np.float32(1.5))

    def test_norms(self):
        for i in self.draws(8):
            shape = [self.size(5) for _ in range(self.generator.integers(1, 3))]
            x = self.numbers(*(self.size(5) for _ in range(i % 4)), *shape)
            weight, bias, eps = self.numbers(*shape), self.numbers(*shape), float(10.0 ** -self.generator.integers(2, 8))
            axes, wide = tuple(range(-len(shape), 0)), x.astype(np.float64)
            centred = wide - wide.mean(axes, keepdims=True)
            expected = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
            self.assert_close(vkformer.layer_norm(x, shape, eps=eps), expected)
            made = vkformer.LayerNorm({"weight": weight, "bias": bias}, eps=eps)
            self.assert_close(made(x), expected * weight + bias)
            expected = wide / np.sqrt((wide**2).mean(axes, keepdims=True) + eps)
            self.assert_close(vkformer.rms_norm(x, shape, weight, eps), expected * weight)
            self.assert_close(vkformer.RMSNorm({}, shape, eps=eps)(x), expected)
            half = vkformer.Tensor(x / 2)
            self.assert_close(vkformer.rms_norm(half, shape, weight, eps, residual=half).numpy(), expected * weight)
            self.assert_close(vkformer.layer_norm(x / 2, shape, eps=eps, residual=x / 2),
                              vkformer.layer_norm(x, shape, eps=eps))
        x = np.full((1, 4), 1e-4, np.float32)
        self.assert_close(vkformer.rms_norm(x, 4), x / np.sqrt(1e-8 + 2.0**-23), atol=0)
        self.assert_close(vkformer.rms_norm(x, 4, eps=0.0), np.ones((1, 4)), atol=0)
        self.assert_error(WRONG, "normalized_shape", vkformer.layer_norm, x, 3)
        self.assert_error(WRONG, "eps below 0", vkformer.layer_norm, x, 4, eps=-1.0)
        self.assert_error(WRONG, "'weight'", vkformer.LayerNorm, {})

    def test_embedding(self):
        weight = self.numbers(11, 6)
        for shape in ((), (5,), (2, 3), (2, 1, 2, 3, 1)):
            ids = self.generator.integers(0, 11, shape)
            self.assert_close(vkformer.embedding(ids, weight, scale=0.5), weight[ids] / 2)
            self.assert_close(vkformer.Embedding({"weight": weight})(ids), weight[ids])
        on_device = vkformer.embedding(vkformer.Tensor(np.array([3, 12, -1], np.int32)), weight)
        self.assert_close(on_device.numpy(), np.stack([weight[3], *np.zeros((2, 6))]))
        self.assert_close(vkformer.embedding([3], weight, scale=0.0), 0 * weight[[3]], atol=1e-30)
        for ids in ([11], [-1]):
            self.assert_error(WRONG, "rows 0 to 10", vkformer.embedding, ids, weight)

    def rotated(self, x, angles, interleaved):
        """x (..., L, D) turned by angles (L, pairs); what is behind the pairs stays."""
        pairs = angles.shape[-1]
        a, b = ((x[..., 0:2 * pairs:2], x[..., 1:2 * pairs:2]) if interleaved else
                (x[..., :pairs], x[..., pairs:2 * pairs]))
        turned = np.stack([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)],
                          -1 if interleaved else -2)
        return np.concatenate([turned.reshape(*x.shape[:-1], 2 * pairs), x[..., 2 * pairs:]], -1)

    def test_rotary(self):
        for i in self.draws(8):
            batch, heads, length, pairs = self.size(3), self.size(3), self.size(9), self.size(8)
            x, interleaved = self.numbers(batch, heads, length, 2 * pairs + i % 3), i % 2 == 0
            rates = 500.0 ** (-np.arange(pairs) / pairs)
            table = vkformer.rotary_table(60, 2 * pairs, 500.0)
            expected = self.rotated(x.astype(np.float64), np.arange(length)[:, np.newaxis] * rates + 4 * rates,
                                    interleaved)
            options = {"interleaved": interleaved}
            self.assert_close(vkformer.rotary(x, table, first_position=4, **options), expected)
            self.assert_close(vkformer.rotary(x[0], table, first_position=4, **options), expected[0])
            merged = vkformer.rotary(x.swapaxes(1, 2), table, first_position=4, merged=True, **options)
            self.assert_close(merged, expected.swapaxes(1, 2))
            merged = vkformer.rotary(x[0, 0], table, first_position=4, merged=True, **options)
            self.assert_close(merged, expected[0, 0])
            self.assert_close(vkformer.rotary(expected, table, first_position=4, inverse=True, **options), x)
            positions = self.generator.integers(0, 60, (batch, length))
            expected = self.rotated(x.astype(np.float64), positions[:, np.newaxis, :, np.newaxis] * rates, interleaved)
            self.assert_close(vkformer.rotary(x, table, positions, **options), expected)
            on_device = vkformer.rotary(vkformer.Tensor(x), table, vkformer.Tensor(positions.astype(np.int32)), **options)
            self.assert_close(on_device.numpy(), expected)
            self.assert_close(vkformer.rotary(x[0], table, positions[0], **options), expected[0])

    def test_sections_of_rotary(self):
        x, positions = self.numbers(2, 1, 3, 8), np.array([[0, 1, 2], [5, 5, 6]])
        rates, table = 10000.0 ** (-np.arange(4) / 4), vkformer.rotary_table(7, 8)
        angles = positions[[0, 0, 0, 1]].T * rates  # three pairs read the first positions, and one the second ones
        expected = self.rotated(x.astype(np.float64), angles, False)
        self.assert_close(vkformer.rotary(x, table, positions, sections=(3, 1)), expected)
        self.assert_close(vkformer.rotary(x, table, positions[:, np.newaxis], sections=(3, 1)), expected)
        factors = np.array([1, 2, 4, 8.0])
        found = vkformer.rotary_table(7, 8, factors=factors, magnitude=0.5)
        self.assert_close(found[:, :4], np.cos(np.arange(7)[:, np.newaxis] * rates / factors) / 2)
        self.assert_error(WRONG, "sections", vkformer.rotary, x, table, positions, sections=(1,) * 5)
        self.assert_error(WRONG, "(B, H, L, D)", vkformer.rotary, x[0, 0, 0], table)
        for arguments in ((7, 7), (-1, 8), (7, 0)):
            self.assert_error(WRONG, "rotary_table", vkformer.rotary_table, *arguments)
        self.assert_error(WRONG, "rotary_table", vkformer.rotary_table, 7, 8, factors=np.ones(3))

    def test_argmax(self):
        for _ in self.draws(4):
            x = self.numbers(*(self.size(9) for _ in range(self.generator.integers(1, 5)))).round(0)
            found = vkformer.argmax(x)
            self.assertEqual(found.dtype, np.int32)
            np.testing.assert_array_equal(found, x.argmax(-1))
            found = vkformer.argmax(vkformer.Tensor(x), last=True).numpy()
            np.testing.assert_array_equal(found, x.shape[-1] - 1 - x[..., ::-1].argmax(-1))
        self.assert_error(WRONG, "a number", vkformer.argmax, np.float32(1))

    def test_concat(self):
        for i in self.draws(6):
            shape, count = [self.size(5) for _ in range(self.generator.integers(1, 6))], self.generator.integers(1, 5)
            dim = int(self.generator.integers(-len(shape), len(shape)))
            parts = []
            for _ in range(count):
                shape[dim] = int(self.generator.integers(0, 4))
                parts.append(self.numbers(*shape, dtype=(np.float32, np.float16)[i % 2]))
            np.testing.assert_array_equal(vkformer.concat(parts, dim), np.concatenate(parts, dim))
            on_device = vkformer.concat([vkformer.Tensor(part) for part in parts], dim)
            np.testing.assert_array_equal(on_device.numpy(), np.concatenate(parts, dim))
        x = self.numbers(2, 3)
        for inputs in ([], [x, x[0]], [x, x[:1]], [x, x.astype(np.float16)], [np.float32(1)]):
            self.assert_error(WRONG, "concat", vkformer.concat, inputs, -1)

    def test_forms_of_scores(self):
        for i in self.draws(6):
            heads, rows, keys = 1 + i % 3, self.size(9), self.size(9)
            q, k, v = self.numbers(heads, rows, 4), self.numbers(heads, keys, 4), self.numbers(heads, keys, 5)
            slopes, sinks = np.abs(self.numbers(heads)), self.numbers(heads)
            distances = np.abs(np.arange(rows)[:, np.newaxis] - np.arange(keys))
            scores = 3 * np.tanh(q.astype(np.float64) @ k.swapaxes(-1, -2) / 2 / 3)
            scores = scores - slopes[:, np.newaxis, np.newaxis] * distances
            later = np.arange(keys) - np.arange(rows)[:, np.newaxis]
            scores = np.where((later > -3) & (later <= 2), scores, -np.inf)
            weights = np.exp(scores)
            weights = weights / (weights.sum(-1, keepdims=True) + np.exp(sinks)[:, np.newaxis, np.newaxis])
            options = {"window": 3, "window_right": 2, "soft_cap": 3.0}
            found = vkformer.scaled_dot_product_attention(q, k, v, slopes=slopes, sinks=sinks, **options)
            self.assert_close(found, weights @ v)
            found = vkformer.scaled_dot_product_attention(*map(vkformer.Tensor, (q, k, v)), slopes=vkformer.Tensor(slopes),
                                                          sinks=vkformer.Tensor(sinks), **options)
            self.assert_close(found.numpy(), weights @ v)

    def test_forms_of_scores_in_a_layer(self):
        state = {"in_proj_weight": self.numbers(24, 8), "out_proj.weight": np.eye(8, dtype=np.float32)}
        x, slopes, sinks = self.numbers(2, 5, 8), np.abs(self.numbers(2)), self.numbers(2)
        q, k, v = np.split(x @ state["in_proj_weight"].T, 3, -1)
        q, k, v = (each.reshape(2, 5, 2, 4).swapaxes(1, 2) for each in (q, k, v))
        options = {"window": 2, "window_right": 1, "soft_cap": 3.0, "slopes": slopes, "sinks": sinks}
        expected = vkformer.scaled_dot_product_attention(q, k, v, is_causal=True, **options)
        expected = expected.swapaxes(1, 2).reshape(2, 5, 8)
        attention = vkformer.MultiheadAttention(state, 2, batch_first=True, **options)
        for needs_weights in (False, True):
            self.assert_close(attention(x, x, x, need_weights=needs_weights, is_causal=True)[0], expected)
        for interleaved in (False, True):
            table = vkformer.rotary_table(5, 4)
            turned = [vkformer.rotary(each, table, interleaved=interleaved) for each in (q, k)]
            expected = vkformer.scaled_dot_product_attention(*turned, v).swapaxes(1, 2).reshape(2, 5, 8)
            attention = vkformer.MultiheadAttention(state, 2, batch_first=True, rotary=table,
                                                    rotary_interleaved=interleaved)
            for length in (4, 5):  # room for more than the table has is not insisted on
                part = x[:, :length]
                found = attention(part, part, part, need_weights=False)[0]
            self.assert_close(found, expected)
        self.assert_error(WRONG, "", vkformer.MultiheadAttention(state, 2, slopes=np.ones(3)), x, x, x)

    def check_attention(self, q, k, v, attn_mask=None, **options):
        """Beside the formula, where every row has a key."""
        scale = options.get("scale") or 1 / np.sqrt(q.shape[-1])
        groups = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1
        keys, values = (np.repeat(each, groups, -3) if groups > 1 else each for each in (k, v))
        scores = q.astype(np.float64) @ keys.swapaxes(-1, -2) * scale
        if attn_mask is not None:
            scores = scores + (np.where(attn_mask, 0, -np.inf) if attn_mask.dtype == bool else attn_mask)
        if options.get("is_causal"):
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        found = vkformer.scaled_dot_product_attention(q, k, v, attn_mask, **options)
        self.assert_close(found, softmax_of(scores) @ values)
        arguments = [None if each is None else vkformer.Tensor(each) for each in (q, k, v, attn_mask)]
        self.assert_close(vkformer.scaled_dot_product_attention(*arguments, **options).numpy(), found, atol=1e-6)

    def test_attention(self):
        for i in self.draws(12):
            leading = [self.size(3) % 4 + 1 for _ in range(i % 4)]
            heads, kv = int(self.generator.integers(1, 4)), 1 + i % 2
            rows, keys, d, dv = self.size(), self.size(), self.size(16), self.size(16)
            q = self.numbers(*leading, heads * kv, rows, d)
            k, v = self.numbers(*leading, kv, keys, d), self.numbers(*leading, kv, keys, dv)
            options = {"enable_gqa": True, "scale": (None, 0.3)[i % 2], "is_causal": i % 3 == 0}
            self.check_attention(q, k, v, **options)
            scores = (*leading, heads * kv, rows, keys)
            broadcast = tuple(length if self.generator.integers(2) else 1 for length in scores[:-1])
            mask = self.generator.random((*broadcast, keys)) < 0.7
            mask[..., 0] = True  # every row has a key
            cut = self.generator.integers(0, len(scores) - 1)
            mask = mask.reshape(mask.shape)[(0,) * cut]
            if mask.ndim <= 4:
                self.check_attention(q, k, v, mask, **options)
            self.check_attention(q, k, v, self.numbers(rows, keys), **options)
        self.check_attention(*(self.numbers(5, 8) for _ in range(3)), np.tri(5, dtype=bool))
        q = self.numbers(2, 1, 1, 3, 4)  # a mask with one of the dimensions before the heads is broadcast on the host
        k = v = self.numbers(2, 3, 1, 3, 4)
        mask = self.numbers(2, 1, 1, 3, 3)
        found = vkformer.scaled_dot_product_attention(np.repeat(q, 3, 1), k, v, mask)
        scores = np.repeat(q, 3, 1) @ k.swapaxes(-1, -2) / 2 + mask
        self.assert_close(found, softmax_of(scores) @ v)

    def test_masks_of_attention(self):
        q, v = self.numbers(1, 2, 3, 4), self.numbers(1, 2, 3, 4)
        mask = np.array([[True, False, True], [False] * 3, [True] * 3])
        attention = vkformer.scaled_dot_product_attention
        for rule, expected in (("zero", 0 * v[:, :, 0]), ("nan", np.nan * v[:, :, 0]), ("uniform", v.mean(2))):
            self.assert_close(attention(q, q, v, mask, fully_masked=rule)[:, :, 1], expected)
        np.testing.assert_array_equal(attention(q, q, v, mask)[:, :, 1], 0)
        self.assert_close(attention(q, q, v, is_causal=True, window=1), v)
        self.assert_close(attention(q, q, v, scale=0.0)[:, :, 0], v.mean(2))
        for shape in ((4, 3), (3, 3, 3), (1, 1, 1, 3, 3)):
            self.assert_error(WRONG, "broadcast", attention, q, q, v, np.zeros(shape, bool))
        self.assert_error(WRONG, "enable_gqa", attention, q, q[:, :1], v[:, :1])
        self.assert_error(WRONG, "dropout_p", attention, q, q, v, dropout_p=0.1)
        self.assert_error(WRONG, "same dimensions", attention, q, q[0], v)
        self.assert_error(WRONG, "same dimensions", attention, *(np.zeros((*b, 1, 2, 2)) for b in ((2, 3), (3, 2), (2, 3))))
        self.assert_error(WRONG, "of booleans or floats", attention, q, q, v, np.zeros((3, 3), np.int32))


class Tensors(Drawn):
    def test_shapes(self):
        values = self.numbers(2, 3, 4, 5)
        made = vkformer.Tensor(values)
        self.assertEqual((made.ndim, made.size, made.shape), (4, 120, (2, 3, 4, 5)))
        np.testing.assert_array_equal(made.reshape(6, -1).numpy(), values.reshape(6, 20))
        np.testing.assert_array_equal(made.reshape((120,)).reshape(1, 2, 3, 4, 5).numpy(), values[np.newaxis])
        for first in range(-4, 4):
            for second in range(-4, 4):
                np.testing.assert_array_equal(made.moveaxis(first, second).numpy(), np.moveaxis(values, first, second))
                np.testing.assert_array_equal(made.swapaxes(first, second).numpy(), values.swapaxes(first, second))
        for index in (0, 1, -1, slice(1), slice(1, None), slice(-1, 9), slice(2, 1)):
            np.testing.assert_array_equal(made[index].numpy(), values[index])
        np.testing.assert_array_equal(made[1][1:][-1].moveaxis(0, 1).numpy(), values[1, 2].T)
        self.assertEqual((len(made), len(list(made))), (2, 2))
        for index in (2, -3):
            self.assertRaises(IndexError, lambda: made[index])
        self.assert_error(WRONG, "follows each other", lambda: made[::-1])
        self.assert_error(WRONG, "no axis 0", len, made.reshape(120)[5])
        for shape in ((7,), (-1, 7), (-1, -1), (-2, 60)):
            self.assert_error(WRONG, "cannot have the shape", made.reshape, *shape)
        self.assert_error(WRONG, "no axis 4", made.moveaxis, 4, 0)
        half = made.astype(np.float16)
        np.testing.assert_array_equal(half.numpy(), values.astype(np.float16))
        np.testing.assert_array_equal(half.astype(np.float32).numpy(), values.astype(np.float16).astype(np.float32))
        self.assertRaises(ValueError, made.__array__, copy=False)
        made.close()
        self.assert_error(WRONG, "closed", made.numpy)

    def test_bfloat16_is_kept_by_its_bits(self):
        bits = np.array([[0x3F80, 0xC000, 0x7F80], [0, 0x0001, 0x4049]], np.uint16)
        made = vkformer.Tensor(bits.view(vkformer.bfloat16))
        self.assertEqual((made.dtype, made.shape), (vkformer.bfloat16, (2, 3)))
        wide = (bits.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(made.numpy(), wide)
        np.testing.assert_array_equal(made.astype(np.float32).numpy(), wide)
        self.assertIn("bf16", repr(made))

        class Foreign:  # as ml_dtypes and who builds on it
            dtype = "bfloat16"

            def __array__(self, *_):
                return bits

        self.assert_close(vkformer.Tensor(Foreign()).numpy(), made.numpy())
        weight = self.numbers(5, 8).view(np.uint32) >> 16
        weight = weight.astype(np.uint16)
        wide, x = (weight.astype(np.uint32) << 16).view(np.float32), self.numbers(3, 8)
        context = vkformer.Context()
        before = context.used_bytes
        linear = vkformer.Linear({"weight": weight.view(vkformer.bfloat16)}, context=context)
        self.assert_close(linear(x), x.astype(np.float64) @ wide.T)
        self.assertLess(context.used_bytes - before, 4 * weight.size + 4096)
        self.assert_close(vkformer.embedding([1, 4], weight.view(vkformer.bfloat16)), wide[[1, 4]])
        mixed = vkformer.LayerNorm({"weight": weight[0].view(vkformer.bfloat16), "bias": np.ones(8)})
        self.assert_close(mixed(x), vkformer.layer_norm(x, 8, wide[0], np.ones(8)))
        self.assert_error(WRONG, "holds parameters", vkformer.softmax, made)
        self.assert_error(WRONG, "ids are whole numbers", vkformer.embedding, made.numpy(), wide)

    def test_results_are_where_inputs_are(self):
        x, linear = self.numbers(2, 3, 8), vkformer.Linear({"weight": self.numbers(8, 8)})
        chain = vkformer.Sequential(linear, vkformer.Softmax(0), vkformer.Dropout(), linear)
        expected = linear(vkformer.softmax(linear(x), 0))
        self.assertIsInstance(expected, np.ndarray)
        with counting() as copies:
            found = chain(x)
        self.assert_close(found, expected)
        self.assertEqual((copies.written, copies.read), (1, 1))
        on_device = vkformer.Tensor(x)
        with counting() as copies:
            found = chain(on_device)
        self.assertEqual((copies.written, copies.read), (0, 0))
        self.assertIsInstance(found, vkformer.Tensor)
        self.assert_close(found.numpy(), expected)
        self.assertIs(vkformer.Identity()(x), x)
        self.assertEqual((len(chain), len(chain[1:]), chain[0], list(chain)[3]), (4, 3, linear, linear))

    def test_parameters_may_be_on_the_device(self):
        weight, x = vkformer.Tensor(self.numbers(4, 8)), self.numbers(3, 8)
        with counting() as copies:
            linear = vkformer.Linear({"weight": weight})
        self.assertEqual((copies.written, copies.read), (0, 0))
        self.assert_close(linear(x), x @ weight.numpy().T)
        self.assert_close(vkformer.linear(x, weight), x @ weight.numpy().T)

    def test_halves(self):
        x, weight = self.numbers(4, 8, dtype=np.float16), self.numbers(6, 8, dtype=np.float16)
        bounds = {"rtol": 2e-2, "atol": 2e-2}
        for found, expected in ((vkformer.linear(x, weight), x.astype(np.float32) @ weight.astype(np.float32).T),
                                (vkformer.softmax(x), softmax_of(x.astype(np.float32))),
                                (vkformer.embedding([2], weight), weight[[2]])):
            self.assertEqual(found.dtype, np.float16)
            self.assert_close(found, expected, **bounds)
        self.assert_error(WRONG, "to float16", vkformer.Linear({"weight": weight.astype(np.float32)}), x)

    def test_empty(self):
        weight = self.numbers(4, 8)
        for found, shape in ((vkformer.linear(np.zeros((0, 3, 8)), weight), (0, 3, 4)),
                             (vkformer.matmul(np.zeros((2, 0, 8)), weight.T), (2, 0, 4)),
                             (vkformer.softmax(np.zeros((2, 0))), (2, 0)), (vkformer.softmax(np.zeros((0, 2)), 0), (0, 2)),
                             (vkformer.layer_norm(np.zeros((0, 8)), 8), (0, 8)),
                             (vkformer.embedding(np.zeros((2, 0), int), weight), (2, 0, 8)),
                             (vkformer.activate(np.zeros((2, 0)), "relu"), (2, 0)),
                             (vkformer.argmax(np.zeros((0, 2))), (0,)),
                             (vkformer.rotary(np.zeros((0, 3, 4)), vkformer.rotary_table(3, 4)), (0, 3, 4)),
                             (vkformer.scaled_dot_product_attention(*np.zeros((3, 0, 2, 3, 4))), (0, 2, 3, 4))):
            self.assertEqual(found.shape, shape)
        self.assertEqual(vkformer.Tensor(np.zeros((0, 2), np.float32)).numpy().shape, (0, 2))
        # A sum over nothing is 0.
        self.assert_close(vkformer.linear(np.zeros((3, 0)), np.zeros((2, 0)), [1.0, 2]), np.array([[1.0, 2]] * 3))
        for shapes in (((2, 3, 0), (2, 0, 4)), ((2, 3, 0), (0, 4))):
            self.assert_close(vkformer.matmul(*map(np.zeros, shapes)), np.zeros((2, 3, 4)))


def stack_state(generator, kind, layers, d=8, hidden=16, norm=True):
    """The parameters of a TransformerEncoder or TransformerDecoder, and those of each layer."""
    attentions = ("self_attn",) if kind == "Encoder" else ("self_attn", "multihead_attn")
    shapes = {"linear1.weight": (hidden, d), "linear1.bias": (hidden,), "linear2.weight": (d, hidden),
              "linear2.bias": (d,)}
    for name in attentions:
        shapes |= {f"{name}.in_proj_weight": (3 * d, d), f"{name}.in_proj_bias": (3 * d,),
                   f"{name}.out_proj.weight": (d, d), f"{name}.out_proj.bias": (d,)}
    for i in range(len(attentions) + 1):
        shapes |= {f"norm{i + 1}.weight": (d,), f"norm{i + 1}.bias": (d,)}
    each = [{name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
            for _ in range(layers)]
    state = {f"layers.{i}.{name}": value for i, one in enumerate(each) for name, value in one.items()}
    if norm:
        state |= {"norm.weight": generator.normal(size=d).astype(np.float32), "norm.bias": np.ones(d, np.float32)}
    return state, each


class Stacks(Drawn):
    def test_a_stack_is_its_layers(self):
        x, memory = self.numbers(2, 5, 8), self.numbers(2, 3, 8)
        for kind, inputs in (("Encoder", (x,)), ("Decoder", (x, memory))):
            state, each = stack_state(self.generator, kind, 3)
            options = {"batch_first": True, "norm_first": True, "activation": "gelu"}
            make = getattr(vkformer, "Transformer" + kind + "Layer")
            expected = x
            for one in each:
                expected = make(one, 2, **options)(expected, *inputs[1:])
            expected = vkformer.layer_norm(expected, 8, state["norm.weight"], state["norm.bias"])
            stack = getattr(vkformer, "Transformer" + kind)(state, 2, **options)
            self.assertEqual((stack.num_layers, stack.d_model, stack.nhead), (3, 8, 2))
            with counting() as copies:
                found = stack(*inputs)
            self.assert_close(found, expected)
            self.assertEqual((copies.written, copies.read), (len(inputs), 1))
            with counting() as copies:
                on_device = stack(*map(vkformer.Tensor, inputs))
            self.assertEqual((copies.written, copies.read), (len(inputs), 0))  # those of making the tensors
            self.assert_close(on_device.numpy(), expected)
            stack.batch_first = False
            turned = stack(*(vkformer.Tensor(each.swapaxes(0, 1)) for each in inputs))
            self.assert_close(turned.numpy(), expected.swapaxes(0, 1))
            self.assert_close(stack(*(each[0] for each in inputs)), expected[0])

    def test_transformer(self):
        encoder, _ = stack_state(self.generator, "Encoder", 2)
        decoder, _ = stack_state(self.generator, "Decoder", 2, norm=False)
        state = {**{"encoder." + name: value for name, value in encoder.items()},
                 **{"decoder." + name: value for name, value in decoder.items()}}
        src, tgt = self.numbers(2, 5, 8), self.numbers(2, 3, 8)
        padding = np.array([[False] * 5, [False] * 3 + [True] * 2])
        memory = vkformer.TransformerEncoder(encoder, 2, batch_first=True)(src, src_key_padding_mask=padding)
        expected = vkformer.TransformerDecoder(decoder, 2, batch_first=True)(
            tgt, memory, memory_key_padding_mask=padding, tgt_is_causal=True)
        made = vkformer.Transformer(state, 2, batch_first=True)
        with counting() as copies:
            found = made(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding, tgt_is_causal=True)
        self.assert_close(found, expected)
        self.assertEqual((copies.written, copies.read), (4, 1))
        self.assert_error(WRONG, "'generator.weight'", vkformer.Transformer, {**state, "generator.weight": src}, 2)

    def test_wrong_parameters(self):
        state, _ = stack_state(self.generator, "Encoder", 3)
        make = vkformer.TransformerEncoder
        self.assert_error(WRONG, "no parameter is of 'layers.0'", make, {}, 2)
        del state["layers.1.linear1.weight"]
        self.assert_error(WRONG, "'layers.1.linear1.weight'", make, state, 2)
        self.assert_error(WRONG, "multihead_attn", make, stack_state(self.generator, "Decoder", 1)[0], 2)
        self.assert_error(WRONG, "'layers.0.multihead_attn.out_proj.weight'", vkformer.TransformerDecoder,
                          stack_state(self.generator, "Encoder", 1)[0], 2)

    def test_empty(self):
        encoder = vkformer.TransformerEncoder(stack_state(self.generator, "Encoder", 2)[0], 2, batch_first=True)
        decoder = vkformer.TransformerDecoder(stack_state(self.generator, "Decoder", 2)[0], 2, batch_first=True)
        state = {"in_proj_weight": self.numbers(24, 8), "out_proj.weight": self.numbers(8, 8)}
        attention = vkformer.MultiheadAttention(state, 2, batch_first=True)
        for shape in ((0, 3, 8), (2, 0, 8), (0, 8)):
            for kind in (lambda array: array, vkformer.Tensor):
                x = kind(np.zeros(shape, np.float32))
                self.assertEqual(encoder(x).shape, shape)
                self.assertEqual(decoder(x, kind(np.zeros(shape, np.float32))).shape, shape)
                output, weights = attention(x, x, x)
                self.assertEqual((output.shape, weights.shape), (shape, (*shape[:-1], shape[-2])))
                self.assertEqual(type(weights), type(output))
        x, none = np.zeros((2, 3, 8), np.float32), np.zeros((2, 0, 8), np.float32)
        self.assert_error(WRONG, "keys is empty", decoder, x, none)
        self.assert_error(WRONG, "keys is empty", attention, x, none, none)

    def test_a_sequence_that_grows(self):
        encoder = vkformer.TransformerEncoder(stack_state(self.generator, "Encoder", 2)[0], 2, batch_first=True)
        x, made = self.numbers(2, 24, 8), []
        chain = layer.Chain
        with mock.patch("vkformer.transformer.Chain", lambda *arguments: made.append(arguments[1]) or chain(*arguments)):
            for length in range(1, 25):
                found = encoder(x[:1, :length], is_causal=True)
            self.assertEqual(made, [(1, n, n) for n in (1, 2, 3, 4, 6, 9, 13, 19, 28)])
            expected = encoder(x, is_causal=True)[:1]
        self.assertEqual(made[-1], (2, 28, 28))
        self.assert_close(found, expected)

    def test_room_for_more_is_not_insisted_on(self):
        encoder = vkformer.TransformerEncoder(stack_state(self.generator, "Encoder", 1)[0], 2, batch_first=True)
        chain, refused = layer.Chain, []

        def make(context, sizes, makers):
            if sizes[1] > 5:
                refused.append(sizes)
                raise vkformer.Error("too large", "VKF_ERROR_OUT_OF_DEVICE_MEMORY")
            return chain(context, sizes, makers)

        x = self.numbers(1, 5, 8)
        with mock.patch("vkformer.transformer.Chain", make):
            encoder(x[:, :4])
            found = encoder(x)
        self.assertEqual(refused, [(1, 6, 6)])
        self.assert_close(found, encoder(x))


@unittest.skipUnless(torch, "PyTorch is not installed")
class TorchCase(Drawn):
    """Beside PyTorch in float64."""

    def setUp(self):
        super().setUp()
        torch.manual_seed(SEED)
        if hasattr(torch.backends, "mha"):  # of which masks and rows without a key are as of all other ways
            torch.backends.mha.set_fastpath_enabled(False)

    def assert_same(self, found, module, *inputs, **options):
        """`found` is what was computed in place of the module in float32; it is left in float64."""
        wide = [value.double() if torch.is_tensor(value) and value.is_floating_point() else value for value in inputs]
        options = {name: value.double() if torch.is_tensor(value) and value.is_floating_point() else value
                   for name, value in options.items()}
        with torch.no_grad():
            expected = module.double()(*wide, **options)
        self.assertIsInstance(found, torch.Tensor)
        self.assert_close(found.double().numpy(), expected.numpy())


class Trees(TorchCase):
    def options(self, i):
        return {"dim_feedforward": self.size(), "dropout": 0.3, "batch_first": i % 2 == 0, "norm_first": i % 3 == 0,
                "activation": ("relu", "gelu")[i // 2 % 2], "layer_norm_eps": (1e-5, 1e-3)[i // 3 % 2]}

    def masks(self, batch, rows, keys, i):
        """One of (rows, keys) and one of keys, of both kinds; the first key of every row is attended."""
        mask, padding = torch.rand(rows, keys) < 0.3, torch.rand(batch, keys) < 0.3
        mask[:, 0] = padding[:, 0] = False
        if i % 2:
            mask = torch.zeros(rows, keys).masked_fill(mask, float("-inf")) + torch.rand(rows, keys)
        return mask, padding

    def sequence(self, batch, length, d, batch_first):
        return torch.randn(batch, length, d) if batch_first else torch.randn(length, batch, d)

    def test_encoders(self):
        for i in self.draws(8):
            heads, options = 1 + i % 3, self.options(i)
            d, batch, length = 4 * heads * (1 + i % 2), self.size(4), self.size(20)
            layer_made = nn.TransformerEncoderLayer(d, heads, **options)
            module = nn.TransformerEncoder(layer_made, 1 + i % 3, nn.LayerNorm(d) if i % 2 else None).eval()
            mask, padding = self.masks(batch, length, length, i)
            src = self.sequence(batch, length, d, options["batch_first"])
            made = vkformer.from_torch(module)
            self.assert_same(made(src, mask, padding), module, src, mask, padding)

    def test_transformers(self):
        for i in self.draws(6):
            heads, options = 1 + i % 3, self.options(i)
            d, batch, s, t = 4 * heads, self.size(4), self.size(20), self.size(20)
            module = nn.Transformer(d, heads, 1 + i % 2, 1 + (i + 1) % 3, **options).eval()
            src, tgt = (self.sequence(batch, length, d, options["batch_first"]) for length in (s, t))
            masks = {}
            for name, rows, keys in (("src", s, s), ("tgt", t, t), ("memory", t, s)):
                masks[f"{name}_mask"], masks[f"{name}_key_padding_mask"] = self.masks(batch, rows, keys, i)
            made = vkformer.Transformer.from_torch(module)
            self.assert_same(made(src, tgt, **masks), module, src, tgt, **masks)

    def test_an_eps_of_zero(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, layer_norm_eps=0.0).eval()
        x = 1e-3 * torch.randn(2, 3, 8)
        for part in layer.parameters():
            part.data *= 1e-3  # norms are of small numbers, beside which 1e-5 counts
        self.assert_same(vkformer.from_torch(layer)(x), layer, x)

    def test_a_tree(self):
        for i in self.draws(4):
            d = 8 * (1 + i % 2)
            norm = [nn.RMSNorm(d)] if hasattr(nn, "RMSNorm") else []
            module = nn.Sequential(
                nn.Embedding(30, d), nn.Dropout(0.5), nn.Sequential(nn.Linear(d, 2 * d), nn.Identity(), nn.Softmax(1)),
                nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2 * d, 2 * d), nn.Mish(), nn.ELU(0.5), nn.LogSoftmax(-1)),
                nn.Linear(2 * d, d, bias=False), nn.LayerNorm((self.size(7), d), elementwise_affine=i % 2 == 0), *norm,
                nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 2, 16, batch_first=True), 2)).eval()
            ids = torch.randint(0, 30, (3, module[5].normalized_shape[0]))
            made = vkformer.from_torch(module)
            with counting() as copies:
                found = made(ids)
            self.assertEqual((copies.written, copies.read), (1, 1))
            self.assert_same(found, module, ids)

    def test_what_has_no_counterpart_is_named(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
        encoder.layers[1].norm2.eps = 1e-3
        module = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Conv1d(1, 1, 1), encoder), nn.Softmax(),
                               nn.Embedding(3, 8, max_norm=1.0))
        for words in ("1.0 is a torch.nn.modules.conv.Conv1d, which has no counterpart",
                      "1.1.layers.1.norm2 has another eps", "2 has no dim", "3 has max_norm"):
            self.assert_error(WRONG, words, vkformer.from_torch, module)
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.BatchNorm1d(8))
        self.assert_error(WRONG, "norm is a torch.nn.modules.batchnorm.BatchNorm1d", vkformer.from_torch, encoder)
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
        encoder.layers[1] = nn.TransformerEncoderLayer(8, 4, 16)
        self.assert_error(WRONG, "layers.1 has nhead 4", vkformer.from_torch, encoder)
        self.assert_error(WRONG, "no layers", vkformer.from_torch,
                          nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 0))
        hooked = nn.Sequential(nn.Linear(8, 8))
        hooked[0].register_forward_hook(lambda *_: None)
        self.assert_error(WRONG, "0 has forward hooks", vkformer.from_torch, hooked)
        self.assert_error(WRONG, "0 changes its input in place", vkformer.from_torch, nn.Sequential(nn.ReLU(inplace=True)))
        transformer = nn.Transformer(8, 2, 1, 1, 16, custom_decoder=encoder)
        self.assert_error(WRONG, "decoder", vkformer.from_torch, transformer)
        self.assert_error(WRONG, "builtins.int", vkformer.from_torch, 3)

    def test_classes_of_a_program_are_its_own(self):
        class Conv1d(vkformer.Module):
            pass

        self.assert_error(WRONG, "no counterpart", vkformer.from_torch, nn.Conv1d(1, 1, 1))
        self.assertIsInstance(Conv1d(), vkformer.Module)

    def test_fully_masked(self):
        module = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
        x, padding = torch.randn(2, 3, 8), torch.tensor([[0, 0, 0], [1, 1, 1]]).bool()
        for rule, nans in (("nan", 24), ("zero", 0), ("uniform", 0)):
            found = vkformer.from_torch(nn.Sequential(module), fully_masked=rule)[0](x, src_key_padding_mask=padding)
            self.assertEqual(int(found.isnan().sum()), nans)

    def test_bfloat16(self):
        module = nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16),
                               nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)).eval().bfloat16()
        x = torch.randn(2, 5, 16).bfloat16()
        context = vkformer.Context()
        made = vkformer.from_torch(module, context=context)
        self.assertLess(context.used_bytes, 3 * sum(p.numel() for p in module.parameters()) + 65536)
        found = made(x)
        self.assertEqual(found.dtype, torch.bfloat16)
        with torch.no_grad():
            expected = module.double()(x.double())
        self.assert_close(found.double().numpy(), expected.numpy(), rtol=1e-2, atol=1e-2)
        self.assert_close(made(x.float()).double().numpy(), expected.numpy())
        half = vkformer.Tensor(torch.ones(2).bfloat16())
        self.assertEqual((half.torch().dtype, half.dtype), (torch.bfloat16, vkformer.bfloat16))


class Net(nn.Module if torch else object):
    """A model that is code in part."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.tail = nn.Sequential(nn.Dropout(), nn.Linear(16, 16), nn.LayerNorm(16), nn.Conv1d(5, 5, 1), nn.Softmax(-1),
                                  nn.Linear(16, 8), nn.Identity(), nn.PReLU(), nn.Dropout())
        self.activation = nn.Softmax(-1)
        self.head = nn.ModuleDict({"tied": nn.Linear(8, 16), "out": nn.Linear(16, 3)})
        self.nothing = None
        self.register_module("none", None)

    def forward(self, ids):
        hidden = self.encoder(self.embed(ids))
        hidden, weights = self.attention(hidden, hidden, hidden)
        hidden = self.head["tied"](self.tail(hidden)) + self.head["tied"].bias
        return self.head["out"](self.activation(hidden)), weights


class Swaps(TorchCase):
    def test_a_model_is_swapped_and_swapped_back(self):
        net, ids = Net().eval(), torch.randint(0, 20, (2, 5))
        parts = dict(net.named_modules())
        with torch.no_grad():
            expected = net(ids)
            self.assertIs(vkformer.swap(net), net)
            with counting() as copies:
                found = net(ids)
        # Embedding, encoder, attention, the two runs of the tail, and two Linears; the attention gives its weights, too.
        self.assertEqual((copies.written, copies.read), (7, 8))
        for one, other in zip(found, expected):
            self.assert_close(one.numpy(), other.numpy())
        left = set(net.modules())
        self.assertEqual({name for name, part in parts.items() if part in left},
                         {"", "tail.3", "tail.7", "tail.8", "activation", "head"})
        self.assertEqual(net.encoder.layers[0].linear1.weight.shape, (32, 16))
        for ask in (lambda: net.tail[3], lambda: list(net.tail), lambda: len(net.tail)):
            self.assertRaises(TypeError, ask)
        self.assertEqual({name.split(".")[0] for name, _ in net.named_parameters()}, {"tail"})
        self.assertIs(vkformer.unswap(net), net)
        self.assertEqual(dict(net.named_modules()), parts)
        self.assertEqual([part.training for part in net.modules()], [False] * len(parts))

    def test_the_whole_and_with(self):
        module, x = nn.Sequential(nn.Softmax(-1), nn.Linear(4, 4)).eval(), torch.randn(3, 4)
        with vkformer.swapped(module) as whole, torch.no_grad():
            self.assertIsNot(whole, module)
            self.assert_close(whole(x).numpy(), module(x).numpy())
        whole = vkformer.swap(module)
        whole.train()
        self.assertIs(vkformer.unswap(whole), module)
        self.assertTrue(module[1].training)
        self.assertIs(type(vkformer.swap(nn.Softmax(-1).eval())), nn.Softmax)
        part = nn.Sequential(nn.Softmax(-1), nn.PReLU()).eval()
        self.assertIs(vkformer.swap(part), part)
        copy.deepcopy(part)
        net = Net().eval()
        with self.assertRaisesRegex(ZeroDivisionError, "enough"):
            with vkformer.swapped(net):
                self.assertIsNot(type(net.encoder), nn.TransformerEncoder)
                raise ZeroDivisionError("enough")
        self.assertIs(type(net.encoder), nn.TransformerEncoder)

    def test_a_part_that_stands_twice(self):
        shared = nn.Linear(4, 4)
        module = nn.ModuleList([shared, nn.PReLU(), shared]).eval()
        vkformer.swap(module)
        self.assertIs(module[0], module[2])
        vkformer.unswap(module)
        self.assertIs(module[0], shared)
        x = torch.randn(3, 4)
        for between in (nn.Tanh(), nn.PReLU()):
            module = nn.Sequential(shared, between, shared, shared).eval()
            with torch.no_grad(), vkformer.swapped(module) as whole:
                self.assert_close(whole(x).numpy(), module(x).numpy())
        stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
        stack.layers[1] = stack.layers[0]
        x = torch.randn(2, 3, 8)
        self.assert_same(vkformer.from_torch(stack)(x), stack, x)

    def test_lists_are_looped_over(self):
        class Loops(nn.Module):
            def __init__(self):
                super().__init__()
                self.list = nn.ModuleList([nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)])
                self.dict = nn.ModuleDict({"out": nn.Linear(4, 2)})

            def forward(self, x):
                for part in self.list:
                    x = part(x)
                return self.dict["out"](x)

        net, x = Loops().eval(), torch.randn(3, 4)
        with torch.no_grad():
            expected = net(x)
            with vkformer.swapped(net):
                self.assert_close(net(x).numpy(), expected.numpy())
        inside = nn.Sequential(nn.Linear(4, 4), net, nn.PReLU()).eval()
        parts = dict(inside.named_modules())
        with torch.no_grad():
            expected_inside = inside(x)
            with vkformer.swapped(inside) as whole:
                self.assertEqual(type(net.dict["out"]).__name__, "Swapped")
                self.assert_close(whole(x).numpy(), expected_inside.numpy())
        self.assertEqual(dict(inside.named_modules()), parts)
        made, of_dict = vkformer.from_torch(net.list), vkformer.from_torch(net.dict)
        self.assert_close(of_dict["out"](made[2](made[:2][1](made[0](x)))).numpy(), expected.numpy())
        self.assertEqual((len(made), list(of_dict), len(of_dict)), (3, ["out"], 1))
        self.assert_error(WRONG, "is not called", made, x)

    def test_what_drops_out_all_the_same(self):
        module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 4)).eval()
        module[1].train()
        with vkformer.swapped(module) as whole:
            self.assertEqual([type(part).__name__ for part in whole.parts], ["Swapped", "Dropout", "Swapped"])
        self.assertEqual([part.training for part in module], [False, True, False])

    def test_a_subclass_of_a_layer_keeps_its_own_code(self):
        class Own(nn.TransformerEncoderLayer):
            def forward(self, src, *arguments, **options):
                return 2 * super().forward(src, *arguments, **options)

        module, x = nn.TransformerEncoder(Own(8, 2, 16, batch_first=True), 2).eval(), torch.randn(2, 3, 8)
        with torch.no_grad():
            expected = module(x)
            with vkformer.swapped(module):
                self.assert_close(module(x).numpy(), expected.numpy())

    def test_types(self):
        ids = torch.randint(0, 20, (2, 5))
        module = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 16), nn.LayerNorm(16)).eval()
        with torch.no_grad():
            expected = module(ids)
            for dtype in (torch.bfloat16, torch.float16):
                with vkformer.swapped(module.to(dtype)) as whole:
                    found = whole(ids)
                self.assertEqual(found.dtype, dtype)
                self.assert_close(found.float().numpy(), expected.numpy(), rtol=3e-2, atol=3e-2)
        wide = nn.Sequential(nn.Linear(4, 4).double()).eval()
        self.assertIs(vkformer.swap(wide), wide)
        self.assertIs(type(wide[0]), nn.Linear)

    def test_inference_alone(self):
        self.assert_error(WRONG, "training mode", vkformer.swap, Net())
        whole = vkformer.swap(nn.Linear(4, 4).eval())
        x = torch.randn(2, 4, requires_grad=True)
        self.assert_error(WRONG, "no_grad", whole, x)
        with torch.no_grad():
            self.assertFalse(whole(x).requires_grad)
        whole.train()
        self.assert_error(WRONG, "eval mode", whole, x)
        self.assert_error(WRONG, "builtins.int", vkformer.swap, 3)
