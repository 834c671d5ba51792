"""Another program's kernels beside ours: compiled by the same compilers, and read by the same reader.

ggml's own test of operators makes the pipelines. The driver prints the assembly of each as it compiles it, and ggml its
name and statistics behind that.
"""
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import tempfile

from .compiling import CHIPS, environment_of
from .running import CHROOT_TOOL, Unavailable, in_chroot, last_line, say
from .kernels import GAP, labels_of, types_of, variant_name
from .loops import number, reach

PACKAGES = {"ggml": ("llama.cpp-tests", "libggml0-backend-vulkan")}
TEST = "usr/libexec/*/llama.cpp-tests/test-backend-ops"
# What makes a driver print its assembly. Honeykrisp prints none.
PRINTING = {"AMD": "RADV_DEBUG=asm", "NVIDIA": "NAK_DEBUG=print", "Qualcomm": "IR3_SHADER_DEBUG=cs"}

# A problem, ggml's operator and the pattern of its parameters, and which of our defaults are for the same: their types,
# the label of the problem, and the size of a head.
Case = collections.namedtuple("Case", "title mode operator parameters types label constants")

MATRIX = r"type_a=%s,type_b=f32,m=4096,n=%d,k=14336,bs=\[1,1\],nr=\[1,1\]"
ATTENTION = (r"hsk=128,hsv=128,nh=4,nr23=\[1,1\],kv=512,nb=%d,mask=1,sinks=0,max_bias=0.000000,logit_softcap=0.000000,"
             r"prec=f32,type_K=f16,type_V=f16,permute=\[0,1,2,3\]")
BLOCKS = ("f16_%s_f16", "i32_%s_f16")


def products(title, ggml_type, rows, types):
    return Case("%s, %s" % (title, "1 row" if rows == 1 else "%d rows" % rows), "perf", "MUL_MAT",
                MATRIX % (ggml_type, rows), types, "linear of 1 row" if rows == 1 else "1024 rows", "")


CASES = [products(title, ggml_type, rows, types)
         for title, ggml_type, types in (("f16", "f16", ("f16_f16_f16",)),
                                         ("q4", "q4_0", tuple(name % "q4" for name in BLOCKS)),
                                         ("q8", "q8_0", tuple(name % "q8" for name in BLOCKS)))
         for rows in (1, 512)]
CASES += [Case("attention of 128, %s" % title, "test", "FLASH_ATTN_EXT", ATTENTION % queries, ("f16_f16_f16",), label,
               "head_dim 128")
          for title, queries, label in (("1 query", 1, "1 query"), ("32 queries", 32, "512 queries"))]

# The names of statistics: registers, how many 32-bit ones each is, and waves.
STATISTICS = {"AMD": ("VGPRs", 1, "Subgroups per SIMD"), "NVIDIA": ("Number of GPRs", 1, "Max warps/SM"),
              "Qualcomm": ("Registers used", 4, "Max Waves Per Core")}
NAMED = re.compile(r"ggml_vulkan: pipeline stats for (.+):")
FIGURE = re.compile(r"ggml_vulkan:   (.+): (\S+)")
BEGINS = re.compile(r"disasm:$|NAK IR.*:$|Native code for ")
ENDS = re.compile(r"$|Stage: ")


def printed(lines):
    """(name, assembly, {statistic: text}) of each pipeline, from all that was printed: the last assembly before a name
    is what the pipeline runs, those before it are steps on the way."""
    assembly, collecting, found = [], False, None
    for line in lines:
        line = line.rstrip("\n").removeprefix("MESA: info: ")
        named, figure = NAMED.match(line), FIGURE.match(line)
        if figure and found:
            found[2][figure[1]] = figure[2]
            continue
        if found:
            yield found
            found = None
        if named:
            found, assembly, collecting = (named[1], "\n".join(assembly) + "\n", {}), [], False
        elif BEGINS.match(line):
            assembly, collecting = [line] if line.startswith("Native") else [], True
        elif ENDS.match(line):
            collecting = False
        elif collecting:
            assembly.append(line)
    if found:
        yield found


def integer(text):
    return int(text) if text and text.isdigit() else None


def read_loop(key, assembly, waves, program):
    """What the program reads of an assembly, or the reason why it does not."""
    with tempfile.NamedTemporaryFile("w", suffix=".asm", encoding="utf-8") as f:
        f.write(assembly)
        f.flush()
        command = [program, "shaders", "--loops", "--output", "jsonl", f.name]
        command += ["--waves", str(waves)] if waves else []
        done = subprocess.run([*command, "--chip", key], capture_output=True, text=True, timeout=600)
        if done.returncode == 2:  # rates of that chip are not known
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return None, last_line(done.stderr)
    result = json.loads(done.stdout)
    return result["loop"], result["loop_status"]


