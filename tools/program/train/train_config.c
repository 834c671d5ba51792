// Reads settings from CONFIG.json and from options.
#include "train/train_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/edit_distance.h"
#include "base/system_file.h"
#include "io/json_file.h"
#include "output/visible_text.h"
#include "train/examples.h"
#include "train/train_values.h"

#define HELP_INDENT 28
#define HELP_COLUMNS 80 // behind it
#define GIVEN_BYTES 64  // of a wrong value, in a message

void vkf_train_config_init(const vkf__host *host, vkf_train_config *out_config)
{
    *out_config = (vkf_train_config){
        .host = host,
        .max_bad_lines = VKF_EXAMPLE_MAX_BAD_LINES,
        .max_line_bytes = VKF_EXAMPLE_MAX_LINE_BYTES,
        .betas = {0.9, 0.999},
        .eps = 1e-8,
        .weight_decay = 0.01,
        .lora_alpha = 16,
        .lora_rank = 8,
        .seed = 1,
        .batch_tokens = 4096,
        .accumulation = 1,
    };
}

void vkf_train_config_free(vkf_train_config *config)
{
    for (vkf_train_key key = 0; key < VKF_TRAIN_KEY_COUNT; key++) {
        void *member = vkf_train_member(config, key);
        if (vkf_train_rows[key].kind == VKF_TRAIN_KIND_TEXT)
            vkf__free(config->host, *(char **)member);
        else if (vkf_train_rows[key].kind == VKF_TRAIN_KIND_TEXTS)
            vkf_train_texts_clear(config->host, member);
    }
    *config = (vkf_train_config){0};
}

static vkf_status no_memory(const vkf__host *host)
{
    return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for the settings of the training");
}

// ---- options

// The value of an option as JSON; NULL where it is none that the kind could take.
static json_t *json_of_text(vkf_train_kind kind, const char *text)
{
    char pair[GIVEN_BYTES];
    json_t *value = NULL;
    switch (kind) {
    case VKF_TRAIN_KIND_U32:
    case VKF_TRAIN_KIND_U64:
    case VKF_TRAIN_KIND_REAL:
    case VKF_TRAIN_KIND_BOOL:
        return json_loads(text, JSON_DECODE_ANY, NULL);
    case VKF_TRAIN_KIND_PAIR:
        if ((size_t)snprintf(pair, sizeof pair, "[%s]", text) < sizeof pair)
            value = json_loads(pair, 0, NULL);
        return value;
    default:
        return json_string(text);
    }
}

// A list is what all uses of the option gave.
static vkf_status add_item(vkf_train_config *config, vkf_train_key key, const char *text)
{
    vkf_train_texts *texts = vkf_train_member(config, key);
    if (!*text)
        return VKF_ERROR_FORMAT;
    if (config->origins[key] != VKF_TRAIN_FLAG)
        vkf_train_texts_clear(config->host, texts);
    return vkf_train_texts_add(config->host, texts, text);
}

vkf_status vkf_train_config_flag(vkf_train_config *config, vkf_train_key key, const char *text)
{
    const vkf_train_row *row = &vkf_train_rows[key];
    char expected[VKF_TRAIN_EXPECTED_BYTES] = "a text that is not empty";
    const char *given = text ? text : "true";
    json_t *value = row->kind == VKF_TRAIN_KIND_TEXTS ? NULL : json_of_text(row->kind, given);
    vkf_status status = row->kind == VKF_TRAIN_KIND_TEXTS ? add_item(config, key, given)
                        : value                           ? vkf_train_value_take(config, key, value)
                                                          : VKF_ERROR_FORMAT;
    json_decref(value);
    if (status == VKF_ERROR_OUT_OF_HOST_MEMORY)
        return no_memory(config->host);
    if (status == VKF_OK) {
        config->origins[key] = VKF_TRAIN_FLAG;
        return VKF_OK;
    }
    if (row->kind != VKF_TRAIN_KIND_TEXTS)
        vkf_train_expected(key, expected);
    return vkf__fail(config->host, VKF_ERROR_INVALID_ARGUMENT, "--%s: '%.200s' is not %s", row->flag, given, expected);
}

void vkf_train_config_print_help(FILE *out)
{
    char expected[VKF_TRAIN_EXPECTED_BYTES];
    for (vkf_train_key key = 0; key < VKF_TRAIN_KEY_COUNT; key++) {
        const vkf_train_row *row = &vkf_train_rows[key];
        expected[0] = '\0';
        if (row->kind >= VKF_TRAIN_KIND_DTYPE)
            vkf_train_expected(key, expected);
        const bool fits = strlen(row->help) + strlen(expected) < HELP_COLUMNS;
        vkf_print_on(out, "  --%-23s %s%s", row->flag, row->help, !expected[0] ? "" : fits ? ": " : ":\n");
        vkf_print_on(out, "%*s%s\n", fits ? 0 : HELP_INDENT, "", expected);
    }
}

