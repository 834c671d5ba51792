// Reads an expression twice, finds its alphabet, and writes PCRE2's text.
#include "text/expression.h"

#include <stdio.h>

#include "text/code_point.h"
#include "text/expression_parser.h"
#include "text/unicode_table.h"

#define MAX_BYTES ((size_t)256 << 10) // of PCRE2's text

typedef struct writer {
    vkf__expression_parser *parser;
    vkf__expression *expression;
    size_t capacity;
} writer;

static vkf_status append(writer *out, const char *text, size_t bytes)
{
    vkf__expression *expression = out->expression;
    if (bytes > MAX_BYTES - expression->bytes)
        return vkf__expression_unsupported(out->parser, "too many classes for its length");
    VKF_RETURN_IF_ERROR(vkf__grow(out->parser->host, (void **)&expression->text, 1, expression->bytes, &out->capacity,
                                  expression->bytes + bytes + 1));
    memcpy(expression->text + expression->bytes, text, bytes);
    expression->bytes += bytes;
    return VKF_OK;
}

// From first to last, in a class.
static vkf_status append_range(writer *out, uint32_t first, uint32_t last)
{
    char text[32];
    int bytes = first == last ? snprintf(text, sizeof text, "\\x{%x}", (unsigned)first)
                              : snprintf(text, sizeof text, "\\x{%x}-\\x{%x}", (unsigned)first, (unsigned)last);
    return append(out, text, (size_t)bytes);
}

static vkf_status append_letters(writer *out, const vkf__code_set *set)
{
    const vkf__code_alphabet *alphabet = &out->expression->alphabet;
    bool members[256];
    vkf__code_letters(alphabet, set, members);
    for (uint32_t first = 0; first < alphabet->letter_count; first++) {
        uint32_t last = first;
        if (!members[first])
            continue;
        while (last + 1 < alphabet->letter_count && members[last + 1])
            last++;
        VKF_RETURN_IF_ERROR(append_range(out, first, last));
        first = last;
    }
    return VKF_OK;
}

static vkf_status append_set(writer *out, const vkf__code_set *set)
{
    if (set->count == 0)
        return append(out, "(?!)", 4);
    VKF_RETURN_IF_ERROR(append(out, "[", 1));
    if (!out->expression->plain) {
        VKF_RETURN_IF_ERROR(append_letters(out, set));
    } else {
        for (size_t i = 0; i < set->count; i++)
            VKF_RETURN_IF_ERROR(append_range(out, set->ranges[i].first, set->ranges[i].end - 1));
    }
    return append(out, "]", 1);
}

static vkf_status write_text(writer *out)
{
    const vkf__expression_parser *parser = out->parser;
    for (size_t i = 0; i < parser->count; i++) {
        uint32_t code = parser->codes[i];
        if (code >= 256)
            VKF_RETURN_IF_ERROR(append_set(out, &parser->sets[code - 256]));
        else
            VKF_RETURN_IF_ERROR(append(out, &(char){(char)code}, 1));
    }
    return append(out, "", 0);
}

static vkf_status check_utf8(const vkf__expression_parser *parser)
{
    for (size_t at = 0; at < parser->bytes;) {
        bool valid = false;
        at += vkf__utf8_check(parser->text + at, parser->bytes - at, &valid);
        if (!valid)
            return vkf__expression_wrong(parser, "it is not UTF-8");
    }
    return VKF_OK;
}

static void free_parser(vkf__expression_parser *parser)
{
    const vkf__host *host = parser->host;
    for (size_t i = 0; i < parser->set_count; i++)
        vkf__code_set_free(host, &parser->sets[i]);
    vkf__free(host, parser->sets);
    vkf__free(host, parser->names);
    vkf__free(host, parser->codes);
    vkf__free(host, parser->run);
}

vkf_status vkf__expression_translate(const vkf__host *host, const char *where, const char *text,
                                     vkf__expression *out_expression)
{
    vkf_status status = VKF_OK;
    vkf__expression expression = {0};
    vkf__expression_parser parser = {.host = host, .where = where, .text = text, .bytes = strlen(text)};
    writer out = {&parser, &expression, 0};
    bool small = false;
    VKF_TRY(check_utf8(&parser));
    VKF_TRY(vkf__parse_expression(&parser));
    parser.second = true;
    VKF_TRY(vkf__parse_expression(&parser));
    if (!parser.backs)
        VKF_TRY(vkf__code_alphabet_make(host, parser.sets, parser.set_count, &expression.alphabet, &small));
    expression.plain = !small;
    VKF_TRY(write_text(&out));
    *out_expression = expression;
    expression = (vkf__expression){0};
fail:
    free_parser(&parser);
    vkf__expression_free(host, &expression);
    return status;
}

void vkf__expression_free(const vkf__host *host, vkf__expression *expression)
{
    vkf__free(host, expression->text);
    vkf__code_alphabet_free(host, &expression->alphabet);
    *expression = (vkf__expression){0};
}
