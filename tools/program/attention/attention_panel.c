// Draws one heat map as SVG: axes, labels, cells and the scale.
#include "attention/attention_panel.h"

#include <math.h>
#include <string.h>

#include "attention/weight_image.h"
#include "output/xml_text.h"

// Pixels. Text widths are estimates, because no font is at hand: they fit DejaVu, the widest of the usual fonts.
#define LARGEST_CELL 16.0
#define USUAL_SIDE 480.0 // of a panel with many cells
#define LABEL_SIZE 10.0
#define LABEL_CHAR_WIDTH 6.1
#define LABEL_MAX_CHARS 20
#define MOST_LABELS 48u
#define NUMBER_ROOM 34.0 // for the numbers of positions, beside the cells and between each other
#define KEY_LABEL_DEGREES 60.0
#define TOLD 3u // how many of a row's largest weights are shown

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

vkf_panel_layout vkf_panel_layout_of(const vkf_attention_section *section)
{
    uint32_t most = section->queries > section->keys ? section->queries : section->keys;
    double radians = KEY_LABEL_DEGREES * acos(-1.0) / 180.0;
    vkf_panel_layout l = {
        .cell = fmin(LARGEST_CELL, fmax(1.0, floor(USUAL_SIDE / most))),
        .left = NUMBER_ROOM,
        .top = LABEL_SIZE + 6,
        .right = NUMBER_ROOM / 2,
        .labelled = most <= MOST_LABELS,
    };
    if (l.labelled) {
        double key_label = longest_label(section->key_tokens, section->keys);
        l.left = longest_label(section->query_tokens, section->queries) + 8;
        l.top = key_label * sin(radians) + 12;
        l.right = key_label * cos(radians);
    }
    l.width = l.left + l.cell * section->keys + l.right;
    l.height = l.top + l.cell * section->queries + 2;
    return l;
}

uint32_t vkf_section_panels(const vkf_attention_section *section)
{
    return section->mean + section->head_count;
}

uint64_t vkf_picture_cells(const vkf_attention_picture *picture)
{
    uint64_t cells = 0;
    for (uint32_t i = 0; i < picture->section_count; i++) {
        const vkf_attention_section *s = &picture->sections[i];
        cells += (uint64_t)s->layer_count * vkf_section_panels(s) * s->queries * s->keys;
    }
    return cells;
}

void vkf_panel_name(const vkf_attention_section *section, uint32_t layer, uint32_t panel, char out_name[64])
{
    if (section->mean && panel == 0)
        snprintf(out_name, 64, "layer %u, mean of heads", section->layers[layer]);
    else
        snprintf(out_name, 64, "layer %u, head %u", section->layers[layer], section->heads[panel - section->mean]);
}

// Labels ------------------------------------------------------------------------------------------------------------

static void write_tokens(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *layout)
{
    for (uint32_t key = 0; key < section->keys; key++) {
        fprintf(out, "<text transform=\"translate(%g -5) rotate(-%g)\">", layout->cell * (key + 0.7),
                KEY_LABEL_DEGREES);
        vkf_xml_write_text(out, section->key_tokens[key], LABEL_MAX_CHARS, true);
        fputs("</text>\n", out);
    }
    for (uint32_t query = 0; query < section->queries; query++) {
        fprintf(out, "<text x=\"-6\" y=\"%g\" text-anchor=\"end\">", layout->cell * (query + 0.74));
        vkf_xml_write_text(out, section->query_tokens[query], LABEL_MAX_CHARS, true);
        fputs("</text>\n", out);
    }
}

// The step between position numbers: round, and large enough that they do not touch.
static uint32_t number_step(double cell)
{
    uint32_t step = 1;
    while (step * cell < NUMBER_ROOM)
        step *= 2;
    return step;
}

static void write_numbers(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *layout)
{
    uint32_t step = number_step(layout->cell);
    for (uint32_t key = 0; key < section->keys; key += step)
        fprintf(out, "<text x=\"%g\" y=\"-5\">%u</text>\n", layout->cell * key, key);
    for (uint32_t query = 0; query < section->queries; query += step)
        fprintf(out, "<text x=\"-6\" y=\"%g\" text-anchor=\"end\">%u</text>\n", layout->cell * query + LABEL_SIZE - 2,
                query);
}

void vkf_panel_write_axes(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *layout)
{
    fprintf(out,
            "<g id=\"%s-axes\" class=\"label\" font-size=\"%g\">\n"
            "<rect class=\"frame\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#8c959f\"/>\n",
            section->name, LABEL_SIZE, layout->cell * section->keys, layout->cell * section->queries);
    if (layout->labelled)
        write_tokens(out, section, layout);
    else
        write_numbers(out, section, layout);
    fputs("</g>\n", out);
}

