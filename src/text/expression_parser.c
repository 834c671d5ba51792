// Reads a regular expression, and writes it for PCRE2.
#include "text/expression_parser.h"

#define NOTHING ((vkf__extent){0, 0})
#define ONE ((vkf__extent){1, 1})
#define ANYTHING ((vkf__extent){0, VKF_EXPRESSION_NO_LIMIT})

static vkf_status put_new_line(vkf__expression_parser *parser)
{
    return vkf__put_range(parser, '\n', '\n' + 1);
}

vkf_status vkf__put_any(vkf__expression_parser *parser, bool all)
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
    VKF_RETURN_IF_ERROR(vkf__put_any(parser, false));
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
        return vkf__put_any(parser, false);
    case 'O':
        return vkf__put_any(parser, true);
    default:
        return vkf__put_type(parser, options, (char)(letter | 32), letter < 'a');
    }
}

// ---- alternatives

// Whether what stands from `begin` on has alternatives and may match nothing. Where such a part is repeated up to a
// bound, the library leaves the loop when it matched nothing, or does not, which depends on the size of its code.
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
        return vkf__put_any(parser, options & VKF_OPTION_ALL);
    case VKF_TOKEN_ANCHOR:
        *extent = NOTHING;
        *out_quantifiable = false;
        return put_line_anchor(parser, token->code);
    case VKF_TOKEN_OPEN:
        return vkf__parse_parenthesis(parser, options, extent, out_quantifiable);
    case VKF_TOKEN_CLASS:
        return vkf__put_class(parser, options, extent);
    case VKF_TOKEN_BACK:
        *extent = ANYTHING;
        return vkf__parse_back_reference(parser, options, token);
    case VKF_TOKEN_CALL:
        *extent = ANYTHING;
        return vkf__parse_call(parser, token);
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

vkf_status vkf__parse_branches(vkf__expression_parser *parser, unsigned options, vkf__branches *out_branches)
{
    vkf__token token;
    vkf__extent extent;
    if (++parser->depth > VKF_EXPRESSION_MAX_DEPTH)
        return vkf__expression_unsupported(parser, "groups nested too deep");
    *out_branches = (vkf__branches){{VKF_EXPRESSION_NO_LIMIT, 0}, true};
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
    vkf__branches whole;
    vkf__token token;
    parser->at = parser->count = 0;
    parser->group_count = 0;
    VKF_RETURN_IF_ERROR(vkf__parse_branches(parser, 0, &whole));
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
