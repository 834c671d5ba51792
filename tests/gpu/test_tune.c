// The tuner: what it finds is right, takes effect, is kept, and ends when it has to.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blob_store.h"
#include "fixture.h"
#include "glsl_compiler.h"
#include "kernel/context.h"
#include "prove/self_test.h"
#include "prove/tune.h"
#include "shader_copy.h"
#include "shared/gemm.h"

// Fewer kernels than there are, so that fewer are compiled.
static const char *const masks[] = {"maxTexelBufferElements=64", "bufferDeviceAddress",
                                    "maxComputeWorkGroupCount[0]=9"};
// The limit of workgroups is for the test that is about it.
enum { MASKS = 2, MASKS_WITH_SMALL_GRIDS };

typedef struct heard {
    int proofs;   // self-tests of the full number of times
    int searches; // on first use
    char last[512];
} heard;

static void listen(void *user, vkf_severity severity, const char *text)
{
    heard *h = user;
    h->proofs += strstr(text, "self-test: ") && strstr(text, " 60 times");
    h->searches += strncmp(text, "tuned ", 6) == 0 && strstr(text, " ms: ");
    if (severity >= VKF_SEVERITY_WARNING)
        (void)snprintf(h->last, sizeof h->last, "%s", text);
}

// Verdicts of one test serve the next.
static vkf_blob_store verdicts;

static size_t load_verdicts(void *user, const char *key, void *data, size_t capacity)
{
    const vkf_cache_callbacks both = vkf_blob_store_callbacks(&verdicts);
    (void)user;
    return strncmp(key, "verdicts-", 9) == 0 ? both.load(both.user, key, data, capacity) : 0;
}

static void save_verdicts(void *user, const char *key, const void *data, size_t size_bytes)
{
    (void)user;
    if (strncmp(key, "verdicts-", 9) == 0)
        vkf_blob_put(&verdicts, key, data, size_bytes);
}

static bool starts_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

// Two kernels for few rows, three tiles, and two of attention.
static bool is_of_the_few(const vkf__kernel *kernel, const vkf__config *config)
{
    static const char *const few[][2] = {
        {"gemv.", "rows1"},     {"gemv_subgroup.", "rows1"}, {"gemm_tile.", "small"},      {"gemm_tile.", "large"},
        {"gemm_tile.", "thin"}, {"attention_tiled.", "d64"}, {"attention_tiled.", "few64"}};
    for (size_t i = 0; i < sizeof few / sizeof few[0]; i++)
        if (starts_with(kernel->name, few[i][0]) && strcmp(config->name, few[i][1]) == 0)
            return true;
    return kernel->op != VKF_OP_GEMM && kernel->op != VKF_OP_ATTENTION;
}

// Drivers take long to compile all. The tests of variants see whether the others are right.
static void leave_out_most(vkf_context *context)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++)
            if (!is_of_the_few(kernel, &kernel->configs[c]))
                vkf__learned_verdict(&context->learned, kernel, &kernel->configs[c], VKF_VERDICT_SLOW);
    }
}

// desc.mask_count 0: the usual ones.
static vkf_context *open_context(vkf_test_gpu *gpu, heard *h, vkf_context_desc desc)
{
    vkf_context *context = NULL;
    *h = (heard){0};
    desc.profile = gpu->profile;
    desc.masks = masks;
    desc.mask_count = desc.mask_count > 0 ? desc.mask_count : MASKS;
    desc.message = listen;
    desc.message_user = h;
    desc.timestamps = true;
    if (!desc.cache.load)
        desc.cache = (vkf_cache_callbacks){load_verdicts, save_verdicts, NULL};
    if (vkf_context_create(&desc, &context) != VKF_OK)
        fail_msg("no context: %s", h->last);
    // No kernel is refused because the machine was busy with something else.
    context->self_test_budget_ns = UINT64_C(600000000000);
    if (!vkf_test_all())
        leave_out_most(context);
    return context;
}

// A store that begins with the verdicts of the tests so far.
static vkf_blob_store store_with_verdicts(void)
{
    vkf_blob_store store = {0};
    const vkf_blob *blob = vkf_blob_find(&verdicts, "verdicts-");
    if (blob)
        vkf_blob_put(&store, blob->key, blob->data, blob->size_bytes);
    return store;
}

static vkf_tune_problem problem_of(uint32_t m, uint32_t n, uint32_t k)
{
    return (vkf_tune_problem){.m = m, .n = n, .k = k};
}

