// A program outside the source tree that uses an installed vkformer: multiplies two 2 x 2 matrices where there is a
// device, and prints the status where there is none. It links libvulkan itself and calls it by its own names, which
// works only when the library defines none of these names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

#include <vkformer/vkformer.h>

static vkf_status multiply(vkf_context *context, const float *a, const float *b, float *out_product)
{
    vkf_gemm_desc gemm = {.alpha = 1.0f};
    const uint32_t shape[] = {2, 2};
    vkf_tensor *tensors[] = {&gemm.a, &gemm.b, &gemm.out};
    vkf_status status = VKF_OK;
    for (int i = 0; i < 3 && status == VKF_OK; i++)
        status = vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "consumer", tensors[i]);
    if (status == VKF_OK)
        status = vkf_tensor_write(&gemm.a, a, 4 * sizeof *a);
    if (status == VKF_OK)
        status = vkf_tensor_write(&gemm.b, b, 4 * sizeof *b);
    if (status == VKF_OK)
        status = vkf_gemm(context, &gemm);
    if (status == VKF_OK)
        status = vkf_tensor_read(&gemm.out, out_product, 4 * sizeof *out_product);
    for (int i = 0; i < 3; i++)
        vkf_tensor_destroy(tensors[i]);
    return status;
}

int main(void)
{
    uint32_t version = 0;
    if (vkf_version() != VKF_VERSION) {
        printf("headers of version %d, a library of %u\n", VKF_VERSION, vkf_version());
        return EXIT_FAILURE;
    }
    if (vkEnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_1) {
        printf("vkEnumerateInstanceVersion of libvulkan did not answer\n");
        return EXIT_FAILURE;
    }

    vkf_context *context = NULL;
    const vkf_context_desc desc = {0};
    vkf_status status = vkf_context_create(&desc, &context);
    if (status != VKF_OK) {
        printf("no context: %s\n", vkf_status_text(status));
        return status == VKF_ERROR_NO_DEVICE || status == VKF_ERROR_NO_VULKAN ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    const float a[] = {1, 2, 3, 4};
    const float b[] = {5, 6, 7, 8};
    const float expected[] = {19, 22, 43, 50};
    float product[4] = {0};
    status = multiply(context, a, b, product);
    vkf_context_destroy(&context);
    printf("%s: %g %g %g %g\n", vkf_status_text(status), product[0], product[1], product[2], product[3]);
    return status == VKF_OK && memcmp(product, expected, sizeof product) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
