#define _POSIX_C_SOURCE 200809L

#include "attention_picture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_output.h"
#include "options.h"
#include "xml_text.h"

// Pixels; text widths are estimates, as no font is at hand: DejaVu, the widest of the usual ones, sets them.
#define MARGIN 24.0
#define CELL 16.0
#define PANEL_GAP 20.0
#define PANEL_TITLE_HEIGHT 20.0
#define LABEL_SIZE 11.0
#define LABEL_CHAR_WIDTH 6.7
#define LABEL_MAX_CHARS 20
#define TEXT_CHAR_WIDTH 7.6
#define TEXT_MAX_CHARS 150
#define HEADER_HEIGHT 152.0
#define LEGEND_WIDTH 240.0
#define KEY_LABEL_DEGREES 60.0
#define CAPTION \
    "Columns: tokens of the source (keys). Rows: generated tokens (queries); each row sums to 1. \302\267 is a space."

typedef struct layout {
    double query_label_width;
    double key_label_height;
    double key_label_overhang; // of the last rotated label, to the right of the cells
    double cells_width;
    double cells_height;
    double panel_width;
    double panel_height;
    double width;
    double height;
} layout;

// A colour scale from near white to dark blue, linear in between as SVG's own gradients are.
static const struct {
    double weight;
    int red, green, blue;
} colour_stops[] = {
    {0.00, 0xf7, 0xfb, 0xff}, {0.25, 0xb7, 0xd4, 0xea}, {0.50, 0x6a, 0xab, 0xd3},
    {0.75, 0x2a, 0x72, 0xb2}, {1.00, 0x08, 0x30, 0x6b},
};
#define COLOUR_STOP_COUNT (sizeof colour_stops / sizeof colour_stops[0])

static const char *path_extension(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : "";
}

bool vkf_attention_picture_path_valid(const char *path)
{
    const char *extension = path_extension(path);
    return strcmp(extension, ".svg") == 0 || strcmp(extension, ".html") == 0;
}

static double longest_label(const char *const *tokens, uint32_t count)
{
    size_t longest = 1;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = vkf_utf8_length(tokens[i], LABEL_MAX_CHARS);
        if (length > longest)
            longest = length;
    }
    return (double)longest * LABEL_CHAR_WIDTH;
}

static double text_width(const char *text)
{
    return (double)vkf_utf8_length(text, TEXT_MAX_CHARS) * TEXT_CHAR_WIDTH;
}

static layout make_layout(const vkf_attention_picture *picture)
{
    double radians = KEY_LABEL_DEGREES * acos(-1.0) / 180.0;
    double key_label = longest_label(picture->key_tokens, picture->key_count);
    layout l = {
        .query_label_width = longest_label(picture->query_tokens, picture->query_count) + 8,
        .key_label_height = key_label * sin(radians) + 12,
        .key_label_overhang = key_label * cos(radians),
        .cells_width = CELL * picture->key_count,
        .cells_height = CELL * picture->query_count,
    };
    l.panel_width = l.query_label_width + l.cells_width + l.key_label_overhang;
    l.panel_height = PANEL_TITLE_HEIGHT + l.key_label_height + l.cells_height;
    double text = fmax(text_width(picture->source_text), text_width(picture->output_text)) + 9 * TEXT_CHAR_WIDTH;
    double panels = picture->num_heads * (l.panel_width + PANEL_GAP) - PANEL_GAP;
    l.width = 2 * MARGIN + fmax(fmax(panels, text), text_width(CAPTION));
    l.height = HEADER_HEIGHT + picture->num_layers * (l.panel_height + PANEL_GAP) + MARGIN;
    return l;
}

