// Rewrites the numbers of a JSON text. Python writes NaN and Infinity into JSON, and whole numbers of any size.
#include "io/json_text.h"

#include <string.h>

#define MOST_EXPONENT 308       // of ten: beyond it a double may overflow
#define EXACT_DIGITS 15         // whole numbers of so many are exact in a double
#define INTEGER_DIGITS 18       // and of so many fit 64 bits
#define EXPONENT_LIMIT 10000000 // no text is so long that a greater one would make another number of it

typedef struct writer {
    char *text; // NULL: the bytes are counted
    size_t bytes;
    bool changed;
} writer;

static void put(writer *w, const char *bytes, size_t count)
{
    if (w->text)
        memcpy(w->text + w->bytes, bytes, count);
    w->bytes += count;
}

static void put_text(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// What numbers and the names of constants consist of.
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.';
}

static bool is(const char *word, size_t length, const char *name)
{
    return length == strlen(name) && memcmp(word, name, length) == 0;
}

// A number of JSON: its digits, first to last without the zeros around them, times ten to the exponent.
typedef struct number {
    bool negative, plain;     // plain: neither fraction nor exponent
    const char *first, *last; // both zero digits where the number is 0
    size_t digits;
    long long exponent;
} number;

static size_t skip_digits(const char *word, size_t length, size_t at)
{
    while (at < length && is_digit(word[at]))
        at++;
    return at;
}

static bool read_exponent(const char *word, size_t length, long long *out_exponent)
{
    bool negative = length > 1 && word[1] == '-';
    size_t at = length > 1 && (word[1] == '-' || word[1] == '+') ? 2 : 1;
    long long value = 0;
    if (at == length || skip_digits(word, length, at) != length)
        return false;
    for (; at < length; at++)
        value = value < EXPONENT_LIMIT ? 10 * value + (word[at] - '0') : value;
    *out_exponent = negative ? -value : value;
    return true;
}

// Drops the zeros before and behind the digits [begin, end), among which may be a point.
static void trim(number *n, const char *begin, const char *end, const char *point)
{
    while (begin < end && (*begin == '0' || begin == point))
        begin++;
    while (begin < end && (end[-1] == '0' || end - 1 == point))
        end--;
    n->first = begin;
    n->last = end;
    n->digits = (size_t)(end - begin) - (point > begin && point < end);
    n->exponent = begin == end ? 0 : n->exponent + (end <= point ? point - end : point - end + 1);
}

// False where the word is no number of JSON.
static bool read_number(const char *word, size_t length, number *out)
{
    number n = {.negative = length > 0 && word[0] == '-'};
    size_t begin = n.negative, whole = skip_digits(word, length, begin), end = whole;
    if (whole == begin || (word[begin] == '0' && whole > begin + 1))
        return false;
    if (end < length && word[end] == '.') {
        end = skip_digits(word, length, whole + 1);
        if (end == whole + 1)
            return false;
    }
    if (end < length && (word[end] | 0x20) != 'e')
        return false;
    if (end < length && !read_exponent(word + end, length - end, &n.exponent))
        return false;
    n.plain = whole == length;
    trim(&n, word + begin, word + end, word + whole);
    *out = n;
    return true;
}

static void put_constant(writer *w, bool negative, const char *name)
{
    put_text(w, negative ? "\"-" : "\"");
    put_text(w, name);
    put_text(w, "\"");
    w->changed = true;
}

static void put_whole(writer *w, const number *n)
{
    put_text(w, n->negative ? "-" : "");
    for (const char *c = n->first; c < n->last; c++)
        if (*c != '.')
            put(w, c, 1);
    for (long long i = 0; i < n->exponent; i++)
        put_text(w, "0");
    put_text(w, n->digits == 0 ? "0" : "");
    w->changed = true;
}

static void put_word(writer *w, const char *word, size_t length)
{
    bool negative = length > 0 && word[0] == '-';
    number n;
    if (is(word, length, VKF_JSON_NAN)) {
        put_constant(w, false, VKF_JSON_NAN);
    } else if (is(word + negative, length - negative, VKF_JSON_INFINITY)) {
        put_constant(w, negative, VKF_JSON_INFINITY);
    } else if (!read_number(word, length, &n)) {
        put(w, word, length);
    } else if (n.digits > 0 && (long long)n.digits + n.exponent > MOST_EXPONENT) {
        put_constant(w, n.negative, VKF_JSON_INFINITY);
    } else if (!n.plain && n.exponent >= 0 && (long long)n.digits + n.exponent <= EXACT_DIGITS) {
        put_whole(w, &n);
    } else {
        bool wide = n.plain && (long long)n.digits + n.exponent > INTEGER_DIGITS;
        put(w, word, length);
        put_text(w, wide ? ".0" : "");
        w->changed = w->changed || wide;
    }
}

// The end of the string that begins at text[at].
static size_t skip_string(const char *text, size_t text_bytes, size_t at)
{
    for (at++; at < text_bytes && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < text_bytes ? at + 1 : text_bytes;
}

// Whether what follows ends a value, so that names of constants as keys are not taken.
static bool ends_value(const char *text, size_t text_bytes, size_t at)
{
    while (at < text_bytes && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at == text_bytes || text[at] == ',' || text[at] == ']' || text[at] == '}';
}

static void rewrite(writer *w, const char *text, size_t text_bytes)
{
    for (size_t at = 0, end; at < text_bytes; at = end) {
        end = text[at] == '"' ? skip_string(text, text_bytes, at) : at + 1;
        bool word = is_word(text[at]);
        while (word && end < text_bytes && is_word(text[end]))
            end++;
        if (word && ends_value(text, text_bytes, end))
            put_word(w, text + at, end - at);
        else
            put(w, text + at, end - at);
    }
}

vkf_status vkf__json_text_rewrite(const vkf__host *host, const char *text, size_t text_bytes, char **out_text,
                                  size_t *out_bytes)
{
    writer w = {0};
    rewrite(&w, text, text_bytes);
    *out_text = NULL;
    if (!w.changed)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, w.text, w.bytes);
    *out_text = w.text;
    *out_bytes = w.bytes;
    w.bytes = 0;
    rewrite(&w, text, text_bytes);
    return VKF_OK;
}
