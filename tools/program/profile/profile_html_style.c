// What the report looks like. Colours are those of Okabe and Ito, which the colour-blind can tell apart, lighter where
// the page is dark; the yellow one is left out, as it can hardly be seen on white.
#include "profile/profile_page.h"

static const char *const sheets[] = {
    ":root { --page: #fff; --box: #f3f5f7; --text: #1b1f24; --faint: #57606a; --line: #d0d7de; --wait: #a9cdec;\n"
    "  --c1: #d55e00; --c2: #0072b2; --c3: #009e73; --c4: #cc79a7; --c5: #e69f00; --c6: #56b4e9; --c0: #8b949e }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --page: #0d1117; --box: #161b22; --text: #e6edf3; --faint: #9da7b1; --line: #30363d; --wait: #1f4a70;\n"
    "    --c1: #f07a28; --c2: #3d97d3; --c3: #1fb58c; --c4: #d993bb; --c5: #e6b040; --c6: #8accf2; --c0: #7d8590 } }\n"
    "* { box-sizing: border-box }\n"
    "html { -webkit-text-size-adjust: 100% }\n"
    "body { margin: 0; background: var(--page); color: var(--text);\n"
    "  font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }\n"
    "main { max-width: 78rem; margin: 0 auto; padding: 1rem }\n"
    "h1 { font-size: 1.45rem; line-height: 1.25; margin: .2rem 0 .8rem; overflow-wrap: anywhere }\n"
    "h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; padding-top: .8rem; border-top: 1px solid var(--line) }\n"
    "h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere }\n"
    "p { margin: .4rem 0; max-width: 46rem; overflow-wrap: anywhere }\n"
    ".faint, caption { color: var(--faint) }\n",

    "dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem 1rem; margin: 0 }\n"
    "dl div { min-width: 0 }\n"
    "dl div.wide { grid-column: 1 / -1 }\n"
    "dt { color: var(--faint); font-size: .85rem }\n"
    "dd { margin: 0; overflow-wrap: anywhere }\n"
    ".totals { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; padding: 0; list-style: none }\n"
    ".totals li { background: var(--box); border-radius: .4rem; padding: .5rem .8rem; flex: 1 1 8rem }\n"
    ".totals b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums }\n"
    ".scroll { overflow-x: auto; margin: .6rem 0; max-width: 100%; border: 1px solid var(--line); border-radius: .4rem "
    "}\n"
    "table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums }\n"
    "th, td { padding: .28rem .6rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line) }\n"
    "thead th { background: var(--box); border-top: 0 }\n"
    "@media (max-width: 30rem) { th, td { padding: .28rem .4rem } }\n"
    "th.t, td.t { text-align: left }\n"
    "tbody th { font-weight: 500 }\n"
    "#memory tbody th { white-space: normal }\n"
    "tfoot td, tfoot th { font-weight: 600; background: var(--box) }\n"
    "code { font: .92em ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; overflow-wrap: anywhere }\n",

    "svg { display: block; width: 100%; overflow: visible }\n"
    "svg text { fill: var(--text); font-size: 12px }\n"
    "svg text.faint { fill: var(--faint) }\n"
    ".grid { stroke: var(--line) }\n"
    ".bar { height: 12px; background: var(--box) }\n"
    ".stack { height: 26px; background: var(--box); margin: .2rem 0 .6rem }\n"
    ".plot { padding: 24px 14px 40px 46px }\n"
    ".lanes { margin: .6rem 0 }\n"
    ".c1 { --c: var(--c1) } .c2 { --c: var(--c2) } .c3 { --c: var(--c3) } .c4 { --c: var(--c4) }\n"
    ".c5 { --c: var(--c5) } .c6 { --c: var(--c6) } .c0 { --c: var(--c0) }\n"
    ".write { --c: var(--text) } .submit { --c: var(--c0) } .wait { --c: var(--wait) } .other { --c: var(--line) }\n"
    ".busy { --c: var(--c2) } .idle { --c: var(--line) }\n"
    "rect, circle, i.key { fill: var(--c); background: var(--c) }\n"
    "i.key { display: inline-block; width: .8em; height: .8em; border-radius: .15em; margin-right: .4em }\n"
    "rect.time { fill-opacity: .4 }\n"
    "circle { fill-opacity: .6; stroke: var(--page) }\n"
    "circle.c0 { fill-opacity: .35 }\n"
    "line.roof { stroke: var(--text); stroke-width: 2 }\n"
    "line.copy { stroke-dasharray: 10 3 }\n"
    "line.read { stroke-dasharray: 3 3 }\n"
    "line.lead { stroke: var(--faint) }\n"
    "text.number { font-weight: 700; text-anchor: middle; paint-order: stroke; stroke: var(--page); stroke-width: 3px "
    "}\n",

    ".key-list { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .4rem 0; list-style: none;\n"
    "  font-size: .88rem }\n"
    ".key-list li { overflow-wrap: anywhere; min-width: 0 }\n"
    ".key-list svg { display: inline-block; width: 28px; height: 8px; margin-right: .4em }\n"
    ".bars { list-style: none; padding: 0; margin: .6rem 0 }\n"
    ".bars li { margin: 0 0 .55rem }\n"
    ".line { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; font-size: .88rem }\n"
    ".line span { min-width: 0; overflow-wrap: anywhere }\n"
    ".figures { font-variant-numeric: tabular-nums; color: var(--faint); margin-left: auto }\n"
    "details { margin: .4rem 0 }\n"
    "summary { cursor: pointer }\n"
    "@media print { main { max-width: none } .scroll { overflow: visible } }\n",
};

void vkf_page_style(FILE *out)
{
    for (size_t i = 0; i < sizeof sheets / sizeof sheets[0]; i++)
        fputs(sheets[i], out);
}
