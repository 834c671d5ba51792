// Draws one heat map as SVG: axes, labels, cells and the scale.
#include "attention/attention_panel.h"

#include <math.h>
#include <string.h>

#include "attention/weight_image.h"
#include "embedded_templates.h"
#include "output/template.h"
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

typedef struct labels {
    const vkf_attention_section *section;
    const vkf_panel_layout *layout;
} labels;

// The step between position numbers: round, and large enough that they do not touch.
static uint32_t number_step(double cell)
{
    uint32_t step = 1;
    while (step * cell < NUMBER_ROOM)
        step *= 2;
    return step;
}

static void write_label(const vkf_template_body *body, uint32_t position, const char *token, double place)
{
    const vkf_slot slots[] = {
        {"x", .number = place},
        {"y", .number = place},
        {"token", .data = token, .max_chars = LABEL_MAX_CHARS, .show_spaces = true},
        {"position", .number = position},
        {0},
    };
    vkf_template_body_write(body, slots, NULL);
}

static void each_key_label(const vkf_template_body *body, const void *user)
{
    const labels *l = user;
    uint32_t step = l->layout->labelled ? 1 : number_step(l->layout->cell);
    for (uint32_t key = 0; key < l->section->keys; key += step)
        write_label(body, key, l->section->key_tokens[key],
                    l->layout->labelled ? l->layout->cell * (key + 0.7) : l->layout->cell * key);
}

static void each_query_label(const vkf_template_body *body, const void *user)
{
    const labels *l = user;
    uint32_t step = l->layout->labelled ? 1 : number_step(l->layout->cell);
    for (uint32_t query = 0; query < l->section->queries; query += step)
        write_label(body, query, l->section->query_tokens[query],
                    l->layout->labelled ? l->layout->cell * (query + 0.74) : l->layout->cell * query + LABEL_SIZE - 2);
}

void vkf_panel_write_axes(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *layout)
{
    const labels l = {section, layout};
    const vkf_slot slots[] = {
        {"section", .text = section->name},
        {"font_size", .number = LABEL_SIZE},
        {"width", .number = layout->cell * section->keys},
        {"height", .number = layout->cell * section->queries},
        {"tokens", .number = layout->labelled},
        {"degrees", .number = KEY_LABEL_DEGREES},
        {"keys", .each = each_key_label},
        {"queries", .each = each_query_label},
        {0},
    };
    vkf_template_write(out, vkf_template_attention_axes_svg, slots, &l);
}

// Values ------------------------------------------------------------------------------------------------------------

typedef struct panel {
    vkf_panel_writer *writer;
    const vkf_attention_section *section; // NULL: the legend
    const float *weights;                 // (rows, columns)
    uint32_t columns, rows;
} panel;

static void each_cell(const vkf_template_body *body, const void *user)
{
    const panel *p = user;
    for (size_t i = 0; p->writer->cells && i < (size_t)p->rows * p->columns; i++) {
        size_t query = i / p->columns, key = i % p->columns;
        const vkf_slot slots[] = {
            {"key", .number = (double)key},
            {"query", .number = (double)query},
            {"query_token", .data = p->section->query_tokens[query], .max_chars = LABEL_MAX_CHARS, .show_spaces = true},
            {"key_token", .data = p->section->key_tokens[key], .max_chars = LABEL_MAX_CHARS, .show_spaces = true},
            {"weight", .number = (double)p->weights[i]},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

// A row, and the places of its largest weights, largest first; fewer than TOLD where the row is shorter.
typedef struct row {
    const char *const *tokens;
    const float *weights;
    uint32_t count;
    uint32_t largest[TOLD];
} row;

static void find_largest(row *r, uint32_t columns)
{
    for (uint32_t key = 0; key < columns; key++) {
        uint32_t at = r->count;
        while (at > 0 && r->weights[key] > r->weights[r->largest[at - 1]])
            at--;
        if (at == TOLD)
            continue;
        r->count += r->count < TOLD;
        memmove(r->largest + at + 1, r->largest + at, (r->count - 1 - at) * sizeof *r->largest);
        r->largest[at] = key;
    }
}

static void each_largest(const vkf_template_body *body, const void *user)
{
    const row *r = user;
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t key = r->largest[i];
        const vkf_slot slots[] = {
            {"further", .number = i > 0},
            {"key", .number = key},
            {"key_token", .data = r->tokens[key], .max_chars = LABEL_MAX_CHARS, .show_spaces = true},
            {"weight", .number = (double)r->weights[key]},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

static void each_row(const vkf_template_body *body, const void *user)
{
    const panel *p = user;
    for (uint32_t query = 0; !p->writer->cells && query < p->rows; query++) {
        const char *token = p->section->query_tokens[query];
        row r = {.tokens = p->section->key_tokens, .weights = p->weights + (size_t)query * p->columns};
        const vkf_slot slots[] = {
            {"query", .number = query},
            {"columns", .number = p->columns},
            {"query_token", .data = token, .max_chars = LABEL_MAX_CHARS, .show_spaces = true},
            {"largest", .each = each_largest},
            {0},
        };
        find_largest(&r, p->columns);
        vkf_template_body_write(body, slots, &r);
    }
}

static void write_image(const void *user)
{
    const panel *p = user;
    if (!p->writer->failed)
        p->writer->failed = !vkf_weight_image_write(p->writer->out, p->weights, p->columns, p->rows);
}

void vkf_panel_write(vkf_panel_writer *writer, const vkf_attention_section *section, const vkf_panel_layout *layout,
                     const float *weights)
{
    const panel p = {writer, section, weights, section->keys, section->queries};
    const vkf_slot slots[] = {
        {"section", .text = section->name},
        {"width", .number = layout->cell * section->keys},
        {"height", .number = layout->cell * section->queries},
        {"image", .part = write_image},
        {"cell", .number = layout->cell},
        {"cells", .each = each_cell},
        {"rows", .each = each_row},
        {0},
    };
    vkf_template_write(writer->out, vkf_template_attention_panel_svg, slots, &p);
}

static void each_tick(const vkf_template_body *body, const void *user)
{
    static const float ticks[] = {0.0f, 0.01f, 0.1f, 0.25f, 0.5f, 1.0f};
    (void)user;
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        const vkf_slot slots[] = {
            {"x", .number = VKF_LEGEND_WIDTH * sqrt((double)ticks[i])},
            {"weight", .number = (double)ticks[i]},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

void vkf_panel_write_legend(vkf_panel_writer *writer)
{
    float ramp[VKF_WEIGHT_SHADES / 2];
    const uint32_t count = sizeof ramp / sizeof ramp[0];
    for (uint32_t i = 0; i < count; i++)
        ramp[i] = powf((float)i / (float)(count - 1), 2.0f);
    const panel p = {writer, NULL, ramp, count, 1};
    const vkf_slot slots[] = {
        {"width", .number = VKF_LEGEND_WIDTH},
        {"height", .number = 12},
        {"image", .part = write_image},
        {"ticks", .each = each_tick},
        {0},
    };
    vkf_template_write(writer->out, vkf_template_attention_legend_svg, slots, &p);
}
