// Opens descriptions of devices by their paths.
#include "command/described_device.h"

#include <stdlib.h>
#include <string.h>

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
