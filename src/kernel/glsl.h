// GLSL compiled at run time, so that a shader can be edited without a rebuild. The compiler is a plug-in
// (kernel/glsl_plugin.h), which is opened where it is asked for; the library itself has none.
#ifndef VKF_KERNEL_GLSL_H
#define VKF_KERNEL_GLSL_H

#include "base/host.h"
#include "kernel/glsl_plugin.h"

// All zeros: closed.
typedef struct vkf__glsl {
    void *library;
    const vkf_glsl_plugin *plugin;
} vkf__glsl;

// Opens the plug-in that lies beside the library (or the program that has it inside), or else where the system looks
// for libraries. Status: UNSUPPORTED when there is none, it cannot be loaded, or it is of another version; the message
// says which, and what to install.
VKF_MUST_CHECK vkf_status vkf__glsl_open(const vkf__host *host, vkf__glsl *glsl);
// The same, of this file alone.
VKF_MUST_CHECK vkf_status vkf__glsl_open_file(const vkf__host *host, const char *path, vkf__glsl *glsl);
void vkf__glsl_close(vkf__glsl *glsl);

// Compiles `dir`/`source` with includes from dir/include and dir/shared; `defines` are space-separated NAME=VALUE or
// NAME. `glsl` is open. *out_words is released with vkf__free(). Statuses: FILE, SHADER (the message carries file, line
// and the compiler's text), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__glsl_compile(const vkf__host *host, const vkf__glsl *glsl, const char *dir,
                                            const char *source, const char *defines, uint32_t **out_words,
                                            size_t *out_bytes);

#endif
