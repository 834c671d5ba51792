// The directories of a training's steps: which is the last, and which are kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <vkformer/train.h>

#include "recording_host.h"
#include "scratch_directory.h"
#include "train/train_steps.h"

static void make(scratch_directory *scratch, const char *name)
{
    char file[128];
    assert_int_equal(vkf__directory_make(scratch_path(scratch, name), 0777), 0);
    (void)snprintf(file, sizeof file, "%s/" VKF_CHECKPOINT_FILE, name);
    scratch_write(scratch, file, "x", 1);
}

// A directory of somebody's, which only has such a name.
static void make_foreign(scratch_directory *scratch, const char *name)
{
    char file[128];
    assert_int_equal(vkf__directory_make(scratch_path(scratch, name), 0777), 0);
    (void)snprintf(file, sizeof file, "%s/notes", name);
    scratch_write(scratch, file, "x", 1);
}

static bool is_there(scratch_directory *scratch, const char *name)
{
    vkf__file_info info;
    return vkf__path_info(scratch_path(scratch, name), &info);
}

static void remove_all(scratch_directory *scratch)
{
    vkf__listing *listing = vkf__listing_open(scratch->path);
    for (const char *name; (name = vkf__listing_next(listing));)
        vkf__directory_remove_unheld(scratch->path, name);
    vkf__listing_close(listing);
    scratch_list(scratch, 1);
}

static void test_last_step_is_the_greatest_number(void **state)
{
    scratch_directory *scratch = *state;
    static const char *const others[] = {"step-",   "step-010", "step-12.tmp",
                                         "step--3", "xstep-99", "step-99999999999999999999"};
    uint64_t step = 0;
    assert_false(vkf_train_last_step(scratch->path, &step));
    assert_false(vkf_train_last_step(scratch_path(scratch, "nowhere"), &step));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        make(scratch, others[i]);
    assert_false(vkf_train_last_step(scratch->path, &step));
    make(scratch, "step-9");
    make(scratch, "step-10");
    make(scratch, "step-0");
    make_foreign(scratch, "step-11");
    assert_true(vkf_train_last_step(scratch->path, &step));
    assert_int_equal(step, 10);
    remove_all(scratch);
}

static void test_keep_steps_removes_older_ones_and_what_was_left(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    // The last is what an earlier version left.
    static const char *const gone[] = {"step-1", "step-9", ".step-0123456789abcdef.tmp",
                                       ".step-7.vkformer-0123456789abcdef.tmp",
                                       "..step-7.vkformer-0123456789abcdef.tmp.vkformer-fedcba9876543210.tmp"};
    static const char *const kept[] = {"step-10",
                                       "step-100",
                                       "step-x",
                                       "best",
                                       ".step-7",
                                       ".step-7.tmp",
                                       "..step-7.vkformer-0123456789abcdef.tmp",
                                       ".step-7.vkformer-0123456789abcde.tmp",
                                       ".best.vkformer-0123456789abcdef.tmp"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        make(scratch, gone[i]);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        make(scratch, kept[i]);
    make_foreign(scratch, "step-2");
    assert_int_equal(vkf_train_keep_steps(&recording.host, scratch->path, 2), VKF_OK);
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_false(is_there(scratch, gone[i]));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_true(is_there(scratch, kept[i]));
    assert_true(is_there(scratch, "step-2/notes"));
    assert_int_equal(recording.live, 0);
    assert_int_equal(recording.messages, 0);
    remove_all(scratch);
}

// A process that is making a step's directory is left alone.
static void test_keep_steps_leaves_what_is_held(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    intptr_t hold = VKF_NO_HOLD;
    static const char name[] = ".step-8.vkformer-0123456789abcdef.tmp";
    assert_int_equal(vkf__directory_make_held(scratch_path(scratch, name), &hold), 0);
    assert_int_equal(vkf_train_keep_steps(&recording.host, scratch->path, 0), VKF_OK);
    assert_true(is_there(scratch, name));
    vkf__directory_release(hold);
    assert_int_equal(vkf_train_keep_steps(&recording.host, scratch->path, 0), VKF_OK);
    assert_false(is_there(scratch, name));
    assert_int_equal(recording.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_step_is_the_greatest_number),
        cmocka_unit_test(test_keep_steps_removes_older_ones_and_what_was_left),
        cmocka_unit_test(test_keep_steps_leaves_what_is_held),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
