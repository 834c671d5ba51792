// Makes a context of the best device, if there is one, and says which version of the library did so. The context and
// the tokenizer bring in all that the library depends on.
#include <stdio.h>
#include <vkformer/vkformer.h>

int main(void)
{
    vkf_context *context = NULL;
    const vkf_status status = vkf_context_create(NULL, &context);
    vkf_context_destroy(&context);
    vkf_tokenizer *tokenizer = NULL;
    const vkf_status no_file = vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = "no such file"}, &tokenizer);
    printf("vkformer %u.%u.%u: context: %s; tokenizer: %s\n", (unsigned)(vkf_version() / 10000),
           (unsigned)(vkf_version() / 100 % 100), (unsigned)(vkf_version() % 100), vkf_status_text(status),
           vkf_status_text(no_file));
    return vkf_version() == VKF_VERSION && no_file == VKF_ERROR_FILE ? 0 : 1;
}
