// The handler of what the C library of Windows has of signals, which comes in a thread of its own.
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <windows.h>

#include "base/windows_names.h"
#include "system/remove_on_signal.h"

static _Atomic(wchar_t *) marked; // freed by who takes it out

// The C library has set the default action again by now.
static void remove_marked(int number)
{
    wchar_t *path = atomic_exchange(&marked, NULL);
    if (path)
        (void)DeleteFileW(path);
    (void)raise(number);
}

static void install(int number)
{
    void (*before)(int) = signal(number, remove_marked);
    if (before != SIG_DFL && before != SIG_ERR)
        (void)signal(number, before);
}

void vkf_remove_on_signal(const char *path)
{
    wchar_t *wide = path ? vkf__wide(path) : NULL;
    free(atomic_exchange(&marked, wide));
    if (!wide)
        return;
    install(SIGINT);
    install(SIGTERM);
}
