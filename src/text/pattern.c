// Translates Oniguruma's dialect to PCRE2's, and searches with bounded steps and memory.
#include "text/pattern.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/code_point.h"

#define MAX_STEPS 100000000u // of one search; ten times PCRE2's own default

struct vkf__pattern {
    const vkf__host *host;
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code; // NULL: a plain string
    bool compiled;    // to machine code
    char *literal;
    size_t literal_bytes;
};

static void *allocate(size_t size_bytes, void *host)
{
    return vkf__alloc(host, size_bytes, 1);
}

static void release(void *memory, void *host)
{
    vkf__free(host, memory);
}

// What PCRE2 reads differently from Oniguruma, as the inside of a class. \s: PCRE2's includes U+180E. \w: PCRE2's lacks
// marks. \h: a hexadecimal digit in Oniguruma, a horizontal space in PCRE2.
static const struct translated {
    char letter;
    const char *members;
} translations[] = {
    {'s', "\\t-\\r\\x{85}\\p{Z}"},
    {'w', "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}"
          "\\x{1f170}-\\x{1f189}"},
    {'h', "0-9A-Fa-f"},
};

// Writes to `out` at *length; only counts when `out` is NULL.
static void append(char *out, size_t *length, const char *text, size_t bytes)
{
    if (out)
        memcpy(out + *length, text, bytes);
    *length += bytes;
}

// Writes the translation of an escaped letter. False when the letter stays as it is.
static bool append_translation(char *out, size_t *length, char letter, bool in_class)
{
    for (size_t i = 0; i < sizeof translations / sizeof *translations; i++) {
        const struct translated *row = &translations[i];
        bool negated = letter == row->letter - 'a' + 'A';
        if ((letter != row->letter && !negated) || (negated && in_class))
            continue;
        if (!in_class)
            append(out, length, negated ? "[^" : "[", negated ? 2 : 1);
        append(out, length, row->members, strlen(row->members));
        if (!in_class)
            append(out, length, "]", 1);
        return true;
    }
    return false;
}

// Writes the expression in PCRE2's dialect. False where a class has an operation that PCRE2 10.42 lacks.
static bool translate(const char *expression, char *out, size_t *out_length)
{
    size_t length = 0;
    bool in_class = false;
    for (const char *c = expression; *c; c++) {
        if (*c == '\\' && c[1]) {
            if (!append_translation(out, &length, c[1], in_class))
                append(out, &length, c, 2);
            c++;
            continue;
        }
        if (in_class && ((c[0] == '&' && c[1] == '&') || (*c == '[' && c[1] != ':')))
            return false;
        if (in_class && *c == '[') { // [:alpha:] and its like
            const char *end = strstr(c, ":]");
            size_t bytes = end ? (size_t)(end - c) + 2 : 1;
            append(out, &length, c, bytes);
            c += bytes - 1;
            continue;
        }
        bool opens = !in_class && *c == '[';
        in_class = in_class ? *c != ']' : opens;
        append(out, &length, c, 1);
        if (opens && c[1] == '^')
            append(out, &length, ++c, 1);
        if (opens && c[1] == ']') // directly after '[' it does not end the class
            append(out, &length, ++c, 1);
    }
    *out_length = length;
    return true;
}

static vkf_status compile(vkf__pattern *pattern, const char *where, const char *expression, size_t length)
{
    int error = 0;
    size_t place = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(pattern->memory);
    if (!context)
        return vkf__fail(pattern->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a regular expression");
    // In Ruby, '^' and '$' match at lines.
    pattern->code =
        pcre2_compile((PCRE2_SPTR)expression, length, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &place, context);
    pcre2_compile_context_free(context);
    if (!pattern->code && error == PCRE2_ERROR_HEAP_FAILED)
        return vkf__fail(pattern->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a regular expression");
    if (!pattern->code) {
        char reason[160] = "";
        pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof reason);
        return vkf__fail(pattern->host, VKF_ERROR_FORMAT,
                         "%s: the regular expression '%.200s' is wrong at byte %zu: %s", where, expression, place,
                         reason);
    }
    // If there is no JIT compiler for this processor, the interpreter does the same work.
    pattern->compiled = pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE) == 0;
    return VKF_OK;
}

static vkf_status create(const vkf__host *host, vkf__pattern **out_pattern)
{
    vkf__pattern *pattern = NULL;
    VKF_ALLOC_OR_RETURN(host, pattern, 1);
    pattern->host = host;
    *out_pattern = pattern;
    return VKF_OK;
}

vkf_status vkf__pattern_create(const vkf__host *host, const char *where, const char *expression,
                               vkf__pattern **out_pattern)
{
    vkf_status status = VKF_OK;
    vkf__pattern *pattern = NULL;
    char *translated = NULL;
    size_t length = 0;
    if (!translate(expression, NULL, &length))
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s: the regular expression '%.200s' combines classes, which is not supported", where,
                         expression);
    VKF_TRY(create(host, &pattern));
    VKF_ALLOC(host, translated, length + 1);
    translate(expression, translated, &length);
    // PCRE2 hands this pointer back unchanged, and the host is only read.
    pattern->memory = pcre2_general_context_create(allocate, release, (void *)(uintptr_t)host);
    pattern->limits = pattern->memory ? pcre2_match_context_create(pattern->memory) : NULL;
    if (!pattern->limits) {
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a regular expression");
        goto fail;
    }
    pcre2_set_match_limit(pattern->limits, MAX_STEPS);
    pcre2_set_heap_limit(pattern->limits, VKF_PATTERN_MAX_BYTES / 1024);
    VKF_TRY(compile(pattern, where, translated, length));
    *out_pattern = pattern;
    pattern = NULL;
