// Files of Windows.
#include "base/system_file.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/windows_names.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define TICKS_OF_A_SECOND INT64_C(10000000)
#define SECONDS_BEFORE_1970 INT64_C(11644473600) // Windows counts from 1601 on

// INVALID_HANDLE_VALUE with errno.
static HANDLE open_path(const char *path, DWORD access, DWORD share, DWORD how, DWORD flags)
{
    wchar_t *wide = vkf__wide(path);
    if (!wide)
        return INVALID_HANDLE_VALUE;
    HANDLE handle = CreateFileW(wide, access, share, NULL, how, flags, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        vkf__take_windows_error();
    free(wide);
    return handle;
}

static bool take_info(HANDLE handle, vkf__file_info *out_info)
{
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(handle) != FILE_TYPE_DISK) {
        // Nobody can tell whether two handles of these lead to the same.
        *out_info = (vkf__file_info){.kind = VKF_FILE_OTHER, .number = (uint64_t)(uintptr_t)handle};
        return true;
    }
    if (!GetFileInformationByHandle(handle, &info)) {
        vkf__take_windows_error();
        return false;
    }
    const bool directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    const bool link = (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    const int64_t ticks =
        (int64_t)((uint64_t)info.ftLastWriteTime.dwHighDateTime << 32 | info.ftLastWriteTime.dwLowDateTime);
    *out_info = (vkf__file_info){
        .kind = link        ? VKF_FILE_LINK
                : directory ? VKF_FILE_DIRECTORY
                            : VKF_FILE_REGULAR,
        .size_bytes = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow,
        .seconds = ticks / TICKS_OF_A_SECOND - SECONDS_BEFORE_1970,
        .nanoseconds = ticks % TICKS_OF_A_SECOND * 100,
        .device = info.dwVolumeSerialNumber,
        .number = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
    };
    return true;
}

static bool info_of(const char *path, DWORD flags, vkf__file_info *out_info)
{
    // Directories open with FILE_FLAG_BACKUP_SEMANTICS alone.
    HANDLE handle = open_path(path, FILE_READ_ATTRIBUTES, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags);
    if (handle == INVALID_HANDLE_VALUE)
        return false;
    const bool taken = take_info(handle, out_info);
    const int error = errno;
    CloseHandle(handle);
    errno = error;
    return taken;
}

bool vkf__path_info(const char *path, vkf__file_info *out_info)
{
    return info_of(path, 0, out_info);
}

bool vkf__entry_info(const char *path, vkf__file_info *out_info)
{
    return info_of(path, FILE_FLAG_OPEN_REPARSE_POINT, out_info);
}

bool vkf__descriptor_info(int descriptor, vkf__file_info *out_info)
{
    const intptr_t handle = _get_osfhandle(descriptor);
    return handle != -1 && handle != -2 && take_info((HANDLE)handle, out_info);
}

// Links are not read.
char *vkf__path_absolute(const char *path)
{
    wchar_t *wide = vkf__wide(path), *full = wide ? _wfullpath(NULL, wide, 0) : NULL;
    char *absolute = full ? vkf__utf8(full) : NULL;
    free(wide);
    free(full);
    return absolute;
}

bool vkf__cache_folder(char *out_path, size_t capacity)
{
    const wchar_t *wide = _wgetenv(L"LOCALAPPDATA");
    char *folder = wide ? vkf__utf8(wide) : NULL;
    const bool fits = folder && strlen(folder) < capacity;
    if (fits)
        memcpy(out_path, folder, strlen(folder) + 1);
    free(folder);
    return fits;
}

bool vkf__is_slash(char letter)
{
    return letter == '/' || letter == '\\';
}

size_t vkf__path_directory_bytes(const char *path)
{
    size_t bytes = 0;
    for (size_t i = 0; path[i]; i++)
        if (vkf__is_slash(path[i]) || (i == 1 && path[i] == ':'))
            bytes = i + 1;
    return bytes;
}

FILE *vkf__stream_open(const char *path, const char *mode)
{
    wchar_t *wide_path = vkf__wide(path), *wide_mode = vkf__wide(mode);
    FILE *stream = wide_path && wide_mode ? _wfopen(wide_path, wide_mode) : NULL;
    const int error = errno;
    free(wide_path);
    free(wide_mode);
    errno = error;
    return stream;
}

int vkf__stream_next(FILE *stream)
{
    return _getc_nolock(stream);
}

FILE *vkf__descriptor_stream(int descriptor, const char *mode)
{
    return _fdopen(descriptor, mode);
}

// A descriptor that owns the handle, or -1.
static int descriptor_of(HANDLE handle, int flags)
{
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    const int descriptor = _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT);
    if (descriptor < 0)
        CloseHandle(handle);
    return descriptor;
}

