// Looks at what it opens before it reads.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/system_file.h"
#include "system/open_input.h"

#define WAIT_MS 10000
#define STEP_MS 50

// A pipe's first byte, or EOF where there is none yet or at all. The descriptor does not block.
typedef struct beginning {
    int first; // -1: none was read
    bool opened;
} beginning;

// read() tells a pipe without a writer, which gives 0, from one whose writer takes its time. One that has come and gone
// leaves a hang-up behind.
static beginning wait_for_writer(int descriptor)
{
    for (int waited = 0; waited < WAIT_MS; waited += STEP_MS) {
        unsigned char byte = 0;
        const ssize_t got = read(descriptor, &byte, 1);
        if (got != 0)
            return (beginning){.first = got == 1 ? byte : -1, .opened = got == 1 || errno == EAGAIN};
        struct pollfd event = {.fd = descriptor, .events = POLLIN};
        (void)poll(&event, 1, STEP_MS);
        if (event.revents & POLLHUP)
            return (beginning){.first = -1, .opened = true};
    }
    return (beginning){.first = -1, .opened = false};
}

static const char *prepare(int descriptor, int *out_first)
{
    vkf__file_info info;
    *out_first = -1;
    if (!vkf__descriptor_info(descriptor, &info))
        return strerror(errno);
    if (info.kind == VKF_FILE_DIRECTORY)
        return strerror(EISDIR);
    if (info.kind == VKF_FILE_OTHER &&
        lseek(descriptor, 0, SEEK_CUR) < 0) { // no device that can be read from the start
        const beginning begun = wait_for_writer(descriptor);
        if (!begun.opened)
            return "nobody writes into this pipe";
        *out_first = begun.first;
    }
    const int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 || fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) < 0 ? strerror(errno) : NULL;
}

FILE *vkf_open_input(const char *path, const char **out_why)
{
    int first = -1, descriptor = vkf__open_to_read(path);
    const char *why = descriptor < 0 ? strerror(errno) : prepare(descriptor, &first);
    FILE *stream = why ? NULL : vkf__descriptor_stream(descriptor, "rb");
    if (!why && !stream)
        why = strerror(errno);
    if (!stream && descriptor >= 0)
        vkf__descriptor_close(descriptor);
    if (stream && first >= 0)
        (void)ungetc(first, stream);
    *out_why = why;
    return stream;
}