static const vkf__tuned *tuned_of(const vkf_context *context)
{
    static const vkf__tuned none = {0};
    const vkf__tuned *tuned = vkf__learned_tuned(&context->learned);
    return tuned ? tuned : &none;
}

// The variant that selection takes for a problem with the weight in one layout.
static void select_name(const vkf_context *context, const vkf_tune_problem *p, vkf_layout layout, char *out_name,
                        size_t size, const char **out_why)
{
    const vkf__selector selector = vkf__context_selector(context);
    const vkf_dtype types[] = {p->x, p->weight, p->out};
    bool panels = layout == VKF_LAYOUT_PANELS;
    const vkf__problem problem = {.m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .b_layout = panels ? VKF_GEMM_B_PANELS : VKF_GEMM_B_NK,
                                  .offers = panels && p->k % 4 == 0 ? VKF_FORM_QUADS : 0};
    vkf__variant variant;
    assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &variant, out_why));
    (void)snprintf(out_name, size, "%s/%s", variant.kernel->name, variant.config->name);
}

static void test_tune_finds_keeps_and_uses_the_fastest(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    heard h;
    vkf_blob_store store = {0};
    vkf_tune_result result;
    char name[128];
    const char *why = NULL;
    const vkf_tune_problem problem = problem_of(5, 96, 64);
    const vkf_tune_options options = {.time_cap_ns = UINT64_C(600000000000)};
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store)};
    vkf_context *context = open_context(gpu, &h, desc);
    if (vkf_tune(context, &problem, 1, &options, &result) != VKF_OK)
        fail_msg("%s", h.last);
    assert_true(result.tuned);
    assert_true(result.measured >= 2 && result.ns > 0 && result.default_ns >= result.ns * 0.99);
    assert_true(h.proofs >= 1);
    select_name(context, &problem, result.layout, name, sizeof name, &why);
    assert_string_equal(name, result.variant);
    assert_string_equal(why, "measured on this device");
    // What was found for the class of rows that decides the layout is what weights are packed for.
    const vkf_tune_problem many = problem_of(128, 96, 64);
    assert_int_equal(vkf_tune(context, &many, 1, &options, &result), VKF_OK);
    assert_true(result.tuned);
    assert_int_equal(vkf_context_get_preferred_layout(context, VKF_DTYPE_F32, VKF_DTYPE_F32, 96, 64), result.layout);
    vkf_context_destroy(&context);

    char *text = vkf_blob_text(&store, "tuned-");
    assert_memory_equal(text, "vkformer-tuned 2\ndevice ", 24);
    assert_non_null(strstr(text, "gemm f32,f32,f32 m<=8 n=96 k=64 b="));
    assert_non_null(strstr(text, " # next "));
    free(text);
    context = open_context(gpu, &h, desc);
    assert_true(tuned_of(context)->count >= 2);
    select_name(context, &many, result.layout, name, sizeof name, &why);
    assert_string_equal(name, result.variant);
    vkf_context_destroy(&context);

    const vkf_blob *proven = vkf_blob_find(&store, "verdicts-");
    vkf_blob_put(&verdicts, proven->key, proven->data, proven->size_bytes);
    vkf_blob_edit(&store, "tuned-", "device ", "device 1");
    context = open_context(gpu, &h, desc);
    assert_int_equal(tuned_of(context)->count, 0);
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

// Entries of other runs stay in what is saved.
static void test_tune_merges_with_what_is_kept(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    heard h;
    vkf_blob_store store = store_with_verdicts();
    vkf_tune_result result;
    const vkf_tune_problem first = problem_of(1, 40, 20), second = problem_of(1, 48, 20);
    const vkf_tune_options options = {.time_cap_ns = UINT64_C(600000000000)};
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store)};
    vkf_context *one = open_context(gpu, &h, desc), *other = open_context(gpu, &h, desc);
    assert_int_equal(vkf_tune(one, &first, 1, &options, &result), VKF_OK);
    assert_true(result.tuned);
    assert_int_equal(vkf_tune(other, &second, 1, &options, &result), VKF_OK);
    assert_true(result.tuned);
    vkf_context_destroy(&one);
    vkf_context_destroy(&other);
    char *text = vkf_blob_text(&store, "tuned-");
    assert_non_null(strstr(text, "n=40 k=20"));
    assert_non_null(strstr(text, "n=48 k=20"));
    free(text);
    vkf_blob_store_clear(&store);
}

typedef struct canceller {
    uint32_t last_done; // cancel as soon as this problem is reached
    int calls;
} canceller;

