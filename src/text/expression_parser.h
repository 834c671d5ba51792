// What the files that translate a regular expression share: its tokens, its classes, and what becomes of them.
#ifndef VKF_TEXT_EXPRESSION_PARSER_H
#define VKF_TEXT_EXPRESSION_PARSER_H

#include "text/code_set.h"

#define VKF_EXPRESSION_MAX_DEPTH 200 // PCRE2 takes 250 parentheses
#define VKF_EXPRESSION_NO_LIMIT UINT32_MAX

// Options of a part: (?i), (?x), (?m), and those for ASCII alone.
enum {
    VKF_OPTION_CASE = 1,
    VKF_OPTION_EXTENDED = 2,
    VKF_OPTION_ALL = 4, // '.' matches a new line, too
    VKF_OPTION_ASCII_WORD = 8,
    VKF_OPTION_ASCII_DIGIT = 16,
    VKF_OPTION_ASCII_SPACE = 32,
    VKF_OPTION_ASCII_POSIX = 64,
};

typedef enum vkf__token_kind {
    VKF_TOKEN_END = 0,
    VKF_TOKEN_CODE,       // code
    VKF_TOKEN_LETTER,     // \d and its like: code; a set, an anchor or what else has one letter
    VKF_TOKEN_PROPERTY,   // negated, name
    VKF_TOKEN_ANY,        // .
    VKF_TOKEN_ANCHOR,     // ^ or $: code
    VKF_TOKEN_OPEN,       // (
    VKF_TOKEN_CLOSE,      // )
    VKF_TOKEN_BAR,        // |
    VKF_TOKEN_QUANTIFIER, // least, most, lazy, possessive
    VKF_TOKEN_BACK,       // \1 or \k<name>: number, or name
    VKF_TOKEN_CALL,       // \g<name>: number, or name
    VKF_TOKEN_CLASS,      // [
    // In a class alone:
    VKF_TOKEN_CLASS_END,
    VKF_TOKEN_RANGE, // -
    VKF_TOKEN_AND,   // &&
    VKF_TOKEN_POSIX, // [:name:]: negated, name
} vkf__token_kind;

typedef struct vkf__token {
    vkf__token_kind kind;
    size_t at; // where it begins
    uint32_t code;
    bool escaped, negated, lazy, possessive;
    uint32_t least, most, number;
    const char *name; // NULL: by number
    size_t name_bytes;
} vkf__token;

typedef struct vkf__group_name {
    const char *text;
    size_t bytes;
    uint32_t number;
} vkf__group_name;

// The expression is read twice. First its groups are counted, then it is written: characters of PCRE2's syntax below
// 256, and 256 + the number of a set.
typedef struct vkf__expression_parser {
    const vkf__host *host;
    const char *where, *text;
    size_t bytes, at;
    uint32_t sequence_base; // inside of \x{61 62}: 16; of \o{141 142}: 8; else 0
    unsigned depth, behind; // nested parentheses and classes; lookbehinds among them
    bool second;
    bool numbered, calls; // something refers to a group; a group is called
    bool backs;           // what a group matched is compared
    uint32_t group_count, total_groups;
    vkf__group_name *names;
    size_t name_count, name_capacity, total_names;
    uint32_t *codes;
    size_t count, capacity;
    vkf__code_set *sets;
    size_t set_count, set_capacity;
    uint32_t *run; // letters without case that stand one behind the other
    size_t run_count, run_capacity;
} vkf__expression_parser;

// FORMAT and UNSUPPORTED, with the place.
vkf_status vkf__expression_wrong(const vkf__expression_parser *parser, const char *reason);
vkf_status vkf__expression_unsupported(const vkf__expression_parser *parser, const char *what);

VKF_MUST_CHECK vkf_status vkf__next_token(vkf__expression_parser *parser, unsigned options, vkf__token *out_token);
// `range`: behind a '-'.
VKF_MUST_CHECK vkf_status vkf__next_class_token(vkf__expression_parser *parser, bool range, vkf__token *out_token);

// Adds the members of \w, \d, \s and \h (small letters), of [:name:] and of \p{name}.
VKF_MUST_CHECK vkf_status vkf__add_type(vkf__expression_parser *parser, unsigned options, char letter, bool negated,
                                        vkf__code_set *set);
VKF_MUST_CHECK vkf_status vkf__add_property(vkf__expression_parser *parser, unsigned options, const vkf__token *token,
                                            vkf__code_set *set);
// Whether it is \p{Word}, which outside of classes is \w.
bool vkf__is_word_property(const vkf__token *token);
// Reads a class behind its '[' up to its ']', without what (?i) adds.
VKF_MUST_CHECK vkf_status vkf__read_class(vkf__expression_parser *parser, unsigned options, vkf__code_set *set,
                                          bool *out_negated);

VKF_MUST_CHECK vkf_status vkf__put(vkf__expression_parser *parser, const char *text);
VKF_MUST_CHECK vkf_status vkf__put_number(vkf__expression_parser *parser, uint32_t number);
// Takes the set's memory, on failure too, and leaves it empty.
VKF_MUST_CHECK vkf_status vkf__put_set(vkf__expression_parser *parser, vkf__code_set *set);
VKF_MUST_CHECK vkf_status vkf__put_range(vkf__expression_parser *parser, uint32_t first, uint32_t end);
VKF_MUST_CHECK vkf_status vkf__put_type(vkf__expression_parser *parser, unsigned options, char letter, bool negated);
VKF_MUST_CHECK vkf_status vkf__insert(vkf__expression_parser *parser, size_t at, const char *text);

// How many code points something matches, at least and at most.
typedef struct vkf__extent {
    uint32_t least, most;
} vkf__extent;

// Any code point, or any but '\n'.
VKF_MUST_CHECK vkf_status vkf__put_any(vkf__expression_parser *parser, bool all);

// Letters in any case, those that stand for several and those for which one stands among them.
VKF_MUST_CHECK vkf_status vkf__put_case(vkf__expression_parser *parser, const uint32_t *codes, size_t count,
                                        vkf__extent *extent);
// A class in any case: what letters of it stand for is added behind it.
VKF_MUST_CHECK vkf_status vkf__put_class(vkf__expression_parser *parser, unsigned options, vkf__extent *extent);

void vkf__extend(vkf__extent *extent, vkf__extent by);

// What alternatives match; `fixed`: each of them always as many code points.
typedef struct vkf__branches {
    vkf__extent extent;
    bool fixed;
} vkf__branches;

// Alternatives up to the ')' that ends them, or to the end.
VKF_MUST_CHECK vkf_status vkf__parse_branches(vkf__expression_parser *parser, unsigned options,
                                              vkf__branches *out_branches);
// A group behind its '('. *out_quantifiable is false for what takes no quantifier.
VKF_MUST_CHECK vkf_status vkf__parse_parenthesis(vkf__expression_parser *parser, unsigned options, vkf__extent *extent,
                                                 bool *out_quantifiable);
// \1 and \k<name>; \g<name>.
VKF_MUST_CHECK vkf_status vkf__parse_back_reference(vkf__expression_parser *parser, unsigned options,
                                                    const vkf__token *token);
VKF_MUST_CHECK vkf_status vkf__parse_call(vkf__expression_parser *parser, const vkf__token *token);

// Reads and writes the whole expression.
VKF_MUST_CHECK vkf_status vkf__parse_expression(vkf__expression_parser *parser);

#endif
