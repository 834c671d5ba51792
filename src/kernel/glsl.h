// GLSL compiled at run time, in builds with VKF_RUNTIME_GLSL, so that a shader can be edited without a rebuild.
#ifndef VKF_KERNEL_GLSL_H
#define VKF_KERNEL_GLSL_H

#include "base/host.h"

bool vkf__glsl_available(void);

// Compiles `dir`/`source` with includes from dir/include and dir/shared; `defines` are space-separated NAME=VALUE or
// NAME. *out_words is released with vkf__free(). Statuses: FILE, SHADER (the message carries file, line and the
// compiler's text), UNSUPPORTED (not in this build), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__glsl_compile(const vkf__host *host, const char *dir, const char *source,
                                            const char *defines, uint32_t **out_words, size_t *out_bytes);

#endif
