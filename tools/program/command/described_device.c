// Opens descriptions of devices by their paths, and those that are built in by their names.
#include "command/described_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/embedded_chips.h"
#include "command/options.h"

// Where #PROFILE begins, or the end.
static size_t path_length(const char *text)
{
    const char *hash = strrchr(text, '#');
    return hash ? (size_t)(hash - text) : strlen(text);
}

bool vkf_names_description(const char *text)
{
    static const char ending[] = ".json";
    const size_t length = path_length(text), tail = sizeof ending - 1;
    return memchr(text, '/', length) || (length > tail && memcmp(text + length - tail, ending, tail) == 0);
}

char *vkf_description_path(const char *text)
{
    const size_t length = path_length(text);
    char *path = malloc(length + 1);
    if (!path) {
        vkf_print_error("no memory for a path");
        return NULL;
    }
    memcpy(path, text, length);
    path[length] = '\0';
    return path;
}

bool vkf_open_description(const char *text, vkf_device_description **out_description)
{
    char *path = vkf_description_path(text);
    const char *profile = text + path_length(text);
    const vkf_device_description_desc desc = {
        .path = path,
        .profile = *profile ? profile + 1 : NULL,
        .message = vkf_print_message,
    };
    bool opened = path && vkf_device_description_create(&desc, out_description) == VKF_OK;
    free(path);
    return opened;
}

static const struct vkf_embedded_chip *find_embedded(const char *name)
{
    for (size_t i = 0; i < VKF_EMBEDDED_CHIP_COUNT; i++)
        if (strcmp(vkf_embedded_chips[i].name, name) == 0)
            return &vkf_embedded_chips[i];
    return NULL;
}

static void report_unknown(const char *name)
{
    char names[512] = "";
    for (size_t i = 0; i < VKF_EMBEDDED_CHIP_COUNT; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", vkf_embedded_chips[i].name);
    }
    vkf_print_error("--chip: there is no chip '%.200s'; there are %s, and files of the Vulkan Profiles schema", name,
                    names);
}

static bool open_embedded(const struct vkf_embedded_chip *embedded, vkf_device_description **out_description,
                          json_t **out_root)
{
    const vkf_device_description_desc desc = {
        .path = embedded->name,
        .text = embedded->text,
        .text_bytes = embedded->bytes,
        .message = vkf_print_message,
    };
    *out_root = json_loadb(embedded->text, embedded->bytes, VKF_CHIP_NUMBERS, NULL);
    if (!*out_root)
        vkf_print_error("--chip: the description of '%s' is not JSON, or there is no memory for it", embedded->name);
    return *out_root && vkf_device_description_create(&desc, out_description) == VKF_OK;
}

static bool open_file(const char *name, vkf_device_description **out_description, json_t **out_root)
{
    char *path = vkf_description_path(name);
    bool opened = path && vkf_open_description(name, out_description);
    // The numbers of "vkformer" are read by whoever wants them; everything else was checked by the library.
    *out_root = opened ? json_load_file(path, VKF_CHIP_NUMBERS, NULL) : NULL;
    free(path);
    return *out_root != NULL;
}

bool vkf_open_chip(const char *name, vkf_device_description **out_description, json_t **out_root)
{
    const struct vkf_embedded_chip *embedded = find_embedded(name);
    *out_description = NULL;
    *out_root = NULL;
    if (!embedded && !vkf_names_description(name)) {
        report_unknown(name);
        return false;
    }
    return embedded ? open_embedded(embedded, out_description, out_root) : open_file(name, out_description, out_root);
}
