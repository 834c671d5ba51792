"""Cases and results in files: safetensors and config.json, as tests/golden/README.md describes them."""
import json
import os
import struct

import numpy as np

TYPES = {"F32": np.dtype("<f4"), "I32": np.dtype("<i4"), "BOOL": np.dtype("bool")}
NAMES = {dtype: name for name, dtype in TYPES.items()}


class Broken(Exception):
    """A file is not what it has to be."""


def save_tensors(path, tensors):
    header, blobs, offset = {}, [], 0
    # Wide types first: every tensor is aligned then, and there are no holes.
    for name, array in sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        blob = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def parse_header(content):
    if len(content) < 8:
        raise Broken("shorter than 8 bytes")
    size = struct.unpack("<Q", content[:8])[0]
    if size > len(content) - 8:
        raise Broken("header of %d bytes exceeds the file" % size)
    try:
        header = json.loads(content[8:8 + size])
        header.pop("__metadata__", None)
        return 8 + size, sorted((entry["data_offsets"], name, entry["dtype"], tuple(entry["shape"]))
                                for name, entry in header.items())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Broken("bad header: %r" % error) from error


def load_tensors(path):
    """{name: array}. Raises Broken for holes, overlaps, trailing bytes and types that no case has."""
    with open(path, "rb") as f:
        content = f.read()
    position, rows = parse_header(content)
    first, tensors = position, {}
    for (begin, end), name, dtype, shape in rows:
        if dtype not in TYPES:
            raise Broken("%s: type %s" % (name, dtype))
        count = int(np.prod(shape, dtype=np.int64))
        if first + begin != position or end - begin != count * TYPES[dtype].itemsize or first + end > len(content):
            raise Broken("%s: data_offsets [%d, %d] do not fit" % (name, begin, end))
        tensors[name] = np.frombuffer(content, TYPES[dtype], count, position).reshape(shape).copy()
        position = first + end
    if position != len(content):
        raise Broken("%d trailing bytes" % (len(content) - position))
    return tensors


class Case:
    """config, weights, inputs and expected, as a directory of a case holds them."""

    def __init__(self, config, weights, inputs, expected=None):
        self.config, self.weights, self.inputs, self.expected = config, weights, inputs, expected

    def tensors(self):
        return [*self.weights.values(), *self.inputs.values(), *(self.expected or {}).values()]


def case_names(directory):
    if not os.path.isdir(directory):
        return []
    return sorted(name for name in os.listdir(directory)
                  if name.startswith("case_") and os.path.isdir(os.path.join(directory, name)))


def find_cases(directory):
    """Paths below `directory`: its cases, or those of the directories in it."""
    below = [os.path.join(name, case) for name in (sorted(os.listdir(directory)) if os.path.isdir(directory) else [])
             for case in case_names(os.path.join(directory, name)) if not name.startswith("case_")]
    return case_names(directory) + below


def save_case(path, case):
    os.makedirs(path)
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as f:
        json.dump(case.config, f, indent=1, sort_keys=True)
    for name in ("weights", "inputs", "expected"):
        save_tensors(os.path.join(path, name + ".safetensors"), getattr(case, name))


def load_case(path):
    with open(os.path.join(path, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    return Case(config, *(load_tensors(os.path.join(path, name + ".safetensors"))
                          for name in ("weights", "inputs", "expected")))
