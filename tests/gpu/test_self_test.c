// The on-device self-test: it passes what is right, finds what is planted, and its verdicts are kept and obeyed.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob_store.h"
#include "fixture.h"
#include "kernel/context.h"
#include "kernel/glsl.h"
#include "kernel/work.h"
#include "prove/self_test.h"
#include "prove/self_test_bed.h"
#include "shader_copy.h"

#define LARGE "gemm_tile.f32_f32_f32/large"

// What a context says while it is tested.
typedef struct heard {
    atomic_int tests;    // self-tests that ran
    atomic_int warnings; // about the self-test
    char warning[512];
    char last[512];
    char slow[512];      // about LARGE
    char untouched[512]; // about a variant that none of the shapes fits
} heard;

static void listen(void *user, vkf_severity severity, const char *text)
{
    heard *h = user;
    if (severity == VKF_SEVERITY_DEBUG && strstr(text, "self-test: ") && strstr(text, " shapes, "))
        atomic_fetch_add(&h->tests, 1);
    if (severity == VKF_SEVERITY_WARNING && strstr(text, "self-test: ")) {
        atomic_fetch_add(&h->warnings, 1);
        (void)snprintf(h->warning, sizeof h->warning, "%s", text);
    }
    if (severity == VKF_SEVERITY_WARNING && strstr(text, LARGE " is too slow"))
        (void)snprintf(h->slow, sizeof h->slow, "%s", text);
    if (severity == VKF_SEVERITY_DEBUG && strstr(text, "takes none of the edge shapes"))
        (void)snprintf(h->untouched, sizeof h->untouched, "%s", text);
    if (severity >= VKF_SEVERITY_WARNING)
        (void)snprintf(h->last, sizeof h->last, "%s", text);
}

static vkf_context *open_context(vkf_test_gpu *gpu, heard *h, vkf_context_desc desc)
{
    vkf_context *context = NULL;
    memset(h, 0, sizeof *h);
    desc.profile = gpu->profile;
    desc.message = listen;
    desc.message_user = h;
    if (vkf_context_create(&desc, &context) != VKF_OK)
        fail_msg("no context: %s", h->last);
    return context;
}

// out (n, n) = ones (n, n) ones (n, n): every element is n.
static vkf_status multiply(vkf_context *context, uint32_t n, float *out_value)
{
    const uint32_t shape[] = {n, n};
    const size_t bytes = (size_t)n * n * sizeof(float);
    float *values = malloc(bytes);
    vkf_tensor a = {0}, out = {0};
    assert_non_null(values);
    for (size_t i = 0; i < (size_t)n * n; i++)
        values[i] = 1;
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "a", &a), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "out", &out), VKF_OK);
    assert_int_equal(vkf_tensor_write(&a, values, bytes), VKF_OK);
    const vkf_gemm_desc desc = {.a = a, .b = a, .out = out, .alpha = 1};
    vkf_status status = vkf_gemm(context, &desc);
    if (status == VKF_OK)
        assert_int_equal(vkf_tensor_read(&out, values, bytes), VKF_OK);
    *out_value = values[bytes / sizeof(float) - 1];
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&out);
    free(values);
    return status;
}

static vkf__variant variant_named(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            char full[128];
            (void)snprintf(full, sizeof full, "%s/%s", kernel->name, kernel->configs[c].name);
            if (strcmp(full, name) == 0)
                return (vkf__variant){kernel, &kernel->configs[c]};
        }
    }
    fail_msg("no variant %s", name);
    return (vkf__variant){0};
}

static vkf__verdict verdict_of(const vkf_context *context, const char *name)
{
    const vkf__variant variant = variant_named(name);
    return vkf__verdict_get(&context->learned.verdicts, variant.kernel, variant.config);
}

// The first config of a kernel that the device takes; NULL when there is none.
static const vkf__config *pick_config(const vkf__caps *caps, const vkf__kernel *kernel)
{
    for (uint32_t c = 0; c < kernel->config_count; c++) {
        if (vkf__kernel_supported(caps, kernel, &kernel->configs[c], NULL))
            return &kernel->configs[c];
    }
    return NULL;
}

