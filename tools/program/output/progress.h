// A progress line on stderr: shown only on a terminal, and only for tasks that take longer than a second.
#ifndef VKF_PROGRAM_PROGRESS_H
#define VKF_PROGRAM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vkf_progress {
    const char *task; // such as "reading"; static
    bool terminal;
    bool shown;
    double start_ms;
    double last_ms;
} vkf_progress;

double vkf_now_ms(void); // a monotonic clock

vkf_progress vkf_progress_start(const char *task);

// A vkf_progress_fn with a vkf_progress as `user`; always returns true. `what` may be NULL.
bool vkf_progress_show(void *user, uint32_t done, uint32_t total, const char *what);

// Clears the line; must be called before anything else is printed.
void vkf_progress_end(vkf_progress *progress);

#endif
