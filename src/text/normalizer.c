// The steps of normalisers, each a row of a table.
#include "text/normalizer.h"

#include <string.h>

#include "text/byte_level.h"
#include "text/charsmap.h"
#include "text/normal_form.h"
#include "text/pattern_section.h"

struct vkf__normalizer_step {
    const struct normalizer_kind *kind;
    bool left; // Strip
    bool right;
    bool clean_text; // BertNormalizer
    bool handle_chinese_chars;
    bool strip_accents;
    bool lowercase;
    char *content; // Replace, Prepend
    vkf__pattern *pattern;
    vkf__charsmap *map;
    vkf__normalize_fn run; // runs in place of the kind's function
    const void *user;
};

typedef struct normalizer_kind {
    const char *name;
    vkf_status (*load)(const vkf__json_section *section, vkf__normalizer_step *step); // NULL: nothing to read
    vkf_status (*run)(vkf__aligned_text *text, const vkf__normalizer_step *step);
} normalizer_kind;

static vkf_status load_content(const vkf__json_section *section, const char *key, vkf__normalizer_step *step)
{
    const char *content = NULL;
    VKF_RETURN_IF_ERROR(vkf__json_string(section->host, section->where, section->object, key, &content));
    VKF_STRDUP_OR_RETURN(section->host, step->content, content);
    return VKF_OK;
}

// --- each code point on its own

// Writes every code point that `drop` does not name.
static void put_without(vkf__aligned_text *text, vkf__code_point_test drop)
{
    uint32_t kept = text->begin;
    for (uint32_t at = text->begin; at < text->end;) {
        uint32_t next = at + (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
        if (drop(vkf__utf8_read(text->now.bytes + at))) {
            vkf__text_copy(text, kept, at);
            kept = next;
        }
        at = next;
    }
    vkf__text_copy(text, kept, text->end);
}

static void put_lower_case(vkf__aligned_text *text, const void *user)
{
    (void)user;
    for (uint32_t at = text->begin; at < text->end;) {
        uint32_t lower[2];
        size_t count = vkf__lower_case(vkf__utf8_read(text->now.bytes + at), lower);
        for (size_t i = 0; i < count; i++)
            vkf__text_put(text, lower[i], text->now.origins[at]);
        at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at);
    }
}

static void put_without_marks(vkf__aligned_text *text, const void *user)
{
    (void)user;
    put_without(text, vkf__is_mark);
}

static void put_without_nonspacing(vkf__aligned_text *text, const void *user)
{
    (void)user;
    put_without(text, vkf__is_nonspacing);
}

// SentencePiece's rules for machine translation; 0 removes the code point.
static uint32_t nmt_code_point(uint32_t c)
{
    if ((c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f)
        return 0;
    if (c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
        c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd)
        return ' ';
    return c;
}

static void put_nmt(vkf__aligned_text *text, const void *user)
{
    (void)user;
    for (uint32_t at = text->begin; at < text->end; at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at)) {
        uint32_t from = vkf__utf8_read(text->now.bytes + at);
        uint32_t to = nmt_code_point(from);
        if (to || from == 0) // U+0000 stays
            vkf__text_put(text, to, text->now.origins[at]);
    }
}

// --- BERT: one pass cleans and separates ideographs; the rest are steps that others have, too

static void put_bert(vkf__aligned_text *text, const void *user)
{
    const vkf__normalizer_step *step = user;
    for (uint32_t at = text->begin; at < text->end; at += (uint32_t)vkf__utf8_bytes(text->now.bytes + at)) {
        uint32_t c = vkf__utf8_read(text->now.bytes + at);
        vkf__byte_span origin = text->now.origins[at];
        if (step->clean_text) {
            bool blank = vkf__is_whitespace(c) && !(c == 0xb || c == 0xc || c == 0x85);
            if (!blank && (c == 0 || c == VKF_REPLACEMENT_CHARACTER || vkf__is_control(c)))
                continue;
            c = blank ? ' ' : c;
        }
        bool apart = step->handle_chinese_chars && vkf__is_ideograph(c);
        if (apart)
            vkf__text_put(text, ' ', origin);
        vkf__text_put(text, c, origin);
        if (apart)
            vkf__text_put(text, ' ', origin);
    }
}

static const vkf__normal_form nfc = {false, true};
static const vkf__normal_form nfd = {false, false};
static const vkf__normal_form nfkc = {true, true};
static const vkf__normal_form nfkd = {true, false};