// Values ------------------------------------------------------------------------------------------------------------

static void write_cell_titles(FILE *out, const vkf_attention_section *section, const float *weights)
{
    for (uint32_t query = 0; query < section->queries; query++) {
        for (uint32_t key = 0; key < section->keys; key++, weights++) {
            fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"1\" height=\"1\"><title>", key, query);
            vkf_xml_write_text(out, section->query_tokens[query], LABEL_MAX_CHARS, true);
            fputs(" \342\206\220 ", out); // left arrow
            vkf_xml_write_text(out, section->key_tokens[key], LABEL_MAX_CHARS, true);
            fprintf(out, ": %.4f</title></rect>\n", (double)*weights);
        }
    }
}

// Finds the places of the largest weights, largest first; fewer than TOLD where the row is shorter.
static uint32_t find_largest(const float *weights, uint32_t count, uint32_t out_keys[TOLD])
{
    uint32_t found = 0;
    for (uint32_t key = 0; key < count; key++) {
        uint32_t at = found;
        while (at > 0 && weights[key] > weights[out_keys[at - 1]])
            at--;
        if (at == TOLD)
            continue;
        found += found < TOLD;
        memmove(out_keys + at + 1, out_keys + at, (found - 1 - at) * sizeof *out_keys);
        out_keys[at] = key;
    }
    return found;
}

static void write_row_titles(FILE *out, const vkf_attention_section *section, const float *weights)
{
    for (uint32_t query = 0; query < section->queries; query++, weights += section->keys) {
        uint32_t largest[TOLD], count = find_largest(weights, section->keys, largest);
        fprintf(out, "<rect y=\"%u\" width=\"%u\" height=\"1\"><title>%u ", query, section->keys, query);
        vkf_xml_write_text(out, section->query_tokens[query], LABEL_MAX_CHARS, true);
        fputs(" \342\206\220", out);
        for (uint32_t i = 0; i < count; i++) {
            fprintf(out, "%s %u ", i > 0 ? "," : "", largest[i]);
            vkf_xml_write_text(out, section->key_tokens[largest[i]], LABEL_MAX_CHARS, true);
            fprintf(out, " %.3f", (double)weights[largest[i]]);
        }
        fputs("</title></rect>\n", out);
    }
}

// An image that is scaled up without smoothing. Viewers have different words for that, so all of them are given.
static bool write_image(FILE *out, const float *weights, uint32_t columns, uint32_t rows, double width, double height)
{
    fprintf(out,
            "<image width=\"%g\" height=\"%g\" preserveAspectRatio=\"none\" "
            "style=\"image-rendering:optimizeSpeed;image-rendering:pixelated\" href=\"",
            width, height);
    bool done = vkf_weight_image_write(out, weights, columns, rows);
    fputs("\"/>\n", out);
    return done;
}

bool vkf_panel_write(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *layout,
                     const float *weights, bool cells)
{
    bool done = write_image(out, weights, section->keys, section->queries, layout->cell * section->keys,
                            layout->cell * section->queries);
    fprintf(out, "<use href=\"#%s-axes\"/>\n<g fill-opacity=\"0\" transform=\"scale(%g)\">\n", section->name,
            layout->cell);
    if (cells)
        write_cell_titles(out, section, weights);
    else
        write_row_titles(out, section, weights);
    fputs("</g>\n", out);
    return done;
}

bool vkf_panel_write_legend(FILE *out)
{
    static const float ticks[] = {0.0f, 0.01f, 0.1f, 0.25f, 0.5f, 1.0f};
    float ramp[VKF_WEIGHT_SHADES / 2];
    const uint32_t count = sizeof ramp / sizeof ramp[0];
    for (uint32_t i = 0; i < count; i++)
        ramp[i] = powf((float)i / (float)(count - 1), 2.0f);
    bool done = write_image(out, ramp, count, 1, VKF_LEGEND_WIDTH, 12);
    fprintf(out,
            "<rect width=\"%d\" height=\"12\" fill=\"none\" stroke=\"#8c959f\"/>\n"
            "<g font-size=\"11\" text-anchor=\"middle\">\n",
            VKF_LEGEND_WIDTH);
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++)
        fprintf(out, "<text x=\"%g\" y=\"26\">%g</text>\n", VKF_LEGEND_WIDTH * sqrt((double)ticks[i]),
                (double)ticks[i]);
    fputs("</g>\n", out);
    return done;
}
