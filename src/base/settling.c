// Gathers runs in windows, and compares these.
#include "base/settling.h"

#include <math.h>
#include <stdlib.h>

vkf__settling vkf__settling_begin(double now_ns, double cap_ns)
{
    return (vkf__settling){
        .begin_ns = now_ns,
        .cap_ns = cap_ns,
        .late = cap_ns <= 0,
        .window_begin_ns = now_ns,
        .stride = 1,
    };
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// A window may have thousands of runs: when the samples are full, every second one goes, and fewer are added from then
// on.
static void add_sample(vkf__settling *s, double run_ns)
{
    if (s->runs++ % s->stride != 0)
        return;
    if (s->sample_count == VKF_SETTLING_SAMPLES) {
        for (uint32_t i = 0; i < VKF_SETTLING_SAMPLES / 2; i++)
            s->samples_ns[i] = s->samples_ns[2 * i];
        s->sample_count = VKF_SETTLING_SAMPLES / 2;
        s->stride *= 2;
    }
    s->samples_ns[s->sample_count++] = run_ns;
}

// The latest window that ended at least the lag before `now_ns`; NULL: none did.
static const vkf__settling_window *window_before(const vkf__settling *s, double now_ns)
{
    for (uint32_t back = 1; back <= s->window_count && back <= VKF_SETTLING_WINDOWS; back++) {
        const vkf__settling_window *window = &s->windows[(s->window_count - back) % VKF_SETTLING_WINDOWS];
        if (window->end_ns <= now_ns - VKF_SETTLING_LAG_NS)
            return window;
    }
    return NULL;
}

static void judge(vkf__settling *s, const vkf__settling_window *window)
{
    const vkf__settling_window *before = window_before(s, window->end_ns);
    if (!before || fabs(window->median_ns - before->median_ns) > VKF_SETTLING_SHARE * before->median_ns) {
        s->steady = false;
        return;
    }
    if (!s->steady)
        s->steady_since_ns = before->end_ns;
    s->steady = true;
    s->settled = window->end_ns - s->steady_since_ns >= VKF_SETTLING_LAG_NS + VKF_SETTLING_HOLD_NS;
}

static void end_window(vkf__settling *s, double now_ns)
{
    qsort(s->samples_ns, s->sample_count, sizeof s->samples_ns[0], compare);
    const vkf__settling_window window = {now_ns, s->samples_ns[s->sample_count / 2]};
    judge(s, &window);
    s->windows[s->window_count++ % VKF_SETTLING_WINDOWS] = window;
    s->window_begin_ns = now_ns;
    s->sample_count = s->runs = 0;
    s->stride = 1;
}

void vkf__settling_add(vkf__settling *settling, double now_ns, double run_ns)
{
    add_sample(settling, run_ns);
    if (now_ns - settling->window_begin_ns >= VKF_SETTLING_WINDOW_NS)
        end_window(settling, now_ns);
    settling->late = now_ns - settling->begin_ns >= settling->cap_ns;
}
