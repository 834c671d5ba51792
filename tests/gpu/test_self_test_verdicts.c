// What the on-device self-test found is kept, is obeyed, and is not found twice.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "blob_store.h"
#include "fixture.h"
#include "heard.h"
#include "kernel/context.h"
#include "kernel/work.h"
#include "taken_kernel.h"

static void test_self_test_runs_once_and_can_be_skipped(void **state)
{
    vkf_test_heard h;
    float value = 0;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_true(value == 20);
    int tests = h.tests;
    assert_true(tests > 0);
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_int_equal(h.tests, tests);
    vkf_context_destroy(&context);
    context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){.skip_self_test = true});
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_int_equal(h.tests, 0);
    vkf_context_destroy(&context);
}

// A proof that finds the first variant of a product bad, whatever the reference says.
static struct {
    vkf__verdict verdict;
    vkf__variant bad; // null: none was wanted yet
} planted;

static vkf_status planted_proof(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again)
{
    for (size_t i = 0; i < plan->want_count && !planted.bad.kernel; i++) {
        if (plan->wants[i].op != VKF_OP_GEMM)
            continue;
        planted.bad = plan->wants[i].variant;
        vkf__learned_verdict(&context->learned, planted.bad.kernel, planted.bad.config, planted.verdict);
        *out_again = true;
    }
    return VKF_OK;
}

static void test_bad_variant_gives_way_to_the_next(void **state)
{
    const vkf__verdict verdicts[] = {VKF_VERDICT_WRONG, VKF_VERDICT_SLOW};
    for (size_t i = 0; i < 2; i++) {
        vkf_test_heard h;
        float value = 0;
        vkf_context *context =
            vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){.variant = "gemm_tile"});
        planted.bad = (vkf__variant){0};
        planted.verdict = verdicts[i];
        context->prove = planted_proof;
        vkf_test_watch_kernels(context, VKF_OP_GEMM);
        assert_int_equal(vkf_test_multiply_ones(context, 100, &value), VKF_OK);
        assert_true(value == 100);
        assert_non_null(planted.bad.kernel);
        const vkf__variant taken = vkf_test_taken_variant();
        assert_true(taken.config != planted.bad.config);
        assert_int_equal(vkf__verdict_get(&context->learned.verdicts, planted.bad.kernel, planted.bad.config),
                         verdicts[i]);
        vkf_context_destroy(&context);
    }
}

// Verdicts of one context are those of the next, as long as driver and kernel are what they were.
static void test_verdicts_are_kept(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    vkf_test_heard h;
    float value = 0;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store), .variant = "gemm_tile"};
    vkf_context *context = vkf_test_open_heard(gpu, &h, desc);
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_true(h.tests > 0);
    vkf_context_destroy(&context);
    char *text = vkf_blob_text(&store, "verdicts-");
    assert_memory_equal(text, "vkformer-verdicts 2\nlibrary ", 28);
    assert_non_null(strstr(text, "gemm_tile.f32_f32_f32/small "));
    assert_non_null(strstr(text, " passed "));
    free(text);

    context = vkf_test_open_heard(gpu, &h, desc);
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_int_equal(h.tests, 0);
    vkf_context_destroy(&context);

    vkf_blob_edit(&store, "verdicts-", " passed ", " wrong ");
    context = vkf_test_open_heard(gpu, &h, desc);
    assert_int_equal(vkf_test_verdict_of(context, "gemm_tile.f32_f32_f32/small"), VKF_VERDICT_WRONG);
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_true(value == 20);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

#define SMALL_TILE "gemm_tile.f32_f32_f32/small"

// A store that counts the saves in which a test is under way, and keeps the first of the small tile.
static struct {
    int saves;
    char key[128];
    char text[1024];
} marks;

static void keep_marks(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf_blob_store *store = user;
    vkf_blob_store_callbacks(store).save(store, key, data, size_bytes);
    if (strncmp(key, "testing-", 8) != 0 || size_bytes == 0)
        return;
    marks.saves++;
    char *text = vkf_blob_text(store, "testing-");
    if (strstr(text, SMALL_TILE " ") && marks.key[0] == '\0') {
        (void)snprintf(marks.key, sizeof marks.key, "%s", key);
        (void)snprintf(marks.text, sizeof marks.text, "%s", text);
    }
    free(text);
}