static void write_colour(FILE *out, float weight)
{
    if (!(weight >= 0 && weight <= 1.0001f)) { // NaN too: a colour that is not on the scale
        fputs("#e0218a", out);
        return;
    }
    size_t i = 1;
    while (i + 1 < COLOUR_STOP_COUNT && (double)weight > colour_stops[i].weight)
        i++;
    double low = colour_stops[i - 1].weight, high = colour_stops[i].weight;
    double t = fmin(((double)weight - low) / (high - low), 1.0);
    int red = (int)lround(colour_stops[i - 1].red + t * (colour_stops[i].red - colour_stops[i - 1].red));
    int green = (int)lround(colour_stops[i - 1].green + t * (colour_stops[i].green - colour_stops[i - 1].green));
    int blue = (int)lround(colour_stops[i - 1].blue + t * (colour_stops[i].blue - colour_stops[i - 1].blue));
    fprintf(out, "#%02x%02x%02x", red, green, blue);
}

static void write_legend(FILE *out)
{
    fputs("<defs><linearGradient id=\"scale\">", out);
    for (size_t i = 0; i < COLOUR_STOP_COUNT; i++) {
        fprintf(out, "<stop offset=\"%g\" stop-color=\"", colour_stops[i].weight);
        write_colour(out, (float)colour_stops[i].weight);
        fputs("\"/>", out);
    }
    fputs("</linearGradient></defs>\n", out);
    fprintf(out, "<g transform=\"translate(%g 104)\" font-size=\"11\" fill=\"#333\">\n", MARGIN);
    fputs("<text x=\"0\" y=\"10\">attention weight</text>\n", out);
    fprintf(out, "<rect x=\"110\" y=\"0\" width=\"%g\" height=\"12\" fill=\"url(#scale)\" stroke=\"#889\"/>\n",
            LEGEND_WIDTH);
    for (int tick = 0; tick <= 4; tick++)
        fprintf(out, "<text x=\"%g\" y=\"26\" text-anchor=\"middle\">%g</text>\n", 110 + LEGEND_WIDTH * tick / 4,
                tick / 4.0);
    fputs("</g>\n", out);
}

static void write_header(FILE *out, const vkf_attention_picture *picture)
{
    fprintf(out, "<text x=\"%g\" y=\"38\" font-size=\"18\" font-weight=\"bold\">Cross attention of ", MARGIN);
    vkf_xml_write_text(out, picture->model, 60, false);
    fputs("</text>\n", out);
    fprintf(out, "<text x=\"%g\" y=\"60\" font-size=\"13\">source: ", MARGIN);
    vkf_xml_write_text(out, picture->source_text, TEXT_MAX_CHARS, false);
    fprintf(out, "</text>\n<text x=\"%g\" y=\"78\" font-size=\"13\">output: ", MARGIN);
    vkf_xml_write_text(out, picture->output_text, TEXT_MAX_CHARS, false);
    fprintf(out, "</text>\n<text x=\"%g\" y=\"96\" font-size=\"12\" fill=\"#555\">" CAPTION "</text>\n", MARGIN);
    write_legend(out);
}

// Labels and grid of a panel whose cells begin at (0, 0).
static void write_axes(FILE *out, const vkf_attention_picture *picture, const layout *l)
{
    fprintf(out, "<rect width=\"%g\" height=\"%g\" fill=\"#f7fbff\" stroke=\"#aab\"/>\n", l->cells_width,
            l->cells_height);
    fputs("<path stroke=\"#dfe5ec\" d=\"", out);
    for (uint32_t key = 1; key < picture->key_count; key++)
        fprintf(out, "M%g 0v%g", CELL * key, l->cells_height);
    for (uint32_t query = 1; query < picture->query_count; query++)
        fprintf(out, "M0 %gh%g", CELL * query, l->cells_width);
    fprintf(out, "\"/>\n<g class=\"label\" font-size=\"%g\">\n", LABEL_SIZE);
    for (uint32_t key = 0; key < picture->key_count; key++) {
        fprintf(out, "<text transform=\"translate(%g -5) rotate(-%g)\">", CELL * (key + 0.7), KEY_LABEL_DEGREES);
        vkf_xml_write_text(out, picture->key_tokens[key], LABEL_MAX_CHARS, true);
        fputs("</text>\n", out);
    }
    for (uint32_t query = 0; query < picture->query_count; query++) {
        fprintf(out, "<text x=\"-6\" y=\"%g\" text-anchor=\"end\">", CELL * (query + 0.74));
        vkf_xml_write_text(out, picture->query_tokens[query], LABEL_MAX_CHARS, true);
        fputs("</text>\n", out);
    }
    fputs("</g>\n", out);
}

