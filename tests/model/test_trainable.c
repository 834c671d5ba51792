// Models whose weights are to be trained: what is loaded, and what is written back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "io/file.h"
#include "model/family/weight_names.h"
#include "model/load/model.h"
#include "support/compare.h"
#include "support/pretrained.h"
#include "support/trained.h"
#include "training/train_checkpoint.h"

#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"

static vkf_status load(vkf_test_gpu *gpu, const char *directory, vkf_model **out_model)
{
    const vkf_model_desc desc = {.directory = directory, .trainable = true};
    return vkf_model_load(gpu->context, &desc, out_model);
}

static void join(char out_path[512], const char *directory, const char *name)
{
    assert_in_range(snprintf(out_path, 512, "%s/%s", directory, name), 1, 511);
}

// ---- files

static vkf__checkpoint *open_files(const char *directory)
{
    static vkf__host host;
    vkf__checkpoint *checkpoint = NULL;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    return vkf__checkpoint_open(&host, directory, &checkpoint) == VKF_OK ? checkpoint : NULL;
}

static float *values_of(const vkf__stored_tensor *tensor)
{
    vkf__host host;
    float *values = calloc(tensor->count + 1, sizeof *values);
    assert_non_null(values);
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    assert_int_equal(vkf__stored_convert(&host, tensor, 0, tensor->count, VKF_DTYPE_F32, values), VKF_OK);
    return values;
}

static void assert_same_tensor(const char *what, const vkf__stored_tensor *saved, const vkf__stored_tensor *source)
{
    assert_int_equal(saved->rank, source->rank);
    for (uint32_t d = 0; d < source->rank; d++)
        assert_int_equal(saved->shape[d], source->shape[d]);
    if (!vkf__stored_is_float(source->type)) { // a constant, which is copied
        assert_int_equal(saved->type, source->type);
        assert_int_equal(saved->size_bytes, source->size_bytes);
        return;
    }
    float *a = values_of(saved), *b = values_of(source);
    if (memcmp(a, b, source->count * sizeof *a) != 0)
        fail_msg("%s: %s has other values", what, source->name);
    free(a);
    free(b);
}

// Every tensor of the source is in what was saved, bit for bit in f32, but for `left_out` second names.
static void compare_files(const char *saved_directory, const char *source_directory, size_t left_out)
{
    vkf__checkpoint *source = open_files(source_directory), *saved = open_files(saved_directory);
    if (!source) {
        assert_null(saved);
        return;
    }
    assert_non_null(saved);
    assert_int_equal(vkf__checkpoint_count(saved), vkf__checkpoint_count(source) - left_out);
    for (size_t i = 0; i < vkf__checkpoint_count(saved); i++) {
        const vkf__stored_tensor *tensor = vkf__checkpoint_at(saved, i);
        const vkf__stored_tensor *original = vkf__checkpoint_find(source, tensor->name);
        if (!original)
            fail_msg("%s: the source has no %s", source_directory, tensor->name);
        assert_same_tensor(source_directory, tensor, original);
    }
    vkf__checkpoint_close(&source);
    vkf__checkpoint_close(&saved);
}

static void visit_folders(const char *saved, const char *source)
{
    char from[512], to[512];
    vkf__listing *listing = vkf__listing_open(source);
    assert_non_null(listing);
    compare_files(saved, source, 0);
    for (const char *name; (name = vkf__listing_next(listing));) {
        if (!strchr("0123456789", name[0]))
            continue;
        join(from, source, name);
        join(to, saved, name);
        compare_files(to, from, 0);
    }
    vkf__listing_close(listing);
}

static void remove_saved(vkf_test_directory *directory, const char *name)
{
    vkf__directory_remove_unheld(directory->path, name);
    vkf_test_directory_remove(directory);
}

