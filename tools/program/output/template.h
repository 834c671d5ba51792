// Pages are templates: files in folders templates/, which the build embeds in the program. What is computed stands in
// them by name, in the notation of Mustache:
//
//   {{name}}              a text or a number; a number with "%g"
//   {{name:.3f}}          a number with "%.3f"; also .2g and so on
//   {{#name}}...{{/name}} the part between them, once for each item of a list, or where a condition holds
//   {{^name}}...{{/name}} the part between them, where a condition does not hold
//
// A tag that is alone in its line also replaces the end of the line. Between {{#name}} and {{/name}} there is no second
// {{#name}}.
#ifndef VKF_PROGRAM_TEMPLATE_H
#define VKF_PROGRAM_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define VKF_TEMPLATE_MAX_CHARS 500

// The part of a template between {{#name}} and {{/name}}.
typedef struct vkf_template_body vkf_template_body;

// What replaces a name: the first of these members that is not NULL, or else the number. The condition of {{#name}}
// holds if a member is not NULL or the number is not 0.
typedef struct vkf_slot {
    const char *name;                                              // NULL ends an array
    void (*each)(const vkf_template_body *body, const void *user); // for {{#name}}: writes the body for each item
    void (*part)(const void *user);                                // for {{name}}: writes what stands there
    const unsigned char *file;                                     // another template, inserted verbatim
    const char *text;                                              // inserted verbatim
    const char *data;                                              // escaped, and cut after max_chars
    size_t max_chars;                                              // 0: VKF_TEMPLATE_MAX_CHARS
    bool show_spaces;                                              // in data
    double number;
} vkf_slot;

// A tag that has no slot, or has no end, is left in the page, so that it is noticed. `user` is passed to the functions
// of these slots.
void vkf_template_write(FILE *out, const unsigned char *template, const vkf_slot *slots, const void *user);

// Writes the body once, with slots of an item. Other names are those around the body.
void vkf_template_body_write(const vkf_template_body *body, const vkf_slot *slots, const void *user);

#endif
