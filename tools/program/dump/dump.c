// Writes a dump's directory, one file for each submission.
#include "dump/dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"
#include "command/options.h"
#include "dump/dump_tensors.h"
#include "io/path.h"
#include "io/safetensors.h"

struct vkf_dump {
    vkf__host host;
    const char *directory; // the caller's
    bool made;             // by this run
    vkf_inspection *model;
    vkf_dump_tensors tensors; // of the running submission
    char submission[32];
    uint32_t submission_count; // how many are written
    bool failed;
};

// ---- the directory

// Files of another run must not pass for files of this one.
static bool take_directory(vkf_dump *dump)
{
    int error = vkf__directory_make(dump->directory, 0777);
    if (error == 0) {
        dump->made = true;
        return true;
    }
    vkf__listing *listing = error == EEXIST ? vkf__listing_open(dump->directory) : NULL;
    if (!listing) {
        error = error == EEXIST ? errno : error;
        vkf_print_error("--dump: the directory '%.400s' cannot be made or read: %s", dump->directory, strerror(error));
        return false;
    }
    bool empty = !vkf__listing_next(listing);
    vkf__listing_close(listing);
    if (!empty)
        vkf_print_error("--dump: '%.400s' is not empty; name another directory, or remove what is in it",
                        dump->directory);
    return empty;
}

// ---- files

// `input` is NULL for the submission's tensors.
static bool write_file(vkf_dump *dump, const char *name, const vkf__stored_tensor *input)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    VKF_TRY(vkf__path_join(&dump->host, dump->directory, name, &path));
    if (input)
        VKF_TRY(vkf__safetensors_write_as_given(&dump->host, path, input, 1));
    else
        VKF_TRY(vkf_dump_tensors_write(&dump->host, path, &dump->tensors));
fail:
    dump->failed = dump->failed || status != VKF_OK;
    vkf__free(&dump->host, path);
    return status == VKF_OK;
}

static bool write_submission(vkf_dump *dump)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%04u-%s.safetensors", dump->submission_count++, dump->submission);
    bool written = write_file(dump, name, NULL);
    vkf_dump_tensors_clear(&dump->host, &dump->tensors);
    return written;
}

bool vkf_dump_write_ids(vkf_dump *dump, const int32_t *ids, uint32_t batch, uint32_t length)
{
    const vkf__stored_tensor input = {
        .name = "input_ids",
        .type = VKF_STORED_I32,
        .rank = 2,
        .shape = {batch, length},
        .data = (const uint8_t *)ids,
        .size_bytes = (uint64_t)batch * length * sizeof *ids,
    };
    return write_file(dump, "input.safetensors", &input);
}

// ---- a run

bool vkf_dump_begin(const char *directory, const char *model_directory, vkf_message_fn message, void *message_user,
                    vkf_dump **out_dump)
{
    vkf_status status = VKF_OK;
    vkf_dump *dump = NULL;
    vkf__host host;
    const vkf_inspection_desc model = {
        .directory = model_directory,
        .message = message,
        .message_user = message_user,
        .min_severity = VKF_SEVERITY_WARNING,
    };
    vkf_inspection_info info;
    VKF_TRY(vkf__host_init(&host, NULL, message, message_user, VKF_SEVERITY_WARNING));
    VKF_ALLOC(&host, dump, 1);
    dump->host = host;
    dump->directory = directory;
    VKF_TRY(vkf_inspection_load(&model, &dump->model));
    vkf_inspection_get_info(dump->model, &info);
    if (info.supported != VKF_OK || !take_directory(dump))
        goto fail;
    *out_dump = dump;
    return true;
fail:
    if (dump)
        vkf_inspection_destroy(&dump->model);
    vkf__free(&host, dump);
    return false;
}

bool vkf_dump_take(void *user, const vkf_probe_output *output)
{
    vkf_dump *dump = user;
    if (output->index == 0 && dump->tensors.count > 0 && !write_submission(dump))
        return false;
    (void)snprintf(dump->submission, sizeof dump->submission, "%s", output->submission);
    if (vkf_dump_tensors_add(&dump->host, &dump->tensors, dump->model, output) == VKF_OK)
        return true;
    dump->failed = true;
    return false;
}

bool vkf_dump_end(vkf_dump **dump_place, bool whole)
{
    vkf_dump *dump = *dump_place;
    if (!dump)
        return true;
    if (whole && !dump->failed && dump->tensors.count > 0)
        (void)write_submission(dump);
    bool written = !dump->failed;
    vkf_dump_tensors_clear(&dump->host, &dump->tensors);
    vkf_inspection_destroy(&dump->model);
    if (dump->made)
        (void)vkf__directory_remove(dump->directory); // removes only an empty directory
    vkf__free(&dump->host, dump);
    *dump_place = NULL;
    return written;
}
