// What the regular expressions of the library `tokenizers` say about code points: Unicode 16, as Oniguruma 6.9.10 has
// it, and independent of what the system's libraries know. tools/tokenizers/unicode-table writes the tables.
#ifndef VKF_TEXT_UNICODE_TABLE_H
#define VKF_TEXT_UNICODE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define VKF_UNICODE_END 0x110000u
// The general categories in the order of the table.
typedef enum vkf__unicode_category {
    VKF_LU = 0,
    VKF_LL,
    VKF_LT,
    VKF_LM,
    VKF_LO,
    VKF_MN,
    VKF_MC,
    VKF_ME,
    VKF_ND,
    VKF_NL,
    VKF_NO,
    VKF_PC,
    VKF_PD,
    VKF_PS,
    VKF_PE,
    VKF_PI,
    VKF_PF,
    VKF_PO,
    VKF_SM,
    VKF_SC,
    VKF_SK,
    VKF_SO,
    VKF_ZS,
    VKF_ZL,
    VKF_ZP,
    VKF_CC,
    VKF_CF,
    VKF_CS,
    VKF_CO,
    VKF_CN,
} vkf__unicode_category;

#define VKF_CATEGORY_BIT(category) (UINT32_C(1) << (category))
#define VKF_MARKS (VKF_CATEGORY_BIT(VKF_MN) | VKF_CATEGORY_BIT(VKF_MC) | VKF_CATEGORY_BIT(VKF_ME))
#define VKF_NUMBERS (VKF_CATEGORY_BIT(VKF_ND) | VKF_CATEGORY_BIT(VKF_NL) | VKF_CATEGORY_BIT(VKF_NO))

// Some of the properties of two values: their places in the table.
enum {
    VKF_FLAG_ALPHABETIC = 0,
    VKF_FLAG_WHITE_SPACE = 3,
    VKF_FLAG_ASCII_HEX_DIGIT = 21,
    VKF_FLAG_CUT_BY_SCRIPT = 30, // the pre-tokenizer UnicodeScripts knows it
};

// Some of the scripts: their places in the table.
enum {
    VKF_SCRIPT_COMMON = 24,
    VKF_SCRIPT_DEVANAGARI = 31,
    VKF_SCRIPT_HAN = 49,
    VKF_SCRIPT_HIRAGANA = 55,
    VKF_SCRIPT_KATAKANA = 63
};

// Runs of code points of one kind: the first of them << 11 | the kind. The last entry is the end.
extern const uint32_t vkf__unicode_runs[];
extern const size_t vkf__unicode_run_count; // without the end

// The run that has the first of each 256 code points. The last entry is the last run.
extern const uint16_t vkf__unicode_blocks[];

// Category | script << 5 | properties of two values << 13.
extern const uint64_t vkf__unicode_kinds[];

// The kind of a code point below VKF_UNICODE_END.
static inline uint64_t vkf__unicode_kind(uint32_t code)
{
    size_t begin = vkf__unicode_blocks[code / 256];
    size_t end = vkf__unicode_blocks[code / 256 + 1] + (size_t)1;
    while (end - begin > 1) {
        size_t middle = begin + (end - begin) / 2;
        if (vkf__unicode_runs[middle] >> 11 <= code)
            begin = middle;
        else
            end = middle;
    }
    return vkf__unicode_kinds[vkf__unicode_runs[begin] & 0x7ff];
}

typedef enum vkf__unicode_group { VKF_UNICODE_CATEGORY, VKF_UNICODE_SCRIPT, VKF_UNICODE_FLAG } vkf__unicode_group;

// Sorted, in small letters without '_'.
typedef struct vkf__unicode_name {
    char name[32];
    uint8_t group, value;
} vkf__unicode_name;
extern const vkf__unicode_name vkf__unicode_names[];
extern const size_t vkf__unicode_name_count;

// Each step-th code point from first to last is the same letter as the one that is so far away, which is the least of
// all that are the same.
typedef struct vkf__case_row {
    uint32_t first, last;
    int32_t step, distance;
} vkf__case_row;
extern const vkf__case_row vkf__case_rows[];
extern const size_t vkf__case_row_count;

// A letter that stands for several, each of these the least of those that are the same.
typedef struct vkf__case_sequence {
    uint32_t code;
    uint32_t count;
    uint32_t codes[3];
} vkf__case_sequence;
extern const vkf__case_sequence vkf__case_sequences[];
extern const size_t vkf__case_sequence_count;

#endif
