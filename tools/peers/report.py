"""The Markdown table, from what was measured."""
import re

from . import rows as work_rows
from . import stats
from .measure import BASE, COPY_WORK, NOT_CHOSEN, OURS

NAMES = {
    "openblas": "OpenBLAS",
    "ncnn": "ncnn Vulkan f32",
    "ncnn-defaults": "ncnn Vulkan, its defaults",
    "iree": "IREE Vulkan",
    "llama.cpp": "llama.cpp Vulkan",
    "llama.cpp-f16": "llama.cpp Vulkan, f16 weights",
    "llama.cpp-own": "llama.cpp's own benchmark",
    "torch-cpu": "PyTorch CPU",
    "torch-cuda": "PyTorch CUDA",
    "torch-copy": "copy by PyTorch CUDA",
    "llama-bench": "llama.cpp Vulkan, f16 weights",
    "own-read": "its own plain read of memory",
    "transformers": "transformers, PyTorch CPU",
}
# Against another program on Vulkan both sides are whole calls; against a library on the CPU, or times between events,
# it is the time between timestamps.
VULKAN_PEERS = ("ncnn", "ncnn-defaults", "iree", "llama.cpp", "llama.cpp-f16", "llama.cpp-own")

NOTES = """\
Times are medians of the rounds, ratios medians of the rounds' ratios; above 1 vkformer is faster. vkformer's time is
that between timestamps on the device, and against another Vulkan program the time of a whole call. ncnn's calls copy
their inputs and outputs; IREE's lie on the device. Of ncnn's two layers for a product, of OpenBLAS's ways to use the
threads, and of IREE's targets those that are right, the fastest one counts. What is noisy took half as long again in
the middle as at its best. At best: the ratio of the shortest runs of all rounds, each side's for itself; where it is far
from the median, the machine's speed varied. Not settled: vkformer's device was still changing its clock."""
TEXT_NOTES = """\
Tokens are those of a random Llama, its weights f16 or in blocks on both sides: %s.
Each turn is a process of its own, and no time of these rows is one between timestamps. Prompt and decode are as each
program says, and both have run it once before: llama-bench warms up, and vkformer's time is that of the same text's
second run. A start ends with the process: its driver and the loading are in it, and for llama.cpp tools/chroot where vkformer runs outside it. Peak memory is the
largest process's, the software device's memory with it. What each token reads are all weights but the embedding's
other rows; the cache's keys and values do not count. Embeddings go from texts to vectors, tokenizing included: for
vkformer, what more batches take beyond few, in one process each."""
NOISY = 1.5
BUSY = 0.1


BLOCKS = {"q8": "Q8_0", "q4": "Q4_1"}  # llama.cpp's types


def peer_name(row, name):
    blocks = row.work.get("blocks")
    if name == "llama-bench" and blocks:
        return "llama.cpp Vulkan, %s weights" % BLOCKS[blocks]
    return NAMES.get(name, name)


def column_of(driver):
    """Which of a target's two numbers counts on a driver; None on one that no figure is set for."""
    found = re.search(r"Mesa (\d+)\.", driver or "")
    if not found or "llvmpipe" not in driver:
        return None
    if int(found[1]) == 22:
        return work_rows.OLD
    return work_rows.NEW if int(found[1]) >= 26 else None


def flops(work):
    """Operations of a work, those that count; None where they are not what its time is made of."""
    if work["op"] == "gemm":
        return 2.0 * work["m"] * work["n"] * work["k"]
    if work["op"] == "attention":
        full = 4.0 * work["batch"] * work["heads"] * work["q_len"] * work["kv_len"] * work["head_dim"]
        return full / 2 if work["causal"] else full
    return None


def visit_times(visit, clock):
    """The median and the minimum of one turn: a peer's, or by one of vkformer's clocks, or by the other one where a
    work has that alone."""
    if "ms" in visit:
        return stats.median(visit["ms"]), min(visit["ms"])
    if clock not in visit:
        clock = "wall_ms" if clock == "gpu_ms" else "gpu_ms"
    return visit[clock], visit[clock + "_min"]


