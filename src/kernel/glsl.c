// Finds the plug-in that compiles GLSL, and hands it sources.
#include "kernel/glsl.h"

#include <stdio.h>
#include <string.h>

#include "base/shared_library.h"
#include "base/system_file.h"
#include "kernel/glsl_source.h"

#define MAX_PREAMBLE 1024
#define MAX_PATH_BYTES 4096

#define INSTALL_ADVICE \
    "install the component glsl of the same vkformer, which a build with VKF_RUNTIME_GLSL=ON has (it needs glslang)"

static vkf_status take_plugin(const vkf__host *host, const char *path, vkf__glsl *glsl)
{
    vkf_glsl_plugin_get_fn get = (vkf_glsl_plugin_get_fn)vkf__library_find(glsl->library, VKF_GLSL_PLUGIN_ENTRY);
    const vkf_glsl_plugin *plugin = get ? get() : NULL;
    if (!plugin)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "no GLSL compiler: %s has no function " VKF_GLSL_PLUGIN_ENTRY ": " INSTALL_ADVICE, path);
    if (plugin->interface != VKF_GLSL_PLUGIN_INTERFACE)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "no GLSL compiler: %s is of vkformer %s and has interface %u, but this is vkformer %d.%d.%d, "
                         "which needs interface %u: " INSTALL_ADVICE,
                         path, plugin->version, plugin->interface, VKF_VERSION_MAJOR, VKF_VERSION_MINOR,
                         VKF_VERSION_PATCH, VKF_GLSL_PLUGIN_INTERFACE);
    glsl->plugin = plugin;
    return VKF_OK;
}

vkf_status vkf__glsl_open_file(const vkf__host *host, const char *path, vkf__glsl *glsl)
{
    const char *why = NULL;
    *glsl = (vkf__glsl){.library = vkf__library_open(path, &why)};
    if (!glsl->library)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "no GLSL compiler: %s could not be opened (%s): " INSTALL_ADVICE,
                         path, why);
    vkf_status status = take_plugin(host, path, glsl);
    if (status != VKF_OK)
        vkf__glsl_close(glsl);
    return status;
}

// A file that is there is taken or refused; what the system would find instead may be of another vkformer.
static bool lies_beside(char *out_path, size_t capacity)
{
    char folder[MAX_PATH_BYTES];
    if (!vkf__library_own_folder(folder, sizeof folder))
        return false;
    const int length = snprintf(out_path, capacity, "%s/" VKF_GLSL_PLUGIN_FILE, folder);
    if (length < 0 || (size_t)length >= capacity)
        return false;
    vkf__file_info info;
    return vkf__path_info(out_path, &info);
}

vkf_status vkf__glsl_open(const vkf__host *host, vkf__glsl *glsl)
{
    char path[MAX_PATH_BYTES];
    return vkf__glsl_open_file(host, lies_beside(path, sizeof path) ? path : VKF_GLSL_PLUGIN_FILE, glsl);
}

void vkf__glsl_close(vkf__glsl *glsl)
{
    vkf__library_close(glsl->library);
    *glsl = (vkf__glsl){0};
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

// What take_result() makes of the plug-in's answer.
typedef struct compilation {
    const vkf__host *host;
    const char *source;
    vkf_status status;
    uint32_t *words;
    size_t word_count;
} compilation;

static vkf_status status_of(const compilation *c, vkf_glsl_outcome outcome, const char *log)
{
    switch (outcome) {
    case VKF_GLSL_COMPILED:
        return VKF_OK;
    case VKF_GLSL_NO_MEMORY:
        return vkf__fail(c->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: the GLSL compiler has no memory", c->source);
    case VKF_GLSL_NOT_PARSED:
        return vkf__fail(c->host, VKF_ERROR_SHADER, "%s does not compile:\n%s", c->source, log);
    case VKF_GLSL_NOT_LINKED:
        return vkf__fail(c->host, VKF_ERROR_SHADER, "%s does not link:\n%s", c->source, log);
    case VKF_GLSL_NOT_STARTED:
    default:
        return vkf__fail(c->host, VKF_ERROR_SHADER, "%s: the GLSL compiler could not be started", c->source);
    }
}

static void take_result(void *user, vkf_glsl_outcome outcome, const uint32_t *words, size_t word_count, const char *log)
{
    compilation *c = user;
    c->status = status_of(c, outcome, log);
    if (c->status == VKF_OK)
        c->status = VKF_ALLOC_STATUS(c->host, c->words, word_count);
    if (c->status != VKF_OK)
        return;
    memcpy(c->words, words, word_count * sizeof *words);
    c->word_count = word_count;
}

vkf_status vkf__glsl_compile(const vkf__host *host, const vkf__glsl *glsl, const char *dir, const char *source,
                             const char *defines, uint32_t **out_words, size_t *out_bytes)
{
    char preamble[MAX_PREAMBLE];
    char *text = NULL;
    compilation c = {.host = host, .source = source};
    if (!make_preamble(defines, preamble, sizeof preamble))
        return vkf__fail(host, VKF_ERROR_SHADER, "%s: too many defines", source);
    VKF_RETURN_IF_ERROR(vkf__glsl_source(host, dir, source, preamble, &text));
    glsl->plugin->compile(text, take_result, &c);
    vkf__free(host, text);
    if (c.status != VKF_OK)
        return c.status;
    *out_words = c.words;
    *out_bytes = c.word_count * sizeof *c.words;
    return VKF_OK;
}