// Loads a directory's model, saves it untrained, and loads what was saved.
static void check_directory(vkf_test_gpu *gpu, const char *source)
{
    vkf_test_directory directory;
    char saved[512];
    vkf_model *model = vkf_test_load_trainable(gpu, source);
    vkf_test_directory_make(&directory);
    join(saved, directory.path, "saved");
    vkf_test_must(gpu, vkf__checkpoint_save(model, NULL, NULL, NULL, saved));
    visit_folders(saved, source);
    vkf_test_must(gpu, vkf__checkpoint_load_weights(model, saved, false));
    vkf_model_destroy(&model);
    model = vkf_test_load_pretrained(gpu, saved, VKF_MODEL_PRECISION_F32);
    vkf_model_destroy(&model);
    remove_saved(&directory, "saved");
}

static void test_trainable_models_are_saved_as_they_were(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__listing *listing = vkf__listing_open(VKF_TEST_SOURCE_DIR "/tests/pretrained");
    size_t count = 0;
    assert_non_null(listing);
    check_directory(gpu, DEMO);
    for (const char *name; (name = vkf__listing_next(listing));) {
        char source[512], config[600];
        join(source, VKF_TEST_SOURCE_DIR "/tests/pretrained", name);
        (void)snprintf(config, sizeof config, "%s/config.json", source);
        if (!vkf__file_exists(config) || strcmp(name, "minilm") == 0)
            continue; // minilm's weights are elsewhere
        check_directory(gpu, source);
        count++;
    }
    vkf__listing_close(listing);
    assert_in_range(count, 30, 200);
}

// A directory with a model of which one weight is in blocks.
static void write_blocks(vkf_test_directory *to)
{
    const char *source = vkf_test_pretrained("llama-blocks");
    vkf__tensor_file *file = vkf_test_open_safetensors(source, "model.safetensors");
    const size_t count = vkf__tensor_file_count(file);
    vkf__stored_tensor *tensors = vkf_test_copy_tensors(file, 0);
    for (size_t i = 0; i < count; i++) {
        if (!strstr(tensors[i].name, "layers.0.mlp.down_proj.weight"))
            continue;
        tensors[i].type = VKF_STORED_U8;
        tensors[i].shape[1] = tensors[i].shape[1] / 32 * 34;
        tensors[i].size_bytes = tensors[i].shape[0] * tensors[i].shape[1]; // fewer than there are
    }
    vkf_test_directory_make(to);
    vkf_test_write_model(to, source, tensors, count);
    free(tensors);
    vkf__tensor_file_close(&file);
}

static void test_trainable_refuses_what_is_not_f32(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model_desc desc = {.directory = DEMO, .trainable = true, .precision = VKF_MODEL_PRECISION_F16_WEIGHTS};
    vkf_test_directory blocks;
    vkf_model *model = NULL;
    vkf_test_expect(gpu, vkf_model_load(gpu->context, &desc, &model), VKF_ERROR_INVALID_ARGUMENT, "kept in f32");
    desc.precision = VKF_MODEL_PRECISION_AUTO;
    desc.quantization = VKF_QUANTIZATION_Q8;
    assert_int_equal(vkf_model_load(gpu->context, &desc, &model), VKF_ERROR_INVALID_ARGUMENT);
    desc.quantization = VKF_QUANTIZATION_NONE;
    desc.adapter_directory = "an adapter";
    vkf_test_expect(gpu, vkf_model_load(gpu->context, &desc, &model), VKF_ERROR_INVALID_ARGUMENT, "--adapter");
    write_blocks(&blocks);
    vkf_test_expect(gpu, load(gpu, blocks.path, &model), VKF_ERROR_UNSUPPORTED, "cannot be trained");
    assert_null(model);
    vkf_test_directory_remove(&blocks);
}

