// Keeps, parses and formats verdicts.
#include "kernel/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernel/select.h"
#include "kernel/text_table.h"
#include "kernel/variant_hash.h"

#define VERDICTS_FORMAT "vkformer-verdicts "
#define VERDICTS_HEADER VERDICTS_FORMAT "2"
// A variant that lost the device: nothing is slower.
#define MAX_PERCENT UINT32_MAX

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

const char *vkf__verdict_name(vkf__verdict verdict)
{
    return verdict_names[verdict];
}

const char *vkf__race_name(vkf__race race)
{
    return race_names[race < VKF_RACE_STORED ? race : VKF_RACE_UNKNOWN];
}

static size_t entry_count(void)
{
    return (size_t)vkf__kernel_count() * VKF_KERNEL_MAX_CONFIGS;
}

static vkf__verdict_entry *entry_of(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    return &verdicts->entries[(size_t)vkf__kernel_index(kernel) * VKF_KERNEL_MAX_CONFIGS +
                              (size_t)(config - kernel->configs)];
}

const vkf__verdict_entry *vkf__verdict_entry_of(const vkf__verdicts *verdicts, const vkf__kernel *kernel,
                                                const vkf__config *config)
{
    return entry_of(verdicts, kernel, config);
}

vkf_status vkf__verdicts_init(const vkf__host *host, vkf__verdicts *verdicts)
{
    verdicts->host = host;
    VKF_ALLOC_OR_RETURN(host, verdicts->entries, entry_count());
    vkf__verdicts_forget(verdicts);
    return VKF_OK;
}

void vkf__verdicts_forget(vkf__verdicts *verdicts)
{
    for (size_t i = 0; i < entry_count(); i++) {
        vkf__verdict_entry *entry = &verdicts->entries[i];
        vkf__free(verdicts->host, entry->reason);
        entry->reason = NULL;
        entry->date = entry->race_date = 0;
        atomic_store(&entry->verdict, (uint8_t)VKF_VERDICT_UNKNOWN);
        atomic_store(&entry->race, (uint8_t)VKF_RACE_UNKNOWN);
        atomic_store(&entry->strikes, 0);
        atomic_store(&entry->here, false);
        atomic_store(&entry->percent, 0);
    }
}

void vkf__verdicts_free(vkf__verdicts *verdicts)
{
    for (size_t i = 0; verdicts->entries && i < entry_count(); i++)
        vkf__free(verdicts->host, verdicts->entries[i].reason);
    vkf__free(verdicts->host, verdicts->entries);
    *verdicts = (vkf__verdicts){0};
}

static bool expires(vkf__verdict verdict)
{
    return verdict == VKF_VERDICT_SLOW || verdict == VKF_VERDICT_STARTED;
}

// Whether others found it, and may have been wrong.
static bool may_change(const vkf__verdict_entry *entry)
{
    return expires((vkf__verdict)atomic_load(&entry->verdict)) && !atomic_load(&entry->here);
}

vkf__verdict vkf__verdict_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    const vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    return may_change(entry) && atomic_load(&entry->strikes) < VKF_VERDICT_STRIKES
               ? VKF_VERDICT_UNKNOWN
               : (vkf__verdict)atomic_load(&entry->verdict);
}

bool vkf__verdict_is_due(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    const vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    return atomic_load(&entry->verdict) == VKF_VERDICT_UNKNOWN || may_change(entry);
}

double vkf__verdict_slowness(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    const vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    return atomic_load(&entry->verdict) == VKF_VERDICT_STARTED ? 2.0 * MAX_PERCENT
                                                               : (double)atomic_load(&entry->percent);
}

// Reasons are printed on terminals, and stand in lines of a table.
static void set_reason(vkf__verdicts *verdicts, vkf__verdict_entry *entry, const char *reason)
{
    char text[VKF_VERDICT_REASON_BYTES];
    vkf__free(verdicts->host, entry->reason);
    entry->reason = NULL;
    if (!reason)
        return;
    size_t length = strlen(reason) < sizeof text ? strlen(reason) : sizeof text - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = reason[i] < ' ' || reason[i] > '~' ? '?' : reason[i];
    while (length > 0 && text[length - 1] == ' ')
        length--;
    text[length] = '\0';
    char *kept = length > 0 ? vkf__alloc(verdicts->host, length + 1, 1) : NULL; // NULL: without the reason, then
    if (kept)
        memcpy(kept, text, length + 1);
    entry->reason = kept;
}

static uint32_t percent_of(double times)
{
    const double percent = 100 * times;
    return percent >= (double)MAX_PERCENT ? MAX_PERCENT : percent > 0 ? (uint32_t)percent : 0;
}

