"""Trees of PyTorch's modules, converted and swapped, beside PyTorch in float64 where that is installed."""
import copy
import unittest

import vkformer

from package_support import SEED, WRONG, Drawn, counting

try:
    import torch
    from torch import nn
except ImportError:
    torch = None


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


    def test_indices_stay_whole(self):
        x = torch.zeros(2, 400).bfloat16()
        x[0, 257] = x[1, 399] = 1
        found = vkformer.argmax(x)
        self.assertEqual((found.dtype, found.tolist()), (torch.int32, [257, 399]))

    def test_what_computes_nothing(self):
        for module in (vkformer.Identity(), vkformer.Dropout(),
                       vkformer.from_torch(nn.Sequential(nn.Dropout(), nn.Identity()).eval())):
            for x in (torch.ones(3), torch.ones(3).bfloat16(), torch.ones(3, requires_grad=True)):
                self.assertIs(module(x), x)


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
