// dlopen() and its kin.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // dladdr() is no part of POSIX
#endif
#include "base/shared_library.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

// The file that an address is mapped from, as Linux knows it. What dladdr() tells may be relative to a directory that
// the process has left, and for a program it is what the caller called it.
static bool mapped_file(const void *address, char *out_file, size_t capacity)
{
    char line[MAX_PATH_BYTES + 128];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps)) {
        uintptr_t begin = 0, end = 0;
        int path = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end, &path) == 2 && path > 0 &&
            (uintptr_t)address >= begin && (uintptr_t)address < end)
            found = snprintf(out_file, capacity, "%s", line + path) < (int)capacity;
    }
    if (maps)
        (void)fclose(maps);
    return found && out_file[0] == '/';
}

bool vkf__library_own_folder(char *out_folder, size_t capacity)
{
    static const char inside = 0; // any object of this file
    char mapped[MAX_PATH_BYTES];
    Dl_info info = {0};
    const char *file = mapped_file(&inside, mapped, sizeof mapped)     ? mapped
                       : dladdr(&inside, &info) != 0 && info.dli_fname ? info.dli_fname
                                                                       : "";
    const char *slash = strrchr(file, '/');
    const size_t length = slash ? (size_t)(slash - file) : 0;
    if (file[0] != '/' || length >= capacity) // the current directory is never asked
        return false;
    memcpy(out_folder, file, length);
    out_folder[length] = '\0';
    return true;
}
