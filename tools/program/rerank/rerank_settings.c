// Reads the activation and the prompt of a cross-encoder.
#include "rerank/rerank_settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "output/file_output.h"

#define NAME_BYTES 256

// *out_root stays NULL where there is no such file.
static vkf_status load(const vkf__host *host, const char *directory, json_t **out_root)
{
    char *path = NULL;
    vkf_status status = vkf__path_join(host, directory, "config_sentence_transformers.json", &path);
    if (status == VKF_OK && vkf__file_is_there(host, path))
        status = vkf__json_load(host, path, out_root);
    vkf__free(host, path);
    return status;
}

// The name of the activation; false where no file has one.
static bool find_activation(const json_t *settings, const vkf_model *model, char out_name[NAME_BYTES])
{
    static const char *const keys[] = {"sentence_transformers.activation_fn", "sbert_ce_default_activation_function"};
    const char *own = json_string_value(json_object_get(settings, "activation_fn"));
    if (own) {
        (void)snprintf(out_name, NAME_BYTES, "%s", own);
        return true;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t bytes = NAME_BYTES;
        if (vkf_model_get_metadata(model, keys[i], &bytes, out_name) == VKF_OK)
            return strcmp(out_name, "null") != 0;
    }
    return false;
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

bool vkf_rerank_settings_load(const char *directory, const vkf_model *model, vkf_rerank_settings *out_settings)
{
    const vkf__host host = vkf_printing_host();
    json_t *settings = NULL;
    char name[NAME_BYTES];
    *out_settings = (vkf_rerank_settings){0};
    bool loaded = load(&host, directory, &settings) == VKF_OK;
    if (loaded && find_activation(settings, model, name))
        loaded = take_activation(directory, name, &out_settings->score);
    loaded = loaded && take_prompt(settings, &out_settings->prompt);
    json_decref(settings);
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
