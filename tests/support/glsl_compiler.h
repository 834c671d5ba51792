// The plug-in that compiles GLSL, for tests that edit shaders.
#ifndef VKF_TESTS_GLSL_COMPILER_H
#define VKF_TESTS_GLSL_COMPILER_H

#include <stdbool.h>

// Whether this build has the plug-in.
bool vkf_test_has_glsl_compiler(void);

// Skips the running test, which is counted, where it has none.
void vkf_test_skip_without_glsl_compiler(void);

#endif
