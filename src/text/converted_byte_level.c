// Converts vocab.json with merges.txt: byte-level BPE as GPT-2 introduced it.
#include <string.h>

#include "io/path.h"
#include "text/conversion.h"
#include "text/text_lines.h"

static vkf_status add_merge(const vkf__text_lines *lines, const json_t *line, json_t *merges)
{
    const char *text = json_string_value(line);
    const char *space = strchr(text, ' ');
    if (!space || strchr(space + 1, ' '))
        return vkf__fail(lines->host, VKF_ERROR_FORMAT, "%s: line %zu must be two texts and a blank between them",
                         lines->path, lines->number);
    json_t *pair = json_pack("[s#, s]", text, (int)(space - text), space + 1);
    return json_array_append_new(merges, pair) == 0 ? VKF_OK
                                                    : vkf__no_memory(lines->host, __func__, 2, sizeof(json_t *));
}

static vkf_status read_merges(const vkf__conversion *conversion, json_t *merges)
{
    vkf_status status = VKF_OK;
    vkf__text_lines lines = {0};
    json_t *line = NULL;
    char *path = NULL;
    VKF_TRY(vkf__path_join(conversion->host, conversion->directory, "merges.txt", &path));
    VKF_TRY(vkf__text_lines_open(conversion->host, path, &lines));
    for (;;) {
        VKF_TRY(vkf__text_lines_next(&lines, false, &line));
        if (!line)
            break;
        if (strncmp(json_string_value(line), "#version", 8) != 0)
            VKF_TRY(add_merge(&lines, line, merges));
        json_decref(line);
        line = NULL;
    }
fail:
    json_decref(line);
    vkf__text_lines_close(&lines);
    vkf__free(conversion->host, path);
    return status;
}

static vkf_status add_model(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    json_t *vocabulary = NULL, *model = NULL;
    json_t *merges = json_array();
    if (!merges)
        return vkf__no_memory(conversion->host, __func__, 1, sizeof(json_t *));
    VKF_TRY(vkf__json_load(conversion->host, conversion->path, &vocabulary));
    VKF_TRY(read_merges(conversion, merges));
    model = json_pack("{s:s, s:s, s:s, s:b, s:b, s:O, s:O}", "type", "BPE", "continuing_subword_prefix", "",
                      "end_of_word_suffix", "", "fuse_unk", false, "byte_fallback", false, "vocab", vocabulary,
                      "merges", merges);
    VKF_TRY(vkf__conversion_add_model(conversion, model, vocabulary));
    status = vkf__conversion_put(conversion, "decoder",
                                 json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", true,
                                           "trim_offsets", true, "use_regex", true));
fail:
    json_decref(model);
    json_decref(merges);
    json_decref(vocabulary);
    return status;
}

static json_t *make_byte_level(bool add_prefix_space, bool use_regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", add_prefix_space, "trim_offsets",
                     true, "use_regex", use_regex);
}

vkf_status vkf__convert_gpt2(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    bool prefix = false;
    VKF_RETURN_IF_ERROR(add_model(conversion));
    VKF_RETURN_IF_ERROR(vkf__conversion_bool(conversion, "add_prefix_space", &prefix));
    VKF_RETURN_IF_ERROR(vkf__conversion_put(conversion, "pre_tokenizer", make_byte_level(prefix, true)));
    status = vkf__conversion_ends(conversion);
    return status;
}

vkf_status vkf__convert_roberta(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    bool prefix = false, trims = true;
    json_t *cls = NULL, *sep = NULL;
    VKF_TRY(add_model(conversion));
    VKF_TRY(vkf__conversion_bool(conversion, "add_prefix_space", &prefix));
    VKF_TRY(vkf__conversion_bool(conversion, "trim_offsets", &trims));
    VKF_TRY(vkf__conversion_put(conversion, "pre_tokenizer", make_byte_level(prefix, true)));
    VKF_TRY(vkf__conversion_pair(conversion, VKF_NAMED_CLS, &cls));
    VKF_TRY(vkf__conversion_pair(conversion, VKF_NAMED_SEP, &sep));
    status = vkf__conversion_put(conversion, "post_processor",
                                 json_pack("{s:s, s:O, s:O, s:b, s:b}", "type", "RobertaProcessing", "sep", sep, "cls",
                                           cls, "trim_offsets", trims, "add_prefix_space", prefix));
fail:
    json_decref(cls);
    json_decref(sep);
    return status;
}

// Each digit of a number is a piece of its own. A word takes one character before it that is neither letter nor number.
#define QWEN2_PATTERN                                                                                                 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" \
    "\\s+(?!\\S)|\\s+"

vkf_status vkf__convert_qwen2(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    bool prefix = false;
    VKF_RETURN_IF_ERROR(add_model(conversion));
    VKF_RETURN_IF_ERROR(vkf__conversion_bool(conversion, "add_prefix_space", &prefix));
    VKF_RETURN_IF_ERROR(vkf__conversion_put(conversion, "normalizer", json_pack("{s:s}", "type", "NFC")));
    VKF_RETURN_IF_ERROR(
        vkf__conversion_put(conversion, "pre_tokenizer",
                            json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers",
                                      "type", "Split", "pattern", "Regex", QWEN2_PATTERN, "behavior", "Isolated",
                                      "invert", false, make_byte_level(prefix, false))));
    status = vkf__conversion_ends(conversion);
    return status;
}
