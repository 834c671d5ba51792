// Finds the tags of a template, and writes what stands in their places.
#include "output/template.h"

#include <stdlib.h>
#include <string.h>

#include "output/xml_text.h"

// The slots of an item, and those around it.
typedef struct scope {
    const vkf_slot *slots;
    const void *user;
    const struct scope *outer;
} scope;

struct vkf_template_body {
    FILE *out;
    const char *begin, *end;
    const scope *outer; // NULL: a whole template
};

typedef struct tag {
    const char *begin, *end; // `end` is after the end of the line, too, where the tag is alone in it
    char sign;               // '#', '^' or '/'; 0: none
    const char *name;
    size_t length;
    const char *format; // what follows a colon, up to "}}"; NULL: none
} tag;

static bool find_tag(const vkf_template_body *body, const char *at, tag *out_tag)
{
    const char *open = strstr(at, "{{"), *close = open ? strstr(open, "}}") : NULL;
    if (!close || close >= body->end)
        return false;
    bool begins_line = (open == body->begin && !body->outer) || open[-1] == '\n';
    const char *name = open + 2 + (strchr("#^/", open[2]) != NULL);
    const char *colon = memchr(name, ':', (size_t)(close - name));
    *out_tag = (tag){
        .begin = open,
        .end = close + 2 + (begins_line && close[2] == '\n'),
        .sign = name == open + 2 ? '\0' : open[2],
        .name = name,
        .length = (size_t)((colon ? colon : close) - name),
        .format = colon ? colon + 1 : NULL,
    };
    return true;
}

// Finds {{/name}} after {{#name}}.
static bool find_end(const vkf_template_body *body, const tag *begin, tag *out_end)
{
    const char *at = begin->end;
    while (find_tag(body, at, out_end)) {
        if (out_end->sign == '/' && out_end->length == begin->length &&
            memcmp(out_end->name, begin->name, begin->length) == 0)
            return true;
        at = out_end->end;
    }
    return false;
}

// Finds the slot of a name, in the nearest scope first.
static const vkf_slot *find_slot(const scope *s, const tag *t, const void **out_user)
{
    for (; s; s = s->outer)
        for (const vkf_slot *slot = s->slots; slot->name; slot++)
            if (strlen(slot->name) == t->length && memcmp(slot->name, t->name, t->length) == 0) {
                *out_user = s->user;
                return slot;
            }
    return NULL;
}

static bool holds(const vkf_slot *slot)
{
    return slot->part || slot->file || slot->text || slot->data || slot->number != 0;
}

static void write_number(FILE *out, double number, const char *format)
{
    char *letter = NULL;
    int precision = format && format[0] == '.' ? (int)strtol(format + 1, &letter, 10) : 0;
    if (letter && *letter == 'f')
        fprintf(out, "%.*f", precision, number);
    else if (letter && *letter == 'g')
        fprintf(out, "%.*g", precision, number);
    else
        fprintf(out, "%g", number);
}

static void write_value(FILE *out, const vkf_slot *slot, const char *format, const void *user)
{
    if (slot->part)
        slot->part(user);
    else if (slot->file)
        fputs((const char *)slot->file, out);
    else if (slot->text)
        fputs(slot->text, out);
    else if (slot->data)
        vkf_xml_write_text(out, slot->data, slot->max_chars ? slot->max_chars : VKF_TEMPLATE_MAX_CHARS,
                           slot->show_spaces);
    else
        write_number(out, slot->number, format);
}

static void write_body(const vkf_template_body *body, const scope *s);

// Writes what stands for a tag, and what belongs to it. Returns where the template goes on; NULL: nothing is known of
// the tag.
static const char *write_tag(const vkf_template_body *body, const tag *t, const scope *s)
{
    const void *user = NULL;
    const vkf_slot *slot = t->sign == '/' ? NULL : find_slot(s, t, &user);
    tag end;
    if (!slot || (t->sign && !find_end(body, t, &end)))
        return NULL;
    if (!t->sign) {
        write_value(body->out, slot, t->format, user);
        return t->end;
    }
    const vkf_template_body inner = {.out = body->out, .begin = t->end, .end = end.begin, .outer = s};
    if (slot->each)
        slot->each(&inner, user);
    else if (holds(slot) == (t->sign == '#'))
        write_body(&inner, s);
    return end.end;
}

static void write_body(const vkf_template_body *body, const scope *s)
{
    const char *at = body->begin;
    tag t;
    while (find_tag(body, at, &t)) {
        (void)fwrite(at, 1, (size_t)(t.begin - at), body->out);
        at = write_tag(body, &t, s);
        if (!at) {
            (void)fwrite(t.begin, 1, (size_t)(t.end - t.begin), body->out);
            at = t.end;
        }
    }
    (void)fwrite(at, 1, (size_t)(body->end - at), body->out);
}

void vkf_template_write(FILE *out, const unsigned char *template, const vkf_slot *slots, const void *user)
{
    const char *begin = (const char *)template;
    const vkf_template_body whole = {.out = out, .begin = begin, .end = begin + strlen(begin)};
    const scope s = {.slots = slots, .user = user};
    write_body(&whole, &s);
}

void vkf_template_body_write(const vkf_template_body *body, const vkf_slot *slots, const void *user)
{
    const scope s = {.slots = slots, .user = user, .outer = body->outer};
    write_body(body, &s);
}
