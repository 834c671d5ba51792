// How `vkformer shaders` prints what became of kernels and shaders.
#ifndef VKF_PROGRAM_SHADER_OUTPUT_H
#define VKF_PROGRAM_SHADER_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include <vkformer/vkformer.h>

typedef enum vkf_shader_form {
    VKF_SHADER_TABLE = 0,
    VKF_SHADER_JSON,
    VKF_SHADER_JSON_LINES,
    VKF_SHADER_MARKDOWN,
} vkf_shader_form;

typedef struct vkf_shader_output {
    vkf_shader_form form;
    bool statistics; // of what was compiled
    bool raw;        // below each row, as the driver names them; JSON has them always
    bool assembly;   // the driver's representations too
    bool all;        // those too that the device cannot use
    bool defaults;   // those alone that are taken for something unmeasured
    vkf_device_info device;
    uint32_t listed;
    uint32_t failed;     // to compile
    uint32_t assemblies; // that were there
    json_t *array;       // VKF_SHADER_JSON: printed at the end
    bool printed;        // so far
} vkf_shader_output;

// False, with a message, for a name that is none.
bool vkf_shader_parse_form(const char *text, vkf_shader_form *out_form);

void vkf_shader_output_begin(vkf_shader_output *output, const vkf_context *context);
// A vkf_kernel_report_fn; `user` is the output.
bool vkf_shader_output_visit(void *user, const vkf_kernel_report *report);
// Prints what is left; says, on stderr, what did not compile and where the driver gives no assembly. False for either of
// the first: what was not printed and what did not compile.
bool vkf_shader_output_end(vkf_shader_output *output);

#endif
