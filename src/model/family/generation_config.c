// Reads end tokens, forced and banned tokens, and the defaults of sampling and beam search.
#include "model/family/generation_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/json_file.h"

#define DEFAULT_TOP_K 50 // as in generate(do_sample=True)

// ---- tokens

// Keeps the default end tokens of the family, except those outside the vocabulary.
static void keep_eos(vkf_model_config *config)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < config->eos_count; i++)
        if (config->eos_ids[i] < (int32_t)config->target_vocab)
            config->eos_ids[kept++] = config->eos_ids[i];
    config->eos_count = kept;
    config->eos_id = kept > 0 ? config->eos_ids[0] : -1;
}

// Reads one id, several, or null. An id outside the vocabulary can never occur and is dropped.
static vkf_status read_eos(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const json_t *value = json_object_get(root, "eos_token_id");
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    uint32_t taken = 0;
    if (!value) {
        keep_eos(config);
        return VKF_OK;
    }
    for (size_t i = 0; i < count && !json_is_null(value); i++) {
        const json_t *id = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_integer(id))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: eos_token_id is no whole number, nor a list of them", path);
        if (json_integer_value(id) < 0 || json_integer_value(id) >= (json_int_t)config->target_vocab)
            continue;
        if (taken == VKF_MAX_EOS)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: eos_token_id has %zu elements; supported: up to %d",
                             path, count, VKF_MAX_EOS);
        config->eos_ids[taken++] = (int32_t)json_integer_value(id);
    }
    config->eos_count = taken;
    config->eos_id = taken > 0 ? config->eos_ids[0] : -1;
    return VKF_OK;
}

// Reads an id that may be absent; it becomes a token of the text, so it must be in the vocabulary. Without the key
// *out_found is not changed.
static vkf_status read_id(const vkf__host *host, const char *path, const json_t *object, const char *key,
                          uint32_t vocab, bool *out_found, int32_t *out_id)
{
    uint32_t id = 0;
    if (!vkf__json_has(object, key))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__json_u32(host, path, object, key, 0, vocab - 1, &id));
    *out_id = (int32_t)id;
    *out_found = true;
    return VKF_OK;
}

static vkf_status add_banned(const vkf__host *host, const char *path, const char *key, const json_t *id,
                             vkf_model_config *config)
{
    if (!json_is_integer(id))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: %s has what is no token", path, key);
    if (json_integer_value(id) < 0 || json_integer_value(id) >= (json_int_t)config->target_vocab)
        return VKF_OK; // it can never occur
    if (config->banned_count == VKF_MAX_EOS)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: bad_words_ids and suppress_tokens have more than %d tokens",
                         path, VKF_MAX_EOS);
    config->banned_ids[config->banned_count++] = (int32_t)json_integer_value(id);
    return VKF_OK;
}

// Reads banned tokens. Of bad_words_ids only words of one token are built: a longer word would need a look at the
// tokens before it.
static vkf_status read_banned(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const json_t *words = json_object_get(root, "bad_words_ids"), *tokens = json_object_get(root, "suppress_tokens");
    config->banned_count = 0;
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i);
        if (json_array_size(word) != 1)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: bad_words_ids has a word that is not of one token",
                             path);
        VKF_RETURN_IF_ERROR(add_banned(host, path, "bad_words_ids", json_array_get(word, 0), config));
    }
    for (size_t i = 0; i < json_array_size(tokens); i++)
        VKF_RETURN_IF_ERROR(add_banned(host, path, "suppress_tokens", json_array_get(tokens, i), config));
    return VKF_OK;
}

vkf_status vkf__read_generation(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    uint32_t vocab = config->target_vocab;
    bool start = false;
    VKF_RETURN_IF_ERROR(read_eos(host, path, root, config));
    VKF_RETURN_IF_ERROR(read_banned(host, path, root, config));
    if (!vkf__facts_of(config)->start_token)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(read_id(host, path, root, "decoder_start_token_id", vocab, &start, &config->bos_id));
    VKF_RETURN_IF_ERROR(
        read_id(host, path, root, "forced_bos_token_id", vocab, &config->forced_bos, &config->forced_bos_id));
    return read_id(host, path, root, "forced_eos_token_id", vocab, &config->forced_eos, &config->forced_eos_id);
}

// ---- the defaults of generate()

typedef struct reader {
    const vkf__host *host;
    const char *path;
    const json_t *root;
} reader;

// The message quotes the value as it is in the file, shortened with "..." if it is long.
static void warn_ignored(const reader *r, const char *key, const char *why)
{
    char *text = json_dumps(json_object_get(r->root, key), JSON_COMPACT | JSON_ENCODE_ANY);
    vkf__log(r->host, VKF_SEVERITY_WARNING, "%s: %s is %.60s%s, which is not followed%s", r->path, key,
             text ? text : "?", text && strlen(text) > 60 ? "..." : "", why);
    free(text);
}

static vkf_status read_number(const reader *r, const char *key, float min, float max, float *value)
{
    float given = 0;
    if (!vkf__json_has(r->root, key))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__json_f32(r->host, r->path, r->root, key, &given));
    if (given >= min && given <= max)
        *value = given;
    else
        warn_ignored(r, key, ": it is out of range");
    return VKF_OK;
}

