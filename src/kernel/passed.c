// Keeps, parses and formats the constants that have passed.
#include "kernel/passed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"
#include "kernel/text_table.h"
#include "kernel/variant_hash.h"

#define PASSED_HEADER "vkformer-passed 1"

uint64_t vkf__passed_hash(const vkf__kernel *kernel, const uint32_t *spec)
{
    return vkf__hash(VKF_HASH_SEED, spec, kernel->spec_count * sizeof *spec);
}

bool vkf__passed_has(const vkf__passed *passed, const vkf__passed_entry *entry)
{
    for (size_t i = 0; i < passed->count; i++) {
        const vkf__passed_entry *known = &passed->entries[i];
        if (known->constants == entry->constants && known->variant.kernel == entry->variant.kernel &&
            known->variant.config == entry->variant.config)
            return true;
    }
    return false;
}

vkf_status vkf__passed_add(const vkf__host *host, vkf__passed *passed, const vkf__passed_entry *entry)
{
    void *entries = passed->entries;
    if (vkf__passed_has(passed, entry))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(
        vkf__grow(host, &entries, sizeof *passed->entries, passed->count, &passed->capacity, passed->count + 1));
    passed->entries = entries;
    passed->entries[passed->count++] = *entry;
    return VKF_OK;
}

void vkf__passed_free(const vkf__host *host, vkf__passed *passed)
{
    vkf__free(host, passed->entries);
    *passed = (vkf__passed){0};
}

typedef struct passed_line {
    char variant[160];
    uint64_t hash, constants;
} passed_line;

static bool parse_line(const char *line, passed_line *out_line)
{
    int used = 0;
    *out_line = (passed_line){0};
    return sscanf(line, "%159s %16" SCNx64 " %16" SCNx64 "%n", out_line->variant, &out_line->hash, &out_line->constants,
                  &used) == 3 &&
           line[used] == '\0' && strchr(out_line->variant, '/');
}

static vkf_status take_line(const vkf__host *host, const passed_line *line, vkf__passed *passed)
{
    vkf__passed_entry entry = {.constants = line->constants};
    vkf__variant *v = &entry.variant;
    if (!vkf__variant_named(line->variant, strlen(line->variant), &v->kernel, &v->config) ||
        vkf__variant_hash(v->kernel, v->config) != line->hash)
        return VKF_OK;
    return vkf__passed_add(host, passed, &entry);
}

vkf_status vkf__passed_parse(const vkf__host *host, const vkf__caps *caps, const char *text, size_t size_bytes,
                             vkf__passed *passed)
{
    bool good = false;
    passed_line parsed;
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__text_lines lines = {.text = text, .size_bytes = size_bytes};
    vkf__device_line(caps, device);
    if (size_bytes == 0)
        return VKF_OK;
    if (!vkf__text_next(&lines, &good) || !good || strcmp(lines.line, PASSED_HEADER) != 0)
        goto malformed;
    if (!vkf__text_next(&lines, &good) || !good)
        goto malformed;
    if (strcmp(lines.line, device) != 0)
        return VKF_OK;
    // All lines are checked first, so that a malformed table changes nothing.
    vkf__text_lines entries = lines;
    while (vkf__text_next(&lines, &good))
        if (!good || !parse_line(lines.line, &parsed))
            goto malformed;
    while (vkf__text_next(&entries, &good))
        if (parse_line(entries.line, &parsed))
            VKF_RETURN_IF_ERROR(take_line(host, &parsed, passed));
    return VKF_OK;
malformed:
    vkf__log(host, VKF_SEVERITY_WARNING, "stored constants that passed ignored: line %u is malformed", lines.number);
    return VKF_OK;
}

vkf_status vkf__passed_format(const vkf__host *host, const vkf__caps *caps, const vkf__passed *passed, char **out_text)
{
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__text_out out = {.host = host};
    vkf__device_line(caps, device);
    vkf__text_add(&out, PASSED_HEADER "\n%s\n", device);
    for (size_t i = 0; i < passed->count; i++) {
        const vkf__variant *v = &passed->entries[i].variant;
        const uint64_t hash = vkf__variant_hash(v->kernel, v->config);
        if (hash != 0)
            vkf__text_add(&out, "%s/%s %016" PRIx64 " %016" PRIx64 "\n", v->kernel->name, v->config->name, hash,
                          passed->entries[i].constants);
    }
    if (out.status == VKF_OK)
        *out_text = out.text;
    else
        vkf__free(host, out.text);
    return out.status;
}
