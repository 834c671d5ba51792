// Kernels from a folder of GLSL: an edited shader takes effect with no build, and a mistake is told with file and line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embedded_words.h"
#include "fixture.h"
#include "glsl_compiler.h"
#include "kernel/glsl.h"
#include "kernel/shader_table.h"
#include "lab/shaders/spirv.h"
#include "shader_copy.h"

// A context with the shaders of `directory`.
static void open_with(vkf_test_gpu *gpu, const char *directory)
{
    // The one that these tests edit, among the kernels for so small a product.
    vkf_context_desc desc = {.shader_dir = directory, .variant = "gemm_tile"};
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
    vkf_test_skip_without_glsl_compiler();
    open_with(&gpu, VKF_TEST_SHADERS);
    assert_product(&gpu, 1);
    close_with(&gpu);
}

static void test_shader_dir_edit_takes_effect(void **state)
{
    vkf_test_gpu gpu;
    vkf_shader_copy copy;
    (void)vkf_test_gpu_of(state);
    vkf_test_skip_without_glsl_compiler();
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "include/product_store.glsl", "p.alpha *", "2.0 * p.alpha *");
    open_with(&gpu, copy.path);
    assert_product(&gpu, 2);
    close_with(&gpu);
    (void)vkf_test_edit_shader(&copy, "include/product_store.glsl", "2.0 * p.alpha *", "3.0 * p.alpha *");
    open_with(&gpu, copy.path);
    assert_product(&gpu, 3);
    close_with(&gpu);
    vkf_test_remove_shaders(&copy);
    assert_product(vkf_test_gpu_of(state), 1); // the embedded kernels are as they were
}

// What is compiled at run time has the interface of what the build embedded.
static void test_shader_dir_every_kernel_compiles(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__host host;
    vkf__glsl glsl;
    vkf_test_skip_without_glsl_compiler();
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    assert_int_equal(vkf__glsl_open(&host, &glsl), VKF_OK);
    assert_non_null(gpu->context);
    // Neighbours are one source for several types. VKF_TEST_ALL=1: all.
    for (uint32_t i = 0; i < vkf__shader_count; i += vkf_test_all() ? 1 : 3) {
        const vkf__shader *shader = &vkf__shaders[i];
        spirv_module embedded, compiled;
        uint32_t *words = NULL, *embedded_copy = embedded_words(shader);
        size_t bytes = 0;
        const char *why = NULL;
        // Kernels with cooperative matrices are taken as they are embedded: the linked compiler need not know them.
        if (strstr(shader->source, "coopmat")) {
            free(embedded_copy);
            continue;
        }
        assert_int_equal(
            vkf__glsl_compile(&host, &glsl, VKF_TEST_SHADERS, shader->source, shader->defines, &words, &bytes), VKF_OK);
        assert_true(embedded_copy && spirv_read(embedded_copy, shader->word_count, &embedded, &why));
        free(embedded_copy);
        assert_true(spirv_read(words, bytes / 4, &compiled, &why));
        if (embedded.binding_count != compiled.binding_count || embedded.push_bytes != compiled.push_bytes ||
            embedded.spec_count != compiled.spec_count || embedded.capability_count != compiled.capability_count)
            fail_msg("%s differs from what is embedded", shader->name);
        vkf__free(&host, words);
    }
    vkf__glsl_close(&glsl);
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
    static const char *const files[] = {"gemm/gemm_tile.comp", "include/storage.glsl"};
    static const char *const places[] = {"void main()", "#define"};
    (void)vkf_test_gpu_of(state);
    vkf_test_skip_without_glsl_compiler();
    for (size_t i = 0; i < 2; i++) {
        vkf_test_gpu gpu;
        vkf_shader_copy copy;
        char broken[128];
        vkf_test_copy_shaders(&copy);
        (void)snprintf(broken, sizeof broken, "float broken = nonsense;\n%s", places[i]);
        int line = vkf_test_edit_shader(&copy, files[i], places[i], broken);
        open_with(&gpu, copy.path);
        assert_error_at(&gpu, strrchr(files[i], '/') ? strrchr(files[i], '/') + 1 : files[i], line);
        close_with(&gpu);
        vkf_test_remove_shaders(&copy);
    }
}

static void test_shader_dir_missing_folder_and_include(void **state)
{
    vkf_test_gpu gpu;
    vkf_shader_copy copy;
    char path[300];
    float values[4];
    (void)vkf_test_gpu_of(state);
    vkf_test_skip_without_glsl_compiler();
    open_with(&gpu, "/nonexistent/shaders");
    assert_int_equal(multiply(&gpu, values), VKF_ERROR_FILE);
    assert_non_null(strstr(gpu.last_error, "/nonexistent/shaders/gemm/gemm_tile.comp"));
    close_with(&gpu);
    vkf_test_copy_shaders(&copy);
    (void)snprintf(path, sizeof path, "%s/include/storage.glsl", copy.path);
    assert_int_equal(remove(path), 0);
    open_with(&gpu, copy.path);
    assert_int_equal(multiply(&gpu, values), VKF_ERROR_FILE);
    assert_non_null(strstr(gpu.last_error, "storage.glsl"));
    assert_non_null(strstr(gpu.last_error, "gemm_tile.comp:"));
    close_with(&gpu);
    vkf_test_remove_shaders(&copy);
}

// A failure leaves the context usable: when the file is mended, the same call works.
static void test_shader_dir_mended_works_again(void **state)
{
    vkf_test_gpu gpu;
    vkf_shader_copy copy;
    (void)vkf_test_gpu_of(state);
    vkf_test_skip_without_glsl_compiler();
    vkf_test_copy_shaders(&copy);
    int line = vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", "void main()", "nonsense\nvoid main()");
    open_with(&gpu, copy.path);
    assert_error_at(&gpu, "gemm/gemm_tile.comp", line);
    (void)vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", "nonsense\n", "\n");
    assert_product(&gpu, 1);
    close_with(&gpu);
    vkf_test_remove_shaders(&copy);
}

static void test_shader_dir_without_a_compiler_is_unsupported(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_context *context = NULL;
    const vkf_context_desc desc = {.profile = gpu->profile, .shader_dir = VKF_TEST_SHADERS};
    vkf_status status = vkf_context_create(&desc, &context);
    assert_int_equal(status, vkf_test_has_glsl_compiler() ? VKF_OK : VKF_ERROR_UNSUPPORTED);
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
