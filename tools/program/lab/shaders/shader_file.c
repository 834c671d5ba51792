// Compiles a shader of the user's, reports its interface, and makes a pipeline of it.
#include "lab/shaders/shader_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/commands.h"
#include "command/session_context.h"
#include "io/file.h"
#include "kernel/glsl.h"
#include "lab/shaders/shader_constant.h"
#include "lab/shaders/spirv.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "system/run_apart.h"

#define MAX_SPIRV_BYTES ((size_t)64 << 20)
#define TEXT_BYTES 1024

// The shader on its way from the file to the device.
typedef struct user_shader {
    vkf__host host;
    uint32_t *words; // released with vkf__free()
    size_t word_count;
    spirv_module module;
    vkf_shader_constant spec[VKF_SHADER_FILE_MAX];
    vkf_shader_binding bindings[SPIRV_MAX];
    char constants[TEXT_BYTES];
} user_shader;

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

bool vkf_is_shader_file(const char *argument)
{
    return ends_with(argument, ".comp") || ends_with(argument, ".glsl") || ends_with(argument, ".spv");
}

static const char *base_name(const char *path)
{
    return path + vkf__path_directory_bytes(path);
}

// Appends to a text of TEXT_BYTES, after `between` unless it is empty. False when the text is full.
static bool add_text(char *text, const char *between, const char *addition)
{
    const size_t length = strlen(text);
    return (size_t)snprintf(text + length, TEXT_BYTES - length, "%s%s", length > 0 ? between : "", addition) <
           TEXT_BYTES - length;
}

// Joins definitions, NAME or NAME=VALUE, with spaces, as the compiler takes them.
static bool join_defines(const vkf_shader_file *file, char out_text[TEXT_BYTES])
{
    out_text[0] = '\0';
    for (size_t i = 0; i < file->define_count; i++) {
        const char *define = file->defines[i];
        if (strspn(define, "=0123456789") > 0 || *define == '\0' || strpbrk(define, " \t\r\n\\")) {
            vkf_print_error("-D: '%.200s' is no NAME or NAME=VALUE without blanks", define);
            return false;
        }
        if (!add_text(out_text, " ", define)) {
            vkf_print_error("-D: the defines are longer than %d bytes together", TEXT_BYTES - 1);
            return false;
        }
    }
    return true;
}

