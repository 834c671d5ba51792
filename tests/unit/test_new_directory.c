// A directory that is there whole or not at all, whoever was killed while making it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "recording_host.h"
#include "scratch_directory.h"

#include "../../tools/program/new_directory.c"

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

static void put_content(const vkf_new_directory *directory)
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
    vkf_new_directory directory;
    char path[512], slashes[520];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "out"));
    (void)snprintf(slashes, sizeof slashes, "%s//", path);
    assert_int_equal(vkf_new_directory_open(&recording.host, slashes, &directory), VKF_OK);
    put_content(&directory);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(vkf_new_directory_commit(&directory), VKF_OK);
    assert_int_equal(access(scratch_path(scratch, "out/inner/b"), F_OK), 0);
    assert_int_equal(scratch_list(scratch, 0), 1);
    vkf_new_directory_discard(&directory);
    assert_int_equal(recording.live, 0);
    assert_int_equal(recording.messages, 0);
}

static void test_new_directory_discard_leaves_nothing(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf_new_directory directory;
    assert_int_equal(vkf_new_directory_open(&recording.host, scratch_path(scratch, "out"), &directory), VKF_OK);
    put_content(&directory);
    vkf_new_directory_discard(&directory);
    assert_int_equal(scratch_list(scratch, 0), 0);
    assert_int_equal(recording.live, 0);
}

static void test_new_directory_refuses_what_is_somebodys(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf_new_directory directory = {0};
    const char *path = scratch_write(scratch, "out", "x", 1);
    assert_int_equal(vkf_new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "out: is there already"));
    assert_true(unlink(path) == 0 && mkdir(path, 0777) == 0);
    put_file(path, "theirs");
    assert_int_equal(vkf_new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
    assert_int_equal(access(scratch_path(scratch, "out/theirs"), F_OK), 0);
    path = scratch_path(scratch, "no/where");
    assert_int_equal(vkf_new_directory_open(&recording.host, path, &directory), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "no/where: cannot be made: No such file"));
    assert_null(directory.host);
    assert_int_equal(recording.live, 0);
}

static void test_new_directory_takes_an_empty_one(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf_new_directory directory;
    const char *path = scratch_path(scratch, "out");
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(vkf_new_directory_open(&recording.host, path, &directory), VKF_OK);
    put_content(&directory);
    assert_int_equal(vkf_new_directory_commit(&directory), VKF_OK);
    assert_int_equal(access(scratch_path(scratch, "out/a"), F_OK), 0);
}

// Makes one in a process of its own, which says so by its exit or stays until it is killed.
static pid_t make_in_child(const char *path, int ready[2])
{
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        recording_host recording;
        recording_host_init(&recording);
        vkf_new_directory directory;
        if (vkf_new_directory_open(&recording.host, path, &directory) != VKF_OK)
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
    vkf_new_directory directory;
    char path[512], other[512];
    int ready[2], result;
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "out"));
    (void)snprintf(other, sizeof other, "%s", scratch_path(scratch, "out2"));
    pid_t other_child = make_in_child(other, ready), child = make_in_child(path, ready);
    assert_int_equal(scratch_list(scratch, 0), 2);
    assert_int_equal(vkf_new_directory_open(&recording.host, path, &directory), VKF_OK); // while it lives
    assert_int_equal(scratch_list(scratch, 0), 3);
    vkf_new_directory_discard(&directory);
    assert_int_equal(scratch_list(scratch, 0), 2);
    kill(child, SIGKILL);
    kill(other_child, SIGKILL);
    assert_true(waitpid(child, &result, 0) == child && waitpid(other_child, &result, 0) == other_child);
    assert_int_equal(vkf_new_directory_open(&recording.host, path, &directory), VKF_OK);
    assert_int_equal(scratch_list(scratch, 0), 2); // the other path's, and the new one
    assert_int_equal(vkf_new_directory_commit(&directory), VKF_OK);
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
        cmocka_unit_test_setup_teardown(test_new_directory_removes_what_the_dead_left, clean, clean),
    };
#undef cleaned
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