class Times:
    """What one subject took: the median of its turn in every round, and its shortest run of all."""

    def __init__(self, samples, subject, clock="gpu_ms"):
        pairs = [visit_times(visit, clock) for visit in samples.get(subject, [])]
        self.rounds = [middle for middle, _ in pairs]
        self.shortest = min((shortest for _, shortest in pairs), default=None)
        self.spread = stats.median([middle / shortest for middle, shortest in pairs if shortest]) or 1.0
        self.noisy = self.spread > NOISY
        self.unsettled = any(visit.get("settled") is False for visit in samples.get(subject, []))

    def text(self, work=None):
        ms = stats.median(self.rounds)
        marks = (" (noisy)" if self.noisy else "") + (" (not settled)" if self.unsettled else "")
        return time_text(ms, work) + marks


def time_text(ms, work=None):
    text = "%.3g ms" % ms if ms < 1000 else "%.3g s" % (ms / 1000)
    if work and "tokens" in work:
        return "%s, %.3g tokens/s" % (text, 1e3 * work["tokens"] / ms)
    return "%s, %.3g GFLOP/s" % (text, flops(work) / ms * 1e-6) if work and flops(work) else text


def reach_text(value, target, at_most=False, percent=False):
    """What is to be reached, and whether it is."""
    if target is None:
        return ""
    sign = "<=" if at_most else ">="
    figure = "%.0f %%" % (100 * target) if percent else "%g" % target
    if value is None:
        return "%s %s" % (sign, figure)
    met = value <= target if at_most else value >= target
    return "%s %s: %s" % (sign, figure, "yes" if met else "**no**")


def target_for(row, pair, column):
    """GPU rows have one figure wherever they run."""
    if pair is None:
        return None
    if row.needs:
        return pair[0]
    return pair[column] if column is not None else None


def missing_line(row, against, reason, reach=""):
    return [row.title, "n/a", against, "n/a (%s)" % reason, "n/a", "n/a", reach]


def moved_bytes(row, samples, name):
    """What vkformer reads, and what the copy beside it moves; the visits to text models say it themselves."""
    if row.work["op"] == "text":
        return samples[OURS][0]["bytes"], samples[name][0]["bytes"]
    return 2.0 * row.work["n"] * row.work["k"], 2.0 * COPY_WORK["bytes"]


def peak_line(row, result, name, column):
    """Memory of two processes; above 1 vkformer needs less."""
    samples, missing = result["samples"], result["missing"]
    against, target = peer_name(row, name), target_for(row, row.peers[name], column)
    sides = [[visit["bytes"] for visit in samples.get(subject, [])] for subject in (OURS, name)]
    texts = ["%.4g MB" % (stats.median(side) / 1e6) if side else "n/a (%s)" % missing.get(subject, "not measured")
             for subject, side in zip((OURS, name), sides)]
    if not all(sides):
        return [row.title, texts[0], against, texts[1], "n/a", "n/a", reach_text(None, target)]
    value = stats.ratio(*sides)
    return [row.title, texts[0], against, texts[1], "%.3g" % value, "%.3g" % (min(sides[1]) / min(sides[0])),
            reach_text(value, target)]


def peer_line(row, result, name, column, options):
    samples, missing = result["samples"], result["missing"]
    against = peer_name(row, name)
    target = target_for(row, row.peers[name], column)
    clock = options["clock"] or ("wall_ms" if name in VULKAN_PEERS else "gpu_ms")
    ours, theirs = (Times(samples, subject, clock) for subject in (OURS, name))
    if not ours.rounds:
        return missing_line(row, against, "vkformer: " + missing.get(OURS, "not measured"), reach_text(None, target))
    if not theirs.rounds:
        return [row.title, ours.text(row.work), against, "n/a (%s)" % missing.get(name, "not measured"), "n/a",
                "n/a", reach_text(None, target)]
    value, best = stats.ratio(ours.rounds, theirs.rounds), theirs.shortest / ours.shortest
    shown = ours.text(row.work), theirs.text(row.work)
    if row.kind == "bandwidth":
        ours_bytes, theirs_bytes = moved_bytes(row, samples, name)
        value *= ours_bytes / theirs_bytes
        best *= ours_bytes / theirs_bytes
        shown = ["%.4g GB/s" % (size / stats.median(side.rounds) * 1e-6)
                 for size, side in ((ours_bytes, ours), (theirs_bytes, theirs))]
    return [row.title, shown[0], against, shown[1], "%.3g" % value, "%.3g" % best, reach_text(value, target)]


