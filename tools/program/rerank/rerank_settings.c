// Reads the activation and the prompt of a cross-encoder.
#include "rerank/rerank_settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/sentence/sentence_modules.h"
#include "output/file_output.h"

// *out_root stays NULL where there is no such file.
static vkf_status load(const vkf__host *host, const char *directory, const char *name, json_t **out_root)
{
    char *path = NULL;
    vkf_status status = vkf__path_join(host, directory, name, &path);
    if (status == VKF_OK && vkf__file_is_there(host, path))
        status = vkf__json_load(host, path, out_root);
    vkf__free(host, path);
    return status;
}

static const json_t *named_in(const json_t *settings, const json_t *config)
{
    const json_t *own = json_object_get(settings, "activation_fn");
    const json_t *within = json_object_get(json_object_get(config, "sentence_transformers"), "activation_fn");
    if (json_is_string(own))
        return own;
    return within ? within : json_object_get(config, "sbert_ce_default_activation_function");
}

static bool take_activation(const char *directory, const char *name, vkf_score_kind *out_kind)
{
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    *out_kind = strcmp(last, "Identity") == 0 ? VKF_SCORE_IDENTITY : VKF_SCORE_SIGMOID;
    if (strncmp(name, "torch.", 6) != 0) // sentence-transformers trusts no others, either
        vkf_print_warning("'%s': the activation %.100s is code of the model's own; scores are sigmoids", directory,
                          name);
    else if (strcmp(last, "Sigmoid") != 0 && strcmp(last, "Identity") != 0) {
        vkf_print_error("'%s': the activation is %.100s; Sigmoid and Identity are known", directory, name);
        return false;
    }
    return true;
}

static bool take_prompt(const json_t *settings, char **out_prompt)
{
    const char *name = json_string_value(json_object_get(settings, "default_prompt_name"));
    const char *prompt = json_string_value(json_object_get(json_object_get(settings, "prompts"), name ? name : ""));
    *out_prompt = prompt ? strdup(prompt) : NULL;
    if (prompt && !*out_prompt)
        vkf_print_error("memory is exhausted");
    return !prompt || *out_prompt;
}

bool vkf_rerank_settings_load(const char *directory, vkf_rerank_settings *out_settings)
{
    const vkf__host host = vkf_printing_host();
    json_t *settings = NULL, *config = NULL;
    char *transformer = NULL;
    *out_settings = (vkf_rerank_settings){0};
    bool loaded = load(&host, directory, "config_sentence_transformers.json", &settings) == VKF_OK &&
                  vkf__transformer_directory(&host, directory, &transformer) == VKF_OK &&
                  load(&host, transformer, "config.json", &config) == VKF_OK;
    const json_t *name = named_in(settings, config);
    if (loaded && json_is_string(name))
        loaded = take_activation(directory, json_string_value(name), &out_settings->score);
    loaded = loaded && take_prompt(settings, &out_settings->prompt);
    json_decref(settings);
    json_decref(config);
    vkf__free(&host, transformer);
    return loaded;
}

void vkf_rerank_settings_free(vkf_rerank_settings *settings)
{
    free(settings->prompt);
    settings->prompt = NULL;
}

double vkf_score_of(vkf_score_kind kind, float logit)
{
    return kind == VKF_SCORE_IDENTITY ? (double)logit : 1 / (1 + exp(-(double)logit));
}
