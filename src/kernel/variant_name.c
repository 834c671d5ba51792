// Compares the names of variants, and suggests near ones.
#include "kernel/variant_name.h"

#include <stdio.h>
#include <string.h>

#include "base/edit_distance.h"

#define NAME_BYTES 160
#define NEAR_COUNT 4

typedef struct near_name {
    char text[NAME_BYTES];
    size_t distance;
} near_name;

static void full_name(const vkf__kernel *kernel, const vkf__config *config, char out_text[NAME_BYTES])
{
    (void)snprintf(out_text, NAME_BYTES, "%s/%s", kernel->name, config->name);
}

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool has_config(const vkf__kernel *kernel, const char *name)
{
    for (uint32_t c = 0; c < kernel->config_count; c++)
        if (strcmp(kernel->configs[c].name, name) == 0)
            return true;
    return false;
}

bool vkf__variant_is_named(const vkf__kernel *kernel, const vkf__config *config, const char *beginning)
{
    if (begins(kernel->name, beginning))
        return true;
    const size_t length = strlen(kernel->name);
    if (!begins(beginning, kernel->name) || beginning[length] != '/')
        return false;
    const char *name = beginning + length + 1;
    return has_config(kernel, name) ? strcmp(config->name, name) == 0 : begins(config->name, name);
}

vkf__variant_matches vkf__variants_named(const char *beginning)
{
    vkf__variant_matches matches = {0};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const bool by_address = memchr(kernel->operands, VKF_OPERAND_ADDRESS, kernel->operand_count) != NULL;
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            const bool is_match = vkf__variant_is_named(kernel, &kernel->configs[c], beginning);
            matches.any |= is_match;
            matches.by_address |= is_match && by_address;
        }
    }
    return matches;
}

// Keeps the list sorted, nearest first, and of equals the earlier one first.
static void keep_nearest(near_name list[NEAR_COUNT], const char *text, const char *wanted)
{
    near_name entry = {.distance = vkf__edit_distance(text, wanted)};
    (void)snprintf(entry.text, sizeof entry.text, "%s", text);
    for (size_t i = 0; i < NEAR_COUNT; i++) {
        if (strcmp(list[i].text, entry.text) == 0)
            return;
        if (list[i].text[0] == '\0' || entry.distance < list[i].distance) {
            near_name moved = list[i];
            list[i] = entry;
            entry = moved;
        }
    }
}

void vkf__variant_near(const char *name, char *out_text, size_t size_bytes)
{
    near_name list[NEAR_COUNT] = {0};
    // The character that ends names of the same completeness as this one.
    const char end = strchr(name, '/') ? '\0' : strchr(name, '.') ? '/' : '.';
    char full[NAME_BYTES];
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        for (uint32_t c = 0; c < vkf__kernel_at(i)->config_count; c++) {
            full_name(vkf__kernel_at(i), &vkf__kernel_at(i)->configs[c], full);
            *strchr(full, end) = '\0';
            keep_nearest(list, full, name);
        }
    }
    size_t length = 0;
    for (size_t i = 0; i < NEAR_COUNT && length < size_bytes; i++)
        length += (size_t)snprintf(out_text + length, size_bytes - length, "%s%s", i > 0 ? ", " : "", list[i].text);
}
