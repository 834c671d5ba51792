// Fills the template of the page with panels and the texts around them.
#include "attention/attention_page.h"

#include "attention/attention_panel.h"
#include "embedded_templates.h"
#include "output/template.h"

#define TEXT_MAX_CHARS 2000

typedef struct page {
    vkf_panel_writer *writer;
    const vkf_attention_picture *picture;
} page;

typedef struct page_section {
    vkf_panel_writer *writer;
    const vkf_attention_section *section;
    vkf_panel_layout layout;
    uint32_t layer, panel; // those that are being written
} page_section;

static void write_legend(const void *user)
{
    vkf_panel_write_legend(((const page *)user)->writer);
}

static void write_axes(const void *user)
{
    const page_section *s = user;
    vkf_panel_write_axes(s->writer->out, s->section, &s->layout);
}

static void write_panel(const void *user)
{
    const page_section *s = user;
    size_t index = (size_t)s->layer * vkf_section_panels(s->section) + s->panel;
    vkf_panel_write(s->writer, s->section, &s->layout,
                    s->section->weights + index * s->section->queries * s->section->keys);
}

static void each_panel(const vkf_template_body *body, const void *user)
{
    page_section s = *(const page_section *)user;
    for (s.panel = 0; s.panel < vkf_section_panels(s.section) && !s.writer->failed; s.panel++) {
        bool mean = s.section->mean && s.panel == 0;
        char name[64], head[16] = "mean";
        vkf_panel_name(s.section, s.layer, s.panel, name);
        if (!mean)
            snprintf(head, sizeof head, "%u", s.section->heads[s.panel - s.section->mean]);
        const vkf_slot slots[] = {
            {"head", .text = head},
            {"name", .text = name},
            {"panel_width", .number = s.layout.width},
            {"panel_height", .number = s.layout.height},
            {"panel_left", .number = -s.layout.left},
            {"panel_top", .number = -s.layout.top},
            {"panel", .part = write_panel},
            {0},
        };
        vkf_template_body_write(body, slots, &s);
    }
}

static void each_layer(const vkf_template_body *body, const void *user)
{
    page_section s = *(const page_section *)user;
    for (s.layer = 0; s.layer < s.section->layer_count && !s.writer->failed; s.layer++) {
        const vkf_slot slots[] = {
            {"layer", .number = s.section->layers[s.layer]},
            {"panels", .each = each_panel},
            {0},
        };
        vkf_template_body_write(body, slots, &s);
    }
}

static void each_section(const vkf_template_body *body, const void *user)
{
    const page *p = user;
    for (uint32_t i = 0; i < p->picture->section_count && !p->writer->failed; i++) {
        const vkf_attention_section *section = &p->picture->sections[i];
        const page_section s = {.writer = p->writer, .section = section, .layout = vkf_panel_layout_of(section)};
        const vkf_slot slots[] = {
            {"section", .text = section->name}, {"title", .text = section->title}, {"about", .text = section->about},
            {"axes", .part = write_axes},       {"layers", .each = each_layer},    {0},
        };
        vkf_template_body_write(body, slots, &s);
    }
}

bool vkf_attention_page_write(FILE *out, const vkf_attention_picture *picture, bool cells)
{
    vkf_panel_writer writer = {.out = out, .cells = cells};
    const page p = {&writer, picture};
    const vkf_slot slots[] = {
        {"model", .data = picture->model, .max_chars = TEXT_MAX_CHARS},
        {"style", .file = vkf_template_attention_css},
        {"text", .data = picture->text, .max_chars = TEXT_MAX_CHARS},
        {"output", .data = picture->output, .max_chars = TEXT_MAX_CHARS},
        {"pointed_at", .text = cells ? "a cell tells its weight" : "a row tells its largest weights"},
        {"width", .number = VKF_LEGEND_WIDTH + 16},
        {"height", .number = VKF_LEGEND_HEIGHT},
        {"legend", .part = write_legend},
        {"sections", .each = each_section},
        {0},
    };
    vkf_template_write(out, vkf_template_attention_page_html, slots, &p);
    return !writer.failed;
}
