// Cuts a regular expression into tokens.
#include <stdlib.h>

#include "text/code_point.h"
#include "text/expression_parser.h"
#include "text/unicode_table.h"

#define MAX_REPEATS 65535u // PCRE2's; Oniguruma's is 100000

vkf_status vkf__expression_wrong(const vkf__expression_parser *parser, const char *reason)
{
    return vkf__fail(parser->host, VKF_ERROR_FORMAT, "%s: the regular expression '%.200s' is wrong at byte %zu: %s",
                     parser->where, parser->text, parser->at, reason);
}

vkf_status vkf__expression_unsupported(const vkf__expression_parser *parser, const char *what)
{
    return vkf__fail(parser->host, VKF_ERROR_UNSUPPORTED,
                     "%s: the regular expression '%.200s' has %s before byte %zu, which is not supported; write it "
                     "without",
                     parser->where, parser->text, what, parser->at);
}

static bool at_end(const vkf__expression_parser *parser)
{
    return parser->at >= parser->bytes;
}

static bool follows(const vkf__expression_parser *parser, char c)
{
    return !at_end(parser) && parser->text[parser->at] == c;
}

static bool take(vkf__expression_parser *parser, char c)
{
    bool there = follows(parser, c);
    parser->at += there;
    return there;
}

static uint32_t take_code(vkf__expression_parser *parser)
{
    uint32_t code = vkf__utf8_read(parser->text + parser->at);
    parser->at += vkf__utf8_bytes(parser->text + parser->at);
    return code;
}

static unsigned digit_value(char c)
{
    return c >= '0' && c <= '9'                 ? (unsigned)(c - '0')
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)(c | 32) - 'a' + 10u
                                                : 99;
}

// Reads up to `most` digits; returns how many there were. A value that is too large stays too large.
static size_t take_digits(vkf__expression_parser *parser, unsigned base, size_t most, uint32_t *out_value)
{
    uint64_t value = 0;
    size_t count = 0;
    while (count < most && !at_end(parser) && digit_value(parser->text[parser->at]) < base) {
        value = value * base + digit_value(parser->text[parser->at]);
        value = value > UINT32_MAX ? UINT32_MAX : value;
        parser->at++;
        count++;
    }
    *out_value = (uint32_t)value;
    return count;
}

static vkf_status check_code(const vkf__expression_parser *parser, uint32_t code)
{
    if (code >= VKF_UNICODE_END || (code >= 0xd800 && code < 0xe000))
        return vkf__expression_wrong(parser, "there is no such code point");
    return VKF_OK;
}

// ---- escapes

// \xHH and \nnn are bytes of UTF-8. Those of ASCII are code points.
static vkf_status byte_code(const vkf__expression_parser *parser, uint32_t byte, vkf__token *token)
{
    if (byte >= 256)
        return vkf__expression_wrong(parser, "the number is too large");
    if (byte >= 0x80)
        return vkf__expression_unsupported(parser, "a byte that is no code point (\\xHH; \\x{HH} is one)");
    token->code = byte;
    return VKF_OK;
}

// One of the code points in braces, of which the first byte has been read; more may follow.
static vkf_status braced_code(vkf__expression_parser *parser, unsigned base, bool in_class, vkf__token *token)
{
    while (parser->sequence_base && (take(parser, ' ') || take(parser, '\n')))
        continue;
    if (take(parser, '}')) {
        if (!parser->sequence_base)
            return vkf__expression_wrong(parser, "braces without a number");
        parser->sequence_base = 0;
        token->kind = VKF_TOKEN_END;
        return VKF_OK;
    }
    if (parser->sequence_base && in_class && take(parser, '-')) {
        token->kind = VKF_TOKEN_RANGE;
        return VKF_OK;
    }
    if (take_digits(parser, base, base == 16 ? 8 : 11, &token->code) == 0)
        return vkf__expression_wrong(parser, "no number where a code point should be");
    token->kind = VKF_TOKEN_CODE;
    token->escaped = true;
    VKF_RETURN_IF_ERROR(check_code(parser, token->code));
    if (parser->sequence_base || !take(parser, '}')) {
        if (at_end(parser))
            return vkf__expression_wrong(parser, "a brace is not closed");
        parser->sequence_base = base;
    }
    return VKF_OK;
}

