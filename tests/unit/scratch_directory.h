// A directory of its own for each test program, removed with what is in it.
#ifndef VKF_TESTS_SCRATCH_DIRECTORY_H
#define VKF_TESTS_SCRATCH_DIRECTORY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"
#include "system/terminal.h"

typedef struct scratch_directory {
    char path[96];
    char file[512]; // the last result of scratch_path()
} scratch_directory;

// The path of a file in the directory; valid until the next call.
static inline const char *scratch_path(scratch_directory *scratch, const char *name)
{
    snprintf(scratch->file, sizeof scratch->file, "%s/%s", scratch->path, name);
    return scratch->file;
}

static inline const char *scratch_write(scratch_directory *scratch, const char *name, const void *data,
                                        size_t size_bytes)
{
    const char *path = scratch_path(scratch, name);
    FILE *stream = fopen(path, "wb");
    if (!stream || fwrite(data, 1, size_bytes, stream) != size_bytes || fclose(stream) != 0) {
        perror(path);
        exit(1);
    }
    return path;
}

// The number of entries; removes them when `remove_all` is set.
static inline size_t scratch_list(const scratch_directory *scratch, int remove_all)
{
    size_t count = 0;
    vkf__listing *listing = vkf__listing_open(scratch->path);
    for (const char *name; listing && (name = vkf__listing_next(listing));) {
        char path[512];
        count++;
        snprintf(path, sizeof path, "%s/%s", scratch->path, name);
        if (remove_all && vkf__file_remove(path) != 0)
            (void)vkf__directory_remove(path);
    }
    vkf__listing_close(listing);
    return count;
}

static inline int scratch_setup(void **state)
{
    scratch_directory *scratch = calloc(1, sizeof *scratch);
    if (!scratch)
        return -1;
    *state = scratch;
    char temporary[64];
    if (!vkf_temporary_folder(temporary, sizeof temporary))
        return -1;
    snprintf(scratch->path, sizeof scratch->path, "%s/vkformer-test-XXXXXX", temporary);
    return vkf__directory_make_temporary(scratch->path) == 0 ? 0 : -1;
}

static inline int scratch_teardown(void **state)
{
    scratch_directory *scratch = *state;
    scratch_list(scratch, 1);
    int result = vkf__directory_remove(scratch->path);
    free(scratch);
    return result;
}

#endif
