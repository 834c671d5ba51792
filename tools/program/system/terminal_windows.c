// Streams, arguments and surroundings in Windows.
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <shellapi.h>

#include "base/windows_names.h"
#include "system/terminal.h"

#define PATH_LETTERS 1024

static HANDLE handle_of(vkf_standard_stream stream)
{
    static const DWORD numbers[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    return GetStdHandle(numbers[stream]);
}

bool vkf_is_terminal(vkf_standard_stream stream)
{
    DWORD mode;
    return GetConsoleMode(handle_of(stream), &mode) != 0;
}

// The C library gives a stream without a handle the number -2.
static void keep(FILE *stream)
{
    if (_fileno(stream) < 0)
        (void)!freopen("NUL", "rb", stream);
    else
        (void)_setmode(_fileno(stream), _O_BINARY);
}

void vkf_prepare_streams(void)
{
    keep(stdin);
    keep(stdout);
    keep(stderr);
    (void)SetConsoleOutputCP(CP_UTF8);
    for (vkf_standard_stream stream = VKF_STANDARD_OUTPUT; stream <= VKF_STANDARD_ERROR; stream++) {
        DWORD mode;
        if (GetConsoleMode(handle_of(stream), &mode))
            (void)SetConsoleMode(handle_of(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

char **vkf_arguments(int count, char **given)
{
    int wide_count = 0;
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &wide_count);
    char **arguments = wide ? calloc((size_t)wide_count + 1, sizeof *arguments) : NULL;
    bool done = arguments != NULL && wide_count == count;
    for (int i = 0; done && i < wide_count; i++)
        done = (arguments[i] = vkf__utf8(wide[i])) != NULL;
    if (wide)
        LocalFree(wide);
    if (done)
        return arguments;
    for (int i = 0; arguments && i < wide_count; i++)
        free(arguments[i]);
    free(arguments);
    return wide && wide_count != count ? given : NULL;
}

// Takes what a system's function wrote, or would have written were there room.
static bool take(const wchar_t *wide, DWORD length, char *out, size_t capacity)
{
    char *text = length > 0 && length < PATH_LETTERS ? vkf__utf8(wide) : NULL;
    const bool fits = text && strlen(text) < capacity;
    if (fits)
        memcpy(out, text, strlen(text) + 1);
    free(text);
    return fits;
}

bool vkf_environment(const char *name, char *out_value, size_t capacity)
{
    wchar_t value[PATH_LETTERS];
    wchar_t *wide = vkf__wide(name);
    const DWORD length = wide ? GetEnvironmentVariableW(wide, value, PATH_LETTERS) : 0;
    free(wide);
    return take(value, length, out_value, capacity);
}

bool vkf_user_folder(char *out_path, size_t capacity)
{
    return vkf_environment("USERPROFILE", out_path, capacity);
}

bool vkf_temporary_folder(char *out_path, size_t capacity)
{
    wchar_t path[PATH_LETTERS];
    return take(path, GetTempPathW(PATH_LETTERS, path), out_path, capacity);
}