static void assert_passes(vkf_context *context, heard *h, const vkf__variant *variant)
{
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    h->untouched[0] = '\0';
    assert_int_equal(vkf__self_test(context, variant, &verdict), VKF_OK);
    if (verdict != VKF_VERDICT_PASSED || h->warnings > 0)
        fail_msg("%s/%s: verdict %d: %s", variant->kernel->name, variant->config->name, (int)verdict, h->last);
    // Attention's configs that share rows leave parts in f32, and so serve no other type of output.
    if (h->untouched[0] && variant->kernel->op != VKF_OP_ATTENTION)
        fail_msg("%s", h->untouched);
}

// A build with sanitizers, which find nothing in kernels, takes every tenth; VKF_TEST_ALL=1: all.
static uint32_t kernel_stride(void)
{
#ifdef __SANITIZE_ADDRESS__
    return vkf_test_all() ? 1 : 10;
#else
    return 1;
#endif
}

// A second opinion is about kernels of f32: other types change how elements are read and written alone, which the
// first driver has seen. VKF_TEST_ALL=1: all.
static bool is_second_opinion(const vkf__caps *caps)
{
    return caps->driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER && !vkf_test_all();
}

static bool is_for_this_driver(const vkf__caps *caps, const vkf__kernel *kernel)
{
    return !is_second_opinion(caps) || kernel->types[0] == VKF_DTYPE_F32;
}

// Every kernel that this device may use matches the reference, and is given something to match. There are too many
// configs to compile them all.
static void test_self_test_passes_every_kernel(void **state)
{
    heard h;
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf__caps *caps = &context->device.plan.caps;
    const uint32_t stride = kernel_stride();
    int kernels = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i += stride) {
        const char *why = NULL;
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const vkf__variant first = {kernel, pick_config(caps, kernel)};
        if (!first.config || !vkf__self_test_covers(kernel->op, &why) || !is_for_this_driver(caps, kernel))
            continue;
        kernels++;
        assert_passes(context, &h, &first);
    }
    assert_true(kernels > (stride == 1 ? 10 : 8));
    assert_true(h.tests >= kernels);
    vkf_context_destroy(&context);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static void test_self_test_proof_and_its_end(void **state)
{
    heard h;
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf__variant variant = variant_named("softmax.f32_f32/row16");
    vkf__verdict verdict = VKF_VERDICT_WRONG;
    assert_int_equal(vkf__self_test_prove(context, &variant, never, NULL, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_UNKNOWN);
    assert_int_equal(vkf__self_test_prove(context, &variant, NULL, NULL, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_PROVEN);
    // What is proven needs no test.
    assert_int_equal(h.tests, 1);
    assert_int_equal(vkf__self_test(context, &variant, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_PROVEN);
    assert_int_equal(h.tests, 1);
    vkf_context_destroy(&context);
}

static void test_self_test_runs_once_and_can_be_skipped(void **state)
{
    heard h;
    float value = 0;
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_true(value == 20);
    int tests = h.tests;
    assert_true(tests > 0);
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_int_equal(h.tests, tests);
    vkf_context_destroy(&context);
    context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){.skip_self_test = true});
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_int_equal(h.tests, 0);
    vkf_context_destroy(&context);
}

// A proof that finds one variant bad, whatever the reference says.
static vkf__verdict planted_verdict;
static vkf_status planted_proof(vkf_context *context, const vkf__want *wants, size_t count, bool *out_again)
{
    const vkf__variant bad = variant_named(LARGE);
    for (size_t i = 0; i < count; i++) {
        const vkf__variant *variant = &wants[i].variant;
        bool is_bad = variant->config == bad.config && variant->kernel == bad.kernel;
        if (is_bad && vkf__verdict_get(&context->learned.verdicts, bad.kernel, bad.config) == VKF_VERDICT_UNKNOWN) {
            vkf__learned_verdict(&context->learned, bad.kernel, bad.config, planted_verdict);
            *out_again = true;
        }
    }
    return VKF_OK;
}

static void test_bad_variant_gives_way_to_the_next(void **state)
{
    const vkf__verdict verdicts[] = {VKF_VERDICT_WRONG, VKF_VERDICT_SLOW};
    const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    const vkf__problem problem = {.m = 100, .n = 100, .k = 100};
    for (size_t i = 0; i < 2; i++) {
        heard h;
        float value = 0;
        vkf__variant chosen;
        vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){.variant = "gemm_tile"});
        const vkf__variant large = variant_named(LARGE);
        if (!vkf__kernel_supported(&context->device.plan.caps, large.kernel, large.config, NULL)) {
            vkf_context_destroy(&context);
            skip();
        }
        planted_verdict = verdicts[i];
        context->prove = planted_proof;
        assert_int_equal(multiply(context, 100, &value), VKF_OK);
        assert_true(value == 100);
        assert_int_equal(verdict_of(context, LARGE), verdicts[i]);
        const vkf__selector selector = vkf__context_selector(context);
        assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &chosen, NULL));
        assert_true(chosen.config != large.config);
        vkf_context_destroy(&context);
    }
}

