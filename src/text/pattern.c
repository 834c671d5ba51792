// Searches by PCRE2 with bounded steps and memory.
#include "text/pattern.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/code_point.h"
#include "text/expression.h"

#define MAX_STEPS 100000000u // of one search; ten times PCRE2's own default

struct vkf__pattern {
    const vkf__host *host;
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code; // NULL: a plain string
    bool compiled;    // to machine code
    vkf__expression expression;
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

static vkf_status no_memory(const vkf__pattern *pattern)
{
    return vkf__fail(pattern->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a regular expression");
}

static vkf_status compile(vkf__pattern *pattern, const char *where, const char *expression)
{
    int error = 0;
    size_t place = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(pattern->memory);
    if (!context)
        return no_memory(pattern);
    pattern->code = pcre2_compile((PCRE2_SPTR)pattern->expression.text, pattern->expression.bytes,
                                  pattern->expression.plain ? PCRE2_UTF : 0, &error, &place, context);
    pcre2_compile_context_free(context);
    if (!pattern->code && error == PCRE2_ERROR_HEAP_FAILED)
        return no_memory(pattern);
    if (!pattern->code) {
        char reason[160] = "";
        pcre2_get_error_message(error, (PCRE2_UCHAR *)reason, sizeof reason);
        return vkf__fail(pattern->host, VKF_ERROR_UNSUPPORTED,
                         "%s: PCRE2 cannot run the regular expression '%.200s': %s", where, expression, reason);
    }
    // If there is no JIT compiler for this processor, the interpreter does the same work.
    pattern->compiled = pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE) == 0;
    vkf__free(pattern->host, pattern->expression.text);
    pattern->expression.text = NULL;
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
    VKF_TRY(create(host, &pattern));
    VKF_TRY(vkf__expression_translate(host, where, expression, &pattern->expression));
    // PCRE2 hands this pointer back unchanged, and the host is only read.
    pattern->memory = pcre2_general_context_create(allocate, release, (void *)(uintptr_t)host);
    pattern->limits = pattern->memory ? pcre2_match_context_create(pattern->memory) : NULL;
    if (!pattern->limits) {
        status = no_memory(pattern);
        goto fail;
    }
    pcre2_set_match_limit(pattern->limits, MAX_STEPS);
    pcre2_set_heap_limit(pattern->limits, VKF_PATTERN_MAX_BYTES / 1024);
    VKF_TRY(compile(pattern, where, expression));
    *out_pattern = pattern;
    pattern = NULL;
fail:
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
    vkf__expression_free(old->host, &old->expression);
    vkf__free(old->host, old->literal);
    vkf__free(old->host, old);
    *pattern = NULL;
}

// What a search by PCRE2 has: the letters of the text, and how far the matches have been found in it.
typedef struct seen_text {
    pcre2_match_data *match;
    const uint8_t *letters; // a byte for each code point, or the text itself
    size_t length;
    uint8_t *memory;
    size_t capacity;
    size_t letter_at, byte_at; // the same place in both
    bool mapped;               // the text of this search has been
    bool gave_up_compiled;
} seen_text;

vkf_status vkf__pattern_search_begin(const vkf__pattern *pattern, vkf__pattern_search *out_search)
{
    vkf_status status = VKF_OK;
    seen_text *subject = NULL;
    *out_search = (vkf__pattern_search){.pattern = pattern, .last_end = SIZE_MAX};
    if (!pattern->code)
        return VKF_OK;
    VKF_ALLOC(pattern->host, subject, 1);
    subject->match = pcre2_match_data_create(1, pattern->memory);
    if (!subject->match) {
        status = no_memory(pattern);
        goto fail;
    }
    out_search->subject = subject;
    return VKF_OK;
fail:
    vkf__free(pattern->host, subject);
    return status;
}

void vkf__pattern_search_text(vkf__pattern_search *search, const char *text, size_t text_bytes)
{
    seen_text *subject = search->subject;
    search->text = text;
    search->text_bytes = text_bytes;
    search->at = 0;
    search->last_end = SIZE_MAX;
    if (subject)
        subject->mapped = false;
}

void vkf__pattern_search_end(vkf__pattern_search *search)
{
    seen_text *subject = search->subject;
    if (!subject)
        return;
    pcre2_match_data_free(subject->match);
    vkf__free(search->pattern->host, subject->memory);
    vkf__free(search->pattern->host, subject);
    search->subject = NULL;
}

// Writes the letters of the text's code points.
static vkf_status map_text(const vkf__pattern_search *search, seen_text *subject)
{
    const vkf__pattern *pattern = search->pattern;
    const vkf__code_alphabet *alphabet = &pattern->expression.alphabet;
    subject->letter_at = subject->byte_at = 0;
    subject->mapped = true;
    subject->letters = (const uint8_t *)(search->text ? search->text : "");
    subject->length = search->text_bytes;
    if (pattern->expression.plain)
        return VKF_OK;
    // Compiled code takes no NULL, not for an empty text either.
    VKF_RETURN_IF_ERROR(
        vkf__grow(pattern->host, (void **)&subject->memory, 1, 0, &subject->capacity, search->text_bytes + 1));
    size_t length = 0;
    for (size_t at = 0; at < search->text_bytes; at += vkf__utf8_bytes(search->text + at))
        subject->memory[length++] = vkf__code_letter(alphabet, vkf__utf8_read(search->text + at));
    subject->letters = subject->memory;
    subject->length = length;
    return VKF_OK;
}

// Searches once, from search->at on; returns PCRE2's result.
static int match_once(const vkf__pattern_search *search, seen_text *subject)
{
    const vkf__pattern *pattern = search->pattern;
    if (pattern->compiled && !subject->gave_up_compiled) {
        int result = pcre2_jit_match(pattern->code, subject->letters, subject->length, search->at, PCRE2_NO_UTF_CHECK,
                                     subject->match, pattern->limits);
        if (result != PCRE2_ERROR_JIT_STACKLIMIT)
            return result;
        // The compiled code ran out of stack; the interpreter keeps its state on the heap.
        subject->gave_up_compiled = true;
    }
    return pcre2_match(pattern->code, subject->letters, subject->length, search->at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       subject->match, pattern->limits);
}

// The byte of the text at which a letter's code point begins. Matches come one behind the other.
static size_t byte_of(const vkf__pattern_search *search, seen_text *subject, size_t letter)
{
    if (subject->length == search->text_bytes)
        return letter;
    if (letter < subject->letter_at)
        subject->letter_at = subject->byte_at = 0;
    while (subject->letter_at < letter) {
        subject->byte_at += vkf__utf8_bytes(search->text + subject->byte_at);
        subject->letter_at++;
    }
    return subject->byte_at;
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

static vkf_status next_expression(vkf__pattern_search *search, seen_text *subject, bool *out_found, size_t *out_begin,
                                  size_t *out_end)
{
    int result = match_once(search, subject);
    *out_found = result >= 0;
    if (result >= 0) {
        const size_t *places = pcre2_get_ovector_pointer(subject->match);
        // A lookbehind with \K may report that a match begins behind its end.
        *out_begin = places[0] < search->at ? search->at : places[0];
        *out_end = places[1] < *out_begin ? *out_begin : places[1];
        return VKF_OK;
    }
    if (result == PCRE2_ERROR_NOMATCH)
        return VKF_OK;
    if (result == PCRE2_ERROR_NOMEMORY)
        return no_memory(search->pattern);
    char reason[160] = "";
    pcre2_get_error_message(result, (PCRE2_UCHAR *)reason, sizeof reason);
    return vkf__fail(search->pattern->host, VKF_ERROR_TOO_LARGE,
                     "a regular expression was given up on a text of %zu bytes: %s", search->text_bytes, reason);
}

vkf_status vkf__pattern_next(vkf__pattern_search *search, bool *out_found, size_t *out_begin, size_t *out_end)
{
    seen_text *subject = search->subject;
    *out_found = false;
    if (subject && !subject->mapped)
        VKF_RETURN_IF_ERROR(map_text(search, subject));
    size_t length = subject ? subject->length : search->text_bytes;
    bool letters = subject && !search->pattern->expression.plain;
    while (search->at <= length) {
        vkf_status status = VKF_OK;
        if (subject)
            status = next_expression(search, subject, out_found, out_begin, out_end);
        else
            *out_found = next_literal(search, out_begin, out_end);
        if (status != VKF_OK || !*out_found)
            return status;
        if (*out_begin != *out_end || *out_end != search->last_end) {
            search->at = search->last_end = *out_end;
            if (letters) {
                *out_begin = byte_of(search, subject, *out_begin);
                *out_end = byte_of(search, subject, *out_end);
            }
            return VKF_OK;
        }
        *out_found = false;
        search->at += search->at < length && !letters ? vkf__utf8_bytes(search->text + search->at) : 1;
    }
    return VKF_OK;
}
