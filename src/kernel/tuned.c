// Parses, formats and searches the table of measured variants.
#include "kernel/tuned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/text_table.h"
#include "kernel/variant_hash.h"
#include "shared/gemm.h"

#define MOST_US 1e12 // eleven days: anything longer is no measurement and would not fit a line
#define TUNED_HEADER "vkformer-tuned 2"

uint32_t vkf__tuned_m_class(uint32_t m)
{
    static const uint32_t bounds[] = {1, 8, 32, 128};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (m <= bounds[i])
            return bounds[i];
    }
    return UINT32_MAX;
}

static bool parse_op(const char *text, vkf__op *out_op)
{
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++) {
        if (strcmp(text, vkf__op_name(op)) == 0) {
            *out_op = op;
            return true;
        }
    }
    return false;
}

static bool parse_types(char *text, vkf__tuned_entry *entry)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        vkf_dtype type = 0;
        while (type < VKF_DTYPE_COUNT && strcmp(word, vkf_dtype_name(type)) != 0)
            type++;
        if (type == VKF_DTYPE_COUNT || entry->type_count == VKF_KERNEL_MAX_TYPES)
            return false;
        entry->types[entry->type_count++] = type;
    }
    return entry->type_count > 0;
}

typedef enum line_kind { LINE_BAD, LINE_STALE, LINE_GOOD } line_kind;

// A variant that has changed or no longer exists is not an error of the table.
static line_kind parse_variant(const char *text, uint64_t hash, vkf__tuned_entry *entry)
{
    const vkf__kernel *kernel = NULL;
    const vkf__config *config = NULL;
    if (!strchr(text, '/'))
        return LINE_BAD;
    if (!vkf__variant_named(text, strlen(text), &kernel, &config))
        return LINE_STALE;
    if (kernel->op != entry->op || kernel->type_count != entry->type_count ||
        memcmp(kernel->types, entry->types, entry->type_count * sizeof entry->types[0]) != 0)
        return LINE_BAD;
    entry->kernel = vkf__kernel_index(kernel);
    entry->config = (uint32_t)(config - kernel->configs);
    return hash == vkf__variant_hash(kernel, config) ? LINE_GOOD : LINE_STALE;
}

static bool parse_problem(const char *bound, const char *layout, vkf__tuned_entry *entry)
{
    unsigned m_class = UINT32_MAX;
    if (strcmp(bound, "any") != 0 && (sscanf(bound, "%u", &m_class) != 1 || vkf__tuned_m_class(m_class) != m_class))
        return false;
    entry->m_class = m_class;
    entry->panels = strcmp(layout, "panels") == 0;
    return entry->panels || strcmp(layout, "rows") == 0;
}

// Keeps as much of a line's note as an entry has room for, without blanks at its end.
static void keep_note(const char *note, char out_note[VKF_TUNED_NOTE_BYTES])
{
    size_t length = strlen(note) < VKF_TUNED_NOTE_BYTES - 1 ? strlen(note) : VKF_TUNED_NOTE_BYTES - 1;
    while (length > 0 && strchr(" \t\r", note[length - 1]))
        length--;
    memcpy(out_note, note, length);
    out_note[length] = '\0';
}

static line_kind parse_entry(const vkf__text_lines *lines, vkf__tuned_entry *out_entry)
{
    char op[64], types[64], bound[32], layout[16], variant[128];
    uint64_t hash = 0;
    unsigned n = 0, k = 0;
    int used = 0;
    vkf__tuned_entry entry = {0};
    const char *line = lines->line;
    if (sscanf(line, "%63s %63s m<=%31s n=%u k=%u b=%15s %16" SCNx64 " %127s %lf%n", op, types, bound, &n, &k, layout,
               &hash, variant, &entry.median_us, &used) != 9 ||
        line[used] != '\0' || !(entry.median_us > 0 && entry.median_us < MOST_US))
        return LINE_BAD;
    entry.n = n;
    entry.k = k;
    keep_note(lines->note, entry.note);
    if (!parse_op(op, &entry.op) || !parse_types(types, &entry) || !parse_problem(bound, layout, &entry))
        return LINE_BAD;
    *out_entry = entry;
    return parse_variant(variant, hash, out_entry);
}

static bool same_weight(const vkf__tuned_entry *entry, vkf__op op, const vkf_dtype *types, uint32_t n, uint32_t k)
{
    return entry->op == op && entry->n == n && entry->k == k &&
           memcmp(entry->types, types, entry->type_count * sizeof types[0]) == 0;
}

static vkf__tuned_entry *find(const vkf__tuned *tuned, const vkf__tuned_entry *wanted, bool panels)
{
    for (size_t i = 0; i < tuned->count; i++) {
        vkf__tuned_entry *entry = &tuned->entries[i];
        if (entry->m_class == wanted->m_class && entry->panels == panels &&
            same_weight(entry, wanted->op, wanted->types, wanted->n, wanted->k))
            return entry;
    }
    return NULL;
}

vkf_status vkf__tuned_put(const vkf__host *host, vkf__tuned *tuned, const vkf__tuned_entry *entry)
{
    vkf__tuned_entry *old = find(tuned, entry, entry->panels);
    if (old) {
        *old = *entry;
        return VKF_OK;
    }
    void *entries = tuned->entries;
    vkf_status status = vkf__grow(host, &entries, sizeof *entry, tuned->count, &tuned->capacity, tuned->count + 1);
    if (status != VKF_OK)
        return status;
    tuned->entries = entries;
    tuned->entries[tuned->count++] = *entry;
    return VKF_OK;
}

