// Writes files so that a reader sees the old content or the new one, and never a part.
#include "base/new_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/system_file.h"

#define MOST_LINKS 40 // as many as systems follow
#define LINK_BYTES 4096
#define STANDARD_OUTPUT 1
#define STANDARD_ERROR 2

static vkf_status fail_path(const vkf__host *host, const char *path, int error)
{
    return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be written: %s", path, strerror(error));
}

vkf_status vkf__temporary_path(const vkf__host *host, const char *path, const char *prefix, unsigned attempt,
                               char **out_temporary)
{
    size_t directory_bytes = vkf__path_directory_bytes(path);
    size_t size = directory_bytes + strlen(prefix) + sizeof "0123456789abcdef.tmp";
    long process = vkf__process_id();
    double now = attempt > 0 ? vkf__now_ns() : 0;
    char *temporary = NULL;
    uint64_t hash = vkf__hash(VKF_HASH_SEED, path, strlen(path));
    hash = vkf__hash(hash, &process, sizeof process);
    hash = vkf__hash(hash, &attempt, sizeof attempt);
    hash = vkf__hash(hash, &now, sizeof now);
    VKF_ALLOC_OR_RETURN(host, temporary, size);
    snprintf(temporary, size, "%.*s%s%016" PRIx64 ".tmp", (int)directory_bytes, path, prefix, hash);
    *out_temporary = temporary;
    return VKF_OK;
}

// What is at the path once its links are followed.
typedef struct standing {
    bool there;
    vkf__file_info info;
} standing;

// Replaces *path, whose last part is a symbolic link, by the target of the link.
static vkf_status follow_link(const vkf__host *host, char **path, const char *link)
{
    char *followed = NULL;
    size_t directory_bytes = vkf__is_slash(link[0]) ? 0 : vkf__path_directory_bytes(*path);
    VKF_ALLOC_OR_RETURN(host, followed, directory_bytes + strlen(link) + 1);
    memcpy(followed, *path, directory_bytes);
    memcpy(followed + directory_bytes, link, strlen(link));
    vkf__free(host, *path);
    *path = followed;
    return VKF_OK;
}

// Follows links one at a time, because realpath() fails for a file that does not exist yet.
static vkf_status follow_links(const vkf__host *host, const char *path, char **out_target)
{
    vkf_status status = VKF_OK;
    char link[LINK_BYTES];
    char *target = NULL;
    VKF_STRDUP(host, target, path);
    for (int i = 0; i < MOST_LINKS; i++) {
        int64_t bytes = vkf__link_read(target, link, sizeof link - 1);
        if (bytes < 0)
            break; // no link, or nothing
        link[bytes] = '\0';
        VKF_TRY(follow_link(host, &target, link));
    }
    *out_target = target;
    return VKF_OK;
fail:
    vkf__free(host, target);
    return status;
}

// The number in /dev/fd/NUMBER and /proc/self/fd/NUMBER; -1 for any other path.
static int named_descriptor(const char *path)
{
    static const char *const directories[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        const char *number = path + strlen(directories[i]);
        if (strncmp(path, directories[i], strlen(directories[i])) == 0 &&
            strspn(number, "0123456789") == strlen(number))
            return atoi(number);
    }
    return -1;
}

// A descriptor of this process that has the file open for writing, or -1. Writing through it continues at its position,
// behind what was written before.
static int own_descriptor(const char *path, const vkf__file_info *info)
{
    const int candidates[] = {named_descriptor(path), STANDARD_OUTPUT, STANDARD_ERROR};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        vkf__file_info own;
        if (vkf__descriptor_writes(candidates[i]) && vkf__descriptor_info(candidates[i], &own) &&
            own.device == info->device && own.number == info->number)
            return candidates[i];
    }
    return -1;
}

// Takes ownership of the descriptor.
static vkf_status attach_stream(vkf__new_file *file, int descriptor)
{
    file->stream = descriptor >= 0 ? vkf__descriptor_stream(descriptor, "wb") : NULL;
    if (file->stream)
        return VKF_OK;
    int error = errno;
    if (descriptor >= 0)
        vkf__descriptor_close(descriptor);
    return fail_path(file->host, file->path, error);
}

static vkf_status write_through(vkf__new_file *file, const standing *what)
{
    int own = own_descriptor(file->path, &what->info);
    file->flushed = own < 0 && what->info.kind == VKF_FILE_REGULAR;
    if (own >= 0) {
        // What was printed before must come first.
        fflush(own == STANDARD_OUTPUT ? stdout : stderr);
        return attach_stream(file, vkf__descriptor_copy(own));
    }
    return attach_stream(file, vkf__open_to_write(file->path, file->flushed));
}

