// A directory that is there whole or not at all, whoever was killed while making it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "recording_host.h"
#include "scratch_directory.h"

// What another process does in the moment before a directory is locked, once.
static void (*meddle)(int directory);

static int meddled_flock(int directory, int operation)
{
    void (*other)(int) = meddle;
    meddle = NULL;
    if (other)
        other(directory);
    return flock(directory, operation);
}

#define flock(directory, operation) meddled_flock(directory, operation)
#include "../../src/base/directories_posix.c"
#undef flock

#include "../../src/io/new_directory.c"

static int clean(void **state)
{
    scratch_directory *scratch = *state;
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", scratch->path, scratch->path);
    return system(command);
}

static void put_file(const char *directory, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void put_content(const vkf__new_directory *directory)
{
    char inner[600];
    put_file(directory->temporary, "a");
    (void)snprintf(inner, sizeof inner, "%s/inner", directory->temporary);
    assert_int_equal(mkdir(inner, 0777), 0);
    put_file(inner, "b");
}

static void test_new_directory_appears_on_commit_alone(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory;
    char path[512], slashes[520];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "out"));
    (void)snprintf(slashes, sizeof slashes, "%s//", path);
    assert_int_equal(vkf__new_directory_open(&recording.host, slashes, &directory), VKF_OK);
    put_content(&directory);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(vkf__new_directory_commit(&directory), VKF_OK);
    assert_int_equal(access(scratch_path(scratch, "out/inner/b"), F_OK), 0);
    assert_int_equal(scratch_list(scratch, 0), 1);
    vkf__new_directory_discard(&directory);
    assert_int_equal(recording.live, 0);
    assert_int_equal(recording.messages, 0);
}

static void test_new_directory_discard_leaves_nothing(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory;
    assert_int_equal(vkf__new_directory_open(&recording.host, scratch_path(scratch, "out"), &directory), VKF_OK);
    put_content(&directory);
    vkf__new_directory_discard(&directory);
    assert_int_equal(scratch_list(scratch, 0), 0);
    assert_int_equal(recording.live, 0);
}

static void test_new_directory_refuses_what_is_somebodys(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory = {0};
    const char *path = scratch_write(scratch, "out", "x", 1);
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "out: is there already"));
    assert_true(unlink(path) == 0 && mkdir(path, 0777) == 0);
    put_file(path, "theirs");
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
    assert_int_equal(access(scratch_path(scratch, "out/theirs"), F_OK), 0);
    path = scratch_path(scratch, "no/where");
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "no/where: cannot be made: No such file"));
    assert_null(directory.host);
    assert_int_equal(recording.live, 0);
}

static void test_new_directory_takes_an_empty_one(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory;
    const char *path = scratch_path(scratch, "out");
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_OK);
    put_content(&directory);
    assert_int_equal(vkf__new_directory_commit(&directory), VKF_OK);
    assert_int_equal(access(scratch_path(scratch, "out/a"), F_OK), 0);
}

static void test_new_directory_refuses_paths_without_a_name(void **state)
{
    scratch_directory *scratch = *state;
    static const char *const paths[] = {"", ".", "..", "/", "//", "./", "../.", "./..//"};
    for (size_t i = 0; i <= sizeof paths / sizeof paths[0]; i++) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__new_directory directory = {0};
        const char *path = i < sizeof paths / sizeof paths[0] ? paths[i] : scratch_path(scratch, "..");
        assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
        if (!strstr(recording.text, "is not the name of a directory that can be made"))
            fail_msg("'%s': %s", path, recording.text);
        assert_int_equal(recording.live, 0);
    }
}

// ---- another process between the making of a directory and its lock

static void name_of_descriptor(int descriptor, char out_path[512])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t bytes = readlink(link, out_path, 511);
    assert_true(bytes > 0);
    out_path[bytes] = '\0';
}

static void remove_it(int directory)
{
    char path[512];
    name_of_descriptor(directory, path);
    assert_int_equal(rmdir(path), 0);
}

static void replace_it(int directory)
{
    char path[512];
    name_of_descriptor(directory, path);
    assert_true(rmdir(path) == 0 && mkdir(path, 0777) == 0);
}

static int others_lock = -1;

static void lock_it(int directory)
{
    char path[512];
    name_of_descriptor(directory, path);
    others_lock = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(others_lock, LOCK_EX), 0);
}

// `left`: what the other has there afterwards.
static void make_while(scratch_directory *scratch, void (*other)(int), size_t left)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory;
    meddle = other;
    assert_int_equal(vkf__new_directory_open(&recording.host, scratch_path(scratch, "out"), &directory), VKF_OK);
    assert_null(meddle);
    assert_true(stands_at((int)directory.hold, AT_FDCWD, directory.temporary));
    assert_int_equal(scratch_list(scratch, 0), 1 + left);
    put_content(&directory);
    assert_int_equal(vkf__new_directory_commit(&directory), VKF_OK);
    assert_int_equal(access(scratch_path(scratch, "out/inner/b"), F_OK), 0);
    assert_int_equal(recording.messages, 0);
    assert_int_equal(recording.live, 0);
}

static void test_new_directory_that_another_removes_at_once(void **state)
{
    make_while(*state, remove_it, 0);
}

static void test_new_directory_that_another_replaces_at_once(void **state)
{
    make_while(*state, replace_it, 1);
}

static void test_new_directory_that_another_locks_first(void **state)
{
    make_while(*state, lock_it, 1);
    close(others_lock);
}

