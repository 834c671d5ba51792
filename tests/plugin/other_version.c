// A plug-in of another vkformer, as it lies about on a machine after an update of one of the two packages.
#include <stdlib.h>

#include <vkformer/status.h>

#include "kernel/glsl_plugin.h"

static void compile(const char *text, vkf_glsl_result_fn result, void *user)
{
    (void)text;
    (void)result;
    (void)user;
    abort(); // of another interface, nothing may be called
}

VKF_API const vkf_glsl_plugin *vkf_glsl_plugin_get(void);

const vkf_glsl_plugin *vkf_glsl_plugin_get(void)
{
    static const vkf_glsl_plugin plugin = {VKF_GLSL_PLUGIN_INTERFACE + 1, "9.8.7", compile};
    return &plugin;
}
