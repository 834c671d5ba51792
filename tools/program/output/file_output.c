// Writes files through the library's own writer, and prints its messages.
#include "output/file_output.h"

#include "command/options.h"

vkf__host vkf_printing_host(void)
{
    vkf__host host;
    // This fails only with an incomplete allocator.
    (void)!vkf__host_init(&host, NULL, vkf_print_message, NULL, VKF_SEVERITY_WARNING);
    return host;
}

bool vkf_write_stream(const char *path, vkf_stream_writer write, const void *user)
{
    const vkf__host host = vkf_printing_host();
    vkf__new_file file = {0};
    if (vkf__new_file_open(&host, path, &file) != VKF_OK)
        return false;
    if (!write(file.stream, user) && !ferror(file.stream)) {
        vkf_print_error("%s: cannot be written: memory is exhausted", path);
        vkf__new_file_discard(&file);
        return false;
    }
    return vkf__new_file_commit(&file) == VKF_OK;
}
