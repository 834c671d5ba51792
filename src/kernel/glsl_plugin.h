// What the library and the plug-in that compiles GLSL know of each other. The plug-in is a shared library of its own,
// because its compiler is C++ and five times as large as all the rest.
#ifndef VKF_KERNEL_GLSL_PLUGIN_H
#define VKF_KERNEL_GLSL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define VKF_GLSL_PLUGIN_FILE "vkformer-glsl.dll"
#elif defined(__APPLE__)
#define VKF_GLSL_PLUGIN_FILE "libvkformer-glsl.dylib"
#else
#define VKF_GLSL_PLUGIN_FILE "libvkformer-glsl.so"
#endif

// Changes whenever anything below does.
#define VKF_GLSL_PLUGIN_INTERFACE 1u

// The one function that a plug-in shows. It takes nothing and never fails.
#define VKF_GLSL_PLUGIN_ENTRY "vkf_glsl_plugin_get"

typedef enum vkf_glsl_outcome {
    VKF_GLSL_COMPILED = 0,
    VKF_GLSL_NO_MEMORY,
    VKF_GLSL_NOT_STARTED,
    VKF_GLSL_NOT_PARSED, // `log` says why
    VKF_GLSL_NOT_LINKED, // `log` says why
} vkf_glsl_outcome;

// Gets what came out, once for each compilation. `words` and `log` are valid only during the call.
typedef void (*vkf_glsl_result_fn)(void *user, vkf_glsl_outcome outcome, const uint32_t *words, size_t word_count,
                                   const char *log);

typedef struct vkf_glsl_plugin {
    uint32_t interface;  // VKF_GLSL_PLUGIN_INTERFACE as the plug-in was built with; first in every version
    const char *version; // of vkformer, "0.1.0"; second in every version
    // Compiles one compute shader for Vulkan 1.1 and SPIR-V 1.3. Any number of threads may call it at once.
    void (*compile)(const char *text, vkf_glsl_result_fn result, void *user);
} vkf_glsl_plugin;

typedef const vkf_glsl_plugin *(*vkf_glsl_plugin_get_fn)(void);

#endif
