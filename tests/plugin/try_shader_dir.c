// try_shader_dir FOLDER [DIRECTORY]: goes to the directory, makes a context whose kernels come from the folder, says
// how it ended, and prints the message.
#include <stdio.h>
#include <unistd.h>

#include <vkformer/vkformer.h>

static void print_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    printf("%s\n", text);
}

int main(int argc, char **argv)
{
    vkf_context *context = NULL;
    if (argc > 2 && chdir(argv[2]) != 0)
        return 1;
    const vkf_context_desc desc = {
        .shader_dir = argc > 1 ? argv[1] : NULL, .message = print_message, .min_severity = VKF_SEVERITY_ERROR};
    const vkf_status status = vkf_context_create(&desc, &context);
    vkf_context_destroy(&context);
    printf("%s\n", vkf_status_name(status));
    return 0;
}