// A file that has a tied table once more: it would be untrained, and untie the two.
static void test_second_names_are_left_out(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory from, to;
    const char *source = vkf_test_pretrained("t5");
    vkf__tensor_file *file = vkf_test_open_safetensors(source, "model.safetensors");
    const size_t count = vkf__tensor_file_count(file);
    vkf__stored_tensor *tensors = vkf_test_copy_tensors(file, 2);
    const vkf__stored_tensor *words = vkf__tensor_file_find(file, "shared.weight");
    assert_non_null(words);
    tensors[count] = tensors[count + 1] = *words;
    tensors[count].name = "decoder.embed_tokens.weight";
    tensors[count + 1].name = "a.table.of.its.own"; // the same but for one number
    float *values = values_of(words);
    values[7] += 1;
    tensors[count + 1].data = (const uint8_t *)values;
    vkf_test_directory_make(&from);
    vkf_test_directory_make(&to);
    vkf_test_write_model(&from, source, tensors, count + 2);
    vkf_model *model = vkf_test_load_trainable(gpu, from.path);
    vkf_test_must(gpu, vkf__checkpoint_save_weights(model, vkf_test_path(&to, "model.safetensors")));
    compare_files(to.path, from.path, 1);
    vkf__checkpoint *saved = open_files(to.path);
    assert_null(vkf__checkpoint_find(saved, tensors[count].name));
    assert_non_null(vkf__checkpoint_find(saved, tensors[count + 1].name));
    vkf__checkpoint_close(&saved);
    vkf_model_destroy(&model);
    free(values);
    free(tensors);
    vkf__tensor_file_close(&file);
    vkf_test_directory_remove(&from);
    vkf_test_directory_remove(&to);
}

static void test_config_says_f32_where_it_said_another(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const char *source = vkf_test_pretrained("gpt2");
    vkf_test_directory from, to;
    char path[512], saved[512];
    size_t bytes = 0;
    vkf_test_directory_make(&from);
    vkf_test_directory_make(&to);
    join(path, source, "config.json");
    char *text = vkf_test_read_file(path, &bytes), *comma = strchr(text, '{');
    char *changed = malloc(bytes + 64);
    assert_true(changed && comma);
    (void)snprintf(changed, bytes + 64, "{\"torch_dtype\": \"float16\", %s", comma + 1);
    vkf_test_write_file(vkf_test_path(&from, "config.json"), changed, strlen(changed));
    vkf_test_copy_file(&from, source, "model.safetensors");
    vkf_model *model = vkf_test_load_trainable(gpu, from.path);
    join(saved, to.path, "saved");
    vkf_test_must(gpu, vkf__checkpoint_save(model, NULL, NULL, NULL, saved));
    join(path, saved, "config.json");
    char *after = vkf_test_read_file(path, &bytes);
    assert_non_null(strstr(after, "\"torch_dtype\": \"float32\""));
    assert_null(strstr(after, "float16"));
    vkf_model_destroy(&model);
    free(text);
    free(changed);
    free(after);
    vkf_test_directory_remove(&from);
    remove_saved(&to, "saved");
}

// ---- trained values

static float *read_value(const vkf_tensor *tensor, uint64_t *out_bytes)
{
    assert_true(vkf_tensor_bytes(tensor, out_bytes));
    float *values = malloc(*out_bytes);
    assert_non_null(values);
    assert_int_equal(vkf_tensor_read(tensor, values, *out_bytes), VKF_OK);
    return values;
}

// Changes every weight a little, differently by its place.
static void train(const vkf_model *model)
{
    for (size_t i = 0; i < model->weights.trainable_count; i++) {
        uint64_t bytes;
        const vkf_tensor *tensor = &model->weights.trainable[i].tensor;
        float *values = read_value(tensor, &bytes);
        for (size_t j = 0; j < bytes / sizeof *values; j++)
            values[j] += 1e-3f * (float)((i + j * 7) % 11);
        assert_int_equal(vkf_tensor_write(tensor, values, bytes), VKF_OK);
        free(values);
    }
}

