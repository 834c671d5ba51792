"""What the tests of the package share."""
import json
import os
import pathlib
import struct
import sys
import unittest
from unittest import mock

import numpy as np

import vkformer
from vkformer import context, layer, tensor

TESTS = pathlib.Path(sys.argv[1])
PRETRAINED = TESTS / "pretrained"
DTYPES = {"F32": np.float32, "I32": np.int32, "BOOL": np.bool_}
WRONG = "VKF_ERROR_INVALID_ARGUMENT"
SEED = int(os.environ.get("VKF_TEST_SEED", "1"))
SENTENCE = "A cat sat there."
NEW = 12  # tokens that expected.jsonl has at most
if "VKF_TEST_DEVICE" in os.environ:  # of what is given no context
    context._default[os.getpid()] = vkformer.Context(os.environ["VKF_TEST_DEVICE"])


def read_safetensors(path):
    if not path.is_file():
        return {}
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[begin + first:begin + last], DTYPES[entry["dtype"]]).reshape(
                entry["shape"])
    return tensors


def expected_rows(model):
    return [json.loads(line) for line in (PRETRAINED / model / "expected.jsonl").read_text("utf-8").splitlines()]


class Numbers(unittest.TestCase):
    maxDiff = None

    def assert_close(self, found, expected, rtol=1e-4, atol=5e-5):
        self.assertEqual(found.shape, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)

    def assert_error(self, status, words, function, *arguments, **options):
        with self.assertRaises(vkformer.Error) as raised:
            function(*arguments, **options)
        self.assertEqual(raised.exception.status, status)
        self.assertIn(words, str(raised.exception))


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
