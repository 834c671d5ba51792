// Keeps, parses and formats verdicts.
#include "kernel/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/text_table.h"
#include "kernel/variant_hash.h"

#define VERDICTS_HEADER "vkformer-verdicts 1"

static const char *const verdict_names[VKF_VERDICT_COUNT] = {
    [VKF_VERDICT_UNKNOWN] = "unknown", [VKF_VERDICT_PASSED] = "passed", [VKF_VERDICT_PROVEN] = "proven",
    [VKF_VERDICT_WRONG] = "wrong",     [VKF_VERDICT_SLOW] = "slow",
};

static size_t index_of(const vkf__kernel *kernel, const vkf__config *config)
{
    return (size_t)vkf__kernel_index(kernel) * VKF_KERNEL_MAX_CONFIGS + (size_t)(config - kernel->configs);
}

vkf_status vkf__verdicts_init(const vkf__host *host, vkf__verdicts *verdicts)
{
    size_t count = (size_t)vkf__kernel_count() * VKF_KERNEL_MAX_CONFIGS;
    VKF_ALLOC_OR_RETURN(host, verdicts->values, count);
    for (size_t i = 0; i < count; i++)
        atomic_init(&verdicts->values[i], (uint8_t)VKF_VERDICT_UNKNOWN);
    return VKF_OK;
}

void vkf__verdicts_free(const vkf__host *host, vkf__verdicts *verdicts)
{
    vkf__free(host, (void *)verdicts->values);
    *verdicts = (vkf__verdicts){0};
}

vkf__verdict vkf__verdict_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    return (vkf__verdict)atomic_load(&verdicts->values[index_of(kernel, config)]);
}

void vkf__verdict_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                      vkf__verdict verdict)
{
    atomic_store(&verdicts->values[index_of(kernel, config)], (uint8_t)verdict);
}

// False, after a message, when the text is not such a table or not for this device.
static bool parse_head(const vkf__host *host, const vkf__caps *caps, vkf__text_lines *lines)
{
    bool good = false;
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__device_line(caps, device);
    if (!vkf__text_next(lines, &good) || !good || strcmp(lines->line, VERDICTS_HEADER) != 0) {
        vkf__log(host, VKF_SEVERITY_WARNING, "stored verdicts ignored: line 1 is not \"" VERDICTS_HEADER "\"");
        return false;
    }
    if (!vkf__text_next(lines, &good) || !good || strncmp(lines->line, "device ", 7) != 0) {
        vkf__log(host, VKF_SEVERITY_WARNING, "stored verdicts ignored: line 2 does not name a device");
        return false;
    }
    if (strcmp(lines->line, device) != 0) {
        vkf__log(host, VKF_SEVERITY_DEBUG, "stored verdicts ignored: they are of another device or driver");
        return false;
    }
    return true;
}

typedef struct verdict_line {
    char variant[160];
    uint64_t hash;
    vkf__verdict verdict;
} verdict_line;

static bool parse_line(const char *line, verdict_line *out_line)
{
    char name[16];
    int used = 0;
    if (sscanf(line, "%159s %16" SCNx64 " %15s%n", out_line->variant, &out_line->hash, name, &used) != 3 ||
        line[used] != '\0' || !strchr(out_line->variant, '/'))
        return false;
    vkf__verdict verdict = VKF_VERDICT_PASSED;
    while (verdict < VKF_VERDICT_COUNT && strcmp(name, verdict_names[verdict]) != 0)
        verdict++;
    out_line->verdict = verdict;
    return verdict < VKF_VERDICT_COUNT;
}

static void take_line(const vkf__host *host, const verdict_line *line, vkf__verdicts *verdicts)
{
    const vkf__kernel *kernel = NULL;
    const vkf__config *config = NULL;
    if (!vkf__variant_named(line->variant, strlen(line->variant), &kernel, &config) ||
        vkf__variant_hash(kernel, config) != line->hash)
        vkf__log(host, VKF_SEVERITY_DEBUG, "stored verdict about %s ignored: the kernel has changed", line->variant);
    else if (vkf__verdict_get(verdicts, kernel, config) == VKF_VERDICT_UNKNOWN)
        vkf__verdict_set(verdicts, kernel, config, line->verdict);
}

void vkf__verdicts_parse(const vkf__host *host, const vkf__caps *caps, const char *text, size_t size_bytes,
                         vkf__verdicts *verdicts)
{
    bool good = false;
    verdict_line parsed;
    vkf__text_lines lines = {.text = text, .size_bytes = size_bytes};
    if (size_bytes == 0 || !parse_head(host, caps, &lines))
        return;
    // All lines are checked first, so that a malformed table changes nothing.
    vkf__text_lines check = lines;
    while (vkf__text_next(&check, &good)) {
        if (!good || !parse_line(check.line, &parsed)) {
            vkf__log(host, VKF_SEVERITY_WARNING, "stored verdicts ignored: line %u is malformed", check.number);
            return;
        }
    }
    while (vkf__text_next(&lines, &good)) {
        if (parse_line(lines.line, &parsed))
            take_line(host, &parsed, verdicts);
    }
}

vkf_status vkf__verdicts_format(const vkf__host *host, const vkf__caps *caps, const vkf__verdicts *verdicts,
                                char **out_text)
{
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__text_out out = {.host = host};
    vkf__device_line(caps, device);
    vkf__text_add(&out, VERDICTS_HEADER "\n%s\n", device);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            vkf__verdict verdict = vkf__verdict_get(verdicts, kernel, &kernel->configs[c]);
            uint64_t hash = verdict != VKF_VERDICT_UNKNOWN ? vkf__variant_hash(kernel, &kernel->configs[c]) : 0;
            if (hash != 0)
                vkf__text_add(&out, "%s/%s %016" PRIx64 " %s\n", kernel->name, kernel->configs[c].name, hash,
                              verdict_names[verdict]);
        }
    }
    if (out.status == VKF_OK)
        *out_text = out.text;
    else
        vkf__free(host, out.text);
    return out.status;
}