// Behind \c, \C- or \M-.
static vkf_status control_code(vkf__expression_parser *parser, vkf__token *token)
{
    if (at_end(parser))
        return vkf__expression_wrong(parser, "it ends within an escape");
    token->code = take_code(parser);
    if (token->code == '\\')
        return vkf__expression_unsupported(parser, "an escape within a control character");
    token->code = token->code == '?' ? 0x7f : token->code & 0x9f;
    return VKF_OK;
}

// What an escaped letter stands for, where it is the same in classes and elsewhere.
static vkf_status escaped_code(vkf__expression_parser *parser, bool in_class, vkf__token *token)
{
    static const char controls[] = "n\nt\tr\rf\fa\ae\033v\vb\b";
    for (const char *control = controls; *control; control += 2) {
        if (token->code == (unsigned char)*control) {
            token->code = (unsigned char)control[1];
            return VKF_OK;
        }
    }
    switch (token->code) {
    case 'x':
    case 'o':
        if (take(parser, '{'))
            return braced_code(parser, token->code == 'x' ? 16 : 8, in_class, token);
        if (token->code == 'o')
            return VKF_OK;
        (void)take_digits(parser, 16, 2, &token->code);
        return byte_code(parser, token->code, token);
    case 'u':
        if (take_digits(parser, 16, 4, &token->code) != 4)
            return vkf__expression_wrong(parser, "\\u takes four digits");
        return check_code(parser, token->code);
    case 'c':
        return control_code(parser, token);
    case 'C':
        return take(parser, '-') ? control_code(parser, token) : vkf__expression_wrong(parser, "\\C takes '-'");
    case 'M':
        return vkf__expression_unsupported(parser, "\\M-");
    default:
        return VKF_OK;
    }
}

static bool is_octal(uint32_t code)
{
    return code >= '0' && code <= '7';
}

static vkf_status property(vkf__expression_parser *parser, vkf__token *token)
{
    token->kind = VKF_TOKEN_PROPERTY;
    token->negated = (token->code == 'P') != take(parser, '^');
    const char *name = parser->text + parser->at;
    const char *end = strchr(name, '}');
    if (!end)
        return vkf__expression_wrong(parser, "a brace is not closed");
    token->name = name;
    token->name_bytes = (size_t)(end - name);
    parser->at += token->name_bytes + 1;
    return VKF_OK;
}

// \k<name>, \g'name', \k<1>, \g<-1>; the opening sign has been read.
static vkf_status reference(vkf__expression_parser *parser, char open, vkf__token *token)
{
    char close = open == '<' ? '>' : open;
    const char *begin = parser->text + parser->at;
    const char *end = strchr(begin, close);
    if (!end || end == begin)
        return vkf__expression_wrong(parser, "a group's name is missing");
    token->name = begin;
    token->name_bytes = (size_t)(end - begin);
    char sign = *begin == '-' || *begin == '+' ? *begin : 0;
    if (!sign && (*begin < '0' || *begin > '9')) {
        if (memchr(begin, '+', token->name_bytes) || memchr(begin, '-', token->name_bytes))
            return vkf__expression_unsupported(parser, "a reference to a level");
        parser->at += token->name_bytes + 1;
        return VKF_OK;
    }
    token->name = NULL;
    parser->at += sign != 0;
    if (take_digits(parser, 10, 9, &token->number) == 0 || parser->text + parser->at != end)
        return vkf__expression_unsupported(parser, "a reference to a level");
    if (sign == '-' && token->number > parser->group_count)
        return vkf__expression_wrong(parser, "there is no such group");
    if (sign)
        token->number = sign == '-' ? parser->group_count + 1 - token->number : parser->group_count + token->number;
    parser->at++;
    return VKF_OK;
}

// \1 is a group if there are as many up to here, or if it has one digit; otherwise it is an octal number.
static vkf_status numbered_escape(vkf__expression_parser *parser, vkf__token *token)
{
    size_t begin = parser->at - 1;
    parser->at = begin;
    if (token->code != '0') {
        (void)take_digits(parser, 10, 9, &token->number);
        if (token->number <= parser->group_count || token->number <= 9) {
            token->kind = VKF_TOKEN_BACK;
            return VKF_OK;
        }
        parser->at = begin;
    }
    if (!is_octal(token->code)) {
        parser->at++;
        return VKF_OK;
    }
    (void)take_digits(parser, 8, 3, &token->code);
    return byte_code(parser, token->code, token);
}