static void assert_same_weights(const vkf_model *a, const vkf_model *b)
{
    assert_int_equal(a->weights.trainable_count, b->weights.trainable_count);
    for (size_t i = 0; i < a->weights.trainable_count; i++) {
        uint64_t a_bytes, b_bytes;
        float *left = read_value(&a->weights.trainable[i].tensor, &a_bytes);
        float *right = read_value(&b->weights.trainable[i].tensor, &b_bytes);
        assert_int_equal(a_bytes, b_bytes);
        if (memcmp(left, right, a_bytes) != 0)
            fail_msg("%s is another", a->weights.trainable[i].slot.name);
        free(left);
        free(right);
    }
}

static void check_trained(vkf_test_gpu *gpu, const char *source)
{
    vkf_test_directory directory;
    char saved[512];
    vkf_model *model = vkf_test_load_trainable(gpu, source), *again = vkf_test_load_trainable(gpu, source);
    vkf_test_directory_make(&directory);
    join(saved, directory.path, "saved");
    train(model);
    vkf_test_must(gpu, vkf__checkpoint_save(model, NULL, NULL, NULL, saved));
    vkf_test_must(gpu, vkf__checkpoint_load_weights(again, saved, false));
    assert_same_weights(model, again);
    vkf_model_destroy(&again);
    again = vkf_test_load_trainable(gpu, saved);
    assert_same_weights(model, again);
    vkf_model_destroy(&again);
    vkf_model_destroy(&model);
    remove_saved(&directory, "saved");
}

