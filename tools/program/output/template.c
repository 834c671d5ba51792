// Fills the places of a template.
#include "output/template.h"

#include <string.h>

#include "output/xml_text.h"

static const vkf_slot *find_slot(const vkf_slot *slots, const char *name, size_t length)
{
    for (; slots->name; slots++)
        if (strlen(slots->name) == length && memcmp(slots->name, name, length) == 0)
            return slots;
    return NULL;
}

static void fill(FILE *out, const vkf_slot *slot, const void *user)
{
    if (slot->part)
        slot->part(user);
    else if (slot->file)
        fputs((const char *)slot->file, out);
    else if (slot->text)
        fputs(slot->text, out);
    else if (slot->data)
        vkf_xml_write_text(out, slot->data, slot->max_chars, false);
    else
        fprintf(out, "%g", slot->number);
}

void vkf_template_write(FILE *out, const unsigned char *template, const vkf_slot *slots, const void *user)
{
    const char *const begin = (const char *)template;
    const char *at = begin;
    for (const char *open; (open = strstr(at, "{{"));) {
        const char *close = strstr(open, "}}");
        if (!close)
            break;
        const vkf_slot *slot = find_slot(slots, open + 2, (size_t)(close - open - 2));
        bool alone = slot && (open == begin || open[-1] == '\n') && close[2] == '\n';
        (void)fwrite(at, 1, (size_t)((slot ? open : close + 2) - at), out);
        if (slot)
            fill(out, slot, user);
        at = close + 2 + alone;
    }
    fputs(at, out);
}
