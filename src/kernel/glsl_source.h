// GLSL sources with their includes expanded, in which line numbers and file names are kept.
#ifndef VKF_KERNEL_GLSL_SOURCE_H
#define VKF_KERNEL_GLSL_SOURCE_H

#include "base/host.h"

// Reads dir/source and replaces each `#include "name"` by the file's text, which is looked up beside the including
// file, in dir, dir/include, dir/shared and the folder above dir, as a kernel's source in a folder of shaders/ is given
// by itself. `preamble` (whole lines) goes behind the #version line, or first where
// there is none. #line directives keep file and line for messages, so the preamble must enable
// GL_GOOGLE_cpp_style_line_directive. *out_text is zero-terminated and released with vkf__free(). Statuses: FILE (a
// file is missing; the message names it and where it is included), SHADER (includes are nested too deeply),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__glsl_source(const vkf__host *host, const char *dir, const char *source,
                                           const char *preamble, char **out_text);

#endif
