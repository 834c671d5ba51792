"""tools/vendors' matrix on a terminal: kernels down, chips across, spills in red."""
from .compiling import CHIPS
from .kernels import GAP, choices, is_of_all, slices, spilled, spills, worst

RED, DIM, PLAIN = "\033[1;31m", "\033[2m", "\033[0m"

LEGEND = """\
Registers of 32 bits per invocation, the worst of the types that a kernel is compiled for. 96!12: of 96 registers, and
12 values (12B: bytes) spilled to memory. FAIL: does not compile. ?: the driver does not tell.
Empty: the chip %s it.
"""


def field(kernels):
    """(text, whether it is bad) of one kernel on one chip."""
    kernel = worst(kernels)
    if kernel is None:
        return "", False
    if not kernel["compiled"]:
        return "FAIL", True
    registers = (kernel["statistics"] or {}).get("registers")
    text = "?" if registers is None else str(registers)
    return (text + "!" + spilled(kernel).replace(" ", ""), True) if spills(kernel) else (text, False)


def coloured(text, width, colour, code):
    """Right-aligned; the code takes no place."""
    return " " * (width - len(text)) + (code + text + PLAIN if colour and text else text)


def matrix(raw, columns, colour):
    """Without a limit where `columns` is None."""
    chips = [chip for chip in raw["chips"] if chip["kernels"]]
    every = is_of_all(chips)
    rows = [(name, [field(kernels) for kernels in by_chip]) for name, _, by_chip in choices(chips, not every)]
    widths = [max([len(chip["chip"])] + [len(fields[i][0]) for _, fields in rows]) for i, chip in enumerate(chips)]
    first = max([len("kernel")] + [len(name) for name, _ in rows])
    text = []
    for part in slices(widths, first, columns or float("inf")):
        head = [coloured(chips[i]["chip"], widths[i], colour, DIM) for i in part]
        text += [GAP.join(["kernel".ljust(first), *head]).rstrip()]
        for name, fields in rows:
            cells = [coloured(fields[i][0], widths[i], colour and fields[i][1], RED) for i in part]
            text += [GAP.join([name.ljust(first), *cells]).rstrip()]
        text.append("")
    text += ["%s: %s %s, %s" % (chip["chip"], CHIPS[chip["chip"]].vendor, CHIPS[chip["chip"]].title, chip["driver"])
             for chip in chips]
    return "\n".join(text) + "\n\n" + LEGEND % ("cannot use" if every else "does not take")
