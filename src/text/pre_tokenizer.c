// The steps of pre-tokenisers, each a row of a table.
#include "text/pre_tokenizer.h"

#include "text/byte_level.h"
#include "text/pattern_section.h"
#include "text/split.h"
#include "text/unicode_table.h"

typedef enum prepend_scheme { PREPEND_FIRST = 0, PREPEND_NEVER, PREPEND_ALWAYS, PREPEND_COUNT } prepend_scheme;
static const char *const prepend_names[PREPEND_COUNT] = {"first", "never", "always"};

struct vkf__pre_tokenizer_step {
    const struct pre_tokenizer_kind *kind;
    vkf__split_behavior behavior; // Split, Punctuation, Digits
    bool invert;                  // Split
    bool split;                   // Metaspace
    bool add_prefix_space;        // ByteLevel
    prepend_scheme prepend;       // Metaspace
    uint32_t character;           // Metaspace, CharDelimiterSplit
    uint32_t length;              // FixedLength
    vkf__pattern *pattern;        // Split, ByteLevel
};

typedef struct pre_tokenizer_kind {
    const char *name;
    vkf_status (*load)(const vkf__json_section *section, vkf__pre_tokenizer_step *step); // NULL: nothing to read
    vkf_status (*run)(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step);
} pre_tokenizer_kind;

// --- at classes of code points

typedef struct test_cut {
    vkf__code_point_test test;
    vkf__split_behavior behavior;
} test_cut;

static vkf_status cut_at_test(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const test_cut *cut = user;
    vkf_status status = vkf__find_code_points(text, piece, cut->test);
    return status == VKF_OK ? vkf__split_at_spans(text, cut->behavior) : status;
}

static const test_cut at_whitespace = {vkf__is_whitespace, VKF_SPLIT_REMOVED};

static vkf_status run_whitespace_split(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    (void)step;
    return vkf__text_cut(text, cut_at_test, &at_whitespace);
}

static vkf_status run_punctuation(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    test_cut cut = {vkf__is_punctuation, step->behavior};
    return vkf__text_cut(text, cut_at_test, &cut);
}

static vkf_status load_punctuation(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    size_t behavior = VKF_SPLIT_ISOLATED;
    vkf_status status =
        vkf__section_choice(section, "behavior", vkf__split_behavior_names, VKF_SPLIT_BEHAVIOR_COUNT, &behavior);
    step->behavior = (vkf__split_behavior)behavior;
    return status;
}

static vkf_status run_digits(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    test_cut cut = {vkf__is_number, step->behavior};
    return vkf__text_cut(text, cut_at_test, &cut);
}

static vkf_status load_digits(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    bool individual = false;
    vkf_status status = vkf__section_bool(section, "individual_digits", &individual);
    step->behavior = individual ? VKF_SPLIT_ISOLATED : VKF_SPLIT_CONTIGUOUS;
    return status;
}

// Cuts at whitespace and at punctuation in one pass, as BERT does in two.
static vkf_status cut_bert(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    (void)user;
    vkf_status status = VKF_OK;
    const char *bytes = text->now.bytes;
    uint32_t word = piece->begin;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        uint32_t c = vkf__utf8_read(bytes + at);
        uint32_t next = at + (uint32_t)vkf__utf8_bytes(bytes + at);
        bool blank = vkf__is_whitespace(c);
        if (blank || vkf__is_punctuation(c)) {
            status = vkf__text_add_piece(text, word, at, VKF_NO_TOKEN);
            if (status == VKF_OK && !blank)
                status = vkf__text_add_piece(text, at, next, VKF_NO_TOKEN);
            word = next;
        }
        at = next;
    }
    return status == VKF_OK ? vkf__text_add_piece(text, word, piece->end, VKF_NO_TOKEN) : status;
}

static vkf_status run_bert(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    (void)step;
    return vkf__text_cut(text, cut_bert, NULL);
}

typedef enum word_class { CLASS_SPACE, CLASS_WORD, CLASS_OTHER } word_class;

