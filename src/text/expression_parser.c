// Reads a regular expression, and writes it for PCRE2.
#include "text/expression_parser.h"

#define NOTHING ((vkf__extent){0, 0})
#define ONE ((vkf__extent){1, 1})
#define ANYTHING ((vkf__extent){0, VKF_EXPRESSION_NO_LIMIT})

// What an alternative, or several of them, match; `fixed`: each of them always as many code points.
typedef struct branches {
    vkf__extent extent;
    bool fixed;
} branches;

static vkf_status parse_branches(vkf__expression_parser *parser, unsigned options, branches *out_branches);

static vkf_status put_new_line(vkf__expression_parser *parser)
{
    return vkf__put_range(parser, '\n', '\n' + 1);
}

// Any code point, or any but '\n'.
static vkf_status put_any(vkf__expression_parser *parser, bool all)
{
    vkf_status status = VKF_OK;
    vkf__code_set set = {0};
    if (!all)
        VKF_TRY(vkf__code_set_add(parser->host, &set, '\n', '\n' + 1));
    VKF_TRY(vkf__code_set_invert(parser->host, &set));
    return vkf__put_set(parser, &set);
fail:
    vkf__code_set_free(parser->host, &set);
    return status;
}

// ---- anchors

static vkf_status put_line_anchor(vkf__expression_parser *parser, uint32_t sign)
{
    if (sign == '^') { // not behind a '\n' that ends the text
        VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:\\A|(?<="));
        VKF_RETURN_IF_ERROR(put_new_line(parser));
        return vkf__put(parser, ")(?!\\z))");
    }
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?!"));
    VKF_RETURN_IF_ERROR(put_any(parser, false));
    return vkf__put(parser, ")");
}

static vkf_status put_word_boundary(vkf__expression_parser *parser, unsigned options, bool boundary)
{
    static const char *const around[2][4] = {{"(?:(?<=", ")(?=", ")|(?<!", ")(?!"},
                                             {"(?:(?<=", ")(?!", ")|(?<!", ")(?="}};
    for (size_t i = 0; i < 4; i++) {
        VKF_RETURN_IF_ERROR(vkf__put(parser, around[boundary][i]));
        VKF_RETURN_IF_ERROR(vkf__put_type(parser, options, 'w', false));
    }
    return vkf__put(parser, "))");
}

// "\r\n" as one, or what else ends a line.
static vkf_status put_any_new_line(vkf__expression_parser *parser)
{
    vkf_status status = VKF_OK;
    vkf__code_set set = {0};
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?>"));
    VKF_RETURN_IF_ERROR(vkf__put_range(parser, '\r', '\r' + 1));
    VKF_RETURN_IF_ERROR(put_new_line(parser));
    VKF_RETURN_IF_ERROR(vkf__put(parser, "|"));
    VKF_TRY(vkf__code_set_add(parser->host, &set, '\n', '\r' + 1));
    VKF_TRY(vkf__code_set_add(parser->host, &set, 0x85, 0x86));
    VKF_TRY(vkf__code_set_add(parser->host, &set, 0x2028, 0x202a));
    VKF_RETURN_IF_ERROR(vkf__put_set(parser, &set));
    return vkf__put(parser, ")");
fail:
    vkf__code_set_free(parser->host, &set);
    return status;
}

// A letter behind a backslash. *out_quantifiable is false for what takes no quantifier.
static vkf_status parse_letter(vkf__expression_parser *parser, unsigned options, uint32_t letter, vkf__extent *extent,
                               bool *out_quantifiable)
{
    *extent = NOTHING;
    *out_quantifiable = false;
    switch (letter) {
    case 'A':
        return vkf__put(parser, "\\A");
    case 'z':
        return vkf__put(parser, "\\z");
    case 'G':
        return vkf__put(parser, "\\G");
    case 'Z':
        VKF_RETURN_IF_ERROR(vkf__put(parser, "(?="));
        VKF_RETURN_IF_ERROR(put_new_line(parser));
        return vkf__put(parser, "?\\z)");
    case 'b':
    case 'B':
        return put_word_boundary(parser, options, letter == 'b');
    case 'K':
        if (parser->behind)
            return vkf__expression_unsupported(parser, "\\K in a lookbehind");
        return vkf__put(parser, "\\K");
    case 'X':
    case 'y':
    case 'Y':
        return vkf__expression_unsupported(parser, "a boundary of text segments (\\X, \\y, \\Y)");
    default:
        break;
    }
    *extent = ONE;
    *out_quantifiable = true;
    switch (letter) {
    case 'R':
        extent->most = 2;
        return put_any_new_line(parser);
    case 'N':
        return put_any(parser, false);
    case 'O':
        return put_any(parser, true);
    default:
        return vkf__put_type(parser, options, (char)(letter | 32), letter < 'a');
    }
}

// ---- groups

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
                              branches *out_branches)
{
    vkf__token token;
    VKF_RETURN_IF_ERROR(vkf__put(parser, open));
    VKF_RETURN_IF_ERROR(parse_branches(parser, options, out_branches));
    VKF_RETURN_IF_ERROR(vkf__next_token(parser, options, &token));
    if (token.kind != VKF_TOKEN_CLOSE)
        return vkf__expression_wrong(parser, "a parenthesis is not closed");
    return vkf__put(parser, ")");
}

