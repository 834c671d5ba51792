// Pages are templates: files in folders templates/, which the build makes part of the program, where {{name}} is the
// place of what is computed. A place that is alone in its line takes the end of the line with it.
#ifndef VKF_PROGRAM_TEMPLATE_H
#define VKF_PROGRAM_TEMPLATE_H

#include <stddef.h>
#include <stdio.h>

// What stands in place of a name: the first of these that is not NULL, and otherwise the number.
typedef struct vkf_slot {
    const char *name; // NULL ends an array
    void (*part)(const void *user);
    const unsigned char *file; // another template, as it is
    const char *text;          // as it is
    const char *data;          // escaped, and cut behind max_chars
    size_t max_chars;
    double number; // as %g has it
} vkf_slot;

// A name that is no slot's stays as it is, to be seen. `user` is for the parts.
void vkf_template_write(FILE *out, const unsigned char *template, const vkf_slot *slots, const void *user);

#endif
