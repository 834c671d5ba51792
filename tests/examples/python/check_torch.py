"""The layers beside PyTorch's own, where that is installed."""
import copy
import functools
import unittest

import numpy as np

import vkformer

from package_support import WRONG, Numbers

try:
    import torch
    from torch import nn
    from torch.nn.utils import parametrize, prune
except ImportError:
    torch = None

LOW = [float(np.finfo(np.float32).min), -1.7014118e38, -1e30, -65504.0]


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, **options).eval()


@unittest.skipUnless(torch, "PyTorch is not installed")
class Torch(Numbers):
    def setUp(self):
        torch.manual_seed(0)
        if hasattr(torch.backends, "mha"):  # of which masks and rows without a key are as of all other ways
            torch.backends.mha.set_fastpath_enabled(False)

    def assert_same(self, found, expected, **bounds):
        self.assert_close(found, expected.detach().numpy(), **bounds)

    def test_modules(self):
        module = nn.MultiheadAttention(32, 4, batch_first=True).eval()
        attention = vkformer.MultiheadAttention.from_torch(module)
        x = torch.randn(2, 5, 32, requires_grad=True)
        padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        for found, expected in zip(attention(x, x, x, key_padding_mask=padding),
                                   module(x, x, x, key_padding_mask=padding)):
            self.assert_same(found, expected)
            torch.from_dlpack(found)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", norm_first=True).eval()
        self.assert_same(vkformer.TransformerEncoderLayer.from_torch(layer)(x), layer(x))
        layer = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True).eval()
        self.assert_same(vkformer.TransformerDecoderLayer.from_torch(layer)(x, x), layer(x, x))

    def test_activations(self):
        x = torch.randn(2, 5, 8)
        functions = nn.functional
        for activation in ("relu", "gelu", torch.tanh, torch.relu, functions.silu, functions.mish, functions.hardswish,
                           functions.hardsigmoid, functions.leaky_relu, functions.elu, torch.sigmoid, nn.ReLU(),
                           nn.ReLU(inplace=True), nn.GELU(), nn.GELU(approximate="tanh"), nn.SiLU(), nn.Tanh(), nn.ELU(),
                           nn.LeakyReLU(), nn.Mish(), nn.Sigmoid(), nn.Hardswish(), nn.Hardsigmoid()):
            with self.subTest(str(activation)):
                layer = encoder_layer(activation=activation)
                self.assert_same(vkformer.TransformerEncoderLayer.from_torch(layer)(x), layer(x))

    def test_a_float_mask_is_added_as_it_is(self):
        # A stack of layers, as a batch that is padded on the left meets it: the rows of padding have `low` everywhere.
        x, layers = torch.randn(2, 6, 64), [nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True).eval()
                                            for _ in range(2)]
        for low in LOW:
            with self.subTest(low):
                mask = torch.zeros(6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), low)
                mask[:, :2] = low
                expected, found = x, x.numpy()
                for layer in layers:
                    expected = layer(expected, src_mask=mask)
                    found = vkformer.TransformerEncoderLayer.from_torch(layer)(found, src_mask=mask)
                # Beside -65504 a score has 7 bits behind the point, which two sums may round apart.
                self.assert_same(found, expected, atol=5e-3 if low == -65504 else 5e-5)
                self.check_attention(x, mask)

    def check_attention(self, x, mask):
        module = nn.MultiheadAttention(64, 4, batch_first=True).eval()
        attention = vkformer.MultiheadAttention.from_torch(module)
        bounds = {"atol": 5e-3} if mask.min() == -65504 else {}
        # Before version 2 a mask of keys is of booleans, and one of floats is taken for them.
        paddings = [None] if torch.__version__ < "2" else [None, mask[:2] * torch.tensor([[0], [1]])]
        for padding in paddings:
            for needs in (True, False):
                found, expected = (call(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=needs)[0]
                                   for call in (attention, module))
                # Two masks of the lowest number are -inf together, for PyTorch, too.
                rows = ~found.isnan().any(-1)
                self.assertTrue(rows[0].all())
                self.assert_close(found[rows], expected.detach()[rows], **bounds)

    def test_half_of_the_lowest_number_is_a_mask(self):
        state = {"in_proj_weight": np.concatenate([np.eye(8)] * 3).astype(np.float16),
                 "out_proj.weight": np.eye(8, dtype=np.float16)}
        x = np.linspace(-1, 1, 24).astype(np.float16).reshape(1, 3, 8)
        mask = np.array([[0, -65504, -65504], [-65504] * 3, [0, 0, -65504]], np.float16)
        found, weights = vkformer.MultiheadAttention(state, 1, batch_first=True)(x, x, x, attn_mask=mask)
        np.testing.assert_allclose(weights[0, 0], [1, 0, 0], atol=1e-6)
        # Beside -65504 scores of 0.1 or so have 7 bits behind the point.
        np.testing.assert_allclose(weights[0, 1], np.full(3, 1 / 3), atol=1e-2)
        self.assertEqual(weights[0, 2, 2], 0)
        self.assertFalse(np.isnan(found).any())

    def test_rows_without_a_key(self):
        x, padding = torch.randn(2, 3, 8), torch.tensor([[0, 0, 0], [1, 1, 1]]).bool()
        layer, module = encoder_layer(), nn.MultiheadAttention(8, 2, batch_first=True).eval()
        make = vkformer.TransformerEncoderLayer.from_torch
        self.assertTrue(np.isnan(make(layer)(x, src_key_padding_mask=padding)[1]).all())
        # Since 2.5 PyTorch computes zeros where no weights are wanted and gradients are. Weights of older ones are NaN.
        expected = layer(x, src_key_padding_mask=padding)
        found = make(layer, fully_masked="zero")(x, src_key_padding_mask=padding)
        self.assert_close(found[0], expected[0].detach().numpy())
        self.assertFalse(np.isnan(found).any())
        if not expected.isnan().any():
            self.assert_same(found, expected)
        decoder = nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True).eval()
        for rule, nans in (("nan", 24), ("zero", 0), ("uniform", 0)):
            attention = vkformer.MultiheadAttention.from_torch(module, fully_masked=rule)
            output, weights = attention(x, x, x, key_padding_mask=padding)
            self.assertEqual(np.isnan(output).sum(), nans)
            share = {"nan": np.nan, "zero": 0, "uniform": 1 / 3}[rule]
            np.testing.assert_allclose(weights[1], np.full((3, 3), share), rtol=1e-6)
            made = vkformer.TransformerDecoderLayer.from_torch(decoder, fully_masked=rule)
            self.assertEqual(np.isnan(made(x, x, memory_key_padding_mask=padding)).sum(), nans)
        for kind, state in ((vkformer.MultiheadAttention, module), (vkformer.TransformerEncoderLayer, layer)):
            self.assert_error(WRONG, "'none': take one of nan", kind, state.state_dict(), 2, fully_masked="none")

    def test_halves_need_halves(self):
        module = nn.MultiheadAttention(8, 2)
        x = np.zeros((3, 1, 8), np.float16)
        self.assert_error(WRONG, "all parameters to float16", vkformer.MultiheadAttention.from_torch(module), x, x, x)
        self.assert_error(WRONG, "convert the inputs", vkformer.TransformerEncoderLayer.from_torch(encoder_layer()), x)


