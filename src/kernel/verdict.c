// Keeps, parses and formats verdicts.
#include "kernel/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"
#include "kernel/text_table.h"
#include "kernel/variant_hash.h"

#define VERDICTS_HEADER "vkformer-verdicts 1"

static const char *const verdict_names[VKF_VERDICT_COUNT] = {
    [VKF_VERDICT_UNKNOWN] = "unknown", [VKF_VERDICT_PASSED] = "passed", [VKF_VERDICT_PROVEN] = "proven",
    [VKF_VERDICT_WRONG] = "wrong",     [VKF_VERDICT_SLOW] = "slow",     [VKF_VERDICT_UNCOMPILED] = "uncompiled",
    [VKF_VERDICT_STARTED] = "started",
};

static const char *const race_names[VKF_RACE_STORED] = {
    [VKF_RACE_UNKNOWN] = "unraced", [VKF_RACE_FASTER] = "faster", [VKF_RACE_SLOWER] = "slower"};

static const char *const reasons[VKF_VERDICT_COUNT] = {
    [VKF_VERDICT_WRONG] = "quarantined: its self-test differed from the reference",
    [VKF_VERDICT_SLOW] = "quarantined: its self-test took too long",
    [VKF_VERDICT_UNCOMPILED] = "quarantined: the driver does not compile it",
    [VKF_VERDICT_STARTED] = "quarantined: its self-test was begun and never ended",
};

const char *vkf__verdict_reason(vkf__verdict verdict)
{
    return reasons[verdict];
}

static size_t index_of(const vkf__kernel *kernel, const vkf__config *config)
{
    return (size_t)vkf__kernel_index(kernel) * VKF_KERNEL_MAX_CONFIGS + (size_t)(config - kernel->configs);
}

vkf_status vkf__verdicts_init(const vkf__host *host, vkf__verdicts *verdicts)
{
    size_t count = (size_t)vkf__kernel_count() * VKF_KERNEL_MAX_CONFIGS;
    VKF_ALLOC_OR_RETURN(host, verdicts->values, count);
    VKF_ALLOC_OR_RETURN(host, verdicts->races, count);
    for (size_t i = 0; i < count; i++) {
        atomic_init(&verdicts->values[i], (uint8_t)VKF_VERDICT_UNKNOWN);
        atomic_init(&verdicts->races[i], (uint8_t)VKF_RACE_UNKNOWN);
    }
    return VKF_OK;
}

void vkf__verdicts_free(const vkf__host *host, vkf__verdicts *verdicts)
{
    vkf__free(host, (void *)verdicts->values);
    vkf__free(host, (void *)verdicts->races);
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

vkf__race vkf__race_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    return (vkf__race)atomic_load(&verdicts->races[index_of(kernel, config)]);
}