// Cuts as the expression \w+|[^\w\s]+ does.
static vkf_status cut_words(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    (void)user;
    vkf_status status = VKF_OK;
    word_class last = CLASS_SPACE;
    uint32_t begin = piece->begin;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        uint32_t c = vkf__utf8_read(text->now.bytes + at);
        word_class next = vkf__is_word(c) ? CLASS_WORD : vkf__is_whitespace(c) ? CLASS_SPACE : CLASS_OTHER;
        if (next != last) {
            if (last != CLASS_SPACE)
                status = vkf__text_add_piece(text, begin, at, VKF_NO_TOKEN);
            begin = at;
            last = next;
        }
        at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
    }
    if (status == VKF_OK && last != CLASS_SPACE)
        status = vkf__text_add_piece(text, begin, piece->end, VKF_NO_TOKEN);
    return status;
}

static vkf_status run_whitespace(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    (void)step;
    return vkf__text_cut(text, cut_words, NULL);
}

// --- between scripts

#define NO_SCRIPT (-1) // of blanks, and of what came after the table of `tokenizers`, which is of an old Unicode

static int script_of(uint32_t code)
{
    uint64_t kind = vkf__unicode_kind(code);
    int script = (int)(kind >> 5 & 255);
    if (code == ' ' || !(kind >> (13 + VKF_FLAG_CUT_BY_SCRIPT) & 1))
        return NO_SCRIPT;
    if (code == 0x589 || code == 0x61c) // Armenian and Arabic since
        return VKF_SCRIPT_COMMON;
    if (code == 0x953 || code == 0x954) // inherited since
        return VKF_SCRIPT_DEVANAGARI;
    // Japanese is written in three, and U+30FC in two of them.
    return code == 0x30fc || script == VKF_SCRIPT_HIRAGANA || script == VKF_SCRIPT_KATAKANA ? VKF_SCRIPT_HAN : script;
}

// What has no script belongs to what is before it; it is dropped where there is nothing.
static vkf_status cut_scripts(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    (void)user;
    vkf_status status = VKF_OK;
    int last = NO_SCRIPT;
    uint32_t begin = piece->begin;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        int script = script_of(vkf__utf8_read(text->now.bytes + at));
        if (script != NO_SCRIPT && script != last) {
            if (last != NO_SCRIPT)
                status = vkf__text_add_piece(text, begin, at, VKF_NO_TOKEN);
            begin = at;
            last = script;
        }
        at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
    }
    if (status == VKF_OK && last != NO_SCRIPT)
        status = vkf__text_add_piece(text, begin, piece->end, VKF_NO_TOKEN);
    return status;
}

static vkf_status run_unicode_scripts(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    (void)step;
    return vkf__text_cut(text, cut_scripts, NULL);
}

// --- at one character, and at a fixed length

static vkf_status cut_at_character(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const vkf__pre_tokenizer_step *step = user;
    vkf_status status = VKF_OK;
    uint32_t done = piece->begin;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        uint32_t next = at + (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
        if (vkf__utf8_read(text->now.bytes + at) == step->character) {
            status = vkf__text_add_piece(text, done, at, VKF_NO_TOKEN);
            done = next;
        }
        at = next;
    }
    return status == VKF_OK ? vkf__text_add_piece(text, done, piece->end, VKF_NO_TOKEN) : status;
}

static vkf_status run_char_delimiter(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    return vkf__text_cut(text, cut_at_character, step);
}

static vkf_status load_char_delimiter(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    return vkf__section_code_point(section, "delimiter", &step->character);
}

static vkf_status cut_lengths(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const vkf__pre_tokenizer_step *step = user;
    vkf_status status = VKF_OK;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        uint32_t from = at;
        for (uint32_t i = 0; i < step->length && at < piece->end; i++)
            at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
        status = vkf__text_add_piece(text, from, at, VKF_NO_TOKEN);
    }
    return status;
}

static vkf_status run_fixed_length(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    return vkf__text_cut(text, cut_lengths, step);
}

