// Looks up properties in the tables of Unicode, and the unions of them that have names of their own.
#include "text/code_property.h"

#define BIT VKF_CATEGORY_BIT
#define LETTERS (BIT(VKF_LU) | BIT(VKF_LL) | BIT(VKF_LT) | BIT(VKF_LM) | BIT(VKF_LO))
#define PUNCTUATION (BIT(VKF_PC) | BIT(VKF_PD) | BIT(VKF_PS) | BIT(VKF_PE) | BIT(VKF_PI) | BIT(VKF_PF) | BIT(VKF_PO))
#define SYMBOLS (BIT(VKF_SM) | BIT(VKF_SC) | BIT(VKF_SK) | BIT(VKF_SO))
#define SEPARATORS (BIT(VKF_ZS) | BIT(VKF_ZL) | BIT(VKF_ZP))
#define OTHERS (BIT(VKF_CC) | BIT(VKF_CF) | BIT(VKF_CS) | BIT(VKF_CO) | BIT(VKF_CN))
#define ALL (BIT(VKF_CN + 1) - 1)
#define GRAPHIC (ALL & ~(SEPARATORS | BIT(VKF_CC) | BIT(VKF_CS) | BIT(VKF_CN)))
#define ALPHABETIC (UINT64_C(1) << VKF_FLAG_ALPHABETIC)

// Code points of these categories, with one of these flags, and from first to end - 1.
typedef struct members {
    const char *name;
    uint32_t categories;
    uint64_t flags;
    uint32_t first, end;
} members;

static const members unions[] = {
    {"alnum", BIT(VKF_ND), ALPHABETIC, 0, 0},
    {"any", ALL, 0, 0, 0},
    {"ascii", 0, 0, 0, 0x80},
    {"assigned", ALL & ~BIT(VKF_CN), 0, 0, 0},
    {"blank", BIT(VKF_ZS), 0, '\t', '\t' + 1},
    {"c", OTHERS, 0, 0, 0},
    {"casedletter", BIT(VKF_LU) | BIT(VKF_LL) | BIT(VKF_LT), 0, 0, 0},
    {"cntrl", BIT(VKF_CC), 0, 0, 0},
    {"combiningmark", VKF_MARKS, 0, 0, 0},
    {"digit", BIT(VKF_ND), 0, 0, 0},
    {"graph", GRAPHIC, 0, 0, 0},
    {"l", LETTERS, 0, 0, 0},
    {"lc", BIT(VKF_LU) | BIT(VKF_LL) | BIT(VKF_LT), 0, 0, 0},
    {"letter", LETTERS, 0, 0, 0},
    {"m", VKF_MARKS, 0, 0, 0},
    {"mark", VKF_MARKS, 0, 0, 0},
    {"n", VKF_NUMBERS, 0, 0, 0},
    {"number", VKF_NUMBERS, 0, 0, 0},
    {"other", OTHERS, 0, 0, 0},
    {"p", PUNCTUATION, 0, 0, 0},
    {"posixpunct", PUNCTUATION | SYMBOLS, 0, 0, 0},
    {"print", GRAPHIC | BIT(VKF_ZS), 0, 0, 0},
    {"punct", PUNCTUATION, 0, 0, 0},
    {"punctuation", PUNCTUATION, 0, 0, 0},
    {"s", SYMBOLS, 0, 0, 0},
    {"separator", SEPARATORS, 0, 0, 0},
    {"space", 0, UINT64_C(1) << VKF_FLAG_WHITE_SPACE, 0, 0},
    {"symbol", SYMBOLS, 0, 0, 0},
    {"word", VKF_MARKS | BIT(VKF_ND) | BIT(VKF_PC), ALPHABETIC, 0, 0},
    {"xdigit", 0, UINT64_C(1) << VKF_FLAG_ASCII_HEX_DIGIT, 0, 0},
    {"z", SEPARATORS, 0, 0, 0},
};

// A script is not a union: `script` is -1 for none.
static vkf_status add_members(const vkf__host *host, const members *wanted, int script, vkf__code_set *set)
{
    for (size_t i = 0; i < vkf__unicode_run_count; i++) {
        uint64_t kind = vkf__unicode_kinds[vkf__unicode_runs[i] & 0x7ff];
        if (!(wanted->categories >> (kind & 31) & 1) && !(wanted->flags & kind >> 13) &&
            script != (int)(kind >> 5 & 255))
            continue;
        VKF_RETURN_IF_ERROR(vkf__code_set_add(host, set, vkf__unicode_runs[i] >> 11, vkf__unicode_runs[i + 1] >> 11));
    }
    return wanted->first < wanted->end ? vkf__code_set_add(host, set, wanted->first, wanted->end) : VKF_OK;
}

bool vkf__property_name(const char *name, size_t name_bytes, char out[VKF_PROPERTY_NAME_BYTES])
{
    size_t length = 0;
    for (size_t i = 0; i < name_bytes; i++) {
        char c = name[i];
        if (c == ' ' || c == '-' || c == '_')
            continue;
        if (length + 1 == VKF_PROPERTY_NAME_BYTES || (unsigned char)c >= 0x80)
            return false;
        out[length++] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    out[length] = '\0';
    return true;
}

vkf_status vkf__property_members(const vkf__host *host, const char *name, vkf__code_set *set, bool *out_known)
{
    *out_known = true;
    for (size_t i = 0; i < sizeof unions / sizeof *unions; i++) {
        if (strcmp(unions[i].name, name) == 0)
            return add_members(host, &unions[i], -1, set);
    }
    for (size_t i = 0; i < vkf__unicode_name_count; i++) {
        const vkf__unicode_name *row = &vkf__unicode_names[i];
        if (strcmp(row->name, name) != 0)
            continue;
        members wanted = {0};
        if (row->group == VKF_UNICODE_CATEGORY)
            wanted.categories = BIT(row->value);
        else if (row->group == VKF_UNICODE_FLAG)
            wanted.flags = UINT64_C(1) << row->value;
        return add_members(host, &wanted, row->group == VKF_UNICODE_SCRIPT ? row->value : -1, set);
    }
    *out_known = false;
    return VKF_OK;
}

uint32_t vkf__least_case(uint32_t code)
{
    for (size_t i = 0; i < vkf__case_row_count; i++) {
        const vkf__case_row *row = &vkf__case_rows[i];
        if (code >= row->first && code <= row->last && (code - row->first) % (uint32_t)row->step == 0)
            return code + (uint32_t)row->distance;
    }
    return code;
}

vkf_status vkf__close_case(const vkf__host *host, vkf__code_set *set)
{
    // First the least of each, then whatever is the same as those.
    for (int least = 1; least >= 0; least--) {
        for (size_t i = 0; i < vkf__case_row_count; i++) {
            const vkf__case_row *row = &vkf__case_rows[i];
            for (uint32_t code = row->first; code <= row->last; code += (uint32_t)row->step) {
                uint32_t other = code + (uint32_t)row->distance;
                uint32_t from = least ? code : other;
                uint32_t to = least ? other : code;
                if (vkf__code_set_has(set, from) && !vkf__code_set_has(set, to))
                    VKF_RETURN_IF_ERROR(vkf__code_set_add(host, set, to, to + 1));
            }
        }
    }
    return VKF_OK;
}
