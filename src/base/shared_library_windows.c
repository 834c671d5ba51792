// LoadLibrary() and its kin.
#include "base/shared_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/windows_names.h"

#define REASON_BYTES 40

void *vkf__library_open(const char *name, const char **out_why)
{
    static _Thread_local char why[REASON_BYTES];
    wchar_t *wide = vkf__wide(name);
    // A bare name is looked for where the program and the system are, and not in the current directory, where anybody
    // may have put a file of this name. A path finds the libraries beside it, too.
    const bool path = strpbrk(name, "/\\") != NULL;
    const DWORD places = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (path ? (DWORD)LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : (DWORD)0);
    HMODULE library = wide ? LoadLibraryExW(wide, NULL, places) : NULL;
    if (!library)
        (void)snprintf(why, sizeof why, "Windows gives the error %lu", (unsigned long)GetLastError());
    *out_why = library ? NULL : why;
    free(wide);
    return library;
}

vkf__library_function vkf__library_find(void *library, const char *name)
{
    return (vkf__library_function)(void (*)(void))GetProcAddress((HMODULE)library, name);
}

void vkf__library_close(void *library)
{
    if (library)
        (void)FreeLibrary((HMODULE)library);
}

bool vkf__library_own_folder(char *out_folder, size_t capacity)
{
    static const char inside = 0; // any object of this file
    const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    HMODULE own = NULL;
    wchar_t wide[MAX_PATH];
    if (!GetModuleHandleExW(flags, (const wchar_t *)(const void *)&inside, &own))
        return false;
    const DWORD length = GetModuleFileNameW(own, wide, MAX_PATH);
    char *path = length > 0 && length < MAX_PATH ? vkf__utf8(wide) : NULL;
    char *slash = path ? strrchr(path, '\\') : NULL;
    const bool fits = slash && (size_t)(slash - path) < capacity;
    if (fits) {
        *slash = '\0';
        memcpy(out_folder, path, strlen(path) + 1);
    }
    free(path);
    return fits;
}
