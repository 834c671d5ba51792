// Expands includes line by line, with #line directives around them.
#include "kernel/glsl_source.h"

#include <stdio.h>
#include <string.h>

#include "base/system_file.h"

#define MAX_DEPTH 16
#define MAX_FILE_BYTES ((size_t)4 << 20)
#define MAX_SOURCE_BYTES ((size_t)16 << 20) // with all includes, which may double with each depth

typedef struct text_buffer {
    const vkf__host *host;
    const char *preamble; // NULL once it is in
    char *text;
    size_t length;
    size_t capacity;
} text_buffer;

static vkf_status append(text_buffer *out, const char *text, size_t length)
{
    void *grown = out->text;
    if (length > MAX_SOURCE_BYTES - out->length)
        return vkf__fail(out->host, VKF_ERROR_SHADER, "a shader has more than %zu bytes with all that it includes",
                         MAX_SOURCE_BYTES);
    vkf_status status = vkf__grow(out->host, &grown, 1, out->length, &out->capacity, out->length + length + 1);
    if (status != VKF_OK)
        return status;
    out->text = grown;
    memcpy(out->text + out->length, text, length);
    out->length += length;
    out->text[out->length] = '\0';
    return VKF_OK;
}

static vkf_status append_line_directive(text_buffer *out, unsigned line, const char *path)
{
    char directive[1100];
    int length = snprintf(directive, sizeof directive, "#line %u \"%.1000s\"\n", line, path);
    return append(out, directive, (size_t)length);
}

// Puts the preamble after the #version line, which must come first.
static vkf_status append_preamble(text_buffer *out, const char *line, unsigned number, const char *path)
{
    const char *preamble = out->preamble;
    if (!preamble || strncmp(line, "#version", 8) != 0)
        return VKF_OK;
    out->preamble = NULL;
    VKF_RETURN_IF_ERROR(append(out, preamble, strlen(preamble)));
    return append_line_directive(out, number + 1, path);
}

// *out_stream stays NULL when there is no such file. A pipe is refused: reading it might never end.
static vkf_status open_file(const vkf__host *host, const char *path, FILE **out_stream)
{
    vkf__file_info info;
    const int descriptor = vkf__open_to_read(path);
    if (descriptor < 0)
        return VKF_OK;
    const bool regular = vkf__descriptor_info(descriptor, &info) && info.kind == VKF_FILE_REGULAR;
    *out_stream = regular ? vkf__descriptor_stream(descriptor, "rb") : NULL;
    if (*out_stream)
        return VKF_OK;
    vkf__descriptor_close(descriptor);
    return regular ? VKF_ERROR_OUT_OF_HOST_MEMORY
                   : vkf__fail(host, VKF_ERROR_FILE, "%s: the shader is no regular file", path);
}

// Reads a whole file, zero-terminated. *out_text stays NULL when it cannot be opened.
static vkf_status read_file(const vkf__host *host, const char *path, char **out_text)
{
    vkf_status status = VKF_OK;
    char *text = NULL;
    FILE *file = NULL;
    VKF_RETURN_IF_ERROR(open_file(host, path, &file));
    if (!file)
        return VKF_OK;
    size_t capacity = 0, length = 0, got = 0;
    do {
        void *grown = text;
        VKF_TRY(vkf__grow(host, &grown, 1, length, &capacity, length + 4097));
        text = grown;
        got = fread(text + length, 1, 4096, file);
        length += got;
    } while (got > 0 && length < MAX_FILE_BYTES);
    text[length] = '\0';
    if (ferror(file)) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: the shader could not be read", path);
        goto fail;
    }
    if (got > 0) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: a shader longer than %zu bytes", path, MAX_FILE_BYTES);
        goto fail;
    }
    fclose(file);
    *out_text = text;
    return VKF_OK;
fail:
    fclose(file);
    vkf__free(host, text);
    return status;
}

static vkf_status expand(text_buffer *out, const char *dir, const char *path, const char *text, unsigned depth);

