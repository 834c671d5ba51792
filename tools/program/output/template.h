// Pages are templates: files in folders templates/, which the build embeds in the program. In them {{name}} marks the
// place of something computed. A place that is alone in its line also replaces the end of the line.
#ifndef VKF_PROGRAM_TEMPLATE_H
#define VKF_PROGRAM_TEMPLATE_H

#include <stddef.h>
#include <stdio.h>

// What replaces a name: the first of these members that is not NULL, or else the number.
typedef struct vkf_slot {
    const char *name; // NULL ends an array
    void (*part)(const void *user);
    const unsigned char *file; // another template, inserted verbatim
    const char *text;          // inserted verbatim
    const char *data;          // escaped, and cut after max_chars
    size_t max_chars;
    double number; // printed with %g
} vkf_slot;

// A name without a slot is left in the page, so that it is noticed. `user` is passed to the parts.
void vkf_template_write(FILE *out, const unsigned char *template, const vkf_slot *slots, const void *user);

#endif