static int compile_glsl(const vkf_shader_file *file, user_shader *shader)
{
    char defines[TEXT_BYTES], dir[701];
    const char *name = base_name(file->path);
    const size_t dir_length = (size_t)(name - file->path);
    size_t size_bytes = 0;
    if (!join_defines(file, defines))
        return VKF_EXIT_USAGE;
    if (dir_length >= sizeof dir || strlen(name) > 300) {
        vkf_print_error("%.200s...: the path is too long", file->path);
        return VKF_EXIT_USAGE;
    }
    snprintf(dir, sizeof dir, "%.*s", (int)(dir_length > 1 ? dir_length - 1 : dir_length), file->path);
    vkf__glsl glsl;
    vkf_status status = vkf__glsl_open(&shader->host, &glsl);
    if (status != VKF_OK)
        return VKF_EXIT_FAILED;
    status =
        vkf__glsl_compile(&shader->host, &glsl, dir_length > 0 ? dir : ".", name, defines, &shader->words, &size_bytes);
    vkf__glsl_close(&glsl);
    shader->word_count = size_bytes / sizeof *shader->words;
    return status == VKF_OK ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int read_spirv(const vkf_shader_file *file, user_shader *shader)
{
    vkf__file_bytes bytes = {0};
    if (file->define_count > 0) {
        vkf_print_error("-D: %.200s is compiled already", file->path);
        return VKF_EXIT_USAGE;
    }
    if (vkf__file_read(&shader->host, file->path, MAX_SPIRV_BYTES, &bytes) != VKF_OK)
        return VKF_EXIT_FAILED;
    const size_t count = bytes.size_bytes / sizeof *shader->words;
    shader->words = count > 0 ? vkf__alloc(&shader->host, count, sizeof *shader->words) : NULL;
    if (shader->words)
        memcpy(shader->words, bytes.data, count * sizeof *shader->words);
    shader->word_count = shader->words ? count : 0;
    const bool whole = bytes.size_bytes % sizeof *shader->words == 0;
    vkf__file_bytes_free(&shader->host, &bytes);
    if (!whole || !shader->words)
        vkf_print_error("%.200s: it is no SPIR-V, which comes in words of four bytes", file->path);
    return whole && shader->words ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int by_place(const void *left, const void *right)
{
    const spirv_binding *a = left, *b = right;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return (a->binding > b->binding) - (a->binding < b->binding);
}

static bool read_interface(const vkf_shader_file *file, user_shader *shader)
{
    const char *why = NULL;
    if (!spirv_read(shader->words, shader->word_count, &shader->module, &why)) {
        vkf_print_error("%.200s: %s", file->path, why);
        return false;
    }
    if (shader->module.entry_point[0] == '\0') {
        vkf_print_error("%.200s: it has no compute shader", file->path);
        return false;
    }
    qsort(shader->module.bindings, shader->module.binding_count, sizeof *shader->module.bindings, by_place);
    for (size_t i = 0; i < shader->module.binding_count; i++) {
        const spirv_binding *from = &shader->module.bindings[i];
        shader->bindings[i] = (vkf_shader_binding){from->set, from->binding, (uint32_t)from->kind, from->count};
    }
    return true;
}

static bool read_constants(const vkf_shader_file *file, user_shader *shader)
{
    bool fits = true;
    for (size_t i = 0; i < file->define_count; i++)
        fits = fits && add_text(shader->constants, ", ", file->defines[i]);
    for (size_t i = 0; i < file->spec_count; i++) {
        if (!vkf_parse_shader_constant(file->spec[i], &shader->module, &shader->spec[i]))
            return false;
        for (size_t before = 0; before < i; before++) {
            if (shader->spec[before].id == shader->spec[i].id) {
                vkf_print_error("--spec: constant %" PRIu32 " is given twice", shader->spec[i].id);
                return false;
            }
        }
        fits = fits && add_text(shader->constants, ", ", file->spec[i]);
    }
    if (!fits)
        vkf_print_error("-D, --spec: these are longer than %d bytes together", TEXT_BYTES - 1);
    return fits;
}

static void local_size(const user_shader *shader, size_t spec_count, uint64_t out_size[3])
{
    for (size_t d = 0; d < 3; d++) {
        out_size[d] = shader->module.local_size[d];
        for (size_t i = 0; i < spec_count; i++) {
            if (shader->spec[i].id == shader->module.local_size_spec[d])
                out_size[d] = shader->spec[i].value;
        }
    }
}

// Checks what a driver need not notice before it crashes.
static bool device_takes(const vkf_shader_file *file, const user_shader *shader, const vkf_context *context,
                         const vkf_device_info *device)
{
    bool takes = true;
    for (size_t i = 0; i < shader->module.capability_count; i++) {
        const uint32_t capability = shader->module.capabilities[i];
        if (vkf_context_takes_capability(context, capability))
            continue;
        vkf_print_error("%.200s: it needs %s (SPIR-V's capability %" PRIu32 "), which is not enabled on %s", file->path,
                        spirv_capability_name(capability), capability, device->name);
        takes = false;
    }
    uint64_t size[3], product = 1;
    local_size(shader, file->spec_count, size);
    for (size_t d = 0; d < 3 && product <= UINT32_MAX; d++)
        product = size[d] <= UINT32_MAX ? product * size[d] : UINT64_MAX;
    if (product == 0 || product > device->max_workgroup_invocations) {
        vkf_print_error("%.200s: its workgroup has %" PRIu64 " x %" PRIu64 " x %" PRIu64
                        " invocations, and %s takes 1 to %" PRIu32,
                        file->path, size[0], size[1], size[2], device->name, device->max_workgroup_invocations);
        takes = false;
    }
    return takes;
}

static void print_interface(const vkf_shader_file *file, const user_shader *shader)
{
    static const char *const kinds[] = {
        [SPIRV_SAMPLER] = "sampler",
        [SPIRV_COMBINED_IMAGE_SAMPLER] = "image with sampler",
        [SPIRV_SAMPLED_IMAGE] = "sampled image",
        [SPIRV_STORAGE_IMAGE] = "storage image",
        [SPIRV_TEXEL_BUFFER] = "texel buffer",
        [SPIRV_STORAGE_TEXEL_BUFFER] = "storage texel buffer",
        [SPIRV_UNIFORM_BLOCK] = "uniform buffer",
        [SPIRV_STORAGE_BUFFER] = "storage buffer",
    };
    uint64_t size[3];
    local_size(shader, file->spec_count, size);
    printf("workgroup %" PRIu64 " x %" PRIu64 " x %" PRIu64 ", push constants %" PRIu32 " bytes\n", size[0], size[1],
           size[2], shader->module.push_bytes);
    for (size_t i = 0; i < shader->module.binding_count; i++) {
        const spirv_binding *b = &shader->module.bindings[i];
        vkf_print("set %" PRIu32 ", binding %" PRIu32 ": %s", b->set, b->binding, kinds[b->kind]);
        printf(b->count > 1 ? " x %" PRIu32 "\n" : "\n", b->count);
    }
}

static int report(const vkf_common_options *common, const vkf_shader_file *file, const user_shader *shader,
                  vkf_shader_output *output)
{
    vkf_context *context = NULL;
    if (vkf_open_context(common, &context) != VKF_OK)
        return VKF_EXIT_FAILED;
    output->raw = true;
    vkf_shader_output_begin(output, context);
    const vkf_shader_desc desc = {
        .name = base_name(file->path),
        .constants = shader->constants,
        .words = shader->words,
        .word_count = shader->word_count,
        .entry_point = shader->module.entry_point,
        .bindings = shader->bindings,
        .binding_count = (uint32_t)shader->module.binding_count,
        .push_bytes = shader->module.push_bytes,
        .spec = shader->spec,
        .spec_count = (uint32_t)file->spec_count,
    };
    vkf_status status = VKF_ERROR_UNSUPPORTED;
    if (device_takes(file, shader, context, &output->device)) {
        if (output->rows.format == VKF_ROWS_TABLE)
            print_interface(file, shader);
        status = vkf_context_report_shader(context, &desc, vkf_shader_output_visit, output);
    }
    vkf_context_destroy(&context);
    const bool good = status == VKF_OK;
    return vkf_shader_output_end(output) && good ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

typedef struct report_arguments {
    const vkf_common_options *common;
    const vkf_shader_file *file;
    const user_shader *shader;
    vkf_shader_output *output;
} report_arguments;

static int report_and_flush(void *user)
{
    const report_arguments *a = user;
    const int code = vkf_common_exit_code(a->common, report(a->common, a->file, a->shader, a->output));
    return vkf_flush_stdout() ? code : VKF_EXIT_FAILED;
}

// Runs in a process of its own, because some drivers crash on a shader that they do not support.
static int report_apart(const vkf_common_options *common, const vkf_shader_file *file, const user_shader *shader,
                        vkf_shader_output *output)
{
    report_arguments arguments = {common, file, shader, output};
    (void)vkf_flush_stdout();
    const vkf_apart_result result = vkf_run_apart(report_and_flush, &arguments);
    if (result.signal != 0)
        vkf_print_error("%.200s: the driver's compiler crashed (signal %d); spirv-val says whether the shader is valid",
                        file->path, result.signal);
    else if (result.code < 0)
        vkf_print_error("no process could be made for the driver's compiler");
    return result.code < 0 ? VKF_EXIT_FAILED : result.code;
}

int vkf_report_shader_file(const vkf_common_options *common, const vkf_shader_file *file, vkf_shader_output *output)
{
    user_shader *shader = calloc(1, sizeof *shader);
    int code = VKF_EXIT_FAILED;
    if (!shader || vkf__host_init(&shader->host, NULL, vkf_message_log_receive, common->messages,
                                  VKF_SEVERITY_WARNING) != VKF_OK) {
        vkf_print_error("memory is exhausted");
        goto done;
    }
    code = ends_with(file->path, ".spv") ? read_spirv(file, shader) : compile_glsl(file, shader);
    if (code != VKF_EXIT_DONE)
        goto done;
    code = VKF_EXIT_FAILED;
    if (!read_interface(file, shader))
        goto done;
    code = read_constants(file, shader) ? report_apart(common, file, shader, output) : VKF_EXIT_USAGE;
done:
    if (shader && shader->words)
        vkf__free(&shader->host, shader->words);
    free(shader);
    return code;
}
