"""tools/vendors' matrix as one HTML page, which needs no network and no scripts."""
import html

from .compiling import CHIPS
from .kernels import choices, findings, is_of_all, spilled, spills, variant_name, worst
from .loops import number, reach

# As the report of `vkformer profile` looks. What spills has a sign, too, for those who tell no red from grey.
STYLE = """\
:root { color-scheme: light dark; --page: #fff; --box: #f3f5f7; --text: #1b1f24; --faint: #57606a; --line: #d0d7de;
  --bad: #b3001b; --bad-box: #ffe3e3 }
@media (prefers-color-scheme: dark) {
  :root { --page: #0d1117; --box: #161b22; --text: #e6edf3; --faint: #9da7b1; --line: #30363d;
    --bad: #ff9a9a; --bad-box: #5a1218 } }
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }
main { max-width: 90rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.45rem; line-height: 1.25; margin: .2rem 0 .8rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; padding-top: .8rem; border-top: 1px solid var(--line) }
p, li { max-width: 46rem; overflow-wrap: anywhere }
p { margin: .4rem 0 }
.scroll { overflow-x: auto; margin: .6rem 0; max-width: 100%; border: 1px solid var(--line); border-radius: .4rem }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .88rem;
  font-variant-numeric: tabular-nums }
th, td { padding: .28rem .6rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line) }
thead th { background: var(--box); border-top: 0 }
tr > :first-child { position: sticky; left: 0; background: var(--box); text-align: left; font-weight: 500;
  border-right: 1px solid var(--line); white-space: normal }
.matrix tr > :first-child { min-width: 8.5rem; max-width: 11rem }
th.t, td.t { text-align: left }
td small { color: var(--faint); font-size: 1em }
td.spills, td.fails, b.spills { background: var(--bad-box); color: var(--bad); font-weight: 700 }
td.spills small { color: inherit }
b.spills { padding: 0 .3rem; border-radius: .2rem }
code { font: .92em ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; overflow-wrap: anywhere }
@media (min-width: 50rem) { .matrix tr > :first-child { max-width: none; white-space: nowrap } }
@media print { main { max-width: none } .scroll { overflow: visible } }
"""

LEGEND = """\
<p>A field holds registers of 32 bits per invocation / subgroups that a unit of the chip holds at a time, of the worst
of the types that a kernel is compiled for; pointing at it shows which that is, and the driver's own figures. <b
class="spills">96 / 8 !12</b> spills 12 values, or so many bytes, to memory. An empty field: the chip %s it.</p>
"""

DEFAULTS_INTRO = """\
<p>What some chip takes by default for a typical problem, in full precision or with float32 rounded, as long as nothing
was measured.</p>
"""


def element(tag, content, attributes=""):
    return "<%s%s>%s</%s>" % (tag, " " + attributes if attributes else "", content, tag)


def text_element(tag, text, attributes=""):
    return element(tag, html.escape(str(text)), attributes)


def loop_lines(loop):
    if not loop:
        return []
    return ["hot loop: " + reach(loop), "multiply-adds: " + number(loop["multiply_adds"]),
            "bytes per load: %s, in flight: %d" % (number(loop["bytes_per_load"]), loop["loads_in_flight"]),
            "shared bytes per multiply-add: " + number(loop["shared_bytes_per_multiply_add"]),
            "barriers: %d" % loop["barriers"]]


def tooltip(kernel):
    lines = [variant_name(kernel)]
    if kernel["default_for"]:
        lines.append("default for " + kernel["default_for"])
    if not kernel["compiled"]:
        lines.append(kernel["status"])
    lines += loop_lines(kernel.get("loop"))
    lines += ["%s: %s" % item for item in kernel["raw"].items()]
    return 'title="%s"' % html.escape("\n".join(lines))


def field(kernels):
    kernel = worst(kernels)
    if kernel is None:
        return "<td></td>"
    if not kernel["compiled"]:
        return element("td", "fails", 'class="fails" ' + tooltip(kernel))
    statistics = kernel["statistics"] or {}
    registers, waves = ("?" if statistics.get(key) is None else statistics[key] for key in ("registers", "waves"))
    content = "%s<small> / %s</small>" % (registers, waves)
    if spills(kernel):
        return element("td", content + " !" + spilled(kernel), 'class="spills" ' + tooltip(kernel))
    return element("td", content, tooltip(kernel))


def breakable(name):
    """Where a narrow column may cut a kernel's name."""
    return html.escape(name).replace("_", "_<wbr>").replace("/", "/<wbr>")


def table(kind, head, rows):
    """Rows are whole <td>s behind a first field of text."""
    text = ['<div class="scroll %s" tabindex="0"><table>' % kind,
            "<thead><tr>%s</tr></thead><tbody>" % "".join(head)]
    text += ["<tr>%s%s</tr>" % (element("th", breakable(name), 'scope="row"'), "".join(cells)) for name, cells in rows]
    return "\n".join(text + ["</tbody></table></div>\n"])


def matrix(chips, defaults):
    head = [text_element("th", "kernel", 'scope="col"')]
    head += [text_element("th", chip["chip"], 'scope="col" title="%s"' % html.escape(title_of(chip))) for chip in chips]
    return table("matrix", head, [(name, [field(kernels) for kernels in by_chip])
                                  for name, _, by_chip in choices(chips, defaults)])


def title_of(chip):
    return "%s %s" % (CHIPS[chip["chip"]].vendor, CHIPS[chip["chip"]].title)


def summary(chips):
    rows = []
    for chip in chips:
        spilling = [kernel for kernel in chip["kernels"] if kernel["compiled"] and spills(kernel)]
        defaults = sum(bool(kernel["default_for"]) for kernel in spilling)
        rows.append((chip["chip"], [
            text_element("td", title_of(chip), 'class="t"'),
            text_element("td", chip["error"] or chip["driver"], 'class="%s"' % ("fails t" if chip["error"] else "t")),
            text_element("td", len(chip["kernels"])), text_element("td", len(spilling)),
            text_element("td", defaults, 'class="spills"' if defaults else "")]))
    head = [text_element("th", name, 'class="t"') for name in ("chip", "", "driver")]
    head += [text_element("th", name) for name in ("variants", "spill", "of them defaults")]
    return table("chips", head, rows)


def page(raw):
    answered = [chip for chip in raw["chips"] if chip["kernels"]]
    problems = findings(raw["chips"])
    text = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>vkformer: what the vendors' compilers make of the kernels</title>\n",
        element("style", STYLE), "\n</head>\n<body>\n<main>\n",
        text_element("h1", "What the vendors' compilers make of the kernels"), "\n",
        "<p>%s, %s</p>\n" % (html.escape(raw["date"]), text_element("code", raw["command"])),
        element("ul", "".join(text_element("li", line) for line in problems)) if problems
        else "<p>Everything compiles, and no default spills.</p>", "\n", summary(raw["chips"]),
        "<h2>Defaults</h2>\n", DEFAULTS_INTRO, LEGEND % "does not take", matrix(answered, True)]
    if is_of_all(answered):
        text += ["<h2>All choices</h2>\n", LEGEND % "cannot use", matrix(answered, False)]
    return "".join(text + ["</main>\n</body>\n</html>\n"])