static vkf_status expand_include(text_buffer *out, const char *dir, const char *includer, unsigned line,
                                 const char *name, unsigned depth)
{
    vkf_status status = VKF_OK;
    char *text = NULL;
    char path[1024], beside[1024] = "";
    const char *slash = strrchr(includer, '/');
    if (slash)
        snprintf(beside, sizeof beside, "%.*s", (int)(slash - includer), includer);
    char places[4][1024];
    snprintf(places[0], sizeof places[0], "%s", dir);
    snprintf(places[1], sizeof places[1], "%.1000s/include", dir);
    snprintf(places[2], sizeof places[2], "%.1000s/shared", dir);
    snprintf(places[3], sizeof places[3], "%.1000s/..", dir);
    const char *const tries[] = {beside, places[0], places[1], places[2], places[3]};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0] && !text; i++) {
        snprintf(path, sizeof path, "%.700s/%.300s", tries[i], name);
        VKF_TRY(read_file(out->host, path, &text));
    }
    if (!text)
        return vkf__fail(out->host, VKF_ERROR_FILE, "%s:%u: include file %s was not found", includer, line, name);
    VKF_TRY(expand(out, dir, path, text, depth + 1));
    VKF_TRY(append_line_directive(out, line + 1, includer));
fail:
    vkf__free(out->host, text);
    return status;
}

// Extracts the name in `#include "name"`. False when the line is not an include.
static bool parse_include(const char *line, size_t length, char *out_name, size_t capacity)
{
    char copy[512];
    int end = 0;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    char name[301];
    if (sscanf(copy, " # include \"%300[^\"]\"%n", name, &end) != 1 || end == 0)
        return false;
    return (size_t)snprintf(out_name, capacity, "%s", name) < capacity;
}

// Whether a line ends a part that the preprocessor may have skipped, together with the #line directive of an include in
// it.
static bool ends_part(const char *line)
{
    line += strspn(line, " \t");
    if (*line != '#')
        return false;
    line += 1 + strspn(line + 1, " \t");
    return strncmp(line, "endif", 5) == 0 || strncmp(line, "else", 4) == 0 || strncmp(line, "elif", 4) == 0;
}

static vkf_status expand(text_buffer *out, const char *dir, const char *path, const char *text, unsigned depth)
{
    unsigned number = 0;
    bool included = false;
    if (depth > MAX_DEPTH)
        return vkf__fail(out->host, VKF_ERROR_SHADER, "%s: includes are nested too deeply", path);
    if (depth > 0)
        VKF_RETURN_IF_ERROR(append_line_directive(out, 1, path));
    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) : strlen(line);
        char name[512];
        number++;
        if (parse_include(line, length, name, sizeof name)) {
            VKF_RETURN_IF_ERROR(expand_include(out, dir, path, number, name, depth));
            included = true;
        } else {
            VKF_RETURN_IF_ERROR(append(out, line, length));
            VKF_RETURN_IF_ERROR(append(out, "\n", 1));
            VKF_RETURN_IF_ERROR(append_preamble(out, line, number, path));
            if (included && ends_part(line))
                VKF_RETURN_IF_ERROR(append_line_directive(out, number + 1, path));
        }
        line = end ? end + 1 : line + length;
    }
    return VKF_OK;
}

vkf_status vkf__glsl_source(const vkf__host *host, const char *dir, const char *source, const char *preamble,
                            char **out_text)
{
    vkf_status status = VKF_OK;
    text_buffer out = {.host = host, .preamble = preamble};
    char *text = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%.700s/%.300s", dir, source);
    VKF_TRY(read_file(host, path, &text));
    if (!text) {
        status = vkf__fail(host, VKF_ERROR_FILE, "%s: the shader was not found in shader_dir", path);
        goto fail;
    }
    // Without a #version line there is nothing to wait for.
    if (!strstr(text, "#version"))
        VKF_TRY(append_preamble(&out, "#version", 0, path));
    VKF_TRY(expand(&out, dir, path, text, 0));
    vkf__free(host, text);
    *out_text = out.text;
    return VKF_OK;
fail:
    vkf__free(host, text);
    vkf__free(host, out.text);
    return status;
}
