#include "shaders/loop_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/command.h"
#include "input/input_text.h"
#include "output/json_output.h"
#include "shaders/loop_output.h"

#define MAX_BYTES ((size_t)64 << 20)

bool vkf_is_assembly_file(const char *argument)
{
    const size_t length = strlen(argument);
    return length > 4 && strcmp(argument + length - 4, ".asm") == 0;
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
        char *text = NULL;
        size_t bytes = 0;
        if (!vkf_read_input(paths[i], MAX_BYTES, &text, &bytes)) {
            good = false;
            continue;
        }
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
