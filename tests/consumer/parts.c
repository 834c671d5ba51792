// A program that asks a library of the part core for what it was built without: a status and a sentence each time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vkformer/vkformer.h>

static char last_message[1024];

static void keep_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    if (severity >= VKF_SEVERITY_ERROR)
        (void)snprintf(last_message, sizeof last_message, "%s", text);
}

static void expect(const char *what, vkf_status status, const char *sentence)
{
    if (status != VKF_ERROR_UNSUPPORTED || !strstr(last_message, sentence)) {
        printf("FAIL %s: %s: %s\n", what, vkf_status_name(status), last_message);
        exit(EXIT_FAILURE);
    }
    printf("%s: %s\n", what, last_message);
    last_message[0] = '\0';
}

// What a function that returns no status does.
static void expect_nothing(void)
{
    vkf_model *model = NULL;
    vkf_special_tokens tokens;
    vkf_encoding encoding = {0};
    memset(&tokens, 0xff, sizeof tokens);
    vkf_model_destroy(&model);
    vkf_encoding_free(&encoding);
    vkf_embedder_get_special_tokens(NULL, &tokens);
    if (tokens.pad_id != 0 || vkf_tokenizer_token_to_id(NULL, "a") != -1 ||
        vkf_tokenizer_id_to_token(NULL, 0) != NULL) {
        printf("FAIL a function of a part that is not there gave something\n");
        exit(EXIT_FAILURE);
    }
}

static vkf_status multiply_bf16(vkf_context *context)
{
    const uint32_t shape[] = {32, 32};
    vkf_gemm_desc gemm = {.alpha = 1, .transpose_b = true};
    vkf_status status = vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "a", &gemm.a);
    if (status == VKF_OK)
        status = vkf_tensor_create(context, VKF_DTYPE_BF16, 2, shape, "b", &gemm.b);
    if (status == VKF_OK)
        status = vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "out", &gemm.out);
    if (status == VKF_OK)
        status = vkf_gemm(context, &gemm);
    vkf_tensor_destroy(&gemm.a);
    vkf_tensor_destroy(&gemm.b);
    vkf_tensor_destroy(&gemm.out);
    return status;
}

static void find_left_out(void *user, const char *kernel, bool usable, const char *why)
{
    uint32_t *count = user;
    *count += !usable && strstr(why, "VKF_KERNELS") && strncmp(kernel, "gemv", 4) == 0;
}

int main(void)
{
    vkf_context *context = NULL;
    vkf_tokenizer *tokenizer = NULL;
    vkf_model *model = NULL;
    vkf_generator *generator = NULL;
    vkf_device_description *description = NULL;
    uint32_t left_out = 0;
    if (!vkf_has_part(VKF_PART_CORE) || vkf_has_part(VKF_PART_MODELS) || vkf_has_part(VKF_PART_TEXT) ||
        vkf_has_part(VKF_PART_TRAIN) || vkf_has_part((vkf_part)99)) {
        printf("FAIL vkf_has_part() does not tell what this library has\n");
        return EXIT_FAILURE;
    }
    expect("a tokenizer",
           vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = "x.json", .message = keep_message}, &tokenizer),
           "vkf_tokenizer_load: this library was built without its part text");
    expect("a description",
           vkf_device_description_create(&(vkf_device_description_desc){.message = keep_message}, &description),
           "vkf_device_description_create: this library was built without its part models");
    expect_nothing();
    if (vkf_context_create(&(vkf_context_desc){.message = keep_message}, &context) != VKF_OK) {
        printf("FAIL no context: %s\n", last_message);
        return EXIT_FAILURE;
    }
    expect("a model", vkf_model_load(context, &(vkf_model_desc){.directory = "x"}, &model), "without its part models");
    expect("a generator", vkf_generator_load(context, &(vkf_generator_desc){.directory = "x"}, &generator),
           "without its part text");
    expect("a kernel", multiply_bf16(context), "this build of the library leaves kernels out (VKF_KERNELS)");
    vkf_context_visit_kernels(context, find_left_out, &left_out);
    vkf_context_destroy(&context);
    if (left_out == 0)
        printf("FAIL no kernel of the registry is told to be left out\n");
    return left_out > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
