// Interrupts of Windows, which makes no copy of a process.
#include <signal.h>

#include "system/run_apart.h"

vkf_apart_result vkf_run_apart(int (*run)(void *user), void *user)
{
    return (vkf_apart_result){.code = run(user)};
}

// The C library sets the action back to the default one before it calls the handler.
void vkf_catch_interrupts(void (*handler)(int number))
{
    if (signal(SIGINT, handler) == SIG_IGN)
        (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, handler);
}

void vkf_release_interrupts(void)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
}
