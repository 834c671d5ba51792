// Reads the monotonic clock.
#include "base/clock.h"

#include <time.h>

double vkf__now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