def compile_case(key, case, chroot, options):
    """[(name, assembly, statistics)] of what ggml compiles for a case."""
    chip = CHIPS[key]
    command = [CHROOT_TOOL, chroot, "--", "env", *environment_of(chip, chroot), PRINTING[chip.vendor],
               "GGML_VK_PIPELINE_STATS=_", in_chroot(chroot, TEST), case.mode, "-b", "Vulkan0", "-o", case.operator,
               "-p", case.parameters]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out,
                           timeout=options.timeout)
        except subprocess.TimeoutExpired:
            say("%s: %s: not all within %d s" % (key, case.title, options.timeout))
        out.seek(0)
        return list(printed(out))


def row(key, case, program, kernel, registers, loop, status):
    return {"chip": key, "case": case.title, "program": program, "kernel": kernel, "registers": registers, "loop": loop,
            "loop_status": status}


def rows_of_peer(key, chroot, program, options):
    registers_name, times, waves_name = STATISTICS[CHIPS[key].vendor]
    rows = []
    for case in CASES:
        seen = set()
        for name, assembly, statistics in compile_case(key, case, chroot, options):
            if assembly in seen or name.startswith(("quantize_", "fa_")):
                continue
            seen.add(assembly)
            loop, status = read_loop(key, assembly, integer(statistics.get(waves_name)), program)
            registers = integer(statistics.get(registers_name))
            rows.append(row(key, case, "ggml", name, registers and registers * times, loop, status))
        if not seen:
            rows.append(row(key, case, "ggml", "-", None, None, "compiles nothing for it"))
    say("%s: %d kernels of ggml" % (key, len(rows)))
    return rows


def rows_of_ours(chip):
    return [row(chip["chip"], case, "vkformer", variant_name(kernel), (kernel["statistics"] or {}).get("registers"),
                kernel.get("loop"), kernel.get("loop_status"))
            for case in CASES for kernel in chip["kernels"]
            if types_of(kernel) in case.types and kernel["constants"] == case.constants
            and any(label == case.label for label, _ in labels_of(kernel))]


def beside(ours, theirs):
    """All rows, case by case, ours first."""
    titles = [case.title for case in CASES]
    return sorted(ours + theirs, key=lambda found: titles.index(found["case"]))


def compare(raw, chroot, program, options):
    """Rows of our defaults, as measured, and of the peer's kernels on the same chips."""
    keys = [key for key in options.chips if CHIPS[key].vendor in PRINTING]  # which no emulated chip's vendor is
    for key in options.chips:
        if key not in keys:
            say("%s: the driver prints no assembly that is read" % key)
    if not keys:
        raise Unavailable("no driver of these chips prints assembly")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip(keys, pool.map(lambda key: rows_of_peer(key, chroot, program, options), keys)))
    return [entry for chip in raw["chips"] if chip["chip"] in keys
            for entry in beside(rows_of_ours(chip), found[chip["chip"]])]


def is_installed(chroot):
    return bool(glob.glob(os.path.join(chroot, TEST)))


INTRO = """\
# Hot loops beside ggml's

Made on %s by `%s`; do not edit.

The defaults of this library and the kernels that ggml's Vulkan backend takes for the same problem, compiled by the same
compilers for GPUs that are not there, and read by the same reader: one turn of the hot loop.
[shaders.md](shaders.md#the-hot-loop) says what stands in the columns, and what the share of the roof is not. Matrices
have 4096 rows of 14336; 512 rows stand beside our choice for 1024, and 32 queries over 512 keys beside ours for 512.
Shares are of the roof of the unit that a loop uses, and `m-adds/clock`, which a core makes at that share, compares
across units. The ends of a kernel, and kernels before and after (quantised rows, reductions), are not in it.

"""

HEAD = ["chip", "problem", "program", "kernel", "registers", "matrix", "fma", "m-adds", "B/load", "in flight",
        "shared B/m-add", "barriers", "other", "of the roof", "m-adds/clock"]


def cells(found):
    loop = found["loop"]
    start = [found["chip"], found["case"], found["program"], found["kernel"],
             "-" if found["registers"] is None else str(found["registers"])]
    if not loop:
        return start + [found["loop_status"]] + [""] * (len(HEAD) - len(start) - 1)
    return start + [str(loop["matrix_operations"]), str(loop["fmas"]), "%.0f" % loop["multiply_adds"],
                    number(loop["bytes_per_load"]), str(loop["loads_in_flight"]),
                    number(loop["shared_bytes_per_multiply_add"]), str(loop["barriers"]), str(loop["other"]),
                    reach(loop), number(loop["multiply_adds_per_clock"])]


def text_table(rows):
    lines = [HEAD, *(cells(found) for found in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    padded = [[field.ljust(width) for field, width in zip(line, widths)] for line in lines]
    return "\n".join(GAP.join(line).rstrip() for line in padded) + "\n"


def markdown(rows, date, command):
    return INTRO % (date, command) + markdown_table(rows)


def markdown_table(rows):
    lines = [HEAD, ["---"] * len(HEAD), *(cells(found) for found in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
