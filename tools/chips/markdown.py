"""tools/vendors' tables in Markdown: docs/vendors.md."""
from .compiling import CHIPS
from .kernels import (choices, findings, grouped, is_of_all, labels_of, row_key, shader_of, spilled, spills,
                    types_of, worst)
from .loops import loop_table

HEAD = """\
# What the vendors' compilers make of the kernels

Made on %s by `%s`; do not edit.

Every kernel with %s,
compiled by the vendor's own open compiler through a kernel shim that does nothing, without the hardware: a Linear with
bias, attention without a mask over heads of 64, 128 and 256 (in parts, where a choice makes nothing else), layer norm
with weight and bias. A variant is a kernel for certain types with one such choice, and a head's size. Intel's GPUs
are missing: Debian has no shim for their driver. ARM's are emulated, and here only where `--chips g610` asks for it.

"""

EVERY_CHOICE = "every choice of its tile parameters that a chip can use"
DEFAULT_CHOICES = "those choices of its tile parameters that a chip takes by default"

READING = """\
A field holds **registers / waves**, and what spills, if anything does. Registers are of 32 bits, of one invocation;
waves are subgroups that a unit of the chip holds at a time, the more the better it hides memory's latency, and compare
within a column alone. A `-` stands for what the driver does not tell; an empty field for a kernel that the chip cannot
use or, in the table of defaults, does not take.

| driver | registers | spills | waves |
|---|---|---|---|
| RADV (AMD) | VGPRs, 256 at most | VGPRs that were spilled, or bytes of scratch memory | subgroups of a SIMD |
| Turnip (Qualcomm) | 4 to each vector of "Registers used" | stores to private memory, of arrays too | waves of a core |
| NVK (NVIDIA) | GPRs, 255 at most | values spilled to memory, or bytes of it | warps of an SM |
| Honeykrisp (Apple) | half of its GPRs of 16 bits | spills, or bytes of scratch memory | threads of a core / 32 |
"""

CHOSEN_HEAD = """\
## What is chosen by default

As long as nothing was measured on the device, and nothing may be rounded: the kernels and, after each, its choices, for
products (Linear layers of 1 to 1024 rows, scores and values of attention whose weights are asked for) and fused
attention (512 queries and 1, over 512 keys).

"""

DEFAULT_HEAD = """\
## Defaults

Every choice that some chip takes by default for a typical problem, in full precision, with float32 rounded
(VKF_PRECISION_F16) or with sums rounded, too (VKF_PRECISION_F16_SUMS): the worst among the types that it is taken for.

"""

WORST_HEAD = """\
## The worst of each kernel

Over all types and choices; in parentheses the choice whose figures these are. The kernels that spill much were written
for processors and keep whole rows in registers; to any other device they are the last choice.
`tools/vendors --all --json FILE` keeps every variant with the drivers' own figures, `--full` tabulates them all.

"""

FULL_HEAD = """\
## All variants

**Bold** is what is taken by default for some typical problem, in full precision, with float32 rounded
(VKF_PRECISION_F16) or with sums rounded, too (VKF_PRECISION_F16_SUMS).
"""