static void skip_without_compiler(void)
{
    if (vkf__glsl_available())
        return;
    printf("skipped: this build has no GLSL compiler (VKF_RUNTIME_GLSL)\n");
    skip();
}

// Multiplies with shaders in which `from` became `to`, and with gemm_tile wherever it can serve.
static vkf_status multiply_edited(vkf_test_gpu *gpu, heard *h, const char *from, const char *to, bool skip_self_test,
                                  uint64_t budget_ns, float *out_value)
{
    vkf_shader_copy copy;
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "gemm_tile.comp", from, to);
    vkf_context *context = open_context(
        gpu, h, (vkf_context_desc){.shader_dir = copy.path, .variant = "gemm_tile", .skip_self_test = skip_self_test});
    if (budget_ns > 0)
        context->self_test_budget_ns = budget_ns;
    vkf_status status = multiply(context, 100, out_value);
    vkf_context_destroy(&context);
    vkf_test_remove_shaders(&copy);
    return status;
}

static const char store_line[] = "float value = p.alpha * sum;";

// Wrong in one config alone, which is what would be taken for this size.
static void test_wrong_variant_is_found_and_replaced(void **state)
{
    static const char wrong[] = "float value = (TILE_M == 64 && TILE_N == 64 ? 1.001 : 1.0) * p.alpha * sum;";
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    heard h;
    float value = 0;
    skip_without_compiler();
    assert_int_equal(multiply_edited(gpu, &h, store_line, wrong, true, 0, &value), VKF_OK);
    if (value == 100)
        skip(); // the device does not take the large tile
    assert_int_equal(multiply_edited(gpu, &h, store_line, wrong, false, 0, &value), VKF_OK);
    assert_true(value == 100);
    assert_int_equal(h.warnings, 1);
    if (!strstr(h.warning, LARGE " is wrong") || !strstr(h.warning, "expected") || !strstr(h.warning, "m 1, n 1"))
        fail_msg("%s", h.warning);
}

// An error of the last bits is one: the edge shapes are exact.
static void test_slightly_wrong_variant_is_found(void **state)
{
    heard h;
    float value = 0;
    skip_without_compiler();
    assert_int_equal(multiply_edited(vkf_test_gpu_of(state), &h, store_line,
                                     "float value = (TILE_M == 64 ? 1.00001 : 1.0) * p.alpha * sum;", false, 0, &value),
                     VKF_OK);
    assert_true(value == 100);
}

