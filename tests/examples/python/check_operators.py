"""Operators beside NumPy."""
import math
from unittest import mock

import numpy as np

import vkformer
from vkformer import tensor

from package_support import WRONG, Counting, Drawn, softmax_of


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
        half = np.full((1, 4), 1e-3, np.float16)
        wide = half.astype(np.float64)
        for found in (vkformer.rms_norm(half, 4), vkformer.RMSNorm({}, 4)(half)):
            self.assert_close(found, wide / np.sqrt(wide**2 + 2.0**-23), rtol=1e-3)
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

    def drawn_index(self, shape, axis, count, most):
        """Along `axis` so many of `most` places, none twice, and in other dimensions the shape's length or 1."""
        shape = [length if self.generator.integers(2) else 1 for length in shape]
        shape[axis] = count
        places = np.argsort(self.generator.random((*shape[:axis], most, *shape[axis + 1:])), axis)
        return np.take(places, range(count), axis) - most * self.generator.integers(0, 2, shape)

    def test_gather(self):
        for i in self.draws(8):
            x = self.numbers(*(self.size(5) for _ in range(1 + i % 4)), dtype=(np.float32, np.float16)[i // 4])
            dim = int(self.generator.integers(-x.ndim, x.ndim))
            index = self.drawn_index(x.shape, dim % x.ndim, self.size(9) % (x.shape[dim] + 1), x.shape[dim])
            wide = np.broadcast_to(index, (*x.shape[:dim % x.ndim], index.shape[dim], *x.shape[dim % x.ndim + 1:]))
            expected = np.take_along_axis(x, wide, dim)
            np.testing.assert_array_equal(vkformer.gather(x, dim, index), expected)
            on_device = vkformer.gather(vkformer.Tensor(x), dim, vkformer.Tensor(index.astype(np.int32)))
            np.testing.assert_array_equal(on_device.numpy(), expected)
        x = self.numbers(3, 4)
        rows = vkformer.gather(x, 0, vkformer.Tensor(np.array([[2], [3], [-4]], np.int32)))
        np.testing.assert_array_equal(rows.numpy(), np.stack([x[2], 0 * x[0], 0 * x[0]]))
        for index, words in (([[4]], "4 long"), ([[-5]], "4 long"), ([0], "as many dimensions"), ([[0.5]], "whole")):
            self.assert_error(WRONG, words, vkformer.gather, x, 1, index)
        self.assert_error(WRONG, "no axis 2", vkformer.gather, x, 2, [[0]])

    def test_scatter(self):
        reductions = {None: lambda old, new: new, "add": np.add, "multiply": np.multiply, "max": np.maximum,
                      "min": np.minimum, "sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
        for i in self.draws(9):
            x = self.numbers(*(self.size(5) for _ in range(1 + i % 4)))
            dim = int(self.generator.integers(-x.ndim, x.ndim))
            axis, reduce = dim % x.ndim, list(reductions)[i]
            index = self.drawn_index(x.shape, axis, self.size(9) % (x.shape[dim] + 1), x.shape[dim])
            if reduce:  # several for one place
                index //= 2
            src = self.numbers(*x.shape[:axis], index.shape[axis], *x.shape[axis + 1:])
            expected = x.astype(np.float64)
            for at in np.ndindex(src.shape):
                to = *at[:axis], int(np.broadcast_to(index, src.shape)[at]), *at[axis + 1:]
                expected[to] = reductions[reduce](expected[to], src[at])
            self.assert_close(vkformer.scatter(x, dim, index, src, reduce=reduce), expected)
            arguments = (vkformer.Tensor(each) for each in (index.astype(np.int32), src))
            self.assert_close(vkformer.scatter(vkformer.Tensor(x), dim, *arguments, reduce=reduce).numpy(), expected)
        x, src = self.numbers(3, 4), self.numbers(2, 4)
        found = vkformer.scatter(x, 0, vkformer.Tensor(np.array([[3], [1]], np.int32)), src).numpy()
        np.testing.assert_array_equal(found, np.stack([x[0], src[1], x[2]]))
        self.assert_error(WRONG, "3 long", vkformer.scatter, x, 0, [[3], [1]], src)
        self.assert_error(WRONG, "'mean'", vkformer.scatter, x, 0, [[0], [1]], src, reduce="mean")
        self.assert_error(WRONG, "source", vkformer.scatter, x, 0, [[0], [1]], src[:, :3])

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

    def test_lengths_and_positions_of_attention(self):
        for i in self.draws(8):
            batch, rows, keys = (self.size(3), 2)[:i % 3], self.size(9), self.size(17)
            q, k, v = (self.numbers(*batch, 2, length, 4) for length in (rows, keys, keys))
            lengths = self.generator.integers(0, keys + 1, batch)
            first, window = int(self.generator.integers(0, 9)), int(self.generator.integers(1, 6))
            key, query = np.arange(keys), np.arange(rows)[:, np.newaxis]
            count = lengths[..., np.newaxis, np.newaxis, np.newaxis]
            for options, own, there in (
                    ({"lengths": lengths}, keys, key < count),
                    ({"lengths": lengths.reshape(-1), "is_causal": True}, query + count - rows, key < count),
                    ({"lengths": lengths, "is_causal": True, "window": window}, query + count - rows,
                     (key < count) & (key > query + count - rows - window)),
                    ({"first_position": first, "is_causal": True}, query + first, key < keys),
                    ({"first_position": first, "window": window}, query + first, key > query + first - window),
                    ({"lengths": 1, "first_position": first}, keys, key < 1)):
                seen = np.broadcast_to(there & (key <= own), (*batch, 2, rows, keys))
                weights = np.exp(q.astype(np.float64) @ k.swapaxes(-1, -2) / 2) * seen
                expected = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ v
                found = vkformer.scaled_dot_product_attention(q, k, v, **options)
                self.assert_close(found, expected)
            on_device = vkformer.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                              lengths=vkformer.Tensor(lengths.astype(np.int32)))
            found = vkformer.scaled_dot_product_attention(q, k, v, is_causal=True, lengths=lengths)
            np.testing.assert_array_equal(on_device, found)
        x = np.zeros((2, 1, 3, 4))
        for lengths, words in (([1, 4], "3 keys"), ([-1, 1], "3 keys"), ([1], "the batch is (2,)"),
                               ([1.0, 2.0], "lengths are whole numbers")):
            self.assert_error(WRONG, words, vkformer.scaled_dot_product_attention, x, x, x, lengths=lengths)
        self.assert_error(WRONG, "first_position", vkformer.scaled_dot_product_attention, x, x, x, is_causal=True,
                          lengths=1, first_position=1)

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
