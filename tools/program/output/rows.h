// Reports in every form of --output. A row is an object of JSON; columns say what a person reads of it.
#ifndef VKF_PROGRAM_ROWS_H
#define VKF_PROGRAM_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define VKF_ROWS_MAX_COLUMNS 20
#define VKF_CELL_BYTES 1024

// In the order of VKF_OPTION_ROWS().
typedef enum vkf_rows_format {
    VKF_ROWS_TABLE = 0,
    VKF_ROWS_JSON,  // one array of objects
    VKF_ROWS_JSONL, // an object per line
    VKF_ROWS_CSV,   // RFC 4180
    VKF_ROWS_MD,
} vkf_rows_format;

typedef struct vkf_column {
    const char *title, *md_title; // md_title NULL: the same
    const char *key;              // of a member, or of one inside it: "statistics.registers"; it is the title in CSV
    const char *number;           // how printf() shows the member, as a double; NULL: it is a text or a list
    double scale;                 // of the number; 0: 1
    // What is shown instead of the member; NULL: the member.
    void (*text)(const json_t *row, char out_text[VKF_CELL_BYTES]);
    int width;     // in tables, at least; negative: aligned to the left; 0: no blanks are added
    int gap;       // blanks before it in tables; 0: those of the rows
    unsigned when; // is left out unless rows.with has these bits
} vkf_column;

// Zero but for what is set: the format and the columns, which end with {0}.
typedef struct vkf_rows {
    vkf_rows_format format;
    const vkf_column *columns;
    unsigned with;
    unsigned digits;     // of numbers in JSON and CSV; 0: 6
    int gap;             // blanks between the cells of a table; 0: 1
    const char *unknown; // in place of a member that is null or missing; NULL: nothing
    bool no_head;        // of tables
    bool spaced_rule;    // "| --- |" below the head in Markdown
    bool fitted;         // tables are printed at the end, with columns as wide as their cells
    bool csv_of_members; // CSV has all members of the first row but lists, rather than the columns
    // Prints a row of a table or of Markdown by itself, and returns true. NULL: none is.
    bool (*instead)(const struct vkf_rows *rows, const json_t *row);
    json_t *array; // rows that are printed at the end
    bool began;
} vkf_rows;

// Whether rows are lines of text for people: a table or Markdown.
bool vkf_rows_are_text(const vkf_rows *rows);

// Prints the head of the columns, where no row has; not of members.
void vkf_rows_head(vkf_rows *rows);
// Prints the row, or keeps it until the end, and releases it. False after a message.
bool vkf_rows_add(vkf_rows *rows, json_t *row);
bool vkf_rows_end(vkf_rows *rows);

// Prints the text of a cell, of which nothing steers a terminal or ends the cell.
void vkf_rows_print_cell(const char *text, vkf_rows_format format);

// The member of a key of a column; NULL if there is none.
const json_t *vkf_rows_member(const json_t *row, const char *key);
// The same of a text; "" if there is none.
const char *vkf_rows_string(const json_t *row, const char *key);

#endif
