"""The budget of tools/vendors: what registers and hot loop of each default variant are on each chip, and became.

A CSV file: a line for each variant, a column for each chip. A field has its registers, "?" where the driver does not
tell, and nothing where the chip does not take the variant by default; 96!12 allows a spill of 12. Behind that stands,
where the driver prints assembly, what one turn of the hot loop does: 72|128|16|1|1.5|2|0.67 makes 128 multiply-adds,
loads 16 bytes at a time with 1 load under way, moves 1.5 bytes of shared memory for each multiply-add, passes 2
barriers, and can reach 0.67 of its roof; - is not known. The line "driver" has the drivers that all this is of.
"""
import collections
import csv
import os
import re

from .kernels import spills, variant_name
from .loops import Loop, loop_of
from .running import ROOT

RISE_PERCENT = 20  # of registers and of shared memory's bytes; loads and the share may fall by as much
DRIVERS = "driver"
UNKNOWN = "?"
NUMBER = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?|-"
FIELD = re.compile(r"(\d+|\?)(?:!(\d+))?((?:\|(?:%s)){%d})?" % (NUMBER, len(Loop._fields)))

# registers: None where the driver does not tell; loop: None where none was read
Entry = collections.namedtuple("Entry", "registers spills loop", defaults=[None])
Verdict = collections.namedtuple("Verdict", "problems unjudged")


class BadBudget(Exception):
    """What is no budget; the text says where."""


def entry_of(kernel):
    return Entry((kernel["statistics"] or {}).get("registers"), spills(kernel) or 0, loop_of(kernel))


def entries_of(chip):
    """{variant: Entry} of what a chip takes by default; None for what does not compile."""
    return {variant_name(kernel): entry_of(kernel) if kernel["compiled"] else None
            for kernel in chip["kernels"] if kernel["default_for"]}


def registers_text(entry):
    text = UNKNOWN if entry.registers is None else str(entry.registers)
    return text + "!%d" % entry.spills if entry.spills else text


def written(entry):
    if entry is None:
        return ""
    return registers_text(entry) + "".join("|-" if value is None else "|%.4g" % value for value in entry.loop or ())


def parsed(text, where):
    if not text:
        return None
    match = FIELD.fullmatch(text)
    if not match:
        raise BadBudget("%s: '%s' is no number of registers" % (where, text))
    values = [None if value == "-" else float(value) for value in (match[3] or "").split("|")[1:]]
    return Entry(None if match[1] == UNKNOWN else int(match[1]), int(match[2] or 0), Loop(*values) if values else None)


