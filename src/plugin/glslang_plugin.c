// The plug-in that compiles GLSL: glslang behind one function in C.
#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <stdlib.h>

#include <vkformer/status.h>

#include "kernel/glsl_plugin.h"

#define MESSAGES (GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT)

// The compiler's objects for one compilation.
typedef struct compilation {
    glslang_shader_t *shader;
    glslang_program_t *program;
} compilation;

static void give_words(glslang_program_t *program, vkf_glsl_result_fn result, void *user)
{
    glslang_program_SPIRV_generate(program, GLSLANG_STAGE_COMPUTE);
    const size_t count = glslang_program_SPIRV_get_size(program);
    uint32_t *words = malloc(count > 0 ? count * sizeof *words : 1);
    if (!words) {
        result(user, VKF_GLSL_NO_MEMORY, NULL, 0, "");
        return;
    }
    glslang_program_SPIRV_get(program, words);
    result(user, VKF_GLSL_COMPILED, words, count, "");
    free(words);
}

static void compile_input(compilation *c, const glslang_input_t *input, vkf_glsl_result_fn result, void *user)
{
    c->shader = glslang_shader_create(input);
    c->program = glslang_program_create();
    if (!c->shader || !c->program) {
        result(user, VKF_GLSL_NO_MEMORY, NULL, 0, "");
        return;
    }
    if (!glslang_shader_preprocess(c->shader, input) || !glslang_shader_parse(c->shader, input)) {
        result(user, VKF_GLSL_NOT_PARSED, NULL, 0, glslang_shader_get_info_log(c->shader));
        return;
    }
    glslang_program_add_shader(c->program, c->shader);
    if (!glslang_program_link(c->program, MESSAGES)) {
        result(user, VKF_GLSL_NOT_LINKED, NULL, 0, glslang_program_get_info_log(c->program));
        return;
    }
    give_words(c->program, result, user);
}

static void compile(const char *text, vkf_glsl_result_fn result, void *user)
{
    compilation c = {0};
    const glslang_input_t input = {
        .language = GLSLANG_SOURCE_GLSL,
        .stage = GLSLANG_STAGE_COMPUTE,
        .client = GLSLANG_CLIENT_VULKAN,
        .client_version = GLSLANG_TARGET_VULKAN_1_1,
        .target_language = GLSLANG_TARGET_SPV,
        .target_language_version = GLSLANG_TARGET_SPV_1_3,
        .code = text,
        .default_version = 450,
        .default_profile = GLSLANG_NO_PROFILE,
        .messages = MESSAGES,
        .resource = glslang_default_resource(),
    };
    // Calls to initialise and finalise come in pairs, because glslang counts them.
    if (!glslang_initialize_process()) {
        result(user, VKF_GLSL_NOT_STARTED, NULL, 0, "");
        return;
    }
    compile_input(&c, &input, result, user);
    if (c.program)
        glslang_program_delete(c.program);
    if (c.shader)
        glslang_shader_delete(c.shader);
    glslang_finalize_process();
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

VKF_API const vkf_glsl_plugin *vkf_glsl_plugin_get(void);

const vkf_glsl_plugin *vkf_glsl_plugin_get(void)
{
    static const vkf_glsl_plugin plugin = {
        .interface = VKF_GLSL_PLUGIN_INTERFACE,
        .version = VERSION_TEXT(VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH),
        .compile = compile,
    };
    return &plugin;
}
