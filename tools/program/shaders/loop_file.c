#include "shaders/loop_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/command.h"
#include "output/json_output.h"
#include "shaders/loop_output.h"

#define MAX_BYTES (64L << 20)

bool vkf_is_assembly_file(const char *argument)
{
    const size_t length = strlen(argument);
    return length > 4 && strcmp(argument + length - 4, ".asm") == 0;
}

// Returns the whole text, to be freed, or NULL with a message.
static char *read_text(const char *path)
{
    FILE *file = vkf__stream_open(path, "rb");
    char *text = NULL;
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && size <= MAX_BYTES)
        text = calloc((size_t)size + 1, 1);
    if (!file)
        vkf_print_error("%.200s: %s", path, strerror(errno));
    else if (size > MAX_BYTES)
        vkf_print_error("%.200s: too large for an assembly", path);
    else if (!text || fseek(file, 0, SEEK_SET) != 0 || fread(text, 1, (size_t)size, file) != (size_t)size) {
        vkf_print_error("%.200s: it cannot be read", path);
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static json_t *file_json(const char *path, const loop_reading *reading)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "file", path);
    loop_put_json(object, reading);
    return object;
}

int vkf_report_assembly_files(char *const *paths, size_t count, const chip_rates *rates, int64_t waves,
                              vkf_shader_form form)
{
    bool good = true;
    json_t *array = form == VKF_SHADER_JSON ? json_array() : NULL;
    if (form == VKF_SHADER_TABLE || form == VKF_SHADER_MARKDOWN)
        loop_print_head(form == VKF_SHADER_MARKDOWN);
    for (size_t i = 0; i < count; i++) {
        loop_reading reading;
        char *text = read_text(paths[i]);
        good &= text != NULL;
        if (!text)
            continue;
        loop_read(text, rates, waves, &reading);
        free(text);
        if (!reading.read && strcmp(reading.status, "no loop") != 0) {
            vkf_print_error("%.200s: %s", paths[i], reading.status);
            good = false;
        } else if (form == VKF_SHADER_JSON) {
            json_array_append_new(array, file_json(paths[i], &reading));
        } else if (form == VKF_SHADER_JSON_LINES) {
            good &= vkf_print_json(file_json(paths[i], &reading));
        } else {
            loop_print_row(form == VKF_SHADER_MARKDOWN, paths[i], &reading, "");
        }
    }
    if (form == VKF_SHADER_JSON)
        good &= vkf_print_json(array);
    return good ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}