static void test_new_directory_leaves_one_that_took_a_stale_ones_name(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory;
    char stale[512], path[512];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "out"));
    (void)snprintf(stale, sizeof stale, "%s", scratch_path(scratch, ".out.vkformer-0123456789abcdef.tmp"));
    assert_int_equal(mkdir(stale, 0777), 0);
    meddle = replace_it;
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_OK);
    assert_int_equal(access(stale, F_OK), 0);
    vkf__new_directory_discard(&directory);
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_OK);
    assert_int_equal(access(stale, F_OK), -1);
    vkf__new_directory_discard(&directory);
    assert_int_equal(scratch_list(scratch, 0), 0);
}

// Makes one in a process of its own, which says so by its exit or stays until it is killed.
static pid_t make_in_child(const char *path, int ready[2])
{
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__new_directory directory;
        if (vkf__new_directory_open(&recording.host, path, &directory) != VKF_OK)
            _exit(1);
        put_content(&directory);
        (void)!write(ready[1], "r", 1);
        for (;;)
            pause();
    }
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void test_new_directory_removes_what_the_dead_left(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_directory directory;
    char path[512], other[512];
    int ready[2], result;
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "out"));
    (void)snprintf(other, sizeof other, "%s", scratch_path(scratch, "out2"));
    pid_t other_child = make_in_child(other, ready), child = make_in_child(path, ready);
    assert_int_equal(scratch_list(scratch, 0), 2);
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_OK); // while it lives
    assert_int_equal(scratch_list(scratch, 0), 3);
    vkf__new_directory_discard(&directory);
    assert_int_equal(scratch_list(scratch, 0), 2);
    kill(child, SIGKILL);
    kill(other_child, SIGKILL);
    assert_true(waitpid(child, &result, 0) == child && waitpid(other_child, &result, 0) == other_child);
    assert_int_equal(vkf__new_directory_open(&recording.host, path, &directory), VKF_OK);
    assert_int_equal(scratch_list(scratch, 0), 2); // the other path's, and the new one
    assert_int_equal(vkf__new_directory_commit(&directory), VKF_OK);
    assert_int_equal(recording.live, 0);
}

// It has no name before anything of it is removed, as one shows that cannot be: somebody has its lock.
static void test_retired_directories_lose_their_names_first(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    char path[512], inner[600];
    intptr_t hold = VKF_NO_HOLD;
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "out"));
    (void)snprintf(inner, sizeof inner, "%s/file", path);
    for (int held = 1; held >= 0; held--) {
        assert_int_equal(vkf__directory_make_held(path, &hold), 0);
        assert_int_equal(mkdir(inner, 0777), 0);
        if (!held)
            vkf__directory_release(hold);
        assert_int_equal(vkf__new_directory_retire(&recording.host, path), VKF_OK);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(scratch_list(scratch, 0), held);
        if (held)
            vkf__directory_release(hold);
        assert_int_equal(vkf__new_directory_clean(&recording.host, path), VKF_OK);
        assert_int_equal(scratch_list(scratch, 0), 0);
    }
    assert_int_equal(vkf__new_directory_retire(&recording.host, path), VKF_ERROR_FILE); // there is none
    assert_int_equal(recording.live, 0);
}

// Earlier versions made one temporary directory within the name of another.
static void test_new_directory_knows_the_names_that_were_left(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    static const struct {
        const char *name;
        bool goes;
    } cases[] = {
        {".out.vkformer-0123456789abcdef.tmp", true},
        {"..out.vkformer-0123456789abcdef.tmp.vkformer-0123456789abcdef.tmp", true},
        {"..out.vkformer-0123456789abcdef.tmp", false},
        {".out.vkformer-0123456789abcdef.tmp.vkformer-0123456789abcdef.tmp", false},
        {"..out.vkformer-0123456789abcdef.tmp.vkformer-0123456789abcde.tmp", false},
        {"...out.vkformer-0123456789abcdef.tmp.vkformer-0123456789abcdef.tmp", false},
        {".out2.vkformer-0123456789abcdef.tmp", false},
        {".out.vkformer-0123456789abcdef.tmp2", false},
        {"out.vkformer-0123456789abcdef.tmp", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(mkdir(scratch_path(scratch, cases[i].name), 0777), 0);
    assert_int_equal(vkf__new_directory_clean(&recording.host, scratch_path(scratch, "out")), VKF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if ((access(scratch_path(scratch, cases[i].name), F_OK) != 0) != cases[i].goes)
            fail_msg("%s", cases[i].name);
    assert_int_equal(recording.live, 0);
}

int main(void)
{
#define cleaned(test) cmocka_unit_test_setup(test, clean)
    const struct CMUnitTest tests[] = {
        cleaned(test_new_directory_appears_on_commit_alone),
        cleaned(test_new_directory_discard_leaves_nothing),
        cleaned(test_new_directory_refuses_what_is_somebodys),
        cleaned(test_new_directory_takes_an_empty_one),
        cleaned(test_new_directory_refuses_paths_without_a_name),
        cleaned(test_new_directory_that_another_removes_at_once),
        cleaned(test_new_directory_that_another_replaces_at_once),
        cleaned(test_new_directory_that_another_locks_first),
        cleaned(test_new_directory_leaves_one_that_took_a_stale_ones_name),
        cleaned(test_new_directory_knows_the_names_that_were_left),
        cleaned(test_retired_directories_lose_their_names_first),
        cmocka_unit_test_setup_teardown(test_new_directory_removes_what_the_dead_left, clean, clean),
    };
#undef cleaned
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