def changed(module, path, value):
    module = copy.deepcopy(module)
    *parents, name = path.split(".")
    setattr(functools.reduce(getattr, parents, module), name, value)
    return module


def with_hook(part, register):
    module = encoder_layer()
    getattr(functools.reduce(getattr, part.split(".") if part else [], module), register)(lambda *_: None)
    return module


@unittest.skipUnless(torch, "PyTorch is not installed")
class Refusals(Numbers):
    """What is not computed as the module does is named."""

    def refused(self, words, make, module):
        with self.subTest(words):
            self.assert_error(WRONG, words, make, module)

    def test_encoder_layers(self):
        class OwnLayer(nn.TransformerEncoderLayer):
            def forward(self, src, **_):
                return src

        class OwnLinear(nn.Linear):
            pass

        layer, attention = encoder_layer(), nn.MultiheadAttention(8, 2, batch_first=True, add_zero_attn=True)
        bias_kv = nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True)
        other = nn.MultiheadAttention(8, 2, batch_first=False)
        parametrized = encoder_layer()
        parametrize.register_parametrization(parametrized.linear2, "weight", nn.Tanh())
        pruned = encoder_layer()
        prune.l1_unstructured(pruned.linear1, "weight", amount=0.5)
        extra = encoder_layer()
        extra.gate = nn.Linear(8, 8)
        make = vkformer.TransformerEncoderLayer.from_torch
        for words, module in (
                ("norm1", changed(layer, "norm1", nn.RMSNorm(8)) if hasattr(nn, "RMSNorm") else
                 changed(layer, "norm1", nn.Identity())),
                ("norm2", changed(layer, "norm2", nn.GroupNorm(1, 8))),
                ("another eps", changed(layer, "norm2.eps", 1e-3)),
                ("over 8", changed(layer, "norm2", nn.LayerNorm((3, 8)))),
                ("OwnLayer", OwnLayer(8, 2, 16)), ("linear1", changed(layer, "linear1", OwnLinear(8, 16))),
                ("TransformerDecoderLayer", nn.TransformerDecoderLayer(8, 2, 16)),
                ("linear2", parametrized), ("linear1", pruned), ("'gate.bias'", extra),
                ("self_attn", changed(layer, "self_attn", attention)),
                ("bias_k", changed(layer, "self_attn", bias_kv)),
                ("out_proj", changed(layer, "self_attn.out_proj", OwnLinear(8, 8))),
                ("dropout1", changed(layer, "dropout1", nn.ReLU())),
                ("activation", changed(layer, "activation", lambda x: x)),
                ("activation", changed(layer, "activation", nn.functional.softplus)),
                ("activation is no activation", changed(layer, "activation", nn.ELU(2.0))),
                ("activation is no activation", changed(layer, "activation", nn.Identity())),
                ("activation is a torch.nn.modules.activation.PReLU", changed(layer, "activation", nn.PReLU())),
                ("forward()", changed(layer, "forward", lambda src: src)),
                ("self_attn", changed(layer, "self_attn.forward", lambda *_: None)),
                ("builtins.dict", {}),
                *((f"{part or 'the module'} ", with_hook(part, register))
                  for part in ("", "norm1", "self_attn")
                  for register in ("register_forward_hook", "register_forward_pre_hook"))):
            self.refused(words, make, module)
        decoder = nn.TransformerDecoderLayer(8, 2, 16)
        self.refused("multihead_attn", vkformer.TransformerDecoderLayer.from_torch,
                     changed(decoder, "multihead_attn", other if decoder.self_attn.batch_first else bias_kv))
        self.refused("norm3", vkformer.TransformerDecoderLayer.from_torch, changed(decoder, "norm3", nn.Identity()))

    def test_attention(self):
        class OwnAttention(nn.MultiheadAttention):
            pass

        make = vkformer.MultiheadAttention.from_torch
        self.refused("OwnAttention", make, OwnAttention(8, 2))
        self.refused("TransformerEncoderLayer", make, encoder_layer())
        self.refused("out_proj", make, changed(nn.MultiheadAttention(8, 2), "out_proj", nn.Identity()))

    def test_state_dicts_have_nothing_else(self):
        attention = nn.MultiheadAttention(8, 2).state_dict()
        self.assert_error(WRONG, "'foo'", vkformer.MultiheadAttention, {**attention, "foo": torch.zeros(3)}, 2)
        self.assert_error(WRONG, "'q_proj_weight'", vkformer.MultiheadAttention,
                          {**attention, "q_proj_weight": torch.zeros(8, 8)}, 2)
        decoder = nn.TransformerDecoderLayer(8, 2, 16).state_dict()
        self.assert_error(WRONG, "'norm3.weight'", vkformer.TransformerEncoderLayer, decoder, 2)
        self.assert_error(WRONG, "multihead_attn", vkformer.TransformerDecoderLayer, encoder_layer().state_dict(), 2)
