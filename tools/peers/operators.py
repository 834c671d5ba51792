"""Calls vkformer's operators with the cases of other projects' tests, and judges and counts what comes back."""
import argparse
import collections
import json
import random
import typing
import zlib

import numpy as np

import vkformer
from vkformer._native import ffi, lib
from vkformer.errors import check
from vkformer.layer import exactly

# Of a result, beside the largest of its numbers where that is less than 1, by its type.
BOUNDS = {"float32": (1e-5, 1e-5), "float16": (2e-3, 2e-3), "bfloat16": (1.6e-2, 1.6e-2)}
DESCS = {"scaled_dot_product_attention": "sdpa", "dequantize_linear": "quantize_linear"}


class Missing(Exception):
    """What a case wants and vkformer has not."""


class Case(typing.NamedTuple):
    name: str
    operator: str
    compute: typing.Callable  # of a Runner and a generator of random numbers: the result, and what it should be


class Runner:
    """Calls operators: arrays in, an array out."""

    def __init__(self, device):
        self.context = vkformer.Context(device)

    def tensor(self, array):
        if array.dtype not in (np.float32, np.float16, vkformer.bfloat16, np.int32, np.int8, np.uint8, np.bool_):
            raise Missing("elements of %s" % array.dtype)
        if array.ndim > 4:
            raise Missing("tensors of more than four dimensions")
        return vkformer.Tensor(array, context=self.context)

    def call(self, name, out_shape, out_dtype, inputs, fields, in_place=None):
        """The operator `name` of a desc, whose tensors are `inputs` and `out`, and whose other members are `fields`.
        `out` may be an input: `in_place` is its name."""
        desc = ffi.new("vkf_%s_desc *" % DESCS.get(name, name))
        tensors = {member: self.tensor(array) for member, array in inputs.items() if array is not None}
        out = tensors[in_place] if in_place else vkformer.Tensor._new(self.context, out_shape, out_dtype)
        for member, tensor in {**tensors, "out": out}.items():
            setattr(desc, member, tensor._c()[0])
        for member, value in fields.items():
            setattr(desc, member, value)
        check(getattr(lib, "vkf_" + name)(self.context._handle, desc))
        return out.numpy()

    def move(self, name, x, out_shape, out_dtype):
        """One of the functions that take two tensors and nothing else."""
        given, out = self.tensor(x), vkformer.Tensor._new(self.context, out_shape, out_dtype)
        check(getattr(lib, "vkf_" + name)(self.context._handle, given._c(), out._c()))
        return out.numpy()

    def concat(self, arrays, dim, out_shape):
        given = [self.tensor(array) for array in arrays]
        inputs = ffi.new("vkf_tensor[]", len(given))
        for i, tensor in enumerate(given):
            ffi.memmove(ffi.addressof(inputs, i), tensor._c(), ffi.sizeof("vkf_tensor"))
        return self.call("concat", out_shape, arrays[0].dtype, {},
                         {"inputs": inputs, "input_count": len(given), "dim": dim})

    def activate(self, x, activation, alpha=0.0):
        return self.call("activate", x.shape, x.dtype, {"x": x}, {"activation": activation, "alpha": alpha})

    def split_heads(self, x):
        b, l, h, d = x.shape
        return self.move("split_heads", x, (b, h, l, d), x.dtype)

    def merge_heads(self, x):
        b, h, l, d = x.shape
        return self.move("merge_heads", x, (b, l, h, d), x.dtype)

    def gemm(self, a, b, c=None, **fields):
        """Matrices, or stacks of as many."""
        rows = a.shape[-1] if fields.get("transpose_a") else a.shape[-2]
        columns = b.shape[-2] if fields.get("transpose_b") else b.shape[-1]
        shape = (*a.shape[:-2], rows, columns)
        c = None if c is None else np.broadcast_to(c, shape)
        fields.setdefault("alpha", 1)
        return self.call("gemm", shape, a.dtype, {"a": a, "b": b, "c": c}, fields)

    def softmax(self, x, axis=-1, **fields):
        rows = last_axis(x, axis)
        return np.moveaxis(self.call("softmax", rows.shape, rows.dtype, {"x": rows}, fields), -1, axis)

    def norm(self, x, dim, weight, bias, eps, rms, **options):
        """Of rows of `dim` elements, whatever the shape."""
        given = {name: array.reshape(-1, dim) for name, array in options.pop("inputs", {}).items()}
        out = self.call("layer_norm", (x.size // dim, dim), x.dtype,
                        {"x": x.reshape(-1, dim), "weight": weight, "bias": bias, **given},
                        {"eps": exactly(eps), "rms": rms, **options.pop("fields", {})}, **options)
        return out.reshape(x.shape)


def last_axis(x, axis):
    return np.ascontiguousarray(np.moveaxis(x, axis, -1))


def judge(result, expected):
    """("right", "") or ("wrong", how far). The bounds are those of the result's type, and shrink with numbers that are
    all small, as those of a long softmax are. Of several results the first that is wrong."""
    if isinstance(result, list):
        verdicts = [judge(*pair) for pair in zip(result, expected, strict=True)]
        return next((wrong for wrong in verdicts if wrong[0] == "wrong"), ("right", ""))
    if result.shape != expected.shape:
        return "wrong", "the shape is %s, and not %s" % (result.shape, expected.shape)
    relative, absolute = BOUNDS.get(str(result.dtype), (0, 0))
    if str(result.dtype) == "bfloat16":  # of which NumPy knows little
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    finite = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind == "f" else np.zeros(0)
    absolute *= min(1.0, float(finite.max()) if finite.size else 1.0)
    if np.allclose(result, expected, relative, absolute, equal_nan=True):
        return "right", ""
    return "wrong", "off by %s" % np.nanmax(np.abs(result.astype(np.float64) - expected))


def verdict(run, case, seed):
    """("right", ""), ("wrong", why) or ("missing", what). A case's numbers are drawn by its name."""
    try:
        return judge(*case.compute(run, np.random.default_rng([seed, zlib.crc32(case.name.encode())])))
    except Missing as reason:
        return "missing", str(reason)
    except vkformer.Error as error:
        return "wrong", str(error)


def in_turns(cases, seed):
    """In an order that the seed draws: one of each operator, and of each that has more another one, over and over."""
    draw, of_operator = random.Random(seed), collections.defaultdict(list)
    for case in cases:
        of_operator[case.operator].append(case)
    for rest in of_operator.values():
        draw.shuffle(rest)
    while any(of_operator.values()):
        yield from [rest.pop() for rest in of_operator.values() if rest]


def print_table(counts, wants):
    print("| operator | cases | right | wrong | wanting |")
    print("|---|---:|---:|---:|---|")
    for operator in sorted(counts):
        c = counts[operator]
        reasons = ", ".join("%s (%d)" % item for item in wants[operator].most_common())
        print("| %s | %d | %d | %d | %s |" % (operator, sum(c.values()), c["right"], c["wrong"], reasons))


def main(program, title, description, epilog, make_cases):
    """The program `program`, whose cases `make_cases` gives for the operators that are asked for (None: all).
    Exit status 1 when a result is wrong, or none is right."""
    parser = argparse.ArgumentParser(prog=program, description=description, epilog=epilog,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="as vkformer.Context takes it (default: the best)")
    parser.add_argument("--operator", action="append", metavar="NAME", help="these alone; repeatable")
    parser.add_argument("--case", metavar="TEXT", help="those alone whose names have this text")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="as many that can be said, drawn by the seed (default: all)")
    parser.add_argument("--seed", type=int, default=20261120, metavar="N",
                        help="of what is drawn (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="an object for each case, as a line of JSON")
    options = parser.parse_args()
    run = Runner(options.device)
    cases = [case for case in make_cases(options.operator) if not options.case or options.case in case.name]
    sample = len(cases) if options.sample is None else options.sample
    counts, wants = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    total = collections.Counter()
    for case in in_turns(cases, options.seed):
        if total["right"] + total["wrong"] >= sample:
            break
        what, why = verdict(run, case, options.seed)
        counts[case.operator][what] += 1
        total[what] += 1
        if what == "missing":
            wants[case.operator][why] += 1
        if options.list:
            print(json.dumps({"case": case.name, "operator": case.operator, "is": what, "why": why}))
        elif what == "wrong":
            print("WRONG: %s, seed %d: %s" % (case.name, options.seed, why), flush=True)
    if not options.list:
        print("%s, %s, seed %d" % (title, run.context.device_name, options.seed))
        print_table(counts, wants)
        print("%d cannot be said, of %d that were tried, and %d that there are" % (
            total["missing"], sum(total.values()), len(cases)))
        print("%d passed, %d failed" % (total["right"], total["wrong"]))
    return 1 if total["wrong"] or not total["right"] else 0