// What Mesa 22.3 does to long loops shows at k = 100,000 alone, and in every config: then there is nothing left.
static void test_loop_that_ends_early_is_found(void **state)
{
    heard h;
    float value = 0;
    skip_without_compiler();
    if (is_second_opinion(&vkf_test_gpu_of(state)->context->device.plan.caps)) {
        printf("skipped: every config at k = 100,000, found on another driver already\n");
        skip();
    }
    vkf_status status = multiply_edited(vkf_test_gpu_of(state), &h, "if (p.alpha == 0.0)",
                                        "k_end = min(k_end, 65535u);\nif (p.alpha == 0.0)", false, 0, &value);
    if (!strstr(h.warning, "k 100000"))
        fail_msg("%s", h.warning);
    assert_true(h.warnings >= 2);
    // Another kernel may serve where gemm_tile does not.
    assert_true(status == VKF_ERROR_UNSUPPORTED || (status == VKF_OK && value == 100));
}

static void test_write_beside_the_output_is_found(void **state)
{
    heard h;
    float value = 0;
    skip_without_compiler();
    (void)multiply_edited(vkf_test_gpu_of(state), &h, "if (row < p.m && col < p.n) {",
                          "if (row < p.m && col < p.n + (TILE_M == 64 ? 1 : 0)) {", false, 0, &value);
    assert_true(h.warnings >= 1);
    assert_non_null(strstr(h.warning, "is wrong"));
}

// A row's last column that is read once more where the row ends within a step of the workgroup must not count twice.
static void test_column_that_counts_twice_is_found(void **state)
{
    heard h;
    vkf_shader_copy copy;
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    const vkf__variant variant = variant_named("sample.f32/row64");
    skip_without_compiler();
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "sample.comp", "own = col < cols ? better(own, candidate) : own;",
                               "own = better(own, uvec2(candidate.x, min(col, cols - 1)));");
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){.shader_dir = copy.path});
    assert_int_equal(vkf__self_test(context, &variant, &verdict), VKF_OK);
    vkf_context_destroy(&context);
    vkf_test_remove_shaders(&copy);
    assert_int_equal(verdict, VKF_VERDICT_WRONG);
    assert_non_null(strstr(h.warning, "top-k 5"));
}

// Right, but far beyond its time.
static void test_slow_variant_is_found_and_replaced(void **state)
{
    static const char slow[] = "void main()\n"
                               "{\n"
                               "    float waste = float(gl_LocalInvocationID.x);\n"
                               "    for (uint i = 0; TILE_M == 64 && i < 60000; ++i) {\n"
                               "        [[unroll]] for (uint j = 0; j < 32; ++j)\n"
                               "            waste = sin(waste) + cos(waste + 0.5);\n"
                               "    }\n"
                               "    if (waste > 3.0 * float(p.m + 100))\n"
                               "        return;\n";
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    heard h;
    float value = 0;
    skip_without_compiler();
    if (gpu->context->device.plan.caps.type != VKF_DEVICE_TYPE_CPU)
        skip(); // what is slow depends on the device
    assert_int_equal(multiply_edited(gpu, &h, "void main()\n{\n", slow, false, 150000000, &value), VKF_OK);
    assert_true(value == 100);
    // On a busy machine others may be slow as well.
    if (!strstr(h.slow, LARGE " is too slow") || !strstr(h.slow, "budget"))
        fail_msg("%d warnings: %s", h.warnings, h.warning);
}

// Verdicts of one context are those of the next, as long as driver and kernel are what they were.
static void test_verdicts_are_kept(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    heard h;
    float value = 0;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store), .variant = "gemm_tile"};
    vkf_context *context = open_context(gpu, &h, desc);
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_true(h.tests > 0);
    vkf_context_destroy(&context);
    char *text = vkf_blob_text(&store, "verdicts-");
    assert_memory_equal(text, "vkformer-verdicts 1\ndevice ", 27);
    assert_non_null(strstr(text, "gemm_tile.f32_f32_f32/small "));
    assert_non_null(strstr(text, " passed\n"));
    free(text);

    context = open_context(gpu, &h, desc);
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_int_equal(h.tests, 0);
    vkf_context_destroy(&context);

    vkf_blob_edit(&store, "verdicts-", " passed\n", " wrong\n");
    context = open_context(gpu, &h, desc);
    assert_int_equal(verdict_of(context, "gemm_tile.f32_f32_f32/small"), VKF_VERDICT_WRONG);
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_true(value == 20);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

