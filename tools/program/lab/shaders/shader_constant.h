// Specialisation constants on the command line: ID=VALUE, with the type that the shader gives the constant.
#ifndef VKF_PROGRAM_SHADER_CONSTANT_H
#define VKF_PROGRAM_SHADER_CONSTANT_H

#include <vkformer/kernels.h>

#include "lab/shaders/spirv.h"

// VALUE is a whole number, decimal or 0x, for integers; a number for floats; 0, 1, true or false for bools. A type may
// precede it, which is i: u: f: or b:, and must be the shader's. False, with a message, for any other text, for a value
// outside the type's range, and for an id that the shader does not have.
bool vkf_parse_shader_constant(const char *text, const spirv_module *module, vkf_shader_constant *out_constant);

#endif
