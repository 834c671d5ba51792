"""Tensors on the device, and modules beside the operators that they are made of."""
from unittest import mock

import numpy as np

import vkformer
from vkformer import layer

from package_support import WRONG, Drawn, counting, softmax_of


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
        self.assertIsInstance(vkformer.Identity()([1.0]), np.ndarray)
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
                             (vkformer.gather(np.zeros((2, 3)), 1, np.zeros((1, 0), int)), (2, 0)),
                             (vkformer.scatter(np.zeros((2, 3)), 1, np.zeros((1, 0), int), np.zeros((2, 0))), (2, 3)),
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

    def test_forms_of_scores_in_the_layers(self):
        def attend(state, name, *inputs, **options):
            own = {key[len(name):]: value for key, value in state.items() if key.startswith(name)}
            causal = {"is_causal": options.pop("is_causal", False), "need_weights": False}
            return vkformer.MultiheadAttention(own, 2, batch_first=True, **options)(*inputs, **causal)[0]

        def norm(x, state, name):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * state[name + ".weight"] + state[name + ".bias"]

        for i in self.draws(6):
            kind, length = ("Encoder", "Decoder")[i % 2], self.size(9)
            x, memory = self.numbers(2, length, 8), self.numbers(2, 3, 8)
            forms = ({"slopes": np.abs(self.numbers(2)), "soft_cap": 2.0}, {"sinks": self.numbers(2), "window": 2},
                     {"rotary": vkformer.rotary_table(length, 4), "rotary_interleaved": i % 2 == 0, "window_right": 1})
            options = forms[i // 2]
            state, each = stack_state(self.generator, kind, 2, norm=False)
            expected = x.astype(np.float64)
            for one in each:
                expected = norm(expected + attend(one, "self_attn.", *[expected] * 3, is_causal=True, **options), one,
                                "norm1")
                if kind == "Decoder":
                    expected = norm(expected + attend(one, "multihead_attn.", expected, memory, memory), one, "norm2")
                hidden = np.maximum(expected @ one["linear1.weight"].T + one["linear1.bias"], 0)
                expected = norm(expected + hidden @ one["linear2.weight"].T + one["linear2.bias"], one,
                                "norm2" if kind == "Encoder" else "norm3")
            make = getattr(vkformer, "Transformer" + kind)
            inputs, causal = ((x,), "is_causal") if kind == "Encoder" else ((x, memory), "tgt_is_causal")
            self.assert_close(make(state, 2, batch_first=True, **options)(*inputs, **{causal: True}), expected)
        wrong = vkformer.TransformerEncoderLayer(stack_state(self.generator, "Encoder", 1)[1][0], 2, slopes=np.ones(3))
        self.assert_error(WRONG, "slopes", wrong, x)

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
