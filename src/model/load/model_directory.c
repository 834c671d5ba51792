// Reads what the files of a model directory say, and opens its checkpoints.
#include "model/load/model_directory.h"

#include "io/directory.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/family/config_file.h"
#include "model/family/family.h"
#include "model/family/generation_config.h"
#include "model/load/adapter.h"
#include "model/load/weight_resolution.h"
#include "model/sentence/sentence_text.h"

// Checks that a model whose outputs begin with bos_id, which is every SEQ2SEQ, has one. Other models need none: a
// decoder without it only cannot begin an empty prompt.
static vkf_status check_start(const vkf__host *host, const char *directory, const vkf_model_config *config)
{
    if (!vkf__facts_of(config)->start_token || config->bos_id >= 0)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FORMAT,
                     "%s: neither decoder_start_token_id nor bos_token_id, with which outputs begin, is a token of the "
                     "vocabulary of %u (config.json, generation_config.json)",
                     directory, config->target_vocab);
}

// Where generation_config.json exists it overrides config.json, which holds these keys in older directories.
static vkf_status load_generation(const vkf__host *host, const char *directory, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    char *path = NULL, *older = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "generation_config.json", &path));
    VKF_TRY(vkf__path_join(host, directory, "config.json", &older));
    bool own = vkf__file_is_there(host, path);
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

// The most tokens of a text that a causal encoder takes unless its caller asks for more, whatever the directory says,
// because a decoder's context may be very long. Generation has the same default.
#define DEFAULT_CAUSAL_TOKENS 2048u

// Loads the modules that follow an ENCODER, and how many tokens of a text it reads.
static vkf_status load_embedding(const vkf__host *host, const vkf__model_place *place, vkf__model_source *source)
{
    vkf_status status = VKF_OK;
    vkf_model_config *config = &source->config;
    vkf__sentence_list list;
    vkf__sentence_text text;
    char *transformer = NULL; // of the modules, which may have come with an adapter
    VKF_TRY(vkf__sentence_list_load(host, place->modules, &list));
    VKF_TRY(vkf__sentence_modules_load(host, place->modules, &list, source));
    VKF_TRY(vkf__transformer_directory(host, place->modules, &transformer));
    VKF_TRY(vkf__sentence_text_load(host, transformer, &list, &text));
    config->lower_case = text.lower_case;
    config->truncate_len = text.max_length < config->max_source_len ? text.max_length : config->max_source_len;
fail:
    vkf__free(host, transformer);
    return status;
}

// sentence-transformers makes embeddings of decoders, too, mostly of their last token.
static vkf_status take_modules(const vkf__host *host, const vkf__model_place *place, vkf__model_source *source)
{
    vkf_model_config *config = &source->config;
    vkf__sentence_list list;
    if (!source->family || !vkf__facts_of(config)->prompts)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__sentence_list_load(host, place->modules, &list));
    if (list.embeds) {
        vkf__make_causal_encoder(config);
        config->tie_projection = config->projection_bias = false;
    }
    return VKF_OK;
}

vkf_status vkf__model_place_load(const vkf__host *host, const vkf__model_place *place, vkf__model_source *out_source)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    vkf__model_source source = {0};
    VKF_TRY(vkf__path_join(host, place->transformer, "config.json", &path));
    if (!vkf__file_is_there(host, path))
        VKF_TRY(vkf__directory_check_others(host, place->transformer));
    VKF_TRY(vkf__config_load(host, path, &source.config, &source.family));
    VKF_TRY(take_modules(host, place, &source));
    if (vkf__facts_of(&source.config)->pools)
        VKF_TRY(load_embedding(host, place, &source));
    if (source.family && source.config.causal && source.config.truncate_len > DEFAULT_CAUSAL_TOKENS)
        source.config.truncate_len = DEFAULT_CAUSAL_TOKENS;
    if (source.family && vkf__facts_of(&source.config)->generates)
        VKF_TRY(load_generation(host, place->transformer, &source.config));
    *out_source = source;
fail:
    vkf__free(host, path);
    return status;
}

vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory, vkf__model_source *out_source)
{
    vkf__model_place place;
    VKF_RETURN_IF_ERROR(vkf__model_place_find(host, directory, NULL, &place));
    const vkf_status status = vkf__model_place_load(host, &place, out_source);
    vkf__model_place_free(host, &place);
    return status;
}

vkf_status vkf__model_place_open(const vkf__host *host, const vkf__model_place *place, vkf__model_source *source)
{
    VKF_RETURN_IF_ERROR(vkf__checkpoint_open(host, place->transformer, &source->checkpoint));
    VKF_RETURN_IF_ERROR(vkf__sentence_weights_open(host, place->modules, source));
    vkf__source_settle(host, source);
    return VKF_OK;
}

void vkf__model_source_close(vkf__model_source *source)
{
    vkf__checkpoint_close(&source->checkpoint);
    vkf__adapter_close(&source->adapter);
    vkf__sentence_weights_close(source);
}
