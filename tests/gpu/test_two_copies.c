// Two plugins of one program have the library linked into them, each its own: they work side by side, and one goes
// without the other.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy_module.h"
#include "fixture.h"

typedef struct plugin {
    void *library;
    copy_module *(*open)(void);
    bool (*run)(copy_module *copy, float *out_values);
    void (*close)(copy_module *copy);
    copy_module *copy;
    int wrong;
} plugin;

static void load(plugin *p, const char *file)
{
    *p = (plugin){.library = dlopen(file, RTLD_NOW | RTLD_LOCAL)};
    if (!p->library)
        fail_msg("%s: %s", file, dlerror());
    // ISO C cannot convert an object pointer to a function pointer.
    void *symbols[] = {dlsym(p->library, "copy_module_open"), dlsym(p->library, "copy_module_run"),
                       dlsym(p->library, "copy_module_close")};
    memcpy(&p->open, &symbols[0], sizeof p->open);
    memcpy(&p->run, &symbols[1], sizeof p->run);
    memcpy(&p->close, &symbols[2], sizeof p->close);
    assert_true(p->open && p->run && p->close);
    p->copy = p->open();
    assert_non_null(p->copy);
}

static void unload(plugin *p)
{
    p->close(p->copy);
    assert_int_equal(dlclose(p->library), 0);
}

static void *run_often(void *user)
{
    plugin *p = user;
    float values[COPY_MODULE_COUNT];
    for (int turn = 0; turn < 20; turn++) {
        bool right = p->run(p->copy, values);
        for (int i = 0; i < COPY_MODULE_COUNT && right; i++)
            right = values[i] > 0.99f / COPY_MODULE_COUNT && values[i] < 1.01f / COPY_MODULE_COUNT;
        p->wrong += !right;
    }
    return NULL;
}

static void test_two_copies_work_at_once(void **state)
{
    plugin plugins[2];
    pthread_t threads[2];
    (void)vkf_test_gpu_of(state);
    load(&plugins[0], FIRST_COPY);
    load(&plugins[1], SECOND_COPY);
    assert_ptr_not_equal(plugins[0].run, plugins[1].run);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &plugins[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    unload(&plugins[0]);
    (void)run_often(&plugins[1]); // which does not miss the other
    unload(&plugins[1]);
    assert_int_equal(plugins[0].wrong, 0);
    assert_int_equal(plugins[1].wrong, 0);
}

// What a copy left with the process (its handlers of fork()) went with it.
static void test_fork_behind_the_end_of_copies(void **state)
{
    plugin p;
    int ended = -1;
    (void)vkf_test_gpu_of(state);
    load(&p, FIRST_COPY);
    unload(&p);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_copies_work_at_once),
        cmocka_unit_test(test_fork_behind_the_end_of_copies),
    };
    return cmocka_run_group_tests_name("two_copies", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
