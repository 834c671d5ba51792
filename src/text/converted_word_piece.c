// Converts vocab.txt, the tokens of BERT and its like: one token on each line. A token's id is the number of its line,
// from 0; of several lines with the same token that of the last one. Whitespace at the end of a line, such as U+2028,
// is no part of its token.
#include "text/conversion.h"
#include "text/text_lines.h"

static vkf_status add_line(const vkf__text_lines *lines, const json_t *line, json_t *vocabulary)
{
    const char *token = json_string_value(line);
    if (lines->number > VKF_TOKEN_MAX_ID)
        return vkf__fail(lines->host, VKF_ERROR_FORMAT, "%s has more lines than %ld", lines->path,
                         (long)VKF_TOKEN_MAX_ID);
    if (json_object_set_new(vocabulary, token, json_integer((json_int_t)lines->number - 1)) != 0)
        return vkf__no_memory(lines->host, __func__, 1, sizeof(json_t *));
    return VKF_OK;
}

static vkf_status read_vocabulary(const vkf__host *host, const char *path, json_t *vocabulary)
{
    vkf_status status = VKF_OK;
    vkf__text_lines lines;
    json_t *line = NULL;
    VKF_TRY(vkf__text_lines_open(host, path, &lines));
    for (;;) {
        VKF_TRY(vkf__text_lines_next(&lines, true, &line));
        if (!line)
            break;
        VKF_TRY(add_line(&lines, line, vocabulary));
        json_decref(line);
        line = NULL;
    }
    if (lines.number == 0)
        status = vkf__fail(host, VKF_ERROR_FORMAT, "%s is empty", path);
fail:
    json_decref(line);
    vkf__text_lines_close(&lines);
    return status;
}

static vkf_status add_normalizer(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    bool lowercase = true, ideographs = true, strip = false;
    bool strips = vkf__json_has(conversion->settings, "strip_accents"); // otherwise as do_lower_case has it
    VKF_RETURN_IF_ERROR(vkf__conversion_bool(conversion, "do_lower_case", &lowercase));
    VKF_RETURN_IF_ERROR(vkf__conversion_bool(conversion, "tokenize_chinese_chars", &ideographs));
    VKF_RETURN_IF_ERROR(vkf__conversion_bool(conversion, "strip_accents", &strip));
    status = vkf__conversion_put(conversion, "normalizer",
                                 json_pack("{s:s, s:b, s:b, s:o?, s:b}", "type", "BertNormalizer", "clean_text", true,
                                           "handle_chinese_chars", ideographs, "strip_accents",
                                           strips ? json_boolean(strip) : NULL, "lowercase", lowercase));
    return status;
}

static vkf_status convert(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    const char *unknown = vkf__conversion_token(conversion, VKF_NAMED_UNK);
    json_t *model = NULL;
    json_t *vocabulary = json_object();
    if (!vocabulary)
        return vkf__no_memory(conversion->host, __func__, 1, sizeof(json_t *));
    VKF_TRY(read_vocabulary(conversion->host, conversion->path, vocabulary));
    model = json_pack("{s:s, s:s, s:s, s:i, s:O}", "type", "WordPiece", "unk_token", unknown ? unknown : "None",
                      "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab", vocabulary);
    VKF_TRY(vkf__conversion_add_model(conversion, model, vocabulary));
    VKF_TRY(add_normalizer(conversion));
    VKF_TRY(vkf__conversion_put(conversion, "pre_tokenizer", json_pack("{s:s}", "type", "BertPreTokenizer")));
    VKF_TRY(vkf__conversion_put(conversion, "decoder",
                                json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", "##", "cleanup", true)));
fail:
    json_decref(model);
    json_decref(vocabulary);
    return status;
}

vkf_status vkf__convert_bert(vkf__conversion *conversion)
{
    vkf_status status = convert(conversion);
    if (status == VKF_OK)
        status = vkf__conversion_template(conversion, "0C0A0S", "0C0A0S1B1S", VKF_NAMED_CLS, VKF_NAMED_SEP);
    return status;
}

vkf_status vkf__convert_mpnet(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    json_t *cls = NULL, *sep = NULL;
    VKF_TRY(convert(conversion));
    VKF_TRY(vkf__conversion_pair(conversion, VKF_NAMED_CLS, &cls));
    VKF_TRY(vkf__conversion_pair(conversion, VKF_NAMED_SEP, &sep));
    status = vkf__conversion_put(conversion, "post_processor",
                                 json_pack("{s:s, s:O, s:O, s:b, s:b}", "type", "RobertaProcessing", "sep", sep, "cls",
                                           cls, "trim_offsets", true, "add_prefix_space", false));
fail:
    json_decref(cls);
    json_decref(sep);
    return status;
}
