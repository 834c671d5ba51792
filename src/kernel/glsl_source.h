// GLSL sources with their includes put in place, line numbers and file names kept.
#ifndef VKF_KERNEL_GLSL_SOURCE_H
#define VKF_KERNEL_GLSL_SOURCE_H

#include "base/host.h"

// Reads dir/source and replaces each `#include "name"` by the file's text, looked up beside the including file, in dir,
// dir/include and dir/shared; `preamble` (whole lines) goes behind the #version line, or first where there is
// none. #line directives keep file and line
// for messages: the preamble must switch GL_GOOGLE_cpp_style_line_directive on. *out_text is zero-terminated and
// released with vkf__free(). Statuses: FILE (a file is missing: names it and where it is included), SHADER (includes
// nested too deeply), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__glsl_source(const vkf__host *host, const char *dir, const char *source,
                                           const char *preamble, char **out_text);

#endif
