// Reads a text's length limit and lower-casing from the Transformer's own file of settings.
#include "model/sentence/sentence_text.h"

#include <string.h>

#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/sentence/sentence_config.h"
#include "model/sentence/token_limit.h"

const char *const vkf__sentence_text_files[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",      NULL,
};

// All keys that may be there. docs/embeddings.md says why those that are not read here change nothing.
static const char *const known[] = {"max_seq_length",
                                    "do_lower_case",
                                    "transformer_task",
                                    "modality_config",
                                    "module_output_name",
                                    "processing_kwargs",
                                    "unpad_inputs",
                                    "query_length",
                                    "document_length",
                                    "query_expansion",
                                    "model_args",
                                    "model_kwargs",
                                    "tokenizer_args",
                                    "processor_kwargs",
                                    "config_args",
                                    "config_kwargs",
                                    "tokenizer_name_or_path",
                                    NULL};

// Keys that would change results unless they are null or empty.
static const char *const unfollowed[] = {"processing_kwargs", "query_length", "document_length", "query_expansion",
                                         "tokenizer_name_or_path"};

// Objects of arguments for transformers' from_pretrained().
static const char *const arguments[] = {"model_args",       "model_kwargs", "tokenizer_args",
                                        "processor_kwargs", "config_args",  "config_kwargs"};

// The arguments that change nothing here.
static const char *const idle_arguments[] = {
    "attn_implementation", // ways to compute the same
    "_attn_implementation",
    "torch_dtype", // what transformers computes in; here the caller chooses a precision
    "dtype",
    "low_cpu_mem_usage", // how weights get into memory
    "device_map",
    "use_safetensors",
    "trust_remote_code", // where files come from
    "revision",
    "cache_dir",
    "local_files_only",
    "force_download",
    "token",
    "use_fast",          // ways to make the same ids
    "padding_side",      // padding changes nothing
    "add_pooling_layer", // what only a pooler, which is not read, computes
    "use_cache",
    NULL,
};

static vkf_status check_arguments(const vkf__host *host, const char *path, const json_t *root)
{
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        const char *key = NULL;
        json_t *value = NULL, *given = json_object_get(root, arguments[i]);
        json_object_foreach(given, key, value)
        {
            size_t k = 0;
            while (idle_arguments[k] && strcmp(idle_arguments[k], key) != 0)
                k++;
            if (!idle_arguments[k] && !json_is_null(value))
                return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: %s has %.100s; supported: without it", path,
                                 arguments[i], key);
        }
    }
    return VKF_OK;
}

static vkf_status check_unfollowed(const vkf__host *host, const char *path, const json_t *root)
{
    for (size_t i = 0; i < sizeof unfollowed / sizeof unfollowed[0]; i++) {
        const json_t *value = json_object_get(root, unfollowed[i]);
        bool idle = !value || json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0);
        if (!idle)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: %s is given; supported: without it", path,
                             unfollowed[i]);
    }
    return check_arguments(host, path, root);
}

// The only modality that is built: {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}.
static vkf_status check_modality(const vkf__host *host, const char *path, const json_t *root)
{
    const json_t *modality = json_object_get(root, "modality_config"), *text = json_object_get(modality, "text");
    static const char *const texts[] = {"text", NULL}, *const keys[] = {"method", "method_output_name", NULL};
    if (!modality || json_is_null(modality))
        return VKF_OK;
    if (!json_is_object(text))
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: modality_config has no text", path);
    VKF_RETURN_IF_ERROR(vkf__sentence_keys_known(host, path, modality, texts));
    VKF_RETURN_IF_ERROR(vkf__sentence_keys_known(host, path, text, keys));
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(host, path, text, "method", "forward"));
    return vkf__sentence_key_is(host, path, text, "method_output_name", "last_hidden_state");
}

static vkf_status read_file(const vkf__host *host, const char *path, const json_t *root, vkf__sentence_text *text)
{
    VKF_RETURN_IF_ERROR(vkf__sentence_keys_known(host, path, root, known));
    VKF_RETURN_IF_ERROR(check_unfollowed(host, path, root));
    VKF_RETURN_IF_ERROR(check_modality(host, path, root));
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(host, path, root, "transformer_task", "feature-extraction"));
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(host, path, root, "module_output_name", "token_embeddings"));
    if (vkf__json_has(root, "max_seq_length"))
        VKF_RETURN_IF_ERROR(vkf__json_u32(host, path, root, "max_seq_length", 1, UINT32_MAX, &text->max_length));
    if (vkf__json_has(root, "do_lower_case"))
        VKF_RETURN_IF_ERROR(vkf__json_bool(host, path, root, "do_lower_case", &text->lower_case));
    return VKF_OK;
}

static vkf_status load_file(const vkf__host *host, const char *directory, const char *name, json_t **out_root,
                            char **out_path)
{
    VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, name, out_path));
    if (vkf__file_is_there(host, *out_path))
        VKF_RETURN_IF_ERROR(vkf__json_load(host, *out_path, out_root));
    return VKF_OK;
}

static vkf_status load_sentence_config(const vkf__host *host, const char *directory, vkf__sentence_text *text)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    json_t *root = NULL;
    for (const char *const *file = vkf__sentence_text_files; *file && json_object_size(root) == 0; file++) {
        vkf__free(host, path);
        json_decref(root);
        path = NULL, root = NULL;
        VKF_TRY(load_file(host, directory, *file, &root, &path));
    }
    if (root)
        VKF_TRY(read_file(host, path, root, text));
fail:
    vkf__free(host, path);
    json_decref(root);
    return status;
}

vkf_status vkf__sentence_text_load(const vkf__host *host, const char *transformer, const vkf__sentence_list *list,
                                   vkf__sentence_text *out_text)
{
    vkf__sentence_text text = {.max_length = UINT32_MAX};
    if (list->embeds)
        VKF_RETURN_IF_ERROR(load_sentence_config(host, transformer, &text));
    if (text.max_length == UINT32_MAX)
        VKF_RETURN_IF_ERROR(vkf__token_limit_load(host, transformer, &text.max_length));
    *out_text = text;
    return VKF_OK;
}