// What is stored where a process was brought down by its test of the small tile, after so many others. Of these the
// first left a strike among the verdicts.
static void store_a_crash(vkf_blob_store *store, int before)
{
    char line[256], edited[256];
    const vkf__process_mark own = vkf__process_mark_own();
    const char *date = strstr(marks.text, SMALL_TILE " ") + strlen(SMALL_TILE " 0123456789abcdef 0 ");
    (void)snprintf(line, sizeof line, " 0 %.*s %llu %llu ", (int)strcspn(date, " "), date, (unsigned long long)own.id,
                   (unsigned long long)own.started);
    (void)snprintf(edited, sizeof edited, " %d %.*s %llu %llu ", before, (int)strcspn(date, " "), date,
                   (unsigned long long)own.id, (unsigned long long)own.started + 1);
    char *verdicts = vkf_blob_text(store, "verdicts-"), struck[256] = "", found[256];
    const char *small = strstr(verdicts, SMALL_TILE " ");
    assert_non_null(small);
    (void)snprintf(found, sizeof found, "%.*s\n", (int)strcspn(small, "\n"), small);
    if (before > 0)
        (void)snprintf(struck, sizeof struck, "%.*s started 1795798645 %d 0 # gone\n",
                       (int)strlen(SMALL_TILE " 0123456789abcdef"), small, before);
    vkf_blob_edit(store, "verdicts-", found, struck);
    free(verdicts);
    vkf_blob_put(store, marks.key, marks.text, strlen(marks.text));
    vkf_blob_edit(store, "testing-", line, edited);
}

static int multiply_and_count_tests(vkf_context *context, const vkf_test_heard *h)
{
    const int tests = h->tests;
    float value = 0;
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_true(value == 20);
    return h->tests - tests;
}

// What is stored says before a variant's first test that it starts, and says it no more afterwards. One that did not
// end is repeated at the next start, without a word; if that does not end either, the variant is left out.
static void test_driver_that_dies_is_asked_twice(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    vkf_test_heard h;
    vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store), .variant = "gemm_tile"};
    desc.cache.save = keep_marks;
    memset(&marks, 0, sizeof marks);
    vkf_context *context = vkf_test_open_heard(gpu, &h, desc);
    const int tests = multiply_and_count_tests(context, &h);
    assert_int_equal(marks.saves, tests);
    assert_int_equal(vkf_blob_find(&store, "testing-")->size_bytes, 0);
    vkf_context_destroy(&context);
    store_a_crash(&store, 0);
    context = vkf_test_open_heard(gpu, &h, desc);
    assert_int_equal(vkf_test_verdict_of(context, SMALL_TILE), VKF_VERDICT_UNKNOWN);
    assert_true(multiply_and_count_tests(context, &h) > 0);
    assert_int_equal(vkf_test_verdict_of(context, SMALL_TILE), VKF_VERDICT_PASSED);
    assert_string_equal(h.last, "");
    vkf_context_destroy(&context);
    store_a_crash(&store, 1);
    context = vkf_test_open_heard(gpu, &h, desc);
    if (!strstr(h.last, "never ended") || !strstr(h.last, "info --forget") || !strstr(h.last, "\"verdicts-"))
        fail_msg("%s", h.last);
    (void)multiply_and_count_tests(context, &h);
    assert_int_equal(vkf_test_verdict_of(context, SMALL_TILE), VKF_VERDICT_STARTED);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

typedef struct told {
    int verdicts, left_out;
    char reason[256];
} told;

static void tell(void *user, const vkf_verdict *verdict)
{
    told *t = user;
    t->verdicts++;
    t->left_out += verdict->left_out;
    assert_true(verdict->date > 1700000000);
    if (verdict->left_out && strcmp(verdict->variant, SMALL_TILE) == 0)
        (void)snprintf(t->reason, sizeof t->reason, "%s %u: %s", verdict->verdict, verdict->strikes, verdict->reason);
}

