#include "model/model_directory.h"

#include "io/directory.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/family.h"
#include "model/generation_config.h"
#include "model/sentence_text.h"
#include "model/weight_resolution.h"

// Nobody else's: an empty prompt begins with it where a decoder has one, and every output of a SEQ2SEQ model.
static vkf_status check_start(const vkf__host *host, const char *directory, const vkf_model_config *config)
{
    if (!vkf__facts_of(config)->start_token || config->bos_id >= 0)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FORMAT,
                     "%s: neither decoder_start_token_id nor bos_token_id, with which outputs begin, is a token of the "
                     "vocabulary of %u (config.json, generation_config.json)",
                     directory, config->target_vocab);
}

// generation_config.json, where it is there, decides over what older directories have in config.json.
static vkf_status load_generation(const vkf__host *host, const char *directory, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    char *path = NULL, *older = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "generation_config.json", &path));
    VKF_TRY(vkf__path_join(host, directory, "config.json", &older));
    bool own = vkf__file_exists(path);
    VKF_TRY(vkf__json_load(host, own ? path : older, &root));
    if (own) {
        config->forced_bos = config->forced_eos = false;
        VKF_TRY(vkf__read_generation(host, path, root, config));
    }
    VKF_TRY(vkf__read_generation_defaults(host, own ? path : older, root, config));
    VKF_TRY(check_start(host, directory, config));
fail:
    vkf__free(host, path);
    vkf__free(host, older);
    json_decref(root);
    return status;
}

// The most tokens of a text that a causal encoder takes unless its caller asks for more, whatever the directory says: a
// decoder's context may be very long. As many as generation has by default.
#define DEFAULT_CAUSAL_TOKENS 2048u

// The modules behind an ENCODER, and the tokens of a text that it gets.
static vkf_status load_embedding(const vkf__host *host, const char *directory, const char *transformer,
                                 vkf__model_source *source)
{
    vkf_model_config *config = &source->config;
    vkf__sentence_list list;
    vkf__sentence_text text;
    VKF_RETURN_IF_ERROR(vkf__sentence_list_load(host, directory, &list));
    VKF_RETURN_IF_ERROR(vkf__sentence_modules_load(host, directory, &list, source));
    VKF_RETURN_IF_ERROR(vkf__sentence_text_load(host, transformer, &list, &text));
    config->lower_case = text.lower_case;
    config->truncate_len = text.max_length < config->max_source_len ? text.max_length : config->max_source_len;
    return VKF_OK;
}

vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory, vkf__model_source *out_source)
{
    vkf_status status = VKF_OK;
    char *path = NULL, *transformer = NULL;
    vkf__model_source source = {0};
    VKF_TRY(vkf__directory_check(host, directory));
    VKF_TRY(vkf__transformer_directory(host, directory, &transformer));
    VKF_TRY(vkf__path_join(host, transformer, "config.json", &path));
    VKF_TRY(vkf__config_load(host, path, &source.config, &source.family));
    if (vkf__facts_of(&source.config)->pools)
        VKF_TRY(load_embedding(host, directory, transformer, &source));
    if (source.family && source.config.causal && source.config.truncate_len > DEFAULT_CAUSAL_TOKENS)
        source.config.truncate_len = DEFAULT_CAUSAL_TOKENS;
    if (source.family && vkf__facts_of(&source.config)->generates)
        VKF_TRY(load_generation(host, transformer, &source.config));
    *out_source = source;
fail:
    vkf__free(host, path);
    vkf__free(host, transformer);
    return status;
}

vkf_status vkf__model_source_open(const vkf__host *host, const char *directory, vkf__model_source *source)
{
    vkf_status status = VKF_OK;
    char *transformer = NULL;
    VKF_TRY(vkf__transformer_directory(host, directory, &transformer));
    VKF_TRY(vkf__checkpoint_open(host, transformer, &source->checkpoint));
    VKF_TRY(vkf__sentence_weights_open(host, directory, source));
    vkf__source_settle(host, source);
fail:
    vkf__free(host, transformer);
    return status;
}

void vkf__model_source_close(vkf__model_source *source)
{
    vkf__checkpoint_close(&source->checkpoint);
    vkf__sentence_weights_close(source);
}
