// The pipeline cache over the life of two contexts, through the caller's callbacks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "blob_store.h"
#include "model_files.h"
#include "sample_layers.h"

// A store, with the messages of the context that uses it.
typedef struct store {
    vkf_blob_store blobs;
    int warnings;
    char warning[512];
} store;

static void clear(store *s)
{
    vkf_blob_store_clear(&s->blobs);
    *s = (store){0};
}

static void listen(void *user, vkf_severity severity, const char *text)
{
    store *s = user;
    if (severity != VKF_SEVERITY_WARNING || !strstr(text, "ignored"))
        return;
    s->warnings++;
    (void)snprintf(s->warning, sizeof s->warning, "%s", text);
}

static vkf_context *open_stored(vkf_test_gpu *gpu, store *s)
{
    vkf_context *context = NULL;
    const vkf_context_desc desc = {.profile = gpu->profile,
                                   .message = listen,
                                   .message_user = s,
                                   .min_severity = VKF_SEVERITY_WARNING,
                                   .cache = vkf_blob_store_callbacks(&s->blobs),
                                   .skip_self_test = true};
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    return context;
}

// Adds two numbers on the device, so that a pipeline is made.
static void use(vkf_context *context)
{
    const uint32_t shape[] = {2};
    const float values[] = {1.5f, -2.5f};
    float read[2] = {0};
    vkf_tensor a, b;
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 1, shape, "a", &a), VKF_OK);
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 1, shape, "b", &b), VKF_OK);
    assert_int_equal(vkf_tensor_write(&a, values, sizeof values), VKF_OK);
    assert_int_equal(vkf_copy(context, &a, &b), VKF_OK);
    assert_int_equal(vkf_tensor_read(&b, read, sizeof read), VKF_OK);
    assert_memory_equal(read, values, sizeof values);
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&b);
}

static void fill(vkf_test_gpu *gpu, store *s)
{
    *s = (store){0};
    vkf_context *context = open_stored(gpu, s);
    use(context);
    vkf_context_destroy(&context);
    assert_int_equal(s->blobs.saves, 1);
    assert_non_null(vkf_blob_find(&s->blobs, "pipelines-"));
    assert_int_equal(s->warnings, 0);
}

static void test_cache_of_one_context_serves_the_next(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    store s;
    fill(gpu, &s);
    s.blobs.loads = s.blobs.saves = 0;
    vkf_context *context = open_stored(gpu, &s);
    assert_true(s.blobs.loads >= 2); // its size, then itself
    use(context);
    assert_int_equal(vkf_context_save_cache(context), VKF_OK);
    assert_int_equal(s.blobs.saves, 1);
    vkf_context_destroy(&context);
    assert_int_equal(s.blobs.saves, 2);
    assert_int_equal(s.warnings, 0);
    clear(&s);
}

// What damage(blob) makes of a good cache is ignored with one warning, and replaced when the context ends.
static void damaged(vkf_test_gpu *gpu, void (*damage)(store *s, vkf_blob *b), const char *what)
{
    store s;
    fill(gpu, &s);
    vkf_blob *b = vkf_blob_find(&s.blobs, "pipelines-");
    size_t size = b->size_bytes;
    damage(&s, b);
    vkf_context *context = open_stored(gpu, &s);
    if (s.warnings != 1 || !strstr(s.warning, "pipelines-"))
        fail_msg("%s: %d warnings: %s", what, s.warnings, s.warning);
    use(context);
    vkf_context_destroy(&context);
    s.warnings = 0;
    assert_true(vkf_blob_find(&s.blobs, "pipelines-")->size_bytes > size / 4);
    context = open_stored(gpu, &s);
    assert_int_equal(s.warnings, 0);
    vkf_context_destroy(&context);
    clear(&s);
}

static void truncate_header(store *s, vkf_blob *b)
{
    (void)s;
    b->size_bytes = 20;
}

static void truncate_payload(store *s, vkf_blob *b)
{
    (void)s;
    b->size_bytes -= 1;
}

static void lengthen(store *s, vkf_blob *b)
{
    char key[128];
    uint8_t *longer = calloc(1, b->size_bytes + 7);
    assert_non_null(longer);
    memcpy(longer, b->data, b->size_bytes);
    (void)snprintf(key, sizeof key, "%s", b->key);
    vkf_blob_put(&s->blobs, key, longer, b->size_bytes + 7);
    free(longer);
}

