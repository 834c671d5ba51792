// Writes the picture's file. As SVG, it has the same panels below each other, with texts and a scale above them.
#include "attention/attention_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention/attention_page.h"
#include "attention/attention_panel.h"
#include "output/file_output.h"
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
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
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

static bool write_header(FILE *out, const vkf_attention_picture *picture)
{
    fprintf(out, "<text x=\"%g\" y=\"38\" font-size=\"18\" font-weight=\"bold\">Attention of ", MARGIN);
    vkf_xml_write_text(out, picture->model, 60, false);
    fprintf(out, "</text>\n<text x=\"%g\" y=\"60\" font-size=\"13\">text: ", MARGIN);
    vkf_xml_write_text(out, picture->text, TEXT_MAX_CHARS, false);
    fputs("</text>\n", out);
    if (picture->output) {
        fprintf(out, "<text x=\"%g\" y=\"78\" font-size=\"13\">output: ", MARGIN);
        vkf_xml_write_text(out, picture->output, TEXT_MAX_CHARS, false);
        fputs("</text>\n", out);
    }
    fprintf(out, "<g transform=\"translate(%g 96)\">\n", MARGIN);
    bool done = vkf_panel_write_legend(out);
    fprintf(out, "<text x=\"%d\" y=\"11\" font-size=\"12\">attention weight</text>\n</g>\n", VKF_LEGEND_WIDTH + 16);
    return done;
}

// *inout_y is where the section begins; on return, where the next one does.
static bool write_section(FILE *out, const vkf_attention_section *section, bool cells, double *inout_y)
{
    const vkf_panel_layout l = vkf_panel_layout_of(section);
    const float *weights = section->weights;
    bool done = true;
    fprintf(out,
            "<text x=\"%g\" y=\"%g\" font-size=\"15\" font-weight=\"bold\">%s</text>\n"
            "<text x=\"%g\" y=\"%g\" font-size=\"12\" fill=\"#555\">%s</text>\n<defs>\n",
            MARGIN, *inout_y + 18, section->title, MARGIN, *inout_y + 36, section->about);
    vkf_panel_write_axes(out, section, &l);
    fputs("</defs>\n", out);
    *inout_y += SECTION_HEIGHT;
    for (uint32_t i = 0; i < section->layer_count; i++, *inout_y += layer_height(&l)) {
        for (uint32_t panel = 0; panel < vkf_section_panels(section) && done; panel++) {
            char name[64];
            vkf_panel_name(section, i, panel, name);
            fprintf(out,
                    "<g transform=\"translate(%.1f %.1f)\">\n"
                    "<text x=\"0\" y=\"%g\" font-size=\"12\" font-weight=\"bold\">%s</text>\n",
                    MARGIN + panel * (l.width + PANEL_GAP) + l.left, *inout_y + TITLE_HEIGHT + l.top, -l.top - 6, name);
            done = vkf_panel_write(out, section, &l, weights, cells);
            fputs("</g>\n", out);
            weights += (size_t)section->queries * section->keys;
        }
    }
    return done;
}

static bool write_svg(FILE *out, const vkf_attention_picture *picture, bool cells)
{
    double width, height, y = HEADER_HEIGHT;
    measure(picture, &width, &height);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
            "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" ",
            width, height, width, height);
    fputs("role=\"img\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" fill=\"#111\">\n<title>Attention: ", out);
    vkf_xml_write_text(out, picture->text, TEXT_MAX_CHARS, false);
    fputs("</title>\n<style>.label { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace }</style>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          out);
    bool done = write_header(out, picture);
    for (uint32_t i = 0; i < picture->section_count && done; i++)
        done = write_section(out, &picture->sections[i], cells, &y);
    fputs("</svg>\n", out);
    return done;
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
