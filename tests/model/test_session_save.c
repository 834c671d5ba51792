// Saved caches: sessions go on from them as the one that they were saved from, and what is no such cache, is damaged or
// of another model is refused.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/model_files.h"
#include "support/pretrained.h"

#define CONTEXT 24
#define MAX_VOCAB 128
#define SAVED_BYTES (1 << 20)

static vkf_session *make_session(vkf_test_gpu *gpu, vkf_model *model, uint32_t max_batch, vkf_dtype cache_dtype)
{
    const vkf_session_desc desc = {.max_batch = max_batch, .max_target_len = CONTEXT, .cache_dtype = cache_dtype};
    return vkf_test_make_session(gpu, model, &desc);
}

static void prefill(vkf_session *session, uint32_t batch, const uint32_t *counts)
{
    static const int32_t ids[] = {5, 9, 3, 7, 11, 4, 2, 8, 6, 10, 12, 13};
    const vkf_prefill_args args = {.batch = batch, .ids = ids, .counts = counts};
    assert_int_equal(vkf_session_prefill(session, &args), VKF_OK);
}

// What a session says to one more token in each row, (batch, MAX_VOCAB).
static void step(vkf_session *session, uint32_t batch, float *out_logits)
{
    static const int32_t ids[] = {14, 15, 16};
    const vkf_step_args args = {.batch = batch, .ids = ids, .out_logits = out_logits};
    assert_int_equal(vkf_session_step(session, &args), VKF_OK);
}

// ---- a cache in memory

typedef struct saved {
    uint8_t bytes[SAVED_BYTES];
    size_t size, at;
    size_t limit; // bytes that the function takes or gives; 0: all
} saved;

static bool put(void *user, const void *bytes, size_t size_bytes)
{
    saved *s = user;
    assert_true(size_bytes > 0 && s->size + size_bytes <= SAVED_BYTES);
    if (s->limit > 0 && s->size + size_bytes > s->limit)
        return false;
    memcpy(s->bytes + s->size, bytes, size_bytes);
    s->size += size_bytes;
    return true;
}

static bool get(void *user, void *out_bytes, size_t size_bytes)
{
    saved *s = user;
    assert_true(size_bytes > 0);
    if (size_bytes > s->size - s->at)
        return false;
    memcpy(out_bytes, s->bytes + s->at, size_bytes);
    s->at += size_bytes;
    return true;
}

static saved *save(vkf_session *session)
{
    saved *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_int_equal(vkf_session_save_to(session, put, s), VKF_OK);
    return s;
}

static vkf_status load(vkf_session *session, saved *s)
{
    s->at = 0;
    return vkf_session_restore_from(session, get, s);
}

// ---- what is loaded

// Loads a cache of two rows into a session of `max_batch` rows, and goes on from it.
static void check_loading(vkf_test_gpu *gpu, const char *family, uint32_t max_batch, vkf_dtype cache_dtype)
{
    vkf_model *model = vkf_test_load_family(gpu, family);
    vkf_session *from = make_session(gpu, model, 2, cache_dtype),
                *to = make_session(gpu, model, max_batch, cache_dtype);
    float logits[2][2 * MAX_VOCAB];
    prefill(from, 2, (const uint32_t[]){7, 3});
    saved *s = save(from);
    if (max_batch > 2)
        prefill(to, 3, (const uint32_t[]){1, 2, 4}); // is forgotten
    vkf_test_must(gpu, load(to, s));
    assert_int_equal(s->at, s->size);
    for (uint32_t row = 0; row < max_batch; row++)
        assert_int_equal(vkf_session_get_position(to, row), row < 2 ? vkf_session_get_position(from, row) : 0);
    assert_memory_equal(vkf_session_get_tokens(to, 1), vkf_session_get_tokens(from, 1), 3 * sizeof(int32_t));
    step(from, 2, logits[0]);
    step(to, 2, logits[1]);
    assert_close(logits[1], logits[0], MAX_VOCAB, 1e-5, 1e-5, vkf_test_label(gpu, "%s", family));
    vkf_session_destroy(&from);
    vkf_session_destroy(&to);
    vkf_model_destroy(&model);
    free(s);
}

static void test_sessions_go_on_from_a_saved_cache(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_loading(gpu, "llama", 2, VKF_DTYPE_F32);
    check_loading(gpu, "llama", 3, VKF_DTYPE_F32);
    check_loading(gpu, "gpt2", 3, VKF_DTYPE_F16);
    check_loading(gpu, "mistral", 2, VKF_DTYPE_F16);
}

static void test_a_file_is_loaded_into_another_model_of_the_same_weights(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    float logits[2][MAX_VOCAB];
    char path[4096];
    vkf_test_directory_make(&directory);
    snprintf(path, sizeof path, "%s/chat.cache", directory.path);
    for (size_t i = 0; i < 2; i++) {
        vkf_model *model = vkf_test_load_family(gpu, "llama");
        vkf_session *session = make_session(gpu, model, 1, VKF_DTYPE_F32);
        if (i == 0) {
            prefill(session, 1, (const uint32_t[]){9});
            assert_int_equal(vkf_session_save(session, path), VKF_OK);
            assert_int_equal(vkf_session_save(session, path), VKF_OK); // replaces it
        } else {
            vkf_test_must(gpu, vkf_session_restore(session, path));
        }
        step(session, 1, logits[i]);
        vkf_session_destroy(&session);
        vkf_model_destroy(&model);
    }
    assert_memory_equal(logits[0], logits[1], 100 * sizeof logits[0][0]);
    assert_int_equal(unlink(path), 0);
    vkf_test_directory_remove(&directory);
}

