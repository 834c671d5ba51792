#include "attention/attention_page.h"

#include "attention/attention_panel.h"
#include "output/xml_text.h"

#define TEXT_MAX_CHARS 2000

static const char style[] =
    ":root { --page: #fff; --box: #f3f5f7; --text: #1b1f24; --faint: #57606a; --line: #d0d7de }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --page: #0d1117; --box: #161b22; --text: #e6edf3; --faint: #9da7b1; --line: #30363d } }\n"
    "* { box-sizing: border-box }\n"
    "html { -webkit-text-size-adjust: 100% }\n"
    "body { margin: 0; background: var(--page); color: var(--text);\n"
    "  font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }\n"
    "main { margin: 0 auto; padding: 1rem }\n"
    "h1 { font-size: 1.45rem; line-height: 1.25; margin: .2rem 0 .8rem; overflow-wrap: anywhere }\n"
    "h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; padding-top: .8rem; border-top: 1px solid var(--line) }\n"
    "p, dl { margin: .4rem 0; max-width: 46rem; overflow-wrap: anywhere }\n"
    "dt { color: var(--faint); font-size: .85rem }\n"
    "dd { margin: 0 0 .4rem; white-space: pre-wrap }\n"
    "a { color: inherit }\n"
    "nav { display: flex; flex-wrap: wrap; gap: .2rem .8rem; margin: .4rem 0 }\n"
    "summary { cursor: pointer; font-weight: 600; padding: .5rem 0 }\n"
    ".heads { display: flex; flex-wrap: wrap; gap: .6rem }\n"
    "figure { margin: 0; max-width: 100%; background: var(--box); border-radius: .4rem; padding: .5rem }\n"
    "figcaption { font-size: .88rem }\n"
    ".scroll { overflow-x: auto; max-width: 100% }\n"
    "svg { display: block }\n"
    "text { fill: var(--text) }\n"
    ".label { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }\n"
    ".legend { margin: .6rem 0 1rem; overflow: visible }\n"
    ".defs { position: absolute; width: 0; height: 0 }\n"
    "@media print { .scroll { overflow: visible } details > * { break-inside: avoid } }\n";

static void write_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    vkf_xml_write_text(out, text, TEXT_MAX_CHARS, false);
    fputs("</dd>\n", out);
}

static bool write_head(FILE *out, const vkf_attention_picture *picture, bool cells)
{
    fputs("<header>\n<h1>Attention of ", out);
    vkf_xml_write_text(out, picture->model, TEXT_MAX_CHARS, false);
    fputs("</h1>\n<dl>\n", out);
    write_text(out, "text", picture->text);
    if (picture->output)
        write_text(out, "output", picture->output);
    fprintf(out,
            "</dl>\n<p>A row is a query, a column a key, and the cell how much of the key\342\200\231s value the query "
            "takes: a row sums to 1. The opacity is the square root of the weight; pink is no number. Pointed at, "
            "%s.</p>\n",
            cells ? "a cell tells its weight" : "a row tells its largest weights");
    fprintf(out,
            "<svg class=\"legend\" role=\"img\" aria-label=\"Scale of weights\" width=\"%d\" height=\"%d\" "
            "viewBox=\"-8 0 %d %d\">\n",
            VKF_LEGEND_WIDTH + 16, VKF_LEGEND_HEIGHT, VKF_LEGEND_WIDTH + 16, VKF_LEGEND_HEIGHT);
    bool done = vkf_panel_write_legend(out);
    fputs("</svg>\n</header>\n", out);
    return done;
}

static bool write_panel(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *l, uint32_t layer,
                        uint32_t panel, bool cells)
{
    char name[64];
    size_t cell_count = (size_t)section->queries * section->keys;
    size_t index = (size_t)layer * vkf_section_panels(section) + panel;
    bool mean = section->mean && panel == 0;
    vkf_panel_name(section, layer, panel, name);
    fprintf(out, "<figure id=\"%s-%u-", section->name, section->layers[layer]);
    if (mean)
        fputs("mean", out);
    else
        fprintf(out, "%u", section->heads[panel - section->mean]);
    fprintf(out,
            "\"><figcaption>%s</figcaption>\n"
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s, %s\">\n"
            "<svg role=\"img\" aria-label=\"%s, %s\" width=\"%.0f\" height=\"%.0f\" viewBox=\"%.2f %.2f %.0f %.0f\">\n",
            name, section->title, name, section->title, name, l->width, l->height, -l->left, -l->top, l->width,
            l->height);
    bool done = vkf_panel_write(out, section, l, section->weights + index * cell_count, cells);
    fputs("</svg>\n</div></figure>\n", out);
    return done;
}

static bool write_section(FILE *out, const vkf_attention_section *section, bool cells)
{
    const vkf_panel_layout l = vkf_panel_layout_of(section);
    bool done = true;
    fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n<p>%s</p>\n<nav aria-label=\"Layers\">", section->name,
            section->title, section->about);
    for (uint32_t i = 0; i < section->layer_count; i++)
        fprintf(out, "<a href=\"#%s-%u\">layer %u</a>\n", section->name, section->layers[i], section->layers[i]);
    fputs("</nav>\n<svg class=\"defs\" aria-hidden=\"true\"><defs>\n", out);
    vkf_panel_write_axes(out, section, &l);
    fputs("</defs></svg>\n", out);
    for (uint32_t i = 0; i < section->layer_count && done; i++) {
        fprintf(out, "<details open id=\"%s-%u\"><summary>layer %u</summary>\n<div class=\"heads\">\n", section->name,
                section->layers[i], section->layers[i]);
        for (uint32_t panel = 0; panel < vkf_section_panels(section) && done; panel++)
            done = write_panel(out, section, &l, i, panel, cells);
        fputs("</div></details>\n", out);
    }
    fputs("</section>\n", out);
    return done;
}

bool vkf_attention_page_write(FILE *out, const vkf_attention_picture *picture, bool cells)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Attention of ",
          out);
    vkf_xml_write_text(out, picture->model, TEXT_MAX_CHARS, false);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
    bool done = write_head(out, picture, cells);
    for (uint32_t i = 0; i < picture->section_count && done; i++)
        done = write_section(out, &picture->sections[i], cells);
    fputs("</main>\n</body>\n</html>\n", out);
    return done;
}
