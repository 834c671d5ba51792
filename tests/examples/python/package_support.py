"""What the tests of the package share."""
import json
import pathlib
import struct
import sys
import unittest

import numpy as np

import vkformer

TESTS = pathlib.Path(sys.argv[1])
PRETRAINED = TESTS / "pretrained"
DTYPES = {"F32": np.float32, "I32": np.int32, "BOOL": np.bool_}
SENTENCE = "A cat sat there."
NEW = 12  # tokens that expected.jsonl has at most


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
