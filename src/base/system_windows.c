// Clocks, processes, threads and names of Windows.
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/windows_names.h"

double vkf__now_ns(void)
{
    LARGE_INTEGER ticks, ticks_of_a_second;
    QueryPerformanceFrequency(&ticks_of_a_second);
    QueryPerformanceCounter(&ticks);
    // Seconds and the rest apart, so that neither loses digits.
    const LONGLONG seconds = ticks.QuadPart / ticks_of_a_second.QuadPart;
    const LONGLONG rest = ticks.QuadPart % ticks_of_a_second.QuadPart;
    return (double)seconds * 1e9 + (double)rest * 1e9 / (double)ticks_of_a_second.QuadPart;
}

static double nanoseconds(FILETIME time)
{
    return (double)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime) * 100;
}

double vkf__thread_ns(void)
{
    FILETIME created, ended, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user))
        return 0;
    return nanoseconds(kernel) + nanoseconds(user);
}

void *vkf__thread_memory(void)
{
    static _Thread_local max_align_t memory[VKF_THREAD_BYTES / sizeof(max_align_t)];
    return memory;
}

void vkf__pause_ns(uint64_t duration_ns)
{
    Sleep((DWORD)((duration_ns + 999999u) / 1000000u));
}

bool vkf__calendar(time_t time, struct tm *out_date)
{
    const __time64_t wide = time;
    return _gmtime64_s(out_date, &wide) == 0;
}

long vkf__process_id(void)
{
    return (long)GetCurrentProcessId();
}

bool vkf__watch_forks(void)
{
    return true; // nothing forks
}

long vkf__this_process(void)
{
    return vkf__process_id();
}

static bool read_started(HANDLE process, uint64_t *out_started)
{
    FILETIME created, ended, kernel, user;
    if (!GetProcessTimes(process, &created, &ended, &kernel, &user))
        return false;
    *out_started = (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
    return true;
}

// Windows has numbers of processes for the machine, and the start of a process tells one run of it from another.
static vkf__process_place own_place(void)
{
    vkf__process_place place = {.host = "-", .boot = "-"};
    char name[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD size = sizeof name;
    if (!GetComputerNameA(name, &size) || sscanf(name, "%40s", place.host) != 1)
        (void)snprintf(place.host, sizeof place.host, "-");
    return place;
}

vkf__process_mark vkf__process_mark_own(void)
{
    vkf__process_mark mark = {.id = GetCurrentProcessId(), .place = own_place()};
    if (!read_started(GetCurrentProcess(), &mark.started))
        mark.started = 0;
    return mark;
}

static bool lives(const vkf__process_mark *mark)
{
    uint64_t started = 0;
    if (mark->id == 0 || mark->id > UINT32_MAX)
        return false;
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, (DWORD)mark->id);
    if (!process)
        return GetLastError() == ERROR_ACCESS_DENIED && mark->started == 0;
    // One that has ended is there for as long as somebody has a handle of it.
    const bool runs = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    const bool same = mark->started == 0 || (read_started(process, &started) && started == mark->started);
    CloseHandle(process);
    return runs && same;
}

vkf__process_state vkf__process_state_of(const vkf__process_mark *mark)
{
    const vkf__process_place own = own_place();
    if (!vkf__same_place(&own, &mark->place))
        return VKF_PROCESS_ELSEWHERE;
    return lives(mark) ? VKF_PROCESS_LIVES : VKF_PROCESS_ENDED;
}

uint32_t vkf__processors(void)
{
    SYSTEM_INFO info;
    GetNativeSystemInfo(&info);
    return info.dwNumberOfProcessors < 1 ? 1 : (uint32_t)info.dwNumberOfProcessors;
}

void vkf__yield(void)
{
    (void)SwitchToThread();
}

bool vkf__without_signals(void (*start)(void *user), void *user)
{
    start(user); // signals come in a thread of their own
    return true;
}

// Takes the lengths first and then the text, as MultiByteToWideChar() and WideCharToMultiByte() do.
wchar_t *vkf__wide(const char *text)
{
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    if (length <= 0) {
        errno = EILSEQ;
        return NULL;
    }
    wchar_t *wide = calloc((size_t)length, sizeof *wide);
    if (wide)
        (void)MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
    else
        errno = ENOMEM;
    return wide;
}

char *vkf__utf8(const wchar_t *text)
{
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *narrow = bytes > 0 ? calloc((size_t)bytes, 1) : NULL;
    if (narrow)
        (void)WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, bytes, NULL, NULL);
    else
        errno = ENOMEM;
    return narrow;
}

void vkf__take_windows_error(void)
{
    static const struct {
        DWORD windows;
        int posix;
    } errors[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},    {ERROR_PATH_NOT_FOUND, ENOENT},   {ERROR_INVALID_NAME, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},       {ERROR_BAD_NET_NAME, ENOENT},     {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_ACCESS_DENIED, EACCES},     {ERROR_SHARING_VIOLATION, EBUSY}, {ERROR_LOCK_VIOLATION, EBUSY},
        {ERROR_WRITE_PROTECT, EROFS},      {ERROR_FILE_EXISTS, EEXIST},      {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},  {ERROR_DISK_FULL, ENOSPC},        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM}, {ERROR_OUTOFMEMORY, ENOMEM},      {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    };
    const DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].windows == error)
            errno = errors[i].posix;
}
