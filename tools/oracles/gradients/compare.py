"""Results beside what is expected."""
import collections

import numpy as np

RTOL, ATOL = 2e-4, 2e-5
# Of the largest upstream gradient. A tensor below it vanishes but for rounding in float64, as the gradient of queries
# that see one key does, and the norm of one column.
VANISHED = 1e-9
EXACT = ("permute",)  # nothing is computed

Compared = collections.namedtuple("Compared", "problem ratio")


def largest(array):
    return float(np.abs(array).max(initial=0.0))


def upstream_size(case):
    return max(largest(array) for name, array in case.inputs.items() if name.startswith("grad_"))


def scale_of(case, name):
    """What ATOL is relative to: the largest element, or where the tensor vanishes the largest upstream gradient."""
    size, upstream = largest(case.expected[name]), upstream_size(case)
    return upstream if size <= VANISHED * upstream else size


def compare_tensor(case, name, got, rtol, atol):
    """The worst error in units of what is allowed, and a problem when that is more than 1."""
    want = case.expected[name]
    if got.dtype != want.dtype or got.shape != want.shape:
        return Compared("is %s %s, expected %s %s" % (got.dtype, got.shape, want.dtype, want.shape), np.inf)
    if not np.isfinite(got).all():
        return Compared("%d of %d elements are not finite" % ((~np.isfinite(got)).sum(), got.size), np.inf)
    if case.config["of"] in EXACT:
        rtol = atol = 0.0
    error = np.abs(got.astype(np.float64) - want)
    allowed = rtol * np.abs(want.astype(np.float64)) + atol * scale_of(case, name)
    ratio = np.divide(error, allowed, out=np.where(error > 0, np.inf, 0.0), where=allowed > 0)
    worst = np.unravel_index(int(ratio.argmax()), ratio.shape)
    if ratio[worst] <= 1:
        return Compared(None, float(ratio[worst]))
    return Compared("%d of %d elements out of tolerance; worst at %s: got %.9g, expected %.9g" % (
        (ratio > 1).sum(), ratio.size, list(map(int, worst)), got[worst], want[worst]), float(ratio[worst]))


def compare(case, results, rtol=RTOL, atol=ATOL):
    """{tensor: Compared}; tensors that are missing, and those that nobody asked for, are problems."""
    compared = {name: compare_tensor(case, name, results[name], rtol, atol) if name in results
                else Compared("is missing", np.inf) for name in case.expected}
    compared.update({name: Compared("is not expected", np.inf) for name in results if name not in case.expected})
    return compared
