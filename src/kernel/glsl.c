// Calls glslang where the build has it. Without it, every compilation fails with UNSUPPORTED.
#include "kernel/glsl.h"

#ifdef VKF_RUNTIME_GLSL

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <stdio.h>
#include <string.h>

#include "kernel/glsl_source.h"

#define MAX_PREAMBLE 1024

bool vkf__glsl_available(void)
{
    return true;
}

// Turns "A=1 B" into lines of #define. The extension allows #line to name files.
static bool make_preamble(const char *defines, char *out_text, size_t capacity)
{
    size_t used = (size_t)snprintf(out_text, capacity,
                                   "#extension GL_GOOGLE_cpp_style_line_directive : require\n#define VKF_GLSL 1\n");
    for (const char *word = defines; *word != '\0';) {
        size_t length = strcspn(word, " ");
        const char *equals = memchr(word, '=', length);
        size_t name = equals ? (size_t)(equals - word) : length;
        const char *value = equals ? equals + 1 : "1";
        size_t value_length = equals ? length - name - 1 : 1;
        if (length > 0)
            used += (size_t)snprintf(out_text + used, capacity - used, "#define %.*s %.*s\n", (int)name, word,
                                     (int)value_length, value);
        if (used >= capacity)
            return false;
        word += length + strspn(word + length, " ");
    }
    return true;
}

static vkf_status copy_words(const vkf__host *host, glslang_program_t *program, uint32_t **out_words, size_t *out_bytes)
{
    uint32_t *words = NULL;
    glslang_program_SPIRV_generate(program, GLSLANG_STAGE_COMPUTE);
    size_t count = glslang_program_SPIRV_get_size(program);
    VKF_ALLOC_OR_RETURN(host, words, count);
    glslang_program_SPIRV_get(program, words);
    *out_words = words;
    *out_bytes = 4 * count;
    return VKF_OK;
}

// The compiler's objects for one compilation.
typedef struct compilation {
    glslang_shader_t *shader;
    glslang_program_t *program;
} compilation;

static vkf_status compile(const vkf__host *host, compilation *c, const glslang_input_t *input, const char *name,
                          uint32_t **out_words, size_t *out_bytes)
{
    const int messages = GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT;
    c->shader = glslang_shader_create(input);
    c->program = glslang_program_create();
    if (!c->shader || !c->program)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: the GLSL compiler has no memory", name);
    if (!glslang_shader_preprocess(c->shader, input) || !glslang_shader_parse(c->shader, input))
        return vkf__fail(host, VKF_ERROR_SHADER, "%s does not compile:\n%s", name,
                         glslang_shader_get_info_log(c->shader));
    glslang_program_add_shader(c->program, c->shader);
    if (!glslang_program_link(c->program, messages))
        return vkf__fail(host, VKF_ERROR_SHADER, "%s does not link:\n%s", name,
                         glslang_program_get_info_log(c->program));
    return copy_words(host, c->program, out_words, out_bytes);
}

vkf_status vkf__glsl_compile(const vkf__host *host, const char *dir, const char *source, const char *defines,
                             uint32_t **out_words, size_t *out_bytes)
{
    vkf_status status = VKF_OK;
    char preamble[MAX_PREAMBLE];
    char *text = NULL;
    compilation c = {0};
    if (!make_preamble(defines, preamble, sizeof preamble))
        return vkf__fail(host, VKF_ERROR_SHADER, "%s: too many defines", source);
    VKF_TRY(vkf__glsl_source(host, dir, source, preamble, &text));
    // Calls to initialise and finalise come in pairs, because glslang counts them.
    if (!glslang_initialize_process()) {
        vkf__free(host, text);
        return vkf__fail(host, VKF_ERROR_SHADER, "%s: the GLSL compiler could not be started", source);
    }
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
        .messages = GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT,
        .resource = glslang_default_resource(),
    };
    status = compile(host, &c, &input, source, out_words, out_bytes);
    if (c.program)
        glslang_program_delete(c.program);
    if (c.shader)
        glslang_shader_delete(c.shader);
    glslang_finalize_process();
fail:
    vkf__free(host, text);
    return status;
}

#else

bool vkf__glsl_available(void)
{
    return false;
}

vkf_status vkf__glsl_compile(const vkf__host *host, const char *dir, const char *source, const char *defines,
                             uint32_t **out_words, size_t *out_bytes)
{
    (void)dir;
    (void)defines;
    (void)out_words;
    (void)out_bytes;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: this build has no GLSL compiler", source);
}

#endif