static vkf_status read_count(const reader *r, const char *key, uint32_t *value)
{
    if (!vkf__json_has(r->root, key))
        return VKF_OK;
    return vkf__json_u32(r->host, r->path, r->root, key, 0, INT32_MAX, value);
}

static vkf_status read_sampling(const reader *r, vkf_generation_defaults *defaults)
{
    vkf_sampling *sampling = &defaults->sampling;
    bool draws = false;
    float temperature = 1.0f;
    if (vkf__json_has(r->root, "do_sample"))
        VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, "do_sample", &draws));
    sampling->top_k = draws && !json_object_get(r->root, "top_k") ? DEFAULT_TOP_K : 0; // null: none
    VKF_RETURN_IF_ERROR(read_count(r, "top_k", &sampling->top_k));
    VKF_RETURN_IF_ERROR(read_number(r, "temperature", 0.0f, 1e4f, &temperature));
    VKF_RETURN_IF_ERROR(read_number(r, "top_p", 0.0f, 1.0f, &sampling->top_p));
    VKF_RETURN_IF_ERROR(read_number(r, "min_p", 0.0f, 1.0f, &sampling->min_p));
    VKF_RETURN_IF_ERROR(read_number(r, "repetition_penalty", 0.0f, 1e4f, &sampling->repetition_penalty));
    sampling->temperature = draws ? temperature : 0.0f;
    if (draws && defaults->beams.num_beams > 1) {
        warn_ignored(r, "do_sample", " together with num_beams");
        sampling->temperature = 0.0f;
    }
    return VKF_OK;
}

static vkf_status read_beams(const reader *r, vkf_beam_search *beams)
{
    const json_t *early = json_object_get(r->root, "early_stopping");
    const char *word = json_string_value(early);
    beams->length_penalty = 1.0f;
    VKF_RETURN_IF_ERROR(read_count(r, "num_beams", &beams->num_beams));
    VKF_RETURN_IF_ERROR(read_number(r, "length_penalty", -100.0f, 100.0f, &beams->length_penalty));
    if (beams->num_beams > VKF_MAX_BEAMS) {
        warn_ignored(r, "num_beams", ": supported are up to 64");
        beams->num_beams = 0;
    }
    if (json_is_true(early))
        beams->early_stopping = VKF_EARLY_STOPPING_ON;
    else if (word && strcmp(word, "never") == 0)
        beams->early_stopping = VKF_EARLY_STOPPING_NEVER;
    else if (vkf__json_has(r->root, "early_stopping") && !json_is_false(early))
        warn_ignored(r, "early_stopping", "");
    return VKF_OK;
}

// Keys that generate() follows and that are not built. `idle` is the number that has no effect; NAN where no number has
// none.
static const struct {
    const char *key;
    double idle;
    bool built_with_start; // models with a start token follow it
} not_built[] = {
    {"min_length", 0, false},
    {"min_new_tokens", 0, false},
    {"no_repeat_ngram_size", 0, false},
    {"encoder_no_repeat_ngram_size", 0, false},
    {"encoder_repetition_penalty", 1, false},
    {"exponential_decay_length_penalty", NAN, false},
    {"begin_suppress_tokens", NAN, false},
    {"forced_decoder_ids", NAN, false},
    {"forced_bos_token_id", NAN, true},
    {"forced_eos_token_id", NAN, true},
    {"sequence_bias", NAN, false},
    {"typical_p", 1, false},
    {"top_h", NAN, false},
    {"epsilon_cutoff", 0, false},
    {"eta_cutoff", 0, false},
    {"guidance_scale", 1, false},
    {"penalty_alpha", 0, false},
    {"diversity_penalty", 0, false},
    {"num_beam_groups", 1, false},
    {"num_return_sequences", 1, false},
    {"constraints", NAN, false},
    {"force_words_ids", NAN, false},
    {"renormalize_logits", NAN, false},
    {"stop_strings", NAN, false},
    {"max_time", NAN, false},
    {"token_healing", NAN, false},
    {"watermarking_config", NAN, false},
    {"dola_layers", NAN, false},
};

static bool has_effect(const json_t *value, double idle)
{
    if (!value || json_is_null(value) || json_is_false(value) || (json_is_array(value) && json_array_size(value) == 0))
        return false;
    return !json_is_number(value) || json_number_value(value) != idle;
}

vkf_status vkf__read_generation_defaults(const vkf__host *host, const char *path, const json_t *root,
                                         vkf_model_config *config)
{
    const reader r = {host, path, root};
    vkf_generation_defaults defaults = {0};
    VKF_RETURN_IF_ERROR(read_beams(&r, &defaults.beams));
    VKF_RETURN_IF_ERROR(read_sampling(&r, &defaults));
    VKF_RETURN_IF_ERROR(read_count(&r, "max_new_tokens", &defaults.max_new_tokens));
    VKF_RETURN_IF_ERROR(read_count(&r, "max_length", &defaults.max_length));
    for (size_t i = 0; i < sizeof not_built / sizeof not_built[0]; i++) {
        bool built = not_built[i].built_with_start && vkf__facts_of(config)->start_token;
        if (!built && has_effect(json_object_get(root, not_built[i].key), not_built[i].idle))
            warn_ignored(&r, not_built[i].key, "");
    }
    config->generation = defaults;
    return VKF_OK;
}