// False, after a message, when the text is not such a table or not for this device.
static bool parse_head(const vkf__host *host, const vkf__caps *caps, vkf__text_lines *lines)
{
    bool good = false;
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__device_line(caps, device);
    if (!vkf__text_next(lines, &good) || !good || strcmp(lines->line, TUNED_HEADER) != 0) {
        vkf__log(host, VKF_SEVERITY_WARNING, "tuned data ignored: line 1 is not \"" TUNED_HEADER "\"");
        return false;
    }
    if (!vkf__text_next(lines, &good) || !good || strncmp(lines->line, "device ", 7) != 0) {
        vkf__log(host, VKF_SEVERITY_WARNING, "tuned data ignored: line 2 does not name a device");
        return false;
    }
    if (strcmp(lines->line, device) != 0) {
        vkf__log(host, VKF_SEVERITY_DEBUG, "tuned data ignored: it is of another device or driver");
        return false;
    }
    return true;
}

vkf_status vkf__tuned_parse(const vkf__host *host, const vkf__caps *caps, const char *text, size_t size_bytes,
                            vkf__tuned *out_tuned)
{
    vkf_status status = VKF_OK;
    vkf__tuned tuned = {0};
    vkf__text_lines lines = {.text = text, .size_bytes = size_bytes};
    bool good = size_bytes > 0 && parse_head(host, caps, &lines);
    while (good && vkf__text_next(&lines, &good)) {
        vkf__tuned_entry entry;
        line_kind kind = good ? parse_entry(&lines, &entry) : LINE_BAD;
        if (kind == LINE_GOOD) {
            VKF_TRY(vkf__tuned_put(host, &tuned, &entry));
        } else if (kind == LINE_STALE) {
            vkf__log(host, VKF_SEVERITY_DEBUG, "tuned data: line %u is of a kernel that has changed", lines.number);
        } else {
            vkf__log(host, VKF_SEVERITY_WARNING, "tuned data ignored: line %u is malformed", lines.number);
            vkf__tuned_free(host, &tuned);
            good = false;
        }
    }
    *out_tuned = tuned;
    return VKF_OK;
fail:
    vkf__tuned_free(host, &tuned);
    return status;
}

static void format_entry(vkf__text_out *out, const vkf__tuned_entry *entry)
{
    const vkf__kernel *kernel = vkf__kernel_at(entry->kernel);
    const vkf__config *config = &kernel->configs[entry->config];
    char bound[16] = "any";
    vkf__text_add(out, "%s ", vkf__op_name(entry->op));
    for (uint32_t i = 0; i < entry->type_count; i++)
        vkf__text_add(out, "%s%s", i > 0 ? "," : "", vkf_dtype_name(entry->types[i]));
    if (entry->m_class != UINT32_MAX)
        (void)snprintf(bound, sizeof bound, "%u", entry->m_class);
    vkf__text_add(out, " m<=%s n=%u k=%u b=%s %016" PRIx64 " %s/%s %.2f%s%s\n", bound, entry->n, entry->k,
                  entry->panels ? "panels" : "rows", vkf__variant_hash(kernel, config), kernel->name, config->name,
                  entry->median_us > 0.01 ? entry->median_us : 0.01, entry->note[0] ? " # " : "", entry->note);
}

vkf_status vkf__tuned_format(const vkf__host *host, const vkf__caps *caps, const vkf__tuned *tuned, char **out_text)
{
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__text_out out = {.host = host};
    vkf__device_line(caps, device);
    vkf__text_add(&out, TUNED_HEADER "\n%s\n", device);
    for (size_t i = 0; i < tuned->count; i++)
        format_entry(&out, &tuned->entries[i]);
    if (out.status == VKF_OK)
        *out_text = out.text;
    else
        vkf__free(host, out.text);
    return out.status;
}

void vkf__tuned_free(const vkf__host *host, vkf__tuned *tuned)
{
    vkf__free(host, tuned->entries);
    *tuned = (vkf__tuned){0};
}

uint32_t vkf__tuned_n(vkf__op op, uint32_t n)
{
    uint32_t power = 1;
    if (op != VKF_OP_ATTENTION || n > UINT32_C(1) << 31)
        return n;
    while (power < n)
        power *= 2;
    return power;
}

const vkf__tuned_entry *vkf__tuned_find(const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                                        const vkf__problem *problem)
{
    uint32_t m_class = vkf__tuned_m_class(problem->m);
    bool panels = problem->b_layout == VKF_GEMM_B_PANELS;
    for (size_t i = 0; i < tuned->count; i++) {
        const vkf__tuned_entry *entry = &tuned->entries[i];
        if (entry->m_class == m_class && entry->panels == panels &&
            same_weight(entry, op, types, vkf__tuned_n(op, problem->n), problem->k))
            return entry;
    }
    return NULL;
}

bool vkf__tuned_best_layout(const vkf__tuned *tuned, const vkf__tuned_entry *entry)
{
    const vkf__tuned_entry *other = find(tuned, entry, !entry->panels);
    return !other || entry->median_us <= other->median_us;
}

bool vkf__tuned_knows_weight(const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types, uint32_t n, uint32_t k)
{
    for (size_t i = 0; i < tuned->count; i++) {
        if (same_weight(&tuned->entries[i], op, types, n, k))
            return true;
    }
    return false;
}