static vkf_status escape(vkf__expression_parser *parser, vkf__token *token)
{
    if (at_end(parser))
        return vkf__expression_wrong(parser, "it ends with a backslash");
    token->code = take_code(parser);
    token->escaped = true;
    if (token->code < 0x80 && token->code && strchr("wWdDsShHbBAZzGKRNOXyY", (int)token->code)) {
        token->kind = VKF_TOKEN_LETTER;
        return VKF_OK;
    }
    if ((token->code == 'p' || token->code == 'P') && take(parser, '{'))
        return property(parser, token);
    if (token->code >= '0' && token->code <= '9')
        return numbered_escape(parser, token);
    if ((token->code == 'k' || token->code == 'g') && (follows(parser, '<') || follows(parser, '\''))) {
        token->kind = token->code == 'k' ? VKF_TOKEN_BACK : VKF_TOKEN_CALL;
        char open = parser->text[parser->at++];
        return reference(parser, open, token);
    }
    return escaped_code(parser, false, token);
}

// ---- quantifiers

// {n,m} and its like behind the brace; the token stays a code point where it is none.
static vkf_status interval(vkf__expression_parser *parser, vkf__token *token, bool *out_fixed)
{
    size_t begin = parser->at;
    bool low = take_digits(parser, 10, 9, &token->least) > 0;
    token->most = token->least;
    bool comma = take(parser, ',');
    bool high = comma && take_digits(parser, 10, 9, &token->most) > 0;
    if ((!low && !high) || !take(parser, '}')) {
        parser->at = begin;
        return VKF_OK;
    }
    token->kind = VKF_TOKEN_QUANTIFIER;
    if (comma && !high)
        token->most = VKF_EXPRESSION_NO_LIMIT;
    if (token->least > MAX_REPEATS || (token->most > MAX_REPEATS && token->most != VKF_EXPRESSION_NO_LIMIT))
        return vkf__expression_unsupported(parser, "more than 65535 repetitions");
    if (token->least > token->most) {
        uint32_t least = token->most;
        token->most = token->least;
        token->least = least;
        token->possessive = true;
    }
    *out_fixed = !comma;
    return VKF_OK;
}

static vkf_status quantifier(vkf__expression_parser *parser, vkf__token *token)
{
    bool fixed = false;
    bool brace = token->code == '{';
    if (brace) {
        VKF_RETURN_IF_ERROR(interval(parser, token, &fixed));
        if (token->kind != VKF_TOKEN_QUANTIFIER)
            return VKF_OK;
    } else {
        token->kind = VKF_TOKEN_QUANTIFIER;
        token->least = token->code == '+';
        token->most = token->code == '?' ? 1 : VKF_EXPRESSION_NO_LIMIT;
    }
    // A '?' behind {n}, and a '+' behind any interval, is a quantifier of its own.
    if (!fixed && !token->possessive && take(parser, '?'))
        token->lazy = true;
    else if (!brace && take(parser, '+'))
        token->possessive = true;
    return VKF_OK;
}

// ---- the tokens

// Comments, and blanks in an extended expression.
static vkf_status skip(vkf__expression_parser *parser, unsigned options)
{
    for (;;) {
        const char *text = parser->text + parser->at;
        if (strncmp(text, "(?#", 3) == 0) {
            parser->at += 3;
            while (!at_end(parser) && !follows(parser, ')'))
                parser->at += parser->text[parser->at] == '\\' && parser->at + 1 < parser->bytes ? 2 : 1;
            if (!take(parser, ')'))
                return vkf__expression_wrong(parser, "a comment is not closed");
        } else if ((options & VKF_OPTION_EXTENDED) && *text == '#') {
            while (!at_end(parser) && !take(parser, '\n'))
                parser->at++;
        } else if ((options & VKF_OPTION_EXTENDED) && *text && strchr(" \t\n\r\f", *text)) {
            parser->at++;
        } else {
            return VKF_OK;
        }
    }
}

