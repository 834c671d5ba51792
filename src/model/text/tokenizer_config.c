// Reads tokenizer_config.json and special_tokens_map.json.
#include "model/text/tokenizer_config.h"

#include <string.h>

#include "io/json_file.h"
#include "model/sentence/token_limit.h"

// A special token by its key in these files, and what it is usually called.
typedef struct named_token {
    const char *key;
    const char *names[4]; // the rest NULL
} named_token;

enum { CLS, MASK, UNK, PAD, BOS, EOS, BERT_CLS, BERT_SEP, TOKEN_COUNT };

// A tokenizer of BERT's kind has a first and a last token of its own, which serve for those of a text.
static const named_token tokens[TOKEN_COUNT] = {
    [CLS] = {"cls_token", {"[CLS]", "<s>"}},
    [MASK] = {"mask_token", {"[MASK]", "<mask>"}},
    [UNK] = {"unk_token", {"[UNK]", "<unk>"}},
    [PAD] = {"pad_token", {"[PAD]", "<pad>"}},
    [BOS] = {"bos_token", {"<s>", "<|endoftext|>", "<bos>", "<|begin_of_text|>"}},
    [EOS] = {"eos_token", {"</s>", "<|endoftext|>", "<eos>", "<|end_of_text|>"}},
    [BERT_CLS] = {"cls_token", {"[CLS]"}},
    [BERT_SEP] = {"sep_token", {"[SEP]"}},
};

#define NAMES (sizeof tokens[0].names / sizeof tokens[0].names[0])

// A token is given by its text, or by an object that contains it.
static const char *text_of(const json_t *token)
{
    return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

// Tokenizer classes that are made for no particular family have no default names of tokens.
static bool has_usual_names(const json_t *config)
{
    const char *name = json_string_value(json_object_get(config, "tokenizer_class"));
    return !name || (strcmp(name, "PreTrainedTokenizerFast") != 0 && strcmp(name, "TokenizersBackend") != 0);
}

static int32_t find_token(const vkf__tokenizer *tokenizer, const json_t *config, const json_t *map,
                          const named_token *token)
{
    const json_t *given = json_object_get(config, token->key);
    if (!given)
        given = json_object_get(map, token->key);
    const char *text = text_of(given);
    if (text)
        return vkf__tokenizer_token_to_id(tokenizer, text);
    int32_t id = -1;
    for (size_t i = 0; !given && has_usual_names(config) && id < 0 && i < NAMES && token->names[i]; i++)
        id = vkf__tokenizer_token_to_id(tokenizer, token->names[i]);
    return id;
}

static vkf_special_tokens find_tokens(const vkf__tokenizer *tokenizer, const json_t *config, const json_t *map)
{
    int32_t ids[TOKEN_COUNT];
    for (size_t i = 0; i < TOKEN_COUNT; i++)
        ids[i] = find_token(tokenizer, config, map, &tokens[i]);
    return (vkf_special_tokens){
        .cls_id = ids[CLS],
        .mask_id = ids[MASK],
        .unk_id = ids[UNK],
        .pad_id = ids[PAD],
        .bos_id = ids[ids[BOS] >= 0 ? BOS : BERT_CLS],
        .eos_id = ids[ids[EOS] >= 0 ? EOS : BERT_SEP],
    };
}

vkf_status vkf__tokenizer_config_load(const vkf__host *host, const char *directory, const vkf__tokenizer *tokenizer,
                                      vkf__tokenizer_config *out_config)
{
    vkf_status status = VKF_OK;
    json_t *config = NULL, *map = NULL;
    VKF_TRY(vkf__model_json_load(host, directory, "tokenizer_config.json", &config));
    VKF_TRY(vkf__model_json_load(host, directory, "special_tokens_map.json", &map));
    *out_config = (vkf__tokenizer_config){
        .special = find_tokens(tokenizer, config, map),
        .max_length = vkf__token_limit_of(config),
        .cleans_up = json_is_true(json_object_get(config, "clean_up_tokenization_spaces")),
    };
fail:
    json_decref(config);
    json_decref(map);
    return status;
}

vkf_status vkf__tokenizer_config_apply(const vkf__host *host, const char *directory, vkf__tokenizer *tokenizer)
{
    vkf_status status = VKF_OK;
    json_t *config = NULL;
    VKF_TRY(vkf__model_json_load(host, directory, "tokenizer_config.json", &config));
    const char *side = json_string_value(json_object_get(config, "truncation_side"));
    bool left = side && strcmp(side, "left") == 0;
    if (side && !left && strcmp(side, "right") != 0)
        status =
            vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                      "%s/tokenizer_config.json: truncation_side \"%.100s\"; supported: left, right", directory, side);
    else if (side)
        tokenizer->truncation.left = left;
fail:
    json_decref(config);
    return status;
}

// Replaces `old` by the shorter `new` wherever it occurs, in place.
static size_t replace(char *text, size_t size_bytes, const char *old, const char *new)
{
    size_t to = 0, old_bytes = strlen(old), new_bytes = strlen(new);
    for (size_t at = 0; at < size_bytes;) {
        bool found = old_bytes <= size_bytes - at && memcmp(text + at, old, old_bytes) == 0;
        if (found)
            memcpy(text + to, new, new_bytes);
        else
            text[to] = text[at];
        to += found ? new_bytes : 1;
        at += found ? old_bytes : 1;
    }
    return to;
}

size_t vkf__clean_up_blanks(char *text, size_t size_bytes)
{
    static const char *const cleanups[][2] = {
        {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
        {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof cleanups / sizeof cleanups[0]; i++)
        size_bytes = replace(text, size_bytes, cleanups[i][0], cleanups[i][1]);
    text[size_bytes] = '\0';
    return size_bytes;
}
