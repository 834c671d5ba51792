// The monotonic clock in nanoseconds, exact to one of them for a hundred days.
#ifndef VKF_BASE_CLOCK_H
#define VKF_BASE_CLOCK_H

double vkf__now_ns(void);

#endif
