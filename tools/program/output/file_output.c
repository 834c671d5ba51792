// Writes files through the library's own writer, and prints its messages.
#define _POSIX_C_SOURCE 200809L

#include "output/file_output.h"

#include <stdlib.h>

#include "command/options.h"

vkf__host vkf_printing_host(void)
{
    vkf__host host;
    // This fails only with an incomplete allocator.
    (void)!vkf__host_init(&host, NULL, vkf_print_message, NULL, VKF_SEVERITY_WARNING);
    return host;
}

bool vkf_write_file(const char *path, const void *data, size_t size_bytes)
{
    const vkf__host host = vkf_printing_host();
    return vkf__file_write(&host, path, data, size_bytes) == VKF_OK;
}

bool vkf_write_stream(const char *path, vkf_stream_writer write, const void *user)
{
    char *bytes = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&bytes, &size_bytes);
    bool written = stream && write(stream, user) && !ferror(stream);
    if (stream && fclose(stream) != 0)
        written = false;
    if (!written)
        vkf_print_error("%s: cannot be written: memory is exhausted", path);
    written = written && vkf_write_file(path, bytes, size_bytes);
    free(bytes);
    return written;
}
