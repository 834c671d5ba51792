// Finds a directory's tokenizer, and converts it where it has no tokenizer.json.
#include "text/tokenizer_files.h"

#include <string.h>

#include "io/file.h"
#include "io/path.h"
#include "text/conversion.h"

// --- files

vkf_status vkf__tokenizer_files_find(const vkf__host *host, const char *directory, char **out_path)
{
    static const char *const names[] = {
        "tokenizer.json",          "source.spm",      "vocab.txt", "vocab.json", "spiece.model",
        "sentencepiece.bpe.model", "tokenizer.model",
    };
    *out_path = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = NULL;
        vkf_status status = vkf__path_join(host, directory, names[i], &path);
        if (status != VKF_OK)
            return status;
        if (vkf__file_is_there(host, path)) {
            *out_path = path;
            return VKF_OK;
        }
        vkf__free(host, path);
    }
    return VKF_OK;
}

// --- classes

#define BERT_TOKENS                                              \
    {                                                            \
        NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" \
    }
#define ROBERTA_TOKENS                                           \
    {                                                            \
        "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" \
    }

#define END "<|endoftext|>"

static const vkf__tokenizer_class classes[] = {
    {"BertTokenizer", "vocab.txt", vkf__convert_bert, BERT_TOKENS, false, false, false},
    {"DistilBertTokenizer", "vocab.txt", vkf__convert_bert, BERT_TOKENS, false, false, false},
    {"MPNetTokenizer",
     "vocab.txt",
     vkf__convert_mpnet,
     {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
     true,
     false,
     false},
    {"GPT2Tokenizer", "vocab.json", vkf__convert_gpt2, {END, END, END, NULL, NULL, NULL, NULL}, false, false, false},
    {"RobertaTokenizer", "vocab.json", vkf__convert_roberta, ROBERTA_TOKENS, false, false, false},
    {"BartTokenizer", "vocab.json", vkf__convert_roberta, ROBERTA_TOKENS, false, false, false},
    {"Qwen2Tokenizer", "vocab.json", vkf__convert_qwen2, {NULL, END, END, NULL, END, NULL, NULL}, false, true, false},
    {"T5Tokenizer",
     "spiece.model",
     vkf__convert_t5,
     {NULL, "</s>", "<unk>", NULL, "<pad>", NULL, NULL},
     false,
     false,
     true},
    {"XLMRobertaTokenizer", "sentencepiece.bpe.model", vkf__convert_xlm_roberta, ROBERTA_TOKENS, false, false, false},
    {"CamembertTokenizer", "sentencepiece.bpe.model", vkf__convert_camembert, ROBERTA_TOKENS, true, false, false},
    {"LlamaTokenizer",
     "tokenizer.model",
     vkf__convert_llama,
     {"<s>", "</s>", "<unk>", NULL, NULL, NULL, NULL},
     false,
     false,
     false},
};

// The classes for models whose tokenizer_config.json names none. Llama is missing, as it is from transformers' list.
static const char *const models[][2] = {
    {"bert", "BertTokenizer"},
    {"distilbert", "BertTokenizer"},
    {"mpnet", "MPNetTokenizer"},
    {"gpt2", "GPT2Tokenizer"},
    {"roberta", "RobertaTokenizer"},
    {"bart", "RobertaTokenizer"},
    {"qwen2", "Qwen2Tokenizer"},
    {"qwen3", "Qwen2Tokenizer"},
    {"t5", "T5Tokenizer"},
    {"mt5", "T5Tokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"camembert", "CamembertTokenizer"},
};

static const vkf__tokenizer_class *find_class(const char *name)
{
    size_t bytes = strlen(name);
    if (bytes > 4 && strcmp(name + bytes - 4, "Fast") == 0)
        bytes -= 4;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == bytes && memcmp(classes[i].name, name, bytes) == 0)
            return &classes[i];
    return NULL;
}

// The class that the files name, or NULL; *out_type is the type of the model.
static const char *class_name(const json_t *settings, const json_t *config, const char **out_type)
{
    const char *name = json_string_value(json_object_get(settings, "tokenizer_class"));
    const char *type = json_string_value(json_object_get(config, "model_type"));
    *out_type = type ? type : "";
    if (!name)
        name = json_string_value(json_object_get(config, "tokenizer_class"));
    for (size_t i = 0; i < sizeof models / sizeof *models && !name; i++)
        if (strcmp(*out_type, models[i][0]) == 0)
            name = models[i][1];
    return name;
}

#define SAVE_AGAIN                                                                                            \
    "save it again with transformers' AutoTokenizer.from_pretrained(...).save_pretrained(...), which writes " \
    "tokenizer.json"

static vkf_status load_config(const vkf__host *host, const char *directory, json_t **out_config)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, "config.json", &path));
    if (vkf__file_is_there(host, path))
        status = vkf__json_load(host, path, out_config);
fail:
    vkf__free(host, path);
    return status;
}

static vkf_status choose_class(vkf__conversion *conversion, const char *found)
{
    json_t *config = NULL;
    const char *type = NULL;
    vkf_status status = load_config(conversion->host, conversion->directory, &config);
    if (status != VKF_OK)
        return status;
    const char *name = class_name(conversion->settings, config, &type);
    conversion->kind = name ? find_class(name) : NULL;
    if (!name)
        status =
            vkf__fail(conversion->host, VKF_ERROR_UNSUPPORTED,
                      "%s is there without tokenizer.json, and neither tokenizer_class in tokenizer_config.json nor "
                      "model_type in config.json (\"%.60s\") says how to read it; " SAVE_AGAIN,
                      found, type);
    else if (!conversion->kind)
        status = vkf__fail(conversion->host, VKF_ERROR_UNSUPPORTED,
                           "%s is there without tokenizer.json, and a %.60s is not read from such files; " SAVE_AGAIN,
                           found, name);
    json_decref(config);
    return status;
}

static vkf_status find_vocabulary(vkf__conversion *conversion, const char *found)
{
    vkf_status status =
        vkf__path_join(conversion->host, conversion->directory, conversion->kind->file, &conversion->path);
    if (status == VKF_OK && !vkf__file_is_there(conversion->host, conversion->path))
        status = vkf__fail(conversion->host, VKF_ERROR_FILE,
                           "%s is there, but a %s is read from %s, which is not; " SAVE_AGAIN, found,
                           conversion->kind->name, conversion->path);
    return status;
}

static void free_conversion(vkf__conversion *conversion)
{
    vkf__free(conversion->host, conversion->path);
    json_decref(conversion->settings);
    json_decref(conversion->listed);
    json_decref(conversion->own);
    json_decref(conversion->extras);
    json_decref(conversion->ids);
    json_decref(conversion->added);
    json_decref(conversion->root);
}

vkf_status vkf__tokenizer_files_load(const vkf__host *host, const char *directory, vkf__tokenizer *out_tokenizer)
{
    vkf_status status = VKF_OK;
    char *found = NULL;
    vkf__conversion conversion = {
        .host = host,
        .directory = directory,
        .listed = json_object(),
        .own = json_object(),
        .added = json_object(),
        .root = json_object(),
    };
    VKF_TRY(vkf__tokenizer_files_find(host, directory, &found));
    VKF_TRY(vkf__conversion_settings(&conversion));
    VKF_TRY(choose_class(&conversion, found ? found : directory));
    VKF_TRY(find_vocabulary(&conversion, found));
    VKF_TRY(conversion.kind->convert(&conversion));
    status = vkf__tokenizer_from_json(host, conversion.path, conversion.root, out_tokenizer);
fail:
    vkf__free(host, found);
    free_conversion(&conversion);
    return status;
}
