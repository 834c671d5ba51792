// Reads the classes of a regular expression into sets of code points.
#include "text/code_property.h"
#include "text/expression_parser.h"

#define ASCII_END 0x80u

// Which option makes a class of ASCII alone of it; 0 for a property that none does.
static unsigned ascii_option(const char *name)
{
    static const struct {
        const char *name;
        unsigned options;
    } rows[] = {
        {"word", VKF_OPTION_ASCII_WORD},   {"digit", VKF_OPTION_ASCII_DIGIT}, {"space", VKF_OPTION_ASCII_SPACE},
        {"alnum", VKF_OPTION_ASCII_POSIX}, {"alpha", VKF_OPTION_ASCII_POSIX}, {"blank", VKF_OPTION_ASCII_POSIX},
        {"cntrl", VKF_OPTION_ASCII_POSIX}, {"graph", VKF_OPTION_ASCII_POSIX}, {"lower", VKF_OPTION_ASCII_POSIX},
        {"print", VKF_OPTION_ASCII_POSIX}, {"upper", VKF_OPTION_ASCII_POSIX}, {"posixpunct", VKF_OPTION_ASCII_POSIX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].options | VKF_OPTION_ASCII_POSIX;
    }
    return 0;
}

static vkf_status add_named(vkf__expression_parser *parser, unsigned options, const char *name, bool negated,
                            vkf__code_set *set)
{
    vkf_status status = VKF_OK;
    vkf__code_set members = {0};
    bool known = false;
    VKF_TRY(vkf__property_members(parser->host, name, &members, &known));
    if (!known) {
        status = vkf__expression_unsupported(parser, "a property that is not known");
        goto fail;
    }
    if (options & ascii_option(name)) {
        const vkf__code_set ascii = {&(vkf__code_range){0, ASCII_END}, 1, 1};
        VKF_TRY(vkf__code_set_intersect(parser->host, &members, &ascii));
    }
    if (negated)
        VKF_TRY(vkf__code_set_invert(parser->host, &members));
    VKF_TRY(vkf__code_set_join(parser->host, set, &members));
fail:
    vkf__code_set_free(parser->host, &members);
    return status;
}

vkf_status vkf__add_type(vkf__expression_parser *parser, unsigned options, char letter, bool negated,
                         vkf__code_set *set)
{
    const char *name = letter == 'w' ? "word" : letter == 'd' ? "digit" : letter == 's' ? "space" : "xdigit";
    return add_named(parser, options, name, negated, set);
}

vkf_status vkf__add_property(vkf__expression_parser *parser, unsigned options, const vkf__token *token,
                             vkf__code_set *set)
{
    char name[VKF_PROPERTY_NAME_BYTES];
    if (!vkf__property_name(token->name, token->name_bytes, name))
        return vkf__expression_unsupported(parser, "a property that is not known");
    return add_named(parser, options, name, token->negated, set);
}

bool vkf__is_word_property(const vkf__token *token)
{
    char name[VKF_PROPERTY_NAME_BYTES];
    return vkf__property_name(token->name, token->name_bytes, name) && strcmp(name, "word") == 0;
}

// [:name:]. Symbols are members of [:punct:], though not of \p{punct}.
static vkf_status add_posix(vkf__expression_parser *parser, unsigned options, const vkf__token *token,
                            vkf__code_set *set)
{
    static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit",  "graph",
                                        "lower", "print", "punct", "space", "upper", "xdigit", "word"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != token->name_bytes || memcmp(names[i], token->name, token->name_bytes) != 0)
            continue;
        const char *name = strcmp(names[i], "punct") == 0 ? "posixpunct" : names[i];
        return add_named(parser, options, name, token->negated, set);
    }
    return vkf__expression_wrong(parser, "there is no such [:class:]");
}

// What stood last in a class, on which depends what '-' means behind it.
typedef enum class_state { CLASS_START = 0, CLASS_CODE, CLASS_TYPE, CLASS_DONE } class_state;

typedef struct class_reader {
    vkf__expression_parser *parser;
    unsigned options;
    class_state state;
    uint32_t code;       // of CLASS_CODE, not yet in the set
    vkf__code_set part;  // between two "&&"
    vkf__code_set whole; // what stood before
    bool intersected;
} class_reader;

static vkf_status flush(class_reader *reader)
{
    bool pending = reader->state == CLASS_CODE;
    reader->state = CLASS_DONE;
    return pending ? vkf__code_set_add(reader->parser->host, &reader->part, reader->code, reader->code + 1) : VKF_OK;
}

static vkf_status add_code(class_reader *reader, uint32_t code)
{
    VKF_RETURN_IF_ERROR(flush(reader));
    reader->state = CLASS_CODE;
    reader->code = code;
    return VKF_OK;
}

static vkf_status add_type(class_reader *reader, const vkf__token *token)
{
    vkf__expression_parser *parser = reader->parser;
    VKF_RETURN_IF_ERROR(flush(reader));
    reader->state = CLASS_TYPE;
    if (token->kind == VKF_TOKEN_LETTER)
        return vkf__add_type(parser, reader->options, (char)(token->code | 32), token->code < 'a', &reader->part);
    if (token->kind == VKF_TOKEN_POSIX)
        return add_posix(parser, reader->options, token, &reader->part);
    return vkf__add_property(parser, reader->options, token, &reader->part);
}

