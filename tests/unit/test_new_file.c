// Where written bytes go: to a new file that takes the place of a regular one, or through what is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/new_file.h"
#include "io/file.h"
#include "recording_host.h"
#include "scratch_directory.h"

#define NOBODY 65534

static void assert_content(const char *path, const char *expected)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__file_bytes whole;
    assert_int_equal(vkf__file_read(&recording.host, path, 100, &whole), VKF_OK);
    assert_int_equal(whole.size_bytes, strlen(expected));
    assert_memory_equal(whole.data, expected, whole.size_bytes);
    vkf__file_bytes_free(&recording.host, &whole);
}

static struct stat info_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info;
}

static vkf_status write_text(const char *path, const char *text, recording_host *recording)
{
    recording_host_init(recording);
    vkf_status status = vkf__file_write(&recording->host, path, text, strlen(text));
    assert_int_equal(recording->live, 0);
    return status;
}

static int clean(void **state)
{
    scratch_list(*state, 1);
    return 0;
}

static void test_new_file_appears_on_commit_alone(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_file file;
    const char *path = scratch_path(scratch, "new");
    assert_int_equal(vkf__new_file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__new_file_write(&file, "abc", 3), VKF_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(vkf__new_file_commit(&file), VKF_OK);
    assert_content(path, "abc");
    assert_int_equal(scratch_list(scratch, 0), 1);
    vkf__new_file_discard(&file);
    assert_int_equal(scratch_list(scratch, 0), 1);
    assert_int_equal(recording.live, 0);
}

static void test_new_file_discard_leaves_the_old_one(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_file file;
    const char *path = scratch_write(scratch, "kept", "old", 3);
    assert_int_equal(vkf__new_file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__new_file_write(&file, "newer", 5), VKF_OK);
    assert_content(path, "old");
    vkf__new_file_discard(&file);
    assert_content(path, "old");
    assert_int_equal(scratch_list(scratch, 0), 1);
    assert_int_equal(recording.live, 0);
}

static void test_new_files_of_the_same_path_do_not_mix(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_file first, second;
    const char *path = scratch_path(scratch, "both");
    assert_int_equal(vkf__new_file_open(&recording.host, path, &first), VKF_OK);
    assert_int_equal(vkf__new_file_open(&recording.host, path, &second), VKF_OK);
    assert_int_equal(vkf__new_file_write(&first, "first", 5), VKF_OK);
    assert_int_equal(vkf__new_file_write(&second, "second", 6), VKF_OK);
    assert_int_equal(vkf__new_file_commit(&second), VKF_OK);
    assert_content(path, "second");
    assert_int_equal(vkf__new_file_commit(&first), VKF_OK);
    assert_content(path, "first");
    assert_int_equal(scratch_list(scratch, 0), 1);
    assert_int_equal(recording.live, 0);
}

// What a process of the same number left behind, as in a container, is not touched and in nobody's way.
static void test_new_file_passes_stale_temporaries(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    char path[512], *stale = NULL;
    snprintf(path, sizeof path, "%s", scratch_path(scratch, "f"));
    assert_int_equal(vkf__temporary_path(&recording.host, path, VKF_TEMPORARY_PREFIX, 0, &stale), VKF_OK);
    (void)scratch_write(scratch, strrchr(stale, '/') + 1, "stale", 5);
    assert_int_equal(write_text(path, "new", &recording), VKF_OK);
    assert_content(path, "new");
    assert_content(stale, "stale");
    free((recording_prefix *)(void *)stale - 1);
}

static void test_new_file_follows_links(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    char real[512], link[512];
    snprintf(real, sizeof real, "%s", scratch_write(scratch, "real", "old", 3));
    snprintf(link, sizeof link, "%s", scratch_path(scratch, "link"));
    assert_int_equal(symlink("link2", link), 0);
    assert_int_equal(symlink(real, scratch_path(scratch, "link2")), 0);
    assert_int_equal(write_text(link, "new", &recording), VKF_OK);
    assert_true(S_ISLNK(info_of(link).st_mode));
    assert_true(S_ISREG(info_of(real).st_mode));
    assert_content(real, "new");
    assert_int_equal(unlink(real), 0); // and one that leads nowhere yet
    assert_int_equal(write_text(link, "again", &recording), VKF_OK);
    assert_true(S_ISLNK(info_of(link).st_mode));
    assert_content(real, "again");
    assert_int_equal(unlink(real), 0);
    assert_int_equal(symlink("link", real), 0); // a ring
    assert_int_equal(write_text(link, "ring", &recording), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "/link: cannot be written: Too many levels"));
}

static void test_new_file_keeps_mode_and_owner(void **state)
{
    static const mode_t modes[] = {0600, 0640, 0777, 0200};
    scratch_directory *scratch = *state;
    recording_host recording;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        const char *path = scratch_write(scratch, "private", "old", 3);
        assert_int_equal(chmod(path, modes[i]), 0);
        bool given = chown(path, NOBODY, NOBODY) == 0; // as root
        assert_int_equal(write_text(path, "new", &recording), VKF_OK);
        assert_int_equal(info_of(path).st_mode & 07777, modes[i]);
        assert_true(!given || info_of(path).st_uid == NOBODY);
        assert_int_equal(unlink(path), 0);
    }
    mode_t mask = umask(027);
    assert_int_equal(write_text(scratch_path(scratch, "fresh"), "new", &recording), VKF_OK);
    umask(mask);
    assert_int_equal(info_of(scratch_path(scratch, "fresh")).st_mode & 07777, 0640);
}