def base_line(row, result, column, options):
    """vkformer against itself."""
    samples, missing = result["samples"], result["missing"]
    target = target_for(row, row.base_target, column)
    names = ["%s %d" % (BASE, i) for i in range(len(row.base))]
    overhead = row.kind == "overhead"
    # A layer's overhead is all that is not in the kernels of its parts: its submission, too.
    clock = options["clock"] or "gpu_ms"
    ours = Times(samples, OURS, "wall_ms" if overhead else clock)
    parts = [Times(samples, name, clock) for name in names]
    theirs = stats.total([part.rounds for part in parts])
    if not ours.rounds or not theirs:
        reason = next((missing[name] for name in (OURS, *names) if name in missing), "not measured")
        return missing_line(row, row.base_title, reason, reach_text(None, target, overhead, overhead))
    value, best = stats.ratio(ours.rounds, theirs), sum(part.shortest for part in parts) / ours.shortest
    base_text = time_text(stats.median(theirs)) if overhead else parts[0].text(row.base[0])
    line = [row.title, ours.text(row.work), row.base_title, base_text]
    if not overhead:
        return line + ["%.3g" % value, "%.3g" % best, reach_text(value, target)]
    extra, least = 1 / value - 1, 1 / best - 1
    return line + ["%+.0f %%" % (100 * extra), "%+.0f %%" % (100 * least), reach_text(extra, target, True, True)]


def memory_line(row, result, column):
    target = target_for(row, row.base_target, column)
    visits = result["samples"].get(OURS)
    if not visits:
        return missing_line(row, row.base_title, result["missing"].get(OURS, "not measured"))
    used = visits[0]["bytes"]
    reach = reach_text(used / 1e6, target / 1e6, at_most=True) if target else ""
    return [row.title, "%.4g MB" % (used / 1e6), row.base_title, "", "%.2g" % (used / row.base_target[0]), "", reach]


def row_lines(result, column, options):
    row = work_rows.by_key(result["key"])
    if row.kind == "memory":
        return [memory_line(row, result, column)]
    if row.kind == "peak":
        return [peak_line(row, result, name, column) for name in row.peers]
    lines = [peer_line(row, result, name, column, options) for name in row.peers]
    if row.base:
        lines.append(base_line(row, result, column, options))
    return lines


def markdown_table(header, lines):
    written = ["| %s |" % " | ".join(line) for line in (header, ["---"] * len(header))]
    return "\n".join(written + ["| %s |" % " | ".join(line) for line in lines])


def without_strangers(lines, run):
    """Leaves out lines of peers that are nowhere in this run, and says so once below the table instead."""
    absent = {NAMES.get(name, name): reason for name, reason in run["unavailable"].items()}
    kept = [line for line in lines if line[2] not in absent]
    return kept, {name: reason for name, reason in absent.items() if reason != NOT_CHOSEN}


def doubted(lines):
    """A verdict reached beside other programs is none."""
    return [line[:-1] + [line[-1] + "?" if ": " in line[-1] else line[-1]] for line in lines]


def section(run, options):
    column = column_of(run["driver"])
    lines = [line for result in run["rows"] for line in row_lines(result, column, options)]
    lines, absent = without_strangers(lines, run)
    if options["machine"]["busy"] > BUSY:
        lines = doubted(lines)
    header = ["work", "vkformer", "against", "its time", "ratio", "at best", "to reach"]
    text = ["### %s, %s" % (run["device"] or "no device", run["driver"] or "no driver"), "",
            markdown_table(header, lines), ""]
    text += ["%s: %s." % item for item in sorted(run["versions"].items())]
    text += ["%s: n/a (%s)." % item for item in sorted(absent.items())]
    if run["error"]:
        text.append("**Ended early: %s.**" % run["error"])
    return "\n".join(text)


def markdown(raw):
    """The whole report from the raw samples."""
    machine = raw["machine"]
    command = "`%s` on %s: %s, %d threads, %d rounds." % (raw["command"], raw["date"], machine["cpu"],
                                                          machine["threads"], raw["rounds"])
    if machine["busy"] > BUSY:
        command += " **Other programs kept %.0f %% of it busy: nothing here is sure.**" % (100 * machine["busy"])
    notes = [NOTES]
    works = [work_rows.by_key(row["key"]).work for run in raw["runs"] for row in run["rows"]]
    if any(work["op"] == "text" for work in works):
        sizes = ", ".join("%s %d" % item for item in raw["sizes"].items())
        notes.append(TEXT_NOTES % sizes)
    return "\n\n".join([*(section(run, raw) for run in raw["runs"]), *notes, command]) + "\n"
