// Processes and signals of POSIX.
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/run_apart.h"

vkf_apart_result vkf_run_apart(int (*run)(void *user), void *user)
{
    int result = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit(run(user));
    if (child < 0 || waitpid(child, &result, 0) != child)
        return (vkf_apart_result){.code = -1};
    if (WIFEXITED(result))
        return (vkf_apart_result){.code = WEXITSTATUS(result)};
    return (vkf_apart_result){.code = -1, .signal = WTERMSIG(result)};
}

static const int interrupts[] = {SIGINT, SIGTERM};
static struct sigaction actions_before[sizeof interrupts / sizeof interrupts[0]];

void vkf_catch_interrupts(void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof interrupts / sizeof interrupts[0]; i++)
        if (sigaction(interrupts[i], &action, &actions_before[i]) == 0 && actions_before[i].sa_handler == SIG_IGN)
            (void)sigaction(interrupts[i], &actions_before[i], NULL);
}

void vkf_release_interrupts(void)
{
    for (size_t i = 0; i < sizeof interrupts / sizeof interrupts[0]; i++)
        (void)sigaction(interrupts[i], &actions_before[i], NULL);
}
