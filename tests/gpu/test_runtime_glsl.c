// Kernels from a folder of GLSL: an edited shader takes effect with no build, and a mistake is told with file and line.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "kernel/glsl.h"
#include "kernel/shader_table.h"
#include "spirv.h"

#define SHADERS VKF_TEST_SOURCE_DIR "/shaders"

// A copy of the shaders that a test may edit.
typedef struct shader_copy {
    char path[64];
} shader_copy;

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    assert_true(size > 0 && size < (1 << 20) - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static bool is_source(const char *name)
{
    static const char *const endings[] = {".comp", ".glsl", ".h"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(name), ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

// Copies the sources of one folder, or removes what a copy holds when `remove_all` is set.
static void walk(const shader_copy *copy, const char *folder, bool remove_all)
{
    char from[512], to[512];
    (void)snprintf(from, sizeof from, "%s/%s", remove_all ? copy->path : SHADERS, folder);
    DIR *directory = opendir(from);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (!is_source(entry->d_name))
            continue;
        (void)snprintf(to, sizeof to, "%s/%s/%.200s", copy->path, folder, entry->d_name);
        if (remove_all) {
            (void)remove(to);
            continue;
        }
        (void)snprintf(from, sizeof from, "%s/%s/%.200s", SHADERS, folder, entry->d_name);
        char *text = read_text(from);
        write_text(to, text);
        free(text);
    }
    closedir(directory);
}

static const char *const folders[] = {".", "include", "shared"};

static void make_copy(shader_copy *copy)
{
    char path[128];
    (void)snprintf(copy->path, sizeof copy->path, "/tmp/vkformer-shaders-XXXXXX");
    assert_non_null(mkdtemp(copy->path));
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", copy->path, folders[i]);
        assert_true(i == 0 || mkdir(path, 0700) == 0);
        walk(copy, folders[i], false);
    }
}

static void remove_copy(const shader_copy *copy)
{
    char path[128];
    for (size_t i = 3; i-- > 0;) {
        walk(copy, folders[i], true);
        (void)snprintf(path, sizeof path, "%s/%s", copy->path, folders[i]);
        (void)rmdir(i > 0 ? path : copy->path);
    }
}

// Replaces the first `from` in a file of the copy by `to`; returns the line that it stands in.
static int edit(const shader_copy *copy, const char *name, const char *from, const char *to)
{
    char path[512];
    int line = 1;
    (void)snprintf(path, sizeof path, "%s/%s", copy->path, name);
    char *text = read_text(path);
    char *at = strstr(text, from);
    if (!at)
        fail_msg("%s does not contain \"%s\"", name, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *edited = malloc(size);
    assert_non_null(edited);
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    (void)snprintf(edited, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    write_text(path, edited);
    free(edited);
    free(text);
    return line;
}

static void skip_without_compiler(void)
{
    if (vkf__glsl_available())
        return;
    printf("skipped: this build has no GLSL compiler (VKF_RUNTIME_GLSL)\n");
    skip();
}

// A context with the shaders of `directory`.
static void open_with(vkf_test_gpu *gpu, const char *directory)
{
    vkf_context_desc desc = {.shader_dir = directory};
    if (vkf_test_gpu_open(gpu, &desc) != 0)
        fail_msg("no context: %s", gpu->last_error);
}

static void close_with(vkf_test_gpu *gpu)
{
    vkf_context_destroy(&gpu->context);
    assert_int_equal(gpu->validation_messages, 0);
}

// (1 2; 3 4) times (5 6; 7 8), or the status that keeps it from being computed.
static vkf_status multiply(vkf_test_gpu *gpu, float out_values[4])
{
    static const float a_values[] = {1, 2, 3, 4}, b_values[] = {5, 6, 7, 8};
    const uint32_t shape[] = {2, 2};
    vkf_tensor a = vkf_test_tensor(gpu, VKF_DTYPE_F32, 2, shape, a_values);
    vkf_tensor b = vkf_test_tensor(gpu, VKF_DTYPE_F32, 2, shape, b_values);
    vkf_tensor out = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    const vkf_gemm_desc desc = {.a = a, .b = b, .out = out, .alpha = 1};
    vkf_status status = vkf_gemm(gpu->context, &desc);
    if (status == VKF_OK)
        status = vkf_tensor_read(&out, out_values, 4 * sizeof *out_values);
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&b);
    vkf_tensor_destroy(&out);
    return status;
}

static void assert_product(vkf_test_gpu *gpu, float factor)
{
    static const float expected[] = {19, 22, 43, 50};
    float values[4] = {0};
    if (multiply(gpu, values) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    for (size_t i = 0; i < 4; i++)
        assert_true(values[i] == factor * expected[i]);
}

static void test_shader_dir_unchanged_gives_the_same(void **state)
{
    vkf_test_gpu gpu;
    (void)vkf_test_gpu_of(state);
    skip_without_compiler();
    open_with(&gpu, SHADERS);
    assert_product(&gpu, 1);
    close_with(&gpu);
}

static void test_shader_dir_edit_takes_effect(void **state)
{
    vkf_test_gpu gpu;
    shader_copy copy;
    (void)vkf_test_gpu_of(state);
    skip_without_compiler();
    make_copy(&copy);
    (void)edit(&copy, "gemm_tile.comp", "p.alpha *", "2.0 * p.alpha *");
    open_with(&gpu, copy.path);
    assert_product(&gpu, 2);
    close_with(&gpu);
    (void)edit(&copy, "gemm_tile.comp", "2.0 * p.alpha *", "3.0 * p.alpha *");
    open_with(&gpu, copy.path);
    assert_product(&gpu, 3);
    close_with(&gpu);
    remove_copy(&copy);
    assert_product(vkf_test_gpu_of(state), 1); // the embedded kernels are as they were
}

// What is compiled at run time has the interface of what the build embedded.
static void test_shader_dir_every_kernel_compiles(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__host host;
    skip_without_compiler();
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    assert_non_null(gpu->context);
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        const vkf__shader *shader = &vkf__shaders[i];
        spirv_module embedded, compiled;
        uint32_t *words = NULL;
        size_t bytes = 0;
        const char *why = NULL;
        assert_int_equal(vkf__glsl_compile(&host, SHADERS, shader->source, shader->defines, &words, &bytes), VKF_OK);
        assert_true(spirv_read(shader->words, shader->word_count, &embedded, &why));
        assert_true(spirv_read(words, bytes / 4, &compiled, &why));
        if (embedded.binding_count != compiled.binding_count || embedded.push_bytes != compiled.push_bytes ||
            embedded.spec_count != compiled.spec_count || embedded.capability_count != compiled.capability_count)
            fail_msg("%s differs from what is embedded", shader->name);
        vkf__free(&host, words);
    }
}

static void assert_error_at(vkf_test_gpu *gpu, const char *file, int line)
{
    char place[64];
    float values[4];
    (void)snprintf(place, sizeof place, "%s:%d", file, line);
    assert_int_equal(multiply(gpu, values), VKF_ERROR_SHADER);
    if (!strstr(gpu->last_error, place))
        fail_msg("the message does not name %s: %s", place, gpu->last_error);
}

static void test_shader_dir_syntax_error_names_file_and_line(void **state)
{
    static const char *const files[] = {"gemm_tile.comp", "include/storage.glsl"};
    static const char *const places[] = {"void main()", "#define"};
    (void)vkf_test_gpu_of(state);
    skip_without_compiler();
    for (size_t i = 0; i < 2; i++) {
        vkf_test_gpu gpu;
        shader_copy copy;
        char broken[128];
        make_copy(&copy);
        (void)snprintf(broken, sizeof broken, "float broken = nonsense;\n%s", places[i]);
        int line = edit(&copy, files[i], places[i], broken);
        open_with(&gpu, copy.path);
        assert_error_at(&gpu, strrchr(files[i], '/') ? strrchr(files[i], '/') + 1 : files[i], line);
        close_with(&gpu);
        remove_copy(&copy);
    }
}

static void test_shader_dir_missing_folder_and_include(void **state)
{
    vkf_test_gpu gpu;
    shader_copy copy;
    char path[128];
    float values[4];
    (void)vkf_test_gpu_of(state);
    skip_without_compiler();
    open_with(&gpu, "/nonexistent/shaders");
    assert_int_equal(multiply(&gpu, values), VKF_ERROR_FILE);
    assert_non_null(strstr(gpu.last_error, "/nonexistent/shaders/gemm_tile.comp"));
    close_with(&gpu);
    make_copy(&copy);
    (void)snprintf(path, sizeof path, "%s/include/storage.glsl", copy.path);
    assert_int_equal(remove(path), 0);
    open_with(&gpu, copy.path);
    assert_int_equal(multiply(&gpu, values), VKF_ERROR_FILE);
    assert_non_null(strstr(gpu.last_error, "storage.glsl"));
    assert_non_null(strstr(gpu.last_error, "gemm_tile.comp:"));
    close_with(&gpu);
    remove_copy(&copy);
}

// A failure leaves the context usable: when the file is mended, the same call works.
static void test_shader_dir_mended_works_again(void **state)
{
    vkf_test_gpu gpu;
    shader_copy copy;
    (void)vkf_test_gpu_of(state);
    skip_without_compiler();
    make_copy(&copy);
    int line = edit(&copy, "gemm_tile.comp", "void main()", "nonsense\nvoid main()");
    open_with(&gpu, copy.path);
    assert_error_at(&gpu, "gemm_tile.comp", line);
    (void)edit(&copy, "gemm_tile.comp", "nonsense\n", "\n");
    assert_product(&gpu, 1);
    close_with(&gpu);
    remove_copy(&copy);
}

static void test_shader_dir_without_a_compiler_is_unsupported(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_context *context = NULL;
    const vkf_context_desc desc = {.profile = gpu->profile, .shader_dir = SHADERS};
    vkf_status status = vkf_context_create(&desc, &context);
    assert_int_equal(status, vkf__glsl_available() ? VKF_OK : VKF_ERROR_UNSUPPORTED);
    vkf_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shader_dir_unchanged_gives_the_same),
        cmocka_unit_test(test_shader_dir_edit_takes_effect),
        cmocka_unit_test(test_shader_dir_every_kernel_compiles),
        cmocka_unit_test(test_shader_dir_syntax_error_names_file_and_line),
        cmocka_unit_test(test_shader_dir_missing_folder_and_include),
        cmocka_unit_test(test_shader_dir_mended_works_again),
        cmocka_unit_test(test_shader_dir_without_a_compiler_is_unsupported),
    };
    return cmocka_run_group_tests_name("run-time GLSL", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
