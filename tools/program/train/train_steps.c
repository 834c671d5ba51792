// Finds and removes the directories of steps, each at once.
#include "train/train_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <vkformer/train.h>

#include "base/directories.h"
#include "base/new_file.h"
#include "io/file.h"
#include "io/new_directory.h"
#include "io/path.h"

#define STEP "step-"
#define PATH_BYTES 4096

bool vkf_train_is_checkpoint(const char *root, const char *name)
{
    char path[PATH_BYTES];
    const int bytes = snprintf(path, sizeof path, "%s/%s/" VKF_CHECKPOINT_FILE, root, name);
    return bytes < (int)sizeof path && vkf__file_exists(path);
}

bool vkf_train_is_step(const char *name, uint64_t *out_step)
{
    const char *digits = name + strlen(STEP);
    if (strncmp(name, STEP, strlen(STEP)) != 0 || *digits == '\0' || strspn(digits, "0123456789") != strlen(digits) ||
        (digits[0] == '0' && digits[1]) || strlen(digits) > 19)
        return false;
    *out_step = strtoull(digits, NULL, 10);
    return true;
}

vkf_status vkf_train_step_path(const vkf__host *host, const char *root, uint64_t step, char **out_path)
{
    char name[32];
    snprintf(name, sizeof name, STEP "%" PRIu64, step);
    return vkf__path_join(host, root, name, out_path);
}

// The last step, or the last before `before`.
static bool find_step(const char *root, uint64_t before, uint64_t *out_step)
{
    vkf__listing *listing = vkf__listing_open(root);
    bool found = false;
    uint64_t step;
    for (const char *name; listing && (name = vkf__listing_next(listing));) {
        if (!vkf_train_is_step(name, &step) || step >= before || (found && step < *out_step) ||
            !vkf_train_is_checkpoint(root, name))
            continue;
        *out_step = step;
        found = true;
    }
    vkf__listing_close(listing);
    return found;
}

bool vkf_train_last_step(const char *root, uint64_t *out_step)
{
    return find_step(root, UINT64_MAX, out_step);
}

static vkf_status remove_step(const vkf__host *host, const char *root, uint64_t step)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf_train_step_path(host, root, step, &path));
    const vkf_status status = vkf__new_directory_retire(host, path);
    vkf__free(host, path);
    return status;
}

// Whether the name is that of one that was being made or removed.
static bool is_left(const char *name)
{
    const char *stem = name + strspn(name, "."), *end = stem + strlen(STEP);
    if (strncmp(stem, STEP, strlen(STEP)) != 0)
        return false;
    const size_t digits = strspn(end, "0123456789");
    if (strncmp(end + digits, VKF_TEMPORARY_PREFIX, strlen(VKF_TEMPORARY_PREFIX)) == 0)
        end += digits + strlen(VKF_TEMPORARY_PREFIX);
    return vkf__new_directory_is_temporary(name, stem, (size_t)(end - stem));
}

vkf_status vkf_train_keep_steps(const vkf__host *host, const char *root, uint32_t most)
{
    uint64_t step = UINT64_MAX;
    for (uint32_t kept = 0; find_step(root, step, &step); kept++)
        if (kept >= most)
            VKF_RETURN_IF_ERROR(remove_step(host, root, step));
    vkf__listing *listing = vkf__listing_open(root);
    for (const char *name; listing && (name = vkf__listing_next(listing));)
        if (is_left(name))
            vkf__directory_remove_unheld(root, name);
    vkf__listing_close(listing);
    return VKF_OK;
}