static vkf_status run_bert(vkf__aligned_text *text, const vkf__normalizer_step *step)
{
    vkf_status status = VKF_OK;
    if (step->clean_text || step->handle_chinese_chars)
        status = vkf__text_rewrite(text, put_bert, step);
    if (status == VKF_OK && step->strip_accents) {
        status = vkf__text_rewrite(text, vkf__put_normal_form, &nfd);
        if (status == VKF_OK)
            status = vkf__text_rewrite(text, put_without_nonspacing, NULL);
    }
    if (status == VKF_OK && step->lowercase)
        status = vkf__text_rewrite(text, put_lower_case, NULL);
    return status;
}

static vkf_status load_bert(const vkf__json_section *section, vkf__normalizer_step *step)
{
    step->clean_text = step->handle_chinese_chars = step->lowercase = true;
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "clean_text", &step->clean_text));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "handle_chinese_chars", &step->handle_chinese_chars));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "lowercase", &step->lowercase));
    step->strip_accents = step->lowercase;
    return vkf__section_bool(section, "strip_accents", &step->strip_accents);
}

// --- the ends of a piece

static void put_stripped(vkf__aligned_text *text, const void *user)
{
    const vkf__normalizer_step *step = user;
    const char *bytes = text->now.bytes;
    uint32_t begin = text->begin;
    uint32_t end = text->end;
    while (step->left && begin < end && vkf__is_whitespace(vkf__utf8_read(bytes + begin)))
        begin += (uint32_t)vkf__utf8_bytes(bytes + begin);
    while (step->right && end > begin) {
        uint32_t last = (uint32_t)vkf__utf8_before(bytes, begin, end);
        if (!vkf__is_whitespace(vkf__utf8_read(bytes + last)))
            break;
        end = last;
    }
    vkf__text_copy(text, begin, end);
}

static vkf_status load_strip(const vkf__json_section *section, vkf__normalizer_step *step)
{
    vkf_status status = vkf__json_bool(section->host, section->where, section->object, "strip_left", &step->left);
    if (status == VKF_OK)
        status = vkf__json_bool(section->host, section->where, section->object, "strip_right", &step->right);
    return status;
}

// Aligns what is put before a piece with the piece's first code point. An empty piece stays empty.
static void put_prepended(vkf__aligned_text *text, const void *user)
{
    const vkf__normalizer_step *step = user;
    for (const char *c = step->content; *c && text->begin < text->end; c += vkf__utf8_bytes(c))
        vkf__text_put(text, vkf__utf8_read(c), text->now.origins[text->begin]);
    vkf__text_copy(text, text->begin, text->end);
}

static vkf_status load_prepend(const vkf__json_section *section, vkf__normalizer_step *step)
{
    return load_content(section, "prepend", step);
}

// --- patterns

typedef struct replacement {
    const char *content;
    vkf__pattern_search *search;
} replacement;

static void put_replaced(vkf__aligned_text *text, const void *user)
{
    const replacement *wanted = user;
    bool found = true;
    size_t begin = 0;
    size_t end = 0;
    uint32_t kept = text->begin;
    vkf__pattern_search_text(wanted->search, text->now.bytes + text->begin, text->end - text->begin);
    while (text->begin < text->end) {
        vkf_status status = vkf__pattern_next(wanted->search, &found, &begin, &end);
        if (text->status == VKF_OK)
            text->status = status;
        if (!found || text->status != VKF_OK)
            break;
        vkf__text_copy(text, kept, text->begin + (uint32_t)begin);
        kept = text->begin + (uint32_t)end;
        for (const char *c = wanted->content; *c; c += vkf__utf8_bytes(c))
            vkf__text_put(text, vkf__utf8_read(c), vkf__text_origin_before(text, kept));
    }
    vkf__text_copy(text, kept, text->end);
}

static vkf_status run_replace(vkf__aligned_text *text, const vkf__normalizer_step *step)
{
    vkf__pattern_search search;
    replacement wanted = {step->content, &search};
    vkf_status status = vkf__pattern_search_begin(step->pattern, &search);
    if (status == VKF_OK)
        status = vkf__text_rewrite(text, put_replaced, &wanted);
    vkf__pattern_search_end(&search);
    return status;
}

static vkf_status load_replace(const vkf__json_section *section, vkf__normalizer_step *step)
{
    vkf_status status = load_content(section, "content", step);
    return status == VKF_OK ? vkf__section_pattern(section, &step->pattern) : status;
}

static vkf_status load_precompiled(const vkf__json_section *section, vkf__normalizer_step *step)
{
    const char *base64 = NULL;
    vkf_status status =
        vkf__json_string(section->host, section->where, section->object, "precompiled_charsmap", &base64);
    return status == VKF_OK ? vkf__charsmap_create(section->host, section->where, base64, &step->map) : status;
}