static void test_trained_weights_come_back(void **state)
{
    // Tensors that are cut, transposed and fused, fused by head, tied, in rows of one, and in modules' own files.
    static const char *const families[] = {"gpt2",   "gpt_neox", "bert-masked-lm",   "modernbert",
                                           "marian", "t5",       "sentence-modules", "sentence-older"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_trained(gpu, DEMO);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        check_trained(gpu, vkf_test_pretrained(families[i]));
}

// A model of a configuration and a file has no directory whose files could be copied.
static void test_models_without_a_directory_are_saved(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    vkf_test_weights weights;
    vkf_model_config config = vkf_test_small_seq2seq();
    char path[512], saved[512];
    vkf_test_directory_make(&directory);
    vkf_test_weights_make(&gpu->random, &config, &weights);
    join(path, directory.path, "weights.safetensors");
    vkf_test_weights_write(&weights, VKF_STORED_F32, path);
    const vkf_model_desc desc = {.config = &config, .weights_path = path, .trainable = true};
    vkf_model *model = vkf_test_load(gpu, &desc);
    train(model);
    join(saved, directory.path, "saved");
    vkf_test_must(gpu, vkf__checkpoint_save(model, NULL, NULL, NULL, saved));
    vkf_model_destroy(&model);
    model = vkf_test_load(gpu, &desc);
    join(path, saved, "model.safetensors");
    vkf_model *again = vkf_test_load(gpu, &desc);
    train(model);
    vkf_test_must(gpu, vkf__checkpoint_load_weights(again, path, false));
    assert_same_weights(model, again);
    vkf_model_destroy(&again);
    vkf_model_destroy(&model);
    vkf_test_weights_free(&weights);
    remove_saved(&directory, "saved");
}

#define POSITIONS 5

static void logits_of(vkf_test_gpu *gpu, vkf_model *model, float *out_logits)
{
    const vkf_session_desc desc = {.max_batch = 1, .max_target_len = 8, .max_prompt_len = 8, .max_logit_rows = 5};
    const int32_t ids[POSITIONS] = {1, 2, 3, 4, 5};
    vkf_session *session = vkf_test_make_session(gpu, model, &desc);
    const vkf_decode_args args = {.batch = 1, .target_len = POSITIONS, .target_ids = ids, .out_logits = out_logits};
    vkf_test_must(gpu, vkf_session_decode(session, &args));
    vkf_session_destroy(&session);
}

static void test_sessions_read_the_weights_of_the_time(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const char *source = vkf_test_pretrained("gpt2");
    vkf_test_directory directory;
    char saved[512];
    vkf_model *model = vkf_test_load_trainable(gpu, source);
    const size_t count = POSITIONS * (size_t)model->config.target_vocab;
    float *trained = calloc(count, sizeof *trained), *plain = calloc(count, sizeof *plain);
    assert_true(trained && plain);
    vkf_model *other = vkf_test_load_pretrained(gpu, source, VKF_MODEL_PRECISION_F32);
    logits_of(gpu, model, trained);
    logits_of(gpu, other, plain);
    assert_close(trained, plain, count, 1e-5, 1e-5, "logits of weights in rows");
    vkf_model_destroy(&other);
    train(model);
    logits_of(gpu, model, trained);
    assert_true(vkf_test_mismatches(trained, plain, count, 1e-3, 1e-3) > 0);
    vkf_test_directory_make(&directory);
    join(saved, directory.path, "saved");
    vkf_test_must(gpu, vkf__checkpoint_save(model, NULL, NULL, NULL, saved));
    other = vkf_test_load_pretrained(gpu, saved, VKF_MODEL_PRECISION_F32);
    logits_of(gpu, other, plain);
    assert_close(trained, plain, count, 1e-5, 1e-5, "logits of what was saved");
    vkf_model_destroy(&other);
    vkf_model_destroy(&model);
    free(trained);
    free(plain);
    remove_saved(&directory, "saved");
}

// ---- state

static const vkf__train_state sample = {
    .step = 12,
    .skipped = 3,
    .examples = UINT64_MAX - 1,
    .seed = 77,
    .loss_scale = 65536,
    .loss_scale_counted = 5,
    .best = 0.1,
    .best_step = 10,
    .settings = 99,
};

static void refuse_state(vkf_test_gpu *gpu, vkf_model *model, const char *const *patterns, uint32_t moments,
                         uint64_t settings, const char *path, vkf_status expected, const char *sentence)
{
    vkf__parameters p;
    vkf__train_state state = {.settings = settings};
    vkf_test_must(gpu, vkf__parameters_create(model, patterns, 1, moments, &p));
    assert_int_equal(vkf__checkpoint_load_state(&p, path, false, &state), expected);
    if (!strstr(gpu->last_error, sentence))
        fail_msg("%s", gpu->last_error);
    assert_int_equal(state.step, 0);
    for (size_t i = 0; i < p.range_count; i++)
        assert_true(moments == 0 || vkf_test_all_zero(&p.ranges[i].moments));
    vkf__parameters_free(&p);
}

static void test_state_comes_back_to_its_own_training_alone(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static const char *const of_layer[] = {"*h.0.*"}, *const of_other[] = {"*h.1.*"}, *const of_part[] = {"*h.0.ln*"};
    vkf_test_directory directory;
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("gpt2"));
    vkf__parameters p, again;
    vkf__train_state read = {.settings = 99};
    char path[512], weights[512];
    vkf_test_directory_make(&directory);
    join(path, directory.path, "state.safetensors");
    join(weights, vkf_test_pretrained("gpt2"), "model.safetensors");
    vkf_test_must(gpu, vkf__parameters_create(model, of_layer, 1, 2, &p));
    vkf_test_fill_ranges(&p, true, 3);
    vkf_test_must(gpu, vkf__checkpoint_save_state(&p, &sample, path));
    vkf_test_must(gpu, vkf__parameters_create(model, of_layer, 1, 2, &again));
    vkf_test_must(gpu, vkf__checkpoint_load_state(&again, path, false, &read));
    assert_memory_equal(&read, &sample, sizeof read);
    for (size_t i = 0; i < p.count; i++) {
        const vkf__span *a = &p.items[i].moments, *b = &again.items[i].moments;
        char *left = calloc(1, a->size_bytes + 1), *right = calloc(1, a->size_bytes + 1);
        if (vkf__present(a)) {
            vkf_test_must(gpu, vkf_buffer_read(a->buffer, a->offset_bytes, left, a->size_bytes));
            vkf_test_must(gpu, vkf_buffer_read(b->buffer, b->offset_bytes, right, a->size_bytes));
        }
        assert_memory_equal(left, right, a->size_bytes);
        free(left);
        free(right);
    }
    vkf__parameters_free(&p);
    vkf__parameters_free(&again);
    refuse_state(gpu, model, of_layer, 2, 98, path, VKF_ERROR_INVALID_ARGUMENT, "other settings");
    refuse_state(gpu, model, of_layer, 1, 99, path, VKF_ERROR_FORMAT, "2 moments to a parameter");
    refuse_state(gpu, model, of_other, 2, 99, path, VKF_ERROR_FORMAT, "has no moments of");
    refuse_state(gpu, model, of_part, 2, 99, path, VKF_ERROR_FORMAT, "does not train here");
    refuse_state(gpu, model, of_layer, 2, 99, weights, VKF_ERROR_FORMAT, "is not what a training was at");
    vkf_model_destroy(&model);
    vkf_test_directory_remove(&directory);
}