void vkf__verdict_note(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                       const vkf__finding *finding)
{
    vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    uint8_t strikes = expires(finding->verdict) ? atomic_load(&entry->strikes) : 0;
    if (expires(finding->verdict) && !finding->foretold && strikes < UINT8_MAX)
        strikes++;
    entry->date = (int64_t)time(NULL);
    set_reason(verdicts, entry, finding->reason);
    atomic_store(&entry->strikes, strikes);
    atomic_store(&entry->percent, percent_of(finding->times));
    atomic_store(&entry->here, true);
    atomic_store(&entry->verdict, (uint8_t)finding->verdict);
}

void vkf__verdict_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                      vkf__verdict verdict)
{
    vkf__verdict_note(verdicts, kernel, config, &(vkf__finding){.verdict = verdict});
}

void vkf__verdict_strike(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                         uint32_t strikes, const char *reason, bool *out_left_out)
{
    vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    const uint8_t before = atomic_load(&entry->strikes);
    *out_left_out = false;
    if (!vkf__verdict_is_due(verdicts, kernel, config) || strikes <= before)
        return;
    *out_left_out = before < VKF_VERDICT_STRIKES && strikes >= VKF_VERDICT_STRIKES;
    entry->date = (int64_t)time(NULL);
    set_reason(verdicts, entry, reason);
    atomic_store(&entry->strikes, (uint8_t)(strikes < UINT8_MAX ? strikes : UINT8_MAX));
    atomic_store(&entry->verdict, (uint8_t)VKF_VERDICT_STARTED);
}

vkf__race vkf__race_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config)
{
    return (vkf__race)atomic_load(&entry_of(verdicts, kernel, config)->race);
}

void vkf__race_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config, vkf__race race)
{
    vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    entry->race_date = (int64_t)time(NULL);
    atomic_store(&entry->race, (uint8_t)race);
}

