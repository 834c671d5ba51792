// The handler of POSIX's signals, which may remove files and little else.
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/remove_on_signal.h"

static _Atomic(char *) marked; // freed by who takes it out

// The default action is set again by now, and comes once the handler has returned.
static void remove_marked(int number)
{
    char *path = atomic_exchange(&marked, NULL);
    if (path)
        (void)unlink(path);
    (void)raise(number);
}

static void install(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction own = {.sa_handler = remove_marked, .sa_flags = (int)SA_RESETHAND}, now;
    (void)sigemptyset(&own.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
            (void)sigaction(signals[i], &own, NULL);
}

void vkf_remove_on_signal(const char *path)
{
    char *copy = path ? strdup(path) : NULL;
    free(atomic_exchange(&marked, copy));
    if (copy)
        install();
}