static const vkf_tune_problem small_attention = {.m = 5, .n = 40, .k = 12, .kind = VKF_TUNE_ATTENTION, .heads = 3};

// Opens a context in which attention is fused. Under some profiles, no kernel for it can do without what is masked.
static vkf_context *open_for_attention(vkf_test_gpu *gpu, heard *h, vkf_context_desc desc)
{
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__variant variant;
    vkf_context *context = open_context(gpu, h, desc);
    const vkf__selector selector = vkf__context_selector(context);
    const vkf__problem problem = vkf__tune_problem_of(context, &small_attention, false, types);
    if (vkf__select(&selector, VKF_OP_ATTENTION, types, &problem, &variant, NULL))
        return context;
    vkf_context_destroy(&context);
    if (gpu->profile == VKF_CAPS_PROFILE_FULL)
        fail_msg("no kernel fuses attention");
    printf("skipped: attention is not fused under this profile\n");
    skip();
    return NULL;
}

// Attention is found for a class of queries and the next power of two keys, and taken from there.
static void test_tune_attention(void **state)
{
    heard h;
    vkf_tune_result result;
    vkf__variant variant;
    const char *why = NULL;
    const vkf_tune_options options = {.time_cap_ns = UINT64_C(600000000000)};
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    const vkf__problem near = {.m = 8, .n = 64, .k = 12, .offers = VKF_FORM_QUADS}, far = {.m = 8, .n = 65, .k = 12};
    vkf_context *context = open_for_attention(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    if (vkf_tune(context, &small_attention, 1, &options, &result) != VKF_OK)
        fail_msg("%s", h.last);
    assert_true(result.tuned && result.measured >= 2 && result.ns > 0);
    assert_int_equal(tuned_of(context)->count, 1);
    const vkf__selector selector = vkf__context_selector(context);
    assert_true(vkf__select(&selector, VKF_OP_ATTENTION, types, &near, &variant, &why));
    assert_string_equal(why, "measured on this device");
    assert_memory_equal(result.variant, variant.kernel->name, strlen(variant.kernel->name));
    assert_true(vkf__select(&selector, VKF_OP_ATTENTION, types, &far, &variant, &why));
    assert_string_not_equal(why, "measured on this device");
    vkf_context_destroy(&context);
}

static void test_tune_attention_on_first_use(void **state)
{
    heard h;
    float values[40 * 3 * 12] = {0};
    const uint32_t q_shape[] = {1, 3, 5, 12}, k_shape[] = {1, 3, 40, 12};
    vkf_context *context =
        open_for_attention(vkf_test_gpu_of(state), &h, (vkf_context_desc){.tune_on_first_use = true});
    context->first_use_left_ns = UINT64_C(600000000000);
    vkf_tensor q = {0}, k = {0}, out = {0};
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 4, q_shape, "q", &q), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 4, k_shape, "k", &k), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 4, q_shape, "out", &out), VKF_OK);
    assert_int_equal(vkf_tensor_write(&q, values, 5 * 3 * 12 * sizeof values[0]), VKF_OK);
    assert_int_equal(vkf_tensor_write(&k, values, sizeof values), VKF_OK);
    const vkf_sdpa_desc desc = {.query = q, .key = k, .value = k, .out = out};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vkf_scaled_dot_product_attention(context, &desc), VKF_OK);
        assert_int_equal(h.searches, 1);
    }
    assert_int_equal(tuned_of(context)->entries[0].op, VKF_OP_ATTENTION);
    vkf_tensor_destroy(&q);
    vkf_tensor_destroy(&k);
    vkf_tensor_destroy(&out);
    vkf_context_destroy(&context);
}

static bool cancel(void *user, uint32_t done, uint32_t total, const char *what)
{
    canceller *c = user;
    c->calls++;
    assert_non_null(strchr(what, 'x'));
    assert_true(done < total);
    return done < c->last_done;
}

static void test_tune_cancelled_keeps_what_was_found(void **state)
{
    heard h;
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf_tune_problem problems[] = {problem_of(1, 40, 20), problem_of(1, 48, 20), problem_of(1, 56, 20)};
    vkf_tune_result results[3];
    canceller c = {.last_done = 1};
    const vkf_tune_options options = {.time_cap_ns = UINT64_C(600000000000), .progress = cancel, .progress_user = &c};
    assert_int_equal(vkf_tune(context, problems, 3, &options, results), VKF_ERROR_CANCELLED);
    assert_true(results[0].tuned);
    assert_false(results[1].tuned);
    assert_false(results[2].tuned);
    assert_int_equal(results[2].problem.n, 56);
    assert_true(c.calls > 3);
    assert_true(tuned_of(context)->count >= 1);
    assert_int_equal(tuned_of(context)->entries[0].n, 40);
    vkf_context_destroy(&context);
}

