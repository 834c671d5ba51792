// Writes the parts of an expression for PCRE2: characters of its syntax, and the numbers of sets.
#include <stdio.h>

#include "text/code_property.h"
#include "text/expression_parser.h"

static vkf_status put_codes(vkf__expression_parser *parser, const uint32_t *codes, size_t count)
{
    VKF_RETURN_IF_ERROR(vkf__grow(parser->host, (void **)&parser->codes, sizeof *parser->codes, parser->count,
                                  &parser->capacity, parser->count + count));
    memcpy(parser->codes + parser->count, codes, count * sizeof *codes);
    parser->count += count;
    return VKF_OK;
}

vkf_status vkf__put(vkf__expression_parser *parser, const char *text)
{
    for (; *text; text++)
        VKF_RETURN_IF_ERROR(put_codes(parser, &(uint32_t){(unsigned char)*text}, 1));
    return VKF_OK;
}

vkf_status vkf__put_number(vkf__expression_parser *parser, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", (unsigned)number);
    return vkf__put(parser, text);
}

vkf_status vkf__insert(vkf__expression_parser *parser, size_t at, const char *text)
{
    size_t length = strlen(text);
    size_t moved = parser->count - at;
    VKF_RETURN_IF_ERROR(vkf__put(parser, text)); // room
    memmove(parser->codes + at + length, parser->codes + at, moved * sizeof *parser->codes);
    for (size_t i = 0; i < length; i++)
        parser->codes[at + i] = (unsigned char)text[i];
    return VKF_OK;
}

vkf_status vkf__put_set(vkf__expression_parser *parser, vkf__code_set *set)
{
    vkf_status status = VKF_OK;
    size_t number = 0;
    while (number < parser->set_count && !vkf__code_set_equal(&parser->sets[number], set))
        number++;
    if (number == parser->set_count) {
        VKF_TRY(vkf__grow(parser->host, (void **)&parser->sets, sizeof *parser->sets, number, &parser->set_capacity,
                          number + 1));
        parser->sets[parser->set_count++] = *set;
        *set = (vkf__code_set){0};
    }
    VKF_TRY(put_codes(parser, &(uint32_t){256 + (uint32_t)number}, 1));
fail:
    vkf__code_set_free(parser->host, set);
    return status;
}

vkf_status vkf__put_range(vkf__expression_parser *parser, uint32_t first, uint32_t end)
{
    vkf__code_set set = {0};
    VKF_RETURN_IF_ERROR(vkf__code_set_add(parser->host, &set, first, end));
    return vkf__put_set(parser, &set);
}

vkf_status vkf__put_type(vkf__expression_parser *parser, unsigned options, char letter, bool negated)
{
    vkf_status status = VKF_OK;
    vkf__code_set set = {0};
    VKF_TRY(vkf__add_type(parser, options, letter, false, &set));
    // Outside of classes the library takes these six of Latin-1 for parts of words, too.
    if (letter == 'w' && !(options & (VKF_OPTION_ASCII_WORD | VKF_OPTION_ASCII_POSIX))) {
        VKF_TRY(vkf__code_set_add(parser->host, &set, 0xb2, 0xb4));
        VKF_TRY(vkf__code_set_add(parser->host, &set, 0xb9, 0xba));
        VKF_TRY(vkf__code_set_add(parser->host, &set, 0xbc, 0xbf));
    }
    if (negated)
        VKF_TRY(vkf__code_set_invert(parser->host, &set));
    return vkf__put_set(parser, &set);
fail:
    vkf__code_set_free(parser->host, &set);
    return status;
}

void vkf__extend(vkf__extent *extent, vkf__extent by)
{
    uint64_t most = (uint64_t)extent->most + by.most;
    uint64_t least = (uint64_t)extent->least + by.least;
    extent->most = most < VKF_EXPRESSION_NO_LIMIT ? (uint32_t)most : VKF_EXPRESSION_NO_LIMIT;
    extent->least = least < VKF_EXPRESSION_NO_LIMIT ? (uint32_t)least : VKF_EXPRESSION_NO_LIMIT;
}

// ---- letters in any case

static vkf_status put_one_case(vkf__expression_parser *parser, uint32_t code)
{
    vkf_status status = VKF_OK;
    vkf__code_set set = {0};
    VKF_TRY(vkf__code_set_add(parser->host, &set, code, code + 1));
    VKF_TRY(vkf__close_case(parser->host, &set));
    return vkf__put_set(parser, &set);
fail:
    vkf__code_set_free(parser->host, &set);
    return status;
}

static vkf_status put_sequence(vkf__expression_parser *parser, const uint32_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(put_one_case(parser, codes[i]));
    return VKF_OK;
}

