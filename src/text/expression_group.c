// Reads the groups of a regular expression, and what refers to them.
#include "text/expression_parser.h"

static bool same_name(const vkf__group_name *group, const vkf__token *token)
{
    return group->bytes == token->name_bytes && memcmp(group->text, token->name, group->bytes) == 0;
}

// The number of the group that a token refers to.
static vkf_status find_group(vkf__expression_parser *parser, const vkf__token *token, uint32_t *out_number)
{
    size_t found = 0;
    *out_number = token->number;
    parser->numbered = true;
    for (size_t i = 0; token->name && i < parser->name_count; i++) {
        if (!same_name(&parser->names[i], token))
            continue;
        *out_number = parser->names[i].number;
        found++;
    }
    if (!parser->second)
        return VKF_OK;
    if (found > 1)
        return vkf__expression_unsupported(parser, "a reference to one of several groups of a name");
    if (!token->name && token->number > 0 && parser->total_names > 0)
        return vkf__expression_wrong(parser, "groups have names, and a number refers to one");
    if (token->name ? found == 0 : token->number > parser->total_groups)
        return vkf__expression_wrong(parser, "there is no such group");
    return VKF_OK;
}

// Names are collected by the first reading.
static vkf_status add_group_name(vkf__expression_parser *parser, char close)
{
    const char *begin = parser->text + parser->at;
    const char *end = strchr(begin, close);
    if (!end || end == begin)
        return vkf__expression_wrong(parser, "a group's name is missing");
    parser->at = (size_t)(end + 1 - parser->text);
    parser->group_count++;
    if (parser->second)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__grow(parser->host, (void **)&parser->names, sizeof *parser->names, parser->name_count,
                                  &parser->name_capacity, parser->name_count + 1));
    parser->names[parser->name_count++] = (vkf__group_name){begin, (size_t)(end - begin), parser->group_count};
    return VKF_OK;
}

// The rest of a group behind `open`, which becomes PCRE2's.
static vkf_status parse_group(vkf__expression_parser *parser, unsigned options, const char *open,
                              vkf__branches *out_branches)
{
    vkf__token token;
    VKF_RETURN_IF_ERROR(vkf__put(parser, open));
    VKF_RETURN_IF_ERROR(vkf__parse_branches(parser, options, out_branches));
    VKF_RETURN_IF_ERROR(vkf__next_token(parser, options, &token));
    if (token.kind != VKF_TOKEN_CLOSE)
        return vkf__expression_wrong(parser, "a parenthesis is not closed");
    return vkf__put(parser, ")");
}

static vkf_status parse_look(vkf__expression_parser *parser, unsigned options, const char *open, vkf__extent *extent)
{
    vkf__branches inner;
    VKF_RETURN_IF_ERROR(parse_group(parser, options, open, &inner));
    *extent = (vkf__extent){0, 0};
    return VKF_OK;
}

static vkf_status parse_look_behind(vkf__expression_parser *parser, unsigned options, const char *open,
                                    vkf__extent *extent)
{
    vkf__branches inner;
    parser->behind++;
    VKF_RETURN_IF_ERROR(parse_group(parser, options, open, &inner));
    parser->behind--;
    *extent = (vkf__extent){0, 0};
    return inner.fixed ? VKF_OK : vkf__expression_unsupported(parser, "a lookbehind of no fixed length");
}

