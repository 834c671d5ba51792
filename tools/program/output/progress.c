// Draws and clears the progress line.
#include "output/progress.h"

#include <stdio.h>

#include "base/clock.h"
#include "command/options.h"
#include "output/visible_text.h"
#include "system/terminal.h"

#define SILENT_MS 1000.0
#define REDRAW_MS 100.0

double vkf_now_ms(void)
{
    return vkf__now_ns() * 1e-6;
}

vkf_progress vkf_progress_start(const char *task)
{
    return (vkf_progress){
        .task = task, .terminal = !vkf_is_quiet() && vkf_is_terminal(VKF_STANDARD_ERROR), .start_ms = vkf_now_ms()};
}

static void clear_line(void)
{
    fputs("\r\033[K", stderr);
}

bool vkf_progress_show(void *user, uint32_t done, uint32_t total, const char *what)
{
    vkf_progress *progress = user;
    double now_ms = vkf_now_ms();
    if (!progress->terminal || now_ms - progress->start_ms < SILENT_MS || now_ms - progress->last_ms < REDRAW_MS)
        return true;
    progress->last_ms = now_ms;
    progress->shown = true;
    clear_line();
    vkf_print_on(stderr, "%s", progress->task);
    if (total > 0)
        fprintf(stderr, " %u of %u", done, total);
    else
        fprintf(stderr, " %u", done);
    vkf_print_on(stderr, "%s%.60s", what ? ": " : "", what ? what : "");
    fflush(stderr);
    return true;
}

void vkf_progress_end(vkf_progress *progress)
{
    if (progress->shown)
        clear_line();
    progress->shown = false;
}
