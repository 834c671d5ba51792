// Polls a folder for changed files, without help from the system's own notifications.
#include "lab/bench/file_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/directories.h"
#include "base/system_file.h"
#include "command/options.h"

#define POLL_NS 200000000u
#define MAX_DEPTH 8

static bool is_backup(const char *name)
{
    size_t length = strlen(name);
    return name[0] == '.' || name[0] == '#' || (length > 0 && name[length - 1] == '~');
}

// False when memory is exhausted.
static bool add(vkf_file_snapshot *snapshot, const char *path, const vkf__file_info *info)
{
    if (snapshot->count == snapshot->capacity) {
        size_t capacity = snapshot->capacity ? 2 * snapshot->capacity : 64;
        vkf_watched_file *list = realloc(snapshot->list, capacity * sizeof *list);
        if (!list)
            return false;
        snapshot->list = list;
        snapshot->capacity = capacity;
    }
    char *copy = strdup(path);
    if (!copy)
        return false;
    snapshot->list[snapshot->count++] = (vkf_watched_file){
        .path = copy,
        .seconds = info->seconds,
        .nanoseconds = info->nanoseconds,
        .size_bytes = info->size_bytes,
        .inode = info->number,
    };
    return true;
}

// Adds the files in folder/below. False when memory is exhausted.
static bool walk(vkf_file_snapshot *snapshot, const char *folder, const char *below, int depth)
{
    char path[1024];
    bool done = true;
    snprintf(path, sizeof path, "%s/%s", folder, below);
    vkf__listing *listing = vkf__listing_open(path);
    if (!listing)
        return true;
    for (const char *found; done && (found = vkf__listing_next(listing)) != NULL;) {
        char name[512];
        vkf__file_info info, link;
        if (is_backup(found))
            continue;
        int length = snprintf(name, sizeof name, "%s%s%s", below, below[0] ? "/" : "", found);
        int whole = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (length >= (int)sizeof name || whole >= (int)sizeof path || !vkf__entry_info(path, &link) ||
            !vkf__path_info(path, &info))
            continue;
        // Links to folders are not followed, because they can form circles.
        if (link.kind == VKF_FILE_DIRECTORY && depth < MAX_DEPTH)
            done = walk(snapshot, folder, name, depth + 1);
        else if (info.kind == VKF_FILE_REGULAR)
            done = add(snapshot, name, &info);
    }
    vkf__listing_close(listing);
    return done;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const vkf_watched_file *)left)->path, ((const vkf_watched_file *)right)->path);
}

bool vkf_file_snapshot_take(const char *folder, vkf_file_snapshot *out_snapshot)
{
    *out_snapshot = (vkf_file_snapshot){0};
    if (!walk(out_snapshot, folder, "", 0)) {
        vkf_print_error("memory for the files in %s is exhausted", folder);
        return false;
    }
    if (out_snapshot->count > 0)
        qsort(out_snapshot->list, out_snapshot->count, sizeof *out_snapshot->list, by_path);
    return true;
}

void vkf_file_snapshot_free(vkf_file_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        free(snapshot->list[i].path);
    free(snapshot->list);
    *snapshot = (vkf_file_snapshot){0};
}

static bool same_file(const vkf_watched_file *a, const vkf_watched_file *b)
{
    return a->seconds == b->seconds && a->nanoseconds == b->nanoseconds && a->size_bytes == b->size_bytes &&
           a->inode == b->inode;
}

// Which of two sorted lists has the next path: negative, the first; positive, the second; 0, both.
static int next_of(const vkf_file_snapshot *before, size_t b, const vkf_file_snapshot *after, size_t a)
{
    if (b == before->count)
        return 1;
    return a == after->count ? -1 : strcmp(before->list[b].path, after->list[a].path);
}

json_t *vkf_file_snapshot_difference(const vkf_file_snapshot *before, const vkf_file_snapshot *after)
{
    json_t *paths = json_array();
    for (size_t b = 0, a = 0; b < before->count || a < after->count;) {
        int order = next_of(before, b, after, a);
        if (order != 0 || !same_file(&before->list[b], &after->list[a]))
            json_array_append_new(paths, json_string(order < 0 ? before->list[b].path : after->list[a].path));
        b += order <= 0;
        a += order >= 0;
    }
    return paths;
}

bool vkf_file_snapshot_same(const vkf_file_snapshot *before, const vkf_file_snapshot *after)
{
    bool same = before->count == after->count;
    for (size_t i = 0; same && i < before->count; i++)
        same = strcmp(before->list[i].path, after->list[i].path) == 0 && same_file(&before->list[i], &after->list[i]);
    return same;
}

vkf_file_wait vkf_file_watch_wait(const char *folder, const vkf_file_snapshot *known, bool (*stopped)(void),
                                  vkf_file_snapshot *out_now)
{
    vkf_file_snapshot last = {0};
    bool taken = vkf_file_snapshot_take(folder, &last);
    while (taken && !stopped()) {
        vkf__pause_ns(POLL_NS);
        taken = vkf_file_snapshot_take(folder, out_now);
        // Two equal snapshots in a row mean that nothing is being written.
        if (taken && vkf_file_snapshot_same(&last, out_now) && !vkf_file_snapshot_same(known, out_now)) {
            vkf_file_snapshot_free(&last);
            return VKF_FILES_CHANGED;
        }
        vkf_file_snapshot_free(&last);
        last = *out_now;
        *out_now = (vkf_file_snapshot){0};
    }
    vkf_file_snapshot_free(&last);
    return taken ? VKF_FILES_WAIT_STOPPED : VKF_FILES_WAIT_FAILED;
}
