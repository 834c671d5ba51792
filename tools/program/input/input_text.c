// Opens and reads at once.
#include "input/input_text.h"

#include "command/options.h"
#include "input/line_reader.h"
#include "system/open_input.h"

bool vkf_read_input(const char *path, size_t max_bytes, char **out_text, size_t *out_size_bytes)
{
    const char *why = NULL;
    FILE *stream = vkf_open_input(path, &why);
    if (!stream) {
        vkf_print_error("%s: cannot be read: %s", path, why);
        return false;
    }
    bool read = vkf_read_stream(stream, path, max_bytes, out_text, out_size_bytes);
    fclose(stream);
    return read;
}