static void test_tune_ends_with_its_time(void **state)
{
    heard h;
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf_tune_problem problems[] = {problem_of(1, 40, 20), problem_of(1, 48, 20)};
    vkf_tune_result results[2];
    const vkf_tune_options options = {.time_cap_ns = 1};
    assert_int_equal(vkf_tune(context, problems, 2, &options, results), VKF_OK);
    assert_false(results[0].tuned);
    assert_false(results[1].tuned);
    assert_int_equal(tuned_of(context)->count, 0);
    vkf_context_destroy(&context);
}

// No candidate asks for more workgroups than the device allows in one dimension, as with vocabularies on devices that
// allow 65,535.
static void test_tune_products_wider_than_a_grid(void **state)
{
    heard h;
    vkf_context *context =
        open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){.mask_count = MASKS_WITH_SMALL_GRIDS});
    const vkf_tune_problem problems[] = {problem_of(1, 700, 20), problem_of(8, 700, 20), problem_of(9, 1300, 20)};
    vkf_tune_result results[3];
    const vkf_tune_options options = {.time_cap_ns = UINT64_C(600000000000)};
    if (vkf_tune(context, problems, 3, &options, results) != VKF_OK)
        fail_msg("%s", h.last);
    for (size_t i = 0; i < 3; i++)
        if (!results[i].tuned || results[i].refused > 0)
            fail_msg("problem %zu: tuned %d, %u refused: %s", i, results[i].tuned, results[i].refused, h.last);
    vkf_context_destroy(&context);
}

static void test_tune_refuses_bad_arguments(void **state)
{
    heard h;
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf_tune_problem empty = problem_of(1, 0, 20);
    const vkf_tune_problem ids = {.m = 1, .n = 2, .k = 3, .weight = VKF_DTYPE_I32};
    assert_int_equal(vkf_tune(NULL, &empty, 1, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tune(context, NULL, 1, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tune(context, &empty, 1, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tune(context, &ids, 1, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(h.last, "i32"));
    const vkf_tune_problem wide = {.m = 1, .n = 2, .k = 257, .kind = VKF_TUNE_ATTENTION};
    assert_int_equal(vkf_tune(context, &wide, 1, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(h.last, "256 wide"));
    assert_int_equal(vkf_tune(context, NULL, 0, NULL, NULL), VKF_OK);
    vkf_context_destroy(&context);
}

// The fastest of all, and wrong: it may not win.
static void test_tune_refuses_a_wrong_variant(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    heard h;
    vkf_shader_copy copy;
    vkf_tune_result result;
    const vkf_tune_problem problem = problem_of(128, 96, 64);
    const vkf_tune_options options = {.time_cap_ns = UINT64_C(600000000000)};
    vkf_test_skip_without_glsl_compiler();
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", "if (p.alpha == 0.0)",
                               "if (p.alpha == 0.0 || TILE_M == 32)");
    vkf_context *context = open_context(gpu, &h, (vkf_context_desc){.shader_dir = copy.path});
    assert_int_equal(vkf_tune(context, &problem, 1, &options, &result), VKF_OK);
    assert_true(result.tuned);
    assert_true(result.refused >= 1);
    assert_null(strstr(result.variant, "gemm_tile.f32_f32_f32/small"));
    assert_non_null(strstr(h.last, "gemm_tile.f32_f32_f32/small is wrong"));
    vkf_context_destroy(&context);
    vkf_test_remove_shaders(&copy);
}

static void test_tune_on_first_use(void **state)
{
    heard h;
    float values[40 * 20] = {0};
    const uint32_t weight_shape[] = {40, 20}, x_shape[] = {3, 20}, out_shape[] = {3, 40};
    const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    vkf_context *context = open_context(vkf_test_gpu_of(state), &h, (vkf_context_desc){.tune_on_first_use = true});
    context->first_use_left_ns = UINT64_C(600000000000);
    // A query tells what is known; a weight that is about to be loaded is measured once.
    (void)vkf_context_get_preferred_layout(context, VKF_DTYPE_F32, VKF_DTYPE_F32, 40, 20);
    assert_int_equal(h.searches, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vkf__tune_weight(context, types, 40, 20), VKF_OK);
        assert_int_equal(h.searches, 1);
    }
    assert_true(tuned_of(context)->count >= 1);
    // The first plan with fewer rows measures those.
    vkf_tensor weight = {0}, x = {0}, out = {0};
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, weight_shape, "weight", &weight), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, x_shape, "x", &x), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, out_shape, "out", &out), VKF_OK);
    assert_int_equal(vkf_tensor_write(&weight, values, sizeof values), VKF_OK);
    const vkf_gemm_desc desc = {.a = x, .b = weight, .out = out, .transpose_b = true, .alpha = 1};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vkf_gemm(context, &desc), VKF_OK);
        assert_int_equal(h.searches, 2);
    }
    // Time is up: nothing more is measured.
    context->first_use_left_ns = 0;
    assert_int_equal(vkf__tune_weight(context, types, 44, 20), VKF_OK);
    assert_int_equal(h.searches, 2);
    vkf_tensor_destroy(&weight);
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
    vkf_context_destroy(&context);
}

