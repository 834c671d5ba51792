// A compute shader of the user's: it is compiled, its interface is read, and a pipeline is made of it.
#ifndef VKF_PROGRAM_SHADER_FILE_H
#define VKF_PROGRAM_SHADER_FILE_H

#include "command/options.h"
#include "lab/shaders/shader_output.h"

#define VKF_SHADER_FILE_MAX VKF_SHADER_MAX_CONSTANTS

// Strings point into argv.
typedef struct vkf_shader_file {
    const char *path;
    const char *defines[VKF_SHADER_FILE_MAX]; // NAME or NAME=VALUE
    size_t define_count;
    const char *spec[VKF_SHADER_FILE_MAX]; // ID=VALUE
    size_t spec_count;
} vkf_shader_file;

// Whether an argument is a file (.comp, .glsl, .spv) rather than a kernel's name.
bool vkf_is_shader_file(const char *argument);

// Returns an exit code. Messages have been printed.
int vkf_report_shader_file(const vkf_common_options *common, const vkf_shader_file *file, vkf_shader_output *output);

#endif