// Cells that would look like the background are left out; the rest tell their weight when pointed at.
static void write_cells(FILE *out, const vkf_attention_picture *picture, const float *weights)
{
    for (uint32_t query = 0; query < picture->query_count; query++) {
        for (uint32_t key = 0; key < picture->key_count; key++) {
            float weight = weights[(size_t)query * picture->key_stride + key];
            if (weight >= 0 && weight < 0.004f)
                continue;
            fprintf(out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"", CELL * key + 0.5,
                    CELL * query + 0.5, CELL - 1, CELL - 1);
            write_colour(out, weight);
            fputs("\"><title>", out);
            vkf_xml_write_text(out, picture->query_tokens[query], LABEL_MAX_CHARS, true);
            fputs(" \342\206\220 ", out); // leftwards arrow
            vkf_xml_write_text(out, picture->key_tokens[key], LABEL_MAX_CHARS, true);
            fprintf(out, ": %.3f</title></rect>\n", (double)weight);
        }
    }
}

static void write_svg(FILE *out, const vkf_attention_picture *picture)
{
    layout l = make_layout(picture);
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" ",
            l.width, l.height, l.width, l.height);
    fputs("role=\"img\" font-family=\"'DejaVu Sans', Verdana, sans-serif\" fill=\"#111\">\n<title>Cross attention: ",
          out);
    vkf_xml_write_text(out, picture->source_text, TEXT_MAX_CHARS, false);
    fputs("</title>\n<style>.label { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace }</style>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          out);
    write_header(out, picture);
    const float *weights = picture->weights;
    for (uint32_t layer = 0; layer < picture->num_layers; layer++) {
        for (uint32_t head = 0; head < picture->num_heads; head++) {
            double x = MARGIN + head * (l.panel_width + PANEL_GAP) + l.query_label_width;
            double y = HEADER_HEIGHT + layer * (l.panel_height + PANEL_GAP) + PANEL_TITLE_HEIGHT + l.key_label_height;
            fprintf(out, "<g transform=\"translate(%.1f %.1f)\">\n", x, y);
            fprintf(out, "<text x=\"0\" y=\"%g\" font-size=\"12\" font-weight=\"bold\">layer %u, head %u</text>\n",
                    -l.key_label_height - 6, layer, head);
            write_axes(out, picture, &l);
            write_cells(out, picture, weights);
            fputs("</g>\n", out);
            weights += (size_t)picture->query_count * picture->key_stride;
        }
    }
    fputs("</svg>\n", out);
}

static void write_page(FILE *out, const vkf_attention_picture *picture)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Cross attention: ", out);
    vkf_xml_write_text(out, picture->source_text, TEXT_MAX_CHARS, false);
    fputs("</title>\n<style>body { margin: 0; background: #fff }</style>\n</head>\n<body>\n", out);
    write_svg(out, picture);
    fputs("</body>\n</html>\n", out);
}

bool vkf_attention_picture_write(const vkf_attention_picture *picture, const char *path)
{
    char *data = NULL;
    size_t size_bytes = 0;
    FILE *out = open_memstream(&data, &size_bytes);
    bool written = out != NULL;
    if (out) {
        if (strcmp(path_extension(path), ".html") == 0) {
            write_page(out, picture);
        } else {
            fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
            write_svg(out, picture);
        }
        bool complete = ferror(out) == 0;
        written = fclose(out) == 0 && complete && vkf_write_file(path, data, size_bytes);
    }
    if (!written)
        vkf_print_error("the picture '%s' could not be written: %s", path, strerror(errno));
    free(data);
    return written;
}
