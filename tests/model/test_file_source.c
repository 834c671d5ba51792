// Models and tokenizers from a caller's files: in memory, in one open file that holds them all, and by callbacks.
// Nothing of them is in the file system under the names that are given.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/model_files.h"
#include "support/pretrained.h"

#define MAX_FILES 32
#define NOWHERE "no such directory"

// The files of a directory and of the folders in it.
typedef struct tree {
    vkf_listed_file files[MAX_FILES];
    char names[MAX_FILES][256];
    vkf_file_list list;
    vkf_file_source source;
} tree;

static void add_file(tree *t, const char *path, const char *name)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(stat(path, &info), 0);
    assert_true(t->list.count < MAX_FILES);
    vkf_listed_file *listed = &t->files[t->list.count];
    void *bytes = malloc((size_t)info.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)info.st_size, file), info.st_size);
    assert_int_equal(fclose(file), 0);
    snprintf(t->names[t->list.count], sizeof t->names[0], "%s", name);
    *listed =
        (vkf_listed_file){.name = t->names[t->list.count++], .bytes = bytes, .size_bytes = (uint64_t)info.st_size};
}

static void add_folder(tree *t, const char *directory, const char *folder)
{
    char path[1024], name[256];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", directory, folder);
    DIR *stream = opendir(path);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s%s%.200s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(path, sizeof path, "%s/%s", directory, name);
        assert_int_equal(stat(path, &info), 0);
        if (S_ISDIR(info.st_mode))
            add_folder(t, directory, name);
        else
            add_file(t, path, name);
    }
    closedir(stream);
}

static void tree_read(tree *t, const char *directory)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", directory);
    *t = (tree){.list = {.files = t->files}};
    add_folder(t, path, "");
    vkf_file_list_get_source(&t->list, &t->source);
}

static void tree_free(tree *t)
{
    for (uint32_t i = 0; i < t->list.count; i++)
        free((void *)(uintptr_t)t->files[i].bytes);
}

// Puts all files into one, as an archive that does not compress has them.
static int tree_join(tree *t, const char *path)
{
    FILE *file = fopen(path, "wb");
    uint64_t at = 0;
    assert_non_null(file);
    for (uint32_t i = 0; i < t->list.count; i++) {
        assert_int_equal(fputs("between", file) >= 0, 1);
        at += strlen("between");
        assert_int_equal(fwrite(t->files[i].bytes, 1, (size_t)t->files[i].size_bytes, file), t->files[i].size_bytes);
        free((void *)(uintptr_t)t->files[i].bytes);
        t->files[i].bytes = NULL;
        t->files[i].offset_bytes = at;
        at += t->files[i].size_bytes;
    }
    assert_int_equal(fclose(file), 0);
    const int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    for (uint32_t i = 0; i < t->list.count; i++)
        t->files[i].descriptor = descriptor;
    return descriptor;
}

// ---- what is loaded is the same

static void generate(vkf_test_gpu *gpu, const vkf_generator_desc *desc, vkf_continuation *out)
{
    const vkf_text prompt = {"A cat sat there.", 16};
    vkf_generator *generator = vkf_test_make_generator(gpu, desc);
    const vkf_generator_args args = {.prompts = &prompt, .count = 1, .max_new_tokens = 8, .out_continuations = out};
    vkf_test_must(gpu, vkf_generator_run(generator, &args));
    vkf_generator_destroy(&generator);
}

static void assert_generates_the_same(vkf_test_gpu *gpu, const char *family, const vkf_file_source *source)
{
    vkf_continuation out[2];
    generate(gpu, &(vkf_generator_desc){.directory = vkf_test_pretrained(family), .max_context = 32}, &out[0]);
    generate(gpu, &(vkf_generator_desc){.directory = NOWHERE, .files = source, .max_context = 32}, &out[1]);
    assert_int_equal(out[0].id_count, out[1].id_count);
    assert_memory_equal(out[0].ids, out[1].ids, out[0].id_count * sizeof *out[0].ids);
    assert_string_equal(out[0].text, out[1].text);
    vkf_continuation_free(&out[0]);
    vkf_continuation_free(&out[1]);
}

static void test_generators_from_memory(void **state)
{
    static const char *const families[] = {"llama", "gpt2"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < 2; i++) {
        tree t;
        tree_read(&t, vkf_test_pretrained(families[i]));
        assert_generates_the_same(gpu, families[i], &t.source);
        tree_free(&t);
    }
}