// A cache of one row goes into a session of one row, whatever the session was that it was saved from.
static void test_empty_rows_need_no_room(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_family(gpu, "llama");
    vkf_session *wide = make_session(gpu, model, 3, VKF_DTYPE_F32),
                *narrow = make_session(gpu, model, 1, VKF_DTYPE_F32);
    prefill(wide, 1, (const uint32_t[]){5});
    saved *s = save(wide);
    assert_int_equal(load(narrow, s), VKF_OK);
    assert_int_equal(vkf_session_get_position(narrow, 0), 5);
    vkf_session_destroy(&wide);
    vkf_session_destroy(&narrow);
    vkf_model_destroy(&model);
    free(s);
}

// ---- what is refused

// Loads bytes that are no whole cache, and expects a message and rows that are empty or as they were.
static void expect_refusal(vkf_test_gpu *gpu, vkf_session *session, saved *s, const char *what, size_t place)
{
    gpu->last_error[0] = '\0';
    const vkf_status status = load(session, s);
    if (status != VKF_ERROR_FORMAT && status != VKF_ERROR_FILE && status != VKF_ERROR_TOO_LARGE)
        fail_msg("%s at byte %zu: status %d", what, place, (int)status);
    assert_true(gpu->last_error[0] != '\0');
}

static void test_every_damaged_byte_is_noticed(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_family(gpu, "llama");
    vkf_session *session = make_session(gpu, model, 2, VKF_DTYPE_F32);
    prefill(session, 2, (const uint32_t[]){3, 1});
    saved *s = save(session);
    const size_t size = s->size;
    for (size_t i = 0; i < size; i++) {
        s->bytes[i] ^= 0x41;
        expect_refusal(gpu, session, s, "damage", i);
        s->bytes[i] ^= 0x41;
    }
    for (s->size = 0; s->size < size; s->size++)
        expect_refusal(gpu, session, s, "the end", s->size);
    assert_int_equal(vkf_session_get_position(session, 0), 0);
    assert_int_equal(load(session, s), VKF_OK);
    assert_int_equal(vkf_session_get_position(session, 0), 3);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    free(s);
}

static void check_foreign(vkf_test_gpu *gpu, saved *s, vkf_model_desc desc, const char *family, vkf_dtype cache_dtype)
{
    desc.directory = vkf_test_pretrained(family);
    vkf_model *model = vkf_test_load(gpu, &desc);
    vkf_session *session = make_session(gpu, model, 2, cache_dtype);
    vkf_test_expect(gpu, load(session, s), VKF_ERROR_FORMAT, "the cache was saved with another model");
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

static void test_caches_of_others_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_family(gpu, "llama");
    vkf_session *session = make_session(gpu, model, 2, VKF_DTYPE_F32),
                *narrow = make_session(gpu, model, 1, VKF_DTYPE_F32);
    prefill(session, 2, (const uint32_t[]){3, 1});
    saved *s = save(session);
    check_foreign(gpu, s, (vkf_model_desc){0}, "mistral", VKF_DTYPE_F32);
    check_foreign(gpu, s, (vkf_model_desc){.precision = VKF_MODEL_PRECISION_F16_WEIGHTS}, "llama", VKF_DTYPE_F32);
    check_foreign(gpu, s, (vkf_model_desc){0}, "llama", VKF_DTYPE_F16);
    vkf_test_expect(gpu, load(narrow, s), VKF_ERROR_TOO_LARGE, "has 2 rows, there is room for 1");
    vkf_session_destroy(&narrow);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    free(s);
}

static void test_files_that_cannot_be(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    char path[4096], below[4200];
    vkf_model *model = vkf_test_load_family(gpu, "llama");
    vkf_session *session = make_session(gpu, model, 1, VKF_DTYPE_F32);
    saved short_one = {.limit = 60};
    vkf_test_directory_make(&directory);
    snprintf(path, sizeof path, "%s/chat.cache", directory.path);
    snprintf(below, sizeof below, "%s/none/chat.cache", directory.path);
    prefill(session, 1, (const uint32_t[]){4});
    assert_int_equal(vkf_session_save(session, below), VKF_ERROR_FILE);
    assert_int_equal(vkf_session_restore(session, below), VKF_ERROR_FILE);
    assert_int_equal(vkf_session_save_to(session, put, &short_one), VKF_ERROR_FILE);
    assert_int_equal(vkf_session_save(session, path), VKF_OK);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
    vkf_test_expect(gpu, vkf_session_restore(session, path), VKF_ERROR_FORMAT, "more follows the saved cache");
    assert_int_equal(vkf_session_get_position(session, 0), 0);
    assert_int_equal(unlink(path), 0);
    vkf_test_directory_remove(&directory); // in which nothing was left behind
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sessions_go_on_from_a_saved_cache),
        cmocka_unit_test(test_a_file_is_loaded_into_another_model_of_the_same_weights),
        cmocka_unit_test(test_empty_rows_need_no_room),
        cmocka_unit_test(test_every_damaged_byte_is_noticed),
        cmocka_unit_test(test_caches_of_others_are_refused),
        cmocka_unit_test(test_files_that_cannot_be),
    };
    return cmocka_run_group_tests_name("session_save", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