static vkf_status parse_look(vkf__expression_parser *parser, unsigned options, const char *open, vkf__extent *extent)
{
    branches inner;
    VKF_RETURN_IF_ERROR(parse_group(parser, options, open, &inner));
    *extent = NOTHING;
    return VKF_OK;
}

static vkf_status parse_look_behind(vkf__expression_parser *parser, unsigned options, const char *open,
                                    vkf__extent *extent)
{
    branches inner;
    parser->behind++;
    VKF_RETURN_IF_ERROR(parse_group(parser, options, open, &inner));
    parser->behind--;
    *extent = NOTHING;
    return inner.fixed ? VKF_OK : vkf__expression_unsupported(parser, "a lookbehind of no fixed length");
}

// (?~that): as much as comes before the first place of what is absent.
static vkf_status parse_absent(vkf__expression_parser *parser, unsigned options, vkf__extent *extent)
{
    branches inner;
    if (parser->text[parser->at] == '|')
        return vkf__expression_unsupported(parser, "(?~|");
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:(?:"));
    VKF_RETURN_IF_ERROR(parse_group(parser, options, "(?!", &inner));
    VKF_RETURN_IF_ERROR(put_any(parser, true));
    *extent = ANYTHING;
    return vkf__put(parser, ")*)");
}

// (?(1)then|else), (?(<name>)then|else) and (?(1)), which asks alone.
static vkf_status parse_condition(vkf__expression_parser *parser, unsigned options, vkf__extent *extent)
{
    branches inner;
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
    branches inner;
    VKF_RETURN_IF_ERROR(parse_options(parser, &options, &alone));
    if (alone) {
        VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:"));
        VKF_RETURN_IF_ERROR(parse_branches(parser, options, &inner));
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
    branches inner;
    bool captures = (named || parser->total_names == 0) && parser->numbered;
    if (!named && parser->total_names == 0)
        parser->group_count++;
    VKF_RETURN_IF_ERROR(parse_group(parser, options, captures ? "(" : "(?:", &inner));
    *extent = inner.extent;
    return VKF_OK;
}

// Behind '('. *out_quantifiable is false for what takes no quantifier.
static vkf_status parse_parenthesis(vkf__expression_parser *parser, unsigned options, vkf__extent *extent,
                                    bool *out_quantifiable)
{
    branches inner;
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

static vkf_status parse_back_reference(vkf__expression_parser *parser, unsigned options, const vkf__token *token)
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

static vkf_status parse_call(vkf__expression_parser *parser, const vkf__token *token)
{
    uint32_t number = 0;
    parser->calls = true;
    VKF_RETURN_IF_ERROR(find_group(parser, token, &number));
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?"));
    VKF_RETURN_IF_ERROR(vkf__put_number(parser, number));
    return vkf__put(parser, ")");
}

// ---- alternatives

// Whether what stands from `begin` on has alternatives and may match nothing. Where such a part is repeated up to a bound,
// the library leaves the loop when it matched nothing, or does not, which depends on the size of its code.
static bool may_leave_loop(const vkf__expression_parser *parser, size_t begin, const vkf__extent *extent)
{
    bool alternatives = false;
    for (size_t i = begin; i < parser->count && !alternatives; i++)
        alternatives = parser->codes[i] == '|';
    return alternatives && extent->least == 0;
}

static vkf_status put_quantifier(vkf__expression_parser *parser, const vkf__token *token, size_t begin, bool nested,
                                 vkf__extent *extent)
{
    bool bounded = token->least > 1 || (token->most > 1 && token->most != VKF_EXPRESSION_NO_LIMIT);
    if (bounded && may_leave_loop(parser, begin, extent))
        return vkf__expression_unsupported(parser, "a bound for how often alternatives are repeated that may be empty");
    if (nested) {
        VKF_RETURN_IF_ERROR(vkf__insert(parser, begin, "(?:"));
        VKF_RETURN_IF_ERROR(vkf__put(parser, ")"));
    }
    VKF_RETURN_IF_ERROR(vkf__put(parser, "{"));
    VKF_RETURN_IF_ERROR(vkf__put_number(parser, token->least));
    VKF_RETURN_IF_ERROR(vkf__put(parser, ","));
    if (token->most != VKF_EXPRESSION_NO_LIMIT)
        VKF_RETURN_IF_ERROR(vkf__put_number(parser, token->most));
    VKF_RETURN_IF_ERROR(vkf__put(parser, token->lazy ? "}?" : token->possessive ? "}+" : "}"));
    uint64_t least = (uint64_t)extent->least * token->least;
    uint64_t most = (uint64_t)extent->most * token->most;
    extent->least = least < VKF_EXPRESSION_NO_LIMIT ? (uint32_t)least : VKF_EXPRESSION_NO_LIMIT;
    extent->most = most < VKF_EXPRESSION_NO_LIMIT ? (uint32_t)most : VKF_EXPRESSION_NO_LIMIT;
    return VKF_OK;
}

// One part without its quantifiers.
static vkf_status parse_atom(vkf__expression_parser *parser, unsigned options, const vkf__token *token,
                             vkf__extent *extent, bool *out_quantifiable)
{
    vkf_status status = VKF_OK;
    vkf__code_set set = {0};
    *out_quantifiable = true;
    *extent = ONE;
    switch (token->kind) {
    case VKF_TOKEN_CODE:
        if (options & VKF_OPTION_CASE) {
            *extent = NOTHING;
            return vkf__put_case(parser, &token->code, 1, extent);
        }
        return vkf__put_range(parser, token->code, token->code + 1);
    case VKF_TOKEN_LETTER:
        return parse_letter(parser, options, token->code, extent, out_quantifiable);
    case VKF_TOKEN_PROPERTY:
        if (vkf__is_word_property(token))
            return vkf__put_type(parser, options, 'w', token->negated);
        VKF_TRY(vkf__add_property(parser, options, token, &set));
        return vkf__put_set(parser, &set);
    case VKF_TOKEN_ANY:
        return put_any(parser, options & VKF_OPTION_ALL);
    case VKF_TOKEN_ANCHOR:
        *extent = NOTHING;
        *out_quantifiable = false;
        return put_line_anchor(parser, token->code);
    case VKF_TOKEN_OPEN:
        return parse_parenthesis(parser, options, extent, out_quantifiable);
    case VKF_TOKEN_CLASS:
        return vkf__put_class(parser, options, extent);
    case VKF_TOKEN_BACK:
        *extent = ANYTHING;
        return parse_back_reference(parser, options, token);
    case VKF_TOKEN_CALL:
        *extent = ANYTHING;
        return parse_call(parser, token);
    default:
        return vkf__expression_wrong(parser, "a quantifier stands behind nothing");
    }
fail:
    vkf__code_set_free(parser->host, &set);
    return status;
}

// Letters of any case, one behind the other, the last of which may have a quantifier: *token becomes what follows all
// but that last one, with its place in *last. Its quantifiers are the caller's.
static vkf_status parse_run(vkf__expression_parser *parser, unsigned options, vkf__token *token, vkf__extent *extent)
{
    vkf__token next = *token;
    vkf__token last = *token;
    size_t before_last = parser->at;
    uint32_t sequence_before_last = parser->sequence_base;
    parser->run_count = 0;
    while (next.kind == VKF_TOKEN_CODE) {
        VKF_RETURN_IF_ERROR(vkf__grow(parser->host, (void **)&parser->run, sizeof *parser->run, parser->run_count,
                                      &parser->run_capacity, parser->run_count + 1));
        parser->run[parser->run_count++] = next.code;
        last = next;
        before_last = parser->at;
        sequence_before_last = parser->sequence_base;
        VKF_RETURN_IF_ERROR(vkf__next_token(parser, options, &next));
    }
    size_t whole = parser->run_count - (next.kind == VKF_TOKEN_QUANTIFIER);
    VKF_RETURN_IF_ERROR(vkf__put_case(parser, parser->run, whole, extent));
    *token = next;
    if (next.kind == VKF_TOKEN_QUANTIFIER) {
        *token = last;
        parser->at = before_last;
        parser->sequence_base = sequence_before_last;
    }
    return VKF_OK;
}

static bool ends_branch(const vkf__token *token)
{
    return token->kind == VKF_TOKEN_END || token->kind == VKF_TOKEN_CLOSE || token->kind == VKF_TOKEN_BAR;
}

// Leaves the token that ends it unread, which is in *token.
static vkf_status parse_branch(vkf__expression_parser *parser, unsigned options, vkf__token *token, vkf__extent *extent)
{
    *extent = NOTHING;
    VKF_RETURN_IF_ERROR(vkf__next_token(parser, options, token));
    while (!ends_branch(token)) {
        bool quantifiable = false;
        bool nested = false;
        vkf__extent part;
        if (token->kind == VKF_TOKEN_CODE && (options & VKF_OPTION_CASE)) {
            VKF_RETURN_IF_ERROR(parse_run(parser, options, token, extent));
            if (token->kind != VKF_TOKEN_CODE)
                continue;
        }
        size_t begin = parser->count;
        VKF_RETURN_IF_ERROR(parse_atom(parser, options, token, &part, &quantifiable));
        VKF_RETURN_IF_ERROR(vkf__next_token(parser, options, token));
        for (; token->kind == VKF_TOKEN_QUANTIFIER; nested = true) {
            if (!quantifiable)
                return vkf__expression_unsupported(parser, "a quantifier behind an anchor or a lookaround");
            VKF_RETURN_IF_ERROR(put_quantifier(parser, token, begin, nested, &part));
            VKF_RETURN_IF_ERROR(vkf__next_token(parser, options, token));
        }
        vkf__extend(extent, part);
    }
    parser->at = token->at;
    return VKF_OK;
}

static vkf_status parse_branches(vkf__expression_parser *parser, unsigned options, branches *out_branches)
{
    vkf__token token;
    vkf__extent extent;
    if (++parser->depth > VKF_EXPRESSION_MAX_DEPTH)
        return vkf__expression_unsupported(parser, "groups nested too deep");
    *out_branches = (branches){{VKF_EXPRESSION_NO_LIMIT, 0}, true};
    for (;;) {
        VKF_RETURN_IF_ERROR(parse_branch(parser, options, &token, &extent));
        vkf__extent *all = &out_branches->extent;
        all->least = extent.least < all->least ? extent.least : all->least;
        all->most = extent.most > all->most ? extent.most : all->most;
        out_branches->fixed = out_branches->fixed && extent.least == extent.most;
        if (token.kind != VKF_TOKEN_BAR)
            break;
        VKF_RETURN_IF_ERROR(vkf__put(parser, "|"));
        parser->at = token.at + 1;
    }
    parser->depth--;
    return VKF_OK;
}

vkf_status vkf__parse_expression(vkf__expression_parser *parser)
{
    branches whole;
    vkf__token token;
    parser->at = parser->count = 0;
    parser->group_count = 0;
    VKF_RETURN_IF_ERROR(parse_branches(parser, 0, &whole));
    VKF_RETURN_IF_ERROR(vkf__next_token(parser, 0, &token));
    if (token.kind != VKF_TOKEN_END)
        return vkf__expression_wrong(parser, "a parenthesis is closed that is not open");
    if (parser->calls && parser->backs)
        return vkf__expression_unsupported(parser, "a call of a group beside a reference back");
    // Where groups have names, only these are numbered.
    for (size_t i = 0; i < parser->name_count; i++)
        parser->names[i].number = (uint32_t)i + 1;
    parser->total_names = parser->name_count;
    parser->total_groups = parser->name_count > 0 ? (uint32_t)parser->name_count : parser->group_count;
    return VKF_OK;
}