static vkf_status load_fixed_length(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    return vkf__json_u32(section->host, section->where, section->object, "length", 1, UINT32_MAX, &step->length);
}

// --- at patterns

typedef struct pattern_cut {
    vkf__pattern_search *search;
    vkf__split_behavior behavior;
    bool invert;
} pattern_cut;

static vkf_status cut_at_pattern(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const pattern_cut *cut = user;
    vkf_status status = vkf__find_pattern(text, piece, cut->search, cut->invert);
    return status == VKF_OK ? vkf__split_at_spans(text, cut->behavior) : status;
}

static vkf_status run_split(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    vkf__pattern_search search;
    pattern_cut cut = {&search, step->behavior, step->invert};
    vkf_status status = vkf__pattern_search_begin(step->pattern, &search);
    if (status == VKF_OK)
        status = vkf__text_cut(text, cut_at_pattern, &cut);
    vkf__pattern_search_end(&search);
    return status;
}

static vkf_status load_split(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    size_t behavior = VKF_SPLIT_BEHAVIOR_COUNT;
    VKF_RETURN_IF_ERROR(
        vkf__section_choice(section, "behavior", vkf__split_behavior_names, VKF_SPLIT_BEHAVIOR_COUNT, &behavior));
    if (behavior == VKF_SPLIT_BEHAVIOR_COUNT)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key 'behavior' is missing", section->where);
    step->behavior = (vkf__split_behavior)behavior;
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "invert", &step->invert));
    return vkf__section_pattern(section, &step->pattern);
}

// --- ByteLevel

static void put_prefix_space(vkf__aligned_text *text, const void *user)
{
    (void)user;
    if (text->begin < text->end && text->now.bytes[text->begin] != ' ')
        vkf__text_put(text, ' ', text->now.origins[text->begin]);
    vkf__text_copy(text, text->begin, text->end);
}

static vkf_status run_byte_level(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    vkf_status status = VKF_OK;
    if (step->add_prefix_space)
        status = vkf__text_rewrite(text, put_prefix_space, NULL);
    if (status == VKF_OK && step->pattern)
        status = run_split(text, step);
    return status == VKF_OK ? vkf__text_rewrite(text, vkf__put_byte_level, NULL) : status;
}

static vkf_status load_byte_level(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    vkf_status status = VKF_OK;
    bool use_regex = true;
    step->add_prefix_space = true;
    step->behavior = VKF_SPLIT_ISOLATED;
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "add_prefix_space", &step->add_prefix_space));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "use_regex", &use_regex));
    if (use_regex) // GPT-2's expression
        status = vkf__pattern_create(
            section->host, section->where,
            "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", &step->pattern);
    return status;
}

// --- Metaspace

static void put_metaspace(vkf__aligned_text *text, const void *user)
{
    const vkf__pre_tokenizer_step *step = user;
    const char *bytes = text->now.bytes;
    uint32_t kept = text->begin;
    if (text->begin < text->end && step->prepend != PREPEND_NEVER &&
        (step->prepend == PREPEND_ALWAYS || text->shift == 0)) {
        uint32_t first = vkf__utf8_read(bytes + text->begin);
        if (first != ' ' && first != step->character)
            vkf__text_put(text, step->character, text->now.origins[text->begin]);
    }
    for (uint32_t at = text->begin; at < text->end; at++) {
        if (bytes[at] != ' ')
            continue;
        vkf__text_copy(text, kept, at);
        vkf__text_put(text, step->character, text->now.origins[at]);
        kept = at + 1;
    }
    vkf__text_copy(text, kept, text->end);
}

// Cuts before every replacement character, as MergedWithNext does.
static vkf_status cut_metaspace(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const vkf__pre_tokenizer_step *step = user;
    vkf_status status = VKF_OK;
    uint32_t from = piece->begin;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        if (vkf__utf8_read(text->now.bytes + at) == step->character) {
            status = vkf__text_add_piece(text, from, at, VKF_NO_TOKEN);
            from = at;
        }
        at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
    }
    return status == VKF_OK ? vkf__text_add_piece(text, from, piece->end, VKF_NO_TOKEN) : status;
}

