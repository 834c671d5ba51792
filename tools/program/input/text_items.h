// Texts that run together: the arguments, the files that they name, or the lines of the standard input.
#ifndef VKF_PROGRAM_TEXT_ITEMS_H
#define VKF_PROGRAM_TEXT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vkf_text_item {
    char *text; // may contain zero bytes, and need not be UTF-8
    size_t size_bytes;
    const char *file; // NULL: the text does not come from a file
} vkf_text_item;

typedef struct vkf_text_items {
    vkf_text_item *list; // (count)
    uint32_t count, capacity;
} vkf_text_items;

// Collects the arguments, or with `files` what is in the files of these names; lines where there is no argument. False:
// the reason has been printed. vkf_text_items_free() must follow in either case.
bool vkf_text_items_collect(vkf_text_items *items, char *const *arguments, uint32_t argument_count, bool files);
void vkf_text_items_free(vkf_text_items *items);

#endif
