#include "lab/shaders/loop_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/command.h"
#include "input/input_text.h"
#include "lab/shaders/loop_output.h"
#include "output/json_output.h"

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
                              vkf_rows_format format)
{
    vkf_rows rows = loop_rows(format);
    bool good = true;
    vkf_rows_head(&rows);
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
        } else {
            good &= vkf_rows_add(&rows, file_json(paths[i], &reading));
        }
    }
    return vkf_rows_end(&rows) && good ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}
