// Copies a tokenizer's files, and has weights drawn.
#include "train/new_files.h"

#include <vkformer/directory.h>

#include "base/new_file.h"
#include "io/file.h"
#include "io/path.h"

#define MAX_FILE_BYTES ((size_t)128 << 20)

static vkf_status copy(const vkf__host *host, const char *from, const char *to)
{
    vkf__file_bytes bytes = {0};
    VKF_RETURN_IF_ERROR(vkf__file_read(host, from, MAX_FILE_BYTES, &bytes));
    const vkf_status status = vkf__file_write(host, to, bytes.data, bytes.size_bytes);
    vkf__file_bytes_free(host, &bytes);
    return status;
}

vkf_status vkf_new_file_copy(const vkf__host *host, const char *from_directory, const char *name, const char *directory,
                             bool *out_there)
{
    vkf_status status = VKF_OK;
    char *from = NULL, *to = NULL;
    VKF_TRY(vkf__path_join(host, from_directory, name, &from));
    VKF_TRY(vkf__path_join(host, directory, name, &to));
    const bool there = vkf__file_exists(from);
    if (there)
        VKF_TRY(copy(host, from, to));
    if (out_there)
        *out_there = there;
fail:
    vkf__free(host, from);
    vkf__free(host, to);
    return status;
}

vkf_status vkf_new_weights_write(const vkf__host *host, const vkf_train_config *config, const char *from,
                                 const char *directory)
{
    const vkf_draw_weights_desc desc = {
        .directory = directory,
        .from_directory = from,
        .seed = config->seed,
        .message = host->message,
        .message_user = host->message_user,
        .min_severity = host->min_severity,
        .allocator = host->allocator,
    };
    return vkf_draw_weights(&desc);
}