// A strike is told with the process and where it was, and is warned of once. All of it can be forgotten.
static void test_verdicts_are_told_and_forgotten(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    vkf_test_heard h;
    told before = {0}, after = {0};
    vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store), .variant = "gemm_tile"};
    desc.cache.save = keep_marks;
    memset(&marks, 0, sizeof marks);
    vkf_context *context = vkf_test_open_heard(gpu, &h, desc);
    assert_true(multiply_and_count_tests(context, &h) > 0);
    vkf_context_destroy(&context);
    store_a_crash(&store, 1);
    context = vkf_test_open_heard(gpu, &h, desc);
    vkf_context_destroy(&context);
    context = vkf_test_open_heard(gpu, &h, desc);
    assert_string_equal(h.last, "");
    assert_int_equal(vkf_context_visit_verdicts(context, tell, &before), VKF_OK);
    assert_int_equal(before.left_out, 1);
    if (strncmp(before.reason, "started 2: process ", 19) != 0 || !strstr(before.reason, "host ") ||
        !strstr(before.reason, "process namespace ") || !strstr(before.reason, "boot "))
        fail_msg("%s", before.reason);
    assert_int_equal(vkf_context_forget_verdicts(context), VKF_OK);
    assert_int_equal(vkf_context_visit_verdicts(context, tell, &after), VKF_OK);
    assert_int_equal(after.verdicts, 0);
    assert_int_equal(vkf_blob_find(&store, "verdicts-")->size_bytes, 0);
    assert_true(multiply_and_count_tests(context, &h) > 0);
    assert_int_equal(vkf_test_verdict_of(context, SMALL_TILE), VKF_VERDICT_PASSED);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

// While this process tests, with the test's start in the store, a child uses the same store.
static const vkf_test_gpu *beside_gpu;
static int beside_saves, beside_status;

static void listen_beside(void *user, vkf_severity severity, const char *text)
{
    bool *out_never_ended = user;
    if (severity >= VKF_SEVERITY_WARNING && strstr(text, "never ended"))
        *out_never_ended = true;
}

// 0 when the child was told nothing of a process that died, and tests what it needs for itself.
static int use_store(const vkf_blob_store *from)
{
    vkf_blob_store store = *from; // the child's copy of the blobs
    bool never_ended = false;
    vkf_context *context = NULL;
    float value = 0;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store),
                                   .variant = "gemm_tile",
                                   .profile = beside_gpu->profile,
                                   .message = listen_beside,
                                   .message_user = &never_ended};
    if (vkf_context_create(&desc, &context) != VKF_OK)
        return 1;
    const vkf__variant small = vkf_test_variant_named(SMALL_TILE);
    const vkf__verdict_entry *entry = vkf__verdict_entry_of(&context->learned.verdicts, small.kernel, small.config);
    if (atomic_load(&entry->strikes) > 0)
        return 4;
    if (vkf_test_multiply_ones(context, 20, &value) != VKF_OK)
        return 1;
    if (never_ended || value != 20)
        return 2;
    return vkf_test_verdict_of(context, "gemm_tile.f32_f32_f32/small") == VKF_VERDICT_PASSED ? 0 : 3;
}

static void save_and_start_another(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf_blob_store *store = user;
    vkf_blob_store_callbacks(store).save(store, key, data, size_bytes);
    char *text = vkf_blob_text(store, "testing-");
    const bool starts = strstr(text, SMALL_TILE " ") != NULL;
    free(text);
    if (strncmp(key, "testing-", 8) != 0 || !starts || beside_saves++ > 0)
        return;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(120);
        _exit(use_store(store));
    }
    if (child < 0 || waitpid(child, &beside_status, 0) != child)
        beside_status = -1;
}

static void test_process_that_tests_has_not_died(void **state)
{
    vkf_blob_store store = {0};
    vkf_test_heard h;
    float value = 0;
    vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store), .variant = "gemm_tile"};
    desc.cache.save = save_and_start_another;
    beside_gpu = vkf_test_gpu_of(state);
    if (beside_gpu->context->device.plan.caps.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER) {
        printf("skipped: in a child of a process that has used it, the driver itself hangs\n");
        skip();
    }
    beside_saves = 0;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, desc);
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    assert_int_equal(beside_saves, 1);
    assert_true(WIFEXITED(beside_status));
    assert_int_equal(WEXITSTATUS(beside_status), 0);
    assert_int_equal(vkf_test_verdict_of(context, "gemm_tile.f32_f32_f32/small"), VKF_VERDICT_PASSED);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

// The only kernel of its kind stays in quarantine, and the message says how it comes out.
static void test_quarantine_of_the_only_kernel_is_named(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    vkf_test_heard h;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store)};
    const uint32_t shape[] = {4, 8};
    const vkf__kernel *softmax = vkf_test_variant_named("softmax.f32_f32/row16").kernel;
    vkf_context *context = vkf_test_open_heard(gpu, &h, desc);
    vkf_tensor x;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        for (uint32_t c = 0; vkf__kernel_at(i)->op == softmax->op && c < vkf__kernel_at(i)->config_count; c++)
            vkf__verdict_set(&context->learned.verdicts, vkf__kernel_at(i), &vkf__kernel_at(i)->configs[c],
                             VKF_VERDICT_WRONG);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "x", &x), VKF_OK);
    assert_int_equal(vkf_softmax(context, &(vkf_softmax_desc){.x = x, .out = x}), VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(h.last, "no kernel for softmax is left on this device and driver: softmax"));
    assert_non_null(strstr(h.last, "is quarantined: its self-test differed"));
    assert_non_null(strstr(h.last, "kept in the cache as \"verdicts-"));
    assert_non_null(strstr(h.last, "vkf_context_forget_verdicts()"));
    vkf_tensor_destroy(&x);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

