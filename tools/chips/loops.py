"""The hot loops that `vkformer shaders --loops` read, as tables: on a terminal and in Markdown."""
import collections

from .kernels import GAP, choices, is_of_all, slices

# What one turn of a hot loop does; None for what is not known. Numbers as the program gives them.
Loop = collections.namedtuple("Loop", "multiply_adds bytes_per_load in_flight shared_per_multiply_add barriers share")

LEGEND = """\
The share of its roof that the hot loop can reach by the chip's published rates, and what binds it: m multiply-adds,
b memory's bandwidth, s shared memory, i issue of other instructions, e exp2, l loads from the core's cache, w waiting
for loads, d delays between instructions. The lowest of the types that a kernel is compiled for. -: no such rates;
Honeykrisp prints no assembly.
"""
LETTERS = {"multiply-adds": "m", "memory": "b", "shared memory": "s", "issue": "i", "exp2": "e", "loads": "l",
           "latency": "w", "delays": "d"}

HEAD = """\
## Hot loops of the defaults

What one turn of the hot loop does: the share of its roof that it can reach by the chip's published rates, and what
binds it; the bytes of a load from global memory, for each invocation, x how many of them are under way at a time; bytes
of shared memory for each multiply-add; barriers. The lowest share among the types that the kernel is taken for; `-` is
what does not apply or is not known. [shaders.md](shaders.md#the-hot-loop) says how to read it. Kernels without
multiply-adds are left out, and so is %s, whose driver prints no assembly.

"""


def loop_of(kernel):
    """A Loop, or None where no loop was read."""
    loop = kernel.get("loop")
    return loop and Loop(loop["multiply_adds"], loop["bytes_per_load"], loop["loads_in_flight"],
                         loop["shared_bytes_per_multiply_add"], loop["barriers"], loop["share"])


def has_products(kernel):
    loop = kernel.get("loop")
    return bool(loop) and loop["multiply_adds"] > 0


def lowest(kernels):
    """The kernel with multiply-adds whose loop reaches the least, one whose reach is unknown only among others."""
    found = [kernel for kernel in kernels if has_products(kernel)]
    return min(found, key=lambda kernel: (kernel["loop"]["share"] is None, kernel["loop"]["share"]), default=None)


def number(value):
    return "-" if value is None else "%.3g" % value


def reach(loop):
    """The share and what binds, in words."""
    return "-" if loop["share"] is None else "%.0f %% %s" % (100 * loop["share"], loop["bound"])


def short_field(kernels):
    kernel = lowest(kernels)
    if kernel is None:
        return ""
    loop = kernel["loop"]
    return "-" if loop["share"] is None else "%.0f%%%s" % (100 * loop["share"], LETTERS[loop["bound"]])


def long_field(kernels):
    kernel = lowest(kernels)
    if kernel is None:
        return ""
    loop = kernel["loop"]
    return "%s; %s x %d; %s; %d" % (reach(loop), number(loop["bytes_per_load"]), loop["loads_in_flight"],
                                    number(loop["shared_bytes_per_multiply_add"]), loop["barriers"])


def with_loops(chips):
    return [chip for chip in chips if any(has_products(kernel) for kernel in chip["kernels"])]


def rows_of(chips, defaults, field):
    """[(kernel, one text for each chip)] of kernels that have products somewhere."""
    rows = [(name, [field(kernels) for kernels in by_chip]) for name, _, by_chip in choices(chips, defaults)]
    return [(name, fields) for name, fields in rows if any(fields)]


def loop_matrix(raw, columns):
    """The text for a terminal, or nothing where no loop was read."""
    chips = with_loops(raw["chips"])
    if not chips:
        return ""
    rows = rows_of(chips, not is_of_all(chips), short_field)
    widths = [max([len(chip["chip"])] + [len(fields[i]) for _, fields in rows]) for i, chip in enumerate(chips)]
    first = max([len("hot loop")] + [len(name) for name, _ in rows])
    text = []
    for part in slices(widths, first, columns or float("inf")):
        for name, fields in [("hot loop", [chip["chip"] for chip in chips]), *rows]:
            text.append(GAP.join([name.ljust(first), *(fields[i].rjust(widths[i]) for i in part)]).rstrip())
        text.append("")
    return "\n".join(text) + "\n" + LEGEND


def loop_table(chips, table):
    """The section in Markdown, or nothing where no loop was read; `table` makes one of a head and lines."""
    read = with_loops(chips)
    if not read:
        return ""
    silent = ", ".join(chip["chip"] for chip in chips if chip not in read) or "no chip"
    lines = [[name, *fields] for name, fields in rows_of(read, True, long_field)]
    return "\n" + HEAD % silent + table(["kernel", *(chip["chip"] for chip in read)], lines)
