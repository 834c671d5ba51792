// Directories of Windows. A hold is a handle of the directory that shares writing with nobody.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/clock.h"
#include "base/directories.h"
#include "base/process.h"
#include "base/system_file.h"
#include "base/windows_names.h"

#define MOST_DEPTH 4 // of nested directories that are removed
#define PATH_BYTES 4096

// What a call with the path as Windows takes it gives: 0 or an errno.
static int call(BOOL(WINAPI *function)(const wchar_t *path), const char *path)
{
    wchar_t *wide = vkf__wide(path);
    if (!wide)
        return errno;
    int error = 0;
    if (!function(wide)) {
        vkf__take_windows_error();
        error = errno;
    }
    free(wide);
    return error;
}

static BOOL WINAPI create_directory(const wchar_t *path)
{
    return CreateDirectoryW(path, NULL);
}

int vkf__directory_make(const char *path, unsigned mode)
{
    (void)mode;
    return call(create_directory, path);
}

int vkf__directory_remove(const char *path)
{
    return call(RemoveDirectoryW, path);
}

int vkf__directory_rename(const char *from, const char *to)
{
    (void)vkf__directory_remove(to); // Windows replaces no directory
    return vkf__path_rename(from, to) == 0 ? 0 : errno;
}

int vkf__directory_make_temporary(char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *end = path + strlen(path) - strlen("XXXXXX");
    int error = EEXIST;
    for (unsigned attempt = 0; error == EEXIST && attempt < 100; attempt++) {
        uint64_t number = (uint64_t)vkf__now_ns() ^ (uint64_t)vkf__process_id() << 20 ^ attempt;
        for (size_t i = 0; i < strlen("XXXXXX"); i++, number /= strlen(letters))
            end[i] = letters[number % strlen(letters)];
        error = vkf__directory_make(path, 0700);
    }
    return error;
}

// ---- listing

struct vkf__listing {
    HANDLE handle;
    WIN32_FIND_DATAW entry;
    bool waiting; // an entry was found and is not given yet
    char *name;
};

vkf__listing *vkf__listing_open(const char *path)
{
    char pattern[PATH_BYTES];
    vkf__listing *listing = calloc(1, sizeof *listing);
    wchar_t *wide = NULL;
    if (!listing)
        return NULL;
    listing->handle = INVALID_HANDLE_VALUE;
    if (snprintf(pattern, sizeof pattern, "%s/*", *path ? path : ".") < (int)sizeof pattern)
        wide = vkf__wide(pattern);
    else
        errno = ENAMETOOLONG;
    if (wide) {
        listing->handle = FindFirstFileW(wide, &listing->entry);
        if (listing->handle == INVALID_HANDLE_VALUE)
            vkf__take_windows_error();
    }
    listing->waiting = listing->handle != INVALID_HANDLE_VALUE;
    const int error = errno;
    free(wide);
    if (listing->waiting)
        return listing;
    free(listing);
    errno = error;
    return NULL;
}

const char *vkf__listing_next(vkf__listing *listing)
{
    for (;;) {
        if (!listing->waiting && !FindNextFileW(listing->handle, &listing->entry))
            return NULL;
        listing->waiting = false;
        free(listing->name);
        listing->name = vkf__utf8(listing->entry.cFileName);
        if (!listing->name)
            return NULL;
        if (strcmp(listing->name, ".") != 0 && strcmp(listing->name, "..") != 0)
            return listing->name;
    }
}

void vkf__listing_close(vkf__listing *listing)
{
    if (!listing)
        return;
    FindClose(listing->handle);
    free(listing->name);
    free(listing);
}

// ---- holding

static void remove_content(const char *path, int depth)
{
    char inner[PATH_BYTES];
    vkf__file_info info;
    vkf__listing *listing = vkf__listing_open(path);
    if (!listing)
        return;
    for (const char *name = vkf__listing_next(listing); name; name = vkf__listing_next(listing)) {
        if (snprintf(inner, sizeof inner, "%s/%s", path, name) >= (int)sizeof inner || !vkf__entry_info(inner, &info))
            continue;
        if (info.kind != VKF_FILE_DIRECTORY) {
            (void)vkf__file_remove(inner);
        } else if (depth > 0) {
            remove_content(inner, depth - 1);
            (void)vkf__directory_remove(inner);
        }
    }
    vkf__listing_close(listing);
}

// Two such handles exclude each other. Neither listing the directory nor making files in it needs to share what these
// do not, and its name may change.
static int hold(const char *path, intptr_t *out_hold)
{
    wchar_t *wide = vkf__wide(path);
    if (!wide)
        return errno;
    HANDLE handle = CreateFileW(wide, FILE_ADD_FILE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    free(wide);
    if (handle == INVALID_HANDLE_VALUE) {
        vkf__take_windows_error();
        return errno;
    }
    *out_hold = (intptr_t)handle;
    return 0;
}

int vkf__directory_make_held(const char *path, intptr_t *out_hold)
{
    const int error = vkf__directory_make(path, 0777);
    return error != 0 ? error : hold(path, out_hold) == 0 ? 0 : EEXIST;
}

void vkf__directory_remove_held(const char *path, intptr_t held)
{
    if (held != VKF_NO_HOLD)
        remove_content(path, MOST_DEPTH);
    (void)vkf__directory_remove(path);
}

void vkf__directory_release(intptr_t held)
{
    if (held != VKF_NO_HOLD)
        (void)CloseHandle((HANDLE)held);
}

void vkf__directory_remove_unheld(const char *parent, const char *name)
{
    char path[PATH_BYTES];
    intptr_t held = VKF_NO_HOLD;
    if (snprintf(path, sizeof path, "%s/%s", parent, name) >= (int)sizeof path || hold(path, &held) != 0)
        return;
    vkf__directory_remove_held(path, held);
    vkf__directory_release(held);
}