static void flip_magic(store *s, vkf_blob *b)
{
    (void)s;
    b->data[0] ^= 1;
}

static void flip_uuid(store *s, vkf_blob *b)
{
    (void)s;
    b->data[20] ^= 0x80;
}

static void flip_payload(store *s, vkf_blob *b)
{
    (void)s;
    b->data[b->size_bytes - 1] ^= 4;
}

static void fill_with_noise(store *s, vkf_blob *b)
{
    (void)s;
    for (size_t i = 0; i < b->size_bytes; i++)
        b->data[i] = (uint8_t)(i * 37 + 11);
}

static void test_cache_damaged_is_ignored(void **state)
{
    static const struct {
        void (*damage)(store *s, vkf_blob *b);
        const char *what;
    } rows[] = {
        {truncate_header, "20 bytes left"}, {truncate_payload, "last byte missing"}, {lengthen, "7 bytes more"},
        {flip_magic, "another magic"},      {flip_uuid, "another driver"},           {flip_payload, "a flipped bit"},
        {fill_with_noise, "noise"},
    };
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        damaged(gpu, rows[i].damage, rows[i].what);
}

static size_t never_load(void *user, const char *key, void *data, size_t capacity)
{
    (void)user;
    (void)key;
    (void)data;
    (void)capacity;
    return SIZE_MAX;
}

static void test_cache_with_half_the_callbacks(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    store s = {0};
    const vkf_cache_callbacks both = vkf_blob_store_callbacks(&s.blobs);
    const vkf_cache_callbacks rows[] = {{both.load, NULL, both.user},
                                        {NULL, both.save, both.user},
                                        {NULL, NULL, NULL},
                                        {never_load, both.save, both.user}};
    for (size_t i = 0; i < 4; i++) {
        vkf_context *context = NULL;
        const vkf_context_desc desc = {.profile = gpu->profile, .cache = rows[i]};
        assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
        assert_int_equal(vkf_context_save_cache(context), VKF_OK);
        use(context);
        vkf_context_destroy(&context);
    }
    clear(&s);
}

// The path of the only one.
static const char *pipelines_in(vkf_test_directory *directory)
{
    uint32_t count = 0;
    vkf__listing *files = vkf__listing_open(directory->path);
    for (const char *name; (name = vkf__listing_next(files)) != NULL;)
        if (strncmp(name, "pipelines-", 10) == 0 && count++ == 0)
            (void)vkf_test_path(directory, name);
    vkf__listing_close(files);
    assert_int_equal(count, 1);
    return directory->joined;
}

// What the first run leaves loses its last byte: that the second warns of it shows that files are read.
static void test_cache_in_a_directory(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_context *context = NULL;
    store s = {0};
    vkf_context_desc desc = {.profile = gpu->profile,
                             .message = listen,
                             .message_user = &s,
                             .min_severity = VKF_SEVERITY_WARNING,
                             .skip_self_test = true};
    vkf_test_directory_make(&directory);
    desc.cache_directory = directory.path;
    for (int run = 0; run < 3; run++) {
        assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
        use(context);
        vkf_context_destroy(&context);
        assert_int_equal(s.warnings, run > 0);
        const char *path = pipelines_in(&directory);
        if (run > 0)
            continue;
        size_t size = 0;
        char *pipelines = vkf_test_read_file(path, &size);
        vkf_test_write_file(path, pipelines, size - 1);
        free(pipelines);
    }
    assert_non_null(strstr(s.warning, "pipelines-"));
    desc.cache.save = vkf_blob_store_callbacks(&(vkf_blob_store){0}).save;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(vkf_last_error(VKF_ERROR_INVALID_ARGUMENT), "cache_directory"));
    vkf_test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_of_one_context_serves_the_next),
        cmocka_unit_test(test_cache_damaged_is_ignored),
        cmocka_unit_test(test_cache_with_half_the_callbacks),
        cmocka_unit_test(test_cache_in_a_directory),
    };
    return cmocka_run_group_tests_name("cache", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
