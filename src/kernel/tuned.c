#include "kernel/tuned.h"

#include <stdio.h>
#include <string.h>

#define TUNED_HEADER "vkformer-tuned 1"
#define MAX_LINE 256

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

// "gemm_tile.f32_f32_f32/thin", which must fit the entry's operator and types.
static bool parse_variant(char *text, vkf__tuned_entry *entry)
{
    char *slash = strchr(text, '/');
    if (!slash)
        return false;
    *slash = '\0';
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        const vkf__kernel *kernel = &vkf__kernels[i];
        if (strcmp(kernel->name, text) != 0)
            continue;
        if (kernel->op != entry->op || kernel->type_count != entry->type_count ||
            memcmp(kernel->types, entry->types, entry->type_count * sizeof entry->types[0]) != 0)
            return false;
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            if (strcmp(kernel->configs[c].name, slash + 1) == 0) {
                entry->kernel = i;
                entry->config = c;
                return true;
            }
        }
    }
    return false;
}

static bool parse_entry(const char *line, vkf__tuned_entry *out_entry)
{
    char op[64], types[64], bound[32], variant[128];
    unsigned n = 0, k = 0;
    int used = 0;
    vkf__tuned_entry entry = {0};
    if (sscanf(line, "%63s %63s m<=%31s n=%u k=%u %127s %n", op, types, bound, &n, &k, variant, &used) != 6 ||
        line[used] != '\0')
        return false;
    unsigned m_class = UINT32_MAX;
    if (strcmp(bound, "any") != 0 && (sscanf(bound, "%u", &m_class) != 1 || vkf__tuned_m_class(m_class) != m_class))
        return false;
    entry.m_class = m_class;
    entry.n = n;
    entry.k = k;
    if (!parse_op(op, &entry.op) || !parse_types(types, &entry) || !parse_variant(variant, &entry))
        return false;
    *out_entry = entry;
    return true;
}

static vkf_status append(const vkf__host *host, vkf__tuned *tuned, const vkf__tuned_entry *entry)
{
    void *entries = tuned->entries;
    vkf_status status = vkf__grow(host, &entries, sizeof *entry, tuned->count, &tuned->capacity, tuned->count + 1);
    if (status != VKF_OK)
        return status;
    tuned->entries = entries;
    tuned->entries[tuned->count++] = *entry;
    return VKF_OK;
}

vkf_status vkf__tuned_parse(const vkf__host *host, const char *text, size_t size_bytes, vkf__tuned *out_tuned)
{
    vkf__tuned tuned = {0};
    vkf_status status = VKF_OK;
    unsigned line_number = 0;
    for (size_t at = 0; at < size_bytes;) {
        const char *end = memchr(text + at, '\n', size_bytes - at);
        size_t length = end ? (size_t)(end - text) - at : size_bytes - at;
        char line[MAX_LINE] = {0};
        line_number++;
        vkf__tuned_entry entry;
        bool good = length < MAX_LINE;
        if (good)
            memcpy(line, text + at, length);
        bool header = line_number == 1;
        if (header)
            good = good && strcmp(line, TUNED_HEADER) == 0;
        else if (good && line[0] != '#' && line[0] != '\0')
            good = parse_entry(line, &entry);
        if (!good) {
            vkf__log(host, VKF_SEVERITY_WARNING, "tuned data ignored: line %u is malformed or of another version",
                     line_number);
            vkf__tuned_free(host, &tuned);
            break;
        }
        if (!header && line[0] != '#' && line[0] != '\0')
            VKF_TRY(append(host, &tuned, &entry));
        at += length + 1;
    }
    *out_tuned = tuned;
    return VKF_OK;
fail:
    vkf__tuned_free(host, &tuned);
    return status;
}

void vkf__tuned_free(const vkf__host *host, vkf__tuned *tuned)
{
    vkf__free(host, tuned->entries);
    *tuned = (vkf__tuned){0};
}

const vkf__tuned_entry *vkf__tuned_find(const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                                        const vkf__problem *problem)
{
    uint32_t m_class = vkf__tuned_m_class(problem->m);
    for (size_t i = 0; i < tuned->count; i++) {
        const vkf__tuned_entry *entry = &tuned->entries[i];
        if (entry->op == op && entry->m_class == m_class && entry->n == problem->n && entry->k == problem->k &&
            memcmp(entry->types, types, entry->type_count * sizeof types[0]) == 0)
            return entry;
    }
    return NULL;
}