fail:
    vkf__free(host, translated);
    vkf__pattern_destroy(&pattern);
    return status;
}

vkf_status vkf__pattern_create_literal(const vkf__host *host, const char *text, vkf__pattern **out_pattern)
{
    vkf_status status = VKF_OK;
    vkf__pattern *pattern = NULL;
    VKF_TRY(create(host, &pattern));
    pattern->literal_bytes = strlen(text);
    VKF_ALLOC(host, pattern->literal, pattern->literal_bytes + 1);
    memcpy(pattern->literal, text, pattern->literal_bytes);
    *out_pattern = pattern;
    pattern = NULL;
fail:
    vkf__pattern_destroy(&pattern);
    return status;
}

void vkf__pattern_destroy(vkf__pattern **pattern)
{
    vkf__pattern *old = *pattern;
    if (!old)
        return;
    pcre2_code_free(old->code);
    pcre2_match_context_free(old->limits);
    pcre2_general_context_free(old->memory);
    vkf__free(old->host, old->literal);
    vkf__free(old->host, old);
    *pattern = NULL;
}

vkf_status vkf__pattern_search_begin(const vkf__pattern *pattern, vkf__pattern_search *out_search)
{
    *out_search = (vkf__pattern_search){.pattern = pattern, .last_end = SIZE_MAX};
    if (!pattern->code)
        return VKF_OK;
    out_search->data = pcre2_match_data_create(1, pattern->memory);
    if (out_search->data)
        return VKF_OK;
    return vkf__fail(pattern->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory to search for a pattern");
}

void vkf__pattern_search_text(vkf__pattern_search *search, const char *text, size_t text_bytes)
{
    search->text = text;
    search->text_bytes = text_bytes;
    search->at = 0;
    search->last_end = SIZE_MAX;
}

void vkf__pattern_search_end(vkf__pattern_search *search)
{
    pcre2_match_data_free(search->data);
    search->data = NULL;
}

// Searches once, from search->at on; returns PCRE2's result.
static int match_once(vkf__pattern_search *search)
{
    const vkf__pattern *pattern = search->pattern;
    PCRE2_SPTR text = (PCRE2_SPTR)search->text;
    if (pattern->compiled && !search->gave_up_compiled) {
        int result = pcre2_jit_match(pattern->code, text, search->text_bytes, search->at, PCRE2_NO_UTF_CHECK,
                                     search->data, pattern->limits);
        if (result != PCRE2_ERROR_JIT_STACKLIMIT)
            return result;
        // The compiled code ran out of stack; the interpreter keeps its state on the heap.
        search->gave_up_compiled = true;
    }
    return pcre2_match(pattern->code, text, search->text_bytes, search->at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       search->data, pattern->limits);
}

static bool next_literal(vkf__pattern_search *search, size_t *out_begin, size_t *out_end)
{
    const vkf__pattern *pattern = search->pattern;
    size_t length = pattern->literal_bytes;
    // An empty string matches everywhere, as an empty expression does.
    if (length == 0) {
        *out_begin = *out_end = search->at;
        return search->at <= search->text_bytes;
    }
    while (search->text_bytes >= length && search->at <= search->text_bytes - length) {
        const char *from = search->text + search->at;
        const char *hit = memchr(from, pattern->literal[0], search->text_bytes - length - search->at + 1);
        if (!hit)
            return false;
        search->at = (size_t)(hit - search->text);
        if (memcmp(hit, pattern->literal, length) == 0) {
            *out_begin = search->at;
            *out_end = search->at + length;
            return true;
        }
        search->at++;
    }
    return false;
}

static vkf_status next_expression(vkf__pattern_search *search, bool *out_found, size_t *out_begin, size_t *out_end)
{
    int result = match_once(search);
    *out_found = result >= 0;
    if (result >= 0) {
        const size_t *places = pcre2_get_ovector_pointer(search->data);
        // A lookbehind with \K may report that a match begins behind its end.
        *out_begin = places[0] < search->at ? search->at : places[0];
        *out_end = places[1] < *out_begin ? *out_begin : places[1];
        return VKF_OK;
    }
    if (result == PCRE2_ERROR_NOMATCH)
        return VKF_OK;
    if (result == PCRE2_ERROR_NOMEMORY)
        return vkf__fail(search->pattern->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory to search for a pattern");
    char reason[160] = "";
    pcre2_get_error_message(result, (PCRE2_UCHAR *)reason, sizeof reason);
    return vkf__fail(search->pattern->host, VKF_ERROR_TOO_LARGE,
                     "a regular expression was given up on a text of %zu bytes: %s", search->text_bytes, reason);
}

vkf_status vkf__pattern_next(vkf__pattern_search *search, bool *out_found, size_t *out_begin, size_t *out_end)
{
    *out_found = false;
    while (search->at <= search->text_bytes) {
        vkf_status status = VKF_OK;
        if (search->pattern->code)
            status = next_expression(search, out_found, out_begin, out_end);
        else
            *out_found = next_literal(search, out_begin, out_end);
        if (status != VKF_OK || !*out_found)
            return status;
        if (*out_begin != *out_end || *out_end != search->last_end) {
            search->at = search->last_end = *out_end;
            return VKF_OK;
        }
        *out_found = false;
        search->at += search->at < search->text_bytes ? vkf__utf8_bytes(search->text + search->at) : 1;
    }
    return VKF_OK;
}
