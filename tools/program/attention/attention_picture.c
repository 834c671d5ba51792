// Writes the picture's file. As SVG, it has the same panels below each other, with texts and a scale above them.
#include "attention/attention_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention/attention_page.h"
#include "attention/attention_panel.h"
#include "base/system_file.h"
#include "embedded_templates.h"
#include "output/file_output.h"
#include "output/template.h"
#include "output/xml_text.h"

// Pixels.
#define MARGIN 24.0
#define PANEL_GAP 20.0
#define TITLE_HEIGHT 20.0
#define SECTION_HEIGHT 56.0 // of its title and the text about it
#define HEADER_HEIGHT 140.0
#define TEXT_CHAR_WIDTH 7.6
#define TEXT_MAX_CHARS 150
// With more cells than this, a weight for each of them would make the file several times as large.
#define MOST_TELLING_CELLS 20000u

static const char *path_extension(const char *path)
{
    const char *dot = strrchr(path + vkf__path_directory_bytes(path), '.');
    return dot ? dot : "";
}

bool vkf_attention_picture_is_page(const char *path)
{
    return strcmp(path_extension(path), ".html") == 0;
}

bool vkf_attention_picture_path_valid(const char *path)
{
    return vkf_attention_picture_is_page(path) || strcmp(path_extension(path), ".svg") == 0;
}

static double text_width(const char *text)
{
    return (double)vkf_utf8_length(text, TEXT_MAX_CHARS) * TEXT_CHAR_WIDTH;
}

static double layer_height(const vkf_panel_layout *l)
{
    return TITLE_HEIGHT + l->height + PANEL_GAP;
}

static void measure(const vkf_attention_picture *picture, double *out_width, double *out_height)
{
    double width = text_width(picture->text), height = HEADER_HEIGHT;
    if (picture->output)
        width = fmax(width, text_width(picture->output));
    width += 9 * TEXT_CHAR_WIDTH;
    for (uint32_t i = 0; i < picture->section_count; i++) {
        const vkf_attention_section *section = &picture->sections[i];
        const vkf_panel_layout l = vkf_panel_layout_of(section);
        width = fmax(width, vkf_section_panels(section) * (l.width + PANEL_GAP) - PANEL_GAP);
        width = fmax(width, text_width(section->about));
        height += SECTION_HEIGHT + section->layer_count * layer_height(&l);
    }
    *out_width = width + 2 * MARGIN;
    *out_height = height + MARGIN;
}

typedef struct svg {
    vkf_panel_writer *writer;
    const vkf_attention_picture *picture;
} svg;

typedef struct svg_section {
    vkf_panel_writer *writer;
    const vkf_attention_section *section;
    vkf_panel_layout layout;
    double y;             // where its panels begin
    const float *weights; // of the panel that is being written
} svg_section;

static void write_legend(const void *user)
{
    vkf_panel_write_legend(((const svg *)user)->writer);
}

static void write_axes(const void *user)
{
    const svg_section *s = user;
    vkf_panel_write_axes(s->writer->out, s->section, &s->layout);
}

static void write_panel(const void *user)
{
    const svg_section *s = user;
    vkf_panel_write(s->writer, s->section, &s->layout, s->weights);
}

static void each_panel(const vkf_template_body *body, const void *user)
{
    svg_section s = *(const svg_section *)user;
    const vkf_panel_layout *l = &s.layout;
    uint32_t panels = vkf_section_panels(s.section);
    for (uint32_t i = 0; i < s.section->layer_count * panels && !s.writer->failed; i++) {
        char name[64];
        vkf_panel_name(s.section, i / panels, i % panels, name);
        const vkf_slot slots[] = {
            {"x", .number = MARGIN + i % panels * (l->width + PANEL_GAP) + l->left},
            {"y", .number = s.y + i / panels * layer_height(l) + TITLE_HEIGHT + l->top},
            {"name_y", .number = -l->top - 6},
            {"name", .text = name},
            {"panel", .part = write_panel},
            {0},
        };
        vkf_template_body_write(body, slots, &s);
        s.weights += (size_t)s.section->queries * s.section->keys;
    }
}

static void each_section(const vkf_template_body *body, const void *user)
{
    const svg *file = user;
    double y = HEADER_HEIGHT;
    for (uint32_t i = 0; i < file->picture->section_count && !file->writer->failed; i++) {
        const vkf_attention_section *section = &file->picture->sections[i];
        const svg_section s = {
            .writer = file->writer,
            .section = section,
            .layout = vkf_panel_layout_of(section),
            .y = y + SECTION_HEIGHT,
            .weights = section->weights,
        };
        const vkf_slot slots[] = {
            {"title", .text = section->title},
            {"title_y", .number = y + 18},
            {"about", .text = section->about},
            {"about_y", .number = y + 36},
            {"axes", .part = write_axes},
            {"panels", .each = each_panel},
            {0},
        };
        vkf_template_body_write(body, slots, &s);
        y = s.y + section->layer_count * layer_height(&s.layout);
    }
}

static bool write_svg(FILE *out, const vkf_attention_picture *picture, bool cells)
{
    vkf_panel_writer writer = {.out = out, .cells = cells};
    const svg file = {&writer, picture};
    double width, height;
    measure(picture, &width, &height);
    const vkf_slot slots[] = {
        {"width", .number = width},
        {"height", .number = height},
        {"margin", .number = MARGIN},
        {"model", .data = picture->model, .max_chars = 60},
        {"text", .data = picture->text, .max_chars = TEXT_MAX_CHARS},
        {"output", .data = picture->output, .max_chars = TEXT_MAX_CHARS},
        {"legend", .part = write_legend},
        {"legend_label_x", .number = VKF_LEGEND_WIDTH + 16},
        {"sections", .each = each_section},
        {0},
    };
    vkf_template_write(out, vkf_template_attention_picture_svg, slots, &file);
    return !writer.failed;
}

static bool write_as_page(FILE *out, const void *picture)
{
    return vkf_attention_page_write(out, picture, vkf_picture_cells(picture) <= MOST_TELLING_CELLS);
}

static bool write_as_svg(FILE *out, const void *picture)
{
    return write_svg(out, picture, vkf_picture_cells(picture) <= MOST_TELLING_CELLS);
}

bool vkf_attention_picture_write(const vkf_attention_picture *picture, const char *path)
{
    return vkf_write_stream(path, vkf_attention_picture_is_page(path) ? write_as_page : write_as_svg, picture);
}
