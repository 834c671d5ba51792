#include "glsl_compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernel/glsl.h"

bool vkf_test_has_glsl_compiler(void)
{
    vkf__host host;
    vkf__glsl glsl;
    if (vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR) != VKF_OK || vkf__glsl_open(&host, &glsl) != VKF_OK)
        return false;
    vkf__glsl_close(&glsl);
    return true;
}

void vkf_test_skip_without_glsl_compiler(void)
{
    if (vkf_test_has_glsl_compiler())
        return;
    printf("skipped: this build has no GLSL compiler (VKF_RUNTIME_GLSL)\n");
    skip();
}