// (?~that): as much as comes before the first place of what is absent.
static vkf_status parse_absent(vkf__expression_parser *parser, unsigned options, vkf__extent *extent)
{
    vkf__branches inner;
    if (parser->text[parser->at] == '|')
        return vkf__expression_unsupported(parser, "(?~|");
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:(?:"));
    VKF_RETURN_IF_ERROR(parse_group(parser, options, "(?!", &inner));
    VKF_RETURN_IF_ERROR(vkf__put_any(parser, true));
    *extent = (vkf__extent){0, VKF_EXPRESSION_NO_LIMIT};
    return vkf__put(parser, ")*)");
}

// (?(1)then|else), (?(<name>)then|else) and (?(1)), which asks alone.
static vkf_status parse_condition(vkf__expression_parser *parser, unsigned options, vkf__extent *extent)
{
    vkf__branches inner;
    vkf__token token = {0};
    const char *text = parser->text + parser->at;
    bool named = *text == '<' || *text == '\'';
    const char *end = strchr(text, ')');
    if (!end || (!named && (*text < '0' || *text > '9')))
        return vkf__expression_unsupported(parser, "a condition that is no group");
    for (const char *c = text; !named && c < end; c++) {
        if (*c < '0' || *c > '9')
            return vkf__expression_unsupported(parser, "a condition that is no group");
        token.number = token.number < 100000 ? token.number * 10 + (uint32_t)(*c - '0') : token.number;
    }
    if (named) {
        token.name = text + 1;
        token.name_bytes = (size_t)(end - text) < 3 ? 0 : (size_t)(end - text) - 2;
    }
    parser->at = (size_t)(end + 1 - parser->text);
    VKF_RETURN_IF_ERROR(find_group(parser, &token, &token.number));
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?("));
    VKF_RETURN_IF_ERROR(vkf__put_number(parser, token.number));
    bool alone = parser->text[parser->at] == ')';
    VKF_RETURN_IF_ERROR(vkf__put(parser, alone ? ")|(?!)" : ")"));
    VKF_RETURN_IF_ERROR(parse_group(parser, options, "", &inner));
    *extent = inner.extent;
    extent->least = 0;
    return VKF_OK;
}

// The letters of (?imx-imx) up to ':' or ')'.
static vkf_status parse_options(vkf__expression_parser *parser, unsigned *options, bool *out_alone)
{
    static const struct {
        char letter;
        unsigned option;
    } rows[] = {
        {'i', VKF_OPTION_CASE},        {'x', VKF_OPTION_EXTENDED},    {'m', VKF_OPTION_ALL},
        {'W', VKF_OPTION_ASCII_WORD},  {'D', VKF_OPTION_ASCII_DIGIT}, {'S', VKF_OPTION_ASCII_SPACE},
        {'P', VKF_OPTION_ASCII_POSIX},
    };
    bool negated = false;
    for (;; parser->at++) {
        char c = parser->text[parser->at];
        size_t row = 0;
        while (row < sizeof rows / sizeof *rows && rows[row].letter != c)
            row++;
        if (row < sizeof rows / sizeof *rows)
            *options = negated ? *options & ~rows[row].option : *options | rows[row].option;
        else if (c == '-')
            negated = true;
        else if (c == ':' || c == ')')
            break;
        else if (c == 'C' || c == 'I' || c == 'L' || c == 'y')
            return vkf__expression_unsupported(parser, "one of the options C, I, L and y");
        else
            return vkf__expression_wrong(parser, "there is no such group or option");
    }
    *out_alone = parser->text[parser->at++] == ')';
    return VKF_OK;
}

// (?i) alone is a group up to the next ')' or to the end, with alternatives of its own.
static vkf_status parse_option_group(vkf__expression_parser *parser, unsigned options, vkf__extent *extent)
{
    bool alone = false;
    vkf__branches inner;
    VKF_RETURN_IF_ERROR(parse_options(parser, &options, &alone));
    if (alone) {
        VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:"));
        VKF_RETURN_IF_ERROR(vkf__parse_branches(parser, options, &inner));
        VKF_RETURN_IF_ERROR(vkf__put(parser, ")"));
    } else {
        VKF_RETURN_IF_ERROR(parse_group(parser, options, "(?:", &inner));
    }
    *extent = inner.extent;
    return VKF_OK;
}

// Captures nothing where nothing refers to a group, because what PCRE2 remembers grows with each.
static vkf_status parse_capture(vkf__expression_parser *parser, unsigned options, bool named, vkf__extent *extent)
{
    vkf__branches inner;
    bool captures = (named || parser->total_names == 0) && parser->numbered;
    if (!named && parser->total_names == 0)
        parser->group_count++;
    VKF_RETURN_IF_ERROR(parse_group(parser, options, captures ? "(" : "(?:", &inner));
    *extent = inner.extent;
    return VKF_OK;
}

vkf_status vkf__parse_parenthesis(vkf__expression_parser *parser, unsigned options, vkf__extent *extent,
                                  bool *out_quantifiable)
{
    vkf__branches inner;
    const char *text = parser->text + parser->at;
    *out_quantifiable = true;
    if (*text == '*')
        return vkf__expression_unsupported(parser, "a callout");
    if (*text != '?')
        return parse_capture(parser, options, false, extent);
    parser->at += 2;
    switch (text[1]) {
    case ':':
    case '>':
        VKF_RETURN_IF_ERROR(parse_group(parser, options, text[1] == ':' ? "(?:" : "(?>", &inner));
        *extent = inner.extent;
        return VKF_OK;
    case '=':
    case '!':
        *out_quantifiable = false;
        return parse_look(parser, options, text[1] == '=' ? "(?=" : "(?!", extent);
    case '<':
        if (text[2] == '=' || text[2] == '!') {
            parser->at++;
            *out_quantifiable = false;
            return parse_look_behind(parser, options, text[2] == '=' ? "(?<=" : "(?<!", extent);
        }
        VKF_RETURN_IF_ERROR(add_group_name(parser, '>'));
        return parse_capture(parser, options, true, extent);
    case '\'':
        VKF_RETURN_IF_ERROR(add_group_name(parser, '\''));
        return parse_capture(parser, options, true, extent);
    case '~':
        return parse_absent(parser, options, extent);
    case '(':
        return parse_condition(parser, options, extent);
    case '{':
        return vkf__expression_unsupported(parser, "a callout");
    default:
        parser->at--;
        return parse_option_group(parser, options, extent);
    }
}

vkf_status vkf__parse_back_reference(vkf__expression_parser *parser, unsigned options, const vkf__token *token)
{
    uint32_t number = 0;
    parser->backs = true;
    if (options & VKF_OPTION_CASE)
        return vkf__expression_unsupported(parser, "a reference back in any case");
    VKF_RETURN_IF_ERROR(find_group(parser, token, &number));
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:\\g{"));
    VKF_RETURN_IF_ERROR(vkf__put_number(parser, number));
    return vkf__put(parser, "})");
}

vkf_status vkf__parse_call(vkf__expression_parser *parser, const vkf__token *token)
{
    uint32_t number = 0;
    parser->calls = true;
    VKF_RETURN_IF_ERROR(find_group(parser, token, &number));
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?"));
    VKF_RETURN_IF_ERROR(vkf__put_number(parser, number));
    return vkf__put(parser, ")");
}