// ---- failures

static void assert_empty(const char *directory)
{
    vkf__listing *listing = vkf__listing_open(directory);
    assert_non_null(listing);
    assert_null(vkf__listing_next(listing));
    vkf__listing_close(listing);
}

// Allocations that fail: each of the first, then fewer. A sanitizer's build sees what is left. VKF_TEST_ALL=1: each.
static void test_failures_of_host_memory_leave_nothing(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static const char *const patterns[] = {"*h.0.ln*"};
    vkf_test_directory directory;
    char saved[512], file[600];
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("gpt2"));
    vkf__host *host = &gpu->context->host;
    const vkf_allocator before = host->allocator;
    const uint64_t bytes = vkf_test_bytes_in_use(gpu);
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    size_t failures = 0;
    vkf_test_directory_make(&directory);
    join(saved, directory.path, "saved");
    (void)snprintf(file, sizeof file, "%s/" VKF_CHECKPOINT_FILE, saved);
    for (size_t at = 1; status != VKF_OK; at += vkf_test_all() ? 1 : 1 + at / 16, failures++) {
        counting_allocator memory = {.fail_call = at};
        vkf__parameters p = {0};
        vkf__train_state read = {0};
        host->allocator = counting_callbacks(&memory);
        status = vkf__parameters_create(model, patterns, 1, 2, &p);
        status = status == VKF_OK ? vkf__checkpoint_save(model, NULL, &p, &read, saved) : status;
        status = status == VKF_OK ? vkf__checkpoint_load_state(&p, file, false, &read) : status;
        status = status == VKF_OK ? vkf__checkpoint_load_weights(model, saved, false) : status;
        vkf__parameters_free(&p);
        host->allocator = before;
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(vkf_test_bytes_in_use(gpu), bytes);
        vkf__directory_remove_unheld(directory.path, "saved");
        assert_empty(directory.path); // what failed left no temporary directory
    }
    assert_in_range(failures, 20, 5000);
    vkf_model_destroy(&model);
    vkf_test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trainable_models_are_saved_as_they_were),
        cmocka_unit_test(test_trainable_refuses_what_is_not_f32),
        cmocka_unit_test(test_second_names_are_left_out),
        cmocka_unit_test(test_config_says_f32_where_it_said_another),
        cmocka_unit_test(test_trained_weights_come_back),
        cmocka_unit_test(test_models_without_a_directory_are_saved),
        cmocka_unit_test(test_sessions_read_the_weights_of_the_time),
        cmocka_unit_test(test_state_comes_back_to_its_own_training_alone),
        cmocka_unit_test(test_failures_of_host_memory_leave_nothing),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
