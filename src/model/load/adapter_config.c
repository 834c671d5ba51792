// Reads adapter_config.json. Every key is followed, has no part in what an adapter computes, or is refused.
#include "model/load/adapter_config.h"

#include <math.h>
#include <string.h>

#include "io/json_file.h"
#include "io/path.h"
#include "model/load/adapter.h"

#define MAX_RANK (1u << 16)
#define MAX_PATTERN 256

typedef enum key_use {
    FOLLOWED,
    IDLE,  // of training, or of what the tensors' names and shapes say themselves
    EMPTY, // what it stands for is not implemented
} key_use;

// Names in place, as a pointer each would take more than the text.
static const struct {
    char key[24];
    uint8_t use; // a key_use
} keys[] = {
    {"peft_type", FOLLOWED},
    {"r", FOLLOWED},
    {"lora_alpha", FOLLOWED},
    {"use_rslora", FOLLOWED},
    {"rank_pattern", FOLLOWED},
    {"alpha_pattern", FOLLOWED},
    {"target_modules", FOLLOWED},
    {"init_lora_weights", FOLLOWED},
    {"ensure_weight_tying", FOLLOWED},
    {"bias", IDLE},            // the biases are among the tensors
    {"modules_to_save", IDLE}, // these, too
    {"fan_in_fan_out", IDLE},  // the model's family says how its file has a weight
    {"layers_to_transform", IDLE},
    {"layers_pattern", IDLE},
    {"exclude_modules", IDLE},
    {"task_type", IDLE},
    {"auto_mapping", IDLE},
    {"base_model_name_or_path", IDLE},
    {"revision", IDLE},
    {"inference_mode", IDLE},
    {"peft_version", IDLE},
    {"lora_dropout", IDLE},
    {"megatron_core", IDLE}, // without megatron_config
    {"qalora_group_size", IDLE},
    {"eva_config", IDLE}, // the next four belong to values of init_lora_weights
    {"loftq_config", IDLE},
    {"corda_config", IDLE},
    {"lora_ga_config", IDLE},
    {"runtime_config", IDLE},
    {"use_dora", EMPTY},
    {"lora_bias", EMPTY},
    {"use_qalora", EMPTY},
    {"use_bdlora", EMPTY},
    {"megatron_config", EMPTY},
    {"layer_replication", EMPTY},
    {"trainable_token_indices", EMPTY},
    {"target_parameters", EMPTY},
    {"alora_invocation_tokens", EMPTY},
    {"velora_config", EMPTY},
    {"monteclora_config", EMPTY},
    {"arrow_config", EMPTY},
    {"kasa_config", EMPTY},
};

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) || (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static vkf_status check_keys(const vkf__host *host, const vkf__adapter_settings *s)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(s->root, key, value)
    {
        size_t i = 0;
        while (i < sizeof keys / sizeof keys[0] && strcmp(keys[i].key, key) != 0)
            i++;
        if (i == sizeof keys / sizeof keys[0] && !is_empty(value))
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the key %.100s is not known", s->path, key);
        if (i < sizeof keys / sizeof keys[0] && keys[i].use == EMPTY && !is_empty(value))
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: %s is not supported; merge the adapter with PEFT first",
                             s->path, key);
    }
    return VKF_OK;
}

// Some ways to begin training change the model's own weights, so that an adapter of theirs fits no other.
static vkf_status check_init(const vkf__host *host, const vkf__adapter_settings *s)
{
    static const char *const plain[] = {"gaussian", "eva", "orthogonal"};
    const char *name = json_string_value(json_object_get(s->root, "init_lora_weights"));
    for (size_t i = 0; name && i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(name, plain[i]) == 0)
            return VKF_OK;
    if (!name)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: init_lora_weights is \"%.60s\", which changes the model's own weights; let PEFT convert the "
                     "adapter (path_initial_model_for_weight_conversion of save_pretrained)",
                     s->path, name);
}

static vkf_status read_bool(const vkf__host *host, const vkf__adapter_settings *s, const char *key, bool *out_value)
{
    return vkf__json_has(s->root, key) ? vkf__json_bool(host, s->path, s->root, key, out_value) : VKF_OK;
}

static vkf_status read_values(const vkf__host *host, vkf__adapter_settings *s)
{
    const char *type = NULL;
    float alpha = 0;
    VKF_RETURN_IF_ERROR(vkf__json_string(host, s->path, s->root, "peft_type", &type));
    if (strcmp(type, "LORA") != 0)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: peft_type is \"%.60s\"; supported: \"LORA\"", s->path, type);
    VKF_RETURN_IF_ERROR(check_keys(host, s));
    VKF_RETURN_IF_ERROR(check_init(host, s));
    VKF_RETURN_IF_ERROR(vkf__json_u32(host, s->path, s->root, "r", 1, MAX_RANK, &s->rank));
    VKF_RETURN_IF_ERROR(vkf__json_f32(host, s->path, s->root, "lora_alpha", &alpha));
    s->alpha = (double)alpha;
    VKF_RETURN_IF_ERROR(read_bool(host, s, "use_rslora", &s->root_scale));
    return read_bool(host, s, "ensure_weight_tying", &s->ties);
}

// ---- modules

static vkf_status make_names(const vkf__host *host, size_t count, vkf__module_names *out)
{
    out->ends = json_object();
    out->whole = json_object();
    if (!out->ends || !out->whole)
        return vkf__no_memory(host, "the names of an adapter's modules", 1, sizeof(json_t *));
    VKF_ALLOC_OR_RETURN(host, out->keys, count + 1);
    return VKF_OK;
}

