// dlopen() and its kin.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // dladdr() is no part of POSIX
#endif
#include "base/shared_library.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATH_BYTES 4096

void *vkf__library_open(const char *name, const char **out_why)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();
    *out_why = why ? why : "the system does not say why";
    return library;
}

vkf__library_function vkf__library_find(void *library, const char *name)
{
    // ISO C cannot convert an object pointer to a function pointer.
    vkf__library_function function = NULL;
    void *symbol = dlsym(library, name);
    memcpy(&function, &symbol, sizeof symbol);
    return function;
}

void vkf__library_close(void *library)
{
    if (library)
        (void)dlclose(library);
}

bool vkf__library_own_folder(char *out_folder, size_t capacity)
{
    static const char inside = 0; // any object of this file
    char program[MAX_PATH_BYTES];
    Dl_info info;
    if (dladdr(&inside, &info) == 0 || !info.dli_fname)
        return false;
    const char *file = info.dli_fname;
    // A program goes by the name it was called by, which has no folder where the shell found it.
    if (!strchr(file, '/')) {
        const ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
        program[bytes > 0 ? bytes : 0] = '\0';
        file = program;
    }
    const char *slash = strrchr(file, '/');
    const size_t length = slash ? (size_t)(slash - file) : 0;
    if (!slash || length >= capacity)
        return false;
    memcpy(out_folder, file, length);
    out_folder[length] = '\0';
    return true;
}
