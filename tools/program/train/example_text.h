// What a line of training data says: columns with a tab between them, or a JSON object.
#ifndef VKF_PROGRAM_EXAMPLE_TEXT_H
#define VKF_PROGRAM_EXAMPLE_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <vkformer/status.h>

#define VKF_EXAMPLE_PROBLEM_BYTES 200

typedef enum vkf_example_kind {
    VKF_EXAMPLE_PAIR = 0, // a source and its target: SOURCE <tab> TARGET, or {"source": ..., "target": ...}
    VKF_EXAMPLE_TEXT,     // a text alone: the whole line, or {"text": ...}
    VKF_EXAMPLE_CLASS,    // a text and its class: TEXT <tab> LABEL, or {"text": ..., "label": ...}
    // Words and a class for each: WORD WORD <tab> LABEL LABEL, or {"tokens": [...], "labels": [...]}, whose labels may
    // be called "ner_tags", too.
    VKF_EXAMPLE_TAGS,
    VKF_EXAMPLE_PROMPT, // a prompt and what is to follow it: PROMPT <tab> COMPLETION, or {"prompt", "completion"}
    VKF_EXAMPLE_KIND_COUNT,
} vkf_example_kind;

#define VKF_EXAMPLE_NUMBER_BYTES 24

// Texts are valid UTF-8, not empty, and have no terminating zero.
typedef struct vkf_example {
    const char *source; // of TAGS the words, where the line has columns
    size_t source_bytes;
    const char
        *target; // of PAIR and PROMPT; of CLASS the label, a name or a decimal number; of TAGS as above; NULL for TEXT
    size_t target_bytes;
    json_t *object;                        // private: has the texts of a JSON line
    const json_t *words, *labels;          // private: of TAGS, in `object`
    char number[VKF_EXAMPLE_NUMBER_BYTES]; // private: a label that is a number
} vkf_example;

// The words of TAGS, or their labels, one after the other. There are as many of these as of those.
typedef struct vkf_example_items {
    const json_t *array; // private, like the rest; NULL: they stand in a column
    size_t index;
    const char *at, *end;
    char number[VKF_EXAMPLE_NUMBER_BYTES];
} vkf_example_items;

// Parses a line into an example, which points into it and into itself, so that it must stay where it is;
// vkf_example_clear() must follow, also after a failure. Members of an object that the kind does not need are ignored.
// Statuses, with the reason in out_problem: FORMAT (the line is broken), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_example_parse(const char *line, size_t size_bytes, vkf_example_kind kind, bool json,
                                            vkf_example *out_example, char out_problem[VKF_EXAMPLE_PROBLEM_BYTES]);

// What a file is read as, by its name: .jsonl, .ndjson and .json have a JSON object in each line, others columns.
bool vkf_example_is_json(const char *path);

// The example must outlive the items.
vkf_example_items vkf_example_words(const vkf_example *example);
vkf_example_items vkf_example_labels(const vkf_example *example);
// False behind the last one. The text has no terminating zero, and is valid until the next call; a word of an object
// may be empty.
bool vkf_example_next(vkf_example_items *items, const char **out_text, size_t *out_bytes);

// Accepts {0}.
void vkf_example_clear(vkf_example *example);

#endif
