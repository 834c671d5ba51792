// Fills the template of the page with panels and the texts around them.
#include "attention/attention_page.h"

#include "attention/attention_panel.h"
#include "embedded_templates.h"
#include "output/template.h"
#include "output/xml_text.h"

#define TEXT_MAX_CHARS 2000

// What the functions for parts of attention_page.html are passed, and whether they succeeded.
typedef struct page_parts {
    FILE *out;
    const vkf_attention_picture *picture;
    bool cells;
    bool *done;
} page_parts;

static void write_output(const void *user)
{
    const page_parts *p = user;
    if (!p->picture->output)
        return;
    fputs("<dt>output</dt><dd>", p->out);
    vkf_xml_write_text(p->out, p->picture->output, TEXT_MAX_CHARS, false);
    fputs("</dd>\n", p->out);
}

static void write_legend(const void *user)
{
    const page_parts *p = user;
    *p->done = vkf_panel_write_legend(p->out);
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

static void write_sections(const void *user)
{
    const page_parts *p = user;
    for (uint32_t i = 0; i < p->picture->section_count && *p->done; i++)
        *p->done = write_section(p->out, &p->picture->sections[i], p->cells);
}

bool vkf_attention_page_write(FILE *out, const vkf_attention_picture *picture, bool cells)
{
    bool done = true;
    const page_parts parts = {out, picture, cells, &done};
    const vkf_slot slots[] = {
        {"model", .data = picture->model, .max_chars = TEXT_MAX_CHARS},
        {"style", .file = vkf_template_attention_css},
        {"text", .data = picture->text, .max_chars = TEXT_MAX_CHARS},
        {"output", .part = write_output},
        {"pointed_at", .text = cells ? "a cell tells its weight" : "a row tells its largest weights"},
        {"width", .number = VKF_LEGEND_WIDTH + 16},
        {"height", .number = VKF_LEGEND_HEIGHT},
        {"legend", .part = write_legend},
        {"sections", .part = write_sections},
        {0},
    };
    vkf_template_write(out, vkf_template_attention_page_html, slots, &parts);
    return done;
}