// --- a line for each step that is a single rewriting

#define RUN(name, rewrite, user)                                                            \
    static vkf_status run_##name(vkf__aligned_text *text, const vkf__normalizer_step *step) \
    {                                                                                       \
        (void)step;                                                                         \
        return vkf__text_rewrite(text, rewrite, user);                                      \
    }
RUN(byte_level, vkf__put_byte_level, NULL)
RUN(lowercase, put_lower_case, NULL)
RUN(nfc, vkf__put_normal_form, &nfc)
RUN(nfd, vkf__put_normal_form, &nfd)
RUN(nfkc, vkf__put_normal_form, &nfkc)
RUN(nfkd, vkf__put_normal_form, &nfkd)
RUN(nmt, put_nmt, NULL)
RUN(precompiled, vkf__put_mapped, step->map)
RUN(prepend, put_prepended, step)
RUN(strip, put_stripped, step)
RUN(strip_accents, put_without_marks, NULL)
#undef RUN

static const normalizer_kind kinds[] = {
    {"BertNormalizer", load_bert, run_bert},
    {"ByteLevel", NULL, run_byte_level},
    {"Lowercase", NULL, run_lowercase},
    {"NFC", NULL, run_nfc},
    {"NFD", NULL, run_nfd},
    {"NFKC", NULL, run_nfkc},
    {"NFKD", NULL, run_nfkd},
    {"Nmt", NULL, run_nmt},
    {"Precompiled", load_precompiled, run_precompiled},
    {"Prepend", load_prepend, run_prepend},
    {"Replace", load_replace, run_replace},
    {"Strip", load_strip, run_strip},
    {"StripAccents", NULL, run_strip_accents},
    {"Sequence", NULL, NULL}, // taken apart beforehand
};

static vkf_status add_step(vkf__normalizer *normalizer, vkf__normalizer_step step)
{
    vkf_status status = vkf__grow(normalizer->host, (void **)&normalizer->steps, sizeof step, normalizer->count,
                                  &normalizer->capacity, normalizer->count + 1);
    if (status == VKF_OK)
        normalizer->steps[normalizer->count++] = step;
    return status;
}

static vkf_status load_step(const vkf__json_section *section, void *user)
{
    vkf__normalizer *normalizer = user;
    vkf_status status = VKF_OK;
    size_t kind = 0;
    VKF_RETURN_IF_ERROR(vkf__section_type(section, kinds, sizeof *kinds, sizeof kinds / sizeof *kinds, &kind));
    VKF_RETURN_IF_ERROR(add_step(normalizer, (vkf__normalizer_step){.kind = &kinds[kind]}));
    if (kinds[kind].load)
        status = kinds[kind].load(section, &normalizer->steps[normalizer->count - 1]);
    return status;
}

vkf_status vkf__normalizer_add(vkf__normalizer *normalizer, vkf__normalize_fn run, const void *user)
{
    return add_step(normalizer, (vkf__normalizer_step){.run = run, .user = user});
}

vkf_status vkf__normalizer_lower_case(vkf__normalizer *normalizer)
{
    vkf__normalizer_step step = {.kind = NULL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].run == run_lowercase)
            step.kind = &kinds[i];
    for (size_t i = 0; i < normalizer->count; i++)
        if (normalizer->steps[i].kind == step.kind)
            return VKF_OK;
    VKF_RETURN_IF_ERROR(add_step(normalizer, step));
    memmove(normalizer->steps + 1, normalizer->steps, (normalizer->count - 1) * sizeof step);
    normalizer->steps[0] = step;
    return VKF_OK;
}

vkf_status vkf__normalizer_load(const vkf__json_section *section, vkf__normalizer *out_normalizer)
{
    *out_normalizer = (vkf__normalizer){.host = section->host};
    return vkf__section_each(section, "normalizers", load_step, out_normalizer);
}

void vkf__normalizer_free(vkf__normalizer *normalizer)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        vkf__normalizer_step *step = &normalizer->steps[i];
        vkf__free(normalizer->host, step->content);
        vkf__pattern_destroy(&step->pattern);
        vkf__charsmap_destroy(&step->map);
    }
    vkf__free(normalizer->host, normalizer->steps);
    *normalizer = (vkf__normalizer){0};
}

vkf_status vkf__normalize(const vkf__normalizer *normalizer, vkf__aligned_text *text)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < normalizer->count && status == VKF_OK; i++) {
        const vkf__normalizer_step *step = &normalizer->steps[i];
        status = step->run ? step->run(text, step->user) : step->kind->run(text, step);
    }
    return status;
}
