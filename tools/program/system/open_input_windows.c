// Windows opens no directory this way, and its named pipes have a name of another kind.
#include <errno.h>
#include <string.h>

#include "base/system_file.h"
#include "system/open_input.h"

FILE *vkf_open_input(const char *path, const char **out_why)
{
    FILE *stream = vkf__stream_open(path, "rb");
    *out_why = stream ? NULL : strerror(errno);
    return stream;
}