static void library_line(char out_line[48])
{
    (void)snprintf(out_line, 48, "library %d.%d.%d", VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
}

// False, after a message, when the text is not such a table or not for this device.
static bool parse_head(const vkf__host *host, const vkf__caps *caps, vkf__text_lines *lines, bool *out_same_library)
{
    bool good = false;
    char device[VKF_DEVICE_LINE_BYTES], library[48];
    vkf__device_line(caps, device);
    library_line(library);
    if (!vkf__text_next(lines, &good) || !good || strcmp(lines->line, VERDICTS_HEADER) != 0) {
        const bool other = strncmp(lines->line, VERDICTS_FORMAT, strlen(VERDICTS_FORMAT)) == 0;
        vkf__log(host, other ? VKF_SEVERITY_DEBUG : VKF_SEVERITY_WARNING,
                 "stored verdicts ignored: line 1 is not \"" VERDICTS_HEADER "\"");
        return false;
    }
    if (!vkf__text_next(lines, &good) || !good || strncmp(lines->line, "library ", 8) != 0) {
        vkf__log(host, VKF_SEVERITY_WARNING, "stored verdicts ignored: line 2 does not name the library's version");
        return false;
    }
    *out_same_library = strcmp(lines->line, library) == 0;
    if (!vkf__text_next(lines, &good) || !good || strncmp(lines->line, "device ", 7) != 0) {
        vkf__log(host, VKF_SEVERITY_WARNING, "stored verdicts ignored: line 3 does not name a device");
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
    int64_t date;
    uint32_t strikes, percent;
} verdict_line;

// The index of `name`; `count` where it is none of the names.
static size_t find_name(const char *const *names, size_t count, const char *name)
{
    size_t i = 1; // the first says that nothing is known, which no line does
    while (i < count && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

static bool parse_line(const char *line, verdict_line *out_line)
{
    char name[16];
    int used = 0;
    uint64_t date = 0, percent = 0;
    *out_line = (verdict_line){0};
    if (sscanf(line, "%159s %16" SCNx64 " %15s %15" SCNu64 " %3" SCNu32 " %10" SCNu64 "%n", out_line->variant,
               &out_line->hash, name, &date, &out_line->strikes, &percent, &used) != 6 ||
        line[used] != '\0' || !strchr(out_line->variant, '/') || out_line->strikes > UINT8_MAX || percent > MAX_PERCENT)
        return false;
    size_t verdict = find_name(verdict_names, VKF_VERDICT_COUNT, name);
    size_t race = find_name(race_names, VKF_RACE_STORED, name);
    out_line->date = (int64_t)date;
    out_line->percent = (uint32_t)percent;
    out_line->verdict = verdict < VKF_VERDICT_COUNT ? (vkf__verdict)verdict : VKF_VERDICT_UNKNOWN;
    out_line->race = race < VKF_RACE_STORED ? (vkf__race)race : VKF_RACE_UNKNOWN;
    return verdict < VKF_VERDICT_COUNT || race < VKF_RACE_STORED;
}

// A strike that was counted here and is not yet saved stays where the table has fewer.
static bool is_news(const verdict_line *line, const vkf__verdict_entry *entry, bool same_library)
{
    return line->verdict != VKF_VERDICT_UNKNOWN &&
           (!expires(line->verdict) || (same_library && line->strikes >= atomic_load(&entry->strikes)));
}

static void take_line(const verdict_line *line, const char *reason, bool same_library, vkf__verdicts *verdicts)
{
    const vkf__kernel *kernel = NULL;
    const vkf__config *config = NULL;
    if (!vkf__variant_named(line->variant, strlen(line->variant), &kernel, &config) ||
        vkf__variant_hash(kernel, config) != line->hash) {
        vkf__log(verdicts->host, VKF_SEVERITY_DEBUG, "stored verdict about %s ignored: the kernel has changed",
                 line->variant);
        return;
    }
    vkf__verdict_entry *entry = entry_of(verdicts, kernel, config);
    if (vkf__verdict_is_due(verdicts, kernel, config) && is_news(line, entry, same_library)) {
        entry->date = line->date;
        set_reason(verdicts, entry, reason[0] != '\0' ? reason : NULL);
        atomic_store(&entry->strikes, (uint8_t)line->strikes);
        atomic_store(&entry->percent, line->percent);
        atomic_store(&entry->verdict, (uint8_t)line->verdict);
    }
    if (line->race != VKF_RACE_UNKNOWN && vkf__race_get(verdicts, kernel, config) == VKF_RACE_UNKNOWN) {
        entry->race_date = line->date;
        atomic_store(&entry->race, (uint8_t)line->race);
    }
}

void vkf__verdicts_parse(const vkf__host *host, const vkf__caps *caps, const char *text, size_t size_bytes,
                         vkf__verdicts *verdicts)
{
    bool good = false, same_library = false;
    verdict_line parsed;
    vkf__text_lines lines = {.text = text, .size_bytes = size_bytes};
    if (size_bytes == 0 || !parse_head(host, caps, &lines, &same_library))
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
            take_line(&parsed, lines.note, same_library, verdicts);
    }
}

static void add_line(vkf__text_out *out, const vkf__variant *variant, const verdict_line *line, const char *reason)
{
    const uint64_t hash = vkf__variant_hash(variant->kernel, variant->config);
    const char *name = line->verdict != VKF_VERDICT_UNKNOWN ? verdict_names[line->verdict] : race_names[line->race];
    if (hash != 0)
        vkf__text_add(out, "%s/%s %016" PRIx64 " %s %" PRId64 " %" PRIu32 " %" PRIu32 "%s%s\n", variant->kernel->name,
                      variant->config->name, hash, name, line->date, line->strikes, line->percent, reason ? " # " : "",
                      reason ? reason : "");
}

static void add_lines(vkf__text_out *out, const vkf__verdicts *verdicts, const vkf__variant *variant)
{
    const vkf__verdict_entry *entry = entry_of(verdicts, variant->kernel, variant->config);
    const vkf__race race = (vkf__race)atomic_load(&entry->race);
    const verdict_line line = {
        .verdict = (vkf__verdict)atomic_load(&entry->verdict),
        .date = entry->date,
        .strikes = atomic_load(&entry->strikes),
        .percent = atomic_load(&entry->percent),
    };
    // Without a strike it was foretold.
    if (line.verdict != VKF_VERDICT_UNKNOWN && (!expires(line.verdict) || line.strikes > 0))
        add_line(out, variant, &line, entry->reason);
    if (race != VKF_RACE_UNKNOWN && race < VKF_RACE_STORED)
        add_line(out, variant, &(verdict_line){.race = race, .date = entry->race_date}, NULL);
}

vkf_status vkf__verdicts_format(const vkf__host *host, const vkf__caps *caps, const vkf__verdicts *verdicts,
                                char **out_text)
{
    char device[VKF_DEVICE_LINE_BYTES], library[48];
    vkf__text_out out = {.host = host};
    vkf__device_line(caps, device);
    library_line(library);
    vkf__text_add(&out, VERDICTS_HEADER "\n%s\n%s\n", library, device);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++)
            add_lines(&out, verdicts, &(vkf__variant){kernel, &kernel->configs[c]});
    }
    if (out.status == VKF_OK)
        *out_text = out.text;
    else
        vkf__free(host, out.text);
    return out.status;
}
