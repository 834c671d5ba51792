// Runs `vkformer run --dump` once per device, and finds the files that belong together.
#include "lab/compare/compare_devices.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "command/commands.h"
#include "command/options.h"

#define PATH_BYTES 4096

static bool make_path(char *out, const char *directory, const char *name)
{
    const int length = snprintf(out, PATH_BYTES, "%s/%s", directory, name);
    if (length > 0 && length < PATH_BYTES)
        return true;
    vkf_print_error("--dump: the path '%.200s...' is too long", directory);
    return false;
}

// `directory` may have been made by the run before.
static bool make_directory(const char *directory)
{
    const int error = vkf__directory_make(directory, 0777);
    if (error == 0 || error == EEXIST)
        return true;
    vkf_print_error("--dump: the directory '%.400s' cannot be made: %s", directory, strerror(error));
    return false;
}

static int run_on(const vkf_two_devices *devices, const char *device, const char *name)
{
    char path[PATH_BYTES];
    char *const first[] = {(char *)(uintptr_t) "vkformer run", (char *)(uintptr_t) "--device",
                           (char *)(uintptr_t)device, (char *)(uintptr_t) "--dump", path};
    enum { OWN = sizeof first / sizeof first[0] };
    if (!make_directory(devices->directory) || !make_path(path, devices->directory, name))
        return VKF_EXIT_FAILED;
    char **words = calloc((size_t)OWN + (size_t)devices->count + 1, sizeof *words);
    if (!words) {
        vkf_print_error("memory is exhausted");
        return VKF_EXIT_FAILED;
    }
    memcpy(words, first, sizeof first);
    memcpy(words + OWN, devices->words, (size_t)devices->count * sizeof *words);
    optind = 1; // getopt has read the words of this command
    const int code = vkf_cmd_run(OWN + devices->count, words);
    free(words);
    return code;
}

// The file of submission `index` in a directory: its name begins with the number.
static bool find_file(const char *directory, unsigned index, char out_name[PATH_BYTES])
{
    char number[16];
    bool found = false;
    vkf__listing *listing = vkf__listing_open(directory);
    (void)snprintf(number, sizeof number, "%04u-", index);
    for (const char *name = listing ? vkf__listing_next(listing) : NULL; name && !found;
         name = vkf__listing_next(listing)) {
        found = strncmp(name, number, strlen(number)) == 0 && strlen(name) < PATH_BYTES;
        if (found)
            memcpy(out_name, name, strlen(name) + 1);
    }
    vkf__listing_close(listing);
    return found;
}

static int compare_submissions(const vkf_two_devices *devices, vkf_compare_files_fn compare, void *user)
{
    char directories[2][PATH_BYTES], paths[2][PATH_BYTES], name[PATH_BYTES];
    int code = VKF_EXIT_DONE;
    if (!make_path(directories[0], devices->directory, "tested") ||
        !make_path(directories[1], devices->directory, "reference"))
        return VKF_EXIT_FAILED;
    for (unsigned i = 0; code == VKF_EXIT_DONE && find_file(directories[0], i, name); i++)
        code = make_path(paths[0], directories[0], name) && make_path(paths[1], directories[1], name)
                   ? compare(user, paths[0], paths[1])
                   : VKF_EXIT_FAILED;
    return code;
}

int vkf_compare_devices(const vkf_two_devices *devices, vkf_compare_files_fn compare, void *user)
{
    int code = run_on(devices, devices->tested, "tested");
    if (code == VKF_EXIT_DONE)
        code = run_on(devices, devices->reference, "reference");
    return code == VKF_EXIT_DONE ? compare_submissions(devices, compare, user) : code;
}