static vkf_status add_class(class_reader *reader)
{
    vkf_status status = VKF_OK;
    vkf__expression_parser *parser = reader->parser;
    vkf__code_set inner = {0};
    bool negated = false;
    VKF_RETURN_IF_ERROR(flush(reader));
    VKF_TRY(vkf__read_class(parser, reader->options, &inner, &negated));
    if (negated)
        VKF_TRY(vkf__code_set_invert(parser->host, &inner));
    VKF_TRY(vkf__code_set_join(parser->host, &reader->part, &inner));
fail:
    vkf__code_set_free(parser->host, &inner);
    return status;
}

static vkf_status intersect(class_reader *reader)
{
    const vkf__host *host = reader->parser->host;
    VKF_RETURN_IF_ERROR(flush(reader));
    if (reader->intersected) {
        VKF_RETURN_IF_ERROR(vkf__code_set_intersect(host, &reader->whole, &reader->part));
        vkf__code_set_free(host, &reader->part);
    } else {
        reader->whole = reader->part;
        reader->part = (vkf__code_set){0};
    }
    reader->intersected = true;
    reader->state = CLASS_START;
    return VKF_OK;
}

// Behind a '-' that follows a code point: the end of the range, or else the '-' itself is meant. *token becomes the
// token that comes next.
static vkf_status read_range(class_reader *reader, vkf__token *token)
{
    vkf__expression_parser *parser = reader->parser;
    uint32_t first = reader->code;
    VKF_RETURN_IF_ERROR(vkf__next_class_token(parser, true, token));
    if (token->kind == VKF_TOKEN_CLASS_END || token->kind == VKF_TOKEN_AND)
        return add_code(reader, '-');
    if (token->kind == VKF_TOKEN_CLASS) { // [a-[b]]: the range is none
        VKF_RETURN_IF_ERROR(flush(reader));
        return vkf__expression_unsupported(parser, "a range that ends with a class");
    }
    if (token->kind != VKF_TOKEN_CODE && token->kind != VKF_TOKEN_RANGE)
        return vkf__expression_wrong(parser, "a range ends with no code point");
    uint32_t last = token->kind == VKF_TOKEN_RANGE ? '-' : token->code;
    if (last < first)
        return vkf__expression_wrong(parser, "a range is empty");
    reader->state = CLASS_DONE;
    VKF_RETURN_IF_ERROR(vkf__code_set_add(parser->host, &reader->part, first, last + 1));
    return vkf__next_class_token(parser, false, token);
}

// A '-'; *token becomes the token that comes next.
static vkf_status read_dash(class_reader *reader, vkf__token *token)
{
    if (reader->state == CLASS_CODE)
        return read_range(reader, token);
    bool type = reader->state == CLASS_TYPE;
    VKF_RETURN_IF_ERROR(vkf__next_class_token(reader->parser, false, token));
    if (type && token->kind != VKF_TOKEN_CLASS_END && token->kind != VKF_TOKEN_AND)
        return vkf__expression_wrong(reader->parser, "a range begins with no code point");
    return add_code(reader, '-');
}

static vkf_status read_members(class_reader *reader, vkf__token *token)
{
    vkf__expression_parser *parser = reader->parser;
    while (token->kind != VKF_TOKEN_CLASS_END) {
        bool fetched = false;
        switch (token->kind) {
        case VKF_TOKEN_CODE:
            VKF_RETURN_IF_ERROR(add_code(reader, token->code));
            break;
        case VKF_TOKEN_RANGE:
            VKF_RETURN_IF_ERROR(read_dash(reader, token));
            fetched = true;
            break;
        case VKF_TOKEN_CLASS:
            VKF_RETURN_IF_ERROR(add_class(reader));
            break;
        case VKF_TOKEN_AND:
            VKF_RETURN_IF_ERROR(intersect(reader));
            break;
        default:
            VKF_RETURN_IF_ERROR(add_type(reader, token));
            break;
        }
        if (!fetched)
            VKF_RETURN_IF_ERROR(vkf__next_class_token(parser, false, token));
    }
    VKF_RETURN_IF_ERROR(flush(reader));
    return reader->intersected ? intersect(reader) : VKF_OK;
}

// Whether a ']' follows anywhere, not looking behind a backslash.
static bool closes_later(const vkf__expression_parser *parser)
{
    return strchr(parser->text + parser->at, ']') != NULL;
}

vkf_status vkf__read_class(vkf__expression_parser *parser, unsigned options, vkf__code_set *set, bool *out_negated)
{
    vkf_status status = VKF_OK;
    class_reader reader = {.parser = parser, .options = options};
    vkf__token token;
    if (++parser->depth > VKF_EXPRESSION_MAX_DEPTH)
        return vkf__expression_unsupported(parser, "classes nested too deep");
    VKF_TRY(vkf__next_class_token(parser, false, &token));
    *out_negated = token.kind == VKF_TOKEN_CODE && token.code == '^' && !token.escaped;
    if (*out_negated)
        VKF_TRY(vkf__next_class_token(parser, false, &token));
    if (token.kind == VKF_TOKEN_CLASS_END) {
        if (!closes_later(parser)) {
            status = vkf__expression_wrong(parser, "a class is empty");
            goto fail;
        }
        token.kind = VKF_TOKEN_CODE; // directly behind '[' it does not end the class
    }
    VKF_TRY(read_members(&reader, &token));
    VKF_TRY(vkf__code_set_join(parser->host, set, reader.intersected ? &reader.whole : &reader.part));
    parser->depth--;
fail:
    vkf__code_set_free(parser->host, &reader.part);
    vkf__code_set_free(parser->host, &reader.whole);
    return status;
}