// What others found slow, or did not come back from, is tested again where nothing better is left.
static void test_suspected_variants_get_another_chance(void **state)
{
    vkf_test_heard h;
    const uint32_t shape[] = {4, 8};
    const vkf__kernel *softmax = vkf_test_variant_named("softmax.f32_f32/row16").kernel;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    vkf_tensor x;
    bool left_out = false;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        for (uint32_t c = 0; vkf__kernel_at(i)->op == softmax->op && c < vkf__kernel_at(i)->config_count; c++)
            vkf__verdict_strike(&context->learned.verdicts, vkf__kernel_at(i), &vkf__kernel_at(i)->configs[c],
                                VKF_VERDICT_STRIKES, "gone", &left_out);
    assert_true(left_out);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "x", &x), VKF_OK);
    assert_int_equal(vkf_softmax(context, &(vkf_softmax_desc){.x = x, .out = x}), VKF_OK);
    assert_int_equal(h.tests, 1);
    vkf_tensor_destroy(&x);
    vkf_context_destroy(&context);
}

static void assert_tested_anew(vkf_test_gpu *gpu, vkf_blob_store *store, const char *what, bool warns)
{
    vkf_test_heard h;
    float value = 0;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(store), .variant = "gemm_tile"};
    vkf_context *context = vkf_test_open_heard(gpu, &h, desc);
    bool warned = strstr(h.last, "verdicts ignored") != NULL;
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    if (h.tests == 0 || warned != warns)
        fail_msg("%s: %d tests: %s", what, h.tests, h.last);
    vkf_context_destroy(&context);
}

static void test_stale_and_damaged_verdicts_are_ignored(void **state)
{
    static const struct {
        const char *from, *to;
        bool warns;
    } rows[] = {
        {"device ", "device 1", false},
        {"vkformer-verdicts 2", "vkformer-verdicts 9", false},
        {"vkformer-verdicts 2", "verdicts", true},
        {" passed", " splendid", true},
        {"f32/small ", "f32/small 1111111111111111 passed 1 0 0 # ", false},
        {"device ", "vice ", true},
    };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf_blob_store store = {0};
        assert_tested_anew(gpu, &store, "nothing kept", false);
        // The line of this variant alone: others may stand before it.
        vkf_blob_edit(&store, "verdicts-", rows[i].from, rows[i].to);
        assert_tested_anew(gpu, &store, rows[i].to, rows[i].warns);
        vkf_blob_store_clear(&store);
    }
}

typedef struct caller {
    vkf_context *context;
    float value;
    vkf_status status;
    pthread_t thread;
} caller;

static void *call(void *user)
{
    caller *c = user;
    c->status = vkf_test_multiply_ones(c->context, 20, &c->value);
    return NULL;
}

static void test_threads_test_a_variant_once(void **state)
{
    enum { THREADS = 4 };
    vkf_test_heard h;
    float value = 0;
    caller callers[THREADS];
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    assert_int_equal(vkf_test_multiply_ones(context, 20, &value), VKF_OK);
    int tests = h.tests;
    vkf_context_destroy(&context);
    context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (caller){.context = context};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].status, VKF_OK);
        assert_true(callers[i].value == 20);
    }
    assert_int_equal(h.tests, tests);
    vkf_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_test_runs_once_and_can_be_skipped),
        cmocka_unit_test(test_bad_variant_gives_way_to_the_next),
        cmocka_unit_test(test_verdicts_are_kept),
        cmocka_unit_test(test_driver_that_dies_is_asked_twice),
        cmocka_unit_test(test_verdicts_are_told_and_forgotten),
        cmocka_unit_test(test_suspected_variants_get_another_chance),
        cmocka_unit_test(test_process_that_tests_has_not_died),
        cmocka_unit_test(test_quarantine_of_the_only_kernel_is_named),
        cmocka_unit_test(test_stale_and_damaged_verdicts_are_ignored),
        cmocka_unit_test(test_threads_test_a_variant_once),
    };
    return cmocka_run_group_tests_name("verdicts", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