def table(head, lines):
    text = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(text + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def figures(kernel):
    if not kernel["compiled"]:
        return "**fails**"
    statistics = kernel["statistics"]
    if not statistics:
        return "compiles"
    text = "%s / %s" % tuple("-" if statistics[key] is None else statistics[key] for key in ("registers", "waves"))
    if spills(kernel):
        text += ", spills " + spilled(kernel)
    return text


def cell(kernel):
    if kernel is None:
        return ""
    return "**%s**" % figures(kernel) if kernel["default_for"] else figures(kernel)


def merged_rows(rows):
    """[(types, config, cells)] of one shader: types that compile to the same everywhere share a line."""
    merged = {}
    for (kernel, config, constants), cells in rows:
        key = (config + (", " + constants if constants else ""), tuple(cells))
        merged.setdefault(key, []).append(kernel.partition(".")[2])
    return [(types, config, cells) for (config, cells), types in merged.items()]


def shader_tables(chips):
    """A section for each shader: the part of a kernel's name before its types."""
    found = [{row_key(kernel): kernel for kernel in chip["kernels"]} for chip in chips]
    keys = dict.fromkeys(key for kernels in found for key in kernels)
    shaders = {}
    for key in keys:
        cells = [cell(kernels.get(key)) for kernels in found]
        shaders.setdefault(key[0].partition(".")[0], []).append((key, cells))
    text = ["\n", FULL_HEAD]
    for shader, rows in shaders.items():
        lines = [[config, ", ".join(types), *cells] for types, config, cells in merged_rows(rows)]
        text += ["\n### %s\n\n" % shader, table(["config", "types", *(chip["chip"] for chip in chips)], lines)]
    return text


def default_table(chips):
    """A line for each choice that some chip takes by default for something: the worst of the types it is taken for."""
    lines = [[name, ", ".join(problems), *(figures(worst(kernels)) if kernels else "" for kernels in by_chip)]
             for name, problems, by_chip in choices(chips, defaults=True)]
    return table(["kernel", "for", *(chip["chip"] for chip in chips)], lines)


def worst_of(kernels):
    if not kernels:
        return ""
    kernel = worst(kernels)
    text = "%s (%s)" % (figures(kernel), kernel["config"])
    spilling = sum(bool(spills(kernel)) for kernel in kernels)
    return text + "; %d of %d spill" % (spilling, len(kernels)) if spilling else text


def worst_table(chips):
    lines = [[shader, *(worst_of(kernels) for kernels in by_chip)]
             for shader, by_chip in grouped(chips, shader_of).items()]
    return table(["kernel", *(chip["chip"] for chip in chips)], lines)


def choice(chip, is_of_op, types):
    """The shaders and their configs that a chip takes by default for operands of these types, without rounding."""
    found = {}
    for kernel in chip["kernels"]:
        exact = any(not rounds for _, rounds in labels_of(kernel))
        if is_of_op(shader_of(kernel)) and exact and set(types_of(kernel).split("_")) <= types:
            found.setdefault(shader_of(kernel), {})[kernel["config"]] = True
    return "; ".join("%s %s" % (shader, ", ".join(configs)) for shader, configs in found.items())


def is_product(shader):
    return shader.startswith(("gemm", "gemv")) and shader != "gemm_reduce"


def is_attention(shader):
    return shader.startswith("attention_") and not shader.startswith(("attention_grad", "attention_reduce", "attention_train"))


def choice_table(chips):
    f32, f16 = {"f32"}, {"f16", "f16p"}
    columns = (("products, f32", is_product, f32), ("products, f16", is_product, f16),
               ("attention, f32", is_attention, f32), ("attention, f16", is_attention, f16))
    return table(["chip", *(title for title, _, _ in columns)],
                 [[chip["chip"], *(choice(chip, is_of_op, types) for _, is_of_op, types in columns)] for chip in chips])


def summary(chips):
    lines = []
    for chip in chips:
        kernels = chip["kernels"]
        spilling = [kernel for kernel in kernels if kernel["compiled"] and spills(kernel)]
        title = "%s %s" % (CHIPS[chip["chip"]].vendor, CHIPS[chip["chip"]].title)
        if chip["error"]:
            lines.append([chip["chip"], title, chip["error"].replace("|", "/"), "", "", "", ""])
            continue
        counts = (len(kernels), sum(not kernel["compiled"] for kernel in kernels), len(spilling),
                  sum(bool(kernel["default_for"]) for kernel in spilling))
        lines.append([chip["chip"], title, chip["driver"], *map(str, counts)])
    return table(["chip", "", "driver", "variants", "do not compile", "spill", "of them defaults"], lines)


def markdown(raw, full=False):
    answered = [chip for chip in raw["chips"] if chip["kernels"]]
    problems = findings(raw["chips"])
    scope = EVERY_CHOICE if is_of_all(answered) else DEFAULT_CHOICES
    text = [HEAD % (raw["date"], raw["command"], scope), summary(raw["chips"]), "\n",
            "\n".join("- " + line for line in problems) if problems
            else "Everything compiles, and no default spills.", "\n\n", READING]
    if full:
        return "".join(text + shader_tables(answered))
    text += ["\n", CHOSEN_HEAD, choice_table(answered), "\n", DEFAULT_HEAD, default_table(answered)]
    text.append(loop_table(answered, table))
    if is_of_all(answered):
        text += ["\n", WORST_HEAD, worst_table(answered)]
    return "".join(text)