// ---- CONFIG.json

typedef struct config_file {
    vkf_train_config *config;
    const char *path;
} config_file;

static vkf_train_key find_key(const char *section, const char *name)
{
    vkf_train_key key = 0;
    while (key < VKF_TRAIN_KEY_COUNT &&
           (strcmp(vkf_train_rows[key].section, section) != 0 || strcmp(vkf_train_rows[key].key, name) != 0))
        key++;
    return key;
}

static bool is_section(const char *name)
{
    for (vkf_train_key key = 0; key < VKF_TRAIN_KEY_COUNT; key++)
        if (vkf_train_rows[key].section[0] && strcmp(vkf_train_rows[key].section, name) == 0)
            return true;
    return false;
}

// The key that was probably meant: one of that name in another section, or the one whose name is nearest.
static void nearest_key(const char *section, const char *name, char out_name[VKF_TRAIN_NAME_BYTES])
{
    size_t best = SIZE_MAX;
    char full[VKF_TRAIN_NAME_BYTES], wanted[2 * VKF_TRAIN_NAME_BYTES];
    (void)snprintf(wanted, sizeof wanted, "%.60s%s%.60s", section, section[0] ? "." : "", name);
    for (vkf_train_key key = 0; key < VKF_TRAIN_KEY_COUNT; key++) {
        vkf_train_key_name(key, full);
        const bool elsewhere = strcmp(vkf_train_rows[key].key, name) == 0;
        const size_t distance = elsewhere ? 0 : vkf__edit_distance(wanted, full);
        if (distance >= best)
            continue;
        best = distance;
        memcpy(out_name, full, sizeof full);
    }
}

static vkf_status fail_unknown(const config_file *file, const char *section, const char *name)
{
    char nearest[VKF_TRAIN_NAME_BYTES];
    nearest_key(section, name, nearest);
    return vkf__fail(file->config->host, VKF_ERROR_FORMAT, "%s: key '%s%s%.100s' is unknown; the nearest is '%s'",
                     file->path, section, section[0] ? "." : "", name, nearest);
}

static vkf_status fail_value(const config_file *file, const char *name, const json_t *value, const char *expected)
{
    char *given = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!given)
        return no_memory(file->config->host);
    const bool cut = strlen(given) > GIVEN_BYTES;
    vkf_status status = vkf__fail(file->config->host, VKF_ERROR_FORMAT, "%s: key '%s' is %.*s%s; it must be %s",
                                  file->path, name, GIVEN_BYTES, given, cut ? "..." : "", expected);
    free(given);
    return status;
}

static vkf_status take_member(const config_file *file, vkf_train_key key, const json_t *value)
{
    char name[VKF_TRAIN_NAME_BYTES], expected[VKF_TRAIN_EXPECTED_BYTES];
    vkf_train_config *config = file->config, unused = {.host = config->host};
    const bool overridden = config->origins[key] == VKF_TRAIN_FLAG;
    vkf_status status = vkf_train_value_take(overridden ? &unused : config, key, value);
    vkf_train_config_free(&unused);
    if (status == VKF_ERROR_OUT_OF_HOST_MEMORY)
        return no_memory(config->host);
    if (status == VKF_OK) {
        config->origins[key] = overridden ? VKF_TRAIN_FLAG : VKF_TRAIN_FILE;
        return VKF_OK;
    }
    vkf_train_key_name(key, name);
    vkf_train_expected(key, expected);
    return fail_value(file, name, value, expected);
}

static vkf_status take_section(const config_file *file, const char *section, const json_t *object)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return fail_value(file, section, object, "an object");
    json_object_foreach((json_t *)object, name, value)
    {
        const vkf_train_key key = find_key(section, name);
        if (key < VKF_TRAIN_KEY_COUNT)
            VKF_RETURN_IF_ERROR(take_member(file, key, value));
        else if (section[0] == '\0' && is_section(name))
            VKF_RETURN_IF_ERROR(take_section(file, name, value));
        else
            return fail_unknown(file, section, name);
    }
    return VKF_OK;
}

vkf_status vkf_train_config_load(vkf_train_config *config, const char *path)
{
    json_t *root = NULL;
    const config_file file = {config, path};
    VKF_RETURN_IF_ERROR(vkf__json_load(config->host, path, &root));
    vkf_status status = take_section(&file, "", root);
    json_decref(root);
    return status;
}

// ---- going on