// Its two files are in the model's source.
static void test_an_adapter_from_memory(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    tree t;
    char path[1024];
    vkf_model *model = NULL;
    tree_read(&t, vkf_test_pretrained("llama"));
    vkf_model_desc desc = {.directory = NOWHERE, .files = &t.source, .adapter_directory = "an adapter"};
    vkf_test_expect(gpu, vkf_model_load(gpu->context, &desc, &model), VKF_ERROR_FILE, "an adapter/adapter_config.json");
    snprintf(path, sizeof path, "%s/adapter_config.json", vkf_test_pretrained("llama-adapter"));
    add_file(&t, path, "adapter_config.json");
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", vkf_test_pretrained("llama-adapter"));
    add_file(&t, path, "adapter_model.safetensors");
    model = vkf_test_load(gpu, &desc);
    vkf_model_destroy(&model);
    tree_free(&t);
}

static void test_generators_from_a_part_of_an_open_file(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_directory directory;
    char path[4096];
    tree t;
    vkf_test_directory_make(&directory);
    snprintf(path, sizeof path, "%s/assets", directory.path);
    tree_read(&t, vkf_test_pretrained("llama"));
    const int descriptor = tree_join(&t, path);
    assert_generates_the_same(gpu, "llama", &t.source);
    assert_int_equal(close(descriptor), 0); // nobody else has closed it
    vkf_test_directory_remove(&directory);
}

static void embed(vkf_test_gpu *gpu, const vkf_embedder_desc *desc, float out_embedding[64])
{
    const vkf_text text = {"A cat sat there.", 16};
    vkf_embedder *embedder = vkf_test_make_embedder(gpu, desc);
    vkf_model_config config;
    const vkf_embed_args args = {.texts = &text, .count = 1, .out_embeddings = out_embedding};
    vkf_embedder_get_config(embedder, &config);
    assert_in_range(config.embedding_dim, 1, 64);
    vkf_test_must(gpu, vkf_embedder_run(embedder, &args));
    vkf_embedder_destroy(&embedder);
}

// Their modules lie in folders, and in older directories so does the model.
static void test_embedders_from_memory(void **state)
{
    static const char *const families[] = {"sentence-mean", "sentence-modules", "sentence-older", "sentence-prompt"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < 4; i++) {
        tree t;
        float embeddings[2][64] = {{0}};
        tree_read(&t, vkf_test_pretrained(families[i]));
        embed(gpu, &(vkf_embedder_desc){.directory = vkf_test_pretrained(families[i]), .max_batch = 1}, embeddings[0]);
        embed(gpu, &(vkf_embedder_desc){.directory = NOWHERE, .files = &t.source, .max_batch = 1}, embeddings[1]);
        assert_memory_equal(embeddings[0], embeddings[1], sizeof embeddings[0]);
        tree_free(&t);
    }
}

static void test_plans_are_the_same(void **state)
{
    static const char *const families[] = {"bert", "t5", "marian", "qwen3", "llama-blocks"};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < 5; i++) {
        tree t;
        vkf_memory_plan plans[2];
        tree_read(&t, vkf_test_pretrained(families[i]));
        const vkf_model_desc descs[] = {{.directory = vkf_test_pretrained(families[i])},
                                        {.directory = NOWHERE, .files = &t.source}};
        for (size_t p = 0; p < 2; p++) {
            vkf_test_must(gpu, vkf_model_plan(gpu->context, &descs[p], &plans[p]));
            vkf_model *model = vkf_test_load(gpu, &descs[p]);
            vkf_model_destroy(&model);
        }
        assert_int_equal(plans[0].weights_bytes, plans[1].weights_bytes);
        tree_free(&t);
    }
}