// The sequence that `code` stands for; NULL when it stands for itself.
static const vkf__case_sequence *sequence_of(uint32_t code)
{
    for (size_t i = 0; i < vkf__case_sequence_count; i++) {
        if (vkf__case_sequences[i].code == code)
            return &vkf__case_sequences[i];
    }
    return NULL;
}

static bool same_sequence(const vkf__case_sequence *sequence, const uint32_t *least, size_t count)
{
    return sequence->count == count && memcmp(sequence->codes, least, count * sizeof *least) == 0;
}

// All that is the same as the letters at `least`, `count` of them: they themselves, and single letters that stand for
// them or for some of them.
static vkf_status put_alternatives(vkf__expression_parser *parser, const uint32_t *least, size_t count)
{
    VKF_RETURN_IF_ERROR(vkf__put(parser, "(?:"));
    VKF_RETURN_IF_ERROR(put_sequence(parser, least, count));
    for (size_t i = 0; i < vkf__case_sequence_count; i++) {
        const vkf__case_sequence *sequence = &vkf__case_sequences[i];
        for (size_t at = 0; at + sequence->count <= count; at++) {
            if (!same_sequence(sequence, least + at, sequence->count))
                continue;
            VKF_RETURN_IF_ERROR(vkf__put(parser, "|"));
            VKF_RETURN_IF_ERROR(put_sequence(parser, least, at));
            VKF_RETURN_IF_ERROR(vkf__put_range(parser, sequence->code, sequence->code + 1));
            VKF_RETURN_IF_ERROR(put_sequence(parser, least + at + sequence->count, count - at - sequence->count));
        }
    }
    return vkf__put(parser, ")");
}

vkf_status vkf__put_case(vkf__expression_parser *parser, const uint32_t *codes, size_t count, vkf__extent *extent)
{
    for (size_t at = 0; at < count;) {
        uint32_t least[3] = {0};
        const vkf__case_sequence *stands_for = parser->behind ? NULL : sequence_of(codes[at]);
        size_t longest = 1;
        for (size_t length = 0; length < 3 && at + length < count; length++)
            least[length] = vkf__least_case(codes[at + length]);
        for (size_t i = 0; !parser->behind && i < vkf__case_sequence_count; i++) {
            size_t length = vkf__case_sequences[i].count;
            if (length > longest && at + length <= count && same_sequence(&vkf__case_sequences[i], least, length))
                longest = length;
        }
        uint32_t letters = stands_for ? stands_for->count : (uint32_t)longest;
        if (stands_for)
            VKF_RETURN_IF_ERROR(put_alternatives(parser, stands_for->codes, stands_for->count));
        else if (longest > 1)
            VKF_RETURN_IF_ERROR(put_alternatives(parser, least, longest));
        else
            VKF_RETURN_IF_ERROR(put_one_case(parser, codes[at]));
        vkf__extend(extent, (vkf__extent){1, letters});
        at += stands_for ? 1 : longest;
    }
    return VKF_OK;
}

vkf_status vkf__put_class(vkf__expression_parser *parser, unsigned options, vkf__extent *extent)
{
    vkf_status status = VKF_OK;
    vkf__code_set set = {0};
    vkf__code_set members = {0};
    bool negated = false;
    size_t begin = parser->count;
    size_t sequences = 0;
    VKF_TRY(vkf__read_class(parser, options, &set, &negated));
    if (options & VKF_OPTION_CASE)
        VKF_TRY(vkf__close_case(parser->host, &set));
    VKF_TRY(vkf__code_set_join(parser->host, &members, &set));
    if (negated)
        VKF_TRY(vkf__code_set_invert(parser->host, &set));
    VKF_TRY(vkf__put_set(parser, &set));
    *extent = (vkf__extent){1, 1};
    for (size_t i = 0; (options & VKF_OPTION_CASE) && !negated && !parser->behind && i < vkf__case_sequence_count;
         i++) {
        const vkf__case_sequence *sequence = &vkf__case_sequences[i];
        if (!vkf__code_set_has(&members, sequence->code))
            continue;
        if (sequences++ == 0)
            VKF_TRY(vkf__insert(parser, begin, "(?:"));
        VKF_TRY(vkf__put(parser, "|"));
        VKF_TRY(put_sequence(parser, sequence->codes, sequence->count));
        extent->most = sequence->count > extent->most ? sequence->count : extent->most;
    }
    if (sequences > 0)
        VKF_TRY(vkf__put(parser, ")"));
fail:
    vkf__code_set_free(parser->host, &set);
    vkf__code_set_free(parser->host, &members);
    return status;
}