static vkf_status run_metaspace(vkf__aligned_text *text, const vkf__pre_tokenizer_step *step)
{
    vkf_status status = vkf__text_rewrite(text, put_metaspace, step);
    return status == VKF_OK && step->split ? vkf__text_cut(text, cut_metaspace, step) : status;
}

static vkf_status load_metaspace(const vkf__json_section *section, vkf__pre_tokenizer_step *step)
{
    size_t scheme = PREPEND_ALWAYS;
    bool add_prefix_space = true; // older files have this instead of prepend_scheme
    step->split = true;
    VKF_RETURN_IF_ERROR(vkf__section_code_point(section, "replacement", &step->character));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "add_prefix_space", &add_prefix_space));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "split", &step->split));
    if (!add_prefix_space)
        scheme = PREPEND_NEVER;
    VKF_RETURN_IF_ERROR(vkf__section_choice(section, "prepend_scheme", prepend_names, PREPEND_COUNT, &scheme));
    step->prepend = (prepend_scheme)scheme;
    return VKF_OK;
}

static const pre_tokenizer_kind kinds[] = {
    {"BertPreTokenizer", NULL, run_bert},
    {"ByteLevel", load_byte_level, run_byte_level},
    {"CharDelimiterSplit", load_char_delimiter, run_char_delimiter},
    {"Digits", load_digits, run_digits},
    {"FixedLength", load_fixed_length, run_fixed_length},
    {"Metaspace", load_metaspace, run_metaspace},
    {"Punctuation", load_punctuation, run_punctuation},
    {"Split", load_split, run_split},
    {"UnicodeScripts", NULL, run_unicode_scripts},
    {"Whitespace", NULL, run_whitespace},
    {"WhitespaceSplit", NULL, run_whitespace_split},
    {"Sequence", NULL, NULL}, // taken apart beforehand
};

static vkf_status load_step(const vkf__json_section *section, void *user)
{
    vkf__pre_tokenizer *pre_tokenizer = user;
    vkf_status status = VKF_OK;
    size_t kind = 0;
    VKF_RETURN_IF_ERROR(vkf__section_type(section, kinds, sizeof *kinds, sizeof kinds / sizeof *kinds, &kind));
    VKF_RETURN_IF_ERROR(vkf__grow(section->host, (void **)&pre_tokenizer->steps, sizeof *pre_tokenizer->steps,
                                  pre_tokenizer->count, &pre_tokenizer->capacity, pre_tokenizer->count + 1));
    vkf__pre_tokenizer_step *step = &pre_tokenizer->steps[pre_tokenizer->count++];
    *step = (vkf__pre_tokenizer_step){.kind = &kinds[kind]};
    if (step->kind->load)
        status = step->kind->load(section, step);
    return status;
}

vkf_status vkf__pre_tokenizer_load(const vkf__json_section *section, vkf__pre_tokenizer *out_pre_tokenizer)
{
    *out_pre_tokenizer = (vkf__pre_tokenizer){.host = section->host};
    return vkf__section_each(section, "pretokenizers", load_step, out_pre_tokenizer);
}

void vkf__pre_tokenizer_free(vkf__pre_tokenizer *pre_tokenizer)
{
    for (size_t i = 0; i < pre_tokenizer->count; i++)
        vkf__pattern_destroy(&pre_tokenizer->steps[i].pattern);
    vkf__free(pre_tokenizer->host, pre_tokenizer->steps);
    *pre_tokenizer = (vkf__pre_tokenizer){0};
}

vkf_status vkf__pre_tokenize(const vkf__pre_tokenizer *pre_tokenizer, vkf__aligned_text *text)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < pre_tokenizer->count && status == VKF_OK; i++)
        status = pre_tokenizer->steps[i].kind->run(text, &pre_tokenizer->steps[i]);
    return status;
}
