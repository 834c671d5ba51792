// One heat map, the same in a page and in an SVG file.
#ifndef VKF_PROGRAM_ATTENTION_PANEL_H
#define VKF_PROGRAM_ATTENTION_PANEL_H

#include <stdio.h>

#include "attention/attention_picture.h"

// The layout in pixels of a section's panels, whose cells begin at (left, top).
typedef struct vkf_panel_layout {
    double cell; // width and height of a cell
    double left, top, right;
    double width, height; // of the whole panel
    bool labelled;        // with tokens, instead of numbers of positions
} vkf_panel_layout;

vkf_panel_layout vkf_panel_layout_of(const vkf_attention_section *section);

uint32_t vkf_section_panels(const vkf_attention_section *section); // of each layer
uint64_t vkf_picture_cells(const vkf_attention_picture *picture);

// "layer 1, head 3".
void vkf_panel_name(const vkf_attention_section *section, uint32_t layer, uint32_t panel, char out_name[64]);

typedef struct vkf_panel_writer {
    FILE *out;
    bool cells;  // each cell shows its weight when pointed at; otherwise each row shows its largest ones
    bool failed; // memory was exhausted, and what is written is not complete
} vkf_panel_writer;

// Writes the frame and labels that all panels of a section show. They go into a document once, before the first panel.
void vkf_panel_write_axes(FILE *out, const vkf_attention_section *section, const vkf_panel_layout *layout);

// Writes the cells with their frame and labels, the first cell at (0, 0).
void vkf_panel_write(vkf_panel_writer *writer, const vkf_attention_section *section, const vkf_panel_layout *layout,
                     const float *weights);

// Writes a scale of all shades, VKF_LEGEND_WIDTH wide, at (0, 0).
#define VKF_LEGEND_WIDTH 240
#define VKF_LEGEND_HEIGHT 30
void vkf_panel_write_legend(vkf_panel_writer *writer);

#endif
