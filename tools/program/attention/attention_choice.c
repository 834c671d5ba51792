// Parses which attention to draw, and checks it against the model.
#include "attention/attention_choice.h"

#include <stdlib.h>
#include <string.h>

#include "attention/attention_picture.h"
#include "command/options.h"

const char *const vkf_attention_kind_names[VKF_ATTENTION_KINDS] = {"cross", "encoder", "decoder"};

bool vkf_parse_attention_path(const char *text, vkf_attention_choice *choice)
{
    choice->path = text;
    if (vkf_attention_picture_path_valid(text))
        return true;
    vkf_print_error("--attention: '%.200s' ends neither in .svg nor in .html", text);
    return false;
}

bool vkf_parse_attention_kinds(const char *text, uint32_t *out_kinds)
{
    *out_kinds = 0;
    for (const char *begin = text;; begin += strcspn(begin, ",") + 1) {
        size_t length = strcspn(begin, ","), i = 0;
        while (i < VKF_ATTENTION_KINDS && (strlen(vkf_attention_kind_names[i]) != length ||
                                           strncmp(begin, vkf_attention_kind_names[i], length) != 0))
            i++;
        if (i == VKF_ATTENTION_KINDS) {
            vkf_print_error("--attention-of: '%.200s' is no list of encoder, decoder and cross", text);
            return false;
        }
        *out_kinds |= 1u << i;
        if (!begin[length])
            return true;
    }
}

// Reads a number at *text and advances *text; VKF_INDEX_SET_SIZE when there is no number below that.
static uint32_t take_index(const char **text)
{
    size_t digits = strspn(*text, "0123456789");
    unsigned long value = digits > 0 && digits < 9 ? strtoul(*text, NULL, 10) : VKF_INDEX_SET_SIZE;
    *text += digits;
    return value < VKF_INDEX_SET_SIZE ? (uint32_t)value : VKF_INDEX_SET_SIZE;
}

bool vkf_parse_index_set(const char *option, const char *text, vkf_index_set *out_set)
{
    *out_set = (vkf_index_set){.given = true};
    for (const char *at = text;; at++) {
        uint32_t first = take_index(&at), last = first;
        if (*at == '-') {
            at++;
            last = take_index(&at);
        }
        if (last >= VKF_INDEX_SET_SIZE || first > last || (*at && *at != ',')) {
            vkf_print_error("%s: '%.200s' is no list of numbers and ranges from 0 to %u, such as 0,3-5", option, text,
                            VKF_INDEX_SET_SIZE - 1);
            return false;
        }
        for (uint32_t i = first; i <= last; i++)
            out_set->has[i] = true;
        if (!*at)
            return true;
    }
}

bool vkf_index_set_has(const vkf_index_set *set, uint32_t index)
{
    return !set->given || (index < VKF_INDEX_SET_SIZE && set->has[index]);
}

uint32_t vkf_attention_layers(const vkf_model_config *config, vkf_attention_kind kind)
{
    bool encodes = config->kind != VKF_MODEL_DECODER, decodes = config->kind != VKF_MODEL_ENCODER;
    if (kind == VKF_ATTENTION_ENCODER)
        return encodes ? config->num_encoder_layers : 0;
    return decodes && (encodes || kind == VKF_ATTENTION_DECODER) ? config->num_decoder_layers : 0;
}

uint32_t vkf_attention_heads(const vkf_model_config *config, vkf_attention_kind kind)
{
    const bool own = kind != VKF_ATTENTION_ENCODER && config->num_decoder_heads > 0;
    return own ? config->num_decoder_heads : config->num_heads;
}

uint32_t vkf_attention_choice_kinds(const vkf_attention_choice *choice, const vkf_model_config *config)
{
    uint32_t has = 0;
    for (unsigned bit = 0; bit < VKF_ATTENTION_KINDS; bit++)
        has |= vkf_attention_layers(config, (vkf_attention_kind)(1u << bit)) > 0 ? 1u << bit : 0;
    if (choice->kinds)
        return choice->kinds & has;
    return vkf_attention_picture_is_page(choice->path) || !(has & VKF_ATTENTION_CROSS) ? has : VKF_ATTENTION_CROSS;
}

bool vkf_attention_choice_complete(const vkf_attention_choice *choice)
{
    if (choice->path || !(choice->kinds || choice->layers.given || choice->heads.given))
        return true;
    vkf_print_error("--attention-of, --attention-layers and --attention-heads are for --attention FILE");
    return false;
}

static bool numbers_fit(const char *option, const vkf_index_set *set, uint32_t count)
{
    for (uint32_t i = count; set->given && i < VKF_INDEX_SET_SIZE; i++) {
        if (!set->has[i])
            continue;
        vkf_print_error("%s: there is no %u, this model's are 0 to %u", option, i, count - 1);
        return false;
    }
    return true;
}

bool vkf_attention_choice_fits(const vkf_attention_choice *choice, const vkf_model_config *config)
{
    uint32_t layers = 0, heads = 0, kinds = vkf_attention_choice_kinds(choice, config);
    for (unsigned bit = 0; bit < VKF_ATTENTION_KINDS; bit++) {
        vkf_attention_kind kind = (vkf_attention_kind)(1u << bit);
        if (choice->kinds & ~kinds & kind) {
            vkf_print_error("--attention-of: this model has no %s attention", vkf_attention_kind_names[bit]);
            return false;
        }
        if (!(kinds & kind))
            continue;
        if (vkf_attention_layers(config, kind) > layers)
            layers = vkf_attention_layers(config, kind);
        if (vkf_attention_heads(config, kind) > heads)
            heads = vkf_attention_heads(config, kind);
    }
    return numbers_fit("--attention-layers", &choice->layers, layers) &&
           numbers_fit("--attention-heads", &choice->heads, heads);
}