// What a run is made of: with another it would be another run.
static bool is_fixed(vkf_train_key key)
{
    const vkf_train_row *row = &vkf_train_rows[key];
    return key == VKF_TRAIN_MODEL || key == VKF_TRAIN_TOKENIZER || key == VKF_TRAIN_TASK ||
           key == VKF_TRAIN_PARAMETERS || key == VKF_TRAIN_OPTIMIZER || key == VKF_TRAIN_SEED ||
           strcmp(row->section, "new_model") == 0 || strcmp(row->section, "lora") == 0;
}

// A directory may be called otherwise, or have moved.
static bool is_same_directory(const char *path, const char *earlier)
{
    vkf__file_info a, b;
    if (!path || !earlier || !vkf__path_info(path, &a))
        return false;
    return !vkf__path_info(earlier, &b) || (a.device == b.device && a.number == b.number);
}

static bool is_same(vkf_train_config *config, vkf_train_config *earlier, vkf_train_key key, const json_t *value)
{
    json_t *own = vkf_train_value_json(config, key);
    const bool same = own && value ? json_equal(own, value) : own == value;
    json_decref(own);
    if (same || (key != VKF_TRAIN_MODEL && key != VKF_TRAIN_TOKENIZER))
        return same;
    return is_same_directory(*(char **)vkf_train_member(config, key), *(char **)vkf_train_member(earlier, key));
}

static vkf_status fail_fixed(const config_file *file, vkf_train_key key, const json_t *value)
{
    char name[VKF_TRAIN_NAME_BYTES];
    char *had = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    vkf_train_key_name(key, name);
    const vkf_status status = vkf__fail(
        file->config->host, VKF_ERROR_INVALID_ARGUMENT,
        "'%s' (--%s) is another than in %s, which has %.200s: what --resume goes on with keeps it; leave it out, or "
        "begin another run",
        name, vkf_train_rows[key].flag, file->path, had ? had : "none");
    free(had); // jansson's own
    return status;
}

// How long the run goes on is said anew by either of both.
static bool is_said_anew(const vkf_train_config *config, vkf_train_key key)
{
    return config->origins[key] != VKF_TRAIN_DEFAULT || key == VKF_TRAIN_OUTPUT ||
           (key == VKF_TRAIN_EPOCHS && config->origins[VKF_TRAIN_STEPS] != VKF_TRAIN_DEFAULT) ||
           (key == VKF_TRAIN_STEPS && config->origins[VKF_TRAIN_EPOCHS] != VKF_TRAIN_DEFAULT);
}

static vkf_status take_earlier(const config_file *file, vkf_train_config *earlier)
{
    vkf_train_config *config = file->config, given = *config;
    for (vkf_train_key key = 0; key < VKF_TRAIN_KEY_COUNT; key++) {
        vkf_status status = VKF_OK;
        json_t *value = vkf_train_value_json(earlier, key);
        if (is_fixed(key) && given.origins[key] != VKF_TRAIN_DEFAULT && !is_same(config, earlier, key, value))
            status = fail_fixed(file, key, value);
        else if (value && earlier->origins[key] != VKF_TRAIN_DEFAULT && !is_said_anew(&given, key)) {
            status = vkf_train_value_take(config, key, value);
            status = status == VKF_ERROR_OUT_OF_HOST_MEMORY ? no_memory(config->host) : status;
            config->origins[key] = VKF_TRAIN_FILE;
        }
        json_decref(value);
        VKF_RETURN_IF_ERROR(status);
    }
    return VKF_OK;
}

vkf_status vkf_train_config_continue(vkf_train_config *config, const char *path)
{
    const config_file file = {config, path};
    vkf_train_config earlier;
    vkf_train_config_init(config->host, &earlier);
    vkf_status status = vkf_train_config_load(&earlier, path);
    if (status == VKF_OK)
        status = take_earlier(&file, &earlier);
    vkf_train_config_free(&earlier);
    return status;
}

// ---- writing

// Gives the object of a section, which is made when it is first needed. It belongs to `root`.
static json_t *section_of(json_t *root, const char *section)
{
    json_t *object = section[0] ? json_object_get(root, section) : root;
    if (object)
        return object;
    return json_object_set_new(root, section, json_object()) == 0 ? json_object_get(root, section) : NULL;
}

json_t *vkf_train_config_json(const vkf_train_config *config)
{
    json_t *root = json_object();
    for (vkf_train_key key = 0; root && key < VKF_TRAIN_KEY_COUNT; key++) {
        if (config->origins[key] == VKF_TRAIN_DEFAULT || vkf_train_value_is_empty(config, key))
            continue;
        json_t *object = section_of(root, vkf_train_rows[key].section), *value = vkf_train_value_json(config, key);
        if (json_object_set_new(object, vkf_train_rows[key].key, value) == 0) // releases the value if it fails
            continue;
        json_decref(root);
        root = NULL;
    }
    return root;
}