static void test_new_file_writes_through_what_is_no_file(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    char bytes[8] = "";
    const char *pipe = scratch_path(scratch, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_int_equal(write_text(pipe, "through", &recording), VKF_OK);
    assert_true(S_ISFIFO(info_of(pipe).st_mode));
    assert_int_equal(read(reader, bytes, sizeof bytes), 7);
    assert_memory_equal(bytes, "through", 7);
    close(reader);
    assert_int_equal(write_text("/dev/null", "gone", &recording), VKF_OK);
    assert_true(S_ISCHR(info_of("/dev/null").st_mode));
    assert_int_equal(write_text("/dev/full", "gone", &recording), VKF_ERROR_FILE);
    assert_string_equal(recording.text, "/dev/full: cannot be written: No space left on device");
}

// What the process has open under a number is a place in a file: what is before it stays.
static void test_new_file_writes_through_own_descriptors(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    char path[64];
    const char *log = scratch_path(scratch, "log");
    int descriptor = open(log, O_WRONLY | O_CREAT, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, "before ", 7), 7);
    snprintf(path, sizeof path, "/dev/fd/%d", descriptor);
    ino_t inode = info_of(log).st_ino;
    assert_int_equal(write_text(path, "written ", &recording), VKF_OK);
    assert_int_equal(write(descriptor, "after", 5), 5);
    close(descriptor);
    assert_int_equal(info_of(log).st_ino, inode);
    assert_content(log, "before written after");
}

static void test_new_file_refuses_directories(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    assert_int_equal(write_text(scratch->path, "x", &recording), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "it is a directory"));
    assert_int_equal(write_text("/dev/null/x", "x", &recording), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "/dev/null/x: cannot be written: Not a directory"));
    assert_int_equal(recording.messages, 1);
}

// What a user without rights to the directory, or to the file, meets: 0 where all is as it should be.
static int without_rights(const char *writable, const char *protected, const char *absent)
{
    recording_host recording;
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 1;
    if (write_text(writable, "in place", &recording) != VKF_OK)
        return 2;
    if (write_text(protected, "no", &recording) != VKF_ERROR_FILE || !strstr(recording.text, "Permission denied"))
        return 3;
    if (write_text(absent, "no", &recording) != VKF_ERROR_FILE || !strstr(recording.text, "Permission denied"))
        return 4;
    return 0;
}

static void test_new_file_without_rights_to_the_directory(void **state)
{
    scratch_directory *scratch = *state;
    char writable[512], protected[512], absent[512];
    int result = 0;
    snprintf(writable, sizeof writable, "%s", scratch_write(scratch, "writable", "a longer old text", 17));
    snprintf(protected, sizeof protected, "%s", scratch_write(scratch, "protected", "old", 3));
    snprintf(absent, sizeof absent, "%s", scratch_path(scratch, "absent"));
    assert_true(chmod(writable, 0666) == 0 && chmod(protected, 0444) == 0 && chmod(scratch->path, 0555) == 0);
    ino_t inode = info_of(writable).st_ino;
    pid_t child = fork();
    if (child == 0)
        _exit(without_rights(writable, protected, absent));
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(chmod(scratch->path, 0700), 0);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_int_equal(info_of(writable).st_ino, inode);
    assert_content(writable, "in place");
    assert_content(protected, "old");
}

static void test_file_write_survives_allocation_failure(void **state)
{
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    const char *path = scratch_write(*state, "memory", "old", 3);
    size_t n = 0;
    while (status != VKF_OK && n < 100) {
        recording_host recording;
        recording_host_init(&recording);
        recording.fail_call = ++n;
        status = vkf__file_write(&recording.host, path, "new", 3);
        assert_int_equal(recording.live, 0);
        assert_content(path, status == VKF_OK ? "new" : "old");
        assert_int_equal(scratch_list(*state, 0), 1);
    }
    assert_int_equal(status, VKF_OK);
    assert_in_range(n, 3, 99);
}

int main(void)
{
#define cleaned(test) cmocka_unit_test_setup(test, clean)
    const struct CMUnitTest tests[] = {
        cleaned(test_new_file_appears_on_commit_alone),
        cleaned(test_new_file_discard_leaves_the_old_one),
        cleaned(test_new_files_of_the_same_path_do_not_mix),
        cleaned(test_new_file_passes_stale_temporaries),
        cleaned(test_new_file_follows_links),
        cleaned(test_new_file_keeps_mode_and_owner),
        cleaned(test_new_file_writes_through_what_is_no_file),
        cleaned(test_new_file_writes_through_own_descriptors),
        cleaned(test_new_file_refuses_directories),
        cleaned(test_new_file_without_rights_to_the_directory),
        cleaned(test_file_write_survives_allocation_failure),
    };
#undef cleaned
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