static void free_names(const vkf__host *host, vkf__module_names *names)
{
    json_decref(names->ends);
    json_decref(names->whole);
    vkf__free(host, names->keys);
}

// The first of two keys with the same name is found.
static vkf_status add_name(const vkf__host *host, vkf__module_names *names, bool whole, const char *name,
                           const char *key, size_t place)
{
    json_t *map = whole ? names->whole : names->ends;
    names->keys[place] = key;
    if (json_object_get(map, name) || json_object_set_new(map, name, json_integer((json_int_t)place)) == 0)
        return VKF_OK;
    return vkf__no_memory(host, "the names of an adapter's modules", 1, sizeof(json_t *));
}

// PEFT takes a pattern's key for a regular expression that the end of a module's name matches. Names are such keys, and
// their dots may be escaped; with a "^" before it the whole name is meant.
static vkf_status add_pattern(const vkf__host *host, const vkf__adapter_settings *s, vkf__module_names *names,
                              const char *key, size_t place)
{
    char name[MAX_PATTERN];
    size_t used = 0;
    bool whole = *key == '^';
    for (const char *c = key + whole; *c && used + 1 < sizeof name; c++) {
        if (*c == '\\' && c[1] == '.')
            c++;
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", *c))
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                             "%s: the pattern \"%.100s\" is not supported; give a module's name, or the end of one",
                             s->path, key);
        name[used++] = *c;
    }
    name[used] = '\0';
    return add_name(host, names, whole, name, key, place);
}

static vkf_status list_patterns(const vkf__host *host, const vkf__adapter_settings *s, const char *pattern,
                                vkf__module_names *out)
{
    json_t *object = json_object_get(s->root, pattern), *value = NULL;
    const char *key = NULL;
    size_t place = 0;
    VKF_RETURN_IF_ERROR(make_names(host, json_object_size(object), out));
    json_object_foreach(object, key, value) VKF_RETURN_IF_ERROR(add_pattern(host, s, out, key, place++));
    return VKF_OK;
}

static vkf_status list_targets(const vkf__host *host, vkf__adapter_settings *s)
{
    const json_t *targets = json_object_get(s->root, "target_modules"), *target = NULL;
    size_t i = 0;
    VKF_RETURN_IF_ERROR(make_names(host, json_array_size(targets), &s->targets));
    json_array_foreach(targets, i, target)
    {
        const char *name = json_string_value(target);
        if (name)
            VKF_RETURN_IF_ERROR(add_name(host, &s->targets, false, name, name, i));
    }
    return VKF_OK;
}

static void take_place(const json_t *map, const char *name, const json_t **nearest)
{
    const json_t *place = json_object_get(map, name);
    if (place && (!*nearest || json_integer_value(place) < json_integer_value(*nearest)))
        *nearest = place;
}

// The first of the keys that the module matches; NULL: it matches none.
static const char *find_key(const vkf__module_names *names, const char *module)
{
    const json_t *place = NULL;
    take_place(names->whole, module, &place);
    take_place(names->ends, module, &place);
    for (const char *dot = strchr(module, '.'); dot; dot = strchr(dot + 1, '.'))
        take_place(names->ends, dot + 1, &place);
    return place ? names->keys[json_integer_value(place)] : NULL;
}

vkf_status vkf__adapter_settings_load(const vkf__host *host, const char *directory, vkf__adapter_settings *out)
{
    VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, VKF_ADAPTER_CONFIG, &out->path));
    VKF_RETURN_IF_ERROR(vkf__json_load(host, out->path, &out->root));
    VKF_RETURN_IF_ERROR(read_values(host, out));
    VKF_RETURN_IF_ERROR(list_targets(host, out));
    VKF_RETURN_IF_ERROR(list_patterns(host, out, "rank_pattern", &out->ranks));
    return list_patterns(host, out, "alpha_pattern", &out->alphas);
}

void vkf__adapter_settings_free(const vkf__host *host, vkf__adapter_settings *settings)
{
    vkf__free(host, settings->path);
    json_decref(settings->root);
    free_names(host, &settings->targets);
    free_names(host, &settings->ranks);
    free_names(host, &settings->alphas);
    *settings = (vkf__adapter_settings){0};
}

static vkf_status check_target(const vkf__host *host, const vkf__adapter_settings *s, const char *module)
{
    // Otherwise they are chosen by an expression, or by the model's class.
    if (!json_is_array(json_object_get(s->root, "target_modules")) || find_key(&s->targets, module))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FORMAT, "%s: target_modules does not list %s, for which there are tensors",
                     s->path, module);
}

vkf_status vkf__adapter_scale_of(const vkf__host *host, const vkf__adapter_settings *s, const char *module,
                                 uint32_t *out_rank, double *out_scale)
{
    const char *key = find_key(&s->ranks, module);
    uint32_t rank = s->rank;
    float alpha = (float)s->alpha;
    VKF_RETURN_IF_ERROR(check_target(host, s, module));
    if (key)
        VKF_RETURN_IF_ERROR(
            vkf__json_u32(host, s->path, json_object_get(s->root, "rank_pattern"), key, 1, MAX_RANK, &rank));
    key = find_key(&s->alphas, module);
    if (key)
        VKF_RETURN_IF_ERROR(vkf__json_f32(host, s->path, json_object_get(s->root, "alpha_pattern"), key, &alpha));
    *out_rank = rank;
    *out_scale = (double)alpha / (s->root_scale ? sqrt((double)rank) : (double)rank);
    return VKF_OK;
}