// A tokenizer of older files, and one of a single file.
static void test_tokenizers_from_memory(void **state)
{
    static const char *const directories[] = {"/tests/tokenizers/bert", "/tests/pretrained/llama"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char path[1024];
        tree t;
        vkf_tokenizer *tokenizers[2] = {NULL, NULL};
        vkf_encoding encodings[2] = {{0}, {0}};
        snprintf(path, sizeof path, "%s%s", VKF_TEST_SOURCE_DIR, directories[i]);
        tree_read(&t, path);
        const vkf_tokenizer_desc desc = {.path = NOWHERE, .files = &t.source};
        assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = path}, &tokenizers[0]), VKF_OK);
        assert_int_equal(vkf_tokenizer_load(&desc, &tokenizers[1]), VKF_OK);
        tree_free(&t);
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(
                vkf_tokenizer_encode(tokenizers[k], &(vkf_text){"a cat sat", 9}, NULL, NULL, &encodings[k]), VKF_OK);
        assert_int_equal(encodings[0].count, encodings[1].count);
        assert_memory_equal(encodings[0].ids, encodings[1].ids, encodings[0].count * sizeof(int32_t));
        for (size_t k = 0; k < 2; k++) {
            vkf_encoding_free(&encodings[k]);
            vkf_tokenizer_destroy(&tokenizers[k]);
        }
    }
}

// ---- callbacks

// A source over a tree that counts, and that fails where it is told to.
typedef struct counting {
    const vkf_file_source *inner;
    const char *unreadable; // file that is there and cannot be read
    const char *absent;
    int open; // files that were read and not closed since
} counting;

static bool counting_size(void *user, const char *name, uint64_t *out_size_bytes)
{
    counting *c = user;
    assert_true(strncmp(name, NOWHERE, strlen(NOWHERE)) != 0 && name[0] != '/');
    return (!c->absent || strcmp(name, c->absent) != 0) && c->inner->size(c->inner->user, name, out_size_bytes);
}

static bool counting_read(void *user, const char *name, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    counting *c = user;
    assert_true(size_bytes > 0);
    return (!c->unreadable || strcmp(name, c->unreadable) != 0) &&
           c->inner->read(c->inner->user, name, offset, out_bytes, size_bytes);
}

static void counting_close(void *user, const char *name)
{
    counting *c = user;
    assert_non_null(name);
    c->open++;
}

static vkf_status load(vkf_test_gpu *gpu, counting *c)
{
    const vkf_file_source source = {.size = counting_size, .read = counting_read, .close = counting_close, .user = c};
    const vkf_model_desc desc = {.directory = NOWHERE, .files = &source};
    vkf_model *model = NULL;
    gpu->last_error[0] = '\0';
    const vkf_status status = vkf_model_load(gpu->context, &desc, &model);
    vkf_model_destroy(&model);
    return status;
}

static void test_files_that_fail_are_named(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    tree t;
    tree_read(&t, vkf_test_pretrained("llama"));
    counting c = {.inner = &t.source};
    assert_int_equal(load(gpu, &c), VKF_OK);
    assert_true(c.open >= 3); // config.json, generation_config.json, the weights
    c.absent = "config.json";
    vkf_test_expect(gpu, load(gpu, &c), VKF_ERROR_FILE, NOWHERE "/config.json: there is no such file");
    c.absent = "model.safetensors";
    vkf_test_expect(gpu, load(gpu, &c), VKF_ERROR_FILE, "no weights in it");
    c = (counting){.inner = &t.source, .unreadable = "model.safetensors"};
    vkf_test_expect(gpu, load(gpu, &c), VKF_ERROR_FILE, NOWHERE "/model.safetensors: bytes 0+");
    tree_free(&t);
}

static void test_a_source_without_callbacks_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_file_source source = {.size = counting_size};
    const vkf_model_desc desc = {.directory = NOWHERE, .files = &source};
    const vkf_tokenizer_desc tokenizer = {.path = NOWHERE, .files = &source};
    vkf_model *model = NULL;
    vkf_tokenizer *loaded = NULL;
    vkf_test_expect(gpu, vkf_model_load(gpu->context, &desc, &model), VKF_ERROR_INVALID_ARGUMENT,
                    "`files` has no read");
    assert_int_equal(vkf_tokenizer_load(&tokenizer, &loaded), VKF_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generators_from_memory),
        cmocka_unit_test(test_an_adapter_from_memory),
        cmocka_unit_test(test_generators_from_a_part_of_an_open_file),
        cmocka_unit_test(test_embedders_from_memory),
        cmocka_unit_test(test_plans_are_the_same),
        cmocka_unit_test(test_tokenizers_from_memory),
        cmocka_unit_test(test_files_that_fail_are_named),
        cmocka_unit_test(test_a_source_without_callbacks_is_refused),
    };
    return cmocka_run_group_tests_name("file_source", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
