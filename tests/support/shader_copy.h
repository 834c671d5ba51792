// A copy of the shaders that a test may edit, for vkf_context_desc.shader_dir. Failures fail the running test.
#ifndef VKF_TESTS_SHADER_COPY_H
#define VKF_TESTS_SHADER_COPY_H

#include <stdbool.h>

#define VKF_TEST_SHADERS VKF_TEST_SOURCE_DIR "/shaders"

typedef struct vkf_shader_copy {
    char path[96];
} vkf_shader_copy;

void vkf_test_copy_shaders(vkf_shader_copy *copy);
void vkf_test_remove_shaders(const vkf_shader_copy *copy);

// Replaces the first `from` in a file of the copy by `to`; returns the line that it stands in.
int vkf_test_edit_shader(const vkf_shader_copy *copy, const char *name, const char *from, const char *to);

#endif