// A store that counts the saves in which a test has started.
static int saves_of_started_tests;

static void count_save(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf_blob_store *store = user;
    vkf_blob_store_callbacks(store).save(store, key, data, size_bytes);
    char *text = vkf_blob_text(store, "verdicts-");
    saves_of_started_tests += strstr(text, " started\n") != NULL;
    free(text);
}

// What is stored says before a variant's first test that it starts, and afterwards what came of it. A variant whose
// test never ended is neither asked again nor taken.
static void test_driver_that_dies_is_not_asked_again(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    heard h;
    float value = 0;
    vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store), .variant = "gemm_tile"};
    desc.cache.save = count_save;
    saves_of_started_tests = 0;
    vkf_context *context = open_context(gpu, &h, desc);
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_int_equal(saves_of_started_tests, h.tests);
    char *text = vkf_blob_text(&store, "verdicts-");
    assert_non_null(strstr(text, "gemm_tile.f32_f32_f32/small "));
    assert_null(strstr(text, "started"));
    free(text);
    vkf_context_destroy(&context);
    vkf_blob_edit(&store, "verdicts-", " passed\n", " started\n");
    context = open_context(gpu, &h, desc);
    assert_non_null(strstr(h.last, "never ended"));
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    assert_true(value == 20);
    assert_int_equal(verdict_of(context, "gemm_tile.f32_f32_f32/small"), VKF_VERDICT_STARTED);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

// The only kernel of its kind stays in quarantine, and the message says how it comes out.
static void test_quarantine_of_the_only_kernel_is_named(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_blob_store store = {0};
    heard h;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store)};
    const uint32_t shape[] = {4, 8};
    const vkf__kernel *softmax = variant_named("softmax.f32_f32/row16").kernel;
    vkf_context *context = open_context(gpu, &h, desc);
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
    assert_non_null(strstr(h.last, "--no-cache"));
    vkf_tensor_destroy(&x);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

static void assert_tested_anew(vkf_test_gpu *gpu, vkf_blob_store *store, const char *what, bool warns)
{
    heard h;
    float value = 0;
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(store), .variant = "gemm_tile"};
    vkf_context *context = open_context(gpu, &h, desc);
    bool warned = strstr(h.last, "verdicts ignored") != NULL;
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
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
        {"device ", "device 1", false}, {"vkformer-verdicts 1", "vkformer-verdicts 9", true},
        {" passed", " splendid", true}, {"f32/small ", "f32/small 1111111111111111 passed # ", false},
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
    c->status = multiply(c->context, 20, &c->value);
    return NULL;
}

static void test_threads_test_a_variant_once(void **state)
{
    enum { THREADS = 4 };
    heard h;
    float value = 0;
    caller callers[THREADS];
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    assert_int_equal(multiply(context, 20, &value), VKF_OK);
    int tests = h.tests;
    vkf_context_destroy(&context);
    context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
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
        cmocka_unit_test(test_self_test_passes_every_kernel),
        cmocka_unit_test(test_self_test_proof_and_its_end),
        cmocka_unit_test(test_self_test_runs_once_and_can_be_skipped),
        cmocka_unit_test(test_bad_variant_gives_way_to_the_next),
        cmocka_unit_test(test_wrong_variant_is_found_and_replaced),
        cmocka_unit_test(test_slightly_wrong_variant_is_found),
        cmocka_unit_test(test_loop_that_ends_early_is_found),
        cmocka_unit_test(test_write_beside_the_output_is_found),
        cmocka_unit_test(test_column_that_counts_twice_is_found),
        cmocka_unit_test(test_slow_variant_is_found_and_replaced),
        cmocka_unit_test(test_verdicts_are_kept),
        cmocka_unit_test(test_driver_that_dies_is_not_asked_again),
        cmocka_unit_test(test_quarantine_of_the_only_kernel_is_named),
        cmocka_unit_test(test_stale_and_damaged_verdicts_are_ignored),
        cmocka_unit_test(test_threads_test_a_variant_once),
    };
    return cmocka_run_group_tests_name("self-test", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
