// Reads tokenizer_config.json and special_tokens_map.json.
#include "model/tokenizer_config.h"

#include <string.h>

#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"

static const struct {
    const char *key;
    const char *names[2]; // BERT's and RoBERTa's
    size_t offset;        // in vkf_special_tokens
} kinds[] = {
    {"cls_token", {"[CLS]", "<s>"}, offsetof(vkf_special_tokens, cls_id)},
    {"mask_token", {"[MASK]", "<mask>"}, offsetof(vkf_special_tokens, mask_id)},
    {"unk_token", {"[UNK]", "<unk>"}, offsetof(vkf_special_tokens, unk_id)},
    {"pad_token", {"[PAD]", "<pad>"}, offsetof(vkf_special_tokens, pad_id)},
};

// *out_root stays NULL where the file does not exist.
static vkf_status load_file(const vkf__host *host, const char *directory, const char *name, json_t **out_root)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, name, &path));
    if (vkf__file_is_there(host, path))
        VKF_TRY(vkf__json_load_wide(host, path, out_root));
fail:
    vkf__free(host, path);
    return status;
}

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

static int32_t find_token(const vkf__tokenizer *tokenizer, const json_t *config, const json_t *map, size_t kind)
{
    const json_t *given = json_object_get(config, kinds[kind].key);
    if (!given)
        given = json_object_get(map, kinds[kind].key);
    const char *text = text_of(given);
    if (text)
        return vkf__tokenizer_token_to_id(tokenizer, text);
    if (given || !has_usual_names(config))
        return -1;
    int32_t id = vkf__tokenizer_token_to_id(tokenizer, kinds[kind].names[0]);
    return id >= 0 ? id : vkf__tokenizer_token_to_id(tokenizer, kinds[kind].names[1]);
}

// A file without a limit has a huge number here. Older files call the key max_len.
static uint32_t max_length_of(const json_t *config)
{
    const json_t *given = json_object_get(config, "model_max_length");
    if (!given)
        given = json_object_get(config, "max_len");
    double length = json_number_value(given);
    return length >= 1 && length < (double)UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

vkf_status vkf__tokenizer_config_load(const vkf__host *host, const char *directory, const vkf__tokenizer *tokenizer,
                                      vkf__tokenizer_config *out_config)
{
    vkf_status status = VKF_OK;
    json_t *config = NULL, *map = NULL;
    vkf__tokenizer_config made = {.cleans_up = false};
    VKF_TRY(load_file(host, directory, "tokenizer_config.json", &config));
    VKF_TRY(load_file(host, directory, "special_tokens_map.json", &map));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int32_t id = find_token(tokenizer, config, map, i);
        memcpy((char *)&made.special + kinds[i].offset, &id, sizeof id);
    }
    made.max_length = max_length_of(config);
    made.cleans_up = json_is_true(json_object_get(config, "clean_up_tokenization_spaces"));
    *out_config = made;
fail:
    json_decref(config);
    json_decref(map);
    return status;
}

vkf_status vkf__tokenizer_max_length(const vkf__host *host, const char *directory, uint32_t *out_max_length)
{
    json_t *config = NULL;
    vkf_status status = load_file(host, directory, "tokenizer_config.json", &config);
    if (status == VKF_OK)
        *out_max_length = max_length_of(config);
    json_decref(config);
    return status;
}

vkf_status vkf__tokenizer_config_apply(const vkf__host *host, const char *directory, vkf__tokenizer *tokenizer)
{
    vkf_status status = VKF_OK;
    json_t *config = NULL;
    VKF_TRY(load_file(host, directory, "tokenizer_config.json", &config));
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