// *out_error says why there is no temporary file; it is 0 when there is one.
static vkf_status open_temporary(vkf__new_file *file, const standing *what, int *out_error)
{
    int descriptor = -1, error = EEXIST;
    uint32_t mode = what->there ? what->info.mode & 0777 : 0666;
    for (unsigned attempt = 0; error == EEXIST && attempt < VKF_TEMPORARY_ATTEMPTS; attempt++) {
        vkf__free(file->host, file->temporary);
        file->temporary = NULL;
        VKF_RETURN_IF_ERROR(
            vkf__temporary_path(file->host, file->target, VKF_TEMPORARY_PREFIX, attempt, &file->temporary));
        descriptor = vkf__open_new(file->temporary, mode);
        error = descriptor >= 0 ? 0 : errno;
    }
    if (error == 0 && what->there && !vkf__descriptor_take_after(descriptor, &what->info)) {
        vkf__descriptor_close(descriptor);
        (void)vkf__file_remove(file->temporary);
        error = EPERM;
    }
    if (error != 0) {
        vkf__free(file->host, file->temporary);
        file->temporary = NULL;
    } else {
        file->flushed = true;
        VKF_RETURN_IF_ERROR(attach_stream(file, descriptor));
    }
    *out_error = error;
    return VKF_OK;
}

static vkf_status open_beside(vkf__new_file *file, const standing *what)
{
    vkf_status status = VKF_OK;
    int error = 0;
    // Without this check, the new file would replace even a write-protected one.
    if (what->there && !vkf__path_writable(file->path))
        return fail_path(file->host, file->path, errno);
    VKF_RETURN_IF_ERROR(follow_links(file->host, file->path, &file->target));
    VKF_RETURN_IF_ERROR(open_temporary(file, what, &error));
    if ((error == EACCES || error == EPERM) && what->there) {
        vkf__free(file->host, file->target);
        file->target = NULL;
        return write_through(file, what);
    }
    if (error != 0)
        status = fail_path(file->host, file->path, error);
    return status;
}

static vkf_status open_place(vkf__new_file *file)
{
    standing what = {.there = true};
    if (!vkf__path_info(file->path, &what.info)) {
        if (errno != ENOENT)
            return fail_path(file->host, file->path, errno);
        what.there = false;
    }
    if (what.there && what.info.kind == VKF_FILE_DIRECTORY)
        return vkf__fail(file->host, VKF_ERROR_FILE, "%s: cannot be written: it is a directory; name a file",
                         file->path);
    if (what.there && (what.info.kind != VKF_FILE_REGULAR || own_descriptor(file->path, &what.info) >= 0))
        return write_through(file, &what);
    return open_beside(file, &what);
}

// Does not replace what has appeared there meanwhile unless it is a regular file.
static int put_in_place(const vkf__new_file *file)
{
    vkf__file_info info;
    if (vkf__entry_info(file->target, &info) && info.kind != VKF_FILE_REGULAR) {
        errno = EEXIST;
        return -1;
    }
    return vkf__path_rename(file->temporary, file->target);
}

// Some file systems write a rename before the data, so that a crash would leave an empty file under the final name.
static int flush_to_disk(const vkf__new_file *file)
{
    if (fflush(file->stream) != 0)
        return -1;
    return file->flushed ? vkf__stream_to_disk(file->stream) : 0;
}

vkf_status vkf__new_file_open(const vkf__host *host, const char *path, vkf__new_file *out_file)
{
    vkf_status status = VKF_OK;
    vkf__new_file file = {.host = host};
    VKF_STRDUP(host, file.path, path);
    VKF_TRY(open_place(&file));
    *out_file = file;
    return VKF_OK;
fail:
    vkf__new_file_discard(&file);
    return status;
}

vkf_status vkf__new_file_write(vkf__new_file *file, const void *data, size_t size_bytes)
{
    if (size_bytes > 0 && fwrite(data, 1, size_bytes, file->stream) != size_bytes)
        return fail_path(file->host, file->path, errno);
    return VKF_OK;
}

vkf_status vkf__new_file_commit(vkf__new_file *file)
{
    vkf_status status = VKF_OK;
    errno = 0;
    bool failed_before = ferror(file->stream) != 0;
    bool flushed = flush_to_disk(file) == 0;
    int error = errno;
    bool closed = fclose(file->stream) == 0;
    file->stream = NULL;
    if (flushed && !closed)
        error = errno;
    if (!flushed || !closed || failed_before)
        status = fail_path(file->host, file->path, error != 0 ? error : EIO);
    else if (file->temporary && put_in_place(file) != 0)
        status = vkf__fail(file->host, VKF_ERROR_FILE, "%s: cannot be put in place: %s", file->path, strerror(errno));
    if (status == VKF_OK) {
        vkf__free(file->host, file->temporary);
        file->temporary = NULL;
    }
    vkf__new_file_discard(file);
    return status;
}

void vkf__new_file_discard(vkf__new_file *file)
{
    if (!file->host)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->temporary)
        (void)vkf__file_remove(file->temporary);
    vkf__free(file->host, file->temporary);
    vkf__free(file->host, file->target);
    vkf__free(file->host, file->path);
    *file = (vkf__new_file){0};
}

vkf_status vkf__file_write(const vkf__host *host, const char *path, const void *data, size_t size_bytes)
{
    vkf_status status = VKF_OK;
    vkf__new_file file = {0};
    VKF_TRY(vkf__new_file_open(host, path, &file));
    VKF_TRY(vkf__new_file_write(&file, data, size_bytes));
    status = vkf__new_file_commit(&file);
fail:
    vkf__new_file_discard(&file);
    return status;
}