int vkf__open_to_read(const char *path)
{
    return descriptor_of(open_path(path, GENERIC_READ, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS),
                         _O_RDONLY);
}

int vkf__open_to_write(const char *path, bool truncate)
{
    return descriptor_of(open_path(path, GENERIC_WRITE, SHARE_ALL, truncate ? TRUNCATE_EXISTING : OPEN_EXISTING, 0),
                         _O_WRONLY);
}

int vkf__open_new(const char *path, uint32_t mode)
{
    (void)mode;
    return descriptor_of(open_path(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, CREATE_NEW, 0), _O_WRONLY);
}

int vkf__lock_take(const char *path)
{
    return descriptor_of(open_path(path, GENERIC_WRITE | DELETE, 0, OPEN_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE), _O_WRONLY);
}

void vkf__lock_release(const char *path, int lock)
{
    (void)path; // goes with its last handle
    (void)_close(lock);
}

int vkf__descriptor_copy(int descriptor)
{
    return _dup(descriptor);
}

void vkf__descriptor_close(int descriptor)
{
    (void)_close(descriptor);
}

int64_t vkf__descriptor_read_at(int descriptor, void *out_bytes, size_t size_bytes, uint64_t offset)
{
    OVERLAPPED place = {.Offset = (DWORD)(offset & UINT32_MAX), .OffsetHigh = (DWORD)(offset >> 32)};
    DWORD got = 0;
    const DWORD wanted = size_bytes < UINT32_MAX ? (DWORD)size_bytes : UINT32_MAX;
    if (ReadFile((HANDLE)_get_osfhandle(descriptor), out_bytes, wanted, &got, &place))
        return (int64_t)got;
    if (GetLastError() == ERROR_HANDLE_EOF)
        return 0;
    vkf__take_windows_error();
    return -1;
}

bool vkf__descriptor_writes(int descriptor)
{
    if (descriptor != 1 && descriptor != 2)
        return false;
    HANDLE handle = GetStdHandle(descriptor == 1 ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
    return handle != NULL && handle != INVALID_HANDLE_VALUE;
}

bool vkf__path_writable(const char *path)
{
    wchar_t *wide = vkf__wide(path);
    const DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    free(wide);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY) == 0)
        return true;
    errno = EACCES;
    return false;
}

bool vkf__descriptor_take_after(int descriptor, const vkf__file_info *replaced)
{
    (void)descriptor;
    (void)replaced;
    return true;
}

int64_t vkf__link_read(const char *path, char *out_target, size_t capacity)
{
    (void)path;
    (void)out_target;
    (void)capacity;
    errno = EINVAL;
    return -1;
}

int vkf__stream_to_disk(FILE *stream)
{
    return _commit(_fileno(stream));
}

int vkf__path_rename(const char *from, const char *to)
{
    wchar_t *wide_from = vkf__wide(from), *wide_to = vkf__wide(to);
    int result = -1;
    if (wide_from && wide_to && MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        result = 0;
    else if (wide_from && wide_to)
        vkf__take_windows_error();
    free(wide_from);
    free(wide_to);
    return result;
}

int vkf__file_remove(const char *path)
{
    wchar_t *wide = vkf__wide(path);
    const int result = wide && DeleteFileW(wide) ? 0 : -1;
    if (wide && result != 0)
        vkf__take_windows_error();
    free(wide);
    return result;
}