typedef struct choices {
    int chosen[VKF_LAYOUT_COUNT], wanted, count;
    char why[128], name[VKF_VARIANT_NAME_SIZE];
} choices;

static void visit(void *user, const vkf_choice *choice)
{
    choices *c = user;
    c->count++;
    c->chosen[choice->layout] += choice->chosen;
    c->wanted += choice->wanted;
    assert_non_null(choice->why);
    if (choice->wanted) {
        (void)snprintf(c->why, sizeof c->why, "%s", choice->why);
        (void)snprintf(c->name, sizeof c->name, "%s", choice->variant);
    }
}

static void test_tune_explain_names_one_choice(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    heard h;
    vkf_blob_store store = {0}; // without verdicts
    const vkf_tune_problem problem = problem_of(100, 96, 64);
    choices c = {0};
    const vkf_cache_callbacks cache = vkf_blob_store_callbacks(&store);
    vkf_context *context = open_context(gpu, &h, (vkf_context_desc){.cache = cache});
    assert_int_equal(vkf_tune_explain(context, &problem, visit, &c), VKF_OK);
    assert_int_equal(c.chosen[VKF_LAYOUT_ROWS], 1);
    assert_int_equal(c.chosen[VKF_LAYOUT_PANELS], 1);
    assert_int_equal(c.wanted, 1);
    assert_true(c.count > 3);
    assert_non_null(strstr(c.why, "default"));
    assert_int_equal(vkf_tune_explain(context, NULL, visit, &c), VKF_ERROR_INVALID_ARGUMENT);
    vkf_context_destroy(&context);
    context = open_context(gpu, &h, (vkf_context_desc){.cache = cache, .variant = "gemm_tile.f32_f32_f32/small"});
    c = (choices){0};
    assert_int_equal(vkf_tune_explain(context, &problem, visit, &c), VKF_OK);
    assert_string_equal(c.why, "asked for");
    assert_string_equal(c.name, "gemm_tile.f32_f32_f32/small");
    vkf_context_destroy(&context);
    vkf_blob_store_clear(&store);
}

static void test_tune_explains_attention(void **state)
{
    heard h;
    choices c = {0};
    vkf_context *context = open_for_attention(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    assert_int_equal(vkf_tune_explain(context, &small_attention, visit, &c), VKF_OK);
    assert_int_equal(c.chosen[VKF_LAYOUT_ROWS], 1);
    assert_int_equal(c.wanted, 1);
    assert_memory_equal(c.name, "attention_", 10);
    vkf_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tune_finds_keeps_and_uses_the_fastest),
        cmocka_unit_test(test_tune_merges_with_what_is_kept),
        cmocka_unit_test(test_tune_attention),
        cmocka_unit_test(test_tune_attention_on_first_use),
        cmocka_unit_test(test_tune_cancelled_keeps_what_was_found),
        cmocka_unit_test(test_tune_ends_with_its_time),
        cmocka_unit_test(test_tune_products_wider_than_a_grid),
        cmocka_unit_test(test_tune_refuses_bad_arguments),
        cmocka_unit_test(test_tune_refuses_a_wrong_variant),
        cmocka_unit_test(test_tune_on_first_use),
        cmocka_unit_test(test_tune_explain_names_one_choice),
        cmocka_unit_test(test_tune_explains_attention),
    };
    int failed = cmocka_run_group_tests_name("tune", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
    vkf_blob_store_clear(&verdicts);
    return failed;
}