def write(chips, path):
    """Whole or not at all. Raises BadBudget for what no budget can be made of."""
    found = {chip["chip"]: entries_of(chip) for chip in chips}
    for chip in chips:
        lacking = chip["error"] or next((name for name, entry in found[chip["chip"]].items() if entry is None), None)
        if lacking:
            raise BadBudget("no budget is written, as it would lack %s: %s" % (chip["chip"], lacking))
    variants = dict.fromkeys(variant for entries in found.values() for variant in entries)
    with open(path + ".new", "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["variant", *found])
        out.writerow([DRIVERS, *(chip["driver"] for chip in chips)])
        out.writerows([variant, *(written(entries.get(variant)) for entries in found.values())] for variant in variants)
    os.replace(path + ".new", path)


def read(path):
    """({chip: driver}, {chip: {variant: Entry}})"""
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    if len(rows) < 2 or rows[0][:1] != ["variant"] or rows[1][:1] != [DRIVERS]:
        raise BadBudget("%s is no budget of tools/vendors" % path)
    keys, entries = rows[0][1:], {key: {} for key in rows[0][1:]}
    for i, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise BadBudget("%s:%d: %d fields, and not %d" % (path, i, len(row), len(rows[0])))
        if i == 2:
            continue
        for key, text in zip(keys, row[1:]):
            entry = parsed(text, "%s:%d" % (path, i))
            if entry:
                entries[key][row[0]] = entry
    return dict(zip(keys, rows[1][1:])), entries


def spill_problem(before, after):
    allowed = before.spills if before else 0
    if after.spills <= allowed:
        return None
    return "%s: spills %d -> %d" % ("spills more" if allowed else "NEWLY SPILLS", allowed, after.spills)


def registers_problem(before, after):
    if before.registers is None or before.registers == after.registers:
        return None
    if after.registers is None:
        return "registers %d -> not told" % before.registers
    if after.registers * 100 <= before.registers * (100 + RISE_PERCENT):
        return None
    return "registers %d -> %d (+%.1f %%, over %d)" % (
        before.registers, after.registers, 100 * (after.registers / before.registers - 1), RISE_PERCENT)


def margin_problem(title, before, after, rises):
    """A figure that rose, or else fell, by more than the margin. Neither may be known."""
    if before is None or after is None:
        return None if before is None or rises else "%s %.4g -> not told" % (title, before)
    worse = after * 100 > before * (100 + RISE_PERCENT) if rises else after * 100 < before * (100 - RISE_PERCENT)
    return "%s %.4g -> %.4g (%+.1f %%, over %d)" % (
        title, before, after, 100 * (after / before - 1) if before else 100, RISE_PERCENT) if worse else None


def loop_problems(before, after):
    """What became worse in the hot loop. A budget without loops judges none."""
    if before is None:
        return []
    if after is None:
        return ["the hot loop is not read any longer"]
    found = [margin_problem("bytes per load", before.bytes_per_load, after.bytes_per_load, False),
             margin_problem("loads in flight", before.in_flight, after.in_flight, False),
             margin_problem("shared bytes per multiply-add", before.shared_per_multiply_add,
                            after.shared_per_multiply_add, True),
             margin_problem("share of the roof", before.share, after.share, False)]
    if after.barriers > before.barriers:
        found.append("barriers %d -> %d" % (before.barriers, after.barriers))
    return [problem for problem in found if problem]


def problems_of(before, after, same_driver):
    """What is wrong with one variant on one chip. Either of the two may be missing. Of another driver's compiler only
    what spills without being allowed to is the kernel's fault."""
    found = []
    if after:
        spill = spill_problem(before, after)
        found += [spill] if spill and (same_driver or not (before and before.spills)) else []
    if not same_driver:
        return found
    if before and after:
        rise = registers_problem(before, after)
        return found + ([rise] if rise else []) + loop_problems(before.loop, after.loop)
    if after:
        return found + ["new, renew the budget: registers %s" % registers_text(after)]
    return found + ["no default any longer, renew the budget"]


def is_asked_for(variant, names):
    return not names or variant.startswith(tuple(names))


def judge_chip(chip, driver, budget, names):
    same_driver, found = chip["driver"] == driver, entries_of(chip)
    lines = []
    for variant in dict.fromkeys([*budget, *found]):
        if not is_asked_for(variant, names):
            continue
        if variant in found and found[variant] is None:
            lines.append("%s: %s: does not compile" % (chip["chip"], variant))
            continue
        lines += ["%s: %s: %s" % (chip["chip"], variant, problem)
                  for problem in problems_of(budget.get(variant), found.get(variant), same_driver)]
    return lines


def judge(chips, path, names):
    """A Verdict: a line for all that is beyond the budget, and one for each driver that is not the budget's."""
    drivers, budget = read(path)
    problems, unjudged = [], []
    for chip in chips:
        key = chip["chip"]
        if chip["error"]:
            problems.append("%s: %s" % (key, chip["error"]))
        elif key not in drivers:
            problems.append("%s: not in %s, renew the budget" % (key, path))
        else:
            problems += judge_chip(chip, drivers[key], budget[key], names)
            if chip["driver"] != drivers[key]:
                unjudged.append("%s: %s, and the budget is of %s" % (key, chip["driver"], drivers[key]))
    return Verdict(problems, unjudged)


def renewal(path):
    return "tools/vendors --write-budget %s" % os.path.relpath(path, ROOT)
