// Finds models in the cache of the Hugging Face hub's own tools.
#include "command/model_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "io/directory.h"
#include "io/file.h"
#include "output/file_output.h"
#include "system/terminal.h"

#define PATH_BYTES 4096
#define NAME_BYTES 256 // more than the hub allows
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// The parts before and after the "@".
typedef struct hub_name {
    char name[NAME_BYTES], revision[NAME_BYTES];
} hub_name;

// Whether text[0, length) is a part of a name: printable in URLs and file names, and not leading to a directory above.
static bool is_part(const char *text, size_t length)
{
    const char *dots = strstr(text, "..");
    return length > 0 && length < NAME_BYTES && strspn(text, LETTERS "-_./") >= length && text[0] != '.' &&
           text[0] != '/' && text[length - 1] != '/' && (!dots || dots >= text + length);
}

// A path of three parts is not a name on the hub.
static bool read_name(const char *text, hub_name *out)
{
    size_t length = strcspn(text, "@"), slashes = 0;
    const char *revision = text[length] ? text + length + 1 : "main";
    for (size_t i = 0; i < length; i++)
        slashes += text[i] == '/';
    if (slashes > 1 || !is_part(text, length) || !is_part(revision, strlen(revision)))
        return false;
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)length, text);
    (void)snprintf(out->revision, sizeof out->revision, "%s", revision);
    return true;
}

// Finds the cache as huggingface_hub does: the first of these variables that is set names it, whether it exists or not.
static bool cache_directory(char out_path[PATH_BYTES])
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"HF_HUB_CACHE", ""},
        {"HUGGINGFACE_HUB_CACHE", ""},
        {"HF_HOME", "/hub"},
        {"XDG_CACHE_HOME", "/huggingface/hub"},
    };
    char value[PATH_BYTES];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (vkf_environment(places[i].variable, value, sizeof value))
            return snprintf(out_path, PATH_BYTES, "%s%s", value, places[i].below) < PATH_BYTES;
    return vkf_user_folder(value, sizeof value) &&
           snprintf(out_path, PATH_BYTES, "%s/.cache/huggingface/hub", value) < PATH_BYTES;
}

// A branch or a tag is a file refs/NAME that contains its commit; a commit is a directory among the snapshots.
static bool read_commit(const vkf__host *host, const char *model, const char *revision, char out_commit[NAME_BYTES])
{
    char path[PATH_BYTES];
    vkf__file_bytes file;
    (void)snprintf(out_commit, NAME_BYTES, "%s", revision);
    if (snprintf(path, sizeof path, "%s/refs/%s", model, revision) >= (int)sizeof path)
        return false;
    if (!vkf__file_exists(path))
        return true;
    if (vkf__file_read(host, path, NAME_BYTES - 1, &file) != VKF_OK)
        return false;
    (void)snprintf(out_commit, NAME_BYTES, "%.*s", (int)file.size_bytes, file.data ? (const char *)file.data : "");
    vkf__file_bytes_free(host, &file);
    out_commit[strcspn(out_commit, "\r\n")] = '\0';
    return out_commit[0] && strspn(out_commit, LETTERS) == strlen(out_commit);
}

// Finds models--ORG--NAME/snapshots/COMMIT, whose files are links into models--ORG--NAME/blobs.
static bool find_snapshot(const char *cache, const hub_name *wanted, char out_path[PATH_BYTES])
{
    const vkf__host host = vkf_printing_host();
    char model[PATH_BYTES], commit[NAME_BYTES], folder[2 * NAME_BYTES] = "";
    size_t length = 0;
    for (const char *c = wanted->name; *c; c++) {
        folder[length++] = *c == '/' ? '-' : *c;
        if (*c == '/')
            folder[length++] = '-';
    }
    return snprintf(model, sizeof model, "%s/models--%s", cache, folder) < (int)sizeof model &&
           read_commit(&host, model, wanted->revision, commit) &&
           snprintf(out_path, PATH_BYTES, "%s/snapshots/%s", model, commit) < PATH_BYTES && vkf__file_exists(out_path);
}

static void say_how_to_get(const char *given, const hub_name *wanted, const char *cache)
{
    bool main = strcmp(wanted->revision, "main") == 0;
    vkf_print_error(
        "'%s' is neither a directory nor a model in the Hugging Face cache '%.400s'; if it is the name of one "
        "on the hub, hf download %s%s%s gets it",
        given, cache, wanted->name, main ? "" : " --revision ", main ? "" : wanted->revision);
}

static bool find(const char **path, char found[PATH_BYTES])
{
    char cache[PATH_BYTES] = "";
    hub_name wanted;
    const vkf__host host = vkf_printing_host();
    if (!vkf__file_exists(*path) && read_name(*path, &wanted) && cache_directory(cache)) {
        if (!find_snapshot(cache, &wanted, found)) {
            say_how_to_get(*path, &wanted, cache);
            return false;
        }
        *path = found;
    }
    return vkf__directory_check(&host, *path) == VKF_OK;
}

bool vkf_find_model(const char **path)
{
    static char found[PATH_BYTES];
    return find(path, found);
}

// Looks up the model of an adapter in the cache, where its name is no path.
static bool find_base(const char *name, const char **model, const char **adapter)
{
    static char found[PATH_BYTES];
    char cache[PATH_BYTES] = "";
    hub_name wanted;
    if (!read_name(name, &wanted) || !cache_directory(cache))
        return true; // whoever opens it says what is wrong
    if (!find_snapshot(cache, &wanted, found)) {
        vkf_print_error(
            "'%.400s' is an adapter of the model %s, which is neither a directory nor in the Hugging Face cache "
            "'%.400s'; hf download %s gets it, or name its directory, and this one by --adapter",
            *model, wanted.name, cache, wanted.name);
        return false;
    }
    *adapter = *model;
    *model = found;
    return true;
}

bool vkf_find_adapted(const char **model, const char **adapter)
{
    static char found[PATH_BYTES];
    char base[PATH_BYTES];
    size_t bytes = sizeof base;
    if (!vkf_find_model(model))
        return false;
    if (*adapter)
        return find(adapter, found);
    const vkf_inspection_desc desc = {
        .directory = *model, .message = vkf_print_message, .min_severity = VKF_SEVERITY_WARNING};
    return vkf_read_adapter_base(&desc, &bytes, base) == VKF_OK && (!*base || find_base(base, model, adapter));
}

void vkf_find_tokenizer(const char **path)
{
    static char found[PATH_BYTES];
    char cache[PATH_BYTES];
    hub_name wanted;
    if (!vkf__file_exists(*path) && read_name(*path, &wanted) && cache_directory(cache) &&
        find_snapshot(cache, &wanted, found))
        *path = found;
}