vkf_status vkf__next_token(vkf__expression_parser *parser, unsigned options, vkf__token *out_token)
{
    *out_token = (vkf__token){.kind = VKF_TOKEN_END, .at = parser->at};
    if (parser->sequence_base) {
        VKF_RETURN_IF_ERROR(braced_code(parser, parser->sequence_base, false, out_token));
        if (out_token->kind != VKF_TOKEN_END)
            return VKF_OK;
    }
    VKF_RETURN_IF_ERROR(skip(parser, options));
    out_token->at = parser->at;
    if (at_end(parser))
        return VKF_OK;
    out_token->kind = VKF_TOKEN_CODE;
    out_token->code = take_code(parser);
    switch (out_token->code) {
    case '\\':
        return escape(parser, out_token);
    case '.':
        out_token->kind = VKF_TOKEN_ANY;
        break;
    case '^':
    case '$':
        out_token->kind = VKF_TOKEN_ANCHOR;
        break;
    case '(':
        out_token->kind = VKF_TOKEN_OPEN;
        break;
    case ')':
        out_token->kind = VKF_TOKEN_CLOSE;
        break;
    case '|':
        out_token->kind = VKF_TOKEN_BAR;
        break;
    case '[':
        out_token->kind = VKF_TOKEN_CLASS;
        break;
    case '*':
    case '+':
    case '?':
    case '{':
        return quantifier(parser, out_token);
    default:
        break;
    }
    return VKF_OK;
}

// [:name:] where up to 20 letters stand between "[:" and ":]", as the library looks for it.
static bool posix(vkf__expression_parser *parser, vkf__token *token)
{
    const char *begin = parser->text + parser->at;
    if (*begin != ':')
        return false;
    begin++;
    token->negated = *begin == '^';
    begin += token->negated;
    size_t length = 0;
    while ((begin[length] | 32) >= 'a' && (begin[length] | 32) <= 'z' && length < 20)
        length++;
    if (length == 0 || begin[length] != ':' || begin[length + 1] != ']')
        return false;
    token->kind = VKF_TOKEN_POSIX;
    token->name = begin;
    token->name_bytes = length;
    parser->at = (size_t)(begin + length + 2 - parser->text);
    return true;
}

static vkf_status class_escape(vkf__expression_parser *parser, vkf__token *token)
{
    if (at_end(parser))
        return vkf__expression_wrong(parser, "it ends with a backslash");
    token->code = take_code(parser);
    token->escaped = true;
    if (token->code < 0x80 && token->code && strchr("wWdDsShH", (int)token->code)) {
        token->kind = VKF_TOKEN_LETTER;
        return VKF_OK;
    }
    if ((token->code == 'p' || token->code == 'P') && take(parser, '{'))
        return property(parser, token);
    if (is_octal(token->code)) {
        parser->at--;
        (void)take_digits(parser, 8, 3, &token->code);
        return byte_code(parser, token->code, token);
    }
    return escaped_code(parser, true, token);
}

vkf_status vkf__next_class_token(vkf__expression_parser *parser, bool range, vkf__token *out_token)
{
    *out_token = (vkf__token){.kind = VKF_TOKEN_END, .at = parser->at};
    if (parser->sequence_base) {
        VKF_RETURN_IF_ERROR(braced_code(parser, parser->sequence_base, !range, out_token));
        if (out_token->kind != VKF_TOKEN_END)
            return VKF_OK;
    }
    if (at_end(parser))
        return vkf__expression_wrong(parser, "a class is not closed");
    out_token->at = parser->at;
    out_token->kind = VKF_TOKEN_CODE;
    out_token->code = take_code(parser);
    switch (out_token->code) {
    case ']':
        out_token->kind = VKF_TOKEN_CLASS_END;
        return VKF_OK;
    case '-':
        out_token->kind = VKF_TOKEN_RANGE;
        return VKF_OK;
    case '\\':
        return class_escape(parser, out_token);
    case '[':
        if (!posix(parser, out_token))
            out_token->kind = VKF_TOKEN_CLASS;
        return VKF_OK;
    case '&':
        if (take(parser, '&'))
            out_token->kind = VKF_TOKEN_AND;
        return VKF_OK;
    default:
        return VKF_OK;
    }
}