void vkf__race_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config, vkf__race race)
{
    atomic_store(&verdicts->races[index_of(kernel, config)], (uint8_t)race);
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

// Tells a verdict or the outcome of a race; the other one is UNKNOWN.
typedef struct verdict_line {
    char variant[160];
    uint64_t hash;
    vkf__verdict verdict;
    vkf__race race;
    vkf__process_mark tester; // of STARTED: 0 where a process that is gone has begun
} verdict_line;

// The index of `name`; `count` where it is none of the names.
static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 1; // the first says that nothing is known, which no line does
    while (i < count && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

// How many bytes the process behind "started" takes, which need not be there.
static int parse_tester(const char *text, vkf__process_mark *out_tester)
{
    int used = 0;
    vkf__process_mark tester = {0};
    if (sscanf(text, " %19" SCNu64 " %19" SCNu64 "%n", &tester.id, &tester.started, &used) != 2)
        return 0;
    *out_tester = tester;
    return used;
}

static bool parse_line(const char *line, verdict_line *out_line)
{
    char name[16];
    int used = 0;
    *out_line = (verdict_line){0};
    if (sscanf(line, "%159s %16" SCNx64 " %15s%n", out_line->variant, &out_line->hash, name, &used) != 3)
        return false;
    if (strcmp(name, verdict_names[VKF_VERDICT_STARTED]) == 0)
        used += parse_tester(line + used, &out_line->tester);
    if (line[used] != '\0' || !strchr(out_line->variant, '/'))
        return false;
    size_t verdict = find_name(verdict_names, VKF_VERDICT_COUNT, name);
    size_t race = find_name(race_names, VKF_RACE_STORED, name);
    out_line->verdict = verdict < VKF_VERDICT_COUNT ? (vkf__verdict)verdict : VKF_VERDICT_UNKNOWN;
    out_line->race = race < VKF_RACE_STORED ? (vkf__race)race : VKF_RACE_UNKNOWN;
    return verdict < VKF_VERDICT_COUNT || race < VKF_RACE_STORED;
}

static bool is_tested(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    return kernel == verdicts->tested_kernel && config == verdicts->tested_config;
}

static void take_line(const vkf__host *host, const verdict_line *line, vkf__verdicts *verdicts)
{
    const vkf__kernel *kernel = NULL;
    const vkf__config *config = NULL;
    if (!vkf__variant_named(line->variant, strlen(line->variant), &kernel, &config) ||
        vkf__variant_hash(kernel, config) != line->hash) {
        vkf__log(host, VKF_SEVERITY_DEBUG, "stored verdict about %s ignored: the kernel has changed", line->variant);
        return;
    }
    if (line->verdict == VKF_VERDICT_STARTED && vkf__process_lives(&line->tester)) {
        vkf__log(host, VKF_SEVERITY_DEBUG, "%s is being tested by process %" PRIu64, line->variant, line->tester.id);
        return;
    }
    const vkf__verdict known = vkf__verdict_get(verdicts, kernel, config);
    if (line->verdict == VKF_VERDICT_STARTED && known == VKF_VERDICT_UNKNOWN && !is_tested(verdicts, kernel, config))
        vkf__log(host, VKF_SEVERITY_WARNING,
                 "%s is not used: its self-test was begun on this device and never ended, so the driver may have "
                 "brought down the process. Delete the stored verdicts to test it again",
                 line->variant);
    if (line->verdict != VKF_VERDICT_UNKNOWN && !is_tested(verdicts, kernel, config) &&
        (known == VKF_VERDICT_UNKNOWN || known == VKF_VERDICT_STARTED))
        vkf__verdict_set(verdicts, kernel, config, line->verdict);
    if (line->race != VKF_RACE_UNKNOWN && vkf__race_get(verdicts, kernel, config) == VKF_RACE_UNKNOWN)
        vkf__race_set(verdicts, kernel, config, line->race);
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

static void add_line(vkf__text_out *out, const vkf__kernel *kernel, const vkf__config *config, const char *what)
{
    const uint64_t hash = vkf__variant_hash(kernel, config);
    if (hash != 0)
        vkf__text_add(out, "%s/%s %016" PRIx64 " %s\n", kernel->name, config->name, hash, what);
}

static void add_started(vkf__text_out *out, const vkf__kernel *kernel, const vkf__config *config)
{
    char what[64];
    const vkf__process_mark own = vkf__process_mark_own();
    (void)snprintf(what, sizeof what, "%s %" PRIu64 " %" PRIu64, verdict_names[VKF_VERDICT_STARTED], own.id,
                   own.started);
    add_line(out, kernel, config, what);
}

static void add_lines(vkf__text_out *out, const vkf__verdicts *verdicts, const vkf__kernel *kernel,
                      const vkf__config *config)
{
    const vkf__verdict verdict = vkf__verdict_get(verdicts, kernel, config);
    const vkf__race race = vkf__race_get(verdicts, kernel, config);
    if (is_tested(verdicts, kernel, config))
        add_started(out, kernel, config);
    else if (verdict != VKF_VERDICT_UNKNOWN)
        add_line(out, kernel, config, verdict_names[verdict]);
    if (race != VKF_RACE_UNKNOWN && race < VKF_RACE_STORED)
        add_line(out, kernel, config, race_names[race]);
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
        for (uint32_t c = 0; c < kernel->config_count; c++)
            add_lines(&out, verdicts, kernel, &kernel->configs[c]);
    }
    if (out.status == VKF_OK)
        *out_text = out.text;
    else
        vkf__free(host, out.text);
    return out.status;
}
